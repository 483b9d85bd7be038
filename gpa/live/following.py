"""Files that grow -> the spool -> the same evaluation as what a receiver takes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from gpa.errors import InputError, SpoolError
from gpa.ingest.completion import is_own
from gpa.ingest.files import read_piece
from gpa.ingest.follow import Position, Tail
from gpa.ingest.problems import OnProblem, Problem
from gpa.ingest.whole import replacing
from gpa.live.evaluating import Evaluated
from gpa.live.serving import Live, opened, stopping, until
from gpa.live.settings import Evaluating

POLL_S = 0.5
RETRY_S = 2.0


def follow(
    paths: Sequence[str],
    settings: Evaluating,
    *,
    on_evaluated: Callable[[Evaluated], None],
    on_problem: OnProblem,
    say: Callable[[str], None],
) -> int:
    """Evaluate what the files hold and what is added to them, until SIGTERM or SIGINT; how many traces there were.

    Where each file was left is kept beside the spool, so that the next call goes on there.

    Raises:
        UsageError, InputError, StoreError, SpoolError: a setting is wrong, a file cannot be followed.
    """
    return asyncio.run(_follow(paths, settings, on_evaluated, on_problem, say))


async def _follow(
    paths: Sequence[str],
    settings: Evaluating,
    on_evaluated: Callable[[Evaluated], None],
    on_problem: OnProblem,
    say: Callable[[str], None],
) -> int:
    stop = asyncio.Event()
    async with opened(settings, on_evaluated=on_evaluated) as live:
        with ExitStack() as stack, stopping(stop, say):
            kept = Positions(Path(f"{settings.spool_location}.positions"))
            tails = [stack.enter_context(Tail(path, kept.of(path))) for path in paths]
            pump = asyncio.create_task(_pump(tails, live, kept, stop, on_problem))
            pump.add_done_callback(lambda _: stop.set())
            await until(live, stop)
            await pump
        if live.delivery is not None:
            live.delivery.close()
        return live.evaluator.counts.traces


async def _pump(tails: Sequence[Tail], live: Live, kept: Positions, stop: asyncio.Event, on_problem: OnProblem) -> None:
    """Move what is new in the files to the spool until `stop` is set."""
    while not stop.is_set():
        moved = False
        for tail in tails:
            moved |= await asyncio.to_thread(_move, tail, live, kept, stop, on_problem)
        if not moved:
            try:
                await asyncio.wait_for(stop.wait(), POLL_S)
            except TimeoutError:
                continue


def _move(tail: Tail, live: Live, kept: Positions, stop: asyncio.Event, on_problem: OnProblem) -> bool:
    from gpa.ingest.spool import batch_of

    data = tail.read()
    if not data:
        return False
    items = read_piece(data, str(tail.path), on_problem=on_problem)
    batch = batch_of(item for item in items if not is_own(item))
    while not stop.is_set():
        try:
            live.spool.append(batch)
        except (SpoolError, TimeoutError) as error:  # full, slow, or the database is away: the file waits
            on_problem(Problem(str(tail.path), f"waits: {str(error) or 'the spool does not answer'}", fatal=False))
            time.sleep(RETRY_S)
        else:
            kept.keep(str(tail.path), tail.position)
            return True
    return False


class Positions:
    """Where files were left, in a small file of their own; written after what was read is safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._positions = msgspec.json.decode(path.read_bytes(), type=dict[str, Position])
        except FileNotFoundError:
            self._positions = {}
        except (OSError, msgspec.MsgspecError) as error:
            raise InputError(f"{path}: expected where files were left, found: {error}") from error

    def of(self, path: str) -> Position | None:
        """Where this file was left."""
        return self._positions.get(_key(path))

    def keep(self, path: str, position: Position | None) -> None:
        """Remember where it is left now."""
        if position is None:
            return
        self._positions[_key(path)] = position
        try:
            with replacing(self._path) as file:
                file.write(msgspec.json.encode(self._positions))
        except OSError as error:
            raise InputError(f"{self._path}: cannot be written: {error.strerror}") from error


def _key(path: str) -> str:
    return str(Path(path).absolute())
