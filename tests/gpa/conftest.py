"""What tests of commands that ask a model run under: caches of their own, and no key but the one they set."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def own_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
