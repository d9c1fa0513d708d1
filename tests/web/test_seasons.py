"""Pages of a season that ended, beside a leaderboard under way."""

import re
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from builders import NOON, result

from racebot.ledger.store import Ledger
from racebot.queries.standings import Listing
from racebot.races.result import RaceResult
from racebot.races.rooms import RoomRule
from racebot.scoring.rules import rules_of
from racebot.standings.counting import RatingRules
from racebot.standings.settle import Settler
from racebot.web.export import export
from racebot.web.export_tokens import export_tokens
from racebot.web.http.cache import CachedPages
from racebot.web.routes import Pages
from racebot.web.site.ledger_view import Document, LedgerView, Publication

from .conftest import RACES, SIMPLE, at, data_at, page_at

BOARD = "leaderboards/orb/s8"
PAGE = f"{BOARD}.html"
FINAL = datetime(2026, 3, 23, tzinfo=UTC)
"""The midnight after a day after the end."""
LATER = FINAL + timedelta(days=400)
SEASON = replace(SIMPLE, name="S8", goals=("Any Orb",), rule=RoomRule(until=NOON + timedelta(days=20)))
RUNNING = replace(result("new", "ann di", after=300), goal="New Orb")
PUBLICATION = Publication(lambda _: Listing(inactive_days=30))


@pytest.fixture
def settler(ledger: Ledger) -> Settler:
    settler = Settler(ledger, RatingRules(SIMPLE, (SEASON,)))
    settler.add_past_races([*RACES, RUNNING], "import")
    return settler


def seen(settler: Settler, now: datetime = LATER) -> LedgerView:
    return LedgerView(settler.ledger, PUBLICATION, now=now)


def settle(settler: Settler, race: RaceResult, now: datetime) -> None:
    assert settler.settle(race, now)


def test_pages_of_a_final_season_never_change_by_themselves(settler: Settler) -> None:
    found = []
    for now in (FINAL, LATER):
        pages = Pages(seen(settler, now), served=False)
        documents = {path: pages.document(path, {}) for path in export_tokens(pages.view, [])}
        found.append({path: each.body for path, each in documents.items() if isinstance(each, Document)})
    assert len(found[0]) > 50
    assert found[0] == found[1]
    assert b"last race" not in found[0][PAGE].partition(b"<nav")[0]
    assert page_at(seen(settler, FINAL - timedelta(seconds=1)), PAGE).encode() != found[0][PAGE]


def test_export_renders_a_season_once_when_it_is_final(settler: Settler, tmp_path: Path) -> None:
    counts = [
        export(settler.ledger, PUBLICATION, tmp_path / "public", now=now).written
        for now in (FINAL - timedelta(hours=1), FINAL, LATER)
    ]
    assert counts[1] > 0
    assert counts[2] == 0


def test_server_shows_the_final_page_from_midnight(settler: Settler) -> None:
    times = [FINAL - timedelta(seconds=1)]

    def is_final(library: CachedPages) -> bool:
        document = library.document(at(PAGE), {})
        assert isinstance(document, Document)
        return b"final</span> since" in document.body

    with closing(CachedPages(settler.ledger.path, PUBLICATION, lambda: times[-1])) as library:
        assert not is_final(library)
        times.append(FINAL)
        assert is_final(library)


def medals(page: str, table: str) -> list[tuple[str, str]]:
    part = page.partition(f'<table class="{table}')[2].partition("</table>")[0]
    return re.findall(r"<span class=\"hidden\">, (\w+) medal</span>.*?<bdi>(\w+)</bdi>", part, re.DOTALL)


def test_first_three_have_medals_in_the_table_that_decides(settler: Settler) -> None:
    podium = [("gold", "Cy"), ("silver", "Ann"), ("bronze", "Di")]
    assert medals(page_at(seen(settler), PAGE), "board") == podium
    assert medals(page_at(seen(settler, NOON), PAGE), "board") == []
    scored = Publication(lambda _: Listing(scoring=rules_of("sgl-2025")))
    page = page_at(LedgerView(settler.ledger, scored, now=LATER), PAGE)
    assert medals(page, "board") == []
    assert [metal for metal, _ in medals(page, "league")][:1] == ["gold"]


def test_front_page_lists_ended_seasons_below_those_under_way(settler: Settler) -> None:
    page = page_at(seen(settler), "index.html")
    running, _, more = page.partition("1 more leaderboard")
    assert "New Orb" in running and not re.search(r"<h3><a[^>]*>S8", page)
    assert re.search(r">S8</a> <span class=\"tag\">final<", more)


def test_newest_season_has_a_card_while_none_is_under_way(settler: Settler) -> None:
    settler.ledger.leaderboards.remove(next(b for b in settler.ledger.leaderboards.all() if b.name != "S8"))
    page = page_at(seen(settler), "index.html")
    assert "Full leaderboard" in page and "Seasons that ended" not in page


def test_player_page_has_a_line_for_each_of_their_seasons(settler: Settler) -> None:
    page = page_at(seen(settler), "players/id-ann/orb/s8.html")
    lines = page.partition('id="boards"')[2].partition("</nav>")[0].split("<li>")[1:]
    plain = [re.sub(r"<.*?>", " ", line).split() for line in lines]
    assert plain == [
        ["New", "Orb", "1st", "of", "2,", "1", "race", "1100"],
        ["S8", "final", "2nd", "of", "5,", "2", "races", "1190"],
    ]
    assert 'aria-current="page">S8' in lines[1]


def test_player_pages_of_an_export_follow_the_players_other_leaderboards(settler: Settler) -> None:
    path = "players/id-di/orb/s8.html"
    before = export_tokens(seen(settler), [])[path]
    settle(settler, replace(result("new2", "di ann", after=310), goal="New Orb"), NOON + timedelta(hours=310))
    assert export_tokens(seen(settler), [])[path] != before


def test_api_says_since_when_a_season_is_final(settler: Settler) -> None:
    summaries = data_at(seen(settler), "api/leaderboards.json")["leaderboards"]
    assert {each["leaderboard"]: each["final_since"] for each in summaries} == {
        "New Orb": None,
        "S8": "2026-03-23T00:00:00+00:00",
    }
    assert data_at(seen(settler), f"api/{BOARD}")["final_since"] == "2026-03-23T00:00:00+00:00"
