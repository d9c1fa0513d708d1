"""Metadata for link previews."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from builders import result

from racebot.web.document import PNG, Document
from racebot.web.pages import Pages
from racebot.web.view import View

from .conftest import Merge

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


def meta(view: View, path: str, *, served: bool = True) -> dict[str, str]:
    document = Pages(view, served=served).document(path, {})
    assert isinstance(document, Document), path
    return Meta(document.body).found


def test_titles_and_descriptions_say_what_happened(merge: Merge) -> None:
    view = merge()
    race = meta(view, RACE)
    assert race["og:title"] == "Ann won c: 1100 → 1190"
    assert race["description"] == race["og:description"]
    assert race["og:description"].endswith("2 entrants · 1 Ann +90 · 2 Bo −90")
    assert meta(view, PLAYER)["og:title"] == "Ann: 1190 points, 2nd of 5 on Any Orb"
    assert meta(view, BOARD)["og:title"] == "Any Orb: Cy leads with 1200 points"


@pytest.mark.parametrize(
    "path", ["index.html", BOARD, PLAYER, RACE, "leaderboards/orb/any-orb/explained.html"]
)
@pytest.mark.parametrize("served", [True, False])
def test_every_page_names_a_card_that_exists(merge: Merge, path: str, served: bool) -> None:
    view = merge(url=URL)
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


def test_pages_without_a_known_address_name_no_card(view: View) -> None:
    assert "og:image" not in meta(view, RACE)
    assert meta(view, RACE)["og:title"]


def test_race_that_changed_no_rating_has_a_title_and_a_card(merge: Merge) -> None:
    view = merge([result("a", "ann bo"), result("alone", "ann", after=5)], url=URL)
    assert meta(view, "races/orb/alone.html")["og:title"].startswith("alone")
    assert meta(view, "races/orb/alone.html")["og:image"].endswith("cards/races/orb/alone.png")
