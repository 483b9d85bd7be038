"""Which agents had to look something up, by their own plan, and whether they did.

A plan step needs a source when it names a tool that was offered (other than the one that hands over the answer), or
when it says to get something (search, locate, retrieve, ...) from where a model cannot have it (a page, a file, an
article, ...). Steps that only reason or compute need none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from msgspec import Struct

from gpa.ingest.dialects.call import Tool
from gpa.ingest.transcript import Plan, Transcript
from gpa.judges.checks.acts import Act, conduct, finishes

_GETS = re.compile(
    r"\b(?:search\w*|locat\w+|look(?:ing)?[ -]?(?:it |them |this )?up|retriev\w+|find\w*|brows\w+|visit\w*"
    r"|access\w*|consult\w*"
    r"|obtain\w*|fetch\w*|download\w*|quer(?:y|ies|ying)|research\w*|gather\w*|navigat\w+|open|read(?:ing)?|load\w*"
    r"|inspect\w*|check\w*|verif\w+|review\w*|identify\w*|extract\w*)\b",
    re.IGNORECASE,
)
_FROM = re.compile(
    r"\b(?:web ?(?:search|pages?|sites?)|internet|online|wiki\w*|articles?|papers?|journals?|databases?|archives?"
    r"|data ?sets?|videos?|files?|documents?|publications?|books?|sites?|urls?|pages?|reports?|attach\w+|images?"
    r"|repositor\w+|records?|sources?|references?|entry|entries|dictionar\w+|catalog\w*|literature|statistics|stud(?:y|ies)"
    r"|definitions?|classifications?|guidelines?|documentation|census|transcripts?|interviews?|histor(?:y|ies)"
    r"|e-?mails?|calendar|tickets?|invoices?|tables?|logs?|knowledge base|api)\b",
    re.IGNORECASE,
)
_OUTSIDE_CODE = re.compile(
    r"\b(?:requests|urllib|httpx|aiohttp|urlopen|open|read_\w+|subprocess|sqlite3|connect)\b\s*[.(]"
)
_MAX_PLAN = 12_000


class Search(Struct, frozen=True):
    """An agent that planned to look something up."""

    agent: str
    plan: Plan
    steps: tuple[str, ...]
    """The plan steps that need a source."""
    named: frozenset[str]
    """Offered tools that the plan names."""
    answer: Act
    """The act that hands over the answer."""
    before: tuple[Act, ...]
    """The agent's other acts up to it."""
    evidence: bool
    """Whether any source was looked at with success before the answer."""


def searches(transcript: Transcript) -> tuple[Search, ...]:
    """Every agent whose first plan needs a source and that gave an answer; made once per transcript."""
    memo: dict[str, Any] = transcript.__dict__
    if "searches" not in memo:
        memo["searches"] = tuple(_searches(transcript))
    return memo["searches"]  # type: ignore[no-any-return]


def _searches(transcript: Transcript) -> Iterable[Search]:
    first: dict[str, Plan] = {}
    for plan in transcript.plans:
        first.setdefault(plan.agent, plan)
    read = conduct(transcript)
    for agent, plan in first.items():
        acts = [act for act in read.by_agent.get(agent, ()) if not act.planning]
        answer = answer_of(acts)
        if answer is None or read.order[answer.label] <= read.order.get(plan.label, -1):
            continue
        tools = offered(transcript, answer)
        steps = tuple(line for line in plan_steps(plan.text) if needs_source(line, tools))
        if steps:
            before = tuple(act for act in acts if read.order[act.label] < read.order[answer.label])
            yield Search(
                agent=agent,
                plan=plan,
                steps=steps,
                named=frozenset(tool for line in steps for tool in named(line, tools)),
                answer=answer,
                before=before,
                evidence=any(looked(act, worked=True) for act in (*before, answer)),
            )


def answer_of(acts: Iterable[Act]) -> Act | None:
    """The act that hands over the answer: the last that finishes, else a last one that only talks.

    Where acts before it only talk too, because what they put out could not be read, the first of them already did it.
    """
    acts = list(acts)
    at = next((number for number in range(len(acts) - 1, -1, -1) if acts[number].finishes), None)
    if at is None:
        at = len(acts) - 1 if acts and not acts[-1].acts and acts[-1].said.strip() else None
    if at is None:
        return None
    while at and not acts[at - 1].acts and acts[at - 1].unread:
        at -= 1
    return acts[at]


def offered(transcript: Transcript, act: Act) -> tuple[str, ...]:
    """Names of the tools the agent had, except the one that hands over the answer; sub-agents are tools."""
    tools: tuple[Tool, ...] = transcript.tools_of(act.step)
    return tuple(tool.name for tool in tools if tool.name and not finishes(tool.name))


@cache
def mention(tool: str) -> re.Pattern[str]:
    """Matches the tool's name in prose: words may be written apart, one plain word only as code or beside `tool`."""
    if tool.isalpha() and tool.islower():
        return re.compile(rf"[`'\"]{tool}[`'\"]|\b{tool} (?:tool|function)\b|\btool {tool}\b")
    words = [re.escape(word) for word in re.split(r"[_\-\s.]+|(?<=[a-z])(?=[A-Z])", tool) if word]
    return re.compile(r"(?<!\w)" + r"[_\-\s]?".join(words) + r"(?!\w)", re.IGNORECASE)


def named(text: str, tools: Iterable[str]) -> list[str]:
    """The tools a text names."""
    return [tool for tool in tools if mention(tool).search(text)]


def needs_source(step: str, tools: Iterable[str]) -> bool:
    """Whether a step of a plan cannot be done by thinking."""
    return bool(named(step, tools)) or (_GETS.search(step) is not None and _FROM.search(step) is not None)


def plan_steps(text: str) -> list[str]:
    """The lines of a plan that say something."""
    return [line.strip() for line in text[:_MAX_PLAN].splitlines() if len(line.strip()) > 8]


def looked(act: Act, *, worked: bool) -> bool:
    """Whether an act consults anything outside the model; with `worked`, successfully."""
    if act.delegated:
        return True
    calls = [call for call in act.calls if not finishes(call.tool)]
    if any(not (worked and call.error) for call in calls):
        return True
    return bool(act.code) and _OUTSIDE_CODE.search(act.bare) is not None
