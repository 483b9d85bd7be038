"""What a judgement cost: with a price, without one, shared out, never sent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpa.judges.model import Client, Ledger, Reply, ReplyError, ScriptedModel, load_prices
from gpa.judges.spent import Spent, spent
from gpa.judges.verdict import RESULT, Usage
from tests.judges.replies import judge, judged, reply, scripted, usage

SONNET = "anthropic/claude-sonnet-5-5"


class TestMoney:
    def test_a_price_gives_a_cost_as_the_ledger_books_it(self) -> None:
        model = ScriptedModel(["no", reply()], name=SONNET)
        client = Client(model, ledger=Ledger(load_prices()))
        [verdict] = judged(judge(client))
        assert verdict.cost_usd == pytest.approx(client.ledger.spent_usd)
        assert client.ledger.spent_usd > 0

    def test_without_a_price_the_cost_is_unknown_not_nothing(self) -> None:
        client = Client(ScriptedModel([reply()], name="other/model"))
        [verdict] = judged(judge(client))
        assert verdict.cost_usd is None
        assert verdict.usage.input_tokens > 0
        assert RESULT.validate_json(verdict.model_dump_json()) == verdict

    def test_an_unknown_cost_is_told_of_results_without_a_score_too(self) -> None:
        [result] = scripted([Reply(text=reply(score=None, not_applicable="-"), usage=usage())])
        assert '"cost_usd":null' in result.model_dump_json()
        assert RESULT.validate_json(result.model_dump_json()).cost_usd is None

    def test_what_was_not_sent_cost_nothing(self) -> None:
        [result] = scripted([ReplyError(error_type="budget", message="not sent")])
        assert (result.cost_usd, result.usage) == (0.0, Usage())

    @given(st.lists(st.tuples(st.integers(0, 10**6), st.floats(0, 10)), max_size=5), st.integers(1, 9))
    def test_shares_add_up(self, paid: list[tuple[int, float]], count: int) -> None:
        total = spent(Reply(text="", usage=usage(n), cost_usd=cost) for n, cost in paid)
        shares = total.shared(count)
        together = Spent()
        for share in shares:
            together = together.plus(share)
        assert len(shares) == count
        assert together.usage == total.usage
        assert together.cost_usd == pytest.approx(total.cost_usd)

    def test_one_unknown_price_makes_the_sum_unknown(self) -> None:
        outcomes = [Reply(text="", usage=usage(), cost_usd=1.0), Reply(text="", usage=usage(), cost_usd=None)]
        assert spent(outcomes) == Spent(usage(200).total(), None)
        assert spent([ReplyError(error_type="transport", message="lost")]) == Spent()

    def test_an_answer_without_token_counts_has_an_unknown_cost_and_is_booked(self) -> None:
        client = Client(ScriptedModel([Reply(text=reply())], name=SONNET))
        [verdict] = judged(judge(client))
        assert (verdict.cost_usd, verdict.usage) == (None, Usage())
        assert client.ledger.paid == 1
        assert client.ledger.spent_usd > 0
