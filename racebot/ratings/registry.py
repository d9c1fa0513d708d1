"""All rating models by key, and a function that creates one from its key and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from racebot.errors import ModelError
from racebot.ratings.model import RatingModel
from racebot.ratings.models.elo import ExponentialElo, GaussianElo, PairwiseElo, Thurstone
from racebot.ratings.models.ffa import EloFfa, GlickoFfa, MultiElo, PreviousRank
from racebot.ratings.models.plackett_luce import PlackettLuce
from racebot.ratings.models.plackett_luce_hurdle import PlackettLuceHurdle
from racebot.ratings.models.thurstone_filter import ThurstoneFilter
from racebot.ratings.models.thurstone_hurdle import ThurstoneHurdle
from racebot.ratings.models.trueskill import TrueSkill
from racebot.ratings.parameters import Parameters, from_mapping
from racebot.text.parse import did_you_mean

MODELS: Mapping[str, type[Any]] = {
    model.key: model
    for model in (
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
}
"""Model classes by key."""
DEFAULT_MODEL = ThurstoneHurdle.key
OFFLINE = {
    "iterated-elo": "rates a whole history at once and predicts no race from those before it: "
    "use `racebot iterate`"
}
"""Models that cannot rate races one by one, with the reason."""


def rating_teams() -> str:
    """Return the models that rate teams, for a message."""
    return ", ".join(key for key, model in MODELS.items() if model.rates_teams)


def create(key: str, parameters: Parameters | None = None) -> RatingModel:
    """Create a model from its key and the parameters that differ from its defaults.

    If a key, parameter or value is invalid, raise a `ModelError` that lists the valid ones.
    """
    if key in OFFLINE:
        raise ModelError(f"{key} {OFFLINE[key]}")
    if key not in MODELS:
        raise ModelError(
            f"no rating model {key!r}{did_you_mean(key, MODELS)}; there are: {', '.join(MODELS)}"
        )
    model = MODELS[key]
    return model(**from_mapping(model, parameters or {}))
