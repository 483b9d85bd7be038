"""Who gets in: tokens, TLS, addresses; and what a client may do to the ports."""

from __future__ import annotations

import base64
import contextlib
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc.status_pb2 import Status

from gpa.errors import InputError, UsageError
from gpa.ingest.receiver import ReceiverLimits, Tls, start
from gpa.ingest.receiver.settings import address_of
from gpa.ingest.spool import open_spool
from tests.ingest.receiver.receiving import (
    PROTOBUF,
    SPAN,
    Receiving,
    exporting,
    post,
    protobuf_of,
    receiving,
    request_of,
)
from tests.ingest.receiver.test_over_grpc import call

GOOD = protobuf_of(request_of(SPAN))
TOKEN = "correct horse"


def basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"anyone:{password}".encode()).decode()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiving]:
    with receiving(tmp_path_factory.mktemp("receiver"), tokens=(TOKEN, "second"), page=_page) as running:
        yield running


async def _page(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"page"})


@pytest.mark.parametrize(
    "authorization",
    [
        pytest.param(None, id="nothing"),
        pytest.param("", id="empty"),
        pytest.param(TOKEN, id="no scheme"),
        pytest.param("Bearer", id="no token"),
        pytest.param("Bearer ", id="empty token"),
        pytest.param("Bearer wrong", id="wrong token"),
        pytest.param(f"Bearer {TOKEN}x", id="longer token"),
        pytest.param(f"Bearer {TOKEN[:-1]}", id="shorter token"),
        pytest.param(f"Bearer {TOKEN.upper()}", id="other case"),
        pytest.param(f"Digest {TOKEN}", id="other scheme"),
        pytest.param(basic("wrong"), id="wrong password"),
        pytest.param("Basic !!!", id="no base64"),
        pytest.param("Basic " + base64.b64encode(TOKEN.encode()).decode(), id="no user"),
    ],
)
def test_without_a_token_nothing_gets_in(guarded: Receiving, authorization: str | None) -> None:
    url, address = guarded.receiver.http, guarded.receiver.grpc
    assert url
    assert address
    headers = {} if authorization is None else {"authorization": authorization}
    for path in ("/v1/traces", "/v1/logs"):
        found = post(url, path, GOOD, {"content-type": PROTOBUF, **headers})
        assert (found.status, found.headers["www-authenticate"]) == (401, "Bearer")
        assert Status.FromString(found.body).code == 16
    for path in ("/", "/metrics", "/v1/other", "/healthz/../metrics", "//metrics"):
        assert post(url, path, None, headers, "GET").status == 401
    metadata = list(headers.items())
    assert call(address, GOOD, metadata=metadata).code == "UNAUTHENTICATED"
    assert guarded.stored() == 0


def test_probes_need_no_token(guarded: Receiving) -> None:
    assert guarded.receiver.http
    assert post(guarded.receiver.http, "/healthz", None, {}, "GET").status == 200
    assert post(guarded.receiver.http, "/readyz", None, {}, "GET").status == 200


@pytest.mark.parametrize(
    "authorization", [f"Bearer {TOKEN}", "bearer second", basic(TOKEN), "Bearer  second "], ids=str
)
def test_with_a_token_everything_is_open(tmp_path: Path, authorization: str) -> None:
    with receiving(tmp_path, tokens=(TOKEN, "second"), page=_page) as running:
        url, address = running.receiver.http, running.receiver.grpc
        assert url
        assert address
        headers = {"authorization": authorization}
        assert post(url, "/v1/traces", GOOD, {"content-type": PROTOBUF, **headers}).status == 200
        assert post(url, "/", None, headers, "GET").body == b"page"
        assert post(url, "/metrics", None, headers, "GET").status == 200
        assert call(address, GOOD, metadata=list(headers.items())).code == "OK"
        assert running.stored() == 1


def test_a_browser_is_asked_for_the_token(guarded: Receiving) -> None:
    assert guarded.receiver.http
    found = post(guarded.receiver.http, "/", None, {}, "GET")
    assert found.headers["www-authenticate"] == 'Basic realm="gpa", charset="UTF-8"'


def test_an_empty_token_is_a_mistake(tmp_path: Path) -> None:
    with open_spool(tmp_path / "spool") as spool, pytest.raises(UsageError, match="found an empty one"):
        start(spool, tokens=("",))


@pytest.fixture
def certificate(tmp_path: Path) -> Tls:
    files = Tls(tmp_path / "certificate.pem", tmp_path / "key.pem")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    try:
        subprocess.run(
            [*command, "-keyout", files.key, "-out", files.certificate], check=True, capture_output=True, timeout=20
        )
    except FileNotFoundError:
        pytest.skip("openssl, which makes the certificate, is not installed")
    return files


def test_tls_on_both_ports(tmp_path: Path, certificate: Tls) -> None:
    import http.client

    with receiving(tmp_path, tls=certificate) as running:
        url, address = running.receiver.http, running.receiver.grpc
        assert url
        assert address
        assert url.startswith("https://")
        trusting = ssl.create_default_context(cafile=str(certificate.certificate))
        at = url.removeprefix("https://")
        connection = http.client.HTTPSConnection(at, context=trusting, timeout=20)
        connection.request("POST", "/v1/traces", GOOD, {"content-type": PROTOBUF})
        assert connection.getresponse().status == 200
        connection.close()
        credentials = grpc.ssl_channel_credentials(certificate.certificate.read_bytes())
        with grpc.secure_channel(address, credentials) as channel:
            assert exporting(channel)(GOOD, timeout=20) == b""
        assert call(address, GOOD).code == "UNAVAILABLE"
        with pytest.raises(OSError):  # noqa: PT011 - whatever the operating system says of a closed connection
            post("http://" + at, "/healthz", None, {}, "GET")
        assert running.stored() == 1


def test_a_certificate_that_is_none(tmp_path: Path) -> None:
    wrong = Tls(tmp_path / "c", tmp_path / "k")
    wrong.certificate.write_text("no certificate")
    wrong.key.write_text("no key")
    only: tuple[dict[str, Any], ...] = ({"grpc": None}, {"http": None})
    for ports in only:
        with pytest.raises(InputError), receiving(tmp_path, tls=wrong, **ports):
            pass


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("4318", "expected an address like 127.0.0.1:4318, found '4318'", id="no host"),
        pytest.param("localhost:", "found 'localhost:'", id="no port"),
        pytest.param("localhost:x", "found 'localhost:x'", id="a word"),
        pytest.param("localhost:70000", "found 'localhost:70000'", id="too large"),
        pytest.param("localhost:-1", "found 'localhost:-1'", id="negative"),
    ],
)
def test_what_is_no_address(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        address_of(text)
    assert message in str(error.value)


@pytest.mark.parametrize("port", ["http", "grpc"])
@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "example.com:0"])
def test_the_network_is_not_let_in_by_accident(tmp_path: Path, address: str, port: str) -> None:
    ports: dict[str, Any] = {"http": None, "grpc": None, port: address}
    with open_spool(tmp_path / "spool") as spool, pytest.raises(UsageError, match="can be reached from the network"):
        start(spool, **ports)


@pytest.mark.parametrize("allowed", [{"insecure": True}, {"tokens": ("t",)}], ids=["insecure", "token"])
def test_the_network_is_let_in_on_purpose(tmp_path: Path, allowed: dict[str, Any]) -> None:
    with receiving(tmp_path, http="0.0.0.0:0", grpc="0.0.0.0:0", **allowed) as running:
        assert running.receiver.http
        assert post(running.receiver.http.replace("0.0.0.0", "127.0.0.1"), "/healthz", None, {}, "GET").status == 200


@pytest.mark.parametrize("port", ["http", "grpc"])
def test_a_port_that_is_taken(tmp_path: Path, port: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ports: dict[str, Any] = {port: address}
        with pytest.raises(InputError, match=f"{address}: cannot listen there"), receiving(tmp_path, **ports):
            pass


def test_two_receivers_do_not_share_a_port(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with receiving(tmp_path) as running:
        for port in ("http", "grpc"):
            address = (getattr(running.receiver, port) or "").removeprefix("http://")
            ports: dict[str, Any] = {port: address}
            with pytest.raises(InputError), receiving(tmp_path / "other", **ports):
                pass


def test_ipv6(tmp_path: Path) -> None:
    try:
        with receiving(tmp_path, http="[::1]:0", grpc="[::1]:0") as running:
            assert running.receiver.http
            assert running.receiver.grpc
            assert running.receiver.http.startswith("http://[::1]:")
            assert post(running.receiver.http, "/v1/traces", GOOD, {"content-type": PROTOBUF}).status == 200
            assert call(running.receiver.grpc, GOOD).code == "OK"
    except InputError as error:
        pytest.skip(f"no IPv6 here: {error}")


def connected(running: Receiving) -> socket.socket:
    assert running.receiver.http
    host, port = running.receiver.http.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=20)


def answer(connection: socket.socket) -> bytes:
    """All that comes until the other side closes."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            found += piece
    return found


HEAD = b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(b"", b"408", id="nothing"),
        pytest.param(HEAD, b"408", id="half a head"),
        pytest.param(HEAD + b"content-length: 50\r\n\r\nabc", b"408", id="half a body"),
        pytest.param(HEAD + b"transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n", b"408", id="half of the chunks"),
        pytest.param(HEAD + b"x: " + b"y" * 70_000, b"431", id="a head without end"),
        pytest.param(b"\x16\x03\x01 TLS hello\r\n\r\n", b"400", id="not HTTP"),
        pytest.param(HEAD + b"content-length: 0\r\n\r\n" + HEAD, b"408", id="half of a second head"),
    ],
)
def test_a_client_that_stops_is_cut_off(tmp_path: Path, sent: bytes, status: bytes) -> None:
    with receiving(tmp_path, grpc=None, limits=ReceiverLimits(read_s=0.3)) as running, connected(running) as client:
        client.sendall(sent)
        found = answer(client)
        assert b"HTTP/1.1 " + status in found
        assert running.post("/v1/traces", GOOD, {"content-type": PROTOBUF}).status == 200


def test_a_client_that_drips_is_cut_off(tmp_path: Path) -> None:
    with receiving(tmp_path, grpc=None, limits=ReceiverLimits(read_s=0.3)) as running, connected(running) as client:
        client.sendall(HEAD + b"content-length: 1000\r\n\r\n")
        client.settimeout(0.02)
        found = b""
        for _ in range(500):
            with contextlib.suppress(TimeoutError):
                found = client.recv(65536)
                break
            client.sendall(b"x")
        assert b"HTTP/1.1 408" in found


def test_a_slow_client_that_makes_progress_is_served(tmp_path: Path) -> None:
    body = protobuf_of(request_of(SPAN | {"name": "x" * 200_000}))
    with receiving(tmp_path, grpc=None, limits=ReceiverLimits(read_s=0.3)) as running, connected(running) as client:
        client.sendall(HEAD + b"connection: close\r\ncontent-length: %d\r\n\r\n" % len(body))
        for at in range(0, len(body), 20_000):
            client.sendall(body[at : at + 20_000])
            time.sleep(0.06)
        assert b"HTTP/1.1 200" in answer(client)


def test_a_thousand_idle_connections_are_in_nobodys_way(tmp_path: Path) -> None:
    with receiving(tmp_path, limits=ReceiverLimits(read_s=60)) as running, contextlib.ExitStack() as idle:
        for number in range(1000):
            client = idle.enter_context(connected(running))
            if number % 2:
                client.sendall(HEAD)
        assert running.post("/v1/traces", GOOD, {"content-type": PROTOBUF}).status == 200
        assert running.receiver.grpc
        assert call(running.receiver.grpc, GOOD).code == "OK"


def test_more_connections_than_allowed_are_closed(tmp_path: Path) -> None:
    limits = ReceiverLimits(read_s=60, connections=5)
    with receiving(tmp_path, grpc=None, limits=limits) as running:
        with contextlib.ExitStack() as idle:
            first = [idle.enter_context(connected(running)) for _ in range(5)]
            for client in first:
                client.sendall(HEAD)
            time.sleep(0.1)
            assert answer(idle.enter_context(connected(running))) == b""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:  # closing takes a moment
            with contextlib.suppress(OSError):
                if running.post("/v1/traces", GOOD, {"content-type": PROTOBUF}).status == 200:
                    return
        raise AssertionError("the receiver did not recover")


def test_a_stop_answers_what_is_under_way(tmp_path: Path) -> None:
    with receiving(tmp_path, grpc=None) as running, connected(running) as client:
        with running.spool._database.writing():
            client.sendall(HEAD + b"content-length: %d\r\n\r\n" % len(GOOD) + GOOD)
            time.sleep(0.1)
        running.receiver.stop()
        assert b"HTTP/1.1 200" in answer(client)
        running.receiver.stop()  # twice is once
        with pytest.raises(OSError):  # noqa: PT011 - refused or reset
            running.post("/healthz", None, {})
        assert running.stored() == 1
