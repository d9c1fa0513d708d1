"""Analysts' four functions: on DataFrames, with models of one's own, and as the notebook shows them."""

import ast
import doctest
import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import racebot
from racebot.errors import ModelError, NoSuchEntryError, PayloadError
from racebot.races.outcome import Outcome
from racebot.ratings.model import FloatArray
from racebot.ratings.models.elo import PairwiseElo

EXAMPLES = Path(__file__).parents[1] / "examples"
CUP = EXAMPLES / "cup.csv"


class Halved(PairwiseElo):
    """A model of one's own: it may be any object with a model's methods."""

    key = "halved"

    def rate(self, states: FloatArray, outcome: Outcome) -> FloatArray:
        return (states + super().rate(states, outcome)) / 2


class Summed(PairwiseElo):
    """A model that returns one row in place of one for each entrant."""

    def rate(self, states: FloatArray, outcome: Outcome) -> FloatArray:
        total: FloatArray = states.sum(0, keepdims=True)
        return total


def test_the_notebook_shows_what_its_cells_return(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    names: dict[str, Any] = {}
    notebook = json.loads((EXAMPLES / "cup.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 5
    for cell in cells:
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop()
        assert isinstance(last, ast.Expr)
        exec(compile(tree, "cup.ipynb", "exec"), names)  # noqa: S102 - our own notebook
        shown = eval(compile(ast.Expression(last.value), "cup.ipynb", "eval"), names)  # noqa: S307
        data = cell["outputs"][-1]["data"]
        assert repr(shown) == "".join(data["text/plain"])
        if "text/html" in data:
            assert shown._repr_html_() == "".join(data["text/html"])


def test_one_race_is_no_verdict(tmp_path: Path) -> None:
    file = tmp_path / "race.csv"
    file.write_text("player,place\nAnn,1\nBo,2\n", encoding="utf-8")
    found = racebot.evaluate(file)
    assert "two are needed" in found.title and "trusted" not in found.title
    assert "nan" not in repr(found) + found._repr_html_()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_data_frame_is_read_as_the_file_it_came_from(library: str) -> None:
    frames = pytest.importorskip(library)
    frame = frames.read_csv(CUP, **{"sep" if library == "pandas" else "separator": ";"})
    assert racebot.rate(racebot.read(frame)) == racebot.rate(racebot.read(CUP))
    assert racebot.rate(frame) == racebot.rate(CUP)
    if library == "pandas":  # whose pivot tables have players in their index
        assert racebot.rate(frame.set_index(["Event", "Driver"])) == racebot.rate(CUP)
    timed = frames.DataFrame({"player": ["Ann", "Bo"], "time": [timedelta(hours=1), timedelta(minutes=59)]})
    assert [row.name for row in racebot.rate(timed)] == ["Bo", "Ann"]
    with pytest.raises(PayloadError, match=r"^DataFrame\.csv: no column Result"):
        racebot.read(frame, columns={"place": "Result"})
    with pytest.raises(PayloadError, match=r"lists: write one value|no column player"):
        racebot.read(frames.DataFrame({"race": ["a"], "order": [["Ann", "Bo"]]}))


def test_a_table_becomes_a_data_frame() -> None:
    table = racebot.rate(racebot.read(CUP))
    frame = table.to_frame()
    assert list(frame.columns) == ["name", "points", "rating", "races"]
    assert list(frame["points"]) == [row.points for row in table]


def test_a_model_of_ones_own_stands_in_the_same_table() -> None:
    races = racebot.read(str(CUP))
    table = racebot.evaluate(races, ["pairwise-elo", Halved()])
    assert {row.model for row in table} == {"pairwise-elo", "halved"}
    assert len({row.log_loss for row in table}) == 2
    assert {row.name for row in racebot.odds(races, ["ann", "BO"], Halved())} == {"Ann", "Bo"}


def test_what_cannot_be_done_names_its_reason() -> None:
    races = racebot.read(CUP)
    with pytest.raises(ModelError, match="same key"):
        racebot.evaluate(races, [Halved(), Halved()])
    with pytest.raises(ModelError, match="thurstone-hurdle"):
        racebot.rate(races, "thurstone-hurdel")
    with pytest.raises(NoSuchEntryError, match="Ann"):
        racebot.odds(races, ["Anne", "Bo"])
    with pytest.raises(PayloadError, match="neither a path nor a DataFrame"):
        racebot.read(io.StringIO("race"))
    for players in ("Ann", ["Ann"], ()):
        with pytest.raises(PayloadError, match="list of two"):
            racebot.odds(races, players)
    with pytest.raises(ModelError, match="shape"):
        racebot.rate(races, Summed())
    for name in ("rating", "points", "win_probability"):
        wrong = Halved()
        setattr(wrong, name, lambda *states: 5)
        with pytest.raises(ModelError, match=rf"{name}\(\) returned int of shape \(\) for two players"):
            racebot.evaluate(races, [wrong])
    with pytest.raises(AttributeError, match="predict"):
        racebot.predict  # noqa: B018


@pytest.mark.parametrize("name", racebot.__all__)
def test_help_shows_each_function_with_an_example_that_runs(name: str, monkeypatch) -> None:
    monkeypatch.chdir(EXAMPLES.parent)
    assert name in dir(racebot)
    finder, names = doctest.DocTestFinder(recurse=False), {"racebot": racebot}
    (found,) = finder.find(getattr(racebot, name), name, globs=names)
    assert found.examples
    for example in found.examples:
        assert eval(example.source, found.globs) is not None  # noqa: S307 - our own example
