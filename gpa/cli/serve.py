"""`gpa serve`: an OTLP receiver that evaluates complete traces, shows them and reports back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpa.cli.endpoint import ENDPOINT, endpoint_of
from gpa.cli.judging import POSITIVE, QUESTIONS, judging_of, refuse_without_model
from gpa.cli.options import Grouped, grouped, option
from gpa.cli.output import visible
from gpa.cli.reading import codes_in, names_in
from gpa.errors import InputError, UsageError

if TYPE_CHECKING:
    from gpa.ingest.receiver import Tls
    from gpa.live.settings import Evaluating

OFF = "off"
WHEN = ("always", "checks found something", "never")


class When(click.ParamType[str]):
    """`always`, `checks found something` or `never`; with hyphens too, for those who dislike quotes."""

    name = "when"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The condition, spelled with blanks."""
        found = str(value).strip().lower().replace("-", " ")
        if found not in WHEN:
            self.fail(f"expected {', '.join(map(repr, WHEN))}, found {value!r}", param, ctx)
        return found


def _silence(name: str, about: str) -> tuple[tuple[str, ...], dict[str, Any]]:
    """An option for seconds without a span."""
    return option(f"--{name}", f"{name}_s", type=click.FloatRange(min=0), metavar="S", help=f"Seconds without {about}")


SILENCES = (
    _silence("quiet", "a span when the root is in and no parent is missing.  [default: 10]"),
    _silence("patience", "a span otherwise: longer than the longest silent tool call.  [default: 900]"),
)
"""When a trace counts as complete; the same for a receiver and for a file that is followed."""
_PATIENCE = grouped(
    "When a trace is complete",
    *SILENCES,
    option(
        "--max-age", "max_age_s", type=POSITIVE, metavar="S", help="Seconds a trace may stay open.  [default: 21600]"
    ),
    option(
        "--keep",
        "keep_h",
        type=click.FloatRange(min=0),
        metavar="H",
        help="Hours the spans of evaluated traces are kept, for late ones to join.  [default: 24]",
    ),
)
_SENDING = grouped(
    "Back to OpenTelemetry",
    option("--otlp", metavar="URL", help="Send verdicts and findings there as gen_ai.evaluation.result events."),
    *ENDPOINT,
    option("--self-telemetry", is_flag=True, help="Send spans and metrics about the evaluation itself too."),
)
_LISTENING = grouped(
    "Receiver",
    option(
        "--http", metavar="HOST:PORT|off", default="127.0.0.1:4318", show_default=True, help="Where to take OTLP/HTTP."
    ),
    option(
        "--grpc", metavar="HOST:PORT|off", default="127.0.0.1:4317", show_default=True, help="Where to take OTLP/gRPC."
    ),
    option("--token-file", metavar="FILE", help="Let in only who knows a token; one a line."),
    option("--tls-cert", metavar="FILE", help="Certificate with its chain (PEM)."),
    option("--tls-key", metavar="FILE", help="Its key (PEM)."),
    option("--insecure", is_flag=True, help="Listen beyond this machine although there is no token."),
)
_CHECKS = grouped(
    "Checks",
    option("--checks", metavar="A,B", help="Run only these checks, by the names that gpa checks lists."),
    option("--skip-checks", metavar="A,B", help="Run all checks but these."),
    option("--suppress", metavar="FILE", help="Mute the findings that this TOML file names, with reasons."),
    option(
        "--jobs",
        type=click.IntRange(min=0),
        metavar="N",
        help="Processes that run the checks; 0: the receiver's own.  [default: 1]",
    ),
)
_POLICY = grouped(
    "When LLM judges are asked, and what they may cost",
    option(
        "--sample-rate", type=click.FloatRange(0, 1), metavar="X", help="Share of traces, by trace id.  [default: 1]"
    ),
    option("--when", type=When(), metavar="WHEN", help="always, 'checks found something', never.  [default: always]"),
    option("--max-cost", type=click.FloatRange(min=0), metavar="USD", help="A day (UTC), at the most."),
    option("--concurrency", type=click.IntRange(min=1), metavar="N", help="Requests at a time.  [default: 8]"),
    option("--requests-per-minute", type=POSITIVE, metavar="N", help="At the most."),
    option("--tokens-per-minute", type=POSITIVE, metavar="N", help="Of input, at the most; cached ones not counted."),
    option("--cache", metavar="FILE", help="Keep answers here, so that none is paid twice.  [default: a user folder]"),
    option("--no-cache", is_flag=True, help="Keep no answers, and ask again what was asked before."),
    option("--prices", metavar="FILE", help="TOML of prices, laid over the ones that come with gpa."),
)


@click.command(name="serve", cls=Grouped)
@click.option("--store", metavar="FILE", default="gpa.db", show_default=True, help="SQLite file or postgresql:// URL.")
@click.option(
    "--spool", metavar="FILE", help="Spans that wait.  [default: the store's name with .spool; a URL is shared]"
)
@click.option("--dimensions", metavar="LC,TC", help="Judge only these.  [default: all]")
@click.option("--drain", "drain_s", type=click.FloatRange(min=0), metavar="S", default=10.0, show_default=True,
              help="Seconds to finish in when stopped; what is left is done after the next start.")  # fmt: skip
@_LISTENING
@_PATIENCE
@_CHECKS
@QUESTIONS
@_POLICY
@_SENDING
def command(
    *,
    http: str,
    grpc: str,
    token_file: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    insecure: bool,
    **options: Any,
) -> None:
    """Receive traces over OTLP, evaluate each as soon as it is complete, and show what came of it.

    Spans are on disk before they are acknowledged; a process that is killed goes on where it was. The checks judge
    every trace; with --model, a model judges the ones that --sample-rate and --when choose. Results are in --store,
    where gpa report and gpa score read them, and on the page that a browser finds at the HTTP address.

    \b
    Examples:
      gpa serve
      gpa serve --store gpa.db --otlp http://localhost:4320
      gpa serve --model anthropic/claude-sonnet-5-5 --when 'checks found something' --max-cost 5
      gpa serve --model anthropic/claude-sonnet-5-5 --sample-rate 0.1 --max-cost 20
      gpa serve --http 0.0.0.0:4318 --grpc 0.0.0.0:4317 --token-file tokens --tls-cert c.pem --tls-key k.pem
      gpa serve --store postgresql://gpa@db/gpa

    \b
    Then point an SDK or a collector at it (deploy/ has configurations):
      OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from gpa.live.serving import serve
    from gpa.live.settings import Listening

    if http == OFF and grpc == OFF:
        raise UsageError("--http off: contradicts --grpc off: there is nothing to receive with")
    settings = evaluating_of(options)
    listening = Listening(
        http=None if http == OFF else http,
        grpc=None if grpc == OFF else grpc,
        tokens=_tokens(token_file),
        tls=_tls(tls_cert, tls_key),
        insecure=insecure,
    )
    with _logged():
        serve(settings, listening, say=say)


def say(text: str) -> None:
    """Say it on stderr, safely, on one line."""
    click.echo(f"gpa: {visible(' '.join(text.split()))}", err=True)


@contextmanager
def _logged() -> Iterator[None]:
    """What our own modules log is said like everything else, with the traceback of a bug."""
    import logging

    class Said(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            say(record.getMessage())
            if record.exc_info:
                click.echo(visible(logging.Formatter().formatException(record.exc_info)), err=True)

    logger, handler = logging.getLogger("gpa"), Said(logging.WARNING)
    logger.addHandler(handler)
    propagate, logger.propagate = logger.propagate, False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate


def evaluating_of(options: dict[str, Any]) -> Evaluating:
    """The options of `gpa serve` that are about the evaluation, with None where not given, as settings."""
    from gpa.ingest.completion import Patience
    from gpa.live.settings import Evaluating

    patience = {name: options.pop(name) for name in ("quiet_s", "patience_s", "max_age_s")}
    given: dict[str, Any] = {
        name: options.pop(name, None) for name in ("store", "spool", "drain_s", "suppress", "jobs")
    }
    keep_h = options.pop("keep_h")
    if keep_h is not None:
        given["keep_s"] = keep_h * 3600
    given["dimensions"] = codes_in(options.pop("dimensions"))
    given |= {name: names_in(options.pop(name)) for name in ("checks", "skip_checks")}
    given["endpoint"] = endpoint_of(*(options.pop(name) for name in ("otlp", "protocol", "headers")))
    given["self_telemetry"] = options.pop("self_telemetry")
    given |= _judges(options)
    return Evaluating(
        patience=Patience(**{name: value for name, value in patience.items() if value is not None}),
        **{name: value for name, value in given.items() if value is not None},
    )


def _judges(options: dict[str, Any]) -> dict[str, Any]:
    """Model, policy and judging; of no model when none is named."""
    model = options.pop("model")
    policy = {name: options.pop(name) for name in ("sample_rate", "when")}
    if model is None or model == "checks":
        refuse_without_model(policy | options)
        return {}
    from gpa.live.policy import Policy

    return {
        "model": model,
        "policy": Policy(**{name: value for name, value in policy.items() if value is not None}),
        "judging": judging_of(options),
        "redact": options.get("redact"),
    }


def _tokens(path: str | None) -> tuple[str, ...]:
    if path is None:
        return ()
    try:
        lines = Path(path).expanduser().read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise InputError(f"{path}: expected tokens, one a line, found: {why}") from error
    tokens = tuple(line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#"))
    if not tokens:
        raise InputError(f"{path}: expected tokens, one a line, found none")
    return tokens


def _tls(certificate: str | None, key: str | None) -> Tls | None:
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise UsageError("--tls-cert and --tls-key: expected both or none, found one")
    from gpa.live.serving import tls_of

    return tls_of(Path(certificate).expanduser(), Path(key).expanduser())
