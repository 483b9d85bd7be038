"""The scores and the worst findings of an evaluation, as a person reads them in a terminal."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from gpa.cli.output import one_line, visible
from gpa.cli.spending import counted, print_spending
from gpa.judges.verdict import Failure, NotApplicable, Verdict

if TYPE_CHECKING:
    from rich.console import Console

    from gpa.evaluation import Evaluation, Located

SHOWN = 10
_COLOURS = {"HIGH": "bold red", "MEDIUM": "yellow", "LOW": "cyan"}


def print_scores(evaluation: Evaluation, console: Console, *, warnings: int = 0) -> None:
    """Print the table of scores, the worst findings, what could not be judged, and what judged it."""
    reused = f", {counted(evaluation.reused, 'result')} taken from the store" if evaluation.reused else ""
    spending = evaluation.spending
    judge = "checks" if spending is None else visible(spending.model)
    console.print(f"{counted(len(evaluation.trace_ids), 'trace')} judged by {judge}{reused}\n")
    console.print(_table(evaluation))
    _print_reasons(evaluation, console)
    found = evaluation.worst(sys.maxsize)
    if found:
        shown = "" if len(found) <= SHOWN else f", the {SHOWN} gravest"
        console.print(f"\n{counted(len(found), 'finding')}{shown}")
    for located in found[:SHOWN]:
        console.print()
        print_finding(located, console)
    muted = sum(len(result.suppressed) for result in evaluation.results if isinstance(result, Verdict))
    if muted:
        what = "muted" if spending is None else "of the checks not confirmed"
        console.print(
            f"\n{counted(muted, 'finding')} {what}; the result lines hold them under `suppressed`, with reasons"
        )
    _print_failures([result for result in evaluation.results if isinstance(result, Failure)], console)
    if warnings:
        said = counted(warnings, "warning")
        console.print(f"\n{said} about repaired or missing parts of the traces: gpa transcript shows them")
    if spending is None:
        console.print(
            "\nChecks find errors that need no model to see; a 3 means that none was found. LLM judges read each\n"
            "transcript against a rubric: add --model anthropic/claude-sonnet-5-5 (and --dry-run to see what it costs)."
        )
        return
    _print_mended([result for result in evaluation.results if isinstance(result, Verdict)], console)
    print_spending(spending, console)


def _print_failures(failures: list[Failure], console: Console) -> None:
    """What could not be judged: how many for which cause, then the first ones."""
    if not failures:
        return
    counts = Counter(failure.error_type for failure in failures)
    kinds = ", ".join(f"{count} {visible(kind)}" for kind, count in counts.most_common())
    console.print(f"\nCould not be judged: {len(failures)} ({kinds}); the next run tries again")
    for failure in failures[:SHOWN]:
        message = one_line(f"{failure.error_type}: {failure.message}", 160)
        judge = f"{failure.judge} sample {failure.sample}" if failure.sample else failure.judge
        console.print(f"  {judge}  trace {visible(failure.trace_id)}  {message}")
    if len(failures) > SHOWN:
        console.print(f"  ... and {len(failures) - SHOWN} more")


def _print_mended(verdicts: list[Verdict], console: Console) -> None:
    """What was amiss in the citations of the judges, where something was."""
    said = {
        "placed by the quote instead of the label": sum(verdict.repaired for verdict in verdicts),
        "with a quote that is not in the trace": sum(
            not finding.grounded for verdict in verdicts for finding in verdict.findings
        ),
    }
    shown = [f"{count} {what}" for what, count in said.items() if count]
    dropped = sum(verdict.unresolved for verdict in verdicts)
    if dropped:
        shown.append(f"{counted(dropped, 'cited label')} dropped, of no step in the trace")
    if shown:
        console.print(f"\nFindings: {'; '.join(shown)}")


def _table(evaluation: Evaluation) -> Table:
    scores = Counter((result.judge, result.score) for result in evaluation.results if isinstance(result, Verdict))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("dimension")
    for heading in ("mean", "0", "1", "2", "3", "n/a", "failed", "findings"):
        table.add_column(heading, justify="right")
    for row in evaluation.summary():
        table.add_row(
            f"{row.dimension} {row.name}",
            "-" if row.mean is None else f"{row.mean:.2f}",
            *(str(scores[row.dimension, score] or "") for score in range(4)),
            *(str(count or "") for count in (row.not_applicable, row.failed, row.findings)),
        )
    return table


def _print_reasons(evaluation: Evaluation, console: Console) -> None:
    """Why dimensions were not applicable, the commonest reasons first."""
    reasons: dict[str, Counter[str]] = {}
    for result in evaluation.results:
        if isinstance(result, NotApplicable):
            reasons.setdefault(result.reason, Counter())[result.judge] += 1
    if reasons:
        console.print("\nNot applicable")
    for reason, counts in sorted(reasons.items(), key=lambda item: -item[1].total())[:SHOWN]:
        console.print(f"  {' '.join(f'{code} {count}' for code, count in counts.items())}: {one_line(reason, 160)}")


def print_finding(located: Located, console: Console) -> None:
    """Print one finding: how grave, what, where, in which words."""
    finding = located.finding
    spans = " ".join(visible(span_id) for span_id in finding.span_ids) or "not localised"
    head = Text(f"{finding.severity:<6}", style=_COLOURS[finding.severity])
    head.append(f"  {' '.join(located.dimensions)}  {finding.category}", style="not bold default")
    if finding.check:
        head.append(f"  ({finding.check})", style="not bold default dim")
    console.print(head)
    console.print(f"  trace {visible(located.trace_id)}  span {spans}")
    console.print(f"  {one_line(finding.problem, 240)}")
    if finding.quote:
        console.print(f'  "{one_line(finding.quote, 160)}"')
