"""Simulated racers: a latent skill, a way of having good and bad days, and a habit of giving up."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from racebot.sandbox.people import User
from racebot.sandbox.site import FakeSite
from racebot.sandbox.words import RACER_NAMES

PAR = timedelta(hours=1, minutes=20)
"""The time of a racer of no particular skill on no particular day."""

SKILL_SPREAD = 0.10
"""How far apart racers are, as a share of the time."""

DAY_SPREAD = 0.06
"""How far apart two runs of one racer are."""


@dataclass(frozen=True, slots=True)
class Racer:
    """A user who races. `skill` is in standard deviations, more being faster."""

    user: User
    skill: float
    dnf_chance: float

    def run(self, rng: random.Random) -> timedelta | None:
        """One attempt: its time, or None where the racer gives up."""
        return None if rng.random() < self.dnf_chance else self.finish(rng)

    def finish(self, rng: random.Random) -> timedelta:
        """The time of an attempt seen through to the end, to the microsecond."""
        pace = math.exp(-SKILL_SPREAD * self.skill + rng.gauss(0, DAY_SPREAD))
        return timedelta(microseconds=round(PAR / timedelta(microseconds=1) * pace))


def recruit(site: FakeSite, count: int, rng: random.Random) -> Sequence[Racer]:
    """Make new accounts and the racers behind them; the weaker ones give up more often."""
    racers = []
    for number in range(count):
        lap, index = divmod(number, len(RACER_NAMES))
        name = RACER_NAMES[index] + (f" {lap + 1}" if lap else "")
        skill = rng.gauss(0, 1)
        racers.append(Racer(site.add_user(name), skill, min(0.5, 0.12 * math.exp(-0.5 * skill))))
    return racers
