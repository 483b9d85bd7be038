"""What an agent says it does or did, and did not.

- `claimed-call` (TS): "I will now ask the research desk ..." in a step that does not call what it names. Code has to
  call it then and there (code agents print the request in place of sending it), and each such step is flagged; any
  other step may leave it to a later one, and where none does, the first is flagged. A call written out as text
  (`<tool_call>...`, `Action: search[...]`) that nobody made is an announcement too.
- `claimed-work` (LC, TC): an answer says that something was searched, verified, consulted or run, and the agent (with
  those below it) has not called anything.
- `from-memory` (LC): a step that acts says that it goes by what it remembers or takes for likely ("I recall that",
  "based on what we know"), although it has tools to look things up with.
- `simulated-result` (LC, TC): a step says in so many words that its data are simulated, hypothetical, assumed or
  made up for the example, and goes on to use them; or writes down the result of a call that it only wrote down.

Why: the next step, and the reader, take the claim for the deed.

Known false alarms: an intention meant for a later step and not marked as such; a simulation that was the task (where
the user's request speaks of one, nothing is flagged).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from gpa.ingest.transcript import Transcript
from gpa.judges.checks.acts import Act, Conduct, conduct, finishes
from gpa.judges.checks.check import Check, Hit
from gpa.judges.checks.replies import asks_back
from gpa.judges.checks.sources import answer_of, looked, named, offered

_LOOKED_AT = 8_000
_INTENT = re.compile(
    r"\b(?:I(?:['’]ll| will| now (?:need|have) to| need to| am going to|['’]m going to| must| now)|let me(?! know)"
    r"|let['’]s|we(?:['’]ll| will| now)|time to)\b[^.\n]{0,60}?"
    r"\b(?:call|ask|use|using|query|instruct|send|request|invoke|consult|delegate|rely|utili[sz]e|run|issue|forward"
    r"|pass)\w*\b[^.\n]{0,140}",
    re.IGNORECASE,
)
_LATER = re.compile(
    r"\b(?:later|afterwards|then|next step|after that|after you|as soon as|once|if|when|before|eventually)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(r"\b(?:please|let me know|tell me|would you|shall I)\b", re.IGNORECASE)
_WRITTEN_CALL = re.compile(
    r"""^[ \t]*\**Action:\**[ \t]*(?P<action>[\w.-]+)
      | <(?:invoke|function|tool)(?:=|[ ]name=)["']?(?P<tag>[\w.-]+)
      | \{\s{0,20}"(?:name|tool|tool_name|function|action)"\s{0,20}:\s{0,20}"(?P<name>[\w.-]+)"\s{0,20},\s{0,20}
        "(?:arguments|parameters|args|input|tool_input|action_input)"
    """,
    re.VERBOSE | re.MULTILINE,
)
_WRITTEN_RESULT = re.compile(
    r"^[ \t]*\**(?:Observation|(?:Tool |Function )?(?:Result|Output|Response))\**:[^\n]*"
    r"|<(?:tool|function)_(?:response|result)s?>",
    re.MULTILINE,
)
_WORK = re.compile(
    r"""\b(?:I|we)\ (?:have\ |['’]ve\ )?(?:now\ |also\ |carefully\ |just\ )?
        (?:searched|verified|consulted|checked|looked\ up|retrieved|visited|queried|cross-?(?:checked
          |referenced|verified)
        |confirmed|inspected|reviewed|browsed|downloaded|researched|investigated)\b
      | \b(?:after|following|based\ on|from|upon|through|via)\b[^.\n]{0,40}?
        \b(?:investigation|careful\ (?:review|reading|analysis)|research|search(?:es)?|verification
          |cross\W?referenc\w+
        |consultation|inquiry|queries|inspection)\b
      | \b(?:our|my)\ (?:detailed\ |extensive\ |own\ |careful\ )?(?:investigation|research|search(?:es)?
        |verification|inquiry)\b
      | \b(?:was|were|has\ been|have\ been)\ (?:found|retrieved|verified|obtained|confirmed)\ (?:by|through|via
        |from|using|on|in)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SIMULATED = re.compile(
    r"""\b(?:
        simulat(?:ed|ing|es?)\ [^.\n]{0,30}?(?:search|result|output|response|reading|retrieval|data|call|answer
          |content|quer|extract)\w*
      | hypothetical(?:ly)?\b
      | (?:let['’]?s|we|I['’]?(?:ll|\ will)?|can|must|will|to)\ (?:now\ |just\ |simply\ )?(?:assume|pretend
        |imagine|suppose|invent|make\ up)\b
        [^.\n]{0,60}?\b(?:data|file|result|output|content|document|text|page|value|figure|response)s?\b
      | (?:is|are|was|were)\ assumed\ to\ be\b
      | assuming\ (?:that\ )?[^\n]{0,50}?\b(?:file|data|page|document)\b[^\n]{0,50}?\b(?:available|exists?
        |contains?|accessible)\b
      | (?:mock|dummy|fake|placeholder|fictitious|made-up|invented)\ (?:data|result|output|response|value
        |content|answer)s?\b
      | for\ (?:the\ sake\ of\ )?(?:illustration|demonstration)\b
      | (?:reasonable|plausible)\ (?:example|interpretation|guess|reconstruction)\b
      )""",
    re.VERBOSE | re.IGNORECASE,
)
_MEMORY = re.compile(
    r"""\b(?:
        I\ (?:recall|remember|know)\ (?:that|the|from|of)\b
      | (?:based\ on|from|given|using|according\ to)\ (?:what\ (?:we|I)\ (?:already\ )?know
        |(?:my|our|general|common|prior|background|existing|internal)\ (?:\w+\ ){0,2}(?:knowledge|understanding
          |documentation|memory|patterns)
        |what\ is\ (?:typically|commonly|generally|usually)|widely\ (?:known|available))
      | it\ is\ (?:well|widely|commonly|generally)[- ](?:known|established|documented|accepted)
      | (?:is|are)\ (?:well[- ]known|widely\ known|famous)\ (?:to|for|as|that)
      | (?:is|are)\ known\ to\ be
      | well[- ]known\ facts?
      | (?:a\ )?strong\ hint
      )\b""",
    re.VERBOSE | re.IGNORECASE,
)
_TASK_OF_IT = re.compile(r"\b(?:simulat|hypothe|assum|imagin|pretend|suppos|mock|dummy|placeholder)", re.IGNORECASE)


def claims_work(text: str) -> bool:
    """Whether a text says that something was looked up or verified."""
    return _WORK.search(text[:_LOOKED_AT]) is not None


def claimed_call(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each act whose code does not make the call it announces, and for each tool that is only announced."""
    plans = {plan.label for plan in transcript.plans}
    for acts in conduct(transcript).by_agent.values():
        last = {name: at for at, act in enumerate(acts) for name in _called(transcript, act)}
        told: set[str] = set()
        for at, act in enumerate(acts):
            tools = offered(transcript, act)
            runs = bool(act.code) and not act.asks
            if runs:
                tools = () if set(tools) & act.names else tools
            else:
                plain = act.label not in plans and not _unrecorded(act)
                tools = tuple(tool for tool in tools if plain and tool not in told and last.get(tool, -1) < at)
            tool, quote = _announced(act, tools, unmade=_unmade(acts, at))
            if tool:
                told |= set() if runs else {tool}
                yield Hit(
                    (act.label,),
                    quote=quote,
                    problem=f"announces a call of {tool}, and does not make it",
                    severity="MEDIUM",
                )


def _announced(act: Act, tools: Collection[str], *, unmade: bool) -> tuple[str, str]:
    """The tool that an act says it calls, or writes a call of that nobody made, and the words; else nothing."""
    if not tools:
        return "", ""
    if unmade and (call := _written_call(act, tools)) is not None:
        # Where the result is written down too, that is what is wrong with it: `simulated-result`.
        return ("", "") if _written_result(act, call) else (_tool_of(call), call[0].strip())
    text = "\n".join([act.prose[:_LOOKED_AT], *(call.key for call in act.calls if finishes(call.tool))])
    if not act.code and (asks_back(act.said) or _ASKS.search(text)):
        return "", ""  # it waits for the user
    for match in _INTENT.finditer(text, 0, _LOOKED_AT):
        wanted = named(match[0], tools)
        begin = max(text.rfind(end, 0, match.start()) for end in ".!\n") + 1
        if wanted and not _LATER.search(text, begin, match.end()):
            return wanted[0], match[0].strip()
    return "", ""


def _called(transcript: Transcript, act: Act) -> Iterator[str]:
    """Everything an act calls: tools, and sub-agents by either of their names."""
    yield from act.names
    for label in act.delegated:
        step = transcript.step(label)
        yield from (step.name, step.agent.partition("#")[0])


def _unmade(acts: list[Act], at: int) -> bool:
    """Whether nothing shows that what an act wrote was run: no call, no code, no result in what comes next."""
    act = acts[at]
    return not (act.acts or act.delegated or _unrecorded(act) or (at + 1 < len(acts) and acts[at + 1].told))


def _unrecorded(act: Act) -> bool:
    """Whether an act ended in a call that the trace does not hold."""
    return not act.calls and ("tool" in act.step.finish_reason or "function" in act.step.finish_reason)


def _written_call(act: Act, tools: Collection[str]) -> re.Match[str] | None:
    """A call of one of the tools that is written out as text."""
    return next((m for m in _WRITTEN_CALL.finditer(act.said[:_LOOKED_AT]) if _tool_of(m) in tools), None)


def _written_result(act: Act, call: re.Match[str]) -> re.Match[str] | None:
    return _WRITTEN_RESULT.search(act.said, call.end(), _LOOKED_AT)


def _tool_of(call: re.Match[str]) -> str:
    return call["action"] or call["tag"] or call["name"]


def claimed_work(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each answer that speaks of work of which there is no trace."""
    read = conduct(transcript)
    for answer in _answers(read):
        acts = read.by_agent[answer.step.agent]
        if any(looked(act, worked=False) for act in acts) or not offered(transcript, answer):
            continue
        match = _WORK.search(answer.prose[:_LOOKED_AT])
        if match:
            yield Hit(
                (answer.label,),
                quote=match[0].strip(),
                problem="speaks of work that was never done: the agent has called nothing",
                severity="HIGH",
            )


def simulated_result(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each act that goes on from data it made up."""
    if _TASK_OF_IT.search(transcript.goal[-4_000:]):
        return
    for acts in conduct(transcript).by_agent.values():
        for at, act in enumerate(acts):
            match = None if act.planning else _SIMULATED.search(act.said[:_LOOKED_AT])
            tools = offered(transcript, act)
            if not match and _unmade(acts, at) and (call := _written_call(act, tools)) is not None:
                match = _written_result(act, call)
            if match and tools:
                yield Hit(
                    (act.label,), quote=match[0].strip(), problem="goes on from data it made up itself", severity="HIGH"
                )


def from_memory(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each act of an agent with tools that goes by what it remembers."""
    for act in conduct(transcript).acts.values():
        match = _MEMORY.search(act.prose[:_LOOKED_AT]) if act.code or act.finishes else None
        if match and offered(transcript, act):
            yield Hit(
                (act.label,),
                quote=match[0].strip(),
                problem="goes by what it remembers, although it has tools to look things up with",
                severity="MEDIUM",
            )


def _answers(read: Conduct) -> Iterator[Act]:
    for acts in read.by_agent.values():
        answer = answer_of(act for act in acts if not act.planning)
        if answer is not None:
            yield answer


CLAIMED_CALL = Check(
    name="claimed-call",
    about="a call that is announced and not made",
    category="Task Orchestration",
    dimensions=("TS", "LC"),
    find=claimed_call,
    why="The next step, and the reader, take the announcement for the deed.",
    confidence="likely",
    severity="MEDIUM.",
    cited="Each step whose code does not call what it announces; else the first that announces what is never called.",
    false_alarms="An intention meant for a later step, or after an answer of the user, and not marked as such.",
    version=2,
)
CLAIMED_WORK = Check(
    name="claimed-work",
    about="an answer that speaks of work of which there is no trace",
    category="Tool-related",
    dimensions=("LC", "TC", "GF"),
    find=claimed_work,
    why="Work that nobody did supports nothing.",
    confidence="likely",
    severity="HIGH.",
    cited="The answer.",
    false_alarms="Verbs like `reviewed` where the request itself was what was reviewed.",
)
SIMULATED_RESULT = Check(
    name="simulated-result",
    about="data that the agent made up and went on from",
    category="Tool-related",
    dimensions=("LC", "TC"),
    find=simulated_result,
    why="What follows rests on data that somebody made up.",
    confidence="likely",
    severity="HIGH.",
    cited="Each step that goes on from such data.",
    false_alarms="An assumption that the request allows without saying so.",
    version=2,
)
FROM_MEMORY = Check(
    name="from-memory",
    about="an act on what the model remembers where it could look",
    category="Language-only",
    dimensions=("LC",),
    find=from_memory,
    why="What a model remembers is unsupported and may be old, where a tool would have told.",
    confidence="hint",
    severity="MEDIUM.",
    cited="Each step that acts on it.",
    false_alarms="Common knowledge that needs no source.",
    version=2,
)
