"""The demo's racers and its story: a season of past races, then three live races and a moderator's edits."""

import asyncio
import math
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count

from racebot.sandbox.race_state import RaceStatus, User
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.site import FakeSite

Sleep = Callable[[float], Awaitable[None]]

BETWEEN_PAST_RACES = timedelta(hours=18)
LEAST_FIELD, MOST_FIELD = 5, 10  # entrants of a past race
STEP = 0.05  # seconds between two looks for the bot's answer
PATIENCE = 15.0
"""Most seconds to wait for the bot, which reads an edited result once the site's caches have expired."""
JOINING = 0.2  # seconds that the bot needs in a room before it answers
BETWEEN_FINISHES = 0.4  # seconds between two finishes, whatever the finish times say
PAUSE = 1.0  # seconds to read what the bot wrote
PLAYERS, PAST_RACES, PAST_ROUNDS = 24, 60, 3
PLAY_PATIENCE = 90.0  # most seconds that `play` waits for a bot, which looks for new rooms once a minute
FIELD = 6  # number of racers that a live race needs
LEAGUE_GOAL = "Orb League, round 1"
PAR = timedelta(hours=1, minutes=20)  # the time of a racer of average skill on an average day
SKILL_SPREAD, DAY_SPREAD = 0.10, 0.06
"""Standard deviations of log time: across racers, and across runs of one racer."""

# fmt: off
_NAMES = (
    "Ann", "Bo", "quickthorn", "Мира Лесная", "The Honourable Mrs. Vane", "dr.dashwood", "雪の介", "Ólöf",
    "a_name_that_goes_on_for_so_long", "Jean-Loup d’Orée", "xX.Comet.Xx", "Ready @ Dawn", "σίγμα", "Zed",
    "Little Fern", "박하늘", "n0_spaces", "Mr. T. Potts", "¡Olé!", "ليلى", "K.",
    "Two Words", "Bjørnar", "seven77",
)
# fmt: on
"""Names of racers: long, short, with dots and spaces, in several scripts."""


@dataclass(frozen=True, slots=True)
class Racer:
    """A simulated racer. `skill` is in standard deviations; higher is faster."""

    user: User
    skill: float
    dnf_chance: float

    def run(self, rng: random.Random) -> timedelta | None:
        """Draw the time of one run, or None for a forfeit."""
        if rng.random() < self.dnf_chance:
            return None
        return PAR * math.exp(-SKILL_SPREAD * self.skill + rng.gauss(0, DAY_SPREAD))


def recruit(site: FakeSite, players: int, rng: random.Random) -> Sequence[Racer]:
    """Create accounts for this many racers. Weaker racers forfeit more often."""
    racers = []
    for name in _NAMES[:players]:
        skill = rng.gauss(0, 1)
        racers.append(Racer(site.add_user(name), skill, min(0.5, 0.12 * math.exp(-0.5 * skill))))
    return racers


def play_past_races(
    site: FakeSite, racers: Sequence[Racer], races: int, rng: random.Random, custom_goal: str = ""
) -> None:
    """Play races of the past at once, the last of them some hours ago. Custom goals are never recorded."""
    skew = site.skew
    for number in range(races):
        site.skew = skew - BETWEEN_PAST_RACES * (races - number)
        entered = rng.sample(list(racers), min(rng.randint(LEAST_FIELD, MOST_FIELD), len(racers)))
        room = site.open_race(custom_goal.replace("*", str(number + 1)))
        for racer in entered:
            room.enter(racer.user)
        times = {racer: racer.run(rng) for racer in entered}
        if not any(times.values()):
            times[entered[0]] = PAR
        room.start(ago=max(filter(None, times.values())))
        for racer, time in times.items():
            if time is None:
                room.forfeit(racer.user)
            else:
                room.finish(racer.user, time)
        if room.recordable:
            room.record()
    site.skew = skew


@dataclass(frozen=True, slots=True)
class Stage:
    """The site and the pace at which a story is played. `speed` divides every wait."""

    site: FakeSite
    rng: random.Random
    speed: float = 1.0
    sleep: Sleep = field(default=asyncio.sleep)
    patience: float = PATIENCE

    async def wait(self, seconds: float) -> None:
        await self.sleep(seconds / self.speed)

    async def say(self, room: FakeRoom, racer: Racer, text: str) -> None:
        """Post a racer's chat line, and wait for the bot if it is a command."""
        await self.wait(0.8)
        spoken = _spoken(room)
        room.say(racer.user, text)
        if text.startswith("!"):
            await self._reply(room, spoken)

    async def gather(self, racers: Sequence[Racer], goal: str | None = None) -> FakeRoom:
        """Open a room that the racers enter."""
        room = self.site.open_race(goal)
        for racer in racers:
            await self.wait(0.1)
            room.enter(racer.user)
        for racer in racers:
            room.ready(racer.user)
        await self._until(lambda: any(room.slug in visit.path for visit in self.site.requests))
        await self.sleep(JOINING)
        return room

    async def run(self, room: FakeRoom, finishers: Sequence[Racer], quitters: Sequence[Racer] = ()) -> None:
        """Run the race: the quitters forfeit, the finishers come in in this order."""
        room.count_down()
        await self.wait(0.5)
        # The story fixes the order of the finishers; only the gaps between them are random.
        times = sorted(PAR * self.rng.uniform(0.93, 1.12) for _ in finishers)
        racing = BETWEEN_FINISHES * (len(finishers) + len(quitters))
        room.start(ago=times[-1] - timedelta(seconds=racing / self.speed))
        for racer in quitters:
            await self.wait(BETWEEN_FINISHES)
            room.forfeit(racer.user)
        spoken = _spoken(room)
        for racer, time in zip(finishers, times, strict=True):
            await self.wait(BETWEEN_FINISHES)
            room.finish(racer.user, time)
        await self._reply(room, spoken)

    async def edit(self, room: FakeRoom, edit: Callable[[], None]) -> None:
        """Let the moderator change the result, and wait for the correction."""
        await self.wait(1.0)
        spoken = _spoken(room)
        edit()
        await self._reply(room, spoken)

    async def record(self, room: FakeRoom) -> FakeRoom:
        """Let the moderator record the race, and return its room."""
        await self.wait(PAUSE)
        if room.status is RaceStatus.FINISHED:
            room.record()
        await self.wait(1.0)
        return room

    async def _reply(self, room: FakeRoom, spoken: int) -> None:
        """Wait until the bot has written more than `spoken` messages in a room, but not forever."""
        await self._until(lambda: _spoken(room) > spoken)

    async def _until(self, happened: Callable[[], bool]) -> None:
        waited = 0.0
        while not happened() and waited < self.patience:
            await self.sleep(STEP)
            waited += STEP


async def upset(stage: Stage, racers: Sequence[Racer]) -> FakeRoom:
    """Play a race that an outsider wins, and disqualify the second later. The favorite is first."""
    favorite, second, third, fourth, outsider, last = racers[:FIELD]
    room = await stage.gather(racers[:FIELD])
    await stage.say(room, fourth, "!odds")
    await stage.wait(PAUSE)
    await stage.run(room, [outsider, second, third, favorite, last], [fourth])
    await stage.say(room, outsider, "finally!!")
    await stage.say(room, favorite, "!why")
    await stage.edit(room, lambda: room.disqualify(second.user))
    await stage.say(room, second, "fair, I skipped a gate")
    return await stage.record(room)


async def silent_edit(stage: Stage, racers: Sequence[Racer]) -> FakeRoom:
    """Play a race in which the moderator corrects a time, which the site saves without telling the room."""
    favorite, second, third, fourth, outsider, last = racers[:FIELD]
    room = await stage.gather(racers[:FIELD])
    await stage.say(room, outsider, f"!vs {favorite.user.name}")
    await stage.wait(PAUSE)
    await stage.run(room, [favorite, third, outsider, second, fourth, last])
    await stage.say(room, third, "my timer stopped late, the VOD shows it")
    best = room.entrant(favorite.user).finish_time
    assert best is not None  # noqa: S101 - the favorite finished
    await stage.edit(room, lambda: room.edit_result(third.user, time=best - timedelta(seconds=7)))
    await stage.say(room, third, "!why")
    await stage.say(room, favorite, "!leaderboard")
    return await stage.record(room)


async def league_race(stage: Stage, racers: Sequence[Racer], goal: str = LEAGUE_GOAL) -> FakeRoom:
    """Play a race with a custom goal, which the site never records."""
    room = await stage.gather(racers, goal)
    await stage.run(room, racers)
    return room


async def play(
    site: FakeSite, rng: random.Random, sleep: Sleep = asyncio.sleep, *, custom_goal: str = ""
) -> None:
    """Open one room after another with simulated racers, until cancelled.

    Each room waits for a bot, but not forever. A site without rooms also gets a season of past races. Some
    rooms have the custom goal, if there is one, with the number of its round in place of `*`.
    """
    racers = recruit(site, PLAYERS, rng)
    if not site.rooms:
        play_past_races(site, racers, PAST_RACES, rng)
        if custom_goal:
            play_past_races(site, racers, PAST_ROUNDS, rng, custom_goal)
    stage = Stage(site, rng, sleep=sleep, patience=PLAY_PATIENCE)

    def field() -> list[Racer]:
        return sorted(rng.sample(racers, FIELD), key=lambda racer: -racer.skill)

    for number in count(PAST_ROUNDS):
        if goal := custom_goal.replace("*", str(number + 1)):
            await league_race(stage, field(), goal)
        for story in (upset, silent_edit):
            await story(stage, field())


def _spoken(room: FakeRoom) -> int:
    return sum(line.bot is not None for line in room.chat)
