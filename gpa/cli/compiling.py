"""What the commands about workflows share: options, users, what is left of them when compiled, errors one a line."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from gpa.cli.options import grouped, option
from gpa.cli.output import console, visible
from gpa.errors import InputError

if TYPE_CHECKING:
    from gpa.plans.calls import GoldSet
    from gpa.plans.compile import Settings
    from gpa.plans.located import Located
    from gpa.plans.users import User
    from gpa.plans.workflow import Workflow

T = TypeVar("T")

_LONG = 2000
"""Users from which on progress is shown."""

USERS = grouped(
    "Users",
    option("--users", metavar="FILE", help="JSON array, object or JSON Lines of users."),
    option("--external", metavar="FILE", help="JSON object that all users share; a user's own fields win."),
    option(
        "--id-field", default="customer_id", show_default=True, metavar="FIELD", help="The field that is a user's id."
    ),
)
LANGUAGE = grouped(
    "Where the language leaves a choice",
    option(
        "--missing",
        type=click.Choice(["error", "used", "text"]),
        help="References without a value: an error (default), only in calls that are made, or their own text.",
    ),
    option(
        "--undeclared-override",
        type=click.Choice(["include", "drop", "error"]),
        help="Tools that override_trajectory names and no step declares (default: include).",
    ),
    option("--fixed-overrides", is_flag=True, help="Do not permute soft blocks inside override_trajectory."),
    option(
        "--close-tool",
        multiple=True,
        metavar="TOOL",
        help="Left out of every workflow of a sequence but the last (default: complete_case; '' for none).",
    ),
    option("--agent-label", metavar="TEXT", help="Name of the agent; {workflow} (default) and {agent} are filled in."),
    option("--no-coerce", is_flag=True, help='In conditions "5" is not 5 and "true" is not true.'),
    option("--like-traxgen", is_flag=True, help="Choose as the package traxgen 0.1.5 does, without its faults."),
)
CAPS = grouped(
    "Caps",
    option("--max-block", type=click.IntRange(min=1), help="Most tools in one soft block (default: 6)."),
    option("--max-trajectories", type=click.IntRange(min=1), help="Most trajectories of one user (default: 5000)."),
    option("--sample", is_flag=True, help="Beyond a cap draw --max-trajectories of them instead of an error."),
    option("--seed", type=int, help="Of that sample (default: 0)."),
)


class Crowd(NamedTuple):
    """What was read of users and of what they share."""

    users: tuple[User, ...]
    errors: tuple[Located, ...]
    external: dict[str, Any]


def read_crowd(path: str, external: str | None, id_field: str) -> Crowd:
    """The users of a file, and the data of another that they share."""
    from gpa.plans.users import load_users

    read = load_users(path, id_field=id_field)
    return Crowd(read.users, read.errors, json_object(external) if external is not None else {})


def compiled_users(
    workflows: dict[str, Workflow], crowd: Crowd, settings: Settings, id_field: str, errors: list[Located]
) -> Iterator[GoldSet]:
    """The gold sets; what is wrong with a user goes to the errors."""
    from gpa.plans.compile import Rejected, compile_users

    results = compile_users(workflows, crowd.users, settings=settings, id_field=id_field, external=crowd.external)
    for result in watched(results, len(crowd.users), "compiling"):
        if isinstance(result, Rejected):
            errors += result.errors
        else:
            yield result


def watched(users: Iterable[T], count: int, doing: str) -> Iterable[T]:
    """The users, or what comes of them, with a bar on a terminal where there are many."""
    if count < _LONG or not sys.stderr.isatty():
        return users
    from rich.progress import track

    return track(users, doing, count, console=console(stderr=True), transient=True)


def settings_of(
    *,
    missing: str | None,
    undeclared_override: str | None,
    fixed_overrides: bool,
    close_tool: tuple[str, ...],
    agent_label: str | None,
    no_coerce: bool,
    like_traxgen: bool,
    max_block: int | None,
    max_trajectories: int | None,
    sample: bool,
    seed: int | None,
) -> Settings:
    """The settings that the options of `LANGUAGE` and `CAPS` ask for."""
    from msgspec import structs

    from gpa.plans.compile import TRAXGEN, Settings

    given: dict[str, Any] = {
        "missing": missing,
        "undeclared_override": undeclared_override,
        "permute_overrides": False if fixed_overrides else None,
        "drop_intermediate_close": tuple(filter(None, close_tool)) if close_tool else None,
        "agent_label": agent_label,
        "coerce": False if no_coerce else None,
        "max_block": max_block,
        "max_trajectories": max_trajectories,
        "over_cap": "sample" if sample else None,
        "seed": seed,
    }
    said = {name: value for name, value in given.items() if value is not None}
    return structs.replace(TRAXGEN if like_traxgen else Settings(), **said)


def json_object(path: str) -> dict[str, Any]:
    """The JSON object in a file."""
    import msgspec

    try:
        value = msgspec.json.decode(Path(path).read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: expected a JSON object ({error})") from error
    if not isinstance(value, dict):
        raise InputError(f"{path}: expected a JSON object")
    return value


def say(errors: Sequence[Located]) -> None:
    """Print each error on a line of its own, and how many there are."""
    for error in errors:
        click.echo(f"gpa: {flat(error)}", err=True)
    if len(errors) > 1:
        click.echo(f"gpa: {len(errors)} errors", err=True)


def flat(located: Located) -> str:
    """The error or note on one line, safe to show."""
    return visible(" ".join(str(located).split()))


@contextmanager
def errors_as_lines() -> Iterator[None]:
    """Errors that come together leave one line each, where the command line prints a single one for all others."""
    from gpa.plans.located import WorkflowError

    try:
        yield
    except WorkflowError as error:
        say(error.errors)
        click.get_current_context().exit(2)
