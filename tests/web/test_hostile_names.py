"""Names of players and leaderboards that try to break every page, card, feed and overlay."""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

import pytest
from builders import NOON, entrant, racer, result
from PIL import Image

from racebot import addresses
from racebot.addresses import BadQueryError, Route
from racebot.ledger.store import Ledger
from racebot.live_file import LiveBoard, LiveReport, LiveRoom, live_path, write_live
from racebot.queries.standings import Listing
from racebot.races.events import Event, EventSource, SourceKind
from racebot.races.rooms import RoomRule
from racebot.scoring.rules import rules_of
from racebot.standings.counting import RatingRules
from racebot.standings.settle import Settler
from racebot.web.html import leaderboard
from racebot.web.routes import Pages
from racebot.web.site.ledger_view import Document, LedgerView, Publication
from racebot.web.site.live_rooms import LiveReader

from .conftest import SIMPLE, Seen, document_at

NAMES = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onclick='alert(1)",
    "javascript:alert(1)",
    "{{ 7*7 }}",
    "]]>&amp;--><!--",
    "\u202egnp.exe",
    "\u2066\u202dleft",
    "ليلى العامرية",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466\U0001f3f3\ufe0f\u200d\U0001f308",
    "W" * 60,
    "Qx" * 150,
    "\u200b",
    "\x00\x08\x0b",
    "\ufffe\uffff",
    "a\nb\r\n\r\nevent: c\u2028d",
    "=HYPERLINK(1)",
    "../../api",
)
ROUTES = {name: route for name, route in vars(addresses).items() if isinstance(route, Route)}
PLAYERS = tuple(f"id-h{number}" for number in range(len(NAMES)))
GOAL = f"<img src=x onerror=alert(1)>\u202e]]> {'Zy' * 150}"
READ = {"alt", "aria-label", "content", "placeholder", "title"}
"""Attributes that people read."""
TURNING = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u200b\u200e\u200f")
"""Characters that change the direction of the text around them, or that nobody sees."""


@pytest.fixture
def view(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> LedgerView:
    """The pages of a season of two races between all names, with a name that is no better, and live rooms."""
    monkeypatch.setattr(leaderboard, "RACES_ON_A_PAGE", 1)
    field = [entrant(id_.removeprefix("id-"), time=place) for place, id_ in enumerate(PLAYERS, 1)]
    named = tuple(replace(each, name=name) for each, name in zip(field, NAMES, strict=True))
    races = [result(slug, entrants=named, goal=GOAL, after=after) for after, slug in enumerate(("a", "b"))]
    ended = replace(SIMPLE, rule=RoomRule(until=NOON + timedelta(days=1)))
    Settler(ledger, RatingRules(ended)).add_past_races(races, "import")
    event = Event("orb/event-e", GOAL, "orb", GOAL, NOON, NOON, NOON)
    ledger.events.save(event)
    remarks = tuple(("https://example.org/?a=<b>", name) for name in NAMES)
    ledger.events.save_source(EventSource(event.name, SourceKind.SHEET, GOAL, races[0], remarks))
    scored = Listing(scoring=rules_of("sgl-2025", cut=1))
    publication = Publication(lambda _: scored, url="https://ratings.example.org")
    view = LedgerView(ledger, publication, LiveReader(ledger.path), now=NOON + timedelta(days=9))
    (board,) = view.boards
    rows = tuple(racer(id_.removeprefix("id-"), name=name) for id_, name in zip(PLAYERS, NAMES, strict=True))
    now = datetime.now(UTC)
    boards = (LiveBoard(board.address.stem, GOAL, rows),)
    rooms = (
        LiveRoom("orb/live", "orb", GOAL, "open", now, None, None, now, boards),
        LiveRoom("orb/over", "orb", GOAL, "finished", now, now, now, now, boards),
    )
    write_live(live_path(ledger.path), LiveReport(now, rooms))
    return view


def documents(view: LedgerView, route: Route, number: int, *, served: bool) -> Iterator[tuple[str, Document]]:
    """Yield the documents of a route for some players, others for each number, with their addresses."""
    (board,) = view.boards
    few = not served or route.pattern.endswith(".png")  # to save time: tests of cards try all names
    fields = {
        "board": board.address.stem,
        "file": "style.css",
        "other": PLAYERS[3],
        "race": "orb/a",
        "category": "orb",
        "event": "orb/event-e",
    }
    fields |= {"picture": "0" * 24, "page": "1"}
    for player, name in list(zip(PLAYERS, NAMES, strict=True))[number % 5 :: 5][: 1 if few else None]:
        path = route.path(**fields, player=player)
        asked = {"q": name, "name": name, "a": player, "b": PLAYERS[3], "players": ",".join(PLAYERS)}
        for query in ({}, asked) if route.query & asked.keys() else ({},):
            with suppress(BadQueryError):
                found = Pages(view, served=served).document(path, query)
                if isinstance(found, Document):
                    yield f"{path}?{query}", found
        if "player" not in route.pattern and not route.query & asked.keys():
            return


def check_page(page: str, where: str) -> None:
    seen = Seen(page)
    for tag, attributes in seen.elements:
        assert not any(name.startswith("on") for name in attributes), where
        assert tag != "img" or "face" in str(attributes["class"]), where
        assert tag != "script" or "src" in attributes or attributes["type"] == "application/json", where
        assert not any(
            str(attributes.get(name)).startswith("javascript:") for name in ("href", "src", "action")
        )
        for name in READ & attributes.keys():
            value = attributes[name] or ""
            check_text("" if value.startswith("https://") else value, where)
    check_text(seen.text, where)


def check_text(text: str, where: str) -> None:
    assert not TURNING & set(text), where
    assert "Qx" * 101 not in text and "Zy" * 101 not in text, where


def check(document: Document, where: str) -> None:
    """Check that a document is well-formed, and that no name changes anything but the text of its place."""
    kind = document.media_type.partition(";")[0]
    if kind == "text/html":
        check_page(document.body.decode(), where)
    elif kind in {"image/svg+xml", "application/atom+xml"}:
        check_text("".join(ET.fromstring(document.body).itertext()), where)  # noqa: S314 - our own
    elif kind == "application/json":
        json.loads(document.body)
    elif kind == "text/csv":
        rows = list(csv.reader(io.StringIO(document.body.decode("utf-8-sig"), newline="")))
        assert len(rows) > 1 and len({len(row) for row in rows}) == 1, where
    elif kind == "text/javascript":
        check_text(document.body.decode(), where)
        json.loads(document.body.decode().partition("=")[2].rstrip(";\n"))
    elif kind.startswith("image/"):
        Image.open(io.BytesIO(document.body)).load()
    else:
        assert kind in {"text/css", "text/plain"}, where


def test_hostile_names_are_harmless_at_every_address(view: LedgerView) -> None:
    without = set(ROUTES)
    for served in (True, False):
        for number, (name, route) in enumerate(ROUTES.items()):
            for where, document in documents(view, route, number, served=served):
                check(document, where)
                without.discard(name)
    assert without == {"PICTURE", "SMALL_PICTURE"}, "avatars have no names"


def test_markup_in_a_name_is_shown_as_text(view: LedgerView) -> None:
    (board,) = view.boards
    for player, name in list(zip(PLAYERS, NAMES, strict=True))[:7]:
        page = document_at(view, board.address.player(player))
        assert name in Seen(page.body.decode()).text
