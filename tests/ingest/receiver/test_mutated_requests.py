"""Damaged and hostile requests: some hundred of the thousands that the script sends."""

from __future__ import annotations

from pathlib import Path

from gpa.ingest.receiver import ReceiverLimits
from tests.ingest.receiver.mutated_requests import LIMIT, run
from tests.ingest.receiver.receiving import PROTOBUF, SPAN, protobuf_of, receiving, request_of


def test_each_gets_the_right_code_and_none_does_harm(tmp_path: Path) -> None:
    limits = ReceiverLimits(body_bytes=LIMIT, unpacked_bytes=LIMIT)
    with receiving(tmp_path, limits=limits) as running:
        found = run(running, 300, seed=11)
        assert found.wrong == []
        assert set(found.answers) == {
            *("http 200", "http 400", "http 413"),
            *("grpc OK", "grpc INVALID_ARGUMENT", "grpc RESOURCE_EXHAUSTED"),
        }
        good = protobuf_of(request_of(SPAN))
        assert running.post("/v1/traces", good, {"content-type": PROTOBUF}).status == 200
        assert running.stored() == 1
