"""Serve the pages over HTTP. Rendering runs in threads, so that a large page does not delay others."""

import asyncio
import gc
import logging
import os
import re
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import h11
import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from racebot import addresses
from racebot.addresses import BadQueryError
from racebot.errors import LedgerError
from racebot.web.api.types import ProblemDetails
from racebot.web.html import templating
from racebot.web.http.cache import CachedPages
from racebot.web.http.events import EventStreams
from racebot.web.routes import NO_PAGE, NO_RACE, NOT_FOUND, MatchedRoute, match_of
from racebot.web.site.ledger_view import HTML, Content, Moved, Publication

log = logging.getLogger(__name__)

THREADS = max(2, min(4, os.cpu_count() or 1))
CONNECTIONS = 200  # Most concurrent connections and requests. Any more get a 503 response
KEEP_ALIVE = 5  # seconds to keep an idle connection open after a response
CARDS = "cards/"
PICTURES = (addresses.PICTURE, addresses.SMALL_PICTURE)
CARD_MAX_AGE = 300  # seconds for which crawlers and proxies may keep a card, which takes long to draw
SHUTDOWN_TIMEOUT = 5  # seconds to wait for open requests when the server stops

_UNKNOWN = (
    "Unknown address or id: api/ lists all addresses, api/leaderboards the ids of leaderboards, api/events "
    "events, api/leaderboards/CATEGORY/BOARD/races rated races, and api/players?name=TEXT finds players."
)


def policy(frame_ancestors: str) -> str:
    return (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
        f"frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors {frame_ancestors}"
    )


HEADERS = {
    "Content-Security-Policy": policy("'none'"),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def application(
    database: Path, publication: Publication, stopping: Callable[[], bool] = lambda: False
) -> Starlette:
    """Return an ASGI application that serves the pages of a ledger. Once `stopping`, open streams end."""
    library = CachedPages(database, publication)
    threads = ThreadPoolExecutor(THREADS, thread_name_prefix="pages")
    # Cards have their own thread, so that readers do not wait while crawlers ask for many cards at once.
    card_thread = ThreadPoolExecutor(1, thread_name_prefix="cards")

    def document(match: MatchedRoute, query: Mapping[str, str]) -> Awaitable[Content]:
        chosen = card_thread if match.path.startswith(CARDS) else threads
        return asyncio.get_running_loop().run_in_executor(chosen, library.document, match, query)

    def stamp() -> Awaitable[str]:
        return asyncio.get_running_loop().run_in_executor(threads, library.stamp)

    # Pictures are many and small, and need no policy.
    other_headers = {route: {"X-Content-Type-Options": "nosniff"} for route in PICTURES}
    framed = HEADERS | {"Content-Security-Policy": policy("'self'")}  # by the studio
    other_headers |= dict.fromkeys((addresses.OVERLAY_ROOM, addresses.OVERLAY_PLAYER), framed)

    async def answer(request: Request) -> Response:
        path = request.path_params["path"]
        query = dict(request.query_params)
        query_string = f"?{request.url.query}" if request.url.query else ""
        if path in {"api", "api/"} and "text/html" in request.headers.get("accept", ""):
            if path == "api":
                return RedirectResponse("api/", headers=HEADERS | {"Vary": "Accept"})
            path = addresses.API.path()
        match = match_of(path)
        if match is None:
            if path.endswith("/") and match_of(path[:-1]) is not None:
                target = f"../{path[:-1].rpartition('/')[2]}{query_string}"
                return RedirectResponse(target, 308, headers=HEADERS)
            return _problem(request, 404, NOT_FOUND, _missing(path))
        found = await document(match, query)
        if found is None:
            return _problem(request, 404, NOT_FOUND, _missing(path, match.route))
        if isinstance(found, Moved):
            target = addresses.link(path, found.path) + query_string
            return RedirectResponse(target, 308, headers=HEADERS | {"Cache-Control": "public, max-age=300"})
        headers = {
            **other_headers.get(match.route, HEADERS),
            "Cache-Control": _cache_control(match, query),
            "ETag": found.tag,
            "Vary": "Accept",
        }
        known = request.headers.get("if-none-match", "")  # weak or strong: RFC 9110, 13.1.2
        if known.strip() == "*" or found.tag.removeprefix("W/") in known:
            return Response(status_code=304, headers=headers)
        return Response(found.body, media_type=found.media_type, headers=headers)

    @asynccontextmanager
    async def running(app: Starlette) -> AsyncGenerator[None]:
        del app
        gc.freeze()  # else each collection, of many for a large answer, looks at every module
        gc.set_threshold(10_000)
        yield
        for executor in (threads, card_thread):
            await asyncio.to_thread(executor.shutdown)
        library.close()

    app = Starlette(
        lifespan=running,
        exception_handlers=dict.fromkeys((HTTPException, LedgerError, BadQueryError, Exception), _failed),
        routes=[
            Route(
                "/events/{path:path}",
                EventStreams(document, stamp, HEADERS, stopping),
                methods=["GET", "HEAD"],
            ),
            Route("/{path:path}", answer, methods=["GET", "HEAD"]),
        ],
    )
    app.state.publication = publication
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=6)
    app.add_middleware(
        CORSMiddleware,
        allow_origins=["*"],
        allow_methods=["GET"],
        allow_headers=["*"],
        expose_headers=["ETag"],
    )
    return app


def configuration(app: Starlette, **options: int | str) -> uvicorn.Config:
    """Return uvicorn's configuration, with limits on connections and slow clients."""
    return uvicorn.Config(
        app,
        http=ImpatientProtocol,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT,
        log_level="warning",
        server_header=False,
        **options,  # type: ignore[arg-type]
    )


def serve(
    database: Path, publication: Publication, host: str, port: int, opened: Callable[[str], object]
) -> None:
    """Serve the pages until the process is told to stop. Port 0 takes any free one.

    `opened` is called with the server's address once the port is open, or `OSError` raised if it cannot be.
    """
    server: uvicorn.Server | None = None
    app = application(database, publication, lambda: server is not None and server.should_exit)
    server = uvicorn.Server(configuration(app, host=host, port=port))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as bound:
        where = f"[{host}]" if ":" in host else host
        opened(f"http://{where}:{bound.getsockname()[1]}/")
        server.run(sockets=[bound])


def _cache_control(match: MatchedRoute, query: Mapping[str, str]) -> str:
    """Return how long browsers and proxies may keep the content at an address without asking again."""
    if (match.route is addresses.ASSET and "v" in query) or match.route in PICTURES:
        return "public, max-age=31536000, immutable"
    if match.path.startswith(CARDS):
        return f"public, max-age={CARD_MAX_AGE}"
    return "public, max-age=0, must-revalidate"


def _missing(path: str, route: addresses.Route | None = None) -> str:
    if _is_api(path):
        return _UNKNOWN
    return NO_RACE if route is addresses.RACE else NO_PAGE


def _is_api(path: str) -> bool:
    return re.match(r"(events/)?api(/|$)", path) is not None


def _failed(request: Request, error: Exception) -> Response:
    """Return the response for an error. Only the log has the details of an unexpected one."""
    match error:
        case HTTPException(headers=headers, status_code=status):
            allowed = (headers or {}).get("Allow")
            detail = f"Use {allowed}." if allowed else _missing(request.url.path.lstrip("/"))
            answer = _problem(request, status, f"{error.detail}.", detail)
            answer.headers.update(headers or {})
        case LedgerError():
            log.error("%s", error)
            text = "The ratings are not available right now."
            answer = _problem(request, 503, text, "Try again in a minute.")
        case BadQueryError():
            answer = _problem(request, 400, "Invalid query.", str(error))
        case _:
            answer = _problem(request, 500, "Internal error.", "The server's log says more.")
            answer.headers["Access-Control-Allow-Origin"] = "*"  # no middleware sees this response
    return answer


def _problem(request: Request, status: int, text: str, detail: str) -> Response:
    """Return an error as a page, or as problem details (RFC 9457) for API requests."""
    path = request.url.path.lstrip("/")
    if _is_api(path):
        body = orjson.dumps(ProblemDetails(HTTPStatus(status).phrase, status, detail))
        media_type = "application/problem+json"
    else:
        at, publication = path if len(path) <= addresses.LONGEST_PATH else "", request.app.state.publication
        body = templating.render("error.html", at, publication=publication, text=text, detail=detail)
        media_type = HTML
    return Response(body, status, media_type=media_type, headers=HEADERS | {"Cache-Control": "no-store"})


REQUEST_TIMEOUT = 10.0  # seconds within which a request must arrive
WRITE_TIMEOUT = 30.0  # seconds that a client may stop reading a response


class ImpatientProtocol(H11Protocol):
    """uvicorn's HTTP protocol, with timeouts for reading requests and writing responses.

    uvicorn only limits the time between two requests (`timeout_keep_alive`). It waits forever for a first
    request, for incomplete headers, and for clients that stop reading a response.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._deadlines: dict[str, asyncio.TimerHandle] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._set_deadline("request", REQUEST_TIMEOUT)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state not in {h11.IDLE, h11.SEND_BODY}:
            self._cancel("request")
        elif "request" not in self._deadlines:
            self._set_deadline("request", REQUEST_TIMEOUT)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._set_deadline("response", WRITE_TIMEOUT)

    def resume_writing(self) -> None:
        self._cancel("response")
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        for waited_for in list(self._deadlines):
            self._cancel(waited_for)
        super().connection_lost(exc)

    def _set_deadline(self, waited_for: str, seconds: float) -> None:
        self._deadlines[waited_for] = asyncio.get_running_loop().call_later(seconds, self.transport.abort)

    def _cancel(self, waited_for: str) -> None:
        if timer := self._deadlines.pop(waited_for, None):
            timer.cancel()
