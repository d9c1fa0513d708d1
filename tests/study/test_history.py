from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
from builders import entrant, result

from racebot.races.outcome import TeamPolicy
from racebot.study.history import History


def test_races_are_sorted_by_their_end() -> None:
    history = History.of(
        [
            result("late", "ann bo", after=3),
            result("early", "cy ann", after=1),
            result("between-b", "bo cy", after=2),
            result("between-a", "bo cy", after=2),
        ]
    )
    assert [race.name for race in history.races] == [
        "orb/early",
        "orb/between-a",
        "orb/between-b",
        "orb/late",
    ]
    assert len(history) == 4


def test_players_are_numbered_and_rows_follow_the_outcome() -> None:
    history = History.of([result("r", "cy ann", dnf="bo", after=1), result("s", "bo ann", after=2)])
    by_race = [[history.players[number] for number in race.players] for race in history.races]
    assert by_race == [["id-cy", "id-ann", "id-bo"], ["id-bo", "id-ann"]]
    assert [race.outcome.group.tolist() for race in history.races] == [[0, 1, 2], [0, 1]]
    assert history.races[0].outcome.unfinished.tolist() == [False, False, True]
    assert dict(zip(history.players, history.races_of_players().tolist(), strict=True)) == {
        "id-cy": 1,
        "id-ann": 2,
        "id-bo": 2,
    }


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
    assert [len(earlier), len(later)] == [7, 3]
    assert [race.name for race in (*earlier.races, *later.races)] == [race.name for race in history.races]
    assert later.races_of_players()[history.players.index("id-p0")] == 0


def test_an_empty_history_has_no_players() -> None:
    history = History.of([])
    assert len(history) == 0
    np.testing.assert_array_equal(history.races_of_players(), [])


def test_a_pickled_history_is_unchanged() -> None:
    teams = result("t", "ann bo cy", after=2)
    history = History.of([result("r", "cy ann", dnf="bo", after=1), teams])
    race = history.races[1]
    by_team = replace(race, outcome=replace(race.outcome, team=np.array([0, 1, 1])))
    history = replace(history, races=(history.races[0], by_team))
    copy = pickle.loads(pickle.dumps(history))  # noqa: S301 - our own data
    assert (copy.players, copy.names) == (history.players, history.names)
    for before, after in zip(history.races, copy.races, strict=True):
        assert (after.name, after.ended_at) == (before.name, before.ended_at)
        np.testing.assert_array_equal(after.players, before.players)
        for name in ("group", "unfinished", "last_group", "last_unfinished", "team", "day"):
            np.testing.assert_array_equal(getattr(after.outcome, name), getattr(before.outcome, name))
