"""The life of each race on the site, drawn from a seed."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from worker_support import PATIENCE

from racebot.sandbox.race_state import FakeEntrant, RacerStatus, RaceStatus, RuleError
from racebot.sandbox.room import FakeRoom

if TYPE_CHECKING:
    from .harness import Run

GOALS = {"Any%": ("Any%", "Together"), "100%": ("100%", "Together"), "Low%": ("Low%",), "Next%": ("Next%",)}
"""Each goal of the site and the leaderboards that its races count on."""


FATES = {
    "record": 46,
    "late": 12,
    "never": 7,
    "do not record": 6,
    "cancel": 4,
    "give up": 3,
    "go on": 3,
    "alter": 5,
    "come back": 5,
    "undo": 5,
    "delete before": 2,
    "delete after": 2,
}
"""How a race ends, and how often of a hundred."""


class Story:
    """One race, over one or more acts: it is raced in the first, and its fate is sealed in the last.

    The seed and the race's number decide everything that happens. The last act has only late records.
    """

    def __init__(self, run: Run, number: int) -> None:
        self._run, self._site, acts = run, run.site, run.plan.acts
        self._rng = random.Random(f"{run.plan.seed} {number}")
        self._slug = f"faulty-race-{number:04d}"
        self.room: FakeRoom | None = None
        length = self._rng.choice((1, 2, 2, 2, 3, 3))
        self.first = self._rng.randrange(max(1, acts - length))
        self.last = min(self.first + length - 1, acts - 2)
        self.fate = self._rng.choices(list(FATES), list(FATES.values()))[0]
        if self.fate == "late":
            self.last = acts - 1

    async def perform(self, act: int, seconds: float) -> None:
        """Do this race's part of an act, which takes about this many seconds."""
        if not self.first <= act <= self.last:
            return
        with suppress(RuleError):  # the room was lost in a restart, or it is too late to undo the finish
            await self._pause(seconds * 0.6)
            if act == self.first:
                await self._race(seconds)
            elif self.room is not None and self.room.slug in self._site.rooms:
                await self._edit(self.room, seconds)
            if act == self.last and self.room is not None and self.room.slug in self._site.rooms:
                await self._pause(seconds * 0.2)
                await self._seal(self.room, seconds)

    async def _pause(self, longest: float) -> None:
        await asyncio.sleep(self._rng.uniform(0, longest))

    # ── the race ──

    async def _race(self, seconds: float) -> None:
        rng, little = self._rng, seconds * 0.01
        goal = rng.choice(list(GOALS))
        team_race = rng.random() < 0.08
        kind = rng.choices(("plain", "unlisted", "hidden", "custom"), (76, 10, 10, 4))[0]
        self.room = room = self._site.open_race(
            goal,
            slug=self._slug,
            unlisted=kind == "unlisted",
            hide_entrants=kind == "hidden",
            custom_goal=kind == "custom",
            team_race=team_race,
        )
        self._run.opened(room)
        entrants = rng.sample(self._run.people, rng.randint(2, 12))
        if self.fate.startswith("delete"):
            entrants.append(self._run.guest(f"Guest {self._slug[-4:]}"))
        for index, user in enumerate(entrants):
            room.enter(user, team=f"Team {index // 2}" if team_race else None)
            room.ready(user)
        await self._pause(little)
        if room.unlisted:
            # A race that is over is on no list. Real races last longer than any fault here.
            async with asyncio.timeout(PATIENCE):
                while room.slug in self._site.rooms and room.name not in self._run.database.joined():  # noqa: ASYNC110
                    await asyncio.sleep(0.2)
            if room.slug not in self._site.rooms:
                return
        room.count_down()
        room.start(ago=timedelta(hours=2))
        if self.fate == "cancel":
            await self._pause(seconds * 0.3)
            room.cancel()
            return
        for entrant in rng.sample(room.entrants, len(room.entrants) - (self.fate == "go on")):
            if rng.random() < 0.3:
                await self._pause(little)
            self._leave_race(room, entrant)

    def _leave_race(self, room: FakeRoom, entrant: FakeEntrant) -> None:
        last = sum(e.status is RacerStatus.IN_PROGRESS for e in room.entrants) == 1
        nobody_yet = not any(e.status is RacerStatus.DONE for e in room.entrants)
        way = self._rng.random()
        if self.fate in {"give up", "come back"} or (way < 0.2 and not (last and nobody_yet)):
            room.forfeit(entrant.user)
        elif way < 0.25 and not (last and nobody_yet):
            room.disqualify(entrant.user)
        else:
            room.finish(entrant.user, self._time())

    def _time(self) -> timedelta:
        return timedelta(minutes=60, microseconds=self._rng.randrange(3_000_000_000))

    # ── after the race ──

    async def _edit(self, room: FakeRoom, seconds: float) -> None:
        for _ in range(self._rng.randint(0, 3)):
            if room.status is not RaceStatus.FINISHED or not room.recordable:
                break
            with suppress(RuleError, IndexError):
                await self._edit_once(room, seconds)
            self._run.chronicles[room.name].look()
            await self._pause(seconds * 0.15)
        await self._go_on(room)

    async def _edit_once(self, room: FakeRoom, seconds: float) -> None:
        rng = self._rng
        done = [e for e in room.entrants if e.status is RacerStatus.DONE]
        match rng.choice(
            ("disqualify", "reinstate", "status", "time", "time", "tie", "undone", "unforfeit", "hold")
        ):
            case "disqualify":
                room.disqualify(rng.choice([e for e in room.entrants if e.status is not RacerStatus.DQ]).user)
            case "reinstate":
                entrant = rng.choice([e for e in room.entrants if e.status is RacerStatus.DQ])
                status = RacerStatus.DNF if entrant.finish_time is None else RacerStatus.DONE
                room.edit_result(entrant.user, status)
            case "status" if len(done) > 1:
                room.edit_result(rng.choice(done).user, rng.choice((RacerStatus.DNF, RacerStatus.DQ)))
            case "time":
                room.edit_result(rng.choice(done).user, time=self._time())
            case "tie":
                time = rng.choice(done).finish_time
                assert time is not None
                room.edit_result(rng.choice(done).user, time=time)
            case "undone":
                room.undone(rng.choice(done).user)
                await self._pause(seconds * 0.2)
            case "unforfeit":
                room.unforfeit(rng.choice([e for e in room.entrants if e.status is RacerStatus.DNF]).user)
                await self._pause(seconds * 0.2)
            case "hold":
                room.hold()

    async def _go_on(self, room: FakeRoom) -> None:
        """Finish the race again for entrants who undid their finish or forfeit."""
        if room.status is RaceStatus.IN_PROGRESS and self.fate != "go on":
            for entrant in [e for e in room.entrants if not e.status.final]:
                self._leave_race(room, entrant)

    async def _seal(self, room: FakeRoom, seconds: float) -> None:
        if self.fate == "come back" and room.status is RaceStatus.CANCELLED:
            self._come_back(room)
            await self._pause(seconds * 0.3)
        if room.status is not RaceStatus.FINISHED:
            return
        match self.fate:
            case "record" | "late" | "come back":
                self._record(room)
            case "alter":
                # Saved silently, and recorded before the bot can look.
                done = [e for e in room.entrants if e.status is RacerStatus.DONE]
                if done:
                    room.edit_result(self._rng.choice(done).user, time=self._time())
                    self._run.chronicles[room.name].look()
                self._record(room)
            case "do not record":
                room.do_not_record()
            case "undo":
                room.do_not_record()
                await self._pause(seconds * 0.3)
                self._come_back(room)
                await self._pause(seconds * 0.3)
                self._record(room)
            case "delete before":
                self._site.delete_user(room.entrants[-1].user)
                room.do_not_record()
            case "delete after":
                self._record(room)
                # Otherwise the bot would rightly never rate the account.
                async with asyncio.timeout(PATIENCE):
                    while room.name not in self._run.database.races():  # noqa: ASYNC110
                        await asyncio.sleep(0.2)
                self._site.delete_user(room.entrants[-1].user)

    def _come_back(self, room: FakeRoom) -> None:
        """Edit one result, which makes a race that was cancelled or set aside recordable again."""
        if room.slug in self._site.rooms:
            room.edit_result(self._rng.choice(room.entrants).user, RacerStatus.DONE, self._time())
            self._run.chronicles[room.name].look()

    def _record(self, room: FakeRoom) -> None:
        self._run.recording(room)
        room.record()
