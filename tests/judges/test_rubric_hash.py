"""The hash of what is asked: another one for another question, the same for the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpa.judges.examples import Example
from gpa.judges.judge import Judge
from gpa.judges.model import ScriptedModel
from gpa.judges.questions import Asking
from gpa.judges.rubrics import Rubric, load_rubrics
from tests.judges.replies import judge, reply, scripted


class TestRubricHash:
    CHANGES: dict[str, dict[str, Any]] = {
        "notes": {"notes": "One agent."},
        "example": {"examples": (Example(evidence="e"),)},
        "mode": {"mode": "single"},
        "checks": {"with_checks": True},
        "effort": {"effort": "high"},
        "another effort": {"effort": "low"},
        "rubric": {"rubrics": {**load_rubrics(), "TC": Rubric(code="TC", title="T", text="# T")}},
    }
    SAME: dict[str, dict[str, Any]] = {
        "max_tokens": {"max_tokens": 2_000},
        "cache": {"cache_ttl": None},
        "sample": {"sample": 3},
        "redaction": {"clean": str},
        "another rubric": {"rubrics": {**load_rubrics(), "LC": Rubric(code="LC", title="T", text="# T")}},
        "fewer rubrics": {"rubrics": {"TC": load_rubrics()["TC"]}},
        "an example for another judge": {"examples": (Example(evidence="e", dimensions=("LC",)),)},
    }

    def hash(self, **fields: Any) -> str:
        return judge(ScriptedModel([]), **fields).rubric_hash("TC")

    def test_it_changes_with_all_that_is_asked(self) -> None:
        hashes = [self.hash(), *(self.hash(**fields) for fields in self.CHANGES.values())]
        assert len(set(hashes)) == len(hashes)
        assert Judge(ScriptedModel([]), load_rubrics(), Asking(frame="other")).rubric_hash("TC") not in hashes

    @pytest.mark.parametrize("fields", SAME.values(), ids=SAME)
    def test_and_with_nothing_else(self, fields: dict[str, Any]) -> None:
        assert self.hash(**fields) == self.hash()

    def test_it_does_not_depend_on_the_model(self) -> None:
        assert judge(ScriptedModel([], name="a/b", context_window=9_000)).rubric_hash("TC") == self.hash()

    def test_in_single_mode_every_rubric_counts(self) -> None:
        other = {**load_rubrics(), "LC": Rubric(code="LC", title="T", text="# T")}
        assert self.hash(mode="single", rubrics=other) != self.hash(mode="single")

    def test_it_is_the_same_in_another_process(self) -> None:
        program = (
            "from tests.judges.test_rubric_hash import TestRubricHash; print(TestRubricHash().hash(with_checks=True))"
        )
        root = Path(__file__).parents[2]
        run_ = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
        assert run_.stdout.strip() == self.hash(with_checks=True)

    def test_a_verdict_carries_it(self) -> None:
        [verdict] = scripted([reply()])
        assert verdict.rubric_hash == self.hash()
