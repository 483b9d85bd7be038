"""`gpa optimize`: rubrics improved on annotated errors, and the proof on held-out traces whether it helped."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpa.cli.figures import forms, write_tables
from gpa.cli.judging import POSITIVE, judging_of
from gpa.cli.options import Grouped, grouped, option
from gpa.cli.output import console, one_line, visible
from gpa.cli.reading import Problems, annotated, codes_in, paths_and_limit
from gpa.errors import InputError, UsageError

if TYPE_CHECKING:
    from rich.status import Status

    from gpa.ingest.transcript import Transcript
    from gpa.judges.gold import Gold
    from gpa.optimize.results import Progress
    from gpa.optimize.tuning import Done, Plan

EVERY_S = 10.0
"""Between two lines about the same candidate where stderr is no terminal."""
EXIT_INTERRUPTED = 128 + 2
SHOWN = {"held_out_caught", "held_out_localised", "held_out_precision", "held_out_consistency", "search"}
"""Tables shown on a terminal; README.md and report.html in the folder have all."""

_MODELS = grouped(
    "Models",
    option("--model", metavar="NAME", required=True, help="The judge whose rubrics are tuned, as provider/name."),
    option("--reflection-model", metavar="NAME", help="Proposes rubrics.  [default: the model that judges]"),
    option("--meta-model", metavar="NAME", help="Of --matcher meta.  [default: the reflection model]"),
    option("--rubrics", metavar="START", help="Folder of rubrics to start from.  [default: ours]"),
    option("--agent-notes", metavar="FILE", help="What the judges should know of the agent's architecture."),
    option("--examples", metavar="FILE", help="Gold errors to show the judges as examples."),
    option(
        "--samples", type=click.IntRange(min=1), metavar="K", help="Verdicts per trace.  [default: 1; consistency: 3]"
    ),
    option("--redact/--no-redact", default=None, help="Take secrets out of what is sent.  [default: redact]"),
    option(
        "--effort",
        type=click.Choice(["low", "medium", "high", "xhigh", "max"]),
        help="How hard the judge thinks.  [default: the provider's]",
    ),
    option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="Of one answer.  [default: 16000]"),
    option(
        "--context-window", type=click.IntRange(min=1), metavar="N", help="Of the judge, in tokens, if it is not known."
    ),
    option("--base-url", metavar="URL", help="Ask this server, in place of the provider's own."),
    option("--reflection-base-url", metavar="URL", help="The same for the other models.  [default: --base-url]"),
)
_SEARCH = grouped(
    "Search",
    option(
        "--optimizer",
        type=click.Choice(["gepa", "miprov2", "simba"]),
        default="gepa",
        show_default=True,
        help="The search.",
    ),
    option(
        "--objective",
        type=click.Choice(["recall", "consistency"]),
        default="recall",
        show_default=True,
        help="recall: catch more gold errors; consistency: repeated samples agree more, without losing recall.",
    ),
    option(
        "--matcher",
        type=click.Choice(["fuzzy", "exact", "meta"]),
        default="fuzzy",
        show_default=True,
        help="How findings are matched to gold errors: offline, or by the meta-judge.",
    ),
    option("--max-calls", type=click.IntRange(min=1), metavar="N", help="Traces judged per search.  [default: 150]"),
    option("--max-cost", type=POSITIVE, metavar="USD", help="Of everything, judging the held-out traces included."),
    option("--max-minutes", type=POSITIVE, metavar="M", help="Of searching, in this start of the command."),
    option("--minibatch", type=click.IntRange(min=1), metavar="N", help="Traces a proposal learns from.  [default: 3]"),
    option("--seed", type=int, default=0, show_default=True, help="Of the portions and the search."),
    option("--resume", is_flag=True, help="Go on with the search in --out; nothing is paid for twice."),
    option("--dry-run", is_flag=True, help="Say what it would ask and cost; send nothing. Needs no key."),
)
_PORTIONS = grouped(
    "Portions (no trace is in two)",
    option(
        "--shares",
        metavar="A,B,C",
        help="Of the annotated traces for train, dev and held-out.  [default: 0.3,0.3,0.4]",
    ),
    option("--train", metavar="FILE", help="Traces to learn from: gold lines, or a trace id a line."),
    option("--dev", metavar="FILE", help="Traces to choose the winner by."),
    option("--held-out", metavar="FILE", help="Traces to measure on, once. What files leave is shared out."),
)
_SENDING = grouped(
    "Speed, memory, and files in place of live requests",
    option("--concurrency", type=click.IntRange(min=1), metavar="N", help="Requests at a time.  [default: 8]"),
    option("--requests-per-minute", type=POSITIVE, metavar="N", help="At the most, of each model."),
    option("--tokens-per-minute", type=POSITIVE, metavar="N", help="Of input, at the most, of each model."),
    option("--cache", metavar="FILE", help="Keep answers here, so that none is paid twice.  [default: a user folder]"),
    option("--no-cache", is_flag=True, help="Keep no answers but those in the log of the search."),
    option("--prices", metavar="FILE", help="TOML of prices, laid over the ones that come with gpa."),
    option("--requests-to", metavar="FILE", help="Write the requests of the next step there; send nothing."),
    option("--responses-from", metavar="FILE", multiple=True, help="Take answers from these result lines."),
)
_BOTH = (
    *("concurrency", "requests_per_minute", "tokens_per_minute", "cache", "no_cache", "prices"),
    *("responses_from", "requests_to", "redact"),
)
"""Options of every model."""
_JUDGE = ("rubrics", "agent_notes", "examples", "samples", "effort", "max_tokens", "context_window", "base_url")


@click.command(name="optimize", cls=Grouped)
@paths_and_limit
@click.option(
    "--gold", metavar="PATH", multiple=True, required=True, help="Gold errors: JSON Lines, or a folder of TRAIL's."
)
@click.option("--mapping", metavar="FILE", help="Category -> dimensions (TOML); replaces what it names of ours.")
@click.option("--dimensions", metavar="LC,TC", help="Tune these.  [default: all with gold errors in every portion]")
@click.option("--out", metavar="DIR", required=True, help="Folder for the rubrics, the report, and the search's log.")
@_MODELS
@_SEARCH
@_PORTIONS
@_SENDING
@forms
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    paths: tuple[str, ...],
    max_bytes: int,
    gold: tuple[str, ...],
    mapping: str | None,
    dry_run: bool,
    resume: bool,
    as_json: bool,
    markdown: bool,
    csv: bool,
    output: str | None,
    **options: Any,
) -> None:
    """Improve the rubrics of LLM judges on the errors that people found in the traces of PATH..., and prove it.

    A reflection model reads what the judge missed in the train traces and proposes rubrics; the dev traces choose among
    them; the held-out traces are judged by the start and by the winner at the end, and the difference is printed
    whether it helped or not. `gpa evaluate --rubrics DIR` uses what comes of it.

    \b
    Examples:
      gpa optimize traces/ --gold gold.jsonl --model anthropic/claude-sonnet-5-5 --out tuned --dry-run
      gpa optimize traces/ --gold gold.jsonl --dimensions LC,TC --model anthropic/claude-haiku-5-5 \\
        --reflection-model anthropic/claude-opus-5-5 --max-cost 20 --out tuned
      gpa optimize traces/ --gold gold.jsonl --model anthropic/claude-haiku-5-5 --out tuned --resume
      gpa optimize traces/ --gold gold.jsonl --model anthropic/claude-haiku-5-5 --out tuned --resume \\
        --requests-to next.jsonl --responses-from answers.jsonl

    \b
    Exit codes:
      0 done, whether it helped or not (or requests written)    2 usage or input error
      3 held-out traces could not be judged                     130 interrupted; the best so far is in DIR
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.judges.gold import load_gold
    from gpa.optimize.output import check_folder
    from gpa.optimize.search.engine import INSTALL

    plan = _plan(options)
    if not dry_run:
        if find_spec("dspy") is None:
            raise UsageError(f"gpa optimize needs DSPy: {INSTALL}")
        check_folder(plan.out, resume=resume, start=plan.judging.rubrics)
    truth = load_gold(gold, mapping=mapping)
    problems = Problems()
    transcripts = annotated(paths, truth, problems, max_bytes=max_bytes)
    problems.close()
    if not transcripts:
        raise InputError(f"no trace in {', '.join(paths)} that --gold annotates")
    if dry_run:
        _rehearse(transcripts, truth, plan)
        ctx.exit(2 if problems.lost else 0)
    done = _tuned(transcripts, truth, plan)
    form = {"as_json": as_json, "markdown": markdown, "csv": csv, "output": output}
    ctx.exit(_said(done, plan, form) or (2 if problems.lost else 0))


def _plan(options: dict[str, Any]) -> Plan:
    """The plan that the options make."""
    from gpa.optimize.tuning import SAMPLES, Plan

    given = {name: value for name, value in options.items() if value is not None and value != ()}
    offline = "requests_to" in given or "responses_from" in given
    for name in ("max_cost", "base_url", "reflection_base_url"):
        if offline and name in given:
            files = "--requests-to" if "requests_to" in given else "--responses-from"
            raise UsageError(f"--{name.replace('_', '-')}: contradicts {files}, with which nothing is sent")
    both = {name: given[name] for name in _BOTH if name in given}
    if given["objective"] == "consistency":
        given.setdefault("samples", SAMPLES)
        if given["samples"] < 2:
            raise UsageError("--samples: expected at least 2 for --objective consistency, found 1")
    judge = both | {name: given[name] for name in _JUDGE if name in given}
    others = both | _others(given)
    same = (
        "optimizer",
        "objective",
        "matcher",
        "meta_model",
        "max_calls",
        "max_cost",
        "max_minutes",
        "minibatch",
        "seed",
    )
    if "meta_model" in given and given["matcher"] != "meta":
        raise UsageError("--meta-model: belongs to --matcher meta")
    more = {name: given[name] for name in same if name in given}
    if "shares" in given:
        more["shares"] = _shares(given["shares"])
    return Plan(
        model=given["model"],
        reflection_model=given.get("reflection_model", given["model"]),
        out=Path(given["out"]).expanduser(),
        judging=judging_of(judge),
        reflecting=judging_of(others),
        dimensions=tuple(codes_in(given.get("dimensions")) or ()),
        given=_portions(given),
        **more,
    )


def _others(given: dict[str, Any]) -> dict[str, Any]:
    """What holds for the reflection model and the meta-judge alone; they answer from the judge's server unless told."""
    url = given.get("reflection_base_url") or given.get("base_url")
    found = {} if url is None else {"base_url": url}
    if "context_window" in given and given.get("reflection_model", given["model"]) == given["model"]:
        found["context_window"] = given["context_window"]
    return found


def _portions(given: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    from gpa.optimize.portions import read_ids

    files = {"train": given.get("train"), "dev": given.get("dev"), "held-out": given.get("held_out")}
    return {name: read_ids(path) for name, path in files.items() if path is not None}


def _shares(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--shares: expected three numbers (0.3,0.3,0.4), found {text!r}") from None


def _rehearse(transcripts: list[Transcript], gold: Gold, plan: Plan) -> None:
    from gpa.judges.rubrics import load_rubrics
    from gpa.optimize.expense import expense
    from gpa.optimize.tuning import dimensions_of, portions_of
    from gpa.tables import print_tables

    portions = portions_of(transcripts, gold, plan)
    codes = dimensions_of(portions, gold, plan, load_rubrics(plan.judging.rubrics))
    table = asyncio.run(expense(transcripts, portions, plan, codes))
    screen = console()
    screen.print(f"Would tune {', '.join(map(visible, codes))} for {visible(plan.model)}; nothing was sent.\n")
    print_tables([portions.table(gold, codes), table], screen)


def _tuned(transcripts: list[Transcript], gold: Gold, plan: Plan) -> Done:
    """The run with its progress; requests that are left are in their file, rubrics in their folder."""
    from gpa.judges.model import write_requests
    from gpa.optimize.output import write_folder
    from gpa.optimize.tuning import tune

    with _showing() as show:
        done = asyncio.run(tune(transcripts, gold, plan, on_step=show.step, on_judged=show.judged))
    if plan.judging.requests_to is not None:
        write_requests(plan.judging.requests_to, done.unanswered)
    if not done.unanswered:
        write_folder(plan.out, done.tuned)
    return done


def _said(done: Done, plan: Plan, form: dict[str, Any]) -> int:
    """Print what came of it; the exit code."""
    from gpa.judges.verdict import Failure
    from gpa.optimize.output import result_notes, result_tables

    out = visible(str(plan.out))
    if done.unanswered:
        where = plan.judging.requests_to
        there = f"are in {visible(str(where))}" if where else "have no answer (--requests-to FILE writes them)"
        click.echo(f"{len(done.unanswered)} requests of the next step {there}; nothing was sent", err=True)
        click.echo("gpa: answer them, and run the same command with --resume and --responses-from FILE", err=True)
        return 0
    if done.interrupted:
        click.echo(f"gpa: interrupted; the best so far is in {out}, and --resume goes on from there", err=True)
    notes = (*result_notes(done.tuned), f"Rubrics and report are in {plan.out}: gpa evaluate --rubrics {plan.out}")
    write_tables(result_tables(done.tuned), notes, shown=lambda table: table.name in SHOWN, **form)
    if done.interrupted:
        return EXIT_INTERRUPTED
    compared = done.tuned.held_out
    if compared is None or any(isinstance(one, Failure) for side in compared.results for one in side):
        return 3
    return 0


class _Show:
    """The current best, on stderr: one line that changes on a terminal; elsewhere a line now and then."""

    def __init__(self, status: Status | None) -> None:
        self._status = status
        self._said_at = time.monotonic()
        self._candidates = 0

    def step(self, code: str, progress: Progress) -> None:
        """A search is a step further."""
        best = "" if progress.best is None else f", best {progress.best.score:.3f} (candidate {progress.best.number})"
        kept = f", {progress.replayed} answers from the log" if progress.replayed else ""
        text = f"{code}: {progress.calls} of {progress.max_calls} calls, {progress.candidates} candidates{best}"
        self._say(
            f"{text}, ${progress.cost_usd:.4f}{kept}; {progress.event}", new=progress.candidates != self._candidates
        )
        self._candidates = progress.candidates

    def judged(self, progress: Any) -> None:
        """Another held-out trace is judged."""
        self._say(f"held-out: {progress.done} of {progress.total} traces judged", new=False)

    def _say(self, text: str, *, new: bool) -> None:
        if self._status is not None:
            self._status.update(one_line(text, 200))
        elif new or time.monotonic() - self._said_at >= EVERY_S:
            self._said_at = time.monotonic()
            click.echo(f"gpa: {one_line(text, 200)}", err=True)


@contextmanager
def _showing() -> Iterator[_Show]:
    if not sys.stderr.isatty():
        yield _Show(None)
        return
    with console(stderr=True).status("reading traces") as status:
        yield _Show(status)
