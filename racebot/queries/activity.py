"""When a category races, and how many do: by month, by goal, and by hour of the week."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from statistics import median
from typing import Annotated, Any

from pydantic import Field

from racebot.ledger.rows import moment_of
from racebot.ledger.store import Ledger
from racebot.text.format import exact_time

REGULAR = 4  # races of a month that make a regular
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
        "SELECT ended_at, goal, fastest,"
        " CASE WHEN json_valid(result) THEN json_extract(result, '$.started_at') END,"
        " (SELECT group_concat(player, char(31)) FROM changes WHERE leaderboard = board AND sequence = nr)"
        " FROM (SELECT race, min(leaderboard) AS board, sequence AS nr FROM rated WHERE note IS NULL"
        "  AND leaderboard IN (SELECT id FROM leaderboards WHERE category = ?) GROUP BY race)"
        " JOIN races ON races.name = race ORDER BY ended_at, race",
        category,
    )
    if not rows:
        return None
    of_month, of_goal = defaultdict[str, list[Any]](list), defaultdict[str, list[Any]](list)
    first, final = dict[str, str](), dict[str, str]()
    for end, goal, fastest, _, joined in rows:
        players = (joined or "").split("\x1f")
        of_month[end[:7]].append((goal, players))
        of_goal[goal].append((end, len(players), fastest))
        for each in players:
            first.setdefault(each, end)
            final[each] = end
    newcomers = Counter(end[:7] for end in first.values())
    returned = Counter(end[:7] for player, end in first.items() if final[player][:10] > end[:10])
    months, goals = [], []
    for month, own in of_month.items():
        by_goal, fields = zip(*own, strict=True)
        entered = Counter(chain(*fields))
        months.append(
            MonthActivity(
                month=month,
                goals=dict(Counter(by_goal).most_common()),
                median_field=median(map(len, fields)),
                races=len(own),
                racers=len(entered),
                newcomers=newcomers[month],
                returned=returned[month],
                regulars=sum(count >= REGULAR for count in entered.values()),
            )
        )
    for goal, own in sorted(of_goal.items(), key=lambda each: -len(each[1])):
        ends, sizes, times = zip(*own, strict=True)
        wins = [time / 1e6 for time in times if time]
        median_time = median(wins) if wins else None
        goals.append(GoalActivity(goal, len(own), moment_of(ends[-1]), median(sizes), median_time))
    last = moment_of(rows[-1][0])
    year = exact_time(last - YEAR)
    return CategoryActivity(
        category=category,
        races=len(rows),
        racers=len(first),
        last_race_at=last,
        starts=sorted(moment_of(start or end) for end, _, _, start, _ in rows if end > year),
        months=months[::-1],
        goals=goals,
    )
