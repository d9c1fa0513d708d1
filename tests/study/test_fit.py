"""Fits on invented races: the parameters they change, and when they are kept."""

from __future__ import annotations

import numpy as np
import pytest

from racebot.errors import ModelError
from racebot.ratings.registry import create
from racebot.study.fit import fit
from racebot.study.history import History
from racebot.study.paired import Objective, tally
from racebot.study.search import Effort

QUICK = Effort(12, 4)
CERTAIN = {"odds_scale": 2.5, "odds_doubt": 0.0}
"""Odds that are much too certain."""


def test_too_few_races_are_refused(season: History) -> None:
    with pytest.raises(ModelError, match="99 races so far"):
        fit(season.split(99 / 150)[0], "thurstone-hurdle")


def test_below_300_races_only_the_odds_are_fitted(season: History) -> None:
    found = fit(season, "thurstone-hurdle", CERTAIN)
    assert found.kept
    assert set(found.fitted) <= {"odds_scale", "odds_doubt", "finish_level", "finish_width"}
    assert found.judged.start_pairs.misordered == found.judged.tuned_pairs.misordered
    assert found.judged.difference < -2 * found.judged.standard_error
    assert found.calibration[1] < found.calibration[0]


def test_fitted_odds_are_the_best_on_a_grid(season: History) -> None:
    found = fit(season, "thurstone-hurdle", CERTAIN)
    given = {name: value for name in CERTAIN if isinstance(value := found.parameters[name], float)}
    assert len(given) == len(CERTAIN)

    def loss(parameters: dict[str, float]) -> float:
        model = create("thurstone-hurdle", {**found.parameters, **parameters})
        return float(tally(model, season, Objective.LOG_LOSS).mean())

    best = loss(given)
    for scale in np.linspace(0.4, 2.4, 6):
        for doubt in np.linspace(0.0, 8.0, 5):
            assert best <= loss({"odds_scale": float(scale), "odds_doubt": float(doubt)}) + 1e-6


def test_a_fit_that_is_not_clearly_better_is_not_kept(season: History) -> None:
    """Fit a second time, from the result of the first fit."""
    once = fit(season, "thurstone-hurdle", CERTAIN)
    again = fit(season, "thurstone-hurdle", once.parameters)
    assert not again.kept
    assert again.parameters == once.parameters
    assert again.fitted == ()


def test_the_second_half_does_not_influence_the_fit_it_judges(season: History) -> None:
    first, second = season.split(0.5)
    shuffled = History(season.players, season.names, first.races + second.races[::-1])
    one, two = (fit(each, "thurstone-hurdle", CERTAIN) for each in (season, shuffled))
    assert one.judged.start_pairs != two.judged.start_pairs
    assert one.judged.races == two.judged.races == 75


@pytest.fixture(scope="session")
def long_season(season: History) -> History:
    """Return three hundred races: the season, repeated a season later."""
    return History(season.players, season.names, season.races * 2)


def test_from_300_races_everything_that_moves_ratings_is_fitted(long_season: History) -> None:
    start = {"newcomer_spread": 0.3, "lasting_spread": 0.02, "settling": 0.1}
    found = fit(long_season, "thurstone-hurdle", start, effort=QUICK)
    assert found.kept
    assert "newcomer_spread" in found.fitted
    assert "lapse" not in found.fitted
    assert found.judged.tuned_pairs.misordered < found.judged.start_pairs.misordered


def test_models_without_odds_to_scale_are_fitted_from_300_races(
    season: History, long_season: History
) -> None:
    with pytest.raises(ModelError, match="no parameters to fit to 150 races"):
        fit(season, "plackett-luce")
    found = fit(long_season, "plackett-luce", {"rates": [0.01, 0.01, 0.01]}, effort=QUICK)
    assert found.kept
    assert "rates" in found.fitted
