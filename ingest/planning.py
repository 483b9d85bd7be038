"""Plans as agents state them: explicit `plan` operations, text labelled as a plan, to-do lists.

A plan is never inferred from what was done (every execution follows a plan inferred from it).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from gpa.ingest.dialects.call import Message
from gpa.ingest.transcript import Plan, Step

MIN_QUOTED = 40
"""Characters from which an output found inside a labelled text is taken for the plan that is quoted there."""
MAX_QUOTED_LABEL = 400
"""Characters of a message in which the label of a quoted plan must stand."""

_QUALIFIER = (
    r"(?:(?:here(?:'s|\ is)|my|the|an?|our|initial|first|updated?|revised|new|current|next|detailed|high[-\ ]level"
    r"|step[-\ ]by[-\ ]step|short|overall|final)\ ){0,4}"
)
_MAY_QUOTE = frozenset({"assistant", "user"})
MAX_BEFORE = 100
"""Characters of a line that may stand before the word."""
MAX_LABEL = 200
"""Characters of a line that are looked at for a label."""
_LABEL = re.compile(
    # A heading, bold text, bracket, tag, word with a colon: "## Plan", "**New plan:**", "[PLAN]:", "<plan>", "Plan:"
    rf"""^[ \t>]*(?:
        \#{{1,6}}[ \t]*\**(?:\d+[.)][ \t]*)?{_QUALIFIER}(?:re-?)?plan\b[^\n]{{0,60}}$
      | \*\*{_QUALIFIER}(?:re-?)?plan\b[^\n*]{{0,60}}\*\*
      | \[{_QUALIFIER}(?:re-?)?plan[^\]\n]{{0,30}}\]
      | <{_QUALIFIER}(?:re-?)?plan>
      | {_QUALIFIER}(?:re-?)?plan(?:\ (?:of\ action|to\ [^\n:]{{1,60}}|for\ [^\n:]{{1,60}}))?[ \t]*:
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_END = re.compile(
    # Every alternative begins with one of three characters, so that the search runs from one of them to the next.
    r"</?(?i:end_?)?(?i:plan)>|\[/(?i:plan)\]|\n(?:\#{1,6}[ \t]|\*\*[^*\n]+\*\*:?[ \t]*$|\[[A-Z][A-Z ]+\])",
    re.MULTILINE,
)
_TODO_TOOL = re.compile(r"todo|to_do|(?:^|_)plan(?:$|_)|update_plan|task_list|checklist", re.IGNORECASE)
_ITEM_KEYS = ("content", "step", "task", "title", "text", "description", "name")


def labelled_plan(text: str) -> str | None:
    """The plan a text states under a label (heading, bold line, tag, bracket or "Plan:"), or None."""
    if "lan" not in text and "LAN" not in text:
        return None
    for start, stop in _lines_with_plan(text, len(text)):
        label = _LABEL.match(text[start : min(stop, start + MAX_LABEL)])
        if label is None:
            continue
        after = start + label.end()
        end = _END.search(text, after)
        body = text[after : end.start() if end else len(text)].strip(" \t\n:*")
        if body:
            return text[start : end.start() if end else len(text)].strip()
    return None


def _lines_with_plan(text: str, limit: int) -> Iterator[tuple[int, int]]:
    """Where the lines begin and end that hold the word near their beginning and before `limit`.

    A search for two literals, so that long texts cost little.
    """
    for word in ("lan", "LAN"):
        at = text.find(word, 0, limit)
        while at > 0:
            start = text.rfind("\n", max(0, at - MAX_BEFORE), at) + 1
            stop = text.find("\n", at)
            stop = len(text) if stop < 0 else stop
            if start or at < MAX_BEFORE:
                yield start, stop
            at = text.find(word, stop, limit)


def to_do_list(message: Message) -> str | None:
    """The to-do list or plan that a tool call writes, one item a line, or None."""
    if not message.tool_name or message.role == "tool" or not _TODO_TOOL.search(message.tool_name):
        return None
    items = next(_lists(message.arguments), None)
    return "\n".join(_items(items)) or None if items else None


def _lists(arguments: Any) -> Iterator[list[Any]]:
    if isinstance(arguments, list):
        yield arguments
    elif isinstance(arguments, dict):
        yield from (value for value in arguments.values() if isinstance(value, list))


def _items(items: Sequence[Any]) -> Iterator[str]:
    for item in items:
        if isinstance(item, str):
            yield f"- {item}"
        elif isinstance(item, dict):
            text = next((item[key] for key in _ITEM_KEYS if isinstance(item.get(key), str)), None)
            status = item.get("status")
            if text:
                yield f"- {text} [{status}]" if isinstance(status, str) else f"- {text}"


def stated_plans(steps: Sequence[Step]) -> tuple[Plan, ...]:
    """Every plan the agents state, in the order of the steps.

    A planning call's output often carries no label; the framework puts it into the history under one ("[PLAN]: ...").
    The plan is then attributed to the step that wrote it.
    """
    stated: dict[int, list[str]] = {}
    """Per index of a step the plans it states."""
    writers: dict[str, list[int]] = {}
    """Per agent its model calls so far."""
    planning: set[str] = set()
    for step in steps:
        if step.operation == "plan" or (step.kind == "other" and step.parent in planning):
            planning.add(step.label)
    for index, step in enumerate(steps):
        if step.kind == "llm":
            for writer, plan in _quoted(index, steps, writers.get(step.agent, ())):
                stated[writer] = [plan]
            writers.setdefault(step.agent, []).append(index)
            whole = step.parent in planning
            if said := [text for message in step.output if (text := _said(message, whole=whole))]:
                stated.setdefault(index, []).extend(said)
        elif step.kind == "tool":
            asked = [known for writer in writers.get(step.agent, ())[-1:] for known in stated.get(writer, ())]
            lists = [written for message in step.messages if (written := to_do_list(message))]
            if lists and not any(written in asked for written in lists):  # else it only runs what was just asked for
                stated.setdefault(index, []).extend(lists)
    plans: list[Plan] = []
    planned: set[str] = set()
    for index in sorted(stated):
        step = steps[index]
        for text in stated[index]:
            plans.append(Plan(step.label, step.agent, text, step.agent in planned))
            planned.add(step.agent)
    return tuple(plans)


def _said(message: Message, *, whole: bool) -> str | None:
    """The plan an output message states; all of its text when the call is known to be a planning call."""
    if message.tool_name:
        return to_do_list(message)
    if message.role != "assistant":
        return None
    return message.text if whole else labelled_plan(message.text)


def _quoted(index: int, steps: Sequence[Step], earlier: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Plans that the new messages of a model call bring under a label: (index of the step that wrote it, text)."""
    for message in steps[index].messages:
        text = message.text
        if message.role not in _MAY_QUOTE or next(_lines_with_plan(text, MAX_QUOTED_LABEL), None) is None:
            continue
        if message.tool_name or not labelled_plan(text[:MAX_QUOTED_LABEL]):
            continue
        for writer in reversed(earlier):
            said = next((m.text for m in steps[writer].output if m.role == "assistant" and not m.tool_name), "").strip()
            at = text.find(said[:MIN_QUOTED]) if len(said) >= MIN_QUOTED else -1
            if at >= 0 and text.startswith(said, at):
                yield writer, said
                break
        else:
            if message.role == "assistant":
                yield index, labelled_plan(text) or text
