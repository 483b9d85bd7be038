"""Whether an agent had the means to look up what it was asked.

A tool is a means when it reads (its name or the beginning of its description says so) and the request concerns it:
either the tool looks anything up (it searches the web, or says no more of itself than that it searches), or a word of
what it is about occurs in the request.
"""

from __future__ import annotations

import re
from functools import lru_cache

from gpa.ingest.dialects.call import Tool
from gpa.ingest.transcript import Transcript
from gpa.judges.checks.acts import Act, finishes

_READS = re.compile(
    r"\b(?:get|search\w*|list|read\w*|find\w*|look\w*|fetch\w*|quer(?:y|ies)|visit\w*|retriev\w+|view|show|describe"
    r"|inspect\w*|brows\w+|check\w*|consult\w*)\b"
)
_ANYTHING = re.compile(r"\b(?:web|internet|online|google|bing|wiki\w*|brows\w+)\b")
_SEARCHES = re.compile(r"\b(?:search\w*|look\w*|find\w*|quer(?:y|ies))\b")
_EDGE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\W]+")
_WORD = re.compile(r"[^\W\d_]{3,}")
_SAYS_NOTHING = re.compile(
    r"the|and|for|from|with|that|this|what|which|who|when|where|how|you|your|are|can|will|all|any|one|two|not|has|have"
    r"|was|were|tools?|functions?|use[dr]?|using|things?|information|data|api|calls?|names?|values?|text|returns?"
    r"|results?|give|given|into|its|about|please|tell"
)
_MAX_REQUEST, _MAX_TOOL, _OPENING = 8_000, 1_000, 120
_STEM = 5


def at_hand(transcript: Transcript, act: Act) -> bool:
    """Whether a tool the agent had could have told what the request asks for."""
    means = [tool for tool in transcript.tools_of(act.step) if not finishes(tool.name) and _reads(tool)]
    if any(_looks_anything_up(tool) for tool in means):
        return True
    asked = request(transcript, act) if means else ""
    return any(concerns(asked, _about(tool)) for tool in means)


def request(transcript: Transcript, act: Act) -> str:
    """What the user wants of the agent, by the time of this act."""
    said = (message.text for message in transcript.full_input(act.label) if message.role == "user")
    return "\n".join((transcript.goal, *said))[:_MAX_REQUEST]


def concerns(asked: str, about: str) -> bool:
    """Whether a request has a word in common with a description, endings aside."""
    return not _stems(asked).isdisjoint(_stems(about))


def _about(tool: Tool) -> str:
    return f"{_words(tool.name)} {tool.description}"[:_MAX_TOOL]


def _words(name: str) -> str:
    return _EDGE.sub(" ", name)


def _reads(tool: Tool) -> bool:
    return _READS.search(f"{_words(tool.name)} {tool.description[:_OPENING]}".lower()) is not None


def _looks_anything_up(tool: Tool) -> bool:
    about = _about(tool).lower()
    return _ANYTHING.search(about) is not None or (_SEARCHES.search(about) is not None and not _stems(about))


@lru_cache(maxsize=512)
def _stems(text: str) -> frozenset[str]:
    """The beginnings of the words that say something: words of reading say nothing of what is read."""
    words = (match[0] for match in _WORD.finditer(text.lower()))
    telling = (word for word in words if not (_SAYS_NOTHING.fullmatch(word) or _READS.fullmatch(word)))
    return frozenset(word.rstrip("s")[:_STEM] for word in telling)
