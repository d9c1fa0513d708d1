"""When a category races, and how many do: by month, by goal, and by hour of the week."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from racebot.ledger.rows import moment_of
from racebot.ledger.store import Ledger
from racebot.text.format import exact_time

REGULAR = 4
"""Races of a month that make a regular."""
YEAR = timedelta(days=365)

MedianField = Annotated[float, Field(description="Median number of rated racers of a race")]


@dataclass(frozen=True, slots=True)
class MonthActivity:
    """A month of a category in UTC, such as `2026-03`. `goals` has the number of races on each goal."""

    month: str
    goals: Mapping[str, int]
    median_field: MedianField
    races: int
    racers: int
    newcomers: Annotated[int, Field(description="Racers in their first race of the category")]
    returned: Annotated[int, Field(description="Those newcomers who raced again on a later day")]
    regulars: Annotated[int, Field(description=f"Racers with {REGULAR} races or more in the month")]


@dataclass(frozen=True, slots=True)
class GoalActivity:
    """The races on a goal."""

    goal: str
    races: int
    last_race_at: datetime
    median_field: MedianField
    median_time: Annotated[float | None, Field(description="Median winning time, seconds")]


@dataclass(frozen=True, slots=True)
class CategoryActivity:
    """When a category races, and how many do. A race counts once, on however many leaderboards."""

    category: str
    races: int
    racers: int
    last_race_at: datetime
    starts: Annotated[
        Sequence[datetime],
        Field(description="Starts in the year before the last race, in order; the end of a race without one"),
    ]
    months: Annotated[Sequence[MonthActivity], Field(description="Months with races, the last one first")]
    goals: Annotated[Sequence[GoalActivity], Field(description="The goal with most races first")]


def category_activity(ledger: Ledger, category: str) -> CategoryActivity | None:
    """Return the activity of a category from the races that changed ratings, None without any."""
    rows = ledger.connection.rows(
        "SELECT min(leaderboard), sequence, ended_at, goal, fastest,"
        " CASE WHEN json_valid(result) THEN json_extract(result, '$.started_at') END"
        " FROM rated JOIN leaderboards AS board ON board.id = leaderboard JOIN races ON races.name = race"
        " WHERE board.category = ? AND note IS NULL GROUP BY race ORDER BY ended_at, race",
        category,
    )
    if not rows:
        return None
    boards, sequences, ends, goals, fastest, started = zip(*rows, strict=True)
    player, race = _entries(ledger, np.array(boards), np.array(sequences))
    fields = np.bincount(race, minlength=len(rows))
    days = np.array([end[:10] for end in ends], "datetime64[D]")
    names, month = np.unique([end[:7] for end in ends], return_inverse=True)
    # The entries of each player stand together, in the order of the races.
    other = player[1:] != player[:-1]
    first, final = race[np.r_[True, other]], race[np.r_[other, True]]
    entered, times = np.unique(player * len(names) + month[race], return_counts=True)
    racers, newcomers = entered % len(names), month[first]
    groups = (month, racers, newcomers, newcomers[days[final] > days[first]], racers[times >= REGULAR])
    figures = np.stack([np.bincount(each, minlength=len(names)) for each in groups], axis=1)
    of_month, of_goal = defaultdict[int, list[int]](list), defaultdict[str, list[int]](list)
    for number, (at, goal) in enumerate(zip(month.tolist(), goals, strict=True)):
        of_month[at].append(number)
        of_goal[goal].append(number)
    months = []
    for at, own in of_month.items():
        by_goal = dict(Counter(goals[each] for each in own).most_common())
        months.append(
            MonthActivity(str(names[at]), by_goal, float(np.median(fields[own])), *figures[at].tolist())
        )
    found = []
    for goal, own in sorted(of_goal.items(), key=lambda each: -len(each[1])):
        wins = [time / 1e6 for each in own if (time := fastest[each])]
        typical = float(np.median(fields[own])), median(wins) if wins else None
        found.append(GoalActivity(goal, len(own), moment_of(ends[own[-1]]), *typical))
    last = moment_of(ends[-1])
    year = range(bisect_right(ends, exact_time(last - YEAR)), len(ends))
    starts = sorted(moment_of(started[each] or ends[each]) for each in year)
    return CategoryActivity(category, len(rows), len(first), last, starts, months[::-1], found)


def _entries(
    ledger: Ledger, boards: NDArray[np.int64], sequences: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a number of the player and the index of the race of each entry in races, in this order.

    The races are given by leaderboard and number in its sequence.
    """
    known: dict[str, int] = {}
    found = []
    for board in np.unique(boards).tolist():
        rows = ledger.connection.rows(
            "SELECT player, group_concat(sequence), count(*) FROM changes INDEXED BY changes_by_player"
            " WHERE leaderboard = ? GROUP BY player",
            board,
        )
        own = boards == board
        sequence = np.fromstring(",".join(row[1] for row in rows), int, sep=",")
        race_of = np.full(1 + max(sequence.max(), sequences[own].max()), -1)
        race_of[sequences[own]] = np.flatnonzero(own)
        player = np.repeat([known.setdefault(row[0], len(known)) for row in rows], [row[2] for row in rows])
        entries = np.stack((player, race_of[sequence]))
        found.append(entries[:, entries[1] >= 0])
    player, race = np.concatenate(found, axis=1)
    order = np.lexsort((race, player))
    return player[order], race[order]
