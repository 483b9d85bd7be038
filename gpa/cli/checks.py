"""`gpa checks`: what each check flags, why, how sure it is, and what it is known to get wrong."""

from __future__ import annotations

import click


@click.command(name="checks")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--markdown", is_flag=True, help="Print the whole reference as Markdown.")
def command(*, names: tuple[str, ...], markdown: bool) -> None:
    """List the checks, or say all about those named.

    \b
    Examples:
      gpa checks
      gpa checks repeated-call
      gpa evaluate traces/ --skip-checks from-memory
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.judges.checks import CHECKS
    from gpa.judges.checks.reference import described, reference
    from gpa.judges.checks.selection import select

    if markdown:
        click.echo(reference(), nl=False)
        return
    if names:
        for check in select(names):
            click.echo(check.name)
            for label, text in described(check):
                click.echo(f"  {label:<18}  {text}")
        return
    for check in CHECKS:
        click.echo(f"{check.name:<22} {check.confidence:<8} {' '.join(check.dimensions):<9} {check.about}")
