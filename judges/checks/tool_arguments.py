"""Arguments that break the tool's own schema, as the trace states it.

Flags: an argument the tool does not have or without a name, a required one left out, a wrong type, a value outside an
enum, arguments that are not a JSON object. Why: the one kind of tool error that is certain without reading anything
else. Bounds, patterns and formats are not judged (`schema.py`).

Judged are the model's own arguments where they are recorded; a tool step alone only for what made it fail, because
frameworks add arguments of their own. An argument the schema merely does not list (`additionalProperties` absent)
counts when the call did not succeed: JSON Schema allows it, the tool did not. LOW when the call worked all the
same.

Text that ran was whole when it was sent, and only its record is cut, unless the error says that it was no JSON.

Known false alarms: a framework that fills in required arguments itself and does not take them out of the schema it
shows the model; a tool redefined in the course of a run where the trace records only its first schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpa.ingest.tool_calls import ToolCall, tool_calls
from gpa.ingest.transcript import Transcript
from gpa.judges.checks.check import Check, Hit
from gpa.judges.checks.schema import Violation, violations

_SHOWN = 4
_NO_JSON = re.compile(
    r"json|unterminated string|expecting (?:value|property name|'[,:]' delimiter)"
    r"|(?:pars|decod)(?:e|ing)\b[^.\n]{0,40}\b(?:arguments|parameters|input)",
    re.IGNORECASE,
)


def find(transcript: Transcript) -> Iterator[Hit]:
    """One hit for each call whose arguments break the schema."""
    schemas: dict[int, dict[str, dict[str, Any]]] = {}
    for call in tool_calls(transcript):
        if not call.labels:
            continue
        tools = transcript.tools_of(transcript.step(call.asked or call.ran))
        known = schemas.setdefault(id(tools), {tool.name: tool.parameters for tool in tools})
        problems = list(_problems(call, known.get(call.tool) or {}))
        if problems:
            yield Hit(
                labels=call.labels[:1],
                quote=call.key,
                problem=f"arguments of {call.tool} break its schema: " + "; ".join(problems[:_SHOWN]),
                severity="LOW" if call.answered and not call.error else "MEDIUM",
            )


def _problems(call: ToolCall, schema: dict[str, Any]) -> Iterator[str]:
    worked = call.answered and not call.error
    if isinstance(call.arguments, str) and call.arguments.strip():
        refused = not worked and (not call.ran or _NO_JSON.search(call.error) is not None)
        if call.asked and refused and call.arguments.lstrip().startswith(("{", "[")):
            yield "not a JSON object"
        return
    arguments = call.arguments or {}
    if not isinstance(arguments, dict) or not schema:
        return
    # Arguments recorded without their names stand in a list `args`: then absence proves nothing.
    positional = isinstance(arguments.get("args"), list) and not call.asked
    if positional:
        arguments = {name: value for name, value in arguments.items() if name != "args"}
    for violation in violations(schema, arguments, partial=positional):
        if _counts(violation, call):
            yield violation.problem


def _counts(violation: Violation, call: ToolCall) -> bool:
    """Whether it is the model's fault: what a framework may add, or a schema merely does not list, has to fail."""
    return bool(call.error) or (call.asked != "" and (violation.kind != "unknown" or violation.closed))


CHECK = Check(
    name="tool-arguments-schema",
    about="arguments of a tool call that break the tool's own JSON schema",
    category="Formatting Errors",
    dimensions=("TC",),
    find=find,
    why=(
        "The tool states what it takes; a call that breaks this cannot do what was meant. Judged are names, types, "
        "what is required, `enum` and `const`; not bounds (`minimum`, `maxLength`), `pattern` and `format`."
    ),
    confidence="certain",
    severity="MEDIUM; LOW when the call worked all the same.",
    cited="The model call that wrote the arguments.",
    false_alarms=(
        "A framework that fills in required arguments itself and leaves them in the schema it shows the "
        "model; a tool redefined in the course of a run."
    ),
    version=3,
)
