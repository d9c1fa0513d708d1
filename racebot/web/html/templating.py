"""Render pages from Jinja templates, which escape all text."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined

from racebot.queries.leaderboard import BoardTotals
from racebot.text.format import counted, integer, signed
from racebot.text.safe import initials
from racebot.web.html import fragments
from racebot.web.site import addresses, formats
from racebot.web.site.addresses import link
from racebot.web.site.ledger_view import DEFAULT_LOOK, Board, Look
from racebot.web.site.request import Document, PageRequest

STYLE = "assets/style.css"
ICON = "assets/icon.svg"
THEME = "assets/theme.css"
"""The operator's style sheet."""
SCRIPTS = {name: f"assets/{name}.js" for name in ("page", "table", "graph", "compare", "search")}
SCRIPT_TYPE = "text/javascript; charset=utf-8"
LIVE_STYLE = "assets/live.css"
LIVE_SCRIPT = "assets/live.js"
OVERLAY_STYLE = "assets/overlay.css"
EMBED_STYLE = "assets/embed.css"
_CSS = "text/css; charset=utf-8"
SERVED_ASSETS = {LIVE_STYLE: _CSS, LIVE_SCRIPT: SCRIPT_TYPE, OVERLAY_STYLE: _CSS}
"""Assets of pages that only a server has."""
ASSETS = {
    STYLE: _CSS,
    ICON: "image/svg+xml",
    EMBED_STYLE: _CSS,
    **SERVED_ASSETS,
    **dict.fromkeys(SCRIPTS.values(), SCRIPT_TYPE),
}


@dataclass(frozen=True, slots=True)
class LinkPreview:
    """The address and card of one page, for its `og:` tags, which cannot be relative: https://ogp.me.

    Attributes:
        url: public address of the pages; empty if unknown, and then there are no such tags.
        path: address of the page.
        query: its query parameters.
        every_card: whether players and races have cards, and not only leaderboards.
    """

    url: str
    path: str
    query: Mapping[str, str]
    every_card: bool

    @property
    def page(self) -> str:
        page = self._absolute("" if self.path == addresses.FRONT.pattern else self.path)
        return f"{page}?{urlencode(self.query)}" if self.query else page

    def front(self) -> str:
        """Return the address of the card of the front page."""
        return self._absolute(addresses.FRONT_CARD.path())

    def board(self, board: Board) -> str:
        """Return the address of a leaderboard's card."""
        return self._absolute(addresses.BOARD_CARD.path(board=board.address.stem))

    def player(self, board: Board, player: str) -> str:
        """Return the address of a player's card, or of the leaderboard's."""
        if not self.every_card:
            return self.board(board)
        return self._absolute(addresses.PLAYER_CARD.path(player=player, board=board.address.stem))

    def race(self, board: Board, race: str) -> str:
        """Return the address of a race's card, or of the leaderboard's."""
        return self._absolute(addresses.RACE_CARD.path(race=race)) if self.every_card else self.board(board)

    def pair(self, board: Board, player: str, other: str) -> str:
        """Return the address of the card of two players. Only a server compares them."""
        card = self._absolute(addresses.PAIR_CARD.path(player=player, other=other))
        return f"{card}?{urlencode({'on': board.address.stem})}"

    def _absolute(self, path: str) -> str:
        return f"{self.url}/{quote(path)}"


def page(request: PageRequest, template: str, *, root: str | None = None, **context: Any) -> Document:
    """Render a page from its template.

    Args:
        request: the request.
        template: file name of the template.
        root: address of the pages, for a page whose links cannot be relative.
        context: values that the template shows, besides those that all pages have.
    """
    publication = request.view.publication
    return Document(
        render(
            template,
            request.path,
            look=publication.look,
            root=root,
            face=partial(fragments.face, request),
            player_link=partial(fragments.player_link, request),
            race_link=partial(fragments.race_link, request),
            who=partial(fragments.who, request),
            served=request.served,
            share=LinkPreview(
                publication.url, request.path, request.query, request.served or publication.export_cards
            ),
            site=publication.site,
            provisional_races=publication.provisional_races,
            hidden=request.view.hidden,
            **context,
        )
    )


def board_page(
    request: PageRequest, template: str, board: Board, totals: BoardTotals | None = None, **context: Any
) -> Document:
    """Render a page of a leaderboard.

    Args:
        request: the request.
        template: file name of the template.
        board: the leaderboard.
        totals: its size; None for pages of an export that do not change with it.
        context: values that the template shows, besides those that all pages of leaderboards have.
    """
    return page(
        request,
        template,
        updated=None if totals is None else totals.updated_at,
        board=board,
        totals=totals,
        category=request.view.category_face(board.category),
        siblings=request.view.siblings(board),
        tabs_of=_tabs_of,
        **context,
    )


def _tabs_of(board: Board) -> dict[str, str]:
    """Return the addresses of a leaderboard's tabs, by title."""
    address = board.address
    return {
        "Leaderboard": address.page(),
        "Races": address.races(),
        "Records": address.of(addresses.FAME),
        "How it works": address.of(addresses.EXPLAINED),
    }


def render(
    template: str, path: str, *, root: str | None = None, look: Look = DEFAULT_LOOK, **context: Any
) -> bytes:
    """Render a page from its template.

    Args:
        template: file name of the template.
        path: address of the page, from which relative links are made.
        look: title, footer and style sheet.
        root: address of the pages, for a page whose links cannot be relative.
        context: values that the template shows.
    """
    found = _environment().get_template(template)
    href = partial(link, path) if root is None else partial(_absolute, root)
    text = found.render(
        path=path,
        href=href,
        look=look,
        theme=f"{href(THEME)}?v={_fingerprint(look.theme)}" if look.theme else None,
        asset=partial(_asset_link, href),
        scripts=SCRIPTS,
        **{"share": None, "updated": None, **context},
    )
    return text.encode(errors="replace")


@cache
def asset(path: str) -> bytes:
    """Return the content of a file in `ASSETS`."""
    return resources.files("racebot.web.html").joinpath(path).read_bytes()


def _fingerprint(content: bytes) -> str:
    """Return a hash, which links contain so that browsers reload a changed asset."""
    return hashlib.sha256(content).hexdigest()[:10]


def _absolute(root: str, target: str) -> str:
    return f"{root}/{quote(target)}"


def _asset_link(href: Any, path: str) -> str:
    return f"{href(path)}?v={_fingerprint(asset(path))}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("racebot.web.html"),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: Mapping[str, Any] = {
        "name": formats.shown_name,
        "plain_name": formats.plain_name,
        "latin": formats.latin,
        "race_title": formats.race_title,
        "standing": formats.standing,
        "signed": signed,
        "integer": integer,
        "sign": formats.sign,
        "day": formats.day,
        "clock": formats.clock,
        "minute": formats.minute,
        "timer": formats.timer,
        "gap": formats.gap,
        "percent": formats.percent,
        "counted": counted,
        "ordinal": formats.ordinal,
        "percentile": formats.percentile,
        "iso": formats.iso,
        "initials": initials,
        "slug": formats.slug,
        "host": formats.host,
        "change": fragments.change,
        "medal": fragments.medal,
        "date": fragments.date,
        "dots": fragments.dots,
        "bar": fragments.bar,
        "score": fragments.score,
        "segment": addresses.segment,
        "gained": fragments.gained,
    }
    environment.filters.update(filters)
    environment.globals.update(addresses=addresses)
    return environment
