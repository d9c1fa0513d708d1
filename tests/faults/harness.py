"""The whole of a run: a site, its people, its weather, the worker, and what must be true in between.

A run has acts. In each, races go on and the site misbehaves or the worker is killed; at its end the site
behaves again, and what every race has come to is compared with the ledger and the rooms' chats. What an act
brings is decided by the seed; how it interleaves with the worker is not.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from worker_support import Bench, WorkerProcess, until

from racebot.chat.templates import DEFAULT_TEXTS
from racebot.sandbox.misbehaviour import Misbehaviour
from racebot.sandbox.people import Bot
from racebot.sandbox.race_state import RaceStatus
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.server import serve
from racebot.sandbox.site import FakeSite

from .chronicle import Chronicle
from .kills import Killer
from .stories import GOALS, Story
from .truth import Database, counts, misplaced, replay, stands
from .weather import Weather

MODELS = {"Any%": "thurstone-hurdle", "100%": "plackett-luce", "Low%": "trueskill", "Together": "elo-ffa"}
PEOPLE = 60
SETTLES_WITHIN = 180.0
"""Seconds after which what is still missing at the end of an act counts as lost."""
STAYS = 1.0
"""Seconds for which all must stay right, so that what is said once too often is seen."""


@dataclass(frozen=True)
class Plan:
    """What a run is to be like."""

    seed: int
    races: int
    acts: int = 4
    act_seconds: float = 8.0
    severity: int = 0
    """Faults in each act; 0 for a site that behaves."""
    kills: int = 0
    """Of the worker, over all acts."""


@dataclass
class Report:
    """What a run brought about."""

    races: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    kills: Counter[str] = field(default_factory=Counter)
    messages: int = 0
    corrections: int = 0
    refusals: int = 0
    seconds: float = 0.0
    recovered: list[float] = field(default_factory=list)
    """Seconds from the end of each act until all was as it should be."""

    def lines(self) -> Iterator[str]:
        yield f"races: {_counted(self.races)}"
        yield f"faults: {_counted(self.faults)}"
        yield f"kills: {_counted(self.kills)}"
        yield f"messages: {self.messages}, of them corrections: {self.corrections}"
        yield f"refused in a closed chat: {self.refusals}"
        yield "seconds until all was right: " + ", ".join(f"{each:.1f}" for each in self.recovered)
        yield f"took {self.seconds:.0f} s"


class WrongError(AssertionError):
    """The ledger or a chat is not as it must be; the text says where."""


class Run:
    """One run on a bench of its own."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan = plan
        rng = random.Random(f"site {plan.seed}")
        self.site = FakeSite(rng=rng, goals=list(GOALS))
        secret = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=40))
        self.site.bot = self.site.bots[self.site.bot.client_id] = Bot("Racebot", "racebot", secret)
        self.site.bots["racebot"] = self.site.bot
        self.misbehaviour = Misbehaviour()
        self.bench = Bench(self.site, "", folder / "racebot.db", self.misbehaviour)
        self.bench.extra = {
            "RACEBOT_QUIET_SECONDS": "0.3",
            "RACEBOT_ROOMS_EVERY": "0.5",
            "RACEBOT_LIST_EVERY": "2",
            "RACEBOT_LOG_LEVEL": "debug",
            "RACEBOT_LEADERBOARDS": json.dumps(
                [
                    {
                        "name": board,
                        "goals": [g for g, boards in GOALS.items() if board in boards],
                        "model": model,
                    }
                    for board, model in MODELS.items()
                ]
            ),
        }
        self._clock = folder / "clock"
        self.set_clock(0)
        self.bench.program = (str(Path(__file__).with_name("wrong_clock.py")),)
        self.bench.extra["FAULTS_CLOCK"] = str(self._clock)
        self.database = Database(self.bench.database)
        self.report = Report()
        self.worker: WorkerProcess | None = None
        self.chronicles: dict[str, Chronicle] = {}
        self.settled_before: dict[str, list[str]] = {}
        self.watched: set[str] = set()
        """Races that were seen unrecorded at the end of an act, when the worker must know of them."""
        people = [self.site.add_user(f"Racer {number}") for number in range(PEOPLE)]
        self.stories = [
            Story(
                self.site,
                number,
                seed=plan.seed,
                acts=plan.acts,
                people=people,
                opened=self._opened,
                recording=self._recording,
                noticed=lambda room: room.name in self.database.joined(),
            )
            for number in range(plan.races)
        ]
        self.weather = Weather(
            self.site,
            self.misbehaviour,
            self._restart,
            self.set_clock,
            seed=plan.seed,
            severity=plan.severity,
        )
        self._sequences: dict[str, list[str]] = {}
        self.killer = Killer(self, seed=plan.seed)
        self._serving = contextlib.AsyncExitStack()

    async def perform(self) -> Report:
        """All acts, one after the other.

        Raises:
            WrongError: something is not as it must be.
        """
        began = time.monotonic()
        try:
            await self._serve(0)
            async with self._worker():
                for act in range(self.plan.acts):
                    await self._act(act)
                worker = self.worker
                assert worker is not None
                # A process that is still loading knows nothing of SIGTERM, and ends as any would.
                await until(lambda: "watching" in worker.output)
                if (code := await worker.terminate()) != 0:
                    raise WrongError(f"the worker did not end well, with {code}: {worker.output[-500:]}")
        finally:
            await self._serving.aclose()
            self._count()
            self.report.seconds = time.monotonic() - began
        verified = self.bench.racebot("verify")
        if verified.returncode != 0:
            raise WrongError(f"racebot verify: {verified.stdout}{verified.stderr}")
        self._check_output()
        return self.report

    # ── the site and the worker ──

    async def _serve(self, port: int) -> None:
        serving = serve(self.site, misbehaviour=self.misbehaviour, port=port)
        self.bench.address = await self._serving.enter_async_context(serving)

    async def _restart(self, lose_rooms: bool) -> None:
        port = urlsplit(self.bench.address).port
        assert port is not None
        self.misbehaviour.stall(0)
        self.misbehaviour.drop_sockets()
        await self._serving.aclose()
        self.site.forget_guids()
        if lose_rooms:
            self.site.forget_rooms()
        await asyncio.sleep(1)
        await self._serve(port)

    @contextlib.asynccontextmanager
    async def _worker(self) -> AsyncIterator[None]:
        try:
            await self.start_worker()
            yield
        finally:
            if self.worker is not None:
                await self.worker.kill()

    async def start_worker(self) -> None:
        """Start the worker, which must not be running."""
        self.worker = await self.bench.start()

    def set_clock(self, seconds: float) -> None:
        """Make the clock of the worker's computer wrong by so much."""
        new = self._clock.with_suffix(".new")
        new.write_text(str(seconds))
        new.replace(self._clock)

    # ── what stories tell of ──

    def _opened(self, room: FakeRoom) -> None:
        self.chronicles[room.name] = Chronicle(room, GOALS[room.goal], self._heard)
        self.chronicles[room.name].follow()

    def _heard(self, room: FakeRoom) -> None:
        """The bot has spoken, and does not know yet that it was heard."""
        self.weather.heard(room)
        self.killer.heard()

    def _recording(self, room: FakeRoom) -> None:
        self.settled_before[room.name] = self.database.races()

    # ── acts ──

    async def _act(self, act: int) -> None:
        seconds = self.plan.act_seconds
        async with asyncio.TaskGroup() as group:
            for story in self.stories:
                group.create_task(story.perform(act, seconds))
            if self.plan.severity:
                group.create_task(self.weather.blow(act, seconds))
            if self.plan.kills:
                share = self.plan.kills * (act + 1) // self.plan.acts - sum(self.report.kills.values())
                group.create_task(self.killer.strike(share, self.report.kills))
        self.weather.clear_up()
        await self._until_all_is_right()
        self.watched |= {
            name
            for name, chronicle in self._rooms().items()
            if stands(chronicle.room) is not None and not chronicle.room.recorded
        }

    async def _until_all_is_right(self) -> None:
        began = right_since = time.monotonic()
        missing = [""]
        while time.monotonic() - right_since < STAYS or missing:
            if wrongs := [*self._wrongs()]:
                raise WrongError("\n".join(wrongs[:20]))
            was_right, missing = not missing, [*self._missing()]
            if missing or not was_right:
                right_since = time.monotonic()
            if time.monotonic() - began > SETTLES_WITHIN:
                raise WrongError("still missing:\n" + "\n".join(missing[:20]))
            if self.worker is None or not self.worker.running:
                raise WrongError("the worker has ended")
            await asyncio.sleep(0.1)
        self.report.recovered.append(right_since - began)
        self._sequences = self.database.sequences()
        rooms = {name: chronicle.room for name, chronicle in self._rooms().items()}
        if differences := [*replay(self.database, rooms, MODELS)]:
            raise WrongError("\n".join(differences[:20]))

    def _rooms(self) -> dict[str, Chronicle]:
        """The rooms that the site still has."""
        return {
            name: chronicle
            for name, chronicle in self.chronicles.items()
            if chronicle.room.slug in self.site.rooms
        }

    def _wrongs(self) -> Iterator[str]:
        for chronicle in self.chronicles.values():
            yield from chronicle.wrongs()
        yield from misplaced(self.database.sequences(), self._sequences, self.settled_before)
        recorded = {name for name, c in self._rooms().items() if counts(c.room)}
        for race in set(self.database.races()) - recorded:
            yield f"{race} is in the ledger and not recorded on the site"
        for name, chronicle in self._rooms().items():
            tellings = sum("updated the race information" in m.text for m in chronicle.room.chat)
            if tellings > 1:
                yield f"{name}: the info box was set {tellings} times"

    def _missing(self) -> Iterator[str]:
        ledger = set(self.database.races())
        rooms = self._rooms()
        for name, chronicle in rooms.items():
            yield from chronicle.missing()
            if counts(chronicle.room) and name not in ledger:
                yield f"{name} is recorded and not in the ledger"
        for name, kind in self.database.undelivered():
            if name in rooms:  # what was to be said in a room that the site lost is given up in a day
                yield f"{name}: a {kind} message is not delivered"
        told = {board: self.database.changes(board) for board in MODELS}
        for name in self.watched & ledger:
            room = rooms[name].room
            changed = [b for b in GOALS[room.goal] if name in told[b]]
            expected = {
                board: {u: [r["points_before"], r["points_after"]] for u, r in told[board][name].items()}
                for board in changed
            }
            found = {each["leaderboard"]: each["changes"] for each in room.bot_meta.get("racebot", [])}
            if found != expected and not any("omitted" in e for e in room.bot_meta.get("racebot", [])):
                yield f"{name}: bot_meta holds {found}, the ledger {expected}"
            if changed and not (room.info_bot or "").startswith(DEFAULT_TEXTS.info.partition("{")[0]):
                yield f"{name}: the info box holds {room.info_bot!r}"

    def _check_output(self) -> None:
        """No secret may stand in anything that the worker printed."""
        printed = self.bench.log.read_text(encoding="utf-8", errors="replace")
        if not printed:
            raise WrongError("the worker has printed nothing")
        for secret in {self.site.bot.client_secret, *self.site.issued_tokens}:
            if secret in printed:
                raise WrongError(f"a secret was printed: {secret[:4]}…")
        if "Traceback" in printed:
            raise WrongError(
                "the worker printed a traceback:\n" + printed[printed.index("Traceback") :][:3000]
            )

    def _count(self) -> None:
        report = self.report
        report.faults = self.weather.thrown
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
            report.corrections += sum(text.startswith("Correction") for text, _ in chronicle.said)
            report.refusals += sum("closed" in text for text in room.refused)


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(counter.items())) or "none"
