import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

from racebot.ratings.forecast import (
    expected_places,
    finish_chances,
    finishing_habit,
    win_chances,
    with_habits,
)
from racebot.ratings.model import FloatArray, PredictsFinish, PredictsPerformance, RatingModel
from racebot.ratings.registry import MODELS, create

ALL = [key for key in MODELS if key != "previous-rank"]


def field_of(model: RatingModel, size: int = 6) -> FloatArray:
    """Return entrants of falling strength, about one unit of the model apart."""
    states = np.stack([model.initial()] * size)
    unit = {"trueskill": 4.0, "multielo": 150.0, "elo-ffa": 150.0, "glicko-ffa": 150.0}.get(model.key, 0.8)
    states[:, 0] += unit * np.linspace(1.5, -1.5, size)
    return states


@pytest.mark.parametrize("key", ALL)
def test_chances_and_places_have_the_right_sums(key: str) -> None:
    """Chances sum to the probability of any finish, and places to the sum of all places."""
    model = create(key)
    states = field_of(model)
    finishes, wins, places = (f(model, states) for f in (finish_chances, win_chances, expected_places))
    nobody = np.prod(1 - finishes) if isinstance(model, PredictsPerformance) else 0.0
    assert wins.sum() == pytest.approx(1 - nobody, abs=1e-9)
    assert places.sum() == pytest.approx(6 * 7 / 2, abs=1e-9)
    assert (np.diff(wins) < 0).all()
    assert (np.diff(places) > 0).all()
    assert ((finishes > 0) & (finishes <= 1)).all()
    assert (np.diff(finishes) < 0).all() == isinstance(model, PredictsFinish)


@pytest.mark.parametrize("key", ALL)
def test_leading_axes_give_the_results_of_single_fields(key: str) -> None:
    model = create(key)
    several = np.stack([field_of(model), field_of(model)[::-1]])
    for function in (finish_chances, win_chances, expected_places):
        together = function(model, several)
        assert together.shape == (2, 6)
        for i in range(2):
            np.testing.assert_allclose(together[i], function(model, several[i]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("key", ["thurstone", "trueskill", "plackett-luce", "pairwise-elo", "multielo"])
def test_a_field_of_two_has_the_probability_of_the_pair(key: str) -> None:
    model = create(key)
    states = field_of(model, 2)
    chance = model.win_probability(states[0], states[1])
    np.testing.assert_allclose(win_chances(model, states), [chance, 1 - chance], rtol=0, atol=1e-9)
    np.testing.assert_allclose(expected_places(model, states), [2 - chance, 1 + chance], rtol=0, atol=1e-9)


@pytest.mark.parametrize("size", [3, 20, 500])
def test_equal_entrants_of_a_field_of_any_size_have_equal_chances(size: int) -> None:
    model = create("thurstone")
    states = np.stack([model.initial()] * size)
    np.testing.assert_allclose(win_chances(model, states), 1 / size, rtol=0, atol=1e-9)


def test_bradley_terry_models_give_luce_chances() -> None:
    model = create("pairwise-elo")
    ratings = np.array([0.3, -1.0, 2.0, 0.7])
    strength = np.exp(ratings)
    np.testing.assert_allclose(win_chances(model, ratings[:, np.newaxis]), strength / strength.sum())


@pytest.mark.parametrize("key", ["thurstone-hurdle", "thurstone-filter"])
def test_hurdle_fields_agree_with_simulation(key: str) -> None:
    """Simulate 200,000 races: finish or not, then perform. Agree within five standard errors."""
    model = create(key)
    states = field_of(model, 5)
    states[:, 0] += [0.0, 0.4, 0.9, 0.0, -3.0]
    assert isinstance(model, PredictsFinish)
    assert isinstance(model, PredictsPerformance)
    random = np.random.default_rng(9)
    mean, spread = model.performance(states)
    done = random.random((200_000, 5)) < model.finish_probability(states)
    performance = np.where(done, mean + spread * random.standard_normal(done.shape), -np.inf)
    best = performance.argmax(-1)[done.any(-1)]
    share = np.bincount(best, minlength=5) / len(done)
    error = np.sqrt(share * (1 - share) / len(done))
    assert (np.abs(share - win_chances(model, states)) < 5 * error).all()
    ahead = (performance[:, np.newaxis] > performance[:, :, np.newaxis]).sum(-1)
    level = (performance[:, np.newaxis] == performance[:, :, np.newaxis]).sum(-1) - 1
    place = 1 + ahead + level / 2
    error = place.std(0) / np.sqrt(len(done))
    assert (np.abs(place.mean(0) - expected_places(model, states)) < 5 * error).all()


def test_a_lone_entrant_and_a_far_favorite_win_for_certain() -> None:
    model = create("thurstone")
    assert win_chances(model, np.array([[0.3]])) == pytest.approx([1.0])
    assert expected_places(model, np.array([[0.3]])).tolist() == [1.0]
    states = np.array([[12.0], [0.0], [0.0]])
    np.testing.assert_allclose(win_chances(model, states), [1, 0, 0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(expected_places(model, states), [1, 2.5, 2.5], rtol=0, atol=1e-9)
    for key in ("plackett-luce", "pairwise-elo"):
        chances = win_chances(create(key), np.array([[900.0], [0.0], [0.0]]))
        np.testing.assert_allclose(chances, [1, 0, 0], rtol=0, atol=1e-9)


def test_a_finishing_habit_is_close_to_the_posterior_mode() -> None:
    """After many starts, a step of Fisher scoring each comes close to the maximum of the posterior."""
    random = np.random.default_rng(4)
    scores = random.normal(0.5, 0.5, 400)
    finished = random.random(400) < ndtr(scores + 0.3)

    def surprise(habit: float) -> float:
        chance = np.where(finished, ndtr(scores + habit), ndtr(-scores - habit))
        return float(0.5 * (habit / 0.2) ** 2 - np.log(chance).sum())

    mode = float(minimize_scalar(surprise).x)
    assert finishing_habit(ndtr(scores), finished) == pytest.approx(mode, abs=0.02)
    assert finishing_habit(np.empty(0), np.empty(0, dtype=np.bool_)) == 0.0


def test_one_start_moves_a_finishing_habit_as_worked_by_hand() -> None:
    """c = 0.9, z = 1.281552, d = 0.175498: h = 25 + d²/0.09 = 25.342217, and o = -0.9·d/0.09/h."""
    habit = finishing_habit(np.array([0.9]), np.array([False]))
    assert habit == pytest.approx(-0.069251, abs=1e-6)
    found = with_habits(np.array([0.9, 0.9]), np.array([habit, 0.0]))
    assert found == pytest.approx([0.887301, 0.9], abs=1e-6)
