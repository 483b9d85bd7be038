"""A receiver, the evaluation of what it receives, the way back to a backend and the page, until a signal ends it.

The receiver has a thread of its own, delivery another, the checks a process; the evaluation runs in the caller's.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gpa.errors import GpaError, SpoolError, StoreError, UsageError
from gpa.judges.checks.suppressions import load_suppressions
from gpa.judges.scoring import MODEL
from gpa.judges.verdict import DIMENSIONS
from gpa.live.assessing import Assessor
from gpa.live.delivery import Delivery
from gpa.live.evaluating import Evaluated, Evaluator
from gpa.live.policy import Policy
from gpa.live.settings import Evaluating, Listening
from gpa.live.showing import Fact, Moment
from gpa.store import Store, open_store
from gpa.telemetry.sending import opened as opened_sender

if TYPE_CHECKING:
    from types import ModuleType

    from prometheus_client import CollectorRegistry
    from starlette.applications import Starlette

    from gpa.ingest.receiver import Receiver, Tls
    from gpa.ingest.spool import Spool
    from gpa.judging import Bench, Spending

PRUNE_S = 30.0
_log = logging.getLogger(__name__)


class Live:
    """Everything that is open while traces are evaluated as they come."""

    def __init__(
        self,
        settings: Evaluating,
        *,
        store: Store,
        spool: Spool,
        evaluator: Evaluator,
        delivery: Delivery | None,
        bench: Bench | None,
        names: Mapping[str, str],
    ) -> None:
        self.settings, self.store, self.spool, self.evaluator = settings, store, spool, evaluator
        self.delivery, self.bench, self.names = delivery, bench, names
        self.receiver: Receiver | None = None

    def spending(self) -> Spending | None:
        """What models were paid today."""
        return None if self.bench is None else self.bench.spending()

    def moment(self) -> Moment:
        """The numbers at the top of the page."""
        counts = self.evaluator.counts
        notices = []
        facts = [
            Fact(
                "evaluated since the start", f"{counts.traces:,}", f"{counts.revised:,} revised" * bool(counts.revised)
            )
        ]
        try:
            status = self.spool.status()
            age_s = (time.time_ns() - status.oldest_open_ns) / 1e9 if status.oldest_open_ns else 0.0
            facts += [
                Fact("arriving", f"{status.open_traces:,}", f"oldest {_duration(age_s)}" * bool(status.open_traces)),
                Fact(
                    "to evaluate", f"{status.ready_traces:,}", f"{counts.under_way} under way" * bool(counts.under_way)
                ),
                Fact("spool", _size(status.bytes)),
            ]
        except SpoolError as error:
            notices.append(f"The spool is away: {error}")
        spending = self.spending()
        if spending is not None:
            judging = self.settings.judging
            bound = judging.max_cost if judging is not None else None
            facts.append(Fact("paid today", f"${spending.cost_usd:,.4f}", "" if bound is None else f"of ${bound:,.2f}"))
            if spending.refused:
                notices.append("Today's --max-cost is spent: until midnight (UTC) only the checks judge.")
        if self.delivery is not None:
            try:
                waiting = f"{self.store.waiting():,}"
            except StoreError as error:
                waiting = "?"
                notices.append(f"The store is away: {error}")
            more = f"{self.delivery.given_up:,} given up" if self.delivery.given_up else ""
            facts.append(Fact("to be sent", waiting, more, warn=bool(self.delivery.given_up)))
            if self.delivery.why:
                notices.append(
                    f"The backend does not take events: {self.delivery.why.rstrip('.')}. They are kept and sent later."
                )
        if counts.last_error:
            notices.append(
                f"{counts.postponed:,} times a trace was put back, the last time because of {counts.last_error}"
            )
        return Moment(tuple(facts), tuple(notices))


@asynccontextmanager
async def opened(
    settings: Evaluating, *, on_evaluated: Callable[[Evaluated], None] | None = None
) -> AsyncIterator[Live]:
    """Store, spool, judges and the way to the backend, ready for `Live.evaluator.run`.

    Raises:
        UsageError, InputError, StoreError, SpoolError: a setting names what is not there, or contradicts another.
    """
    from gpa.ingest.spool import open_spool

    async with AsyncExitStack() as stack:
        bench: Bench | None = None
        names: Mapping[str, str] = DIMENSIONS
        if settings.model is not None and settings.model != MODEL:
            from gpa.judging import Judging
            from gpa.judging import opened as opened_bench

            bench = await stack.enter_async_context(opened_bench(settings.model, settings.judging or Judging()))
            names = bench.names
        elif settings.judging is not None:
            raise UsageError(f"judging: expected a model, found {settings.model or 'none'}")
        wanted = _wanted(settings.dimensions, names)
        suppressions = () if settings.suppress is None else load_suppressions(settings.suppress)
        assessor = Assessor(
            settings.jobs,
            dimensions=[code for code in wanted if code in DIMENSIONS],
            checks=settings.checks,
            skip_checks=settings.skip_checks,
            suppressions=suppressions,
        )
        stack.callback(assessor.close)
        store = stack.enter_context(open_store(settings.store, live=True))
        spool = stack.enter_context(open_spool(settings.spool_location))
        delivery, record = _sending(settings, store, names, stack)
        evaluator = Evaluator(
            spool,
            store,
            assessor,
            patience=settings.patience,
            bench=bench,
            asked=wanted,
            policy=settings.policy,
            announce=settings.endpoint is not None,
            on_evaluated=lambda evaluated: _each(evaluated, record, on_evaluated),
        )
        yield Live(settings, store=store, spool=spool, evaluator=evaluator, delivery=delivery, bench=bench, names=names)


def tls_of(certificate: Path, key: Path) -> Tls:
    """The files of a certificate as a receiver takes them."""
    tls: Tls = _receiver_module().Tls(certificate, key)
    return tls


def serve(settings: Evaluating, listening: Listening, *, say: Callable[[str], None]) -> None:
    """Receive, evaluate and show until SIGTERM or SIGINT; then finish what is under way.

    Raises:
        UsageError, InputError, StoreError, SpoolError: a setting is wrong, a port is taken.
    """
    asyncio.run(_serve(settings, listening, say))


async def _serve(settings: Evaluating, listening: Listening, say: Callable[[str], None]) -> None:
    stop = asyncio.Event()
    async with opened(settings) as live:
        with stopping(stop, say), live_receiver(live, listening, stop):
            _announce(live, say)
            await until(live, stop)
        left = live.delivery.close() if live.delivery is not None else 0
        counts = live.evaluator.counts
        later = f"; {left} evaluations are still to be sent, the next start does" if left else ""
        say(f"stopped: {counts.traces} trace{'s' * (counts.traces != 1)} evaluated{later}")


@contextmanager
def live_receiver(live: Live, listening: Listening, stop: asyncio.Event) -> Iterator[Receiver]:
    """A receiver that fills the spool of `live` and shows its page, as long as the block lasts.

    Raises:
        UsageError, InputError: an address is none, a port is taken, the extra `serve` is not installed.
    """
    with _receiver_module().start(
        live.spool,
        http=listening.http,
        grpc=listening.grpc,
        tokens=listening.tokens,
        tls=listening.tls,
        insecure=listening.insecure,
        page=_page(live),
        registry=_registry(live),
        ready=lambda: "stopping" if stop.is_set() else None,
    ) as receiver:
        live.receiver = receiver
        yield receiver


async def until(live: Live, stop: asyncio.Event, *, until_idle: bool = False) -> None:
    """Evaluate until `stop` is set, sending verdicts and removing old spans meanwhile."""
    if live.delivery is not None:
        live.delivery.start()
    pruning = asyncio.create_task(_prune(live))
    try:
        await live.evaluator.run(stop, drain_s=live.settings.drain_s, until_idle=until_idle)
    finally:
        pruning.cancel()
        with suppress(asyncio.CancelledError):
            await pruning


async def _prune(live: Live) -> None:
    pause_s = 0.0
    while True:
        await asyncio.sleep(pause_s)
        pause_s = PRUNE_S
        try:
            if await asyncio.to_thread(live.spool.prune, keep_s=live.settings.keep_s):
                pause_s = 0.05  # there may be more, but others write too
        except GpaError as error:
            _log.warning("%s", error)


def _wanted(dimensions: Sequence[str] | None, names: Mapping[str, str]) -> tuple[str, ...]:
    if dimensions is None:
        return tuple(names)
    for code in dimensions:
        if code not in names:
            raise UsageError(f"dimensions: expected some of {' '.join(names)}, found {code!r}")
    if not dimensions:
        raise UsageError(f"dimensions: expected some of {' '.join(names)}, found none")
    return tuple(code for code in names if code in dimensions)


def _sending(
    settings: Evaluating, store: Store, names: Mapping[str, str], stack: AsyncExitStack
) -> tuple[Delivery | None, Callable[[Evaluated], None] | None]:
    """The way to the backend, and what records each evaluation when that is wanted."""
    if settings.endpoint is None:
        if settings.self_telemetry:
            raise UsageError("--self-telemetry: needs --otlp URL, where it goes")
        return None, None
    sender = stack.enter_context(opened_sender(settings.endpoint))
    clean: Callable[[str], str] = str
    if settings.redact:
        from gpa.judges.redact import Redactor

        clean = Redactor()
    delivery = Delivery(store, sender, names=names, clean=clean)
    if not settings.self_telemetry:
        return delivery, None
    from gpa.telemetry.own import recording

    own = stack.enter_context(recording(settings.endpoint))

    def record(evaluated: Evaluated) -> None:
        own.evaluated(
            evaluated.transcript,
            evaluated.results,
            revision=evaluated.revision,
            start_ns=evaluated.start_ns,
            end_ns=time.time_ns(),
        )

    return delivery, record


def _each(evaluated: Evaluated, *told: Callable[[Evaluated], None] | None) -> None:
    for tell in told:
        if tell is not None:
            tell(evaluated)


def _receiver_module() -> ModuleType:
    try:
        from gpa.ingest import receiver
    except ImportError as error:
        raise UsageError(f"gpa serve needs more packages ({error.name}): pip install 'agent-gpa[serve]'") from error
    return receiver


def _page(live: Live) -> Starlette:
    from gpa.live.page import page_app

    counts = live.evaluator.counts
    return page_app(
        live.store,
        moment=live.moment,
        version=lambda: counts.version,
        names=live.names,
        endpoint=lambda: (live.receiver.http if live.receiver is not None else None) or "http://127.0.0.1:4318",
    )


def _registry(live: Live) -> CollectorRegistry:
    from prometheus_client import CollectorRegistry

    from gpa.live.metrics import Figures

    registry = CollectorRegistry()
    registry.register(Figures(live.evaluator.counts, live.store, spending=live.spending, delivery=live.delivery))
    return registry


def _announce(live: Live, say: Callable[[str], None]) -> None:
    receiver, settings = live.receiver, live.settings
    assert receiver is not None
    if receiver.http:
        say(f"OTLP/HTTP on {receiver.http}, the page at {receiver.http}/")
    if receiver.grpc:
        say(f"OTLP/gRPC on {receiver.grpc}")
    judge = "checks" if live.bench is None else f"checks, and {live.bench.client.name} ({_policy(settings.policy)})"
    say(f"judged by {judge}; results in {settings.store}")
    if settings.endpoint is not None:
        say(f"verdicts go to {settings.endpoint}")


def _policy(policy: Policy) -> str:
    share = "every trace" if policy.sample_rate >= 1 else f"{policy.sample_rate:.3g} of the traces"
    return share if policy.when == "always" else f"{share}, when {policy.when}"


@contextmanager
def stopping(stop: asyncio.Event, say: Callable[[str], None]) -> Iterator[None]:
    """SIGTERM and SIGINT set `stop`. A second Ctrl-C interrupts at once; `timeout` and others send SIGTERM twice."""
    loop = asyncio.get_running_loop()

    def asked(number: signal.Signals) -> None:
        if not stop.is_set():
            say(f"{number.name}: finishing what is under way")
            stop.set()
        loop.remove_signal_handler(signal.SIGINT)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked, number)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def _size(count: int) -> str:
    amount = float(count)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"
