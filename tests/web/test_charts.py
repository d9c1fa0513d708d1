from __future__ import annotations

import random
import re
from datetime import timedelta
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from builders import NOON

from racebot.web import charts


def over_time(count: int, days: float = 1.0, label: str = "label") -> str:
    rng = random.Random(count)
    moments = [NOON + timedelta(days=days * n) for n in range(count)]
    return charts.ratings(moments, [1000 + rng.randint(-300, 300) for _ in moments], label)


def line(svg: str) -> list[tuple[float, float]]:
    (path,) = [each for each in ET.fromstring(svg).iter() if each.get("class", "").startswith("line ")]  # noqa: S314
    numbers = [float(text) for text in re.findall(r"-?\d+\.?\d*", path.get("d", ""))]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


@pytest.mark.parametrize(
    "svg", [over_time(20), over_time(2000), charts.distribution([("1", 2), ("2", 3)], "x")]
)
def test_graphs_bring_nothing_of_their_own(svg: str) -> None:
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


def test_a_label_is_text() -> None:
    root = ET.fromstring(over_time(3, label='<script>"&'))  # noqa: S314
    assert root.get("aria-label") == '<script>"&'
    assert root.get("role") == "img"


def test_a_rating_stays_level_between_races() -> None:
    points = line(over_time(20))
    assert len(points) == 39
    assert all(ax == bx or ay == by for (ax, ay), (bx, by) in pairwise(points))


def test_each_race_of_few_has_a_dot_that_says_which() -> None:
    root = ET.fromstring(over_time(20))  # noqa: S314
    dots = [each for each in root.iter() if each.tag.endswith("circle")]
    assert len(dots) == 20
    titles = [title.text or "" for dot in dots for title in dot]
    assert titles[0].startswith("1 Mar 2026: ")
    assert titles[-1].startswith("20 Mar 2026: ")


def test_many_races_are_thinned_and_no_height_or_depth_is_lost() -> None:
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
def test_a_time_line_has_a_few_labels_that_tell_apart(days: float) -> None:
    svg = charts.ratings([NOON, NOON + timedelta(days=days)], [1, 2], "x")
    axis = svg.partition('class="axis x"')[2].partition('class="series')[0]
    labels = re.findall(r"<text[^>]*>([^<]+)</text>", axis)
    assert len(labels) == len(set(labels)) <= 7
    assert labels or days < 3
