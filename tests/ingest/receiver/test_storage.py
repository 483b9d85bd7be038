"""The disk is full, the database is away: senders are told to come again, and all goes on by itself afterwards."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpa.ingest.completion import Patience
from gpa.ingest.receiver import start
from gpa.ingest.spool import open_spool
from tests.ingest.receiver.receiving import PROTOBUF, SPAN, Receiving, post, protobuf_of, receiving, request_of
from tests.ingest.receiver.test_over_grpc import call
from tests.servers import postgres as servers

HEADERS = {"content-type": PROTOBUF}


def span(number: int, **fields: Any) -> bytes:
    return protobuf_of(request_of(SPAN | {"spanId": f"{number:016x}"} | fields))


def refused(running: Receiving, body: bytes) -> None:
    assert running.receiver.grpc
    found = running.post("/v1/traces", body, HEADERS)
    assert (found.status, int(found.headers["retry-after"]) > 0) == (503, True)
    over_grpc = call(running.receiver.grpc, body)
    assert over_grpc.code == "UNAVAILABLE"
    assert over_grpc.status
    assert len(over_grpc.status.details) == 1


def test_a_full_disk(tmp_path: Path) -> None:
    text = "".join(f"{number:07}" for number in range(40_000))
    large = span(2, name=text)
    with receiving(tmp_path) as running:
        assert running.post("/v1/traces", span(1), HEADERS).status == 200
        connection = running.spool._database._writer  # type: ignore[attr-defined]  # SQLite's
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        refused(running, large)
        refused(running, large)
        connection.execute(f"PRAGMA max_page_count = {pages + 10_000}")
        assert running.post("/v1/traces", large, HEADERS).status == 200
        assert running.stored() == 2


@pytest.fixture(scope="module")
def server() -> Iterator[servers.Server]:
    with servers.server() as made:
        yield made


def test_a_database_that_goes_and_comes_back(server: servers.Server) -> None:
    with (
        open_spool(server.url()) as spool,
        start(spool, http="127.0.0.1:0", grpc="127.0.0.1:0") as receiver,
    ):
        running = Receiving(receiver, spool)
        assert receiver.http
        assert running.post("/v1/traces", span(1), HEADERS).status == 200
        server.stop()
        try:
            refused(running, span(2))
            ready = post(receiver.http, "/readyz", None, {}, "GET")
            assert (ready.status, b"postgresql://127.0.0.1/postgres" in ready.body) == (503, True)
            assert post(receiver.http, "/healthz", None, {}, "GET").status == 200
            assert post(receiver.http, "/metrics", None, {}, "GET").status == 200
        finally:
            server.start()
        deadline = time.monotonic() + 20
        while running.post("/v1/traces", span(2), HEADERS).status != 200:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert post(receiver.http, "/readyz", None, {}, "GET").status == 200
        (only,) = spool.complete(Patience(quiet_s=0, patience_s=0))
        assert only.spans == running.stored() == 2


def test_the_database_in_a_url_of_sqlalchemy(server: servers.Server) -> None:
    with open_spool(server.url().replace("postgresql://", "postgresql+psycopg://")) as spool:
        assert spool.refusal() is None
