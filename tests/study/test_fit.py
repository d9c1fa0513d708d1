"""Fits to invented races: what they change, and when they are kept."""

import itertools
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
from builders import result
from scipy.special import log_ndtr, ndtr

from racebot.errors import ModelError
from racebot.ratings.models.thurstone_hurdle import ThurstoneHurdle
from racebot.ratings.parameters import ParameterValue, defaults
from racebot.ratings.registry import MODELS, create
from racebot.study import fit as fit_module
from racebot.study.fit import ODDS_FROM, SPREADS, fit, fit_odds
from racebot.study.history import History, replay
from racebot.study.metrics import tallies
from racebot.study.tuning import JudgedPart

KEY = "thurstone-hurdle"
USUAL = defaults(MODELS[KEY])
CERTAIN = {"odds_scale": 2.5, "odds_doubt": 0.0}
"""Odds that are much too certain."""


def number(value: ParameterValue) -> float:
    assert isinstance(value, float)
    return value


def test_too_few_races_change_nothing(season: History) -> None:
    few = season.split((ODDS_FROM - 1) / 150)[0]
    assert fit_odds(few, KEY, CERTAIN) == USUAL | CERTAIN
    with pytest.raises(ModelError, match="19 races so far"):
        fit(few, KEY)


def test_a_share_of_the_pairs_gives_nearly_the_same_odds(season: History, monkeypatch) -> None:
    whole = fit_odds(season, KEY, CERTAIN)
    pairs = sum(race.outcome.size * (race.outcome.size - 1) // 2 for race in season.races)
    monkeypatch.setattr(fit_module, "MOST_PAIRS", pairs // 3)
    share = fit_odds(season, KEY, CERTAIN)
    assert number(share["odds_scale"]) == pytest.approx(number(whole["odds_scale"]), rel=0.15)
    assert share["odds_scale"] != whole["odds_scale"]


def test_fitted_odds_are_the_best_on_a_grid_once_the_defaults_count(season: History) -> None:
    found = fit_odds(season, KEY, CERTAIN)
    comparisons = sum(race.outcome.size - 1 for race in season.races)

    def cost(scale: float, doubt: float) -> float:
        model = create(KEY, {**found, "odds_scale": scale, "odds_doubt": doubt})
        loss = float(tallies(model, season).log_loss.mean())
        distance = (np.log(scale) / SPREADS["odds_scale"]) ** 2 + ((doubt - 1) / SPREADS["odds_doubt"]) ** 2
        return comparisons * loss + 0.5 * distance / 0.2

    best = cost(number(found["odds_scale"]), number(found["odds_doubt"]))
    for scale in np.linspace(0.4, 2.4, 6):
        for doubt in np.linspace(0.0, 8.0, 5):
            assert best <= cost(float(scale), float(doubt)) + 1e-3


def test_dnfs_flatten_the_odds_of_pairs_and_not_the_performances() -> None:
    """Skills are 1.2 apart, and every second start ends in a DNF that has nothing to do with skill."""
    random = np.random.default_rng(5)
    results = []
    for index in range(200):
        speed = dict(zip("abcd", 1.2 * np.arange(4) + random.standard_normal(4), strict=True))
        out = {each for each in speed if random.random() < 0.5}
        order = sorted(speed.keys() - out, key=lambda each: -speed[each])
        if order:
            results.append(result(f"r{index}", " ".join(order), dnf=" ".join(sorted(out)), after=index))
    history = History.of(results)
    found = fit_odds(history, KEY)
    assert number(found["odds_scale"]) < 0.8 * number(found["performance_scale"])

    def cost(scale: float, doubt: float) -> float:
        model = ThurstoneHurdle(performance_scale=scale, performance_doubt=doubt)
        losses, comparisons = [], 0
        for step in replay(model, history):
            mean, spread = model.performance(step.before)
            done = np.flatnonzero(~step.race.outcome.unfinished)
            done = done[np.argsort(step.race.outcome.group[done])]
            comparisons += done.size - 1
            for a, b in itertools.combinations(done.tolist(), 2):
                losses.append(-log_ndtr((mean[a] - mean[b]) / np.hypot(spread[a], spread[b])))
        distance = (np.log(scale) / 0.25) ** 2 + ((doubt - 1) / 2) ** 2
        return float(comparisons * np.mean(losses) + 0.5 * distance / 0.2)

    best = cost(number(found["performance_scale"]), number(found["performance_doubt"]))
    for scale, doubt in itertools.product((0.6, 0.9, 1.2, 1.5), (0.0, 1.0, 4.0)):
        assert best <= cost(scale, doubt) + 1e-3


def test_a_finish_forecast_recovers_the_simulated_parameters() -> None:
    """All players have the same rating, which no race moves, and 60 % of them finish."""
    random = np.random.default_rng(3)
    names = [f"p{i}" for i in range(8)]
    results = []
    for index in range(400):
        out = random.random(8) > 0.6
        finishers = " ".join(n for n, o in zip(names, out, strict=True) if not o)
        dnf = " ".join(n for n, o in zip(names, out, strict=True) if o)
        if finishers and dnf:
            results.append(result(f"r{index}", finishers, dnf=dnf, after=index))
    found = fit_odds(History.of(results), KEY, {"newcomer_spread": 1e-3, "lasting_spread": 1e-3})
    chance = ndtr(-number(found["finish_level"]) / number(found["finish_width"]))
    assert chance == pytest.approx(0.6, abs=0.03)


def test_a_finish_forecast_is_defined_where_everybody_finished() -> None:
    history = History.of(result(f"r{n}", "ann bo" if n % 3 else "bo ann", after=n) for n in range(60))
    found = fit_odds(history, KEY)
    assert number(found["finish_level"]) < number(USUAL["finish_level"])


def test_models_without_odds_or_finishes_keep_their_parameters(season: History) -> None:
    assert fit_odds(season, "trueskill") == defaults(MODELS["trueskill"])


def test_ratings_are_fitted_if_that_predicts_later_races_clearly_better(season: History) -> None:
    told: list[tuple[int, int]] = []
    slow = {"rates": [0.01]}
    found = fit(season, "pairwise-elo", slow, progress=lambda done, total: told.append((done, total)))
    assert found.kept
    assert found.judged.difference < -2 * found.judged.standard_error
    assert found.judged.races == 112
    assert found.parameters["rates"] != slow["rates"]
    assert told == [(0, 2), (1, 2)]


def test_a_fit_that_is_not_clearly_better_keeps_the_ratings(season: History) -> None:
    found = fit(season, "pairwise-elo")
    assert not found.kept
    assert found.parameters == defaults(MODELS["pairwise-elo"])


def test_the_filter_is_tried_without_a_deduction_that_the_fit_leaves_alone(
    season: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fit_module, "_clearly_better", lambda tried, best: True)  # then the last try is kept
    monkeypatch.setattr(fit_module, "RATINGS_FROM", 30)
    found = fit(season.split(0.2)[0], "thurstone-filter")
    usual = defaults(MODELS["thurstone-filter"])
    assert (found.parameters["conservative"], usual["conservative"]) == (0.0, 1.1)
    assert found.parameters["newcomer_spread"] != usual["newcomer_spread"]


def test_later_races_have_no_influence_on_the_forecasts_they_judge(season: History, monkeypatch) -> None:
    """The second to last quarter is judged in the same way, whatever comes after it."""
    turned = replace(season, races=season.races[:112] + season.races[112:][::-1])
    judged = Mock(wraps=JudgedPart.of)
    monkeypatch.setattr(JudgedPart, "of", judged)
    for each in (season, turned):
        fit(each, "pairwise-elo")
    one, two = (call.args[1].joint for call in judged.mock_calls)
    np.testing.assert_allclose(one.cost[:74], two.cost[:74])
    assert not np.allclose(one.cost[74:], two.cost[74:])
