"""The pytest plugin: the fixture `gpa_trace` and the marker `gpa_traces`.

pytest loads this at every start, so nothing of gpa or OpenTelemetry is imported until a test asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from gpa.ingest.capture import Capture
    from gpa.ingest.spans import Trace

_MARKER = "gpa_traces"
_FIXTURE = "gpa_trace"


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    about = "gpa_traces(*paths): run the test once for each recorded trace in these files, folders or globs"
    config.addinivalue_line("markers", f"{about}; gpa_trace holds it")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One run of the test for each trace that its marker names."""
    marker = metafunc.definition.get_closest_marker(_MARKER)
    if marker is None:
        return
    if _FIXTURE not in metafunc.fixturenames:
        raise pytest.Collector.CollectError(f"{metafunc.definition.nodeid}: the marker {_MARKER} needs {_FIXTURE}")
    paths = [str(path) for path in marker.args]
    if not paths or not all(paths) or marker.kwargs:
        raise pytest.Collector.CollectError(
            f'{metafunc.definition.nodeid}: expected @pytest.mark.{_MARKER}("path", ...), found {marker!r}'
        )
    folder = metafunc.definition.path.parent
    traces = [trace for path in paths for trace in _read(path, folder, metafunc.config.rootpath)]
    metafunc.parametrize(_FIXTURE, traces, ids=[trace.trace_id for trace in traces], indirect=True)


@pytest.fixture
def gpa_trace(request: pytest.FixtureRequest) -> Iterator[Capture]:
    """The OpenTelemetry spans that the test records, as traces; with the marker `gpa_traces`, the recorded trace.

    Assert on it with `gpa.assert_agent(gpa_trace)`; `.trace` and `.transcript` hold the one trace there is.
    """
    from gpa.ingest.capture import Capture, capture

    if hasattr(request, "param"):
        yield Capture(request.param.spans)
        return
    with capture() as captured:
        yield captured


def _read(path: str, folder: Path, root: Path) -> list[Trace]:
    """The traces at a path: beside the test, else below the root of the tests."""
    from gpa.errors import GpaError
    from gpa.ingest.assembly import read_traces

    if not Path(path).is_absolute():
        # By the rules of `read_traces`; pathlib refuses some patterns that those take.
        beside = glob(path, root_dir=folder, recursive=True)  # noqa: PTH207 - see above
        path = str((folder if beside else root) / path)
    try:
        traces = list(read_traces(path))
    except GpaError as error:
        raise pytest.Collector.CollectError(f"@pytest.mark.{_MARKER}: {error}") from error
    if not traces:
        raise pytest.Collector.CollectError(f"@pytest.mark.{_MARKER}: no trace in {path}")
    return traces
