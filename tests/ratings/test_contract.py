"""The guarantees of every rating model, over random races.

A variant is a model with one reading of shared places. `EXCEPTIONS` names the promises that a variant does
not keep by its nature, with the reason. Everything else must hold.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note, settings, strategies as st

from racebot.races.outcome import Outcome
from racebot.ratings.model import Carries, FloatArray, RatingModel
from racebot.ratings.models.elo import Thurstone
from racebot.ratings.models.hurdle import HurdleModel
from racebot.ratings.models.plackett_luce import PlackettLuce
from racebot.ratings.models.thurstone_filter import ThurstoneFilter
from racebot.ratings.models.thurstone_hurdle import ThurstoneHurdle
from racebot.ratings.parameters import declared
from racebot.ratings.registry import MODELS, create

CLOSE = 1e-9

CLOSE_FOR = {"trueskill": 1e-4, "thurstone": 1e-4, "thurstone-filter": 1e-8, "thurstone-hurdle": 1e-8}
"""Instead of `CLOSE` where a model iterates, or where the candidates share a grid that fits them all."""

HURDLES: list[tuple[str, dict[str, Any]]] = [
    ("thurstone-hurdle", {"spare_finishers": False, "level": 1.95, "width": 2.48}),
    ("thurstone-hurdle", {"yearly_drift": 0.8}),
    ("thurstone-filter", {"spare_finishers": False, "level": -5.28, "width": 2.01}),
    ("plackett-luce-hurdle", {"spare_finishers": False}),
    ("plackett-luce-hurdle", {"floor": None, "rates": (0.4,)}),
]
"""More variants of the hurdle models."""

UNITS = {"trueskill": 4.0, "multielo": 200.0, "elo-ffa": 200.0, "glicko-ffa": 200.0, "previous-rank": 0.0}
"""Typical distance of ratings, if it is not about 1; 0 if states cannot be moved freely."""

TWO_PLAYERS = {"elo-exponential", "elo-gaussian"}
"""Models that refuse more than two entrants."""

DRAWS = {
    "winner": "a winner who ties with a weaker player has half lost to that player",
    "unfinished": "an unfinished player has half a win over each other one",
    "last": "the last finisher has half a win over the dummy",
    "better": "half a win over a strong player can be worth more than a place",
}
DOUBT = {
    "winner": "doubt is added before every race, and an expected win may take away less of it",
    "unfinished": "any result takes doubt away, which raises a rating that subtracts it",
    "last": "any result takes doubt away, which raises a rating that subtracts it",
}

EXCEPTIONS: dict[tuple[str, str], dict[str, str]] = {
    ("elo-ffa", "tie"): DRAWS,
    ("glicko-ffa", "tie"): DRAWS,
    ("multielo", "tie"): DRAWS,
    ("pairwise-elo", "tie"): DRAWS,
    ("previous-rank", ""): {
        "winner": "two who share the first place are both one and a halfth",
        "unfinished": "any rank in a small race is better than a bad one in a large race",
        "last": "any rank in a small race is better than a bad one in a large race",
        "sweep": "there are no numbers to vary",
    },
    ("trueskill", ""): DOUBT,
    ("trueskill", "tie"): {
        **DOUBT,
        "equal": "the chain of draws treats its ends and its middle differently",
        "order": "the chain of draws runs in listing order",
    },
}


@dataclass(frozen=True)
class Variant:
    key: str
    parameters: tuple[tuple[str, Any], ...]

    @property
    def model(self) -> RatingModel:
        return create(self.key, dict(self.parameters))

    @property
    def reading(self) -> str:
        return str(dict(self.parameters).get("unfinished", ""))

    @property
    def close(self) -> float:
        return CLOSE_FOR.get(self.key, CLOSE)

    def __str__(self) -> str:
        return " ".join([self.key, *(f"{name}={value}" for name, value in self.parameters)])


def variants() -> list[Variant]:
    """Return every model with each of its options, with and without the dummy."""
    found = []
    for key, model in MODELS.items():
        found.append(Variant(key, ()))
        for declaration in declared(model):
            others = [word for word in declaration.metadata["choices"] if word != declaration.default]
            found += [Variant(key, ((declaration.name, word),)) for word in others]
            if declaration.name == "dummy":
                found.append(Variant(key, (("dummy", 0.5 if declaration.default is None else None),)))
    return found + [Variant(key, tuple(parameters.items())) for key, parameters in HURDLES]


def promise(
    name: str, examples: int = 10, kind: type[Any] = object
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test with drawn cases, each for every variant that gives this guarantee."""
    able = [v for v in variants() if name not in EXCEPTIONS.get((v.key, v.reading), {})]
    kept = [variant for variant in able if isinstance(variant.model, kind)]
    hurdles = [variant for variant in able if isinstance(variant.model, HurdleModel)]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def run(tried: list[Variant], examples: int) -> None:
            @settings(max_examples=examples, derandomize=True)
            @given(cases())
            def of_all(case: Case) -> None:
                for variant in tried:
                    note(str(variant))
                    test(variant, case)

            of_all()

        often = pytest.param(hurdles, 1000, id="often", marks=pytest.mark.long)
        return pytest.mark.parametrize(
            ("tried", "examples"), [pytest.param(kept, examples, id="few"), often]
        )(run)

    return decorate


def rows(model: RatingModel, size: int, random: np.random.Generator) -> FloatArray:
    """Draw states of a hurdle model for newcomers and veterans, near and far apart."""
    rating = random.choice([0.0, 0.5, 1.5, 4.0]) * random.standard_normal(size)
    day = random.choice([0.0, 19_000.0, 19_990.0, 20_500.0], size)
    if isinstance(model, ThurstoneHurdle):
        races = np.where(day > 0, random.choice([0, 1, 5, 50, 900], size), 0.0)
        return np.stack([rating, races, day][: len(model.columns)], -1)
    if isinstance(model, ThurstoneFilter):
        return np.stack([4 * rating, random.choice([0.03, 0.5, 4.0, 16.08], size), day], -1)
    floored = getattr(model, "floor", None) is not None
    return (np.abs(rating) if floored else rating)[:, np.newaxis]


@dataclass(frozen=True)
class Case:
    """The outcome of a race, and a seed and spread for the entrants' states before it."""

    outcome: Outcome
    seed: int
    spread: float

    @property
    def order(self) -> list[int]:
        """Return the entrants' numbers in a random order."""
        order: list[int] = np.random.default_rng([self.seed, 1]).permutation(self.outcome.size).tolist()
        return order

    def states(self, variant: Variant) -> FloatArray:
        """Return states after a few races with the model, spread out at random."""
        model, n = variant.model, self.outcome.size
        random = np.random.default_rng(self.seed)
        if isinstance(model, HurdleModel):
            return rows(model, n, random)
        states = np.tile(model.initial(), (n, 1))
        for _ in range(2 if n > 1 else 0):
            size = n if variant.key not in TWO_PLAYERS else 2
            some = random.permutation(n)[:size]
            states[some] = model.rate(states[some], Outcome.of(random.permutation(size).tolist()))
        states[:, 0] += UNITS.get(variant.key, 1.0) * self.spread * random.standard_normal(n)
        return states


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw two to twelve entrants, or two to four teams, in groups. The last may be unfinished or unrated.

    Only up to seven entrants share places, since such races take long to rate.
    """
    by_team = draw(st.sampled_from([False, False, True]))
    size = draw(st.integers(2, 4 if by_team else 12))
    if size <= 7:
        group = np.array(draw(st.lists(st.integers(0, size - 1), min_size=size, max_size=size)))
    else:
        group = np.minimum(draw(st.permutations(range(size))), draw(st.integers(0, size)))
    last_unfinished = draw(st.booleans()) or size > 7
    group += draw(st.sampled_from([0, 0, 1]))
    last = int(group.max()) + draw(st.sampled_from([0, 0, 1]))
    outcome = Outcome(
        group=group,
        unfinished=(group == last) & last_unfinished,
        last_group=last,
        last_unfinished=last_unfinished,
        day=20_000.0,
    )
    if by_team:
        team = np.repeat(np.arange(size), draw(st.lists(st.integers(1, 3), min_size=size, max_size=size)))
        unfinished = outcome.unfinished[team]
        outcome = replace(outcome, group=group[team], unfinished=unfinished, team=team)
    return Case(outcome, draw(st.integers(0, 999)), draw(st.sampled_from([0.0, 0.3, 1.0, 3.0])))


def fit(variant: Variant, case: Case) -> Case:
    """Keep the first two entrants if the model only rates two players."""
    if variant.key not in TWO_PLAYERS:
        return case
    return replace(case, outcome=listed(case.outcome, [0, 1]))


def listed(outcome: Outcome, order: list[int]) -> Outcome:
    """Return the outcome with its entrants in another order."""
    team = None if outcome.team is None else outcome.team[order]
    return replace(outcome, group=outcome.group[order], unfinished=outcome.unfinished[order], team=team)


def alone(variant: Variant, case: Case) -> Case:
    """Rate the members of teams one by one, and keep two entrants if the model only rates two."""
    return fit(variant, replace(case, outcome=replace(case.outcome, team=None)))


def rated(variant: Variant, case: Case) -> tuple[RatingModel, FloatArray, FloatArray]:
    """Rate a race, and assert that this changes no argument and that the result shares no memory with one."""
    model, states = variant.model, case.states(variant)
    arguments = states, case.outcome.group, case.outcome.unfinished
    before = [each.copy() for each in arguments]
    after = model.rate(states, case.outcome)
    assert not any(np.may_share_memory(each, after) for each in arguments)
    assert all(map(np.array_equal, arguments, before))
    return model, states, after


def assert_rises(
    model: RatingModel, before: FloatArray, after: FloatArray, close: float | None = None
) -> None:
    """Assert that nobody falls, in rating or in points, by more than rounding."""
    change = model.rating(after) - model.rating(before)
    close = close or (1e-12 if isinstance(model, HurdleModel) else CLOSE)
    allowed = close * (1 + np.abs(model.rating(before)))
    assert (change >= -allowed).all(), change
    assert ((model.points(after) >= model.points(before)) | (np.abs(change) < allowed)).all()


@promise("winner")
def test_the_winner_never_loses(variant: Variant, case: Case) -> None:
    case = fit(variant, case)
    best = case.outcome.group == case.outcome.group.min()
    model, before, after = rated(variant, case)
    assert_rises(model, before[best], after[best])


@promise("unfinished")
def test_no_dnf_gains(variant: Variant, case: Case) -> None:
    case = fit(variant, case)
    model, before, after = rated(variant, case)
    assert_rises(model, after[case.outcome.unfinished], before[case.outcome.unfinished])


@promise("last", examples=20)
def test_a_sole_last_entrant_never_gains(variant: Variant, case: Case) -> None:
    """In hurdle models, nobody who shares the last place does."""
    case = fit(variant, case)
    last = case.outcome.group == case.outcome.last_group
    model, before, after = rated(variant, case)
    if last.sum() == 1 or isinstance(model, HurdleModel):
        assert_rises(model, after[last], before[last])


@promise("equal")
def test_equal_ratings_and_places_get_equal_changes(variant: Variant, case: Case) -> None:
    case = alone(variant, case)
    a, b = case.order[:2]
    group, unfinished = case.outcome.group.copy(), case.outcome.unfinished.copy()
    group[a], unfinished[a] = group[b], unfinished[b]
    model, states = variant.model, case.states(variant)
    states[a] = states[b]
    after = model.rate(states, replace(case.outcome, group=group, unfinished=unfinished))
    np.testing.assert_allclose(after[a], after[b], rtol=0, atol=variant.close)
    assert model.points(after)[a] == model.points(after)[b]


@promise("order")
def test_the_listing_order_is_irrelevant(variant: Variant, case: Case) -> None:
    case = fit(variant, case)
    model, before, after = rated(variant, case)
    other = model.rate(before[case.order], listed(case.outcome, case.order))
    np.testing.assert_allclose(other, after[case.order], rtol=0, atol=variant.close)


@promise("alone")
def test_a_team_of_one_is_rated_like_its_member(variant: Variant, case: Case) -> None:
    case = alone(variant, case)
    model, before, after = rated(variant, case)
    names = np.array(case.order)
    np.testing.assert_array_equal(model.rate(before, replace(case.outcome, team=names)), after)


@promise("labels", examples=5)
def test_group_numbers_only_matter_by_their_order(variant: Variant, case: Case) -> None:
    case = fit(variant, case)
    model, before, after = rated(variant, case)
    other = replace(
        case.outcome, group=2 * case.outcome.group + 3, last_group=2 * case.outcome.last_group + 3
    )
    np.testing.assert_array_equal(model.rate(before, other), after)


@promise("better", examples=20)
def test_a_better_place_is_never_worth_less(variant: Variant, case: Case) -> None:
    """Of two entrants in the same state, the better placed one does not end below the other.

    Without `spare_finishers`, a late finish can be worth less than a forfeit.
    """
    case = alone(variant, case)
    group = case.outcome.group
    a, b = sorted(case.order[:2], key=group.__getitem__)
    model, states = variant.model, case.states(variant)
    if group[a] == group[b] or (case.outcome.unfinished[b] and not getattr(model, "spare_finishers", True)):
        return
    states[a] = states[b]
    after = model.rate(states, case.outcome)
    assert_rises(model, after[b], after[a], 1e-6 if isinstance(model, HurdleModel) else None)


@promise("forfeit", examples=20, kind=HurdleModel)
def test_giving_up_never_pays(variant: Variant, case: Case) -> None:
    """No finisher who was spared would have been better off by giving up, all else being equal."""
    outcome = case.outcome
    finishers = [each for each in case.order if not outcome.unfinished[each]]
    if not getattr(variant.model, "spare_finishers", False) or len(finishers) < 2 or not outcome.rateable:
        return
    i = finishers[0]
    quits = np.arange(outcome.size) == i if outcome.team is None else outcome.team == outcome.team[i]
    last = outcome.last_group + 1
    given_up = replace(
        outcome,
        group=np.where(quits | outcome.unfinished, last, outcome.group),
        unfinished=quits | outcome.unfinished,
        last_group=last,
        last_unfinished=True,
    )
    model, states, after = rated(variant, case)
    assert_rises(model, model.rate(states, given_up)[quits], after[quits])


@promise("swap", examples=20, kind=HurdleModel)
def test_changing_places_pays_for_one_alone(variant: Variant, case: Case) -> None:
    """Two finishers swap places: the one who moves up gains no less than before, the other no more."""
    case = alone(variant, case)
    group = case.outcome.group.copy()
    finishers = [each for each in case.order if not case.outcome.unfinished[each]]
    if len({*group[finishers[:2]]}) < 2:
        return
    down, up = sorted(finishers[:2], key=group.__getitem__)
    group[[up, down]] = group[[down, up]]
    model, states, before = rated(variant, case)
    after = model.rate(states, replace(case.outcome, group=group))
    assert_rises(model, before[up], after[up], 1e-6)
    assert_rises(model, after[down], before[down], 1e-6)


@promise("steps", kind=HurdleModel)
def test_steps_lead_to_the_result(variant: Variant, case: Case) -> None:
    """Finishing never costs anything, and not finishing never earns anything."""
    model, states, after = rated(variant, case)
    assert isinstance(model, HurdleModel)
    (first, finish), (second, place), (third, limit) = model.steps(states, case.outcome)
    assert (first, second, third) == ("finish", "place", "limit")
    np.testing.assert_array_equal(limit, after)
    assert np.isfinite(after).all()
    if isinstance(model, ThurstoneFilter):
        assert (after[:, 1] > 0).all()
    else:
        change, out = model.rating(finish) - model.rating(states), case.outcome.unfinished
        assert (change[~out] >= -1e-12).all()
        assert (change[out] <= 1e-12).all()
        np.testing.assert_array_equal(model.rating(place)[out], model.rating(finish)[out])


CARRIES = [variant for variant in variants() if isinstance(variant.model, Carries)]


@pytest.mark.parametrize("variant", CARRIES, ids=str)
def test_a_carried_rating_lies_between_the_old_one_and_a_newcomers(variant: Variant) -> None:
    model: Any = variant.model
    states = Case(Outcome.of([1, 2]), 4, 1.0).states(variant)
    np.testing.assert_allclose(model.carried(states, 1.0), states)
    fresh = model.carried(states, 0.0, most_races=0.0)
    np.testing.assert_allclose(model.rating(fresh), model.rating(np.stack([model.initial()] * 2)))
    half = model.carried(states, 0.5, most_races=7.0)
    np.testing.assert_allclose(half[:, 0], (states[:, 0] + fresh[:, 0]) / 2)
    newcomer = model.initial()[np.newaxis]
    np.testing.assert_allclose(model.carried(newcomer, 0.3), newcomer)
    if variant.key == "thurstone-hurdle":
        assert (half[:, 1] == np.minimum(states[:, 1], 7.0)).all()
    if variant.key == "thurstone-filter":
        assert (half[:, 1] > np.minimum(states[:, 1], 3.6)).all()


@promise("axes", examples=5)
def test_leading_axes_give_the_results_of_single_races(variant: Variant, case: Case) -> None:
    case = fit(variant, case)
    model = variant.model
    several = np.stack([replace(case, seed=case.seed + i).states(variant) for i in range(2)])
    several = several.reshape(2, 1, *several.shape[1:])
    after = model.rate(several, case.outcome)
    assert after.shape == several.shape
    for i, j in np.ndindex(2, 1):
        single = model.rate(several[i, j], case.outcome)
        np.testing.assert_allclose(after[i, j], single, rtol=0, atol=variant.close)
    assert model.rating(after).shape == model.points(after).shape == after.shape[:-1]
    assert model.points(after).dtype == np.int64


def candidates(model: RatingModel) -> tuple[Any, list[Any]]:
    """Return a model with three candidates per number, and the same three as single models."""
    factors = np.array([1.0, 0.9, 1.2])
    arrays: dict[str, Any] = {}
    for declaration in fields(model):  # type: ignore[arg-type]
        value = getattr(model, declaration.name)
        if isinstance(value, float):
            arrays[declaration.name] = value * factors
        elif isinstance(value, tuple):
            arrays[declaration.name] = tuple(item * factors for item in value)
    single = [
        {name: tuple(v[i] for v in a) if isinstance(a, tuple) else a[i] for name, a in arrays.items()}
        for i in range(3)
    ]
    return replace(model, **arrays), [replace(model, **one) for one in single]  # type: ignore[type-var]


@promise("sweep", examples=5)
def test_a_sweep_gives_the_results_of_single_models(variant: Variant, case: Case) -> None:
    case = fit(variant, case)
    together, single = candidates(variant.model)
    states = case.states(variant)
    several = np.stack([states] * 3)
    after = together.rate(several, case.outcome)
    assert together.initial().shape == (3, len(variant.model.columns))
    chance = together.win_probability(after[:, 0], after[:, 1])
    for i, model in enumerate(single):
        expected = model.rate(states, case.outcome)
        np.testing.assert_allclose(after[i], expected, rtol=0, atol=variant.close)
        np.testing.assert_allclose(together.initial()[i], model.initial())
        np.testing.assert_array_equal(together.points(several)[i], model.points(states))
        np.testing.assert_allclose(together.rating(several)[i], model.rating(states))
        np.testing.assert_allclose(
            chance[i], model.win_probability(expected[0], expected[1]), rtol=0, atol=variant.close
        )


LARGE = [[1] * 40, [20, 20], [1, 8, 1], [1] * 20 + [40], [1] * 12, [1] * 6 + [12]]
GAPS = (0.2, -0.2, 12.0, -12.0)


@pytest.mark.parametrize("far", [pytest.param(far, marks=[pytest.mark.long] * far) for far in (False, True)])
@pytest.mark.parametrize("variant", [v for v in variants() if v.key not in TWO_PLAYERS], ids=str)
def test_large_fields_and_large_gaps_give_finite_ratings(variant: Variant, far: bool) -> None:
    """Plackett-Luce and Thurstone without dummy, floor and bends give to some what others lose.

    Many places that are `far` apart need grids that take half a minute.
    """
    model = variant.model
    if isinstance(model, PlackettLuce | Thurstone):
        model = replace(model, dummy=None, floor=None, rates=(1.0,), knots=(0.0,))
    for sizes, gap in product(LARGE, GAPS):
        if (len(sizes) * abs(gap) > 200) is not far:
            continue
        labels = np.repeat(np.arange(len(sizes)), sizes)
        states = np.tile(model.initial(), (len(labels), 1))
        states[:, 0] += UNITS.get(variant.key, 1.0) * gap * np.arange(len(labels))
        after = model.rate(states, Outcome.of(labels.tolist()))
        assert np.isfinite(after).all(), (sizes, gap)
        if isinstance(model, PlackettLuce | Thurstone):
            moves = after - states
            close = 1e-6 if isinstance(model, PlackettLuce) else 0.01 * (1 + np.abs(moves).max())
            assert moves.sum() == pytest.approx(0.0, abs=close), (sizes, gap)


UNRATEABLE = [
    Outcome.of([]),
    Outcome.of([1]),
    Outcome.of([], unfinished=1),
    Outcome.of([], unfinished=3),
    Outcome.of([1, 1, 1]),
    replace(Outcome.of([1, 1]), last_group=4, last_unfinished=True),
]


@pytest.mark.parametrize("variant", variants(), ids=str)
def test_an_unrateable_race_changes_nothing(variant: Variant) -> None:
    for number, outcome in enumerate(UNRATEABLE):
        states = Case(outcome, number, 1.0).states(variant)
        np.testing.assert_array_equal(variant.model.rate(states, outcome), states)


@pytest.mark.parametrize("variant", variants(), ids=str)
def test_win_probabilities_of_both_sides_sum_to_one(variant: Variant) -> None:
    model = variant.model
    states = Case(Outcome.of([1, 2, 3, 4]), 5, 1.0).states(variant)
    states = states[np.argsort(model.rating(states))]
    chance = model.win_probability(states[:, np.newaxis], states[np.newaxis])
    assert chance.shape == (4, 4)
    np.testing.assert_allclose(chance + chance.T, 1.0, rtol=0, atol=1e-12)
    assert ((chance >= 0) & (chance <= 1)).all()
    assert chance[-1, 0] >= 0.5
