"""Error reports, and results that look like one."""

from __future__ import annotations

import pytest

from gpa.ingest.error_reports import error_in


@pytest.mark.parametrize(
    ("text", "is_error"),
    [
        ("Error: no such thing", True),
        ("Call id: call_1\nError:\nno such thing", True),
        ("Error executing tool search: boom", True),
        ("Traceback (most recent call last):\n ...", True),
        ("ValueError: bad", True),
        ("requests.exceptions.ConnectionError: refused", True),
        ("<tool_use_error>no</tool_use_error>", True),
        ('{"error": "boom"}', True),
        ('{"isError": true, "content": []}', True),
        ('{"status": "error"}', True),
        ('{"success": false, "message": "not eligible"}', True),
        ('{"ok": false}', True),
        ('{"statusCode": 500, "body": "oops"}', True),
        ('{"errors": [{"message": "no such field", "path": ["a"]}], "data": null}', True),
        ('{"exit_code": 2, "stdout": "", "stderr": "fatal: not a git repository"}', True),
        ('{"exit_code": 1, "stdout": "", "stderr": "cannot open"}', True),
        ("Failed: not eligible", True),
        ("Tool execution failed: not eligible", True),
        ("Command failed with exit code 2: order", True),
        ("HTTP 500 Internal Server Error", True),
        ("ERROR order not eligible", True),
        ("<error>not eligible</error>", True),
        ('{"success": true, "errors": []}', False),
        ('{"status": 200, "statusCode": 204}', False),
        ('{"errors": [{"message": "unused name", "line": 3}]}', False),
        ('{"errors": [{"message": "no such field"}], "data": {"a": 1}}', False),
        ('{"exit_code": 1, "stdout": "1 failed", "stderr": "a warning"}', False),
        ('{"exit_code": 1, "stdout": "", "stderr": ""}', False),
        ("(exit code 1)", False),
        ("Command failed with exit code 1: grep -r foo .", False),
        ("Failed: 0, passed: 12", False),
        ("HTTP 500 errors and what to do about them\n\nA chapter.", False),
        ("ERROR cannot connect\nINFO started", False),
        ("2024-01-01 ERROR cannot connect", False),
        ('{"error": null, "rows": 3}', False),
        ('{"error": "cut', False),
        ('{"text": "no error"}', False),
        ("The error rate is 5 %", False),
        ("Errors and how to handle them: a chapter", False),
        ("", False),
    ],
)
def test_error_reports_are_told_from_results(text: str, is_error: bool) -> None:
    assert bool(error_in(text)) is is_error
