"""Which of several results stands: of the same trace, judge, model and sample the one with the highest number.

A store keeps results of older rubrics and of other selections of checks. A run that takes such a result from the store
says it anew, so it gets a new number; what it says and when it was judged stays, and nobody is told again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from gpa.judges.verdict import AnyResult
from gpa.store.tables import RESULTS

_LATER = RESULTS.alias("later")
_PASSED_BY = (  # made once: it is asked of every trace of a resumed run
    sa.select(*(RESULTS.c[name] for name in ("id", "judge", "rubric_hash", "model", "sample")))
    .where(
        RESULTS.c.transcript_hash == sa.bindparam("transcript_hash"),
        sa.exists().where(
            *(_LATER.c[name] == RESULTS.c[name] for name in ("trace_id", "judge", "model", "sample")),
            _LATER.c.id > RESULTS.c.id,
        ),
    )
    .order_by(RESULTS.c.id)
)


def passed_by(connection: sa.Connection, transcript_hash: str, results: Iterable[AnyResult]) -> list[int]:
    """The numbers of those among these results that another one stands before, in their order."""
    wanted = {(result.judge, result.rubric_hash, result.model, result.sample) for result in results}
    found = connection.execute(_PASSED_BY, {"transcript_hash": transcript_hash})
    return [number for number, *key in found if tuple(key) in wanted]


def put_last(connection: sa.Connection, numbers: Sequence[int]) -> None:
    """Give these results the next numbers. One that another run has put last meanwhile stays where that put it."""
    if not numbers:
        return
    following: Any = (
        sa.func.nextval(sa.func.pg_get_serial_sequence(RESULTS.name, "id"))
        if connection.dialect.name == "postgresql"
        else sa.select(sa.func.max(RESULTS.alias("all").c.id) + 1).scalar_subquery()
    )
    move = sa.update(RESULTS).where(RESULTS.c.id == sa.bindparam("number")).values(id=following)
    connection.execute(move, [{"number": number} for number in numbers])
