"""The money of a whole run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, NamedTuple

from gpa.judges.model import Request
from gpa.judging import Judging
from gpa.optimize.portions import Portions
from gpa.optimize.tuning import Plan, _Run
from tests.optimize import world as w
from tests.optimize.world import DEV, GOLD, HELD_OUT, RUNS, TRAIN


class Start(NamedTuple):
    """What one start of a run asked and paid on the held-out traces."""

    judged: list[str]
    """Keys of the requests that the judge was sent."""
    matched: list[str]
    """And the meta-judge."""
    spent_usd: float
    refused: int


def compared(folder: Path, max_cost: float | None) -> Start:
    """The held-out traces judged in a process of its own, as far as money lasts, without a cache."""

    def meta_answer(_request: Request) -> str:
        return json.dumps({"errors": []})

    async def main() -> Start:
        priced: dict[str, Any] = {"prices": w.prices(folder), "max_tokens": 500}
        judge, meta = w.judge_model(), w.Scripted(meta_answer, "scripted/meta")
        async with w.bench(judge, w.rubrics(folder / "start"), **priced) as bench, w.bench(meta, **priced) as other:
            portions = Portions(*(tuple(run.trace_id for run in part) for part in (TRAIN, DEV, HELD_OUT)))
            plan = Plan(judge.name, meta.name, folder, Judging(), Judging(), matcher="meta", max_cost=max_cost)
            run = _Run(plan, GOLD, portions, {one.trace_id: one for one in RUNS}, bench, other, other, ("TC",))
            compared, missing = await run.compare(None)
            assert compared is not None
            assert not missing
            ledgers = {id(one.client.ledger): one.client.ledger for one in (bench, other)}.values()
            return Start(
                [request.key for request in judge.requests],
                [request.key for request in meta.requests],
                sum(one.spent_usd for one in ledgers),
                sum(one.refused for one in ledgers),
            )

    return asyncio.run(main())


def test_what_the_judge_spends_on_held_out_traces_the_meta_judge_has_not(tmp_path: Path) -> None:
    first = compared(tmp_path, 0.05)
    assert len(first.judged) == len(HELD_OUT)
    assert 0 < first.spent_usd <= 0.05
    assert first.refused


def test_held_out_answers_are_paid_for_once_and_what_they_cost_counts_in_later_starts(tmp_path: Path) -> None:
    first = compared(tmp_path, 0.05)
    again = compared(tmp_path, 0.05)
    assert again.judged == []
    assert first.spent_usd + again.spent_usd <= 0.05
    assert again.refused
    rest = compared(tmp_path, None)
    assert rest.judged == []
    assert rest.refused == 0
    assert rest.matched
    assert not {*first.matched, *again.matched} & {*rest.matched}
    assert compared(tmp_path, None) == Start([], [], 0.0, 0)
