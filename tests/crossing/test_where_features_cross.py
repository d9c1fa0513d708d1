"""Faults where two features meet, each with the fewest steps that show it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from builders import CATEGORY, GOAL, entrant, existing, result
from standings.seasons import NOW, board_of, fresh, settle

from racebot.bot.status import status
from racebot.files.options import DEFAULT
from racebot.ledger.rows import Leaderboard, Player
from racebot.ledger.store import Ledger
from racebot.queries.player import last_race, last_results, played_races
from racebot.queries.races import rating_changes
from racebot.queries.records import recap
from racebot.queries.seeds import tournament_report
from racebot.queries.standings import Listing
from racebot.races.events import Event
from racebot.races.rooms import BY_GOALS, Carry, RoomRule
from racebot.ratings.parameters import Parameters
from racebot.settings.model import Settings
from racebot.standings import improve, orders, rebuild
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.events import EventSteps
from racebot.standings.follow_settings import apply_settings, follow_renames
from racebot.standings.rebuild import carry_out_rebuilds
from racebot.standings.settle import Settler
from racebot.standings.verify import verify

LEAGUE = LeaderboardConfig(
    "thurstone-hurdle", name="League", goals=(GOAL,), rule=RoomRule(finished=True, grace=timedelta(0))
)
RACES = [result(f"r{n}", "ann bo" if n % 2 else "bo cy ann", after=n) for n in range(4)]
SITE_ID = "Zed0000000000001"


@pytest.fixture
def settler() -> Iterator[Settler]:
    with fresh(RatingRules(LeaderboardConfig("thurstone-hurdle"))) as made:
        yield made


@pytest.fixture
def everything_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rate a leaderboard outside the transaction of a change, whatever its size."""
    monkeypatch.setattr(rebuild, "fits", lambda board, races: False)


def rate_again(settler: Settler) -> None:
    assert carry_out_rebuilds(settler.ledger) == {}


def player(settler: Settler, key: str) -> Player:
    return existing(settler.ledger.players.get(key))


def merge(settler: Settler, old: str, kept: str) -> None:
    orders.merge_accounts(settler, player(settler, old), player(settler, kept), "one person", NOW)


def opened(steps: EventSteps, board: Leaderboard) -> Event:
    return steps.create("Cup", board, NOW + timedelta(days=1))


def attempts(settler: Settler, event: Event) -> dict[str | None, str | None]:
    """Return the players of an event, each with the note of the last result."""
    return {each.entrant.user_id: each.note for each in settler.ledger.events.attempts(event)}


def sheet(folder: Path, *lines: str) -> Path:
    path = folder / "async.csv"
    path.write_text("\n".join(["player,time", *lines]) + "\n")
    return path


@pytest.mark.usefixtures("everything_is_long")
def test_a_job_rates_the_races_of_events(settler: Settler) -> None:
    settler.add_past_races(RACES, "import")
    rate_again(settler)
    steps = EventSteps(settler, NOW)
    event = opened(steps, board_of(settler))
    steps.add_room(event, f"{CATEGORY}/q", result("q", "cy ann bo", after=9))
    steps.close(event)
    rate_again(settler)
    orders.exclude(settler, settler.ledger.races.find("r0"), "wrong seed", NOW)
    rate_again(settler)
    assert settler.ledger.ratings.has(board_of(settler), event.name)
    assert verify(settler.ledger, board_of(settler)) == []


@pytest.mark.parametrize("raced", [True, False])
def test_a_sheet_may_name_a_merged_account_by_its_id(settler: Settler, tmp_path: Path, raced: bool) -> None:
    """The kept account raced in a room of the event, or nowhere."""
    zed = replace(entrant("zed", time=1), user_id=SITE_ID)
    first = replace(RACES[0], entrants=(zed, *result("x", "bo cy").entrants))
    settler.add_past_races([first, RACES[1]], "import")
    merge(settler, SITE_ID, "id-ann")
    steps = EventSteps(settler, NOW)
    event = opened(steps, board_of(settler))
    if raced:
        steps.add_room(event, f"{CATEGORY}/q", result("q", "cy ann", after=9))
    file = sheet(tmp_path, f"{SITE_ID},0:50:00", "id-bo,0:55:00")
    steps.add_sheet(event, steps.read_sheet(event, file, DEFAULT)[0])
    assert SITE_ID not in attempts(settler, event)
    steps.close(event)
    assert settler.ledger.players.get(SITE_ID) is None
    assert verify(settler.ledger, board_of(settler)) == []


@pytest.mark.usefixtures("everything_is_long")
def test_accounts_that_meet_after_their_merge_are_rated_after_another_merge(settler: Settler) -> None:
    past = [result("a", "ann bo"), result("b", "old cy", after=1), result("c", "eve bo", after=2)]
    settler.add_past_races(past, "import")
    rate_again(settler)
    merge(settler, "id-old", "id-ann")
    rate_again(settler)
    settle(settler, result("met", "old ann", after=3))
    merge(settler, "id-eve", "id-cy")
    rate_again(settler)
    assert {c.player for c in existing(settler.ledger.ratings.get(board_of(settler), "orb/met")).changes} == {
        "id-old",
        "id-ann",
    }
    assert verify(settler.ledger, board_of(settler)) == []


def test_two_accounts_of_a_third_keep_a_race_in_which_they_met_in_any_order(settler: Settler) -> None:
    settler.add_past_races(
        [result("a", "ann cy"), result("b", "old cy", after=1), result("c", "bo cy", after=2)], "import"
    )
    for alias in ("id-old", "id-bo"):
        merge(settler, alias, "id-ann")
    for number, order in enumerate(("old bo cy", "bo old cy"), 3):
        settle(settler, result(f"met-{number}", order, after=number))
        rated = existing(settler.ledger.ratings.get(board_of(settler), f"orb/met-{number}")).changes
        assert {change.player for change in rated} == {"id-old", "id-bo", "id-cy"}


def test_a_goal_renamed_while_odds_are_fitted_keeps_one_leaderboard(settler: Settler, monkeypatch) -> None:
    settler.add_past_races(RACES, "import")

    def fit_slowly(history: object, model: str, start: Parameters) -> Parameters:
        follow_renames(settler, [replace(race, goal="New Orb") for race in RACES], ["New Orb"])
        return {**start, "odds_scale": 1.25}

    monkeypatch.setattr(improve, "fit_odds", fit_slowly)
    improve.with_fitted_odds(settler, board_of(settler), NOW)
    (kept,) = settler.ledger.leaderboards.all()
    assert (kept.name, kept.goals, kept.parameters["odds_scale"]) == ("New Orb", ("New Orb",), 1.25)
    assert settler.ledger.ratings.count(kept) == len(RACES)


def test_races_imported_by_an_earlier_name_of_their_goal_count_at_once(settler: Settler) -> None:
    settler.add_past_races(RACES, "import")
    follow_renames(settler, [replace(race, goal="New Orb") for race in RACES], ["New Orb"])
    later = result("old-file", "ann bo cy", after=5)
    settler.add_past_races([later], "import")
    settle(settler, replace(result("live", "ann bo cy", after=4), goal="New Orb"))
    (board,) = settler.ledger.leaderboards.all()
    assert [stored.result.name for stored in settler.ledger.races.counted(board)][-2:] == [
        "orb/old-file",
        "orb/live",
    ]
    assert verify(settler.ledger, board) == []


def test_an_event_follows_its_goal_that_is_renamed_while_another_leaderboard_has_it(settler: Settler) -> None:
    settler.add_past_races(RACES, "import")
    steps = EventSteps(settler, NOW)
    event = opened(steps, board_of(settler))
    steps.add_room(event, f"{CATEGORY}/q", result("q", "cy ann bo", after=9))
    steps.close(event)
    joined = replace(settler.rules, named=(replace(LEAGUE, name="Joined", rule=BY_GOALS),))
    apply_settings(Settler(settler.ledger, joined))
    follow_renames(Settler(settler.ledger, joined), [replace(r, goal="New Orb") for r in RACES], ["New Orb"])
    apply_settings(settler)
    assert settler.ledger.ratings.has(board_of(settler, "New Orb"), event.name)


def test_ratings_carried_over_end_with_a_source_that_a_renamed_goal_drops(settler: Settler) -> None:
    """The new name belongs to a named leaderboard, so the goal's own one goes."""
    year = replace(LEAGUE, name="Year 2", goals=("Year 2",), rule=BY_GOALS, carry=Carry(GOAL))
    seasons = replace(settler.rules, named=(year, replace(LEAGUE, name="Joined", goals=("New Orb",))))
    new_year = replace(result("y", "ann bo", after=9), goal="Year 2")
    settler = Settler(settler.ledger, seasons)
    settler.add_past_races([*RACES, new_year], "import")
    assert settler.ledger.leaderboards.carried(board_of(settler, "Year 2"))
    follow_renames(settler, [replace(r, goal="New Orb") for r in RACES], ["New Orb", "Year 2"])
    assert verify(settler.ledger, board_of(settler, "Year 2")) == []


@pytest.mark.usefixtures("everything_is_long")
@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("edited", [0, 3])
@pytest.mark.parametrize("meanwhile", [True, False])
def test_a_record_changes_while_its_leaderboard_waits_or_is_rated_again(
    settler: Settler, recorded: bool, edited: int, meanwhile: bool
) -> None:
    def change(*_: object) -> None:
        settle(settler, replace(RACES[1], recorded=recorded))

    settler.add_past_races(RACES, "import")
    settle(settler, replace(RACES[1], recorded=not recorded))
    rate_again(settler)
    settle(settler, result(f"r{edited}", "cy bo", after=edited))
    if not meanwhile:
        change()
    with Ledger.open(settler.ledger.path) as other:
        assert carry_out_rebuilds(other, change) == {}
    assert settler.ledger.ratings.has(board_of(settler), RACES[1].name) == recorded
    assert verify(settler.ledger, board_of(settler)) == []


def test_an_event_is_closed_again_while_its_leaderboard_waits(settler: Settler, monkeypatch) -> None:
    settler.add_past_races(RACES, "import")
    steps = EventSteps(settler, NOW)
    event = opened(steps, board_of(settler))
    steps.add_room(event, f"{CATEGORY}/q", result("q", "cy ann bo", after=9))
    steps.close(event)
    for number in range(2):
        settle(settler, result(f"later-{number}", "ann bo cy", after=10))
    monkeypatch.setattr(rebuild, "fits", lambda board, races: races <= 1)
    steps.reopen(settler.ledger.events.find("Cup"))
    steps.close(settler.ledger.events.find("Cup"))
    rate_again(settler)
    assert settler.ledger.ratings.races(board_of(settler))[-1] == event.name
    assert verify(settler.ledger, board_of(settler)) == []


@pytest.mark.usefixtures("everything_is_long")
@pytest.mark.parametrize(
    ("change", "waits"),
    [
        (lambda settler: settler.withdraw(RACES[1].name), 3),
        (lambda settler: merge(settler, "id-cy", "id-dee"), 5),
        (lambda settler: settle(settler, result("r1", "ann cy", after=1)), 4),
    ],
    ids=["withdraw", "merge", "edit"],
)
def test_old_ratings_stay_readable_until_races_are_rated_again(
    settler: Settler, change: Callable[[Settler], object], waits: int
) -> None:
    settler.add_past_races([*RACES, result("r4", "dee ann", after=4)], "import")
    rate_again(settler)
    ledger, board = settler.ledger, board_of(settler)
    told = {(each.race, each.player): each for each in rating_changes(ledger, board.key)}
    change(settler)
    (waiting,) = status(ledger, Settings(category=CATEGORY, database=ledger.path), NOW).rebuilds
    assert waiting.startswith(f"{GOAL}: {waits} races wait")
    left = list(rating_changes(ledger, board.key))
    assert left
    assert [told[each.race, each.player] for each in left] == left
    played = played_races(ledger, board.key, "id-bo")
    assert {each.race for each in played} < {each.name for each in RACES}
    assert existing(last_race(ledger, board, "id-bo")).result.name == played[0].race
    assert len(last_results(ledger, board.key, ["id-bo"], 9)["id-bo"]) == len(played)
    assert recap(ledger, board, Listing()).races
    known = {each.id for each in map(ledger.players.get, ("id-cy", "id-dee")) if each}
    assert known == {"id-cy", "id-dee"}, "the old ratings refer to both accounts"
    rate_again(settler)
    assert verify(ledger, board) == []
    assert (ledger.players.get("id-cy") is None) == (waits == 5)


def test_the_reason_of_an_order_about_a_hidden_person_is_in_no_report(settler: Settler) -> None:
    settler.add_past_races([*RACES, result("r4", "dee bo", after=4)], "import")
    steps = EventSteps(settler, NOW)
    event = opened(steps, board_of(settler))
    steps.add_room(event, f"{CATEGORY}/q", result("q", "cy dee bo", after=9))
    steps.annul(event, player(settler, "id-dee"), "Dee cheated")
    steps.close(event)
    merge(settler, "id-dee", "id-ann")
    orders.hide(settler, player(settler, "id-ann"), "", NOW)
    assert "cheated" not in str(list(tournament_report(settler.ledger, board_of(settler), Listing())))


def test_no_order_about_an_event_holds_for_a_later_one_of_that_name(settler: Settler) -> None:
    settler = Settler(settler.ledger, replace(settler.rules, named=(LEAGUE,)))
    settler.add_past_races(RACES, "import")
    steps = EventSteps(settler, NOW)
    for number in range(2):
        event = opened(steps, board_of(settler, "League"))
        steps.add_room(event, f"{CATEGORY}/q{number}", result(f"q{number}", "cy ann", after=9))
        steps.close(event)
        if number == 0:
            orders.exclude(settler, existing(settler.ledger.races.get(event.name)), "wrong seed", NOW)
            orders.skip(settler, event.name, "wrong seed", NOW)
            orders.penalize(settler, event.name, player(settler, "id-cy"), 1, "warped", NOW)
            steps.remove(settler.ledger.events.find("Cup"))
            assert not orders.is_skipped(settler.ledger, event.name)
    assert existing(settler.ledger.ratings.get(board_of(settler, "League"), event.name)).changes
    assert [each.penalty for each in settler.ledger.events.combined(event).entrants] == [None, None]


def test_a_report_has_no_events_of_a_leaderboard_of_the_same_name_elsewhere(settler: Settler) -> None:
    settler.add_past_races([RACES[0], replace(RACES[0], name="two/r0", category="two")], "import")
    there = existing(settler.ledger.leaderboards.get("two", GOAL))
    event = opened(EventSteps(settler, NOW), there)
    room = replace(result("q", "cy ann", after=9), name="two/q", category="two")
    EventSteps(settler, NOW).add_room(event, room.name, room)
    EventSteps(settler, NOW).close(event)
    rows = [list(tournament_report(settler.ledger, each, Listing())) for each in (board_of(settler), there)]
    assert [any(row.kind == "order" for row in report) for report in rows] == [False, True]


def test_an_event_counts_by_its_leaderboard_whatever_its_goals_are(settler: Settler) -> None:
    """A corrected goal, no table for a while, and no other race."""

    def rules(*goals: str) -> RatingRules:
        named = (replace(LEAGUE, goals=goals, rule=BY_GOALS),) if goals else ()
        return replace(settler.rules, named=named)

    ledger, cup = settler.ledger, result("q", "cy ann bo", after=9)
    first = Settler(ledger, rules("Any Ord", GOAL))
    steps = EventSteps(first, NOW)
    event = opened(steps, first.rules.named[0].leaderboard(CATEGORY, GOAL))
    steps.add_room(event, cup.name, cup)
    steps.close(event)
    for goals in ((GOAL,), (), (GOAL,)):
        now = Settler(ledger, rules(*goals))
        apply_settings(now)
        boards = ledger.leaderboards.all()
        assert [ledger.ratings.races(board) for board in boards] == ([[event.name]] if goals else [])
    assert verify(ledger, board_of(now, "League")) == []
    EventSteps(now, NOW).reopen(ledger.events.find("Cup"))
    EventSteps(now, NOW).close(ledger.events.find("Cup"))
    assert existing(ledger.races.get(event.name)).result.goal == GOAL
