from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from builders import result
from scipy.special import expit, ndtr

from racebot.errors import ModelError
from racebot.ratings.model import PredictsFinish
from racebot.ratings.registry import create
from racebot.study.calibration import fit_finishes, of_pairs, reliability
from racebot.study.evaluate import Entry, evaluate
from racebot.study.history import History, replay


def test_reliability_agrees_with_four_pairs_worked_by_hand() -> None:
    """Predictions of .91 and .93, one of them right; a wrong one of .66; and an even one."""
    found = of_pairs(np.array([0.91, 0.07, 0.34, 0.5]))
    assert found.weight.tolist() == [1, 0, 0, 1, 0, 0, 0, 0, 2, 0]
    filled = found.weight > 0
    np.testing.assert_allclose(found.predicted[filled], [0.5, 0.66, 0.92])
    np.testing.assert_allclose(found.observed[filled], [0.5, 0.0, 0.5])
    assert np.isnan(found.predicted[~filled]).all()
    assert found.error == pytest.approx((0 + 0.66 + 2 * 0.42) / 4)


def test_weights_scale_the_counts() -> None:
    chance = np.array([0.8, 0.2, 0.2])
    weighted = of_pairs(chance[:2], np.array([1.0, 2.0]))
    np.testing.assert_allclose(weighted, of_pairs(chance))
    assert math.isnan(of_pairs(np.empty(0)).error)


def test_certain_and_even_predictions_have_a_bin() -> None:
    found = reliability(np.array([0.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0]))
    assert found.weight[[0, -1]].tolist() == [1, 2]
    assert found.error == pytest.approx(2 * 0.5 / 3)


def test_only_overconfident_probabilities_have_a_calibration_error() -> None:
    random = np.random.default_rng(1)
    favorite = random.uniform(0.5, 1.0, 200_000)
    chance = np.where(random.random(favorite.size) < favorite, favorite, 1 - favorite)
    assert of_pairs(chance).error < 0.006
    boast = np.where(chance > 0.5, 1 - (1 - chance) ** 2, chance**2)
    assert of_pairs(boast).error > 0.08


def test_calibration_error_covers_all_judged_pairs(season: History) -> None:
    (evaluation,) = evaluate(season, [Entry("pl", "plackett-luce")]).evaluations
    chances = []
    for step in replay(create("plackett-luce"), season):
        group, rating = step.race.outcome.group, step.before[:, 0]
        chances += [
            float(expit(rating[i] - rating[j]))
            for i, j in itertools.permutations(range(group.size), 2)
            if group[i] < group[j]
        ]
    alone = of_pairs(np.array(chances))
    assert evaluation.figures.calibration_error == pytest.approx(alone.error)
    np.testing.assert_allclose(evaluation.reliability, alone)


def test_a_fitted_finish_forecast_beats_the_mean(season: History) -> None:
    """It is also calibrated, and does not depend on where the search starts."""
    found = fit_finishes(season, "thurstone-hurdle")
    assert found.log_loss < found.base
    model = create("thurstone-hurdle", {"finish_level": found.level, "finish_width": found.width})
    assert isinstance(model, PredictsFinish)
    steps = list(replay(model, season))
    chances = np.concatenate([model.finish_probability(step.before) for step in steps])
    finished = np.concatenate([~step.race.outcome.unfinished for step in steps])
    assert reliability(chances, finished.astype(np.float64)).error < 0.04
    again = fit_finishes(season, "thurstone-hurdle", {"finish_level": 0.0, "finish_width": 1.0})
    assert again == pytest.approx(found, rel=1e-2)


def test_a_fitted_forecast_recovers_the_simulated_parameters() -> None:
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
    still = {"newcomer_spread": 1e-3, "lasting_spread": 1e-3}
    found = fit_finishes(History.of(results), "thurstone-hurdle", still)
    assert ndtr(-found.level / found.width) == pytest.approx(0.6, abs=0.03)


def test_a_model_without_a_hurdle_forecasts_no_finish(season: History) -> None:
    with pytest.raises(ModelError, match="no parameter 'finish_level'"):
        fit_finishes(season, "trueskill")


def test_a_history_without_dnfs_cannot_be_fitted() -> None:
    with pytest.raises(ModelError, match="no finish forecast to fit"):
        fit_finishes(History.of([result("r", "ann bo")]), "thurstone-hurdle")
