from __future__ import annotations

import math

import numpy as np
import pytest

from racebot.study.calibration import of_pairs


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


def test_only_overconfident_probabilities_have_a_calibration_error() -> None:
    random = np.random.default_rng(1)
    favorite = random.uniform(0.5, 1.0, 200_000)
    chance = np.where(random.random(favorite.size) < favorite, favorite, 1 - favorite)
    assert of_pairs(chance).error < 0.006
    boast = np.where(chance > 0.5, 1 - (1 - chance) ** 2, chance**2)
    assert of_pairs(boast).error > 0.08
