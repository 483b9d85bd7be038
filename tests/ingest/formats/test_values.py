"""Coercions of ids, times, status words and attribute lists."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.ingest.formats.values import (
    SPAN_DIGITS,
    TRACE_DIGITS,
    any_id,
    any_value,
    attributes_of,
    derived_id,
    epoch_ns,
    first,
    hex_id,
    kind_of,
    list_of,
    load_json,
    micro_ns,
    shown,
    status_of,
    text_of,
    time_ns,
)

JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        pytest.param("00f067aa0ba902b7", SPAN_DIGITS, "00f067aa0ba902b7", id="hex"),
        pytest.param("00F067AA0BA902B7", SPAN_DIGITS, "00f067aa0ba902b7", id="upper case"),
        pytest.param("0x00f067aa0ba902b7", SPAN_DIGITS, "00f067aa0ba902b7", id="0x prefix"),
        pytest.param("f067aa0ba902b7", SPAN_DIGITS, "00f067aa0ba902b7", id="leading zeros dropped"),
        pytest.param("00f067aa0ba902b7", TRACE_DIGITS, "0" * 16 + "00f067aa0ba902b7", id="64-bit trace id"),
        pytest.param("APBnqgupArc=", SPAN_DIGITS, "00f067aa0ba902b7", id="base64 of 8 bytes"),
        pytest.param("S/kvNXezTaajzpKdDg5HNg==", TRACE_DIGITS, "4bf92f3577b34da6a3ce929d0e0e4736", id="base64 of 16"),
        pytest.param(
            "S_kvNXezTaajzpKdDg5HNg==", TRACE_DIGITS, "4bf92f3577b34da6a3ce929d0e0e4736", id="URL-safe base64"
        ),
        pytest.param(
            "a8b34ded-ccd2-4fb7-bccb-9cd625066a14", SPAN_DIGITS, "a8b34dedccd24fb7bccb9cd625066a14", id="UUID"
        ),
        pytest.param(b"\x01\x02\x03\x04\x05\x06\x07\x08", SPAN_DIGITS, "0102030405060708", id="bytes"),
        pytest.param(255, SPAN_DIGITS, "00000000000000ff", id="whole number"),
        pytest.param("", SPAN_DIGITS, None, id="empty"),
        pytest.param("?8xnqgupArc=", SPAN_DIGITS, None, id="neither hex nor base64"),
        pytest.param("0000000000000000", SPAN_DIGITS, None, id="all zeros"),
        pytest.param("AAAAAAAAAAA=", SPAN_DIGITS, None, id="all zeros in base64"),
        pytest.param("span_1", SPAN_DIGITS, None, id="not hex"),
        pytest.param(None, SPAN_DIGITS, None, id="null"),
        pytest.param(True, SPAN_DIGITS, None, id="a flag"),
        pytest.param(["00f067aa0ba902b7"], SPAN_DIGITS, None, id="a list"),
    ],
)
def test_hex_id(value: object, digits: int, expected: str | None) -> None:
    assert hex_id(value, digits) == expected


@given(st.binary(min_size=8, max_size=8) | st.binary(min_size=16, max_size=16))
def test_an_id_reads_the_same_in_hex_and_base64(raw: bytes) -> None:
    digits = len(raw) * 2
    forms = [raw.hex(), raw.hex().upper(), "0x" + raw.hex(), b64encode(raw).decode(), raw]
    assert {hex_id(form, digits) for form in forms} == {raw.hex() if any(raw) else None}


def test_text_that_is_not_hex_gets_an_id_of_its_own() -> None:
    ids = {any_id(text, SPAN_DIGITS) for text in ("span_1", "span_2", "live-trace-1")}
    assert len(ids) == 3
    assert all(hex_id(found, SPAN_DIGITS) == found for found in ids)
    assert any_id("span_1", SPAN_DIGITS) == any_id("span_1", SPAN_DIGITS)
    zeros = ("0000", "0x0", "00000000-0000-0000-0000-000000000000", "AAAAAAAAAAA=", "AAAAAAAAAAAAAAAAAAAAAA==", " ")
    assert [any_id(text, SPAN_DIGITS) for text in zeros] == [None] * len(zeros)


def test_derived_ids_have_the_length_asked_for_and_tell_parts_apart() -> None:
    assert len(derived_id(TRACE_DIGITS, "a")) == TRACE_DIGITS
    assert derived_id(SPAN_DIGITS, "a", "b") != derived_id(SPAN_DIGITS, "ab")


SECOND = 1_742_402_482
NS = SECOND * 1_000_000_000
NO_WORDS: tuple[object, ...] = (None, "", [], {}, 99)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(NS + 7, NS + 7, id="nanoseconds"),
        pytest.param(str(NS + 7), NS + 7, id="nanoseconds as text"),
        pytest.param(float(SECOND) + 0.5, NS + 500_000_000, id="seconds with a fraction"),
        pytest.param(f"{SECOND}.25", NS + 250_000_000, id="seconds as text"),
        pytest.param([SECOND, 7], NS + 7, id="pair of the JavaScript SDK"),
        pytest.param("2025-03-19T16:41:22Z", NS, id="ISO, Z"),
        pytest.param("2025-03-19T16:41:22.123456Z", NS + 123_456_000, id="ISO, microseconds"),
        pytest.param("2025-03-19T16:41:22.123456789Z", NS + 123_456_789, id="ISO, nanoseconds"),
        pytest.param("2025-03-19T16:41:22.1234567+00:00", NS + 123_456_700, id="ISO, .NET's seven decimals"),
        pytest.param("2025-03-19T18:41:22+02:00", NS, id="ISO, offset"),
        pytest.param("2025-03-19 16:41:22", NS, id="ISO, no zone is UTC"),
        pytest.param("2025-03-19 16:41:22 +0000 UTC", NS, id="Go"),
        pytest.param(datetime(2025, 3, 19, 16, 41, 22, tzinfo=UTC), NS, id="datetime"),
        pytest.param("yesterday", 0, id="text"),
        pytest.param("", 0, id="empty"),
        pytest.param(None, 0, id="null"),
        pytest.param(float("nan"), 0, id="NaN"),
        pytest.param(float("inf"), 0, id="infinity"),
        pytest.param(-5, 0, id="before 1970"),
        pytest.param(10**30, 0, id="beyond 64 bits"),
        pytest.param([1, "x"], 0, id="no pair"),
        pytest.param(True, 0, id="a flag"),
    ],
)
def test_time_ns(value: object, expected: int) -> None:
    assert time_ns(value) == expected


@pytest.mark.parametrize("unit", [1, 1_000, 1_000_000, 1_000_000_000])
@pytest.mark.parametrize("form", [int, float, str])
def test_epoch_ns_tells_the_unit_by_the_size(unit: int, form: type) -> None:
    assert epoch_ns(form(SECOND * unit)) == NS


@given(st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2200, 1, 1)), st.integers(-840, 840))  # noqa: DTZ001
def test_iso_times_are_exact_in_every_zone(moment: datetime, minutes: int) -> None:
    local = (moment + timedelta(minutes=minutes)).isoformat()
    zone = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    expected = (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1) * 1_000  # noqa: DTZ001
    assert time_ns(local + zone) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(5, 5_000), ("5", 5_000), (5.0, 5_000), (None, 0), ("x", 0), (-1, 0), (float("nan"), 0), (float("inf"), 0)],
    ids=repr,
)
def test_micro_ns(value: object, expected: int) -> None:
    assert micro_ns(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((code, word) for code, word in enumerate(("unset", "ok", "error"))),
        *((word, "error") for word in ("ERROR", "Error", "error", "STATUS_CODE_ERROR", "StatusCode.ERROR", "2", 2.0)),
        *((junk, "unset") for junk in NO_WORDS),
    ],
    ids=repr,
)
def test_status_of(value: object, expected: str) -> None:
    assert status_of(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((word, "client") for word in (3, 3.0, "CLIENT", "client", "Client", "SPAN_KIND_CLIENT", "SpanKind.CLIENT")),
        *((junk, "") for junk in (0, "SPAN_KIND_UNSPECIFIED", *NO_WORDS)),
        ("LLM", "llm"),
    ],
    ids=repr,
)
def test_kind_of(value: object, expected: str) -> None:
    assert kind_of(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"a": 1}, {"a": 1}, id="object"),
        pytest.param([{"key": "a", "value": {"intValue": "7"}}], {"a": 7}, id="key and value"),
        pytest.param(
            [{"key": "a", "value": {"string_value": None, "int_value": 7, "bool_value": None}}],
            {"a": 7},
            id="snake case, unset members null",
        ),
        pytest.param('{"a": 1}', {"a": 1}, id="JSON text"),
        pytest.param([], {}, id="empty list"),
        pytest.param(None, {}, id="null"),
        pytest.param("text", {}, id="text"),
        pytest.param([1, {"value": 2}, None], {}, id="not pairs"),
    ],
)
def test_attributes_of(value: object, expected: dict[str, Any]) -> None:
    assert attributes_of(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"stringValue": "a"}, "a", id="string"),
        pytest.param({"boolValue": False}, False, id="bool"),
        pytest.param({"intValue": "-5"}, -5, id="int64 as text"),
        pytest.param({"doubleValue": "Infinity"}, float("inf"), id="infinity"),
        pytest.param({"bytesValue": "AQI="}, b"\x01\x02", id="bytes"),
        pytest.param({"arrayValue": {"values": [{"intValue": 1}, {"stringValue": "b"}]}}, [1, "b"], id="array"),
        pytest.param({"arrayValue": {}}, [], id="empty array"),
        pytest.param(
            {"kvlistValue": {"values": [{"key": "k", "value": {"arrayValue": {"values": [{}]}}}]}},
            {"k": [None]},
            id="map",
        ),
        pytest.param({}, None, id="empty value"),
        pytest.param({"intValue": "many"}, "many", id="not a number"),
        pytest.param({"bytesValue": "?"}, "?", id="not base64"),
        pytest.param({"city": "Paris"}, {"city": "Paris"}, id="no AnyValue"),
    ],
)
def test_any_value(value: object, expected: object) -> None:
    assert any_value(value) == expected


def test_a_value_nested_too_deeply_is_kept_as_it_is() -> None:
    deep: Any = {"stringValue": "x"}
    for _ in range(20_000):
        deep = {"arrayValue": {"values": [deep]}}
    assert any_value(deep) is deep
    assert attributes_of([{"key": "a", "value": deep}])["a"] is deep


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param('{"a": [1]}', {"a": [1]}, id="object"),
        pytest.param(" [1] ", [1], id="list"),
        pytest.param('{"a": ', '{"a": ', id="cut"),
        pytest.param("{not json}", "{not json}", id="braces"),
        pytest.param("12", "12", id="a number stays text"),
        pytest.param("[" * 100_000 + "]" * 100_000, "[" * 100_000 + "]" * 100_000, id="too deep"),
        pytest.param(5, 5, id="not text"),
    ],
)
def test_load_json(value: object, expected: object) -> None:
    assert load_json(value) == expected


def test_load_json_reads_what_only_python_writes() -> None:
    assert str(load_json('{"a": NaN}')) == "{'a': nan}"


def test_text_of_nested_too_deeply_says_so() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert text_of(deep) == "<list nested too deeply to show>"


@given(JUNK)
def test_nothing_raises(value: object) -> None:
    hex_id(value, SPAN_DIGITS)
    any_id(value, TRACE_DIGITS)
    attributes_of(value)
    list_of(value)
    assert isinstance(text_of(value), str)
    assert status_of(value) in {"unset", "ok", "error"}
    assert isinstance(kind_of(value), str)
    for found in (time_ns(value), epoch_ns(value), micro_ns(value)):
        assert 0 <= found < 2**63


@given(st.dictionaries(st.text(), st.integers(-(2**63), 2**63 - 1) | st.text()))
def test_load_json_reads_what_json_writes(value: dict[str, Any]) -> None:
    assert load_json(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [("op", "'op'"), ("x" * 200, repr("x" * 80 + "...")), (None, "without a name"), ([], "named by a list")],
    ids=["text", "long text", "null", "list"],
)
def test_shown_is_short(value: object, expected: str) -> None:
    assert shown(value) == expected


def test_first_passes_over_null() -> None:
    assert first({"a": None, "b": 0, "c": 1}, "a", "b", "c") == 0
    assert first({}, "a") is None
