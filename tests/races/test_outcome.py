from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from builders import HOUR, SECOND, entrant, result
from hypothesis import given, strategies as st

from racebot.errors import PayloadError
from racebot.races.outcome import Outcome, PlacedRace, TeamPolicy, outcome_of, places
from racebot.races.result import Entrant, RaceResult

TEAM, INDIVIDUAL, IGNORE = TeamPolicy.TEAM, TeamPolicy.INDIVIDUAL, TeamPolicy.IGNORE


def groups(race: PlacedRace) -> dict[str, int]:
    return {e.name: int(g) for e, g in zip(race.entrants, race.outcome.group, strict=True)}


def unfinished(race: PlacedRace) -> set[str]:
    return {e.name for e, u in zip(race.entrants, race.outcome.unfinished, strict=True) if u}


def race(*entrants: Entrant) -> RaceResult:
    return result("r", entrants=entrants)


def test_finishers_are_grouped_by_time_and_all_others_in_one_last_group() -> None:
    rated = outcome_of(result("r", "ann bo cy", dnf="di ed", dq="fay"))
    assert groups(rated) == {"Ann": 0, "Bo": 1, "Cy": 2, "Di": 3, "Ed": 3, "Fay": 3}
    assert unfinished(rated) == {"Di", "Ed", "Fay"}
    assert rated.outcome.last_group == 3
    assert rated.outcome.last_unfinished
    assert rated.outcome.rateable
    assert rated.outcome.team is None


def test_a_disqualified_entrant_keeps_a_time_and_counts_as_unfinished() -> None:
    rated = outcome_of(
        race(entrant("ann", "dq", HOUR), entrant("bo", time=HOUR + 1), entrant("cy", time=HOUR + 2))
    )
    assert groups(rated) == {"Bo": 0, "Cy": 1, "Ann": 2}
    assert unfinished(rated) == {"Ann"}


def test_stale_places_after_a_disqualification_do_not_matter() -> None:
    """The first frame after a disqualification has 2nd and 3rd, but no 1st."""
    rated = outcome_of(
        race(
            entrant("bo", time=HOUR + 1, place=2),
            entrant("cy", time=HOUR + 2, place=3),
            entrant("ann", "dq", HOUR),
        )
    )
    assert groups(rated) == {"Bo": 0, "Cy": 1, "Ann": 2}
    assert places(race(*rated.entrants)) == {
        rated.entrants[0]: 1,
        rated.entrants[1]: 2,
        rated.entrants[2]: None,
    }


def test_times_take_precedence_over_places() -> None:
    assert groups(outcome_of(race(entrant("ann", time=HOUR, place=2), entrant("bo", time=1, place=3)))) == {
        "Bo": 0,
        "Ann": 1,
    }


def test_equal_times_are_tied_whatever_places_the_site_gave() -> None:
    tied = race(
        entrant("ann", time=HOUR, place=1),
        entrant("bo", time=HOUR, place=2),
        entrant("cy", time=HOUR + 1, place=3),
    )
    rated = outcome_of(tied)
    assert groups(rated) == {"Ann": 0, "Bo": 0, "Cy": 1}
    assert rated.outcome.last_group == 1
    assert not rated.outcome.last_unfinished
    assert list(places(tied).values()) == [1, 1, 3]


def test_a_microsecond_apart_is_not_a_tie() -> None:
    assert groups(outcome_of(race(entrant("ann", time=HOUR + 1), entrant("bo", time=HOUR)))) == {
        "Bo": 0,
        "Ann": 1,
    }


def test_a_deleted_account_holds_its_place_and_is_not_rated() -> None:
    rated = outcome_of(
        race(
            entrant("ann", time=HOUR),
            entrant("gone", time=HOUR + 1, user_id=None),
            entrant("bo", time=HOUR + 2),
        )
    )
    assert groups(rated) == {"Ann": 0, "Bo": 2}
    assert rated.outcome.last_group == 2
    assert rated.outcome.size == 2


def test_a_deleted_account_in_last_place_decides_the_last_group() -> None:
    rated = outcome_of(
        race(entrant("ann", time=1), entrant("bo", time=2), entrant("gone", time=3, user_id=None))
    )
    assert groups(rated) == {"Ann": 0, "Bo": 1}
    assert rated.outcome.last_group == 2
    assert not rated.outcome.last_unfinished


def test_a_deleted_account_that_did_not_finish_makes_the_last_group_unfinished() -> None:
    rated = outcome_of(
        race(entrant("ann", time=1), entrant("bo", time=2), entrant("gone", "dnf", user_id=None))
    )
    assert groups(rated) == {"Ann": 0, "Bo": 1}
    assert rated.outcome.last_group == 2
    assert rated.outcome.last_unfinished
    assert unfinished(rated) == set()


def test_a_deleted_winner_leaves_first_place_empty() -> None:
    gone = entrant("gone", time=1, user_id=None)
    assert groups(outcome_of(race(gone, entrant("ann", time=2), entrant("bo", time=3)))) == {
        "Ann": 1,
        "Bo": 2,
    }


def test_several_deleted_accounts_are_not_duplicates() -> None:
    gone = entrant("gone", "dnf", user_id=None)
    assert groups(outcome_of(race(entrant("ann", time=1), gone, gone, entrant("bo", time=2)))) == {
        "Ann": 0,
        "Bo": 1,
    }


def test_entrants_still_racing_are_left_out() -> None:
    rated = outcome_of(race(entrant("ann", time=1), entrant("bo", "racing"), entrant("cy", time=2)))
    assert groups(rated) == {"Ann": 0, "Cy": 1}
    assert not rated.outcome.last_unfinished


def test_race_without_finishers_is_not_rateable() -> None:
    rated = outcome_of(result("r", dnf="ann bo", dq="cy"))
    assert groups(rated) == {"Ann": 0, "Bo": 0, "Cy": 0}
    assert unfinished(rated) == {"Ann", "Bo", "Cy"}
    assert rated.outcome.last_group == 0
    assert rated.outcome.last_unfinished
    assert not rated.outcome.rateable


@pytest.mark.parametrize(
    ("entrants", "rateable"),
    [
        ((), False),
        ((entrant("ann", time=1),), False),
        ((entrant("ann", time=1), entrant("gone", time=2, user_id=None)), False),
        ((entrant("ann", time=1), entrant("bo", time=1)), False),
        ((entrant("ann", time=1), entrant("bo", time=2)), True),
        ((entrant("ann", time=1), entrant("bo", "dnf")), True),
        ((entrant("gone", time=1, user_id=None), entrant("ann", "dnf"), entrant("bo", "dq", 1)), False),
        ((entrant("gone", time=1, user_id=None), entrant("ann", time=2), entrant("bo", "dnf")), True),
    ],
    ids=[
        "nobody",
        "one",
        "one rated",
        "all tied",
        "two",
        "one unfinished",
        "rated all unfinished",
        "deleted won",
    ],
)
def test_race_with_two_groups_and_a_finisher_is_rateable(
    entrants: tuple[Entrant, ...], rateable: bool
) -> None:
    """At least two rated entrants in different groups, one of them a finisher."""
    assert outcome_of(race(*entrants)).outcome.rateable is rateable


def test_places_are_used_if_an_archive_has_no_times() -> None:
    archived = race(
        entrant("ann", place=3), entrant("bo", place=1), entrant("cy", place=1), entrant("di", "dnf")
    )
    assert groups(outcome_of(archived)) == {"Bo": 0, "Cy": 0, "Ann": 1, "Di": 2}
    assert list(places(archived).values()) == [3, 1, 1, None]


def test_finishers_without_comparable_results_are_refused() -> None:
    with pytest.raises(
        PayloadError, match="race orb/r: some finishers have neither a finish time nor a place"
    ):
        outcome_of(race(entrant("ann", time=1, place=1), entrant("bo", place=2), entrant("cy", time=3)))


def test_a_place_does_not_make_a_finisher() -> None:
    archived = race(entrant("ann", place=2), entrant("bo", "dq", place=1), entrant("cy", place=3))
    assert groups(outcome_of(archived)) == {"Ann": 0, "Cy": 1, "Bo": 2}
    assert list(places(archived).values()) == [1, None, 2]


def test_an_unfinished_entrant_needs_neither_time_nor_place() -> None:
    assert groups(outcome_of(race(entrant("ann", place=1), entrant("bo", "dq", 5)))) == {"Ann": 0, "Bo": 1}


def test_an_entrant_listed_twice_is_refused() -> None:
    with pytest.raises(PayloadError, match="race orb/r: entrant id-ann is listed twice"):
        outcome_of(
            race(entrant("abe", time=1), entrant("ann", time=2), entrant("bo", time=3), entrant("ann", "dnf"))
        )


def test_the_day_counts_from_1970() -> None:
    rated = outcome_of(result("r", "ann bo", ended_at=datetime(1970, 1, 3, 18, tzinfo=UTC)))
    assert rated.outcome.day == 2.75


@given(st.randoms(use_true_random=False))
def test_the_order_of_listing_does_not_matter(rng: random.Random) -> None:
    original = result("r", "ann bo=cy di", dnf="ed fay", dq="gus")
    shuffled = replace(original, entrants=tuple(rng.sample(original.entrants, len(original.entrants))))
    first, second = outcome_of(original), outcome_of(shuffled)
    assert first.entrants == second.entrants
    assert first.outcome.group.tolist() == second.outcome.group.tolist()


# Team races


def teams(*members: tuple[str, str, int | None]) -> RaceResult:
    """Return members with name, team and seconds over an hour; None for a DNF."""
    return race(
        *(
            entrant(
                name, "dnf" if seconds is None else "done", seconds and HOUR + seconds * SECOND, team=team
            )
            for name, team, seconds in members
        )
    )


def test_teams_are_placed_by_the_mean_of_their_times() -> None:
    rated = outcome_of(
        teams(("ann", "red", 10), ("bo", "blue", 20), ("cy", "blue", 30), ("di", "red", 50)), TEAM
    )
    # Blue: (20 + 30) / 2 = 25 beats red: (10 + 50) / 2 = 30, though a red member was first.
    assert groups(rated) == {"Bo": 0, "Cy": 0, "Ann": 1, "Di": 1}
    assert rated.outcome.team is not None
    team = dict(zip([e.name for e in rated.entrants], rated.outcome.team.tolist(), strict=True))
    assert team["Bo"] == team["Cy"] != team["Ann"] == team["Di"]


def test_any_dnf_makes_the_team_a_dnf() -> None:
    rated = outcome_of(
        teams(("ann", "red", 1), ("bo", "blue", 20), ("cy", "red", None), ("di", "blue", 30)), TEAM
    )
    assert groups(rated) == {"Bo": 0, "Di": 0, "Ann": 1, "Cy": 1}
    assert unfinished(rated) == {"Ann", "Cy"}
    assert rated.outcome.last_unfinished


def test_a_disqualified_member_makes_the_team_a_dnf_though_there_is_a_time() -> None:
    rated = outcome_of(
        race(
            entrant("ann", "dq", HOUR, team="red"),
            entrant("bo", time=HOUR + 1, team="red"),
            entrant("cy", time=HOUR + 2, team="blue"),
        ),
        TEAM,
    )
    assert groups(rated) == {"Cy": 0, "Ann": 1, "Bo": 1}


def test_teams_with_equal_means_are_tied() -> None:
    rated = outcome_of(
        teams(("ann", "red", 10), ("bo", "blue", 20), ("cy", "red", 30), ("di", "blue", 20)), TEAM
    )
    assert groups(rated) == {"Ann": 0, "Bo": 0, "Cy": 0, "Di": 0}
    assert not rated.outcome.rateable


def test_a_member_without_an_account_counts_in_the_mean() -> None:
    members = (
        entrant("ann", time=HOUR + 10 * SECOND, team="red"),
        entrant("gone", time=HOUR + 90 * SECOND, team="red", user_id=None),
        entrant("bo", time=HOUR + 40 * SECOND, team="blue"),
    )
    assert groups(outcome_of(race(*members), TEAM)) == {"Bo": 0, "Ann": 1}


def test_an_entrant_without_a_team_stands_alone() -> None:
    rated = outcome_of(
        race(
            entrant("ann", time=1, team="red"),
            entrant("bo", time=3, team="red"),
            entrant("cy", time=1),
            entrant("di", "dnf"),
        ),
        TEAM,
    )
    assert groups(rated) == {"Cy": 0, "Ann": 1, "Bo": 1, "Di": 2}
    assert rated.outcome.team is not None
    numbers = dict(zip([e.name for e in rated.entrants], rated.outcome.team.tolist(), strict=True))
    assert numbers["Ann"] == numbers["Bo"]
    assert len({numbers["Ann"], numbers["Cy"], numbers["Di"]}) == 3, "two without a team are no team"


def test_team_members_share_the_place_of_their_team() -> None:
    """Two level teams share a place, and the next place is left out."""
    race = teams(
        ("ann", "red", 10),
        ("bo", "blue", 25),
        ("cy", "red", 40),
        ("di", "blue", 25),
        ("ed", "green", 30),
        ("fay", "gray", 1),
        ("gus", "gray", None),
    )
    by_name = {e.name: place for e, place in places(race, TEAM).items()}
    assert by_name == {"Ann": 1, "Bo": 1, "Cy": 1, "Di": 1, "Ed": 3, "Fay": None, "Gus": None}
    alone = {e.name: place for e, place in places(race, INDIVIDUAL).items()}
    assert alone == {"Fay": 1, "Ann": 2, "Bo": 3, "Di": 3, "Ed": 5, "Cy": 6, "Gus": None}


def test_a_team_of_deleted_accounts_holds_its_place() -> None:
    gone = entrant("gone", time=1, user_id=None, team="gray")
    race_ = race(gone, entrant("ann", time=2, team="red"))
    assert list(places(race_, TEAM).values()) == [1, 2]


@pytest.mark.parametrize("policy", [INDIVIDUAL, IGNORE])
def test_members_count_with_their_own_times_under_the_other_policies(policy: TeamPolicy) -> None:
    rated = outcome_of(
        teams(("ann", "red", 10), ("bo", "blue", 20), ("cy", "blue", 30), ("di", "red", None)), policy
    )
    assert groups(rated) == {"Ann": 0, "Bo": 1, "Cy": 2, "Di": 3}
    assert unfinished(rated) == {"Di"}
    assert rated.outcome.team is None


def test_the_team_policy_has_no_effect_without_teams() -> None:
    rated = outcome_of(result("r", "ann bo", dnf="cy"), TEAM)
    assert groups(rated) == {"Ann": 0, "Bo": 1, "Cy": 2}
    assert rated.outcome.team is None


# Outcomes without a result


def test_an_outcome_follows_the_given_places() -> None:
    made = Outcome.of([3, 1, 3, 7], unfinished=2, day=4.5)
    assert made.group.tolist() == [1, 0, 1, 2, 3, 3]
    assert made.unfinished.tolist() == [False, False, False, False, True, True]
    assert (made.last_group, made.last_unfinished, made.size, made.day) == (3, True, 6, 4.5)
    assert made.rateable


def test_an_outcome_without_dnfs_ends_with_the_last_finisher() -> None:
    made = Outcome.of([1, 2], team=[4, 4])
    assert (made.last_group, made.last_unfinished) == (1, False)
    assert made.team is not None
    assert made.team.tolist() == [4, 4]
    assert not Outcome.of([]).rateable
    assert not Outcome.of([], unfinished=3).rateable
