"""Simulated racers, each with a skill, random form and a chance of forfeiting."""

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
"""The time of a racer of average skill on an average day."""

SKILL_SPREAD = 0.10
"""Standard deviation of log time across racers."""

DAY_SPREAD = 0.06
"""Standard deviation of log time across runs of one racer."""


@dataclass(frozen=True, slots=True)
class Racer:
    """A simulated racer. `skill` is in standard deviations; higher is faster."""

    user: User
    skill: float
    dnf_chance: float

    def run(self, rng: random.Random) -> timedelta | None:
        """Draw the time of one run, or None for a forfeit."""
        return None if rng.random() < self.dnf_chance else self.finish(rng)

    def finish(self, rng: random.Random) -> timedelta:
        """Draw the time of a finished run, to the microsecond."""
        pace = math.exp(-SKILL_SPREAD * self.skill + rng.gauss(0, DAY_SPREAD))
        return timedelta(microseconds=round(PAR / timedelta(microseconds=1) * pace))


def recruit(site: FakeSite, count: int, rng: random.Random) -> Sequence[Racer]:
    """Create accounts for `count` racers. Weaker racers forfeit more often."""
    racers = []
    for number in range(count):
        lap, index = divmod(number, len(RACER_NAMES))
        name = RACER_NAMES[index] + (f" {lap + 1}" if lap else "")
        skill = rng.gauss(0, 1)
        racers.append(Racer(site.add_user(name), skill, min(0.5, 0.12 * math.exp(-0.5 * skill))))
    return racers
