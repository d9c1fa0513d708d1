"""Render pages from Jinja templates, which escape all text."""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from importlib import resources
from inspect import getmembers, isfunction
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined

from racebot import addresses
from racebot.addresses import link
from racebot.queries.leaderboard import BoardTotals
from racebot.queries.scores import estimate, forecast_of
from racebot.text.format import counted, gap, integer, ordinal, signed, timer
from racebot.text.safe import initials
from racebot.web.html import fragments
from racebot.web.site import formats
from racebot.web.site.ledger_view import CSS, SVG, Board, Document, PageRequest, Publication

THEME = "assets/theme.css"  # the operator's style sheet
OVERLAY_STYLE = "assets/overlay.css"
SCRIPT_TYPE = "text/javascript; charset=utf-8"
ASSET_TYPES = {".css": CSS, ".js": SCRIPT_TYPE, ".svg": SVG}
ASSETS = {
    f"assets/{each.name}": ASSET_TYPES[Path(each.name).suffix]
    for each in resources.files("racebot.web.html").joinpath("assets").iterdir()
    if Path(each.name).suffix in ASSET_TYPES
}
"""The files that pages load, with their media types."""

_UNKNOWN = Publication()


@dataclass(frozen=True, slots=True)
class LinkPreview:
    """The address and card of a page for its `og:` tags, which cannot be relative: https://ogp.me."""

    url: str
    path: str
    query: Mapping[str, str]
    every_card: bool

    @property
    def page(self) -> str:
        page = self.at(self.path)
        return f"{page}?{urlencode(self.query)}" if self.query else page

    def at(self, path: str) -> str:
        """Return the public address of a page, empty if that of the pages is unknown."""
        return _absolute(self.url, "" if path == addresses.FRONT.pattern else path) if self.url else ""


def page(request: PageRequest, template: str, *, root: str | None = None, **context: Any) -> Document:
    """Render a page from its template. `root` is the pages' address if links cannot be relative."""
    publication = request.view.publication
    return Document(
        render(
            template,
            request.path,
            publication=publication,
            root=root,
            face=partial(fragments.face, request),
            opponent_row=partial(fragments.opponent_row, request),
            player_link=partial(fragments.player_link, request),
            race_link=partial(fragments.race_link, request),
            who=partial(fragments.who, request),
            view=request.view,
            now=datetime.now(UTC),
            served=request.served,
            share=LinkPreview(
                publication.url, request.path, request.query, request.served or publication.export_cards
            ),
            site=publication.site,
            **context,
        )
    )


def board_page(
    request: PageRequest, template: str, board: Board, totals: BoardTotals | None = None, **context: Any
) -> Document:
    """Render a page of a leaderboard. `totals` is None for pages of an export that do not change with it."""
    return page(
        request,
        template,
        updated=None if totals is None else totals.updated_at,
        board=board,
        totals=totals,
        category=request.view.category_face(board.category),
        siblings=request.view.by_last_race(request.view.siblings(board)),
        **context,
    )


def render(
    template: str, path: str, *, root: str | None = None, publication: Publication = _UNKNOWN, **context: Any
) -> bytes:
    """Render the page at `path` from its template, with links relative to it, or to `root` if given."""
    found = _environment().get_template(template)
    href = partial(link, path) if root is None else partial(_absolute, root)
    text = found.render(
        path=path,
        href=href,
        publication=publication,
        theme=f"{href(THEME)}?v={_fingerprint(publication.theme)}" if publication.theme else None,
        asset=lambda path: f"{href(path)}?v={_fingerprint(asset(path))}",
        **{"share": None, "updated": None, **context},
    )
    return text.encode(errors="replace")


@cache
def asset(path: str) -> bytes:
    """Return an asset, without the comments and the indentation of a script or style sheet."""
    content = resources.files("racebot.web.html").joinpath(path).read_bytes()
    is_text = path.endswith((".js", ".css"))
    return re.sub(rb"(?m)^ +|^ *//.*\n| */\*.*?\*/", b"", content) if is_text else content


@cache
def _fingerprint(content: bytes) -> str:
    """Return a hash, which links contain so that browsers reload a changed asset."""
    return hashlib.sha256(content).hexdigest()[:10]


def _absolute(root: str, target: str) -> str:
    return f"{root}/{quote(target)}"


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
    found = [each for module in (formats, fragments) for _, each in getmembers(module, isfunction)]
    modules = {formats.__name__, fragments.__name__}
    ours: list[Callable[..., Any]] = [each for each in found if each.__module__ in modules]
    ours += [counted, estimate, forecast_of, gap, initials, integer, ordinal]
    ours += [addresses.segment, signed, timer]
    environment.filters |= {function.__name__: function for function in ours}
    environment.filters["name"] = formats.shown_name
    environment.globals.update(addresses=addresses)
    return environment
