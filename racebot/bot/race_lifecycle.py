"""Moves a race through its stages in the ledger: finished, taken back, over, brought back, recorded.

All methods are ledger work. Room tasks, the polling of pending races and the list of past races call them.
Messages go into the outbox, which `outbox_sender` delivers.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from racebot.bot.announcer import Announcer, announcement_key, edits_between
from racebot.bot.marks import marks_by_board
from racebot.chat import info_box
from racebot.chat.rating_message import NO_MARKS, Marks
from racebot.chat.wording import DEFAULT_TEXTS, Texts
from racebot.ledger.outbox import Delivery, InfoBody, Message, MetaBody
from racebot.ledger.pending_races import PendingRace
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries.listing import Listing
from racebot.races.result import RaceResult
from racebot.racetime.payload import Race
from racebot.standings.settle import RatedRace, Settler
from racebot.telemetry import metrics

log = logging.getLogger(__name__)

ANNOUNCE_WITHIN = timedelta(hours=1)
"""An older result is not announced when it is first seen: its racers have left the room."""
GIVE_UP_AFTER = timedelta(days=1)
"""Age at which the bot gives up a race that the site does not find."""
WITHDRAW_AFTER = timedelta(hours=1)
"""How long the site must show a settled race as not recorded before the bot undoes its ratings.

This is far longer than the site's caches, and gives administrators time to record the race again.
"""
EXPIRE_AFTER = timedelta(days=90)
"""Age at which the bot gives up a race that was never recorded."""
LONGEST_MISS_PAUSE = timedelta(hours=1)


class Lifecycle:
    """Turns races as the site shows them into ledger entries and messages.

    Args:
        settler: rates results.
        clock: returns the current time, with its offset.
        announce: whether to write in chat at all.
        texts: the wording.
        buttons: returns the buttons of a rating message, given its leaderboard and the race's name.
        listing: returns which players a leaderboard lists; None marks neither new places nor
            unranked players in messages.
        race_page: returns the address of a race's published page, or None.
        pin: whether to pin the rating message that stands.
    """

    def __init__(
        self,
        settler: Settler,
        clock: Callable[[], datetime],
        *,
        announce: bool = True,
        texts: Texts = DEFAULT_TEXTS,
        buttons: Callable[[Leaderboard, str], Mapping[str, Mapping[str, str]]] = lambda *_: {},
        listing: Callable[[Leaderboard], Listing] | None = None,
        race_page: Callable[[str], str | None] = lambda _: None,
        pin: bool = False,
    ) -> None:
        self.settler = settler
        self._ledger: Ledger = settler.ledger
        self._clock = clock
        self._announce = announce
        self._listing = listing
        self._race_page = race_page
        self._texts = texts
        self._announcer = Announcer(self._ledger.outbox, clock, texts, buttons, pin=pin)

    def joined(self, race: Race) -> None:
        """Store that we watch an unfinished race, so that a restart rejoins it."""
        with self._ledger.transaction():
            self._ledger.pending.join(race.name, race.category)

    def greet(self, race: Race, compose: Callable[[Race], str]) -> bool:
        """Queue the greeting of a room once, even after a restart. Return False if it has to come later.

        Args:
            race: a race before its start.
            compose: returns the greeting, empty if there is none yet.
        """
        with self._ledger.transaction():
            return self.is_quiet(race.name) or self._announcer.greet(
                race.name, race.category, partial(compose, race)
            )

    def observe(self, race: Race, *, in_room: bool = False) -> None:
        """Update the ledger to the race as the site shows it now.

        Args:
            race: the race, from a room frame, its own data or the list of past races.
            in_room: whether we are in its room, and so can publish the final changes there.
        """
        result = race.result
        if race.over and not race.recorded:
            self.over(race, in_room=in_room)
            self._withdraw(race)
        elif result is None or result.hidden:
            return
        elif not self.settler.plans.counts(result):
            self.over(race, in_room=in_room)
        elif race.recorded:
            self.recorded(result, in_room=in_room)
        elif self._ledger.has_race(race.name):
            self._withdraw(race)
        else:
            self.finished(result)

    def finished(self, result: RaceResult) -> None:
        """Keep a finished race pending until it is settled."""
        with self._ledger.transaction():
            self._ledger.pending.leave(result.name)
            pending = self._ledger.pending.get(result.name)
            if pending is None:
                log.info("%s: finished; waiting for a moderator to record it", result.name)
                pending = PendingRace(result.name, result.category, result.ended_at, self._clock())
            elif pending.over:
                log.info("%s: an edit brought the race back", result.name)
                pending = replace(pending, over=False)
            else:
                return
            self._ledger.pending.save(replace(pending, next_look=self._next_look(pending)))

    def result_stands(self, result: RaceResult, previous: RaceResult | None = None) -> None:
        """Queue the provisional changes, or a correction of the announced ones.

        Args:
            result: the result as it stands.
            previous: the result that stood before, to list the edits.
        """
        if not self.settler.plans.counts(result) or not self._announce:
            return
        if self._ledger.has_race(result.name):
            return  # another source showed the record first
        self.finished(result)
        with self._ledger.transaction():
            pending = self._ledger.pending.get(result.name)
            if pending is None:
                return
            is_new = pending.announced_key is None and not self._announcer.sent(result.name)
            if is_new and self._clock() - result.ended_at > ANNOUNCE_WITHIN:
                return
            if self.is_quiet(result.name):
                return
            rated = self.settler.preview(result)
            key = announcement_key(rated)
            if pending.announced_key == key:
                return
            self._announcer.drop_waiting(result.name, "the result changed")
            corrections = pending.corrections
            if not self._announcer.stands(result.name, key):
                is_correction = self._announcer.standing_key(result.name) not in {None, key}
                corrections += is_correction
                edits = edits_between(previous, result) if previous is not None else []
                named = [self._named(each) for each in rated]
                self._announcer.announce(
                    named,
                    key,
                    correction=corrections if is_correction else 0,
                    edits=edits,
                    marks=self._marks(named),
                )
                kind = "a correction" if is_correction else "the rating changes"
                log.info("%s: announcing %s", result.name, kind)
            self._ledger.pending.save(replace(pending, announced_key=key, corrections=corrections))

    def needs_room(self, result: RaceResult) -> bool:
        """Return whether a result seen outside its room differs from the announced one."""
        if not self._announce or not result.final or not self.settler.plans.counts(result):
            return False
        pending = self._ledger.pending.get(result.name)
        if pending is None or self.is_quiet(result.name) or not self._announcer.sent(result.name):
            return False
        return pending.announced_key != announcement_key(self.settler.preview(result))

    def say_again(self, result: RaceResult | None, ordered_in: str) -> bool:
        """Queue the provisional changes once more. Return False if there are none.

        Args:
            result: the race's result.
            ordered_in: the id of the chat message with the order, which is carried out once, even after a
                restart.
        """
        if result is None or not result.final or not self.settler.plans.counts(result):
            return False
        with self._ledger.transaction():
            if self._ledger.has_race(result.name):
                return False
            named = [self._named(each) for each in self.settler.preview(result)]
            return self._announcer.announce(named, marks=self._marks(named), ordered_in=ordered_in)

    def keep_quiet(self, name: str) -> None:
        """Write nothing more in this room's chat."""
        with self._ledger.transaction():
            self._announcer.drop_waiting(name, "a moderator asked for quiet")
            self._ledger.pending.keep_quiet(name)
        log.info("%s: chat messages are switched off", name)

    def speak_again(self, name: str, result: RaceResult | None) -> None:
        """Undo `keep_quiet`, and announce the finished race."""
        log.info("%s: chat messages are switched on", name)
        with self._ledger.transaction():
            self._ledger.pending.speak_again(name)
            if result is not None and result.final:
                self.result_stands(result)

    def is_quiet(self, name: str) -> bool:
        """Return whether a moderator asked for quiet in this room."""
        return self._ledger.pending.is_quiet(name)

    def taken_back(self, name: str) -> None:
        """Drop the announcements of a race that goes on again, except the rest of a half-sent one."""
        with self._ledger.transaction():
            self._announcer.drop_unbegun(name, "the race goes on")
            pending = self._ledger.pending.get(name)
            if pending is not None:
                standing = self._announcer.standing_key(name)
                self._ledger.pending.save(replace(pending, announced_key=standing))
        log.info("%s: no longer finished, the race goes on", name)

    def recorded(self, result: RaceResult, *, in_room: bool) -> None:
        """Settle a recorded race, and queue its final changes if we know the room."""
        known = (
            in_room
            or self._ledger.pending.get(result.name) is not None
            or self._ledger.pending.is_joined(result.name)
            or bool(self._ledger.outbox.of(result.name))
        )

        def final_messages(rated: list[RatedRace]) -> Iterable[Message]:
            self._announcer.drop_waiting(result.name, "the race is recorded")
            boards = [r for r in rated if r.changes]
            if not known or not boards:
                return
            named = [self._named(each) for each in boards]
            entries = (info_box.meta_entry(r.leaderboard.name, r.leaderboard.model, r.changes) for r in named)
            yield self._announcer.message(result.name, result.category, MetaBody(tuple(entries)))
            if self._texts.info:
                marks = self._marks(named, settled=True)
                blocks = (
                    info_box.info_block(
                        each.result,
                        each.leaderboard.name,
                        each.changes,
                        self._texts,
                        marks.get(each.leaderboard.name, NO_MARKS),
                        by_team=each.by_team,
                        page=self._race_page(result.name),
                    )
                    for each in named
                )
                yield self._announcer.message(result.name, result.category, InfoBody(tuple(blocks)))

        with self._ledger.transaction():
            self._ledger.pending.leave(result.name)
            self._ledger.pending.speak_again(result.name)
            self._ledger.pending.forget_unrecorded(result.name)
            began = time.perf_counter()
            rated = self.settler.settle(result, final_messages, self._clock())
        if rated is not None:
            metrics.SETTLED.labels(result.category).inc()
            metrics.SETTLE_SECONDS.observe(time.perf_counter() - began)
        for each in rated or ():
            outcome = each.note or f"{len(each.changes)} ratings changed"
            log.info("%s: settled on %s: %s", result.name, each.leaderboard.name, outcome)

    def over(self, race: Race, *, in_room: bool = False) -> None:
        """Withdraw the announcement of a race that does not count, and keep polling the race.

        An edit can bring a cancelled race back or undo "do not record", so the race stays pending unless
        nothing can make it count.
        """
        name = race.name
        with self._ledger.transaction():
            pending = self._ledger.pending.get(name)
            if pending is not None and pending.over:
                return
            known = in_room or pending is not None or self._ledger.pending.is_joined(name)
            self._ledger.pending.leave(name)
            ended_at = _return_possible_since(race)
            if not known:
                return
            self._announcer.drop_waiting(name, "the race is not recorded")
            if not self.is_quiet(name):
                self._announcer.withdraw(name, race.category)
            if ended_at is None:
                self._forget(name)
            else:
                pending = pending or PendingRace(name, race.category, ended_at, self._clock())
                pending = replace(pending, over=True, announced_key=None)
                self._ledger.pending.save(replace(pending, next_look=self._next_look(pending)))
        log.info("%s: cancelled or set to do not record; no ratings change", name)

    def vanished(self, name: str) -> None:
        """Poll less often a race that the site does not find, and give it up after a day."""
        now = self._clock()
        pending = self._ledger.pending.get(name)
        with self._ledger.transaction():
            if pending is not None and now - pending.ended_at < GIVE_UP_AFTER:
                pause = min(timedelta(minutes=1) * 2 ** min(pending.misses, 10), LONGEST_MISS_PAUSE)
                pending = replace(pending, misses=pending.misses + 1, next_look=now + pause)
                self._ledger.pending.save(pending)
                return
            self._ledger.pending.leave(name)
            self._forget(name)
            for row in self._ledger.outbox.open_for(name):
                self._ledger.outbox.mark(row, Delivery.DROPPED, now, "the room is gone")
        log.warning("%s: the site has no such race any more; given up", name)

    def looked_at(self, name: str) -> None:
        """Schedule the next look at a pending race. Older races are polled less often."""
        with self._ledger.transaction(lasting=False):
            pending = self._ledger.pending.get(name)
            if pending is None:
                return
            if self._clock() - pending.ended_at > EXPIRE_AFTER:
                log.warning("%s: not recorded within %d days; given up", name, EXPIRE_AFTER.days)
                self._forget(name)
            else:
                pending = replace(pending, misses=0, next_look=self._next_look(pending))
                self._ledger.pending.save(pending)

    def _named(self, rated: RatedRace) -> RatedRace:
        """Leave hidden players out of a message."""
        hidden = self._ledger.orders.hidden()
        changes = tuple(each for each in rated.changes if each.player not in hidden)
        result = self._ledger.orders.masked(rated.result, self._texts.hidden_name)
        return replace(rated, result=result, changes=changes)

    def _marks(self, rated: Sequence[RatedRace], *, settled: bool = False) -> dict[str, Marks]:
        return marks_by_board(self._ledger, rated, self._listing, settled=settled)

    def _forget(self, name: str) -> None:
        self._ledger.pending.remove(name)
        self._ledger.pending.speak_again(name)

    def _withdraw(self, race: Race) -> None:
        """Remove a settled race from the ratings once its record has been missing for long enough."""
        if not self._ledger.has_race(race.name):
            return
        with self._ledger.transaction():
            now = self._clock()
            if now - self._ledger.pending.unrecorded_since(race.name, now) > WITHDRAW_AFTER:
                self.settler.withdraw(race.name)
                self._ledger.pending.forget_unrecorded(race.name)
                log.warning("%s: no longer recorded on the site, so its rating changes are undone", race.name)

    def _next_look(self, pending: PendingRace) -> datetime:
        now = self._clock()
        age = now - pending.ended_at
        if age < timedelta(hours=6):
            pause = timedelta(minutes=1)
        elif age < timedelta(days=2):
            pause = timedelta(minutes=10)
        elif age < timedelta(days=14):
            pause = timedelta(hours=1)
        else:
            pause = timedelta(days=1)
        # Cancelled races rarely come back.
        return now + (min(5 * pause, timedelta(days=1)) if pending.over else pause)


def is_time_to_greet(race: Race) -> bool:
    """Return whether the start is near: most of at least two entrants are ready, or the countdown runs.

    A room opens empty and fills up over half an hour or more. The odds of the first two entrants say little,
    and racers don't read chat once the race has begun.
    """
    entered = sum(entrant.user_id is not None for entrant in race.entrants)
    if entered < 2 or race.hidden:
        return False
    return race.before_start and (race.status == "pending" or 2 * race.ready > entered)


def _return_possible_since(race: Race) -> datetime | None:
    """Return when a race ended if an edit can still make it count, otherwise None."""
    if race.custom_goal or race.status == "partitioned":
        return None
    return race.result.ended_at if race.result else race.ended_at
