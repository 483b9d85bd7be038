"""Code that ran without a recorded call: when it is one, and that its errors count as failures."""

from __future__ import annotations

import pytest

from gpa.ingest.transcript import Step
from gpa.plans.code_acts import acts
from gpa.plans.horizon import measure_horizon
from tests.judges.checks.transcripts import llm, said, tool, transcript, user

OBSERVED = "Observation:\nExecution logs:\n9"
CODED = said("I compute it.\n```python\nprint(3 * 3)\n```")


@pytest.mark.parametrize(
    ("steps", "names"),
    [
        pytest.param((llm(CODED), llm(said("9"), new=(user(OBSERVED),))), ["code"], id="told what it printed"),
        pytest.param((llm(CODED), llm(said("9"), new=(user("Thanks, and 4 * 4?"),))), [], id="a person went on"),
        pytest.param((llm(CODED),), [], id="nothing came after"),
        pytest.param(
            (llm(CODED), tool("multiply", {"a": 3}, "9"), llm(said("9"), new=(user(OBSERVED),))),
            ["multiply"],
            id="its calls are recorded",
        ),
        pytest.param((llm(said("```json\n{}\n```")), llm(said("."), new=(user(OBSERVED),))), [], id="no code"),
    ],
)
def test_code_that_ran_without_recorded_calls_is_a_call(steps: tuple[Step, ...], names: list[str]) -> None:
    assert [one.tool for one in acts(transcript(*steps))] == names


def test_an_error_of_such_code_is_a_failure() -> None:
    told = user("Error:\nNameError: name 'x' is not defined")
    found = measure_horizon(transcript(llm(CODED), llm(CODED, new=(told,)), llm(said("9"), new=(user(OBSERVED),))))
    assert (found.calls, found.failures, found.identical_retries, found.label) == (2, 1, 1, "single-step")
