from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from racebot.races.outcome import Outcome
from racebot.ratings import registry
from racebot.ratings.model import PredictsFinish
from racebot.standings.explain import Encounter, explain

ELO = registry.create("pairwise-elo")
# Chances by the logistic of the lead: of 0.2, 1 / (1 + e^-0.2) = 0.549834; of 0.1, 0.524979.
ANN, BO, CY = 1.1, 0.9, 1.0
OVER_BO, OVER_CY = 0.549834, 0.524979


def test_a_winner_against_the_odds_and_two_who_did_not_finish() -> None:
    states = np.array([[BO], [ANN], [CY]])
    bo, ann, cy = explain(ELO, states, Outcome.of([1], unfinished=2))
    assert bo.expected == pytest.approx(1 + OVER_BO + OVER_CY, abs=1e-6)
    assert bo.actual == 1
    assert [(e.opponent, e.won) for e in bo.encounters] == [(1, True), (2, True)]
    assert [e.chance for e in bo.encounters] == pytest.approx([1 - OVER_BO, 1 - OVER_CY], abs=1e-6)
    assert ann.expected == pytest.approx(1 + (1 - OVER_BO) + (1 - OVER_CY), abs=1e-6)
    assert ann.actual == cy.actual == 2.5, "those level share the mean of second and third"
    assert [(e.opponent, e.won) for e in ann.encounters] == [(0, False)], "nothing was seen between the two"
    assert ann.encounters[0].chance == pytest.approx(1 - OVER_BO, abs=1e-6)


def test_of_encounters_alike_the_first_entrant_comes_first() -> None:
    states = np.array([[CY], [BO], [ANN]])
    (cy, _, _) = explain(ELO, states, Outcome.of([2, 1, 3]))
    # Behind Bo, whom Cy beats in 52 of 100 races, and before Ann, who beats Cy as often.
    assert [(e.opponent, e.won) for e in cy.encounters] == [(1, False), (2, True)]
    assert [e.chance for e in cy.encounters] == pytest.approx([1 - OVER_CY, 1 - OVER_CY], abs=1e-6)


def test_an_expected_result_is_likely() -> None:
    (winner, loser) = explain(ELO, np.array([[5.0], [0.0]]), Outcome.of([1, 2]))
    assert winner.encounters[0].chance == loser.encounters[0].chance == pytest.approx(0.993307, abs=1e-6)


@given(st.lists(st.floats(-2, 4), min_size=2, max_size=8), st.data())
def test_with_sums_over_pairs_the_influences_add_up_to_the_change(
    ratings: list[float], data: st.DataObject
) -> None:
    """Each pair adds its own term in Elo, so that without an opponent just that term is missing."""
    elo = registry.create("pairwise-elo", {"dummy": None})
    n = len(ratings)
    states = np.tile(elo.initial(), (n, 1))
    states[:, 0] += ratings
    places = data.draw(st.lists(st.integers(1, n), min_size=n, max_size=n))
    outcome = Outcome.of(places)
    if not outcome.rateable:
        return
    change = elo.rating(elo.rate(states, outcome)) - elo.rating(states)
    for i, explanation in enumerate(explain(elo, states, outcome)):
        if places.count(places[i]) == 1:
            influences = [encounter.influence for encounter in explanation.encounters]
            assert sum(influences) == pytest.approx(change[i], abs=1e-9)
            assert all((e.influence > 0) == e.won for e in explanation.encounters)
            sizes = [abs(influence) for influence in influences]
            assert sizes == pytest.approx(sorted(sizes, reverse=True), abs=1e-9)


@pytest.mark.parametrize("key", ["thurstone-hurdle", "thurstone-filter", "plackett-luce-hurdle"])
def test_hurdle_models_name_finishers_alone(key: str) -> None:
    """Ann beats Bo, who is as strong, and Cy, who is far weaker; Di, the strongest, gives up."""
    model = registry.create(key)
    states = np.tile(model.initial(), (4, 1))
    states[:, 0] += [1.0, 1.0, -2.0, 3.0]
    ann, bo, cy, di = explain(model, states, Outcome.of([1, 2, 3], unfinished=1))
    assert [(e.opponent, e.won) for e in ann.encounters] == [(1, True), (2, True)]
    assert {(e.opponent, e.won) for e in cy.encounters} == {(0, False), (1, False)}
    assert {e.opponent for e in bo.encounters} == {0, 2}
    assert di.encounters == ()
    assert isinstance(model, PredictsFinish)
    chances = [e.finish_chance for e in (ann, bo, cy, di)]
    assert chances == pytest.approx(model.finish_probability(states).tolist())
    assert di.actual == 4.0
    assert ann.encounters[0].influence > ann.encounters[1].influence > 0


@pytest.mark.parametrize("key", ["thurstone-hurdle", "thurstone-filter", "plackett-luce-hurdle"])
def test_hurdle_models_expect_places_among_finishers(key: str) -> None:
    """Two equals finish and two give up: each was as likely to be first of the two as second."""
    model = registry.create(key)
    states = np.tile(model.initial(), (4, 1))
    states[2:, 0] += [-2.0, 3.0]
    first, second, *gone = explain(model, states, Outcome.of([1, 2], unfinished=2))
    assert (first.place, second.place) == (first.actual, second.actual) == (1, 2)
    assert first.compared == second.compared == 2
    assert first.expected == pytest.approx(1.5)
    assert second.expected == pytest.approx(1.5)
    assert all(each.compared == 4 and each.place == 3 and each.actual == 3.5 for each in gone)


@given(
    st.lists(st.floats(-2, 4), min_size=2, max_size=8),
    st.data(),
    st.sampled_from(["pairwise-elo", "plackett-luce", "trueskill"]),
)
def test_places_add_up(ratings: list[float], data: st.DataObject, key: str) -> None:
    model = registry.create(key)
    states = np.tile(model.initial(), (len(ratings), 1))
    states[:, 0] += ratings
    finished = data.draw(st.integers(1, len(ratings)))
    places = data.draw(st.lists(st.integers(1, 4), min_size=finished, max_size=finished))
    explanations = explain(model, states, Outcome.of(places, unfinished=len(ratings) - finished))
    n = len(ratings)
    assert sum(e.expected for e in explanations) == pytest.approx(n * (n + 1) / 2)
    assert sum(e.actual for e in explanations) == pytest.approx(n * (n + 1) / 2)
    for explanation in explanations:
        assert 1 <= explanation.expected <= n


def test_what_explains_a_change_is_what_moved_it_that_way() -> None:
    """Where points are shared out anew, an opponent who is beaten may also cost some."""
    assert Encounter(1, won=True, chance=0.5, influence=0.2).weight == 0.2
    assert Encounter(1, won=True, chance=0.5, influence=-0.3).weight == -0.3
    assert Encounter(1, won=False, chance=0.5, influence=-0.3).weight == 0.3
    states = np.tile(registry.create("elo-ffa").initial(), (5, 1))
    states[:, 0] += [300.0, -200.0, 100.0, 0.0, -100.0]
    explanations = explain(registry.create("elo-ffa"), states, Outcome.of([3, 1, 2, 5, 4]))
    weights = [[encounter.weight for encounter in each.encounters] for each in explanations]
    for of_one in weights:
        assert of_one == pytest.approx(sorted(of_one, reverse=True), abs=1e-9)
    assert min(map(min, weights)) < 0 < max(map(max, weights)), "both are seen in this race"
