"""A tool call that failed because of its arguments, by the words of its own error.

Flags: errors that speak of an unexpected, missing, invalid or unparsable argument. Why: the tool says itself that
the caller was wrong, whether or not the trace holds a schema; what the environment did (not found, time-out, rate
limit) is not the agent's fault and stays out.

A weak phrase ("must be a string", `KeyError: 'x'`) counts only where the error names an argument of this call. Code
that a code agent wrote counts when it calls one of the agent's tools wrongly.

Known false alarms: a tool whose own code calls something with wrong arguments and reports that error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpa.ingest.tool_calls import Fault, faults
from gpa.ingest.transcript import Transcript
from gpa.judges.checks.check import Check, Hit

_LOOKED_AT = 4_000

_STRONG = re.compile(
    r"""unexpected\ keyword\ argument
      | missing\ \d+\ required\ (?:positional|keyword)
      | missing\ (?:a\ )?(?:required|mandatory)\ (?:keyword\ |positional\ )?(?:argument|parameter|field|property|input)
      | required\ (?:argument|parameter|field|property|input)\b[^.\n]{0,60}?
        \b(?:missing|absent|not\ (?:provided|supplied|given|present|set))
      | (?:argument|parameter|field|property|input)\b[^.\n]{0,60}?\bis\ (?:a\ )?required\b
      | got\ multiple\ values\ for\ (?:keyword\ )?argument
      | takes\ (?:from\ )?\d+\ (?:to\ \d+\ )?positional\ arguments?\ but
      | (?:invalid|bad|illegal|malformed|unknown|unexpected|unrecogni[sz]ed|unsupported|wrong|incorrect)[ ]
        (?:tool\ |function\ |input\ |type\ for\ )?(?:argument|parameter|param|input)s?\b
      | (?:argument|parameter|input)s?\ (?:validation|do(?:es)?\ not\ match|failed\ validation)
      | does\ not\ (?:match|conform\ to)\ the\ (?:input\ |tool'?s?\ )?schema
      | \d+\ validation\ errors?\ for
      | (?:failed\ to|could\ not|cannot|unable\ to)\ (?:parse|decode)\ (?:the\ )?(?:tool\ |function\ )?
        (?:arguments|parameters)
      | invalid_?(?:arguments|params|parameters|input)\b
      | -32602\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_WEAK = re.compile(
    r"""(?:must|should)\ be\ (?:an?\ |of\ type\ |one\ of\ |valid\b|in\b|between\ |greater|less|at\ )
      | input\ should\ be
      | field\ required
      | expected\ (?:an?\ )?(?:str|string|int|integer|number|float|bool|boolean|list|array|dict|object)\b
      | is\ not\ (?:of\ type|valid|one\ of|an?\ (?:valid|string|number|integer|list|array|dict|object))\b
      | validation\ ?error
      | invalid\ (?:value|type|literal|format|choice)
      | \bKeyError:
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ENVIRONMENT = re.compile(
    r"\b(?:429|50[0-4]|rate.?limit|timed? ?out|time-?out|unauthori[sz]ed|api key|authentication)\b", re.IGNORECASE
)
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\(\)")


def find(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each failed call whose error blames the arguments."""
    tools = {tool.name for agent in transcript.agents for tool in agent.tools}
    for fault in faults(transcript):
        said = blames(fault, tools)
        if said:
            tool = fault.call.tool if fault.call else "a tool called from code"
            labels = (fault.call.labels if fault.call else (fault.cause or fault.label,))[:1]
            yield Hit(labels, quote=said, problem=f"{tool} failed because of its arguments: {said}", severity="MEDIUM")


def blames(fault: Fault, tools: set[str]) -> str:
    """The line of the error that blames the arguments, or nothing."""
    text = fault.text[:_LOOKED_AT]
    if fault.call is None:
        match = _STRONG.search(text)
        called = match and _CALLED.search(_line(text, match))
        return _line(text, match) if match and called and called[1] in tools else ""
    match = _STRONG.search(text)
    if match is None:
        match = _WEAK.search(text)
        if match is None or not _names_argument(_line(text, match), fault):
            return ""
    line = _line(text, match)
    return "" if _ENVIRONMENT.search(line) else line


def _names_argument(line: str, fault: Fault) -> bool:
    arguments = fault.call.arguments if fault.call else None
    if not isinstance(arguments, dict):
        return False
    words = set(re.findall(r"\w+", line))
    return any(name in words for name in arguments)


def _line(text: str, match: re.Match[str]) -> str:
    start = text.rfind("\n", 0, match.start()) + 1
    end = text.find("\n", match.end())
    return text[max(start, match.start() - 200) : end if end >= 0 else len(text)].strip()


CHECK = Check(
    name="tool-argument-error",
    about="a tool call that failed because of its arguments",
    category="Formatting Errors",
    dimensions=("TC",),
    find=find,
    why="The tool itself says that the caller was wrong, whether or not the trace holds a schema.",
    confidence="certain",
    severity="MEDIUM.",
    cited="The model call that wrote the arguments or the code.",
    false_alarms="A tool whose own code calls something wrongly and reports that.",
    version=2,
)
