"""What a run of `gpa optimize` would ask and cost, before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpa.forecast import aforecast
from gpa.ingest.transcript import Transcript
from gpa.judges.model import TokenUsage, load_prices
from gpa.tables import Cell, Table

if TYPE_CHECKING:
    from gpa.optimize.portions import Portions
    from gpa.optimize.tuning import Plan

PROPOSAL_INPUT = 8_000
"""Tokens assumed of a request for a proposal: the rubric, and feedback on a minibatch with excerpts."""
PROPOSAL_OUTPUT = 2_500


async def expense(
    transcripts: Sequence[Transcript], portions: Portions, plan: Plan, dimensions: Sequence[str]
) -> Table:
    """Requests, tokens and cost of each part of the run, at the most that the budget of calls allows."""
    by_id = {transcript.trace_id: transcript for transcript in transcripts}
    seen = [by_id[trace_id] for trace_id in (*portions.train, *portions.dev)]
    held = [by_id[trace_id] for trace_id in portions.held_out]
    asked, tokens, usd = await _judged(seen, plan, dimensions)
    share = plan.max_calls / len(seen)
    proposals = len(dimensions) * max(0, plan.max_calls - len(portions.dev)) // (2 * plan.minibatch)
    rows: list[tuple[Cell, ...]] = [
        (
            f"search: {plan.max_calls} calls a dimension",
            round(asked * share),
            round(tokens * share),
            _usd(None if usd is None else usd * share),
        )
    ]
    total = None if usd is None else usd * share
    if plan.matcher == "meta":
        rows.append(("search: the meta-judge, about", round(asked * share), round(tokens * share), None))
        total = None
    reflecting = _proposals_usd(plan, proposals)
    rows.append(("search: proposals, at the most", proposals, proposals * PROPOSAL_INPUT, _usd(reflecting)))
    asked, tokens, usd = await _judged(held, plan, dimensions)
    rows.append(("held-out: start and tuned", 2 * asked, 2 * tokens, _usd(None if usd is None else 2 * usd)))
    parts = (total, reflecting, None if usd is None else 2 * usd)
    known = [part for part in parts if part is not None]
    rows.append(("in all", None, None, _usd(sum(known)) if len(known) == len(parts) else None))
    notes = (
        "Without the prompt cache; proposals and answers of assumed lengths; what was asked before costs nothing.",
        "Every search ends at --max-calls, --max-cost or --max-minutes, whichever comes first.",
    )
    return Table("expense", "What it would take", ("part", "requests", "input tokens", "cost"), tuple(rows), notes)


async def held_out_usd(transcripts: Sequence[Transcript], plan: Plan, dimensions: Sequence[str]) -> float | None:
    """What judging these traces by two sets of rubrics will cost, by estimate; None without a price."""
    _, _, usd = await _judged(transcripts, plan, dimensions)
    if usd is None:
        return None
    return 2 * usd * (2 if plan.matcher == "meta" else 1)


async def _judged(
    transcripts: Sequence[Transcript], plan: Plan, dimensions: Sequence[str]
) -> tuple[int, int, float | None]:
    """Requests, tokens of input and cost of judging each of these once in each dimension."""
    judging = plan.judging.model_copy(update={"cache": None, "responses_from": (), "requests_to": None})
    forecast = await aforecast(transcripts, model=plan.model, judging=judging, dimensions=dimensions)
    total = forecast.judges[""]
    return total.requests, total.input_tokens, total.usd.plain


def _proposals_usd(plan: Plan, proposals: int) -> float | None:
    price = load_prices(plan.reflecting.prices).of(plan.reflection_model)
    if price is None:
        return None
    return proposals * price.cost_usd(TokenUsage(input_tokens=PROPOSAL_INPUT, output_tokens=PROPOSAL_OUTPUT))


def _usd(amount: float | None) -> str | None:
    return None if amount is None else f"${amount:,.2f}"
