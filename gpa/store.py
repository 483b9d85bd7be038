"""Results and transcripts on disk, written as they arrive, so that a run that was killed goes on where it stopped.

One SQLite file by default (write-ahead log: others may read while a run writes), any database SQLAlchemy knows by
URL. A result is found again by its resume key: transcript hash, judge, rubric hash, model, sample. Failures are
kept and shown, but never found again: they are judged anew.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec
import orjson
import sqlalchemy as sa
from pydantic import ValidationError
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from gpa.errors import StoreError
from gpa.ingest.transcript import Transcript
from gpa.judges.verdict import RESULT, AnyResult

SCHEMA = 1
"""Version of the tables."""
_BUSY_TIMEOUT_S = 30
_SQLITE_MAGIC = b"SQLite format 3\x00"

_metadata = sa.MetaData()
_store = sa.Table("gpa_store", _metadata, sa.Column("schema", sa.Integer, nullable=False))
_traces = sa.Table(
    "traces",
    _metadata,
    sa.Column("transcript_hash", sa.String(32), primary_key=True),
    sa.Column("trace_id", sa.String, nullable=False, index=True),
    sa.Column("goal", sa.Text, nullable=False),
    sa.Column("agents", sa.Integer, nullable=False),
    sa.Column("steps", sa.Integer, nullable=False),
    sa.Column("warnings", sa.Text, nullable=False),
    sa.Column("transcript", sa.LargeBinary),
    sa.Column("created", sa.String(32), nullable=False),
)
_results = sa.Table(
    "results",
    _metadata,
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


class Key(NamedTuple):
    """What, besides the transcript, a result depends on."""

    judge: str
    rubric_hash: str
    model: str
    sample: int = 0


class Store:
    """An open store; use it as a context manager."""

    def __init__(self, engine: sa.Engine, name: str) -> None:
        self._engine = engine
        self._name = name

    def known(self, transcript_hash: str, keys: Iterable[Key]) -> dict[Key, AnyResult]:
        """The stored results among these keys, failures left out."""
        wanted = set(keys)
        query = sa.select(_results).where(_results.c.transcript_hash == transcript_hash, _results.c.type != "failure")
        found: dict[Key, AnyResult] = {}
        for row in self._rows(query):
            key = Key(row.judge, row.rubric_hash, row.model, row.sample)
            if key in wanted:
                found[key] = _decoded(row, self._name)
        return found

    def save(self, transcript: Transcript, transcript_hash: str, results: Sequence[AnyResult]) -> None:
        """Write a transcript and its results in one transaction; what has the same key is replaced."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        trace = {
            "transcript_hash": transcript_hash,
            "trace_id": transcript.trace_id,
            "goal": _sound(transcript.goal),
            "agents": len(transcript.agents),
            "steps": len(transcript.steps),
            "warnings": orjson.dumps([_sound(warning) for warning in transcript.warnings]).decode(),
            "transcript": _packed(transcript),
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
        add_trace = insert(_traces).on_conflict_do_nothing(index_elements=["transcript_hash"])
        add = insert(_results)
        keys = ["transcript_hash", "judge", "rubric_hash", "model", "sample"]
        changed = {name: add.excluded[name] for name in ("trace_id", "type", "score", "payload", "created")}
        try:
            with self._engine.begin() as connection:
                connection.execute(add_trace, trace)
                if rows:
                    connection.execute(add.on_conflict_do_update(index_elements=keys, set_=changed), rows)
        except SQLAlchemyError as error:
            raise StoreError(f"{self._name}: results could not be written: {_cause(error)}") from error

    def results(self) -> Iterator[AnyResult]:
        """Every result, in the order they were first written."""
        for row in self._rows(sa.select(_results).order_by(_results.c.id)):
            yield _decoded(row, self._name)

    def transcripts(self) -> Iterator[Transcript]:
        """Every transcript that could be kept."""
        for row in self._rows(sa.select(_traces.c.transcript).where(_traces.c.transcript.is_not(None))):
            yield msgspec.json.decode(zlib.decompress(row.transcript), type=Transcript)

    def _rows(self, query: sa.Select[Any]) -> Sequence[sa.Row[Any]]:
        try:
            with self._engine.connect() as connection:
                return connection.execute(query).all()
        except SQLAlchemyError as error:
            raise StoreError(f"{self._name}: results could not be read: {_cause(error)}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._engine.dispose()


def open_store(location: str | Path, *, must_exist: bool = False) -> Store:
    """The store at a path or database URL, made when it is not there.

    Raises `StoreError` when the file is something else, has another schema version, or is missing and must not be.
    """
    text = str(location)
    url = text if "://" in text else f"sqlite:///{Path(text).expanduser()}"
    name = sa.make_url(url).render_as_string(hide_password=True) if "://" in text else text
    if "://" not in text:
        _check_file(Path(text).expanduser(), must_exist=must_exist)
    try:
        engine = sa.create_engine(url, connect_args={"timeout": _BUSY_TIMEOUT_S} if url.startswith("sqlite") else {})
    except (SQLAlchemyError, ImportError) as error:
        raise StoreError(f"{name}: the store cannot be opened: {_cause(error)}") from error
    try:
        with engine.begin() as connection:
            _check_schema(connection, name, must_exist=must_exist)
        if engine.dialect.name == "sqlite":
            # Only now, on new connections: it changes the file, which might not have been ours.
            engine.dispose()
            sa.event.listen(engine, "connect", _prepare)
    except SQLAlchemyError as error:
        engine.dispose()
        raise StoreError(f"{name}: the store cannot be opened: {_cause(error)}") from error
    except StoreError:
        engine.dispose()
        raise
    return Store(engine, name)


def is_store(location: str | Path) -> bool:
    """Whether this is a database rather than a file of result lines."""
    if "://" in str(location):
        return True
    try:
        with Path(location).expanduser().open("rb") as file:
            return file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC
    except OSError:
        return False


def transcript_hash(transcript: Transcript) -> str:
    """A hash of what is judged: the same whichever file or format the trace came from.

    Notes on how it was read are left out. 32 hex digits.
    """
    digest = blake2b(digest_size=16)
    for part in (transcript.trace_id, transcript.goal, *transcript.agents, *transcript.steps, *transcript.plans):
        digest.update(_bytes(part))
    return digest.hexdigest()


def _bytes(part: object) -> bytes:
    try:
        return msgspec.json.encode(part, order="deterministic")
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError):
        # Halves of surrogate pairs, keys that are not text: no JSON, but it can be told apart.
        try:
            return repr(part).encode("utf-8", "backslashreplace")
        except RecursionError:
            return b"nested beyond reading"


def _prepare(connection: Any, _record: object) -> None:
    """A write-ahead log, written through at its checkpoints: a crash of the machine can cost the last results only."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")


def _check_file(path: Path, *, must_exist: bool) -> None:
    if path.is_dir():
        raise StoreError(f"{path}: expected a results store (a file), found a folder")
    if path.exists() and path.stat().st_size and not is_store(path):
        raise StoreError(f"{path}: expected a results store (SQLite), found another kind of file")
    if must_exist and not path.exists():
        raise StoreError(f"{path}: no such results store")
    if not path.parent.is_dir():
        raise StoreError(f"{path}: the folder {path.parent} does not exist")


def _check_schema(connection: sa.Connection, name: str, *, must_exist: bool) -> None:
    tables = set(sa.inspect(connection).get_table_names())
    if "gpa_store" in tables:
        found = connection.execute(sa.select(_store.c.schema)).scalar()
        if found != SCHEMA:
            raise StoreError(f"{name}: expected a results store of schema {SCHEMA}, found schema {found}")
    elif tables & {"results", "traces"} or (tables and connection.dialect.name == "sqlite"):
        shown = ", ".join(sorted(tables)[:5])
        raise StoreError(f"{name}: expected a results store, found a database with other tables ({shown})")
    elif must_exist:
        raise StoreError(f"{name}: expected a results store, found an empty database")
    else:
        _metadata.create_all(connection)
        connection.execute(sa.insert(_store), {"schema": SCHEMA})


def _decoded(row: sa.Row[Any], name: str) -> AnyResult:
    try:
        result = RESULT.validate_json(row.payload)
    except ValidationError as error:
        raise StoreError(f"{name}: result {row.id} cannot be read: {error.errors()[0]['msg']}") from error
    return result if result.rubric_hash else result.model_copy(update={"rubric_hash": row.rubric_hash})


def _packed(transcript: Transcript) -> bytes | None:
    """The transcript as compressed JSON, None when it holds what JSON cannot."""
    try:
        return zlib.compress(msgspec.json.encode(transcript), 1)
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError):
        return None


def _sound(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "")


def _cause(error: Exception) -> str:
    """The database's own words, in one line."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return " ".join(str(cause).split())[:300]
