"""`gpa workflow`: check workflows, compile them into gold trajectories, make up users, draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gpa.cli.compiling import (
    CAPS,
    LANGUAGE,
    USERS,
    compiled_users,
    errors_as_lines,
    flat,
    json_object,
    read_crowd,
    say,
    settings_of,
    watched,
)
from gpa.cli.drawing import plural, show, write_drawings, write_json
from gpa.cli.options import Grouped, grouped, option
from gpa.cli.output import json_line, open_output, visible
from gpa.errors import UsageError

if TYPE_CHECKING:
    from gpa.plans.located import Located
    from gpa.plans.workflow import Workflow

FORMATS = "google"
"""What is written unless said: it keeps the types of values, as tool_only and traxgen do not."""

_PATHS = click.argument("paths", metavar="PATH...", nargs=-1, required=True)
_ID_FIELD = click.option(
    "--id-field", default="customer_id", show_default=True, metavar="FIELD", help="The field that is a user's id."
)


@click.group(name="workflow")
def command() -> None:
    """Compile workflows and users' data into every valid trajectory of tool calls; no model is asked.

    PATH is a JSON file with one workflow or several, or a folder of them. docs/workflows.md tells the language.

    \b
    Examples:
      gpa workflow validate workflows/
      gpa workflow compile workflows/ --users users.json -o gold.json
      gpa workflow profiles workflows/ -n 100 --seed 7 -o users.json
      gpa workflow draw workflows/refund.json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are


@command.command(name="validate", cls=Grouped, short_help="Say everything that is wrong.")
@_PATHS
@USERS
@LANGUAGE
@CAPS
@click.option("--json", "as_json", is_flag=True, help="One JSON object: workflows, users, errors, notes.")
@click.pass_context
def validate(
    ctx: click.Context,
    /,
    *,
    paths: tuple[str, ...],
    users: str | None,
    external: str | None,
    id_field: str,
    as_json: bool,
    **choices: Any,
) -> None:
    """Say everything that is wrong with workflows, and with users for them, each with its place.

    Exit code 0 when nothing is wrong, 2 otherwise.

    \b
    Examples:
      gpa workflow validate workflows/
      gpa workflow validate workflows/ --users users.json --id-field employee_id
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.plans.profiles import required_fields
    from gpa.plans.workflow_files import survey_workflows

    workflows, errors = survey_workflows(paths)
    valid = 0
    if users is not None:
        crowd = read_crowd(users, external, id_field)
        errors += crowd.errors
        valid = sum(1 for _ in compiled_users(workflows, crowd, settings_of(**choices), id_field, errors))
    notes = [note for workflow in workflows.values() for note in workflow.notes]
    needed = {name: list(map(str, required_fields([workflow]))) for name, workflow in workflows.items()}
    if as_json:
        listed = [{**_summary(workflow), "required_fields": needed[name]} for name, workflow in workflows.items()]
        whole: dict[str, Any] = {"workflows": listed}
        if users is not None:
            whole["valid_users"] = valid
        whole |= {"errors": [e.to_dict() for e in errors], "notes": [n.to_dict() for n in notes]}
        click.echo(json_line(whole))
    else:
        for name, workflow in workflows.items():
            parts = {"step": workflow.steps, "rule": workflow.rules, "soft block": workflow.soft_ordering}
            counts = ", ".join(plural(len(some), part) for part, some in parts.items())
            click.echo(visible(f"{name}: {counts}; needs {', '.join(needed[name]) or 'nothing'}"))
        if users is not None:
            click.echo(f"{valid} {'user is' if valid == 1 else 'users are'} valid")
        for note in notes:
            click.echo(visible(f"gpa: note: {flat(note)}"), err=True)
        say(errors)
    if errors:
        ctx.exit(2)


@command.command(name="compile", cls=Grouped, short_help="Make every valid trajectory of users.")
@_PATHS
@USERS
@LANGUAGE
@CAPS
@grouped(
    "Output",
    option(
        "--format",
        "formats",
        metavar="NAMES",
        default=FORMATS,
        show_default=True,
        help="tool_only, google, langchain, traxgen; several with commas.",
    ),
    option(
        "--output-mode",
        type=click.Choice(["trajectory_only", "data_and_trajectory"]),
        default="trajectory_only",
        show_default=True,
        help="Trajectories by user id, or the users' records with their trajectories added.",
    ),
    option("--json", "as_json", is_flag=True, help="JSON on standard output instead of drawings for people."),
    option("-o", "--output", metavar="FILE", help="Write JSON there."),
)
@click.pass_context
def compile_command(
    ctx: click.Context,
    /,
    *,
    paths: tuple[str, ...],
    users: str | None,
    external: str | None,
    id_field: str,
    formats: str,
    output_mode: str,
    as_json: bool,
    output: str | None,
    **choices: Any,
) -> None:
    """Compile workflows for users: every valid trajectory of tool calls, with its values.

    The same input gives the same bytes. A user that is wrong costs no other: all errors are said, exit code 2.

    \b
    Examples:
      gpa workflow compile workflows/ --users users.json
      gpa workflow compile workflows/ --users users.json --format google,traxgen -o gold.json
      gpa workflow compile workflows/ --users staff.json --id-field employee_id --json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.plans.outputs import formats_named
    from gpa.plans.workflow_files import survey_workflows

    if users is None:
        raise UsageError("--users FILE: trajectories are those of users")
    named = formats_named(formats)
    settings = settings_of(**choices)
    workflows, errors = survey_workflows(paths)
    crowd = read_crowd(users, external, id_field)
    errors += crowd.errors
    compiled = compiled_users(workflows, crowd, settings, id_field, errors)
    if as_json or output is not None:
        with open_output(output) as file:
            noted = write_json(compiled, crowd, named, output_mode, file)
    else:
        noted = show(compiled)
    for note, count in noted.items():
        click.echo(visible(f"gpa: note: {note}{f' ({count} users)' if count > 1 else ''}"), err=True)
    say(errors)
    if errors:
        ctx.exit(2)


@command.command(name="profiles", short_help="Make up users.")
@_PATHS
@click.option("-n", "--count", type=click.IntRange(min=1), help="Users to make up (default: 100).")
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed, other users.")
@click.option("--distributions", metavar="FILE", help="JSON: field -> distribution; replaces what it names of ours.")
@click.option("--template", is_flag=True, help="Print the distributions instead of users: a file to edit.")
@_ID_FIELD
@click.option("-o", "--output", metavar="FILE", help="Write there instead of to standard output.")
def profiles(
    *,
    paths: tuple[str, ...],
    count: int | None,
    seed: int,
    distributions: str | None,
    template: bool,
    id_field: str,
    output: str | None,
) -> None:
    """Make up users for workflows: values on either side of every condition, the same for the same seed.

    \b
    Examples:
      gpa workflow profiles workflows/ -n 100 --seed 7 -o users.json
      gpa workflow profiles workflows/ --template -o distributions.json
      gpa workflow profiles workflows/ --distributions distributions.json -o users.json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.plans.profiles import changed, sample_profiles, workflow_template
    from gpa.plans.workflow_files import load_workflows

    with errors_as_lines():
        workflows = load_workflows(paths)
        fields = workflow_template(list(workflows.values()), id_field=id_field)
        if distributions is not None:
            fields = changed(fields, json_object(distributions))
        if template:
            lines = [f"{json_line(name)}: {json_line(value)}" for name, value in fields.items()]
            brackets = "{}"
        else:
            sample = sample_profiles(
                fields,
                count,
                seed=seed,
                id_field=id_field,
                file=distributions or "",
                watched=lambda numbers: watched(numbers, len(numbers), "making up users"),
            )
            lines = [json_line(profile) for profile in sample]
            brackets = "[]"
    with open_output(output) as file:
        file.write(f"{brackets[0]}\n" + ",\n".join(lines) + f"\n{brackets[1]}\n")


@command.command(name="draw", cls=Grouped, short_help="Draw workflows, or users' trajectories.")
@_PATHS
@click.option("--workflow", "names", multiple=True, metavar="NAME", help="Only this workflow; may be given again.")
@USERS
@click.option("--user", "wanted", metavar="ID", help="Only this user's trajectories.")
@click.option("--trajectory", "number", type=click.IntRange(min=1), help="Only this one of them, as a chain.")
@click.option(
    "--as",
    "form",
    type=click.Choice(["terminal", "mermaid", "dot", "svg"]),
    help="Form of the drawing (default: by the name of the output, else terminal).",
)
@click.option("-o", "--output", metavar="FILE", help="Write there; a folder takes a file for each drawing.")
@LANGUAGE
@CAPS
@click.pass_context
def draw(
    ctx: click.Context,
    /,
    *,
    paths: tuple[str, ...],
    names: tuple[str, ...],
    users: str | None,
    external: str | None,
    id_field: str,
    wanted: str | None,
    number: int | None,
    form: str | None,
    output: str | None,
    **choices: Any,
) -> None:
    """Draw workflows with their rules, or with --users what is left of them for a user.

    \b
    Examples:
      gpa workflow draw workflows/refund.json
      gpa workflow draw workflows/ --users users.json --user 1802531 -o user.svg
      gpa workflow draw workflows/ --as mermaid -o pictures/
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.plans.located import meant
    from gpa.plans.picture import gold_picture, workflow_picture
    from gpa.plans.workflow_files import load_workflows

    errors: list[Located] = []
    with errors_as_lines():
        workflows = load_workflows(paths)
    for name in names:
        if name not in workflows:
            raise UsageError(f"--workflow {name}: no such workflow{meant(name, list(workflows))}")
    if users is None:
        if wanted is not None or number is not None:
            raise UsageError("--user and --trajectory need --users FILE")
        drawn = [(name, workflow_picture(one)) for name, one in workflows.items() if not names or name in names]
    else:
        crowd = read_crowd(users, external, id_field)
        chosen = crowd._replace(users=tuple(user for user in crowd.users if wanted in (None, user.id)))
        if wanted is not None and not chosen.users:
            raise UsageError(f"--user {wanted}: no such user in {users}")
        errors += crowd.errors if wanted is None else ()
        compiled = compiled_users(workflows, chosen, settings_of(**choices), id_field, errors)
        drawn = [(one.user, gold_picture(one, number)) for one in compiled if not names or set(names) & set(one.agents)]
    write_drawings(drawn, form, output)
    say(errors)
    if errors:
        ctx.exit(2)


def _summary(workflow: Workflow) -> dict[str, Any]:
    return {
        "name": workflow.name,
        "file": workflow.file,
        "agent": workflow.agent,
        "steps": len(workflow.steps),
        "rules": len(workflow.rules),
        "soft_blocks": [list(block) for block in workflow.soft_ordering],
    }
