"""TrueSkill against the `trueskill` package, closed forms and published values."""

import math

import numpy as np
import pytest
import trueskill

from racebot.errors import ModelError
from racebot.races.outcome import Outcome
from racebot.ratings.models.trueskill import TrueSkill
from racebot.ratings.registry import create

MODES = ("censored", "tie")


def outcome(group, unfinished=None, team=None) -> Outcome:
    group = np.asarray(group)
    unfinished = np.zeros(group.size, dtype=bool) if unfinished is None else np.asarray(unfinished)
    return Outcome(group, unfinished, int(group.max()), bool(unfinished.any()), team)


def newcomers(n: int) -> np.ndarray:
    return np.tile(TrueSkill().initial(), (n, 1))


def random_race(rng: np.random.Generator, largest: int):
    """Return states, places and teams (or None) of a race among newcomers and known players."""
    n = int(rng.integers(2, largest + 1))
    known = np.stack([rng.normal(25, 6, n), rng.uniform(0.9, 8, n)], axis=-1)
    states = np.where(rng.random((n, 1)) < 0.3, TrueSkill().initial(), known)
    kind = rng.integers(3)
    if kind == 0:  # Some did not finish.
        finishers = int(rng.integers(1, n))
        return states, np.minimum(np.arange(n), finishers), None
    if kind == 1 or n < 4:  # Draws anywhere.
        places = rng.integers(0, n, n)
        places[:2] = 0, 1
        return states, places, None
    teams = int(rng.integers(2, n // 2 + 1))
    team = np.concatenate([np.arange(teams), rng.integers(0, teams, n - teams)])
    places = rng.integers(0, teams, teams)
    places[:2] = 0, 1
    return states, places[team], team


def package_rate(environment: trueskill.TrueSkill, states, places, team) -> np.ndarray:
    members = [[i] for i in range(len(states))]
    if team is not None:
        members = [np.flatnonzero(team == number).tolist() for number in dict.fromkeys(team.tolist())]
    groups = [tuple(trueskill.Rating(*states[i]) for i in unit) for unit in members]
    rated = environment.rate(groups, [int(places[unit[0]]) for unit in members])
    new = np.empty_like(states)
    for unit, ratings in zip(members, rated, strict=True):
        for i, rating in zip(unit, ratings, strict=True):
            new[i] = rating.mu, rating.sigma
    return new


@pytest.mark.parametrize(
    ("options", "backend", "races", "largest", "tolerance"),
    [
        ((), None, 40, 40, 1e-4),
        # multiplayer-generalizations-of-elo, section 5, table 1, last row.
        ((25, 5, 2.5, 0.12, 0.001), "scipy", 10, 10, 1e-5),
    ],
    ids=["own erfc", "tuned, scipy"],
)
def test_tie_mode_agrees_with_the_package(
    options: tuple[float, ...], backend: str | None, races: int, largest: int, tolerance: float
) -> None:
    environment = trueskill.TrueSkill(*options, backend=backend)
    names = ("sigma", "beta", "tau", "draw_probability")
    model = TrueSkill(unfinished="tie", **{name: getattr(environment, name) for name in names})
    rng = np.random.default_rng(20)
    for _ in range(races):
        states, places, team = random_race(rng, largest)
        group = np.unique(places, return_inverse=True)[1]
        expected = package_rate(environment, states, places, team)
        np.testing.assert_allclose(model.rate(states, outcome(group, team=team)), expected, atol=tolerance)


@pytest.mark.parametrize(
    ("group", "team", "expected"),
    [
        ([0, 1], None, [(29.396, 7.171), (20.604, 7.171)]),
        ([0, 1, 2], None, [(31.675, 6.656), (25.000, 6.208), (18.325, 6.656)]),
        ([0, 1, 2, 3], None, [(33.207, 6.348), (27.401, 5.787), (22.599, 5.787), (16.793, 6.348)]),
        ([0, 0, 1, 1], [0, 0, 1, 1], [(28.108, 7.774)] * 2 + [(21.892, 7.774)] * 2),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_newcomers_get_the_published_values(mode: str, group, team, expected) -> None:
    # As in Jeff Moser's tests of his implementation (default settings, draws at 10 %).
    race = outcome(group, team=None if team is None else np.array(team))
    rated = TrueSkill(unfinished=mode).rate(newcomers(len(group)), race)
    np.testing.assert_allclose(rated, expected, atol=0.0006)


def test_unfinished_players_meet_the_worst_finisher_alone() -> None:
    # A finisher so far ahead that the two unfinished tell nothing of each other: two races of two.
    finisher, first, second = (25.0, 0.001), (30.0, 5.0), (22.0, 3.0)
    model = TrueSkill(tau=0.0)
    together = model.rate(np.array([finisher, first, second]), Outcome.of([1], unfinished=2))
    for row, player in ((1, first), (2, second)):
        alone = model.rate(np.array([finisher, player]), Outcome.of([1], unfinished=1))
        # Both comparisons share the finisher's performance, so each changes the other a little.
        assert together[row, 0] < player[0]
        assert together[row, 0] == pytest.approx(alone[1, 0], abs=0.4)
    # In the site's reading the better of the two pulls the other up.
    states, race = np.array([(40.0, 1.0), (30.0, 1.0), (10.0, 8.0)]), Outcome.of([1], unfinished=2)
    tied = TrueSkill(tau=0.0, unfinished="tie").rate(states, race)
    assert tied[2, 0] > 10.0
    censored = model.rate(states, race)
    assert censored[2, 0] < 10.0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("surprise", [40.0, 1e3, 1e6])
def test_extreme_upsets_give_finite_states(mode: str, surprise: float) -> None:
    model = TrueSkill(unfinished=mode)
    unit = math.sqrt(2 * (model.beta**2 + 1.0))
    mu = np.array([0.0, surprise, 0.5 * surprise, -surprise, 2 * surprise]) * unit
    states = np.stack([mu, np.full(5, 1.0)], axis=-1)
    for race in (
        Outcome.of([1, 2, 3], unfinished=2),
        Outcome.of([1, 2, 2], unfinished=2),
        Outcome.of([1, 2, 3, 4, 5]),
    ):
        for after in (model.rate(states, race), model.rate(states[np.newaxis], race)[0]):
            assert np.isfinite(after).all()
            assert (after[:, 1] > 0).all()
            assert after[0, 0] > states[0, 0]
            assert mode == "tie" or after[-1, 0] < states[-1, 0]


def test_points_follow_the_conservative_rating() -> None:
    # Section 4.2 shows μ − 3σ, which starts from 0; racetime.gg max(0, round(100·(μ − 2σ))).
    model = TrueSkill()
    assert model.points(model.initial()) == 833
    assert TrueSkill(conservative=3.0).rating(model.initial()) == pytest.approx(0.0, abs=1e-12)
    assert TrueSkill(conservative=0.0).rating(model.initial()) == 25.0
    low = np.array([[10.0, 6.0], [20.004, 3.0], [20.006, 3.0]])
    assert model.points(low).tolist() == [0, 1400, 1401]
    assert TrueSkill(points_floor=None).points(low).tolist() == [-200, 1400, 1401]
    assert TrueSkill(points_scale=10.0).points(low).tolist() == [0, 140, 140]


def test_win_probability_follows_its_formula() -> None:
    certain = np.array([[25.0, 0.0], [25.0 + 25 / 6, 0.0]])
    # One β of skill: Φ(1/√2), the "76 % chance" that defines β.
    assert TrueSkill().win_probability(certain[1], certain[0]) == pytest.approx(0.7602, abs=1e-4)
    # terra-mystica-rating-eval: Φ(Δμ / √(2β² + Σσ²)); here 3/√(2·4 + 9 + 4) = 0.65465.
    model = TrueSkill(beta=2.0)
    a, b = np.array([26.0, 3.0]), np.array([23.0, 2.0])
    assert model.win_probability(a, b) == pytest.approx(0.743655, abs=1e-6)
    assert model.win_probability(a, b) + model.win_probability(b, a) == pytest.approx(1.0)


def test_match_quality_has_the_published_values() -> None:
    # Equation (7); two newcomers, as the package's documentation has it: 44.7 %.
    model = TrueSkill()
    assert model.match_quality(newcomers(2)) == pytest.approx(1 / math.sqrt(5))
    rng = np.random.default_rng(6)
    environment = trueskill.TrueSkill()
    for _ in range(20):
        states, _, team = random_race(rng, 6)
        groups = [(trueskill.Rating(*row),) for row in states]
        assert model.match_quality(states) == pytest.approx(environment.quality(groups), rel=1e-8)
        if team is not None:
            numbers = dict.fromkeys(team.tolist())
            groups = [tuple(trueskill.Rating(*row) for row in states[team == each]) for each in numbers]
            assert model.match_quality(states, team) == pytest.approx(environment.quality(groups), rel=1e-8)


def test_a_draw_probability_of_one_is_refused() -> None:
    with pytest.raises(ModelError, match=r"draw_probability=1\.0 is not below 1"):
        create("trueskill", {"draw_probability": "1"})
