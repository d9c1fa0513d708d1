"""A room's socket: its frames as typed events, the actions that a bot sends, and the connection.

Other types of frames are ignored.
"""

import asyncio
import json
import math
import reprlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage

from racebot.errors import ConnectionLost, PayloadError
from racebot.racetime import documents
from racebot.racetime.client import Gate
from racebot.racetime.documents import LONGEST_TEXT, MOST_ENTRIES
from racebot.racetime.http import USER_AGENT, certificate_problem, tls_context
from racebot.racetime.payload import Race, parse_race
from racebot.text.parse import read_json


@dataclass(frozen=True, slots=True)
class RaceUpdate:
    """`race.data`: the race in its current state, and when the frame was sent; None if it does not say."""

    race: Race
    sent_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """`chat.message`, live or from the history. `user_id` is None for bots and the system."""

    id: str
    text: str
    posted_at: float
    """Seconds since 1970-01-01 UTC, by the site's clock."""
    user_id: str | None
    user_name: str
    can_moderate: bool
    bot: str | None
    is_system: bool
    is_monitor: bool = False
    """Whether the user is a race monitor, such as the room's opener."""


@dataclass(frozen=True, slots=True)
class ChatHistory:
    """`chat.history`: the last messages of the room, oldest first.

    `sent_at` is the time of the frame, on the same scale as `ChatMessage.posted_at`; infinite if unknown.
    """

    messages: tuple[ChatMessage, ...]
    sent_at: float = math.inf


@dataclass(frozen=True, slots=True)
class Refusal:
    """`error`: the site refused an action."""

    errors: tuple[str, ...]

    @property
    def token_refused(self) -> bool:
        return any("Permission denied" in text for text in self.errors)

    @property
    def chat_closed(self) -> bool:
        return any("chat is now closed" in text for text in self.errors)


@dataclass(frozen=True, slots=True)
class Other:
    """An event of which only the type matters, at most."""

    type: str


PONG = Other("pong")
"""The answer to a ping."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A frame that could not be read; its content is lost."""

    reason: str


SocketEvent = RaceUpdate | ChatMessage | ChatHistory | Refusal | Other | Unreadable


def parse_event(frame: object) -> SocketEvent:
    """Read a decoded socket frame. A known event of the wrong shape is a `PayloadError`."""
    if not isinstance(frame, Mapping):
        raise PayloadError("frame: is not an object")
    kind = frame.get("type")
    match kind:
        case "race.data":
            return RaceUpdate(parse_race(frame.get("race")), documents.time_or_none(frame.get("date")))
        case "chat.message":
            return _chat_message(frame.get("message"))
        case "chat.history":
            history = documents.read(documents.ChatHistoryDocument, frame, "chat history")
            messages, problems = documents.read_each(_chat_message, history.messages)
            for problem in problems:
                documents.warn_once("chat history: left out a message: %s", problem)
            messages.sort(key=lambda each: each.posted_at)
            return ChatHistory(tuple(messages), history.date.timestamp() if history.date else math.inf)
        case "error":
            errors = frame.get("errors")
            listed = errors[:MOST_ENTRIES] if isinstance(errors, list) else [errors]
            texts = (text[:LONGEST_TEXT] if isinstance(text, str) else reprlib.repr(text) for text in listed)
            return Refusal(tuple(texts))
    return Other(kind if isinstance(kind, str) else reprlib.repr(kind))


def _chat_message(document: object) -> ChatMessage:
    message = documents.read(documents.ChatMessageDocument, document, "chat message")
    user = message.user or documents.UserDocument()
    return ChatMessage(
        id=message.id,
        text=message.message,
        posted_at=message.posted_at.timestamp(),
        user_id=user.id or None,
        user_name=user.name,
        can_moderate=user.can_moderate,
        bot=message.bot or None,
        is_system=message.is_system,
        is_monitor=message.is_monitor,
    )


@dataclass(frozen=True, slots=True)
class Action:
    """An action, by its name on the site."""

    name: str
    data: Mapping[str, Any] = field(default_factory=dict)


GET_RACE = Action("getrace")
"""Ask for the race's data."""
GET_HISTORY = Action("gethistory")
"""Ask for the last 100 chat messages, and all pinned ones."""
PING = Action("ping")
"""Ask for a pong. It arrives after the answers to all earlier actions."""


def message_action(text: str, guid: str, *, buttons: Mapping[str, Mapping[str, str]] | None = None) -> Action:
    """Write a chat message. The site silently ignores a guid that it has seen in the last five minutes.

    Args:
        text: 1 to 1,000 characters.
        guid: lower-case letters, digits and hyphens.
        buttons: at most four, by label. Pressing one posts `message` as the user, or opens `url`.
    """
    return Action("message", {"message": text, "guid": guid, **({"actions": buttons} if buttons else {})})


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

    async def receive(self, timeout: float | None = None) -> SocketEvent | None:  # noqa: ASYNC109
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
