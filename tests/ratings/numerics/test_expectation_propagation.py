"""Message passing against closed forms, sampling, and the three schedules against each other."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from racebot.ratings.numerics import expectation_propagation
from racebot.ratings.numerics.expectation_propagation import along_chain, jointly, through_layers, wins
from racebot.ratings.numerics.truncated_normal import win

EXACT: dict[str, Any] = {"rounds": 500, "tolerance": 1e-10}
Comparisons = list[tuple[int, int, float]]
"""Winner, loser and margin of each comparison."""


def by_layers(means, variances, layers: list[Comparisons], **effort: Any) -> Any:
    """Return precision and pull of each unit, for comparisons in layers."""
    starts = np.cumsum([0, *(len(layer) for layer in layers)]).tolist()
    winners, losers, margins = (list(c) for c in zip(*itertools.chain(*layers), strict=True))
    return through_layers(means, variances, winners, losers, margins, starts, **effort)


def at_once(means, variances, comparisons: Comparisons, **effort: Any) -> Any:
    """Return precision and pull of each unit, for comparisons that are updated together."""
    winners, losers, margins = (list(c) for c in zip(*comparisons, strict=True))
    return jointly(means, variances, winners, losers, margins, **effort)


def posteriors(evidence: Any, means, variances) -> np.ndarray:
    """Return mean and variance of each performance, given the evidence: shape [2, n]."""
    precision, pull = np.array(evidence)
    scale = 1 / (1 + precision * np.array(variances))
    return np.array([means + np.array(variances) * scale * pull, variances * scale])


def sampled(means, variances, comparisons, *, size=800_000):
    """Return mean and variance of the sampled performances that meet all comparisons."""
    draws = np.random.default_rng(5).normal(means, np.sqrt(variances), (size, len(means)))
    kept = np.all([draws[:, a] - draws[:, b] > margin for a, b, margin in comparisons], axis=0)
    assert kept.sum() > 20_000
    return draws[kept].mean(axis=0), draws[kept].var(axis=0)


def everyone(better, worse, margin=0.0):
    return [(a, b, margin) for a in better for b in worse]


def test_a_draw_without_margin_makes_two_performances_equal() -> None:
    # Two measurements of one number, weighted by precision.
    evidence = along_chain([1.0, 4.0], [1.0, 2.0], [0.0], [True], **EXACT)
    mean, variance = posteriors(evidence, [1.0, 4.0], [1.0, 2.0])
    assert mean == pytest.approx([2.0, 2.0])
    assert variance == pytest.approx([2 / 3, 2 / 3])


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
def test_both_schedules_for_trees_agree_with_sampling(comparisons) -> None:
    means, variances = [1.0, 0.5, 0.8, 0.0], [1.0, 2.0, 1.5, 1.0]
    flat = [comparison for layer in comparisons for comparison in layer]
    by_layer = by_layers(means, variances, comparisons, **EXACT)
    np.testing.assert_allclose(by_layer, at_once(means, variances, flat, **EXACT), rtol=1e-7, atol=1e-8)
    true_mean, true_variance = sampled(means, variances, flat)
    mean, variance = posteriors(by_layer, means, variances)
    np.testing.assert_allclose(mean, true_mean, atol=0.03)
    np.testing.assert_allclose(variance, true_variance, rtol=0.05)


@pytest.mark.parametrize(
    "comparisons",
    [
        pytest.param(everyone([0, 1], [2, 3]), id="two over two"),
        pytest.param(everyone([0], [1, 2]) + everyone([1, 2], [3]), id="tied between"),
    ],
)
def test_cycles_agree_with_sampling(comparisons) -> None:
    means, variances = [1.0, 0.5, 0.8, 0.0], [1.0, 2.0, 1.5, 1.0]
    mean, variance = posteriors(at_once(means, variances, comparisons, **EXACT), means, variances)
    true_mean, true_variance = sampled(means, variances, comparisons)
    np.testing.assert_allclose(mean, true_mean, atol=0.04)
    np.testing.assert_allclose(variance, true_variance, rtol=0.08)


@pytest.mark.parametrize("size", [12, 100])
def test_all_schedules_agree_on_a_chain_and_end_when_only_rounding_errors_are_left(size: int) -> None:
    rng = np.random.default_rng(3)
    means, variances = rng.normal(25, 8, size).tolist(), rng.uniform(2, 90, size).tolist()
    row = [(i, i + 1, margin) for i, margin in enumerate(rng.uniform(0, 1, size - 1).tolist())]

    def found(**effort: Any) -> list[Any]:
        chain = along_chain(means, variances, [c[2] for c in row], [False] * len(row), **effort)
        layers = by_layers(means, variances, [[c] for c in row], **effort)
        return [chain, layers, at_once(means, variances, row, **effort)]

    chain, *others = found(**EXACT)
    for other in others:
        np.testing.assert_allclose(chain, other, rtol=1e-6, atol=1e-8)
    assert found(rounds=100, tolerance=1e-15) == found(rounds=101, tolerance=1e-15)


@pytest.mark.parametrize("finishers", [1, 3, 20])
@pytest.mark.parametrize("unfinished", [2, 20, 38])
@pytest.mark.parametrize("spread", [1.0, 10.0, 300.0])
def test_layers_converge_after_any_upset(finishers: int, unfinished: int, spread: float) -> None:
    rng = np.random.default_rng(finishers * unfinished)
    n = finishers + unfinished
    means, variances = rng.normal(0, spread, n).tolist(), np.exp(rng.uniform(0, 5, n)).tolist()
    layers = [everyone([i], [i + 1], 0.7) for i in range(finishers - 1)]
    layers.append(everyone([finishers - 1], range(finishers, n), 0.7))
    settled = by_layers(means, variances, layers, rounds=200, tolerance=1e-6)
    more = by_layers(means, variances, layers, rounds=1000, tolerance=1e-9)
    expected = posteriors(more, means, variances)
    np.testing.assert_allclose(posteriors(settled, means, variances), expected, rtol=1e-4, atol=1e-4)
    assert ((expected[1] > 0) & (expected[1] <= np.array(variances) * (1 + 1e-9))).all()


@pytest.mark.parametrize("spread", [1.0, 30.0, 300.0])
def test_cycles_settle_in_blocks_of_any_size(spread: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    layer = np.repeat(range(7), [1, 2, 28, 28, 5, 1, 10]).tolist()
    means, variances = rng.normal(0, spread, 75).tolist(), rng.uniform(20, 80, 75).tolist()
    wins = [(a, b, 0.7) for a, b in itertools.combinations(range(75), 2) if layer[b] == layer[a] + 1]
    found = []
    for block, rounds in ((75, 200), (1, 301)):
        monkeypatch.setattr(expectation_propagation, "_BLOCK", block)
        evidence = at_once(means, variances, wins, rounds=rounds, tolerance=1e-6)
        found.append(posteriors(evidence, means, variances))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6, atol=1e-6)
    mean, variance = found[0]
    assert np.isfinite(mean).all()
    assert ((variance > 0) & (variance <= np.array(variances) * (1 + 1e-9))).all()


def test_cycles_settle_where_dozens_share_each_place() -> None:
    rng = np.random.default_rng(9)
    means, variances = -np.sort(-rng.normal(25, 7, 200)), rng.uniform(20, 80, 200)
    layers = [range(start, start + 20) for start in range(0, 200, 20)]
    wins = [comparison for pair in itertools.pairwise(layers) for comparison in everyone(*pair, 0.7)]
    settled = at_once(means.tolist(), variances.tolist(), wins, rounds=120, tolerance=1e-10)
    assert settled == at_once(means.tolist(), variances.tolist(), wins, rounds=121, tolerance=1e-10)


@given(t=st.floats(-1e3, 1e3), margin=st.floats(0, 50))
def test_several_wins_agree_with_single_ones(t: float, margin: float) -> None:
    found = wins(np.array([t, -t]), np.array([margin, margin]))
    expected = np.transpose([win(t, margin), win(-t, margin)])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
