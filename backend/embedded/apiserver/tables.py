"""Other shapes of an answer: a Table for `kubectl get`, or the metadata alone."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from backend.embedded.apiserver.clock import age
from backend.embedded.apiserver.columns import AGE, COLUMNS, NAME, Column
from backend.embedded.apiserver.errors import Object
from backend.embedded.apiserver.resources import Resource

_META = "meta.k8s.io/v1"
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]|\[\?\(@\.(\w+)==[\"'](.*?)[\"']\)\]")


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape that a client asked for: "" (as it is), "Table" or "PartialObjectMetadata"."""

    name: str = ""
    include: str = "Metadata"

    @staticmethod
    def wanted(accept: str, query: Mapping[str, str]) -> "Shape":
        """The first shape of an Accept header that is known here."""
        for choice in accept.split(","):
            parameters = dict(part.strip().partition("=")[::2] for part in choice.split(";")[1:])
            name = parameters.get("as", "").removesuffix("List")
            if not name:
                break
            known = name in ("Table", "PartialObjectMetadata") and parameters.get("g") == "meta.k8s.io"
            if known and parameters.get("v", "v1") == "v1":
                return Shape(name, query.get("includeObject", "Metadata"))
        return Shape()

    def of_list(self, resource: Resource, items: list[Object], metadata: Object, now: datetime) -> Object:
        """A list in this shape."""
        if self.name == "Table":
            return table(resource, items, metadata, self.include, now)
        parts = [partial(obj) for obj in items]
        return {"kind": "PartialObjectMetadataList", "apiVersion": _META, "metadata": metadata, "items": parts}

    def of_one(self, resource: Resource, obj: Object, now: datetime) -> Object:
        """One object in this shape."""
        if self.name == "Table":
            metadata = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
            return table(resource, [obj], metadata, self.include, now)
        return partial(obj)


def partial(obj: Object) -> Object:
    """The metadata of an object, as an object."""
    return {"kind": "PartialObjectMetadata", "apiVersion": _META, "metadata": obj["metadata"]}


def columns(resource: Resource) -> tuple[Column, ...]:
    """A kind's columns: its own, those of its definition, or just name and age."""
    if resource.custom:
        extra = tuple(_declared(c) for c in resource.definition.get("additionalPrinterColumns") or ())
        return (NAME, *extra) if extra else (NAME, AGE)
    return COLUMNS.get(resource.stored_as, (NAME, AGE))


def _declared(column: Mapping[str, Any]) -> Column:
    path, kind = column["jsonPath"], column["type"]

    def read(obj: Object, now: datetime) -> Any:
        value = json_path(obj, path)
        return age(value, now) if kind == "date" and value else value

    return Column(column["name"], read, wide=column.get("priority", 0) > 0, type=kind, format=column.get("format", ""))


def json_path(obj: Any, path: str) -> Any:
    """The value at a simple JSON path: fields, indexes and one-field filters. None where there is none."""
    for field, index, key, wanted in _STEP.findall(path.replace("\\.", "\0")):
        if field:
            obj = obj.get(field.replace("\0", ".")) if isinstance(obj, dict) else None
        elif not isinstance(obj, list):
            return None
        elif index:
            obj = obj[int(index)] if int(index) < len(obj) else None
        else:
            obj = next((item for item in obj if item.get(key) == wanted), None)
    return obj


def table(resource: Resource, items: list[Object], metadata: Object, include: str, now: datetime) -> Object:
    """Objects as a Table; `include` says how much of each object rides along: Object, Metadata or None."""
    shown = columns(resource)
    rows = []
    for obj in items:
        row: Object = {"cells": [column.read(obj, now) for column in shown]}
        if include == "Object":
            row["object"] = obj
        elif include != "None":
            row["object"] = partial(obj)
        rows.append(row)
    heads = [column.definition() for column in shown]
    return {"kind": "Table", "apiVersion": _META, "metadata": metadata, "columnDefinitions": heads, "rows": rows}
