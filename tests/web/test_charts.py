import random
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from xml.etree import ElementTree as ET

import pytest
from builders import NOON

from racebot.queries.history import PlayedRace
from racebot.web.html import charts, templating

from .conftest import Merge


def drawn(graph: charts.Graph | None) -> str:
    return templating.render("graph.html", "", graph=graph).decode()


def ratings(moments: Sequence[datetime], points: Sequence[int], label: str = "label") -> str:
    history = [
        PlayedRace("r", n, at, 1, "1", 2, 0, value, n, 0, "Any", None)
        for n, (at, value) in enumerate(zip(moments, points, strict=True))
    ]
    return drawn(charts.ratings([history], label))


def line(svg: str) -> list[tuple[float, float]]:
    (path,) = [each for each in ET.fromstring(svg).iter() if each.get("class") == "line"]  # noqa: S314
    start, *steps = re.findall(r"M[\d.]+ [\d.]+|H[\d.]+|V[\d.]+", path.get("d", ""))
    x, y = map(float, start[1:].split())
    corners = [(x, y)]
    for step in steps:
        x, y = (float(step[1:]), y) if step[0] == "H" else (x, float(step[1:]))
        corners.append((x, y))
    return corners


def test_few_races_have_a_dot_each_and_the_highest_a_mark() -> None:
    moments = [NOON + timedelta(days=n) for n in range(3)]
    root = ET.fromstring(ratings(moments, [1000, 1300, 1100]))  # noqa: S314
    shown = [
        (dot.get("class"), title.text) for dot in root.iter() for title in dot if title.tag.endswith("title")
    ]
    assert shown == [
        ("dot", "1 Mar 2026: 1000"),
        ("dot", "2 Mar 2026: 1300"),
        ("dot", "3 Mar 2026: 1100"),
        ("peak", "Highest: 1300, 2 Mar 2026"),
    ]


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([1000, 1000], ["1000", "1001", "1002"]),
        ([998, 1003], ["998", "999", "1000", "1001", "1002", "1003"]),
        ([812, 1894], ["500", "1000", "1500", "2000"]),
        ([-40, 130], ["−50", "0", "50", "100", "150"]),
    ],
)
def test_grid_lines_are_round_numbers_around_the_points(points: list[int], expected: list[str]) -> None:
    svg = ratings([NOON, NOON + timedelta(days=1)], points)
    axis = svg.partition('class="axis y"')[2].partition('class="axis x"')[0]
    assert re.findall(r"<text[^>]*>([^<]+)</text>", axis) == expected


def test_every_drawing_has_three_labels_or_more_on_each_axis(merge: Merge) -> None:
    view = merge()
    history = view.history(view.boards[0], "id-ann")
    part = view.race("orb/c").leaderboards[0]  # type: ignore[union-attr]
    moments = [NOON + timedelta(days=n) for n in range(13)]
    places = [[1.0, 2.0]] * 3
    ratings = charts.ratings([history], "two races")
    assert ratings is not None
    assert len(ratings.ticks) >= 3 and len(ratings.grid) >= 3
    bump = charts.Bump("places", moments, [("Ann", [1] * 13), ("Bo", [2] * 13)])
    course = list(zip([0.0, 60.0, 90.0], places, strict=True))
    story = charts.Story("race", part.entrants, course, upset=False)
    for drawing in (bump, story):
        assert len(drawing.ticks) >= 3 and len([*drawing.rows, *drawing.names]) >= 3
    assert len(charts.Year(history).ticks) >= 3


def test_thinning_keeps_peaks_and_lows() -> None:
    rng = random.Random(1)
    values = [1000 + rng.randint(-9, 9) for _ in range(5000)]
    values[1234], values[4321] = 2000, 100
    moments = [NOON + timedelta(hours=n) for n in range(5000)]
    thinned = line(ratings(moments, values))
    assert len(thinned) <= 2 * charts.MOST_POINTS + 4
    heights = [y for _, y in thinned]
    middle = sorted(heights)[len(heights) // 2]
    assert min(heights) < middle - 50 and max(heights) > middle + 50
    assert len(ratings(moments, values)) < 20_000


@pytest.mark.parametrize("days", [0.01, 1, 3, 20, 70, 90, 200, 366, 800, 4000])
def test_time_line_has_four_different_labels(days: float) -> None:
    svg = ratings([NOON, NOON + timedelta(days=days)], [1, 2])
    axis = svg.partition('class="axis x"')[2].partition('class="series')[0]
    labels = re.findall(r"<text[^>]*>([^<]+)</text>", axis)
    assert len(set(labels)) == 4
