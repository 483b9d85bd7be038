"""The live page as an ASGI application: HTML made here, updated by htmx, nothing from another host.

Text of traces is escaped by the template, and a content security policy lets no script run but htmx, which is served
from this package and may neither evaluate text nor insert scripts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import TYPE_CHECKING

from gpa.errors import StoreError
from gpa.live.showing import Cached, Moment, now_of, session_of, trace_of
from gpa.report.visible import excerpt, visible
from gpa.store import Store

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

STATIC = {
    "htmx.min.js": ("htmx.min.js", "text/javascript"),
    "live.css": ("live.css", "text/css"),
    "style.css": ("report/style.css", "text/css"),
    "icon.svg": ("icon.svg", "image/svg+xml"),
}
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


def page_app(
    store: Store,
    *,
    moment: Callable[[], Moment],
    version: Callable[[], int],
    names: Mapping[str, str],
    endpoint: Callable[[], str],
) -> Starlette:
    """The application: `/`, `/now` (what changes in it), `/traces/ID`, `/sessions?id=ID`, `/static/...`.

    Args:
        store: What is shown.
        moment: The numbers of the moment.
        version: Rises when the store has something new.
        names: Titles of the dimensions by code.
        endpoint: Where this receiver takes spans, for the hint while there are none.
    """
    from starlette.applications import Starlette
    from starlette.responses import HTMLResponse, PlainTextResponse, Response
    from starlette.routing import Route

    traces = Cached(store, version)

    def rendered(seen: str, *, paused: bool, whole: bool) -> str | None:
        """The page, or what changes in it; None when that is as it was `seen`."""
        now = now_of(traces(), moment(), names=names, endpoint=endpoint())
        digest = blake2b(repr(now).encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()
        if not whole and digest == seen:
            return None
        template = "live.html" if whole else "live_now.html"
        return _environment().get_template(template).render(now=now, digest=digest, paused=paused)

    async def home(request: Request) -> Response:
        paused = request.query_params.get("paused") == "1"
        # Database and template block: not in the loop that acknowledges spans.
        return HTMLResponse(await asyncio.to_thread(rendered, "", paused=paused, whole=True), headers=HEADERS)

    async def now(request: Request) -> Response:
        seen = request.query_params.get("seen", "")
        text = await asyncio.to_thread(rendered, seen, paused=False, whole=False)
        return Response(status_code=204, headers=HEADERS) if text is None else HTMLResponse(text, headers=HEADERS)

    async def one(kind: str, find: Callable[..., object], name: str) -> Response:
        """The page of one trace or session."""

        def rendered() -> str | None:
            found = find(store, name, names=names)
            template = _environment().get_template(f"live_{kind}.html")
            return None if found is None else template.render({kind: found}, paused=True)

        try:
            text = await asyncio.to_thread(rendered)
        except StoreError as error:
            return PlainTextResponse(f"{error}\n", 503, headers=HEADERS)
        if text is None:
            return PlainTextResponse(f"no such {kind}\n", 404, headers=HEADERS)
        return HTMLResponse(text, headers=HEADERS)

    async def trace(request: Request) -> Response:
        return await one("trace", trace_of, request.path_params["trace_id"])

    async def session(request: Request) -> Response:
        # Not in the path: a browser takes a session named `..` for the folder above.
        return await one("session", session_of, request.query_params.get("id", ""))

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in STATIC:
            return PlainTextResponse("no such file\n", 404, headers=HEADERS)
        path, kind = STATIC[name]
        return Response(_static(path), media_type=kind, headers=HEADERS | {"cache-control": "max-age=300"})

    return Starlette(
        routes=[
            Route("/", home),
            Route("/now", now),
            Route("/traces/{trace_id:path}", trace),
            Route("/sessions", session),
            Route("/static/{name}", static),
        ]
    )


@cache
def _static(path: str) -> bytes:
    return (files("gpa") / "templates" / path).read_bytes()


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("gpa", "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters |= {"visible": visible, "clipped": excerpt}
    return environment
