"""Commands from the outbox protocol to the sender. A room's action is a command too."""

from __future__ import annotations

from dataclasses import dataclass

from racebot.ledger.outbox import Delivery, OutboxRow
from racebot.racetime.actions import Action


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
class Wait:
    """Wait for an event, at most until this time."""

    until: float


@dataclass(frozen=True, slots=True)
class Warn:
    """Log a warning about the room."""

    text: str


Command = Action | ReadOutbox | Take | Mark | DropWaitingChat | Wait | Warn
