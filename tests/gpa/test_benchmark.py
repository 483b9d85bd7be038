"""The TRAIL benchmark: its numbers, both rules, its layouts, and the trivial predictors beside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from gpa.benchmark import Benchmark
from gpa.errors import InputError, UsageError
from gpa.judges.result_lines import result_line
from gpa.judges.trail import TrailError
from gpa.judges.verdict import CATEGORIES, AnyResult, Failure, Finding, NotApplicable, Verdict
from gpa.trail import (
    Annotations,
    Case,
    Predictions,
    check_part,
    find_layout,
    llm_spans,
    read_annotations,
    read_predictions,
    read_results,
    traces_beside,
)

TRAIL = Path(__file__).parents[2].parent / "shared/data/trail"
FORMAT, GOAL, ABUSE = "Formatting Errors", "Goal Deviation", "Resource Abuse"


@pytest.mark.skipif(not TRAIL.is_dir(), reason="needs the development part of TRAIL")
@pytest.mark.parametrize(
    ("name", "as_published", "files", "skipped", "f1", "location", "joint"),
    [
        ("gemini-2.5-flash_gaia", True, 62, 2, 0.3928, 0.3925, 0.1384),
        ("o4-mini_gaia", True, 62, 30, 0.2861, 0.2292, 0.0602),
        ("qwenlong-l1-32b_gaia", True, 62, 18, 0.2317, 0.1023, 0.0208),
        ("gemini-2.5-flash_swe_bench", True, 7, 1, 0.2648, 0.0000, 0.0000),
        ("gemini-2.5-flash_gaia", False, 62, 2, 0.3835, 0.3799, 0.1339),
    ],
)
def test_the_published_scorers_figures(
    name: str, as_published: bool, files: int, skipped: int, f1: float, location: float, joint: float
) -> None:
    annotations = read_annotations(TRAIL / name.partition("_")[2] / "gold")
    said = read_predictions(TRAIL / "predictions" / name, [case.trace_id for case in annotations.cases])
    scored = Benchmark(annotations, said, as_published)
    figures = scored.figures()
    assert (len(said.pairs) + len(scored.unreadable), len(scored.unreadable)) == (files, skipped)
    found = [figures.weighted_f1.value, figures.location.value, figures.joint.value]
    assert [round(value or 0, 4) for value in found] == [f1, location, joint]


def case(trace_id: str, *errors: tuple[str, str]) -> Case:
    return Case(trace_id, tuple(TrailError(category, span, "", "", "HIGH") for span, category in errors))


def said(**by_trace: Sequence[tuple[str, str]]) -> Predictions:
    return Predictions(
        "p",
        {trace_id: frozenset(pairs) for trace_id, pairs in by_trace.items()},
        {trace_id: frozenset(category for _, category in pairs) for trace_id, pairs in by_trace.items()},
    )


SPANS, NAMES = st.sampled_from("abcdef"), st.sampled_from((FORMAT, GOAL, ABUSE))
PAIR = st.tuples(SPANS, NAMES)
TRACE = st.tuples(st.lists(PAIR, max_size=4), st.lists(PAIR, max_size=4))


@settings(max_examples=30)
@given(st.lists(TRACE, min_size=1, max_size=5))
def test_weighted_f1_is_scikit_learns(traces: list[tuple[list[tuple[str, str]], list[tuple[str, str]]]]) -> None:
    cases = [case(str(number), *gold) for number, (gold, _) in enumerate(traces)]
    predictions = said(**{str(number): found for number, (_, found) in enumerate(traces)})
    figures = Benchmark(Annotations(tuple(cases), "", ()), predictions, as_published=False).figures()
    truth = [[int(name in {c for _, c in gold}) for name in CATEGORIES] for gold, _ in traces]
    guess = [[int(name in {c for _, c in found}) for name in CATEGORIES] for _, found in traces]
    if any(map(any, truth)):
        assert figures.weighted_f1.value == pytest.approx(f1_score(truth, guess, average="weighted", zero_division=0))
    else:
        assert figures.weighted_f1.value is None


@given(st.lists(PAIR, min_size=1, max_size=4), st.lists(SPANS, min_size=1, max_size=4, unique=True), st.integers(1, 4))
def test_random_spans_are_the_mean_over_all_draws(gold: list[tuple[str, str]], llm: list[str], cited: int) -> None:
    cited = min(cited, len(llm))
    found = [(f"x{number}", FORMAT) for number in range(cited)]
    scored = Benchmark(Annotations((case("t", *gold),), "", ()), said(t=found), False, {"t": frozenset(llm)})
    drawn = scored.random_llm_spans()
    assert drawn is not None
    spans, pairs = {span for span, _ in gold}, set(gold)
    every = list(combinations(llm, cited))
    location = sum(len(spans & set(draw)) for draw in every) / len(every) / len(spans)
    joint = sum(len(pairs & {(span, FORMAT) for span in draw}) for draw in every) / len(every) / len(pairs)
    assert drawn.location.value == pytest.approx(location)
    assert drawn.joint.value == pytest.approx(joint)
    assert drawn.location_precision.value == pytest.approx(location * len(spans) / cited)


def test_every_llm_span_under_the_commonest_category() -> None:
    scored = Benchmark(
        Annotations((case("t", ("a", GOAL), ("b", GOAL), ("tool", FORMAT)),), "", ()),
        said(),
        as_published=False,
        llm={"t": frozenset("abcd")},
    )
    every = scored.every_llm_span()
    assert every is not None
    assert [every.location.value, every.joint.value] == pytest.approx([2 / 3, 2 / 3])
    assert (every.location_precision.count, every.location_precision.total) == (2, 4)
    assert scored.missing == ("t",)


def test_a_trace_without_gold_scores_nothing_by_the_rule() -> None:
    scored = Benchmark(
        Annotations((case("t"), case("u", ("a", GOAL))), "", ()), said(t=[("a", GOAL)], u=[("a", GOAL)]), False
    )
    assert scored.figures().location.value == 0.5
    assert scored.figures().location_precision.value == 0.5


def finding(*spans: str, category: str = GOAL) -> Finding:
    return Finding(span_ids=spans, quote="", problem="", category=category, severity="LOW")


def verdict(trace_id: str, judge: str, *findings: Finding, sample: int = 0) -> Verdict:
    return Verdict(trace_id=trace_id, judge=judge, model="m", score=1, rationale="", findings=findings, sample=sample)


def test_our_results_count_at_every_span_over_all_judges(tmp_path: Path) -> None:
    lines: list[AnyResult] = [
        verdict("t", "TC", finding("a", "b")),
        verdict("t", "LC", finding("b", category=ABUSE), finding()),
        verdict("t", "LC", finding("z"), sample=1),
        NotApplicable(trace_id="u", judge="PA", model="m", reason="no plan"),
        Failure(trace_id="v", judge="PA", model="m", error_type="refusal", message=""),
    ]
    path = tmp_path / "results.jsonl"
    path.write_bytes(b"".join(map(result_line, lines)))
    found = read_results(path)
    assert found.pairs == {"t": frozenset({("a", GOAL), ("b", GOAL), ("b", ABUSE)}), "u": frozenset()}
    assert found.unreadable == ("v",)
    assert read_results(path, ["TC"]).pairs == {"t": frozenset({("a", GOAL), ("b", GOAL)})}


@pytest.mark.parametrize(
    ("gold", "traces"),
    [
        pytest.param("gaia/gold", "gaia/traces", id="one folder a part"),
        pytest.param(
            "benchmarking/processed_annotations_gaia", "benchmarking/data/GAIA", id="the published repository"
        ),
        pytest.param("processed_annotations_gaia", None, id="gold alone"),
    ],
)
def test_layouts(tmp_path: Path, gold: str, traces: str | None) -> None:
    for folder in filter(
        None, (gold, traces, "benchmarking/processed_annotations_swe_bench", "benchmarking/data/SWE Bench")
    ):
        (tmp_path / folder).mkdir(parents=True)
    found = find_layout(tmp_path, "gaia")
    assert (found.gold, found.traces) == (tmp_path / gold, tmp_path / traces if traces else None)
    if traces:
        other = find_layout(tmp_path, "swe_bench")
        assert (other.gold.name, other.traces and other.traces.name) == ("processed_annotations_swe_bench", "SWE Bench")


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected gaia/gold or an annotations folder of gaia, found none"):
        find_layout(tmp_path, "gaia")
    with pytest.raises(InputError, match="expected a folder of TRAIL gold files"):
        read_annotations(tmp_path)
    with pytest.raises(InputError, match="expected a folder of predictions"):
        read_predictions(tmp_path, [])
    with pytest.raises(UsageError, match=r"^--part: expected one of gaia, swe_bench, found 'x'$"):
        check_part("x")
    assert traces_beside(tmp_path) is None


def test_llm_spans_are_those_of_the_transcript(tmp_path: Path) -> None:
    def span(number: int, kind: str) -> dict[str, object]:
        return {
            "timestamp": "2025-01-01T00:00:00Z",
            "span_id": f"{number:016x}",
            "parent_span_id": None,
            "span_name": kind,
            "span_kind": "Internal",
            "service_name": "s",
            "span_attributes": {"openinference.span.kind": kind, "input.value": "i", "output.value": "o"},
            "duration": "PT1S",
            "status_code": "Ok",
            "child_spans": [],
        }

    trace_id = "ab" * 16
    trace = {"trace_id": trace_id, "spans": [span(1, "LLM"), span(2, "TOOL"), span(3, "LLM")]}
    (tmp_path / f"{trace_id}.json").write_text(json.dumps(trace))
    assert llm_spans(tmp_path, [trace_id, "cd"]) == {trace_id: frozenset({f"{1:016x}", f"{3:016x}"})}
