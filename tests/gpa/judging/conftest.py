"""What the tests of LLM judges run under: a key, caches of their own, a server that answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.messages import MessagesService, messages_service


@pytest.fixture(autouse=True)
def own_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")


@pytest.fixture
def service() -> Iterator[MessagesService]:
    with messages_service() as serving:
        yield serving
