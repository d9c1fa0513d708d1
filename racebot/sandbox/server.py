"""The sandbox's server: the site's endpoints, own pages, and commands for what people do on the site."""

import asyncio
import contextlib
import html
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from inspect import signature
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import parse_qsl

import uvicorn
from jinja2 import Environment, PackageLoader
from pydantic import ValidationError, validate_call
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from racebot.sandbox import discord, render, scenario
from racebot.sandbox.race_state import SandboxError, UnknownError, User
from racebot.sandbox.room import FakeRoom, Frame
from racebot.sandbox.session import BotSession
from racebot.sandbox.site import CLIENT_ID, CLIENT_SECRET, FakeSite, Visit
from racebot.text.format import exact_time, ordinal, timer

LIST_CACHE_SECONDS = 60
RACE_CACHE_SECONDS = 5
PER_PAGE = 10
PER_PAGE_LIMIT = 100
CONTROL = "/sandbox/control"
"""`POST /sandbox/control/COMMAND` takes and returns JSON. No race has this address: slugs end in a number."""

Wrap = Callable[[ASGIApp], ASGIApp]


class SandboxServer:
    """The HTTP and WebSocket endpoints of a site, as an ASGI application.

    A category's data are cached for `list_cache` seconds and a race's for `race_cache`, by default as on the
    site. The list of past races is never cached. `wrap` puts something before the endpoints, such as faults.
    """

    def __init__(
        self,
        site: FakeSite,
        *,
        list_cache: float = LIST_CACHE_SECONDS,
        race_cache: float = RACE_CACHE_SECONDS,
        wrap: Wrap = lambda app: app,
    ) -> None:
        self.site = site
        self._list_cache = list_cache
        self._race_cache = race_cache
        self._cached: dict[str, tuple[float, dict[str, Any]]] = {}
        self._commands: dict[str, Callable[..., object]] = {
            "open": site.open_race,
            "add_user": site.add_user,
            "rename_user": site.rename_user,
            "delete_user": site.delete_user,
            "rename_goal": site.rename_goal,
            "revoke_tokens": site.revoke_tokens,
            **_ROOM_COMMANDS,
        }
        app = Starlette(
            routes=[
                Route(CONTROL, lambda _: JSONResponse({"commands": [*map(self._usage, self._commands)]})),
                Route(CONTROL + "/{command}", self.command, methods=["POST"]),
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
        self._app = wrap(app)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count the request, as the site's front proxy would, and answer it."""
        path = scope.get("path", "")
        if path == "/o/token" or path.endswith("/data") or path.startswith(("/ws/", "/api/")):
            query = HTTPConnection(scope).url.query
            self.site.requests.append(Visit(path, query, scope.get("method", "GET")))
        await self._app(scope, receive, send)

    async def command(self, request: Request) -> Response:
        """Do what people do on the site's pages, with the arguments of the body."""
        name = request.path_params["command"]
        if name not in self._commands:
            return _refusal(404, f"unknown command. Commands: {', '.join(self._commands)}")
        if not request.headers.get("content-type", "").startswith("application/json"):
            # CSRF protection: a page of another site cannot send this content type.
            return _refusal(415, "the body must be application/json")
        try:
            return JSONResponse(self._carry_out(name, dict(await request.json())))
        except SandboxError as error:
            return _refusal(404 if isinstance(error, UnknownError) else 409, str(error))
        except ValidationError:
            return _refusal(400, f"an argument is missing, unknown or of the wrong kind: {self._usage(name)}")
        except (TypeError, ValueError):
            return _refusal(400, "the body is not a JSON object")

    def _usage(self, name: str) -> str:
        arguments = signature(self._commands[name]).parameters
        return " ".join([name, *("race" if each == "self" else each for each in arguments)])

    def _carry_out(self, name: str, given: dict[str, Any]) -> object:
        room = self.site.room(str(given.pop("race", ""))) if name in _ROOM_COMMANDS else None
        answer = validate_call(getattr(room, name) if room else self._commands[name])(**given)
        match room or answer:
            case FakeRoom() as shown:
                return render.race(shown)
            case User() as user:
                return render.user(user, self.site.category)
        return {"ok": True}

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
        return self._cached_answer(request, make, self._list_cache)

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
        return self._cached_answer(request, partial(render.race, self._room(request)), self._race_cache)

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

    def _json(self, answer: dict[str, Any]) -> Response:
        return JSONResponse(answer, headers={"X-Date-Exact": exact_time(self.site.clock())})

    def _cached_answer(
        self, request: Request, make: Callable[[], dict[str, Any]], seconds: float
    ) -> Response:
        now, path = monotonic(), request.url.path
        until, answer = self._cached.get(path, (now, {}))
        if until <= now:
            answer = make()
            self._cached[path] = (now + seconds, answer)
        response = self._json(answer)
        max_age = RACE_CACHE_SECONDS if "race" in request.path_params else LIST_CACHE_SECONDS
        response.headers["Cache-Control"] = f"public, max-age={max_age}, must-revalidate"
        return response

    async def socket(self, ws: WebSocket) -> None:
        room = self.site.rooms.get(ws.path_params["race"])
        if room is None:
            # The site closes the connection, so its front proxy answers 502.
            await ws.send_denial_response(HTMLResponse(_page("Bad gateway"), 502))
            # Close the connection, or uvicorn logs an unfinished handshake.
            await asyncio.sleep(0)
            return
        await ws.accept()
        outgoing: asyncio.Queue[Frame] = asyncio.Queue()
        is_public = ws.url.path.startswith("/ws/race/")
        session = BotSession(self.site, room, _bearer(ws), outgoing.put_nowait, is_public=is_public)
        writing = asyncio.create_task(_write(ws, outgoing))
        try:
            async for text in ws.iter_text():
                session.receive(text)
        finally:
            session.close()
            writing.cancel()


async def _write(ws: WebSocket, outgoing: asyncio.Queue[Frame]) -> None:
    with contextlib.suppress(WebSocketDisconnect):
        while True:
            await ws.send_json(await outgoing.get())


_ROOM_COMMANDS: dict[str, Callable[..., object]] = {
    name: method
    for name, method in {**vars(FakeRoom), "say": FakeRoom.say}.items()
    if not (name.startswith("_") or name in {"entrant", "set_places"})
}
"""Commands about one race. Their arguments are those of the methods, and `race`."""


def _refusal(status: int, text: str) -> Response:
    return JSONResponse({"error": text}, status)


def _bearer(connection: HTTPConnection) -> str | None:
    kind, _, token = connection.headers.get("authorization", "").partition(" ")
    return token if kind.lower() == "bearer" else None


def _picture(request: Request) -> Response:
    return Response(render.picture(request.path_params["name"]), media_type="image/png")


def _not_found(request: Request, _: Exception) -> Response:
    return HTMLResponse(_page(f"Page not found at {request.url.path}"), 404)


def _page(title: str) -> str:
    title = html.escape(title)
    return f'<!DOCTYPE html>\n<html lang="en"><title>{title}</title><p>{title}</p></html>\n'


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
        log=sorted(lines, key=lambda line: not line.pinned),
        users=[u for u in site.users.values() if not u.deleted and (not room.started or u in racers)],
    )


def _discord_page(site: FakeSite) -> Response:
    messages = [*site.discord.values()][::-1]
    return HTMLResponse(_PAGES.get_template("discord.html").render(title="Discord", messages=messages))


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
    certificate: Path | None = None,
    ws: Any = "websockets-sansio",
    **options: Any,
) -> AsyncIterator[str]:
    """Serve a site inside a running program, and yield its address, such as `http://127.0.0.1:41234`.

    Port 0 takes any free port. `certificate` is a PEM file with certificate and key, and turns on TLS. `ws`
    is uvicorn's protocol for sockets. `options` are those of `SandboxServer`. If the address is
    not available, raise `OSError`.
    """
    # Bind here, because uvicorn exits the program when it cannot bind.
    listener = socket.create_server((HOST, port))
    config = uvicorn.Config(
        SandboxServer(site, **options),
        ws=ws,
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


def run(port: int, *, category: str, play: bool, custom_goal: str, tell: Callable[[str], None]) -> None:
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
