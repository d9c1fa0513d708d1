"""Everything known about one race, and what to do next. Pure: no I/O and no clock.

`step` takes a case, an event and the time, and returns the new case with the effects to carry out. Rooms that
the bot has joined, races that it polls and races in the list of past races all go through `step`.

After the finish, only an HTTP read shows a moderator's edit: the site announces it in chat, broadcasts the
old data, and only then saves. So every system message in a room that ended leads to two reads: one soon, and
one after the site's cache of the old answer has expired.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from racebot.bot.room import events
from racebot.bot.room.events import Act, CaseEvent, Effect, Moment, Settle, Signal
from racebot.ledger.outbox import CaseRow
from racebot.races.result import RaceResult
from racebot.racetime.payload import Race
from racebot.settings.model import Settings
from racebot.standings.counting import RatingRules

SITE_CACHE = 5.0  # seconds for which the site caches a race's data
READ_AFTER = 0.5
"""Seconds from a system message to the first read. The site saves an edit just after announcing it."""
CERTAIN_AFTER = SITE_CACHE + 1.5
"""Seconds from a system message after which the site's cache cannot hold older data."""
READ_PAUSE = SITE_CACHE + 0.5
"""Seconds between two reads. An earlier read would get the cached answer to the last one."""
RETRY_PAUSE = 30.0  # seconds from a failed read to the retry
LONGEST_DOUBT = 60.0
"""Seconds for which a result waits for a read that shows it after the last system message."""


@dataclass(slots=True)
class Case:
    """Everything known about one race. Only `step` changes it, and only in a copy.

    Attributes:
        rules: returns which races count where. That changes when a goal is renamed.
        speaks: whether the bot may write in the room.
        row: what outlives the process; None for a race that is not followed.
        is_settled: whether the ledger has rated the race.
        settled_as: the fingerprint of the result that it rated, if that needed no record.
        is_watched: whether the bot is in its room.
        shown: the race as it was shown last.
        is_recorded: whether its record was seen, after which nothing can change in its room.
    """

    name: str
    settings: Settings
    rules: Callable[[], RatingRules]
    speaks: bool = True
    row: CaseRow | None = None
    is_settled: bool = False
    settled_as: str | None = None
    is_watched: bool = True
    shown: Race | None = None
    is_recorded: bool = False
    _was_over: bool = False
    _for_event: tuple[str, bool] | None = None
    """The result that the race's event has: its fingerprint, and whether it is recorded."""
    _candidate: RaceResult | None = None
    """The result that is shown, once it is final."""
    _stands_at: float | None = None
    """When the candidate stands; None if it does already, or without one."""
    _due: datetime | None = None
    """When a result that needs no record has stood for long enough."""
    _version: int = 0
    _version_at: float = float("-inf")
    _read_at: float | None = None
    """When to read the race."""
    _last_read: float = float("-inf")
    _confirmed_at: float = float("-inf")
    """When the last request was sent whose answer is shown."""
    _certain_at: float | None = None
    """When a request must be sent for its answer to hold all announced edits; None if that has come."""
    _doubted_at: float = float("-inf")
    """The first system message since the last certain answer."""

    @property
    def deadline(self) -> float | None:
        """Return when `Signal.TICK` next has something to do, in monotonic seconds, or None."""
        stands_at = self._stands_at
        if stands_at is not None and self.is_unsure:
            stands_at = max(stands_at, self._doubted_at + LONGEST_DOUBT)
        return min((at for at in (stands_at, self._read_at) if at is not None), default=None)

    @property
    def has_ended(self) -> bool:
        """Return whether the race ended, so that moderators can edit its result."""
        return self.shown is not None and self.shown.status in {"finished", "cancelled"}

    @property
    def is_unsure(self) -> bool:
        """Return whether there may be an edit that no read has shown yet."""
        return self._certain_at is not None

    @property
    def is_quiet(self) -> bool:
        return self.row is not None and self.row.quiet

    def holds(self, result: RaceResult) -> bool:
        """Return whether a result is still the race's current one."""
        return self._candidate is not None and result.fingerprint() == self._candidate.fingerprint()

    def may_leave(self, now: Moment) -> bool:
        """Return whether nothing more is expected in the room."""
        race = self.shown
        if race is None or self.is_recorded or self.deadline is not None:
            return self.is_recorded
        ended_at = race.cancelled_at or race.ended_at or (race.result.ended_at if race.result else None)
        if ended_at is None:
            return race.over
        return now.site - ended_at > (events.STAY_AFTER_OVER if race.over else events.STAY_AFTER_FINISH)


def step(case: Case, event: CaseEvent, now: Moment) -> tuple[Case, tuple[Effect, ...]]:
    """Return the case after an event, and the effects to carry out, in order. The given case stays."""
    taking = _Step(replace(case), now)
    taking.on(event)
    return taking.case, tuple(taking.effects)


class _Step:
    """One step: changes its own copy of a case, and collects the effects."""

    def __init__(self, case: Case, now: Moment) -> None:
        self.case = case
        self.rating = case.rules()
        self.now = now
        self.effects: list[Effect] = []
        self.is_read = False
        """Whether the event shows the race as the site has it now, and not as a frame repeats it."""

    def on(self, event: CaseEvent) -> None:
        match event:
            case events.Frame(race):
                self._on_frame(race)
            case events.Read(race, sent_at):
                self._on_read(race, sent_at)
            case events.Listed(race):
                self._on_listed(race)
            case Signal.READ_FAILED if self.case.has_ended and not self.case.is_recorded:
                self._read_at(self.now.seconds + RETRY_PAUSE)
            case Signal.SYSTEM_LINE if self.case.has_ended and not self.case.is_recorded:
                if self.case._certain_at is None:
                    self.case._doubted_at = self.now.seconds
                self.case._certain_at = self.now.seconds + CERTAIN_AFTER
                self._read_soon()
            case Signal.LOOKED:
                self._on_looked()
            case Signal.MISSING:
                self._on_missing()
            case events.QuietOrder(quiet, given_at):
                self._on_quiet_order(quiet, given_at)
            case Signal.COUNT if not self.case.is_recorded:
                result = self.case.shown.result if self.case.shown else None
                if result is not None and result.final and self.rating.grace(result) is not None:
                    self._settle_without_record(result)
        self._on_tick()

    # What the site shows

    def _on_frame(self, race: Race) -> None:
        case, shown = self.case, self.case.shown
        # A deleted account raises no version: the frame may repeat what the connection received before.
        is_doubtful = case.has_ended and not race.recorded and race.version == case._version
        if self._is_outdated(race) or (is_doubtful and shown is not None and _facts(race) != _facts(shown)):
            self._read_soon()  # the version that we know may be the wrong one
        else:
            self._show(race)

    def _on_read(self, race: Race, sent_at: float) -> None:
        case = self.case
        if sent_at < case._confirmed_at and not race.recorded:
            return  # the answer to a later request came first
        if self._is_outdated(race):
            if sent_at < case._version_at + CERTAIN_AFTER:
                self._read_at(case._version_at + CERTAIN_AFTER)
                return
            case._version = 0  # no cache explains the difference: the higher version was wrong
        self.is_read = True
        case._confirmed_at = max(case._confirmed_at, sent_at)
        if case._certain_at is not None and sent_at >= case._certain_at:
            case._certain_at = None
        self._show(race)

    def _on_listed(self, race: Race) -> None:
        case = self.case
        if race.recorded or not case.is_watched:
            self.is_read = True
            self._show(race)
        elif case.shown is not None and _facts(race) != _facts(case.shown):
            self._read_soon()

    def _show(self, race: Race) -> None:
        case, result = self.case, race.result
        if race.version is not None and race.version > case._version:
            case._version, case._version_at = race.version, self.now.seconds
        case.shown = race
        if result is not None and result.final and case.name in self.rating.events:
            found, case._for_event = case._for_event, (result.fingerprint(), race.recorded)
            self.effects += [Settle(result)] if case._for_event != found else []
        if case.is_recorded:
            return
        ended = result is not None and not result.hidden
        counts = result is not None and self.rating.counts(result)
        grace = self.rating.grace(result) if result is not None and counts else None
        if race.recorded and result is not None and counts:
            self._settle(result)
        elif (race.over and not race.recorded and grace is None) or (ended and not counts):
            self._over(race)
        elif result is None or not result.final:
            self._going_on(race)
        elif grace is not None and (case.settled_as or not case.is_settled):
            self._stands(result, grace)
        elif case.is_settled:
            self._without_record(race)
        else:
            self._finished(result)

    def _settle(self, result: RaceResult) -> None:
        case = self.case
        self.effects.append(Settle(result))
        self._forget_candidate()
        case._read_at = case._certain_at = None
        case.is_recorded = case.is_settled = True
        case.row = None

    def _stands(self, result: RaceResult, grace: timedelta) -> None:
        """Settle a result that needs no record once it has stood for long enough, and follow its edits."""
        case, key, now = self.case, result.fingerprint(), self.now.site
        row = case.row or CaseRow(case.name, result.category, ended_at=result.ended_at)
        if key == case.settled_as:
            self._offer(result)  # chat may have heard of an edit that was taken back
            case.row = replace(row, over=False, standing=key, unrecorded_since=None)
            if now - result.ended_at > events.FOLLOW_AFTER and not result.countable:
                case.row = None
            elif row.next_look is None:
                self._poll(case.row)
            return
        if row.standing != key:
            # An edit brought a race back that was over: it has not stood since its end.
            is_first = row.standing is None and not (case.is_settled or row.over)
            row = replace(
                row, standing=key, stands_since=result.ended_at if is_first else now, next_look=None
            )
        case.row = replace(row, over=False, unrecorded_since=None)
        case._due = due = (row.stands_since or now) + grace
        if self.is_read and now >= due and not case.is_unsure:
            self._settle_without_record(result)
            return
        self._finished(result)

    def _settle_without_record(self, result: RaceResult) -> None:
        case = self.case
        self.effects.append(Settle(result, self.now.site - result.ended_at < events.STAY_AFTER_OVER))
        case.is_settled, case.settled_as = True, result.fingerprint()
        row = case.row or CaseRow(case.name, result.category, ended_at=result.ended_at)
        self._poll(replace(row, standing=case.settled_as, over=False))

    def _over(self, race: Race) -> None:
        """Follow a race that does not count. An edit can bring it back, or undo "do not record"."""
        case, row = self.case, self.case.row
        self._forget_candidate()
        was_over, case._was_over = case._was_over, True
        if race.recorded:
            case._read_at = case._certain_at = None
            case.is_recorded = True
        if case.is_settled:
            if not race.recorded:  # a recorded race stays rated, even if its goal no longer counts
                self._without_record(race)
        elif not (was_over or (row is not None and row.over)) and (case.is_watched or row is not None):
            if not case.is_quiet:
                self.effects.append(Act.WITHDRAW)
            ended_at = self._return_possible_since(race)
            if ended_at is None and not case.is_quiet:
                case.row = None
            else:  # chat stays open for an hour, even if the race cannot come back
                row = row or CaseRow(case.name, race.category)
                self._poll(replace(row, ended_at=row.ended_at or ended_at or self.now.site, over=True))

    def _going_on(self, race: Race) -> None:
        """Follow a race without a final result: before its finish, or after a finish was taken back."""
        case = self.case
        case._was_over = False
        if case._candidate is not None:
            self._forget_candidate()
            self.effects.append(Act.TAKE_BACK)
        if not case.is_watched or case.is_settled:
            return
        if case.row is None and race.result is None:
            case.row = CaseRow(case.name, race.category)  # so that a restart rejoins the room
        elif race.result is not None and not race.result.hidden:
            self._await_record(race.result)

    def _finished(self, result: RaceResult) -> None:
        case = self.case
        case._was_over = False
        self._await_record(result)
        if case.is_watched:
            self._offer(result)
        else:
            self._announce(result)

    def _offer(self, result: RaceResult) -> None:
        """Announce a result in its room once it has not changed for the quiet time."""
        if self.case.is_watched and not self.case.holds(result):
            self.case._stands_at = self.now.seconds + self.case.settings.quiet_seconds
        self.case._candidate = result

    def _await_record(self, result: RaceResult) -> None:
        row = self.case.row or CaseRow(self.case.name, result.category)
        if row.next_look is None or row.over:
            row = replace(row, over=False, unrecorded_since=None)
            self._poll(replace(row, ended_at=row.ended_at or result.ended_at))

    def _without_record(self, race: Race) -> None:
        """Undo a settled race once its record has been missing for long enough."""
        case, now = self.case, self.now.site
        ended_at = race.ended_at or (race.result.ended_at if race.result else now)
        row = case.row or CaseRow(case.name, race.category, ended_at=ended_at)
        since = row.unrecorded_since or now
        case.row = replace(row, unrecorded_since=since)
        if now - since > events.UNDO_AFTER:
            self.effects.append(Act.UNDO_SETTLING)
            case.row, case.is_settled, case.settled_as = None, False, None

    # Other events

    def _on_tick(self) -> None:
        case, now = self.case, self.now.seconds
        if case._read_at is not None and now >= case._read_at:
            case._last_read = now
            # Keep reading until one read is late enough to bypass the cache.
            unsure = case._certain_at is not None and now < case._certain_at
            case._read_at = max(case._certain_at or now, now + READ_PAUSE) if unsure else None
            self.effects.append(Act.READ)
        if case._stands_at is None or case._candidate is None or now < case._stands_at:
            return
        if not case.is_unsure or now >= case._doubted_at + LONGEST_DOUBT:
            case._stands_at = None
            self._announce(case._candidate)

    def _announce(self, result: RaceResult) -> None:
        if self.case.speaks and not self.case.is_quiet:
            is_late = self.now.site - result.ended_at > events.ANNOUNCE_WITHIN
            self.effects.append(events.Announce(result, is_late))

    def _on_quiet_order(self, quiet: bool, given_at: datetime) -> None:
        case, shown = self.case, self.case.shown
        if shown is None:
            return
        case.row = replace(case.row or CaseRow(case.name, shown.category), quiet=quiet, ordered_at=given_at)
        if quiet:
            self.effects.append(Act.KEEP_QUIET)
        elif case._candidate is not None and case._stands_at is None:
            self._announce(case._candidate)

    def _on_looked(self) -> None:
        row = self.case.row
        if row is None or row.next_look is None or row.ended_at is None:
            return
        age, shown = self.now.site - row.ended_at, self.case.shown
        is_done = shown is not None and shown.over and not self._return_possible_since(shown)
        if age > events.EXPIRE_AFTER:
            self.effects.append(events.GiveUp(f"not recorded within {events.EXPIRE_AFTER.days} days"))
            self.case.row = None
        elif row.over and age > events.STAY_AFTER_OVER and is_done:
            self.case.row = None  # it was kept for the order to be quiet
        else:
            self._poll(replace(row, misses=0))

    def _on_missing(self) -> None:
        row, now = self.case.row, self.now.site
        if row is None or row.ended_at is None or now - row.ended_at >= events.GIVE_UP_AFTER:
            self.effects.append(events.GiveUp("the site has no such race any more"))
            self.case.row = None
        else:
            self.case.row = replace(row, misses=row.misses + 1, next_look=now + events.miss_pause(row.misses))

    def _return_possible_since(self, race: Race) -> datetime | None:
        """Return when a race ended if an edit can still make it count, otherwise None."""
        can_count = not race.custom_goal or self.rating.needs_no_record(race)
        if not can_count or race.status == "partitioned":
            return None
        return race.result.ended_at if race.result else race.ended_at

    def _poll(self, row: CaseRow) -> None:
        """Schedule the next look at an ended race. Older races are polled less often."""
        now = self.now.site
        pause = events.poll_pause(now - (row.ended_at or now), is_over=row.over)
        due = self.case._due
        is_due = row.standing is not None and due is not None and now < due < now + pause
        self.case.row = replace(row, next_look=due if is_due else now + pause)

    def _is_outdated(self, race: Race) -> bool:
        return race.version is not None and race.version < self.case._version and not race.recorded

    def _read_soon(self) -> None:
        if not self.case.is_recorded:
            self._read_at(max(self.now.seconds + READ_AFTER, self.case._last_read + READ_PAUSE))

    def _read_at(self, at: float) -> None:
        planned = self.case._read_at
        self.case._read_at = at if planned is None else min(planned, at)

    def _forget_candidate(self) -> None:
        self.case._candidate = self.case._stands_at = None


def _facts(race: Race) -> tuple[str, bool, str | None]:
    return race.status, race.recordable, race.result.fingerprint() if race.result else None
