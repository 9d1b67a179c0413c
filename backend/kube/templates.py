"""Job templates: YAML files in a folder, each with what the pods of a job are made from.

A template is a Pod, or an object that holds a pod template (Job, Deployment, StatefulSet, CronJob, PodTemplate ...).
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from backend.kube import manifests, names
from backend.kube.convert import job_of
from backend.model.quantities import QuantityError

Json = dict[str, Any]

VARIABLE = "PODSHIFT_TEMPLATES"
LARGEST = 256 * 1024
"""Characters of a template; the API server takes objects of little more than a million."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?")
_WAYS = {"Pod": (), "PodTemplate": ("template",), "CronJob": ("spec", "jobTemplate", "spec", "template")}
"""Kind -> where its pod template is; of others, it is in spec.template."""


def default_folder(home: Path) -> Path:
    """The folder that PODSHIFT_TEMPLATES names, or the one beside the runs in the store's folder `home`."""
    return Path(os.environ.get(VARIABLE) or home / "templates")


class TemplateError(ValueError):
    """A template that cannot be used; says which field, what stands there and what is allowed."""


def parse(text: str) -> Json:
    """The pod of a template, as a manifest. Raises TemplateError."""
    if len(text) > LARGEST:
        raise TemplateError(f"it has {len(text):,} characters; at most {LARGEST:,} are taken")
    try:
        # A few lines of aliases of aliases would be gigabytes when written out.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader)):
            raise TemplateError("it has an alias (*name); write out what it stands for")
        documents = [document for document in yaml.safe_load_all(text) if document is not None]
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        if isinstance(error, TemplateError):
            raise
        raise TemplateError(f"it is no YAML: {' '.join(str(error).split())[:300]}") from None
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise TemplateError(f"it holds {len(documents)} objects; a template is one")
    return _pod(documents[0])


def _pod(document: Json) -> Json:
    kind = str(document.get("kind") or "")
    if not kind:
        raise TemplateError("kind is missing; it is Pod, or an object with a pod template, such as Job")
    found: Any = document
    way = _WAYS.get(kind, ("spec", "template"))
    for step in way:
        found = found.get(step) if isinstance(found, dict) else None
    where = ".".join(way) or "the pod"
    if not isinstance(found, dict):
        raise TemplateError(f"{where} is missing: a {kind} without a pod template cannot be run")
    metadata = found.get("metadata") or {}
    spec = found.get("spec")
    if not isinstance(metadata, dict) or not isinstance(spec, dict):
        raise TemplateError(f"{where} needs a spec, and metadata that are a mapping if it has any")
    _check(spec)
    own = document.get("metadata")
    name = metadata.get("name") or (own.get("name") if isinstance(own, dict) else None) or "template"
    made: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, "name": str(name)},
        "spec": {"restartPolicy": "Never", **spec},
    }
    for part in ("labels", "annotations"):
        texts = metadata.get(part) or {}
        if not isinstance(texts, dict) or any(not isinstance(value, str) for value in texts.values()):
            raise TemplateError(f"metadata.{part} must be names with texts; put numbers and true in quotes")
    try:
        job_of(made)
    except (QuantityError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise TemplateError(f"its resources cannot be read: {error}") from None
    return made


def _check(spec: Json) -> None:
    if spec.get("restartPolicy", "Never") not in ("Never", "OnFailure"):
        raise TemplateError(
            f"spec.restartPolicy is {spec['restartPolicy']!r}; it must be Never or OnFailure, or the job never ends"
        )
    containers = spec.get("containers")
    if not isinstance(containers, list) or not containers:
        raise TemplateError("spec.containers needs at least one container")
    for place, container in enumerate(containers):
        where = f"spec.containers[{place}]"
        if not isinstance(container, dict):
            raise TemplateError(f"{where} is no mapping")
        for field in ("name", "image"):
            if not isinstance(container.get(field), str) or not container[field].strip():
                raise TemplateError(f"{where}.{field} is missing")
    if spec.get("nodeName") is not None and not isinstance(spec["nodeName"], str):
        raise TemplateError(f"spec.nodeName is {spec['nodeName']!r}; it must be the name of a node")


def pod_of(template: Json, name: str, workload: str, notes: Mapping[str, str]) -> Json:
    """The manifest of a job's pods, made from a template. What the template says of progress goes before `notes`."""
    made = manifests.clean(template)
    namespace, own = names.located(name)
    metadata = made["metadata"]
    metadata["name"], metadata["namespace"] = own, namespace
    metadata["labels"] = {names.WORKLOAD: workload, **metadata["labels"]}
    metadata["annotations"] = {**notes, **metadata.get("annotations", {})}
    return made


class TemplateFolder:
    """The templates of a folder. Files are there whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def names(self) -> list[str]:
        """Of all templates, valid or not."""
        if not self.folder.is_dir():
            return []
        return sorted(path.stem for path in self.folder.glob("*.yaml") if _NAME.fullmatch(path.stem))

    def text(self, name: str) -> str:
        """A template as it was written. Raises TemplateError for one that is not there, OSError."""
        path = self._path(name)
        if not path.is_file():
            there = ", ".join(self.names()[:10]) or "none"
            raise TemplateError(f"there is no template '{name}' in {self.folder} (there are: {there})")
        try:
            return path.read_text("utf-8")
        except UnicodeDecodeError:
            raise TemplateError(f"template '{name}' is no text in UTF-8") from None

    def pod(self, name: str) -> Json:
        """The pod of a template. Raises TemplateError, OSError."""
        try:
            return parse(self.text(name))
        except TemplateError as error:
            message = str(error)
            raise TemplateError(message if f"'{name}'" in message else f"template '{name}': {message}") from None

    def put(self, name: str, text: str) -> Json:
        """Keep a template, in place of one of that name; its pod. Raises TemplateError, OSError."""
        pod = parse(text)
        path = self._path(name)
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            temporary.write_text(text, "utf-8")
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        return pod

    def remove(self, name: str) -> None:
        """Forget a template. Raises TemplateError for one that is not there, OSError."""
        self.text(name)
        self._path(name).unlink()

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise TemplateError(
                f"'{name[:80]}' is no name of a template: small letters, digits, '-' and '.', at most 63"
            )
        return self.folder / f"{name}.yaml"
