"""Few tools of many: precedence, cap, search, and searching again for what is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.errors import InputError, UsageError
from gpa.plans.capabilities import RegisteredTool, Registry
from gpa.plans.narrowing import CAPS, OVER, LexicalIndex, Scored, narrow, questions, retrieved
from gpa.plans.offering import load_template, needed, offer, unmet
from gpa.plans.requirements import Requirements
from tests.plans.revenue import ASKED, COLUMNS, MAPPING, QUESTION, REGISTRY, TEMPLATE


def test_tools_are_the_template_then_what_was_found() -> None:
    template = ("parse_datetime", "aggregate", "plot_line", "compute_summary_stats")
    found = (Scored("segment_metric", 0.8), Scored("plot_bar", 0.6))
    assert narrow(found, template=template, always=MAPPING.safety).tools == (*template, "segment_metric", "plot_bar")


def test_found_tools_give_way_to_those_always_offered_lowest_first() -> None:
    found = [Scored(f"r{n}", 1 - n / 10) for n in range(1, 6)]
    offered = narrow(found, template=("t1", "t2", "t3", "t4", "t5"), always=MAPPING.safety)
    assert offered.tools == (
        "t1",
        "t2",
        "t3",
        "t4",
        "t5",
        "r1",
        "r2",
        "aggregate",
        "plot_line",
        "compute_summary_stats",
    )
    assert offered.dropped == ("r3",)


def test_template_and_always_offered_tools_never_give_way() -> None:
    offered = narrow([Scored("r", 1.0)], template=[f"t{n}" for n in range(9)], always=("x", "y"), cap=8)
    assert len(offered.tools) == 11
    assert "11 tools" in offered.notes[0]


@pytest.mark.parametrize("cap", [7, 13])
def test_a_cap_outside_its_bounds_is_refused(cap: int) -> None:
    with pytest.raises(UsageError, match="cap: expected 8 to 12 tools"):
        narrow((), cap=cap)


def test_the_lexical_index_finds_tools_by_their_words_and_breaks_ties_by_name() -> None:
    index = LexicalIndex(REGISTRY)
    assert index.search("outliers and spikes", 3)[0].tool == "detect_anomalies"
    assert index.search("zzz", 3) == []
    same = LexicalIndex(Registry((RegisteredTool("b", description="draw"), RegisteredTool("a", description="draw"))))
    assert [one.tool for one in same.search("draw", 2)] == ["a", "b"]


def test_retrieval_asks_once_for_each_requirement_and_keeps_the_best_score() -> None:
    asked = questions(ASKED)
    assert len(asked) == 10
    found = retrieved(asked, LexicalIndex(REGISTRY))
    assert {"aggregate", "plot_line", "plot_bar"} <= {one.tool for one in found}
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


@given(
    template=st.lists(st.sampled_from("abcdefghijklmn"), max_size=14),
    found=st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), max_size=26, unique=True),
    always=st.lists(st.sampled_from("xyz"), max_size=3, unique=True),
    cap=st.sampled_from(list(CAPS)),
)
def test_the_cap_holds_and_nothing_fixed_is_ever_dropped(
    template: list[str], found: list[str], always: list[str], cap: int
) -> None:
    scored = [Scored(tool, 1 - n / 100) for n, tool in enumerate(found)]
    offered = narrow(scored, template=template, always=always, cap=cap)
    fixed = {*template, *always}
    assert fixed <= set(offered.tools) <= fixed | set(found)
    assert len(set(offered.tools)) == len(offered.tools)
    assert len(offered.tools) <= max(cap + OVER, len(fixed))
    if len(offered.tools) > cap:
        assert not set(offered.tools[cap:]) - fixed


def test_what_is_needed_are_sets_of_alternatives_each_once() -> None:
    assert needed(ASKED, MAPPING, {}) == (
        ("aggregate",),
        ("aggregate", "segment"),
        ("time_series_plot", "time_series_features"),
        ("plot",),
        ("aggregate", "summary_stats"),
        ("parse_datetime",),
    )
    assert ("parse_datetime",) not in needed(ASKED, MAPPING, COLUMNS)


def test_the_walkthrough_is_offered_everything_it_needs() -> None:
    offered = offer(
        ASKED, REGISTRY, MAPPING, LexicalIndex(REGISTRY), question=QUESTION, types=COLUMNS, template=TEMPLATE
    )
    assert offered.narrowed.tools[:4] == TEMPLATE
    assert {"segment_metric", "plot_bar"} <= set(offered.narrowed.tools)
    assert (offered.missing, offered.miss_rate, len(offered.rounds)) == ((), 0.0, 1)


MANY = Registry(
    (
        *(RegisteredTool(f"chart_{n:02}", ("plot",), description=f"chart trend {n}") for n in range(30)),
        RegisteredTool("detect_anomalies", description="known to the mapping alone, by its name"),
    )
)


def test_a_wider_search_and_a_question_for_what_is_missing_follow_a_miss() -> None:
    asked = Requirements(analysis=("anomaly",), outputs=("chart",))
    offered = offer(asked, MANY, MAPPING, LexicalIndex(MANY))
    assert [(one.limit, one.missing) for one in offered.rounds] == [
        (10, (("anomaly_detection",),)),
        (30, (("anomaly_detection",),)),
        (30, ()),
    ]
    assert (offered.miss_rate, offered.left_rate, offered.added) == (0.5, 0.0, ("detect_anomalies",))
    assert len(offered.narrowed.tools) == 8


def test_what_no_tool_can_do_stays_missing_after_a_bounded_number_of_searches() -> None:
    asked = Requirements(analysis=("correlation",))
    offered = offer(asked, MANY, MAPPING, LexicalIndex(MANY))
    assert len(offered.rounds) == 3
    assert offered.missing == (("correlation_stats", "correlation_plot"),)
    assert unmet(offered.needed, MANY.names, MANY, MAPPING) == offered.missing


def narrowed_tools() -> Any:
    return offer(ASKED, REGISTRY, MAPPING, LexicalIndex(REGISTRY), question=QUESTION, cap=10)


@pytest.mark.parametrize("seed", ["0", "4711"])
def test_the_same_tools_in_the_same_order_in_every_process(seed: str) -> None:
    program = "from tests.plans.test_narrowing import narrowed_tools; print(narrowed_tools())"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == str(narrowed_tools())


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        pytest.param(json.dumps(["a", "b", "a"]), ("a", "b"), id="names"),
        pytest.param(
            json.dumps({"name": "t", "curated_tools": ["a"], "steps": [{"tool": "b"}]}), ("a", "b"), id="template"
        ),
        pytest.param(json.dumps([{"id": 1, "tool": "a"}, {"id": 2, "tool": "b"}]), ("a", "b"), id="plan"),
        pytest.param("a(x=1)\nb(y=2)", ("a", "b"), id="calls"),
    ],
)
def test_a_template_is_a_list_of_tools_or_a_plan(tmp_path: Path, text: str, tools: tuple[str, ...]) -> None:
    path = tmp_path / "template.json"
    path.write_text(text)
    assert load_template(path) == tools


@pytest.mark.parametrize("text", ["{}", "[]", "[1]", ""])
def test_a_template_without_tools_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "template.json"
    path.write_text(text)
    with pytest.raises(InputError, match="expected a template"):
        load_template(path)
