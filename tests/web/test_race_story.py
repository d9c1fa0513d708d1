"""A race's page tells its story: from expected to actual places, how changes add up, and what comes next."""

import pytest
from builders import existing

from racebot.queries.odds import expected_course
from racebot.web.html import charts

from .conftest import Merge, page_at

RACE_B, RACE_C = "races/orb/b.html", "races/orb/c.html"


def test_expected_places_share_out_all_places_and_end_at_the_result(merge: Merge) -> None:
    view = merge()
    board = view.boards[0].stored
    row = existing(view.ledger.ratings.get(board, "orb/b"))
    assert [change.player for change in row.changes] == ["id-cy", "id-di", "id-ed"]
    course = expected_course(board, row.changes, [60.0, 90.0, None])
    assert [moment for moment, _ in course] == [0.0, 60.0, 90.0]
    for _, places in course:
        assert sum(places) == pytest.approx(1 + 2 + 3)
    assert course[0][1] == pytest.approx([2, 2, 2])
    assert course[1][1] == pytest.approx([1, 2.5, 2.5])
    assert course[-1][1] == pytest.approx([1, 2, 3])


def test_bars_of_a_change_begin_where_the_one_before_ends() -> None:
    bars = charts.waterfall(1500, [("Finishing", 30), ("Place", -40), ("Limit", 5)])
    ends = [left if points < 0 else left + width for _, points, left, width, _ in bars]
    starts = [left + width if points < 0 else left for _, points, left, width, _ in bars]
    assert starts[0] == pytest.approx(100 * 10 / 40)
    assert all(end == pytest.approx(start) for end, start in zip(ends, starts[1:], strict=False))
    assert [points for _, points, *_ in bars] == [30, -40, 5]
    assert min(starts + ends) == 0 and max(starts + ends) == 100


def test_race_is_drawn_from_expected_to_actual_places(merge: Merge) -> None:
    for served in (True, False):
        shown = page_at(merge(), RACE_B, served=served)
        assert shown.count('<path class="course ') == 3
        assert 'class="end"' in shown and 'id="p-id-cy"' in shown


def test_only_the_last_race_has_next_targets(merge: Merge) -> None:
    view = merge()
    assert "Next target: 10 points to 1st place." in page_at(view, RACE_C)
    assert "Next target" not in page_at(view, RACE_B)
