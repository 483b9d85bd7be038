"""What is written to a store and read back from it."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec
import orjson
import sqlalchemy as sa
from pydantic import ValidationError
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from gpa.errors import StoreError
from gpa.ingest.transcript import Transcript
from gpa.judges.verdict import RESULT, AnyResult
from gpa.store.order import passed_by, put_last
from gpa.store.packing import cause, packed, sound, unpacked
from gpa.store.tables import ARRIVALS, OUTBOX, RESULTS, TRACES, superseded_hashes


class Key(NamedTuple):
    """What, besides the transcript, a result depends on."""

    judge: str
    rubric_hash: str
    model: str
    sample: int = 0


class Arrival(NamedTuple):
    """A complete trace as a live evaluation judges it."""

    revision: int
    """1 for the first time, higher when late spans made it another transcript."""
    session: str = ""
    announce: bool = False
    """Whether its results are to be sent to a backend."""


class Kept(NamedTuple):
    """A transcript that was judged, and what came of it."""

    transcript_hash: str
    trace_id: str
    goal: str
    steps: int
    created: str
    """When it was first kept (ISO 8601, UTC)."""
    revision: int
    """0: not by a live evaluation."""
    session: str
    results: tuple[AnyResult, ...]
    transcript: Transcript | None
    """None where it could not be kept, or was not asked for."""


class Store:
    """An open store; use it as a context manager. Threads may share it."""

    def __init__(self, engine: sa.Engine, name: str, *, has_arrivals: bool = True) -> None:
        self._engine = engine
        self._name = name
        self._has_arrivals = has_arrivals

    def known(self, transcript_hash: str, keys: Iterable[Key]) -> dict[Key, AnyResult]:
        """The stored results among these keys, failures left out."""
        wanted = set(keys)
        query = sa.select(RESULTS).where(RESULTS.c.transcript_hash == transcript_hash, RESULTS.c.type != "failure")
        found: dict[Key, AnyResult] = {}
        for row in self._rows(query):
            key = Key(row.judge, row.rubric_hash, row.model, row.sample)
            if key in wanted:
                found[key] = _decoded(row, self._name)
        return found

    def save(
        self,
        transcript: Transcript,
        transcript_hash: str,
        results: Sequence[AnyResult],
        arrival: Arrival | None = None,
    ) -> None:
        """Write a transcript and its results in one transaction; what has the same key is replaced.

        With an `arrival` (of a live evaluation) its revision is written too, and the results that are to be announced.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")
        trace = {
            "transcript_hash": transcript_hash,
            "trace_id": transcript.trace_id,
            "goal": sound(transcript.goal),
            "agents": len(transcript.agents),
            "steps": len(transcript.steps),
            "warnings": orjson.dumps([sound(warning) for warning in transcript.warnings]).decode(),
            "transcript": packed(transcript),
            "created": now,
        }
        rows = [
            {
                "transcript_hash": transcript_hash,
                "judge": result.judge,
                "rubric_hash": result.rubric_hash,
                "model": result.model,
                "sample": result.sample,
                "trace_id": result.trace_id,
                "type": result.type,
                "score": getattr(result, "score", None),
                "payload": result.model_dump_json(),
                "created": now,
            }
            for result in results
        ]
        insert: Any = postgresql.insert if self._engine.dialect.name == "postgresql" else sqlite.insert
        add_trace = insert(TRACES).on_conflict_do_nothing(index_elements=["transcript_hash"])
        add = insert(RESULTS)
        keys = ["transcript_hash", "judge", "rubric_hash", "model", "sample"]
        changed = {name: add.excluded[name] for name in ("trace_id", "type", "score", "payload", "created")}
        try:
            with self._engine.begin() as connection:
                connection.execute(add_trace, trace)
                if rows:
                    connection.execute(add.on_conflict_do_update(index_elements=keys, set_=changed), rows)
                    put_last(connection, passed_by(connection, transcript_hash, results))
                if arrival is not None:
                    self._add_arrival(connection, insert, trace, arrival)
                    if arrival.announce and rows:
                        models = {result.model for result in results}
                        sent = [{"transcript_hash": transcript_hash, "model": model} for model in sorted(models)]
                        connection.execute(insert(OUTBOX).on_conflict_do_nothing(), sent)
        except SQLAlchemyError as error:
            raise StoreError(f"{self._name}: results could not be written: {cause(error)}") from error

    def put_last(self, transcript_hash: str, results: Sequence[AnyResult]) -> None:
        """Have these results, which a run took from here, stand before those of the runs in between."""
        try:
            with self._engine.connect() as connection:
                if not passed_by(connection, transcript_hash, results):
                    return  # as nearly always: nothing is written, nobody is waited for
            with self._engine.begin() as connection:
                put_last(connection, passed_by(connection, transcript_hash, results))
        except SQLAlchemyError as error:
            raise StoreError(f"{self._name}: results could not be written: {cause(error)}") from error

    def _add_arrival(self, connection: sa.Connection, insert: Any, trace: dict[str, Any], arrival: Arrival) -> None:
        """Note the revision. One below what the store has already (the spool was lost) becomes the next one."""
        newest = connection.execute(
            sa.select(ARRIVALS.c.revision, ARRIVALS.c.transcript_hash)
            .where(ARRIVALS.c.trace_id == trace["trace_id"])
            .order_by(ARRIVALS.c.revision.desc())
            .limit(1)
        ).first()
        revision = arrival.revision
        if newest is not None and newest.revision >= revision:
            if newest.transcript_hash == trace["transcript_hash"]:
                return  # judged before: the process was killed before it could say so
            revision = newest.revision + 1
        row = {name: trace[name] for name in ("trace_id", "transcript_hash", "created")}
        row |= {"revision": revision, "session": sound(arrival.session)}
        # Another receiver that writes the same revision at this moment makes this one fail and be done again.
        connection.execute(insert(ARRIVALS), row)

    def results(self) -> Iterator[AnyResult]:
        """Every result of the newest revision of each trace; of those that say the same thing the last one stands."""
        query = sa.select(RESULTS).order_by(RESULTS.c.id)
        if self._has_arrivals:
            query = query.where(RESULTS.c.transcript_hash.not_in(superseded_hashes()))
        for row in self._rows(query):
            yield _decoded(row, self._name)

    def transcripts(self) -> Iterator[Transcript]:
        """The newest revision of every transcript that could be kept; of a trace that has several, the one judged last
        comes last.
        """
        last = sa.select(sa.func.max(RESULTS.c.id)).where(RESULTS.c.transcript_hash == TRACES.c.transcript_hash)
        query = (
            sa.select(TRACES.c.transcript)
            .where(TRACES.c.transcript.is_not(None))
            .order_by(sa.func.coalesce(last.scalar_subquery(), 0))
        )
        if self._has_arrivals:
            query = query.where(TRACES.c.transcript_hash.not_in(superseded_hashes()))
        for row in self._rows(query):
            yield _transcript(row.transcript, self._name)

    def kept(
        self,
        hashes: Sequence[str] | None = None,
        *,
        models: Iterable[str] | None = None,
        whole: bool = False,
        superseded: bool = False,
    ) -> list[Kept]:
        """Transcripts with their results, in the order they were first kept.

        Args:
            hashes: Of the transcripts wanted; all when None.
            models: Whose results are wanted; everybody's when None.
            whole: Read the transcripts themselves too.
            superseded: Also those that a later revision has taken the place of.
        """
        if hashes is not None and not hashes:
            return []
        columns = [TRACES.c[name] for name in ("transcript_hash", "trace_id", "goal", "steps", "created")]
        traces = sa.select(*columns, *([TRACES.c.transcript] if whole else ())).order_by(
            TRACES.c.created, TRACES.c.transcript_hash
        )
        results = sa.select(RESULTS).order_by(RESULTS.c.id)
        if hashes is not None:
            traces = traces.where(TRACES.c.transcript_hash.in_(hashes))
            results = results.where(RESULTS.c.transcript_hash.in_(hashes))
        if models is not None:
            results = results.where(RESULTS.c.model.in_(list(models)))
        revisions: dict[str, tuple[int, str]] = {}
        if self._has_arrivals:
            if not superseded:
                traces = traces.where(TRACES.c.transcript_hash.not_in(superseded_hashes()))
            arrivals = sa.select(ARRIVALS).order_by(ARRIVALS.c.revision)
            if hashes is not None:
                arrivals = arrivals.where(ARRIVALS.c.transcript_hash.in_(hashes))
            revisions = {row.transcript_hash: (row.revision, row.session) for row in self._rows(arrivals)}
        judged: dict[str, list[AnyResult]] = {}
        for row in self._rows(results):
            judged.setdefault(row.transcript_hash, []).append(_decoded(row, self._name))
        found = [
            Kept(
                row.transcript_hash,
                row.trace_id,
                row.goal,
                row.steps,
                row.created,
                *revisions.get(row.transcript_hash, (0, "")),
                tuple(judged.get(row.transcript_hash, ())),
                _transcript(row.transcript, self._name) if whole and row.transcript is not None else None,
            )
            for row in self._rows(traces)
        ]
        return sorted(found, key=lambda one: (one.created, one.revision))

    def newest(self, limit: int) -> list[Kept]:
        """The traces that a live evaluation judged last, the latest first, without the transcripts themselves."""
        query = (
            sa.select(ARRIVALS.c.transcript_hash)
            .where(ARRIVALS.c.transcript_hash.not_in(superseded_hashes()))
            .order_by(ARRIVALS.c.id.desc())
            .limit(limit)
        )
        hashes = list(dict.fromkeys(row.transcript_hash for row in self._rows(query)))
        found = {one.transcript_hash: one for one in self.kept(hashes)}
        return [found[digest] for digest in hashes if digest in found]

    def session(self, session: str, limit: int) -> list[Kept]:
        """The newest traces of a session as each is now, in the order they first came, without the transcripts."""
        later, any_of = ARRIVALS.alias("later"), ARRIVALS.alias("any_of")
        first = sa.select(sa.func.min(any_of.c.id)).where(any_of.c.trace_id == ARRIVALS.c.trace_id).scalar_subquery()
        query = (
            sa.select(ARRIVALS.c.transcript_hash)
            .where(
                ARRIVALS.c.session == sound(session),
                ~sa.exists().where(later.c.trace_id == ARRIVALS.c.trace_id, later.c.revision > ARRIVALS.c.revision),
            )
            .order_by(first.desc())
            .limit(limit)
        )
        hashes = [row.transcript_hash for row in self._rows(query)]
        # What is superseded is left out already, by trace: to ask for that would look through the whole table.
        found = {one.transcript_hash: one for one in self.kept(hashes, superseded=True)}
        return [found[digest] for digest in reversed(hashes) if digest in found]

    def hashes(self) -> list[tuple[str, str]]:
        """Of the newest revision of every transcript, with the trace id, the first kept first."""
        query = sa.select(TRACES.c.transcript_hash, TRACES.c.trace_id).order_by(TRACES.c.created)
        if self._has_arrivals:
            query = query.where(TRACES.c.transcript_hash.not_in(superseded_hashes()))
        return [(row.transcript_hash, row.trace_id) for row in self._rows(query)]

    def hashes_of(self, trace_id: str) -> list[str]:
        """Of every transcript of a trace, the first kept first."""
        query = sa.select(TRACES.c.transcript_hash).where(TRACES.c.trace_id == trace_id).order_by(TRACES.c.created)
        return [row.transcript_hash for row in self._rows(query)]

    def spent_usd(self, since: str) -> float:
        """What results written since then (ISO 8601, UTC) cost, as far as prices are known."""
        query = sa.select(RESULTS).where(RESULTS.c.created >= since, RESULTS.c.model != "checks")
        return sum(_decoded(row, self._name).cost_usd or 0.0 for row in self._rows(query))

    def to_announce(self, limit: int) -> list[tuple[int, str, str]]:
        """What has still to be sent to a backend, oldest first: number, transcript hash, model."""
        query = sa.select(OUTBOX).order_by(OUTBOX.c.id).limit(limit)
        return [(row.id, row.transcript_hash, row.model) for row in self._rows(query)]

    def waiting(self) -> int:
        """How many announcements there are still to be sent."""
        return int(self._rows(sa.select(sa.func.count()).select_from(OUTBOX))[0][0])

    def announced(self, numbers: Iterable[int]) -> None:
        """Forget these announcements: they were sent, or can never be."""
        try:
            with self._engine.begin() as connection:
                connection.execute(sa.delete(OUTBOX).where(OUTBOX.c.id.in_(list(numbers))))
        except SQLAlchemyError as error:
            raise StoreError(f"{self._name}: announcements could not be deleted: {cause(error)}") from error

    def _rows(self, query: sa.Select[Any]) -> Sequence[sa.Row[Any]]:
        try:
            with self._engine.connect() as connection:
                return connection.execute(query).all()
        except SQLAlchemyError as error:
            raise StoreError(f"{self._name}: results could not be read: {cause(error)}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._engine.dispose()


def _transcript(data: bytes, name: str) -> Transcript:
    try:
        return unpacked(data)
    except (zlib.error, msgspec.MsgspecError) as error:
        raise StoreError(f"{name}: a transcript cannot be read: {error}") from error


def _decoded(row: sa.Row[Any], name: str) -> AnyResult:
    try:
        result = RESULT.validate_json(row.payload)
    except ValidationError as error:
        raise StoreError(f"{name}: result {row.id} cannot be read: {error.errors()[0]['msg']}") from error
    return result if result.rubric_hash else result.model_copy(update={"rubric_hash": row.rubric_hash})
