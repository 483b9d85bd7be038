"""`gpa export`: a stored evaluation as OpenTelemetry events, to a backend."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpa.cli.endpoint import ENDPOINT, endpoint_of
from gpa.cli.options import Grouped, grouped, option
from gpa.cli.output import visible
from gpa.errors import ExportError, InputError

if TYPE_CHECKING:
    from gpa.judges.verdict import AnyResult
    from gpa.telemetry.events import Event
    from gpa.telemetry.sending import Sender

BATCH = 500
"""Events in a request."""
LONGEST_PAUSE_S = 30.0


@click.command(name="export", cls=Grouped)
@click.argument("evaluation", metavar="EVAL")
@grouped(
    "Where to",
    option("--otlp", metavar="URL", required=True, help="OTLP endpoint: http://host:4318, or host:4317 for gRPC."),
    *ENDPOINT,
)
@click.option("--model", metavar="NAME", help="Only results of this evaluator: checks, or provider/name.")
@click.option("--trace", "traces", metavar="ID", multiple=True, help="Only this trace; may be given again.")
@click.option("--redact/--no-redact", default=True, show_default=True, help="Take secrets out of what is sent.")
@click.option(
    "--give-up",
    "give_up_s",
    type=click.FloatRange(min=0),
    metavar="S",
    default=60.0,
    show_default=True,
    help="Seconds to try for when the backend takes nothing.",
)
def command(
    *,
    evaluation: str,
    otlp: str,
    protocol: str | None,
    headers: str | None,
    model: str | None,
    traces: tuple[str, ...],
    redact: bool,
    give_up_s: float,
) -> None:
    """Send the results in EVAL to an OTLP endpoint, as `gen_ai.evaluation.result` events.

    EVAL is a store (gpa.db, or a database URL) or a file of result lines. Each verdict becomes an event on the span of
    the run it judges (a store knows it, lines do not), each finding one on the span that holds the error; trace ids
    are kept, so a backend shows them where the trace is. Sending twice is harmless where `log.record.uid` is heeded.

    \b
    Examples:
      gpa export gpa.db --otlp http://localhost:4318
      gpa export results.jsonl --otlp https://otlp.example.org --headers api-key=...
      gpa export gpa.db --otlp localhost:4317 --model checks
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.telemetry.sending import opened

    endpoint = endpoint_of(otlp, protocol, headers)
    assert endpoint is not None  # --otlp is required
    clean: Callable[[str], str] = str
    if redact:
        from gpa.judges.redact import Redactor

        clean = Redactor()
    sent = judged = 0
    with opened(endpoint) as sender:
        batch: list[Event] = []
        for events in _events(evaluation, model, set(traces), clean):
            judged += 1
            batch += events
            while len(batch) >= BATCH:
                _send(sender, batch[:BATCH], give_up_s, sent)
                sent, batch = sent + BATCH, batch[BATCH:]
        _send(sender, batch, give_up_s, sent)
        sent += len(batch)
    if not judged:
        raise InputError(f"{evaluation}: no results to send")
    click.echo(f"{sent:,} events of {judged:,} trace{'s' * (judged != 1)} sent to {visible(str(endpoint))}")


def _events(evaluation: str, model: str | None, traces: set[str], clean: Callable[[str], str]) -> Iterator[list[Event]]:
    """The events of each trace that is wanted."""
    from gpa.evaluation import Evaluation
    from gpa.store import is_store, open_store
    from gpa.telemetry.events import events_of, events_of_kept

    if is_store(evaluation):
        with open_store(evaluation, must_exist=True) as store:
            for digest, trace_id in store.hashes():
                if traces and trace_id not in traces:
                    continue
                for kept in store.kept([digest], models=None if model is None else [model], whole=True):
                    if kept.results:
                        yield events_of_kept(kept, clean=clean)
        return
    if not Path(evaluation).expanduser().exists():
        raise InputError(f"{evaluation}: expected a store or a file of result lines, found none")
    by_trace: dict[str, list[AnyResult]] = {}
    for result in Evaluation.load(evaluation).results:
        if model in {None, result.model} and (not traces or result.trace_id in traces):
            by_trace.setdefault(result.trace_id, []).append(result)
    for results in by_trace.values():
        yield events_of(results, clean=clean)


def _send(sender: Sender, events: list[Event], give_up_s: float, sent: int) -> None:
    """Send them, again and again while the backend is away."""
    until = time.monotonic() + give_up_s
    pause_s = 0.5
    while not sender.send(events):
        left_s = until - time.monotonic()
        if left_s <= 0:
            raise ExportError(f"{sender.endpoint}: not taken, after {sent:,} events that were: {sender.why}")
        time.sleep(min(pause_s, left_s))
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
