import random
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from builders import entrant, result
from hypothesis import given, strategies as st

from racebot.errors import PayloadError
from racebot.races.outcome import Outcome, PlacedRace, TeamPolicy, outcome_of, places
from racebot.races.result import RaceResult

TEAM, INDIVIDUAL, IGNORE = TeamPolicy.TEAM, TeamPolicy.INDIVIDUAL, TeamPolicy.IGNORE


def race(text: str) -> RaceResult:
    """Return a race from entrants such as `ann 5`, `bo dnf`, `cy dq 3` (microseconds), `di #2` (a place).

    A star marks a deleted account, and a last word after a slash a team.
    """
    entrants = []
    for each in text.split(", "):
        name, gone, status, time, place, team = re.fullmatch(
            r"(\w+)(\*?)(?: (dnf|dq|racing))?(?: (\d+))?(?: #(\d+))?(?: /(\w+))?", each
        ).groups()  # type: ignore[union-attr]
        facts = {"user_id": None} if gone else {}
        finish = None if time is None else int(time)
        entrants.append(
            entrant(
                name,
                status or "done",
                finish,
                place=None if place is None else int(place),
                team=team,
                **facts,
            )
        )
    return result("r", entrants=tuple(entrants))


def groups(placed: PlacedRace) -> str:
    """Return the names of the rated entrants by group, with `-` for a group of deleted accounts."""
    outcome = placed.outcome
    names: list[list[str]] = [[] for _ in range(outcome.last_group + 1)]
    for each, group, unfinished in zip(placed.entrants, outcome.group, outcome.unfinished, strict=True):
        names[group].append(each.name.lower())
        assert unfinished == (outcome.last_unfinished and group == outcome.last_group)
    return " | ".join(" ".join(each) or "-" for each in names) + (" dnf" if outcome.last_unfinished else "")


@pytest.mark.parametrize(
    ("entrants", "expected", "expected_places"),
    [
        ("ann 1, bo 2, cy dnf, di dnf, ed dq", "ann | bo | cy di ed dnf", [1, 2, None, None, None]),
        # A disqualified entrant keeps the time.
        ("ann dq 1, bo 2, cy 3", "bo | cy | ann dnf", [None, 1, 2]),
        # The first frame after a disqualification has 2nd and 3rd, but no 1st.
        ("bo 2 #2, cy 3 #3, ann dq 1", "bo | cy | ann dnf", [1, 2, None]),
        # Times take precedence over places.
        ("ann 2 #2, bo 1 #3", "bo | ann", [2, 1]),
        ("ann 1 #1, bo 1 #2, cy 2 #3", "ann bo | cy", [1, 1, 3]),
        # A deleted account holds its place.
        ("ann 1, gone* 2, bo 3", "ann | - | bo", [1, 2, 3]),
        ("ann 1, bo 2, gone* 3", "ann | bo | -", [1, 2, 3]),
        ("ann 1, bo 2, gone* dnf", "ann | bo | - dnf", [1, 2, None]),
        ("gone* 1, ann 2, bo 3", "- | ann | bo", [1, 2, 3]),
        ("ann 1, gone* dnf, gone* dnf, bo 2", "ann | bo | - dnf", [1, None, 2]),
        ("ann 1, bo racing, cy 2", "ann | cy", [1, 2]),
        ("ann dnf, bo dnf, cy dq", "ann bo cy dnf", [None, None, None]),
        # Archives have no times.
        ("ann #3, bo #1, cy #1, di dnf", "bo cy | ann | di dnf", [3, 1, 1, None]),
        ("ann #2, bo dq #1, cy #3", "ann | cy | bo dnf", [1, None, 2]),
        ("ann #1, bo dq 5", "ann | bo dnf", [1, None]),
    ],
)  # fmt: skip
def test_entrants_are_grouped_by_time_or_place(
    entrants: str, expected: str, expected_places: list[int | None]
) -> None:
    placed = outcome_of(race(entrants))
    assert groups(placed) == expected
    assert placed.outcome.team is None
    assert list(places(race(entrants)).values()) == expected_places


@pytest.mark.parametrize(
    ("entrants", "rateable"),
    [
        ("ann 1", False),
        ("ann 1, gone* 2", False),
        ("ann 1, bo 1", False),
        ("ann 1, bo 2", True),
        ("ann 1, bo dnf", True),
        ("ann dnf, bo dq", False),
        ("gone* 1, ann dnf, bo dq 1", False),
        ("gone* 1, ann 2, bo dnf", True),
    ],
)
def test_race_with_two_groups_and_a_finisher_is_rateable(entrants: str, rateable: bool) -> None:
    """At least two rated entrants in different groups, one of them a finisher."""
    assert outcome_of(race(entrants)).outcome.rateable is rateable
    assert not outcome_of(result("r")).outcome.rateable


@pytest.mark.parametrize(
    ("entrants", "problem"),
    [
        ("ann 1 #1, bo #2, cy 3", "some finishers have neither a finish time nor a place"),
        ("abe 1, ann 2, bo 3, ann dnf", "entrant id-ann is listed twice"),
    ],
)
def test_race_that_cannot_be_ordered_is_refused(entrants: str, problem: str) -> None:
    with pytest.raises(PayloadError, match=f"race orb/r: {problem}"):
        outcome_of(race(entrants))


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


@pytest.mark.parametrize(
    ("entrants", "expected", "expected_places"),
    [
        # Blue: (20 + 30) / 2 = 25 beats red: (10 + 50) / 2 = 30, though a red member was first.
        ("ann 10 /red, bo 20 /blue, cy 30 /blue, di 50 /red", "bo cy | ann di", [2, 1, 1, 2]),
        # A member without a result takes the team's.
        ("ann 1 /red, bo 20 /blue, cy dnf /red, di 30 /blue", "bo di | ann cy dnf", [None, 1, None, 1]),
        ("ann dq 1 /red, bo 2 /red, cy 3 /blue", "cy | ann bo dnf", [None, None, 1]),
        ("ann 10 /red, bo 20 /blue, cy 30 /red, di 20 /blue", "bo di ann cy", [1, 1, 1, 1]),
        # A member without an account counts in the mean, and a team of them holds its place.
        ("ann 10 /red, gone* 90 /red, bo 40 /blue", "bo | ann", [2, 2, 1]),
        ("gone* 1 /gray, ann 2 /red", "- | ann", [1, 2]),
        # An entrant without a team stands alone.
        ("ann 1 /red, bo 3 /red, cy 1, di dnf", "cy | ann bo | di dnf", [2, 2, 1, None]),
        # Two level teams share a place, and the next place is left out.
        ("ann 1 /red, bo 3 /blue, cy 5 /red, di 3 /blue, ed 4 /gray", "bo di ann cy | ed", [1, 1, 1, 1, 3]),
    ],
)  # fmt: skip
def test_teams_are_placed_by_the_mean_of_their_times(
    entrants: str, expected: str, expected_places: list[int | None]
) -> None:
    placed = outcome_of(race(entrants), TEAM)
    assert groups(placed) == expected
    assert list(places(race(entrants), TEAM).values()) == expected_places
    assert placed.outcome.team is not None
    pairs = list(zip(placed.entrants, placed.outcome.team, strict=True))
    for one, number in pairs:
        together = {each.name for each, other in pairs if other == number}
        members = {each.name for each in placed.entrants if each.team == one.team}
        assert together == (members if one.team else {one.name})


@pytest.mark.parametrize("policy", [INDIVIDUAL, IGNORE])
def test_members_count_with_their_own_times_under_the_other_policies(policy: TeamPolicy) -> None:
    of_teams = race("ann 10 /red, bo 25 /blue, cy 40 /red, di 25 /blue, ed dnf /red")
    placed = outcome_of(of_teams, policy)
    assert groups(placed) == "ann | bo di | cy | ed dnf"
    assert placed.outcome.team is None
    assert list(places(of_teams, policy).values()) == [1, 2, 4, 2, None]


def test_the_team_policy_has_no_effect_without_teams() -> None:
    placed = outcome_of(race("ann 1, bo 2, cy dnf"), TEAM)
    assert groups(placed) == "ann | bo | cy dnf"
    assert placed.outcome.team is None


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
