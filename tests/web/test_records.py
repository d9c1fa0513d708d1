"""Records, seeds, and leaderboards at a past date.

Points by `SIMPLE`: of two equal players, the winner gains 100.
"""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from builders import NOON, result

from racebot.addresses import BadQueryError
from racebot.queries.leaderboard import leaderboard_report
from racebot.queries.records import hall_of_fame
from racebot.queries.standings import Listing
from racebot.text.format import as_record
from racebot.web.html import leaderboard
from racebot.web.html.leaderboard import Choice
from racebot.web.site.ledger_view import LedgerView

from .conftest import Merge, data_at, page_at

BOARD = "leaderboards/orb/any-orb"
SEEDS = f"{BOARD}/seeds.html"
SEEDS_DATA = f"api/{BOARD}/seeds"


def test_hall_of_fame_has_one_peak_and_one_streak_for_each_player(merge: Merge) -> None:
    order = ["ann bo", "ann bo", "bo ann", "ann bo", "ann bo", "ann bo"]
    view = merge([result(f"r{n}", finishers, after=n) for n, finishers in enumerate(order)])
    (board,) = view.boards
    fame = hall_of_fame(view.ledger, board.stored, settled=0)
    assert [each.player.id for each in fame.peaks] == ["id-ann", "id-bo"]
    assert tuple(each.race.race for each in fame.peaks) == ("orb/r5", "orb/r2")
    assert [(each.player.id, each.number, each.ongoing) for each in fame.streaks] == [("id-ann", 3, True)]
    assert hall_of_fame(view.ledger, board.stored, settled=6).peaks == []


@pytest.mark.parametrize("listing", [Listing(), Listing(minimum_finishes=2), Listing(inactive_days=5)])
def test_leaderboard_at_a_past_date_is_the_one_of_that_day(merge: Merge, listing: Listing) -> None:
    races = [
        result("a", "ann bo", dnf="cy"),
        result("b", "di ed", dnf="fay gus", after=24 * 2),
        result("c", "bo ann cy", after=24 * 3),
        result("d", "gus ann", dnf="bo", after=24 * 9),
        result("e", "cy gus", dnf="hal", after=24 * 12),
        result("f", "gus fay ann", after=24 * 20),
    ]

    def board_at(at: datetime | None = None) -> dict[str, Any]:
        report = leaderboard_report(view.ledger, board.stored, listing, at=at)
        return as_record(report) | {"players": report.players[:]}

    on_the_day = []
    for race in races:
        view = merge([race])
        (board,) = view.boards
        on_the_day.append(board_at())
    for race, then in zip(races, on_the_day, strict=True):
        assert board_at(race.ended_at) == then
    long_ago = board_at(NOON - timedelta(days=1))
    assert [long_ago[name] for name in ("players", "races", "last_race_at")] == [[], 0, None]


@pytest.mark.parametrize("choice", ["at=2026-02-30", "at=soon", "at=2026-1-1", "at=9999-99-99", "sort=x"])
def test_invalid_choice_is_refused_by_its_name(choice: str) -> None:
    name, value = choice.split("=")
    with pytest.raises(BadQueryError, match=f"^{name}: "):
        Choice.of({name: value})
    assert Choice.of({name: ""}).default


def test_a_past_date_shows_the_results_before_it(merge: Merge) -> None:
    races = [result("a", "ann bo"), result("b", "bo ann", after=48), result("c", "bo ann", after=72)]
    page = page_at(merge(races), f"{BOARD}.html", at="2026-03-03")
    labels = re.findall('aria-label="Last results: ([^"]*)"', page)
    assert {tuple(re.findall(r"(\d+) [+−]", each)) for each in labels} == {("1", "2"), ("2", "1")}


def test_the_page_seeds_the_entrants_of_its_form(view: LedgerView) -> None:
    page = page_at(view, SEEDS, entrants="bo\r\nann\r\n<i>x")
    assert page.index("players/id-ann/") < page.index("players/id-bo/")
    assert "players/id-cy/" not in page
    assert "&lt;i&gt;x" in page
    assert "&lt;i&gt;x" not in page_at(view, SEEDS)


def test_the_page_shows_the_first_seeds_only(view: LedgerView, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaderboard, "SEEDS", 2)
    page = page_at(view, SEEDS)
    assert [f"players/id-{each}/" in page for each in ("cy", "ann", "di")] == [True, True, False]


def test_the_data_seeds_the_entrants_of_the_query(view: LedgerView) -> None:
    found = data_at(view, SEEDS_DATA, entrants="bo\nann")
    assert [each["id"] for each in found["seeds"]] == ["id-ann", "id-bo"]
    lines = page_at(view, f"{SEEDS_DATA}.csv").splitlines()
    assert lines[1].startswith("1,1,id-cy,Cy,")
