"""Drawings: ratings and places over time, and a race as a story."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from builders import NOON, result

from racebot.addresses import BadQueryError
from racebot.queries.leaderboard import places_over_time
from racebot.queries.player import PlayedRace
from racebot.web.html import charts, templating

from .conftest import Merge, page_at

MOVEMENT = "leaderboards/orb/any-orb/movement.html"


def drawn(graph: charts.Graph | None) -> str:
    return templating.render("graph.html", "", graph=graph).decode()


def ratings(moments: Sequence[datetime], points: Sequence[int], label: str = "label") -> str:
    history = [
        PlayedRace("r", n, at, 1, "1", 2, 0, value, n, 0, "Any", None)
        for n, (at, value) in enumerate(zip(moments, points, strict=True))
    ]
    return drawn(charts.ratings([history], label))


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


@pytest.mark.parametrize("days", [0.01, 1, 3, 20, 70, 90, 200, 366, 800, 4000])
def test_time_line_has_four_different_labels(days: float) -> None:
    svg = ratings([NOON, NOON + timedelta(days=days)], [1, 2])
    axis = svg.partition('class="axis x"')[2].partition('class="series')[0]
    labels = re.findall(r"<text[^>]*>([^<]+)</text>", axis)
    assert len(set(labels)) == 4


def test_race_is_drawn_from_expected_to_actual_places(merge: Merge) -> None:
    for served in (True, False):
        shown = page_at(merge(), "races/orb/b.html", served=served)
        assert shown.count('<path class="course ') == shown.count('class="end"') == 3
        assert "<title>Cy: expected 2.0, 1, +200</title>" in shown
        assert 'id="p-id-cy"' in shown


def test_only_the_last_race_has_next_targets(merge: Merge) -> None:
    view = merge()
    assert "Next target: 10 points to 1st place." in page_at(view, "races/orb/c.html")
    assert "Next target" not in page_at(view, "races/orb/b.html")


def test_places_follow_the_races_until_each_moment(merge: Merge) -> None:
    view = merge()
    board = view.boards[0]
    listed = view.report(board).players
    moments = [NOON + timedelta(hours=hours) for hours in (-1, 1, 25, 241)]
    found = places_over_time(view.ledger, board.stored, listed, ["id-ann", "id-bo", "id-cy"], moments)
    assert found == {"id-ann": [None, 1, 2, 2], "id-bo": [None, 2, 4, 4], "id-cy": [None, None, 1, 1]}
    later = places_over_time(view.ledger, board.stored, listed, ["id-ann"], moments[2:])
    assert later == {"id-ann": [2, 2]}


def test_page_shows_chosen_players_and_dates(merge: Merge) -> None:
    view = merge(
        [result("a", "ann bo cy"), result("b", "cy ann", after=240), result("c", "cy bo ann", after=241)]
    )
    query: dict[str, Any] = {"players": "CY,nobody", "from": "2026-03-01"}
    shown = page_at(view, MOVEMENT, **query)
    assert shown.count('<path class="course ') == 1 and "Not listed on this leaderboard: nobody<" in shown
    assert "<title>Cy: from" in shown
    assert 'value="2026-03-01"' in shown
    exported = page_at(view, MOVEMENT, served=False)
    assert exported.count('<path class="course ') == 3


@pytest.mark.parametrize("query", [{"from": "soon"}, {"to": "2026-13-01"}, {"from": "2027-01-01"}])
def test_dates_that_make_no_range_are_refused(merge: Merge, query: dict[str, Any]) -> None:
    with pytest.raises(BadQueryError):
        page_at(merge(), MOVEMENT, **query)
