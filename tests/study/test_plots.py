from __future__ import annotations

import builtins
import io
import itertools

import numpy as np
import pytest
from builders import result
from hypothesis import given, strategies as st

from racebot.errors import RacebotError
from racebot.ratings.registry import create
from racebot.study.calibration import of_pairs
from racebot.study.evaluate import Entry, evaluate
from racebot.study.history import History
from racebot.study.plots import (
    draw_misordered,
    draw_reliability,
    draw_trajectories,
    misordered_lately,
    spread_out,
    trajectories,
)
from racebot.study.replay import Earlier, newcomers, replay


def test_trajectories_end_where_the_replay_does(season: History) -> None:
    model = create("trueskill")
    table = newcomers(model, season)
    for _ in replay(model, season, table):
        pass
    lines = trajectories(season, model, players=5)
    raced = dict(zip(season.names, season.races_of_players().tolist(), strict=True))
    assert [len(line.times) for line in lines] == sorted(raced.values(), reverse=True)[:5]
    for line in lines:
        assert line.points[-1] == model.points(table[season.names.index(line.name)])
        assert list(line.times) == sorted(line.times)


def test_plots_start_from_the_ratings_of_an_earlier_season(season: History) -> None:
    """Ratings continue, but moving means only cover the later season."""
    model = create("trueskill")
    first, second = season.split(0.5)
    whole = {line.name: line for line in trajectories(season, model, players=20)}
    for line in trajectories(second, model, players=20, earlier=Earlier(first)):
        assert line.points == whole[line.name].points[-len(line.points) :]
    apart = misordered_lately(second, model, 30, Earlier(first))
    np.testing.assert_allclose(apart[29:], misordered_lately(season, model, 30)[-len(second) + 29 :])


def test_reliability_covers_the_judged_races(season: History) -> None:
    first, second = season.split(0.6)
    since = second.races[0].ended_at
    entry = Entry("pl", "plackett-luce")
    for report in (evaluate(season, [entry], since=since), evaluate(second, [entry], earlier=Earlier(first))):
        (found,) = report.evaluations
        assert found.reliability.weight.sum() == found.figures.pairs
        assert found.reliability.error == pytest.approx(found.figures.calibration_error)


def test_misordered_pairs_are_a_moving_mean() -> None:
    # All are equal newcomers at first. Then Ann, the winner, loses. Then the order follows the ratings.
    history = History.of(
        result(f"r{hour}", order, after=hour)
        for hour, order in enumerate(["ann bo", "bo ann", "bo ann", "cy di"])
    )
    model = create("pairwise-elo", {"dummy": "none", "rates": "1"})
    share = misordered_lately(history, model, window=2)
    assert np.isnan(share[0])
    # Bo's win from behind is worth more than Ann's was, so that Bo is ahead after two races.
    assert share[1:].tolist() == [(0.5 + 1) / 2, (1 + 0) / 2, (0 + 0.5) / 2]
    assert np.isnan(misordered_lately(history, model, window=9)).all()


@given(st.lists(st.floats(0, 1), max_size=12), st.floats(0.01, 0.2))
def test_labels_keep_their_distance_and_order(heights: list[float], gap: float) -> None:
    wanted = np.array(heights)
    placed = spread_out(wanted, gap)
    assert (np.diff(np.sort(placed)) >= gap * (1 - 1e-9)).all()
    for a, b in itertools.combinations(range(len(heights)), 2):
        if heights[a] < heights[b]:
            assert placed[a] < placed[b]
    assert np.sum(placed) == pytest.approx(np.sum(wanted))


def test_labels_with_room_stay_where_they_are() -> None:
    assert spread_out(np.array([0.9, 0.1, 0.5, 0.52]), 0.1).tolist() == pytest.approx([0.9, 0.1, 0.46, 0.56])


def test_plots_are_saved_under_any_label(season: History) -> None:
    pytest.importorskip("matplotlib")
    model = create("trueskill")
    odd = History.of([result("r", "ann bo"), *(result(f"s{i}", "a$b_$ bo", after=i + 1) for i in range(3))])
    pictures = [
        draw_trajectories(season, model, "all"),
        draw_trajectories(odd, model, "cost: $5_"),
        draw_trajectories(History.of([]), model, "none"),
        draw_misordered(season, [("site $", model), ("other $", create("plackett-luce"))]),
        draw_misordered(History.of([]), []),
        draw_reliability([("site $", of_pairs(np.linspace(0, 1, 30))), ("other $", of_pairs(np.ones(3)))]),
        draw_reliability([("site", of_pairs(np.empty(0)))]),
    ]
    for figure in pictures:
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=30)
        assert file.getvalue().startswith(b"\x89PNG")


def test_missing_matplotlib_names_its_extra(season: History, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(RacebotError, match="plots need matplotlib"):
        draw_trajectories(season, create("trueskill"), "all")
