from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from racebot.errors import ModelError
from racebot.ratings.models.trueskill import TrueSkill
from racebot.ratings.registry import create
from racebot.study.calibration import fit_finishes
from racebot.study.evaluate import Entry, evaluate
from racebot.study.history import History
from racebot.study.objective import Objective
from racebot.study.tuning import Progress, Tally, Tuned, dimensions, standard_error, tally, tune

PAIRS = [Objective.MISORDERED, Objective.LOG_LOSS]


def searched(season: History, **changed: Any) -> dict[str, Any]:
    settings = {
        "search": ["sigma", "beta"],
        "candidates": 10,
        "generations": 3,
        "rng": np.random.default_rng(3),
    }
    return {"history": season, "key": "trueskill", **settings, **changed}


@pytest.mark.parametrize("objective", PAIRS)
def test_a_search_is_no_worse_than_where_it_started(season: History, objective: Objective) -> None:
    found = tune(**searched(season, objective=objective))
    assert found.searched == ("sigma", "beta")
    assert (found.earlier_races, found.later_races) == (105, 45)
    assert found.evaluations == 40
    # Rounding to four digits may cost a pair.
    assert found.earlier_tuned <= found.earlier_start + 0.001
    assert found.standard_error > 0
    assert found.parameters["tau"] == TrueSkill().tau
    assert 1 <= found.parameters["sigma"] <= 12


@pytest.mark.parametrize("objective", PAIRS)
def test_figures_are_those_of_a_replay_with_ratings_carried_over(
    season: History, objective: Objective
) -> None:
    found = tune(**searched(season, objective=objective, generations=1))
    since = season.races[found.earlier_races].ended_at
    earlier, _ = season.split(0.7)
    entries = [Entry("start", "trueskill"), Entry("tuned", "trueskill", found.parameters)]
    name = "misordered" if objective is Objective.MISORDERED else "log_loss"

    def figures(history: History, since=None) -> list[float]:
        return [getattr(e.figures, name) for e in evaluate(history, entries, since=since).evaluations]

    assert figures(earlier) == pytest.approx([found.earlier_start, found.earlier_tuned])
    assert figures(season, since) == pytest.approx([found.later_start, found.later_tuned])
    assert found.difference == pytest.approx(found.later_tuned - found.later_start)


def test_the_later_part_has_no_influence_on_the_search(season: History) -> None:
    earlier, later = season.split(0.7)
    other = tuple(
        replace(
            race,
            outcome=replace(
                race.outcome,
                group=race.outcome.group[::-1],
                unfinished=np.zeros_like(race.outcome.unfinished),
            ),
        )
        for race in later.races
    )
    changed = replace(season, races=earlier.races + other)
    one, two = tune(**searched(season)), tune(**searched(changed))
    assert one.parameters == two.parameters
    assert one.earlier_tuned == two.earlier_tuned
    assert one.later_tuned != two.later_tuned


def test_progress_is_told_after_each_generation(season: History) -> None:
    told: list[Progress] = []
    found = tune(**searched(season, progress=told.append))
    assert [progress.generation for progress in told] == [1, 2, 3]
    assert {progress.generations for progress in told} == {3}
    assert all(a.best >= b.best for a, b in itertools.pairwise(told))
    assert told[-1].parameters["sigma"] == found.parameters["sigma"]


def test_the_start_is_among_the_candidates(season: History) -> None:
    start = {"sigma": 2.0, "beta": 7.0}
    told: list[Progress] = []
    tune(**searched(season, parameters=start, generations=1, progress=told.append))
    earlier, _ = season.split(0.7)
    at_start = tally(create("trueskill", start), earlier, Objective.LOG_LOSS).mean()
    assert told[0].best <= at_start


def outcome_of_a_search(earlier: float, later: float, standard_error: float) -> Tuned:
    """Figures before the search are .5 on both parts."""
    return Tuned(
        model="trueskill",
        parameters={},
        searched=("sigma",),
        objective=Objective.LOG_LOSS,
        earlier_races=70,
        later_races=30,
        earlier_start=0.5,
        earlier_tuned=earlier,
        later_start=0.5,
        later_tuned=later,
        standard_error=standard_error,
        evaluations=1,
    )


@pytest.mark.parametrize(
    ("earlier", "later", "error", "recommended"),
    [
        (0.4, 0.375, 0.0625, True),
        (0.4, 0.375, 0.125, False),  # better by one standard error, and not by more
        (0.4, 0.375, 0.25, False),
        (0.4, 0.5, 0.0, False),
        (0.4, 0.75, 0.125, False),
        (0.5, 0.375, 0.0625, False),  # nothing that the search saw speaks for them
    ],
)
def test_only_what_is_better_by_more_than_a_standard_error_is_recommended(
    earlier: float, later: float, error: float, recommended: bool
) -> None:
    assert outcome_of_a_search(earlier, later, error).recommended is recommended


def test_where_a_search_starts_far_off_its_find_is_recommended(season: History) -> None:
    """From newcomers of whom all is believed to be known, so that ratings hardly move."""
    start = {"newcomer_spread": 0.01, "lasting_spread": 0.01}
    found = tune(
        season,
        "thurstone-hurdle",
        start,
        search=["newcomer_spread"],
        candidates=12,
        generations=2,
        rng=np.random.default_rng(5),
    )
    assert found.objective is Objective.LOG_LOSS
    assert found.later_start == pytest.approx(math.log(2), abs=0.01)
    assert found.recommended
    assert found.parameters["newcomer_spread"] >= 0.5


def test_the_chance_to_finish_is_searched_apart_from_the_ratings(season: History) -> None:
    """From a forecast of four in five who give up; nothing that moves a rating is touched."""
    start = {"finish_level": 3.0, "level": 1.0}
    found = tune(
        season,
        "thurstone-hurdle",
        start,
        objective=Objective.FINISHES,
        candidates=24,
        generations=15,
        rng=np.random.default_rng(2),
    )
    assert set(found.searched) == {"finish_level", "finish_width"}
    assert found.parameters["level"] == 1.0
    assert found.recommended
    earlier, _ = season.split(0.7)
    best = fit_finishes(earlier, "thurstone-hurdle", {"level": 1.0})
    assert found.earlier_tuned == pytest.approx(best.log_loss, abs=2e-4)
    # No other search sees the forecast.
    apart = tune(**searched(season, key="thurstone-hurdle", search=None, generations=1))
    assert not {"finish_level", "finish_width"} & set(apart.searched)


def test_finishes_are_tallied_entrant_by_entrant(season: History) -> None:
    """Nothing is known of newcomers but the one chance: of the first race, by hand."""
    first = season.split(1 / 150)[0]
    model = create("thurstone-hurdle")
    chance = ndtr(1.34 / np.hypot(3.09, 1.65))
    out = first.races[0].outcome.unfinished
    found = tally(model, first, Objective.FINISHES)
    assert found.pairs.tolist() == [out.size]
    assert found.cost[0] == pytest.approx(-np.log(np.where(out, 1 - chance, chance)).sum())


def test_models_that_forecast_no_finish_are_refused(season: History) -> None:
    with pytest.raises(ModelError, match="trueskill does not predict who finishes"):
        tune(**searched(season, objective=Objective.FINISHES))


def test_dimensions_are_what_the_model_declares() -> None:
    found = {(d.parameter, d.entry): (d.low, d.high, d.start) for d in dimensions("plackett-luce")}
    assert found[("initial_rating", None)] == (-3.0, 1.0, 0.25)
    assert [found[("rates", entry)] for entry in range(3)] == [
        (0.01, 1.0, start) for start in (0.6, 0.13, 0.09)
    ]
    assert ("knots", 0) not in found
    # A dummy that is left out is no number to search, unless it is asked for.
    without = {"dummy": None}
    assert "dummy" not in {d.parameter for d in dimensions("plackett-luce", without)}
    assert dimensions("plackett-luce", without, ["dummy"])[0].start == 0.5
    assert dimensions("trueskill", None, {"mu": (20.0, 30.0)}) == [("mu", None, 20.0, 30.0, 25.0)]


def test_lists_of_numbers_are_searched_entry_by_entry(season: History) -> None:
    found = tune(
        season, "plackett-luce", search=["rates"], candidates=6, generations=2, rng=np.random.default_rng(1)
    )
    assert len(found.parameters["rates"]) == 3
    assert found.parameters["knots"] == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (["sigmma"], "no parameter 'sigmma' .did you mean 'sigma'"),
        (["mu"], "no range is known in which to search mu"),
        ({"mu": (30.0, 20.0)}, "the range 30 to 20 of mu is empty"),
        ([], "no parameters to search"),
    ],
)
def test_a_search_that_cannot_be_is_refused(season: History, search, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        tune(**searched(season, search=search))


def test_a_history_too_short_is_refused(season: History) -> None:
    with pytest.raises(ModelError, match="1 races cannot be divided"):
        tune(**searched(season.split(1 / 150)[0]))


@pytest.mark.parametrize("objective", PAIRS)
def test_candidates_are_tallied_as_if_alone(season: History, objective: Objective) -> None:
    part, _ = season.split(0.3)
    sigma = np.array([8.0, 4.0])
    together = tally(TrueSkill(sigma=sigma), part, objective)
    for candidate in range(2):
        alone = tally(TrueSkill(sigma=sigma[candidate]), part, objective)
        np.testing.assert_allclose(together.cost[:, candidate], alone.cost, rtol=1e-6, atol=1e-9)
        np.testing.assert_array_equal(together.pairs, alone.pairs)


def test_the_standard_error_of_a_difference() -> None:
    # Races of ten pairs each, whose differences have a known spread: that of a mean, s/√n.
    rng = np.random.default_rng(9)
    change = rng.normal(0, 3, 400)
    pairs = np.full(400, 10)
    before = Tally(np.full(400, 4.0), pairs)
    after = Tally(4.0 + change, pairs)
    expected = np.std(change / 10) / np.sqrt(400)
    assert standard_error(before, after, rng) == pytest.approx(expected, rel=0.1)
    assert standard_error(before, before, rng) == 0
