"""The tables of the store, one schema for every database."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

SCHEMA = 1
"""Version of the tables."""

METADATA = sa.MetaData()
STORE = sa.Table("gpa_store", METADATA, sa.Column("schema", sa.Integer, nullable=False))
TRACES = sa.Table(
    "traces",
    METADATA,
    sa.Column("transcript_hash", sa.String(32), primary_key=True),
    sa.Column("trace_id", sa.String, nullable=False, index=True),
    sa.Column("goal", sa.Text, nullable=False),
    sa.Column("agents", sa.Integer, nullable=False),
    sa.Column("steps", sa.Integer, nullable=False),
    sa.Column("warnings", sa.Text, nullable=False),
    sa.Column("transcript", sa.LargeBinary),
    sa.Column("created", sa.String(32), nullable=False),
)
RESULTS = sa.Table(
    "results",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("transcript_hash", sa.String(32), nullable=False),
    sa.Column("judge", sa.String(32), nullable=False),
    sa.Column("rubric_hash", sa.String(64), nullable=False),
    sa.Column("model", sa.String(200), nullable=False),
    sa.Column("sample", sa.Integer, nullable=False),
    sa.Column("trace_id", sa.String, nullable=False, index=True),
    sa.Column("type", sa.String(20), nullable=False),
    sa.Column("score", sa.Integer),
    sa.Column("payload", sa.Text, nullable=False),
    sa.Column("created", sa.String(32), nullable=False),
    sa.UniqueConstraint("transcript_hash", "judge", "rubric_hash", "model", "sample"),
)
ARRIVALS = sa.Table(
    "arrivals",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("trace_id", sa.String, nullable=False),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("transcript_hash", sa.String(32), nullable=False, index=True),
    sa.Column("session", sa.Text, nullable=False, index=True),
    sa.Column("created", sa.String(32), nullable=False),
    sa.UniqueConstraint("trace_id", "revision"),
)
OUTBOX = sa.Table(
    "outbox",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("transcript_hash", sa.String(32), nullable=False),
    sa.Column("model", sa.String(200), nullable=False),
    sa.UniqueConstraint("transcript_hash", "model"),
)


def superseded_hashes() -> sa.Select[Any]:
    """The hashes of transcripts that a later revision of the same trace has taken the place of."""
    later = ARRIVALS.alias("later")
    newest = sa.select(ARRIVALS.c.transcript_hash).where(
        ~sa.exists().where(later.c.trace_id == ARRIVALS.c.trace_id, later.c.revision > ARRIVALS.c.revision)
    )
    return sa.select(ARRIVALS.c.transcript_hash).where(ARRIVALS.c.transcript_hash.not_in(newest))
