"""Records of a leaderboard, and the players below it."""

import random
from datetime import timedelta

import pytest
from builders import NOON, entrant, result, settler_of

from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import leaderboard_report
from racebot.queries.records import SHOWN, hall_of_fame
from racebot.queries.standings import Listing
from racebot.races.result import RaceResult
from racebot.standings import orders
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.rebuild import carry_out_rebuilds
from racebot.standings.settle import Settler

NAMES = [f"player-{number:02}" for number in range(30)]
LATER = NOON + timedelta(days=400)


def invented_races(count: int) -> list[RaceResult]:
    """Races in which some do not finish, some are disqualified with a time, and many times are equal."""
    rng = random.Random(3)
    races = []
    for number in range(count):
        racers = [
            entrant(name, rng.choice(("done", "done", "done", "dnf", "dq")), time=rng.randint(50, 59))
            for name in rng.sample(NAMES, rng.randint(1, 6))
        ]
        racers.sort(key=lambda racer: racer.finish_time or 0)
        races.append(result(f"r{number}", after=number, entrants=tuple(racers)))
    return races


RACES = invented_races(120)


@pytest.fixture
def settler(ledger: Ledger) -> Settler:
    settler = settler_of(ledger, "elo-ffa")
    settler.add_past_races(RACES, "import")
    carry_out_rebuilds(ledger)  # on a slow machine, so many races get one
    return settler


@pytest.fixture
def board(settler: Settler) -> Leaderboard:
    (board,) = settler.ledger.leaderboards.all()
    return board


def test_fastest_times_are_those_of_every_finish_in_races_that_count(
    settler: Settler, board: Leaderboard
) -> None:
    ledger = settler.ledger
    orders.hide(settler, ledger.players.find(NAMES[0]), "", LATER)
    best: dict[str, float] = {}
    for race in RACES:
        for each in race.entrants:
            row = ledger.ratings.get(board, race.name)
            if each.finished and each.user_id != f"id-{NAMES[0]}" and row is not None and row.changes:
                time = (each.finish_time or 0) / 1_000_000
                best[str(each.user_id)] = min(best.get(str(each.user_id), time), time)
    (found,) = hall_of_fame(ledger, board, settled=0).times.values()
    assert [each.number for each in found] == sorted(best.values())[:SHOWN]
    assert all(best[each.player.id] == each.number for each in found)
    assert [each.rank for each in found] == [
        1 + sum(time < each.number for time in best.values()) for each in found
    ]
    first = found[0]
    stored = ledger.races.find(first.race.race).result
    assert (stored.ended_at, stored.name) == (first.race.ended_at, first.race.race)


def test_each_goal_has_fastest_times_of_its_own(ledger: Ledger) -> None:
    config = LeaderboardConfig("elo-ffa", name="Both", goals=("Any Orb", "All Orbs"))
    settler = Settler(ledger, RatingRules(LeaderboardConfig("elo-ffa"), (config,)))
    other = result("b", "bo ann", after=1, goal="All Orbs")
    settler.add_past_races([result("a", "ann bo"), other], "import")
    (board,) = ledger.leaderboards.all()
    found = hall_of_fame(ledger, board, settled=0).times
    named = {goal: [each.player.name for each in of_goal] for goal, of_goal in found.items()}
    assert named == {"Any Orb": ["Ann", "Bo"], "All Orbs": ["Bo", "Ann"]}


def test_closest_finishes_are_the_smallest_gaps_between_the_first_two(
    settler: Settler, board: Leaderboard
) -> None:
    ledger = settler.ledger
    orders.hide(settler, ledger.players.find(NAMES[0]), "", LATER)
    mates = tuple(entrant(name, time=70 + n, team=name[:1]) for n, name in enumerate(("an", "al", "bo")))
    deleted = (entrant("an", time=70), entrant("gone", time=70, user_id=None))
    more = [result("teams", after=300, entrants=mates), result("deleted", after=301, entrants=deleted)]
    settler.add_past_races(more, "import")
    gaps = []
    for race in RACES:
        row = ledger.ratings.get(board, race.name)
        first = sorted((each.finish_time or 0, each.name) for each in race.entrants if each.finished)[:2]
        if row and row.changes and len(first) == 2 and NAMES[0].title() not in {name for _, name in first}:
            gaps.append((first[1][0] - first[0][0]) / 1_000_000)
    found = hall_of_fame(ledger, board, settled=0).closest
    assert [each.number for each in found] == sorted(gaps)[:SHOWN]
    stored = {each.name: each.finish_time for each in ledger.races.find(found[-1].race.race).result.entrants}
    last = found[-1]
    assert last.second is not None
    assert (stored[last.second.name] or 0) - (stored[last.player.name] or 0) == round(last.number * 1_000_000)


def test_most_wins_and_races_share_ranks_and_leave_out_hidden_players(
    settler: Settler, board: Leaderboard
) -> None:
    ledger = settler.ledger
    most = max(ledger.standings.all(board), key=lambda each: each.wins)
    orders.forget(settler, ledger.players.find(most.player), "", LATER)
    fame = hall_of_fame(ledger, board, settled=0)
    others = [each for each in ledger.standings.all(board) if each.player != most.player]
    for records, numbers in (
        (fame.wins, [each.wins for each in others]),
        (fame.races, [each.races for each in others]),
    ):
        assert [each.number for each in records] == sorted(numbers, reverse=True)[:SHOWN]
        assert [each.rank for each in records] == [
            1 + sum(other > each.number for other in numbers) for each in records
        ]
        assert len({each.rank for each in records}) < len(records), "some are equal"


def test_unranked_players_are_all_who_lack_finishes(settler: Settler, board: Leaderboard) -> None:
    ledger = settler.ledger
    hidden = f"id-{NAMES[3]}"
    orders.hide(settler, ledger.players.find(NAMES[3]), "", LATER)
    listing = Listing(minimum_finishes=12, inactive_days=2)
    listed = leaderboard_report(ledger, board, listing).players
    total = len(listed.unranked_rows)
    found = listed.unranked(total + 1)
    assert listed.unranked(4) == found[:4]
    assert len({each.id for each in found}) == total == len(found)
    finishes = [each.finishes for each in found]
    assert finishes == sorted(finishes, reverse=True)
    assert all(each.finishes < 12 for each in found)
    ranked = {each.id for each in leaderboard_report(ledger, board, listing).players}
    everybody = {each.id for each in leaderboard_report(ledger, board, Listing(inactive_days=2)).players}
    assert {each.id for each in found} == everybody - ranked
    assert ranked
    assert hidden not in everybody
