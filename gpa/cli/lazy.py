"""A group of commands that knows them by name and imports one when it is called."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

Lines = Mapping[str, tuple[str, str]]
"""Name -> module that holds a click command `command`, and its line in the group's help."""


class Lazy(click.Group):
    """A group whose help lists `lines` without importing any of the commands."""

    def __init__(self, *args: Any, lines: Lines, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lines = lines

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The names in the order of the lines: the most used first."""
        return list(self.lines)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now, or None."""
        if cmd_name not in self.lines:
            return None
        command = import_module(self.lines[cmd_name][0]).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the lines without importing any command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in self.lines.items()])
