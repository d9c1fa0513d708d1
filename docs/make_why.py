"""Write docs/why.md: five invented situations, each rated by four systems.

    python docs/make_why.py          # write the page
    python docs/make_why.py --check  # fail if the page differs from what the models say today

All systems first rate the same invented past. A situation adds races to it, and the page shows the changes
of the players named in the situation.
"""

from __future__ import annotations

import argparse
import random
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from racebot.races.outcome import Outcome
from racebot.ratings.model import FloatArray, RatingModel
from racebot.ratings.registry import create

PAGE = Path(__file__).with_name("why.md")

SYSTEMS: Mapping[str, RatingModel] = {
    "racetime.gg": create("trueskill", {"unfinished": "tie"}),
    "TrueSkill": create("trueskill"),
    "Plackett–Luce": create("plackett-luce"),
    "racebot": create("thurstone-hurdle"),
}

STRENGTH = {
    "Ada": 2.0,
    "Bo": 1.4,
    "Cleo": 1.0,
    "Dag": 0.6,
    "Eve": 0.2,
    "Finn": -0.2,
    "Gus": -0.6,
    "Hana": -1.0,
    "Ivo": -1.4,
    "Juno": -2.0,
}
"""The regulars, best first. Performances vary by a standard deviation of 1."""
PAST_RACES = 150
SEED = 7


@dataclass(frozen=True, slots=True)
class Race:
    """One race: finishers in order, then the entrants who did not finish."""

    finished: Sequence[str]
    forfeited: Sequence[str] = ()

    def entrants(self) -> tuple[list[str], Outcome]:
        """Return the entrants' names and the outcome, in the same order."""
        places = range(1, len(self.finished) + 1)
        return [*self.finished, *self.forfeited], Outcome.of(places, unfinished=len(self.forfeited))

    def result(self, name: str) -> str:
        """Return the player's place, or DNF."""
        return str(1 + self.finished.index(name)) if name in self.finished else "DNF"


@dataclass(frozen=True, slots=True)
class Situation:
    """A situation of the page.

    Attributes:
        title: heading.
        told: what happens, in one or two sentences.
        races: the races of the situation; the page shows the sum of their changes.
        shown: the players to show.
        explained: the paragraph below the table.
    """

    title: str
    told: str
    races: Sequence[Race]
    shown: Sequence[str]
    explained: str


def past() -> list[Race]:
    """Return the invented races that every situation starts from."""
    chance = random.Random(SEED)  # noqa: S311 - a simulation, not a secret
    races = []
    for _ in range(PAST_RACES):
        names = chance.sample(list(STRENGTH), chance.randint(4, 8))
        finishers = [name for name in names if chance.random() < 0.86 + 0.05 * STRENGTH[name]]
        day = {name: STRENGTH[name] + chance.gauss(0.0, 1.0) for name in finishers}
        finishers.sort(key=lambda name: -day[name])
        races.append(Race(finishers, [name for name in names if name not in day]))
    return races


States = dict[str, FloatArray]
"""The players' states in one system, by name."""


def rate(model: RatingModel, states: States, races: Sequence[Race]) -> None:
    """Rate races in order, and store the players' new states."""
    for race in races:
        names, outcome = race.entrants()
        before = np.array([states.get(name, model.initial()) for name in names])
        states.update(zip(names, model.rate(before, outcome), strict=True))


def after_the_past() -> dict[str, States]:
    """Return each system's states after the invented past."""
    races, worlds = past(), dict[str, States]()
    for system, model in SYSTEMS.items():
        rate(model, worlds.setdefault(system, {}), races)
    return worlds


def changes(situation: Situation, worlds: Mapping[str, States]) -> dict[str, dict[str, tuple[int, int]]]:
    """Return points before and after a situation, by system, then by player."""
    table: dict[str, dict[str, tuple[int, int]]] = {}
    for system, model in SYSTEMS.items():
        states = dict(worlds[system])
        before = points(model, states, situation.shown)
        rate(model, states, situation.races)
        after = points(model, states, situation.shown)
        table[system] = {name: (before[name], after[name]) for name in situation.shown}
    return table


def points(model: RatingModel, states: States, names: Sequence[str]) -> dict[str, int]:
    """Return the points of players; a newcomer's, if a player has not raced."""
    rows = np.array([states.get(name, model.initial()) for name in names])
    return dict(zip(names, model.points(rows).tolist(), strict=True))


SITUATIONS = (
    Situation(
        "Three forfeits",
        "Three racers finish. The strongest, an average and the weakest racer forfeit.",
        [Race(["Cleo", "Eve", "Gus"], ["Ada", "Finn", "Juno"])],
        ["Cleo", "Eve", "Gus", "Ada", "Finn", "Juno"],
        "racetime.gg treats the three forfeits as a draw with each other. Juno has therefore drawn with the "
        "best racer, and gains by forfeiting. The other three systems do not rank forfeits against each "
        "other, and nobody gains by one.",
    ),
    Situation(
        "The favorite finishes alone",
        "Ada, the strongest racer, finishes. Four weaker racers forfeit.",
        [Race(["Ada"], ["Gus", "Hana", "Ivo", "Juno"])],
        ["Ada", "Gus", "Hana", "Ivo", "Juno"],
        "On racetime.gg the only finisher loses a point, and the weakest racer gains some for the forfeit. "
        "Each race makes TrueSkill a little less sure of a rating, and a win that was expected does not make "
        "up for it. With racebot no winner loses.",
    ),
    Situation(
        "A newcomer beats the regulars",
        "In a first race ever, Nova beats four regulars.",
        [Race(["Nova", "Ada", "Bo", "Cleo", "Gus"])],
        ["Nova", "Ada", "Bo", "Cleo", "Gus"],
        "In every system Nova jumps into the middle of the regulars: a win over four of them says a lot about"
        " a stranger. Plackett–Luce knows no uncertainty, so the win costs each regular some 80 points. In "
        "the other systems it costs them little, because Nova's starting points were only a guess.",
    ),
    Situation(
        "A late finish",
        "Bo, one of the best, finishes an unlucky race behind five weaker racers.",
        [Race(["Eve", "Gus", "Hana", "Ivo", "Juno", "Bo"])],
        ["Eve", "Juno", "Bo"],
        "Coming last costs a strong racer points everywhere. Compare the next situation, in which Bo forfeits"
        " instead.",
    ),
    Situation(
        "A forfeit in place of the late finish",
        "The same race, but Bo forfeits.",
        [Race(["Eve", "Gus", "Hana", "Ivo", "Juno"], ["Bo"])],
        ["Eve", "Juno", "Bo"],
        "In every system Bo loses as much as for the late finish. The others count a forfeit as a last place;"
        " racebot makes sure that a late finish never costs more than a forfeit, so there is no reason to "
        "quit. Juno, now last of the finishers, no longer gets points for beating Bo, because nobody knows "
        "when Bo would have finished.",
    ),
)


def page() -> str:
    """Return the page as Markdown."""
    worlds = after_the_past()
    parts = [HEAD]
    for number, situation in enumerate(SITUATIONS, 1):
        table = changes(situation, worlds)
        last = situation.races[-1]
        parts.append(f"## {number}. {situation.title}\n\n{wrapped(situation.told)}\n")
        rows = [f"| | {' | '.join(SYSTEMS)} |", f"|---{'|---:' * len(SYSTEMS)}|"]
        for name in situation.shown:
            cells = (
                f"{before} ({_signed(after - before)})" for before, after in (table[s][name] for s in SYSTEMS)
            )
            rows.append(f"| {last.result(name)} {name} | {' | '.join(cells)} |")
        parts.append("\n".join(rows) + f"\n\n{wrapped(situation.explained)}\n")
    return "\n".join(parts)


def wrapped(text: str) -> str:
    """Wrap a paragraph for the Markdown source."""
    return textwrap.fill(text, 108)


def _signed(change: int) -> str:
    return "±0" if change == 0 else f"{change:+d}".replace("-", "−")


HEAD = """# Why racebot rates as it does

Five invented situations, each rated by four systems: racetime.gg's own rule, TrueSkill, Plackett–Luce,
and racebot's default. If a change of your rating puzzles you, you may find your race here. [How ratings
work](how-ratings-work.md) explains the rules, and `!why` in chat explains your own race.

- **racetime.gg**: TrueSkill with the site's settings. Racers who forfeit are treated as drawn with each
  other.
- **TrueSkill**: the same, but racers who forfeit are not compared with each other (`trueskill`).
- **Plackett–Luce**: one number per player, and a race as a series of eliminations (`plackett-luce`).
- **racebot**: the default model (`thurstone-hurdle`). Whether a racer finished and who was faster are two
  questions.

Each cell shows the points before and, in parentheses, the change. The systems count points on different
scales: 30 points are a small change for Plackett–Luce and a large one for the others. All of them rated the
same 150 invented races of ten regulars first. From the strongest to the weakest: Ada, Bo, Cleo, Dag, Eve,
Finn, Gus, Hana, Ivo, Juno. Nova is a newcomer.

`python docs/make_why.py` makes this page from what the models say today.
"""


def main() -> None:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is not current")
    if parser.parse_args().check:
        if PAGE.read_text(encoding="utf-8") != page():
            sys.exit(f"{PAGE.name} is not current: run `python docs/make_why.py`")
    else:
        PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
