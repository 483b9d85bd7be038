"""`gpa plan lint`: does a registry of tools fit the capability mapping?"""

from __future__ import annotations

import click

from gpa.cli.output import json_line, visible


@click.command(name="lint")
@click.argument("tools", metavar="REGISTRY")
@click.option("--mapping", metavar="FILE", help="Which capabilities serve what.  [default: ours, for data analysis]")
@click.option("--against", metavar="FILE", help="The mapping as it was: what it says may change with its version only.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def command(ctx: click.Context, /, *, tools: str, mapping: str | None, against: str | None, as_json: bool) -> None:
    """Say what does not fit between REGISTRY and the capability mapping; exit 1 when anything does not.

    Every label needs capabilities, every label and core capability needs a tool, and a mapping that says something else
    than before needs another version. Run it in CI.

    \b
    Examples:
      gpa plan lint tools.toml
      gpa plan lint tools.toml --mapping mapping.toml --against main/mapping.toml
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.plans.capabilities import changed_without_version, lint, load_mapping, load_registry, unowned

    registry, rules = load_registry(tools), load_mapping(mapping)
    wrong = list(lint(registry, rules))
    if against is not None and changed_without_version(load_mapping(against), rules):
        wrong.append(f"version: expected another one than {rules.version}: the mapping says something else than before")
    spare = unowned(registry, rules)
    if as_json:
        click.echo(json_line({"problems": wrong, "unowned": spare, "tools": len(registry.tools)}))
    else:
        for line in wrong:
            click.echo(visible(line))
        if spare:
            click.echo(f"note: no tool has {visible(', '.join(spare))}: other capabilities serve instead")
        found = f"{len(wrong)} problem{'' if len(wrong) == 1 else 's'}" if wrong else "nothing to mend"
        click.echo(f"{len(registry.tools)} tools, mapping version {rules.version}: {found}")
    ctx.exit(1 if wrong else 0)
