"""What was acknowledged is there, whenever the receiver is killed."""

from __future__ import annotations

from pathlib import Path

from tests.ingest.receiver.killed_receivers import measure


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    found = measure(tmp_path, kills=2, senders=4, seed=3)
    assert found.acknowledged > 100
    assert (found.lost, found.doubled, found.unknown) == (0, 0, 0)
    assert (found.unevaluated, found.revisions_missing, found.reevaluated) == (0, 0, 0)


def test_what_was_acknowledged_survives_a_kill_in_postgresql(tmp_path: Path, postgres: str) -> None:
    found = measure(tmp_path, kills=1, senders=2, seed=5, location=postgres, evaluated=False)
    assert found.acknowledged > 100
    assert (found.lost, found.doubled, found.unknown) == (0, 0, 0)
