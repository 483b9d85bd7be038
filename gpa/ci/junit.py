"""JUnit XML: a suite for each dimension, a case for each trace.

The form is the one that Jenkins, GitLab, Azure and others read (Jenkins' junit-10.xsd). A score below the threshold is
a failure, what could not be judged an error, not applicable is skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from xml.etree import ElementTree as ET

from gpa.ci.outcome import UNDER, Outcome, step_of
from gpa.evaluation import Located
from gpa.ingest.plain import cut, one_line, plain
from gpa.judges.verdict import AnyResult, Failure, NotApplicable, Verdict
from gpa.locations import findings, kind_of

_MAX_NAME = 120
_MAX_MESSAGE = 500
_MAX_BODY = 20_000


def junit(outcome: Outcome) -> bytes:
    """The document, UTF-8."""
    root = ET.Element("testsuites", name="Agent GPA")
    names = _case_names(outcome)
    threshold = UNDER if outcome.fail_under is None else outcome.fail_under
    for row in outcome.run.evaluation.summary():
        suite = ET.SubElement(root, "testsuite", name=plain(f"{row.dimension} {row.name}"))
        results: dict[str, list[AnyResult]] = {}
        for result in outcome.run.evaluation.results:
            if result.judge == row.dimension:
                results.setdefault(result.trace_id, []).append(result)
        for trace_id, judged in results.items():
            case = ET.SubElement(suite, "testcase", classname=plain(f"gpa.{row.dimension}"), name=names[trace_id])
            _fill(case, judged, threshold, outcome)
        counts = Counter(child.tag for case in suite for child in case)
        suite.attrib.update(
            tests=str(len(results)),
            failures=str(counts["failure"]),
            errors=str(counts["error"]),
            skipped=str(counts["skipped"]),
        )
    for count in ("tests", "failures", "errors"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="UTF-8", xml_declaration=True)
    return document + b"\n"


def _case_names(outcome: Outcome) -> dict[str, str]:
    """Trace id -> a name that is the same in the next run where possible: the goal, with the id where goals repeat."""
    ids = outcome.run.evaluation.trace_ids
    goals = {trace_id: one_line(outcome.goal(trace_id), _MAX_NAME) for trace_id in ids}
    counts = Counter(goals.values())
    return {
        trace_id: goal if goal and counts[goal] == 1 else one_line(f"{goal} trace {trace_id}", 2 * _MAX_NAME)
        for trace_id, goal in goals.items()
    }


def _fill(case: ET.Element, judged: Sequence[AnyResult], threshold: float, outcome: Outcome) -> None:
    verdicts = [result for result in judged if isinstance(result, Verdict)]
    if verdicts:
        score = fmean(verdict.score for verdict in verdicts)
        body = f"trace {verdicts[0].trace_id}\nscore {score:g} of 3\n" + "\n".join(
            _described(verdict, outcome) for verdict in verdicts
        )
        if score < threshold:
            message = f"score {score:g} is below {threshold:g}: {_gist(verdicts[0])}"
            found = ET.SubElement(case, "failure", type="score", message=one_line(message, _MAX_MESSAGE))
        else:
            found = ET.SubElement(case, "system-out")
        found.text = cut(body, _MAX_BODY)
        return
    failed = next((result for result in judged if isinstance(result, Failure)), None)
    if failed is not None:
        message = one_line(failed.message, _MAX_MESSAGE)
        ET.SubElement(case, "error", type=one_line(failed.error_type, _MAX_NAME), message=message)
        return
    reasons = [result.reason for result in judged if isinstance(result, NotApplicable)]
    ET.SubElement(case, "skipped", message=one_line("; ".join(dict.fromkeys(reasons)), _MAX_MESSAGE))


def _gist(verdict: Verdict) -> str:
    """What a list of failures shows: the gravest finding, or why a judge that names none scored so."""
    found = findings([verdict])
    return f"{kind_of(found[0])}: {found[0].finding.problem}" if found else verdict.rationale


def _described(verdict: Verdict, outcome: Outcome) -> str:
    lines = [verdict.rationale]
    for finding in verdict.findings:
        place = outcome.run.place(Located(verdict.trace_id, (verdict.judge,), finding))
        where = " ".join(filter(None, (step_of(place), *(f"span {span_id}" for span_id in finding.span_ids))))
        sort = f" ({finding.check})" if finding.check else ""
        lines += ["", f"{finding.severity} {finding.category}{sort}", f"  {where or 'not localised'}"]
        lines.append(f"  {one_line(finding.problem, _MAX_MESSAGE)}")
        if finding.quote:
            lines.append(f'  "{one_line(finding.quote, _MAX_MESSAGE)}"')
    return "\n".join(lines)
