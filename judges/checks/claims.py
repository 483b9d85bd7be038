"""What an agent says it does or did, and did not.

- `claimed-call` (TS): "I will now ask the research desk ..." in a step that acts, but does not call what it names.
  Typical of code agents that print the request in place of sending it. Flagged at each such step.
- `claimed-work` (LC, TC): an answer says that something was searched, verified, consulted or run, and the agent (with
  those below it) has not called anything.
- `from-memory` (LC): a step that acts says that it goes by what it remembers or takes for likely ("I recall that",
  "based on what we know"), although it has tools to look things up with.
- `simulated-result` (LC, TC): a step says in so many words that its data are simulated, hypothetical, assumed or
  made up for the example, and goes on to use them.

Why: the next step, and the reader, take the claim for the deed.

Known false alarms: an intention meant for a later step and not marked as such; a simulation that was the task (where
the user's request speaks of one, nothing is flagged).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpa.ingest.transcript import Transcript
from gpa.judges.checks.acts import Act, Conduct, conduct
from gpa.judges.checks.check import Check, Hit
from gpa.judges.checks.sources import answer_of, looked, named, offered

_LOOKED_AT = 8_000
_INTENT = re.compile(
    r"\b(?:I(?:['’]ll| will| now (?:need|have) to| need to| am going to|['’]m going to| must| now)|let me|let['’]s"
    r"|we(?:['’]ll| will| now)|time to)\b[^.\n]{0,60}?"
    r"\b(?:call|ask|use|query|instruct|send|request|invoke|consult|delegate|rely|utili[sz]e|run|issue|forward|pass)\w*\b"
    r"[^.\n]{0,140}",
    re.IGNORECASE,
)
_LATER = re.compile(r"\b(?:later|afterwards|then|next step|after that|once|if|when|before|eventually)\b", re.IGNORECASE)
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
    """One hit for each act that announces a call and does not make it."""
    for act in conduct(transcript).acts.values():
        if not act.code:
            continue
        tools = offered(transcript, act)
        done = {tool for tool in tools if tool in act.names}
        for match in _INTENT.finditer(act.prose[:_LOOKED_AT]) if tools and not done else ():
            wanted = named(match[0], tools)
            if wanted and not _LATER.search(match[0]):
                yield Hit(
                    (act.label,),
                    quote=match[0].strip(),
                    problem=f"announces a call of {wanted[0]}, and does not make it",
                    severity="MEDIUM",
                )
                break


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
    for act in conduct(transcript).acts.values():
        if act.planning or not (act.code or act.finishes or not act.acts):
            continue
        match = _SIMULATED.search(act.said[:_LOOKED_AT])
        if match and offered(transcript, act):
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
    cited="Each step that announces and does not call.",
    false_alarms="An intention meant for a later step and not marked as such.",
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
)
