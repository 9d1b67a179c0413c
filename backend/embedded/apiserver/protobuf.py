"""Bodies in Kubernetes' protobuf form, for the commands of kubectl that send it whatever the server says it takes.

`kubectl create configmap`, `create deployment`, `create token`, `auth can-i` and their like do; everything that comes
from a file is JSON. Only reading is needed: answers are JSON, which all clients take.
"""

import base64
import struct
from collections.abc import Callable, Iterator
from typing import Any

from backend.embedded.apiserver.errors import Object, bad_request, unsupported_media
from backend.embedded.apiserver.protobuf_fields import ENTRY, KINDS, Message

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\0"
# The envelope: type of the object, and the object.
_TYPE, _RAW = 1, 2
_TYPE_FIELDS: Message = {1: ("apiVersion", "text"), 2: ("kind", "text")}


def _number(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = raw[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _fields(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message: numbers of any width, and whatever has a length."""
    at = 0
    while at < len(raw):
        tag, at = _number(raw, at)
        wire = tag & 7
        if wire == 0:
            value, at = _number(raw, at)
            # Negative numbers come as the unsigned ones of the same 64 bits.
            yield tag >> 3, value - (1 << 64) if value >> 63 else value
        elif wire == 2:
            size, at = _number(raw, at)
            if at + size > len(raw):
                raise ValueError("a field is longer than the body")
            yield tag >> 3, raw[at : at + size]
            at += size
        elif wire in (1, 5):
            width = 8 if wire == 1 else 4
            yield tag >> 3, struct.unpack("<q" if wire == 1 else "<i", raw[at : at + width])[0]
            at += width
        else:
            raise ValueError(f"wire type {wire}")


_SCALARS: dict[str, Callable[[Any], Any]] = {
    "text": lambda value: value.decode(),
    "bytes": lambda value: base64.b64encode(value).decode(),
    "number": int,
    "truth": bool,
    # A quantity is a message with one text in it.
    "quantity": lambda value: next((text.decode() for _, text in _fields(value) if isinstance(text, bytes)), "0"),
}


def _int_or_text(raw: bytes) -> int | str:
    parts = dict(_fields(raw))
    text = parts.get(3, b"")
    return text.decode() if parts.get(1) == 1 and isinstance(text, bytes) else int(parts.get(2, 0))


def _value(kind: str | Message, raw: Any) -> Any:
    if not isinstance(kind, str):
        return _decoded(raw, kind)
    return _int_or_text(raw) if kind == "number or text" else _SCALARS[kind](raw)


def _decoded(raw: bytes, message: Message) -> Object:
    found: Object = {}
    for number, value in _fields(raw):
        if number not in message:
            continue
        name, kind, *how = message[number]
        if how == [ENTRY]:
            # A map is a list of pairs.
            pair = dict(_fields(value))  # type: ignore[arg-type]
            found.setdefault(name, {})[_value("text", pair.get(1, b""))] = _value(kind, pair.get(2, b""))
        elif how:
            found.setdefault(name, []).append(_value(kind, value))
        elif (read := _value(kind, value)) not in ("", {}):
            # Go writes empty texts and messages where nobody set any.
            found[name] = read
    return found


def decode(raw: bytes) -> Any:
    """A body in protobuf, as the JSON would be.

    Raises:
        ApiError: 415 for a kind that is not read here, 400 for a body that is no protobuf.
    """
    try:
        if not raw.startswith(_MAGIC):
            raise ValueError("no magic number")
        parts = dict(_fields(raw[len(_MAGIC) :]))
        head = _decoded(parts.get(_TYPE, b""), _TYPE_FIELDS)  # type: ignore[arg-type]
        message = KINDS.get(head.get("kind", ""))
        if message is None:
            raise unsupported_media(MEDIA_TYPE, ["application/json", "application/yaml"])
        return head | _decoded(parts.get(_RAW, b""), message)  # type: ignore[arg-type]
    except (ValueError, IndexError, TypeError, AttributeError, struct.error) as problem:
        raise bad_request(f"the body of the request cannot be decoded: {problem}") from None
