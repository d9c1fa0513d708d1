"""Published figures to reproduce and compare with, by name.

Source: B. Kerby, "Multiplayer generalizations of Elo rating system", section 5,
https://github.com/blkerby/MultiEloRating. All figures are for the recorded races of Super Metroid Map Rando
season 1, in the order they ended.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from racebot.ratings.parameters import Parameters


class Preset(NamedTuple):
    """A row of the source's tables.

    Attributes:
        published: published share of misordered pairs.
        rerun: share of misordered pairs when running the author's program today.
    """

    title: str
    model: str
    parameters: Parameters
    published: float
    rerun: float


def _elo(*rates: float, start: float = 0.0, dummy: float | None = None, **more: Any) -> dict[str, Any]:
    """Return the parameters of a single-parameter model, with all features off unless named."""
    return {"initial_rating": start, "dummy": dummy, "rates": rates, "knots": (0.0,), "floor": None} | more


def _luce(*rates: float, **more: Any) -> dict[str, Any]:
    return _elo(*rates, unfinished="independent", **more)


_TIE = {"unfinished": "tie"}
_MEAN = _TIE | {"conservative": 0.0}
_TUNED_MEAN = _MEAN | {"sigma": 3.7, "beta": 2.3, "tau": 0.18, "draw_probability": 0.001}
_TUNED = _TIE | {"sigma": 5.0, "beta": 2.5, "tau": 0.12, "draw_probability": 0.001}
_ALL_OF_5 = {"knots": (0.0, 1.0, 2.0), "floor": 0.0}
_LUCE_OF_5 = _luce(0.6, 0.13, 0.09, start=0.25, dummy=1.35) | _ALL_OF_5
_THURSTONE_OF_5 = _elo(0.65, 0.09, 0.07, start=0.3, dummy=0.9) | _ALL_OF_5
_SUM, _AVERAGE = "Pairwise Elo (sum)", "Pairwise Elo (average)"
_EXPONENTIAL, _GAUSSIAN = "Exponential (Plackett-Luce)", "Gaussian (Thurstonian)"
_ANCHORED, _IMPROVED = ", anchored", ", further improvements"
_SUM_DUMMY = _elo(0.07, start=-1.6, dummy=0.0, combine="sum")
_MEAN_DUMMY = _elo(0.63, start=-2.5, dummy=0.0, combine="mean")
_LUCE_DUMMY = _luce(0.18, start=-2.7, dummy=0.0)
_THURSTONE_DUMMY = _elo(0.11, start=-1.3, dummy=0.0)

PRESETS: dict[str, Preset] = {
    "pairwise-sum": Preset(_SUM, "pairwise-elo", _elo(0.07, combine="sum"), 0.2396, 0.2397),
    "pairwise-mean": Preset(_AVERAGE, "pairwise-elo", _elo(0.75, combine="mean"), 0.2423, 0.2423),
    "plackett-luce": Preset(_EXPONENTIAL, "plackett-luce", _luce(0.32), 0.2394, 0.2394),
    "thurstone": Preset(_GAUSSIAN, "thurstone", _elo(0.26), 0.2367, 0.2367),
    "trueskill-mean": Preset("TrueSkill (default, μ)", "trueskill", _MEAN, 0.2453, 0.2454),
    "trueskill": Preset("TrueSkill (default, μ − 2σ)", "trueskill", _TIE, 0.2159, 0.2159),
    "trueskill-tuned-mean": Preset("TrueSkill (tuned, μ)", "trueskill", _TUNED_MEAN, 0.2411, 0.2411),
    "trueskill-tuned": Preset("TrueSkill (tuned, μ − 2σ)", "trueskill", _TUNED, 0.2148, 0.2148),
    "pairwise-sum-dummy": Preset(_SUM + _ANCHORED, "pairwise-elo", _SUM_DUMMY, 0.2251, 0.2251),
    "pairwise-mean-dummy": Preset(_AVERAGE + _ANCHORED, "pairwise-elo", _MEAN_DUMMY, 0.2275, 0.2279),
    "plackett-luce-dummy": Preset(_EXPONENTIAL + _ANCHORED, "plackett-luce", _LUCE_DUMMY, 0.2229, 0.2230),
    "thurstone-dummy": Preset(_GAUSSIAN + _ANCHORED, "thurstone", _THURSTONE_DUMMY, 0.2234, 0.2234),
    "plackett-luce-full": Preset(_EXPONENTIAL + _IMPROVED, "plackett-luce", _LUCE_OF_5, 0.2177, 0.2177),
    "thurstone-full": Preset(_GAUSSIAN + _IMPROVED, "thurstone", _THURSTONE_OF_5, 0.2211, 0.2211),
}
"""The fourteen rows by name, in the order of the source."""
