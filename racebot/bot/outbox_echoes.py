"""Recognises in a room's events that the site shows what we sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from racebot.ledger.outbox import OutboxRow
from racebot.racetime.frames import ChatHistory, ChatMessage, Event, Pong, RaceUpdate
from racebot.text.safe import visible

HISTORY_LENGTH = 100
"""Number of messages in the site's chat history, not counting pinned ones."""


def reaches_back(history: Sequence[ChatMessage], row: OutboxRow) -> bool:
    """Return whether a history reaches back to the time when this message was sent."""
    if len(history) < HISTORY_LENGTH:
        return True
    oldest = history[-HISTORY_LENGTH]  # those before it are pinned
    return oldest.posted_at <= row.updated_at.timestamp()


def is_history(event: Event) -> bool:
    return isinstance(event, ChatHistory)


def is_pong(event: Event) -> bool:
    return isinstance(event, Pong)


def echo_of(text: str) -> Callable[[Event], bool]:
    """Recognise our own message by its visible text, since the site may drop invisible characters."""
    words = visible(text).split()

    def echo(event: Event) -> bool:
        return (
            isinstance(event, ChatMessage) and event.bot is not None and visible(event.text).split() == words
        )

    return echo


def shows_any(message: ChatMessage, texts: Sequence[str]) -> bool:
    return any(echo_of(text)(message) for text in texts)


def shows_info(text: str) -> Callable[[Event], bool]:
    def lines(info: str) -> list[str]:
        return [visible(line).strip() for line in info.strip().splitlines()]

    return lambda event: isinstance(event, RaceUpdate) and lines(event.race.info_bot) == lines(text)
