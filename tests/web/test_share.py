"""Metadata for link previews."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest
from builders import result

from racebot.web.routes import Pages
from racebot.web.site.ledger_view import LedgerView
from racebot.web.site.request import PNG, Document

from .conftest import RACES, Merge, document_at

URL = "https://ratings.example.org/orb"
PLAYER = "players/id-ann/orb/any-orb.html"
RACE = "races/orb/c.html"
BOARD = "leaderboards/orb/any-orb.html"
EXPLAINED = "leaderboards/orb/any-orb/explained.html"


class Meta(HTMLParser):
    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self.feed(body.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = dict(attrs)
        for name in (facts.get("property"), facts.get("name")):
            if tag == "meta" and name:
                self.found[name] = facts.get("content") or ""


def meta(view: LedgerView, path: str, *, served: bool = True, **query: str) -> dict[str, str]:
    document = document_at(view, path, query, served=served)
    return Meta(document.body).found


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
    assert meta(view, "compare/id-bo/id-ann.html")["og:title"] == "Bo 0–2 Ann on Any Orb"


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
        ("compare/id-bo/id-ann.html", "2 races together. Chance to finish ahead next time: Bo "),
    ],
)
def test_description_holds_the_main_facts_of_its_page(merge: Merge, path: str, description: str) -> None:
    assert meta(merge(provisional_races=0), path)["og:description"].startswith(description)


def test_shared_address_is_that_of_the_page_as_it_is_shown(merge: Merge) -> None:
    view = merge(url=URL)
    assert "og:image" not in meta(merge(), RACE)
    shown = meta(view, "compare.html", a="id-bo", b="id-ann", utm_source="mail")
    assert shown["og:image"] == f"{URL}/cards/compare/id-bo/id-ann.png?on=orb%2Fany-orb"
    assert shown["og:url"] == f"{URL}/compare.html?a=id-bo&b=id-ann"
    assert meta(view, PLAYER.removesuffix(".html"))["og:url"] == f"{URL}/{PLAYER}"


def test_right_to_left_names_do_not_reorder_the_numbers_of_a_title(merge: Merge) -> None:
    race = result("a", "ann bo")
    view = merge([replace(race, entrants=(replace(race.entrants[0], name="ليلى"), race.entrants[1]))])
    isolated = "\N{FIRST STRONG ISOLATE}ليلى\N{POP DIRECTIONAL ISOLATE}"
    assert meta(view, PLAYER)["og:title"].startswith(f"{isolated}: 1100 points")
    for path in ("players/id-ann/orb/any-orb/feed.xml", "badges/id-ann.svg"):
        document = document_at(view, path)
        assert f"{isolated}: 1" in document.body.decode()


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
