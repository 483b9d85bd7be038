"""Trace -> Transcript: read every span, find the agents, label the steps, keep of each input only what is new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct, structs

from gpa.ingest import dialects
from gpa.ingest.agents import Agent, Node, assign
from gpa.ingest.dialects.call import Call, Message, Tool
from gpa.ingest.dialects.hidden import hint
from gpa.ingest.doubles import merged, twins
from gpa.ingest.history import MIN_TEXT_WITHOUT_ROLE, Histories, Placement
from gpa.ingest.planning import stated_plans
from gpa.ingest.spans import Span, Trace
from gpa.ingest.transcript import Step, Transcript

_ALL_NEW = Placement(history=(), messages=())


class _Item(Struct, gc=False):
    """A span that becomes a step, with everything found out about it so far."""

    span: Span
    node: Node
    span_ids: list[str]
    label: str
    whole: list[int]
    """LLM: the numbers of its input messages (`Histories.numbers`)."""
    leading: int
    """LLM: how many system messages it begins with."""


def flatten(trace: Trace) -> Transcript:
    """See `gpa.ingest.transcript.transcribe`."""
    spans, nodes = _read(trace)
    stands_for = twins(nodes)
    for inner, outer in stands_for.items():
        nodes[outer].call = merged(nodes[outer].call, nodes[inner].call)
    agents = assign(nodes)
    histories = Histories()
    items: list[_Item] = []
    place: list[_Item] = []
    """Per node the item that stands for it."""
    for index, node in enumerate(nodes):
        span = spans[index]
        if index in stands_for:
            item = place[stands_for[index]]
            item.span_ids.append(span.span_id)
        else:
            item = _Item(span, node, [span.span_id], f"s{len(items) + 1}", [], 0)
            if node.call.kind == "llm":
                item.whole = histories.numbers(node.call.input, node.agent)
                item.leading = _leading_system(node.call)
            items.append(item)
        place.append(item)
    agents = _instructed(items, agents, histories)
    steps = _steps(items, place, agents, histories)
    return Transcript(
        trace_id=trace.trace_id,
        goal=_goal(steps),
        agents=tuple(agents.values()),
        steps=steps,
        plans=stated_plans(steps),
        final_answer=_final_answer(steps),
        warnings=(*trace.warnings, *_notes(nodes), *_hidden(spans, nodes)),
    )


def _read(trace: Trace) -> tuple[list[Span], list[Node]]:
    """Every span that is an operation, parents before children, with the index of its parent."""
    spans: list[Span] = []
    nodes: list[Node] = []
    at_depth: list[int] = []
    """Index of the nearest kept span at each depth of the walk."""
    for span, depth in trace.walk():
        call = dialects.read(span)
        parent = at_depth[depth - 1] if depth else -1
        del at_depth[depth:]
        if call.placeholder:
            at_depth.append(parent)
            continue
        at_depth.append(len(nodes))
        spans.append(span)
        nodes.append(Node(call, parent))
    return spans, nodes


def _leading_system(call: Call) -> int:
    count = 0
    for message in call.input:
        if message.role != "system":
            break
        count += 1
    return count


def _instructed(items: Sequence[_Item], agents: dict[str, Agent], histories: Histories) -> dict[str, Agent]:
    """The agents with their system instructions and tools.

    An agent's instructions are the system messages most of its model calls begin with: planning or summary calls of the
    same agent often bring a prompt of their own.
    """
    begins: dict[str, Counter[tuple[int, ...]]] = {}
    tools: dict[str, tuple[Tool, ...]] = {}
    described: dict[str, dict[str, Tool]] = {}
    for item in items:
        call = item.node.call
        if call.kind == "llm":
            if item.leading:
                begins.setdefault(item.node.agent, Counter())[tuple(item.whole[: item.leading])] += 1
            if call.tools and item.node.agent not in tools:
                tools[item.node.agent] = call.tools
        elif call.kind == "tool" and call.tools:
            described.setdefault(item.node.agent, {}).update({tool.name: tool for tool in call.tools})
    found: dict[str, Agent] = {}
    for key, agent in agents.items():
        system = agent.system
        if key in begins:
            system = tuple(histories.messages[number] for number in begins[key].most_common(1)[0][0])
        offered = _described(tools.get(key) or agent.tools, described.get(key, {}))
        found[key] = structs.replace(agent, system=system, tools=offered)
    return found


def _described(offered: tuple[Tool, ...], seen: dict[str, Tool]) -> tuple[Tool, ...]:
    """The tools offered; one known by name only gets the definition its own spans carry."""
    if not seen:
        return offered
    if not offered:
        return tuple(seen.values())
    return tuple(
        seen[tool.name] if tool.name in seen and not tool.description and not tool.parameters else tool
        for tool in offered
    )


def _steps(
    items: Sequence[_Item], place: Sequence[_Item], agents: dict[str, Agent], histories: Histories
) -> tuple[Step, ...]:
    instructions = {key: tuple(histories.numbers(agent.system)) for key, agent in agents.items()}
    offered = {key: agent.tools for key, agent in agents.items()}
    works_inside = _works_inside(items, place)
    shown = _texts(items, histories)
    steps: list[Step] = []
    for item in items:
        span, call, agent = item.span, item.node.call, item.node.agent
        messages, output, tools, placement = call.input, call.output, None, _ALL_NEW
        if call.kind == "llm":
            placement = histories.place(
                item.label,
                agent,
                item.whole,
                histories.numbers(output),
                leading=item.leading,
                system=instructions.get(agent, ()),
                start_ns=span.start_ns,
                end_ns=span.end_ns,
            )
            messages = placement.messages
            if call.tools and not _same_tools(call.tools, offered.get(agent, ())):
                offered[agent] = tools = call.tools
        elif call.kind == "other" or (call.kind == "agent" and item.label in works_inside):
            # "yes" of a guardrail is its own answer, whoever else said it; a long text is one that is passed on.
            own = 0 if item.label in works_inside else MIN_TEXT_WITHOUT_ROLE
            messages = _unsaid(messages, shown, own)
            if call.kind == "other":
                output = _unsaid(output, shown, own)
        steps.append(
            Step(
                label=item.label,
                span_id=span.span_id,
                span_ids=tuple(item.span_ids),
                parent=place[item.node.parent].label if item.node.parent >= 0 else "",
                agent=agent,
                kind=call.kind,
                name=call.name or span.name,
                operation=call.operation,
                messages=messages,
                output=output,
                history=placement.history,
                restated=placement.restated,
                left_out=0 if call.delta else placement.left_out,
                tools=tools,
                error=call.error or (_error(span) if span.status == "error" else ""),
                status=span.status,
                start_ns=span.start_ns,
                duration_ns=span.duration_ns,
                usage=call.usage,
                model=call.model,
                finish_reason=call.finish_reason,
                suppress=_suppress(span),
            )
        )
    return tuple(steps)


def _unsaid(messages: tuple[Message, ...], shown: set[str], own: int) -> tuple[Message, ...]:
    """The messages whose text is not shown by a model or tool call, or is shorter than `own` characters."""
    return tuple(message for message in messages if (text := message.text.strip()) not in shown or 0 < len(text) < own)


def _same_tools(tools: tuple[Tool, ...], before: tuple[Tool, ...]) -> bool:
    """Whether these are the tools already known, some of them perhaps by name only."""
    if tools is before or len(tools) != len(before):
        return tools is before
    known = {tool.name: tool for tool in before}
    return all(
        tool == known.get(tool.name) or (tool.name in known and not tool.description and not tool.parameters)
        for tool in tools
    )


def _works_inside(items: Sequence[_Item], place: Sequence[_Item]) -> set[str]:
    """Labels of the agent and wrapper steps with a model or tool call somewhere inside: they repeat its content."""
    found: set[str] = set()
    for item in reversed(items):
        if item.node.parent >= 0 and (item.node.call.kind in ("llm", "tool") or item.label in found):
            found.add(place[item.node.parent].label)
    return found


def _texts(items: Iterable[_Item], histories: Histories) -> set[str]:
    """What model and tool calls say and are given, so that wrappers need not say it again."""
    texts = {message.text.strip() for message in histories.messages}
    texts.add("")
    for item in items:
        call = item.node.call
        if call.kind == "tool":
            texts.update(message.text.strip() for message in call.input)
        if call.kind in ("llm", "tool"):
            texts.update(message.text.strip() for message in call.output)
    return texts


def _suppress(span: Span) -> tuple[str, ...]:
    """The texts of the attribute by which people mute findings on a span."""
    marks = span.attributes.get("gpa.suppress")
    if marks is None:
        return ()
    return tuple(mark for mark in (marks if isinstance(marks, list | tuple) else (marks,)) if isinstance(mark, str))


def _error(span: Span) -> str:
    """What a span with status error says of it."""
    if span.status_message:
        return span.status_message
    for event in span.events:
        if event.name == "exception":
            kind = event.attributes.get("exception.type", "")
            message = event.attributes.get("exception.message", "")
            return ": ".join(str(part) for part in (kind, message) if part)
    return "error"


def _notes(nodes: Iterable[Node]) -> list[str]:
    counts = Counter(note for node in nodes for note in node.call.notes)
    return [note if count == 1 else f"{note} ({count} spans)" for note, count in counts.items()]


def _hidden(spans: Sequence[Span], nodes: Sequence[Node]) -> list[str]:
    """Says that content was not exported, and how to switch it on, where calls come without any."""
    calls = [(span, node.call) for span, node in zip(spans, nodes, strict=True) if node.call.kind in ("llm", "tool")]
    bare = [span for span, call in calls if call.hidden or not (call.input or call.output)]
    if not bare:
        return []
    share = "no" if len(bare) == len(calls) else f"{len(bare)} of {len(calls)}"
    verb = "model or tool call carries its content" if share == "no" else "model and tool calls carry no content"
    return [f"{share} {verb}; {hint(bare[0])}"]


def _text(messages: Iterable[Message], *roles: str) -> str:
    return "\n\n".join(message.text for message in messages if message.role in roles and message.text)


def _goal(steps: Sequence[Step]) -> str:
    """The task the outermost agent was given, else the first thing a user said."""
    for step in steps:
        if step.kind == "agent" and (task := _text(step.messages, "user")):
            return task
        if step.kind == "llm" and (first := next((m.text for m in step.messages if m.role == "user" and m.text), "")):
            return first
    return next((task for step in steps if (task := _text(step.messages, "user"))), "")


def _final_answer(steps: Sequence[Step]) -> str:
    """What the outermost agent gave back, the last of several; else the last a model said without calling a tool."""
    inside: dict[str, bool] = {"": False}
    """Per step whether it is an agent or inside one."""
    outermost: list[Step] = []
    for step in steps:
        inside[step.label] = inside[step.parent] or step.kind == "agent"
        if step.kind == "agent" and not inside[step.parent]:
            outermost.append(step)
    for step in reversed(outermost):
        if answer := _text(step.output, "assistant", "user"):
            return answer
    for step in reversed(steps):
        if step.kind == "llm" and not any(message.tool_name for message in step.output):
            return _text(step.output, "assistant")
    return ""
