"""The recap of a season that ended: its page and feed entry, once the season is final."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

from builders import NOON, result

from racebot.ledger.store import Ledger
from racebot.races.result import RaceResult
from racebot.races.rooms import RoomRule
from racebot.standings import orders
from racebot.web.export import export
from racebot.web.routes import Pages
from racebot.web.site.ledger_view import LedgerView, Publication

from .conftest import RACES, SIMPLE, page_at, rate

BOARD = "leaderboards/orb/any-orb"
PAGE = f"{BOARD}/recap.html"
URL = "https://ratings.example.org"
UNTIL = NOON + timedelta(days=20)
FINAL = datetime(2026, 3, 23, tzinfo=UTC)
"""The midnight after a day after the end."""
SEASON = replace(SIMPLE, rule=RoomRule(until=UNTIL), name="Any Orb")


def view_of(ledger: Ledger, races: Sequence[RaceResult] = RACES, now: datetime = FINAL) -> LedgerView:
    if races:
        rate(ledger, *races, config=SEASON)
    return LedgerView(ledger, Publication(url=URL), now=now)


def test_page_shows_the_podium_and_the_places_and_links_every_race(ledger: Ledger) -> None:
    view = view_of(ledger)
    page = page_at(view, PAGE)
    podium = page.partition('aria-labelledby="podium"')[2].partition("</section>")[0]
    assert re.findall("<bdi>(.*?)</bdi>", podium) == ["Cy", "Ann", "Di"]
    assert page.count('<path class="course ') == 5
    assert set(re.findall(r"races/orb/(\w+)\.html", page)) == {"a", "b", "c"}
    assert f'<meta property="og:image" content="{URL}/cards/{BOARD}.png">' in page
    assert 'aria-current="page">Recap</a>' in page and 'recap.html">Recap</a>' in page_at(
        view, f"{BOARD}.html"
    )


def test_before_a_season_is_final_it_has_no_recap(ledger: Ledger, tmp_path: Path) -> None:
    view = view_of(ledger, now=FINAL - timedelta(seconds=1))
    assert Pages(view, served=True).document(PAGE, {}) is None
    assert "Recap" not in page_at(view, f"{BOARD}.html") and "is over" not in page_at(
        view, f"{BOARD}/feed.xml"
    )
    for now, exists in ((view.now, False), (FINAL, True)):
        export(ledger, Publication(), tmp_path / "pages", now=now)
        assert (tmp_path / "pages" / PAGE).exists() is exists


def test_feed_has_one_entry_of_the_end_whose_id_and_date_stay(ledger: Ledger) -> None:
    def entries() -> list[list[str | None]]:
        view = view_of(ledger, (), FINAL + timedelta(days=9))
        feed = ET.fromstring(page_at(view, f"{BOARD}/feed.xml"))  # noqa: S314 - our own
        tags = ("title", "summary", "id", "updated")
        found = [[each.findtext(f"{{*}}{tag}") for tag in tags] for each in feed.findall("{*}entry")]
        return [each for each in found if "is over" in str(each[0])]

    view_of(ledger)
    ((title, summary, identity, updated),) = entries()
    assert (title, summary) == ("Any Orb is over: Cy won", "1 Cy 1200, 2 Ann 1190, 3 Di 1000")
    assert updated == "2026-03-23T00:00:00Z"
    rate(ledger, result("c", "bo ann", after=240), config=SEASON)  # edited later
    ((_, edited, *later),) = entries()
    assert (edited, later) == ("1 Cy 1200, 2 Bo 1010, 3 Di 1000", [identity, updated])


def test_hidden_players_are_in_no_recap(ledger: Ledger) -> None:
    settler = rate(ledger, *RACES, config=SEASON)
    orders.hide(settler, ledger.players.find("Cy"), "", NOON)
    with Ledger.open_to_publish(ledger.path) as published:
        view = view_of(published, ())
        texts = (page_at(view, PAGE), page_at(view, f"{BOARD}/feed.xml"))
    assert not [text for text in texts if re.search(r"\bCy\b|id-cy", text)]


def test_season_without_listed_players_has_an_empty_recap(ledger: Ledger) -> None:
    view = view_of(ledger, [result("alone", "ann")])  # changes no rating
    assert "No player is listed yet." in page_at(view, PAGE)
    assert "<title>Any Orb is over</title>" in page_at(view, f"{BOARD}/feed.xml")
