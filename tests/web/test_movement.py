"""Places over time: by hand, over a range of dates, and the climber of the week."""

from datetime import timedelta
from typing import Any

import pytest
from builders import NOON, result

from racebot.addresses import BadQueryError
from racebot.queries.recap import places_over_time

from .conftest import Merge, page_at

PAGE = "leaderboards/orb/any-orb/movement.html"


def test_places_follow_the_races_until_each_moment(merge: Merge) -> None:
    view = merge()
    board = view.boards[0]
    listed = view.report(board).players
    moments = [NOON + timedelta(hours=hours) for hours in (-1, 1, 25, 241)]
    found = places_over_time(view.ledger, board.stored, listed, ["id-ann", "id-bo", "id-cy"], moments)
    assert found == {"id-ann": [None, 1, 2, 2], "id-bo": [None, 2, 4, 4], "id-cy": [None, None, 1, 1]}
    later = places_over_time(view.ledger, board.stored, listed, ["id-ann"], moments[2:])
    assert later == {"id-ann": [2, 2]}


def test_page_shows_chosen_players_and_dates_and_names_the_climber(merge: Merge) -> None:
    view = merge(
        [result("a", "ann bo cy"), result("b", "cy ann", after=240), result("c", "cy bo ann", after=241)]
    )
    query: dict[str, Any] = {"players": "CY,nobody", "from": "2026-03-01"}
    shown = page_at(view, PAGE, **query)
    assert shown.count('<path class="course ') == 1 and "Not listed on this leaderboard: nobody<" in shown
    assert "Climber of the week" in shown and "<title>Cy: from" in shown
    assert 'value="2026-03-01"' in shown
    exported = page_at(view, PAGE, served=False)
    assert exported.count('<path class="course ') == 3


@pytest.mark.parametrize("query", [{"from": "soon"}, {"to": "2026-13-01"}, {"from": "2027-01-01"}])
def test_dates_that_make_no_range_are_refused(merge: Merge, query: dict[str, Any]) -> None:
    with pytest.raises(BadQueryError):
        page_at(merge(), PAGE, **query)
