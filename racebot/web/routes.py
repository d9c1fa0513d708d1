"""Map every address to its content, for both the server and the export."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any
from urllib.parse import urlsplit

from racebot import addresses
from racebot.addresses import Route
from racebot.web.api.feeds import board_feed, player_feed
from racebot.web.api.openapi import DATA
from racebot.web.html import front, leaderboard, live, player, templating
from racebot.web.html.race import event_page, events_page, race_page
from racebot.web.pictures import cards
from racebot.web.site.ledger_view import CSS, ICO, PNG, Content, Document, LedgerView, Moved, PageRequest

WEBP = "image/webp"
TEXT = "text/plain; charset=utf-8"
NOT_FOUND = "Page not found."
NO_PAGE = "The address may have a typo, or the page may be gone."
NO_RACE = "A race's page appears once the race is recorded and rated."
"""Shown for a race without a page. Buttons in chat link the page before it exists."""


@dataclass(frozen=True)
class MatchedRoute:
    """An address of the pages: its route, and the values of the route's fields."""

    route: Route
    fields: Mapping[str, Any]

    @cached_property
    def path(self) -> str:
        """The address in its usual spelling, so that links and ids are the same for all spellings."""
        return self.route.path(**self.fields)


class Pages:
    """Renders all pages from one snapshot of the ledger, as a server (`served`) or an export has them."""

    def __init__(self, view: LedgerView, *, served: bool) -> None:
        self.view = view
        self.served = served

    def document(self, path: str, query: Mapping[str, str]) -> Content:
        """Return the content at a path, None if there is none. A bad query is a `BadQueryError`."""
        match = match_of(path)
        return None if match is None else self.content(match, query)

    def content(self, match: MatchedRoute, query: Mapping[str, str]) -> Content:
        if match.route in _EXPORTED if self.served else match.route.served_only:
            return None
        fields = dict(match.fields)
        if "board" in fields:
            fields["board"] = self.view.board(fields["board"])
            if fields["board"] is None:
                new = (each for each in self.view.planned() if each.address.stem == match.fields["board"])
                planned = next(new, None) if match.route is addresses.BOARD else None
                request = PageRequest(self.view, match.path, {}, self.served)
                return templating.page(request, "planned.html", planned=planned) if planned else None
        known = match.route.known(query) if self.served else {}
        request = PageRequest(self.view, match.path, known, self.served)
        merged = self.view.merged.keys() & {fields.get("player"), fields.get("other")}
        if match.route in live.LIVE:  # overlays stay at their address
            fields |= self._kept(match)
        content: Content = CONTENT[match.route](request, **fields)
        return self._moved(request, match) if content is None and merged else content

    def _kept(self, match: MatchedRoute) -> dict[str, str]:
        """Return the players of an address by field, with the kept account for each merged one."""
        names = match.fields.keys() & {"player", "other"}
        return {name: self.view.merged.get(match.fields[name], match.fields[name]) for name in names}

    def _moved(self, request: PageRequest, match: MatchedRoute) -> Content:
        """Lead from the address of a merged account to that of the kept one, in an export by a page."""
        kept = self._kept(match)
        target = match.route.path(**{**match.fields, **kept})
        if not self.view.hidden.isdisjoint(kept.values()):
            return None
        if self.served:
            return Moved(target)
        if not target.endswith(".html"):  # a picture or data cannot lead elsewhere
            return self.document(target, {})
        return templating.page(request, "moved.html", target=target)


def _asset(request: PageRequest, file: str) -> Content:
    path = addresses.ASSET.path(file=file)
    if path == templating.THEME:
        theme = request.view.publication.theme
        return Document(theme, CSS) if theme else None
    return Document(templating.asset(path), templating.ASSETS[path]) if path in templating.ASSETS else None


def _not_found(request: PageRequest) -> Content:
    # A static host shows this page at any address, so its links cannot be relative.
    root, detail = request.view.publication.url, f"{NO_PAGE} {NO_RACE}"
    return templating.page(request, "error.html", root=root, text=NOT_FOUND, detail=detail)


def _robots(request: PageRequest) -> Content:
    """Keep search engines from data, and from pages that change all the time."""
    root = urlsplit(request.view.publication.url).path
    left_out = ("api", "events/", "live", "overlay", "search")
    lines = ["User-agent: *", *(f"Disallow: {root}/{each}" for each in left_out), ""]
    return Document("\n".join(lines).encode(), TEXT)


def _picture(request: PageRequest, picture: str, *, small: bool = False) -> Content:
    content = request.view.picture(picture)
    return None if content is None else Document(cards.small_avatar(content) if small else content, WEBP)


def match_of(path: str) -> MatchedRoute | None:
    """Return the route of a path with its fields. `.html` may be left out, and `.json` below `api/`."""
    path = _INDEXES.get(path, path)
    ending = ".json" if path.startswith("api/") else ".html"
    for each in (path, path + ending):
        for route in CONTENT:
            if (fields := route.match(each)) is not None:
                return MatchedRoute(route, fields)
    return None


_EXPORTED = frozenset({addresses.NOT_FOUND, addresses.NO_JEKYLL})  # addresses that only an export has
_INDEXES = {"": "index.html", "api": "api/openapi.json", "api/": "api/openapi.json"}

CONTENT: Mapping[Route, Callable[..., Content]] = {
    addresses.FRONT: front.front,
    addresses.NOT_FOUND: _not_found,
    addresses.ROBOTS: _robots,
    addresses.FAVICON: lambda _: Document(templating.asset("assets/favicon.ico"), ICO),
    addresses.TOUCH_ICON: lambda _: Document(templating.asset("assets/apple-touch-icon.png"), PNG),
    addresses.PICTURE: _picture,
    addresses.SMALL_PICTURE: partial(_picture, small=True),
    addresses.SEARCH: front.search,
    addresses.SEARCH_INDEX: front.index,
    addresses.ASSET: _asset,
    addresses.NO_JEKYLL: lambda _: Document(b""),
    addresses.ACTIVITY: front.activity,
    addresses.EVENTS: events_page,
    addresses.EVENT: event_page,
    addresses.RACE: race_page,
    addresses.PLAYER_RACES: player.races,
    addresses.OPPONENTS: player.or_comparison(player.opponents),
    addresses.PLAYER_ON_BOARD: player.or_comparison(player.on_board),
    addresses.PLAYER: player.on_all_boards,
    addresses.BOARD_PAGE: leaderboard.ratings_page,
    addresses.RATINGS: leaderboard.ratings_page,
    addresses.RACES: leaderboard.races,
    addresses.EXPLAINED: leaderboard.explained,
    addresses.FAME: leaderboard.records,
    addresses.MOVEMENT: leaderboard.movement,
    addresses.RECAP: leaderboard.recap_page,
    addresses.SEEDS: leaderboard.seeds_page,
    addresses.BOARD: leaderboard.leaderboard_page,
    **DATA,
    **live.LIVE,
    addresses.OVERLAYS: live.studio,
    addresses.FRONT_CARD: cards.front_card,
    addresses.RACE_CARD: cards.race_card,
    addresses.PLAYER_CARD: cards.player_card,
    addresses.BOARD_CARD: cards.board_card,
    addresses.BOARD_FEED: board_feed,
    addresses.PLAYER_FEED: player_feed,
}
"""Every address with its function, called with an `PageRequest` and the fields. The first match wins."""
