"""Where findings are, in terms that outlive a run: agent, tool, step name; and which findings are the same error.

Span ids, and mostly trace ids too, are new in every run of an agent. What stays is the goal of a test case, the names
of agents and tools, and what is said of an error once ids and numbers are taken out of it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from gpa.errors import UsageError
from gpa.evaluation import Evaluation, Located
from gpa.ingest.dialects.call import Kind
from gpa.ingest.transcript import Transcript
from gpa.judges.verdict import AnyResult

_MAX_TEXT = 300
"""Characters of a quote or problem that tell findings apart."""
_MARK = re.compile(r"\[s\d+\]|[\w.,:/#-]*\d[\w.,:/#-]*")
"""Labels, and words with a digit in them: ids, numbers, times, ordinals."""
_NOT_A_WORD = re.compile(r"[^\w#]+")


class Location(NamedTuple):
    """The step behind a span."""

    label: str
    agent: str
    """Key of the agent, empty outside every agent."""
    kind: Kind
    name: str


class Traced(NamedTuple):
    """What of a trace is needed to say where its findings are."""

    trace_id: str
    goal: str
    locations: Mapping[str, Location]
    """By span id."""


@dataclass(frozen=True)
class Recorded:
    """An evaluation, and where its traces' spans are."""

    evaluation: Evaluation
    traces: Mapping[str, Traced] = field(default_factory=dict)
    """By trace id; empty where only result lines are there."""

    def place(self, located: Located) -> Location | None:
        """The step of the first span that a finding cites, None where that is not known."""
        traced = self.traces.get(located.trace_id)
        ids = located.finding.span_ids
        return traced.locations.get(ids[0]) if traced is not None and ids else None


def traced(transcript: Transcript) -> Traced:
    """What of a transcript is needed to say where findings are."""
    return Traced(
        transcript.trace_id,
        transcript.goal,
        {
            span_id: Location(step.label, step.agent, step.kind, step.name)
            for step in transcript.steps
            for span_id in step.span_ids or (step.span_id,)
        },
    )


def recorded(path: str | Path, *, model: str | None = None) -> Recorded:
    """The results in a store, with where its traces' spans are, or in a file of result lines, without.

    Of results with the same judge, trace and sample the last one stands. Raises `UsageError` when there is none (of
    `model`), or when several models judged the same and none is chosen; `InputError` or `StoreError` when it cannot be
    read.
    """
    from gpa.store import is_store, open_store

    if not is_store(path):
        return Recorded(Evaluation(chosen(Evaluation.load(path).results, model, str(path))))
    with open_store(path, must_exist=True) as store:
        results = chosen(store.results(), model, str(path))
        wanted = {result.trace_id for result in results}
        traces = {one.trace_id: traced(one) for one in store.transcripts() if one.trace_id in wanted}
    return Recorded(Evaluation(results), traces)


def chosen(results: Iterable[AnyResult], model: str | None, where: str) -> tuple[AnyResult, ...]:
    """The last result of each judge, trace and sample, of one model. Raises `UsageError`, see `recorded`."""
    kept = latest(result for result in results if model in {None, result.model})
    if not kept:
        raise UsageError(f"{where}: no results" + (f" of model {model!r}" if model else ""))
    models: dict[tuple[str, str, int], str] = {}
    for result in kept:
        other = models.setdefault((result.trace_id, result.judge, result.sample), result.model)
        if other != result.model:
            names = ", ".join(sorted({other, result.model}))
            raise UsageError(f"{where}: judge {result.judge} has results of several models ({names}): choose one")
    return kept


def latest(results: Iterable[AnyResult]) -> tuple[AnyResult, ...]:
    """Of the results of the same trace, judge, model and sample the last one: a store keeps those of older rubrics."""
    kept = {(one.trace_id, one.judge, one.model, one.sample): one for one in results}
    return tuple(kept.values())


def findings(results: Iterable[AnyResult]) -> tuple[Located, ...]:
    """Every finding once, the gravest first."""
    return Evaluation(tuple(results)).worst(sys.maxsize)


def suppressed(results: Iterable[AnyResult]) -> tuple[Located, ...]:
    """Every finding that a judge took back or a user muted, once, the gravest first."""
    held = [result for result in results if result.type == "verdict" and result.suppressed]
    return findings(verdict.model_copy(update={"findings": verdict.suppressed}) for verdict in held)


def goal_key(goal: str) -> str:
    """What the goals of two runs of one test case have in common; empty for no goal."""
    words = " ".join(goal.split()).casefold()
    return _digest(words) if words else ""


def kind_of(located: Located) -> str:
    """What sort of error it is: the name of the check, or the category that a model gave it."""
    return located.finding.check or located.finding.category


def place_of(location: Location | None) -> tuple[str, ...]:
    """Agent, kind and name of a step as they are in every run.

    The name of a model call is left out: it is the model's, and swapping models is what runs are compared for.
    """
    if location is None:
        return ()
    agent = location.agent.partition("#")[0]
    return (agent, location.kind, "" if location.kind == "llm" else said(location.name))


def said(text: str) -> str:
    """The words of a text, without ids and numbers."""
    return _NOT_A_WORD.sub(" ", _MARK.sub("#", text[: 2 * _MAX_TEXT])).strip().casefold()[:_MAX_TEXT]


def words_of(located: Located) -> str:
    """What tells a finding from others of its sort at its place.

    A check's own words: its quotes hold what the run happened to say. A model's words differ from one judgement to
    the next, so there it is the quote.
    """
    finding = located.finding
    return said(finding.problem if finding.check else finding.quote or finding.problem)


def signature(located: Located, location: Location | None) -> tuple[str, ...]:
    """Equal for the same error in two runs of the same test case."""
    return (kind_of(located), *place_of(location), words_of(located))


def fingerprint(located: Located, traced: Traced | None) -> str:
    """32 hex digits that are the same for the same error of the same test case in every run.

    Made of check or category, dimensions, agent, kind and name of the step, the words of the finding, and the goal of
    the trace (its id where it states none).
    """
    ids = located.finding.span_ids
    location = traced.locations.get(ids[0]) if traced is not None and ids else None
    case = (goal_key(traced.goal) if traced is not None else "") or located.trace_id
    return _digest("\x1f".join((case, *sorted(located.dimensions), *signature(located, location))))


def fingerprints(found: Sequence[Located], run: Recorded) -> Iterator[str]:
    """The fingerprint of each finding, in order; one that came before gets a number, so that all are different."""
    seen: dict[str, int] = {}
    for located in found:
        one = fingerprint(located, run.traces.get(located.trace_id))
        seen[one] = seen.get(one, 0) + 1
        yield one if seen[one] == 1 else _digest(f"{one}\x1f{seen[one]}")


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "backslashreplace"), digest_size=16).hexdigest()
