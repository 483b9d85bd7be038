"""Links from a finding to the tool that shows the trace: a template, or the name of a tool and where it runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import parse_qs, quote, urlsplit

from gpa.errors import UsageError

_FIELD = re.compile(r"\{([^{}]*)\}")
_FIELDS = {"trace_id", "span_id"}


class TraceLinks(NamedTuple):
    """Where a span, and a trace, is shown. `{trace_id}` and `{span_id}` stand for the ids."""

    span: str
    trace: str
    """For what is not localised in a span."""
    tool: str = "your tracing tool"

    def url(self, trace_id: str, span_id: str = "") -> str:
        """The address, ids percent-encoded."""
        ids = {"trace_id": quote(trace_id, safe=""), "span_id": quote(span_id, safe="")}
        return _FIELD.sub(lambda field: ids[field[1]], self.span if span_id else self.trace)


def trace_links(text: str) -> TraceLinks:
    """What `--trace-url` says: a template with `{trace_id}`, or `PRESET` or `PRESET=BASE_URL`.

    Raises `UsageError` for a scheme that is not http or https, a template without `{trace_id}`, and an unknown preset.
    """
    name, _, base = text.partition("=")
    if re.fullmatch(r"[a-z]+", name):
        if name not in PRESETS:
            known = ", ".join(PRESETS)
            raise UsageError(f"--trace-url: expected a template with {{trace_id}} or one of {known}, found {name!r}")
        default, make = PRESETS[name]
        return make(_checked(base or default).rstrip("/"))
    found = set(_FIELD.findall(text))
    if "trace_id" not in found or found - _FIELDS or re.search(r"[{}]", _FIELD.sub("", text)):
        raise UsageError(f"--trace-url: expected {{trace_id}} and perhaps {{span_id}} in the template, found {text!r}")
    _checked(_FIELD.sub("x", text))
    if _FIELD.search("".join(_origin(text))):
        raise UsageError(f"--trace-url: expected {{trace_id}} behind the host name, found {text!r}")
    return TraceLinks(text, text)


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound or re.search(r"[\s\x00-\x20\"'<>\\]", url):
        raise UsageError(f"--trace-url: expected an http:// or https:// address, found {url!r}")
    return url


def _origin(template: str) -> tuple[str, str]:
    parts = urlsplit(template)
    return parts.scheme, parts.netloc


def _jaeger(base: str) -> TraceLinks:
    # uiFind filters and highlights spans; an id matches exactly (jaeger-ui, filterSpans).
    return TraceLinks(f"{base}/trace/{{trace_id}}?uiFind={{span_id}}", f"{base}/trace/{{trace_id}}", "Jaeger")


def _tempo(base: str) -> TraceLinks:
    # Explore reads its panes from the address; `panelsState.trace.spanId` opens a span (ExploreTracePanelState).
    parts = urlsplit(base)
    uid = parse_qs(parts.query).get("datasource", ["tempo"])[0]
    source = f'{{"type":"tempo","uid":"{re.sub(r"[^A-Za-z0-9_-]", "", uid)}"}}'
    query = f'{{"refId":"A","datasource":{source},"queryType":"traceql","query":"@trace@"}}'
    panels = ',"panelsState":{"trace":{"spanId":"@span@"}}'

    def template(extra: str) -> str:
        panes = quote(f'{{"gpa":{{"datasource":{source},"queries":[{query}]{extra}}}}}', safe="")
        panes = panes.replace("%40trace%40", "{trace_id}").replace("%40span%40", "{span_id}")
        return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}/explore?schemaVersion=1&panes={panes}"

    return TraceLinks(template(panels), template(""), "Grafana")


def _phoenix(base: str) -> TraceLinks:
    # Phoenix's own ids are internal; its redirects take OpenTelemetry's (docs, "Constructing URLs").
    return TraceLinks(f"{base}/redirects/spans/{{span_id}}", f"{base}/redirects/traces/{{trace_id}}", "Phoenix")


def _langfuse(base: str) -> TraceLinks:
    # /trace/ID finds the project by itself but forgets the observation (langfuse, TraceRedirectPage.tsx).
    if "/project/" in base:
        trace = f"{base}/traces/{{trace_id}}"
        return TraceLinks(f"{trace}?observation={{span_id}}", trace, "Langfuse")
    return TraceLinks(f"{base}/trace/{{trace_id}}", f"{base}/trace/{{trace_id}}", "Langfuse")


PRESETS: dict[str, tuple[str, Callable[[str], TraceLinks]]] = {
    "jaeger": ("http://localhost:16686", _jaeger),
    "tempo": ("http://localhost:3000", _tempo),
    "phoenix": ("http://localhost:6006", _phoenix),
    "langfuse": ("https://cloud.langfuse.com", _langfuse),
}
"""Name -> where it usually runs, and its templates."""
