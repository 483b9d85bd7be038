"""Assertions on what an agent did, for tests: `assert_agent(trace).no_findings(severity=">=MEDIUM")`.

A failed assertion shows the findings and the steps of the transcript around them. Checks judge, which takes
milliseconds and no key; with `model=` a model does.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, Protocol, Self, runtime_checkable

from gpa.errors import UsageError
from gpa.evaluation import Evaluation, Located, evaluate
from gpa.ingest.capture import NO_SPANS
from gpa.ingest.plain import cut, one_line
from gpa.ingest.render import render
from gpa.ingest.spans import Trace
from gpa.ingest.tool_calls import ToolCall, tool_calls
from gpa.ingest.transcript import Transcript, transcribe
from gpa.judges.verdict import DIMENSIONS, GRAVITY, AnyResult, Failure, Severity, Verdict
from gpa.locations import findings, kind_of

_SIGNS: dict[str, Callable[[int, int], bool]] = {
    "": operator.ge,
    ">=": operator.ge,
    ">": operator.gt,
    "==": operator.eq,
}
_SHOWN = 5
_STEP_CHARS = 1_200
_TOKENS = 6_000
_AROUND = 1
"""Steps shown before and after the one with the finding."""


@runtime_checkable
class Traces(Protocol):
    """Something that holds traces: the `gpa_trace` fixture, `gpa.capture()`."""

    @property
    def traces(self) -> Sequence[Trace]:
        """The traces."""
        ...


Run = Trace | Transcript | Traces | str | Path
"""What can be asserted on; a path is of recorded traces."""


def assert_agent(run: Run | Iterable[Run], *, model: Any = None, **options: Any) -> AgentAssertions:
    """What can be asserted of the traces in `run`; of several traces each has to hold it.

    Args:
        run: A trace, a transcript, the `gpa_trace` fixture, a path, or several.
        model: As of `gpa.evaluate`: None for the checks.
        options: More of `gpa.evaluate`: `suppress`, `skip_checks`, `judging`, `store`.

    Raises `AssertionError` when there is no trace at all.
    """
    __tracebackhide__ = True
    transcripts = tuple(_transcripts(run))
    if not transcripts:
        raise AssertionError(f"no trace to assert on: {NO_SPANS}")
    return AgentAssertions(transcripts, model=model, **options)


class AgentAssertions:
    """Each assertion gives these back, so that they can be chained; a failed one raises `AssertionError`."""

    def __init__(self, transcripts: Sequence[Transcript], **options: Any) -> None:
        self.transcripts = tuple(transcripts)
        self._options = options
        self._judged: dict[str | None, Evaluation] = {}

    def no_findings(
        self,
        dimension: str | Iterable[str] | None = None,
        *,
        severity: str = ">=LOW",
        check: str | None = None,
        category: str | None = None,
    ) -> Self:
        """No finding under these dimensions (any when None), at least that grave, of that check or category.

        `severity` is `">=MEDIUM"`, `"==HIGH"`, `">LOW"`; a bare `"MEDIUM"` means at least.
        """
        __tracebackhide__ = True
        codes = None if dimension is None else _codes(dimension)
        wanted = _wanted(severity)
        results = self._results(codes)
        self._refuse_failures(results)
        found = [
            one
            for one in findings(results)
            if one.finding.severity in wanted
            and check in {None, one.finding.check}
            and category in {None, one.finding.category}
        ]
        if found:
            of = f" of {' '.join(codes)}" if codes else ""
            count = f"{len(found)} finding{'s' * (len(found) != 1)}"
            self._fail(f"expected no findings{of} with severity {severity}, found {count}", found)
        return self

    def score(self, dimension: str) -> Score:
        """The score of a dimension, 0-3, to compare: `assert_agent(t).score("TC") >= 2`.

        The comparison itself asserts, with `assert` in front or without. Raises `AssertionError` when the dimension is
        not applicable or could not be judged.
        """
        __tracebackhide__ = True
        [code] = _codes(dimension)
        results = self._results((code,))
        self._refuse_failures(results)
        for result in results:
            if not isinstance(result, Verdict):
                said = getattr(result, "reason", "")
                self._fail(f"{code} has no score: not applicable to trace {result.trace_id}: {said}")
        return Score(code, [result for result in results if isinstance(result, Verdict)], self._fail)

    def called(self, tool: str, *, times: int | None = None) -> Self:
        """The tool was called in each trace, that often when `times` says so."""
        __tracebackhide__ = True
        for transcript in self.transcripts:
            calls = [call for call in self._calls[transcript.trace_id] if call.tool == tool]
            if (times is None and not calls) or (times is not None and len(calls) != times):
                expected = "at least one call" if times is None else f"{times} call{'s' * (times != 1)}"
                self._fail(f"expected {expected} of {tool}, found {len(calls)}; {self._said(transcript)}")
        return self

    def not_called(self, *tools: str) -> Self:
        """None of the tools was called."""
        __tracebackhide__ = True
        for transcript in self.transcripts:
            for call in self._calls[transcript.trace_id]:
                if call.tool in tools:
                    labels = [label for label in (call.asked, call.ran) if label]
                    self._fail(f"expected no call of {call.tool}, found one", [], {transcript.trace_id: labels})
        return self

    def answered(self, text: str | re.Pattern[str]) -> Self:
        """The final answer of each trace holds this text, or something that matches this pattern."""
        __tracebackhide__ = True
        for transcript in self.transcripts:
            answer = transcript.final_answer
            held = text in answer if isinstance(text, str) else text.search(answer) is not None
            if not held:
                wanted = repr(text) if isinstance(text, str) else f"a match of {text.pattern!r}"
                self._fail(f"expected {wanted} in the final answer, found {one_line(answer, 400)!r}")
        return self

    def at_most(
        self, *, steps: int | None = None, model_calls: int | None = None, tool_calls: int | None = None
    ) -> Self:
        """Each trace stays within these counts."""
        __tracebackhide__ = True
        for transcript in self.transcripts:
            counts = {
                "steps": (steps, len(transcript.steps)),
                "model calls": (model_calls, sum(step.kind == "llm" for step in transcript.steps)),
                "tool calls": (tool_calls, len(self._calls[transcript.trace_id])),
            }
            for what, (limit, count) in counts.items():
                if limit is not None and count > limit:
                    self._fail(f"expected at most {limit} {what}, found {count}; {self._said(transcript)}")
        return self

    @cached_property
    def _calls(self) -> dict[str, list[ToolCall]]:
        return {transcript.trace_id: list(tool_calls(transcript)) for transcript in self.transcripts}

    def _said(self, transcript: Transcript) -> str:
        names = dict.fromkeys(call.tool for call in self._calls[transcript.trace_id])
        return f"the tools called are: {', '.join(names) or 'none'}"

    def _results(self, codes: Sequence[str] | None) -> tuple[AnyResult, ...]:
        """The results of these dimensions; a model is asked about no others, and once."""
        if self._options.get("model") is None:
            codes_to_judge: Sequence[str | None] = (None,)
        else:
            codes_to_judge = (None,) if codes is None or None in self._judged else codes
        for code in codes_to_judge:
            if code not in self._judged:
                dimensions = None if code is None else [code]
                self._judged[code] = evaluate(list(self.transcripts), dimensions=dimensions, **self._options)
        results = [result for code in codes_to_judge for result in self._judged[code].results]
        known = {result.judge for result in results}
        for code in codes or ():
            if code not in known:
                raise UsageError(f"dimension: expected some of {' '.join(sorted(known))}, found {code!r}")
        return tuple(result for result in results if codes is None or result.judge in codes)

    def _refuse_failures(self, results: Iterable[AnyResult]) -> None:
        """A judgement that failed is no good news."""
        __tracebackhide__ = True
        for result in results:
            if isinstance(result, Failure):
                said = one_line(f"{result.error_type}: {result.message}", 300)
                self._fail(f"{result.judge} could not be judged: {said}")

    def _fail(
        self, message: str, found: Sequence[Located] = (), labels: dict[str, list[str]] | None = None
    ) -> NoReturn:
        __tracebackhide__ = True
        raise AssertionError("\n".join([message, *self._shown(found), *self._excerpts(labels or self._cited(found))]))

    def _shown(self, found: Sequence[Located]) -> list[str]:
        lines = []
        for located in found[:_SHOWN]:
            finding = located.finding
            lines += ["", f"{finding.severity} {' '.join(located.dimensions)} {kind_of(located)}"]
            lines.append(f"  {one_line(finding.problem, 400)}")
            if finding.quote:
                lines.append(f'  "{one_line(finding.quote, 200)}"')
        if len(found) > _SHOWN:
            lines += ["", f"... and {len(found) - _SHOWN} more"]
        return lines

    def _cited(self, found: Sequence[Located]) -> dict[str, list[str]]:
        """Trace id -> labels of the steps that the findings shown cite."""
        cited: dict[str, list[str]] = {}
        for transcript in self.transcripts:
            labels = {span_id: step.label for step in transcript.steps for span_id in step.span_ids}
            mine = [one for one in found[:_SHOWN] if one.trace_id == transcript.trace_id]
            spans = [span_id for one in mine for span_id in one.finding.span_ids[:2]]
            if wanted := [labels[span_id] for span_id in spans if span_id in labels]:
                cited[transcript.trace_id] = wanted
        return cited

    def _excerpts(self, cited: dict[str, list[str]]) -> Iterable[str]:
        for transcript in self.transcripts:
            if transcript.trace_id in cited:
                yield ""
                yield f"trace {transcript.trace_id}"
                yield excerpt(transcript, cited[transcript.trace_id])


class Score:  # noqa: PLW1641 - equality asserts here, so it is no key of anything
    """A score, or one of each trace: a comparison holds when it holds for all, and raises when it does not."""

    def __init__(
        self, dimension: str, verdicts: Sequence[Verdict], fail: Callable[[str, Sequence[Located]], None]
    ) -> None:
        self.dimension = dimension
        self.values = tuple(verdict.score for verdict in verdicts)
        """In the order of the traces."""
        self._verdicts = verdicts
        self._fail = fail

    @property
    def value(self) -> float:
        """The mean over the traces."""
        return sum(self.values) / len(self.values)

    def __float__(self) -> float:
        return self.value

    def __ge__(self, other: float) -> bool:
        __tracebackhide__ = True
        return self._holds(operator.ge, ">=", other)

    def __gt__(self, other: float) -> bool:
        __tracebackhide__ = True
        return self._holds(operator.gt, ">", other)

    def __le__(self, other: float) -> bool:
        __tracebackhide__ = True
        return self._holds(operator.le, "<=", other)

    def __lt__(self, other: float) -> bool:
        __tracebackhide__ = True
        return self._holds(operator.lt, "<", other)

    def __eq__(self, other: object) -> bool:
        __tracebackhide__ = True
        return self._holds(operator.eq, "==", other)

    def __ne__(self, other: object) -> bool:
        __tracebackhide__ = True
        return self._holds(operator.ne, "!=", other)

    def __repr__(self) -> str:
        return f"Score({self.dimension!r}, {', '.join(map(str, self.values))})"

    def _holds(self, compare: Callable[[Any, Any], bool], sign: str, other: object) -> bool:
        __tracebackhide__ = True
        wrong = [verdict for verdict in self._verdicts if not compare(verdict.score, other)]
        if wrong:
            name = DIMENSIONS.get(self.dimension, "")
            scores = ", ".join(str(verdict.score) for verdict in wrong)
            message = f"expected a score of {self.dimension} {name} {sign} {other}, found {scores}".replace("  ", " ")
            found = findings(wrong)
            why = "" if found else f": {one_line(wrong[0].rationale, 300)}"
            self._fail(message + why, found)
        return True


def excerpt(transcript: Transcript, labels: Iterable[str], *, around: int = _AROUND) -> str:
    """The steps with these labels as `gpa transcript` shows them, and those next to them; `>` marks the cited ones."""
    text = render(transcript, max_tokens=_TOKENS)
    # No recorded text can look like a label of ours (gpa.ingest.labels), so these are the heads of steps.
    parts = re.split(r"^(?=\[s\d+\])", text, flags=re.MULTILINE)
    heads = [re.match(r"\[(s\d+)\]", part) for part in parts]
    wanted = set(labels)
    cited = {number for number, head in enumerate(heads) if head is not None and head[1] in wanted}
    near = sorted({other for number in cited for other in range(number - around, number + around + 1)})
    lines: list[str] = []
    last = None
    for number in near:
        if not 0 <= number < len(parts) or heads[number] is None:
            continue
        if last is not None and number != last + 1:
            lines.append("  ...")
        mark = ">" if number in cited else " "
        lines += [f"{mark} {line}" for line in cut(parts[number].rstrip("\n"), _STEP_CHARS).split("\n")]
        last = number
    return "\n".join(lines)


def _transcripts(run: Any) -> Iterable[Transcript]:
    if isinstance(run, Transcript):
        yield run
    elif isinstance(run, Trace):
        yield transcribe(run)
    elif isinstance(run, str | Path):
        from gpa.ingest.assembly import read_traces

        yield from map(transcribe, read_traces(run))
    elif isinstance(run, Traces):
        yield from map(transcribe, run.traces)
    elif isinstance(run, Iterable):
        for one in run:
            yield from _transcripts(one)
    else:
        raise UsageError(f"expected a trace, a transcript, a path or the gpa_trace fixture, found {type(run).__name__}")


def _codes(dimension: str | Iterable[str]) -> tuple[str, ...]:
    names = [dimension] if isinstance(dimension, str) else list(dimension)
    return tuple(name.upper() if name.upper() in DIMENSIONS else name for name in names)


def _wanted(severity: str) -> frozenset[Severity]:
    match = re.fullmatch(r"\s*(>=|>|==|)\s*(LOW|MEDIUM|HIGH)\s*", severity, re.IGNORECASE)
    if match is None:
        raise UsageError(f"severity: expected one such as '>=MEDIUM', '==HIGH' or 'LOW', found {severity!r}")
    holds, named = _SIGNS[match[1]], match[2].upper()
    limit = next(gravity for severity, gravity in GRAVITY.items() if severity == named)
    return frozenset(severity for severity, gravity in GRAVITY.items() if holds(gravity, limit))
