"""Results of studies as tables and as JSON."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from pydantic_core import to_jsonable_python
from rich.console import Console

from racebot.analysis import verdict
from racebot.cli.tables import print_rows, safe
from racebot.ratings import registry
from racebot.ratings.parameters import defaults
from racebot.study.evaluate import Preset, Report
from racebot.study.history import Odds, RatedPlayer
from racebot.study.iterated import Iterated
from racebot.study.metrics import ERRORS_REQUIRED
from racebot.study.tuning import Tuned
from racebot.text.format import counted

Reports = Sequence[tuple[str, Report]]
"""Evaluations with the files that they judge, empty if all races are judged together."""
_print = partial(
    print_rows, box=None, padding=(0, 1, 0, 0), title_style="bold", header_style="dim", end="\n\n"
)
_plain = partial(to_jsonable_python, inf_nan_mode="null", fallback=list)  # of arrays
BAR, WITH_BARS = 24, 100  # columns of the longest bar, and of the narrowest terminal with bars


def evaluations(console: Console, reports: Reports, *, full: bool) -> None:
    """Print the verdict of each evaluation and its main figures; if `full`, also all others."""
    for file, report in reports:
        console.print(f"{file}: {verdict(report)}" if file else verdict(report), markup=False)
        judged = f"{counted(report.races, 'race')} judged, {counted(report.players, 'player')}"
        console.print(f"{judged}. Each race is predicted, then rated.")
        _standings(console, report)
        if full:
            _all_figures(console, report)


def _standings(console: Console, report: Report) -> None:
    headings = (">Misordered", ">to the best", ">Log loss", ">to the best", ">Calib.\nerror")
    draws = console.is_terminal and console.width >= WITH_BARS and not console.options.ascii_only
    bars = _bars(report) if draws else {}
    rows = []
    for each in sorted(report.evaluations, key=lambda each: each.figures.misordered):
        is_best, found = each.label == report.best, each.figures
        wrong, loss = ("–" if is_best else _short(*margin) for margin in report.margins[each.label])
        numbers = (_number(found.misordered), wrong, _number(found.log_loss), loss)
        bar = [bars[each.label]] if bars else []
        rows.append((each.label, *numbers, _number(found.calibration_error), *bar))
    _print(console, "Models", ("Model", *headings, *(["Misordered, to the best"] if bars else [])), rows)
    console.print(
        "Misordered: pairs in which the lower rated was placed better. Log loss, Calib. error: how far the "
        "odds were off. ±: standard error over races; within two, models are equal. All figures: --full"
    )


def _bars(report: Report) -> dict[str, str]:
    """Draw how many more pairs than the best each misorders: solid where that is certain, light beyond."""
    ends = {}
    for label, (wrong, _) in report.margins.items():
        error = 0.0 if math.isnan(wrong.error) else ERRORS_REQUIRED * wrong.error
        ends[label] = max(wrong.difference - error, 0.0), wrong.difference + error
    longest = max(end for _, end in ends.values())
    if not longest:
        return {}
    widths = {label: [round(BAR * each / longest) for each in both] for label, both in ends.items()}
    return {label: "█" * solid + "░" * (end - solid) for label, (solid, end) in widths.items()}


def _all_figures(console: Console, report: Report) -> None:
    """Print all figures by their names in JSON, five at a time."""
    rows: dict[str, dict[str, float]] = {}
    for each in report.evaluations:
        views = {name: view for name, view in each.views.items() if name != "all"}
        by_view = {f"misordered, {name}": view.misordered for name, view in views.items()}
        rows[each.label] = asdict(each.figures) | asdict(each.complaints) | by_view
    names = [name for name in rows[report.best] if name not in {"races", "entries", "pairs"}]
    for first in range(0, len(names), 5):
        shown = names[first : first + 5]
        headings = ("Model", *(">" + re.sub("_|(?<=,) ", "\n", name) for name in shown))
        cells = ((label, *(_number(row[name]) for name in shown)) for label, row in rows.items())
        _print(console, None, headings, cells)
    console.print("docs/study.md explains each figure.")


def ratings(console: Console, label: str, races: int, rows: Sequence[RatedPlayer]) -> None:
    """Print players with their points, best first."""
    title = f"{label}, {counted(races, 'race')}"
    cells = ((rank, row.name, row.points, row.races) for rank, row in enumerate(rows, start=1))
    _print(console, title, (">Rank", "Player", ">Points", ">Races"), cells, min_width=len(title))


def odds(console: Console, rows: Sequence[Odds]) -> None:
    """Print the forecast of a race, and of each pair."""
    headings = ("Player", ">Points", ">Wins", ">Expected place", ">Finishes")
    chances = (
        (r.name, r.points, _percent(r.win_chance), f"{r.expected_place:.1f}", _percent(r.finish_chance))
        for r in rows
    )
    _print(console, "Next race", headings, chances)
    pairs = ((row.name, *map(_percent, row.before)) for row in rows)
    _print(console, "Placed before", ("Player", *(f">{safe(row.name)}" for row in rows)), pairs)


def _percent(chance: float | None) -> str:
    return "–" if chance is None else f"{100 * chance:.0f}%"


def tuned(console: Console, result: Tuned) -> None:
    """Print the result of a search, and the settings that apply it."""
    headings = ("Races", ">", ">Before", ">Tuned", ">Difference", ">Misordered", ">Log loss")
    parts = (("earlier, searched", result.earlier), ("later, judged", result.later))
    rows = []
    for name, part in parts:
        joint = f"{part.start:.4f}", f"{part.tuned:.4f}", _short(part.difference, part.standard_error)
        misordered = f"{part.start_misordered:.4f} → {part.tuned_misordered:.4f}"
        log_loss = f"{part.start_log_loss:.4f} → {part.tuned_log_loss:.4f}"
        rows.append((name, part.races, *joint, misordered, log_loss))
    _print(console, f"{result.model}, log loss plus misordered", headings, rows)
    if not result.found_better:
        console.print("The search found nothing better than the parameters it started from. Keep them.")
        return
    unseen = "better by more than two standard errors on races that the search did not see"
    console.print(
        f"It is {unseen}: recommended." if result.recommended else f"Not {unseen}: not recommended."
    )
    usual = defaults(registry.MODELS[result.model])
    differing = {name: value for name, value in result.parameters.items() if value != usual.get(name)}
    written = {name: json.dumps("none" if value is None else value) for name, value in differing.items()}
    inline = ", ".join(f"{name} = {value}" for name, value in written.items())
    console.print("For racebot.toml:" if result.recommended else "For racebot.toml, to use them anyway:")
    text = f'model = "{result.model}"\nparameters = {{ {inline} }}'
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def iterated(console: Console, found: Iterated, count: int = 30) -> None:
    """Print the best players and factors of an iterated rating."""
    for title, rows in (("Players", found.players), ("Factors", found.factors)):
        if not rows:
            continue
        more = f", best {count}" if len(rows) > count else ""
        cells = ((row.name, f"{row.rating:.0f}", row.races) for row in rows[:count])
        heading = f"{title}, {counted(found.races, 'race')}{more}"
        _print(console, heading, ("Name", ">Rating", ">Races"), cells)


def _number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "–"
    return str(value) if isinstance(value, int) else f"{value:.1f}" if abs(value) >= 100 else f"{value:.4f}"


def _short(value: float, error: float) -> str:
    """Return a difference in few characters, so that 80 columns hold a table with names in one piece."""
    digits = 4 if abs(value) < 1 else 2
    known = "" if math.isnan(error) else f" ± {error:.{digits}f}"
    return re.sub(r"\b0\.", ".", f"{value:+.{digits}f}{known}")


def evaluation_json(reports: Reports, presets: Mapping[str, Preset]) -> Any:
    """Return one document for each model of each report. Figures without any case are null."""
    documents = []
    for file, report, each in [(*named, each) for named in reports for each in named[1].evaluations]:
        preset = presets.get(each.label)
        document = {
            **({"file": file} if file else {}),
            "label": each.label,
            "model": each.model,
            "parameters": each.parameters,
            **asdict(each.figures),
            **asdict(each.complaints),
            **({"published": preset.published, "rerun": preset.rerun} if preset else {}),
            "views": {name: asdict(view) for name, view in each.views.items() if name != "all"},
            "reliability": each.reliability._asdict(),
            "comparisons": [asdict(c) for c in report.comparisons if each.label in {c.first, c.second}],
        }
        documents.append(document)
    return _plain(documents)


def tuned_json(found: Tuned) -> Any:
    """Return the result of a search. Standard errors over a single race are null."""
    earlier, later = (asdict(part) | {"difference": part.difference} for part in (found.earlier, found.later))
    later["recommended"] = found.recommended
    return _plain(asdict(found) | {"earlier": earlier, "later": later})
