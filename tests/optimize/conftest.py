"""What several modules of these tests look at."""

from __future__ import annotations

import pytest

from tests.optimize.world import Plain, found, judge_model, reflection_model


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Plain:
    """One search that nothing happens to."""
    judge, reflection = judge_model(), reflection_model()
    return found(tmp_path_factory.mktemp("plain"), judge, reflection), judge, reflection
