"""Graphs as SVG to be put into a page. Their colours and fonts are those of the page's style sheet.

pygal draws; its own styles, scripts and remarks are taken out, so that a page needs nothing from elsewhere,
follows light and dark, and stays the same while its data do.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree as ET

import pygal
from markupsafe import Markup
from pygal.style import Style

from racebot.web.templating import day

# It lets plugins be imported in a way that Python no longer knows, and warns of at every other import.
sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, pygal.PluginImportFixer)]

MOST_POINTS = 200
"""More races than this are drawn by the highest and the lowest of each few."""
MOST_DOTS = 50
"""Up to so many races have a dot each, which says what it stands for when pointed at."""
MANY_DAYS = timedelta(days=75)
"""A time line of so many has months below it, not days."""
MOST_LABELS = 8
"""Below bars."""
_MARKS = 5
_TAKEN_OUT = {"remark", "defs", "title", "desc", "tooltip", "text-overlay", "titles"}
"""Elements, by their kind or class."""

_COMMON: dict[str, Any] = {
    "width": 760,
    "height": 300,
    "margin": 4,
    "max_scale": 6,
    "show_legend": False,
    "js": [],
    "css": [],
    "no_prefix": True,
    # Room for the labels, which phones show larger than the rest.
    "style": Style(label_font_size=23, font_family="sans-serif"),
}


def ratings(moments: Sequence[datetime], points: Sequence[int], label: str) -> Markup:
    """Points over time, as a line that stays level from one race to the next.

    Args:
        moments: when each race ended, oldest first; at least two.
        points: after each.
        label: what the graph shows, for those who do not see it.
    """
    shown = _thinned(list(zip(moments, points, strict=True)))
    form = "{0.day} {0:%b}" if moments[-1] - moments[0] < MANY_DAYS else "{0:%b %Y}"
    marks = _marks(moments[0], moments[-1])
    chart = pygal.XY(
        **_COMMON,
        show_dots=len(shown) <= MOST_DOTS,
        dots_size=3,
        x_labels=[{"value": at.timestamp(), "label": form.format(at)} for at in marks],
        truncate_label=-1,
    )
    corners = [(at, value) for (at, _), (_, value) in zip(shown[1:], shown, strict=False)]
    steps = [*(each for pair in zip(shown, corners, strict=False) for each in pair), shown[-1]]
    chart.add("Points", [(at.timestamp(), value) for at, value in steps])
    titles = [f"{day(at)}: {value}" for at, value in shown]
    return _cleaned(chart, label, [*(each for title in titles[:-1] for each in (title, "")), titles[-1]])


def distribution(counts: Sequence[tuple[str, int]], label: str) -> Markup:
    """How many there are of each, as bars.

    Args:
        counts: what a bar stands for, and how many there are.
        label: what the graph shows, for those who do not see it.
    """
    every = -(-len(counts) // MOST_LABELS)
    labels = [name if number % every == 0 else "" for number, (name, _) in enumerate(counts)]
    chart = pygal.Bar(**_COMMON, x_labels=labels, truncate_label=-1)
    chart.add("Players", [count for _, count in counts])
    return _cleaned(chart, label, [f"{name}: {count}" for name, count in counts])


def _thinned(points: list[tuple[datetime, int]]) -> list[tuple[datetime, int]]:
    """Few enough points to draw: of every few the highest and the lowest, and the first and the last."""
    size = -(-2 * len(points) // MOST_POINTS)
    if size <= 2:
        return points
    kept = {0, len(points) - 1}
    for start in range(0, len(points), size):
        part = range(start, min(start + size, len(points)))
        kept |= {max(part, key=lambda i: points[i][1]), min(part, key=lambda i: points[i][1])}
    return [points[i] for i in sorted(kept)]


def _marks(first: datetime, last: datetime) -> list[datetime]:
    """Moments to label below a time line: firsts of months where there are enough, days otherwise."""
    span = last - first
    last -= span / 16  # a label nearer to the end would be cut
    if span < MANY_DAYS:
        step = max(1, -(-span.days // _MARKS))
        start = first.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        marks = [at for n in range(_MARKS + 1) if (at := start + timedelta(days=n * step)) <= last]
        return marks or [first]
    every = next((n for n in (1, 2, 3, 6, 12, 24) if span.days / 30.4 / n <= _MARKS), 60)
    after_first, end = (at.year * 12 + at.month for at in (first, last))
    months_shown = (month for month in range(after_first, end) if month % every == 0)
    return [datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC) for month in months_shown]


def _cleaned(chart: Any, label: str, titles: Sequence[str]) -> Markup:
    """A chart without what it brings of its own, and with a title for each of its dots or bars.

    A dot whose title is empty is taken out.
    """
    root = chart.render_tree()
    marks = []
    for parent in list(root.iter()):
        parent.attrib.pop("style", None)
        for child in list(parent):
            kind = child.tag.rpartition("}")[2] if isinstance(child.tag, str) else "remark"
            classes = (child.get("class") or "").split()
            if kind in _TAKEN_OUT or not _TAKEN_OUT.isdisjoint(classes):
                parent.remove(child)
            elif (kind, *classes[:1]) in {("circle", "dot"), ("g", "bar")}:
                marks.append((parent, child))
    if marks:
        for (parent, mark), title in zip(marks, titles, strict=True):
            if title:
                ET.SubElement(mark, "title").text = title
            else:
                parent.remove(mark)
    root.attrib.pop("id", None)
    root.set("class", "graph")
    root.set("role", "img")
    root.set("aria-label", label)
    return Markup(ET.tostring(root, encoding="unicode"))  # noqa: S704 - made above, its text escaped
