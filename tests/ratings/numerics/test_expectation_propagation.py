"""Message passing against closed forms, sampling, and the three schedules against each other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from racebot.ratings.numerics.arithmetic import ARRAYS, FLOATS
from racebot.ratings.numerics.expectation_propagation import (
    Evidence,
    PairComparison,
    along_chain,
    jointly,
    through_layers,
)

EXACT: dict[str, Any] = {"rounds": 500, "tolerance": 1e-10}


def posterior(evidence: Evidence, mean: float, variance: float) -> tuple[float, float]:
    """Mean and variance of a performance given the evidence."""
    scale = 1 / (1 + evidence.precision * variance)
    return mean + variance * scale * evidence.pull, variance * scale


def sampled(means, variances, comparisons, *, size=2_000_000):
    """Mean and variance of the performances that meet all comparisons."""
    draws = np.random.default_rng(5).normal(means, np.sqrt(variances), (size, len(means)))
    kept = np.all([draws[:, a] - draws[:, b] > margin for a, b, margin in comparisons], axis=0)
    assert kept.sum() > 20_000
    return draws[kept].mean(axis=0), draws[kept].var(axis=0)


def everyone(better, worse, margin=0.0):
    return [PairComparison(a, b, margin) for a in better for b in worse]


def test_one_win_is_exact() -> None:
    # Half normal: from two equal units of variance 1, each moves by √(2/π)/√2 and keeps 1 − 1/π.
    (winner, loser) = along_chain([3.0, 3.0], [1.0, 1.0], [0.0], [False], FLOATS, **EXACT)
    assert posterior(winner, 3.0, 1.0) == pytest.approx((3 + 1 / math.sqrt(math.pi), 1 - 1 / math.pi))
    assert posterior(loser, 3.0, 1.0) == pytest.approx((3 - 1 / math.sqrt(math.pi), 1 - 1 / math.pi))


def test_a_draw_without_margin_makes_two_units_one() -> None:
    # Two measurements of one number, weighted by precision.
    (first, second) = along_chain([1.0, 4.0], [1.0, 2.0], [0.0], [True], FLOATS, **EXACT)
    assert posterior(first, 1.0, 1.0) == pytest.approx((2.0, 2 / 3))
    assert posterior(second, 4.0, 2.0) == pytest.approx((2.0, 2 / 3))


@pytest.mark.parametrize(
    "comparisons",
    [
        pytest.param([everyone([0], [1]), everyone([1], [2]), everyone([2], [3])], id="a row"),
        pytest.param([everyone([0], [1]), everyone([1], [2, 3])], id="two unfinished"),
        pytest.param([everyone([0], [1, 2, 3])], id="one finisher"),
        pytest.param([everyone([0, 1, 2], [3])], id="one loser"),
        pytest.param([everyone([0, 1], [2]), everyone([2], [3])], id="two winners"),
    ],
)
def test_trees_come_near_the_truth_by_either_schedule(comparisons) -> None:
    means, variances = [1.0, 0.5, 0.8, 0.0], [1.0, 2.0, 1.5, 1.0]
    flat = [comparison for layer in comparisons for comparison in layer]
    by_layer = through_layers(means, variances, comparisons, FLOATS, **EXACT)
    jointly_found = jointly(means, variances, flat, **EXACT)
    np.testing.assert_allclose(by_layer, jointly_found, rtol=1e-7, atol=1e-8)
    true_mean, true_variance = sampled(means, variances, flat)
    found = [posterior(*row) for row in zip(by_layer, means, variances, strict=True)]
    np.testing.assert_allclose(np.transpose(found)[0], true_mean, atol=0.03)
    np.testing.assert_allclose(np.transpose(found)[1], true_variance, rtol=0.05)


@pytest.mark.parametrize(
    "comparisons",
    [
        pytest.param(everyone([0, 1], [2, 3]), id="two over two"),
        pytest.param(everyone([0], [1, 2]) + everyone([1, 2], [3]), id="tied between"),
    ],
)
def test_circles_count_no_evidence_twice(comparisons) -> None:
    means, variances = [1.0, 0.5, 0.8, 0.0], [1.0, 2.0, 1.5, 1.0]
    found = [
        posterior(*row)
        for row in zip(jointly(means, variances, comparisons, **EXACT), means, variances, strict=True)
    ]
    true_mean, true_variance = sampled(means, variances, comparisons)
    np.testing.assert_allclose(np.transpose(found)[0], true_mean, atol=0.04)
    np.testing.assert_allclose(np.transpose(found)[1], true_variance, rtol=0.08)


def test_a_row_is_a_row_by_every_schedule() -> None:
    rng = np.random.default_rng(3)
    means, variances = rng.normal(25, 8, 12).tolist(), rng.uniform(2, 90, 12).tolist()
    margins = rng.uniform(0, 1, 11).tolist()
    row = [PairComparison(i, i + 1, margin) for i, margin in enumerate(margins)]
    chain = along_chain(means, variances, margins, [False] * 11, FLOATS, **EXACT)
    layers = through_layers(means, variances, [[c] for c in row], FLOATS, **EXACT)
    np.testing.assert_allclose(chain, layers, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(chain, jointly(means, variances, row, **EXACT), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("finishers", [1, 3, 20])
@pytest.mark.parametrize("unfinished", [2, 20, 38])
@pytest.mark.parametrize("spread", [1.0, 10.0, 300.0])
def test_layers_settle_whatever_the_surprise(finishers: int, unfinished: int, spread: float) -> None:
    rng = np.random.default_rng(finishers * unfinished)
    n = finishers + unfinished
    means, variances = rng.normal(0, spread, n).tolist(), np.exp(rng.uniform(0, 5, n)).tolist()
    layers = [everyone([i], [i + 1], 0.7) for i in range(finishers - 1)]
    layers.append(everyone([finishers - 1], range(finishers, n), 0.7))
    settled = through_layers(means, variances, layers, FLOATS, rounds=200, tolerance=1e-6)
    more = through_layers(means, variances, layers, FLOATS, rounds=1000, tolerance=1e-9)
    for short, long, mean, variance in zip(settled, more, means, variances, strict=True):
        expected = posterior(long, mean, variance)
        assert posterior(short, mean, variance) == pytest.approx(expected, rel=1e-4, abs=1e-4)
        assert 0 < expected[1] <= variance * (1 + 1e-9)


@pytest.mark.parametrize("spread", [1.0, 30.0, 300.0])
def test_circles_stay_finite_whatever_the_surprise(spread: float) -> None:
    rng = np.random.default_rng(8)
    means, variances = rng.normal(0, spread, 20).tolist(), np.exp(rng.uniform(0, 5, 20)).tolist()
    evidence = jointly(means, variances, everyone(range(10), range(10, 20)), rounds=200, tolerance=1e-6)
    for found, mean, variance in zip(evidence, means, variances, strict=True):
        new_mean, new_variance = posterior(found, mean, variance)
        assert math.isfinite(new_mean)
        assert 0 < new_variance <= variance * (1 + 1e-9)


def test_candidates_are_independent() -> None:
    rng = np.random.default_rng(4)
    means, variances = rng.normal(25, 8, (6, 5)), rng.uniform(2, 90, (6, 5))
    margins = np.array([0.0, 0.1, 0.5, 1.0, 2.0])
    star = [[PairComparison(0, 1, margins)], [PairComparison(1, i, margins) for i in (2, 3, 4, 5)]]
    circle = everyone([0, 1], [2, 3], margins) + everyone([2, 3], [4, 5], margins)
    chain = along_chain(
        list(means), list(variances), [margins] * 5, [False, True] * 2 + [True], ARRAYS, **EXACT
    )
    tree = through_layers(list(means), list(variances), star, ARRAYS, **EXACT)
    joint = jointly(list(means), list(variances), circle, **EXACT)

    def single(layer, c):
        return [PairComparison(a, b, float(margin[c])) for a, b, margin in layer]

    for c in range(5):
        ours = means[:, c].tolist(), variances[:, c].tolist()
        one = along_chain(*ours, [float(margins[c])] * 5, [False, True] * 2 + [True], FLOATS, **EXACT)
        np.testing.assert_allclose([[e.precision[c], e.pull[c]] for e in chain], one, rtol=1e-7, atol=1e-9)
        one = through_layers(*ours, [single(layer, c) for layer in star], FLOATS, **EXACT)
        np.testing.assert_allclose([[e.precision[c], e.pull[c]] for e in tree], one, rtol=1e-7, atol=1e-9)
        one = jointly(*ours, single(circle, c), **EXACT)
        np.testing.assert_allclose([[e.precision[c], e.pull[c]] for e in joint], one, rtol=1e-7, atol=1e-9)
