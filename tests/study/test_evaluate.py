import itertools
import math

import numpy as np
import pytest
from builders import result

from racebot.errors import ModelError
from racebot.ratings.parameters import as_json
from racebot.ratings.registry import create
from racebot.study.evaluate import Entry, evaluate
from racebot.study.history import Earlier, History, replay
from racebot.study.metrics import reliability, standard_error, tallies

ENTRIES = [
    Entry("site", "trueskill", {"unfinished": "tie"}),
    Entry("mean", "trueskill", {"conservative": 0}),
    Entry("luce", "plackett-luce"),
]


def by_hand(history: History, entry: Entry, judged: range):
    """Return misordered share, log loss, calibration error and gains of DNFs, pair by pair."""
    model = create(entry.model, entry.parameters)
    wrong, loss, gains = [], [], 0
    for number, step in enumerate(replay(model, history)):
        if number not in judged:
            continue
        group, rating = step.race.outcome.group, model.rating(step.before)
        for a, b in itertools.permutations(range(group.size), 2):
            if group[a] < group[b]:
                wrong.append(1.0 if rating[a] < rating[b] else 0.5 if rating[a] == rating[b] else 0.0)
                loss.append(-math.log(model.win_probability(step.before[a], step.before[b])))
        change = model.points(step.after) - model.points(step.before)
        gains += int(((change > 0) & step.race.outcome.unfinished).sum())
    return np.mean(wrong), np.mean(loss), reliability(np.exp(-np.array(loss))).error, gains


def test_each_entry_is_judged_independently(season: History) -> None:
    report = evaluate([season], ENTRIES)[0]
    assert (report.races, report.players) == (len(season), 12)
    assert [evaluation.label for evaluation in report.evaluations] == ["site", "mean", "luce"]
    for entry, evaluation in zip(ENTRIES, report.evaluations, strict=True):
        wrong, loss, calibration, gains = by_hand(season, entry, range(len(season)))
        assert evaluation.figures.calibration_error == pytest.approx(calibration)
        assert evaluation.figures.misordered == pytest.approx(wrong)
        assert evaluation.figures.log_loss == pytest.approx(loss)
        assert evaluation.complaints.unfinished_gains == gains
        assert evaluation.model == entry.model
        assert evaluation.parameters == as_json(create(entry.model, entry.parameters))


def test_margins_are_differences_to_the_best_with_their_error_over_races(season: History) -> None:
    report = evaluate([season], ENTRIES, since=season.races[100].ended_at)[0]
    figures = {each.label: each.figures for each in report.evaluations}
    assert report.best == min(figures, key=lambda label: figures[label].misordered)
    assert report.margins[report.best] == ((0.0, 0.0), (0.0, 0.0))
    label = next(label for label in figures if label != report.best)
    wrong, loss = report.margins[label]
    assert wrong.difference == pytest.approx(figures[label].misordered - figures[report.best].misordered)
    assert loss.difference == pytest.approx(figures[label].log_loss - figures[report.best].log_loss)
    entries = {entry.label: entry for entry in ENTRIES}
    judged = []
    for entry in (entries[report.best], entries[label]):
        model = create(entry.model, entry.parameters)
        judged.append(tallies(model, season).log_loss.later(100))
    assert loss.error == pytest.approx(standard_error(*judged))


def test_earlier_races_only_train(season: History) -> None:
    since = season.races[100].ended_at
    report = evaluate([season], ENTRIES[:1], since=since)[0]
    assert report.races == len(season) - 100
    wrong, loss, calibration, gains = by_hand(season, ENTRIES[0], range(100, len(season)))
    (evaluation,) = report.evaluations
    assert evaluation.figures.races == report.races
    assert evaluation.reliability.error == pytest.approx(calibration)
    assert evaluation.figures.misordered == pytest.approx(wrong)
    assert evaluation.figures.log_loss == pytest.approx(loss)
    assert evaluation.complaints.unfinished_gains == gains


def test_a_view_counts_only_its_players(season: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("racebot.study.evaluate.VIEWED", 3)
    monkeypatch.setattr("racebot.study.evaluate.FREQUENT_RACES", 25)
    report = evaluate([season], ENTRIES[2:])[0]
    views = report.evaluations[0].views
    names = {"all", "best", "frequent", "bin 1", "bin 2", "bin 3", "bin 4", "bin 5"}
    assert set(views) == names
    assert views["best"].entries == 3 * 10
    assert views["frequent"].entries == 3 * 25
    bins = [views[f"bin {number}"] for number in range(1, 6)]
    assert sum(view.entries for view in bins) == views["all"].entries
    assert sum(view.pairs for view in bins) == pytest.approx(views["all"].pairs)
    total = sum(view.pairs * view.misordered for view in bins)
    assert total == pytest.approx(views["all"].pairs * views["all"].misordered)


def test_two_models_are_compared_pair_by_pair(season: History) -> None:
    report = evaluate([season], ENTRIES)[0]
    compared = [(c.first, c.second) for c in report.comparisons]
    assert compared == [("site", "mean"), ("site", "luce"), ("mean", "luce")]
    reverse = evaluate([season], ENTRIES[::-1])[0].comparisons
    for one, other in zip(report.comparisons, reversed(reverse), strict=True):
        assert other.betting == pytest.approx(-one.betting)
        assert (other.first_right, other.second_right) == (one.second_right, one.first_right)
        assert other.first_challenged == one.second_challenged
    assert report.comparisons[0].first_misordered == report.evaluations[0].figures.misordered


def test_diverging_ratings_are_named() -> None:
    history = History.of(result(f"r{hour}", "ann bo cy", after=hour) for hour in range(40))
    entry = Entry("wild", "trueskill", {"sigma": "1e200"})
    with np.errstate(all="ignore"), pytest.raises(ModelError, match="wild: the ratings of trueskill diverge"):
        evaluate([history], [entry])


def test_an_earlier_season_trains_but_is_not_judged(season: History) -> None:
    """Its ratings count from the first race on. Models that cannot carry over are refused."""
    first, second = season.split(0.5)
    afresh = evaluate([second], ENTRIES[:1])[0].evaluations[0].figures
    report = evaluate([second], ENTRIES[:1], earlier=Earlier(first))[0]
    carried = report.evaluations[0].figures
    since = second.races[0].ended_at
    continued = evaluate([season], ENTRIES[:1], since=since)[0].evaluations[0].figures
    assert report.races == len(second)
    assert carried.log_loss == pytest.approx(continued.log_loss)
    assert carried.log_loss < afresh.log_loss
    with pytest.raises(ModelError, match="cannot carry"):
        evaluate([second], [Entry("rank", "previous-rank")], earlier=Earlier(first))
