"""Atom feeds and the metadata of link previews."""

from dataclasses import replace
from datetime import timedelta
from xml.etree import ElementTree as ET

import pytest
from builders import NOON, result

from racebot.ledger.store import Ledger
from racebot.queries.standings import Listing
from racebot.web.routes import Pages
from racebot.web.site.ledger_view import PNG, Document, LedgerView, Publication

from .conftest import RACES, Merge, Seen, page_at, rate

ATOM = "{http://www.w3.org/2005/Atom}"
BOARD_FEED = "leaderboards/orb/any-orb/feed.xml"
PLAYER_FEED = "players/id-ann/orb/any-orb/feed.xml"


def feed(view: LedgerView, path: str) -> ET.Element:
    return ET.fromstring(page_at(view, path))  # noqa: S314 - our own


def texts(element: ET.Element, tag: str) -> list[str]:
    return [found.text or "" for found in element.iter(f"{ATOM}{tag}")]


def test_feed_of_a_leaderboard_has_its_last_races(view: LedgerView) -> None:
    found = feed(view, BOARD_FEED)
    races = ["Ann won c, 2 of 2 finished", "Cy won b, 2 of 3 finished", "Ann won a, 2 of 2 finished"]
    assert texts(found, "title") == ["Any Orb", *races]
    assert texts(found, "updated")[:2] == [RACES[2].ended_at.strftime("%Y-%m-%dT%H:%M:%SZ")] * 2


def test_feed_of_a_player_tells_who_passed_them(merge: Merge) -> None:
    # Bo, at 900, is passed by Ed, who has 800 before and 1000 after a win against Cy, at 1200.
    view = merge((*RACES[:2], result("d", "ed cy", after=48)))
    found = feed(view, "players/id-bo/orb/any-orb/feed.xml")
    assert texts(found, "title")[1:] == ["Ed passed Bo", "Bo: 1000 → 900 (−100), 2 of 2 in a"]
    assert len(set(texts(found, "id"))) == 3
    assert "passed" not in "".join(texts(feed(view, "players/id-cy/orb/any-orb/feed.xml"), "title"))


def test_feed_of_a_player_has_the_changes(view: LedgerView) -> None:
    found = feed(view, PLAYER_FEED)
    assert texts(found, "title")[1:] == [
        "Ann: 1100 → 1190 (+90), 1 of 2 in c",
        "Ann: 1000 → 1100 (+100), 1 of 2 in a",
    ]
    (unfinished,) = texts(feed(view, "players/id-ed/orb/any-orb/feed.xml"), "title")[1:]
    assert unfinished.endswith(", DNF in b")
    assert Pages(view, served=True).document("players/id-nobody/orb/any-orb/feed.xml", {}) is None


def test_entries_of_a_feed_sum_up_the_race(view: LedgerView) -> None:
    assert texts(feed(view, BOARD_FEED), "summary") == [
        "Any Orb, 11 Mar 2026 · 1 Ann 1190 (+90), 2 Bo 810 (−90)",
        "Any Orb, 2 Mar 2026 · 1 Cy 1200 (+200), 2 Di 1000 (±0); did not finish: Ed 800 (−200)",
        "Any Orb, 1 Mar 2026 · 1 Ann 1100 (+100), 2 Bo 900 (−100)",
    ]
    of_bo = texts(feed(view, "players/id-bo/orb/any-orb/feed.xml"), "summary")
    assert of_bo == [f"Any Orb, {day} Mar 2026 · 1:01:00, won by Ann" for day in (11, 1)]
    assert texts(feed(view, PLAYER_FEED), "summary")[0].endswith(" · 1:00:00")


def test_summary_of_a_large_race_names_the_first_racers(merge: Merge) -> None:
    view = merge([result("big", " ".join(f"p{number}" for number in range(12)), dnf="ann")])
    (summary,) = texts(feed(view, BOARD_FEED), "summary")
    assert "10 P9 " in summary and "P10" not in summary and summary.endswith("; and 3 more")


@pytest.mark.parametrize("path", [BOARD_FEED, PLAYER_FEED])
def test_race_recorded_late_is_no_older_than_the_races_recorded_before_it(ledger: Ledger, path: str) -> None:
    settler = rate(ledger)
    for race in (result("late", "ann bo", after=5), result("early", "ann bo", after=3)):
        settler.settle(race, NOON)
    found = feed(LedgerView(ledger, Publication()), path)
    updated, published = texts(found, "updated"), texts(found, "published")
    assert updated[0] == updated[1] >= updated[2]
    assert published[0] < published[1]


@pytest.mark.parametrize("path", [BOARD_FEED, PLAYER_FEED])
def test_corrected_race_is_updated_when_it_was_corrected(ledger: Ledger, path: str) -> None:
    settler = rate(ledger)
    for race in (result("a", "ann bo"), result("b", "ann bo", after=1)):
        settler.settle(race, NOON + timedelta(hours=1))
    settler.settle(result("a", "bo ann"), NOON + timedelta(hours=5))
    first, last = ((NOON + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ") for hours in (1, 5))
    assert texts(feed(LedgerView(ledger, Publication()), path), "updated") == [last, first, last]


def test_feeds_have_all_that_the_standard_requires(merge: Merge) -> None:
    for path in (BOARD_FEED, PLAYER_FEED):
        found = feed(merge(url="https://ratings.example.org/orb"), path)
        for element in (found, *found.iter(f"{ATOM}entry")):
            for tag in ("id", "title", "updated"):
                assert len(element.findall(f"{ATOM}{tag}")) == 1
        ids = texts(found, "id")
        assert len(set(ids)) == len(ids) and all(each.startswith("urn:uuid:") for each in ids)
        links = [each.attrib for each in found.iter(f"{ATOM}link")]
        assert {each["rel"] for each in links} == {"self", "alternate"}
        assert all(each["href"].startswith("https://ratings.example.org/orb/") for each in links)
        assert found.find(f"{ATOM}author/{ATOM}name") is not None


def test_feed_without_an_address_of_the_pages_links_rooms(view: LedgerView) -> None:
    links = [each.attrib["href"] for each in feed(view, PLAYER_FEED).iter(f"{ATOM}link")]
    assert links == ["https://racetime.gg/orb/c", "https://racetime.gg/orb/a"]


def test_ids_of_a_feed_do_not_depend_on_its_address(merge: Merge) -> None:
    here, there = (feed(merge(url=url), BOARD_FEED) for url in ("", "https://x.example"))
    assert texts(here, "id") == texts(there, "id")


# Link previews

URL = "https://ratings.example.org/orb"
PLAYER = "players/id-ann/orb/any-orb.html"
RACE = "races/orb/c.html"
BOARD = "leaderboards/orb/any-orb.html"
EXPLAINED = "leaderboards/orb/any-orb/explained.html"


def meta(view: LedgerView, path: str, *, served: bool = True, **query: str) -> dict[str, str]:
    elements = Seen(page_at(view, path, served=served, **query)).elements
    tags = [facts for tag, facts in elements if tag == "meta"]
    names = [(tag[key], tag) for tag in tags for key in ("property", "name") if key in tag]
    return {str(name): tag.get("content") or "" for name, tag in names}


def test_titles_and_descriptions_say_what_happened(merge: Merge) -> None:
    view = merge()
    race = meta(view, RACE)
    assert race["og:title"] == "Ann won c: 1100 → 1190"
    assert race["description"] == race["og:description"]
    assert race["og:description"].endswith("2 entrants · 1 Ann +90 · 2 Bo −90")
    assert meta(view, PLAYER)["og:title"] == "Ann: 1190 points, 2nd of 5 on Any Orb"
    assert meta(view, BOARD)["og:title"] == "Any Orb: Cy leads with 1200 points"
    assert meta(view, BOARD, at="2026-03-01")["og:title"] == "Any Orb on 1 Mar 2026: Ann led with 1100 points"
    assert meta(view, "players/id-ann.html")["og:title"] == "Ann: 1190 points on Any Orb"
    assert meta(view, "players/id-bo/orb/any-orb.html", vs="id-ann")["og:title"] == "Bo 0–2 Ann on Any Orb"


@pytest.mark.parametrize(
    ("path", "description"),
    [
        ("index.html", "Any Orb: Cy leads with 1200 points"),
        (BOARD, "1 Cy 1200 · 2 Ann 1190 · 3 Di 1000"),
        ("leaderboards/orb/any-orb/races.html", "3 races · Ann won c, 2 of 2 finished · Cy won b, 2 of 3"),
        ("leaderboards/orb/any-orb/fame.html", "Highest rating: Cy 1200 · Most wins in a row: Ann 2"),
        ("players/id-ann.html", "Any Orb: 1190 points, place 2 of 5"),
        ("players/id-ann/orb/any-orb/races.html", "2 races · 1 of 2 in c +90 · 1 of 2 in a +100"),
        ("players/id-ann/orb/any-orb/opponents.html", "1 opponent · 2–0 Bo"),
    ],
)
def test_description_holds_the_main_facts_of_its_page(merge: Merge, path: str, description: str) -> None:
    assert meta(merge(listing=Listing()), path)["og:description"].startswith(description)


def test_shared_address_is_that_of_the_page_as_it_is_shown(merge: Merge) -> None:
    view = merge(url=URL)
    assert "og:image" not in meta(merge(), RACE)
    shown = meta(view, "players/id-bo/orb/any-orb.html", vs="id-ann", utm_source="mail")
    assert shown["og:url"] == f"{URL}/players/id-bo/orb/any-orb.html?vs=id-ann"
    assert shown["description"].startswith("2 races together. Chance to finish ahead next time: Bo ")
    assert meta(view, PLAYER.removesuffix(".html"))["og:url"] == f"{URL}/{PLAYER}"


def test_right_to_left_names_do_not_reorder_the_numbers_of_a_title(merge: Merge) -> None:
    race = result("a", "ann bo")
    view = merge([replace(race, entrants=(replace(race.entrants[0], name="ليلى"), race.entrants[1]))])
    isolated = "\N{FIRST STRONG ISOLATE}ليلى\N{POP DIRECTIONAL ISOLATE}"
    assert meta(view, PLAYER)["og:title"].startswith(f"{isolated}: 1100 points")
    assert f"{isolated}: 1" in page_at(view, PLAYER_FEED)


@pytest.mark.parametrize("path", ["index.html", BOARD, PLAYER, RACE, "races/orb/alone.html", EXPLAINED])
@pytest.mark.parametrize("served", [True, False])
def test_every_page_names_a_card_that_exists(merge: Merge, path: str, served: bool) -> None:
    view = merge([*RACES, result("alone", "ann", after=5)], url=URL)
    found = meta(view, path, served=served)
    assert found["og:url"] == (f"{URL}/" if path == "index.html" else f"{URL}/{path}")
    assert (found["og:image:width"], found["og:image:height"]) == ("1200", "630")
    assert found["twitter:card"] == "summary_large_image"
    image = found["og:image"].removeprefix(f"{URL}/")
    card = Pages(view, served=served).document(image, {})
    assert isinstance(card, Document) and card.media_type == PNG


def test_pages_use_their_leaderboards_card_unless_all_cards_exist(merge: Merge) -> None:
    own = {PLAYER: "cards/players/id-ann/orb/any-orb.png", RACE: "cards/races/orb/c.png"}
    for path, card in own.items():
        assert meta(merge(url=URL), path)["og:image"] == f"{URL}/{card}"
        assert meta(merge(url=URL, export_cards=True), path, served=False)["og:image"] == f"{URL}/{card}"
        board = f"{URL}/cards/leaderboards/orb/any-orb.png"
        assert meta(merge(url=URL), path, served=False)["og:image"] == board
