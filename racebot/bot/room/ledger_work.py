"""Carries out the effects of a race's case in the ledger, each step in one transaction."""

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from racebot.bot.room import events
from racebot.bot.room.announcements import Announcements, Told
from racebot.bot.room.case import Case
from racebot.bot.room.events import STAY_AFTER_FINISH, Act, Announce, Effect, GiveUp, Settle
from racebot.ledger.outbox import CaseRow, Delivery
from racebot.ledger.rows import RATED_LATER
from racebot.races.result import RaceResult
from racebot.settings.model import Settings
from racebot.standings.follow_settings import follow_renames
from racebot.standings.settle import Settler

log = logging.getLogger(__name__)


class LedgerWork:
    """The ledger as the rooms use it. All methods are ledger work, and raise `LedgerError`.

    `bot` is the client id of the category's bot; None says nothing in chat.
    """

    def __init__(
        self, settler: Settler, clock: Callable[[], datetime], settings: Settings, bot: str | None
    ) -> None:
        self.settler = settler
        self.ledger = settler.ledger
        self.clock = clock
        self._settings, self._speaks = settings, settings.announce and bot is not None
        self._announcements = Announcements(self.ledger, clock, settings, bot)
        self.rated_later: set[str] = set()
        """Races with an edited result whose changes are published once a rebuild has rated them."""

    def load(self, name: str, *happened: events.CaseEvent, watched: bool) -> Case:
        """Return the case of a race as the ledger knows it, before these events."""
        row, stored = self.ledger.cases.get(name), self.ledger.races.state(name)
        settled_as = None if stored is None or stored[1] else stored[0]
        for shown in [each.race.result for each in happened if isinstance(each, events.Read | events.Listed)]:
            if shown and settled_as not in {None, shown.fingerprint()} and self.settler.has(shown):
                settled_as = shown.fingerprint()  # the stored result differs by orders and deleted accounts
        case = Case(name, self._settings, lambda: self.settler.rules, self._speaks, row, stored is not None)
        return replace(case, settled_as=settled_as, is_watched=watched)

    def carry_out(self, case: Case, stored: CaseRow | None, effects: Sequence[Effect]) -> bool:
        """Store the case's row and carry out the effects of a step, in one transaction.

        `stored` is the row as it is stored. Returns whether the room must be joined, since its chat was told
        of another result.
        """
        needs_room, announcements = False, self._announcements
        with self.ledger.transaction():
            is_known = case.is_watched or (stored is not None and not stored.unrecorded_since)
            if case.row != stored:
                self._store(case, stored)
            for effect in effects:
                match effect:
                    case Announce(result, is_late) if case.is_watched:
                        self._announce(result, is_late=is_late)
                    case Announce(result) if (told := Told(self.ledger, result.name)).sent:
                        needs_room = told.queued_key != announcements.key(self.settler.preview(result))
                    case Settle(result, chat_is_open):
                        self._settle(result, is_known=is_known or chat_is_open)
                    case GiveUp(reason):
                        for row in self.ledger.messages.open_for(case.name):
                            self.ledger.messages.mark(row, Delivery.DROPPED, self.clock(), "the room is gone")
                        self.ledger.posts.withdraw(case.name)
                        log.warning("%s: %s; given up", case.name, reason)
                    case Act():
                        self._act(effect, case)
        return needs_room

    def say_again(self, result: RaceResult | None, ordered_in: str) -> bool:
        """Queue the provisional changes once more. Return False if there are none.

        `ordered_in` is the id of the chat message with the order, which is carried out once, even after a
        restart.
        """
        if result is None or not result.final or not self.settler.rules.counts(result):
            return False
        with self.ledger.transaction():
            if self._is_recorded(result.name):
                return False
            rated = self.settler.preview(result)
            return bool(rated) and self._announcements.repeat(rated, ordered_in)

    def tell_of_event(self, room: str, *, ordered: bool = False) -> None:
        """Queue what a room has yet to hear about its event; a quiet room hears it only if `ordered`."""
        self.settler.boards.refresh()  # the operator may have added the room
        if not self._speaks:
            return
        step, row = self.ledger.orders.last_of_event(room), self.ledger.cases.get(room)
        if step and (ordered or row is None or not row.quiet):
            with self.ledger.transaction():
                self._announcements.tell_of_event(room, step)

    def withdraw(self, race: str, reason: str = "") -> bool:
        """Drop what was not said yet about a race. Withdraw the rest if there is a reason to give.

        Returns whether the reason is queued for chat.
        """
        with self.ledger.transaction():
            self._announcements.drop_waiting(race, "a moderator decided that the race does not count")
            return self._announcements.withdraw(race, reason)

    def follow_order(self, race: str) -> bool:
        """Show what a race does after an order about it: its info box, `bot_meta`, Discord, and open chat.

        Return False while the race is rated again, so that this is not known yet.
        """
        ledger, told = self.ledger, self._announcements
        with ledger.transaction():
            rated, row = self.settler.rated(race), ledger.cases.get(race)
            if any(each.note == RATED_LATER for each in rated):
                return False
            changed, is_known = any(each.changes for each in rated), bool(ledger.messages.of(race))
            if is_known:
                told.publish(race, rated)
            if changed:
                told.post(rated[0].result, rated, settled=True, is_new=is_known)
            else:
                ledger.posts.withdraw(race)
            ended_at = row.ended_at if row else None
            if row is None or row.quiet or self._is_recorded(race) or ended_at is None:
                return True
            if changed and self.clock() - ended_at < STAY_AFTER_FINISH:
                told.announce(rated, settled=True)
            elif not changed:
                told.withdraw(race, told.settings.texts.not_counted)
            return True

    def _is_recorded(self, race: str) -> bool:
        """Return whether a race is stored with its record, so that its chat is closed."""
        stored = self.ledger.races.state(race)
        return stored is not None and stored[1]

    def follow_renames(self, listed: Iterable[RaceResult], goals: Collection[str]) -> None:
        """Follow renamed goals, and correct what was said of races whose goal was taken for a new one.

        Takes what `standings.follow_settings.follow_renames` takes.
        """
        with self.ledger.transaction():
            for result in follow_renames(self.settler, listed, goals):
                name = result.name
                self.ledger.posts.refresh(name)
                if self.ledger.races.has(name):
                    if self.ledger.messages.of(name):
                        self._announcements.publish(name, self.settler.rated(name))
                elif not ((row := self.ledger.cases.get(name)) and row.quiet):
                    self._announcements.announce_again(self.settler.preview(result))

    def _store(self, case: Case, stored: CaseRow | None) -> None:
        row, name = case.row, case.name
        if row is None:
            self.ledger.cases.remove(name)
            return
        self.ledger.cases.save(row)
        is_first = row.next_look is not None and (stored is None or stored.next_look is None)
        if is_first and not (row.over or case.settled_as):
            waits_for = "a moderator to record it" if row.standing is None else "the result to stand"
            log.info("%s: finished; waiting for %s", name, waits_for)
        elif stored is not None and stored.over and not row.over:
            log.info("%s: an edit brought the race back", name)
        if row.quiet != (stored is not None and stored.quiet):
            log.info("%s: chat messages are switched %s", name, "off" if row.quiet else "on")

    def _act(self, act: Act, case: Case) -> None:
        name, announcements = case.name, self._announcements
        match act:
            case Act.TAKE_BACK:
                announcements.drop_unbegun(name, "the race goes on")
                self.ledger.posts.withdraw(name)
                log.info("%s: no longer finished, the race goes on", name)
            case Act.KEEP_QUIET:
                announcements.drop_waiting(name, "a moderator asked for quiet")
            case Act.WITHDRAW:
                announcements.drop_waiting(name, "the race is not recorded")
                announcements.withdraw(name)
                self.ledger.posts.withdraw(name)
                matches = case.shown is None or self.settler.rules.configs_for(case.shown)
                why = "cancelled or set to do not record" if matches else "no leaderboard has such races"
                log.info("%s: %s; no ratings change", name, why)
            case Act.UNDO_SETTLING:
                self.settler.withdraw(name)
                log.warning("%s: no longer recorded on the site, so its rating changes are undone", name)

    def _announce(self, result: RaceResult, *, is_late: bool) -> None:
        if self._is_recorded(result.name):
            return  # another source showed the record first
        if is_late and not Told(self.ledger, result.name).sent:
            return
        is_settled = self.ledger.races.has(result.name)
        if is_settled and not self.ledger.messages.of(result.name):
            return  # it counted while the bot was not in its room
        rated = self.settler.preview(result)
        if not rated:
            return  # the operator has just added the room to an event
        if not is_settled:
            self._announcements.post(rated[0].result, rated)
        said = self._announcements.announce(rated, settled=is_settled)
        if said is not None:
            log.info("%s: queued the %s of the rating changes", result.name, said)

    def _settle(self, result: RaceResult, *, is_known: bool) -> None:
        """Settle a race, and queue its final changes if we know the room."""
        is_known, announcements = is_known or bool(self.ledger.messages.of(result.name)), self._announcements
        was_stored = self.ledger.races.has(result.name)
        if not self.settler.settle(result, self.clock()):
            return
        if was_stored:
            log.warning("%s: the stored result changed; rated again from this race on", result.name)
        rated = self.settler.rated(result.name)
        if result.recorded:  # otherwise, chat is open
            announcements.drop_waiting(result.name, "the result is final")
        if any(each.note == RATED_LATER for each in rated):
            self.rated_later.add(result.name)
        elif is_known:
            announcements.publish(result.name, rated)
        announcements.post(rated[0].result if rated else result, rated, settled=True, is_new=is_known)
        for each in rated:
            outcome = each.note or f"{len(each.changes)} ratings changed"
            log.info("%s: counted on %s: %s", result.name, each.leaderboard.name, outcome)
