"""Options that contradict each other, and what cannot be opened: said before anything is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from gpa.errors import GpaError, InputError, StoreError, UsageError
from gpa.evaluation import evaluate
from gpa.judges.model import ScriptedModel
from gpa.judging import Judging
from tests.gpa.judging.runs import ROOT, SONNET, A


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"batch": True, "requests_to": "q.jsonl"},
            "--batch: contradicts --requests-to, with which nothing is sent",
        ),
        (
            {"max_cost": 1, "responses_from": ("a.jsonl",)},
            "--max-cost: contradicts --responses-from, with which nothing is sent",
        ),
        (
            {"base_url": "http://127.0.0.1", "responses_from": ("a.jsonl",)},
            "--base-url: contradicts --responses-from, with which nothing is sent",
        ),
        (
            {"batch": True, "cache": None},
            "--batch: contradicts --no-cache: the cache remembers which batch is out",
        ),
    ],
)
def test_options_that_contradict_each_other(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        Judging(**options)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("model", "options", "kind", "message"),
    [
        ("ollama/x", {"batch": True}, UsageError, "--batch: expected an anthropic/ model, found ollama/x (it has no"),
        (SONNET, {"max_cost": -1.0}, UsageError, "--max-cost: expected an amount of USD that is not negative"),
        (
            "anthropic/claude-new-9",
            {"max_cost": 1.0},
            UsageError,
            "--max-cost: expected a price for anthropic/claude-new-9, found none in the table of",
        ),
        (SONNET, {"concurrency": 0}, UsageError, "--concurrency: expected a number above 0, found 0"),
        (SONNET, {"agent_notes": "no.md"}, InputError, "no.md: expected notes on the agent, found: No such file"),
        (SONNET, {"examples": "no.jsonl"}, InputError, "no.jsonl: expected a file of examples, found: No such file"),
        (SONNET, {"prices": "no.toml"}, InputError, "no.toml: expected a TOML file of prices, found: No such file"),
        (SONNET, {"rubrics": "no"}, UsageError, "no: expected a folder with rubrics (TC.md, ...), found none"),
        (SONNET, {"responses_from": ("no.jsonl",)}, InputError, "no.jsonl: expected a file of response lines, found"),
        (SONNET, {"requests_to": "no/q.jsonl"}, InputError, "no/q.jsonl: expected a place to write requests to"),
        (SONNET, {"cache": "README.md"}, StoreError, "README.md: expected a response cache (SQLite)"),
    ],
    ids=[
        "batch",
        "negative bound",
        "no price",
        "concurrency",
        "notes",
        "examples",
        "prices",
        "rubrics",
        "responses",
        "requests",
        "cache",
    ],
)
def test_what_cannot_be_opened_is_said_before_anything_is_asked(
    model: str, options: dict[str, Any], kind: type[GpaError], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(kind) as error:
        evaluate(A, model=model, judging=Judging(**options))
    assert str(error.value).startswith(message)


def test_no_key_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(UsageError) as error:
        evaluate(A, model=SONNET)
    assert str(error.value) == f"{SONNET}: expected an API key in ANTHROPIC_API_KEY, found none"


@pytest.mark.parametrize(("content", "found"), [(b"  \n", "an empty file"), (b"\xff", "other bytes at 0")])
def test_notes_that_are_none(tmp_path: Path, content: bytes, found: str) -> None:
    (tmp_path / "notes.md").write_bytes(content)
    with pytest.raises(InputError, match=found):
        evaluate(A, model=ScriptedModel([]), judging=Judging(agent_notes=tmp_path / "notes.md"))


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(ValidationError):
        Judging.model_validate({"temperature": 0})


def test_a_dimension_without_a_rubric_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^dimensions: expected some of LC EE PQ PA TS TC GF, found 'tone'$"):
        evaluate(A, model=ScriptedModel([]), dimensions=["tone"])
