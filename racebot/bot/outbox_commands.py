"""Commands from the outbox protocol to the sender."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from racebot.ledger.outbox import Delivery, OutboxRow


@dataclass(frozen=True, slots=True)
class ReadOutbox:
    """Read all messages of the room, sent ones included, and pass them to `on_outbox`."""


@dataclass(frozen=True, slots=True)
class Take:
    """Store that a message is about to be sent, and pass the outcome to `on_taken`."""

    row: OutboxRow


@dataclass(frozen=True, slots=True)
class Mark:
    """Store a message's new state."""

    row: OutboxRow
    state: Delivery
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class DropWaitingChat:
    """Drop all chat messages that were never sent."""

    detail: str


@dataclass(frozen=True, slots=True)
class Say:
    """Send a chat message: to one user if `to` is set, otherwise to the room."""

    text: str
    guid: str
    to: str | None = None
    buttons: Mapping[str, Mapping[str, str]] | None = None
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Unpin:
    """Unpin a chat message."""

    message_id: str


@dataclass(frozen=True, slots=True)
class SetInfo:
    """Replace `info_bot`."""

    text: str


@dataclass(frozen=True, slots=True)
class SetMeta:
    """Merge these keys into `bot_meta`."""

    keys: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ping:
    """Ask for a pong."""


@dataclass(frozen=True, slots=True)
class AskHistory:
    """Ask for the chat history."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait for an event, at most until this time."""

    until: float


@dataclass(frozen=True, slots=True)
class Warn:
    """Log a warning about the room."""

    text: str


Send = Say | Unpin | SetInfo | SetMeta | Ping | AskHistory
Command = Send | ReadOutbox | Take | Mark | DropWaitingChat | Wait | Warn
