"""The orders that people give in a room: quiet or not, whether the race counts, its event, their own name.

An order waits for no read of the race, and never expires. It carries the time of its chat line, by the site's
clock.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from racebot.bot.room.events import QuietOrder, Signal
from racebot.bot.room.ledger_work import LedgerWork
from racebot.errors import OrderError
from racebot.ledger.rows import Player
from racebot.racetime.frames import ChatMessage
from racebot.racetime.payload import Race
from racebot.settings.commands import CLOSING, Command, ParsedCommand
from racebot.settings.model import Settings
from racebot.standings import orders
from racebot.standings.events import EventSteps
from racebot.text.format import Count
from racebot.text.safe import plain

QUIET = {"off": True, "on": False}
"""Orders for and against quiet. Moderators, the room's opener and its monitors may give them."""
COUNTS = {"count": True, "skip": False}  # orders that a race counts now or does not, if it needs no record
EVENT = "event"  # the order that a room belongs to the event whose name follows
HIDES = {"hide me": True, "show me": False}  # orders that any player may give about their own name
_ALL = frozenset({*QUIET, *COUNTS, EVENT, "redo", *HIDES})
"""Orders, given after `!ratings`. Only moderators may order a repetition."""
REASON = "asked in chat"


@dataclass(frozen=True, slots=True)
class RoomOrder:
    """An order of `_ALL`, and the name of the `event` that it is about."""

    word: str
    message: ChatMessage
    event: str = ""

    @property
    def decides(self) -> bool:
        """Return whether it decides where the race counts."""
        return self.word in COUNTS or self.word == EVENT

    @property
    def given_at(self) -> datetime:
        return datetime.fromtimestamp(self.message.posted_at, UTC)

    @property
    def for_case(self) -> QuietOrder | Signal | None:
        """Return what the race's case is told of it."""
        if self.word in QUIET:
            return QuietOrder(QUIET[self.word], self.given_at)
        return Signal.COUNT if self.word == "count" else None

    @property
    def is_allowed(self) -> bool:
        """Return whether its author may give it."""
        may_silence = self.word in QUIET and self.message.is_monitor
        return self.word in HIDES or self.message.can_moderate or may_silence


def order_in(command: ParsedCommand, message: ChatMessage) -> RoomOrder | None:
    """Return the order in a chat line with this command, or None."""
    argument = command.argument.rstrip(CLOSING)
    first, _, event = argument.partition(" ")
    word = EVENT if event and first.casefold() == EVENT else argument.casefold()
    is_order = command.command is Command.HELP and word in _ALL
    return RoomOrder(word, message, event if word == EVENT else "") if is_order else None


@dataclass(frozen=True, slots=True)
class RoomOrders:
    """Carries out the orders of one category's rooms. Those for and against quiet are the case's to obey."""

    work: LedgerWork
    settings: Settings

    def carry_out(self, order: RoomOrder, race: Race) -> str:
        """Carry out an order that its author may give, and return the answer. Ledger work."""
        if order.word in HIDES:
            return self._hide(order)
        if order.decides:
            last = self.work.ledger.orders.last_in_chat(race.name)
            if last is not None and order.given_at <= last:
                return ""  # a chat history shows it again
            return self._join_event(order, race) if order.word == EVENT else self._decide(order, race)
        if order.word in QUIET:
            return self._with_command(self.settings.texts.quiet, quiet=QUIET[order.word])
        again = self.work.say_again(race.result, order.message.id)
        return "" if again else self.settings.texts.nothing_to_repeat

    def _decide(self, order: RoomOrder, race: Race) -> str:
        settler, counts = self.work.settler, COUNTS[order.word]
        if event := settler.ledger.events.get(settler.rules.events.get(race.name, "")):
            text = self.settings.texts.event_closed if event.closed_at else self.settings.texts.in_event
            return text.format(event=plain(event.title), open=Count(False))
        if not settler.rules.configs_for(race):
            return self.settings.texts.not_counted
        unrecorded = settler.rules.needs_no_record(race)
        is_over = unrecorded and race.result is not None and race.result.final
        chosen = {"record": not unrecorded, "over": is_over, "waits": unrecorded and not is_over}
        text = self.settings.texts.counts.format(**{name: Count(value) for name, value in chosen.items()})
        if not unrecorded:
            return text
        author = str(order.message.user_id)
        orders.skip(settler, race.name, REASON, order.given_at, undo=counts, author=author)
        if counts:
            return text
        text = self._with_command(self.settings.texts.skipped)
        return "" if self.work.withdraw(race.name, text) else text

    def _join_event(self, order: RoomOrder, race: Race) -> str:
        """Add the room to an open event. The room is told as of all its events; return a refusal."""
        settler = self.work.settler
        event = settler.ledger.events.open_to(race.category, order.event, race.started_at or order.given_at)
        # A restart reads an order again that was refused before the event existed.
        if event is None or order.given_at < event.created_at:
            return self.settings.texts.event_refused.format(taken=Count(False))
        if settler.rules.events.get(race.name, event.name) != event.name:
            return self.settings.texts.event_refused.format(taken=Count(True))
        if race.name not in settler.rules.events:
            self.work.withdraw(race.name)  # what chat heard is withdrawn as it is told of the event
        result = race.result if race.result is not None and race.result.final else None
        EventSteps(settler, order.given_at, str(order.message.user_id)).add_room(event, race.name, result)
        self.work.tell_of_event(race.name, ordered=True)
        return ""

    def _hide(self, order: RoomOrder) -> str:
        settler, hides = self.work.settler, HIDES[order.word]
        people, asker = settler.ledger.people, order.message
        account = people.account(str(asker.user_id))
        known = settler.ledger.players.get(account)
        player = known or Player(account, asker.user_name, "", asker.user_name)  # before the first race, too
        carry_out = orders.hide if hides else orders.unhide
        with suppress(OrderError):  # it is so already
            carry_out(settler, player, REASON, order.given_at, by_player=True)
        if False in people.hiding(player.id):  # the operator hid them, too
            return self.settings.texts.hidden_by_operator
        return self._with_command(self.settings.texts.hidden, hidden=hides)

    def _with_command(self, text: str, **choices: bool) -> str:
        chosen = {name: Count(value) for name, value in choices.items()}
        return text.format(command=self.settings.command_prefix + Command.HELP, **chosen)
