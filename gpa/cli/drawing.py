"""Gold trajectories and drawings, written: JSON with a user a line, drawings for people, one file or several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from gpa.cli.compiling import Crowd
from gpa.cli.output import json_line, open_output, visible
from gpa.errors import UsageError

if TYPE_CHECKING:
    from gpa.plans.calls import GoldSet
    from gpa.plans.picture import Picture

SHOWN_USERS = 20
"""Drawn on a terminal; more are counted."""
_SUFFIXES = {".svg": "svg", ".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".mermaid": "mermaid"}


def write_json(
    compiled: Iterator[GoldSet], crowd: Crowd, formats: Sequence[str], mode: str, file: IO[str]
) -> dict[str, int]:
    """Write one user a line, inside one object or array; the notes about them, each with how many users it is about."""
    from gpa.plans.outputs import GROUND_TRUTH, written

    noted: dict[str, int] = {}
    records = mode == "data_and_trajectory"
    file.write("[" if records else "{")
    separator = "\n"

    def put(line: str) -> None:
        nonlocal separator
        file.write(separator + line)
        separator = ",\n"

    waiting = iter(crowd.users)
    for gold in compiled:
        _count(gold, noted)
        result = written(gold, formats)
        if not records:
            put(f"{json_line(gold.user)}: {json_line(result)}")
            continue
        for user in waiting:  # those that were rejected keep their records as they are
            put(json_line({**user.data, GROUND_TRUTH: result} if user.id == gold.user else user.data))
            if user.id == gold.user:
                break
    if records:
        for user in waiting:
            put(json_line(user.data))
    file.write("\n]\n" if records else "\n}\n")
    return noted


def show(compiled: Iterator[GoldSet]) -> dict[str, int]:
    """Draw the first users' trajectories and count all."""
    from msgspec import structs

    from gpa.plans.draw import terminal
    from gpa.plans.picture import gold_picture

    noted: dict[str, int] = {}
    users = trajectories = 0
    for gold in compiled:
        users += 1
        trajectories += len(gold.trajectories)
        _count(gold, noted)
        if users <= SHOWN_USERS:
            click.echo(visible(terminal(structs.replace(gold_picture(gold), remarks=()))))
    more = f"; the first {SHOWN_USERS} are shown, --json has all" if users > SHOWN_USERS else ""
    click.echo(f"{plural(users, 'user')}, {plural(trajectories, 'trajectory')}{more}")
    return noted


def _count(gold: GoldSet, noted: dict[str, int]) -> None:
    for note in gold.notes:
        noted[note] = noted.get(note, 0) + 1


def plural(count: int, of: str) -> str:
    """The number with the noun, in its plural unless there is one."""
    several = f"{of[:-1]}ies" if of.endswith("y") else f"{of}s"
    return f"{count:,} {of if count == 1 else several}"


def write_drawings(drawn: Sequence[tuple[str, Picture]], form: str | None, output: str | None) -> None:
    """Write the drawings, each with its name, to a file, into a folder, or to standard output."""
    from gpa.plans.draw import FORMS

    folder = output is not None and (output.endswith("/") or Path(output).is_dir())
    form = form or ("svg" if folder else _SUFFIXES.get(Path(output or "").suffix, "terminal"))
    if folder:
        suffix = {"terminal": ".txt", "mermaid": ".mmd", "dot": ".dot", "svg": ".svg"}[form]
        Path(str(output)).mkdir(parents=True, exist_ok=True)
        for number, name in enumerate(_file_names([name for name, _ in drawn])):
            with open_output(str(Path(str(output)) / f"{name}{suffix}")) as file:
                file.write(FORMS[form](drawn[number][1]))
        return
    if form == "svg" and len(drawn) > 1:
        raise UsageError(f"one SVG holds one drawing, here are {len(drawn)}: choose one, or give a folder with -o DIR/")
    if output is None and form != "svg":
        click.echo("\n".join(visible(FORMS[form](picture)) for _, picture in drawn), nl=False)
        return
    with open_output(output) as file:
        file.write("\n".join(FORMS[form](picture) for _, picture in drawn))


def _file_names(names: Sequence[str]) -> Iterator[str]:
    """A name for each file: what a user or workflow is called may hold anything, and may differ in case alone."""
    seen: set[str] = set()
    for name in names:
        safe = "".join(character if character.isalnum() or character in "-_." else "_" for character in name)[:80]
        safe = safe.lstrip(".") or "_"
        number, unique = 1, safe
        while unique.lower() in seen:
            number += 1
            unique = f"{safe}-{number}"
        seen.add(unique.lower())
        yield unique
