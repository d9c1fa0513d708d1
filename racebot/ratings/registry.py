"""All rating models by key, and a function that creates one from its key and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from racebot.errors import ModelError
from racebot.ratings.model import RatingModel
from racebot.ratings.models.elo import ExponentialElo, GaussianElo
from racebot.ratings.models.ffa import EloFfa, GlickoFfa, PreviousRank
from racebot.ratings.models.multielo import MultiElo
from racebot.ratings.models.pairwise import PairwiseElo
from racebot.ratings.models.plackett_luce import PlackettLuce
from racebot.ratings.models.plackett_luce_hurdle import PlackettLuceHurdle
from racebot.ratings.models.thurstone import Thurstone
from racebot.ratings.models.thurstone_filter import ThurstoneFilter
from racebot.ratings.models.thurstone_hurdle import ThurstoneHurdle
from racebot.ratings.models.trueskill import TrueSkill
from racebot.ratings.parameters import from_mapping
from racebot.text.parse import did_you_mean

_CLASSES: tuple[type[Any], ...] = (
    ExponentialElo,
    GaussianElo,
    EloFfa,
    GlickoFfa,
    MultiElo,
    PairwiseElo,
    PlackettLuce,
    PlackettLuceHurdle,
    PreviousRank,
    Thurstone,
    ThurstoneFilter,
    ThurstoneHurdle,
    TrueSkill,
)

MODELS: dict[str, type[Any]] = {model.key: model for model in _CLASSES}
"""Model classes by key."""

OFFLINE = {
    "iterated-elo": "rates a whole history at once and predicts no race from those before it: "
    "use `racebot iterate`"
}
"""Models that cannot rate races one by one, with the reason."""


WITHOUT_FLOOR: Mapping[str, float | bool] = MappingProxyType(
    {
        "newcomer_spread": 1.8,
        "lasting_spread": 0.0711,
        "settling": 0.772,
        "level": 1.95,
        "width": 2.48,
        "spare_finishers": False,
        "finish_level": -1.23,
        "finish_width": 3.18,
    }
)
"""Parameters of `thurstone-hurdle` tuned without the floor: the defaults of racebot 0.1."""


def create(key: str, parameters: Mapping[str, Any] | None = None) -> RatingModel:
    """Create a model from its key and the parameters that differ from its defaults.

    Raises:
        ModelError: a key, parameter or value is invalid. The message lists the valid ones.
    """
    if key in OFFLINE:
        raise ModelError(f"{key} {OFFLINE[key]}")
    if key not in MODELS:
        raise ModelError(
            f"no rating model {key!r}{did_you_mean(key, MODELS)}; there are: {', '.join(MODELS)}"
        )
    model = MODELS[key]
    made: RatingModel = model(**from_mapping(model, parameters or {}))
    return made
