"""Turns a race result into a partial ordering of its rated entrants. The policy on DNFs is here.

Finishers with equal times share a group; entrants who did not finish (DNF or disqualified) form the last
group. The order within a group is unknown.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from racebot.errors import PayloadError
from racebot.races.result import Entrant, EntrantStatus, RaceResult

IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """A partial ordering of the n rated entrants of one race.

    Attributes:
        group: shape [n]; 0 is the best group. Unrated entrants' groups count, too; with them, there are no
            gaps. The order within a group is unknown.
        unfinished: shape [n]; True for an entrant who did not finish. They all share the last group.
        last_group: the group of the race's last entrant, rated or not.
        last_unfinished: whether the race's last group is the group of entrants who did not finish.
        team: shape [n], the team's number, in team races rated by team; otherwise None. All members of a
            team share a group.
        day: when the race ended, in days since 1970-01-01 UTC, for models that use time.
    """

    group: IntArray
    unfinished: BoolArray
    last_group: int
    last_unfinished: bool
    team: IntArray | None = None
    day: float = 0.0

    @classmethod
    def of(
        cls,
        places: Sequence[int],
        *,
        unfinished: int = 0,
        team: Sequence[int] | None = None,
        day: float = 0.0,
    ) -> Outcome:
        """Return the outcome of finishers with these places, and of `unfinished` entrants who did not finish.

        Places may start anywhere and have gaps; equal places share a group. For studies and tests in which
        every entrant is rated.
        """
        order = {place: index for index, place in enumerate(sorted(set(places)))}
        group = [order[place] for place in places] + [len(order)] * unfinished
        return cls(
            group=np.array(group, dtype=np.intp),
            unfinished=np.array([False] * len(places) + [True] * unfinished),
            last_group=max(group, default=0),
            last_unfinished=unfinished > 0,
            team=None if team is None else np.array(team, dtype=np.intp),
            day=day,
        )

    @property
    def size(self) -> int:
        """Return the number of rated entrants, n."""
        return int(self.group.size)

    @property
    def rateable(self) -> bool:
        """Return whether the race can change ratings: it has a finisher, and entrants in different groups."""
        return len(set(self.group.tolist())) > 1


class TeamPolicy(StrEnum):
    """How a team race affects the ratings of the teams' members."""

    IGNORE = "ignore"
    """Team races are not rated."""
    INDIVIDUAL = "individual"
    """Each member is rated by their own time, as if there were no teams."""
    TEAM = "team"
    """The team's result is the mean of its members' times. If a member has none, neither has the team."""


@dataclass(frozen=True, slots=True, eq=False)
class PlacedRace:
    """A race with its n rated entrants as a model sees it.

    `entrants`, `players` (their user ids) and `places` (None for an entrant who did not finish) are in the
    order of the rows of `outcome`.
    """

    entrants: tuple[Entrant, ...]
    players: tuple[str, ...]
    places: tuple[int | None, ...]
    outcome: Outcome


def outcome_of(result: RaceResult, teams: TeamPolicy = TeamPolicy.IGNORE) -> PlacedRace:
    """Return the partial ordering of a result's rated entrants.

    Leaves out entrants who are still racing, and entrants without an account, though these keep their places.
    Rows are sorted by group, then by user id, so that they do not depend on the site's order. Finishers
    without comparable times or places, or an entrant listed twice, are a `PayloadError`.
    """
    entrants, times, places, by_team = _placed(result, teams)
    finishes = sorted({time for time in times if time is not None})
    groups = [len(finishes) if time is None else bisect_left(finishes, time) for time in times]
    rated = sorted(
        (group, entrant.team or "", entrant.user_id, row)
        for row, (group, entrant) in enumerate(zip(groups, entrants, strict=True))
        if entrant.user_id is not None
    )
    ids = tuple(player for _, _, player, _ in rated)
    if len(set(ids)) != len(ids):
        twice = next(player for player in ids if ids.count(player) > 1)
        raise PayloadError(f"race {result.name}: entrant {twice} is listed twice")
    team = None
    if by_team:
        names = _teams([entrants[row] for *_, row in rated])
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        team = np.array([numbers[name] for name in names], dtype=np.intp)
    group = np.array([each[0] for each in rated], dtype=np.intp)
    outcome = Outcome(
        group=group,
        unfinished=group == len(finishes),
        last_group=max(groups, default=0),
        last_unfinished=None in times,
        team=team,
        day=result.ended_at.timestamp() / 86_400.0,
    )
    rows = [row for *_, row in rated]
    return PlacedRace(tuple(entrants[row] for row in rows), ids, tuple(places[row] for row in rows), outcome)


def places(result: RaceResult, teams: TeamPolicy = TeamPolicy.IGNORE) -> dict[Entrant, int | None]:
    """Return each finisher's place; None for entrants who did not finish. Equal times share a place.

    With `TeamPolicy.TEAM` it is the place of the entrant's team. Empty if the results cannot be compared.
    """
    try:
        entrants, _, found, _ = _placed(result, teams)
    except PayloadError:
        return {}
    return dict(zip(entrants, found, strict=True))


def _placed(
    result: RaceResult, teams: TeamPolicy
) -> tuple[list[Entrant], list[float | None], list[int | None], bool]:
    """Return the entrants who are not racing, their times and places, and whether these are by team."""
    entrants = [e for e in result.entrants if e.status is not EntrantStatus.RACING]
    by_team = result.team_race and teams is TeamPolicy.TEAM
    times = (_team_times if by_team else _times)(result.name, entrants)
    sides = _teams(entrants) if by_team else range(len(entrants))
    finishes = sorted(time for time in dict(zip(sides, times, strict=True)).values() if time is not None)
    found = [None if time is None else 1 + bisect_left(finishes, time) for time in times]
    return entrants, times, found, by_team


def _times(race: str, entrants: Sequence[Entrant]) -> list[float | None]:
    """Return a number for each finisher, lower being better; None for entrants who did not finish.

    The site's `place` is used only if there are no times: it lags behind after a disqualification, and it
    ranks equal times.
    """
    finishers = [e for e in entrants if e.finished]
    if all(e.finish_time is not None for e in finishers):
        return [e.finish_time if e.finished else None for e in entrants]
    if all(e.place is not None for e in finishers):
        return [e.place if e.finished else None for e in entrants]
    raise PayloadError(f"race {race}: some finishers have neither a finish time nor a place")


def _team_times(race: str, entrants: Sequence[Entrant]) -> list[float | None]:
    members: dict[str, list[float | None]] = defaultdict(list)
    names = _teams(entrants)
    for name, time in zip(names, _times(race, entrants), strict=True):
        members[name].append(time)
    means = {
        name: None if None in times else sum(filter(None, times)) / len(times)
        for name, times in members.items()
    }
    return [means[name] for name in names]


def _teams(entrants: Sequence[Entrant]) -> list[str]:
    """Return each entrant's team. In a team race, an entrant without a team stands alone."""
    return [e.team or f"\0{index}" for index, e in enumerate(entrants)]
