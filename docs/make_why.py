"""Write docs/why.md: twenty invented situations, each rated by four systems.

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
    """One race: finishers in order, then the entrants who did not finish.

    A tuple of names in `finished` is a tie.
    """

    finished: Sequence[str | tuple[str, ...]]
    forfeited: Sequence[str] = ()

    def entrants(self) -> tuple[list[str], Outcome]:
        """Return the entrants' names and the outcome, in the same order."""
        names: list[str] = []
        places: list[int] = []
        for place, entry in enumerate(self.finished, 1):
            for name in (entry,) if isinstance(entry, str) else entry:
                names.append(name)
                places.append(place)
        return [*names, *self.forfeited], Outcome.of(places, unfinished=len(self.forfeited))

    def result(self, name: str) -> str:
        """Return the player's place, or DNF."""
        names, outcome = self.entrants()
        row = names.index(name)
        return "DNF" if outcome.unfinished[row] else str(1 + int((outcome.group < outcome.group[row]).sum()))


@dataclass(frozen=True, slots=True)
class Situation:
    """A situation of the page.

    Attributes:
        title: heading.
        told: what happens, in one or two sentences.
        races: the races of the situation; the page shows the sum of their changes.
        shown: the players to show.
        explained: the paragraph below the table.
        claims: system, player, and the sign of the change that the paragraph relies on: `>`, `=` or `<`.
    """

    title: str
    told: str
    races: Sequence[Race]
    shown: Sequence[str]
    explained: str
    claims: Sequence[tuple[str, str, str]] = ()


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


class World:
    """The players' states under one system."""

    def __init__(self, model: RatingModel, states: Mapping[str, FloatArray] | None = None) -> None:
        self._model = model
        self._states = dict(states or {})

    def rate(self, races: Sequence[Race]) -> World:
        """Rate races in order, and return this world."""
        for race in races:
            names, outcome = race.entrants()
            before = np.array([self._states.get(name, self._model.initial()) for name in names])
            self._states.update(zip(names, self._model.rate(before, outcome), strict=True))
        return self

    def copy(self) -> World:
        """Return a copy that can be rated further on its own."""
        return World(self._model, self._states)

    def points(self, name: str) -> int:
        """Return the player's points; a newcomer's, if the player has not raced."""
        return int(self._model.points(self._states.get(name, self._model.initial())[np.newaxis])[0])


def changes(situation: Situation, worlds: Mapping[str, World]) -> dict[str, dict[str, tuple[int, int]]]:
    """Rate a situation.

    Args:
        situation: the situation.
        worlds: each system's world after the common past. They are not changed.

    Returns:
        Points before and after the situation, by system, then by player.
    """
    table: dict[str, dict[str, tuple[int, int]]] = {}
    for system, start in worlds.items():
        world = start.copy()
        before = {name: world.points(name) for name in situation.shown}
        world.rate(situation.races)
        table[system] = {name: (before[name], world.points(name)) for name in situation.shown}
    return table


def after_the_past() -> dict[str, World]:
    """Return each system's world after the common past."""
    races = past()
    return {system: World(model).rate(races) for system, model in SYSTEMS.items()}


REGULARS = ("Ada", "Cleo", "Eve", "Gus")

SITUATIONS = (
    Situation(
        "Everybody finishes where expected",
        "Five regulars finish in the order of their ratings.",
        [Race([*REGULARS, "Ivo"])],
        [*REGULARS, "Ivo"],
        "The quiet case. All four systems agree on its shape: the front gains a little, and the last racer "
        "loses a little.",
        claims=(("racebot", "Ada", ">"), ("racebot", "Ivo", "<"), ("racetime.gg", "Ivo", "<")),
    ),
    Situation(
        "One forfeit",
        "Four racers finish. Finn, who usually beats Gus, forfeits.",
        [Race(REGULARS, ["Finn"])],
        [*REGULARS, "Finn"],
        "Everywhere Finn pays for the forfeit. In the other systems Finn also counts as beaten by all four, "
        "so even Gus gains for coming last of the finishers. racebot never compares a forfeit with a finish: "
        "Gus gains a little for finishing and loses more for the place.",
        claims=(
            ("racetime.gg", "Gus", ">"),
            ("TrueSkill", "Gus", ">"),
            ("Plackett–Luce", "Gus", ">"),
            ("racebot", "Gus", "<"),
            ("racebot", "Finn", "<"),
        ),
    ),
    Situation(
        "Three forfeits",
        "Three racers finish. The strongest, an average and the weakest racer forfeit.",
        [Race(["Cleo", "Eve", "Gus"], ["Ada", "Finn", "Juno"])],
        ["Cleo", "Eve", "Gus", "Ada", "Finn", "Juno"],
        "racetime.gg treats the three forfeits as a draw with each other. Juno has therefore drawn with the "
        "best racer, and gains by forfeiting. The other three systems do not rank forfeits against each "
        "other, and nobody gains by one.",
        claims=(
            ("racetime.gg", "Juno", ">"),
            ("TrueSkill", "Juno", "<"),
            ("Plackett–Luce", "Juno", "<"),
            ("racebot", "Juno", "<"),
        ),
    ),
    Situation(
        "One underdog finishes alone",
        "Gus finishes. Everybody else forfeits.",
        [Race(["Gus"], ["Ada", "Cleo", "Ivo", "Juno"])],
        ["Gus", "Ada", "Cleo", "Ivo", "Juno"],
        "On racetime.gg, Juno gains more by a forfeit than Gus by the win. Plackett–Luce takes the race for "
        "four victories and lifts Gus far. To racebot, Gus finished, but had nobody to beat: the gain "
        "is small.",
        claims=(
            ("racetime.gg", "Juno", ">"),
            ("racetime.gg", "Ivo", ">"),
            ("racebot", "Gus", ">"),
            ("racebot", "Juno", "<"),
            ("racebot", "Ivo", "<"),
        ),
    ),
    Situation(
        "The favorite finishes alone",
        "Ada, the strongest racer, finishes. Four weaker racers forfeit.",
        [Race(["Ada"], ["Gus", "Hana", "Ivo", "Juno"])],
        ["Ada", "Gus", "Hana", "Ivo", "Juno"],
        "On racetime.gg the only finisher loses a point, and the weakest racer gains some for the forfeit. "
        "Each race makes TrueSkill a little less sure of a rating, and a win that was expected does not make "
        "up for it. With racebot no winner loses.",
        claims=(
            ("racetime.gg", "Ada", "<"),
            ("racetime.gg", "Juno", ">"),
            ("racebot", "Ada", ">"),
            ("racebot", "Juno", "<"),
        ),
    ),
    Situation(
        "A win against newcomers",
        "Ada beats three players in their first race.",
        [Race(["Ada", "Nova", "Otis", "Pia"])],
        ["Ada", "Nova", "Otis", "Pia"],
        "Nothing is known of the newcomers, so Ada gains little. They move far, as in all four systems. "
        "TrueSkill and Plackett–Luce take points away from Pia, whose only fault is a last place on the first"
        " day. With racebot, Pia's points for finishing make up for the place.",
        claims=(
            ("racetime.gg", "Pia", "<"),
            ("TrueSkill", "Pia", "<"),
            ("Plackett–Luce", "Pia", "<"),
            ("racebot", "Pia", "="),
            ("racebot", "Ada", ">"),
        ),
    ),
    Situation(
        "A newcomer beats the regulars",
        "In a first race ever, Nova beats four regulars.",
        [Race(["Nova", "Ada", "Bo", "Cleo", "Gus"])],
        ["Nova", "Ada", "Bo", "Cleo", "Gus"],
        "In every system Nova jumps into the middle of the regulars: a win over four of them says a lot about"
        " a stranger. Plackett–Luce knows no uncertainty, so the win costs each regular some 80 points. In "
        "the other systems it costs them little, because Nova's starting points were only a guess.",
        claims=(("racebot", "Nova", ">"), ("racebot", "Gus", "<"), ("Plackett–Luce", "Ada", "<")),
    ),
    Situation(
        "A late finish",
        "Bo, one of the best, finishes an unlucky race behind five weaker racers.",
        [Race(["Eve", "Gus", "Hana", "Ivo", "Juno", "Bo"])],
        ["Eve", "Juno", "Bo"],
        "Coming last costs a strong racer points everywhere. Compare the next situation, in which Bo forfeits"
        " instead.",
        claims=(("racebot", "Bo", "<"), ("racebot", "Juno", ">")),
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
        claims=(("racebot", "Bo", "<"), ("racetime.gg", "Juno", ">"), ("racebot", "Juno", "<")),
    ),
    Situation(
        "The weakest racer comes last",
        "Juno finishes behind four much stronger racers, and nobody forfeits.",
        [Race(["Ada", "Bo", "Cleo", "Dag", "Juno"])],
        ["Ada", "Bo", "Cleo", "Dag", "Juno"],
        "This result surprises nobody, so it should cost next to nothing. Plackett–Luce still takes 51 "
        "points. With racebot the last racer cannot gain, and here does not lose either.",
        claims=(("Plackett–Luce", "Juno", "<"), ("racebot", "Juno", "=")),
    ),
    Situation(
        "A newcomer comes last",
        "Nova finishes a first race behind four regulars.",
        [Race([*REGULARS, "Nova"])],
        [*REGULARS, "Nova"],
        "TrueSkill and Plackett–Luce start newcomers below everybody else, and a last place still lets them "
        "fall. With racebot, the points for finishing make up for the place.",
        claims=(("racetime.gg", "Nova", "<"), ("Plackett–Luce", "Nova", "<"), ("racebot", "Nova", "=")),
    ),
    Situation(
        "A newcomer forfeits",
        "The same race, but Nova forfeits.",
        [Race(REGULARS, ["Nova"])],
        [*REGULARS, "Nova"],
        "To the other systems, a forfeit and a last place are the same. racebot tells them apart: Nova loses "
        "nothing by finishing last, and something by not finishing.",
        claims=(("racetime.gg", "Nova", "<"), ("racebot", "Nova", "<")),
    ),
    Situation(
        "A comeback after a year",
        "Cleo has not raced for a year, and comes fourth of five.",
        [Race(["Dag", "Eve", "Finn", "Cleo", "Gus"])],
        ["Dag", "Eve", "Finn", "Cleo", "Gus"],
        "None of the four systems lowers a rating that rests, and by default none asks how long the break "
        "was: the race counts as it would after a week. If long breaks matter in your category, `racebot "
        "tune` can fit how fast ratings go stale, and returning players then move faster.",
        claims=(("racebot", "Cleo", "<"), ("racebot", "Dag", ">")),
    ),
    Situation(
        "The favorite wins a race of two",
        "Ada beats Juno, as everybody expected.",
        [Race(["Ada", "Juno"])],
        ["Ada", "Juno"],
        "In TrueSkill both lose a point: the race says nothing new and costs certainty. racebot never takes "
        "points from a winner, and gives Ada one for finishing.",
        claims=(
            ("racetime.gg", "Ada", "<"),
            ("TrueSkill", "Ada", "<"),
            ("racebot", "Ada", ">"),
            ("racebot", "Juno", "="),
        ),
    ),
    Situation(
        "The favorite forfeits a race of two",
        "Ada forfeits, and Juno finishes.",
        [Race(["Juno"], ["Ada"])],
        ["Ada", "Juno"],
        "To the other systems, Juno beat the best racer. Plackett–Luce raises Juno's rating by two thirds. "
        "To racebot, Juno finished and Ada forfeited: Juno gains a little, and Ada pays.",
        claims=(("Plackett–Luce", "Juno", ">"), ("racebot", "Juno", ">"), ("racebot", "Ada", "<")),
    ),
    Situation(
        "A farm of weak opponents",
        "Bo races Juno 50 times, one against one, and always wins.",
        [Race(["Bo", "Juno"])] * 50,
        ["Bo", "Juno"],
        "Plackett–Luce can be farmed: every expected win gains points. In TrueSkill, 50 wins cost Bo "
        "points. racebot adds about one point a win, for finishing. Any other 50 finishes would have brought "
        "about as much.",
        claims=(
            ("racetime.gg", "Bo", "<"),
            ("TrueSkill", "Bo", "<"),
            ("Plackett–Luce", "Bo", ">"),
            ("racebot", "Bo", ">"),
        ),
    ),
    Situation(
        "Fifty races against a quitter",
        "Hana races Nova, who forfeits every time, 50 times.",
        [Race(["Hana"], ["Nova"])] * 50,
        ["Hana", "Nova"],
        "This is the cheapest farm, since it takes no skill. Plackett–Luce nearly doubles Hana's rating. "
        "racebot gives points for finishing only, and fewer of them as the rating rises.",
        claims=(("Plackett–Luce", "Hana", ">"), ("racebot", "Hana", ">"), ("racebot", "Nova", "<")),
    ),
    Situation(
        "Fifty forfeits in a row",
        "Nova joins 50 races of three regulars and forfeits each of them.",
        [Race(["Ada", "Bo", "Cleo"], ["Nova"])] * 50,
        ["Nova"],
        "Nova loses points in every system, and each forfeit costs less than the one before, because it "
        "surprises nobody.",
        claims=(("racetime.gg", "Nova", "<"), ("racebot", "Nova", "<")),
    ),
    Situation(
        "A tie for first",
        "Bo and Eve finish in the same second, ahead of Gus.",
        [Race([("Bo", "Eve"), "Gus"])],
        ["Bo", "Eve", "Gus"],
        "On racetime.gg a tie is a draw, so the stronger racer loses points for a first place. The other "
        "systems do not order the two at all: both were ahead of Gus.",
        claims=(("racetime.gg", "Bo", "<"), ("TrueSkill", "Bo", ">"), ("racebot", "Bo", ">")),
    ),
    Situation(
        "The winner is disqualified",
        "Ada finishes first and is disqualified. Cleo, Dag and Eve finished behind.",
        [Race(["Cleo", "Dag", "Eve"], ["Ada"])],
        ["Cleo", "Dag", "Eve", "Ada"],
        "All four systems rate a disqualification as a forfeit. racetime.gg shows the new scores once the "
        "race is recorded. racebot has told the room at the finish what the race would change, and now posts "
        "a correction that says why.",
        claims=(("racebot", "Ada", "<"), ("racebot", "Cleo", ">")),
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

Twenty invented situations, each rated by four systems: racetime.gg's own rule, TrueSkill, Plackett–Luce,
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
Finn, Gus, Hana, Ivo, Juno. Nova, Otis and Pia are newcomers.

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
