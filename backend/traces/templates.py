"""Job templates: initial placements of a run pinned into them (spec.nodeName), and taken out again.

A template is a YAML file with Pods, or with objects that hold a pod template (Job, Deployment ...). It belongs to the
job that its object is named after. Comments and formatting of a file that is changed are not kept; files that need no
change are not touched.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from backend.traces.errors import TraceError
from backend.traces.tables import base_job


def pin(folder: Path, placements: Mapping[str, str]) -> dict[str, str]:
    """Write the node of each job into its template; job -> node of those that were found. Raises TraceError."""
    pinned: dict[str, str] = {}

    def change(job: str, spec: dict[str, Any]) -> None:
        if job in placements:
            spec["nodeName"] = placements[job]
            pinned[job] = placements[job]

    _change(folder, change)
    return pinned


def unpin(folder: Path) -> list[str]:
    """Take nodeName out of every template; the jobs that had one. Raises TraceError."""
    freed: list[str] = []

    def change(job: str, spec: dict[str, Any]) -> None:
        if spec.pop("nodeName", None) is not None:
            freed.append(job)

    _change(folder, change)
    return freed


def _change(folder: Path, change: Any) -> None:
    """All files are read before the first is written, so that a broken one leaves the folder as it is."""
    if not folder.is_dir():
        raise TraceError(str(folder), None, "is no folder")
    texts: dict[Path, str] = {}
    for path in sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")]):
        try:
            documents = list(yaml.safe_load_all(path.read_text()))
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise TraceError(str(path), None, f"is no YAML: {error}") from None
        before = yaml.safe_dump_all(documents, sort_keys=False)
        for name, spec in _pod_specs(documents, path):
            change(base_job(name), spec)
        after = yaml.safe_dump_all(documents, sort_keys=False)
        if after != before:
            texts[path] = after
    for path, text in texts.items():
        temporary = path.with_name(f".{path.name}.tmp")
        temporary.write_text(text)
        temporary.replace(path)


def _pod_specs(documents: list[Any], path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for document in documents:
        if not isinstance(document, dict) or "kind" not in document:
            continue
        name = (document.get("metadata") or {}).get("name")
        spec = document.get("spec")
        if document["kind"] == "CronJob" and isinstance(spec, dict):
            spec = (spec.get("jobTemplate") or {}).get("spec")
        if document["kind"] != "Pod" and isinstance(spec, dict):
            spec = (spec.get("template") or {}).get("spec")
        if isinstance(spec, dict) and "containers" in spec:
            if not isinstance(name, str):
                raise TraceError(str(path), None, f"holds a {document['kind']} without metadata.name")
            yield name, spec
