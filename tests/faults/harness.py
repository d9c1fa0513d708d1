"""Runs the worker beside a misbehaving site, and checks the invariants throughout.

A run has acts. In each, races go on and the site misbehaves or the worker is killed. At its end the site
behaves again, and every race is compared with the ledger and the room's chat. The seed decides what an act
brings, but not how it interleaves with the worker.
"""

import asyncio
import contextlib
import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spoiler import Spoiler
from worker_support import (
    PATIENCE,
    Sandbox,
    WorkerProcess,
    requested,
    reserved_port,
    served,
    until,
)

from racebot.ratings import registry
from racebot.sandbox.race_state import Bot, RaceStatus, User
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.site import CATEGORY, FakeSite
from racebot.settings.texts import DEFAULT_TEXTS

from . import posts
from .chronicle import Chronicle
from .kills import Killer
from .rating_again import RatingAgain
from .stories import GOALS, Story
from .truth import Board, Carry, Database, Rated, counts, final_places, misplaced, replay
from .weather import Weather

MODELS = {
    "Any%": "thurstone-hurdle",
    "100%": "plackett-luce",
    "Low%": "trueskill",
    "Together": "elo-ffa",
    "Next%": "thurstone-hurdle",
}
CARRIES = {"Next%": Carry("Any%", 0.9)}
PEOPLE = 60
STAYS = 1.0
"""Seconds for which everything must stay right, so that a repeated message is seen."""
ROOMS_EVERY = 0.5
SPEAKS_WITHIN = 10.0
"""Seconds without faults within which a result must be announced: an edited one is certain after 6.5."""


@dataclass(frozen=True)
class Plan:
    """The parameters of a run."""

    seed: int
    races: int
    acts: int = 4
    act_seconds: float = 8.0
    severity: int = 0
    """Faults in each act; 0 for a site that behaves."""
    kills: int = 0
    """Of the worker, over all acts."""
    rebuilds: int = 0
    """How often all leaderboards are rated again in each act."""


@dataclass
class Report:
    """The counts of a run."""

    races: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    kills: Counter[str] = field(default_factory=Counter)
    messages: int = 0
    corrections: int = 0
    refusals: int = 0
    posts: int = 0
    posted_again: int = 0
    recovered: list[float] = field(default_factory=list)
    """Seconds from the end of each act until everything was right."""

    def lines(self) -> Iterator[str]:
        yield f"races: {_counted(self.races)}"
        yield f"faults: {_counted(self.faults)}"
        yield f"kills: {_counted(self.kills)}"
        yield f"messages: {self.messages}, of them corrections: {self.corrections}"
        yield f"posts to Discord: {self.posts}, of them repeated: {self.posted_again}"
        yield f"refused in a closed chat: {self.refusals}"
        yield "seconds until all was right: " + ", ".join(f"{each:.1f}" for each in self.recovered)


class WrongError(AssertionError):
    """The ledger or a chat is wrong; the text says where."""


class Run:
    """One run with its own site and worker."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan = plan
        rng = random.Random(f"site {plan.seed}")
        self.site = FakeSite(rng=rng, goals=list(GOALS))
        secret = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=40))
        self.site.bot = self.site.bots[self.site.bot.client_id] = Bot("Racebot", "racebot", secret)
        self.site.bots["racebot"] = self.site.bot
        self.misbehaviour = Spoiler()
        self.sandbox = Sandbox(self.site, "", folder / "racebot.db", self.misbehaviour)
        boards: list[dict[str, Any]] = []
        for board, model in MODELS.items():
            goals = [goal for goal, counted_on in GOALS.items() if board in counted_on]
            boards.append({"name": board, "goals": goals, "model": model})
            if carry := CARRIES.get(board):
                boards[-1]["carry_over"] = {"from": carry.source, "factor": carry.factor}
        self.sandbox.extra = {
            "RACEBOT_QUIET_SECONDS": "0.3",
            "RACEBOT_ROOMS_EVERY": str(ROOMS_EVERY),
            "RACEBOT_LIST_EVERY": "2",
            "RACEBOT_LOG_LEVEL": "debug",
            "RACEBOT_LEADERBOARDS": json.dumps(boards),
        }
        self._clock = folder / "clock"
        self.set_clock(0)
        self.sandbox.script = Path(__file__).with_name("wrong_clock.py")
        self.sandbox.extra["FAULTS_CLOCK"] = str(self._clock)
        self._slow = folder / "slow"
        self.sandbox.extra["FAULTS_SLOW"] = str(self._slow)
        self.database = Database(self.sandbox.database)
        self.report = Report()
        self.worker: WorkerProcess
        self.chronicles: dict[str, Chronicle] = {}
        self.settled_before: dict[str, list[str]] = {}
        self.watched: set[str] = set()
        """Races that the worker knew before they were recorded."""
        self.silent: list[str] = []
        """Messages that were missing when rooms were recorded."""
        self.calm_since = 0.0
        """The worker's time of the last fault, kill or start."""
        self._people_rng = random.Random(f"people {plan.seed}")
        self.people = [self.site.add_user(f"Racer {number}") for number in range(PEOPLE)]
        self.ids = {user.name: user.id for user in self.people}
        self.recorded_names: dict[str, str] = {}
        """The name with which each player was last recorded."""
        self.stories = [Story(self, number) for number in range(plan.races)]
        self.weather = Weather(self)
        self._sequences: dict[str, list[str]] = {}
        self.killer = Killer(self)
        self.rating_again = RatingAgain(self)
        self._serving = contextlib.AsyncExitStack()

    async def perform(self) -> Report:
        """Perform all acts, one after the other."""
        with reserved_port() as self._port:
            try:
                await self._serve()
                await self.start_worker()
                # At its start, the worker believes a refusal of its credentials, and ends.
                await until(lambda: "watching" in self.worker.output)
                for act in range(self.plan.acts):
                    await self._act(act)
                # Until it is loaded, the process has no handler for SIGTERM.
                await until(lambda: "watching" in self.worker.output)
                if (code := await self.worker.terminate()) != 0:
                    raise WrongError(f"the worker ended with {code}: {self.worker.output[-500:]}")
            finally:
                await self.worker.kill()
                await self._serving.aclose()
                self._count()
            verified = await self.sandbox.racebot("verify")
        if verified.returncode != 0:
            raise WrongError(f"racebot verify: {verified.stdout}{verified.stderr}")
        self._check_output()
        return self.report

    # ── the site and the worker ──

    async def _serve(self) -> None:
        serving = served(self.site, self.misbehaviour, self._port)
        self.sandbox.address = await self._serving.enter_async_context(serving)
        self.sandbox.extra["RACEBOT_DISCORD_WEBHOOK"] = self.sandbox.address + posts.WEBHOOK

    async def restart(self, lose_rooms: bool) -> None:
        self.misbehaviour.stall(0)
        self.misbehaviour.drop_sockets()
        await self._serving.aclose()
        self.site.guids.clear()
        if lose_rooms:
            rooms = self.site.rooms.items()
            self.site.rooms = {slug: room for slug, room in rooms if room.status.over}
        await asyncio.sleep(1)
        await self._serve()

    async def start_worker(self) -> None:
        """Start the worker, which must not be running."""
        self.disturbed()
        self.worker = await self.sandbox.start()

    def set_clock(self, seconds: float) -> None:
        """Set the error of the worker's clock, in seconds."""
        new = self._clock.with_suffix(".new")
        new.write_text(str(seconds))
        new.replace(self._clock)

    def slow_ledger(self, seconds: float) -> None:
        """Let the next piece of the worker's ledger work take this many seconds longer."""
        self._slow.write_text(str(seconds))

    def opened(self, room: FakeRoom) -> None:
        boards = [b for b in GOALS[room.goal] if not room.team_race or registry.MODELS[MODELS[b]].rates_teams]
        chronicle = Chronicle(room, boards, self._heard, self.ids, self.database.lengths, self._time)
        self.chronicles[room.name] = chronicle
        room.listen(chronicle.hear)

    def _heard(self, room: FakeRoom) -> None:
        """React to a message of the bot before its echo reaches the bot."""
        self.weather.heard(room)
        self.killer.heard()

    def _time(self) -> float:
        """Return the seconds that the worker had, by its looks at the category: a stopped one has none."""
        return ROOMS_EVERY * requested(self.site)[f"/o/{CATEGORY}/data"]

    def disturbed(self, seconds: float = 0.0) -> None:
        """Note a fault that lasts some seconds from now on."""
        self.calm_since = max(self.calm_since, self._time() + seconds)

    def recording(self, room: FakeRoom) -> None:
        """Check a room that is about to be recorded, and remember its state."""
        if room.name in self.database.known():
            self.watched.add(room.name)
            calm = self._time() - self.calm_since
            self.silent += self.chronicles[room.name].silence(calm, SPEAKS_WITHIN)
        self.settled_before[room.name] = self.database.races()
        self.recorded_names |= {entrant.user.id: entrant.user.name for entrant in room.entrants}

    def guest(self, name: str) -> User:
        """Create an account that takes part in one race only."""
        user = self.site.add_user(name)
        self.ids[name] = user.id
        return user

    def _rename(self) -> None:
        """Give a few people new names."""
        for user in self._people_rng.sample(self.people, 3):
            name = f"{user.name.split(' the ')[0]} the {self._people_rng.randrange(1000)}rd"
            self.site.rename_user(user, name)
            self.ids[name] = user.id

    # ── acts ──

    async def _act(self, act: int) -> None:
        seconds = self.plan.act_seconds
        if 0 < act < self.plan.acts - 1:
            self._rename()
        async with asyncio.TaskGroup() as group:
            for story in self.stories:
                group.create_task(story.perform(act, seconds))
            if self.plan.severity:
                group.create_task(self.weather.blow(act, seconds))
            if self.plan.kills:
                share = self.plan.kills * (act + 1) // self.plan.acts - sum(self.report.kills.values())
                group.create_task(self.killer.strike(share, self.report.kills))
            if self.plan.rebuilds:
                work = self.rating_again.strike(self.plan.rebuilds, seconds, self.report.faults)
                group.create_task(work)
        self.weather.clear_up()
        await self._until_all_is_right()
        rooms = [chronicle.room for chronicle in self._rooms().values()]
        self.watched |= {room.name for room in rooms if final_places(room) is not None and not room.recorded}

    async def _until_all_is_right(self) -> None:
        began = right_since = time.monotonic()
        missing = [""]
        while time.monotonic() - right_since < STAYS or missing:
            if wrongs := [*self._wrongs()]:
                raise WrongError("\n".join(wrongs[:20]))
            was_right, missing = not missing, [*self._missing()]
            if missing or not was_right:
                right_since = time.monotonic()
            if time.monotonic() - began > PATIENCE:
                raise WrongError("still missing:\n" + "\n".join(missing[:20]))
            if not self.worker.running:
                raise WrongError("the worker has ended")
            await asyncio.sleep(0.1)
        self.report.recovered.append(right_since - began)
        self._sequences = self.database.sequences()
        rooms = {name: chronicle.room for name, chronicle in self._rooms().items()}
        boards, problems = replay(self.database, rooms, MODELS, CARRIES)
        problems += self._wrong_points(boards, rooms)
        if problems:
            raise WrongError("\n".join(problems[:20]))

    def _wrong_points(self, boards: dict[str, Board], rooms: Mapping[str, FakeRoom]) -> Iterator[str]:
        """Compare points in chat, info boxes and `bot_meta` with the replay.

        A season that carries over is left out: a late record of the earlier season moves its ratings.
        """
        fixed = {name: board for name, board in boards.items() if name not in CARRIES}
        changes: dict[str, dict[str, dict[str, Rated]]] = {}
        for name, sequence in self.database.sequences().items():
            if name in fixed:
                again = Board(MODELS[name])
                for race in sequence:
                    changes.setdefault(race, {})[name] = again.add(rooms[race])
        for race, chronicle in self._rooms().items():
            yield from chronicle.wrong_points(fixed)
            stored = changes.get(race, {})
            if stored and not set(GOALS[chronicle.room.goal]) & set(CARRIES):
                yield from chronicle.info_box(stored)
            for entry in chronicle.room.bot_meta.get("racebot", []):
                rated = stored.get(entry["leaderboard"], {})
                for user, found in entry["changes"].items() if rated else ():
                    if user not in rated or found != [rated[user].points_before, rated[user].points_after]:
                        yield f"{race}: bot_meta has {found} for {user}"

    def _rooms(self) -> dict[str, Chronicle]:
        """The rooms that the site still has."""
        return {name: c for name, c in self.chronicles.items() if c.room.slug in self.site.rooms}

    def _wrongs(self) -> Iterator[str]:
        yield from self.silent
        for chronicle in self.chronicles.values():
            yield from chronicle.wrongs()
        again = sum(len(found) - 1 for found in posts.posts(self.site.discord).values())
        if again > sum(self.report.kills.values()) + self.report.faults["restart"]:
            yield f"{again} messages were posted to Discord again"
        yield from misplaced(self.database.sequences(), self._sequences, self.settled_before)
        recorded = {name for name, c in self._rooms().items() if counts(c.room)}
        for race in set(self.database.races()) - recorded:
            yield f"{race} is in the ledger and not recorded on the site"
        for name, chronicle in self._rooms().items():
            tellings = sum("updated the race information" in m.text for m in chronicle.room.chat)
            # The site may carry out what a lost connection sent long after a new one showed the race.
            if tellings > 2:
                yield f"{name}: the info box was set {tellings} times"

    def _missing(self) -> Iterator[str]:
        ledger = set(self.database.races())
        rooms = self._rooms()
        for name, chronicle in rooms.items():
            yield from chronicle.missing()
            if counts(chronicle.room) and name not in ledger:
                yield f"{name} is recorded and not in the ledger"
        undelivered = "SELECT race, kind FROM outbox WHERE state IN ('waiting', 'sent')"
        for name, kind in self.database.pairs(undelivered):
            if name in rooms:  # messages for a room that the site lost are dropped after a day
                yield f"{name}: a {kind} message is not delivered"
        rebuilds = self.database.rows("SELECT leaderboard FROM rebuilds")
        yield from (f"{each['leaderboard']} is to be rated again" for each in rebuilds)
        stored = {board: self.database.changes(board) for board in MODELS}
        shown = posts.posts(self.site.discord)
        hidden = {row["player"] for row in self.database.rows("SELECT player FROM hidden_players")}
        for name in shown.keys() | ledger:
            was_known, by_team = name in self.watched & set(rooms), self.chronicles[name].room.team_race
            yield from posts.missing(shown, stored, hidden, name, known=was_known, by_team=by_team)
        for name in self.watched & ledger & set(rooms):
            room = rooms[name].room
            changed = [b for b in GOALS[room.goal] if name in stored[b]]
            expected = {board: set(stored[board][name]) for board in changed}
            entries = room.bot_meta.get("racebot", [])
            found = {each["leaderboard"]: set(each["changes"]) for each in entries}
            if found != expected and not any("omitted" in each for each in entries):
                yield f"{name}: bot_meta names {found}, the ledger {expected}"
            if changed and not (room.info_bot or "").startswith(DEFAULT_TEXTS.info.partition("{")[0]):
                yield f"{name}: the info box holds {room.info_bot!r}"
        names = dict(self.database.pairs("SELECT id, name FROM players"))
        for user in self.site.users.values():
            known = names.get(user.id)
            if user.deleted and known == user.name:
                yield f"{known}: the account is deleted, and the ledger still has the name"
            elif not user.deleted and known not in {None, user.name, self.recorded_names.get(user.id)}:
                yield f"{user.name}: the ledger calls them {known}"

    def _check_output(self) -> None:
        """Check that nothing secret and no traceback was printed."""
        printed = self.sandbox.log.read_text(encoding="utf-8", errors="replace")
        if not printed:
            raise WrongError("the worker has printed nothing")
        for secret in {self.site.bot.client_secret, posts.WEBHOOK, *self.site.issued_tokens}:
            if secret in printed:
                raise WrongError(f"a secret was printed: {secret[:4]}…")
        if "Traceback" in printed:
            raise WrongError("the worker printed a " + printed[printed.index("Traceback") :][:3000])

    def _count(self) -> None:
        report = self.report
        report.faults += self.weather.thrown
        report.posts = self.site.posts
        report.posted_again = self.site.posts - len(posts.posts(self.site.discord))
        for chronicle in self.chronicles.values():
            room = chronicle.room
            ends = {
                room.slug not in self.site.rooms: "lost by the site",
                room.recorded: "recorded",
                room.status is RaceStatus.CANCELLED: "cancelled",
                not room.recordable and room.status is RaceStatus.FINISHED: "not to be recorded",
            }
            report.races[next((end for holds, end in ends.items() if holds), "left open")] += 1
            report.messages += len(chronicle.said)
            report.corrections += sum(message.text.startswith("Correction") for message in chronicle.said)
            report.refusals += sum("closed" in text for text in room.refused)


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(counter.items())) or "none"
