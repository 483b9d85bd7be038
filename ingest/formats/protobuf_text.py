"""A protobuf message with text that is no UTF-8 -> the same message with U+FFFD there, as in JSON.

One wrong byte (a text cut by bytes, a terminal's output) makes protobuf refuse a whole message. So a message that was
refused is read once more by its schema with all texts declared as bytes, which are the same on the wire.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from google.protobuf.descriptor import FileDescriptor
    from google.protobuf.descriptor_pb2 import DescriptorProto
    from google.protobuf.message import Message


class _Lenient(NamedTuple):
    message: type[Message]
    texts: frozenset[str]
    """Full names of the fields that are texts in the schema itself."""


def with_valid_text(message: type[Message], data: bytes) -> bytes | None:
    """The message with valid text, or None when that is not all that is wrong with it."""
    from google.protobuf.message import DecodeError

    lenient = _lenient(message.DESCRIPTOR)
    try:
        read = lenient.message.FromString(data)
    except DecodeError:
        return None
    return read.SerializeToString() if _mend(read, lenient.texts) else None


def _mend(top: Any, texts: frozenset[str]) -> int:
    """Replace what is no UTF-8 in the texts of the message, however deep they are; how many there were."""
    count = 0
    stack = [top]
    while stack:
        message = stack.pop()
        for field, value in message.ListFields():
            one = isinstance(value, bytes) or not isinstance(value, Iterable)
            if field.message_type:
                stack.extend([value] if one else value)
            elif field.full_name in texts:
                mended = _valid(value) if one else [_valid(text) for text in value]
                if mended != value:
                    count += 1
                    if one:
                        setattr(message, field.name, mended)
                    else:
                        value[:] = mended
    return count


def _valid(text: bytes) -> bytes:
    return text.decode(errors="replace").encode()


@cache
def _lenient(message: Any) -> _Lenient:
    """For the descriptor of a message, its class in a schema without texts."""
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message_factory import GetMessageClass

    pool = DescriptorPool()
    texts: set[str] = set()
    _add(message.file, pool, texts, set())
    return _Lenient(GetMessageClass(pool.FindMessageTypeByName(message.full_name)), frozenset(texts))


def _add(file: FileDescriptor, pool: Any, texts: set[str], added: set[str]) -> None:
    """Put a file of the schema, after those it needs, into the pool with its texts as bytes."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    if file.name in added:
        return
    added.add(file.name)
    for needed in file.dependencies:
        _add(needed, pool, texts, added)
    proto = FileDescriptorProto()
    file.CopyToProto(proto)
    for declared in proto.message_type:
        _declare_bytes(declared, f"{proto.package}.{declared.name}", texts)
    pool.Add(proto)


def _declare_bytes(message: DescriptorProto, name: str, texts: set[str]) -> None:
    for field in message.field:
        if field.type == field.TYPE_STRING:
            field.type = field.TYPE_BYTES
            texts.add(f"{name}.{field.name}")
    for nested in message.nested_type:
        _declare_bytes(nested, f"{name}.{nested.name}", texts)
