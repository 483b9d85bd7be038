"""How a receiver listens and what it allows; addresses and tokens are checked here."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Sequence
from hashlib import blake2b
from ipaddress import ip_address
from pathlib import Path

from msgspec import Struct

from gpa.errors import UsageError


class ReceiverLimits(Struct, frozen=True):
    """What one request, and all of them together, may take."""

    body_bytes: int = 64 << 20
    """Of a request as it comes; what OTLP recommends."""
    unpacked_bytes: int = 64 << 20
    """Of a request without its compression."""
    in_flight_bytes: int = 256 << 20
    """Of all requests that are being read or stored."""
    read_s: float = 30.0
    """For the head of a request, and for a body that comes more slowly than 64 KiB/s."""
    store_s: float = 30.0
    """Until a request that could not be stored yet is answered with `try again`."""
    connections: int = 8192
    """Over HTTP; more are closed at once."""


class Tls(Struct, frozen=True):
    """Files in PEM: the certificate with its chain, and its key."""

    certificate: Path
    key: Path


class Address(Struct, frozen=True):
    """Where to listen; port 0 is any free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)


def address_of(text: str) -> Address:
    """The address that `HOST:PORT` or `[IPV6]:PORT` stands for.

    Raises:
        UsageError: it is neither.
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isascii() and port.isdecimal() and int(port) < 1 << 16):
        raise UsageError(f"expected an address like 127.0.0.1:4318, found {text!r}")
    return Address(host, int(port))


def is_loopback(host: str) -> bool:
    """Whether a host name or address can mean this machine only."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_exposure(addresses: Sequence[Address], *, tokens: Sequence[str], insecure: bool) -> None:
    """Refuse to let the network in without asking who it is.

    Raises:
        UsageError: an address is not loopback, there is no token, and `insecure` does not say that this is meant.
    """
    if tokens or insecure:
        return
    for address in addresses:
        if not address.is_loopback:
            raise UsageError(
                f"{address} can be reached from the network: configure a token, or say --insecure to let anyone in"
            )


class Tokens:
    """Who may come in: anyone when there is no token, else those who know one.

    A browser cannot send a bearer token, so a token is also accepted as the password of HTTP's Basic scheme.
    """

    __slots__ = ("_digests",)

    def __init__(self, tokens: Sequence[str]) -> None:
        if not all(tokens):
            raise UsageError("expected a token, found an empty one")
        self._digests = [_digest(token.encode()) for token in tokens]

    def __bool__(self) -> bool:
        return bool(self._digests)

    def accept(self, authorization: str | bytes) -> bool:
        """Whether an `authorization` header lets its sender in. All tokens are compared, each in constant time."""
        if not self._digests:
            return True
        header = authorization.encode("utf-8", "surrogateescape") if isinstance(authorization, str) else authorization
        scheme, _, given = header.strip().partition(b" ")
        given = given.strip()
        match scheme.lower():
            case b"basic":
                given = _password(given)
            case b"bearer":
                pass
            case _:
                given = b""
        found = _digest(given)
        return sum(hmac.compare_digest(found, digest) for digest in self._digests) > 0


def _digest(token: bytes) -> bytes:
    return blake2b(token, digest_size=32).digest()


def _password(given: bytes) -> bytes:
    try:
        return base64.b64decode(given, validate=True).partition(b":")[2]
    except binascii.Error:
        return b""
