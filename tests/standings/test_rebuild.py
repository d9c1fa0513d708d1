from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from builders import existing, result, settler_of
from hypothesis import Phase, given, settings, strategies as st
from standings.seasons import NOW, board_of, contents, fresh, history, settle

from racebot.bot.status import status
from racebot.errors import DamagedRaceError, OrderError
from racebot.ledger.leaderboards import Rebuild
from racebot.ledger.orders import OrderKind
from racebot.ledger.rows import RATED_LATER
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import leaderboard_report
from racebot.queries.race import race_report
from racebot.queries.standings import Listing
from racebot.races.result import RaceResult
from racebot.races.rooms import Carry
from racebot.settings.model import Settings
from racebot.standings import orders, rebuild
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.follow_settings import apply_settings, follow_renames
from racebot.standings.rebuild import carry_out_rebuilds
from racebot.standings.settle import Settler
from racebot.standings.verify import verify

MODELS = ["thurstone-hurdle", "plackett-luce", "trueskill"]


def rules(model: str = "thurstone-hurdle", second: str | None = None) -> RatingRules:
    """Two seasons, the second of which carries over from the first."""
    return RatingRules(
        LeaderboardConfig(model),
        (
            LeaderboardConfig(second or model, name="S2", goals=("S2",), carry=Carry("S1", 0.8)),
            LeaderboardConfig(model, name="S1", goals=("S1",)),
        ),
    )


@pytest.fixture(autouse=True)
def everything_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave to a rebuild whatever takes more than one race, and read one race after the other in it."""
    rate_at_once(monkeypatch, 1)
    monkeypatch.setattr(rebuild, "BATCH", 1)


def rate_at_once(patch: pytest.MonkeyPatch, most: int) -> None:
    """Rate so many races inside the transaction of a change, and leave more to a rebuild."""
    patch.setattr(rebuild, "fits", lambda board, races: races <= most)


def carry_out(settler: Settler, meanwhile: Callable[[], Any] = lambda: None) -> dict[str, Exception]:
    return carry_out_rebuilds(settler.ledger, lambda *_: meanwhile())


def assert_right(settler: Settler) -> None:
    """The ratings equal those rated at once from the stored results, and nothing is left over."""
    ledger = settler.ledger
    assert ledger.rebuilds.all() == []
    assert ledger.check() == []
    for board in ledger.leaderboards.all():
        assert verify(ledger, board) == []
    before = contents(settler)
    with pytest.MonkeyPatch.context() as patch:
        rate_at_once(patch, 1000)
        for board in ledger.leaderboards.all():
            settler.rebuild(board)
    assert contents(settler) == before


@given(history(["S1", "S2"]), st.data(), st.integers(0, 3))
@settings(max_examples=60, phases=[Phase.explicit, Phase.generate])  # shrinking takes minutes
def test_rebuilds_lead_to_the_ratings_of_the_stored_results_whatever_happens_meanwhile(
    races: list[RaceResult], data: st.DataObject, at_once: int
) -> None:
    models = [MODELS[0]]

    def change(ledger: Ledger) -> None:
        settler = Settler(ledger, rules(models[-1]))
        race = data.draw(st.sampled_from(races))
        other = data.draw(st.sampled_from(races))
        match data.draw(
            st.sampled_from(
                ["settle", "change", "withdraw", "merge", "rebuild", "model", "order", "accounts"]
            )
        ):
            case "settle":
                settle(settler, race)
            case "change":
                later = race.ended_at + timedelta(hours=data.draw(st.integers(0, 2)))
                settle(settler, replace(race, entrants=other.entrants, goal=other.goal, ended_at=later))
            case "withdraw":
                settler.withdraw(race.name)
            case "merge":
                settler.add_past_races(data.draw(st.lists(st.sampled_from(races))), "import")
            case "rebuild":
                for board in settler.ledger.leaderboards.all():
                    settler.rebuild(board)
            case "model":
                models.append(data.draw(st.sampled_from(MODELS)))
                apply_settings(Settler(ledger, rules(models[-1])))
            case "order":
                stored = settler.ledger.races.get(race.name)
                if stored is not None:
                    excluded = race.name in settler.ledger.orders.under(OrderKind.EXCLUDE)
                    orders.exclude(settler, stored, "why", NOW, undo=excluded)
            case "accounts":
                players = settler.ledger.players
                found = [each for name in ("id-ed", "id-di", "id-cy") if (each := players.get(name))]
                with suppress(OrderError):
                    if found:
                        orders.merge_accounts(settler, found[0], found[-1], "one person", NOW)
        for stored_race in settler.ledger.connection.rows("SELECT name FROM races"):
            race_report(settler.ledger, stored_race[0])

    with fresh(rules()) as settler, Ledger.open(settler.ledger.path) as other_ledger:
        with pytest.MonkeyPatch.context() as patch:
            rate_at_once(patch, at_once)
            settler.add_past_races(data.draw(st.lists(st.sampled_from(races), min_size=1)), "import")
            for _ in range(data.draw(st.integers(1, 4))):
                change(other_ledger)
                more = data.draw(st.lists(st.sampled_from([True, False]), max_size=12))

                def meanwhile(more: list[bool] = more) -> None:
                    if more and more.pop():
                        change(other_ledger)

                assert carry_out(settler, meanwhile) == {}
            assert carry_out(settler) == {}
        assert_right(settler)


RACES = [result(f"r{n}", "ann bo" if n % 2 else "bo cy ann", after=n, goal="S1") for n in range(6)]
CHANGED = replace(RACES[2], entrants=result("x", "cy ann").entrants)
NEW = result("new", "di ann", after=50, goal="S1")


@pytest.fixture
def settler() -> Iterator[Settler]:
    with fresh(rules()) as made:
        made.add_past_races(RACES, "import")
        carry_out(made)
        assert made.ledger.ratings.count(board_of(made, "S1")) == len(RACES)
        yield made


def rebuild_of(settler: Settler) -> Rebuild:
    return existing(settler.ledger.rebuilds.of(board_of(settler, "S1")))


def test_a_change_that_takes_long_becomes_a_rebuild_and_old_ratings_stand(settler: Settler) -> None:
    standings = settler.ledger.standings.all(board_of(settler, "S1"))
    assert settle(settler, CHANGED) == [], "nothing is announced of an old race"
    found = rebuild_of(settler)
    assert found.start.race == CHANGED.name
    assert CHANGED.name in found.reason
    assert settler.ledger.standings.all(board_of(settler, "S1")) == standings
    (on_board,) = race_report(settler.ledger, CHANGED.name).leaderboards
    assert (on_board.note, on_board.entrants) == (RATED_LATER, [])
    (problem,) = verify(settler.ledger, board_of(settler, "S1"))
    assert problem.remedy is not None
    carry_out(settler)
    assert settler.ledger.standings.all(board_of(settler, "S1")) != standings
    assert_right(settler)


def test_new_races_are_rated_on_the_old_ratings_until_the_rebuild_is_done(settler: Settler) -> None:
    settle(settler, CHANGED)
    later = replace(NEW, name="orb/later", ended_at=NEW.ended_at + timedelta(hours=1))

    def meanwhile() -> None:
        with Ledger.open(settler.ledger.path) as ledger:
            if not ledger.races.has(later.name):
                (rated,) = settle(Settler(ledger, settler.rules), later) or []
                assert rated.changes

    (rated,) = settle(settler, NEW) or []
    assert {change.player for change in rated.changes} == {"id-ann", "id-di"}
    assert rebuild_of(settler)
    carry_out(settler, meanwhile)
    assert settler.ledger.ratings.has(board_of(settler, "S1"), later.name)
    assert_right(settler)


def test_earlier_standings_can_be_read_while_a_deleted_race_waits(settler: Settler) -> None:
    settler.add_past_races([result("first", "zed bo", after=-1, goal="S1")], "import")
    carry_out(settler)
    settler.withdraw("orb/first")
    orders.exclude(settler, settler.ledger.races.find(RACES[4].name), "wrong seed", NOW)
    settle(settler, replace(NEW, entrants=result("x", "zed bo").entrants))
    report = leaderboard_report(settler.ledger, board_of(settler, "S1"), Listing(), at=RACES[4].ended_at)
    assert report.players.rows
    carry_out(settler)
    assert_right(settler)


def test_new_settings_apply_once_the_rebuild_is_done(settler: Settler) -> None:
    changed = Settler(settler.ledger, rules("trueskill"))
    apply_settings(changed)
    assert board_of(settler, "S1").model == "thurstone-hurdle"
    found = rebuild_of(settler)
    assert found.board.model == "trueskill"
    (rated,) = settle(changed, NEW) or []
    assert rated.leaderboard.model == "thurstone-hurdle"
    apply_settings(changed)
    again = rebuild_of(settler)
    assert again.revision == found.revision, (
        "a restart with the same settings does not start the rebuild again"
    )
    carry_out(changed)
    assert board_of(settler, "S1").model == "trueskill"
    assert_right(changed)


def test_a_season_waits_for_the_one_it_carries_over_from(settler: Settler) -> None:
    settler.add_past_races([result(f"s{n}", "ann bo", after=100 + n, goal="S2") for n in range(3)], "import")
    carry_out(settler)
    changed = Settler(settler.ledger, rules("trueskill"))
    apply_settings(changed)
    (first,) = changed.ledger.connection.rows("SELECT race FROM rated LIMIT 1")[:1]
    damage = "UPDATE races SET fingerprint = fingerprint || 'x' WHERE name = ?"
    changed.ledger.connection.write(damage, first[0])
    errors = carry_out(changed)
    assert list(errors) == ["S1"]
    assert {board_of(changed, name).model for name in ("S1", "S2")} == {"thurstone-hurdle"}
    changed.ledger.connection.write("UPDATE races SET fingerprint = rtrim(fingerprint, 'x')")
    assert carry_out(changed) == {}
    assert {board_of(changed, name).model for name in ("S1", "S2")} == {"trueskill"}
    assert_right(changed)


def test_a_first_race_counts_while_its_source_changes_its_model(settler: Settler) -> None:
    changed = Settler(settler.ledger, rules("trueskill"))
    apply_settings(changed)
    (rated,) = settle(changed, result("first", "ann bo", after=100, goal="S2")) or []
    assert rated.changes
    carry_out(changed)
    assert_right(changed)


def test_a_goal_can_be_renamed_while_its_leaderboard_waits(settler: Settler) -> None:
    settle(settler, CHANGED)
    renamed = [replace(race, goal="First season") for race in RACES]
    unnamed = settler_of(settler.ledger, "thurstone-hurdle")
    follow_renames(unnamed, renamed, ["First season"])
    carry_out(unnamed)
    assert [board.goals for board in settler.ledger.leaderboards.all()] == [("First season",)]
    assert_right(unnamed)


def test_an_error_is_stored_until_the_rebuild_is_requested_again(settler: Settler) -> None:
    settle(settler, CHANGED)
    settler.ledger.connection.write("UPDATE races SET fingerprint = 'x' WHERE name = ?", RACES[4].name)
    (error,) = carry_out(settler).values()
    assert isinstance(error, DamagedRaceError)
    assert existing(rebuild_of(settler)).error == str(error)
    (line,) = status(settler.ledger, Settings(), NOW).rebuilds
    assert line.startswith(f"S1: {len(RACES) - 2} races wait")
    assert CHANGED.name in line
    assert line.endswith(str(error))
    settler.add_past_races([RACES[4]], "backfill")  # the site's own result
    assert existing(rebuild_of(settler)).error is None
    assert carry_out(settler) == {}
    assert list(status(settler.ledger, Settings(), NOW).rebuilds) == []
    assert_right(settler)


def test_two_processes_may_carry_out_the_same_rebuild(settler: Settler) -> None:
    settle(settler, CHANGED)
    done: list[bool] = []

    def meanwhile() -> None:
        if len(done) == 2:
            with Ledger.open(settler.ledger.path) as ledger:
                assert carry_out_rebuilds(ledger) == {}
        done.append(True)

    assert carry_out(settler, meanwhile) == {}
    assert_right(settler)
