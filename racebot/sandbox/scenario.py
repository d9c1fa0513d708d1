"""Play races with simulated racers and a moderator."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from racebot.sandbox.race_state import RaceStatus
from racebot.sandbox.racers import PAR, Racer, recruit
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.site import FakeSite

Sleep = Callable[[float], Awaitable[None]]

FIELD = 8
"""Number of racers that `play` recruits by default."""


class Verdict(StrEnum):
    """The moderator's decision on a finished race."""

    RECORD = "record"
    DO_NOT_RECORD = "do not record"


@dataclass(frozen=True, slots=True)
class Script:
    """The course of one race. Times are in seconds, divided by the speed."""

    entrants: int = 5
    dnfs: int | None = None
    """Number of DNFs, or None for a random number."""
    disqualify_winner: bool = False
    """True to disqualify the winner halfway between the finish and the verdict."""
    verdict: Verdict = Verdict.RECORD
    verdict_after: float = 30.0
    joining: float = 1.0
    """Seconds between two entrants."""
    racing: float = 30.0
    """Seconds from the start to the last finish, independent of the finish times."""
    chat: tuple[str, ...] = ("gg", "!rating")
    """Chat lines of the racers between finish and verdict, in order."""


DEMO = (
    Script(dnfs=2),
    Script(dnfs=0, disqualify_winner=True, verdict_after=45.0, chat=("!why", "gg")),
    Script(dnfs=1, verdict=Verdict.DO_NOT_RECORD, chat=("!why", "!leaderboard 3")),
)
"""Three races: one with DNFs, one with a disqualification, and one set to not recorded."""


async def play(
    site: FakeSite,
    *,
    races: int = len(DEMO),
    racers: Sequence[Racer] | None = None,
    rng: random.Random | None = None,
    speed: float = 1.0,
    pause: float = 5.0,
    sleep: Sleep = asyncio.sleep,
) -> list[FakeRoom]:
    """Play races one after another: those of `DEMO` first, then random ones.

    `speed` divides every wait, including the `pause` seconds between races.
    """
    rng = random.Random() if rng is None else rng  # noqa: S311
    racers = recruit(site, FIELD, rng) if racers is None else racers
    rooms = []
    for number in range(races):
        script = DEMO[number] if number < len(DEMO) else Script(entrants=rng.randint(3, max(3, len(racers))))
        rooms.append(await race(site, racers, script, rng=rng, speed=speed, sleep=sleep))
        if number + 1 < races:
            await sleep(pause / speed)
    return rooms


async def race(
    site: FakeSite,
    racers: Sequence[Racer],
    script: Script,
    *,
    rng: random.Random,
    speed: float = 1.0,
    sleep: Sleep = asyncio.sleep,
) -> FakeRoom:
    """Play one race from its opening to the moderator's verdict."""

    async def wait(seconds: float) -> None:
        await sleep(max(0.0, seconds) / speed)

    room = site.open_race()
    field = rng.sample(list(racers), min(script.entrants, len(racers)))
    for racer in field:
        await wait(script.joining)
        room.enter(racer.user)
        room.ready(racer.user)
    room.count_down()
    await wait(script.joining)
    runs = _runs(field, script, rng)
    room.start(ago=max(after for after, _, _ in runs) - timedelta(seconds=script.racing / speed))
    await _run(room, runs, script, wait)
    if room.status is not RaceStatus.FINISHED:
        return room
    await wait(script.verdict_after / 2)
    if script.disqualify_winner:
        winner = next(entrant.user for entrant in room.entrants if entrant.place == 1)
        room.disqualify(winner)
    for racer, line in zip(field, script.chat, strict=False):
        room.say(racer.user, line)
    await wait(script.verdict_after / 2)
    if script.verdict is Verdict.RECORD:
        room.record()
    else:
        room.do_not_record()
    return room


Run = tuple[timedelta, Racer, bool]
"""Time, racer, and True if the racer finished."""


def _runs(field: Sequence[Racer], script: Script, rng: random.Random) -> list[Run]:
    """Draw every racer's run, ordered by time. At least one racer finishes."""
    if script.dnfs is None:
        times = {racer: racer.run(rng) for racer in field}
        if not any(times.values()):
            times[field[0]] = field[0].finish(rng)
    else:
        quitters = rng.sample(list(field), min(script.dnfs, len(field) - 1))
        times = {racer: None if racer in quitters else racer.finish(rng) for racer in field}
    runs = []
    for racer, time in times.items():
        through = PAR * rng.uniform(0.2, 1.0) if time is None else time
        runs.append((through, racer, time is not None))
    return sorted(runs, key=lambda run: run[0])


async def _run(
    room: FakeRoom, runs: Sequence[Run], script: Script, wait: Callable[[float], Awaitable[None]]
) -> None:
    last = runs[-1][0]
    passed = 0.0
    for through, racer, finishes in runs:
        at = script.racing * (through / last)
        await wait(at - passed)
        passed = at
        if finishes:
            room.finish(racer.user, through)
        else:
            room.forfeit(racer.user)
