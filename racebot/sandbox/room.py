"""The rules of a race, and the messages and frames that each action causes."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from racebot.sandbox import render
from racebot.sandbox.race_state import (
    Accounts,
    Bot,
    ChatLine,
    FakeEntrant,
    RacerStatus,
    RaceState,
    RaceStatus,
    RuleError,
    Team,
    User,
)
from racebot.text.format import ordinal, timer
from racebot.text.parse import slug_of

Frame = dict[str, Any]
"""A JSON object sent over a room's socket."""

CHAT_AFTER_END = timedelta(hours=1)
"""How long chat stays open after a race is cancelled or set to not recorded."""
META_LIMIT = 2048  # size limit of `bot_meta`, in bytes of JSON


@dataclass(eq=False, kw_only=True)
class ChatRoom(RaceState):
    """A race with its chat. Listeners get frames that later changes do not affect."""

    site: Accounts

    @property
    def chat_open(self) -> bool:
        if self.recorded:
            return False
        end = self.cancelled_at or self.ended_at
        awaits_record = self.status is RaceStatus.FINISHED and self.recordable
        return awaits_record or end is None or self.site.clock() - end < CHAT_AFTER_END

    def say(self, user: User | str, text: str) -> ChatLine:
        user = self.site.user(user)
        self._require(self.chat_open, "chat is closed")
        self._require(0 < len(text) <= 1000, "a message has 1 to 1,000 characters")
        return self._post(text, user=user, monitor=self._may_monitor(user) or user in self.monitors)

    def _may_monitor(self, user: User) -> bool:
        return self.category.may_moderate(user) or user is self.opened_by

    def say_as_bot(self, bot: Bot, text: str, *, direct_to: User | None = None, **options: Any) -> ChatLine:
        """Post a bot's chat line, or send it privately to one user. `options` are `pinned` and `actions`."""
        if direct_to is None:
            return self._post(text, bot=bot, **options)
        note = self._line(text, bot=bot, direct_to=direct_to, **options)
        self.notes.append(note)
        to = {name: getattr(direct_to, name) for name in ("id", "full_name", "name", "discriminator")}
        # The frame has neither the text nor the buttons.
        about = {"message": note.id, "from_user": None, "from_bot": bot.name, "to": to}
        self._send(render.frame("chat.dm", self.site.clock(), **about))
        return note

    def pin(self, message_id: object, *, pinned: bool) -> bool:
        """Pin or unpin a line of chat. Return whether there is one with this id."""
        for line in self.chat:
            if line.id == message_id:
                if line.pinned is not pinned:
                    line.pinned = pinned
                    self._show("chat.pin" if pinned else "chat.unpin", line)
                return True
        return False

    def set_info(self, bot: Bot, info: str) -> None:
        """Replace the `info_bot` field, which all bots of the category share."""
        self.info_bot = info
        self._tell(f"##bot##{bot.name}## updated the race information.")

    def merge_meta(self, meta: Mapping[str, Any]) -> bool:
        """Merge keys into `bot_meta`, unseen. If it would grow too large, change nothing and return False."""
        merged = {**self.bot_meta, **meta}
        if len(json.dumps(merged).encode()) > META_LIMIT:
            return False
        self.bot_meta = merged
        self.version += 1
        return True

    def history(self) -> Frame:
        """Return the answer to `gethistory`: the last 100 messages and all pinned ones, those last."""
        shown = [line for line in self.chat[:-100] if line.pinned] + self.chat[-100:]
        messages = [render.message(self, line) for line in sorted(shown, key=lambda line: line.pinned)]
        return render.frame("chat.history", self.site.clock(), messages=messages)

    def listen(self, listener: Callable[[Frame], None]) -> Callable[[], None]:
        """Call `listener` with every frame from now on. Return a function that stops this."""
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def frames(self) -> Sequence[Frame]:
        """Return the two frames that the site sends after each change. The second has no markup here."""
        now = self.site.clock()
        renders = {"entrants": "", "intro": "", "status": "", "streams": ""}
        return (
            render.frame("race.data", now, race=render.race(self), version=self.version),
            render.frame("race.renders", now, renders=renders, version=self.version),
        )

    def _send(self, *frames: Frame) -> None:
        for listener in list(self.listeners):
            for frame in frames:
                listener(frame)

    def _tell(self, text: str, *, bumps: int = 1, highlight: bool = False) -> None:
        """Announce a change in chat, and show the race as it is then."""
        self._post(text, highlight=highlight)
        self.version += bumps
        self._send(*self.frames())

    def _line(self, text: str, **about: Any) -> ChatLine:
        return ChatLine(self.site.new_id(), self.site.clock(), text, **about)

    def _post(self, text: str, **about: Any) -> ChatLine:
        line = self._line(text, **about)
        self.chat.append(line)
        self._show("chat.message", line)
        return line

    def _show(self, kind: str, line: ChatLine) -> None:
        self._send(render.frame(kind, self.site.clock(), message=render.message(self, line)))

    def _require(self, condition: bool, otherwise: str) -> None:
        if not condition:
            raise RuleError(f"{self.name}: {otherwise}")


UNDONE_WINDOW = timedelta(minutes=10)  # how long a racer can undo a finish

_RESULT_WORDS = {RacerStatus.DONE: "Done", RacerStatus.DNF: "DNF", RacerStatus.DQ: "DQ"}


class FakeRoom(ChatRoom):
    """One race and its chat. Methods that break a rule of the site raise `RuleError`."""

    def entrant(self, user: User | str) -> FakeEntrant:
        """Return the entrant for a user, given as an object, an id or a name."""
        user = self.site.user(user)
        if found := next((entrant for entrant in self.entrants if entrant.user is user), None):
            return found
        raise RuleError(f"{user.name} is not in {self.name}")

    def enter(self, user: User | str, team: str | None = None) -> FakeEntrant:
        user = self.site.user(user)
        self._require(self.status is RaceStatus.OPEN, "the race is closed to new entrants")
        self._require(all(e.user is not user for e in self.entrants), f"{user.name} is in the race already")
        self._require(self.team_race == (team is not None), "teams belong in team races, and only there")
        own = next((e.team for e in self.entrants if e.team and e.team.name == team), None)
        if team is not None and own is None:
            own = Team(team, f"{slug_of(team) or 'team'}-{self.site.rng.randrange(10_000):04d}")
        entrant = FakeEntrant(user, len(self.entrants), RacerStatus.NOT_READY, own)
        self.entrants.append(entrant)
        self._tell(f"{self.entrant_name(entrant)} joins the race.")
        return entrant

    def ready(self, user: User | str) -> None:
        entrant = self._entrant_who(user, RacerStatus.NOT_READY)
        entrant.status = RacerStatus.READY
        waiting = sum(e.status is RacerStatus.NOT_READY for e in self.entrants)
        self._tell(f"{self.entrant_name(entrant)} is ready! ({waiting} remaining)")

    def count_down(self) -> None:
        """Start the countdown: the race becomes pending."""
        self._require(
            self.status is RaceStatus.OPEN and bool(self.entrants), "is not open, or has no entrants"
        )
        self.status = RaceStatus.PENDING
        self._tell("Everyone is ready. The race begins shortly!", highlight=True)

    def start(self, *, ago: timedelta = timedelta(0)) -> None:
        """Start the race, backdated by `ago`."""
        can_begin = not self.status.over and not self.started and bool(self.entrants)
        self._require(can_begin, "has begun or ended, or has no entrants")
        self.status = RaceStatus.IN_PROGRESS
        self.started_at = self.site.clock() - ago
        for entrant in self.entrants:
            entrant.status = RacerStatus.IN_PROGRESS
        self._tell("The race has begun! Good luck and have fun.", highlight=True)

    def finish(self, user: User | str, time: timedelta | None = None) -> None:
        """Finish an entrant with the given time, or by the clock. The last finish ends the race."""
        entrant = self._entrant_who(user, RacerStatus.IN_PROGRESS)
        entrant.finished_at = self.site.clock()
        entrant.status = RacerStatus.DONE
        entrant.finish_time = time = self._elapsed(entrant.finished_at) if time is None else time
        self.set_places()
        place = f"{ordinal(entrant.place or 0)} place with a time of {timer(time.total_seconds())}!"
        self._tell(f"{self.entrant_name(entrant)} has ##good##finished## in {place}", bumps=2)
        self._end_if_all_are_out()

    def forfeit(self, user: User | str) -> None:
        """Forfeit an entrant. If all entrants forfeit, the race is cancelled."""
        entrant = self._entrant_who(user, RacerStatus.IN_PROGRESS)
        entrant.status = RacerStatus.DNF
        self._tell(f"{self.entrant_name(entrant)} has ##bad##forfeited## from the race.")
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

    def add_monitor(self, user: User | str, by: User | str | None = None) -> None:
        """Appoint a monitor, as the opener and moderators can."""
        user, by = self.site.user(user), self.site.user(by or self.site.moderator)
        self._require(self._may_monitor(by), f"{by.name} may not appoint monitors")
        self.monitors.append(user)
        self._tell(f"{by.full_name} promoted {user.full_name} to race monitor.")

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
        self._tell(
            f"{self.entrant_name(entrant)} has been disqualified from the race by {moderator.full_name}."
        )
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
            self._tell(f"{moderator.full_name} changed {name} result to {_RESULT_WORDS[status]}", bumps=0)
        if time is not None and time != entrant.finish_time:
            words = f"{moderator.full_name} changed finish time for {name} to {timer(time.total_seconds())}"
            self._tell(words, bumps=0)
        entrant.status = status
        entrant.finish_time = None if status is RacerStatus.DNF else time
        entrant.finished_at = None
        if self.started_at and entrant.finish_time:
            entrant.finished_at = self.started_at + entrant.finish_time
        self.set_places()
        has_finisher = self._has_finisher()
        self.status = RaceStatus.FINISHED if has_finisher else RaceStatus.CANCELLED
        self.cancelled_at = None if has_finisher else self.ended_at
        self.recordable = has_finisher and not self.custom_goal
        self.version += 2

    def hold(self, by: User | str | None = None) -> None:
        """Put the result on hold. No field of the race shows this."""
        moderator = self._moderator(by)
        self._require_recordable()
        self._tell(f"Race result put on hold by {moderator.full_name}")

    def record(self, by: User | str | None = None) -> None:
        """Record the result, which closes chat."""
        moderator = self._moderator(by)
        self._require_recordable()
        self._require(not any(e.user.deleted for e in self.entrants), "an entrant's account is deleted")
        self.recorded = True
        self.recorded_by = moderator
        self._tell(f"Race result recorded by {moderator.full_name}")

    def unrecord(self) -> None:
        """Undo `record`, as the site's administrators can. Chat is open again."""
        self._require(self.recorded, "the race is not recorded")
        self.recorded = False
        self.recorded_by = None
        self._tell("Race result unrecorded")

    def do_not_record(self, by: User | str | None = None) -> None:
        moderator = self._moderator(by)
        self._require_recordable()
        self.recordable = False
        self._tell(f"Race set to not recorded by {moderator.full_name}")

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

    def _has_finisher(self) -> bool:
        return any(e.status is RacerStatus.DONE for e in self.entrants)

    def _end_if_all_are_out(self) -> None:
        if self.status is not RaceStatus.IN_PROGRESS or not all(e.status.final for e in self.entrants):
            return
        if not self._has_finisher():
            self._cancel("This race has been cancelled due to all entrants forfeiting.", ended=True)
            return
        self.status = RaceStatus.FINISHED
        self.ended_at = self.site.clock()
        self.hide_entrants = False
        self._tell(f"Race finished in {timer(self._elapsed(self.ended_at).total_seconds())}", highlight=True)

    def _cancel(self, reason: str, *, ended: bool) -> None:
        self.status = RaceStatus.CANCELLED
        self.cancelled_at = self.site.clock()
        self.ended_at = self.cancelled_at if ended else None
        self.recordable = False
        self.hide_entrants = False
        self._tell(reason, highlight=True)

    def _back_into_the_race(self, entrant: FakeEntrant, words: str) -> None:
        entrant.status = RacerStatus.READY if self.status is RaceStatus.FINISHED else RacerStatus.IN_PROGRESS
        entrant.finish_time = entrant.finished_at = entrant.place = None
        self._tell(f"{self.entrant_name(entrant)} {words}")
        self.set_places()
        if self.status is RaceStatus.FINISHED:
            self.status = RaceStatus.IN_PROGRESS
            self.ended_at = None
            self.recordable = not self.custom_goal
            entrant.status = RacerStatus.IN_PROGRESS
            self._tell("Race timer restarted.", highlight=True)
