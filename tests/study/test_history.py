"""Histories and their replay."""

from dataclasses import replace

import numpy as np
import pytest
from builders import entrant, result

from racebot.errors import ModelError
from racebot.races.outcome import TeamPolicy
from racebot.ratings.models.thurstone_hurdle import ThurstoneHurdle
from racebot.ratings.registry import create
from racebot.study.history import Earlier, History, at_start, newcomers, replay


def test_races_are_sorted_by_their_end() -> None:
    given = {"late": 3, "early": 1, "between-b": 2, "between-a": 2}
    history = History.of(result(name, "ann bo", after=after) for name, after in given.items())
    assert [race.name for race in history.races] == [
        f"orb/{name}" for name in ("early", "between-a", "between-b", "late")
    ]


def test_players_are_numbered_and_rows_follow_the_outcome() -> None:
    history = History.of([result("r", "cy ann", dnf="bo", after=1), result("s", "bo ann", after=2)])
    by_race = [[history.players[number] for number in race.players] for race in history.races]
    assert by_race == [["id-cy", "id-ann", "id-bo"], ["id-bo", "id-ann"]]
    assert [race.outcome.group.tolist() for race in history.races] == [[0, 1, 2], [0, 1]]
    assert history.races[0].outcome.unfinished.tolist() == [False, False, True]
    raced = dict(zip(history.players, history.races_of_players().tolist(), strict=True))
    assert raced == {"id-cy": 1, "id-ann": 2, "id-bo": 2}


def test_a_player_has_the_latest_name() -> None:
    renamed = result(
        "s", after=2, entrants=(replace(entrant("ann", time=5), name="Anna"), entrant("bo", time=6))
    )
    history = History.of([renamed, result("r", "ann bo", after=1)])
    assert dict(zip(history.players, history.names, strict=True)) == {"id-ann": "Anna", "id-bo": "Bo"}


def test_only_recorded_rateable_races_are_kept() -> None:
    team = (entrant("ann", time=1, team="red"), entrant("bo", time=2, team="blue"))
    results = [
        result("kept", "ann bo", after=1),
        result("unrecorded", "ann bo", after=2, recorded=False),
        result("alone", "ann", after=3),
        result("nobody-finished", dnf="ann bo", after=4),
        result("unfinished-business", after=5, entrants=(entrant("ann", time=1), entrant("bo", "racing"))),
        result("hidden", "ann bo", after=6, hidden=True),
        result("team", after=7, entrants=team),
    ]
    assert [race.name for race in History.of(results).races] == ["orb/kept"]
    with_teams = History.of(results, TeamPolicy.TEAM)
    assert [race.name for race in with_teams.races] == ["orb/kept", "orb/team"]
    assert with_teams.races[1].outcome.team is not None


def test_the_last_copy_of_a_race_counts() -> None:
    history = History.of([result("r", "ann bo"), result("r", "bo ann")])
    assert [history.players[number] for number in history.races[0].players] == ["id-bo", "id-ann"]


def test_parts_keep_all_players() -> None:
    history = History.of(result(f"r{hour}", f"ann p{hour}", after=hour) for hour in range(10))
    earlier, later = history.split(0.7)
    assert earlier.players == later.players == history.players
    assert (earlier.races, later.races) == (history.races[:7], history.races[7:])
    assert later.races_of_players()[history.players.index("id-p0")] == 0


def test_a_step_has_the_ratings_before_its_race() -> None:
    history = History.of([result("r", "ann bo", after=1), result("s", "bo cy", after=2)])
    model = create("trueskill")
    table = newcomers(model, history)
    first, second = replay(model, history, table)
    np.testing.assert_array_equal(first.before, [model.initial()] * 2)
    np.testing.assert_array_equal(first.after, model.rate(first.before, history.races[0].outcome))
    np.testing.assert_array_equal(second.before, [first.after[1], model.initial()])
    ann, bo, cy = (history.players.index(f"id-{name}") for name in ("ann", "bo", "cy"))
    np.testing.assert_array_equal(table[[ann, bo, cy]], [first.after[0], *second.after])


@pytest.mark.parametrize("key", ["thurstone-hurdle", "trueskill", "plackett-luce"])
def test_a_carried_season_continues_the_earlier_one(key: str) -> None:
    """With a factor of 1, two seasons are rated like one, though each numbers its own players."""
    first = [result("a", "ann bo", dnf="cy", after=1), result("b", "bo ann di", after=2)]
    second = [result("c", "zoe di", after=3), result("d", "cy ann", dnf="zoe", after=4)]
    model, history = create(key), History.of(second)
    together = list(replay(model, History.of([*first, *second])))[2:]
    table = at_start(model, history, Earlier(History.of(first)))
    apart = list(replay(model, history, table))
    for one, other in zip(apart, together, strict=True):
        np.testing.assert_allclose(one.after, other.after, rtol=0, atol=1e-12)


def test_a_carry_factor_shrinks_ratings_toward_the_initial_rating(season: History) -> None:
    model = ThurstoneHurdle()
    kept = at_start(model, season, Earlier(season))
    half = at_start(model, season, Earlier(season, factor=0.5, most_races=20))
    np.testing.assert_allclose(half[:, 0], kept[:, 0] / 2)
    np.testing.assert_array_equal(half[:, 1], np.minimum(kept[:, 1], 20))
    assert kept[:, 1].max() > 20
    sweep = ThurstoneHurdle(level=np.array([0.8, 1.0]))
    several = at_start(sweep, season, Earlier(season, factor=0.5, most_races=20))
    np.testing.assert_allclose(several[0], half, rtol=0, atol=1e-4)
    assert several.shape == (2, *half.shape)


def test_models_that_cannot_carry_over_are_refused(season: History) -> None:
    with pytest.raises(ModelError, match="previous-rank cannot carry ratings over"):
        at_start(create("previous-rank"), season, Earlier(season))
