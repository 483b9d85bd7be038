"""Where events are sent to: the options that say how an OTLP endpoint is spoken to, and what they make."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gpa.cli.options import option
from gpa.errors import UsageError

if TYPE_CHECKING:
    from gpa.telemetry.sending import Endpoint

ENDPOINT = (
    option(
        "--protocol",
        type=click.Choice(["grpc", "http/protobuf"]),
        help="Of that URL.  [default: grpc on port 4317, else http/protobuf]",
    ),
    option("--headers", metavar="K=V,K2=V2", help="With it.  [default: OTEL_EXPORTER_OTLP_HEADERS]"),
)
"""They stand behind `--otlp URL`."""


def endpoint_of(otlp: str | None, protocol: str | None, headers: str | None) -> Endpoint | None:
    """The endpoint that the options name, None without `--otlp`.

    Raises:
        UsageError: the others are about `--otlp`, which is not given; they make no sense.
    """
    from gpa.telemetry.sending import Endpoint, parse_headers

    if otlp is not None:
        return Endpoint(otlp, protocol, None if headers is None else parse_headers(headers))
    for name, value in {"--protocol": protocol, "--headers": headers}.items():
        if value is not None:
            raise UsageError(f"{name}: is about --otlp URL, which is not given")
    return None
