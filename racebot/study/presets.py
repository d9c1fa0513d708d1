"""Published figures to reproduce and compare with, by name.

Source: B. Kerby, "Multiplayer generalizations of Elo rating system", section 5,
https://github.com/blkerby/MultiEloRating. All figures are for the recorded races of Super Metroid Map Rando
season 1, in the order they ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from racebot.ratings.parameters import Parameters


@dataclass(frozen=True, slots=True)
class Preset:
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


def _single(initial_rating: float, dummy: float | None, rates: Any, **more: Any) -> dict[str, Any]:
    """Return the parameters of a single-parameter model, with all features off unless named."""
    base = {"initial_rating": initial_rating, "dummy": dummy, "rates": rates, "knots": (0.0,), "floor": None}
    return base | more


_ALL_OF_5 = {"knots": (0.0, 1.0, 2.0), "floor": 0.0}
_INDEPENDENT = {"unfinished": "independent"}
_TIE = {"unfinished": "tie"}
_TUNED_MEAN = _TIE | {"sigma": 3.7, "beta": 2.3, "tau": 0.18, "draw_probability": 0.001}
_TUNED = _TIE | {"sigma": 5.0, "beta": 2.5, "tau": 0.12, "draw_probability": 0.001}

PRESETS: dict[str, Preset] = {
    "pairwise-sum": Preset(
        "Pairwise Elo (sum)", "pairwise-elo", _single(0.0, None, (0.07,), combine="sum"), 0.2396, 0.2397
    ),
    "pairwise-mean": Preset(
        "Pairwise Elo (average)", "pairwise-elo", _single(0.0, None, (0.75,), combine="mean"), 0.2423, 0.2423
    ),
    "plackett-luce": Preset(
        "Exponential (Plackett-Luce)",
        "plackett-luce",
        _single(0.0, None, (0.32,), **_INDEPENDENT),
        0.2394,
        0.2394,
    ),
    "thurstone": Preset("Gaussian (Thurstonian)", "thurstone", _single(0.0, None, (0.26,)), 0.2367, 0.2367),
    "trueskill-mean": Preset(
        "TrueSkill (default, μ)", "trueskill", _TIE | {"conservative": 0.0}, 0.2453, 0.2454
    ),
    "trueskill": Preset("TrueSkill (default, μ − 2σ)", "trueskill", _TIE, 0.2159, 0.2159),
    "trueskill-tuned-mean": Preset(
        "TrueSkill (tuned, μ)", "trueskill", _TUNED_MEAN | {"conservative": 0.0}, 0.2411, 0.2411
    ),
    "trueskill-tuned": Preset("TrueSkill (tuned, μ − 2σ)", "trueskill", _TUNED, 0.2148, 0.2148),
    "pairwise-sum-dummy": Preset(
        "Pairwise Elo (sum), anchored",
        "pairwise-elo",
        _single(-1.6, 0.0, (0.07,), combine="sum"),
        0.2251,
        0.2251,
    ),
    "pairwise-mean-dummy": Preset(
        "Pairwise Elo (average), anchored",
        "pairwise-elo",
        _single(-2.5, 0.0, (0.63,), combine="mean"),
        0.2275,
        0.2279,
    ),
    "plackett-luce-dummy": Preset(
        "Exponential (Plackett-Luce), anchored",
        "plackett-luce",
        _single(-2.7, 0.0, (0.18,), **_INDEPENDENT),
        0.2229,
        0.2230,
    ),
    "thurstone-dummy": Preset(
        "Gaussian (Thurstonian), anchored", "thurstone", _single(-1.3, 0.0, (0.11,)), 0.2234, 0.2234
    ),
    "plackett-luce-full": Preset(
        "Exponential (Plackett-Luce), further improvements",
        "plackett-luce",
        _single(0.25, 1.35, (0.6, 0.13, 0.09), **_ALL_OF_5, **_INDEPENDENT),
        0.2177,
        0.2177,
    ),
    "thurstone-full": Preset(
        "Gaussian (Thurstonian), further improvements",
        "thurstone",
        _single(0.3, 0.9, (0.65, 0.09, 0.07), **_ALL_OF_5),
        0.2211,
        0.2211,
    ),
}
"""The fourteen rows by name, in the order of the source."""
