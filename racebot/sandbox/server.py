"""The sandbox's server: the site's endpoints with its headers and errors, and pages of its own."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import parse_qsl

import uvicorn
from jinja2 import Environment, PackageLoader
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from racebot.sandbox import discord, render, scenario
from racebot.sandbox.control import Control
from racebot.sandbox.misbehaviour import Break, Misbehaviour, Outgoing, page
from racebot.sandbox.race_state import ordinal, timer
from racebot.sandbox.room import FakeRoom, Frame
from racebot.sandbox.session import BotSession
from racebot.sandbox.site import CATEGORY, CLIENT_ID, CLIENT_SECRET, FakeSite, Visit
from racebot.text.format import exact_time

LIST_CACHE_SECONDS = 60
RACE_CACHE_SECONDS = 5
PER_PAGE = 10
PER_PAGE_LIMIT = 100


class SandboxServer:
    """The HTTP and WebSocket endpoints of a site, as an ASGI application.

    A category's data are cached for `list_cache` seconds and a race's for `race_cache`, by default as on the
    site. The list of past races is never cached.
    """

    def __init__(
        self,
        site: FakeSite,
        misbehaviour: Misbehaviour,
        *,
        list_cache: float = LIST_CACHE_SECONDS,
        race_cache: float = RACE_CACHE_SECONDS,
    ) -> None:
        self.site = site
        self.misbehaviour = misbehaviour
        self._list_cache = list_cache
        self._race_cache = race_cache
        self._cached: dict[str, tuple[float, dict[str, Any]]] = {}
        self._app = Starlette(
            routes=[
                *Control(site, misbehaviour).routes(),
                *discord.routes(site),
                Route("/discord", lambda _: _discord_page(site)),
                Route("/", self.index_page),
                Route("/o/token", self.token, methods=["POST"]),
                Route("/o/{category}/data", self.category),
                WebSocketRoute("/ws/o/bot/{race}", self.socket),
                WebSocketRoute("/ws/race/{race}", self.socket),
                Route("/user/search", self.accounts),
                Route("/user/{user}/data", self.accounts),
                Route("/{category}/data", self.category),
                Route("/{category}/races/data", self.races),
                Route("/{category}/{race}/data", self.race),
                Route("/media/{name}.png", _picture),
                Route("/{category}", self.index_page),
                Route("/{category}/{race}", lambda each: HTMLResponse(room_page(site, self._room(each)))),
            ],
            exception_handlers={404: _not_found},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count the request, as the site's front proxy would, and answer it, or inject a planned fault."""
        path = scope.get("path", "")
        answer: ASGIApp = self._app
        if path == "/o/token" or path.endswith("/data") or path.startswith(("/ws/", "/api/")):
            query, method = HTTPConnection(scope).url.query, scope.get("method", "GET")
            self.site.requests.append(Visit(path, query, method))
            await self.misbehaviour.stalled()
            if scope["type"] == "http" and (fault := self.misbehaviour.next_http(path)) is not None:
                answer = fault
        await answer(scope, receive, send)

    async def token(self, request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode(errors="replace")))
        token = None
        if form.get("grant_type") == "client_credentials":
            token = self.site.issue_token(form.get("client_id", ""), form.get("client_secret", ""))
        headers = {"Cache-Control": "no-store"}
        if token is None:
            headers["WWW-Authenticate"] = 'Bearer error="invalid_client"'
            return JSONResponse({"error": "invalid_client"}, 401, headers)
        scope = "read chat_message race_action create_race"
        answer = {"access_token": token, "expires_in": self.site.token_seconds, "token_type": "Bearer"}
        return JSONResponse({**answer, "scope": scope}, headers=headers)

    async def category(self, request: Request) -> Response:
        self._check_category(request)
        for_bot = request.url.path.startswith("/o/")
        if for_bot and self.site.bot_for(_bearer(request)) is None:
            return HTMLResponse("", 403)
        make = partial(render.category, self.site.category, self.site.rooms.values(), unlisted=for_bot)
        return self._cached_answer(request, make, LIST_CACHE_SECONDS, self._list_cache)

    async def accounts(self, request: Request) -> Response:
        """Find accounts by the beginning of a name, with or without a discriminator, or one by its id."""
        wanted, term = request.path_params.get("user"), request.query_params.get("term", "")
        name, _, number = term.partition("#")
        found: list[Any] = [
            render.user(each, self.site.category)
            for each in self.site.users.values()
            if not each.deleted
            and (each.id == wanted if wanted else each.name.lower().startswith(name.lower()))
            and number in {"", each.discriminator}
        ]
        if wanted:
            return self._json(found[0]) if found else HTMLResponse("", 404)
        return self._json({"results": found})

    async def races(self, request: Request) -> Response:
        self._check_category(request)
        query = request.query_params
        try:
            number, per_page = int(query.get("page", 1)), int(query.get("per_page", PER_PAGE))
        except ValueError:
            number = per_page = 0
        if number < 1 or per_page < 1:
            return HTMLResponse("", 400)
        show = query.get("show_entrants", "").lower() in ("true", "1", "yes")
        past, per_page = self.site.past_races(), min(per_page, PER_PAGE_LIMIT)
        return self._json(render.race_list(past, page=number, per_page=per_page, show_entrants=show))

    async def race(self, request: Request) -> Response:
        make = partial(render.race, self._room(request))
        return self._cached_answer(request, make, RACE_CACHE_SECONDS, self._race_cache)

    async def index_page(self, request: Request) -> Response:
        if request.url.path != "/":
            self._check_category(request)
        return HTMLResponse(index(self.site))

    def _check_category(self, request: HTTPConnection) -> None:
        if request.path_params["category"] != self.site.category.slug:
            raise HTTPException(404)

    def _room(self, request: HTTPConnection) -> FakeRoom:
        self._check_category(request)
        room = self.site.rooms.get(request.path_params["race"])
        if room is None:
            raise HTTPException(404)
        return room

    def _json(self, answer: dict[str, Any], max_age: int | None = None) -> Response:
        headers = {"X-Date-Exact": exact_time(self.site.clock())}
        if max_age is not None:
            headers["Cache-Control"] = f"public, max-age={max_age}, must-revalidate"
        return JSONResponse(answer, headers=headers)

    def _cached_answer(
        self, request: Request, make: Callable[[], dict[str, Any]], max_age: int, seconds: float
    ) -> Response:
        now, path = monotonic(), request.url.path
        until, answer = self._cached.get(path, (now, {}))
        if until <= now:
            answer = make()
            self._cached[path] = (now + seconds, answer)
        return self._json(answer, max_age)

    async def socket(self, ws: WebSocket) -> None:
        refusal = self.misbehaviour.next_handshake()
        room = self.site.rooms.get(ws.path_params["race"])
        if refusal is not None or room is None:
            # For an unknown room the site closes the connection, so its front proxy answers 502.
            await ws.send_denial_response(HTMLResponse(page("Bad gateway"), refusal or 502))
            # Close the connection, or uvicorn logs an unfinished handshake.
            await asyncio.sleep(0)
            return
        await ws.accept()
        outgoing: asyncio.Queue[Outgoing] = asyncio.Queue()
        write = self.misbehaviour.writer()

        def send(frame: Frame) -> None:
            for item in write(frame):
                outgoing.put_nowait(item)

        is_public = ws.url.path.startswith("/ws/race/")
        session = BotSession(self.site, room, _bearer(ws), send, is_public=is_public)
        self.misbehaviour.opened(room.slug, outgoing)
        tasks = [asyncio.create_task(work) for work in (self._read(ws, session), self._write(ws, outgoing))]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            session.close()
            self.misbehaviour.closed(outgoing)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self, ws: WebSocket, session: BotSession) -> None:
        while (message := await ws.receive())["type"] != "websocket.disconnect":
            await self.misbehaviour.stalled()
            text = message.get("text")
            session.receive(message["bytes"].decode(errors="replace") if text is None else text)

    async def _write(self, ws: WebSocket, outgoing: asyncio.Queue[Outgoing]) -> None:
        with contextlib.suppress(WebSocketDisconnect):
            while True:
                item = await outgoing.get()
                await self.misbehaviour.stalled()
                if isinstance(item, Break):
                    if item.code is not None:  # otherwise the connection drops without a close frame
                        await ws.close(item.code)
                    return
                await (ws.send_text(item) if isinstance(item, str) else ws.send_bytes(item))


def _bearer(connection: HTTPConnection) -> str | None:
    kind, _, token = connection.headers.get("authorization", "").partition(" ")
    return token if kind.lower() == "bearer" else None


def _picture(request: Request) -> Response:
    return Response(render.picture(request.path_params["name"]), media_type="image/png")


def _not_found(request: Request, _: Exception) -> Response:
    return HTMLResponse(page(f"Page not found at {request.url.path}"), 404)


_PAGES = Environment(loader=PackageLoader("racebot.sandbox"), autoescape=True)
_PAGES.filters |= {"ordinal": ordinal, "timer": timer}


def index(site: FakeSite) -> str:
    """Return the page that lists the rooms, newest first."""
    newest = sorted(site.rooms.values(), key=lambda room: room.opened_at, reverse=True)[:200]
    return _PAGES.get_template("index.html").render(title=site.category.name, rooms=newest)


def room_page(site: FakeSite, room: FakeRoom) -> str:
    """Return the page of one room: entrants and info on one side, chat on the other."""
    lines = sorted([*room.chat, *room.notes], key=lambda line: line.posted_at)[-100:]
    racers = [entrant.user for entrant in room.entrants]
    return _PAGES.get_template("room.html").render(
        title=room.name,
        room=room,
        entrants=sorted(room.entrants, key=lambda entrant: (entrant.place or 999, entrant.number)),
        pinned=[line for line in room.chat if line.pinned],
        log=[line for line in lines if not line.pinned],
        users=[u for u in site.users.values() if not u.deleted and (not room.started or u in racers)],
    )


def _discord_page(site: FakeSite) -> Response:
    """Return the page with the messages of all webhooks, newest first."""
    newest = [*site.discord.values()][::-1]
    return HTMLResponse(_PAGES.get_template("discord.html").render(title="Discord", messages=newest))


HOST = "127.0.0.1"


class _Server(uvicorn.Server):
    """A uvicorn server that does not handle signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.asynccontextmanager
async def serve(
    site: FakeSite,
    *,
    port: int = 0,
    misbehaviour: Misbehaviour | None = None,
    list_cache: float = LIST_CACHE_SECONDS,
    race_cache: float = RACE_CACHE_SECONDS,
    certificate: Path | None = None,
) -> AsyncIterator[str]:
    """Serve a site inside a running program, and yield its address, such as `http://127.0.0.1:41234`.

    Port 0 takes any free port. `certificate` is a PEM file with certificate and key, and turns on TLS.

    Raises:
        OSError: the address is not available.
    """
    # Bind here, because uvicorn exits the program when it cannot bind.
    listener = socket.create_server((HOST, port))
    misbehaviour = misbehaviour or Misbehaviour()
    config = uvicorn.Config(
        SandboxServer(site, misbehaviour, list_cache=list_cache, race_cache=race_cache),
        ws=misbehaviour.protocol,
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=2,
        ssl_certfile=certificate,
    )
    server = _Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        while not server.started and not running.done():  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.002)
        if running.done():
            running.result()
        yield f"{'https' if certificate else 'http'}://{HOST}:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running
        listener.close()


def run(
    port: int = 8000,
    *,
    category: str = CATEGORY,
    play: bool = False,
    custom_goal: str = "",
    tell: Callable[[str], None] = print,
) -> None:
    """Serve a sandbox until SIGINT or SIGTERM. Raise an `OSError` if the port is taken."""
    site = FakeSite(category=category)
    if not play:
        scenario.recruit(site, scenario.PLAYERS, site.rng)

    async def until_stopped() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):  # Windows, where Ctrl-C cancels this task
                asyncio.get_running_loop().add_signal_handler(number, stop.set)
        async with serve(site, port=port) as address:
            about = f"category {category}, client id {CLIENT_ID}, secret {CLIENT_SECRET}"
            tell(f"{address}/{category} - {about}")
            option = f' --league "{custom_goal}" --category {category}' if custom_goal else ""
            tell(f"in another terminal and folder: racebot setup --site {address}{option}")
            if play:
                playing = asyncio.create_task(scenario.play(site, site.rng, custom_goal=custom_goal))
            await stop.wait()
            if play:
                playing.cancel()

    asyncio.run(until_stopped())
