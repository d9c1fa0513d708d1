"""A race room: the life of one race, and its chat.

Pure state. Whoever listens (`Room.listen`) is handed every frame that the site would send, in order and
as a value of its own, so that a later change does not alter a frame already sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from racebot.errors import RacebotError
from racebot.sandbox import render, scores
from racebot.sandbox.people import Bot, Team, User
from racebot.sandbox.text import ordinal, plain, timer
from racebot.sandbox.words import ALIASES

if TYPE_CHECKING:
    from racebot.sandbox.site import Site

Frame = dict[str, Any]
"""One JSON object as it goes over a room's socket."""

UNDONE_WINDOW = timedelta(minutes=10)
"""How long a finish can be taken back by the racer."""

CHAT_AFTER_END = timedelta(hours=1)
"""How long chat stays open in a race that is cancelled or not to be recorded."""

META_LIMIT = 2048
"""Bytes of JSON that `bot_meta` may take."""


class RuleError(RacebotError):
    """What was asked is against the site's rules; the text says which."""


class RaceStatus(StrEnum):
    OPEN = "open"
    INVITATIONAL = "invitational"
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    FINISHED = "finished"
    CANCELLED = "cancelled"

    @property
    def over(self) -> bool:
        return self in (RaceStatus.FINISHED, RaceStatus.CANCELLED)


class Standing(StrEnum):
    """An entrant's status in a race."""

    REQUESTED = "requested"
    INVITED = "invited"
    NOT_READY = "not_ready"
    READY = "ready"
    IN_PROGRESS = "in_progress"
    DONE = "done"
    DNF = "dnf"
    DQ = "dq"

    @property
    def final(self) -> bool:
        return self in (Standing.DONE, Standing.DNF, Standing.DQ)


_RESULT_WORDS = {Standing.DONE: "Done", Standing.DNF: "DNF", Standing.DQ: "DQ"}


@dataclass(eq=False, slots=True)
class Entrant:
    """One user in one race. `number` is the order of joining."""

    user: User
    number: int
    standing: Standing
    team: Team | None = None
    alias: str = ""
    score: int | None = None
    score_change: int | None = None
    finish_time: timedelta | None = None
    finished_at: datetime | None = None
    place: int | None = None


@dataclass(eq=False, slots=True)
class Message:
    """One line of chat; by a user, by a bot, or by the site itself where neither is set."""

    id: str
    posted_at: datetime
    text: str
    user: User | None = None
    bot: Bot | None = None
    direct_to: User | None = None
    highlight: bool = False
    pinned: bool = False
    monitor: bool | None = None
    actions: dict[str, Any] = field(default_factory=dict)

    @property
    def is_system(self) -> bool:
        return self.monitor is None and self.bot is None

    @property
    def plain(self) -> str:
        return plain(self.text) if self.is_system else self.text


class Room:
    """One race and its chat. Methods that break a rule of the site raise `RuleError`."""

    def __init__(
        self,
        site: Site,
        slug: str,
        goal: str,
        opened_by: User | None,
        *,
        custom_goal: bool = False,
        invitational: bool = False,
        unlisted: bool = False,
        hide_entrants: bool = False,
        team_race: bool = False,
    ) -> None:
        self.site = site
        self.slug = slug
        self.goal = goal
        self.custom_goal = custom_goal
        self.opened_by = opened_by
        self.unlisted = unlisted
        self.hide_entrants = hide_entrants
        self.team_race = team_race
        self.status = RaceStatus.INVITATIONAL if invitational else RaceStatus.OPEN
        self.version = 1
        self.entrants: list[Entrant] = []
        self.monitors: list[User] = []
        self.opened_at = site.clock()
        self.started_at: datetime | None = None
        self.ended_at: datetime | None = None
        self.cancelled_at: datetime | None = None
        self.recordable = not custom_goal
        self.recorded = False
        self.recorded_by: User | None = None
        self.held = False
        self.info_bot: str | None = None
        self.info_user: str | None = None
        self.bot_meta: dict[str, Any] = {}
        self.chat: list[Message] = []
        self.notes: list[Message] = []
        """Private messages; no part of the chat that everybody reads."""
        self.refused: list[str] = []
        """Why bots' actions were refused, one text for each."""
        self._listeners: list[Callable[[Frame], None]] = []

    # ── who is in it ──

    @property
    def name(self) -> str:
        return f"{self.site.category.slug}/{self.slug}"

    @property
    def info(self) -> str:
        return " | ".join(part for part in (self.info_user, self.info_bot) if part)

    @property
    def counted(self) -> list[Entrant]:
        """Entrants who have been let in."""
        return [e for e in self.entrants if e.standing not in (Standing.REQUESTED, Standing.INVITED)]

    def entrant(self, user: User | str) -> Entrant:
        """The entrant who is this user, given also as an id or a name."""
        user = self.site.user(user)
        for entrant in self.entrants:
            if entrant.user is user:
                return entrant
        raise RuleError(f"{user.name} is not in {self.name}")

    def entrant_name(self, entrant: Entrant) -> str:
        """How the site calls an entrant in its own messages."""
        return entrant.alias if self.hide_entrants else entrant.user.full_name

    def enter(self, user: User | str, team: str | None = None) -> Entrant:
        """A user joins; in an invitational race this asks for an invitation."""
        user = self.site.user(user)
        self._require(
            self.status in (RaceStatus.OPEN, RaceStatus.INVITATIONAL), "the race takes no more entrants"
        )
        self._require(all(e.user is not user for e in self.entrants), f"{user.name} is in the race already")
        self._require(self.team_race == (team is not None), "a team race, and no other, needs a team")
        entrant = Entrant(
            user=user,
            number=len(self.entrants),
            standing=Standing.REQUESTED if self.status is RaceStatus.INVITATIONAL else Standing.NOT_READY,
            team=None if team is None else self._team(team),
            alias=self._alias(),
            score=None if self.custom_goal else self.site.scores.get((self.goal, user.id)),
        )
        self.entrants.append(entrant)
        if entrant.standing is Standing.REQUESTED:
            self._say(f"{self.entrant_name(entrant)} requests to join the race.")
        else:
            self._say(f"{self.entrant_name(entrant)} joins the race.")
        self._publish()
        return entrant

    def accept(self, user: User | str) -> None:
        """Let in somebody who asked to join an invitational race."""
        entrant = self._entrant_who(user, Standing.REQUESTED, Standing.INVITED)
        entrant.standing = Standing.NOT_READY
        self._say(f"{self.entrant_name(entrant)} joins the race.")
        self._publish()

    def leave(self, user: User | str) -> None:
        entrant = self.entrant(user)
        self._require(not self.started, "the race has begun")
        self.entrants.remove(entrant)
        self._say(f"{self.entrant_name(entrant)} quits the race.")
        self._publish()

    def ready(self, user: User | str) -> None:
        entrant = self._entrant_who(user, Standing.NOT_READY)
        entrant.standing = Standing.READY
        waiting = sum(e.standing is Standing.NOT_READY for e in self.entrants)
        self._say(f"{self.entrant_name(entrant)} is ready! ({waiting} remaining)")
        self._publish()

    def unready(self, user: User | str) -> None:
        entrant = self._entrant_who(user, Standing.READY)
        entrant.standing = Standing.NOT_READY
        waiting = sum(e.standing is Standing.NOT_READY for e in self.entrants)
        self._say(f"{self.entrant_name(entrant)} is not ready. ({waiting} remaining)")
        self._publish()

    # ── the race ──

    @property
    def started(self) -> bool:
        return self.started_at is not None

    def count_down(self) -> None:
        """Go from open to pending: the seconds before the start."""
        self._require(self.status in (RaceStatus.OPEN, RaceStatus.INVITATIONAL), "the race is not open")
        self._require(bool(self.counted), "the race has no entrants")
        self.status = RaceStatus.PENDING
        self._say("Everyone is ready. The race begins shortly!", highlight=True)
        self._publish()

    def start(self, *, ago: timedelta = timedelta(0)) -> None:
        """Begin, as though it had been `ago`. Nobody need be ready; who only asked to join is removed."""
        self._require(not self.status.over and not self.started, "the race cannot begin")
        self._require(bool(self.counted), "the race has no entrants")
        for entrant in [e for e in self.entrants if e not in self.counted]:
            self._say(f"{self.entrant_name(entrant)} is removed from the race.")
            self._publish(bumps=0)
            self.entrants.remove(entrant)
        self.status = RaceStatus.IN_PROGRESS
        self.started_at = self.site.clock() - ago
        for entrant in self.entrants:
            entrant.standing = Standing.IN_PROGRESS
        self._say("The race has begun! Good luck and have fun.", highlight=True)
        self._publish()

    def finish(self, user: User | str, time: timedelta | None = None) -> None:
        """An entrant is done, by the clock or with the time given; the last one ends the race."""
        entrant = self._entrant_who(user, Standing.IN_PROGRESS)
        now = self.site.clock()
        entrant.standing = Standing.DONE
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
        """An entrant gives up; where everybody does, the race is cancelled."""
        entrant = self._entrant_who(user, Standing.IN_PROGRESS)
        entrant.standing = Standing.DNF
        self._say(f"{self.entrant_name(entrant)} has ##bad##forfeited## from the race.")
        self._publish()
        self._end_if_all_are_out()

    def undone(self, user: User | str) -> None:
        """An entrant takes the finish back, which restarts a finished race."""
        entrant = self._entrant_who(user, Standing.DONE)
        self._require_changeable()
        late = entrant.finished_at is None or self.site.clock() - entrant.finished_at > UNDONE_WINDOW
        self._require(not late, "a finish can be taken back for ten minutes only")
        self._back_into_the_race(entrant, "is no longer done.")

    def unforfeit(self, user: User | str) -> None:
        """An entrant takes the forfeit back, which restarts a finished race."""
        entrant = self._entrant_who(user, Standing.DNF)
        self._require_changeable()
        self._back_into_the_race(entrant, "is back in the race.")

    def cancel(self) -> None:
        self._require(not self.status.over, "the race is over")
        self._cancel("This race has been cancelled.", ended=self.started)

    # ── what a moderator does ──

    def disqualify(self, user: User | str, by: User | str | None = None) -> None:
        """Disqualify an entrant, who keeps the finish time.

        The frame that tells of it still has the old places; only after it do the others move up, untold.
        """
        moderator = self._moderator(by)
        entrant = self._entrant_who(user, Standing.IN_PROGRESS, Standing.DONE, Standing.DNF, Standing.READY)
        self._require_changeable()
        entrant.standing = Standing.DQ
        entrant.place = None
        self._say(
            f"{self.entrant_name(entrant)} has been disqualified from the race by {moderator.full_name}."
        )
        self._publish()
        self.set_places()
        self.version += 1
        self._end_if_all_are_out()

    def undisqualify(self, user: User | str, by: User | str | None = None) -> None:
        """Reinstate a disqualified entrant while the race goes on; the places follow, as in `disqualify`.

        After the finish only `edit_result` can reinstate.
        """
        moderator = self._moderator(by)
        entrant = self._entrant_who(user, Standing.DQ)
        self._require_changeable()
        self._require(self.status is RaceStatus.IN_PROGRESS, "the race is over: edit the result instead")
        entrant.standing = Standing.DNF if entrant.finish_time is None else Standing.DONE
        self._say(f"{self.entrant_name(entrant)} has been reinstated by {moderator.full_name}.")
        self._publish()
        self.set_places()
        self.version += 1

    def edit_time(self, user: User | str, time: timedelta, by: User | str | None = None) -> None:
        """Change the finish time of an entrant who is done, as `edit_result` does."""
        self._entrant_who(user, Standing.DONE)
        self.edit_result(user, time=time, by=by)

    def edit_result(
        self,
        user: User | str,
        status: Standing | None = None,
        time: timedelta | None = None,
        *,
        by: User | str | None = None,
    ) -> None:
        """Edit a result after the race ended, as the site does: announce it, show the old data, then save.

        Nothing is broadcast after the save, so listeners keep the old data until something else happens. The
        race's state is worked out afresh: finished with at least one finisher, cancelled with none.
        """
        moderator = self._moderator(by)
        entrant = self.entrant(user)
        self._require(self.started and self.status.over, "only the result of a race that ended can be edited")
        self._require(not self.recorded, "the race is recorded")
        status = entrant.standing if status is None else status
        self._require(status.final, f"{status} is not a result")
        time = entrant.finish_time if time is None else time
        self._require(status is not Standing.DONE or time is not None, "a finisher needs a finish time")
        name = self.entrant_name(entrant)
        if status is not entrant.standing:
            self._say(f"{moderator.full_name} changed {name} result to {_RESULT_WORDS[status]}")
            self._send(*self.frames())
        if time is not None and time != entrant.finish_time:
            self._say(f"{moderator.full_name} changed finish time for {name} to {timer(time)}")
            self._send(*self.frames())
        entrant.standing = status
        entrant.finish_time = None if status is Standing.DNF else time
        if self.started_at is not None and entrant.finish_time is not None:
            entrant.finished_at = self.started_at + entrant.finish_time
        else:
            entrant.finished_at = None
        self.set_places()
        has_finisher = any(e.standing is Standing.DONE for e in self.entrants)
        self.status = RaceStatus.FINISHED if has_finisher else RaceStatus.CANCELLED
        self.cancelled_at = None if has_finisher else self.ended_at
        self.recordable = has_finisher and not self.custom_goal
        self.version += 2

    def hold(self, by: User | str | None = None) -> None:
        """Put the result on hold: no field of the race shows it, nothing but the record is late."""
        moderator = self._moderator(by)
        self._require_recordable()
        self.held = True
        self._say(f"Race result put on hold by {moderator.full_name}")
        self._publish()

    def record(self, by: User | str | None = None) -> None:
        """Record the result: the site's scores change and chat is closed for good."""
        moderator = self._moderator(by)
        self._require_recordable()
        before = {e.user.id: e.score for e in self.counted}
        outcome = {e.user.id: e.place for e in self.counted}
        for entrant in self.counted:
            entrant.score_change = scores.change(entrant.user.id, before, outcome)
            self.site.scores[self.goal, entrant.user.id] = (entrant.score or 0) + entrant.score_change
        self.held = False
        self.recorded = True
        self.recorded_by = moderator
        self._say(f"Race result recorded by {moderator.full_name}")
        self._publish()

    def do_not_record(self, by: User | str | None = None) -> None:
        moderator = self._moderator(by)
        self._require_recordable()
        self.held = False
        self.recordable = False
        self._say(f"Race set to not recorded by {moderator.full_name}")
        self._publish()

    # ── chat, info and meta ──

    @property
    def chat_open(self) -> bool:
        if self.recorded:
            return False
        end = self.cancelled_at or self.ended_at
        if not self.status.over or end is None:
            return True
        if self.status is RaceStatus.FINISHED and self.recordable:
            return True
        return self.site.clock() - end < CHAT_AFTER_END

    def say(self, user: User | str, text: str) -> Message:
        """A user writes in chat."""
        user = self.site.user(user)
        self._require(self.chat_open, "chat is closed")
        self._require(0 < len(text) <= 1000, "a message has 1 to 1,000 characters")
        monitor = self.site.category.may_moderate(user) or user in self.monitors
        return self._post(Message(self.site.new_id(), self.site.clock(), text, user=user, monitor=monitor))

    def say_as_bot(
        self,
        bot: Bot,
        text: str,
        *,
        pinned: bool = False,
        direct_to: User | None = None,
        actions: Mapping[str, Any] | None = None,
    ) -> Message:
        """A bot writes in chat, or to one user alone."""
        message = Message(
            self.site.new_id(),
            self.site.clock(),
            text,
            bot=bot,
            direct_to=direct_to,
            pinned=pinned,
            actions=dict(actions or {}),
        )
        if direct_to is None:
            return self._post(message)
        self.notes.append(message)
        self._send(render.note_frame(message, self.site.clock()))
        return message

    def set_info(self, bot: Bot, info: str) -> None:
        """A bot writes the category's one `info_bot` field, over whatever stood there."""
        self.info_bot = info
        self._say(f"##bot##{bot.name}## updated the race information.")
        self._publish()

    def merge_meta(self, meta: Mapping[str, Any]) -> bool:
        """Merge into `bot_meta`; False, and nothing changed, if it would grow too large.

        The version goes up but nobody in the room is told.
        """
        merged = {**self.bot_meta, **meta}
        if len(json.dumps(merged).encode()) > META_LIMIT:
            return False
        self.bot_meta = merged
        self.version += 1
        return True

    def history(self) -> Frame:
        """The answer to `gethistory`: the last 100 messages, pinned ones at the end."""
        recent = sorted(self.chat[-100:], key=lambda message: message.pinned)
        messages = [render.message(self, message) for message in recent]
        return render.frame("chat.history", self.site.clock(), messages=messages)

    # ── frames ──

    @property
    def listeners(self) -> int:
        """How many connections follow the room."""
        return len(self._listeners)

    def listen(self, listener: Callable[[Frame], None]) -> Callable[[], None]:
        """Hand every frame from now on to `listener`; the answer ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def frames(self) -> Sequence[Frame]:
        """The race as it stands, in the two frames that tell of it."""
        return render.race_frames(self, self.site.clock())

    def _send(self, *frames: Frame) -> None:
        for listener in list(self._listeners):
            for frame in frames:
                listener(frame)

    def _publish(self, *, bumps: int = 1) -> None:
        self.version += bumps
        self._send(*self.frames())

    def _say(self, text: str, *, highlight: bool = False) -> None:
        self._post(Message(self.site.new_id(), self.site.clock(), text, highlight=highlight))

    def _post(self, message: Message) -> Message:
        self.chat.append(message)
        self._send(render.chat_frame(self, message, self.site.clock()))
        return message

    # ── rules ──

    def _require(self, condition: bool, otherwise: str) -> None:
        if not condition:
            raise RuleError(f"{self.name}: {otherwise}")

    def _require_changeable(self) -> None:
        self._require(self.started, "the race has not begun")
        self._require(not self.recorded, "the race is recorded")
        self._require(self.status is not RaceStatus.CANCELLED, "the race is cancelled")

    def _require_recordable(self) -> None:
        self._require(self.status is RaceStatus.FINISHED, "the race is not finished")
        self._require(self.recordable, "the race is not to be recorded")
        self._require(not self.recorded, "the race is recorded already")

    def _entrant_who(self, user: User | str, *standings: Standing) -> Entrant:
        entrant = self.entrant(user)
        self._require(entrant.standing in standings, f"{entrant.user.name} is {entrant.standing}")
        return entrant

    def _moderator(self, by: User | str | None) -> User:
        moderator = self.site.moderator if by is None else self.site.user(by)
        self._require(self.site.category.may_moderate(moderator), f"{moderator.name} is no moderator")
        return moderator

    def _elapsed(self, now: datetime) -> timedelta:
        return timedelta(0) if self.started_at is None else now - self.started_at

    def set_places(self) -> None:
        done = [e for e in self.entrants if e.standing is Standing.DONE and e.finish_time is not None]
        done.sort(key=lambda e: (e.finish_time, e.number))
        for entrant in self.entrants:
            entrant.place = done.index(entrant) + 1 if entrant in done else None

    def _end_if_all_are_out(self) -> None:
        if self.status is not RaceStatus.IN_PROGRESS or not all(e.standing.final for e in self.entrants):
            return
        if not any(e.standing is Standing.DONE for e in self.entrants):
            self._cancel("This race has been cancelled due to all entrants forfeiting.", ended=True)
            return
        self.status = RaceStatus.FINISHED
        self.ended_at = self.site.clock()
        self.hide_entrants = False
        self._say(f"Race finished in {timer(self._elapsed(self.ended_at), tenths=True)}", highlight=True)
        self._publish()

    def _cancel(self, reason: str, *, ended: bool) -> None:
        self.status = RaceStatus.CANCELLED
        self.cancelled_at = self.site.clock()
        self.ended_at = self.cancelled_at if ended else None
        self.recordable = False
        self.hide_entrants = False
        for entrant in self.entrants:
            entrant.score = None
        self._say(reason, highlight=True)
        self._publish()

    def _back_into_the_race(self, entrant: Entrant, words: str) -> None:
        entrant.standing = Standing.READY if self.status is RaceStatus.FINISHED else Standing.IN_PROGRESS
        entrant.finish_time = entrant.finished_at = entrant.place = None
        self._say(f"{self.entrant_name(entrant)} {words}")
        self._publish()
        self.set_places()
        if self.status is RaceStatus.FINISHED:
            self.status = RaceStatus.IN_PROGRESS
            self.ended_at = None
            self.recordable = not self.custom_goal
            entrant.standing = Standing.IN_PROGRESS
            self._say("Race timer restarted.", highlight=True)
            self._publish()

    def _team(self, name: str) -> Team:
        for entrant in self.entrants:
            if entrant.team is not None and entrant.team.name == name:
                return entrant.team
        return self.site.new_team(name)

    def _alias(self) -> str:
        taken = {entrant.alias for entrant in self.entrants}
        free = [alias for alias in ALIASES if alias not in taken]
        return self.site.rng.choice(free) if free else f"Somebody {len(taken)}"
