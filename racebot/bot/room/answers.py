"""Answers the commands of a category's rooms: recognizes them, checks permissions, and replies."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from racebot.bot.heartbeat import utc_now
from racebot.bot.room.case import CountOrder, QuietOrder
from racebot.bot.room.ledger_work import LedgerWork
from racebot.chat.answers.answers import Answers
from racebot.chat.answers.context import Draft
from racebot.chat.rate_limit import Limiter
from racebot.chat.rating_message import MESSAGE_LIMIT
from racebot.errors import OrderError
from racebot.ledger.rows import NamedPlayer, Player
from racebot.racetime.frames import ChatHistory, ChatMessage
from racebot.racetime.payload import Race
from racebot.settings.commands import CLOSING, Command, ParsedCommand
from racebot.settings.model import Settings
from racebot.standings import orders
from racebot.standings.events import EventSteps

log = logging.getLogger(__name__)

QUIET_ORDERS = {"off": True, "on": False}
"""Orders for and against quiet. Moderators, the room's opener and its monitors may give them."""
COUNT_ORDERS = {"count": True, "skip": False}
"""Orders that a race counts now or does not, if it needs no record."""
EVENT = "event"
"""The order that a room belongs to the event whose name follows."""
ORDERS = frozenset({*QUIET_ORDERS, *COUNT_ORDERS, EVENT, "redo"})
"""Orders about a room, given after `!ratings`. Only moderators may order a repetition."""
ABOUT_SELF = frozenset({"hide me", "show me"})
"""Orders that any player may give about their own name."""
EXPIRES = 60.0
"""Seconds after which a command is no longer worth an answer."""
MESSAGES_KEPT = 1000
"""Number of message ids to remember, so that a repeated frame is answered once."""
REPEAT_AFTER = 30.0
"""Seconds within which a room gets the same answer only once."""
SELF_REASON = "asked in chat"


@dataclass(frozen=True, slots=True)
class Question:
    """A command that came at `asked_at`, in monotonic seconds, and waits for its answer.

    `may_order`: it is an order about the room, and its author may give it. `over_limit`: its author gets no
    answer but a note that answers pause.
    """

    command: ParsedCommand
    message: ChatMessage
    may_order: bool
    asked_at: float
    over_limit: bool = False

    @property
    def case_order(self) -> QuietOrder | CountOrder | None:
        """Return the order for the race's case, if it is one and its author may give it."""
        order = _order(self.command) if self.may_order else None
        if order in QUIET_ORDERS:
            return QuietOrder(QUIET_ORDERS[order], datetime.fromtimestamp(self.message.posted_at, UTC))
        return CountOrder() if order == "count" else None

    @property
    def is_about_race(self) -> bool:
        """Return whether the answer depends on the result of the room's race."""
        command = self.command.command
        answered = command in {Command.RATING, Command.WHY}
        return not self.over_limit and (answered or (command is Command.HELP and bool(self.command.argument)))


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, drafted outside the ledger's thread, for the room or only for the user `to`."""

    draft: Draft
    to: str | None
    confirms: bool = False
    """Whether it confirms an order."""


@dataclass
class CommandHandler:
    """Answers the commands of one category's rooms. If `silent`, only carries out orders.

    `clock` is monotonic.
    """

    work: LedgerWork
    answers: Answers
    settings: Settings
    silent: bool = False
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = utc_now

    def __post_init__(self) -> None:
        self.texts, self.names = self.answers.texts, self.answers.names
        self._limiter = Limiter(self.settings.answers_per_person, self.settings.answers_per_room)
        self._seen: deque[str] = deque(maxlen=MESSAGES_KEPT)
        self._given: dict[tuple[str, str | None, str], tuple[str, float]] = {}
        self._noted: deque[str] = deque(maxlen=MESSAGES_KEPT)
        """Races whose room knows that they do not count."""

    def parse(self, message: ChatMessage, race: Race) -> Question | None:
        """Return the command in a chat message, or None if there is nothing to answer.

        Bots, the site and closed rooms get no answer, and players over the limit only a note. Orders of
        moderators have a limit of their own, since they are needed most in a busy chat.
        """
        parsed = self._parsed(message)
        if parsed is None or message.user_id is None or race.recorded:
            return None
        if self.silent and not (_order(parsed) or _is_about_self(parsed)):
            return None
        self._seen.append(message.id)
        may_order, now = self._may_order(message, _order(parsed)), self.clock()
        allows = self._limiter.allows_order if may_order else self._limiter.allows
        limited = race.name, message.user_id, now
        if allows(*limited):
            return Question(parsed, message, may_order, now)
        return (
            Question(parsed, message, False, now, over_limit=True) if self._limiter.tells(*limited) else None
        )

    def of_first_history(self, history: ChatHistory, ordered_at: datetime | None) -> list[ChatMessage]:
        """Return the lines of a room's first chat history that may hold commands to answer.

        After a restart, the history also shows commands that were answered before. Their answers have the
        same guid again, so the site ignores them. Orders are left out, since an earlier one, or one of
        another room, would undo a later one. The last order for or against quiet counts all the same, if it
        is newer than the one carried out at `ordered_at`: the bot was not in the room yet.
        """
        commands = [(line, found) for line in history.messages if (found := self._parsed(line)) is not None]
        given = [(line, order) for line, found in commands if self._may_order(line, order := _order(found))]
        after = 0.0 if ordered_at is None else ordered_at.timestamp()
        quiet = [line for line, order in given if order in QUIET_ORDERS and line.posted_at > after]
        # The ledger knows which of these were carried out before.
        counting = [line for line, order in given if order in {*COUNT_ORDERS, EVENT}]
        last, late = quiet[-1:] + counting[-1:], recent(history)
        return [
            line
            for line, found in commands
            if line in last or (line in late and not (_order(found) or _is_about_self(found)))
        ]

    def _parsed(self, message: ChatMessage) -> ParsedCommand | None:
        if message.is_system or message.bot is not None or message.user_id is None:
            return None
        return None if message.id in self._seen else self.names.parse(message.text)

    def reply(self, question: Question, race: Race, *, is_quiet: bool) -> Reply | None:
        """Carry out an order, except one for or against quiet, or draft an answer. Ledger work."""
        command, message = question.command, question.message
        asker = NamedPlayer(str(message.user_id), message.user_name)
        if question.over_limit:
            return None if is_quiet else Reply(lambda: self.texts.answers_pause, asker.id)
        if order := _order(command):
            if question.may_order:
                name = command.argument.rstrip(CLOSING).partition(" ")[2]
                text = self._confirmation(order, name, message, race)
            else:
                text = "" if is_quiet else self.texts.moderators_only
            return Reply(lambda: text, None, confirms=question.may_order) if text else None
        if _is_about_self(command):
            text = self._carry_out_about(asker, hide=_words(command) == "hide me")
            return Reply(lambda: text, asker.id) if text else None
        if is_quiet:
            return None
        rules = self.work.settler.rules
        draft = self.answers.draft(command, race, asker, moderator=message.can_moderate)
        in_event = race.name in rules.events  # which the room was told
        if in_event or ((race.custom_goal or not race.recordable) and not rules.needs_no_record(race)):
            draft = self._with_note(draft, command, race, "" if in_event else self.texts.not_counted)
        return Reply(draft, asker.id if self.settings.private_answers else None)

    def is_repeat(self, race: str, reply: Reply, text: str) -> bool:
        """Return whether the room just got the same answer; if not, remember this one.

        A confirmation only repeats the last one: after the opposite order, the same order is news again.
        """
        now = self.clock()
        self._given = {key: given for key, given in self._given.items() if now - given[1] < REPEAT_AFTER}
        key = (race, reply.to, "" if reply.confirms else text)
        if self._given.get(key, ("", now))[0] == text:
            return True
        self._given[key] = (text, now)
        return False

    def _with_note(self, draft: Draft, command: ParsedCommand, race: Race, note: str) -> Draft:
        """Add a note to the first answer in a race that does not count. There are no odds in it."""
        if command.command is Command.ODDS:
            return lambda: self.texts.odds_not_counted
        if race.name in self._noted:
            return draft
        self._noted.append(race.name)
        return lambda: f"{note} {draft()}".strip()[:MESSAGE_LIMIT]

    def _confirmation(self, order: str, name: str, message: ChatMessage, race: Race) -> str:
        """Confirm a moderator's order, carrying it out unless it is about quiet. `name` is the event's."""
        if order == EVENT:
            return self._join_event(name, message, race)
        if order in COUNT_ORDERS:
            return self._decide(message, race, counts=COUNT_ORDERS[order])
        if order == "off":
            return self.texts.off.format(command=self.names.line(Command.HELP))
        if order == "on":
            return self.texts.on
        again = self.work.say_again(race.result, message.id)
        return "" if again else self.texts.nothing_to_repeat

    def _decide(self, message: ChatMessage, race: Race, *, counts: bool) -> str:
        """Carry out an order that the race counts or not, once, and return the answer."""
        settler, given_at = self.work.settler, datetime.fromtimestamp(message.posted_at, UTC)
        if not settler.rules.needs_no_record(race):
            return self.texts.needs_record
        earlier = settler.ledger.orders.last_about(race.name)
        if earlier is not None and given_at <= earlier:
            return ""
        reason = f"{SELF_REASON} by {message.user_id}"
        try:
            orders.skip(settler, race.name, reason, given_at, undo=counts)
        except OrderError as error:
            log.info("%s", error)
        if counts:
            return self.texts.counted
        text = self.texts.skipped.format(command=self.names.line(Command.HELP))
        return "" if self.work.withdraw(race.name, text) else text

    def _join_event(self, name: str, message: ChatMessage, race: Race) -> str:
        """Add the room to an open event, once. The room is told as of all its events; return a refusal."""
        settler, given_at = self.work.settler, datetime.fromtimestamp(message.posted_at, UTC)
        earlier, events = settler.ledger.orders.last_about(race.name), settler.ledger.events
        if earlier is not None and given_at <= earlier:
            return ""
        event = events.open_to(race.category, name, race.started_at or given_at)
        if event is None:
            return self.texts.event_unknown
        if settler.rules.events.get(race.name, event.name) != event.name:
            return self.texts.event_taken
        if race.name not in settler.rules.events:
            self.work.withdraw(race.name)  # what chat heard is withdrawn as it is told of the event
        result = race.result if race.result is not None and race.result.final else None
        EventSteps(settler, given_at, str(message.user_id)).add_room(event, race.name, result)
        self.work.tell_of_event(race.name, ordered=True)
        return ""

    def _may_order(self, message: ChatMessage, order: str | None) -> bool:
        if order is None or message.can_moderate:
            return order is not None
        allowed = {*QUIET_ORDERS, *({*COUNT_ORDERS, EVENT} if self.settings.monitors_decide else ())}
        return message.is_monitor and order in allowed

    def _carry_out_about(self, asker: NamedPlayer, *, hide: bool) -> str:
        """Hide or show the asker's name, and return the answer."""
        settler = self.work.settler
        account = settler.ledger.people.account(asker.id)
        known = settler.ledger.players.get(account)
        player = known or Player(account, asker.name, "", asker.name)  # before the first race, too
        order = orders.hide if hide else orders.unhide
        try:
            order(settler, player, SELF_REASON, self.now(), by_player=True)
        except OrderError as error:
            log.info("%s: %s", asker.id, error)
        hidden_by_player = settler.ledger.people.hiding(player.id)
        if False in hidden_by_player:  # the operator hid them, too
            return self.texts.hidden_by_operator
        command = self.names.line(Command.HELP)
        return (self.texts.hidden if hide else self.texts.unhidden).format(command=command)


def recent(history: ChatHistory) -> Sequence[ChatMessage]:
    """Return the messages of a history that are recent enough for an answer."""
    return [line for line in history.messages if history.sent_at - line.posted_at < EXPIRES]


def _order(command: ParsedCommand) -> str | None:
    """Return the order about the room in a command, or None."""
    words = _words(command)
    word = EVENT if words.startswith(f"{EVENT} ") else words
    return word if command.command is Command.HELP and word in ORDERS else None


def _is_about_self(command: ParsedCommand) -> bool:
    return command.command is Command.HELP and _words(command) in ABOUT_SELF


def _words(command: ParsedCommand) -> str:
    return command.argument.rstrip(CLOSING).casefold()
