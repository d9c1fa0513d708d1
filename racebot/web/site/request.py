"""A request for a document, and the rendering of a page for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from markupsafe import Markup

from racebot.standings.queries import BoardTotals
from racebot.web.html import fragments, templating
from racebot.web.html.link_previews import Share
from racebot.web.site import addresses
from racebot.web.site.addresses import link
from racebot.web.site.document import Document
from racebot.web.site.ledger_view import Board, LedgerView


class Named(Protocol):
    """Anything with a player's id and name. A deleted account has no id."""

    @property
    def id(self) -> str | None: ...
    @property
    def name(self) -> str: ...


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request for a document, without the fields of its address.

    Attributes:
        view: the snapshot of the ledger.
        path: the address.
        query: the query parameters that the address accepts; empty in an export.
        served: True for a server, False for an export.
    """

    view: LedgerView
    path: str
    query: Mapping[str, str]
    served: bool

    def page(self, template: str, *, root: str | None = None, **context: Any) -> Document:
        """Render a page from its template.

        Args:
            template: file name of the template.
            root: address of the pages, for a page whose links cannot be relative.
            context: values that the template shows, besides those that all pages have.
        """
        publication = self.view.publication
        return Document(
            templating.render(
                template,
                self.path,
                look=publication.look,
                root=root,
                face=self.face,
                player_link=self.player_link,
                race_link=self.race_link,
                who=self.who,
                served=self.served,
                share=Share(publication.url, self.path, self.query, self.served or publication.export_cards),
                site=publication.site,
                provisional_races=publication.provisional_races,
                hidden=self.view.hidden,
                **context,
            )
        )

    def board_page(
        self, template: str, board: Board, totals: BoardTotals | None = None, **context: Any
    ) -> Document:
        """Render a page of a leaderboard.

        Args:
            template: file name of the template.
            board: the leaderboard.
            totals: its size; None for pages of an export that do not change with it.
            context: values that the template shows, besides those that all pages of leaderboards have.
        """
        return self.page(
            template,
            updated=None if totals is None else totals.updated_at,
            board=board,
            totals=totals,
            category=self.view.category_face(board.category),
            siblings=self.view.siblings(board),
            tabs_of=_tabs_of,
            **context,
        )

    def face(self, player: Named, kind: str = "") -> Markup:
        """Return a player's picture or initials."""
        face = self.view.face(player.id, player.name)
        return fragments.face(face, face.picture and link(self.path, face.picture), kind)

    def player_link(self, player: Named, stem: str | None = None, limit: int = 60) -> Markup:
        """Return a link to a player's page on the leaderboard at `stem`, or on all leaderboards.

        Hidden players and deleted accounts have no page, so only the name to show is returned.
        """
        if player.id is None or player.id in self.view.hidden:
            return fragments.unlinked(player.name)
        to = (
            addresses.PLAYER.path(player=player.id)
            if stem is None
            else addresses.PLAYER_ON_BOARD.path(player=player.id, board=stem)
        )
        return fragments.player_link(link(self.path, to), player.name, limit)

    def race_link(self, race: str) -> Markup:
        """Return a link to a race's page."""
        return fragments.race_link(link(self.path, addresses.RACE.path(race=race)), race)

    def who(self, player: Named, stem: str | None = None, extra: Markup | str = "") -> Markup:
        """Return a player's face and link, and what follows the name."""
        return fragments.who(self.face(player), self.player_link(player, stem), extra)


def _tabs_of(board: Board) -> dict[str, str]:
    """Return the addresses of a leaderboard's tabs, by title."""
    address = board.address
    return {
        "Leaderboard": address.page(),
        "Races": address.races(),
        "Records": address.fame,
        "How it works": address.explained,
    }
