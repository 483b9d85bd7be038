"""A result of the agent's own code that is garbled: one character a line.

Flags: eight or more lines in a row that hold a single character (or a number and one), in what code brought back. Why:
the code took a text for a list and walked it letter by letter; what was to be seen is not there. Cited is the model
call that is told, as nothing else in a trace records what code printed.

Known false alarms: code that was meant to spell something out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpa.ingest.transcript import Transcript
from gpa.judges.checks.acts import conduct
from gpa.judges.checks.check import Check, Hit

_LETTERS = re.compile(
    r"(?:^(?:[ \t]*\W{0,3}\d{1,4}[:.)][ \t]?|[ \t]*[-*][ \t])?(?:\w|[^\w\n]?)[ \t]*\n){8,}", re.MULTILINE
)
_LETTER = re.compile(r"(?:^|[\s:.)*-])([^\W\d_])[ \t]*$", re.MULTILINE)
_MAX_TOLD = 20_000


def find(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each act that is told a garbled result."""
    for act in conduct(transcript).acts.values():
        match = _LETTERS.search(act.told[:_MAX_TOLD]) if act.told else None
        if match and len(_LETTER.findall(match[0])) >= 6:
            yield Hit(
                (act.label,),
                quote=match[0].strip()[:80],
                problem="the code walked a text letter by letter: its result holds one character a line",
                severity="LOW",
            )


CHECK = Check(
    name="garbled-result",
    about="a result that holds one character a line",
    category="Formatting Errors",
    dimensions=("TC",),
    find=find,
    why="The code took a text for a list: what was to be seen is not there.",
    confidence="certain",
    severity="LOW.",
    cited="The model call that is told.",
    false_alarms="Code that was meant to spell something out.",
)
