"""Fits on invented races: the parameters they change, and when they are kept."""

from __future__ import annotations

import numpy as np
import pytest
from builders import result
from scipy.special import ndtr

from racebot.errors import ModelError
from racebot.ratings.parameters import as_json
from racebot.ratings.registry import create
from racebot.study.fit import finish_forecast, fit
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


def test_a_finish_forecast_recovers_the_simulated_parameters() -> None:
    """All players have the same rating, which no race moves, and 60 % of them finish."""
    random = np.random.default_rng(3)
    names = [f"p{i}" for i in range(8)]
    results = []
    for number in range(400):
        out = random.random(8) > 0.6
        finishers = " ".join(n for n, o in zip(names, out, strict=True) if not o)
        dnf = " ".join(n for n, o in zip(names, out, strict=True) if o)
        if finishers and dnf:
            results.append(result(f"r{number}", finishers, dnf=dnf, after=number))
    still = as_json(create("thurstone-hurdle", {"newcomer_spread": 1e-3, "lasting_spread": 1e-3}))
    found = finish_forecast(History.of(results), "thurstone-hurdle", still)
    assert ndtr(-found["finish_level"] / found["finish_width"]) == pytest.approx(0.6, abs=0.03)


def test_a_model_or_a_history_without_dnfs_has_no_finish_forecast_to_fit(season: History) -> None:
    assert finish_forecast(season, "trueskill", {}) == {}
    finished = History.of([result("r", "ann bo")])
    assert finish_forecast(finished, "thurstone-hurdle", as_json(create("thurstone-hurdle"))) == {}
