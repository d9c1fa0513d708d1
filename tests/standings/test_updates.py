import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from builders import result
from hypothesis import given, settings, strategies as st
from standings.seasons import board_of, contents, fresh, history, settle

from racebot.ledger.rows import State
from racebot.races.outcome import outcome_of
from racebot.races.result import RaceResult
from racebot.races.rooms import Carry
from racebot.ratings import registry
from racebot.ratings.model import Carries
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.follow_settings import apply_settings, follow_renames
from racebot.standings.rater import this_platform
from racebot.standings.rebuild import carry_out_rebuilds
from racebot.standings.settle import Settler
from racebot.standings.verify import verify

MODELS = ["thurstone-hurdle", "plackett-luce", "trueskill", "pairwise-elo"]
SEASONS = ("S1", "S2", "S3")


def chained(model: str) -> RatingRules:
    """Three seasons, listed last first, each of which carries over from the one before."""
    third = LeaderboardConfig(model, name="S3", goals=("S3",), carry=Carry("S2", 0.5, 3.0))
    second = LeaderboardConfig(model, name="S2", goals=("S2",), carry=Carry("S1", 0.8))
    first = LeaderboardConfig(model, name="S1", goals=("S1",))
    return RatingRules(LeaderboardConfig(model), (third, second, first))


def recomputed(settler: Settler) -> dict[str, dict[str, State]]:
    """Compute each player's state in each season from the stored results, without the code under test."""
    rows = settler.ledger.connection.db.execute("SELECT goal, counted_at, name, result FROM races").fetchall()
    stored = sorted(
        (counted_at, name, goal, RaceResult.from_json(text)) for goal, counted_at, name, text in rows
    )
    configs = {config.name: config for config in settler.rules.named}

    def states(season: str, before: str | None = None) -> dict[str, State]:
        config = configs[season]
        races = [race for race in stored if race[2] == season]
        model = registry.create(config.model)
        known: dict[str, State] = {}
        if config.carry is not None and races:
            assert isinstance(model, Carries)
            known = {
                player: tuple(
                    model.carried(np.array([state]), config.carry.factor, config.carry.most_races)[0].tolist()
                )
                for player, state in states(config.carry.source, races[0][0]).items()
            }
        moved: dict[str, State] = {}
        for counted_at, _, _, shown in races:
            if before is not None and counted_at >= before:
                break
            race = outcome_of(shown)
            if not race.outcome.rateable:
                continue
            ids = [str(e.user_id) for e in race.entrants]
            start = [moved.get(i, known.get(i, tuple(model.initial().tolist()))) for i in ids]
            after = model.rate(np.array(start), race.outcome)
            moved.update(zip(ids, map(tuple, after.tolist()), strict=True))
        return moved

    return {season: states(season) for season in configs if any(race[2] == season for race in stored)}


def assert_right(settler: Settler) -> None:
    stored = {
        board.name: {s.player: s.state for s in settler.ledger.standings.all(board)}
        for board in settler.ledger.leaderboards.all()
    }
    expected = recomputed(settler)
    assert {name: repr(sorted(states.items())) for name, states in stored.items() if states} == {
        name: repr(sorted(states.items())) for name, states in expected.items() if states
    }
    for board in settler.ledger.leaderboards.all():
        assert verify(settler.ledger, board) == []
    assert settler.ledger.check() == []


@given(history(SEASONS), st.data(), st.sampled_from(MODELS))
@settings(max_examples=40)
def test_seasons_follow_from_stored_results(races: list[RaceResult], data: st.DataObject, model: str) -> None:
    """Recorded live, imported, changed, moved to another season, or taken back, in any order."""
    with fresh(chained(model)) as settler:
        for _ in range(data.draw(st.integers(1, 8))):
            race = data.draw(st.sampled_from(races))
            match data.draw(st.sampled_from(["settle", "merge", "change", "withdraw", "rebuild"])):
                case "settle":
                    settle(settler, race)
                case "merge":
                    settler.add_past_races(data.draw(st.lists(st.sampled_from(races))), "import")
                case "change":
                    other = data.draw(st.sampled_from(races))
                    facts: dict[str, Any] = {"entrants": other.entrants, "goal": other.goal}
                    settle(settler, replace(race, **facts))
                case "withdraw":
                    settler.withdraw(race.name)
                case "rebuild":
                    for board in settler.ledger.leaderboards.all():
                        settler.rebuild(board)
            assert_right(settler)
        before = contents(settler)
        apply_settings(settler)
        for board in reversed(settler.ledger.leaderboards.all()):
            settler.rebuild(board)
        assert contents(settler) == before, "a rebuild changes nothing"


FIRST = result("a", "ann bo", goal="S1")
SECOND = result("b", "cy ann", goal="S2", after=5)


@pytest.fixture
def seasons() -> Iterator[Settler]:
    with fresh(chained("thurstone-hurdle")) as settler:
        settler.add_past_races([FIRST, SECOND], "import")
        yield settler


def test_seasons_of_two_categories_with_equal_names_keep_apart() -> None:
    """Listed category by category and the other way round, since any mix-up depends on the order."""
    with fresh(chained("thurstone-hurdle")) as alone, fresh(chained("thurstone-hurdle")) as both:
        alone.add_past_races([FIRST, SECOND], "import")
        moved: dict[str, Any] = {"category": "aaa", "entrants": result("x", "cy bo ann").entrants}
        others = [replace(race, name=race.name.replace("orb/", "aaa/"), **moved) for race in (SECOND, FIRST)]
        both.add_past_races([*others, FIRST, SECOND], "import")
        for name in ("S1", "S2"):
            assert contents(both)[f"orb/{name}"] == contents(alone)[f"orb/{name}"]
        before = contents(both)["aaa/S2"]
        settle(both, replace(FIRST, entrants=result("x", "bo ann").entrants))
        assert contents(both)["aaa/S2"] == before
        for board in both.ledger.leaderboards.all():
            assert verify(both.ledger, board) == []


def test_a_change_before_the_new_season_rebuilds_it_with_a_log_line(seasons: Settler, caplog) -> None:
    before = contents(seasons)["orb/S2"]
    settle(seasons, replace(FIRST, entrants=result("x", "bo ann").entrants))
    assert contents(seasons)["orb/S2"] != before
    assert [r.message for r in caplog.records if "leaderboard S2" in r.message] == [
        "leaderboard S2: ratings carried over from S1 have changed; rebuilding"
    ]
    assert_right(seasons)


def test_verify_checks_what_was_carried(seasons: Settler) -> None:
    board = board_of(seasons, "S2")
    carried = seasons.ledger.leaderboards.carried(board)
    wrong = {player: (state[0] + 1e-12, *state[1:]) for player, state in carried.items()}
    seasons.ledger.leaderboards.replace_carried(board, wrong)
    assert any("carried-over ratings" in problem.text for problem in verify(seasons.ledger, board))
    apply_settings(seasons)
    assert seasons.ledger.leaderboards.carried(board) == carried
    assert_right(seasons)


def test_preview_of_a_seasons_first_race_equals_settling_it(seasons: Settler) -> None:
    first = result("c", "ann bo", goal="S3", after=9)
    (preview,) = seasons.preview(first)
    (rated,) = settle(seasons, first) or []
    assert preview.changes == rated.changes
    brought = seasons.ledger.leaderboards.carried(board_of(seasons, "S3"))
    assert {change.player: change.before for change in rated.changes}["id-ann"] == brought["id-ann"]


# Damaged results

DAMAGE = {
    "an altered entrant": "replace(result, 'id-bo', 'id-di')",
    "no JSON": "'{'",
    "no result": "'[]'",
    "nested too deeply": "'" + "[" * 100_000 + "'",
    "another fingerprint": "result, fingerprint = 'x'",
}


def damage(settler: Settler, kind: str, name: str = FIRST.name) -> None:
    settler.ledger.connection.db.execute(f"UPDATE races SET result = {DAMAGE[kind]} WHERE name = ?", (name,))  # noqa: S608


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_result_is_never_rated(seasons: Settler, kind: str) -> None:
    damage(seasons, kind)
    problems = verify(seasons.ledger, board_of(seasons, "S1"))
    assert [problem.remedy for problem in problems] == ["run `racebot backfill`, or restore a backup"]
    assert "orb/a" in problems[0].text
    before = contents(seasons)
    seasons.rebuild(board_of(seasons, "S1"))
    (error,) = carry_out_rebuilds(seasons.ledger).values()
    assert "orb/a" in str(error)
    assert contents(seasons) == before


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize("how", ["merge", "settle", "another model", "another name"])
def test_the_sites_result_replaces_a_damaged_one(seasons: Settler, kind: str, how: str) -> None:
    model = "trueskill" if how == "another model" else "thurstone-hurdle"
    first = replace(FIRST, goal="S0") if how == "another name" else FIRST
    damage(seasons, kind)
    changed = Settler(seasons.ledger, chained(model))
    follow_renames(changed, [first], [first.goal])
    apply_settings(changed)
    settle(changed, first) if how == "settle" else changed.add_past_races([first, SECOND], "backfill")
    assert carry_out_rebuilds(changed.ledger) == {}
    with fresh(chained(model)) as other:
        other.add_past_races([FIRST, SECOND], "import")
        goals, expected = [first.goal, "S2"], contents(other)
    for goal, (name, (goals_now, *ratings)) in zip(goals, contents(changed).items(), strict=True):
        assert (goals_now, tuple(ratings)) == ((goal,), expected[name][1:])


def test_races_after_a_damaged_one_are_still_settled(seasons: Settler) -> None:
    damage(seasons, "no JSON")
    settle(seasons, result("next", "bo ann", goal="S1", after=2))
    assert seasons.ledger.ratings.count(board_of(seasons, "S1")) == 2


# Platforms


def nudge(settler: Settler, by: float) -> None:
    """Move the last state of one player on S2, in the change and in the standing."""
    key = board_of(settler, "S2").key
    (text,) = settler.ledger.connection.db.execute(
        "SELECT state FROM standings WHERE leaderboard = ? AND player = 'id-cy'", (key,)
    ).fetchone()
    first, *others = json.loads(text)
    moved = json.dumps([first + by, *others])
    for table, column in (("standings", "state"), ("changes", "state_after")):
        settler.ledger.connection.db.execute(
            f"UPDATE {table} SET {column} = ? WHERE leaderboard = ? AND player = 'id-cy'",  # noqa: S608
            (moved, key),
        )


def test_rounding_of_another_platform_is_not_damage(seasons: Settler) -> None:
    seasons.ledger.connection.db.execute("UPDATE rated_on SET platform = 'another computer'")
    nudge(seasons, 1e-12)
    (problem,) = verify(seasons.ledger, board_of(seasons, "S2"))
    assert problem.remedy is None
    assert "another computer" in problem.text
    assert "e-13" in problem.text, "relative to a state of about 2"


def test_ratings_of_older_models_are_computed_again_once(seasons: Settler) -> None:
    ledger, board = seasons.ledger, seasons.ledger.leaderboards.all()[0]
    before = contents(seasons)
    ledger.connection.db.execute("UPDATE rated_on SET platform = 'racebot 1.0.0, Linux x86_64'")
    apply_settings(seasons)
    assert ledger.ratings.platforms(board) == [this_platform()]
    assert contents(seasons) == before
    written = ledger.connection.ratings_written
    apply_settings(seasons)
    assert ledger.connection.ratings_written == written


@pytest.mark.parametrize("platform", [None, "another computer"])
def test_a_larger_difference_is_damage_on_any_platform(seasons: Settler, platform: str | None) -> None:
    if platform is not None:
        seasons.ledger.connection.db.execute("UPDATE rated_on SET platform = ?", (platform,))
    nudge(seasons, 1e-12 if platform is None else 1e-3)
    problems = verify(seasons.ledger, board_of(seasons, "S2"))
    assert [problem.remedy for problem in problems] == ["run `racebot rebuild`"] * 2
