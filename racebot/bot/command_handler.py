"""Handles commands in a room: recognizes them, checks permissions, and replies."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from racebot.bot.heartbeat import utc_now
from racebot.bot.race_lifecycle import Lifecycle
from racebot.chat.answers.answers import Answers
from racebot.chat.answers.context import Draft
from racebot.chat.commands import Command, CommandNames, ParsedCommand
from racebot.chat.people import Person
from racebot.chat.rate_limit import Limiter
from racebot.chat.rating_message import MESSAGE_LIMIT
from racebot.chat.wording import Texts
from racebot.errors import OrderError
from racebot.ledger.players import Player
from racebot.racetime.frames import ChatMessage
from racebot.racetime.payload import Race
from racebot.standings import orders

log = logging.getLogger(__name__)

ORDERS = frozenset({"off", "on", "redo"})
"""Moderators' orders, given after `!ratings`. The room's opener and monitors may give the first two."""
ABOUT_SELF = frozenset({"hide me", "show me"})
"""Orders that any player may give about their own name."""
MESSAGES_KEPT = 1000
"""Number of message ids to remember, so that a repeated frame is answered once."""
REPEAT_AFTER = 30.0
"""Seconds within which a room gets the same answer only once."""
SELF_REASON = "asked in chat"


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer to send.

    Attributes:
        draft: composes it, outside the ledger's thread.
        to: the only user to see it; None for the room.
        confirms: whether it confirms an order. A confirmation is never left out as a repetition.
    """

    draft: Draft
    to: str | None
    confirms: bool = False


class CommandHandler:
    """Answers the commands of one category's rooms.

    Args:
        lifecycle: carries out orders.
        answers: answers questions.
        texts: the wording.
        names: the names of the commands.
        limiter: limits answers.
        private: whether answers are private notes.
        clock: seconds on a monotonic scale.
        now: returns the current time, with its offset.
    """

    def __init__(
        self,
        lifecycle: Lifecycle,
        answers: Answers,
        texts: Texts,
        names: CommandNames,
        limiter: Limiter,
        *,
        private: bool,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._lifecycle = lifecycle
        self._answers = answers
        self._texts = texts
        self._names = names
        self._limiter = limiter
        self._private = private
        self._clock = clock
        self._now = now
        self._seen: deque[str] = deque(maxlen=MESSAGES_KEPT)
        self._given: dict[tuple[str, str | None, str], float] = {}
        self._noted: deque[str] = deque(maxlen=MESSAGES_KEPT)
        """Races whose room knows that they do not count."""

    def parse(self, message: ChatMessage, race: Race | None) -> ParsedCommand | None:
        """Return the command in a chat message, or None if there is nothing to answer.

        Bots, the site, closed rooms and players over the limit get no answer. The limit does not apply to
        moderators' orders, which are needed most in a busy chat.
        """
        if race is None or race.recorded or message.is_system or message.bot is not None:
            return None
        if message.user_id is None or message.id in self._seen:
            return None
        asked = self._names.parse(message.text)
        if asked is None:
            return None
        self._seen.append(message.id)
        if _may_order(message, _order(asked)):
            return asked
        return asked if self._limiter.allows(race.name, message.user_id, self._clock()) else None

    def is_order(self, asked: ParsedCommand) -> bool:
        """Return whether a command changes something, so that it must not be carried out twice."""
        return _order(asked) is not None or _is_about_self(asked)

    def reply(self, asked: ParsedCommand, message: ChatMessage, race: Race) -> Reply | None:
        """Carry out an order, or draft an answer. Ledger work.

        Raises:
            LedgerError: the ledger cannot be read or written.
        """
        asker = Person(str(message.user_id), message.user_name)
        if order := _order(asked):
            text = self._carry_out(order, message, race)
            return Reply(lambda: text, None, confirms=_may_order(message, order)) if text else None
        if _is_about_self(asked):
            text = self._carry_out_about(asker, hide=asked.argument.casefold() == "hide me")
            return Reply(lambda: text, asker.id) if text else None
        if self._lifecycle.is_quiet(race.name):
            return None
        draft = self._answers.draft(asked, race, asker, moderator=message.can_moderate)
        if race.custom_goal or not race.recordable:
            draft = self._with_note(draft, asked, race)
        return Reply(draft, asker.id if self._private else None)

    def is_repeat(self, race: str, reply: Reply, text: str) -> bool:
        """Return whether the room just got the same answer; if not, remember this one."""
        if reply.confirms:
            return False
        now = self._clock()
        self._given = {key: at for key, at in self._given.items() if now - at < REPEAT_AFTER}
        key = (race, reply.to, text)
        known = key in self._given
        self._given.setdefault(key, now)
        return known

    def _with_note(self, draft: Draft, asked: ParsedCommand, race: Race) -> Draft:
        """Add a note to the first answer in a race that does not count."""
        note = self._texts.not_counted
        if asked.command is Command.ODDS:
            draft = str
        elif race.name in self._noted:
            return draft
        self._noted.append(race.name)
        return lambda: f"{note} {draft()}".strip()[:MESSAGE_LIMIT]

    def _carry_out(self, order: str, message: ChatMessage, race: Race) -> str:
        """Carry out a moderator's order and return the answer."""
        if not _may_order(message, order):
            return "" if self._lifecycle.is_quiet(race.name) else self._texts.moderators_only
        match order:
            case "off":
                self._lifecycle.keep_quiet(race.name)
                return self._texts.off.format(command=self._names.line(Command.HELP))
            case "on":
                self._lifecycle.speak_again(race.name, race.result)
                return self._texts.on
        again = self._lifecycle.say_again(race.result, message.id)
        return "" if again else self._texts.nothing_to_repeat

    def _carry_out_about(self, asker: Person, *, hide: bool) -> str:
        """Hide or show the asker's name, and return the answer."""
        settler = self._lifecycle.settler
        account = settler.ledger.orders.account(asker.id)
        known = settler.ledger.players.get(account)
        player = known or Player(account, asker.name, "", asker.name)  # before the first race, too
        order = orders.hide if hide else orders.unhide
        try:
            order(settler, player, SELF_REASON, self._now(), by_player=True)
        except OrderError as error:
            log.info("%s: %s", asker.id, error)
        if settler.ledger.orders.is_hidden_by_operator(player.id):
            return self._texts.hidden_by_operator
        command = self._names.line(Command.HELP)
        return (self._texts.hidden if hide else self._texts.unhidden).format(command=command)


def _order(asked: ParsedCommand) -> str | None:
    """Return the moderators' order in a command, or None."""
    word = asked.argument.casefold()
    return word if asked.command is Command.HELP and word in ORDERS else None


def _is_about_self(asked: ParsedCommand) -> bool:
    return asked.command is Command.HELP and asked.argument.casefold() in ABOUT_SELF


def _may_order(message: ChatMessage, order: str | None) -> bool:
    return order is not None and (message.can_moderate or (message.is_monitor and order != "redo"))
