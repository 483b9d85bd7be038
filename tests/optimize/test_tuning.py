"""The money of a whole run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from gpa.judges.model import Request
from gpa.judging import Judging
from gpa.optimize.portions import Portions
from gpa.optimize.tuning import Plan, _Run
from tests.optimize import world as w
from tests.optimize.world import DEV, GOLD, HELD_OUT, RUNS, TRAIN


def test_what_the_judge_spends_on_held_out_traces_the_meta_judge_has_not(tmp_path: Path) -> None:
    def meta_answer(_request: Request) -> str:
        return json.dumps({"errors": []})

    async def main() -> tuple[float, int]:
        priced: dict[str, Any] = {"prices": w.prices(tmp_path), "max_tokens": 500}
        judge, meta = w.judge_model(), w.Scripted(meta_answer, "scripted/meta")
        async with w.bench(judge, w.rubrics(tmp_path / "start"), **priced) as bench, w.bench(meta, **priced) as other:
            portions = Portions(*(tuple(run.trace_id for run in part) for part in (TRAIN, DEV, HELD_OUT)))
            plan = Plan(judge.name, meta.name, tmp_path, Judging(), Judging(), matcher="meta", max_cost=0.05)
            run = _Run(plan, GOLD, portions, {one.trace_id: one for one in RUNS}, bench, other, other, ("TC",))
            compared, missing = await run.compare(None)
            assert compared is not None
            assert not missing
            assert len(judge.requests) == len(HELD_OUT)
            ledgers = {id(one.client.ledger): one.client.ledger for one in (bench, other)}.values()
            return sum(one.spent_usd for one in ledgers), sum(one.refused for one in ledgers)

    spent, refused = asyncio.run(main())
    assert 0 < spent <= 0.05
    assert refused
