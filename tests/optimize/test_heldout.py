"""Start and tuned rubrics side by side on held-out traces: recall, places, precision, and whether it is chance."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from gpa.agreement import Rate
from gpa.ingest.assembly import read_traces
from gpa.ingest.transcript import Transcript, transcribe
from gpa.judges.gold import Gold, load_gold
from gpa.judges.model import Model, Outcome, Reply, Request
from gpa.judges.rubrics import Rubric, load_rubrics
from gpa.judging import Judging, opened
from gpa.optimize.heldout import HeldOut, held_out
from gpa.optimize.log import Log
from tests.gpa.simulation import KINDS, SimulatedModel, write_runs

START = load_rubrics()


def with_signs(count: int) -> dict[str, Rubric]:
    text = START["TC"].text + "".join(f"\nAlso {kind.sign}.\n" for kind in KINDS[:count])
    return START | {"TC": START["TC"].model_copy(update={"text": text})}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Transcript], Gold]:
    traces, gold = write_runs(tmp_path_factory.mktemp("runs"), 16)
    return [transcribe(trace) for trace in read_traces([traces])], load_gold(gold)


def compared(
    runs: tuple[list[Transcript], Gold],
    start: dict[str, Rubric],
    tuned: dict[str, Rubric],
    *,
    dimensions: tuple[str, ...] = ("TC",),
    model: Model | None = None,
    **fields: Any,
) -> HeldOut:
    async def main() -> HeldOut | None:
        async with opened(model or SimulatedModel(), Judging(**fields)) as bench:
            return await held_out(bench, start, tuned, *runs, dimensions=dimensions, log=Log(None, {}))

    found = asyncio.run(main())
    assert found is not None
    return found


def rates(one: HeldOut, table: str, row: str = "TC") -> list[tuple[int | None, int | None]]:
    found = next(some for some in one.tables if some.name == table).row(row)
    return [(cell.count, cell.total) for side in ("start", "tuned") if isinstance(cell := found[side], Rate)]


def test_what_helped_is_shown_to_have(runs: tuple[list[Transcript], Gold]) -> None:
    one = compared(runs, START, with_signs(3))
    assert rates(one, "held_out_caught") == [(12, 48), (48, 48)]
    assert rates(one, "held_out_localised") == [(12, 48), (48, 48)]
    assert rates(one, "held_out_precision") == [(12, 12), (48, 48)]
    row = one.tables[0].row("TC")
    assert (row["lost"], row["won"], row["tuned is"]) == (0, 36, "better")
    difference = row["difference"]
    assert isinstance(difference, Rate)
    assert difference.interval is not None
    assert difference.interval.low > 0
    assert "TC: recall 0.250 before, 1.000 after; it helped." in one.notes()


def test_what_made_it_worse_is_said_to_have(runs: tuple[list[Transcript], Gold]) -> None:
    one = compared(runs, with_signs(3), START)
    assert "TC: recall 1.000 before, 0.250 after; it made the judge WORSE: keep the start." in one.notes()


def test_what_changed_nothing_is_not_shown_to_have_helped(runs: tuple[list[Transcript], Gold]) -> None:
    wordy = START | {"TC": START["TC"].model_copy(update={"text": START["TC"].text + "\nRead twice.\n"})}
    notes = compared(runs, START, wordy).notes()
    assert "TC: recall 0.250 before, 0.250 after; not shown to have helped: the difference may be chance." in notes


def test_an_unchanged_rubric_is_asked_once_and_said_to_be(runs: tuple[list[Transcript], Gold]) -> None:
    model = SimulatedModel()
    one = compared(runs, START, with_signs(1), dimensions=("LC", "TC"), model=model)
    assert len(model.asked) == 3 * 16
    assert one.unchanged == ("LC",)
    assert any(note.startswith("LC: no candidate was better") for note in one.notes())
    assert one.tables[0].row("LC")["lost"] == 0


class Wavering(SimulatedModel):
    """Gives the second sample another score, unless the rubric says what tells scores apart."""

    async def complete(self, request: Request) -> Outcome:
        outcome = await super().complete(request)
        assert isinstance(outcome, Reply)
        said = json.loads(outcome.text)
        if request.sample and "tells scores apart" not in request.tail:
            said["score"] = 3 - said["score"]
        return outcome.model_copy(update={"text": json.dumps(said)})


def test_with_several_samples_their_agreement_is_compared(runs: tuple[list[Transcript], Gold]) -> None:
    steady = START | {"TC": START["TC"].model_copy(update={"text": START["TC"].text + "\nThis tells scores apart.\n"})}
    one = compared(runs, START, steady, model=Wavering(), samples=2)
    row = one.tables[-1].row("TC")
    assert one.tables[-1].name == "held_out_consistency"
    start, tuned, difference = (row[name] for name in ("start", "tuned", "difference"))
    assert isinstance(start, Rate)
    assert isinstance(tuned, Rate)
    assert isinstance(difference, Rate)
    assert start.value is not None
    assert start.value < 0
    assert tuned.value == 1
    assert difference.value == pytest.approx(1 - start.value)
    assert isinstance(row["p"], float)
    assert row["p"] < 0.01
    assert f"TC: alpha of repeated samples {start.value:.3f} before, 1.000 after." in one.notes()


def test_requests_without_an_answer_leave_the_comparison_open(
    runs: tuple[list[Transcript], Gold], tmp_path: Path
) -> None:
    async def main() -> tuple[HeldOut | None, int]:
        async with opened("anthropic/claude-haiku-5-5", Judging(requests_to=tmp_path / "next.jsonl")) as bench:
            found = await held_out(bench, START, with_signs(1), *runs, dimensions=("TC",), log=Log(None, {}))
            return found, len(bench.unanswered)

    assert asyncio.run(main()) == (None, 32)
