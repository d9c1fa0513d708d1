"""Map every address to its content, for both the server and the export."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any

from racebot.web import addresses, charts, templating
from racebot.web.addresses import Route
from racebot.web.cards import CARDS
from racebot.web.data import DATA
from racebot.web.document import Content, Document
from racebot.web.embeds import EMBEDS
from racebot.web.feeds import FEEDS
from racebot.web.figures import RACES as RECENT, board_figures
from racebot.web.listing_page import leaderboard_page, pager
from racebot.web.live_pages import LIVE
from racebot.web.player_page import player_figures
from racebot.web.view import Asked, Board, View
from racebot.web.words import WORDS

RACES_ON_A_PAGE = 100
LAST_RACES = 50
"""Of a player."""
OPPONENTS = 25


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
        if path == addresses.NO_JEKYLL:
            return None if self.served else Document(b"")
        found = route_of(path)
        if found is None:
            return None
        route, fields = found
        if "board" in fields:
            fields["board"] = self.view.board(fields["board"])
            if fields["board"] is None:
                return None
        known = route.known(query) if self.served else {}
        content: Content
        if route in _OTHERS:
            content = _OTHERS[route](Asked(self.view, path, known, self.served), **fields)
        else:
            content = _PAGES[route](self, path, known, **fields)
        return content

    # Pages

    def _not_found(self, path: str, query: Mapping[str, str]) -> Content:
        del query
        if self.served:
            return None
        # A static host shows this page at any address, so its links cannot be relative.
        root = self.view.publication.url
        return Document(templating.render("error.html", path, root=root, text="Page not found."))

    def _front(self, path: str, query: Mapping[str, str]) -> Content:
        del query
        found = [(board, self.view.report(board)) for board in self.view.boards]
        categories = [
            (
                category,
                sorted(
                    group,
                    key=lambda pair: pair[1].last_race_at.timestamp() if pair[1].last_race_at else 0.0,
                    reverse=True,
                ),
            )
            for category, group in groupby(found, key=lambda pair: pair[0].category)
        ]
        shown = 10 if len(found) < 3 else 5
        live = self._live_rooms()
        body = templating.render("front.html", path, categories=categories, shown=shown, live=live)
        return Document(body)

    def _live_rooms(self) -> int:
        """Return the number of open rooms; 0 in an export."""
        return len(self.view.live.rooms().rooms) if self.view.live else 0

    def _board(self, path: str, query: Mapping[str, str], board: Board, number: int = 1) -> Content:
        body = leaderboard_page(board, self.view.report(board), path, number, query, self.served)
        return None if body is None else Document(body)

    def _races(self, path: str, query: Mapping[str, str], board: Board, number: int | None = None) -> Content:
        del query
        total = self.view.ledger.rated_count(board.stored)
        older = older_race_pages(total)
        if number is not None and not 1 <= number <= older:
            return None
        first, last = race_span(total, number)

        def page_link(position: int) -> str:
            target = board.address.races(None if position == 1 else older + 2 - position)
            return addresses.link(path, target)

        body = templating.render(
            "races.html",
            path,
            board=board,
            total=total if number is None else None,
            first=first,
            last=last,
            races=self.view.ledger.pages.races(board.key, last - first + 1, total - last),
            pages=pager(1 if number is None else older + 2 - number, older + 1, page_link),
        )
        return Document(body)

    def _explained(self, path: str, query: Mapping[str, str], board: Board) -> Content:
        del query
        figures = board_figures(self.view, board)
        bars = figures.distribution
        graph = bars and charts.distribution(
            [(str(low), count) for low, count in bars.bars], "Number of players by points"
        )
        body = templating.render(
            "explained.html",
            path,
            board=board,
            figures=figures,
            recent=RECENT,
            provisional_races=self.view.publication.provisional_races,
            words=WORDS.get(board.stored.model, ()),
            graph=graph,
        )
        return Document(body)

    def _player_on_board(self, path: str, query: Mapping[str, str], board: Board, player: str) -> Content:
        del query
        standing = self.view.standing(board, player)
        if standing is None:
            return None
        history = self.view.history(board, player)
        opponents = self.view.opponents(board, player)
        figures = player_figures(self.view, history)
        graph = None
        if len(history) > 1:
            name = templating.shown_name(standing.name)
            first, last = (templating.day(history[i].ended_at) for i in (0, -1))
            graph = charts.ratings(
                [race.ended_at for race in history],
                [race.after for race in history],
                f"Rating of {name} from {first} to {last}: now {standing.points} points, "
                f"highest {figures.peak.after}",
            )
        body = templating.render(
            "player.html",
            path,
            board=board,
            standing=standing,
            figures=figures,
            graph=graph,
            most=max(row.races for row in figures.places),
            opponents=opponents[:OPPONENTS],
            all_opponents=len(opponents),
            races=history[: -LAST_RACES - 1 : -1],
            all_races=len(history),
            others=len(self.view.standings(player)) - 1,
            provisional_races=self.view.publication.provisional_races,
            site=self.view.publication.site,
            as_of=None if self.served else self.view.report(board).last_race_at,
        )
        return Document(body)

    def _player(self, path: str, query: Mapping[str, str], player: str) -> Content:
        del query
        standings = self.view.standings(player)
        if not standings:
            return None
        body = templating.render(
            "player_boards.html",
            path,
            player_id=player,
            player_name=standings[0][1].name,
            standings=standings,
            served=self.served,
        )
        return Document(body)

    def _race(self, path: str, query: Mapping[str, str], race: str) -> Content:
        del query
        report = self.view.race(race)
        if report is None:
            return None
        placed = (entrant for entrant in report.result if entrant.place is not None)
        times = {e.id: e.finish_time for e in placed if e.finish_time is not None}
        body = templating.render(
            "race.html",
            path,
            report=report,
            boards=list(zip(self.view.boards_of(report), report.leaderboards, strict=True)),
            times=times,
            fastest=min(times.values(), default=None),
            explained=any(part.entrants for part in report.leaderboards),
            unrated=[entrant for entrant in report.result if entrant.id is None],
            site=self.view.publication.site,
        )
        return Document(body)


def route_of(path: str) -> tuple[Route, dict[str, Any]] | None:
    """Return the route that matches a path, and the values of its fields.

    An empty path means the front page. `.html` may be left out, and `.json` below `api/`.
    """
    path = _INDEXES.get(path, path)
    ending = ".json" if path.startswith("api/") else ".html"
    for each in (path, path + ending):
        for route in (*_PAGES, *_OTHERS):
            if (fields := route.match(each)) is not None:
                return route, fields
    return None


_INDEXES = {
    "": addresses.FRONT.pattern,
    "api": addresses.API_DATA.pattern,
    "api/": addresses.API_DATA.pattern,
}


def older_race_pages(total: int) -> int:
    """Return the number of pages of older races.

    Pages of older races are numbered from the oldest and never change, because the newest page holds 100 to
    199 races.
    """
    return max(0, total // RACES_ON_A_PAGE - 1)


def race_span(total: int, number: int | None) -> tuple[int, int]:
    """Return the numbers of the first and last race on a page, counted from the oldest.

    The newest page has the number None.
    """
    if number is None:
        return older_race_pages(total) * RACES_ON_A_PAGE + 1, total
    return (number - 1) * RACES_ON_A_PAGE + 1, number * RACES_ON_A_PAGE


_PAGES: Mapping[Route, Callable[..., Content]] = {
    addresses.FRONT: Pages._front,
    addresses.NOT_FOUND: Pages._not_found,
    addresses.RACE: Pages._race,
    addresses.PLAYER_ON_BOARD: Pages._player_on_board,
    addresses.PLAYER: Pages._player,
    addresses.BOARD_PAGE: Pages._board,
    addresses.RACES_PAGE: Pages._races,
    addresses.RACES: Pages._races,
    addresses.EXPLAINED: Pages._explained,
    addresses.BOARD: Pages._board,
}
"""Every page with its method. The first match wins."""

_OTHERS: Mapping[Route, Callable[..., Content]] = {**DATA, **LIVE, **CARDS, **FEEDS, **EMBEDS}
"""Every other route with its function, which takes an `Asked` and the fields of the route."""
