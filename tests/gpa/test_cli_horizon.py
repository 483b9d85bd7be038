"""`gpa horizon` and what it adds to `gpa score`: tables, paired comparison, regression, strata."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest

from gpa.errors import UsageError
from gpa.horizon import Outcome, regress, strata, stratum
from gpa.ingest.assembly import read_traces
from gpa.ingest.transcript import transcribe
from gpa.plans.horizon import LABELS, Horizon, measure_horizon
from tests.gpa.command_line import gpa

ROOT = Path(__file__).parents[2]
TRACES = ROOT / "fixtures/traces/otel-genai-planner"
PLANTED = ROOT / "fixtures/gold/planted.jsonl"
STATS = "needs statsmodels: pip install 'agent-gpa[stats]'"


def measured() -> list[Horizon]:
    return [measure_horizon(transcribe(trace)) for trace in read_traces([TRACES])]


def test_json_holds_every_trace_with_its_label_and_evidence() -> None:
    done = gpa("horizon", TRACES, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert sorted(row["label"] for row in found["traces"]) == sorted(LABELS)
    assert all(row["evidence"] for row in found["traces"])
    assert {row["label"]: row["traces"]["count"] for row in found["tables"]["labels"]["rows"]} == dict.fromkeys(
        LABELS, 1
    )


def test_a_line_a_trace_is_shown_on_demand() -> None:
    assert "[s2] planned 4 calls with 3 dependencies" not in gpa("horizon", TRACES).out
    assert "[s2] planned 4 calls with 3 dependencies" in gpa("horizon", TRACES, "--all").out


def test_runs_of_the_same_question_are_compared_in_pairs() -> None:
    done = gpa(
        "horizon",
        TRACES / "plan_reconsidered.traces.jsonl",
        "--against",
        TRACES / "step_by_step.traces.jsonl",
        "--json",
    )
    rows = {row["figure"]: row for row in json.loads(done.out)["tables"]["compare"]["rows"]}
    assert (rows["monitoring rate"]["first"], rows["monitoring rate"]["second"]) == (pytest.approx(2 / 3), 1.0)
    tokens = rows["input tokens"]
    assert tokens["second / first"] == pytest.approx(tokens["second"] / tokens["first"])
    assert rows["calls"]["pairs"] == 1


def test_the_worked_example_of_the_token_ratio() -> None:
    from msgspec.structs import replace

    from gpa.horizon import compare

    one = measured()[0]
    first, second = (
        {"q": [replace(one, tokens=replace(one.tokens, input_tokens=count))]} for count in (43_719, 119_431)
    )
    [table] = compare(first, second)
    assert table.row("input tokens")["second / first"] == pytest.approx(2.73, abs=0.005)


def test_accuracy_joins_the_comparison_when_it_is_known(tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    ids = {one.label: one.trace_id for one in measured()}
    labels.write_text(
        json.dumps({"trace_id": ids["hybrid"], "label": "partially_correct"})
        + "\n"
        + json.dumps({"trace_id": ids["single-step"], "correct": True})
        + "\n"
    )
    done = gpa(
        "horizon", TRACES / "plan_reconsidered.traces.jsonl", "--against", TRACES / "step_by_step.traces.jsonl",
        "--correct", labels, "--json",
    )  # fmt: skip
    [row] = [row for row in json.loads(done.out)["tables"]["compare"]["rows"] if row["figure"] == "accuracy"]
    assert (row["first"], row["second"]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((TRACES, "--regress"), "--regress needs --correct FILE: which answers were right"),
        (
            (TRACES / "one_call.traces.jsonl", "--against", TRACES / "whole_plan.traces.jsonl"),
            "the two sets of runs have no question in common; what pairs them is --pair-by",
        ),
    ],
)
def test_what_does_not_go_together(arguments: tuple[object, ...], message: str) -> None:
    done = gpa("horizon", *arguments)
    assert (done.code, done.err) == (2, f"gpa: {message}\n")


def test_wrong_lines_of_answers_are_all_told(tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text('{"trace_id": "a", "correct": true}\n{"trace_id": "b", "correct": "perhaps"}\nx\n')
    done = gpa("horizon", TRACES, "--correct", labels)
    assert done.code == 2
    assert "labels.jsonl:2: " in done.err
    assert "labels.jsonl:3: " in done.err


def outcomes(count: int = 600) -> list[Outcome]:
    """Right answers get rarer with depth, by a known amount; two runs a question, one of each kind."""
    draw = random.Random(7)
    runs = []
    for question in range(count // 2):
        depth, breadth = draw.choice([1.0, 2.0, 3.0, 4.0]), draw.choice([1.0, 1.5, 2.0])
        for single in (False, True):
            chance = 1 / (1 + 2.718281828 ** (1.1 * (depth - 2.5) - 0.5))
            runs.append(Outcome(str(question), draw.random() < chance, single, depth, breadth))
    return runs


def test_the_regression_finds_what_the_answers_depend_on() -> None:
    pytest.importorskip("statsmodels", reason=STATS)
    table = regress(outcomes())
    terms = [row[0] for row in table.rows]
    assert terms == ["intercept", "depth", "breadth", "single step", "depth x single step", "breadth x single step"]
    coefficient, stars = table.row("depth")["coefficient"], table.row("depth")["stars"]
    assert isinstance(coefficient, float)
    assert -1.6 < coefficient < -0.9  # 1.1 a step of depth, whose spread is 1.118
    assert stars == "**"
    assert table.row("single step")["stars"] == ""


def test_the_regression_equals_a_plain_logit_with_clustered_errors() -> None:
    sm = pytest.importorskip("statsmodels.api", reason=STATS)
    import numpy as np

    runs = outcomes(200)
    table = regress(runs)
    columns = [[one.depth for one in runs], [one.breadth for one in runs]]
    scaled = [(np.asarray(column) - np.mean(column)) / np.std(column) for column in columns]
    single = np.asarray([float(one.single_step) for one in runs])
    design = np.column_stack([np.ones(len(runs)), *scaled, single, scaled[0] * single, scaled[1] * single])
    groups = np.asarray([int(one.question) for one in runs])
    fitted = sm.Logit(np.asarray([float(one.correct) for one in runs]), design).fit(
        disp=0, cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}
    )
    assert [row[1] for row in table.rows] == pytest.approx(list(fitted.params), abs=1e-5)
    assert [row[2] for row in table.rows] == pytest.approx(list(fitted.bse), rel=1e-4)


def test_a_term_that_does_not_vary_is_left_out() -> None:
    pytest.importorskip("statsmodels", reason=STATS)
    table = regress([one._replace(single_step=True, breadth=1.0) for one in outcomes(100)])
    assert [row[0] for row in table.rows] == ["intercept", "depth"]
    assert table.notes[-1] == "left out, because it does not vary: breadth, single step"


def test_without_statsmodels_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "statsmodels.api", None)
    with pytest.raises(UsageError) as caught:
        regress(outcomes(10))
    assert str(caught.value) == "the regression needs statsmodels: pip install 'agent-gpa[stats]'"


def test_answers_that_are_all_right_cannot_be_explained() -> None:
    pytest.importorskip("statsmodels", reason=STATS)
    with pytest.raises(UsageError, match="right and wrong answers"):
        regress([one._replace(correct=True) for one in outcomes(10)])


def test_strata_hold_every_trace_once_in_order() -> None:
    horizons = measured()
    assert list(strata(horizons, "horizon")) == list(LABELS)
    depths = strata(horizons, "depth")
    assert list(depths) == ["depth 1", "depth 2", "depth 3", "depth 4+"]
    assert sum(map(len, depths.values())) == len(horizons)


@pytest.mark.parametrize(
    ("calls", "name"),
    [(0, "calls 0"), (1, "calls 1"), (2, "calls 2-3"), (3, "calls 2-3"), (10, "calls 7-10"), (11, "calls 11+")],
)
def test_bins_of_calls(calls: int, name: str) -> None:
    from msgspec.structs import replace

    assert stratum(replace(measured()[0], calls=calls), "calls") == name


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("score") / "gpa.db"
    assert gpa("evaluate", ROOT / "fixtures/traces", "--store", path).code in {0, 2}
    return path


def test_every_table_of_a_score_is_there_once_more_by_horizon(store: Path) -> None:
    plain = json.loads(gpa("score", store, "--gold", PLANTED, "--json").out)["tables"]
    done = gpa("score", store, "--gold", PLANTED, "--by", "horizon", "--json")
    assert done.code == 0, done.err
    tables = json.loads(done.out)["tables"]
    assert set(tables) == set(plain) | {f"{name}_by_horizon" for name in plain}
    for table in ("counts", "matrix"):
        first = next(iter(plain[table]["rows"][0]))
        rows = tables[f"{table}_by_horizon"]["rows"]
        assert all(row[first].partition(": ")[0] in LABELS for row in rows)
    whole = sum(row["all"] for row in plain["counts"]["rows"] if row["dimension"] == "errors")
    parts = [row["all"] for row in tables["counts_by_horizon"]["rows"] if row["dimension"].endswith(": errors")]
    assert sum(parts) == whole
    assert len(parts) > 1


def test_a_comparison_has_strata_too(store: Path) -> None:
    done = gpa("score", store, store, "--gold", PLANTED, "--by", "calls", "--json")
    assert done.code == 0, done.err
    assert "compare_caught_by_calls" in json.loads(done.out)["tables"]


def test_strata_need_the_traces(store: Path, tmp_path: Path) -> None:
    lines = tmp_path / "r.jsonl"
    gpa("evaluate", ROOT / "fixtures/traces/pydantic-ai", "--jsonl", lines)
    done = gpa("score", lines, "--gold", PLANTED, "--by", "depth")
    assert (done.code, done.err) == (2, "gpa: --by depth needs the traces: --traces PATH, or a store that holds them\n")
