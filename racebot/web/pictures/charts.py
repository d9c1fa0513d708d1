"""Draw charts as inline SVG. The style sheet sets colors and fonts, so charts follow light and dark mode.

Coordinates are pixels in a drawing 760 pixels wide, which the page scales. The margins leave room for the
larger labels that the style sheet sets on phones.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate, pairwise
from xml.etree import ElementTree as ET

from markupsafe import Markup

from racebot.queries.player import PlayedRace
from racebot.text.format import integer
from racebot.web.site.addresses import RACE, link
from racebot.web.site.formats import day, shown_name

WIDTH, HEIGHT = 760, 300
LEFT, RIGHT, TOP, BOTTOM = 72, 14, 20, 40
"""Margins around the plot, in pixels."""

MOST_POINTS = 200
"""Histories with more races are thinned before drawing."""
MOST_DOTS = 50
"""With at most this many races, each gets a dot with its date and points."""
MANY_DAYS = timedelta(days=75)
"""Time spans from this length on are labeled with months instead of days."""
MOST_LABELS = 8
"""Most labels below the bars."""
_MARKS = 5
_GRID_LINES = 5
_BAR_SHARE = 0.72
"""Width of a bar as a share of its slot."""
NAMED = 250
"""Number of last races with their names. Older races have only their date, place and points."""


def ratings(moments: Sequence[datetime], points: Sequence[int], label: str) -> Markup:
    """Draw the points after each race as a step line, oldest first; `label` is its text alternative."""
    # A race that was recorded late is drawn at the date of the race before it.
    moments = list(accumulate(moments, max))
    races = _thinned(list(zip(moments, points, strict=True)))
    lines = _grid(min(points), max(points))
    svg = _drawing(label)
    y = _grid_lines(svg, lines)
    x = _time_axis(svg, moments[0], moments[-1])
    path = "M" + "L".join(_corners(races, x, y))
    series = _group(svg, "series")
    floor = _number(HEIGHT - BOTTOM)
    ET.SubElement(series, "path", {"class": "area", "d": f"{path}V{floor}H{LEFT}Z"})
    ET.SubElement(series, "path", {"class": "line", "d": path})
    if len(races) <= MOST_DOTS:
        for moment, value in races:
            _dot(series, x(moment), y(value), "dot", f"{day(moment)}: {integer(value)}")
    peak = max(range(len(points)), key=points.__getitem__)
    _dot(
        series,
        x(moments[peak]),
        y(points[peak]),
        "peak",
        f"Highest: {integer(points[peak])}, {day(moments[peak])}",
    )
    return _markup(svg)


def comparison(histories: Sequence[Sequence[tuple[datetime, int]]], label: str) -> Markup | None:
    """Draw the points of two players over time as step lines. Return None if there are under two moments.

    Each history has the end of each race and the points after it, oldest first.
    """
    everything = [race for history in histories for race in history]
    start, end = min(at for at, _ in everything), max(at for at, _ in everything)
    if start == end:
        return None
    svg = _drawing(label)
    y = _grid_lines(svg, _grid(min(value for _, value in everything), max(value for _, value in everything)))
    x = _time_axis(svg, start, end)
    for number, history in enumerate(histories):
        moments = accumulate((at for at, _ in history), max)
        races = _thinned(list(zip(moments, (value for _, value in history), strict=True)))
        kind = "line second" if number else "line"
        corners = _corners(races, x, y)
        path = "M" + "L".join(corners) + f"H{_number(x(end))}"
        ET.SubElement(_group(svg, "series"), "path", {"class": kind, "d": path})
    return _markup(svg)


def distribution(counts: Sequence[tuple[str, int]], label: str) -> Markup:
    """Draw a bar chart of labeled counts; `label` is its text alternative."""
    svg = _drawing(label)
    y = _grid_lines(svg, _grid(0, max(count for _, count in counts)))
    slot = (WIDTH - LEFT - RIGHT) / len(counts)
    every = -(-len(counts) // MOST_LABELS)
    axis = _group(svg, "axis x")
    bars = _group(svg, "series")
    for number, (name, count) in enumerate(counts):
        left = LEFT + slot * number
        if number % every == 0:
            _text(axis, left + slot / 2, HEIGHT - 8, name)
        place = {
            "class": "bar",
            "x": _number(left + slot * (1 - _BAR_SHARE) / 2),
            "y": _number(y(count)),
            "width": _number(slot * _BAR_SHARE),
            "height": _number(HEIGHT - BOTTOM - y(count)),
            "rx": "2",
        }
        ET.SubElement(ET.SubElement(bars, "rect", place), "title").text = f"{name}: {count}"
    return _markup(svg)


def graph_data(path: str, series: Sequence[tuple[str, Sequence[PlayedRace]]]) -> Markup:
    """Return the races of one or two named players, oldest first, as JSON that can stand inside HTML."""
    content = json.dumps(
        {"series": [_series(path, name, races) for name, races in series]},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    # In a script element, only `<` can begin the end of the element or a comment.
    return Markup(content.replace("<", "\\u003c"))  # noqa: S704 - JSON without `<`


def _series(path: str, name: str, races: Sequence[PlayedRace]) -> dict[str, object]:
    minutes = [int(race.ended_at.timestamp() // 60) for race in races]
    named = races[-NAMED:]
    prefix = named[-1].race.rpartition("/")[0] if named else ""
    page = link(path, RACE.path(race=f"{prefix}/x" if prefix else "x")).removesuffix("x.html")
    return {
        "name": shown_name(name),
        "start": minutes[0] if minutes else 0,
        "steps": [late - early for early, late in pairwise(minutes)],
        "before": races[0].before if races else 0,
        "points": [race.after for race in races],
        "places": [race.standing if race.place is None else race.place for race in races],
        "entrants": [race.entrants for race in races],
        "races": [RACE.path(race=race.race).rpartition("/")[2].removesuffix(".html") for race in named],
        "page": page,
    }


class _Scale:
    """Maps values to vertical positions."""

    def __init__(self, low: float, high: float) -> None:
        self._low, self._high = low, high

    def __call__(self, value: float) -> float:
        share = (value - self._low) / (self._high - self._low)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share


def _time_axis(svg: ET.Element, first: datetime, last: datetime) -> Callable[[datetime], float]:
    """Label the time axis, and return a function that maps moments to horizontal positions."""
    start, span = first.timestamp(), max((last - first).total_seconds(), 1.0)

    def x(moment: datetime) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (moment.timestamp() - start) / span

    form = "{0.day} {0:%b}" if last - first < MANY_DAYS else "{0:%b %Y}"
    axis = _group(svg, "axis x")
    for moment in _marks(first, last):
        _text(axis, x(moment), HEIGHT - 8, form.format(moment))
    return x


def _corners(
    races: Sequence[tuple[datetime, int]], x: Callable[[datetime], float], y: Callable[[float], float]
) -> list[str]:
    corners = [(x(races[0][0]), y(races[0][1]))]
    for (_, before), (moment, after) in pairwise(races):
        corners += [(x(moment), y(before)), (x(moment), y(after))]
    return [f"{_number(px)} {_number(py)}" for px, py in corners]


def _grid(low: float, high: float) -> list[int]:
    """Return round values for grid lines, from below `low` to above `high`."""
    rough = max((high - low) / _GRID_LINES, 1)
    size = 10 ** math.floor(math.log10(rough))
    step = int(next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough))
    first, last = math.floor(low / step), max(math.ceil(high / step), math.floor(low / step) + 1)
    return [step * number for number in range(first, last + 1)]


def _grid_lines(svg: ET.Element, values: Sequence[int]) -> _Scale:
    y = _Scale(values[0], values[-1])
    axis = _group(svg, "axis y")
    for value in values:
        at = y(value)
        ET.SubElement(
            axis, "path", {"class": "guide", "d": f"M{LEFT} {_number(at)}H{_number(WIDTH - RIGHT)}"}
        )
        _text(axis, LEFT - 10, at, integer(value))
    return y


def _thinned(races: list[tuple[datetime, int]]) -> list[tuple[datetime, int]]:
    """Thin a history: keep the first and last race, and the highest and lowest of each group between."""
    size = -(-2 * len(races) // MOST_POINTS)
    if size <= 2:
        return races
    kept = {0, len(races) - 1}
    for start in range(0, len(races), size):
        part = range(start, min(start + size, len(races)))
        kept |= {max(part, key=lambda i: races[i][1]), min(part, key=lambda i: races[i][1])}
    return [races[i] for i in sorted(kept)]


def _marks(first: datetime, last: datetime) -> list[datetime]:
    """Return the moments to label on the time axis: the first of each month, or days for short spans."""
    span = last - first
    last -= span / 16  # a label closer to the end would be cut off
    if span < MANY_DAYS:
        step = max(1, -(-span.days // _MARKS))
        start = first.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        marks = [at for n in range(_MARKS + 1) if (at := start + timedelta(days=n * step)) <= last]
        return marks or [first]
    every = next((n for n in (1, 2, 3, 6, 12, 24) if span.days / 30.4 / n <= _MARKS), 60)
    after_first, end = (at.year * 12 + at.month for at in (first, last))
    months = (month for month in range(after_first, end) if month % every == 0)
    return [datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC) for month in months]


def _drawing(label: str) -> ET.Element:
    return ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "class": "graph",
            "viewBox": f"0 0 {WIDTH} {HEIGHT}",
            "role": "img",
            "aria-label": label,
        },
    )


def _group(parent: ET.Element, kind: str) -> ET.Element:
    return ET.SubElement(parent, "g", {"class": kind})


def _text(parent: ET.Element, x: float, y: float, text: str) -> None:
    ET.SubElement(parent, "text", {"x": _number(x), "y": _number(y)}).text = text


def _dot(parent: ET.Element, x: float, y: float, kind: str, title: str) -> None:
    place = {"class": kind, "cx": _number(x), "cy": _number(y), "r": "3" if kind == "dot" else "4.5"}
    ET.SubElement(ET.SubElement(parent, "circle", place), "title").text = title


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _markup(svg: ET.Element) -> Markup:
    return Markup(ET.tostring(svg, encoding="unicode"))  # noqa: S704 - built above, its text escaped
