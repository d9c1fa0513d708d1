from __future__ import annotations

import random
import re
from datetime import timedelta
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from builders import NOON

from racebot.web.pictures import charts


def over_time(count: int, days: float = 1.0, label: str = "label") -> str:
    rng = random.Random(count)
    moments = [NOON + timedelta(days=days * n) for n in range(count)]
    return charts.ratings(moments, [1000 + rng.randint(-300, 300) for _ in moments], label)


def line(svg: str) -> list[tuple[float, float]]:
    (path,) = [each for each in ET.fromstring(svg).iter() if each.get("class") == "line"]  # noqa: S314
    numbers = [float(text) for text in re.findall(r"-?\d+\.?\d*", path.get("d", ""))]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


@pytest.mark.parametrize(
    "svg", [over_time(20), over_time(2000), charts.distribution([("1", 2), ("2", 3)], "x")]
)
def test_graphs_contain_no_style_script_or_link(svg: str) -> None:
    root = ET.fromstring(svg)  # noqa: S314
    assert {each.tag.rpartition("}")[2] for each in root.iter()} <= {
        "svg",
        "g",
        "rect",
        "path",
        "circle",
        "text",
        "title",
    }
    assert not any(name in each.attrib for each in root.iter() for name in ("style", "onclick", "href"))
    assert "<!--" not in svg
    assert re.findall(r"https?://[^\"]+", svg) == ["http://www.w3.org/2000/svg"]


def test_the_same_data_make_the_same_graph() -> None:
    assert over_time(30) == over_time(30)


def test_label_is_escaped() -> None:
    root = ET.fromstring(over_time(3, label='<script>"&'))  # noqa: S314
    assert root.get("aria-label") == '<script>"&'
    assert root.get("role") == "img"


def test_a_rating_stays_level_between_races() -> None:
    points = line(over_time(20))
    assert len(points) == 39
    assert all(ax == bx or ay == by for (ax, ay), (bx, by) in pairwise(points))


def test_few_races_have_a_dot_each() -> None:
    root = ET.fromstring(over_time(20))  # noqa: S314
    dots = [each for each in root.iter() if each.get("class") == "dot"]
    assert len(dots) == 20
    titles = [title.text or "" for dot in dots for title in dot]
    assert titles[0].startswith("1 Mar 2026: ")
    assert titles[-1].startswith("20 Mar 2026: ")


def test_highest_race_is_marked() -> None:
    moments = [NOON + timedelta(days=n) for n in range(3)]
    root = ET.fromstring(charts.ratings(moments, [1000, 1300, 1100], "x"))  # noqa: S314
    (mark,) = [each for each in root.iter() if each.get("class") == "peak"]
    assert [title.text for title in mark] == ["Highest: 1300, 2 Mar 2026"]


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([1000, 1000], ["1000", "1001"]),
        ([998, 1003], ["998", "999", "1000", "1001", "1002", "1003"]),
        ([812, 1894], ["500", "1000", "1500", "2000"]),
        ([-40, 130], ["−50", "0", "50", "100", "150"]),
    ],
)
def test_grid_lines_are_round_numbers_around_the_points(points: list[int], expected: list[str]) -> None:
    svg = charts.ratings([NOON, NOON + timedelta(days=1)], points, "x")
    axis = svg.partition('class="axis y"')[2].partition('class="axis x"')[0]
    assert re.findall(r"<text[^>]*>([^<]+)</text>", axis) == expected


def test_thinning_keeps_peaks_and_lows() -> None:
    all_points = line(over_time(250))
    assert len(all_points) == 2 * 250 - 1 if charts.MOST_POINTS // 2 >= 250 else len(all_points) < 700
    rng = random.Random(1)
    values = [1000 + rng.randint(-9, 9) for _ in range(5000)]
    values[1234], values[4321] = 2000, 100
    moments = [NOON + timedelta(hours=n) for n in range(5000)]
    thinned = line(charts.ratings(moments, values, "x"))
    assert len(thinned) <= 2 * charts.MOST_POINTS + 4
    heights = [y for _, y in thinned]
    middle = sorted(heights)[len(heights) // 2]
    assert min(heights) < middle - 50 and max(heights) > middle + 50
    assert len(charts.ratings(moments, values, "x")) < 20_000


@pytest.mark.parametrize("days", [0.01, 1, 20, 70, 200, 800, 4000])
def test_time_line_has_a_few_different_labels(days: float) -> None:
    svg = charts.ratings([NOON, NOON + timedelta(days=days)], [1, 2], "x")
    axis = svg.partition('class="axis x"')[2].partition('class="series')[0]
    labels = re.findall(r"<text[^>]*>([^<]+)</text>", axis)
    assert len(labels) == len(set(labels)) <= 7
    assert labels or days < 3
