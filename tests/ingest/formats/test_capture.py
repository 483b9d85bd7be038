"""Recorded HTTP requests."""

from __future__ import annotations

from typing import Any

import pytest

from gpa.ingest.formats.capture import request_body, request_path

FORM = (
    '--edge\r\nContent-Disposition: form-data; name="a"\r\n\r\n{"x": 1}\r\n'
    '--edge\r\nContent-Disposition: form-data; name="b"; filename="f"\r\nContent-Length: 4\r\n\r\ntext\r\n'
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"method": "POST", "path": "/api/v2/spans", "body": "[]"}, "/api/v2/spans"),
        ({"path": None, "body": ""}, ""),
        ({"path": "/x"}, ""),
        ([], ""),
        (None, ""),
    ],
    ids=repr,
)
def test_request_path(value: Any, expected: str) -> None:
    assert request_path(value) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(FORM + "--edge--\r\n", {"a": {"x": 1}, "b": "text"}, id="whole"),
        pytest.param(FORM + '--edge\r\nContent-Disposition: form-data; name="c"\r\n\r\n{"cu', None, id="cut"),
        pytest.param("", {}, id="empty"),
    ],
)
def test_multipart_fields(body: str, expected: dict[str, Any] | None) -> None:
    fields = request_body({"path": "/runs", "content_type": "multipart/form-data; boundary=edge", "body": body})
    assert fields == ({"a": {"x": 1}, "b": "text", "c": '{"cu'} if expected is None else expected)


def test_a_json_body_is_decoded() -> None:
    assert request_body({"path": "/x", "body": "[1]"}) == [1]
    assert request_body({"path": "/x", "body": [1]}) == [1]
