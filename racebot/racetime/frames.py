"""The frames of a room's socket: typed events, and the actions that a bot sends. Other types are ignored."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from racebot.errors import PayloadError
from racebot.racetime import documents
from racebot.racetime.documents import LONGEST_TEXT, MOST_ENTRIES
from racebot.racetime.payload import Race, parse_race


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


Event = RaceUpdate | ChatMessage | ChatHistory | Refusal | Other | Unreadable


def parse_event(frame: object) -> Event:
    """Read a decoded socket frame.

    Raises:
        PayloadError: a known event whose content has the wrong shape.
    """
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


def message_action(
    text: str,
    guid: str,
    *,
    to: str | None = None,
    buttons: Mapping[str, Mapping[str, str]] | None = None,
) -> Action:
    """Write a chat message. The site silently ignores a guid that it has seen in the last five minutes.

    Args:
        text: 1 to 1,000 characters.
        guid: lower-case letters, digits and hyphens.
        to: the id of the only user to see it; None for the room.
        buttons: at most four, by label. Pressing one posts `message` as the user, or opens `url`.
    """
    options = {"direct_to": to, "actions": buttons}
    given = {name: value for name, value in options.items() if value}
    return Action("message", {"message": text, "guid": guid, **given})
