"""Compute a player's statistics: peak, form, streaks, records, best and worst races, places, and months."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date
from itertools import groupby, takewhile

from racebot.queries.player import PlayedRace
from racebot.web.site.ledger_view import LedgerView

LAST_PLACE = 10
"""Places after this one are counted together."""
RACES_NAMED = 3
"""Number of best races to show, and of worst races."""
FORM = 10
"""Number of last races that make up the form."""


@dataclass(frozen=True, slots=True)
class PlaceCount:
    """How often a player finished in a place."""

    place: str
    races: int


@dataclass(frozen=True, slots=True)
class Month:
    """A player's races in one month, and the points after the last race."""

    first_day: date
    races: int
    points: int
    change: int


@dataclass(frozen=True, slots=True)
class RunLengths:
    """How many races in a row met a condition: in the current run, and in the longest one."""

    now: int
    longest: int


@dataclass(frozen=True, slots=True)
class PlayerFigures:
    """Statistics of a player's races.

    `peak` is the first race after which the points were highest. `best` and `worst` leave out provisional
    ratings if `only_settled`. `months` are newest first, `form` oldest first. `fastest` has one a goal.
    """

    peak: PlayedRace
    only_settled: bool
    best: Sequence[PlayedRace]
    worst: Sequence[PlayedRace]
    places: Sequence[PlaceCount]
    months: Sequence[Month]
    form: Sequence[PlayedRace]
    form_change: int
    wins: RunLengths
    finishes: RunLengths
    fastest: Sequence[PlayedRace]


def player_figures(view: LedgerView, races: Sequence[PlayedRace]) -> PlayerFigures:
    """Compute a player's statistics from all of their races, oldest first."""
    settled = [race for race in races if not view.provisional(race.races_before)]
    rises = sorted(settled or races, key=lambda race: race.change, reverse=True)
    form = races[-FORM:]
    return PlayerFigures(
        peak=max(races, key=lambda race: race.after),
        only_settled=bool(settled),
        best=[race for race in rises[:RACES_NAMED] if race.change > 0],
        worst=[race for race in rises[: -RACES_NAMED - 1 : -1] if race.change < 0],
        places=_places(races),
        months=_months(races),
        form=form,
        form_change=sum(race.change for race in form),
        wins=_streak([race.place == 1 for race in races]),
        finishes=_streak([race.place is not None for race in races]),
        fastest=_fastest(races),
    )


def _places(races: Sequence[PlayedRace]) -> list[PlaceCount]:
    taken = Counter(race.place for race in races)
    rows = [PlaceCount(str(place), taken[place]) for place in range(1, LAST_PLACE + 1) if taken[place]]
    behind = sum(races for place, races in taken.items() if place is not None and place > LAST_PLACE)
    if behind:
        rows.append(PlaceCount(f"{LAST_PLACE + 1}+", behind))
    if taken[None]:
        rows.append(PlaceCount("unfinished", taken[None]))
    return rows


def _months(races: Sequence[PlayedRace]) -> list[Month]:
    months = []
    for first_day, group in groupby(races, key=_first_of_month):
        rows = list(group)
        months.append(Month(first_day, len(rows), rows[-1].after, sum(row.change for row in rows)))
    return months[::-1]


def _first_of_month(race: PlayedRace) -> date:
    return race.ended_at.astimezone(UTC).date().replace(day=1)


def _streak(reached: Sequence[bool]) -> RunLengths:
    runs = [sum(1 for _ in group) for each, group in groupby(reached) if each]
    return RunLengths(sum(1 for _ in takewhile(bool, reversed(reached))), max(runs, default=0))


def _fastest(races: Sequence[PlayedRace]) -> list[PlayedRace]:
    best: dict[str, PlayedRace] = {}
    for race in races:
        time = race.finish_time
        if time is not None and (race.goal not in best or time < (best[race.goal].finish_time or 0)):
            best[race.goal] = race
    return [best[goal] for goal in sorted(best)]
