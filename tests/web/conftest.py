"""A small leaderboard to make pages of.

Points by `SIMPLE`, in which of two equal players the winner gains a tenth of 1,000:
a (day 0): Ann 1100, Bo 900. b (day 1): Cy 1200, Di 1000, Ed (unfinished) 800. c (day 10): Ann 1190, Bo 810.
"""

import asyncio
import json
import re
import socket
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest
import uvicorn
from builders import NOON, result
from PIL import Image

from racebot.ledger.store import Ledger
from racebot.queries.standings import Listing
from racebot.races.events import Event, EventSource, SourceKind
from racebot.races.result import RaceResult
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.settle import Settler
from racebot.web.pictures import fonts
from racebot.web.routes import MatchedRoute, Pages, match_of
from racebot.web.site.ledger_view import Board, Document, LedgerView, Publication

SIMPLE = LeaderboardConfig("pairwise-elo", {"initial_rating": 1.0, "dummy": None, "rates": [0.2]})
RACES = (result("a", "ann bo"), result("b", "cy di", dnf="ed", after=24), result("c", "ann bo", after=240))

PLAYER_PATHS = (
    *("players/{}.html", "players/{}/orb/any-orb.html", "players/{}/orb/any-orb/feed.xml"),
    *("players/{}/orb/any-orb/races.html", "players/{}/orb/any-orb/opponents.html"),
    "cards/players/{}/orb/any-orb.png",
    *("api/players/{}", "api/leaderboards/orb/any-orb/players/{}"),
)
"""Every kind of address of a player."""

Merge = Callable[..., LedgerView]


@asynccontextmanager
async def listening(server: uvicorn.Server) -> AsyncGenerator[int]:
    """Run a server on a free port, and yield the port."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        task = asyncio.create_task(server.serve(sockets=[bound]))
        yield bound.getsockname()[1]
        server.should_exit = True
        await task


def rate(ledger: Ledger, *races: RaceResult, config: LeaderboardConfig = SIMPLE) -> Settler:
    """Rate past races, and return what rated them."""
    settler = Settler(ledger, RatingRules(config))
    settler.add_past_races(races, "import")
    return settler


@pytest.fixture
def merge(ledger: Ledger) -> Merge:
    """Rate races and return a view of them, with any config, listing and settings of the pages."""

    def made(
        races: Iterable[RaceResult] = RACES,
        config: LeaderboardConfig = SIMPLE,
        listing: Listing | None = None,
        **facts: Any,
    ) -> LedgerView:
        rate(ledger, *races, config=config)
        return LedgerView(ledger, Publication(lambda _: listing or Listing(provisional_races=5), **facts))

    return made


@pytest.fixture
def view(merge: Merge) -> LedgerView:
    return merge()


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that cards have drawn."""
    texts: list[str] = []
    draw_text = fonts.draw_text

    def recorded(image: Image.Image, at: tuple[float, float], text: str, *style: Any) -> float:
        texts.append(text)
        return draw_text(image, at, text, *style)

    monkeypatch.setattr(fonts, "draw_text", recorded)
    return texts


@pytest.fixture
def board(view: LedgerView) -> Board:
    (board,) = view.boards
    return board


@pytest.fixture
def pages(view: LedgerView) -> Pages:
    """The pages as a server has them."""
    return Pages(view, served=True)


def at(path: str) -> MatchedRoute:
    """Return the address at a path."""
    match = match_of(path)
    assert match is not None, path
    return match


def document_at(
    view: LedgerView, path: str, query: Mapping[str, str] | None = None, *, served: bool = True
) -> Document:
    """Return the document at a path."""
    found = Pages(view, served=served).document(path, query or {})
    assert isinstance(found, Document), path
    return found


def page_at(view: LedgerView, path: str, *, served: bool = True, **query: str) -> str:
    return document_at(view, path, query, served=served).body.decode()


def data_at(view: LedgerView, path: str, *, served: bool = True, **query: str) -> Any:
    """Return the JSON at a path."""
    return json.loads(page_at(view, path, served=served, **query))


def text_at(view: LedgerView, path: str, *, served: bool = True, **query: str) -> str:
    """Return a page's visible text, in one line."""
    page = page_at(view, path, served=served, **query)
    words = re.sub(r"<(script|style|title).*?</\1>", "", page, flags=re.DOTALL)
    shown = " ".join(unescape(re.sub(r"<[^>]+>", " ", words)).split())
    return re.sub(r" ([.,:])", r"\1", shown)


class Seen(HTMLParser):
    """The elements and the text of a page as a browser sees them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def with_event(ledger: Ledger) -> None:
    ledger.events.save(Event("orb/event-one", "One", "orb", "Any Orb", NOON, NOON, NOON))
    source = "orb/event-one", SourceKind.ROOM, "orb/room", result("room", "ann bo"), ()
    ledger.events.save_source(EventSource(*source))
