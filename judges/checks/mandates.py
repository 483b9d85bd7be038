"""What the instructions say about tools and code, and the agent did otherwise.

- `mandated-tool` (TS): a sentence makes a tool at hand a must ("every figure must come from `ledger_lookup`"), and the
  agent answered without calling it once.
- `forbidden-import` (LC, EE): the instructions list the modules that code may import (in brackets, or two and more
  after a colon), and the code imports another.
- `tool-bypassed` (TS): the instructions say that files (pages, ...) cannot be opened directly and which way is meant
  instead, and the code, or a shell command, opens a file of the request by its own means.

Code is what stands in the text and what is sent to a tool that runs it. Sentences with a condition make nothing a must;
"for all product questions" is one unless the request speaks of products. Who asks back has not answered yet.
Known false alarms: a tool that is a must only for a kind of request that this one was not, where the sentence does not
say so in words the check knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import chain

from gpa.ingest.transcript import Transcript
from gpa.judges.checks.acts import Act, conduct, instructions
from gpa.judges.checks.check import Check, Hit
from gpa.judges.checks.means import concerns, request
from gpa.judges.checks.replies import asks_back
from gpa.judges.checks.sources import answer_of, named, offered

_HEAD = 24_000
_SENTENCE = re.compile(r"(?:[^.!?\n]|[.!?](?=\w))+")
_MUST = re.compile(
    r"\b(?:must|always|required to|have to|never\b[^,;]{0,80}\b(?:without|yourself|in your head|by hand)"
    r"|mandatory|only ever)\b"
    r"|^\W*(?:use|call|consult|query|ask)\b[^,;]{0,60}\bfor (?:every|each|all|any)\b",
    re.IGNORECASE,
)
_UNLESS = re.compile(
    r"\b(?:if|unless|when|whenever|where|once|may|might|can|could|should you|in case|either|for example|e\.g"
    r"|such as|like|do not"
    r"|don['’]t|never use|never call|must not|avoid|before (?:you )?(?:call|us)ing|first|after|arguments?"
    r"|parameters?|inputs?)\b",
    re.IGNORECASE,
)
_SCOPE = re.compile(
    r"\bfor (?:every|each|all|any)(?: of the)?((?: [\w-]+){1,4}?) "
    r"(?:questions?|requests?|quer(?:y|ies)|inquir(?:y|ies)|enquir(?:y|ies)|tasks?|tickets?|topics?)\b",
    re.IGNORECASE,
)
"""A kind of request that a must is for; "for every request" names no kind."""
_ALLOWED = re.compile(
    r"\b(?:only (?:from|import)[^\[\n]{0,60}|(?:authori[sz]ed|allowed|permitted) (?:imports?|modules?"
    r"|libraries)[^\[\n]{0,40})\[([^\]]{2,4000})\]",
    re.IGNORECASE,
)
_ALLOWED_IN_WORDS = re.compile(
    r"""\b(?:only|authori[sz]ed|allowed|permitted)\b[^.:\n\[]{0,60}\b(?:modules?|librar(?:y|ies)|packages?|imports?)\b
        [^.:\n\[]{0,40}:[ \t]*(?:\n[ \t]*[-*•][ \t]*)?
        ((?:['"`]?[a-z_][\w.]*['"`]?(?:[ \t]*,[ \t]*(?:and[ \t]+)?|[ \t]+and[ \t]+|[ \t]*\n[ \t]*[-*•][ \t]*)){1,200}
        ['"`]?[a-z_]\w*(?:\.\w+)*['"`]?)(?=[ \t]*(?:[.;)]?[ \t]*(?:\n|\Z)|[.;)][ \t]))""",
    re.VERBOSE | re.IGNORECASE,
)
_MODULE = re.compile(r"[A-Za-z_][\w.]*\*?")
_IMPORT = re.compile(
    r"^[ \t]*(?:import[ \t]+([\w.]+(?:[ \t]*(?:as[ \t]+\w+)?[ \t]*,[ \t]*[\w.]+)*)|from[ \t]+([\w.]+)[ \t]+import\b)",
    re.MULTILINE,
)
_BARRED = re.compile(
    r"\b(?:you )?(?:cannot|can['’]t|must not|may not|do not|don['’]t)\s+(?:load|open|read|access)\s+(?:any\s+"
    r"|the\s+)?(files?|documents?|attachments?)"
    r"\b[^.\n]{0,80}\binstead\b[^.\n]{0,120}",
    re.IGNORECASE,
)
_PATH = re.compile(r"[\"']([\w./\\ -]{2,200}\.\w{1,6})[\"']")
_WORD = re.compile(r"(?<![\w./\\-])[\w./\\-]{2,200}\.[A-Za-z]\w{0,5}(?![\w./\\-])")


def mandated_tool(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each agent that answered without a tool that its instructions make a must."""
    for agent, acts in conduct(transcript).by_agent.items():
        answer = answer_of(act for act in acts if not act.planning)
        if answer is None or asks_back(answer.said):
            continue
        asked = request(transcript, answer)
        called = {name for act in acts for name in act.names}
        for tool in offered(transcript, answer):
            sentence = None if tool in called else _mandate(transcript, agent, tool, asked)
            if sentence:
                yield Hit(
                    (answer.label,),
                    quote=answer.opening,
                    problem=f"answers without {tool}, which the instructions make a must: {sentence}",
                    severity="HIGH",
                )
                break


def forbidden_import(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each act whose code imports a module that is not allowed."""
    for agent, acts in conduct(transcript).by_agent.items():
        allowed = _allowed(transcript, agent) if any(act.code for act in acts) else frozenset()
        if not allowed:
            continue
        for act in acts:
            for match in _IMPORT.finditer(act.code) if "import" in act.code else ():
                modules = [module.split()[0] for module in (match[1] or match[2]).split(",") if module.strip()]
                other = next((module for module in modules if not _covers(allowed, module)), None)
                if other is not None:
                    yield Hit(
                        (act.label,),
                        quote=match[0].strip(),
                        problem=f"imports {other}, which is not among the modules the instructions allow",
                        severity="MEDIUM",
                    )
                    break


def tool_bypassed(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each agent whose code opens a file of the request in place of the tool for it."""
    for agent, acts in conduct(transcript).by_agent.items():
        barred = next((m for text in _instructions(transcript, agent) for m in _BARRED.finditer(text)), None)
        if barred is None:
            continue
        for act in acts:
            path = _own_path(transcript, act)
            if path:
                yield Hit(
                    (act.label,),
                    quote=path,
                    problem=f"opens {path} by itself, which the instructions rule out: {barred[0].strip()}",
                    severity="MEDIUM",
                )
                break


def _own_path(transcript: Transcript, act: Act) -> str:
    """A path of the request that the act's code or command opens without a tool, or nothing."""
    if not (act.code or act.command) or set(offered(transcript, act)) & act.coded:
        return ""
    paths = chain((m[1] for m in _PATH.finditer(act.code)), _WORD.findall(act.command))
    return next((path for path in paths if path in transcript.goal), "")


def _instructions(transcript: Transcript, agent: str) -> Iterator[str]:
    """The agent's instructions; what the user asks for makes nothing a rule here."""
    for message in instructions(transcript, agent):
        if message.role != "user":
            yield message.text[:_HEAD]


def _mandate(transcript: Transcript, agent: str, tool: str, asked: str) -> str:
    """The sentence that makes a tool a must, or nothing."""
    for text in _instructions(transcript, agent):
        for sentence in _musts(text):
            scope = _SCOPE.search(sentence)
            if named(sentence, (tool,)) and (scope is None or concerns(asked, scope[1])):
                return " ".join(sentence.split())[:240]
    return ""


@lru_cache(maxsize=256)
def _musts(text: str) -> tuple[str, ...]:
    """The sentences that make something a must, whatever happens."""
    sentences = (match[0] for match in _SENTENCE.finditer(text))
    return tuple(one for one in sentences if _MUST.search(one) and not _UNLESS.search(one))


def _allowed(transcript: Transcript, agent: str) -> frozenset[str]:
    for text in _instructions(transcript, agent):
        match = _ALLOWED.search(text) or _ALLOWED_IN_WORDS.search(text)
        if match:
            return _modules(match[1])
    return frozenset()


@cache
def _modules(text: str) -> frozenset[str]:
    found = frozenset(_MODULE.findall(text))
    return frozenset() if "etc" in found else found - {"and"}


def _covers(allowed: frozenset[str], module: str) -> bool:
    root = module.partition(".")[0]
    return (
        module in allowed or root in allowed or "*" in allowed or any(name.startswith(f"{root}.") for name in allowed)
    )


MANDATED_TOOL = Check(
    name="mandated-tool",
    about="an answer without a tool that the instructions make a must",
    category="Tool Selection Errors",
    dimensions=("TS", "LC"),
    find=mandated_tool,
    why="The tool is a must because what the model does itself is not trusted there.",
    confidence="likely",
    severity="HIGH.",
    cited="The answer.",
    false_alarms=(
        "A must for a kind of request that this one was not, where the sentence does not say so in words the "
        "check knows."
    ),
    version=2,
)
FORBIDDEN_IMPORT = Check(
    name="forbidden-import",
    about="code that imports a module the instructions do not allow",
    category="Instruction Non-compliance",
    dimensions=("LC", "EE"),
    find=forbidden_import,
    why="The import fails, and the step is lost; or it works, and a rule is broken.",
    confidence="certain",
    severity="MEDIUM.",
    cited="The model call that wrote the code.",
    false_alarms="A module allowed in another sentence.",
    version=2,
)
TOOL_BYPASSED = Check(
    name="tool-bypassed",
    about="code or a command that does itself what the instructions want a tool for",
    category="Tool Selection Errors",
    dimensions=("TS",),
    find=tool_bypassed,
    why="The rule is there because the other way fails or is not safe.",
    confidence="likely",
    severity="MEDIUM.",
    cited="The first model call that does it.",
    false_alarms="A path that is only mentioned in the code or the command.",
    version=2,
)
