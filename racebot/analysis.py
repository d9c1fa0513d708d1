"""Read, rate, judge and forecast races from Python or a notebook, as docs/python.md shows."""

import importlib
import importlib.util
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from racebot import plots
from racebot.errors import ModelError, PayloadError
from racebot.files.options import options_of
from racebot.files.read import read_races
from racebot.files.rows import File
from racebot.races.outcome import TeamPolicy
from racebot.ratings import registry
from racebot.ratings.model import RatingModel
from racebot.ratings.parameters import Parameters
from racebot.ratings.registry import DEFAULT_MODEL
from racebot.study import evaluate as judging, history as past
from racebot.study.fit import ODDS_FROM
from racebot.study.history import History

TRUSTED = 2.0  # mean error of the odds, in percentage points, up to which the verdict trusts them
MOST_NAMED = 4  # most models that the verdict names as equal
Row = TypeVar("Row", bound=tuple[Any, ...])


class Table(tuple[Row, ...], Generic[Row]):
    """Rows of results, as a tuple of named tuples that prints as a table, below its title if it has one."""

    title: str = ""
    draw: Callable[[], Any] | None = None

    def plot(self, file: str | Path | None = None) -> Any:
        """Return a picture as a Matplotlib figure, which notebooks show, and write it to a file if named.

        Raise a PayloadError if there is no picture of this table, or if the file cannot be written.
        """
        if self.draw is None:
            raise PayloadError("no picture of this table: plot what rate, evaluate or odds returned")
        figure = plots.with_fonts(self.draw())
        if file is not None:
            plots.save(figure, Path(file))
        return figure

    def to_frame(self) -> Any:
        """Return a DataFrame with a column for each field, of pandas, or of polars if only that is there."""
        columns = {name: [row[i] for row in self] for i, name in enumerate(self._names())}
        library = importlib.import_module("pandas" if importlib.util.find_spec("pandas") else "polars")
        return library.DataFrame(columns)

    def __repr__(self) -> str:
        lines = [self._names(), *([_cell(value) for value in row] for row in self)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        padded = ((cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
        text = ["  ".join(line).rstrip() for line in padded]
        return "\n".join([self.title, *text] if self.title else text)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self._names())
        rows = ("".join(f"<td>{escape(_cell(value))}</td>" for value in row) for row in self)
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<p>{escape(self.title)}</p><table><tr>{head}</tr>{body}</table>"

    def _names(self) -> list[str]:
        return list(getattr(self[0], "_fields", ())) if self else []


class Judged(NamedTuple):
    """How well one model predicted.

    Attributes:
        misordered: share of pairs in which the lower rated player was placed better.
        to_best, error: difference to the best model's, and its standard error; within two, models are equal.
        log_loss: mean log loss of the odds over pairs, in nats.
        calibration_error: mean distance of the odds from what happened, as a share.
    """

    model: str
    misordered: float
    to_best: float
    error: float
    log_loss: float
    calibration_error: float


def read(
    *sources: str | Path | Any,
    columns: Mapping[str, str] | None = None,
    goal: str | None = None,
    teams: TeamPolicy | str | None = None,
    **options: Any,
) -> History:
    """Read past races from files or DataFrames. What is returned prints what was understood, and how.

    >>> racebot.read("examples/cup.csv", columns={"time": ""}, words="dnf=crash|engine")

    Args:
        sources: files and folders that `racebot evaluate` reads, or DataFrames of pandas or polars.
        columns: the source's own names of columns, by ours: `{"race": "Game", "place": "Pos"}`.
        goal: the one goal to keep, for JSON saved from the site; by default all.
        teams: how to rate team races: `team`, `individual` or `ignore`.
        options: the other options of the commands: `layout`, `words`, `where`, `sheet`, `twice`,
            `exact_names`, `day_first`, `lowest_wins` and `unrecorded`.

    Raise a PayloadError if a source cannot be read, which says what is wrong and where.
    """
    chosen = replace(options_of(columns=columns, **options), teams=teams == TeamPolicy.TEAM, goal=goal)
    found = read_races(*(_file(source, n) for n, source in enumerate(sources, start=1)), options=chosen)
    history = History.of(found.results, TeamPolicy(teams or TeamPolicy.TEAM), found.left_out)
    return replace(history, notes=found.notes)


def _file(source: Any, number: int) -> Path | File:
    if isinstance(source, str | Path):
        return Path(source)
    if hasattr(source, "to_csv"):
        text = source.to_csv(index=any(source.index.names))
    elif hasattr(source, "write_csv"):
        polars = importlib.import_module("polars")
        durations = polars.selectors.duration()  # which CSV cannot hold
        try:
            text = source.with_columns(durations.dt.to_string()).write_csv()
        except polars.exceptions.ComputeError:
            raise PayloadError("a column holds lists: write one value a row, as by explode()") from None
    else:
        raise PayloadError(f"a {type(source).__name__} is neither a path nor a DataFrame")
    return File(Path(f"DataFrame{number if number > 1 else ''}.csv"), text.encode())


def rate(
    history: Any, model: str | RatingModel = DEFAULT_MODEL, parameters: Parameters | None = None
) -> Table[past.RatedPlayer]:
    """Rate all races of a history, and return the players with their ratings, best first.

    >>> racebot.rate("examples/cup.csv")

    Args:
        history: what `read` returned, or a file or a DataFrame that it takes.
        model: a model's key, or a model of your own.
        parameters: what differs from the model's defaults, if `model` is a key.

    Raise a ModelError if the model or a parameter is unknown, or if the model cannot rate a race.
    """
    races, made = _read(history), _made(model, parameters)
    found = Table(past.final_ratings(races, made))
    found.draw = lambda: plots.ratings(races, made, found)
    return found


def evaluate(
    history: Any,
    models: Iterable[str | RatingModel] = (DEFAULT_MODEL, "trueskill"),
    *,
    since: datetime | None = None,
) -> Table[Judged]:
    """Predict each race from those before it, and return how well each model did, best first.

    >>> racebot.evaluate("examples/cup.csv", ["thurstone-hurdle", "trueskill"]).title

    Args:
        history: what `read` returned, or a file or a DataFrame that it takes.
        models: keys, or models of your own.
        since: judge races that ended at this time or later; earlier ones only train. By default all count.

    Raise a ModelError for a model that is unknown, twice there, or cannot rate a race, and a PayloadError if
    none is left to judge.
    """
    history, made = _read(history), [_made(each, None) for each in models]
    entries = [judging.Entry(each.key, each.key, own=each) for each in made]
    if len({entry.label for entry in entries}) < len(entries):
        raise ModelError("two models have the same key: give each a key of its own")
    (report,) = judging.evaluate([history], entries, since=since)
    if not report.races:
        raise PayloadError("no race is left to judge: choose an earlier `since`")
    named = ((each.label, each.figures, report.margins[each.label][0]) for each in report.evaluations)
    rows = [Judged(name, f.misordered, *margin, f.log_loss, f.calibration_error) for name, f, margin in named]
    found = Table(sorted(rows, key=lambda row: row.misordered))
    found.title = verdict(report)
    found.draw = lambda: plots.evaluation([("", report)])
    return found


def odds(
    history: Any,
    players: Iterable[str],
    model: str | RatingModel = DEFAULT_MODEL,
    parameters: Parameters | None = None,
) -> Table[past.Odds]:
    """Forecast a race between players of a history, from their ratings after its last race.

    >>> racebot.odds("examples/cup.csv", ["Ann", "Bo", "Cy"])

    Args:
        history: what `read` returned, or a file or a DataFrame that it takes.
        players: two or more names or ids, forgiven letter case and accents.

    Raise a ModelError as `rate` does, and a NoSuchEntryError if no player or several have a name.
    """
    names = [players] if isinstance(players, str) else list(players)
    if len(names) < 2:
        fix = f"write [{', '.join(map(repr, names))}, ...]"
        raise PayloadError(f"odds need a list of two or more players: {fix}")
    history, made = _read(history), _made(model, parameters)
    rows = [past.find_player(history, name) for name in names]
    require_different(names, rows)
    states = past.final_states(made, history)[rows]
    found = Table(past.forecast_race(made, [history.names[row] for row in rows], states))
    found.draw = lambda: plots.odds(found)
    return found


def require_different(names: Sequence[str], found: Sequence[int | str]) -> None:
    """Raise a PayloadError if two of these names are one player."""
    for name, player in zip(names, found, strict=True):
        if found.count(player) > 1:
            raise PayloadError(f"{name!r} is named twice: name each player of the race once")


def verdict(report: judging.Report) -> str:
    """Say which model predicts best, which cannot be told apart from it, and how far to trust its odds."""
    if report.races < 2:
        return f"One race is too few to compare models: two are needed, and {ODDS_FROM} to trust odds."
    best = next(each for each in report.evaluations if each.label == report.best)
    wrong = f"{100 * best.figures.misordered:.1f}% of pairs in the wrong order"
    margins = ((margin, name) for name, (margin, _) in report.margins.items() if name != report.best)
    others = sorted((margin.difference, margin.error, name) for margin, name in margins)
    level = [report.best, *(name for _, _, name in others if report.margins[name][0].level)]
    off = 100 * best.figures.calibration_error
    trusted = f"can be trusted (off by {off:.1f} points on average)"
    odds = f"Its odds {trusted if off <= TRUSTED else f'are off by {off:.1f} points on average'}."
    if report.races < ODDS_FROM:
        odds = f"To trust its odds, {ODDS_FROM} races are needed."
    if not others:
        return f"{report.best}: {wrong}. {odds}"
    difference, error, second = others[0]
    fewer = f"{100 * difference:.1f} ± {100 * error:.1f} points fewer than {second}"
    if len(level) > MOST_NAMED:
        return f"Too few races to tell {len(level)} models apart. {report.best}: {wrong}, {fewer}. {odds}"
    if len(level) > 1:
        named = f"{', '.join(level[:-1])} and {level[-1]}"
        return f"{named} predict equally well: {wrong}, {fewer}. {odds}"
    return f"{report.best} predicts best: {wrong}, {fewer}. {odds}"


def _read(history: Any) -> History:
    return history if isinstance(history, History) else read(history)


def _made(model: str | RatingModel, parameters: Parameters | None) -> RatingModel:
    if isinstance(model, str):
        return registry.create(model, parameters)
    two = np.array([model.initial()] * 2)
    found = {"rating": model.rating(two), "points": model.points(two)}
    found["win_probability"] = model.win_probability(two, two[::-1])
    for name, numbers in found.items():
        if not isinstance(numbers, np.ndarray) or numbers.shape != (2,):
            given = f"{type(numbers).__name__} of shape {np.shape(numbers)}"
            fix = "return an array with a number for each"
            raise ModelError(f"{model.key}: {name}() returned {given} for two players: {fix}")
    return model


def _cell(value: object) -> str:
    """Write a value for people: numbers short, several of them side by side."""
    if isinstance(value, tuple):
        return " ".join(map(_cell, value))
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.3f}"
    return "–" if value is None else str(value)
