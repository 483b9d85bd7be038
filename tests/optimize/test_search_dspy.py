"""The DSPy that is installed: what it is called with, what it must not be told, and its other optimisers."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import pytest

from gpa.errors import UsageError
from gpa.optimize.search import engine
from tests.optimize import world as w
from tests.optimize.world import DEV, GOLD, RUNS, Plain, found, judge_model, recall_on, reflection_model, same, written


def test_gepa_is_never_told_to_cache_evaluations(plain: Plain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cache takes the score of training trace 3 for that of dev trace 3 (gepa 0.1.4, `EvaluationCache`)."""
    from gepa.api import optimize as true

    calls: list[dict[str, Any]] = []

    def spied(**options: Any) -> Any:
        calls.append(options)
        return true(**options)

    monkeypatch.setattr("gepa.optimize", spied)
    result = found(tmp_path, judge_model(), reflection_model())
    assert [one["cache_evaluation"] for one in calls] == [False]
    assert [one["run_dir"] for one in calls] == [None]  # no pickle is written, and none is read
    assert same(result, plain[0])
    for candidate in result.candidates:  # every dev score is one that the judge earned on that trace
        rubrics = written(tmp_path / f"out{candidate.number}", candidate)
        for run in DEV:
            if GOLD.by_trace[run.trace_id]:
                assert candidate.scores[run.trace_id] == pytest.approx(recall_on([run], rubrics))


def test_gepas_evaluation_cache_mixes_up_training_and_dev() -> None:
    """Why it stays off. When this fails, gepa tells them apart, and the test above can go."""
    from gepa.core.state import EvaluationCache

    cache: Any = EvaluationCache()
    cache.put_batch({"TC": "a rubric"}, [3], ["output on training trace 3"], [1.0], None)
    cached, uncached = cache.get_batch({"TC": "a rubric"}, [3])  # as the dev evaluation asks, for dev trace 3
    assert cached
    assert not uncached


def test_the_installed_gepa_takes_what_it_is_given() -> None:
    engine.check_dspy()


def test_another_gepa_is_refused_with_what_it_lacks() -> None:
    def other(metric: object, *, seed: int = 0) -> None:
        """A GEPA of some other version."""

    assert "log_dir" not in inspect.signature(other).parameters
    with pytest.raises(UsageError, match=r"GEPA takes .*max_metric_calls.* found dspy 9\.9: pip install 'agent-gpa\["):
        engine.check_signatures(other, other, "9.9")


@pytest.mark.parametrize("missing", ["dspy", "gepa.api"])
def test_without_the_extra_one_line_says_what_to_install(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import gpa.optimize.search as package

    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "gpa.optimize.search.program", raising=False)
    monkeypatch.delattr(package, "program", raising=False)
    with pytest.raises(UsageError, match=r"^optimising needs dspy.*pip install 'agent-gpa\[optimize\]'$") as error:
        engine.check_dspy()
    assert "\n" not in str(error.value)


def test_simba_writes_rules_within_the_budget_and_under_the_guard(tmp_path: Path) -> None:
    lucky = w.Scripted(w.lucky_answer, "scripted/judge")
    adviser = reflection_model(w.adviser_answer)
    result = found(tmp_path / "free", lucky, adviser, optimizer="simba", calls=250)
    assert result.winner is not None
    assert result.start is not None
    assert result.winner.score > result.start.score
    assert result.calls <= 250
    for request in adviser.requests:
        said = request.system + request.tail + "".join(turn.text for turn in request.turns)
        assert "annotator" not in said
        assert not any(run.trace_id in said for run in RUNS)
    assert all(not request.turns or request.turns[-1].role == "user" for request in lucky.requests)
    refusing = found(
        tmp_path / "guarded", w.Scripted(w.lucky_answer, "scripted/judge"), reflection_model(w.adviser_answer),
        optimizer="simba", calls=250, guard=lambda _start, _proposed, _train: "no",
    )  # fmt: skip
    assert refusing.winner is not None
    assert refusing.winner.number == 0
    assert {one.reason for one in refusing.rejected} == {"no"}


def test_miprov2_says_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(UsageError, match="pip install optuna"):
        found(tmp_path, judge_model(), reflection_model(), optimizer="miprov2")
