"""Plot ratings over time, misordered pairs over time, and reliability.

Needs the extra `plots`. Backgrounds are transparent and colors have medium lightness, so that plots are
legible on light and dark pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from racebot.errors import MissingExtraError
from racebot.ratings.model import FloatArray, RatingModel
from racebot.study.calibration import Reliability
from racebot.study.history import History
from racebot.study.metrics import misordered, observed_pairs
from racebot.study.replay import Earlier, at_start, replay

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINES = ("#2f81f7", "#e5534b", "#2e9e5b", "#a371f7", "#c28a00", "#1898a8", "#d9488f", "#808893")
"""Line colors, each with a contrast of at least 3:1 on white and on near-black."""
_DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1.2, 1.2)))
_TEXT = "#7d8590"
_WINDOW = 100
"""Races in a moving mean."""


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """A player's points, race by race.

    Attributes:
        name: the player's name.
        times: end of each of the player's races.
        points: points after each race, in the same order.
    """

    name: str
    times: tuple[datetime, ...]
    points: tuple[int, ...]


def trajectories(
    history: History, model: RatingModel, players: int = 15, earlier: Earlier | None = None
) -> list[Trajectory]:
    """Return the points over time of the most active players, most active first."""
    active = np.argsort(-history.races_of_players(), kind="stable")[:players]
    times: dict[int, list[datetime]] = {int(player): [] for player in active}
    points: dict[int, list[int]] = {int(player): [] for player in active}
    for step in replay(model, history, at_start(model, history, earlier)):
        for player, value in zip(step.race.players.tolist(), model.points(step.after).tolist(), strict=True):
            if player in times:
                times[player].append(step.race.ended_at)
                points[player].append(value)
    return [Trajectory(history.names[p], tuple(times[p]), tuple(points[p])) for p in times]


def misordered_lately(
    history: History, model: RatingModel, window: int = _WINDOW, earlier: Earlier | None = None
) -> FloatArray:
    """Return the moving share of misordered pairs over the last `window` races: shape [races].

    It is NaN until the window is full.
    """
    wrong, pairs = np.zeros(len(history) + 1), np.zeros(len(history) + 1)
    for number, step in enumerate(replay(model, history, at_start(model, history, earlier)), start=1):
        better, worse = observed_pairs(step.race.outcome)
        rating = model.rating(step.before)
        wrong[number] = wrong[number - 1] + misordered(rating[better], rating[worse]).sum()
        pairs[number] = pairs[number - 1] + better.size
    share = np.full(len(history), np.nan)
    share[window - 1 :] = (wrong[window:] - wrong[:-window]) / (pairs[window:] - pairs[:-window])
    return share


def draw_trajectories(
    history: History, model: RatingModel, title: str, earlier: Earlier | None = None
) -> Figure:
    """Plot the points of the most active players, with a name at the end of each line.

    Raises:
        RacebotError: matplotlib is not installed.
    """
    figure, axes = _canvas(title)
    lines = [line for line in trajectories(history, model, earlier=earlier) if line.times]
    for number, line in enumerate(lines):
        times: Any = line.times
        axes.plot(times, line.points, drawstyle="steps-post", **_style(number))
    axes.set_ylabel("points", color=_TEXT)
    low, high = axes.get_ylim()
    ends = (np.array([float(line.points[-1]) for line in lines]) - low) / (high - low)
    # Names form a column on the right, each with a sample of its line.
    for number, height in enumerate(spread_out(ends, gap=1 / 28)):
        axes.plot([1.01, 1.04], [height] * 2, transform=axes.transAxes, clip_on=False, **_style(number))
        axes.annotate(
            lines[number].name,
            (1.045, height),
            xycoords="axes fraction",
            color=_style(number)["color"],
            fontsize=9,
            va="center",
            annotation_clip=False,
            parse_math=False,  # a name may hold dollar signs
        )
    return figure


def draw_misordered(
    history: History, models: Sequence[tuple[str, RatingModel]], earlier: Earlier | None = None
) -> Figure:
    """Plot each model's moving share of misordered pairs.

    Raises:
        RacebotError: matplotlib is not installed.
    """
    figure, axes = _canvas(f"Misordered pairs in the last {_WINDOW} races")
    times: Any = [race.ended_at for race in history.races]
    for number, (label, model) in enumerate(models):
        share = 100 * misordered_lately(history, model, earlier=earlier)
        axes.plot(times, share, label=label, **_style(number))
    axes.set_ylabel("% of pairs, lower is better", color=_TEXT)
    if models:
        _legend(axes)
    return figure


def draw_reliability(models: Sequence[tuple[str, Reliability]]) -> Figure:
    """Plot how often each model's favorites were placed better, against the forecast.

    Calibrated probabilities lie on the diagonal. The size of a point shows its number of pairs.

    Raises:
        RacebotError: matplotlib is not installed.
    """
    figure, axes = _canvas("Favorites: forecast and actual wins")
    axes.plot([50, 100], [50, 100], color=_TEXT, linewidth=0.8)
    for number, (label, found) in enumerate(models):
        kept = found.weight > 0
        predicted, observed = 100 * found.predicted[kept], 100 * found.observed[kept]
        named = f"{label}: off by {100 * found.error:.1f} points"
        axes.plot(predicted, observed, label=named, **_style(number))
        axes.scatter(
            predicted,
            observed,
            s=200 * found.weight[kept] / found.weight.sum(),
            color=_style(number)["color"],
        )
    axes.set_xlabel("% chance given to the favorite", color=_TEXT)
    axes.set_ylabel("% of pairs that the favorite won", color=_TEXT)
    if models:
        _legend(axes)
    return figure


def spread_out(heights: FloatArray, gap: float) -> FloatArray:
    """Move heights so that any two are at least `gap` apart, keeping their order: shape [n].

    Heights that would overlap are centered on their mean: without the gaps, this is isotonic regression.
    """
    if not heights.size:
        return heights
    order = np.argsort(heights, kind="stable")
    gaps = gap * np.arange(heights.size)
    placed = np.empty_like(heights)
    placed[order] = scipy.optimize.isotonic_regression(heights[order] - gaps).x + gaps
    return placed


def _style(number: int) -> dict[str, Any]:
    return {
        "color": _LINES[number % len(_LINES)],
        "linestyle": _DASHES[number // len(_LINES) % len(_DASHES)],
        "linewidth": 1.3,
    }


def _legend(axes: Axes) -> None:
    legend = axes.legend(
        frameon=False, labelcolor=_TEXT, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0)
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _canvas(title: str) -> tuple[Figure, Axes]:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - only who draws needs it
    except ImportError:
        raise MissingExtraError("plots", "plots need matplotlib") from None
    figure = Figure(figsize=(10, 5.5), dpi=120, layout="constrained", facecolor="none")
    axes = figure.add_subplot(facecolor="none")
    axes.set_title(title, color=_TEXT, fontsize=11, loc="left", parse_math=False)
    axes.tick_params(colors=_TEXT, labelsize=9)
    axes.grid(color=_TEXT, alpha=0.25, linewidth=0.6)
    for side, spine in axes.spines.items():
        spine.set_color(_TEXT)
        spine.set_visible(side in {"left", "bottom"})
    return figure, axes
