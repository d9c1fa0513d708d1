"""All rating models by key, and a function that creates one from its key and parameters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from racebot.errors import ModelError
from racebot.ratings.model import RatingModel
from racebot.ratings.parameters import Parameters, from_mapping
from racebot.text.parse import did_you_mean

_PLACES = {
    "elo-exponential": "elo:ExponentialElo",
    "elo-gaussian": "elo:GaussianElo",
    "elo-ffa": "ffa:EloFfa",
    "glicko-ffa": "ffa:GlickoFfa",
    "multielo": "multielo:MultiElo",
    "pairwise-elo": "pairwise:PairwiseElo",
    "plackett-luce": "plackett_luce:PlackettLuce",
    "plackett-luce-hurdle": "plackett_luce_hurdle:PlackettLuceHurdle",
    "previous-rank": "ffa:PreviousRank",
    "thurstone": "thurstone:Thurstone",
    "thurstone-filter": "thurstone_filter:ThurstoneFilter",
    "thurstone-hurdle": "thurstone_hurdle:ThurstoneHurdle",
    "trueskill": "trueskill:TrueSkill",
}
"""Module and class of each model in `racebot.ratings.models`."""


class _Models(Mapping[str, type[Any]]):
    """Imports a model's module when the model is asked for."""

    def __getitem__(self, key: str) -> type[Any]:
        module, _, name = _PLACES[key].partition(":")
        model: type[Any] = getattr(import_module(f"racebot.ratings.models.{module}"), name)
        return model

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


MODELS: Mapping[str, type[Any]] = _Models()
"""Model classes by key."""

OFFLINE = {
    "iterated-elo": "rates a whole history at once and predicts no race from those before it: "
    "use `racebot iterate`"
}
"""Models that cannot rate races one by one, with the reason."""


def create(key: str, parameters: Parameters | None = None) -> RatingModel:
    """Create a model from its key and the parameters that differ from its defaults.

    Models are immutable, so equal arguments return the same model.

    Raises:
        ModelError: a key, parameter or value is invalid. The message lists the valid ones.
    """
    # A date in a TOML file becomes text, which is refused like any other.
    return _create(key, json.dumps(dict(parameters or {}), default=str))


@lru_cache(maxsize=64)
def _create(key: str, parameters: str) -> RatingModel:
    """Create a model. Its parameters are JSON, since a cache key cannot contain lists."""
    if key in OFFLINE:
        raise ModelError(f"{key} {OFFLINE[key]}")
    if key not in MODELS:
        raise ModelError(
            f"no rating model {key!r}{did_you_mean(key, MODELS)}; there are: {', '.join(MODELS)}"
        )
    model = MODELS[key]
    made: RatingModel = model(**from_mapping(model, json.loads(parameters)))
    return made
