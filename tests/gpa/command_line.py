"""The command line run in this process, and what it printed where."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from click.testing import CliRunner

from gpa.cli import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def gpa(*arguments: object, columns: int = 200) -> Ran:
    """The command with these arguments; an exception that it does not turn into an exit code fails the test."""
    done = CliRunner().invoke(main, list(map(str, arguments)), env={"COLUMNS": str(columns)})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return Ran(done.exit_code, done.stdout, done.stderr)
