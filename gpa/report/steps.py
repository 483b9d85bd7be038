"""A transcript as a page shows it: steps with texts, findings anchored at their steps, quotes as ranges of texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from gpa.ingest.agents import Agent
from gpa.ingest.dialects.call import Message
from gpa.ingest.dialects.json_text import compact
from gpa.ingest.history import canonical
from gpa.ingest.render import MIN_REFERRED
from gpa.ingest.transcript import Step, Transcript
from gpa.judges.verdict import AnyResult, Failure, NotApplicable
from gpa.report.findings import ShownFinding
from gpa.report.quotes import Range, ranges, utf16
from gpa.report.visible import excerpt, visible

Flow = Literal["in", "out", "error", "tools"]
MAX_NAME = 200


class Mark(Struct, frozen=True, array_like=True):
    """A highlighted passage of a text; those of one text do not overlap."""

    start: int
    stop: int
    """One behind the last character; both as JavaScript counts (UTF-16)."""
    findings: tuple[int, ...]
    """Who quotes it, as positions among the findings of the trace."""


class ShownText(Struct, frozen=True, omit_defaults=True):
    """One piece of a step."""

    flow: Flow
    role: str
    """Who says it: `user`, `assistant`, `tool`, ..."""
    text: str = ""
    tool: str = ""
    """The tool called, or that answers."""
    call: bool = False
    """Whether `text` holds the arguments of a call."""
    marks: tuple[Mark, ...] = ()
    same: str = ""
    """Label of the step that shows this text already; `text` is empty then."""


class ShownStep(Struct, frozen=True, omit_defaults=True):
    """One step; times in milliseconds, `start` since the trace began."""

    label: str
    spans: tuple[str, ...]
    kind: str
    name: str
    parent: str = ""
    depth: int = 0
    agent: int = -1
    """Position among the agents."""
    start: float = 0.0
    duration: float = 0.0
    failed: bool = False
    model: str = ""
    tokens: tuple[int, int] = (0, 0)
    """Of input and output."""
    earlier: int = 0
    """Messages of the conversation so far that the input repeats and this page does not."""
    left_out: int = 0
    """Messages of the conversation so far that the input no longer holds."""
    texts: tuple[ShownText, ...] = ()
    findings: tuple[int, ...] = ()


class ShownAgent(Struct, frozen=True, omit_defaults=True):
    """One run of an agent: a lane of the timeline."""

    name: str
    parent: str = ""
    instructions: str = ""
    tools: tuple[str, ...] = ()
    """By name."""


class ShownVerdict(Struct, frozen=True, omit_defaults=True):
    """What one judge says of the trace: a score, or why there is none."""

    dimension: str
    model: str
    said: str
    score: int | None = None
    failed: bool = False
    sample: int = 0
    findings: int = 0
    unresolved: int = 0


class ShownTranscript(Struct, frozen=True, omit_defaults=True):
    """A trace's own page."""

    trace_id: str
    goal: str
    verdicts: tuple[ShownVerdict, ...]
    agents: tuple[ShownAgent, ...] = ()
    steps: tuple[ShownStep, ...] = ()
    duration: float = 0.0
    """Milliseconds from the first start to the last end."""
    elsewhere: dict[int, str] = {}
    """Findings whose quote stands in another step than those they cite, and that step's label."""
    warnings: tuple[str, ...] = ()
    missing: bool = False
    """Whether there is no transcript, only results."""


def shown_transcript(
    trace_id: str, results: Iterable[AnyResult], transcript: Transcript | None, findings: Sequence[ShownFinding]
) -> ShownTranscript:
    """The page of one trace, with its findings (see `shown_findings`) where they belong."""
    verdicts = tuple(map(_verdict, results))
    if transcript is None:
        return ShownTranscript(visible(trace_id), "", verdicts, missing=True)
    elsewhere: dict[int, str] = {}
    started = [step.start_ns for step in transcript.steps if step.start_ns]
    begin = min(started, default=0)
    end = max((step.start_ns + step.duration_ns for step in transcript.steps if step.start_ns), default=begin)
    return ShownTranscript(
        trace_id=visible(trace_id),
        goal=visible(transcript.goal),
        verdicts=verdicts,
        agents=tuple(map(_agent, transcript.agents)),
        steps=tuple(_steps(transcript, findings, begin, elsewhere)),
        elsewhere=elsewhere,
        duration=(end - begin) / 1e6,
        warnings=tuple(map(visible, transcript.warnings)),
    )


def _verdict(result: AnyResult) -> ShownVerdict:
    dimension, model = visible(result.judge), visible(result.model)
    if isinstance(result, NotApplicable):
        return ShownVerdict(dimension, model, visible(result.reason), sample=result.sample)
    if isinstance(result, Failure):
        said = visible(f"{result.error_type}: {result.message}")
        return ShownVerdict(dimension, model, said, failed=True, sample=result.sample)
    return ShownVerdict(
        dimension,
        model,
        visible(result.rationale),
        score=result.score,
        sample=result.sample,
        findings=len(result.findings),
        unresolved=result.unresolved,
    )


def _agent(agent: Agent) -> ShownAgent:
    return ShownAgent(
        name=excerpt(agent.key, MAX_NAME),
        parent=excerpt(agent.parent, MAX_NAME),
        instructions=visible("\n\n".join(message.text for message in agent.system)),
        tools=tuple(excerpt(tool.name, MAX_NAME) for tool in agent.tools),
    )


def _steps(
    transcript: Transcript, findings: Sequence[ShownFinding], begin: int, elsewhere: dict[int, str]
) -> Iterator[ShownStep]:
    lanes = {agent.key: number for number, agent in enumerate(transcript.agents)}
    texts = {step.label: list(_texts(step)) for step in transcript.steps}
    anchored, marks = _anchored(texts, findings, elsewhere)
    depths: dict[str, int] = {}
    shown: dict[str, str] = {}
    for step in transcript.steps:
        depths[step.label] = depth = depths.get(step.parent, -1) + 1
        usage = step.usage
        yield ShownStep(
            label=step.label,
            spans=tuple(map(visible, step.span_ids)),
            kind=step.kind,
            name=excerpt(step.name, MAX_NAME),
            parent=step.parent,
            depth=depth,
            agent=lanes.get(step.agent, -1),
            start=(step.start_ns - begin) / 1e6 if step.start_ns else 0.0,
            duration=step.duration_ns / 1e6,
            failed=bool(step.error) or step.status == "error",
            model=excerpt(step.model, MAX_NAME),
            tokens=(usage.input_tokens, usage.output_tokens) if usage else (0, 0),
            earlier=sum(run.stop - run.start for run in step.history if run.label not in {"", "@"}),
            left_out=step.left_out,
            texts=tuple(
                _once(text, marks.get((step.label, number), ()), step.label, shown)
                for number, text in enumerate(texts[step.label])
            ),
            findings=tuple(anchored.get(step.label, ())),
        )


def _texts(step: Step) -> Iterator[ShownText]:
    if step.tools:
        yield ShownText("tools", "tools", visible("\n".join(f"{t.name}: {t.description}" for t in step.tools)))
    for message in step.messages:
        yield from _pieces(message, "in")
    for message in step.output:
        yield from _pieces(message, "out")
    if step.error and not any(step.error == message.text for message in step.output):
        yield ShownText("error", "error", visible(step.error))


def _pieces(message: Message, flow: Flow) -> Iterator[ShownText]:
    role, tool = excerpt(message.role, MAX_NAME), excerpt(message.tool_name, MAX_NAME)
    if tool and message.role != "tool":
        arguments = message.arguments
        text = arguments if isinstance(arguments, str) else "" if arguments is None else compact(arguments)
        yield ShownText(flow, role, visible(text), tool, call=True)
        if not message.text:
            return
    yield ShownText(flow, role, visible(message.text), tool)


def _once(text: ShownText, marks: Sequence[Mark], label: str, shown: dict[str, str]) -> ShownText:
    """The text, or where it stands already when an earlier step shows all of it and nothing in it is marked."""
    key = text.text.strip()
    if len(key) < MIN_REFERRED or text.call:
        return _marked(text, marks)
    before = shown.setdefault(key, label)
    if before != label and not marks:
        return ShownText(text.flow, text.role, tool=text.tool, same=before)
    return _marked(text, marks)


def _marked(text: ShownText, marks: Sequence[Mark]) -> ShownText:
    return ShownText(text.flow, text.role, text.text, text.tool, text.call, tuple(marks)) if marks else text


def _anchored(
    texts: dict[str, list[ShownText]], findings: Sequence[ShownFinding], elsewhere: dict[int, str]
) -> tuple[dict[str, list[int]], dict[tuple[str, int], list[Mark]]]:
    """The findings of each step, and the marks of each text."""
    anchored: dict[str, list[int]] = {}
    quoted: dict[tuple[str, int], list[Range]] = {}
    for number, finding in enumerate(findings):
        for label in finding.labels:
            anchored.setdefault(label, []).append(number)
        if finding.ungrounded or not finding.quote:
            continue
        label, found = _place(finding, texts)
        if found and finding.labels and label not in finding.labels:
            elsewhere[number] = label
        for at, start, stop in found:
            text = texts[label][at].text
            quoted.setdefault((label, at), []).append((number, utf16(text, start), utf16(text, stop)))
    return anchored, {place: list(_apart(passages)) for place, passages in quoted.items()}


def _apart(passages: Sequence[Range]) -> Iterator[Mark]:
    """The passages (finding, start, stop) as marks: where several overlap, the common part is a mark of all of them."""
    edges = sorted({edge for _, start, stop in passages for edge in (start, stop)})
    for start, stop in pairwise(edges):
        findings = tuple(number for number, first, last in passages if first <= start and stop <= last)
        if findings:
            yield Mark(start, stop, findings)


def _place(finding: ShownFinding, texts: dict[str, list[ShownText]]) -> tuple[str, list[Range]]:
    """The step that holds the quote and where: a cited one, else the nearest before the first cited one, else after."""
    for label in finding.labels:
        if found := _ranges(finding.quote, texts[label]):
            return label, found
    labels = list(texts)
    at = labels.index(finding.labels[0]) if finding.labels else len(labels)
    for label in (*reversed(labels[:at]), *labels[at + 1 :]):
        for number, text in enumerate(texts[label]):
            if (start := text.text.find(finding.quote)) >= 0:
                return label, [(number, start, start + len(finding.quote))]
    return "", []


def _ranges(quote: str, texts: Sequence[ShownText]) -> list[Range]:
    for number, text in enumerate(texts):
        if text.call and quote and _same_arguments(quote, text.text):
            return [(number, 0, len(text.text))]
    return ranges(quote, [text.text for text in texts])


def _same_arguments(quote: str, text: str) -> bool:
    """Whether the quote is these arguments with their keys in another order."""
    if quote[0] != "{" or len(quote) != len(text) or quote == text:
        return quote == text
    import orjson

    try:
        return canonical(orjson.loads(quote)) == canonical(orjson.loads(text))
    except orjson.JSONDecodeError:
        return False
