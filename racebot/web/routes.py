"""Map every address to its content, for both the server and the export."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any

from racebot.chat.commands import Command
from racebot.standings.queries import hall_of_fame
from racebot.text.format import integer
from racebot.web.api.feeds import FEEDS
from racebot.web.api.routes import DATA
from racebot.web.html import player, search, templating
from racebot.web.html.compare import compare, compare_by_query
from racebot.web.html.embeds import EMBEDS
from racebot.web.html.explained import RACES as RECENT, board_figures
from racebot.web.html.leaderboard import leaderboard_page, older_race_pages, pager, race_span
from racebot.web.html.live import LIVE
from racebot.web.html.model_texts import WORDS
from racebot.web.html.race import race_page
from racebot.web.pictures import charts
from racebot.web.pictures.canvas import icon
from racebot.web.pictures.cards import CARDS
from racebot.web.site import addresses
from racebot.web.site.addresses import Route
from racebot.web.site.document import ICO, PNG, Content, Document
from racebot.web.site.ledger_view import Board, LedgerView
from racebot.web.site.look import ACCENTS, THEME, THEME_ICON, on_light, theme
from racebot.web.site.request import PageRequest

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

    def __init__(self, view: LedgerView, *, served: bool) -> None:
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
        content: Content = _CONTENT[route](PageRequest(self.view, path, known, self.served), **fields)
        return content


def _not_found(request: PageRequest) -> Content:
    if request.served:
        return None
    # A static host shows this page at any address, so its links cannot be relative.
    detail = f"{NO_PAGE} {NO_RACE}"
    return request.page("error.html", root=request.view.publication.url, text=NOT_FOUND, detail=detail)


def _picture(request: PageRequest, picture: str) -> Content:
    content = request.view.picture(picture)
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


def _favicon(request: PageRequest) -> Content:
    return Document(icon(32, "ICO", on_light(request.view.publication.look.accent)), ICO)


def _touch_icon(request: PageRequest) -> Content:
    return Document(icon(180, "PNG", on_light(request.view.publication.look.accent)), PNG)


def _front(request: PageRequest) -> Content:
    found = [(board, request.view.report(board)) for board in request.view.boards]
    shown = 10 if len(found) < 3 else 5
    categories = []
    for category, group in groupby(found, key=lambda pair: pair[0].category):
        pairs = sorted(
            group,
            key=lambda pair: pair[1].last_race_at.timestamp() if pair[1].last_race_at else 0.0,
            reverse=True,
        )
        latest = request.view.ledger.pages.races(pairs[0][0].key, shown - 2)
        categories.append((request.view.category_face(category), latest, pairs))
    live = len(request.view.live_rooms().rooms)
    updated = [moment for board, _ in found if (moment := request.view.updated_at(board)) is not None]
    return request.page(
        "front.html", updated=max(updated, default=None), categories=categories, shown=shown, live=live
    )


def _races(request: PageRequest, board: Board, number: int | None = None) -> Content:
    total = request.view.ledger.rated_count(board.stored)
    older = older_race_pages(total)
    if number is not None and not 1 <= number <= older:
        return None
    first, last = race_span(total, number)

    def page_link(position: int) -> str:
        target = board.address.races(None if position == 1 else older + 2 - position)
        return addresses.link(request.path, target)

    return request.board_page(
        "races.html",
        board,
        totals=request.view.totals(board) if number is None else None,
        total=total if number is None else None,
        first=first,
        last=last,
        races=request.view.ledger.pages.races(board.key, last - first + 1, total - last),
        pages=pager(1 if number is None else older + 2 - number, older + 1, page_link),
    )


def _explained(request: PageRequest, board: Board) -> Content:
    figures = board_figures(request.view, board)
    bars = figures.distribution
    graph = bars and charts.distribution(
        [(integer(low), count) for low, count in bars.bars], "Number of players by points"
    )
    commands = request.view.publication.commands
    return request.board_page(
        "explained.html",
        board,
        listing=board.listing,
        why=commands and commands.line(Command.WHY),
        ratings=commands and commands.line(Command.HELP),
        totals=request.view.totals(board),
        figures=figures,
        recent=RECENT,
        words=WORDS.get(board.stored.model, ()),
        graph=graph,
    )


def _fame(request: PageRequest, board: Board) -> Content:
    settled = request.view.publication.provisional_races
    fame = hall_of_fame(request.view.ledger, board.stored, settled=settled)
    return request.board_page("fame.html", board, totals=request.view.totals(board), fame=fame)


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
    addresses.SEARCH: search.search,
    addresses.SEARCH_INDEX: search.index,
    addresses.COMPARE: compare_by_query,
    addresses.COMPARED: compare,
    addresses.RACE: race_page,
    addresses.PLAYER_RACES: player.races,
    addresses.OLDER_PLAYER_RACES: player.races,
    addresses.OPPONENTS: player.opponents,
    addresses.MORE_OPPONENTS: player.opponents,
    addresses.PLAYER_ON_BOARD: player.on_board,
    addresses.PLAYER: player.on_all_boards,
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
"""Every address with its function, called with an `PageRequest` and the fields. The first match wins."""
