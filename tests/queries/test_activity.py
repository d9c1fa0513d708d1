"""Activity of a category: each race that changed ratings counts once, on however many leaderboards."""

import random
from datetime import timedelta
from statistics import median
from typing import Any

from builders import CATEGORY, GOAL, HOUR, NOON, SECOND, existing, result

from racebot.ledger.store import Ledger
from racebot.queries.activity import category_activity
from racebot.races.result import RaceResult
from racebot.standings import orders
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.settle import Settler

OTHER = "Other Orb"
MODEL = LeaderboardConfig("pairwise-elo")
RULES = RatingRules(MODEL, (LeaderboardConfig("pairwise-elo", name="A of both", goals=(GOAL, OTHER)),))
"""Races on the first goal count on one leaderboard, and two others on two."""


def invented_races() -> list[RaceResult]:
    """Races of two years, of which some tell their start, in the order of their ends."""
    rng = random.Random(5)
    names = [f"p{number}" for number in range(20)]
    races = []
    for number in range(150):
        after = number * 117 + rng.random()
        start = NOON + timedelta(hours=after - 2)
        more: dict[str, Any] = {"started_at": start, "goal": OTHER} if number % 3 else {}
        field = " ".join(rng.sample(names, rng.randint(2, 6)))
        races.append(result(f"r{number}", field, after=after, **more))
    return races


RACES = invented_races()


def test_counts_of_a_category_are_those_of_its_races(ledger: Ledger) -> None:
    settler = Settler(ledger, RULES)
    settler.add_past_races(
        [
            *RACES,
            result("alone", "p0", after=5),
            result("away", "p0 p1", name="gem/x", category="gem", after=9),
        ],
        "import",
    )
    orders.exclude(settler, existing(ledger.races.get(RACES[-1].name)), "a test", NOON)
    races, last = RACES[:-1], RACES[-2].ended_at
    found = existing(category_activity(ledger, CATEGORY))
    assert (found.races, found.last_race_at) == (len(races), last)
    year = [race for race in races if race.ended_at > last - timedelta(days=365)]
    assert found.starts == sorted(race.started_at or race.ended_at for race in year)

    days = {
        each: [race.ended_at.date() for race in races if each in ids(race)]
        for race in races
        for each in ids(race)
    }
    assert found.racers == len(days)
    of_month: dict[str, list[RaceResult]] = {f"{race.ended_at:%Y-%m}": [] for race in races}
    for race in races:
        of_month[f"{race.ended_at:%Y-%m}"].append(race)
    assert [each.month for each in found.months] == sorted(of_month, reverse=True)
    for each in found.months:
        own = of_month[each.month]
        entries = [player for race in own for player in ids(race)]
        new = [player for player, entered in days.items() if f"{entered[0]:%Y-%m}" == each.month]
        assert each.races == len(own) == sum(each.goals.values())
        assert each.goals.get(OTHER, 0) == sum(race.goal == OTHER for race in own)
        assert (each.racers, each.newcomers) == (len(set(entries)), len(new))
        assert each.returned == sum(days[player][-1] > days[player][0] for player in new)
        assert each.regulars == sum(entries.count(player) >= 4 for player in set(entries))
        assert each.median_field == median(len(race.entrants) for race in own)
    assert [(each.goal, each.races) for each in found.goals] == [
        (goal, sum(race.goal == goal for race in races)) for goal in (OTHER, GOAL)
    ]
    for goal in found.goals:
        own = [race for race in races if race.goal == goal.goal]
        assert goal.last_race_at == own[-1].ended_at
        assert goal.median_field == median(len(race.entrants) for race in own)
        assert goal.median_time == HOUR / SECOND  # every race is won in an hour


def test_a_category_without_a_race_has_no_activity(ledger: Ledger) -> None:
    Settler(ledger, RULES).add_past_races([result("alone", "ann")], "import")
    assert category_activity(ledger, CATEGORY) is category_activity(ledger, "gem") is None


def ids(race: RaceResult) -> list[str]:
    return [str(each.user_id) for each in race.entrants]
