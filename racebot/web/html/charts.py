"""Graphs: positions in pixels of drawings that the page scales. The style sheet sets the colors."""

import json
import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import accumulate, pairwise

from markupsafe import Markup

from racebot.addresses import RACE, link
from racebot.queries.player import PlayedRace
from racebot.queries.race import RatedEntrant
from racebot.queries.records import UPSET
from racebot.text.format import signed
from racebot.web.site.formats import plain_name, shown_name, sign

TIMES = ((timedelta(days=9), "{0.day} {0:%b}, {0:%H:%M}"), (timedelta(days=365), "{0.day} {0:%b}"))
"""How moments on the axis are written, by the least time span that needs a shorter form."""
TICKS = (1 / 8, 3 / 8, 5 / 8, 7 / 8)  # where the time axis has labels, as shares of its width
_GRID_LINES = 5
NAMED = 250  # Number of last races with their names. Older races have only their date, place and points


class Graph:
    """What the template draws: grid lines, labels of the horizontal axis, and lines."""

    WIDTH, HEIGHT = 760, 300
    LEFT, RIGHT, TOP, BOTTOM = 72, 14, 20, 40

    def __init__(self, label: str, low: float, high: float) -> None:
        self.label = label
        self.grid = _grid(low, high)
        self.ticks: list[tuple[float, str]] = []
        self.lines: list[str] = []

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
        races = zip(moments, history, strict=True)
        corners = [(graph.x((at - start) / span), graph.y(race.after)) for at, race in races]
        steps = "".join(f"H{x}V{y}" for x, y in corners[1:])
        graph.lines.append(f"M{corners[0][0]} {corners[0][1]}{steps}H{graph.x(1)}")
    return graph


class Places:
    """Rows of a drawing, one for each place from the top."""

    LEFT, TOP, ROW = 30, 26, 24

    def y(self, place: float) -> float:
        return round(self.TOP + self.ROW * (place - 0.5), 1)


class Story(Places):
    """A race as lines from each racer's expected place, on the left, to the place taken, on the right."""

    WIDTH, RIGHT = 500, 196

    def __init__(self, entrants: Sequence[RatedEntrant]) -> None:
        self.end = self.WIDTH - self.RIGHT
        self.height = self.TOP + self.ROW * len(entrants) + 6
        self.rows = [(self.y(row), str(row)) for row in range(1, len(entrants) + 1)]
        self.lines, self.names = [], []
        for row, entrant in enumerate(entrants, start=1):
            surprise = row == 1 and entrant.place == 1 and entrant.win_chance < UPSET
            name, kind, change = plain_name(entrant.name, 12), sign(entrant.change), signed(entrant.change)
            path = f"M{self.LEFT} {self.y(entrant.expected)}L{self.end} {self.y(row)}"
            title = f"{name}: expected {entrant.expected:.1f}, {entrant.standing}, {change}"
            self.lines.append((f"{kind} upset" if surprise else kind, path, title))
            self.names.append((kind, self.y(row), name, "upset" if surprise else change))


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
