"""Phoenix's dataframe as parquet."""

from __future__ import annotations

import builtins
import io
from typing import Any

import pytest

from gpa.errors import FormatError, InputError
from gpa.ingest.formats.parquet import MAGIC, read_parquet
from gpa.ingest.spans import Event

pa = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402 - only after it is known to be here

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
NS = 1_742_402_482_123_456_789


def saved(**columns: Any) -> bytes:
    sink = io.BytesIO()
    parquet.write_table(pa.table(columns), sink)
    return sink.getvalue()


def frame(count: int = 1, **columns: Any) -> bytes:
    ids = {"context.trace_id": [TRACE] * count, "context.span_id": [f"{number + 1:016x}" for number in range(count)]}
    return saved(**ids, **columns)


def test_rows_become_spans_with_their_nanoseconds() -> None:
    data = frame(
        **{
            "name": ["op"],
            "parent_id": pa.array([None], pa.string()),
            "span_kind": ["LLM"],
            "start_time": pa.array([NS], pa.timestamp("ns", "UTC")),
            "end_time": pa.array([NS // 1000 + 1], pa.timestamp("us")),
            "events": [[{"name": "e", "timestamp": "2025-03-19T16:41:22Z", "attributes": {"a": 1}}]],
            "attributes.llm.input_messages": [
                [{"message.role": "user", "message.content": None}, {"message.role": None, "message.content": "b"}]
            ],
            "attributes.llm.token_count.prompt": [5.0],
            "attributes.metadata": ['{"a": 1}'],
            "attributes.score": [float("nan")],
        }
    )
    noted: list[str] = []
    (span,) = read_parquet(data, noted.append)
    assert data.startswith(MAGIC)
    assert noted == []
    assert (span.trace_id, span.span_id, span.parent_id) == (TRACE, "0000000000000001", None)
    assert (span.start_ns, span.end_ns) == (NS, (NS // 1000 + 1) * 1000)
    assert span.events == (Event("e", 1_742_402_482_000_000_000, {"a": 1}),)
    assert span.attributes == {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.1.message.content": "b",
        "llm.token_count.prompt": 5,
        "metadata": {"a": 1},
    }


def test_rows_of_several_batches_keep_their_order() -> None:
    spans = list(read_parquet(frame(1_000), print))
    assert [int(span.span_id, 16) for span in spans] == list(range(1, 1_001))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"PAR1 is not all", "not a readable parquet file: ", id="garbage"),
        pytest.param(frame()[:-20], "not a readable parquet file: ", id="cut off"),
        pytest.param(
            saved(a=[1], b=[2]),
            "expected a Phoenix spans dataframe with a column 'context.trace_id', found ['a', 'b']",
            id="another table",
        ),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        list(read_parquet(data, print))
    assert str(caught.value).startswith(message)


def test_a_file_broken_in_the_middle_says_so() -> None:
    data = bytearray(frame(1_000))
    data[4:400] = b"\xff" * 396
    with pytest.raises(FormatError, match=r"^parquet file broken after its header: "):
        list(read_parquet(bytes(data), print))


def test_without_pyarrow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    original = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(InputError) as caught:
        list(read_parquet(b"", print))
    assert str(caught.value) == "parquet needs pyarrow: pip install 'agent-gpa[parquet]'"
