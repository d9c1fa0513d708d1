"""What the bot does when somebody writes in a room: which lines it takes as commands, and its answers."""

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
"""What moderators can order."""
REMEMBERED = 1000
"""Message ids, so that a frame that is repeated is not answered twice."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, and to whom alone it goes; the room where `to` is None."""

    text: str
    to: str | None


class Conversation:
    """Answers the commands of one category's rooms.

    Args:
        lifecycle: keeps quiet, speaks again, and repeats what was said.
        answers: for everything that is only asked.
        texts: the wording.
        words: what the commands are called.
        limiter: how much is answered.
        private: whether answers go to the person who asked alone.
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
        """Races whose room was told that they do not count."""

    def heard(self, message: ChatMessage, race: Race | None) -> Asked | None:
        """The command in a chat message, if there is one that is to be answered.

        Bots, the site itself and rooms whose chat is closed get no answer, nor does who asks too much. A
        moderator is heard all the same: it is where too much is asked that quiet is wanted.
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
        """Do what is asked; what is to be answered, if anything. Ledger work.

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
        """Return an answer in a race that does not count, which the first one in the room says."""
        note = self._texts.not_counted
        if asked.command is Command.ODDS:
            text = ""
        elif race.name in self._noted:
            return text
        self._noted.append(race.name)
        return f"{note} {text}".strip()[:MESSAGE_LIMIT]

    def _carry_out(self, order: str, message: ChatMessage, race: Race) -> str:
        """Carry out what a moderator orders; the answer."""
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
    """What is ordered, rather than asked."""
    word = asked.argument.casefold()
    return word if asked.command is Command.HELP and word in ORDERS else None
