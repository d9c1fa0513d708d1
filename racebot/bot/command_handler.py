"""Recognizes commands in chat lines and answers them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from racebot.bot.race_lifecycle import Lifecycle
from racebot.chat.answers import Answers
from racebot.chat.commands import Asked, Command, Words
from racebot.chat.messages import MESSAGE_LIMIT
from racebot.chat.people import Person
from racebot.chat.rate_limit import Limiter
from racebot.chat.templates import Texts
from racebot.racetime.payload import ChatMessage, Race

ORDERS = frozenset({"off", "on", "redo"})
"""Arguments of the help command that only moderators may use."""
REMEMBERED = 1000
"""Message ids kept, so that a repeated frame is not answered twice."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, for the user with the id `to` or, if that is None, for the room."""

    text: str
    to: str | None


class CommandHandler:
    """Answers the commands of one category's rooms.

    Args:
        lifecycle: carries out the moderators' orders.
        answers: answers everything else.
        texts: the wording.
        words: the names of the commands.
        limiter: limits the answers to one user and in one room.
        private: whether only the user who asked sees an answer.
        clock: seconds on a monotonic scale.
    """

    def __init__(
        self,
        lifecycle: Lifecycle,
        answers: Answers,
        texts: Texts,
        words: Words,
        limiter: Limiter,
        *,
        private: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lifecycle = lifecycle
        self._answers = answers
        self._texts = texts
        self._words = words
        self._limiter = limiter
        self._private = private
        self._clock = clock
        self._seen: deque[str] = deque(maxlen=REMEMBERED)
        self._noted: deque[str] = deque(maxlen=REMEMBERED)
        """Races whose room was already told that they do not count."""

    def parse(self, message: ChatMessage, race: Race | None) -> Asked | None:
        """Return the command in a chat message, or None if there is none to answer.

        Messages from bots and the site, closed rooms and users over the limit are ignored. The limit does
        not hold for a moderator's `off` and `on`, which are needed most when users send many commands.
        """
        if race is None or race.recorded or message.is_system or message.bot is not None:
            return None
        if message.user_id is None or message.id in self._seen:
            return None
        asked = self._words.parse(message.text)
        if asked is None:
            return None
        self._seen.append(message.id)
        if message.can_moderate and _order(asked) in {"off", "on"}:
            return asked
        return asked if self._limiter.allows(race.name, message.user_id, self._clock()) else None

    def reply(self, asked: Asked, message: ChatMessage, race: Race) -> Reply | None:
        """Carry out a command and return the answer, or None to stay silent. Runs on the ledger thread.

        Raises:
            LedgerError: the ledger cannot be read or written.
        """
        if order := _order(asked):
            text = self._carry_out(order, message, race)
            return Reply(text, None) if text else None
        if self._lifecycle.is_quiet(race.name):
            return None
        asker = Person(str(message.user_id), message.user_name)
        text = self._answers.answer(asked, race, asker, moderator=message.can_moderate)
        if race.custom_goal or not race.recordable:
            text = self._with_note(text, asked, race)
        return Reply(text, asker.id if self._private else None) if text else None

    def _with_note(self, text: str, asked: Asked, race: Race) -> str:
        """Add to the first answer in a room that its race does not count."""
        note = self._texts.not_counted
        if asked.command is Command.ODDS:
            text = ""
        elif race.name in self._noted:
            return text
        self._noted.append(race.name)
        return f"{note} {text}".strip()[:MESSAGE_LIMIT]

    def _carry_out(self, order: str, message: ChatMessage, race: Race) -> str:
        """Carry out a moderator's order and return the answer."""
        if not message.can_moderate:
            return "" if self._lifecycle.is_quiet(race.name) else self._texts.moderators_only
        match order:
            case "off":
                self._lifecycle.keep_quiet(race.name)
                return self._texts.off.format(command=self._words.line(Command.HELP))
            case "on":
                self._lifecycle.speak_again(race.name, race.result)
                return self._texts.on
        return "" if self._lifecycle.say_again(race.result) else self._texts.nothing_to_repeat


def _order(asked: Asked) -> str | None:
    """Return the moderator's order in a command, or None if it is not an order."""
    word = asked.argument.casefold()
    return word if asked.command is Command.HELP and word in ORDERS else None
