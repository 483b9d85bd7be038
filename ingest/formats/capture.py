"""HTTP requests that a proxy or test sink wrote down: `{method, path, content_type, body}`, one an object.

Exporters without a file form (Zipkin, LangSmith) reach a file this way.
"""

from __future__ import annotations

from typing import Any

from gpa.ingest.formats.values import load_json

_KEYS = frozenset({"path", "body"})


def request_path(value: Any) -> str:
    """The path of a recorded request, empty when the value is not one."""
    if isinstance(value, dict) and value.keys() >= _KEYS and isinstance(value["path"], str):
        return value["path"]
    return ""


def request_body(value: dict[str, Any]) -> Any:
    """The body: what its JSON text says, or the fields of a multipart form as `{field name: value}`."""
    body = value["body"]
    if isinstance(body, str) and "multipart/" in str(value.get("content_type", "")):
        return _form_fields(body)
    return load_json(body)


def _form_fields(body: str) -> dict[str, Any]:
    """Fields of a multipart/form-data text (RFC 7578). The first line is the boundary; a cut last part is kept."""
    boundary, _, _ = body.partition("\r\n")
    fields: dict[str, Any] = {}
    for part in body.split(boundary) if boundary else ():
        head, gap, content = part.partition("\r\n\r\n")
        _, named, rest = head.partition('name="')
        if gap and named:
            fields[rest.partition('"')[0]] = load_json(content.removesuffix("\r\n"))
    return fields
