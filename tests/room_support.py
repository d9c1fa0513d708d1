"""Races that are followed without sockets: their cases, stepped and carried out at once."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from builders import NOON, chat_body, seen
from worker_support import spaced

from racebot.bot.room import events as cases
from racebot.bot.room.case import Case, step
from racebot.bot.room.events import Act, Moment, Signal
from racebot.bot.room.ledger_work import LedgerWork
from racebot.ledger.outbox import CaseRow, Delivery
from racebot.races.result import RaceResult
from racebot.racetime.payload import Race
from racebot.settings.model import Settings
from racebot.standings.settle import Settler

QUIET = 10.0
NAME = "orb/r"
"""The race of most tests."""


class Follower:
    """Follows races like the bot, each watched or polled. `now` is the monotonic clock.

    Effects are carried out after each event. Reads are only noted. `given` are settings.
    """

    def __init__(
        self,
        settler: Settler,
        clock: Callable[[], datetime],
        *,
        bot: str | None = "bot",
        **given: Any,
    ) -> None:
        self.settler = settler
        self.ledger = settler.ledger
        self.clock = clock
        self.settings = Settings(**{"minimum_finishes": 0, "commands": False, **given})
        self.work = LedgerWork(settler, clock, self.settings, bot)
        self.now = 1000.0
        self.watched: dict[str, Case] = {}
        self.reads: list[float] = []
        self._version = 0

    def on(self, name: str, *events: cases.CaseEvent, watched: bool = True) -> bool:
        """Step through events, and return whether the room must be joined."""
        case = self.watched.get(name) if watched else None
        needs_room = False
        for event in events:
            case = case or self.work.load(name, event, watched=watched)
            stored = self.ledger.cases.get(name)
            case, effects = step(case, event, Moment(self.now, self.clock()))
            self.reads += [self.now for effect in effects if effect is Act.READ]
            if effects or case.row != stored:
                needs_room |= self.work.carry_out(case, stored, effects)
        if watched and case is not None:
            self.watched[name] = case
        return needs_room

    def frame(self, race: Race) -> None:
        """Show a race in its room, in a new version of it."""
        self._version += 1
        self.on(race.name, cases.Frame(replace(race, version=self._version)))

    def read(self, race: Race) -> bool:
        """Show a race to a poll, and return whether its room must be joined."""
        return self.on(race.name, cases.Read(race, self.now), watched=False)

    def show_final(self, result: RaceResult) -> None:
        """Show a result in its room until it stands."""
        self.frame(seen(result))
        self.now += QUIET
        self.on(result.name, Signal.TICK)

    def polled(self, signal: Signal, name: str = NAME) -> None:
        """Note what a poll of a race brought."""
        self.on(name, signal, watched=False)

    def row(self, name: str = NAME) -> CaseRow:
        """Return a race that is followed."""
        row = self.ledger.cases.get(name)
        assert row is not None
        return row

    def is_followed(self, name: str = NAME) -> bool:
        return self.ledger.cases.get(name) is not None

    def waiting(self, name: str = NAME) -> list[str]:
        """Return the chat messages that wait, with ordinary spaces."""
        rows = self.ledger.messages.open_for(name)
        return [spaced(chat_body(row).text) for row in rows if row.message.kind == "chat"]

    def deliver(self, name: str = NAME, state: Delivery = Delivery.DELIVERED) -> list[str]:
        """Mark all messages of a race as delivered, and return those for chat."""
        waiting = self.waiting(name)
        for row in self.ledger.messages.open_for(name):
            self.ledger.messages.mark(row, state, NOON)
        return waiting

    def announce(self, result: RaceResult) -> list[str]:
        """Show a result until it stands, and deliver what that brings."""
        self.show_final(result)
        return self.deliver()
