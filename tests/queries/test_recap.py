"""The facts of a season, worked out by hand.

By `SIMPLE`, the winner of a duel gains 200 times the loser's share of both ratings.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from builders import CATEGORY, SECOND, entrant, result

from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries.records import Recap, final_from, final_since, recap
from racebot.queries.standings import Listing
from racebot.races.result import RaceResult
from racebot.races.rooms import RoomRule
from racebot.scoring.rules import rules_of
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.settle import Settler

EVERYBODY = Listing(provisional_races=1)
SIMPLE = LeaderboardConfig("pairwise-elo", {"initial_rating": 1.0, "dummy": None, "rates": [0.2]})


def duel(number: int, first: str, second: str, time: int = 3600, gap: int = 60) -> RaceResult:
    racers = entrant(first, time=time * SECOND), entrant(second, time=(time + gap) * SECOND)
    return result(f"r{number}", after=number, entrants=racers)


SEASON = (
    duel(1, "ann", "bo"),  # Ann 1100, Bo 900
    duel(2, "bo", "ann"),  # Bo 1010, Ann 990
    duel(3, "bo", "ann", gap=2),  # Bo 1109, Ann 891
    duel(4, "cy", "di", time=3500, gap=2),  # Cy 1100, Di 900
    duel(5, "cy", "di"),  # Cy 1190, Di 810
    duel(6, "ann", "bo"),  # Ann 1001.9, Bo 998.1
)


@pytest.fixture
def settler(ledger: Ledger) -> Settler:
    return Settler(ledger, RatingRules(SIMPLE))


def season_of(settler: Settler, *races: RaceResult, listing: Listing = EVERYBODY) -> Recap:
    settler.add_past_races(races, "import")
    (board,) = settler.ledger.leaderboards.all()
    return recap(settler.ledger, board, listing)


def podium(found: Recap) -> list[tuple[int, str]]:
    return [(each.place, each.player.name) for each in found.podium]


def test_facts_of_a_season_are_those_worked_out_by_hand(settler: Settler) -> None:
    found = season_of(settler, *SEASON)
    assert podium(found) == [(1, "Cy"), (2, "Ann"), (3, "Bo")]
    assert [(each.total, each.races, each.wins) for each in found.podium] == [
        *((1190, 2, 2), (1002, 4, 2), (998, 4, 2))
    ]
    assert found.span is not None
    assert [each.race for each in found.span] == ["orb/r1", "orb/r6"]
    (upset,) = found.upsets
    assert (upset.player.name, upset.race.race) == ("Ann", "orb/r6")
    assert upset.number == pytest.approx(891 / 2000, abs=0.001)
    (fastest,) = found.fastest["Any Orb"]
    assert (fastest.player.name, fastest.number, fastest.race.race) == ("Cy", 3500.0, "orb/r4")
    feats = [(each.player.name, each.number, each.race.race) for each in found.most_races]
    assert feats == [("Ann", 4, "orb/r6"), ("Bo", 4, "orb/r6")]
    streaks = [(each.player.name, each.number, each.race.race) for each in found.streaks]
    assert streaks == [("Bo", 2, "orb/r3"), ("Cy", 2, "orb/r5")]
    closest = [
        (each.player.name, each.second and each.second.name, each.number, each.race.race)
        for each in found.closest
    ]
    assert closest == [("Bo", "Ann", 2.0, "orb/r3"), ("Cy", "Di", 2.0, "orb/r4")]


def test_equal_players_share_the_podium(settler: Settler) -> None:
    found = season_of(settler, result("r1", "ann=bo cy"), result("r2", "di=ed fay", after=1))
    assert podium(found) == [(1, "Ann"), (1, "Bo"), (1, "Di"), (1, "Ed")]
    assert [each.number for each in found.closest] == [0.0, 0.0]


def test_scores_make_the_podium_if_they_order_the_leaderboard(settler: Settler) -> None:
    rules = rules_of({"rules": "sgl-2025", "par": 1})
    found = season_of(settler, *SEASON, listing=replace(EVERYBODY, scoring=rules))
    # The winner's time is the par: 3602 s score 100 · (2 − 3602/3600). The worst of four scores is dropped.
    champion = found.podium[0]
    assert (champion.place, champion.player.name, champion.races, champion.wins) == (1, "Ann", 4, None)
    assert champion.total == pytest.approx((100 + 99.944 + 100) / 3, abs=0.001)
    assert podium(season_of(settler, listing=replace(EVERYBODY, scoring=rules, by_rating=True)))[0] == (
        1,
        "Cy",
    )


@pytest.mark.parametrize(
    ("until", "final", "grace"),
    [
        ("2026-11-01T00:00:00+00:00", "2026-11-02", 1),
        ("2026-11-01T00:00:01+00:00", "2026-11-03", 1),
        ("2026-11-01T18:30:00+00:00", "2026-11-03", 24),
        ("2026-11-01T23:30:00-05:00", "2026-11-04", 1),  # 04:30 UTC on the 2nd
        ("2026-11-01T00:00:00+00:00", "2026-11-04", 49),
        ("9999-12-31T00:00:00+00:00", None, 1),
        (None, None, 1),
    ],
)
def test_season_is_final_from_the_first_midnight_after_a_day_and_its_grace(
    until: str | None, final: str | None, grace: int
) -> None:
    moment = datetime.fromisoformat(until) if until else None
    rule = RoomRule(until=moment, finished=True, grace=timedelta(hours=grace))
    board = Leaderboard(CATEGORY, "S9", ("S9",), "elo", {}, "ignore", rule=rule)
    expected = datetime.fromisoformat(final).replace(tzinfo=UTC) if final else None
    assert final_from(rule) == expected
    last = expected or datetime.max.replace(tzinfo=UTC)
    assert final_since(board, last - timedelta(seconds=1)) is None
    assert final_since(board, last) == expected
