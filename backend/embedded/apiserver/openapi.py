"""/openapi/v2, just as much of it as kubectl insists on.

kubectl will not apply anything without this document, and old ones dry-run on the server only kinds whose PATCH
has a parameter `dryRun` in it. It contains no schemas: kubectl then leaves all validation to the server. The protobuf
form is written by hand, as the only one that old kubectl reads; field numbers are those of gnostic's `OpenAPIv2.proto`.
"""

from backend.embedded.apiserver.errors import Object
from backend.embedded.apiserver.resources import Registry, Resource

PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


def _path(resource: Resource) -> str:
    root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
    space = "/namespaces/{namespace}" if resource.namespaced else ""
    return f"{root}{space}/{resource.plural}/{{name}}"


def document(registry: Registry) -> Object:
    """The document as JSON."""
    query = [{"name": "dryRun", "in": "query", "type": "string", "uniqueItems": True}]
    paths = {}
    for resource in registry:
        if "patch" in resource.verbs:
            kind = {"group": resource.group, "kind": resource.kind, "version": resource.version}
            answers = {"200": {"description": "OK"}}
            patch = {"parameters": query, "responses": answers, "x-kubernetes-group-version-kind": kind}
            paths[_path(resource)] = {"patch": patch}
    return {"swagger": "2.0", "info": {"title": "Kubernetes", "version": "v1"}, "paths": paths, "definitions": {}}


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _field(number: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    # Wire type 2: a length, then that many bytes. Nothing else is needed here.
    return _varint(number << 3 | 2) + _varint(len(raw)) + raw


def protobuf(registry: Registry) -> bytes:
    """The document as protobuf."""
    query = _field(2, "query") + _field(4, "dryRun") + _field(6, "string")
    # ParametersItem.parameter > Parameter.non_body_parameter > NonBodyParameter.query_parameter_sub_schema
    parameter = _field(1, _field(2, _field(3, query)))
    paths = b""
    for resource in registry:
        if "patch" in resource.verbs:
            kind = f"group: {resource.group or chr(34) * 2}\nkind: {resource.kind}\nversion: {resource.version}\n"
            extension = _field(1, "x-kubernetes-group-version-kind") + _field(2, _field(2, kind))
            patch = _field(8, parameter) + _field(13, extension)
            paths += _field(2, _field(1, _path(resource)) + _field(2, _field(8, patch)))
    info = _field(1, "Kubernetes") + _field(2, "v1")
    return _field(1, "2.0") + _field(2, info) + _field(8, paths)
