"""What each model call adds to the conversation before it.

Agents send the whole conversation again with every call. This module compares conversations as *sequences*
(never as sets: a message that occurs twice in life must occur twice in the transcript) and splits each input into
runs that stand in earlier conversations and messages that are new. Nothing is lost: the runs and the new messages
put the input together again.

An input is compared with the conversations it may continue: first the agent's last one, which it almost always does,
then a bounded number of others. Where a history was trimmed, summarised or reordered the rest is aligned greedily, in
order. The cost is linear in what was recorded.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import orjson
from msgspec import Struct

from gpa.ingest.dialects.call import Message

MIN_TEXT_WITHOUT_ROLE = 32
"""Characters from which equal text is the same message even if the producer changed its role on the way."""
MAX_COMPARED = 32
"""Conversations of the same agent, latest first, and of others, that an input is compared with."""
MAX_ADDED = 64
"""Characters a framework may append to an output when it puts it into the history (a stop word it had cut off)."""


class Run(Struct, frozen=True, gc=False):
    """Messages `start:stop` of a conversation.

    It is the one of step `label` (its whole input, then its output), the agent's system instructions when `label` is
    `@`, or the step's own new messages when it is empty.
    """

    label: str
    start: int
    stop: int


class Placement(Struct, frozen=True, gc=False):
    """How one input relates to the conversations before it."""

    history: tuple[Run, ...]
    messages: tuple[Message, ...]
    """The new ones, in order."""
    restated: tuple[tuple[int, Message], ...] = ()
    """Messages of the history that came back in another form: (index in the whole input, as recorded)."""
    left_out: int = 0
    """Messages of the input before that this one no longer holds."""


class _Turn(Struct, gc=False):
    """One placed call: its conversation as message numbers, without the leading system messages."""

    label: str
    offset: int
    """How many leading system messages stand before the sequence in the whole input."""
    sequence: list[int]
    given: int
    """How many messages of the sequence are input; the rest is output."""
    end_ns: int


class _Split:
    """An input on its way to be split: runs of old and new messages, in order."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.new: list[int] = []
        self.restated: list[tuple[int, int]] = []
        self.size = 0

    def old(self, label: str, start: int, stop: int) -> None:
        """Messages that stand in another conversation."""
        self.size += stop - start
        if self.runs and self.runs[-1].label == label and self.runs[-1].stop == start:
            start = self.runs.pop().start
        self.runs.append(Run(label, start, stop))

    def news(self, numbers: Sequence[int]) -> None:
        """Messages that stand nowhere yet."""
        if numbers:
            self.old("", len(self.new), len(self.new) + len(numbers))
            self.new.extend(numbers)


def canonical(arguments: Any) -> str:
    """Equal for equal arguments, whatever the key order."""
    if isinstance(arguments, str):
        return arguments
    try:
        return orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS, default=repr).decode()
    except (TypeError, ValueError, RecursionError):
        return " ".join(_walked(arguments))


def _hashable(message: Message) -> tuple[str, ...]:
    """A key for a message with arguments, which may hold dicts."""
    form = "text" if isinstance(message.arguments, str) else "value"
    return (message.role, message.text, message.tool_name, message.tool_call_id, form, canonical(message.arguments))


def _walked(value: Any) -> Iterator[str]:
    """What JSON cannot hold (nested deeper than encoders go, integers beyond 64 bits), walked without recursion."""
    stack = [value]
    while stack:
        at = stack.pop()
        if isinstance(at, dict):
            keys = sorted(at, key=str)
            stack.extend(at[key] for key in reversed(keys))
            yield f"{{{' '.join(map(str, keys))}}}"
        elif isinstance(at, list | tuple):
            stack.extend(reversed(at))
            yield f"[{len(at)}]"
        else:
            yield repr(at)


class Histories:
    """The conversations of one trace, as they grow; calls are placed in the order they happened."""

    def __init__(self) -> None:
        self._numbers: dict[Message | tuple[str, ...], int] = {}
        self._inputs: dict[str, tuple[Sequence[Message], list[int]]] = {}
        """Per agent its latest input and the numbers of its messages."""
        self.messages: list[Message] = []
        """Every different message, by number."""
        self._turns: dict[str, list[_Turn]] = {}
        """Per agent, in order."""
        self._lasts: dict[str, _Turn] = {}
        """Per agent the last one, in the order of these."""
        self._systems: dict[tuple[str, tuple[int, ...]], str] = {}

    def numbers(self, messages: Sequence[Message], agent: str | None = None) -> list[int]:
        """A small number for each message; equal messages share it.

        `agent` says whose input this is: what stands there as in the agent's input before is recognised by comparing,
        which is far cheaper than hashing the whole history again.
        """
        found: list[int] = []
        if agent is not None:
            before, numbers = self._inputs.get(agent, ((), []))
            for message, earlier in zip(messages, before, strict=False):
                if message != earlier:
                    break
                found.append(numbers[len(found)])
            self._inputs[agent] = (messages, found)
        known, every = self._numbers, self.messages
        for message in messages[len(found) :]:
            number = known.setdefault(message if message.arguments is None else _hashable(message), len(every))
            if number == len(every):
                every.append(message)
            found.append(number)
        return found

    def place(
        self,
        label: str,
        agent: str,
        whole: list[int],
        output: list[int],
        *,
        leading: int,
        system: tuple[int, ...],
        start_ns: int = 0,
        end_ns: int = 0,
    ) -> Placement:
        """Split one input into history and news, and remember the conversation under `label`.

        `whole` and `output` are the numbers of its messages, the first `leading` of them system messages; `agent` is
        the key of the agent that sent it, `system` the numbers of that agent's instructions.
        """
        split = _Split()
        head = tuple(whole[:leading])
        if head and head == system:
            split.old("@", 0, leading)
        elif head:
            first = self._systems.setdefault((agent, head), label)
            if first == label:
                split.news(head)
            else:
                split.old(first, 0, leading)

        sequence = whole[leading:]
        depth, base = self._continued(sequence, agent)
        if base is not None:
            if depth:
                split.old(base.label, base.offset, base.offset + depth)
            if base.end_ns and start_ns and base.end_ns > start_ns:
                base = None  # it was still running when this one started: this is a branch beside it
        matched = 0
        if base is not None and len(base.sequence) > depth:
            matched = self._align(base, depth, sequence, split)
        else:
            split.news(sequence[depth:])
        turn = _Turn(label, leading, sequence + output, len(sequence), end_ns)
        self._turns.setdefault(agent, []).append(turn)
        self._lasts.pop(agent, None)
        self._lasts[agent] = turn
        # Without anything in common it is a context of its own (a planning prompt, a sub-task), not a shortened one.
        goes_on = base is not None and (depth or matched)
        return Placement(
            history=() if all(run.label == "" for run in split.runs) else tuple(split.runs),
            messages=tuple(self.messages[number] for number in split.new),
            restated=tuple((index, self.messages[number]) for index, number in split.restated),
            left_out=max(0, base.given - depth - matched) if base is not None and goes_on else 0,
        )

    def _continued(self, sequence: list[int], agent: str) -> tuple[int, _Turn | None]:
        """How many messages the input has in common with the beginning of the conversation it continues, and that one.

        It is the agent's conversation with the longest common beginning, the latest of those; its last one when none
        has anything in common. The conversation of *another* agent counts only from its first answer on: two sub-agents
        that are given the same task were each given it.
        """
        turns = self._turns.get(agent)
        last = turns[-1] if turns else None
        if last is not None and (length := len(last.sequence)) and sequence[:length] == last.sequence:
            return length, last
        depth, found = 0, last
        for turn in reversed(turns[-MAX_COMPARED:] if turns else ()):
            length = _common(sequence, turn.sequence, depth)
            if length > depth:
                depth, found = length, turn
        if last is not None and found is last and depth >= last.given > 0:
            return depth, found
        for turn in islice(reversed(self._lasts.values()), MAX_COMPARED):
            length = _common(sequence, turn.sequence, depth)
            if length > depth and self._answered(sequence[:length]):
                depth, found = length, turn
        return depth, found

    def _answered(self, numbers: Sequence[int]) -> bool:
        return any(self.messages[number].role == "assistant" for number in numbers)

    def _align(self, base: _Turn, depth: int, sequence: list[int], split: _Split) -> int:
        """Find what is left of `base` behind a common beginning of `depth`, in order.

        Returns how many messages of its *input* were found: parts of an output often come back in a form of the
        framework's own (a call as text), or not at all, without anything being taken out of the conversation.
        """
        positions: dict[tuple[str, ...], list[int]] = {}
        for position in range(depth, len(base.sequence)):
            positions.setdefault(_loose(self.messages[base.sequence[position]]), []).append(position)
        at = depth
        matched = 0
        for number in sequence[depth:]:
            message = self.messages[number]
            candidates = positions.get(_loose(message), ())
            slot = bisect_left(candidates, at)
            if slot < len(candidates):
                found = candidates[slot]
            elif at < len(base.sequence) and _restates(message, self.messages[base.sequence[at]]):
                found = at
            else:
                split.news((number,))
                continue
            if base.sequence[found] != number:
                split.restated.append((split.size, number))
            split.old(base.label, base.offset + found, base.offset + found + 1)
            at = found + 1
            matched += found < base.given
        return matched


def _common(one: Sequence[int], other: Sequence[int], least: int) -> int:
    """The length of the beginning both share, 0 where it is not longer than `least`."""
    if one[: least + 1] != other[: least + 1] or len(one) <= least:
        return 0
    length = least + 1
    for a, b in zip(one[length:], other[length:], strict=False):
        if a != b:
            break
        length += 1
    return length


def _loose(message: Message) -> tuple[str, ...]:
    """Equal for a message and the same message in another producer's form."""
    if message.tool_name and message.role != "tool":
        return ("call", message.tool_name, canonical(message.arguments))
    text = message.text.strip()
    return (text,) if len(text) >= MIN_TEXT_WITHOUT_ROLE else (message.role, text)


def _restates(message: Message, said: Message) -> bool:
    """Whether `message` is what was said plus or minus a few characters at the end."""
    if message.tool_name or said.tool_name:
        return False
    short, long = sorted((message.text.strip(), said.text.strip()), key=len)
    return len(short) >= MIN_TEXT_WITHOUT_ROLE and len(long) - len(short) <= MAX_ADDED and long.startswith(short)


def rebuild(
    history: tuple[Run, ...],
    messages: tuple[Message, ...],
    restated: tuple[tuple[int, Message], ...],
    system: tuple[Message, ...],
    conversations: dict[str, tuple[Message, ...]],
) -> tuple[Message, ...]:
    """The whole input of a call, from its placement and the conversations before it."""
    if not history:
        return messages
    whole: list[Message] = []
    for run in history:
        source = messages if run.label == "" else system if run.label == "@" else conversations[run.label]
        whole.extend(source[run.start : run.stop])
    for index, message in restated:
        whole[index] = message
    return tuple(whole)
