import random
from collections.abc import Mapping
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from builders import CATEGORY, GOAL, existing, result
from hypothesis import given, settings, strategies as st

from racebot.ledger.rows import Leaderboard
from racebot.queries.explain import Explanation, Rule, explain_race, in_words
from racebot.races.outcome import TeamPolicy
from racebot.races.result import EntrantStatus, RaceResult
from racebot.ratings import registry
from racebot.ratings.model import FloatArray, PredictsPerformance
from racebot.ratings.parameters import as_json
from racebot.standings.rater import Rater

NAMES = ("ann", "bo", "cy", "di", "ed", "flo", "gus", "hal")
HURDLES = ("thurstone-hurdle", "thurstone-filter", "plackett-luce-hurdle")
TWO_PLAYERS = ("elo-exponential", "elo-gaussian")

# Pairwise Elo: chances by the logistic of the lead, σ(0.2) = 0.549834 and σ(0.1) = 0.524979.
ANN, BO, CY = 1.1, 0.9, 1.0
OVER_BO, OVER_CY = 0.549834, 0.524979


def rater(model: str, teams: TeamPolicy = TeamPolicy.INDIVIDUAL, **parameters: Any) -> Rater:
    given = as_json(registry.create(model, parameters))
    return Rater(Leaderboard(CATEGORY, GOAL, (GOAL,), model, given, teams.value))


def explained(on: Rater, race: RaceResult) -> dict[str, Explanation]:
    """Rate a race and explain it, by name."""
    changes = on.rate_next(race).changes
    whys = explain_race(on.model, on.teams, race, changes) if changes else {}
    return {player.removeprefix("id-"): why for player, (_, why) in whys.items()}


def with_ratings(model: str, ratings: dict[str, float], **parameters: Any) -> Rater:
    """Return a leaderboard on which these players start at different ratings."""
    made = registry.create(model, parameters)
    initial = made.initial().tolist()
    carried = {f"id-{name}": (rating, *initial[1:]) for name, rating in ratings.items()}
    return Rater(
        Leaderboard(CATEGORY, GOAL, (GOAL,), model, as_json(made), TeamPolicy.INDIVIDUAL.value), carried
    )


def invented_races(count: int, *, most: int = 8, seed: int = 1) -> list[RaceResult]:
    """Races of two or more players of unequal skill, with DNFs."""
    rng = random.Random(seed)
    races = []
    for number in range(count):
        field = rng.sample(NAMES, rng.randint(2, most))
        field.sort(key=lambda name: NAMES.index(name) + rng.gauss(0, 2))
        finishers = [name for name in field if rng.random() < 0.85]
        dnf = [name for name in field if name not in finishers]
        races.append(result(f"r{number}", " ".join(finishers), dnf=" ".join(dnf), after=number))
    return races


# The rules, for every model


def words(why: Explanation, names: Mapping[str | None, str]) -> list[str]:
    return [in_words(reason, names) for reason in why.reasons()]


@pytest.mark.parametrize("model", sorted(registry.MODELS))
def test_parts_equal_the_change_and_no_reason_contradicts_the_place_part(model: str) -> None:
    on = rater(model)
    seen = 0
    for race in invented_races(60, most=2 if model in TWO_PLAYERS else 8):
        for why in explained(on, race).values():
            if model in HURDLES:
                assert 0 < existing(why.finish_chance) < 1
                assert why.finished or not (why.pushed or why.compares)
            assert (why.finish_points or 0) + why.place_points + why.limit_points == why.change
            assert (why.limit is None) == (why.limit_points == 0)
            parts = (why.finish_points or 0, why.place_points, why.limit_points)
            assert why.unchanged is None or why.change == 0
            assert why.unchanged is not None or any(parts)
            for each in why.pushed:
                assert (each.beaten - each.chance) * why.place_points > 0
                assert abs(each.beaten - each.chance) >= 0.1
            assert len(why.pushed) <= 3
            sizes = [abs(each.beaten - each.chance) for each in why.pushed]
            assert sizes == sorted(sizes, reverse=True)
            if why.opposed is not None:
                assert why.pushed
                assert (why.opposed.beaten - why.opposed.chance) * why.place_points < 0
            seen += bool(why.pushed)
    assert seen > 10


@pytest.mark.parametrize("model", ["pairwise-elo", "trueskill", *HURDLES])
@given(st.data())
@settings(max_examples=30)
def test_expected_place_minus_place_is_the_sum_over_opponents(model: str, data: st.DataObject) -> None:
    field = data.draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=6, unique=True))
    ratings = {name: data.draw(st.floats(-2, 4)) for name in field}
    on = with_ratings(model, ratings)
    race = result("r", " ".join(field))
    states = {name: np.array(on.state(f"id-{name}")[0]) for name in field}

    def chance(a: FloatArray, b: FloatArray) -> float:
        if not isinstance(on.model, PredictsPerformance):
            return float(on.model.win_probability(a, b))
        mean, spread = on.model.performance(np.stack([a, b]))
        return NormalDist(0.0, float(np.hypot(*spread))).cdf(mean[0] - mean[1])

    chances = {(a, b): chance(states[a], states[b]) for a in field for b in field if a != b}
    for name, why in explained(on, race).items():
        beaten = field[field.index(name) + 1 :]
        terms = [(other in beaten) - chances[name, other] for other in field if other != name]
        assert why.expected - why.place == pytest.approx(sum(terms), abs=1e-9)
        assert why.actual == why.place == field.index(name) + 1


def in_teams(race: RaceResult, size: int) -> RaceResult:
    """Return the race with teams of so many neighbors. A team with a DNF has not finished."""
    members = enumerate(race.entrants)
    return replace(race, entrants=tuple(replace(each, team=f"{i // size}") for i, each in members))


@pytest.mark.parametrize("model", ["trueskill", *HURDLES])
def test_members_are_explained_by_their_team(model: str) -> None:
    on = rater(model, TeamPolicy.TEAM)
    named = 0
    for race in (in_teams(each, 2) for each in invented_races(60)):
        team = {each.name: each.team for each in race.entrants}
        whys = explained(on, race)
        by_team: dict[Any, set[Any]] = {}
        for name, why in whys.items():
            assert (why.finish_points or 0) + why.place_points + why.limit_points == why.change
            assert why.compared <= len(set(team.values()))
            assert 1 <= why.place <= len(set(team.values()))
            for each in why.pushed:
                assert (each.beaten - each.chance) * why.place_points > 0
                assert team[existing(each.player).removeprefix("id-").capitalize()] != team[name.capitalize()]
            seen = why.place, why.actual, why.expected, why.finish_chance
            by_team.setdefault(team[name.capitalize()], set()).add(seen)
            named += len(why.pushed)
        assert all(len(seen) == 1 for seen in by_team.values())
    assert named > 10


@pytest.mark.parametrize("model", ["trueskill", *HURDLES])
def test_a_team_of_one_is_explained_like_its_member(model: str) -> None:
    alone, by_team = rater(model), rater(model, TeamPolicy.TEAM)
    for race in invented_races(20):
        expected, found = explained(alone, race), explained(by_team, in_teams(race, 1))
        for name, why in found.items():
            for exact in ("change", "finish_points", "place_points", "limit", "place", "compared"):
                assert getattr(why, exact) == getattr(expected[name], exact)
            assert why.finish_chance == pytest.approx(expected[name].finish_chance)
            if why.compares:
                assert why.expected == pytest.approx(expected[name].expected)
                assert [each.player for each in why.pushed] == [each.player for each in expected[name].pushed]


# Compared entrants


@pytest.mark.parametrize("model", HURDLES)
def test_hurdle_models_compare_finishers_with_finishers(model: str) -> None:
    """Ann beats Bo, her equal, and Cy, far weaker; Di, the strongest, gives up."""
    on = with_ratings(model, {"ann": 1.0, "bo": 1.0, "cy": -2.0, "di": 3.0})
    whys = explained(on, result("r", "ann bo cy", dnf="di"))
    ann, cy, di = whys["ann"], whys["cy"], whys["di"]
    assert (ann.place, ann.compared) == (1, 3)
    assert ann.pushed[0].player == "id-bo", "beating Cy was less of a surprise"
    assert "id-di" not in {each.player for each in ann.pushed}
    assert {each.player for each in cy.pushed} <= {"id-ann", "id-bo"}
    assert (di.place, di.actual, di.compared) == (4, 4.0, 4)
    assert not di.pushed


def test_other_models_compare_everyone() -> None:
    on = with_ratings("pairwise-elo", {"ann": ANN, "bo": BO, "cy": CY}, dummy=None)
    whys = explained(on, result("r", "bo", dnf="ann cy"))
    bo, ann, cy = whys["bo"], whys["ann"], whys["cy"]
    assert bo.expected == pytest.approx(1 + OVER_BO + OVER_CY, abs=1e-6)
    assert [(each.player, each.beaten) for each in bo.pushed] == [("id-ann", True), ("id-cy", True)]
    assert [each.chance for each in bo.pushed] == pytest.approx([1 - OVER_BO, 1 - OVER_CY], abs=1e-6)
    assert [(each.player, each.beaten) for each in ann.pushed] == [("id-bo", False)]
    assert ann.pushed[0].chance == pytest.approx(OVER_BO, abs=1e-6)
    assert ann.actual == cy.actual == 2.5, "level entrants share the mean of second and third"
    assert ann.opposed is None, "nothing was observed between the two"
    assert ann.finish_chance is None


def test_no_opponent_is_named_for_a_result_as_expected() -> None:
    on = with_ratings("pairwise-elo", {"ann": 9.0, "bo": 0.0}, dummy=None)
    for why in explained(on, result("r", "ann bo")).values():
        assert (why.compares, why.pushed) == (True, ())
        assert "about as expected" in words(why, {}) or why.unchanged is not None


def test_of_equal_terms_the_better_placed_opponent_is_named_first() -> None:
    on = with_ratings("pairwise-elo", dict.fromkeys(("ann", "bo", "cy"), 1.0), dummy=None)
    whys = explained(on, result("r", "ann bo cy"))
    assert [each.player for each in whys["cy"].pushed] == ["id-ann", "id-bo"]


# Limits and ±0


def test_the_last_of_a_race_that_everyone_finished_never_gains() -> None:
    why = explained(rater("thurstone-hurdle"), result("r", "ann bo"))["bo"]
    assert (why.change, why.limit, why.unchanged) == (0, Rule.LAST, Rule.LAST)
    assert why.limit_points < 0
    assert words(why, {"id-ann": "Ann"}) == ["last place never gains"], "parts that cancel out would puzzle"


def test_a_finish_never_costs_more_than_a_forfeit() -> None:
    ratings = dict(zip(NAMES, (-6.0, -6.0, -6.0, -6.0, 4.0), strict=False))
    races = result("r", "ann bo cy di ed", dnf="hal"), result("r", "ann bo cy di", dnf="ed hal")
    late, forfeit = (
        explained(with_ratings("thurstone-hurdle", ratings, spare_finishers=True), race)["ed"]
        for race in races
    )
    assert (late.limit, late.limit_points > 0) == (Rule.FORFEIT, True)
    assert late.change == forfeit.change


@pytest.mark.parametrize("model", ["plackett-luce-hurdle", "pairwise-elo"])
def test_a_rating_at_the_floor_explains_that_nothing_changed(model: str) -> None:
    on = with_ratings(model, {"ann": 0.0, "bo": 0.0}, floor=0.0)
    why = explained(on, result("r", "bo cy", dnf="ann"))["ann"]
    assert (why.change, why.unchanged) == (0, Rule.FLOOR)
    assert words(why, {}) == ["ratings never go lower"]


def test_a_change_under_one_point_says_so() -> None:
    on = with_ratings("pairwise-elo", {"ann": 12.0, "bo": 0.0}, dummy=None)
    why = explained(on, result("r", "ann bo"))["ann"]
    assert (why.change, why.unchanged) == (0, Rule.SMALL)


# Words


def test_change_is_explained_in_words() -> None:
    on = with_ratings("pairwise-elo", {"ann": 0.0, "bo": 1.0, "cy": 1.0, "di": 0.0}, dummy=None)
    whys = explained(on, result("r", "ann bo di", dq="cy"))
    names: dict[str | None, str] = {f"id-{name}": name.title() for name in NAMES}
    # σ(-1) = 27 % and σ(0) = 50 %; the third, Di, weighs 0.5, more than half of 0.73.
    assert words(whys["ann"], names) == ["gained: Bo (27% to beat), Cy (27%), Di (50%)"]
    assert whys["cy"].status is EntrantStatus.DQ


def test_words_for_a_dnf_give_the_chance_to_finish() -> None:
    why = explained(rater("thurstone-hurdle"), result("r", "ann bo", dnf="cy"))["cy"]
    assert words(why, {}) == [f"{why.finish_chance:.0%} to finish"]
