"""Options under headings: `--help` of a command with many of them stays readable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


class Grouped(click.Command):
    """A command whose `--help` lists its options under the headings they were given."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options without a heading first, then each group in the order of the command."""
        groups: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                heading = parameter.heading if isinstance(parameter, Option) else "Options"
                groups.setdefault(heading, []).append(record)
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records)


class Option(click.Option):
    """An option with a heading."""

    def __init__(self, *args: Any, heading: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.heading = heading


def grouped(heading: str, *options: tuple[tuple[str, ...], dict[str, Any]]) -> Callable[[Any], Any]:
    """Give a command these options, each its names and what click takes of it, under a heading, in this order."""

    def decorate(command: Any) -> Any:
        for names, settings in reversed(options):
            command = click.option(*names, cls=Option, heading=heading, **settings)(command)
        return command

    return decorate


def option(*names: str, **settings: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    """One option for `grouped`."""
    return names, settings
