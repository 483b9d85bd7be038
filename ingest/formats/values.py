"""Ids, times, status words and attribute lists of every format, coerced into what `Span` holds.

Pure functions of one value. None of them raises: what cannot be read becomes None, 0, "" or {}, as each says,
because a trace is untrusted input and one odd field must not cost the span.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from binascii import Error as BinasciiError
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, cast

import orjson

from gpa.ingest.spans import Attributes, Status

TRACE_DIGITS = 32
SPAN_DIGITS = 16

_HEX = re.compile(r"[0-9a-f]+").fullmatch
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch
_DECIMAL = re.compile(r"[+-]?\d{1,24}").fullmatch
_NUMBER = re.compile(r"[+-]?\d{1,24}(?:\.\d*)?(?:[eE][+-]?\d{1,3})?").fullmatch
_NO_ID = re.compile(r"[0x\- =]*|A{11}=|A{22}==").fullmatch
"""Zeros in any spelling, base64 too."""
_FRACTION = re.compile(r"[.,]\d{6}(\d{1,3})")
_URL_SAFE = str.maketrans("-_", "+/")
_BASE64_LENGTHS = {12: 8, 24: 16}  # characters -> bytes of an id, padding included
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND_NS = 1_000_000_000
_LATEST_NS = 2**63


def _spellings(words: tuple[str, ...], *prefixes: str) -> dict[object, str]:
    """Every way to write an enum's members: the number, the number as text, the word, the word behind a prefix."""
    table: dict[object, str] = {}
    for code, word in enumerate(words):
        upper = word.upper()
        table |= dict.fromkeys((code, str(code), word, word.title(), upper, *(p + upper for p in prefixes)), word)
    return table


_STATUS = _spellings(("unset", "ok", "error"), "STATUS_CODE_", "StatusCode.") | {"success": "ok"}
_KINDS = _spellings(
    ("unspecified", "internal", "server", "client", "producer", "consumer"), "SPAN_KIND_", "SpanKind."
) | dict.fromkeys((0, "0", "unspecified", "SPAN_KIND_UNSPECIFIED"), "")


def hex_id(value: object, digits: int) -> str | None:
    """The id in lower-case hex, at least `digits` long, or None when there is none (absent, empty, all zeros, not hex).

    Upper case, a `0x` prefix, a UUID with dashes, bytes and whole numbers are accepted; short hex is padded on the
    left (Jaeger drops leading zeros). Ids written by plain protobuf-to-JSON converters are base64: that is decided
    by length (24 or 12 characters with padding), since their alphabet includes hex.
    """
    if isinstance(value, str):
        if len(value) == digits and _HEX(value):  # nearly every id
            return value if value.strip("0") else None
        if len(value) in _BASE64_LENGTHS and value[-1] == "=":
            text = _base64_id(value)
        else:
            text = value.strip().lower().removeprefix("0x")
            if "-" in text and _UUID(text):
                text = text.replace("-", "")
    elif isinstance(value, bytes | bytearray):
        text = value.hex()
    elif isinstance(value, int) and not isinstance(value, bool):
        text = format(value, "x") if value > 0 else ""
    else:
        return None
    if not _HEX(text) or not text.strip("0"):
        return None
    return text if len(text) == digits else text.zfill(digits)


def derived_id(digits: int, *parts: object) -> str:
    """A hex id of `digits` that follows from `parts` alone, for producers whose ids are not hex or are shared."""
    text = "\0".join(map(text_of, parts))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=digits // 2).hexdigest()


def any_id(value: object, digits: int) -> str | None:
    """`hex_id`, or an id derived from a text that is not hex (`trace_abc...`); None when there is no id at all."""
    found = hex_id(value, digits)
    if found is None and isinstance(value, str) and not _NO_ID(value.strip()):
        return derived_id(digits, value)
    return found


def time_ns(value: object) -> int:
    """Nanoseconds since 1970, 0 when unknown.

    Whole numbers, also as text, are nanoseconds (OTLP); numbers with a fraction are seconds, or whatever unit puts
    them after 1973 (a JSON writer may have turned nanoseconds into a float); a pair is seconds and nanoseconds
    (`HrTime` of the JavaScript SDK); other text is ISO 8601 with any offset, UTC when it has none.
    """
    if isinstance(value, str):
        if value[4:5] == "-":  # 2025-..., the most frequent text
            return _iso_ns(value)
        if _DECIMAL(value):
            return _clamped(int(value))
        if _NUMBER(value):
            return _scaled_ns(float(value))
        return _iso_ns(value)
    if isinstance(value, bool):
        return 0
    if isinstance(value, int):
        return _clamped(value)
    if isinstance(value, float):
        return _scaled_ns(value)
    if isinstance(value, list | tuple):
        return _hr_time_ns(value)
    return _datetime_ns(value) if isinstance(value, datetime) else 0


def epoch_ns(value: object) -> int:
    """`time_ns` for producers that do not say their unit: whole numbers are s, ms, us or ns, decided by size.

    The bounds are such that any time between 1973 and 5138 is read right.
    """
    if isinstance(value, str) and _NUMBER(value):
        value = int(value) if _DECIMAL(value) else float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _scaled_ns(value)
    return time_ns(value)


def micro_ns(value: object) -> int:
    """Nanoseconds of a time or duration in microseconds (Jaeger, Zipkin), as a number or its text; 0 for the rest."""
    if isinstance(value, str) and _NUMBER(value):
        value = int(value) if _DECIMAL(value) else float(value)
    if isinstance(value, float):
        value = int(value) if abs(value) < _LATEST_NS else 0
    return _clamped(value * 1_000) if isinstance(value, int) else 0


def status_of(value: object) -> Status:
    """The status of a code (0, 1, 2) or word in any spelling (`OK`, `STATUS_CODE_ERROR`, `StatusCode.UNSET`)."""
    return cast("Status", _STATUS.get(value, "unset")) if isinstance(value, str | int | float) else "unset"


def is_status(value: object) -> bool:
    """Whether the value, unless there is none, is a status in any spelling."""
    return value is None or value == "" or (isinstance(value, str | int | float) and value in _STATUS)


def kind_of(value: object) -> str:
    """The span kind in lower case (`internal`, `client`...), from `SPAN_KIND_CLIENT`, `SpanKind.CLIENT` or 3.

    A word that is no kind of OpenTelemetry's stays, in lower case.
    """
    found = _KINDS.get(value) if isinstance(value, str | int | float) else ""
    return value.lower() if found is None and isinstance(value, str) else found or ""


def attributes_of(value: object) -> Attributes:
    """Attributes as a dict: an object as it is, a `{key, value}` list decoded, JSON text parsed, anything else {}.

    Phoenix writes `[]` for no attributes. A key that stands twice keeps its last value.
    """
    if isinstance(value, dict):
        return value
    if isinstance(value, str):
        value = load_json(value)
        return value if isinstance(value, dict) else {}
    if isinstance(value, list):
        try:
            return _pairs(value)
        except RecursionError:
            return {
                text_of(item["key"]): item.get("value") for item in value if isinstance(item, dict) and "key" in item
            }
    return {}


def any_value(value: object) -> Any:
    """The plain value of an OTLP `AnyValue` in JSON, either spelling, unset members null or absent.

    What is not an `AnyValue`, or is nested too deeply, stands for itself. Source: opentelemetry-proto, common.proto.
    """
    try:
        return _plain(value)
    except RecursionError:
        return value


def _plain(value: object) -> Any:
    if not isinstance(value, dict):
        return value
    for key, held in value.items():
        if held is None:
            continue
        read = _ANY_VALUE.get(key)
        return value if read is None else read(held)
    return None


def load_json(value: Any) -> Any:
    """The object or list a text holds as JSON; the value itself when it is no text, or no such JSON."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not text or text[0] + text[-1] not in {"{}", "[]"}:
        return value
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    try:  # the standard library also takes NaN, Infinity, lone surrogates and big numbers
        return json.loads(text)
    except (ValueError, RecursionError):
        return value


def text_of(value: object) -> str:
    """The value as text: a string as it is, nothing for None, JSON for the rest."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return f"<{type(value).__name__} nested too deeply to show>"


def shown(value: object) -> str:
    """The value as a note shows it: short text in quotes, else what type it is (a repr could be huge or too deep)."""
    if isinstance(value, str):
        return repr(value if len(value) <= 80 else value[:80] + "...")
    return "without a name" if value is None else f"named by a {type(value).__name__}"


def dict_of(value: object) -> dict[str, Any]:
    """The value when it is an object, also as JSON text; else {}."""
    value = load_json(value)
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    """The value when it is a list, also as JSON text; else []."""
    value = load_json(value)
    return value if isinstance(value, list) else []


def first(mapping: Mapping[str, Any], *keys: str) -> Any:
    """The first value under `keys` that is not null, or None: for fields with more than one spelling."""
    for key in keys:
        value = mapping.get(key)
        if value is not None:
            return value
    return None


def _clamped(time: int) -> int:
    """Times before 1970 or beyond a signed 64-bit integer are no times."""
    return time if 0 < time < _LATEST_NS else 0


def _base64_id(text: str) -> str:
    try:
        raw = b64decode(text.translate(_URL_SAFE), validate=True)
    except (BinasciiError, ValueError):
        return ""
    return raw.hex() if len(raw) == _BASE64_LENGTHS[len(text)] else ""


def _scaled_ns(number: float) -> int:
    """A time of unknown unit in nanoseconds; 0 for NaN, pandas' missing time."""
    if not 0 < number < _LATEST_NS:
        return 0
    for limit, factor in ((1e11, _SECOND_NS), (1e14, 1_000_000), (1e17, 1_000)):
        if number < limit:
            # Whole microseconds: a float holds no more of a time of today, its last bits are noise.
            return _clamped(number * factor if isinstance(number, int) else round(number * (factor / 1_000)) * 1_000)
    return int(number)


def _hr_time_ns(value: list[Any] | tuple[Any, ...]) -> int:
    match value:
        case [int(seconds), int(nanoseconds)]:
            return _clamped(seconds * _SECOND_NS + nanoseconds)
        case _:
            return 0


def _iso_ns(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        # Go prints `2025-06-06 12:00:00 +0000 UTC`, others end in ` UTC`.
        cleaned = text.strip().removesuffix(" UTC").replace(" +", "+").replace(" -", "-")
        try:
            moment = datetime.fromisoformat(cleaned)
        except ValueError:
            return 0
    found = _datetime_ns(moment)
    if text[26:27].isdecimal() and (beyond := _FRACTION.search(text)):  # datetime drops what follows six decimals
        found += int(beyond[1].ljust(3, "0"))
    return found


def _datetime_ns(moment: datetime) -> int:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    passed = moment - _EPOCH
    return max(0, (passed.days * 86_400 + passed.seconds) * _SECOND_NS + passed.microseconds * 1_000)


def _whole(value: object) -> object:
    """int64 comes as text; what is not a number stays as it is."""
    return int(value) if isinstance(value, str) and _DECIMAL(value) else value


def _double(value: object) -> object:
    """`NaN`, `Infinity` and `-Infinity` come as text."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _bytes(value: object) -> object:
    """Base64, unlike ids; what is not base64 stays text."""
    try:
        return b64decode(value, validate=True) if isinstance(value, str) else value
    except (BinasciiError, ValueError):
        return value


def _array(value: object) -> object:
    if isinstance(value, dict):
        value = value.get("values") or []
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _key_values(value: object) -> object:
    if isinstance(value, dict):
        value = value.get("values") or []
    return _pairs(value) if isinstance(value, list) else value


def _pairs(value: list[Any]) -> Attributes:
    return {
        text_of(item["key"]): _plain(item.get("value")) for item in value if isinstance(item, dict) and "key" in item
    }


def _itself(value: object) -> object:
    return value


_ANY_VALUE = {
    "stringValue": _itself,
    "string_value": _itself,
    "boolValue": _itself,
    "bool_value": _itself,
    "intValue": _whole,
    "int_value": _whole,
    "doubleValue": _double,
    "double_value": _double,
    "bytesValue": _bytes,
    "bytes_value": _bytes,
    "arrayValue": _array,
    "array_value": _array,
    "kvlistValue": _key_values,
    "kvlist_value": _key_values,
}
