"""The rules of a race, and the messages and frames that each action causes."""

from __future__ import annotations

from datetime import datetime, timedelta

from racebot.sandbox.chat_room import ChatRoom
from racebot.sandbox.race_state import FakeEntrant, RacerStatus, RaceStatus, RuleError, Team, User
from racebot.sandbox.text import ordinal, slugify, timer

UNDONE_WINDOW = timedelta(minutes=10)
"""How long a racer can undo a finish."""

_RESULT_WORDS = {RacerStatus.DONE: "Done", RacerStatus.DNF: "DNF", RacerStatus.DQ: "DQ"}


class FakeRoom(ChatRoom):
    """One race and its chat. Methods that break a rule of the site raise `RuleError`."""

    def entrant(self, user: User | str) -> FakeEntrant:
        """Return the entrant for a user, given as an object, an id or a name."""
        user = self.site.user(user)
        for entrant in self.entrants:
            if entrant.user is user:
                return entrant
        raise RuleError(f"{user.name} is not in {self.name}")

    def enter(self, user: User | str, team: str | None = None) -> FakeEntrant:
        user = self.site.user(user)
        self._require(self.status is RaceStatus.OPEN, "the race is closed to new entrants")
        self._require(all(e.user is not user for e in self.entrants), f"{user.name} is in the race already")
        self._require(self.team_race == (team is not None), "teams belong in team races, and only there")
        entrant = FakeEntrant(
            user=user,
            number=len(self.entrants),
            status=RacerStatus.NOT_READY,
            team=None if team is None else self._team(team),
        )
        self.entrants.append(entrant)
        self._say(f"{self.entrant_name(entrant)} joins the race.")
        self._publish()
        return entrant

    def ready(self, user: User | str) -> None:
        entrant = self._entrant_who(user, RacerStatus.NOT_READY)
        entrant.status = RacerStatus.READY
        waiting = sum(e.status is RacerStatus.NOT_READY for e in self.entrants)
        self._say(f"{self.entrant_name(entrant)} is ready! ({waiting} remaining)")
        self._publish()

    def count_down(self) -> None:
        """Start the countdown: the race becomes pending."""
        self._require(self.status is RaceStatus.OPEN, "the race is not open")
        self._require(bool(self.entrants), "the race has no entrants")
        self.status = RaceStatus.PENDING
        self._say("Everyone is ready. The race begins shortly!", highlight=True)
        self._publish()

    def start(self, *, ago: timedelta = timedelta(0)) -> None:
        """Start the race, backdated by `ago`."""
        self._require(not self.status.over and not self.started, "the race cannot begin")
        self._require(bool(self.entrants), "the race has no entrants")
        self.status = RaceStatus.IN_PROGRESS
        self.started_at = self.site.clock() - ago
        for entrant in self.entrants:
            entrant.status = RacerStatus.IN_PROGRESS
        self._say("The race has begun! Good luck and have fun.", highlight=True)
        self._publish()

    def finish(self, user: User | str, time: timedelta | None = None) -> None:
        """Finish an entrant with the given time, or by the clock. The last finish ends the race."""
        entrant = self._entrant_who(user, RacerStatus.IN_PROGRESS)
        now = self.site.clock()
        entrant.status = RacerStatus.DONE
        entrant.finish_time = self._elapsed(now) if time is None else time
        entrant.finished_at = now
        self.set_places()
        self._say(
            f"{self.entrant_name(entrant)} has ##good##finished## in {ordinal(entrant.place)} place"
            f" with a time of {timer(entrant.finish_time)}!"
        )
        self._publish(bumps=2)
        self._end_if_all_are_out()

    def forfeit(self, user: User | str) -> None:
        """Forfeit an entrant. If all entrants forfeit, the race is cancelled."""
        entrant = self._entrant_who(user, RacerStatus.IN_PROGRESS)
        entrant.status = RacerStatus.DNF
        self._say(f"{self.entrant_name(entrant)} has ##bad##forfeited## from the race.")
        self._publish()
        self._end_if_all_are_out()

    def undone(self, user: User | str) -> None:
        """Undo an entrant's finish, which restarts a finished race."""
        entrant = self._entrant_who(user, RacerStatus.DONE)
        self._require_changeable()
        since = self.site.clock() - (entrant.finished_at or self.site.clock())
        self._require(since <= UNDONE_WINDOW, "a finish can only be undone for ten minutes")
        self._back_into_the_race(entrant, "is no longer done.")

    def unforfeit(self, user: User | str) -> None:
        """Undo an entrant's forfeit, which restarts a finished race."""
        entrant = self._entrant_who(user, RacerStatus.DNF)
        self._require_changeable()
        self._back_into_the_race(entrant, "is back in the race.")

    def cancel(self) -> None:
        self._require(not self.status.over, "the race is over")
        self._cancel("This race has been cancelled.", ended=self.started)

    def disqualify(self, user: User | str, by: User | str | None = None) -> None:
        """Disqualify an entrant but keep the finish time. The others move up unseen, after the frame."""
        moderator = self._moderator(by)
        entrant = self._entrant_who(
            user, RacerStatus.IN_PROGRESS, RacerStatus.DONE, RacerStatus.DNF, RacerStatus.READY
        )
        self._require_changeable()
        entrant.status = RacerStatus.DQ
        entrant.place = None
        self._say(
            f"{self.entrant_name(entrant)} has been disqualified from the race by {moderator.full_name}."
        )
        self._publish()
        self.set_places()
        self.version += 1
        self._end_if_all_are_out()

    def edit_result(
        self,
        user: User | str,
        status: RacerStatus | None = None,
        time: timedelta | None = None,
        *,
        by: User | str | None = None,
    ) -> None:
        """Edit a result after the race ended, as the site does: announce it, show the old data, then save.

        Nothing is broadcast after the save, so listeners keep the old data until the next event. The race
        becomes finished if it has a finisher, and cancelled otherwise.
        """
        moderator = self._moderator(by)
        entrant = self.entrant(user)
        self._require(self.started and self.status.over, "only the result of a race that ended can be edited")
        self._require(not self.recorded, "the race is recorded")
        status = entrant.status if status is None else status
        self._require(status.final, f"{status} is not a result")
        time = entrant.finish_time if time is None else time
        self._require(status is not RacerStatus.DONE or time is not None, "a finisher needs a finish time")
        name = self.entrant_name(entrant)
        if status is not entrant.status:
            self._say(f"{moderator.full_name} changed {name} result to {_RESULT_WORDS[status]}")
            self._send(*self.frames())
        if time is not None and time != entrant.finish_time:
            self._say(f"{moderator.full_name} changed finish time for {name} to {timer(time)}")
            self._send(*self.frames())
        entrant.status = status
        entrant.finish_time = None if status is RacerStatus.DNF else time
        entrant.finished_at = None
        if self.started_at is not None and entrant.finish_time is not None:
            entrant.finished_at = self.started_at + entrant.finish_time
        self.set_places()
        has_finisher = any(e.status is RacerStatus.DONE for e in self.entrants)
        self.status = RaceStatus.FINISHED if has_finisher else RaceStatus.CANCELLED
        self.cancelled_at = None if has_finisher else self.ended_at
        self.recordable = has_finisher and not self.custom_goal
        self.version += 2

    def hold(self, by: User | str | None = None) -> None:
        """Put the result on hold. No field of the race shows this."""
        moderator = self._moderator(by)
        self._require_recordable()
        self._say(f"Race result put on hold by {moderator.full_name}")
        self._publish()

    def record(self, by: User | str | None = None) -> None:
        """Record the result, which closes chat."""
        moderator = self._moderator(by)
        self._require_recordable()
        self._require(not any(e.user.deleted for e in self.entrants), "an entrant's account is deleted")
        self.recorded = True
        self.recorded_by = moderator
        self._say(f"Race result recorded by {moderator.full_name}")
        self._publish()

    def unrecord(self) -> None:
        """Undo `record`, as the site's administrators can. Chat is open again."""
        self._require(self.recorded, "the race is not recorded")
        self.recorded = False
        self.recorded_by = None
        self._say("Race result unrecorded")
        self._publish()

    def do_not_record(self, by: User | str | None = None) -> None:
        moderator = self._moderator(by)
        self._require_recordable()
        self.recordable = False
        self._say(f"Race set to not recorded by {moderator.full_name}")
        self._publish()

    def _require_changeable(self) -> None:
        self._require(self.started, "the race has not begun")
        self._require(not self.recorded, "the race is recorded")
        self._require(self.status is not RaceStatus.CANCELLED, "the race is cancelled")

    def _require_recordable(self) -> None:
        self._require(self.status is RaceStatus.FINISHED, "the race is not finished")
        self._require(self.recordable, "the race is set to not recorded")
        self._require(not self.recorded, "the race is recorded already")

    def _entrant_who(self, user: User | str, *standings: RacerStatus) -> FakeEntrant:
        entrant = self.entrant(user)
        self._require(entrant.status in standings, f"{entrant.user.name} is {entrant.status}")
        return entrant

    def _moderator(self, by: User | str | None) -> User:
        moderator = self.site.moderator if by is None else self.site.user(by)
        self._require(self.category.may_moderate(moderator), f"{moderator.name} is no moderator")
        return moderator

    def _elapsed(self, now: datetime) -> timedelta:
        return timedelta(0) if self.started_at is None else now - self.started_at

    def set_places(self) -> None:
        done = [e for e in self.entrants if e.status is RacerStatus.DONE and e.finish_time is not None]
        done.sort(key=lambda e: (e.finish_time, e.number))
        for entrant in self.entrants:
            entrant.place = done.index(entrant) + 1 if entrant in done else None

    def _end_if_all_are_out(self) -> None:
        if self.status is not RaceStatus.IN_PROGRESS or not all(e.status.final for e in self.entrants):
            return
        if not any(e.status is RacerStatus.DONE for e in self.entrants):
            self._cancel("This race has been cancelled due to all entrants forfeiting.", ended=True)
            return
        self.status = RaceStatus.FINISHED
        self.ended_at = self.site.clock()
        self.hide_entrants = False
        self._say(f"Race finished in {timer(self._elapsed(self.ended_at))}", highlight=True)
        self._publish()

    def _cancel(self, reason: str, *, ended: bool) -> None:
        self.status = RaceStatus.CANCELLED
        self.cancelled_at = self.site.clock()
        self.ended_at = self.cancelled_at if ended else None
        self.recordable = False
        self.hide_entrants = False
        self._say(reason, highlight=True)
        self._publish()

    def _back_into_the_race(self, entrant: FakeEntrant, words: str) -> None:
        entrant.status = RacerStatus.READY if self.status is RaceStatus.FINISHED else RacerStatus.IN_PROGRESS
        entrant.finish_time = entrant.finished_at = entrant.place = None
        self._say(f"{self.entrant_name(entrant)} {words}")
        self._publish()
        self.set_places()
        if self.status is RaceStatus.FINISHED:
            self.status = RaceStatus.IN_PROGRESS
            self.ended_at = None
            self.recordable = not self.custom_goal
            entrant.status = RacerStatus.IN_PROGRESS
            self._say("Race timer restarted.", highlight=True)
            self._publish()

    def _team(self, name: str) -> Team:
        for entrant in self.entrants:
            if entrant.team is not None and entrant.team.name == name:
                return entrant.team
        return Team(name, f"{slugify(name) or 'team'}-{self.site.rng.randrange(10_000):04d}")
