"""Whether what a tool gave back is an error report: spans of self-made tools say so nowhere but in the text.

A report begins like one, or is a short JSON object with a field that says that the call failed. A document, a log or
a search result that mentions errors further on is none; one that begins with `Error:` cannot be told apart.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

_JSON_ERROR_MAX = 4_000
"""A JSON error result is short; longer JSON is not decoded to look for what says so."""
_JSON_SAYS = re.compile(
    r'"(?:\w*error\w*|success|ok|status|status_?code|exit_?(?:code|status)|return_?code)"', re.IGNORECASE
)
_GRAPHQL = frozenset({"errors", "data", "extensions"})
_GRAPHQL_ERROR = frozenset({"message", "locations", "path", "extensions"})
_ERROR_START = re.compile(
    r"""\s*(?:call\ id:[^\n]*\n\s*)?(?:
        (?:tool\ |execution\ |runtime\ )?(?:error|exception|failure)\s*:
      | error\ (?:executing|calling|running|invoking|while|when|in|code)\b
      | (?:an?\ )?(?:unexpected\ )?error\ (?:occurred|happened)\b
      | failed\ to\ (?:execute|call|run|invoke)\b
      | (?:(?:the\ )?(?:tool|function|command|process|request|operation|call)\ (?:execution\ |call\ )?)?failed
        (?:\s*:(?!\s*(?:\d|none\b|no\b))              # not a count of failures
          |\ with\ (?:exit\ )?(?:code|status)\ (?!1\b)\d)  # 1 is what grep, diff and test runners say of what they saw
      | http(?:/[\d.]+)?\ (?:error\ |status\ )?[45]\d\d\b[^\n]{0,80}\s*\Z
      | (?-i:\[?ERROR\]?)\s+(?!\d)[^\n]{1,300}\Z       # a line of its own; more are a log
      | traceback\ \(most\ recent\ call\ last\)
      | (?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)\b\s*[:(]
      | <(?:tool_(?:use_)?)?error>
    )""",
    re.VERBOSE | re.IGNORECASE,
)


def error_in(text: str) -> str:
    """The text when it is an error report rather than a result, else empty."""
    if _ERROR_START.match(text, 0, min(len(text), 400)):
        return text
    if text.startswith("{") and len(text) <= _JSON_ERROR_MAX and _JSON_SAYS.search(text):
        try:
            value = msgspec.json.decode(text)
        except (msgspec.MsgspecError, RecursionError):
            return ""
        return text if _says_failed(value) else ""
    return ""


def _says_failed(value: dict[str, Any]) -> bool:
    """Whether a JSON object says of itself that the call failed."""
    if value.get("isError") is True or value.get("is_error") is True or value.get("error"):
        return True
    if value.get("status") == "error" or value.get("success") is False or value.get("ok") is False:
        return True
    return _http_failed(value) or _graphql_failed(value) or _process_failed(value)


def _http_failed(value: dict[str, Any]) -> bool:
    status = next((value[key] for key in ("statusCode", "status_code", "status") if key in value), None)
    return type(status) is int and 400 <= status < 600


def _graphql_failed(value: dict[str, Any]) -> bool:
    """Whether it is an answer with errors and no data; a linter's findings have other fields."""
    errors = value.get("errors")
    return (
        isinstance(errors, list)
        and bool(errors)
        and not value.get("data")
        and _GRAPHQL.issuperset(value)
        and all(isinstance(error, dict) and "message" in error and _GRAPHQL_ERROR.issuperset(error) for error in errors)
    )


def _process_failed(value: dict[str, Any]) -> bool:
    """Whether a command failed: 1 alone is also what grep, diff and test runners say of what they saw."""
    names = ("exit_code", "exitCode", "exit_status", "returncode", "return_code", "returnCode")
    code = next((value[name] for name in names if name in value), None)
    if type(code) is not int or code == 0:
        return False
    return code != 1 or (bool(value.get("stderr")) and not value.get("stdout"))
