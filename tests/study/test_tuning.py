import itertools
import math
from dataclasses import replace
from typing import Any, cast
from unittest.mock import Mock

import numpy as np
import pytest

from racebot.errors import ModelError
from racebot.ratings.models.trueskill import TrueSkill
from racebot.study import tuning
from racebot.study.cores import spread
from racebot.study.evaluate import Entry, evaluate
from racebot.study.history import History
from racebot.study.metrics import Tally, standard_error
from racebot.study.tuning import STEPS, Effort, JudgedPart, Tuned, along, dimensions, tune


def searched(season: History, **changed: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {"search": ["sigma", "beta"]}
    size = {name: changed.pop(name) for name in ("candidates", "generations") if name in changed}
    effort = replace(Effort(10, 3, 3), **size)
    return {"history": season, "key": "trueskill", "effort": effort, **settings, **changed}


def test_a_search_is_no_worse_than_where_it_started(season: History) -> None:
    found = tune(**searched(season))
    assert found.searched == ("sigma", "beta")
    assert (found.earlier.races, found.later.races) == (75, 75)
    assert found.evaluations == 40
    # Rounding to four digits may cost a pair.
    assert found.earlier.tuned <= found.earlier.start + 0.001
    assert found.later.standard_error > 0
    assert found.parameters["tau"] == TrueSkill().tau
    assert 1 <= cast("float", found.parameters["sigma"]) <= 12


def test_figures_are_those_of_a_replay_with_ratings_carried_over(season: History) -> None:
    found = tune(**searched(season, generations=1))
    since = season.races[found.earlier.races].ended_at
    earlier, _ = season.split(0.5)
    entries = [Entry("start", "trueskill"), Entry("tuned", "trueskill", found.parameters)]

    def figures(history: History, since=None) -> list[float]:
        found = [e.figures for e in evaluate([history], entries, since=since)[0].evaluations]
        return [each.misordered + each.log_loss for each in found]

    assert figures(earlier) == pytest.approx([found.earlier.start, found.earlier.tuned])
    assert figures(season, since) == pytest.approx([found.later.start, found.later.tuned])
    assert found.later.difference == pytest.approx(found.later.tuned - found.later.start)


def test_the_later_part_has_no_influence_on_the_search(season: History) -> None:
    earlier, later = season.split(0.5)
    changed = replace(season, races=earlier.races + later.races[::-1])
    one, two = tune(**searched(season)), tune(**searched(changed))
    assert one.parameters == two.parameters
    assert one.earlier.tuned == two.earlier.tuned
    assert one.later.tuned != two.later.tuned


def test_progress_is_reported_after_each_generation(season: History) -> None:
    told: list[tuple[int, float]] = []
    found = tune(**searched(season, progress=lambda *now: told.append(now)))
    assert [generation for generation, _ in told] == [1, 2, 3]
    assert all(a >= b for (_, a), (_, b) in itertools.pairwise(told))
    assert found.earlier.tuned == pytest.approx(told[-1][1], abs=0.001)  # its parameters are rounded


@pytest.mark.parametrize(
    ("earlier", "later", "error", "recommended"),
    [
        (0.4, 0.375, 0.03125, True),
        (0.4, 0.375, 0.0625, False),  # better by two standard errors, but not by more
        (0.4, 0.375, 0.125, False),
        (0.4, 0.5, 0.0, False),
        (0.4, 0.75, 0.125, False),
        (0.5, 0.375, 0.03125, False),  # nothing that the search saw supports them
    ],
)
def test_only_a_gain_of_more_than_two_standard_errors_is_recommended(
    earlier: float, later: float, error: float, recommended: bool
) -> None:
    seen, unseen = (JudgedPart(70, 0.5, 0, 0, tuned, 0, 0, error) for tuned in (earlier, later))
    assert Tuned("trueskill", {}, ("sigma",), seen, unseen, 1).recommended is recommended


def test_dimensions_are_those_the_model_declares() -> None:
    found = {(d.parameter, d.entry): (d.low, d.high, d.start) for d in dimensions("plackett-luce")}
    assert found[("initial_rating", None)] == (-3.0, 1.0, 0.25)
    rates = [found[("rates", entry)] for entry in range(3)]
    assert rates == [(0.01, 1.0, start) for start in (0.6, 0.13, 0.09)]
    assert ("knots", 0) not in found
    # Without a value, the dummy is searched only if asked for.
    without = {"dummy": None}
    assert "dummy" not in {d.parameter for d in dimensions("plackett-luce", without)}
    assert dimensions("plackett-luce", without, ["dummy"])[0].start == 0.5


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (["sigmma"], "no parameter 'sigmma' .did you mean 'sigma'"),
        (["mu"], "mu has no range to search in"),
        ([], "no parameters to search"),
    ],
)
def test_an_impossible_search_is_refused(season: History, search, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        tune(**searched(season, search=search))


@pytest.mark.parametrize(("races", "message"), [(1, "too few races"), (2, "no parameters to search.*add")])
def test_a_history_too_short_to_search_is_refused(season: History, races: int, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        tune(season.split(races / 150)[0], "trueskill")


def test_a_picture_of_a_search_replays_its_candidates_together(season: History, monkeypatch) -> None:
    called = Mock(wraps=spread)
    monkeypatch.setattr(tuning, "spread", called)
    (_, _, sigmas, figures), (name, start, _, _) = along(season, tune(**searched(season, generations=1)))
    assert (len(called.call_args[0][1]), name, sigmas.size) == (1, "beta", STEPS + 1)
    entry = Entry("moved", "trueskill", {"sigma": sigmas[2], "beta": start})
    found = evaluate([season.split(0.5)[0]], [entry])[0].evaluations[0].figures
    assert figures[2] == pytest.approx(found.misordered + found.log_loss)


def test_pairs_of_one_race_are_not_independent() -> None:
    """100 pairs of one race with the same outcome count as little as one pair."""
    cases = np.tile([100, 1], 200)
    change = np.tile([1.0, -1.0], 200)
    before = Tally(np.zeros(400), cases)
    error = standard_error(before, Tally(change * cases, cases))
    assert standard_error(before, before) == 0
    # Cochran's estimate by hand: residuals of both kinds of race are ±(1 - R²)^½-like sums.
    ratio = (100 - 1) / 101
    rest = 200 * ((100 - 100 * ratio) ** 2 + (-1 - ratio) ** 2)
    assert error == pytest.approx(math.sqrt(400 / 399 * rest) / (200 * 101))
