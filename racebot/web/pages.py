"""Map every address to its content, for both the server and the export."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any

from racebot.chat.commands import Command
from racebot.standings.queries import hall_of_fame
from racebot.text.format import integer
from racebot.web import addresses, charts, player_pages, search_page, templating
from racebot.web.addresses import Route
from racebot.web.asked import Asked
from racebot.web.canvas import icon
from racebot.web.cards import CARDS
from racebot.web.compare_page import compare, compare_by_query
from racebot.web.data import DATA
from racebot.web.document import ICO, PNG, Content, Document
from racebot.web.embeds import EMBEDS
from racebot.web.feeds import FEEDS
from racebot.web.figures import RACES as RECENT, board_figures
from racebot.web.listing_page import leaderboard_page, older_race_pages, pager, race_span
from racebot.web.live_pages import LIVE
from racebot.web.look import ACCENTS, THEME, THEME_ICON, on_light, theme
from racebot.web.race_page import race_page
from racebot.web.view import Board, View
from racebot.web.words import WORDS

WEBP = "image/webp"
NOT_FOUND = "Page not found."
NO_PAGE = "The address may have a typo, or the page may be gone."
NO_RACE = "A race's page appears once the race is recorded and rated."
"""Shown for a race without a page. Buttons in chat link the page before it exists."""


class Pages:
    """Renders all pages and data from one snapshot of the ledger.

    Args:
        view: the snapshot.
        served: True for a server, which can search, sort and page lists; False for an export, whose files
            hold complete lists.
    """

    def __init__(self, view: View, *, served: bool) -> None:
        self.view = view
        self.served = served

    def document(self, path: str, query: Mapping[str, str]) -> Content:
        """Return the content at a path, or None if there is none.

        Raises:
            BadQueryError: the query string is invalid.
        """
        if path in templating.ASSETS:
            return Document(templating.asset(path), templating.ASSETS[path])
        if path in (THEME, THEME_ICON):
            return _themed(path, self.view.publication.look.accent)
        if path == addresses.NO_JEKYLL:
            return None if self.served else Document(b"")
        found = route_of(path)
        if found is None:
            return None
        route, fields = found
        path = route.path(**fields)  # an address has several spellings, and links and ids must be the same
        if "board" in fields:
            fields["board"] = self.view.board(fields["board"])
            if fields["board"] is None:
                return None
        known = route.known(query) if self.served else {}
        content: Content = _CONTENT[route](Asked(self.view, path, known, self.served), **fields)
        return content


def _not_found(asked: Asked) -> Content:
    if asked.served:
        return None
    # A static host shows this page at any address, so its links cannot be relative.
    detail = f"{NO_PAGE} {NO_RACE}"
    return asked.page("error.html", root=asked.view.publication.url, text=NOT_FOUND, detail=detail)


def _picture(asked: Asked, picture: str) -> Content:
    content = asked.view.picture(picture)
    return None if content is None else Document(content, WEBP)


def _themed(path: str, accent: str) -> Content:
    """Return a file of the operator's color, None without one."""
    if not accent:
        return None
    if path == THEME:
        return Document(theme(accent), templating.ASSETS[templating.STYLE])
    own = templating.asset(templating.ICON)
    icon_type = templating.ASSETS[templating.ICON]
    return Document(own.replace(ACCENTS["light"].encode(), on_light(accent).encode()), icon_type)


def _favicon(asked: Asked) -> Content:
    return Document(icon(32, "ICO", on_light(asked.view.publication.look.accent)), ICO)


def _touch_icon(asked: Asked) -> Content:
    return Document(icon(180, "PNG", on_light(asked.view.publication.look.accent)), PNG)


def _front(asked: Asked) -> Content:
    found = [(board, asked.view.report(board)) for board in asked.view.boards]
    shown = 10 if len(found) < 3 else 5
    categories = []
    for category, group in groupby(found, key=lambda pair: pair[0].category):
        pairs = sorted(
            group,
            key=lambda pair: pair[1].last_race_at.timestamp() if pair[1].last_race_at else 0.0,
            reverse=True,
        )
        latest = asked.view.ledger.pages.races(pairs[0][0].key, shown - 2)
        categories.append((asked.view.category_face(category), latest, pairs))
    live = len(asked.view.live_rooms().rooms)
    updated = [moment for board, _ in found if (moment := asked.view.updated_at(board)) is not None]
    return asked.page(
        "front.html", updated=max(updated, default=None), categories=categories, shown=shown, live=live
    )


def _races(asked: Asked, board: Board, number: int | None = None) -> Content:
    total = asked.view.ledger.rated_count(board.stored)
    older = older_race_pages(total)
    if number is not None and not 1 <= number <= older:
        return None
    first, last = race_span(total, number)

    def page_link(position: int) -> str:
        target = board.address.races(None if position == 1 else older + 2 - position)
        return addresses.link(asked.path, target)

    return asked.board_page(
        "races.html",
        board,
        totals=asked.view.totals(board) if number is None else None,
        total=total if number is None else None,
        first=first,
        last=last,
        races=asked.view.ledger.pages.races(board.key, last - first + 1, total - last),
        pages=pager(1 if number is None else older + 2 - number, older + 1, page_link),
    )


def _explained(asked: Asked, board: Board) -> Content:
    figures = board_figures(asked.view, board)
    bars = figures.distribution
    graph = bars and charts.distribution(
        [(integer(low), count) for low, count in bars.bars], "Number of players by points"
    )
    commands = asked.view.publication.commands
    return asked.board_page(
        "explained.html",
        board,
        listing=board.listing,
        why=commands and commands.line(Command.WHY),
        ratings=commands and commands.line(Command.HELP),
        totals=asked.view.totals(board),
        figures=figures,
        recent=RECENT,
        words=WORDS.get(board.stored.model, ()),
        graph=graph,
    )


def _fame(asked: Asked, board: Board) -> Content:
    settled = asked.view.publication.provisional_races
    fame = hall_of_fame(asked.view.ledger, board.stored, settled=settled)
    return asked.board_page("fame.html", board, totals=asked.view.totals(board), fame=fame)


def route_of(path: str) -> tuple[Route, dict[str, Any]] | None:
    """Return the route that matches a path, and the values of its fields.

    An empty path means the front page. `.html` may be left out, and `.json` below `api/`.
    """
    path = _INDEXES.get(path, path)
    ending = ".json" if path.startswith("api/") else ".html"
    for each in (path, path + ending):
        for route in _CONTENT:
            if (fields := route.match(each)) is not None:
                return route, fields
    return None


_INDEXES = {
    "": addresses.FRONT.pattern,
    "api": addresses.API_DATA.pattern,
    "api/": addresses.API_DATA.pattern,
}

_CONTENT: Mapping[Route, Callable[..., Content]] = {
    addresses.FRONT: _front,
    addresses.NOT_FOUND: _not_found,
    addresses.FAVICON: _favicon,
    addresses.TOUCH_ICON: _touch_icon,
    addresses.PICTURE: _picture,
    addresses.SEARCH: search_page.search,
    addresses.SEARCH_INDEX: search_page.index,
    addresses.COMPARE: compare_by_query,
    addresses.COMPARED: compare,
    addresses.RACE: race_page,
    addresses.PLAYER_RACES: player_pages.races,
    addresses.OLDER_PLAYER_RACES: player_pages.races,
    addresses.OPPONENTS: player_pages.opponents,
    addresses.MORE_OPPONENTS: player_pages.opponents,
    addresses.PLAYER_ON_BOARD: player_pages.on_board,
    addresses.PLAYER: player_pages.on_all_boards,
    addresses.BOARD_PAGE: leaderboard_page,
    addresses.RACES_PAGE: _races,
    addresses.RACES: _races,
    addresses.EXPLAINED: _explained,
    addresses.FAME: _fame,
    addresses.BOARD: leaderboard_page,
    **DATA,
    **LIVE,
    **CARDS,
    **FEEDS,
    **EMBEDS,
}
"""Every address with its function, called with an `Asked` and the fields. The first match wins."""
