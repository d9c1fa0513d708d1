"""Graphs: positions in pixels of drawings that the page scales. The style sheet sets the colors."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import accumulate, pairwise

from markupsafe import Markup

from racebot.addresses import RACE, link
from racebot.queries.history import WEEKS_OF_YEAR, PlayedRace, last_year
from racebot.queries.race import RatedEntrant
from racebot.queries.records import UPSET
from racebot.text.format import counted, integer, signed, timer
from racebot.web.site.formats import day, plain_name, shown_name, sign

MOST_POINTS = 200  # histories with more races are thinned before drawing
MOST_DOTS = 50  # with at most this many races, each gets a dot with its date and points
TIMES = ((timedelta(days=9), "{0.day} {0:%b}, {0:%H:%M}"), (timedelta(days=365), "{0.day} {0:%b}"))
"""How moments on the axis are written, by the least time span that needs a shorter form."""
TICKS = (1 / 8, 3 / 8, 5 / 8, 7 / 8)  # where the time axis has labels, as shares of its width
_GRID_LINES = 5
NAMED = 250  # Number of last races with their names. Older races have only their date, place and points


class Graph:
    """What the template draws: grid lines, labels of the horizontal axis, lines and dots."""

    WIDTH, HEIGHT = 760, 300
    LEFT, RIGHT, TOP, BOTTOM = 72, 14, 20, 40

    def __init__(self, label: str, low: float, high: float) -> None:
        self.label = label
        self.grid = _grid(low, high)
        self.ticks: list[tuple[float, str]] = []
        self.lines: list[str] = []
        self.dots: list[tuple[str, float, float, str]] = []

    def x(self, share: float) -> float:
        """Return the position of a share from 0 to 1 of the width."""
        return round(self.LEFT + (self.WIDTH - self.LEFT - self.RIGHT) * share, 1)

    def y(self, value: float) -> float:
        share = (value - self.grid[0]) / (self.grid[-1] - self.grid[0])
        return round(self.HEIGHT - self.BOTTOM - (self.HEIGHT - self.TOP - self.BOTTOM) * share, 1)


def ratings(histories: Sequence[Sequence[PlayedRace]], label: str) -> Graph | None:
    """Draw the points of one or two players over time as step lines. Return None for a single moment."""
    values = [race.after for history in histories for race in history]
    # A race that was recorded late is drawn at the date of the race before it.
    dates = [list(accumulate((race.ended_at for race in history), max)) for history in histories]
    start, end = min(each[0] for each in dates), max(each[-1] for each in dates)
    if start == end:
        return None
    graph, span = Graph(label, min(values), max(values)), end - start
    form = next((form for most, form in TIMES if span < most), "{0:%b %Y}")
    graph.ticks = [(graph.x(share), form.format(start + share * span)) for share in TICKS]
    for moments, history in zip(dates, histories, strict=True):
        races = thinned([(at, race.after) for at, race in zip(moments, history, strict=True)])
        corners = [(graph.x((at - start) / span), graph.y(value)) for at, value in races]
        steps = "".join(f"H{x}V{y}" for x, y in corners[1:])
        graph.lines.append(f"M{corners[0][0]} {corners[0][1]}{steps}H{graph.x(1)}")
    if len(histories) == 1:
        if len(races) <= MOST_DOTS:
            titles = (f"{day(at)}: {integer(value)}" for at, value in races)
            graph.dots = [("dot", *corner, title) for corner, title in zip(corners, titles, strict=True)]
        best = max(range(len(races)), key=lambda number: races[number][1])
        title = f"Highest: {integer(races[best][1])}, {day(races[best][0])}"
        graph.dots.append(("peak", *corners[best], title))
    return graph


class Places:
    """Rows of a drawing, one for each place from the top."""

    LEFT, TOP, ROW = 30, 26, 24

    def y(self, place: float) -> float:
        return round(self.TOP + self.ROW * (place - 0.5), 1)


class Story(Places):
    """A race as lines from each racer's expected place, on the left, to the place taken, on the right."""

    WIDTH, RIGHT = 500, 196
    LEAD = 0.3
    """Share of the width before the first finish."""
    MOMENTS = 16
    """Most finishes at which lines may bend."""

    def __init__(
        self, entrants: Sequence[RatedEntrant], course: Sequence[tuple[float, Sequence[float]]]
    ) -> None:
        self.end = self.WIDTH - self.RIGHT
        self.height = self.TOP + self.ROW * len(entrants) + 6
        self.rows = [(self.y(row), str(row)) for row in range(1, len(entrants) + 1)]
        self.ticks = [(float(self.LEFT), "start")]
        if len(course) > 1:
            moments = [moment for moment, _ in course]
            self._first, self._span = moments[1], max(moments[-1] - moments[1], 1e-9)
            ends = [(moments[1], "first finish"), (moments[-1], "last finish")][: len(set(moments[1:]))]
            self.ticks += [(self.x(at), timer(at) if len(ends) > 1 else words) for at, words in ends]
        else:
            self.ticks.append((float(self.end), "result"))
        step = max(1, -(-len(course) // self.MOMENTS))
        self.lines, self.names = [], []
        for row, entrant in enumerate(entrants, start=1):
            start = course[0][1][row - 1] if course else entrant.expected
            corners = [(float(self.LEFT), self.y(start))]
            for number, (moment, places) in enumerate(course[1:], start=1):
                done = entrant.finish_time is not None and moment >= entrant.finish_time
                if done or (number % step == 0 and number < len(course) - 1):
                    corners.append((self.x(moment), self.y(row if done else places[row - 1])))
                if done:
                    break
            corners.append((float(self.end), self.y(row)))
            surprise = row == 1 and entrant.place == 1 and entrant.win_chance < UPSET
            name, kind = plain_name(entrant.name, 12), sign(entrant.change)
            path = "L".join(f"{x} {y}" for x, y in dict.fromkeys(corners))
            title = f"{name}: expected {start:.1f}, {entrant.standing}, {signed(entrant.change)}"
            self.lines.append((f"{kind} upset" if surprise else kind, f"M{path}", title))
            remark = "upset" if surprise else signed(entrant.change)
            timed = bool(course) and entrant.finish_time is not None
            self.names.append((kind, self.y(row), name, remark, corners[-2] if timed else None))

    def x(self, moment: float) -> float:
        """Return the position of a moment from the first finish on."""
        lead = self.LEFT + self.LEAD * (self.end - self.LEFT)
        share = (moment - self._first) / self._span if self._span > 1e-6 else 1.0
        return round(lead + (self.end - lead) * share, 1)


class Year:
    """The days of a year with races, as squares in columns of weeks."""

    WEEKS, SIZE, TOP = WEEKS_OF_YEAR, 12, 20
    WIDTH, HEIGHT = WEEKS_OF_YEAR * 12, 20 + 7 * 12

    def __init__(self, races: Sequence[PlayedRace]) -> None:
        first, raced = last_year(races)
        last, shown = races[-1].ended_at, dict[date, list[PlayedRace]]()
        for race in raced:
            shown.setdefault(race.ended_at.astimezone(UTC).date(), []).append(race)
        count, days_with = counted(len(raced), "race"), counted(len(shown), "day")
        self.label = f"{count} on {days_with} in the year to {day(last)}"
        self.days = []
        for at, each in shown.items():
            week, weekday = divmod((at - first).days, 7)
            title = f"{day(at)}: {counted(len(each), 'race')}, {signed(sum(race.change for race in each))}"
            self.days.append((week * self.SIZE, self.TOP + weekday * self.SIZE, min(len(each), 3), title))
        starts = (first + timedelta(weeks=week) for week in range(self.WEEKS - 2))
        months = [(week, at) for week, at in enumerate(starts) if at.day <= 7]
        self.ticks = [(week * self.SIZE, f"{at:%b}") for week, at in months[::2]]


class Bump(Places):
    """Places over time: a line for each player, with the name and last place at its end."""

    WIDTH, RIGHT, TOP = 470, 164, 30
    DEEPEST = 25
    KINDS = ("first", "second", "gain", "loss", "same")

    def __init__(
        self, moments: Sequence[datetime], places: Sequence[tuple[str, Sequence[int | None]]]
    ) -> None:
        self.moments, self.places, self.end = moments, places, self.WIDTH - self.RIGHT
        deepest = min(self.DEEPEST, max((place or 1 for _, each in places for place in each), default=1))
        every = 1 if deepest <= 12 else 4
        self.rows = [(self.y(row), str(row)) for row in range(1, deepest + 1) if row % every == 1 % every]
        xs = [self.LEFT + (self.end - self.LEFT) * n / (len(moments) - 1) for n in range(len(moments))]
        form = TIMES[1][1] if moments[-1] - moments[0] < timedelta(days=365) else "{0:%b %Y}"
        self.ticks = [(round(xs[n], 1), form.format(moments[n])) for n in (1, len(xs) // 2, len(xs) - 1)]
        self.lines, self.names, lowest = [], [], 0.0
        for number, (name, each) in enumerate(sorted(places, key=lambda line: line[1][-1] or math.inf)):
            kind = self.KINDS[number % len(self.KINDS)]
            corners = [
                f"{x:.1f} {self.y(min(place, deepest))}" for x, place in zip(xs, each, strict=True) if place
            ]
            title = f"{name}: from {next(filter(None, each))} to {each[-1]}, best {min(filter(None, each))}"
            self.lines.append((kind, f"M{'L'.join(corners)}", title))
            lowest = max(lowest + self.ROW, self.y(min(each[-1] or deepest, deepest)))
            self.names.append((lowest, f"{each[-1]} {name}", kind))
        self.height = max(lowest, self.y(deepest)) + self.ROW / 2 + 4


def waterfall(before: int, parts: Sequence[tuple[str, int]]) -> list[tuple[str, int, float, float, str]]:
    """Return the bars of a change's parts, each from where the last one ended."""
    levels = list(accumulate((points for _, points in parts), initial=before))
    low, high = min(levels), max(levels)
    scale = 100 / max(high - low, 1)
    return [
        (name, points, round((min(a, b) - low) * scale, 1), round(abs(points) * scale, 1), sign(points))
        for (name, points), (a, b) in zip(parts, pairwise(levels), strict=True)
    ]


def graph_data(path: str, series: Sequence[tuple[str, Sequence[PlayedRace]]]) -> Markup:
    """Return the races of one or two named players, oldest first, as JSON that can stand inside HTML."""
    found = []
    for name, races in series:
        minutes = [int(race.ended_at.timestamp() // 60) for race in races]
        paths = [RACE.path(race=race.race) for race in races[-NAMED:]]
        facts = {
            "name": shown_name(name),
            "start": minutes[0],
            "steps": [late - early for early, late in pairwise(minutes)],
            "before": races[0].before,
            "points": [race.after for race in races],
            "places": [race.standing if race.place is None else race.place for race in races],
            "entrants": [race.entrants for race in races],
            "races": [each.rpartition("/")[2].removesuffix(".html") for each in paths],
            "page": f"{link(path, paths[-1]).rpartition('/')[0]}/",
        }
        found.append(facts)
    content = json.dumps({"series": found}, ensure_ascii=False, separators=(",", ":"))
    # In a script element, only `<` can begin the end of the element or a comment.
    return Markup(content.replace("<", "\\u003c"))  # noqa: S704 - JSON without `<`


def _grid(low: float, high: float) -> list[int]:
    """Return round values for grid lines, from below `low` to above `high`."""
    rough = max((high - low) / _GRID_LINES, 1)
    size = 10 ** math.floor(math.log10(rough))
    step = int(next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough))
    first, last = math.floor(low / step), max(math.ceil(high / step), math.floor(low / step) + 2)
    return [step * number for number in range(first, last + 1)]


def thinned(races: list[tuple[datetime, int]]) -> list[tuple[datetime, int]]:
    """Thin a history: keep the first and last race, and the highest and lowest of each group between."""
    size = -(-2 * len(races) // MOST_POINTS)
    if size <= 2:
        return races
    kept = {0, len(races) - 1}
    for start in range(0, len(races), size):
        part = range(start, min(start + size, len(races)))
        kept |= {max(part, key=lambda i: races[i][1]), min(part, key=lambda i: races[i][1])}
    return [races[i] for i in sorted(kept)]
