"""Job templates: initial placements of a run pinned into them (spec.nodeName), and taken out again.

A template is a YAML file with Pods, or with objects that hold a pod template (Job, Deployment ...). It belongs to the
job that its object is named after. Only the text of nodeName changes: rewriting a whole file would lose its comments,
and turn texts such as "12e4" into what other YAML readers take for numbers.
"""

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from backend.traces.errors import TraceError
from backend.traces.tables import MAX_BYTES, base_job

FIELD = "nodeName"
_PLAIN = re.compile(r"[a-z][a-z.-]*[0-9]([a-z0-9.-]*[a-z0-9])?")
"""Names that no YAML reader takes for anything but a text: a letter first, and a digit somewhere."""

Change = Callable[[str, Any], Any]
"""Job and the node that its template names, to the node that it shall name; None for none."""


def pin(folder: Path, placements: Mapping[str, str]) -> dict[str, str]:
    """Write the node of each job into its template; job -> node of those that were found. Raises TraceError."""
    pinned: dict[str, str] = {}

    def change(job: str, node: Any) -> Any:
        if job in placements:
            node = pinned[job] = placements[job]
        return node

    _change(folder, change)
    return pinned


def unpin(folder: Path) -> list[str]:
    """Take nodeName out of every template; the jobs that had one. Raises TraceError."""
    freed: list[str] = []

    def change(job: str, node: Any) -> Any:
        if node is not None:
            freed.append(job)

    _change(folder, change)
    return freed


def _change(folder: Path, change: Change) -> None:
    """All files are read and all new texts written beside them before the first is replaced."""
    if not folder.is_dir():
        raise TraceError(str(folder), None, "is no folder")
    # A link stays a link: the file that it leads to is changed, once.
    paths = sorted({path.resolve() for path in (*folder.glob("*.yaml"), *folder.glob("*.yml")) if path.is_file()})
    texts: dict[Path, str] = {}
    for path in paths:
        before = _read(path)
        try:
            after = _changed(before, path, change)
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            if isinstance(error, TraceError):
                raise
            problem = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise TraceError(str(path), None, f"is no YAML: {problem}") from None
        if after != before:
            texts[path] = after
    written: dict[Path, Path] = {}
    try:
        for path, text in texts.items():
            written[path] = temporary = path.with_name(f".{path.name}.tmp")
            temporary.write_text(text, encoding="utf-8", newline="")
            shutil.copymode(path, temporary)
        for path, temporary in written.items():
            temporary.replace(path)
    finally:
        for temporary in written.values():
            temporary.unlink(missing_ok=True)


def _read(path: Path) -> str:
    if path.stat().st_size > MAX_BYTES:
        raise TraceError(str(path), None, f"is larger than {MAX_BYTES:,} bytes")
    try:
        # Not utf-8-sig: a byte-order mark is to be there again in the changed file.
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise TraceError(str(path), None, "is not text in UTF-8") from None


def _changed(text: str, path: Path, change: Change) -> str:
    """The text with the changes; checked to hold what the documents with the same changes hold."""
    body = text.removeprefix("\ufeff")
    documents = list(yaml.safe_load_all(body))
    edits: dict[tuple[int, int], str] = {}
    for document, root in zip(documents, yaml.compose_all(body, yaml.SafeLoader), strict=True):
        for job, spec, place in _pod_specs(document, root, path):
            before = spec.get(FIELD)
            after = change(job, before)
            if after == before and (after is not None or FIELD not in spec):
                continue
            if after is None:
                del spec[FIELD]
            else:
                spec[FIELD] = after
            start, end, new = _edit(body, place, after)
            edits[start, end] = new
    if not edits:
        return text
    made = body
    for (start, end), new in sorted(edits.items(), reverse=True):
        made = made[:start] + new + made[end:]
    try:
        same = list(yaml.safe_load_all(made)) == documents
    except yaml.YAMLError:
        same = False
    if not same:
        raise TraceError(str(path), None, f"{FIELD} cannot be changed in the way that it is written; do it by hand")
    return text[: len(text) - len(body)] + made


def _edit(text: str, spec: yaml.MappingNode, node: str | None) -> tuple[int, int, str]:
    """Start and end of the text to replace, and what comes there."""
    for number, (key, value) in enumerate(spec.value):
        if key.value != FIELD:
            continue
        start, end = key.start_mark.index, value.end_mark.index
        if node is not None:
            return value.start_mark.index, end, _scalar(node)
        if number + 1 < len(spec.value):
            return start, spec.value[number + 1][0].start_mark.index, ""
        if spec.flow_style:
            return spec.value[number - 1][1].end_mark.index, end, ""
        # The last key of a block: its line goes, from the end of the line before.
        line = text.rfind("\n", 0, start)
        line -= text[line - 1 : line] == "\r"
        comment = re.compile(r"[ \t]*(#[^\r\n]*)?").match(text, end)
        return line, comment.end() if comment else end, ""
    if node is None:
        return 0, 0, ""  # it comes from a merge key (<<): nothing to take out here, which the check will find
    first = spec.value[0][0].start_mark
    if spec.flow_style:
        return first.index, first.index, f"{FIELD}: {_scalar(node)}, "
    ending = "\r\n" if "\r\n" in text else "\n"
    return first.index, first.index, f"{FIELD}: {_scalar(node)}{ending}{' ' * first.column}"


def _scalar(node: str) -> str:
    if _PLAIN.fullmatch(node):
        return node
    return yaml.safe_dump(node, default_style='"', width=2**30, allow_unicode=True).removesuffix("\n")


def _pod_specs(document: Any, root: yaml.Node, path: Path) -> Iterator[tuple[str, dict[str, Any], yaml.MappingNode]]:
    """Job, pod spec and its place in the text, for each object that has one."""
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind == "List":
        items = document.get("items")
        places = _inside(root, "items")
        if isinstance(items, list) and isinstance(places, yaml.SequenceNode):
            for item, place in zip(items, places.value, strict=True):
                yield from _pod_specs(item, place, path)
        return
    if kind is None:
        return
    way = {"Pod": ("spec",), "CronJob": ("spec", "jobTemplate", "spec", "template", "spec")}
    spec: Any = document
    found: yaml.Node | None = root
    for step in way.get(str(kind), ("spec", "template", "spec")):
        spec = spec.get(step) if isinstance(spec, dict) else None
        found = _inside(found, step)
    if isinstance(spec, dict) and "containers" in spec and isinstance(found, yaml.MappingNode):
        metadata = document.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        if not isinstance(name, str):
            raise TraceError(str(path), None, f"holds a {kind} without metadata.name")
        yield base_job(name), spec, found


def _inside(node: yaml.Node | None, key: str) -> yaml.Node | None:
    """The value of a key of a mapping."""
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            if name.value == key:
                return value  # type: ignore[no-any-return]
    return None
