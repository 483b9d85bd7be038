"""Transcript -> text for people and models: compact, labelled, nothing said twice.

Every step begins with its label, `[s12]`; nothing inside a recorded text can look like one (`[s12]` in there is shown
as `⟦s12⟧`). Text that an earlier step of the transcript shows in full is referred to instead of repeated.
With a budget, only the inside of long texts is cut, and what was left out is said.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from gpa.ingest import labels
from gpa.ingest.dialects.call import Message, Tool
from gpa.ingest.dialects.json_text import compact
from gpa.ingest.tokens import CHARS_PER_TOKEN, count_text
from gpa.ingest.transcript import Step, Transcript

MIN_REFERRED = 64
"""Characters from which a text that was shown before is referred to instead of shown again."""
MAX_OPENING = 400
"""Characters a framework may put before a result it quotes ("Call id: ... Observation:")."""
RECENT = 16
"""Earlier texts that are looked for inside a new one."""
MIN_KEPT = 200
"""Characters a budget leaves of every text at least."""
MAX_MARK = 48
"""Characters of the mark that says how much was left out."""
MAX_NAME = 200
"""Characters of a name (of an agent, step, tool or role); a longer one is cut like a text."""


def render(transcript: Transcript, *, max_tokens: int | None = None) -> str:
    """The transcript as text; with `max_tokens` (counted by `gpa.ingest.tokens`) long texts are cut inside to fit."""
    page = Page()
    page.header(transcript)
    for step in transcript.steps:
        page.step(step)
    page.footer()
    return page.text(max_tokens or None)


def neutral(text: str) -> str:
    """The text with anything that looks like a step label made to look different."""
    return labels.neutral(text)


@lru_cache(maxsize=4096)  # the same few names stand on every line
def named(name: str) -> str:
    """A recorded name as a piece of a line of ours: in one line, not too long, without labels."""
    return neutral(shortened(" ".join(name.split()), MAX_NAME))


class _Shown(NamedTuple):
    """A text, how it begins, and the step that shows it in full."""

    text: str
    beginning: str
    label: str


class Page:
    """A rendering as it grows: lines of ours, and recorded texts that a budget may cut."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._recorded: list[int] = []
        """Indexes of the recorded texts among the parts."""
        self._results: deque[_Shown] = deque(maxlen=RECENT)
        """What tools and wrapped work gave back: each is delivered once, by a message that may refer to it."""
        self._said: deque[_Shown] = deque(maxlen=RECENT)
        """Tasks and model outputs: frameworks quote them in later prompts, any number of times."""
        self._open: list[Step] = []
        """Steps that the current one runs inside."""
        self._plain: list[Step] = []

    def header(self, transcript: Transcript) -> None:
        """Trace id, agents with their instructions and tools, warnings."""
        self._parts.append(f"trace {named(transcript.trace_id)}\n")
        instructions: dict[str, str] = {}
        tools: dict[str, str] = {}
        for agent in transcript.agents:
            called = f" (called by {named(agent.parent)})" if agent.parent else ""
            self._parts.append(f"agent {named(agent.key)}{called}\n")
            system = "\n\n".join(message.text for message in agent.system)
            self._once("instructions", system, agent.key, instructions)
            self._once("tools", "\n".join(map(_tool, agent.tools)), agent.key, tools)
        for warning in transcript.warnings:
            self._parts.append(f"note: {neutral(' '.join(warning.split()))}\n")

    def _once(self, what: str, text: str, agent: str, shown: dict[str, str]) -> None:
        if text in shown:
            self._parts.append(f"  {what}: those of {shown[text]}\n")
        elif text:
            shown[text] = named(agent)
            self._parts.append(f"  {what}:\n")
            self._text(text)
            self._parts.append("\n")

    def step(self, step: Step) -> None:
        """One step: a head line, what is new in its input, what came out, its error."""
        self._close_until(step.parent)
        self._open.append(step)
        if step.kind == "other" and not (step.messages or step.output or step.error):
            self._plain.append(step)
            return
        self._flush_plain()
        self._parts.append(head(step))
        if step.kind == "llm" and (note := _history_note(step)):
            self._parts.append(f"  ({note})\n")
        if step.tools:
            self._parts.append("  tools now:\n")
            self._text("\n".join(map(_tool, step.tools)))
            self._parts.append("\n")
        for message in step.messages:
            self._message(message, refer=step.kind != "tool")
            if step.kind in ("agent", "other"):
                self._show(self._said, message.text, step.label)
        if step.kind in ("llm", "tool", "retrieval"):
            shown = self._said if step.kind == "llm" else self._results
            for message in step.output:
                self._message(message, arrow="-> ")
                self._show(shown, message.text, step.label)
        if step.error:
            self._parts.append("  error: ")
            self._refer(step.error)
            self._show(self._results, step.error, step.label)

    def _message(self, message: Message, *, arrow: str = "", refer: bool = False) -> None:
        if message.tool_name and message.role != "tool":
            self._parts.append(f"  {arrow}{named(message.tool_name)}(")
            self._text(_arguments(message))
            self._parts.append(")\n")
            if not message.text:
                return
        tool = f" {named(message.tool_name)}" if message.tool_name else ""
        self._parts.append(f"  {arrow}{named(message.role)}{tool}: ")
        if refer:
            self._refer(message.text)
        else:
            self._text(message.text)
            self._parts.append("\n")

    def _refer(self, text: str) -> None:
        """A text, with the part of it that an earlier step shows in full replaced by a reference to that step."""
        size = len(text)
        if size >= MIN_REFERRED:
            opening = text[: MAX_OPENING + MIN_REFERRED]
            for shown in (self._results, self._said):
                for earlier in reversed(shown):
                    if earlier.beginning in opening and len(earlier.text) <= size:
                        at = opening.index(earlier.beginning)
                        if text.startswith(earlier.text, at):
                            self._quote(text, at, earlier)
                            if shown is self._results:
                                shown.remove(earlier)
                            return
        self._text(text)
        self._parts.append("\n")

    def _quote(self, text: str, at: int, earlier: _Shown) -> None:
        self._text(text[:at])
        self._parts.append(f"(as in {earlier.label})")
        self._text(text[at + len(earlier.text) :])
        self._parts.append("\n")

    @staticmethod
    def _show(shown: deque[_Shown], text: str, label: str) -> None:
        """Remember a text that later ones may quote."""
        text = text.strip()
        if len(text) >= MIN_REFERRED:
            shown.append(_Shown(text, text[:MIN_REFERRED], label))

    def _text(self, text: str) -> None:
        if text:
            self._recorded.append(len(self._parts))
            self._parts.append(neutral(text))

    def _close_until(self, parent: str) -> None:
        """Show what agents and wrappers gave back, once everything inside them is shown."""
        while self._open and self._open[-1].label != parent:
            step = self._open.pop()
            if step.kind in ("agent", "other") and step.output:
                self._flush_plain()
                self._parts.append(f"[{step.label}] gave back: ")
                for message in step.output:
                    self._refer(message.text or f"{message.tool_name}({_arguments(message)})")
                    self._show(self._results, message.text, step.label)

    def _flush_plain(self) -> None:
        """Steps without any content on one line."""
        if self._plain:
            self._parts.append(", ".join(f"[{step.label}] {named(step.name)}" for step in self._plain) + "\n")
            self._plain.clear()

    def footer(self) -> None:
        """What is still open."""
        self._close_until("")
        self._flush_plain()

    def text(self, max_tokens: int | None = None) -> str:
        """The page, cut inside its long texts when it exceeds `max_tokens`."""
        if max_tokens is not None:
            self._fit(max_tokens)
        return "".join(self._parts)

    def _fit(self, max_tokens: int) -> None:
        sizes = sorted(count_text(self._parts[index]) for index in self._recorded)
        excess = sum(map(count_text, self._parts)) - max_tokens
        if excess <= 0:
            return
        mark = count_text("." * MAX_MARK)
        limit = max(count_text("." * MIN_KEPT), _water_level(sizes, sum(sizes) - excess) - mark)
        for index in self._recorded:
            self._parts[index] = to_tokens(self._parts[index], limit + mark)


def _water_level(sizes: Sequence[int], budget: int) -> int:
    """The length to which texts of these (sorted) sizes are cut so that together they fill `budget`."""
    left = budget
    for position, size in enumerate(sizes):
        share = left // (len(sizes) - position)
        if size >= share:
            return share
        left -= size
    return sizes[-1] if sizes else 0


def shortened(text: str, limit: int) -> str:
    """The text, or its beginning and end with how many characters are missing between them."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    return f"{text[:head]} [... {len(text) - head - tail:,} characters left out ...] {text[len(text) - tail :]}"


def to_tokens(text: str, limit: int) -> str:
    """The text, shortened where it counts more than `limit` tokens, the mark of the cut included."""
    if count_text(text) <= limit:
        return text
    if text.isascii():
        return shortened(text, max(0, int(limit * CHARS_PER_TOKEN) - MAX_MARK))
    # Other characters count more and may stand anywhere: by halving, the most characters whose two ends fit.
    low, high = 0, min(len(text), int(limit * CHARS_PER_TOKEN))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_text(shortened(text, middle)) <= limit else (low, middle - 1)
    return shortened(text, low)


def head(step: Step) -> str:
    """The line a step begins with: label, kind, name, agent, the step around it, seconds, whether it failed."""
    kind = "" if step.kind == "other" else f" {step.kind}"
    agent = f" by {named(step.agent)}" if step.agent else ""
    parent = f" in {step.parent}" if step.parent else ""
    seconds = f" {duration(step.duration_ns)}" if step.duration_ns else ""
    failed = " ERROR" if step.status == "error" or step.error else ""
    return f"[{step.label}]{kind} {named(step.name)}{agent}{parent}{seconds}{failed}\n"


def duration(nanoseconds: int) -> str:
    """A length of time in seconds as people write it: three digits, no powers of ten."""
    seconds = nanoseconds / 1e9
    return "<0.001s" if seconds < 0.001 else f"{seconds:.3g}s" if seconds < 999.5 else f"{seconds:.0f}s"


def _history_note(step: Step) -> str:
    """Says how the input departs from "everything so far, then what is new", or nothing."""
    notes = []
    if step.left_out:
        notes.append(f"{step.left_out} earlier messages are not in this input any more")
    new = [index for index, run in enumerate(step.history) if run.label == ""]
    if new and new != [len(step.history) - 1]:
        notes.append("some of the new messages stand before older ones")
    return "; ".join(notes)


def _arguments(message: Message) -> str:
    if message.arguments is None or isinstance(message.arguments, str):
        return message.arguments or ""
    return compact(message.arguments)


def _tool(tool: Tool) -> str:
    """One line: name, parameters with types, description."""
    properties = tool.parameters.get("properties")
    required = tool.parameters.get("required")
    schema = properties if isinstance(properties, dict) else tool.parameters
    parts = []
    for name, about in schema.items():
        kind = about.get("type", "") if isinstance(about, dict) else ""
        optional = isinstance(properties, dict) and isinstance(required, list) and name not in required
        parts.append(f"{name}{'?' if optional else ''}{f': {kind}' if isinstance(kind, str) and kind else ''}")
    line = f"  {tool.name}({', '.join(parts)})"
    return f"{line}: {tool.description}" if tool.description else line
