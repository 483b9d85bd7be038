"""An action that failed because of what the agent did.

Flags: a tool call or a piece of code failed, and the agent was told so. Why: every failure costs a step, and most are
the agent's own: code that does not parse or run, a file that is not there, a query so narrow that nothing can match it.

Cited is the model call whose input brings the error: the first place where the failure can be seen (what code does is
recorded in no step of its own), and where it has to be answered. Two kinds are told apart by the words of the error:
an operation that ran out of steps, time or memory (`exhausted-execution`), and everything else (`failed-action`). An
error that code caught and only printed counts when its line begins with the word.

Not flagged: calls that failed because of their arguments (see `tool-arguments-schema`); calls that were to show just
this, by the request or by what the agent said with them (a fault reproduced, a look whether a thing is there); what
the environment did (rate limits, time-outs of a connection, 5xx, refused logins and accesses); errors after which the
agent did not act again; errors of the model's own API. MEDIUM; LOW when the call found nothing.

Known false alarms: a call that was meant to find out whether something exists, without saying so; code that prints
lines which begin with `Error:` from a log it was asked to read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from gpa.ingest.tool_calls import Fault, faults
from gpa.ingest.transcript import Transcript
from gpa.judges.checks.acts import Conduct, conduct
from gpa.judges.checks.check import Check, Hit
from gpa.judges.checks.tool_errors import blames

_ENVIRONMENT = re.compile(
    r"""\b(?:429|50[0234]|40[13])\b | rate.?limit | too\ many\ requests | quota | overloaded | unavailable
      | unauthori[sz]ed
      | \b(?:backend|server|service|database|host|network)\ (?:is\ )?(?:down|offline|unreachable)\b
      | \bapi.?key | authenticat | permission\ ?(?:denied|error) | access\ denied | \bblocked\b
      | forbidden | timed?[ ]?out\b | time-?out
      | connection\ ?(?:reset|refused|aborted|error|closed) | connect(?:ion)?\ ?timeout | remote\ end\ closed
      | max\ retries\ exceeded | name\ resolution | getaddrinfo | ssl[ :_] | temporar(?:y|ily)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_EXHAUSTED = re.compile(
    r"""max(?:imum)?\ (?:number\ of\ )?(?:operations|iterations|while|recursion|steps\ of) | infinite\ loop
      | recursion(?:\ depth|error|\ limit) | out\ of\ memory | memoryerror | execution\ (?:timed?\ ?out|time\ limit)
      | (?:time|memory|cpu|operation)\ limit\ exceeded | exceeded\ the\ (?:time|memory|execution)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NOTHING = re.compile(r"\bno (?:results?|matches|records?|documents?|hits)\b|\bnothing (?:was )?found\b", re.IGNORECASE)
_REPRODUCES = re.compile(r"\breproduc\w+|\b(?:expected|supposed|meant|bound) to fail\b|\bshould fail\b", re.IGNORECASE)
_LOOKS = re.compile(
    r"\b(?:unless|until|whether|exists?|already there)\b|\bif (?:it|there|they|one|the \w+|an? \w+) (?:is|are)\b",
    re.IGNORECASE,
)
_ABSENT = re.compile(
    r"no such|not ?found|(?:does|do)(?: not|n't) exist|\b404\b|cannot find|could not find", re.IGNORECASE
)
_REQUEST_MAX = 4_000
_PRINTED = re.compile(
    r"^[ \t]*(?:Error\b(?:[ \w]{0,40})?:|Traceback \(most|[A-Z]\w*(?:Error|Exception):)[^\n]*", re.MULTILINE
)
_PRINTED_MAX = 1_500
"""Characters of a result that is looked through for a printed error: in a long one it is a line among others."""
_LOOKED_AT = 4_000


class _Failure(NamedTuple):
    exhausted: bool
    where: str
    """Label of the act that is told."""
    text: str
    found_nothing: bool


def failed(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each act that is told of an action that failed."""
    for failure in _failures(transcript):
        if not failure.exhausted:
            yield Hit(
                (failure.where,),
                quote=failure.text,
                problem=f"what the agent did before failed: {_short(failure.text)}",
                severity="LOW" if failure.found_nothing else "MEDIUM",
            )


def exhausted(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each act that is told that its code or call ran out of something."""
    for failure in _failures(transcript):
        if failure.exhausted:
            yield Hit(
                (failure.where,),
                quote=failure.text,
                problem=f"what the agent ran used up its limits: {_short(failure.text)}",
                severity="MEDIUM",
            )


def _failures(transcript: Transcript) -> Iterator[_Failure]:
    """What failed, each told act once."""
    read = conduct(transcript)
    tools = {tool.name for agent in transcript.agents for tool in agent.tools}
    seen: set[str] = set()
    for fault in faults(transcript):
        act = read.told_of.get(fault.label)
        if act is None or not act.acts or act.label in seen or (fault.call is None and not fault.cause):
            continue
        if fault.call is not None and fault.call.asked and blames(fault, tools):
            continue  # the call that was wrong is cited by the checks of its arguments
        if _meant(fault, read):
            continue
        text = _ends(fault.words)
        match = _EXHAUSTED.search(text)
        spent = match is not None
        said = fault.text if match is None or match[0] in fault.text else fault.words  # quoted is what it is known by
        if not spent and _ENVIRONMENT.search(text):
            continue
        seen.add(act.label)
        yield _Failure(spent, act.label, _telling(said), _NOTHING.search(text) is not None)
    for acts in read.by_agent.values():
        for last, act in pairwise(acts):
            if last.code and act.acts and act.label not in seen and 0 < len(act.told) <= _PRINTED_MAX:
                printed = _PRINTED.search(act.told)
                if printed and not _ENVIRONMENT.search(printed[0]):
                    spent = _EXHAUSTED.search(printed[0]) is not None
                    yield _Failure(spent, act.label, printed[0].strip(), found_nothing=False)


def _ends(text: str) -> str:
    return text if len(text) <= 2 * _LOOKED_AT else text[:_LOOKED_AT] + text[-_LOOKED_AT:]


def _meant(fault: Fault, read: Conduct) -> bool:
    """Whether a call was to show what it showed: a fault that is reproduced, or that something is not there (yet).

    Only calls of a tool can be: what code was to show, it can catch.
    """
    if fault.call is None or not fault.call.asked:
        return False
    cause = read.acts.get(fault.call.asked)
    acts = read.by_agent.get(fault.agent, ())
    asked = " ".join(m.text[:_REQUEST_MAX] for m in (acts[0].step.messages if acts else ()) if m.role == "user")
    why = f"{asked} {cause.said if cause else ''}"
    return bool(_REPRODUCES.search(why) or (_LOOKS.search(why) and _ABSENT.search(_ends(fault.words))))


def _telling(text: str) -> str:
    """The last line that is not empty: where languages and tools put what went wrong."""
    return text if len(text) < 300 else text.rstrip().rpartition("\n")[2].strip()[-400:] or text


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 160 else f"{line[:60]} ... {line[-90:]}"


FAILED = Check(
    name="failed-action",
    about="a tool call or code that failed because of what the agent did",
    category="Formatting Errors",
    dimensions=("TC", "EE"),
    find=failed,
    why="Every failure costs a step, and most are the agent's own.",
    confidence="likely",
    severity="MEDIUM; LOW when the call found nothing.",
    cited=(
        "The model call that is told of the failure: what code does is recorded in no step of its own, so "
        "the error shows there first."
    ),
    false_alarms=(
        "A call meant to find out whether something exists, without saying so; code that prints lines that begin with "
        "`Error:`."
    ),
    version=2,
)
EXHAUSTED = Check(
    name="exhausted-execution",
    about="code or a call that ran out of steps, time or memory",
    category="Resource Exhaustion",
    dimensions=("TC", "EE"),
    find=exhausted,
    why="Code that cannot finish has to be rethought, not run.",
    confidence="certain",
    severity="MEDIUM.",
    cited="The model call that is told.",
    false_alarms="A limit far below what the task needs.",
    version=2,
)
