"""Points below zero have a minus sign wherever people read them, and a hyphen in data for programs."""

import csv
import re
from html import unescape

import pytest
from builders import result

from racebot.standings.counting import LeaderboardConfig
from racebot.web.site.ledger_view import LedgerView

from .conftest import Merge, data_at, document_at, page_at

BOARD = "orb/any-orb"
FROM_ZERO = LeaderboardConfig("pairwise-elo", {"initial_rating": 0.0, "dummy": None, "rates": [0.2]})
HYPHEN = re.compile(r"(?<![\w-])-[0-9]")


@pytest.fixture
def view(merge: Merge) -> LedgerView:
    """Ann has 100 points after one race and Bo has -100; Cy and Di raced twice."""
    return merge(
        [result("a", "ann bo"), result("b", "cy di", after=1), result("c", "cy di", after=2)], FROM_ZERO
    )


@pytest.mark.parametrize(
    "path",
    [
        *("index.html", "races/orb/c.html", "players/id-di.html"),
        *(f"leaderboards/{BOARD}{page}.html" for page in ("", "/explained", "/fame")),
        *(f"players/id-di/{BOARD}{page}" for page in (".html", "/races.html", "/feed.xml")),
        f"players/id-cy/{BOARD}.html",
        *("overlay/part/room/orb/c.html", "overlay/part/player/id-di.html"),
    ],
)
def test_people_read_a_minus_sign(view: LedgerView, path: str) -> None:
    page = page_at(view, path)
    read = re.findall(r"(?:content|aria-label|title)=\"([^\"]*)\"", page)
    read += re.findall(r">([^<]+)<", re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL))
    assert [each for each in map(unescape, read) if HYPHEN.search(each)] == []
    assert "fame" in path or "explained" in path or "−" in page


@pytest.mark.parametrize("path", [f"players/id-di/{BOARD}", "races/orb/c", f"leaderboards/{BOARD}"])
def test_cards_draw_a_minus_sign(view: LedgerView, path: str, drawn: list[str]) -> None:
    assert document_at(view, f"cards/{path}.png").body
    assert [each for each in drawn if HYPHEN.search(each)] == []
    assert any(re.search(r"−\d{3}", each) for each in drawn)


def test_programs_read_a_hyphen(view: LedgerView) -> None:
    assert data_at(view, f"api/leaderboards/{BOARD}/players/id-bo.json")["points"] == -100
    rows = csv.DictReader(page_at(view, f"api/leaderboards/{BOARD}.csv").splitlines())
    assert {row["id"]: row["points"] for row in rows}["id-bo"] == "-100"
