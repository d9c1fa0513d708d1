"""Answers the commands of a category's rooms: recognizes them, checks permissions, and replies."""

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from racebot.bot.room.ledger_work import LedgerWork
from racebot.bot.room.orders import HIDES, QUIET, RoomOrder, RoomOrders, order_in
from racebot.chat.answers import Answers
from racebot.ledger.rows import NamedPlayer
from racebot.racetime.frames import ChatHistory, ChatMessage
from racebot.racetime.payload import Race
from racebot.settings.commands import Command, ParsedCommand, parse_command
from racebot.settings.model import Settings
from racebot.text.format import Count

WINDOW = 60.0  # seconds for which an answer counts toward the limits
ANSWERS_PER_PERSON, ANSWERS_PER_ROOM = 4, 20
"""Enough for every racer of a large room to ask once, and too few for one of them to flood it."""
ORDERS_PER_PERSON = 10
"""Orders of moderators are needed most in a busy chat, so only this limit holds for them."""


class Limiter:
    """Counts answers and orders in any `WINDOW` seconds of a monotonic clock."""

    def __init__(self) -> None:
        self.recent: deque[tuple[float, tuple[str, ...]]] = deque()
        """What was allowed within the window: when, and to whom in which room."""

    def allows(self, most: Mapping[tuple[str, ...], int], now: float) -> bool:
        """Return whether one more is within the limit of each of these keys, and count it if so."""
        while self.recent and now - self.recent[0][0] >= WINDOW:
            self.recent.popleft()
        counted = Counter(key for _, key in self.recent if key in most)
        allowed = all(counted[key] < limit for key, limit in most.items())
        self.recent += [(now, key) for key in most if allowed]
        return allowed


EXPIRES = 60.0  # seconds after which a command is no longer worth an answer
MESSAGES_KEPT = 1000  # number of message ids to remember, so that a repeated frame is answered once


@dataclass(frozen=True, slots=True)
class Question:
    """A command that came at `asked_at`, in monotonic seconds, and waits for its answer.

    `order` is the one that its author gives, and may give.
    """

    command: ParsedCommand
    message: ChatMessage
    order: RoomOrder | None
    asked_at: float

    @property
    def is_about_race(self) -> bool:
        """Return whether the answer depends on the result of the room's race."""
        return self.command.command in {Command.RATING, Command.WHY, Command.SCORE, Command.NEED}


@dataclass
class CommandHandler:
    """Answers the commands of one category's rooms. If `silent`, only carries out orders.

    `clock` is monotonic.
    """

    work: LedgerWork
    settings: Settings
    silent: bool = False
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.texts = self.settings.texts
        self.orders = RoomOrders(self.work, self.settings)
        self._limiter = Limiter()
        self._seen: deque[str] = deque(maxlen=MESSAGES_KEPT)

    def parse(self, message: ChatMessage, race: Race) -> Question | None:
        """Return the command in a chat message, or None if there is nothing to answer.

        Bots, the site, closed rooms and players over the limit get no answer. Orders of moderators have a
        limit of their own, since they are needed most in a busy chat.
        """
        parsed = self._parsed(message)
        if parsed is None or message.user_id is None or race.recorded:
            return None
        order = order_in(parsed, message)
        if self.silent and order is None:
            return None
        self._seen.append(message.id)
        given, now = order if order and order.is_allowed else None, self.clock()
        person = (race.name, message.user_id)
        most = {person: ANSWERS_PER_PERSON, (race.name,): ANSWERS_PER_ROOM}
        if given and given.word not in HIDES:
            most = {(*person, "orders"): ORDERS_PER_PERSON}
        return Question(parsed, message, given, now) if self._limiter.allows(most, now) else None

    def of_history(
        self, history: ChatHistory, ordered_at: datetime | None, *, is_first: bool
    ) -> list[ChatMessage]:
        """Return the lines of a chat history that may hold commands to carry out or to answer.

        It also shows commands of before a restart or a lost connection. Answers to those have the same guid
        again, so the site ignores them. The last order for or against quiet counts, however old, if it is
        newer than the one carried out at `ordered_at`, and so does the last one on where the race counts: the
        ledger knows those that it carried out. In the first history of a room, other orders are left out: a
        later one may have undone them.
        """
        commands = [(line, command) for line in history.messages if (command := self._parsed(line))]
        found = [(line, order_in(command, line)) for line, command in commands]
        orders = [order for _, order in found if order and order.is_allowed]
        after = 0.0 if ordered_at is None else ordered_at.timestamp()
        quiet = [o.message for o in orders if o.word in QUIET and o.message.posted_at > after]
        last = quiet[-1:] + [order.message for order in orders if order.decides][-1:]
        late = [line for line in history.messages if history.sent_at - line.posted_at < EXPIRES]
        return [line for line, order in found if line in last or (line in late and not (order and is_first))]

    def _parsed(self, message: ChatMessage) -> ParsedCommand | None:
        if message.is_system or message.bot is not None or message.user_id is None:
            return None
        if message.id in self._seen:
            return None
        return parse_command(message.text, self.settings.command_prefix)

    def reply(self, question: Question, race: Race) -> str:
        """Answer a question, from an own connection to the ledger. An empty answer is not given."""
        command, message = question.command, question.message
        asker = NamedPlayer(str(message.user_id), message.user_name)
        if order_in(command, message):
            return self.texts.moderators_only
        with self.work.settler.reading() as settler:
            rules = settler.rules
            can_count = (race.recordable and not race.custom_goal) or rules.needs_no_record(race)
            if command.command is Command.ODDS and (race.name in rules.events or not can_count):
                return self.texts.odds_none.format(counts=Count(False))
            answers = Answers(settler, self.settings)
            return answers.answer(command, race, asker, moderator=message.can_moderate)
