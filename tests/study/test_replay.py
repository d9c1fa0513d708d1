from __future__ import annotations

import numpy as np
import pytest
from builders import result

from racebot.errors import ModelError
from racebot.ratings.models.thurstone_hurdle import ThurstoneHurdle
from racebot.ratings.models.trueskill import TrueSkill
from racebot.ratings.registry import create
from racebot.study.history import History
from racebot.study.replay import Earlier, carried_over, newcomers, replay


def test_a_step_has_the_ratings_before_its_race() -> None:
    history = History.of([result("r", "ann bo", after=1), result("s", "bo cy", after=2)])
    model = create("trueskill")
    table = newcomers(model, history)
    first, second = replay(model, history, table)
    np.testing.assert_array_equal(first.before, [model.initial()] * 2)
    np.testing.assert_array_equal(first.after, model.rate(first.before, history.races[0].outcome))
    np.testing.assert_array_equal(second.before, [first.after[1], model.initial()])
    ann, bo, cy = (history.players.index(f"id-{name}") for name in ("ann", "bo", "cy"))
    np.testing.assert_array_equal(table[[ann, bo, cy]], [first.after[0], *second.after])


def test_a_table_carries_ratings_into_the_next_part(season: History) -> None:
    model = create("plackett-luce")
    whole = newcomers(model, season)
    steps = list(replay(model, season, whole))
    table = newcomers(model, season)
    parts = [step for part in season.split(0.4) for step in replay(model, part, table)]
    np.testing.assert_array_equal(table, whole)
    for together, apart in zip(steps, parts, strict=True):
        np.testing.assert_array_equal(together.before, apart.before)


def test_candidates_are_replayed_independently(season: History) -> None:
    sigma, tau = np.array([8.0, 5.0, 3.0]), np.array([0.0, 0.1, 0.2])
    part, _ = season.split(0.3)
    model = TrueSkill(sigma=sigma, tau=tau)
    together = newcomers(model, part)
    assert together.shape == (3, len(season.players), 2)
    steps = list(replay(model, part, together))
    assert steps[-1].before.shape == (3, part.races[-1].outcome.size, 2)
    for candidate in range(3):
        alone = TrueSkill(sigma=sigma[candidate], tau=tau[candidate])
        table = newcomers(alone, part)
        for _ in replay(alone, part, table):
            pass
        np.testing.assert_allclose(together[candidate], table, rtol=1e-7)


@pytest.mark.parametrize("key", ["thurstone-hurdle", "trueskill", "plackett-luce"])
def test_a_carried_season_continues_the_earlier_one(key: str) -> None:
    """With a factor of 1, two seasons are rated like one, though each numbers its own players."""
    first = [result("a", "ann bo", dnf="cy", after=1), result("b", "bo ann di", after=2)]
    second = [result("c", "zoe di", after=3), result("d", "cy ann", dnf="zoe", after=4)]
    model, history = create(key), History.of(second)
    together = list(replay(model, History.of([*first, *second])))[2:]
    table = carried_over(model, history, Earlier(History.of(first)))
    apart = list(replay(model, history, table))
    for one, other in zip(apart, together, strict=True):
        np.testing.assert_allclose(one.after, other.after, rtol=0, atol=1e-12)


def test_a_carry_factor_shrinks_ratings_toward_the_initial_rating(season: History) -> None:
    model = ThurstoneHurdle()
    kept = carried_over(model, season, Earlier(season))
    half = carried_over(model, season, Earlier(season, factor=0.5, most_races=20))
    np.testing.assert_allclose(half[:, 0], kept[:, 0] / 2)
    np.testing.assert_array_equal(half[:, 1], np.minimum(kept[:, 1], 20))
    assert kept[:, 1].max() > 20
    sweep = ThurstoneHurdle(level=np.array([0.8, 1.0]))
    several = carried_over(sweep, season, Earlier(season, factor=0.5, most_races=20))
    np.testing.assert_allclose(several[0], half, rtol=0, atol=1e-4)
    assert several.shape == (2, *half.shape)


def test_models_that_cannot_carry_over_are_refused(season: History) -> None:
    with pytest.raises(ModelError, match="previous-rank cannot carry ratings over"):
        carried_over(create("previous-rank"), season, Earlier(season))
