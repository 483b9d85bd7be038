"""Files of plans: every shape that is read, the validator, what is written, and what is said of the rest."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.errors import InputError
from gpa.ingest.problems import Problem
from gpa.plans.metrics import METRICS, POINTS
from gpa.plans.plan import Dependency, Plan, PlanStep
from gpa.plans.plan_files import PlanRow, read_one, read_rows
from gpa.plans.plan_reading import read_plan
from gpa.plans.plan_release import PLANS, QUERIES, write_plans, write_queries
from gpa.plans.plan_text import plain_plan
from gpa.plans.points import load_points
from gpa.plans.validation import validate

TWO = {"1": {"step": "RAG([], 'Why?')", "depends_on": []}, "2": {"query": "LLM('Say (1)')", "depends_on": [1]}}


def rows(path: Path, **more: Any) -> tuple[list[PlanRow], list[Problem]]:
    problems: list[Problem] = []
    return read_rows([str(path)], on_problem=problems.append, **more), problems


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("plan.json", json.dumps(TWO, indent=2), id="one plan"),
        pytest.param("plan.json", json.dumps({"query": "Why?", "plan": TWO}), id="a row"),
        pytest.param("plan.json", json.dumps([{"plan": json.dumps(TWO)}]), id="a list of rows, the plan in a text"),
        pytest.param("plan.jsonl", json.dumps(TWO) + "\n", id="a line"),
        pytest.param(
            "plan.txt",
            "{1: {'step': RAG([], 'Why?'), 'depends_on': []},\n 2: {'query': LLM('Say (1)'), 'depends_on': [1]},}",
            id="nearly JSON",
        ),
        pytest.param("plan.md", f"Here it is:\n```json\n{json.dumps(TWO)}\n```\n", id="fenced"),
        pytest.param("best.json", json.dumps({"best_plan": json.dumps(TWO)}), id="a best plan alone"),
        pytest.param("best.json", json.dumps({"plan_lineage": [TWO]}), id="the last of a lineage"),
    ],
)
def test_a_plan_is_the_same_in_every_shape(tmp_path: Path, name: str, text: str) -> None:
    (row,), problems = rows(written(tmp_path, name, text))
    assert problems == []
    assert row.rejected == ()
    assert row.plan is not None
    assert [(one.tool, one.instruction, one.needs) for one in row.plan] == [
        ("RAG", "Why?", ()),
        ("LLM", "Say (1)", ("1",)),
    ]


def test_lines_bring_queries_references_lineages_and_kinds(tmp_path: Path) -> None:
    line = {"query_id": 7, "query": "Why?", "plan": TWO, "reference": TWO, "lineage": [TWO, TWO], "compound": True}
    (row,), problems = rows(written(tmp_path, "plans.jsonl", json.dumps(line)))
    assert problems == []
    assert (row.id, row.query, len(row.lineage)) == ("7", "Why?", 2)
    assert row.reference is not None
    assert row.groups == {"compoundness": "compound", "steps": "1-2", "hops": "1"}


def test_a_line_that_is_no_json_costs_no_other(tmp_path: Path) -> None:
    line = json.dumps({"plan": TWO})
    found, problems = rows(written(tmp_path, "plans.jsonl", f"{line}\n{{broken\n{line}\n"))
    assert len(found) == 2
    assert [str(one).rpartition("plans.jsonl")[2] for one in problems] == [
        ":2: expected a JSON object, found '{broken'"
    ]


def test_a_note_in_a_folder_is_passed_over_and_by_its_name_a_plan_that_failed(tmp_path: Path) -> None:
    written(tmp_path, "plan.json", json.dumps(TWO))
    note = written(tmp_path, "README.txt", "Plans of last week.")
    found, problems = rows(tmp_path)
    assert len(found) == 1
    assert [str(one) for one in problems] == [f"{note}: holds no plan: passed over"]
    (named,), problems = rows(note)
    assert problems == []
    assert (named.plan, len(named.rejected)) == (None, 1)


def test_a_reference_that_is_none_is_told(tmp_path: Path) -> None:
    line = json.dumps({"plan": TWO, "reference": {"1": {"step": "LLM('x')", "depends_on": [1]}}})
    (row,), problems = rows(written(tmp_path, "plans.jsonl", line))
    assert row.reference is None
    assert "its reference is not a valid plan: step 1: depends_on: expected an earlier step" in str(problems[0])


def test_the_stated_plans_of_a_trace_are_rows() -> None:
    folder = Path(__file__).parents[2] / "fixtures/traces"
    found, problems = rows(folder / "otel-genai-planner")
    assert problems == []
    assert [row.id.rpartition("/")[2] for row in found] == ["s2", "s5", "s2", "s5", "s2"]
    assert all(row.trace_id and row.plan and row.query for row in found)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        pytest.param({"1": [2], "2": []}, "step 1: depends_on: expected an earlier step, found step 2", id="forwards"),
        pytest.param({"1": [1]}, "step 1: depends_on: expected an earlier step, found itself", id="itself"),
        pytest.param(
            {"1": [], "2": [5]}, "step 2: depends_on[0]: expected a step of the plan, found '5'", id="unknown"
        ),
        pytest.param({"1": [], "3": [1]}, "step 3: id: expected step 2 after step 1, found 3", id="a gap"),
        pytest.param({"2": [], "3": [2]}, "step 2: id: expected steps numbered from 1, found 2 first", id="late"),
    ],
)
def test_the_validator_rejects_with_the_place(source: dict[str, list[int]], said: str) -> None:
    plan = {key: {"step": "LLM('x')", "depends_on": needs} for key, needs in source.items()}
    found = validate(plan)
    assert found.usable is None
    assert any(str(problem).startswith(said) for problem in found.rejected), found.rejected


@pytest.mark.parametrize(
    ("step", "said"),
    [
        pytest.param({"step": "LLM('x')"}, "expected a list of steps, found only step", id="no depends_on"),
        pytest.param("LLM('x')", "expected an object with depends_on", id="no object"),
        pytest.param({"depends_on": []}, "expected a tool or an instruction", id="no call"),
    ],
)
def test_a_step_lacks_nothing(step: Any, said: str) -> None:
    problems = validate({"1": step})
    assert any(said in str(one) for one in (*problems.rejected, *problems.noted))


def test_a_cycle_is_named() -> None:
    plan = {"1": {"step": "LLM('x')", "depends_on": [2]}, "2": {"step": "LLM('y')", "depends_on": [1]}}
    assert any("cycle: 1 -> 2 -> 1" in str(problem) for problem in validate(plan).rejected)


@pytest.mark.parametrize(
    ("needs", "hops", "sinks"),
    [
        ({1: [], 2: [1], 3: [2], 4: [3], 5: [3], 6: [4, 5]}, 4, ("6",)),
        ({1: [], 2: [], 3: [1, 2]}, 1, ("3",)),
        ({1: [], 2: [1], 3: [1], 4: [2, 3]}, 2, ("4",)),
        ({1: [], 2: []}, 0, ("1", "2")),
    ],
    ids=["six steps", "two into one", "diamond", "apart"],
)
def test_hops_are_counted_to_the_last_steps(needs: dict[int, list[int]], hops: int, sinks: tuple[str, ...]) -> None:
    source = {str(step): {"step": "LLM('x')", "depends_on": some} for step, some in needs.items()}
    plan = validate(source).usable
    assert plan is not None
    assert (plan.hops(), plan.sinks) == (hops, sinks)


def test_tables_of_the_public_release_are_joined_by_query_id(tmp_path: Path) -> None:
    queries = io.StringIO()
    table = csv.writer(queries)
    table.writerow(QUERIES)
    table.writerow(("7", "Test", "Why?", "1", "0", "2", "1-2", json.dumps(TWO), json.dumps([TWO])))
    plans = io.StringIO()
    table = csv.writer(plans)
    table.writerow(PLANS)
    table.writerow(("7", "o3-mini", "with", json.dumps(TWO)))
    table.writerow(("7", "tiny", "without", "I cannot plan this."))
    known = written(tmp_path, "queries.csv", queries.getvalue())
    found, problems = rows(written(tmp_path, "plans.csv", plans.getvalue()), queries=[str(known)])
    assert problems == []
    assert [(row.id, row.planner, row.query, row.plan is None) for row in found] == [
        ("7:o3-mini, with", "o3-mini, with", "Why?", False),
        ("7:tiny, without", "tiny, without", "Why?", True),
    ]
    assert all(row.reference is not None for row in found)
    assert found[0].groups == {"subjectivity": "subjective", "compoundness": "simple", "steps": "1-2", "hops": "1"}

    again = io.StringIO()
    assert write_plans(found, again) == 2
    (first, second) = csv.DictReader(io.StringIO(again.getvalue()))
    assert (first["query_id"], first["llm"], first["prompt_type"]) == ("7", "o3-mini", "with")
    assert read_plan(first["plan"]).steps[1].needs == ("1",)
    assert second["plan"] == "I cannot plan this."
    again = io.StringIO()
    assert write_queries(found, again) == 1
    (query,) = csv.DictReader(io.StringIO(again.getvalue()))
    assert tuple(query) == QUERIES
    assert (query["is_query_subjective"], query["# steps in the BPP"], len(json.loads(query["plan_lineage"]))) == (
        "1",
        "2",
        1,
    )


def test_a_file_with_two_plans_is_no_reference(tmp_path: Path) -> None:
    line = json.dumps({"plan": TWO})
    problems: list[Problem] = []
    assert read_one(str(written(tmp_path, "p.jsonl", f"{line}\n{line}\n")), on_problem=problems.append) is None
    assert "expected one plan, found 2" in str(problems[0])


words = st.text(st.characters(codec="utf-8", exclude_characters="()$#{}<>"), min_size=1, max_size=12).filter(str.strip)
names = st.from_regex(r"[a-z_]{1,8}", fullmatch=True).filter(str.isidentifier)


arguments = st.dictionaries(names, st.integers() | words, max_size=2)


@given(st.lists(st.tuples(names, words, arguments), min_size=1, max_size=4))
def test_a_plan_shown_reads_back_with_the_same_tools_and_needs(steps: list[tuple[str, str, dict[str, Any]]]) -> None:
    made = Plan(
        tuple(
            PlanStep(
                str(number),
                tool,
                f"do {words}",
                arguments,
                (Dependency(str(number - 1)),) if number > 1 else (),
            )
            for number, (tool, words, arguments) in enumerate(steps, 1)
        )
    )
    read = read_plan(json.loads(json.dumps(plain_plan(made))))
    assert [(one.id, one.tool, one.needs) for one in read] == [(one.id, one.tool, one.needs) for one in made]


def test_points_come_from_a_file_and_keep_their_budgets(tmp_path: Path) -> None:
    path = written(tmp_path, "points.toml", "[points]\nformat = 15\nquery_adherence = 20\n")
    assert load_points(path) == {**POINTS, "format": 15.0, "query_adherence": 20.0}
    rest = "\n".join(f"{name} = 10" for name in METRICS)
    even = written(tmp_path, "even.toml", f"[points]\n{rest}\n[budgets]\neffectiveness = 40\n")
    assert set(load_points(even).values()) == {10.0}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[points]\nformat = 25\n", "expected 70 points in effectiveness .*, found 75"),
        ("[points]\nspeed = 1\n", "points: expected one of .*, found 'speed'"),
        ("[points]\nformat = -1\n", r"points.format: expected a number from 0, found -1"),
        ("[budget]\n", "expected \\[points\\] of metrics"),
    ],
    ids=["sum", "unknown", "negative", "table"],
)
def test_points_that_are_none_are_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_points(written(tmp_path, "points.toml", text))
