"""A room's commands, answered one after another."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from racebot.bot.command_handler import CommandHandler
from racebot.bot.outbox_sender import OutboxSender
from racebot.chat.commands import Command, ParsedCommand
from racebot.errors import LedgerError, LedgerUnavailable
from racebot.ledger.thread import RunOnLedger
from racebot.racetime.frames import ChatHistory, ChatMessage, Event
from racebot.racetime.room import Room
from racebot.telemetry import metrics

log = logging.getLogger(__name__)

EXPIRES = 60.0
"""Seconds after which a command is no longer worth an answer."""
RETRY_PAUSE = 5.0
"""Seconds until a command is tried again that the ledger could not carry out."""


class CommandQueue:
    """Answers the commands of one room in the order in which players gave them.

    Args:
        room: the room's state.
        handler: parses commands and composes replies.
        sender: sends the answers.
        call: runs ledger work.
        is_up_to_date: reads the race again if it may have changed; returns False if an edit cannot be read.
        answered: called after each answer.
    """

    def __init__(
        self,
        room: Room,
        handler: CommandHandler,
        sender: OutboxSender,
        call: RunOnLedger,
        *,
        is_up_to_date: Callable[[], Awaitable[bool]],
        answered: Callable[[], None],
    ) -> None:
        self._room = room
        self._handler = handler
        self._sender = sender
        self._call = call
        self._is_up_to_date = is_up_to_date
        self._answered = answered
        self._commands: asyncio.Queue[tuple[float, ParsedCommand, ChatMessage]] = asyncio.Queue()
        self._current: tuple[float, ParsedCommand, ChatMessage] | None = None
        """The command that is being answered."""
        self._saw_history = False

    @property
    def empty(self) -> bool:
        """True if no command waits for an answer."""
        return self._commands.empty() and self._current is None

    def on_event(self, event: Event | None) -> None:
        """Queue a command that the room shows, or those of the last minute that the chat history shows.

        After a restart, the history also shows commands that were answered before. Their answers have the
        same guid again, so the site ignores them. Orders are left out, since an earlier one, or one of
        another room, would undo a later one.
        """
        match event:
            case ChatMessage():
                self._add(event)
            case ChatHistory(messages, sent_at):
                for line in messages:
                    if sent_at - line.posted_at < EXPIRES:
                        self._add(line, orders=self._saw_history)
                self._saw_history = True

    async def run(self) -> None:
        """Answer commands until cancelled. After an error, run it again to go on with the same command.

        Raises:
            LedgerError: the ledger cannot store what the site shows about the race.
        """
        while True:
            if self._current is None:
                self._current = await self._commands.get()
            expires, asked, message = self._current
            # Later commands wait meanwhile: the next order may be the opposite.
            while time.monotonic() < expires:
                if await self._answer(asked, message, expires):
                    break
                await asyncio.sleep(RETRY_PAUSE)
            else:
                log.warning("%s: no answer given within %.0f s", self._room.name, EXPIRES)
            self._current = None
            self._answered()

    def _add(self, message: ChatMessage, *, orders: bool = True) -> None:
        """Queue a chat line if it is a command to answer; an order only if `orders` is true."""
        if self._room.race is None or self._room.closed:
            return
        asked = self._handler.parse(message, self._room.race)
        if asked is not None and (orders or not self._handler.is_order(asked)):
            self._commands.put_nowait((time.monotonic() + EXPIRES, asked, message))

    async def _answer(self, asked: ParsedCommand, message: ChatMessage, expires: float) -> bool:
        """Answer a command. Return False to try again later. If it fails, only this answer is lost."""
        if _is_about_the_race(asked) and not await self._is_up_to_date():
            log.warning("%s: the site does not show an edited race; no answer given", self._room.name)
            return True
        race = self._room.race
        if race is None or race.recorded or time.monotonic() >= expires:
            return True
        try:
            reply = await self._call(self._handler.reply, asked, message, race)
            # Explaining a large race is slow, and must not block the ledger's thread.
            text = "" if reply is None else await asyncio.to_thread(reply.draft)
        except LedgerUnavailable as error:
            # An order must not be lost because another program is writing at the moment.
            log.warning("%s; trying again", error)
            return False
        except LedgerError as error:
            # A damaged database stops the bot elsewhere; a command must not.
            log.error("%s; no answer given", error)
        except Exception:
            log.exception("%s: unexpected error while answering %s", race.name, asked.command)
        else:
            if reply is not None and text and not self._handler.is_repeat(race.name, reply, text):
                metrics.COMMANDS.labels(asked.command.value).inc()
                self._sender.answer(text, message.id, to=reply.to)
        return True


def _is_about_the_race(asked: ParsedCommand) -> bool:
    """Return whether the answer depends on the result of the room's race."""
    return asked.command in {Command.RATING, Command.WHY} or (
        asked.command is Command.HELP and bool(asked.argument)
    )
