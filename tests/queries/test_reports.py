import io
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from builders import CATEGORY, GOAL, NOON, entrant, existing, result
from rich.console import Console

from racebot.cli import tables
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries.explain import Opponent, Reason, ReasonKind, Rule
from racebot.queries.leaderboard import (
    LeaderboardReport,
    board_totals,
    leaderboard_report,
    neighbors,
    new_places,
)
from racebot.queries.odds import odds
from racebot.queries.player import PlayedRace, PlayerReport, played_races, player_report, player_standing
from racebot.queries.race import race_report
from racebot.queries.races import rating_changes
from racebot.queries.standings import Listing
from racebot.races.outcome import TeamPolicy
from racebot.races.result import RaceResult
from racebot.ratings import registry
from racebot.ratings.forecast import finish_chances, finishing_habit, with_habits
from racebot.standings import orders
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.settle import Settler

SIMPLE = LeaderboardConfig("pairwise-elo", {"initial_rating": 1.0, "dummy": None, "rates": [0.2]})
RACES = [
    result("a", "ann bo"),
    result("b", "cy di", dnf="ed", after=24),
    result("c", "ann bo", after=48),
    result("d", "fay", after=72),
]
# a: Ann 1100, Bo 900. b: Cy beat two 1200, Di 1000, Ed 800. c: Ann 1190, Bo 810. d: nothing.


def merge(ledger: Ledger, races: list[RaceResult], config: LeaderboardConfig = SIMPLE) -> Leaderboard:
    rules = RatingRules(SIMPLE, (config,)) if config.name else RatingRules(config)
    Settler(ledger, rules).add_past_races(races, "import")
    board = ledger.leaderboards.get(CATEGORY, config.name or GOAL)
    assert board is not None
    return board


@pytest.fixture
def board(ledger: Ledger) -> Leaderboard:
    return merge(ledger, RACES)


def everybody(_: Leaderboard) -> Listing:
    return Listing()


def rows(report: LeaderboardReport) -> list[tuple[int, str, int]]:
    return [(p.place, p.name, p.points) for p in report.players]


def shown(print_: Any, *args: Any, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None, emoji=False)
    print_(console, *args)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return str(text)


# Leaderboards


def test_a_leaderboard_lists_players_by_place(ledger: Ledger, board: Leaderboard) -> None:
    report = leaderboard_report(ledger, board, Listing())
    shown = [(1, "Cy", 1200), (2, "Ann", 1190), (3, "Di", 1000), (4, "Bo", 810), (5, "Ed", 800)]
    assert rows(report) == shown
    assert (report.leaderboard, report.races, report.parameters["rates"]) == (GOAL, 4, [0.2])
    ann = report.players[1]
    assert (ann.id, ann.races, ann.finishes, ann.wins) == ("id-ann", 2, 2, 2)
    assert (ann.state, ann.last_race_at) == ((ann.rating,), RACES[2].ended_at)


def test_equal_ratings_share_a_place(ledger: Ledger) -> None:
    board = merge(ledger, [result("a", "ann bo"), result("b", "cy di"), result("c", "fay ed gus", after=1)])
    # Fay 1200, Ed 1000, Gus 800; Ann and Cy 1100; Bo and Di 900.
    listed = rows(leaderboard_report(ledger, board, Listing()))
    assert [(place, name) for place, name, _ in listed] == [
        (1, "Fay"), (2, "Ann"), (2, "Cy"), (4, "Ed"), (5, "Bo"), (5, "Di"), (7, "Gus"),
    ]  # fmt: skip


@pytest.mark.parametrize("listing", [Listing(), Listing(minimum_finishes=2)])
def test_neighbors_of_a_player_are_those_on_the_leaderboard(ledger: Ledger, listing: Listing) -> None:
    pairs = ["ann bo", "cy di", "ed fay", "gus hal"]  # equal ratings
    board = merge(ledger, [result(f"r{n}", pair) for n, pair in enumerate([*pairs, *pairs[:3]])])
    ids = [each.id for each in leaderboard_report(ledger, board, listing).players]
    sides = zip(ids, [None, *ids], [*ids[1:], None], strict=False)
    for player, *around in sides:
        standing = existing(player_standing(ledger, board, listing, player))
        found = dict(neighbors(ledger, board, listing, standing))
        assert [found.get(True), found.get(False)] == around
    unlisted = existing(player_standing(ledger, board, Listing(minimum_finishes=9), "id-ann"))
    assert neighbors(ledger, board, listing, unlisted) == []


def test_players_with_few_finishes_are_not_listed(ledger: Ledger, board: Leaderboard) -> None:
    listed = rows(leaderboard_report(ledger, board, Listing(minimum_finishes=2)))
    assert listed == [(1, "Ann", 1190), (2, "Bo", 810)]
    named = [row[1] for row in rows(leaderboard_report(ledger, board, Listing(minimum_finishes=1)))]
    assert named == ["Cy", "Ann", "Di", "Bo"], "Ed never finished"


def test_inactive_players_are_not_listed(ledger: Ledger) -> None:
    board = merge(ledger, [result("a", "ann bo"), result("b", "cy di", after=24 * 10)])
    for days, listed in ((9, ["Cy", "Di"]), (10, ["Ann", "Cy", "Bo", "Di"])):
        report = leaderboard_report(ledger, board, Listing(inactive_days=days))
        assert [row[1] for row in rows(report)] == listed


def test_a_race_that_is_recorded_late_is_not_the_last_of_its_players(ledger: Ledger) -> None:
    settler = Settler(ledger, RatingRules(SIMPLE))
    given = [("a", "ann bo", 48), ("late", "ann bo", 2), ("b", "cy di", 60), ("c", "ann bo", 300)]
    for name, order, after in given:
        assert settler.settle(result(name, order, after=after), NOON + timedelta(hours=301))
    active, (board,) = Listing(inactive_days=1), ledger.leaderboards.all()
    then = leaderboard_report(ledger, board, active, at=NOON + timedelta(hours=100))
    last = {each.id: (each.last_race_at - NOON) / timedelta(hours=1) for each in then.players}
    assert last == {"id-ann": 48, "id-bo": 48, "id-cy": 60, "id-di": 60}
    now = leaderboard_report(ledger, board, active)
    assert [each.moved.places for each in now.players if each.moved] == [0, 2]


def test_a_day_shows_who_moved_although_a_race_is_excluded(ledger: Ledger, board: Leaderboard) -> None:
    settler = Settler(ledger, RatingRules(SIMPLE))
    orders.exclude(settler, ledger.races.find("orb/a"), "wrong seed", NOON)
    settler.settle(result("z", "bo ann", after=300), NOON + timedelta(hours=301))
    later = NOON + timedelta(days=14)
    now, day = (leaderboard_report(ledger, board, Listing(), at=at) for at in (None, later))
    assert day.players[:] == now.players[:]


@pytest.mark.parametrize("listing", [Listing(), Listing(minimum_finishes=1), Listing(inactive_days=9)])
def test_a_limited_leaderboard_equals_the_top_of_the_whole(
    ledger: Ledger, board: Leaderboard, listing: Listing
) -> None:
    whole = leaderboard_report(ledger, board, listing)
    for limit in range(1, 7):
        first = leaderboard_report(ledger, board, listing, limit=limit)
        assert first.players[:] == whole.players[:limit]
        assert replace(first, players=whole.players) == whole
    totals = board_totals(ledger, board, listing)
    assert (totals.listed, totals.races) == (len(whole.players), whole.races)
    assert totals.last_race_at == whole.last_race_at


@pytest.mark.parametrize(
    ("listing", "race"),
    [
        (Listing(), result("next", "ann cy zoe", after=96)),
        (Listing(2), result("next", "ann cy zoe", after=96)),  # Zoe stays unlisted
        (Listing(2), result("next", "cy ann ed di", after=96)),  # Cy, Di and Ed become ranked
        (Listing(1), result("next", "zoe ann", dnf="yan", after=96)),
        (Listing(0, inactive_days=2), result("next", "ann di", after=96)),  # Cy becomes inactive
        (Listing(0, inactive_days=1), result("next", "bo ann cy", after=73)),  # they return
    ],
)
def test_new_places_of_a_race_are_those_of_the_leaderboard_before_and_after_it(
    ledger: Ledger, board: Leaderboard, listing: Listing, race: RaceResult
) -> None:
    def places() -> dict[str, int]:
        return {player.id: player.place for player in leaderboard_report(ledger, board, listing).players}

    def new(sequence: int | None = None) -> dict[str, tuple[int | None, int]]:
        return new_places(ledger, board, listing, race.ended_at, rated.changes, sequence)

    (rated,) = Settler(ledger, RatingRules(SIMPLE)).preview(race)
    predicted, before = new(), places()
    merge(ledger, [race])
    after, racers = places(), {change.player for change in rated.changes}
    assert predicted == {each: (before.get(each), after[each]) for each in after.keys() & racers}
    settled = ledger.ratings.get(board, race.name)
    assert settled is not None
    merge(ledger, [result("later", "di bo ed", after=120)])
    assert new(settled.sequence) == predicted, "later races change nothing"


# Players


def test_a_player_has_a_standing_and_a_history(ledger: Ledger, board: Leaderboard) -> None:
    report = player_report(ledger, "ANN", everybody)
    assert (report.id, report.name) == ("id-ann", "Ann")
    (found,) = report.leaderboards
    on = found.standing
    assert (on.leaderboard, on.place, on.listed, on.points) == (GOAL, 2, 5, 1190)
    last = PlayedRace(
        *("orb/c", 3, RACES[2].ended_at, 1, "1", 2, 1100, 1190),
        *(1, 90, GOAL, 3600.0),
    )
    first = replace(last, race="orb/a", sequence=1, ended_at=NOON, races_before=0)
    assert found.history == [last, replace(first, before=1000, after=1100, change=100)]
    assert len(player_report(ledger, "ann", everybody, limit=1).leaderboards[0].history) == 1
    text = shown(tables.print_player, report)
    assert "Any Orb: 1190 points, place 2 of 5, 2 races, 2 finished, 2 won" in text
    assert "2026-03-03" in text


@pytest.mark.parametrize("entry", ['{"user_id":"id-ann","status":"lost"}', '{"user_id":"id-ann"}', "{}", "["])
def test_a_damaged_result_lacks_its_time_and_is_no_dnf(
    ledger: Ledger, board: Leaderboard, entry: str
) -> None:
    before, changes = played_races(ledger, board.key, "id-ann"), [*rating_changes(ledger, board.key)]
    ledger.connection.write("UPDATE races SET result = ? WHERE name = 'orb/a'", f'{{"entrants":[{entry}]}}')
    first = played_races(ledger, board.key, "id-ann")[-1]
    assert (first.standing, first.finish_time, first.change) == ("1", None, before[-1].change)
    without = [replace(each, finish_time=None) if each.race == "orb/a" else each for each in changes]
    assert [*rating_changes(ledger, board.key)] == without
    ledger.connection.write("UPDATE changes SET place = NULL WHERE sequence = 1")
    assert played_races(ledger, board.key, "id-ann")[-1].standing == "?"


@pytest.mark.parametrize("finishes", [0, 1, 2])
@pytest.mark.parametrize("days", [0, 1, 2])
def test_a_players_place_is_the_one_on_the_leaderboard(ledger: Ledger, finishes: int, days: int) -> None:
    board = merge(ledger, [*RACES, result("e", "gus hal", after=6), result("f", "ian joe", after=12)])
    listing = Listing(finishes, days)
    report = leaderboard_report(ledger, board, listing)
    places = {entry.id: entry.place for entry in report.players}
    assert len(set(places.values())) < len(places) or finishes == 2 or days
    for standing in ledger.standings.all(board):
        on = player_report(ledger, standing.player, lambda _: listing).leaderboards[0].standing
        assert (on.place, on.listed) == (places.get(standing.player), len(places))


def test_a_player_whose_races_changed_nothing_has_no_standing(ledger: Ledger, board: Leaderboard) -> None:
    report = player_report(ledger, "Fay", everybody)
    assert report == PlayerReport("id-fay", "Fay", [])
    assert "none of this player's races has been rated yet" in shown(tables.print_player, report)


# Races


def test_racers_who_did_not_finish_are_in_order_of_points_then_names(ledger: Ledger) -> None:
    names = {"id-x1": "di", "id-x2": "Bo", "id-x3": "Cy", "id-x4": "Ann"}
    race = result("second", "ed", dnf="x1 x2 x3 x4", after=1)
    race = replace(
        race, entrants=tuple(replace(e, name=names.get(str(e.user_id), "Ed")) for e in race.entrants)
    )
    merge(ledger, [result("first", "x3 ed"), race])
    (on,) = race_report(ledger, "second").leaderboards
    assert [entrant.name for entrant in on.entrants] == ["Ed", "Cy", "Ann", "Bo", "di"]


def even(*players: str, beaten: bool) -> tuple[Opponent, ...]:
    return tuple(Opponent(player, beaten, chance=0.5) for player in players)


def test_race_is_shown_with_explanations(ledger: Ledger, board: Leaderboard) -> None:
    report = race_report(ledger, "b")
    assert (report.race, report.goal, report.source) == ("orb/b", GOAL, "import")
    (on,) = report.leaderboards
    assert (on.leaderboard, on.model, on.sequence, on.note) == (GOAL, "pairwise-elo", 2, None)
    # Three equals: each is expected second and as likely to beat as to be beaten.
    gained = Reason(ReasonKind.GAINED, opponents=even("id-di", "id-ed", beaten=True))
    small = Reason(ReasonKind.UNCHANGED, rule=Rule.SMALL)
    cost = Reason(ReasonKind.COST, opponents=even("id-cy", "id-di", beaten=False))
    assert [(e.place, e.standing, e.finish_time, e.id, e.after, e.actual) for e in on.entrants] == [
        (1, "1", 3600.0, "id-cy", 1200, 1.0),
        (2, "2", 3660.0, "id-di", 1000, 2.0),
        (None, "DNF", None, "id-ed", 800, 3.0),
    ]
    assert [e.why for e in on.entrants] == [[gained], [small], [cost]]
    for each in on.entrants:
        assert (each.expected, each.win_chance, each.finish_chance) == (2.0, 1 / 3, None)
        assert (each.before, each.change, each.first_race) == (1000, each.after - 1000, True)
    assert on.entrants[0].reasons == ["gained: Di (50% to beat), Ed (50%)"]
    text = shown(tables.print_race, report, width=240)
    assert "orb/b  Any Orb, ended 2026-03-02 12:00 UTC" in text
    assert "Cy (new)" in text
    assert "gained: Di (50% to beat), Ed (50%)" in text


def test_a_race_that_changed_nothing_says_why(ledger: Ledger, board: Leaderboard) -> None:
    report = race_report(ledger, "orb/d")
    (on,) = report.leaderboards
    assert (on.note, on.entrants) == ("fewer than two rated entrants to compare", [])
    assert "no rating changed: fewer than two rated entrants" in shown(tables.print_race, report)


def test_a_race_of_teams_has_team_places_and_a_finisher_of_an_unfinished_team_is_no_dnf(
    ledger: Ledger,
) -> None:
    members = (("ann", 10, "red"), ("ed", 15, "green"), ("bo", 20, "blue"), ("cy", 40, "red"))
    finishers = [entrant(name, time=time, team=team, team_name=f"{team}s") for name, time, team in members]
    others = entrant("flo", "dnf", team="green", team_name="greens"), entrant("di", "dq", 5, team="gray")
    teams = result("t", entrants=(*finishers, *others))
    merge(ledger, [teams], LeaderboardConfig("trueskill", teams=TeamPolicy.TEAM))
    report = race_report(ledger, "t")
    (on,) = report.leaderboards
    standings = {"Bo": "1", "Ann": "2", "Cy": "2", "Ed": "team DNF", "Flo": "DNF", "Di": "DQ"}
    assert {e.name: e.standing for e in on.entrants} == standings
    assert [(e.name, e.actual) for e in on.entrants[:3]] == [("Bo", 1.0), ("Ann", 2.0), ("Cy", 2.0)]
    assert {e.name: e.team for e in report.result}["Flo"] == "greens"


def test_a_players_races_tell_a_disqualification_from_a_dnf(ledger: Ledger) -> None:
    races = [
        result("a", "bo", dq="ann"),
        result("b", "bo", dnf="ann", after=1),
        result("c", "ann bo", after=2),
    ]
    merge(ledger, races)
    report = player_report(ledger, "ann", everybody)
    assert [race.standing for race in report.leaderboards[0].history] == ["1", "DNF", "DQ"]
    assert "DQ of 2" in shown(tables.print_player, report)


def test_the_result_of_a_race_that_is_not_rated_keeps_its_places(ledger: Ledger) -> None:
    teams = result("t", entrants=(entrant("ann", time=10, team="x"), entrant("bo", time=20, team="y")))
    merge(ledger, [teams])
    assert [(e.name, e.standing) for e in race_report(ledger, "t").result] == [("Ann", "1"), ("Bo", "2")]


def test_a_race_on_two_leaderboards_is_reported_for_both(ledger: Ledger) -> None:
    wide = LeaderboardConfig("plackett-luce", name="Wide", goals=(GOAL,))
    narrow = LeaderboardConfig("trueskill", name="Narrow", goals=(GOAL,))
    Settler(ledger, RatingRules(SIMPLE, (wide, narrow))).add_past_races([result("a", "ann bo")], "import")
    found = race_report(ledger, "a").leaderboards
    assert {on.leaderboard: on.model for on in found} == {"Narrow": "trueskill", "Wide": "plackett-luce"}


def test_a_race_that_counts_nowhere_is_shown_as_such(ledger: Ledger) -> None:
    ledger.races.save(result("a", "ann bo"), counted_at=NOON, source="import")
    report = race_report(ledger, "a")
    assert report.leaderboards == []
    assert "counts on no leaderboard" in shown(tables.print_race, report)


# What users wrote

ODD = ["[bold]x[/bold]", "a\x1b[31mb", "[/red]", "back\\", ":warning:", "two\nlines", "@everyone", "[link=x]"]


@pytest.mark.parametrize("name", ODD)
def test_names_neither_color_nor_break_a_table(ledger: Ledger, name: str) -> None:
    race = result("a", entrants=(entrant("ann", time=1), entrant("bo", time=2)))
    odd = RaceResult.from_json(race.to_json().replace('"Ann"', json.dumps(name)))
    board = merge(
        ledger, [odd], LeaderboardConfig("pairwise-elo", SIMPLE.parameters, name=f"L{name}", goals=(GOAL,))
    )
    expected = name.replace("\x1b", "").replace("\n", " ")
    texts = [
        shown(tables.print_leaderboard, leaderboard_report(ledger, board, Listing())),
        shown(tables.print_player, player_report(ledger, "id-ann", everybody)),
        shown(tables.print_race, race_report(ledger, "a"), width=200),
    ]
    for text in texts:
        assert expected in text
        assert "\x1b" not in text


def test_a_forecast_counts_how_often_a_player_finishes(ledger: Ledger) -> None:
    """By their ratings, hardly anybody finishes. Ann always does."""
    races = [result(f"r{n}", "ann bo", dnf="cy", after=n) for n in range(30)]
    on = merge(ledger, races, LeaderboardConfig("thurstone-hurdle", {"finish_level": 3.0}))
    ann, new = odds(ledger, on, ["id-ann", "id-new"])
    model = registry.create(on.model, on.parameters)
    alone = finish_chances(model, np.array([existing(ledger.standings.get(on, "id-ann")).state]))
    assert ann.forecast.finish_by_rating == pytest.approx(float(alone[0]))
    changes = (change for row in ledger.ratings.rows(on) for change in row.changes)
    before = finish_chances(model, np.array([each.before for each in changes if each.player == "id-ann"]))
    expected = with_habits(alone, np.array([finishing_habit(before, np.ones(30, dtype=np.bool_))]))
    assert ann.forecast.finish_chance == pytest.approx(float(expected[0]))
    assert float(expected[0]) > float(alone[0])
    assert new.forecast.finish_chance == pytest.approx(new.forecast.finish_by_rating)
