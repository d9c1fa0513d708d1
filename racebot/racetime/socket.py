"""WebSocket connection to a race room: frames in as events, actions out as frames."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage

from racebot.errors import ConnectionLost, PayloadError
from racebot.racetime.client import Gate
from racebot.racetime.frames import Action, Event, RaceUpdate, Unreadable, parse_event
from racebot.racetime.http import USER_AGENT, certificate_problem, tls_context
from racebot.text.parse import read_json

LARGEST_FRAME = 4 * 1024 * 1024
"""Most bytes in a frame. A race of a few hundred entrants with its rendered page is much smaller."""
MOST_COMMAS = 250_000
"""Most commas in a frame. 2,000 entrants have 80,000; a frame full of them takes half a second to read."""


class _Direct(connect):
    """Refuse redirects, so that the token is sent to no other host."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


class RoomSocket:
    """An open socket of one room. Its methods raise `ConnectionLost` once it has closed."""

    def __init__(self, name: str, socket: ClientConnection) -> None:
        self.name = name
        self._socket = socket

    async def receive(self, timeout: float | None = None) -> Event | None:  # noqa: ASYNC109
        """Return the next event, or None if none comes within so many seconds."""
        try:
            async with asyncio.timeout(timeout):
                frame = await self._socket.recv()
        except TimeoutError:
            return None
        except ConnectionClosed as error:
            raise self._lost(error) from None
        try:
            event = parse_event(read_json(frame, MOST_COMMAS))
            if isinstance(event, RaceUpdate) and event.race.name != self.name:
                raise PayloadError(f"it belongs to race {event.race.name}")
            return event
        except PayloadError as error:
            return Unreadable(str(error))

    async def send(self, action: Action) -> None:
        """Send an action. Its answer, if it has one, comes as an event."""
        try:
            await self._socket.send(json.dumps({"action": action.name, "data": dict(action.data)}))
        except ConnectionClosed as error:
            raise self._lost(error) from None

    def _lost(self, error: ConnectionClosed) -> ConnectionLost:
        return ConnectionLost(f"the socket closed ({error.rcvd or 'no reason given'})")


@asynccontextmanager
async def join(
    site_url: str, name: str, token: str | None, gate: Gate | None = None
) -> AsyncGenerator[RoomSocket]:
    """Open a race's socket and close it at the end of the block.

    The path is made from the race's name. `websocket_bot_url` and `websocket_url` of the site's answers,
    which are the same paths today, are not read.

    Args:
        site_url: `http` or `https`; the socket is `ws` or `wss` accordingly.
        token: the bot's access token. The site only checks it on the first action. None joins the public
            socket, on which one can only read.
        gate: shared by all sockets of the site.

    Raises:
        ConnectionLost: the room does not exist, or the site cannot be reached.
    """
    path = f"/ws/{'race' if token is None else 'o/bot'}/{name.partition('/')[2]}"
    url = "ws" + site_url.removeprefix("http") + path
    gate = gate or Gate()
    try:
        async with gate.handshakes:
            socket = await _Direct(
                url,
                additional_headers={} if token is None else {"Authorization": f"Bearer {token}"},
                user_agent_header=USER_AGENT,
                ssl=tls_context() if url.startswith("wss:") else None,
                max_size=LARGEST_FRAME,
                open_timeout=20,
                close_timeout=2,
            )
    except (InvalidHandshake, InvalidMessage, OSError, TimeoutError) as error:
        reason = certificate_problem(error) or type(error).__name__
        raise ConnectionLost(f"the room's socket cannot be opened ({reason})") from error
    async with socket:
        yield RoomSocket(name, socket)
