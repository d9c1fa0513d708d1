import json
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import pytest

from racebot.errors import ModelError
from racebot.ratings.parameters import as_json, declared, defaults, from_mapping, parameter
from racebot.ratings.registry import MODELS


@dataclass(frozen=True, kw_only=True)
class Sample:
    key: ClassVar[str] = "sample"

    start: float = parameter(1.5, help="a number", minimum=-2.0)
    scale: float = parameter(2.0, help="a number above zero", positive=True)
    anchor: float | None = parameter(None, help="a number that can be left out", optional=True)
    steps: tuple[float, ...] = parameter((0.0, 1.0), help="numbers", minimum=0.0)
    style: str = parameter("plain", help="a word", choices=("plain", "fancy"))
    strict: bool = parameter(False, help="a switch")
    cache: int = 7


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("start", "0.25", 0.25),
        ("start", 3, 3.0),
        ("start", " -2 ", -2.0),
        ("anchor", "none", None),
        ("anchor", None, None),
        ("anchor", "1e-3", 0.001),
        ("steps", "0 1 2", (0.0, 1.0, 2.0)),
        ("steps", "0, 1,2", (0.0, 1.0, 2.0)),
        ("steps", "[0, 0.5]", (0.0, 0.5)),
        ("steps", [1, 2], (1.0, 2.0)),
        ("steps", 0.5, (0.5,)),
        ("style", "fancy", "fancy"),
        ("strict", "yes", True),
        ("strict", "0", False),
        ("strict", True, True),
    ],
)
def test_values_are_read_from_text_and_from_json(name: str, given: Any, value: Any) -> None:
    assert from_mapping(Sample, {name: given}) == {name: value}


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("strat", 1, r"did you mean 'start'\?\); it has: start, scale"),
        ("cache", 1, "no parameter 'cache'"),
        ("start", "fast", "start='fast' is not a number"),
        ("start", "nan", "not a finite number"),
        ("start", "-2.5", "not at least -2"),
        ("start", None, "cannot be left out"),
        ("scale", 0, "not greater than 0"),
        ("steps", "0 one", "not a list of numbers"),
        ("steps", [[1.0]], r"\[\[1\.0\]\] is not a list of numbers"),
        ("steps", [{}], "not a list of numbers"),
        ("steps", "0 -1", "not at least 0"),
        ("style", "odd", "not one of plain, fancy"),
        ("strict", "maybe", "not true or false"),
    ],
)
def test_invalid_values_are_named(name: str, given: Any, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        from_mapping(Sample, {name: given})


def test_parameters_survive_json() -> None:
    sample = Sample(anchor=0.1 + 0.2, steps=(0.0, 1 / 3), style="fancy")
    text = json.dumps(as_json(sample))
    assert Sample(**from_mapping(Sample, json.loads(text))) == sample


def test_arrays_of_a_sweep_are_written_as_lists() -> None:
    assert as_json(Sample(start=cast(float, np.array([1.0, 2.0]))))["start"] == [1.0, 2.0]


def test_only_declared_fields_are_parameters() -> None:
    names = ["start", "scale", "anchor", "steps", "style", "strict"]
    assert [declaration.name for declaration in declared(Sample)] == names
    assert list(defaults(Sample)) == names


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_every_model_accepts_its_own_defaults(model: type[Any]) -> None:
    assert as_json(model(**from_mapping(model, defaults(model)))) == as_json(model())


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_every_parameter_has_a_help_text(model: type[Any]) -> None:
    for declaration in declared(model):
        words = declaration.metadata["help"]
        assert len(words) > 10
        assert words == words.strip().rstrip(".")
        assert "\n" not in words
