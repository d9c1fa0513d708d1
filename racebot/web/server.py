"""The pages over HTTP. One thread renders: all of it reads one connection, and rendering is quick."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import socket
from collections.abc import AsyncGenerator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from racebot.errors import LedgerError
from racebot.ledger.store import Ledger
from racebot.text.format import to_json
from racebot.web import api, templating
from racebot.web.api import BadQueryError
from racebot.web.document import Document
from racebot.web.pages import Pages
from racebot.web.view import Publication, View

log = logging.getLogger(__name__)

KEPT = 200
"""Documents that are kept for as long as the ledger stays the same."""

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class Renderer:
    """Renders documents from the ledger at a path, each once for as long as the ledger stays the same.

    Not for more than one thread. Raises `LedgerError` where the ledger cannot be read.
    """

    def __init__(self, database: Path, publication: Publication) -> None:
        self._database = database
        self._publication = publication
        self._ledger: Ledger | None = None
        self._site: Pages | None = None
        self._inode = self._version = 0
        self._documents: dict[tuple[str, tuple[tuple[str, str], ...]], Document | None] = {}

    def document(self, path: str, query: Mapping[str, str]) -> Document | None:
        """What belongs to a path now."""
        ledger = self._current()
        key = (path, tuple(sorted(query.items())))
        with ledger.snapshot():
            version = ledger.data_version()
            if self._site is None or version != self._version:
                self._version = version
                self._site = Pages(View(ledger, self._publication), served=True)
                self._documents.clear()
            if key not in self._documents:
                if len(self._documents) >= KEPT:
                    del self._documents[next(iter(self._documents))]
                content = self._site.document(path, query)
                if content is not None and not isinstance(content, Document):
                    content = Document(b"".join(content.pieces()), content.media_type)
                self._documents[key] = content
            return self._documents[key]

    def close(self) -> None:
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = self._site = None

    def _current(self) -> Ledger:
        """The ledger; opened anew where another file has taken the place of the one known."""
        try:
            inode = self._database.stat().st_ino
        except OSError:
            inode = 0
        if self._ledger is not None and inode != self._inode:
            self.close()
        if self._ledger is None:
            self._ledger = Ledger.open_to_read(self._database)
            self._inode = inode
        return self._ledger


def application(database: Path, publication: Publication) -> Starlette:
    """The pages of a ledger as an ASGI application."""
    renderer = Renderer(database, publication)
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pages")

    async def answer(request: Request) -> Response:
        path = request.path_params["path"]
        query = dict(request.query_params)
        work: Callable[[], Document | None] = partial(renderer.document, path, query)
        try:
            found = await asyncio.get_running_loop().run_in_executor(thread, work)
        except LedgerError as error:
            log.error("%s", error)
            return _error(path, 503, "The ratings cannot be read just now.")
        except BadQueryError as error:
            return _error(path, 400, "The query is wrong.", str(error))
        if found is None:
            return _error(path, 404, "There is no such page.")
        return _response(request, found, lasting=path in templating.ASSETS and "v" in query)

    @asynccontextmanager
    async def closing(app: Starlette) -> AsyncGenerator[None]:
        del app
        yield
        await asyncio.get_running_loop().run_in_executor(thread, renderer.close)
        thread.shutdown()

    app = Starlette(
        lifespan=closing,
        exception_handlers={HTTPException: _refused, Exception: _failed},
        routes=[Route("/{path:path}", answer, methods=["GET", "HEAD"])],
    )
    app.add_middleware(GZipMiddleware, minimum_size=1000)
    app.add_middleware(
        CORSMiddleware,
        allow_origins=["*"],
        allow_methods=["GET"],
        allow_headers=["If-None-Match"],
        expose_headers=["ETag"],
    )
    return app


def serve(
    database: Path, publication: Publication, host: str, port: int, tell: Callable[[str], None]
) -> None:
    """Serve until stopped; `tell` is given a line once the port is taken.

    Raises:
        OSError: the port is taken, or not to be had.
    """
    config = uvicorn.Config(
        application(database, publication), host=host, port=port, log_level="warning", server_header=False
    )
    with socket.create_server(
        (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
    ) as bound:
        where = f"[{host}]" if ":" in host else host
        tell(f"pages: http://{where}:{bound.getsockname()[1]}/")
        uvicorn.Server(config).run(sockets=[bound])


def _response(request: Request, document: Document, *, lasting: bool) -> Response:
    tag = f'W/"{hashlib.sha256(document.body).hexdigest()[:20]}"'
    headers = {
        **HEADERS,
        "ETag": tag,
        "Cache-Control": "public, max-age=31536000, immutable"
        if lasting
        else "public, max-age=0, must-revalidate",
    }
    if _known(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers=headers)
    return Response(document.body, media_type=document.media_type, headers=headers)


def _known(tags: str, tag: str) -> bool:
    """Whether a tag is among those of `If-None-Match`, weak or not (RFC 9110, 13.1.2)."""
    return tags.strip() == "*" or tag.removeprefix("W/") in tags


def _refused(request: Request, error: Exception) -> Response:
    """What is no path at all, or is asked for by a method that is not there."""
    assert isinstance(error, HTTPException)  # noqa: S101 - it is there for nothing else
    answer = _error(request.url.path.lstrip("/"), error.status_code, f"{error.detail}.")
    answer.headers.update(error.headers or {})
    return answer


def _failed(request: Request, error: Exception) -> Response:
    """A fault of ours; what it is goes into the log alone."""
    del error
    return _error(request.url.path.lstrip("/"), 500, "Internal error.")


def _error(path: str, status: int, text: str, detail: str = "") -> Response:
    """An error as a page, or for programs as a problem."""
    if path.startswith("api/"):
        body = to_json(api.Problem(text, status, detail)).encode()
        media_type = "application/problem+json"
    else:
        body, media_type = templating.render("error.html", path, text=text), "text/html; charset=utf-8"
    return Response(body, status, media_type=media_type, headers=HEADERS)
