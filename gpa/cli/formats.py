"""`gpa formats`: what can be read, as the readers themselves say it."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import click


@click.command(name="formats")
def command() -> None:
    """List the file formats and attribute conventions that can be read.

    Neither has to be named: files are known by their content, conventions by their attributes.

    \b
    Examples:
      gpa formats
      gpa formats | grep -i phoenix
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.ingest.dialects import DIALECTS
    from gpa.ingest.formats import FORMATS

    click.echo("File formats, by content; gzip and zstd of each; files, folders, globs, - for standard input\n")
    _print_table((found.name, found.about) for found in FORMATS)
    click.echo("\nAttribute conventions; spans of any other show name, input, output and status\n")
    _print_table(
        (dialect.__module__.rpartition(".")[2].replace("_", "-"), _about(dialect.__module__)) for dialect in DIALECTS
    )


def _about(module: str) -> str:
    """The first line of the module's docstring."""
    return (sys.modules[module].__doc__ or "").partition("\n")[0].rstrip(".")


def _print_table(rows: Iterable[tuple[str, str]]) -> None:
    for name, about in rows:
        click.echo(f"  {name:<18} {about}")
