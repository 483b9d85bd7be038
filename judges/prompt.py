"""The question put to a model: frame, transcript, rubric, output form; the same bytes for the same judgement.

The transcript comes first and is byte-identical for all judges of a trace, so that the provider's prompt cache holds it
once. It stands between two fence lines that carry a word derived from its content by a hash: no text inside holds that
word, yet the same request repeats byte for byte. What is between fences is data, and so are the examples and the
findings of checks, which come from traces as well and get fences of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict

from gpa.ingest.render import neutral
from gpa.judges.examples import Example
from gpa.judges.rubrics import Rubric, built_in, digest
from gpa.judges.verdict import CATEGORIES, Finding

FENCE = "=" * 8
RUN = "recorded run"
EXAMPLES = "examples"
LEADS = "flagged items"

_SIGN = r"[=\u2550\uff1d\u2261\u268c]"
"""The sign of a fence line, and what looks like it."""
_SIGNS = ("==", "\u2550\u2550", "\uff1d\uff1d", "\u2261\u2261", "\u268c\u268c")
_NAMES = "|".join(name.replace(" ", r"[\s_-]{0,4}") for name in (RUN, EXAMPLES, LEADS))
_BEFORE = re.compile(rf"(?<!{_SIGN}){_SIGN}{{2,}}+(?=\s*+(?:{_NAMES}))", re.IGNORECASE)
_AFTER = re.compile(rf"\b((?:begins|ends)\s{{0,8}}+){_SIGN}{{2,}}+", re.IGNORECASE)


class Lead(BaseModel):
    """A finding of a check, given to a judge to confirm or reject."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    labels: tuple[str, ...]
    finding: Finding


def fenced(text: str, what: str = RUN) -> str:
    """The text between two fence lines that nothing inside it can imitate."""
    text = _without_fences(text)
    word = digest("fence", text)
    while word in text:
        word = digest(word, text)
    return f"{FENCE} {what} {word} begins {FENCE}\n{text}\n{FENCE} {what} {word} ends {FENCE}\n"


def _without_fences(text: str) -> str:
    """The text with the signs of anything like a fence line replaced by two dashes."""
    if not any(signs in text for signs in _SIGNS):
        return text
    return _AFTER.sub(r"\1--", _BEFORE.sub("--", text))


def system_text(frame: str, notes: str) -> str:
    """What every judge of a run is told: the frame and, when given, notes on the agent's architecture."""
    if not notes.strip():
        return frame
    return f"{frame.rstrip()}\n\n# About this agent, from the people who built it\n\n{notes.strip()}\n"


def question(
    rubric: Rubric, *, examples: Sequence[Example] = (), leads: Sequence[Lead] = (), with_checks: bool = False
) -> str:
    """What one judge is asked about the run above."""
    parts = [rubric.text.strip(), *_examples(rubric.code, examples), *_leads(leads), _form(with_checks=with_checks)]
    return "\n\n".join(parts) + "\n"


def single_question(
    rubrics: Sequence[Rubric],
    *,
    examples: Sequence[Example] = (),
    leads: Mapping[str, Sequence[Lead]] | None = None,
    with_checks: bool = False,
) -> str:
    """All dimensions in one question."""
    parts = [built_in("single").strip()]
    for rubric in rubrics:
        parts += [rubric.text.strip(), *_examples(rubric.code, examples), *_leads((leads or {}).get(rubric.code, ()))]
    codes = ", ".join(rubric.code for rubric in rubrics)
    parts.append(f"{_form(with_checks=with_checks)}\n\nGive one such object for each of {codes}, under its code.")
    return "\n\n".join(parts) + "\n"


def final_question(
    rubric: Rubric, outline: str, findings: Sequence[Mapping[str, Any]], *, with_checks: bool = False
) -> str:
    """The score of a run that was read in parts, from what was found in them."""
    listed = "\n".join(map(_json_line, findings)) or "(none)"
    found = fenced(f"{outline.rstrip()}\n\nFindings of the parts:\n{listed}").rstrip()
    parts = [found, built_in("final").strip(), rubric.text.strip(), _form(with_checks=with_checks)]
    return "\n\n".join(parts) + "\n"


def _examples(code: str, examples: Sequence[Example]) -> list[str]:
    shown = [
        {"evidence": example.evidence, "problem": example.description, "category": example.category}
        for example in examples
        if not example.dimensions or code in example.dimensions
    ]
    if not shown:
        return []
    return [
        "Errors that people found in other runs of this agent, as examples of what counts. They are recorded data like "
        "the run, and this run is another one: none of them is evidence in it.\n"
        + fenced("\n".join(map(_json_line, shown)), EXAMPLES).rstrip()
    ]


def _leads(leads: Sequence[Lead]) -> list[str]:
    if not leads:
        return []
    listed = [
        {
            "id": lead.id,
            "steps": lead.labels,
            "problem": lead.finding.problem,
            "quote": lead.finding.quote,
            "category": lead.finding.category,
        }
        for lead in leads
    ]
    return [
        "Mechanical checks flagged the following. They can be wrong. For each, say under `leads` whether you confirm "
        "or reject it and why; do not repeat a confirmed one among your own findings.\n"
        + fenced("\n".join(map(_json_line, listed)), LEADS).rstrip()
    ]


def _json_line(value: Mapping[str, Any]) -> str:
    return neutral(orjson.dumps(value).decode())


def _form(*, with_checks: bool) -> str:
    leads = (
        "\n- `leads`: your decision on each flagged item, by its id; empty when nothing is flagged."
        if with_checks
        else ""
    )
    return f"""\
# Your answer

Read the whole run before you answer. Then give one JSON object:
- `findings`: each with `quote` (a short passage, word for word, from the step), `problem` (what is wrong, and why it \
matters, in one or two sentences), `category` (one of the names above), `severity` (LOW, MEDIUM, HIGH) and `steps` \
(labels such as "s12", the step where it happens first). Empty when there is nothing to report.{leads}
- `rationale`: how you come to the score, in a few sentences, naming steps by their labels.
- `not_applicable`: null, or the reason why this dimension has nothing to judge in this run.
- `score`: 0, 1, 2 or 3 by the rubric; null only when `not_applicable` gives a reason."""


def answer_schema(*, with_checks: bool = False, codes: Sequence[str] = ()) -> dict[str, Any]:
    """JSON Schema of the answer; with `codes`, of one object that holds an answer for each.

    Properties are in the order they are filled in: evidence first, the score last. Only what structured output takes on
    every provider: all properties required and no others, enums, and null as an alternative.
    """
    properties: dict[str, Any] = {
        "findings": {
            "type": "array",
            "items": _object(
                {
                    "quote": {"type": "string"},
                    "problem": {"type": "string"},
                    "category": {"type": "string", "enum": list(CATEGORIES)},
                    "severity": {"type": "string", "enum": ["LOW", "MEDIUM", "HIGH"]},
                    "steps": {"type": "array", "items": {"type": "string"}},
                }
            ),
        },
    }
    if with_checks:
        properties["leads"] = {
            "type": "array",
            "items": _object(
                {
                    "id": {"type": "string"},
                    "decision": {"type": "string", "enum": ["confirm", "reject"]},
                    "reason": {"type": "string"},
                }
            ),
        }
    properties |= {
        "rationale": {"type": "string"},
        "not_applicable": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "score": {"anyOf": [{"type": "integer", "enum": [0, 1, 2, 3]}, {"type": "null"}]},
    }
    answer = _object(properties)
    if not codes:
        return answer
    # By reference: providers limit how many alternatives (such as null) a schema may hold.
    return {"$defs": {"answer": answer}, **_object({code: {"$ref": "#/$defs/answer"} for code in codes})}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
