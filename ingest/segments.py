"""A transcript that exceeds a model's window, as parts that each make sense alone.

Every part begins with the agents and their instructions, the goal, the plans and an outline of the whole run, and holds
whole steps; references point into the same part only. No step is left out: each one stands in exactly one part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpa.ingest.dialects.call import Message
from gpa.ingest.render import Page, head, named, neutral, shortened, to_tokens
from gpa.ingest.tokens import count_text
from gpa.ingest.transcript import Plan, Step, Transcript

HEADER_SHARE = 0.4
"""Of a part, at most, goes to instructions, tools, goal and plans."""
OUTLINE_SHARE = 0.2
"""Of a part, at most, goes to the outline of the whole."""
EXCERPT = 100
"""Characters of a step's first text in the outline."""
PLACE_TOKENS = 60
"""Set aside for the line that says which steps a part holds, and for headings."""


def segments(transcript: Transcript, max_tokens: int, *, on_cut: Callable[[str, int], None] | None = None) -> list[str]:
    """The rendering in parts of at most `max_tokens` (counted by `gpa.ingest.tokens`); one part when it fits.

    A single step longer than a part is cut inside, and says so, as `render` does with a budget; `on_cut` is told its
    label and by how many characters it became shorter. Parts exceed the budget only when it is smaller than some
    hundreds of tokens, which the lines between the texts take.
    """
    whole = transcript.render()
    if count_text(whole) <= max_tokens:
        return [whole]
    header = _header(transcript, int(max_tokens * HEADER_SHARE))
    overview = outline(transcript, int(max_tokens * OUTLINE_SHARE))
    room = max(1, max_tokens - count_text(header) - count_text(overview) - PLACE_TOKENS)
    groups = _groups(transcript.steps, room)
    parts = []
    for number, steps in enumerate(groups, 1):
        body = _page(steps).text()
        if len(steps) == 1 and count_text(body) > room:
            cut = to_tokens(_page(steps).text(room), room)
            if on_cut is not None:
                on_cut(steps[0].label, len(body) - len(cut))
            body = cut
        place = f"Part {number} of {len(groups)}: steps {steps[0].label} to {steps[-1].label} in full."
        parts.append(f"{header}Outline of the whole run:\n{overview}{place}\n{body}")
    return parts


def outline(transcript: Transcript, max_tokens: int) -> str:
    """One line a step, with the beginning of what it said as far as there is room; ends with a line end."""
    lines = ""
    for excerpt in (EXCERPT, EXCERPT // 3, 0):
        lines = "".join(_outlined(step, excerpt) for step in transcript.steps)
        if count_text(lines) <= max_tokens:
            return lines
    return to_tokens(lines, max_tokens).rstrip("\n") + "\n"


def _outlined(step: Step, excerpt: int) -> str:
    said = step.error or _first(step.output) or _first(step.messages)
    line = head(step).rstrip("\n")
    return f"{line}: {neutral(shortened(_one_line(said), excerpt))}\n" if excerpt and said else f"{line}\n"


def _one_line(text: str) -> str:
    # Only as much of a long text as its shortened form can show is looked at: both ends.
    ends = text if len(text) <= 40 * EXCERPT else f"{text[: 20 * EXCERPT]} {text[-20 * EXCERPT :]}"
    return " ".join(ends.split())


def _first(messages: Sequence[Message]) -> str:
    return next((message.text or f"{message.tool_name}(...)" for message in messages), "")


def _header(transcript: Transcript, max_tokens: int) -> str:
    """Agents, instructions, tools, goal and plans, in `max_tokens`: half at most for what was configured."""
    page = Page()
    page.header(transcript)
    said = [f"Goal: {neutral(transcript.goal)}\n"] if transcript.goal else []
    said += map(_planned, transcript.plans)
    configured = to_tokens(page.text(max_tokens // 2), max_tokens // 2)
    left = max_tokens - count_text(configured)
    if sum(map(count_text, said)) > left:
        each = left // max(1, len(said))
        said = [to_tokens(text, each).rstrip("\n") + "\n" for text in said]
    wanted = to_tokens("".join(said), left)
    return "".join(text if not text or text.endswith("\n") else f"{text}\n" for text in (configured, wanted))


def _planned(plan: Plan) -> str:
    what = "Replan" if plan.replan else "Plan"
    return f"{what} of {named(plan.agent) or 'the run'} in {plan.label}: {neutral(plan.text)}\n"


def _groups(steps: Sequence[Step], room: int) -> list[list[Step]]:
    """Consecutive steps, as many as fit; a step is measured as it would stand alone, without references."""
    groups: list[list[Step]] = []
    left = 0
    for step in steps:
        size = count_text(_page([step]).text())
        if not groups or size > left:
            groups.append([])
            left = room
        groups[-1].append(step)
        left -= size
    return groups


def _page(steps: Sequence[Step]) -> Page:
    page = Page()
    for step in steps:
        page.step(step)
    page.footer()
    return page
