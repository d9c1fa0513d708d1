from __future__ import annotations

from typing import Any

import pytest

from racebot.errors import ModelError
from racebot.ratings.model import RatingModel
from racebot.ratings.parameters import as_json, declared
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


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_model_cannot_be_changed(model: type[Any]) -> None:
    made = model()
    for declaration in declared(model):
        with pytest.raises(AttributeError):
            setattr(made, declaration.name, getattr(made, declaration.name))


def test_parameters_are_read_from_text() -> None:
    model = create("plackett-luce", {"rates": "0.32", "dummy": "none", "unfinished": "independent"})
    parameters = as_json(model)
    assert parameters["rates"] == [0.32]
    assert parameters["dummy"] is None
    assert parameters["unfinished"] == "independent"


def test_an_unknown_key_lists_the_known_ones() -> None:
    with pytest.raises(ModelError, match="no rating model 'placket-luce'") as refusal:
        create("placket-luce")
    assert "did you mean 'plackett-luce'?" in str(refusal.value)
    assert all(key in str(refusal.value) for key in MODELS)


def test_an_unknown_parameter_is_refused() -> None:
    with pytest.raises(ModelError, match=r"plackett-luce has no parameter 'rate'.*rates"):
        create("plackett-luce", {"rate": 0.3})


def test_models_with_equal_parameters_are_equal() -> None:
    one, same, other = (create("thurstone-hurdle", {"level": level}) for level in (1.5, 1.5, 2.5))
    assert one == same
    assert other != one


@pytest.mark.parametrize("value", [[[1.0]], [{}], ["a", 1]])
def test_a_value_of_the_wrong_type_is_refused(value: Any) -> None:
    with pytest.raises(ModelError, match="is not a list of numbers") as refusal:
        create("elo-ffa", {"rates": value})
    assert repr(value) in str(refusal.value)
