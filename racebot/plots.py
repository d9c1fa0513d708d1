"""Pictures of what studies find, drawn with Matplotlib, which the extra `plots` brings."""

import tempfile
import warnings
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from racebot.errors import MissingExtraError, PayloadError
from racebot.ratings.model import RatingModel
from racebot.study.evaluate import Report
from racebot.study.history import History, Odds, RatedPlayer, replay
from racebot.study.iterated import Iterated
from racebot.study.tuning import Tuned, along

FORMATS = (".svg", ".png", ".pdf", ".html")
OPENED = "racebot-plot.html"
"""The picture that `--plot` without a name draws in a temporary folder, and opens."""
PLAYERS = 10  # most players whose points over time are drawn
BESIDE: dict[str, Any] = {"fontsize": "small", "loc": "center left", "bbox_to_anchor": (1, 0.5)}


def evaluation(reports: Sequence[tuple[str, Report]]) -> Any:
    """Draw reliability and histogram of the best model's odds, and misordered pairs by model, by file."""
    figure, axes = _axes(2, len(reports))
    for (file, report), (odds, models) in zip(reports, np.reshape(axes, (-1, 2)), strict=True):
        best = next(each for each in report.evaluations if each.label == report.best)
        found = best.reliability
        odds.plot([0.5, 1], [0.5, 1], color="gray", linestyle=":")
        odds.plot(found.predicted, found.observed, marker="o", clip_on=False)
        of_file = _plain(f", {Path(file).name}" if file else "")
        odds.set(title=f"Odds of {_plain(best.label)}{of_file}", xlim=(0.5, 1), ylim=(0, 1))
        odds.set(xlabel="Forecast; bars: how often", ylabel="Came true")
        width = 0.5 / found.weight.size
        centers = 0.5 + width * (np.arange(found.weight.size) + 0.5)
        odds.bar(centers, 0.25 * found.weight / max(found.weight.max(), 1), 0.9 * width, alpha=0.3)
        rows = sorted(report.evaluations, key=lambda each: (-each.figures.misordered, each is best))
        errors = np.nan_to_num([100 * report.margins[each.label][0].error for each in rows])
        shares = [100 * each.figures.misordered for each in rows]
        models.errorbar(shares, [_plain(each.label) for each in rows], xerr=errors, fmt="o", capsize=4)
        models.margins(y=0.2)
        models.set(title=f"Pairs in the wrong order{of_file}", xlabel="%, with the error to the best")
    return figure


def ratings(history: History, model: RatingModel, rows: Sequence[RatedPlayer]) -> Any:
    """Draw the points of the first ten over time, and the distribution of all points."""
    figure, (lines, points) = _axes(2)
    numbers = {name: number for number, name in enumerate(history.names)}
    shown = [numbers[row.name] for row in rows[:PLAYERS]]
    found: dict[int, list[tuple[datetime, int]]] = {number: [] for number in shown}
    for step in replay(model, history):
        for player, value in zip(step.race.players.tolist(), model.points(step.after).tolist(), strict=True):
            if player in found:
                found[player].append((step.race.ended_at, value))
    for number in shown:
        lines.plot(*zip(*found[number], strict=True), marker=".", label=_plain(history.names[number]))
    lines.legend(**BESIDE)
    lines.set(title="Points of the first ten", ylabel="Points")
    lines.tick_params(axis="x", rotation=30)
    _distribution(points, [row.points for row in rows], "Points")
    return figure


def odds(rows: Sequence[Odds]) -> Any:
    """Draw each player's chance to win, and the chance of each to be placed before each other."""
    figure, (wins, pairs) = _axes(2)
    names = [_plain(row.name) for row in rows]
    wins.barh(names[::-1], [100 * row.win_chance for row in rows][::-1])
    wins.set(title="Chance to win", xlabel="%")
    chances = [[np.nan if chance is None else 100 * chance for chance in row.before] for row in rows]
    pairs.imshow(chances, vmin=0, vmax=100, cmap="RdBu")
    pairs.set(title="Row before column, %", xticks=range(len(names)), yticks=range(len(names)))
    pairs.set_xticklabels(names, rotation=30)
    pairs.set_yticklabels(names)
    for i, j in np.argwhere(np.isfinite(chances)).tolist():
        color = "white" if abs(chances[i][j] - 50) > 30 else "black"
        pairs.text(j, i, f"{chances[i][j]:.0f}", ha="center", va="center", color=color)
    return figure


def scores(racers: Sequence[Any]) -> Any:
    """Draw the scores by par of a league, and of each race, given its racers as in JSON, best first."""
    figure, (races, totals) = _axes(2)
    for racer in racers[:PLAYERS]:
        shown = [each["score"] if each else np.nan for each in racer.scores]
        races.plot(range(1, 1 + len(shown)), shown, marker=".", label=_plain(racer.name))
    races.legend(**BESIDE)
    races.set(title="Scores by race", xlabel="Race", ylabel="Score")
    races.xaxis.get_major_locator().set_params(integer=True)
    _distribution(totals, [racer.score for racer in racers], "Score")
    return figure


def iterated(found: Iterated) -> Any:
    """Draw the best players of an iterated rating, and the factors."""
    parts = [("Players", found.players)] + ([("Factors", found.factors)] if found.factors else [])
    figure, axes = _axes(len(parts))
    for axis, (title, rows) in zip(np.atleast_1d(axes), parts, strict=True):
        best = rows[: 2 * PLAYERS][::-1]
        axis.barh([_plain(row.name) for row in best], [row.rating for row in best])
        axis.set(title=title, xlabel="Rating")
    return figure


def tuned(history: History, found: Tuned) -> Any:
    """Draw the figure that a search minimized along each parameter, with the others as found."""
    curves = along(history, found)
    figure, axes = _axes(len(curves))
    for axis, (name, found_value, values, figures) in zip(np.atleast_1d(axes), curves, strict=True):
        axis.plot(values, figures, marker=".")
        axis.axvline(found_value, color="gray", linestyle=":")
        axis.set(title=name, xlabel="Value", ylabel="Log loss plus misordered")
    return figure


def save(figure: Any, path: Path) -> Path | None:
    """Write a picture, or raise a PayloadError. Show .html, and return its path if no browser opens it."""
    if path.suffix.lower() not in FORMATS:
        raise PayloadError(f"{path}: name a picture that ends in {', '.join(FORMATS)}")
    is_page = path.suffix.lower() == ".html"
    if path == Path(OPENED):
        path = Path(tempfile.mkdtemp()) / path
    from matplotlib import rc_context  # noqa: PLC0415 - of an extra

    form: dict[str, Any] = {"format": "svg", "metadata": {"Date": None}} if is_page else {}
    try:
        with warnings.catch_warnings(), rc_context({"svg.fonttype": "none"}):  # its readers have fonts
            warnings.filterwarnings("ignore", "Glyph ")
            with_fonts(figure).savefig(path, **form)
    except OSError as error:
        raise PayloadError(f"{path}: {error.strerror}") from None
    if not is_page:
        return None
    picture = path.read_text(encoding="utf-8")
    page = f"<!DOCTYPE html><meta charset=utf-8><title>racebot</title>{picture[picture.index('<svg') :]}"
    path.write_text(page, encoding="utf-8")
    return None if webbrowser.open(path.resolve().as_uri()) else path


def with_fonts(figure: Any) -> Any:
    """Return the figure, with fonts for letters that Matplotlib's own lacks, as far as there are any."""
    from matplotlib import font_manager as fonts, text  # noqa: PLC0415 - of an extra

    texts, families = figure.findobj(text.Text), []
    lacking = {ord(letter) for each in texts for letter in each.get_text()}
    usual = [each for each in fonts.fontManager.ttflist if (each.style, each.weight) == ("normal", 400)]
    for font in sorted(usual, key=lambda each: (each.name != "DejaVu Sans", "Sans" not in each.name)):
        with suppress(OSError, RuntimeError):  # not a font after all
            if lacking and (known := lacking & fonts.get_font(font.fname).get_charmap().keys()):
                families.append(font.name)
                lacking -= known
    for each in texts:
        each.set_fontfamily(families)
    return figure


def _plain(name: str) -> str:
    """Return a name that Matplotlib takes for no formula, and shows in a legend."""
    return f"{' ' if name.startswith('_') else ''}{name}".replace("$", r"\$")


def _distribution(axis: Any, values: Sequence[float], what: str) -> None:
    axis.hist(values, bins="auto", edgecolor="white")
    axis.set(title="Distribution", xlabel=what, ylabel="Players")
    axis.yaxis.get_major_locator().set_params(integer=True)


def _axes(number: int, rows: int = 1) -> tuple[Any, Any]:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - of an extra
    except ModuleNotFoundError:
        raise MissingExtraError("plots", "pictures need Matplotlib") from None
    figure = Figure(figsize=(6 * number, 4.5 * rows), layout="constrained")
    return figure, figure.subplots(rows, number)
