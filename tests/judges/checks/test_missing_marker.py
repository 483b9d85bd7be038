"""Which sentences demand a marker, and which outputs they are held against."""

from __future__ import annotations

from typing import Any

import pytest

from gpa.ingest.transcript import Plan
from gpa.judges.checks.missing_marker import demands, find
from tests.judges.checks.transcripts import call, llm, said, transcript, user


@pytest.mark.parametrize(
    ("sentence", "demanded"),
    [
        ("After the last step of the plan, write the '\\n<eop>' tag and stop there.", [("<eop>", "plan")]),
        ("The plan must end with '<plan_over>'.", [("<plan_over>", "plan")]),
        ("The code part has to end with '<over>' always.", [("<over>", "code")]),
        ("End your answer with '<done>'.", [("<done>", "final")]),
        ("Always begin your answer with 'RESULT:'.", [("RESULT:", "final")]),
        ("For the final answer, use the following template: RESULT: [YOUR RESULT]", [("RESULT:", "final")]),
        ("Wrap your final answer in <json>...</json>.", [("<json>", "final")]),
        ("Your final answer should be wrapped in <answer></answer> tags.", [("<answer>", "final")]),
        ("You must put your final answer inside \\boxed{}.", [("\\boxed{", "final")]),
        ("Finish your final response with the word TERMINATE.", [("TERMINATE", "final")]),
        ('Every response must end with "-- OVER".', [("-- OVER", "every")]),
        ("Start each reply with `STATUS:` and be brief.", [("STATUS:", "every")]),
        ("Finish your reply with 'TERMINATE'.", [("TERMINATE", "final")]),
        ("Your last line must be `FINAL RESULT: <number>`.", [("FINAL RESULT:", "final")]),
        ("The last line of your answer should read 'OVER <and out>'.", [("OVER <and out>", "final")]),
        ("Your final answer must be formatted as RESULT: [YOUR RESULT].", [("RESULT:", "final")]),
        ("Respond only with JSON.", [("JSON", "final")]),
        ("Answer only in valid JSON: no prose.", [("JSON", "final")]),
        ("If asked for data, respond only with JSON.", []),
        ("Respond only with JSON files that exist.", []),
        ("The last line of the file must be 'EOF'.", []),
        ("If you are unable, end your answer with 'NONE'.", []),
        ("Do not end your answer with 'Regards'.", []),
        ("For example, end your answer with 'x y z'.", []),
        ("End it with 'whatever'.", []),
        ("Work in a cycle of 'Thought:', 'Code:' and 'Observation:'.", []),
        ("The user's message may start with 'URGENT'.", []),
        ("It wasn't the plan to end with 'x'.", []),
    ],
)
def test_demands(sentence: str, demanded: list[tuple[str, str]]) -> None:
    assert [(demand.marker, demand.scope) for demand in demands(f"You are helpful.\n{sentence}\n")] == demanded


ANSWER = "End your answer with '<done>'."
EVERY = "Every response must end with '<over>'."
JSON = "Respond only with JSON."
PLAN = "The plan must end with '<eop>'."


@pytest.mark.parametrize(
    ("system", "steps", "plans", "labels"),
    [
        pytest.param(ANSWER, (llm(said("It is 7.")),), (), [("s1",)], id="final answer lacks it"),
        pytest.param(ANSWER, (llm(said("It is 7. <DONE>")),), (), [], id="present, case aside"),
        pytest.param(
            ANSWER,
            (llm(said("I look."), call("search")), llm(said("7 <done>"))),
            (),
            [],
            id="only the last text counts",
        ),
        pytest.param("", (llm(said("It is 7."), new=(user(ANSWER),)),), (), [("s1",)], id="demanded by the user"),
        pytest.param(
            "",
            (llm(said("Hm."), call("x"), new=(user(ANSWER),)), llm(said("7"))),
            (),
            [],
            id="instruction not in the last input",
        ),
        pytest.param(EVERY, (llm(said("a <over>")), llm(said("b"))), (), [("s2",)], id="every response"),
        pytest.param(EVERY, (llm(said("a")), llm(said("b")), llm(said("c"))), (), [], id="taken off by the API"),
        pytest.param(EVERY, (llm(said("a"), finish="stop_sequence"),), (), [], id="the API says so"),
        pytest.param(EVERY, (llm(said("a"), finish="length"),), (), [], id="cut by the token limit"),
        pytest.param(EVERY, (llm(call("search")),), (), [], id="no text"),
        pytest.param(
            PLAN,
            (llm(said("1. look")), llm(said("7"))),
            (Plan("s1", "main", "1. look", replan=False),),
            [("s1",)],
            id="plan only",
        ),
        pytest.param("", (llm(said("1. look"), new=(user(PLAN),)),), (), [("s1",)], id="plan asked for in this call"),
        pytest.param("Code must end with '<over>'.", (llm(said("```py\nx\n```")),), (), [], id="code that ran"),
        pytest.param("", (llm(said("x")),), (), [], id="no demand"),
        pytest.param(ANSWER, (llm(said("Which city?")),), (), [], id="asks back"),
        pytest.param(JSON, (llm(said("It is 4.")),), (), [("s1",)], id="prose for JSON"),
        pytest.param(JSON, (llm(said('```json\n{"sum": 4}\n```')),), (), [], id="JSON in a fence"),
        pytest.param(JSON, (llm(said("4")),), (), [], id="a number is JSON"),
    ],
)
def test_find(system: str, steps: tuple[Any, ...], plans: tuple[Plan, ...], labels: list[tuple[str, ...]]) -> None:
    assert [hit.labels for hit in find(transcript(*steps, system=system, plans=plans))] == labels
