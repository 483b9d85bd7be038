"""`gpa plan`: how good plans are that were not run yet, and how to make them better; one module a subcommand."""

from __future__ import annotations

import click

from gpa.cli.lazy import Lazy

COMMANDS = {
    "score": ("gpa.cli.plan_score", "Score plans by seven metrics: 0 to 100, every deduction named and located."),
    "compare": ("gpa.cli.plan_compare", "Compare plans with their references: precision, recall, F1 and a rating."),
    "refine": ("gpa.cli.plan_refine", "Improve a plan step by step, and keep every plan on the way."),
    "lineage": ("gpa.cli.plan_lineage", "Show how agents changed their plans in recorded runs: diffs and scores."),
    "cover": (
        "gpa.cli.plan_cover",
        "Say which requirements a plan covers, and which steps none of them asks for.",
    ),
    "narrow": ("gpa.cli.plan_narrow", "Choose the few tools that a set of requirements needs."),
    "lint": ("gpa.cli.plan_lint", "Check that a registry of tools fits the capability mapping."),
    "weights": ("gpa.cli.plan_weights", "Learn what the metrics are worth from plans known to be better and worse."),
    "answers": ("gpa.cli.plan_answers", "Say which of several systems answered questions best: decisions, win rates."),
}
"""Name -> module that holds a click command `command`, and its line in `gpa plan --help`."""


@click.group(name="plan", cls=Lazy, lines=COMMANDS)
def command() -> None:
    """Judge plans before they are run: by rules where rules suffice, by a model where --model names one.

    docs/plans.md tells what a plan looks like, what each metric means, and what is in the files.

    \b
    Examples:
      gpa plan score plans.jsonl --palette tools.toml
      gpa plan compare plan.json reference.json --palette tools.toml
      gpa plan cover plans.jsonl --tools tools.toml --requirements asked.json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
