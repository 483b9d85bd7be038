"""SARIF 2.1.0: findings as results with logical locations (trace, agent, step), for code scanning and other readers.

Source: OASIS SARIF 2.1.0 (errata 01); section numbers stand at what follows them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

from gpa.ci.outcome import Outcome
from gpa.evaluation import Located
from gpa.ingest.plain import cut, plain
from gpa.judges.checks import CHECKS
from gpa.judges.checks.reference import described
from gpa.judges.verdict import Failure, Severity
from gpa.locations import Location, Recorded, fingerprints, kind_of, suppressed

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "agentGpa/v1"
_LEVELS: dict[Severity, str] = {"HIGH": "error", "MEDIUM": "warning", "LOW": "note"}
_MAX_TEXT = 4_000


def sarif(outcome: Outcome) -> bytes:
    """The log as JSON, UTF-8."""
    return json.dumps(log(outcome), ensure_ascii=False, indent=1).encode("utf-8") + b"\n"


def log(outcome: Outcome) -> dict[str, Any]:
    """The log as plain dicts and lists: new and known findings are told apart, muted ones shown."""
    results = outcome.run.evaluation.results
    regression = outcome.regression
    shown = (*regression.new, *regression.known) if regression is not None else outcome.findings
    found = (*shown, *suppressed(results))
    rules: dict[str, int] = {}
    for one in found:
        rules.setdefault(_rule_id(one), len(rules))
    entries = []
    for number, (one, fingerprint) in enumerate(zip(found, fingerprints(found, outcome.run), strict=True)):
        entry = _result(one, rules, outcome) | {"partialFingerprints": {FINGERPRINT: fingerprint}}
        if number >= len(shown):
            # 3.35: `external`, for neither code nor trace need say it; the problem ends in the reason.
            entry["suppressions"] = [{"kind": "external", "justification": cut(one.finding.problem, _MAX_TEXT)}]
        elif regression is not None:
            entry["baselineState"] = "new" if number < len(regression.new) else "unchanged"
        entries.append(entry)
    failures = [result for result in results if isinstance(result, Failure)]
    driver = {
        "name": "Agent GPA",
        "version": version("agent-gpa"),
        "rules": list(_rules(rules, found)),
    }
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "invocations": [
            {"executionSuccessful": True, "toolExecutionNotifications": list(map(_notification, failures))}
        ],
        "columnKind": "unicodeCodePoints",
        "results": entries,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule_id(located: Located) -> str:
    """`tool-arguments-schema` of a check, `llm/tool-related` of what a model found (3.49.3: stable, opaque)."""
    kind = plain(kind_of(located))
    return kind if located.finding.check else f"llm/{re.sub(r'[^a-z0-9]+', '-', kind.casefold()).strip('-')}"


def _rules(ids: Iterable[str], found: Iterable[Located]) -> Iterator[dict[str, Any]]:
    checks = {check.name: check for check in CHECKS}
    kinds = {_rule_id(located): located.finding.category for located in found}
    for rule_id in ids:
        check = checks.get(rule_id)
        if check is None:
            category = cut(kinds[rule_id], 200)
            text = f"An error of the category {category} (TRAIL, arXiv 2505.08638), as a judge reads the transcript."
            yield {
                "id": rule_id,
                "name": re.sub(r"\W", "", category.title()) or "Finding",
                "shortDescription": {"text": category or "Finding"},
                "fullDescription": {"text": text},
                "help": {"text": text},
                "properties": {"tags": ["agent", "llm-judge"]},
            }
            continue
        about = list(described(check))
        yield {
            "id": rule_id,
            "name": check.name.title().replace("-", ""),
            "shortDescription": {"text": check.about},
            "fullDescription": {"text": check.why or check.about},
            "help": {
                "text": "\n".join(f"{label}: {text}" for label, text in about if text),
                "markdown": "\n".join(f"- **{label}**: {text}" for label, text in about if text),
            },
            "properties": {"tags": ["agent", "check", *check.dimensions], "precision": _PRECISION[check.confidence]},
        }


_PRECISION = {"certain": "very-high", "likely": "high", "hint": "medium"}


def _result(located: Located, rules: Mapping[str, int], outcome: Outcome) -> dict[str, Any]:
    finding = located.finding
    text = finding.problem + (f"\n“{finding.quote}”" if finding.quote else "")
    rule_id = _rule_id(located)
    locations = list(_locations(located, outcome.run, outcome.artifact))
    result: dict[str, Any] = {
        "ruleId": rule_id,
        "ruleIndex": rules[rule_id],
        "level": _LEVELS[finding.severity],
        "message": {"text": cut(text, _MAX_TEXT) or "(no words)"},
        "locations": locations[:1],
        "properties": {
            "dimensions": list(map(plain, located.dimensions)),
            "category": plain(finding.category),
            "severity": finding.severity,
            "grounded": finding.grounded,
            "traceId": plain(located.trace_id),
            "spanIds": [plain(span_id) for span_id in finding.span_ids],
        },
    }
    if locations[1:]:
        result["relatedLocations"] = locations[1:]
    return result


def _locations(located: Located, run: Recorded, artifact: str | None) -> Iterator[dict[str, Any]]:
    """One for each cited span, or one for the trace when none is cited."""
    traced = run.traces.get(located.trace_id)
    for span_id in located.finding.span_ids or ("",):
        location = traced.locations.get(span_id) if traced is not None else None
        place: dict[str, Any] = {"logicalLocations": list(_logical(located.trace_id, span_id, location))}
        if artifact is not None:
            # Code scanning takes no result without a file; a trace has no line, so it is the first.
            uri = quote(plain(artifact), safe="/:._-")
            place["physicalLocation"] = {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}}
        yield place


def _logical(trace_id: str, span_id: str, location: Location | None) -> Iterator[dict[str, Any]]:
    """The innermost first (3.28.4): the span, its agent, the trace; `/` separates the parts of a full name (3.33.5)."""
    trace = f"trace/{_part(trace_id)}"
    agent = ""
    if location is not None and location.agent:
        agent = f"{trace}/agent/{_part(location.agent)}"
    if span_id:
        yield {
            "name": plain(location.name if location is not None else span_id) or span_id,
            "fullyQualifiedName": f"{agent or trace}/span/{_part(span_id)}",
            "kind": location.kind if location is not None else "span",
        }
    if agent and location is not None:
        yield {"name": plain(location.agent), "fullyQualifiedName": agent, "kind": "agent"}
    yield {"name": plain(trace_id) or "trace", "fullyQualifiedName": trace, "kind": "trace"}


def _part(text: str) -> str:
    return quote(plain(text), safe=" #") or "-"


def _notification(failure: Failure) -> dict[str, Any]:
    """Something that could not be judged (3.58): no result, and not silent either."""
    text = f"{failure.judge}: {failure.error_type}: {failure.message}"
    trace = {"logicalLocations": [{"name": plain(failure.trace_id), "kind": "trace"}]}
    return {"level": "error", "message": {"text": cut(text, _MAX_TEXT)}, "locations": [trace]}
