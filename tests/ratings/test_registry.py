from typing import Any

import pytest

from racebot.errors import ModelError
from racebot.ratings.model import RatingModel
from racebot.ratings.parameters import declared
from racebot.ratings.registry import MODELS, create


@pytest.mark.parametrize("key", MODELS)
def test_every_key_creates_its_model(key: str) -> None:
    model = create(key)
    assert isinstance(model, RatingModel)
    assert model.key == key
    assert model.initial().shape == (len(model.columns),)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_every_parameter_has_a_help_text(model: type[Any]) -> None:
    for declaration in declared(model):
        words = declaration.metadata["help"]
        assert len(words) > 10
        assert words == words.strip().rstrip(".")
        assert "\n" not in words


def test_an_unknown_key_lists_the_known_ones() -> None:
    with pytest.raises(ModelError, match="no rating model 'placket-luce'") as refusal:
        create("placket-luce")
    assert "did you mean 'plackett-luce'?" in str(refusal.value)
    assert all(key in str(refusal.value) for key in MODELS)
