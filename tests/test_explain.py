from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from racebot.explain import Encounter, explain
from racebot.races.outcome import Outcome
from racebot.ratings import registry

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


def test_the_most_surprising_encounter_comes_first() -> None:
    states = np.array([[CY], [BO], [ANN]])
    (cy, _, _) = explain(ELO, states, Outcome.of([2, 1, 3]))
    # Behind Bo, whom Cy beats in 52 of 100 races, and before Ann, who beats Cy as often.
    assert [(e.opponent, e.won) for e in cy.encounters] == [(1, False), (2, True)]
    assert [e.chance for e in cy.encounters] == pytest.approx([1 - OVER_CY, 1 - OVER_CY], abs=1e-6)


def test_an_expected_result_is_likely() -> None:
    (winner, loser) = explain(ELO, np.array([[5.0], [0.0]]), Outcome.of([1, 2]))
    assert winner.encounters[0].chance == loser.encounters[0].chance == pytest.approx(0.993307, abs=1e-6)
    assert winner.encounters[0].surprise == pytest.approx(0.006693, abs=1e-6)


def test_surprise_is_what_the_chance_leaves() -> None:
    assert Encounter(1, won=True, chance=0.25).surprise == 0.75


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
        chances = [e.chance for e in explanation.encounters]
        assert chances == sorted(chances)
