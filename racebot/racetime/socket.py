"""WebSocket connection to a race room: frames in as events, actions out as frames."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage

from racebot.errors import ConnectionLost, PayloadError
from racebot.racetime.client import USER_AGENT, certificate_problem
from racebot.racetime.gate import Gate
from racebot.racetime.payload import Event, RaceUpdate, Unreadable, parse_event
from racebot.text.parse import read_json

log = logging.getLogger(__name__)

LARGEST_FRAME = 4 * 1024 * 1024
"""Most bytes in a frame. A race of a few hundred entrants with its rendered page is much smaller."""


class _Direct(connect):
    """Refuse redirects, so that the token is sent to no other host."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


class RoomSocket:
    """An open socket of one room.

    Raises (all methods):
        ConnectionLost: the socket closed.
    """

    def __init__(self, name: str, socket: ClientConnection) -> None:
        self.name = name
        self._socket = socket

    async def receive(self, timeout: float | None = None) -> Event | None:  # noqa: ASYNC109
        """Return the next event, or None if none comes in time.

        Args:
            timeout: seconds to wait; None waits forever.
        """
        try:
            async with asyncio.timeout(timeout):
                frame = await self._socket.recv()
        except TimeoutError:
            return None
        except ConnectionClosed as error:
            raise self._lost(error) from None
        try:
            event = parse_event(read_json(frame))
            if isinstance(event, RaceUpdate) and event.race.name != self.name:
                raise PayloadError(f"it belongs to race {event.race.name}")
            return event
        except PayloadError as error:
            log.warning("%s: unreadable frame: %s", self.name, error)
            return Unreadable()

    async def say(
        self,
        text: str,
        guid: str,
        *,
        to: str | None = None,
        buttons: Mapping[str, Mapping[str, str]] | None = None,
        pinned: bool = False,
    ) -> None:
        """Send a chat message. The site silently ignores a guid that it has seen in the last five minutes.

        Args:
            text: 1 to 1,000 characters.
            guid: lower-case letters, digits and hyphens.
            to: the id of the only user to see it; None for the room.
            buttons: at most four, by label. Pressing one posts `message` as the user, or opens `url`.
            pinned: whether to pin the message at the top of chat.
        """
        data: dict[str, Any] = {"message": text, "guid": guid}
        if to is not None:
            data["direct_to"] = to
        if buttons:
            data["actions"] = buttons
        if pinned:
            data["pinned"] = True
        await self._act("message", data)

    async def unpin(self, message_id: str) -> None:
        """Unpin a chat message."""
        await self._act("unpin_message", {"message": message_id})

    async def set_info(self, text: str) -> None:
        """Replace `info_bot`."""
        await self._act("setinfo", {"info_bot": text})

    async def set_meta(self, keys: Mapping[str, Any]) -> None:
        """Merge keys into `bot_meta`."""
        await self._act("setmeta", keys)

    async def ask_race(self) -> None:
        """Ask for the race's data; the answer comes as an event."""
        await self._act("getrace")

    async def ping(self) -> None:
        """Ask for a pong. It arrives after the answers to all earlier actions."""
        await self._act("ping")

    async def ask_history(self) -> None:
        """Ask for the last 100 chat messages; the answer comes as an event."""
        await self._act("gethistory")

    async def _act(self, action: str, data: Mapping[str, Any] | None = None) -> None:
        try:
            await self._socket.send(json.dumps({"action": action, "data": dict(data or {})}))
        except ConnectionClosed as error:
            raise self._lost(error) from None

    def _lost(self, error: ConnectionClosed) -> ConnectionLost:
        return ConnectionLost(f"{self.name}: the socket closed ({error.rcvd or 'no reason given'})")


@asynccontextmanager
async def join(
    site_url: str, name: str, path: str, token: str, gate: Gate | None = None
) -> AsyncGenerator[RoomSocket]:
    """Open a room's socket and close it at the end of the block.

    Args:
        site_url: `http` or `https`; the socket is `ws` or `wss` accordingly.
        name: the race, for errors.
        path: the race's `websocket_bot_url`.
        token: the bot's access token. The site only checks it on the first action.
        gate: shared by all sockets of the site; None for a single socket.

    Raises:
        ConnectionLost: the room does not exist, or the site cannot be reached.
    """
    url = "ws" + site_url.removeprefix("http") + path
    gate = gate or Gate()
    try:
        async with gate.handshakes:
            socket = await _Direct(
                url,
                additional_headers={"Authorization": f"Bearer {token}"},
                user_agent_header=USER_AGENT,
                ssl=gate.tls if url.startswith("wss:") else None,
                max_size=LARGEST_FRAME,
                open_timeout=20,
                close_timeout=2,
            )
    except (InvalidHandshake, InvalidMessage, OSError, TimeoutError) as error:
        reason = certificate_problem(error) or type(error).__name__
        raise ConnectionLost(f"{name}: the room's socket cannot be opened ({reason})") from error
    async with socket:
        yield RoomSocket(name, socket)


def bot_path(name: str) -> str:
    """Return the path of a room's bot socket, for use before the race's data names it."""
    return f"/ws/o/bot/{name.partition('/')[2]}"
