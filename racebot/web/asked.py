"""A request for a document, and the rendering of a page for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from racebot.web import templating
from racebot.web.document import Document
from racebot.web.share import Share
from racebot.web.view import Board, View


@dataclass(frozen=True, slots=True)
class Asked:
    """What a document is made from, besides the fields of its address.

    Attributes:
        view: the snapshot of the ledger.
        path: the address.
        query: the query parameters that the address accepts; empty in an export.
        served: True for a server, False for an export.
    """

    view: View
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
                face=self.view.face,
                served=self.served,
                share=Share(publication.url, self.path, self.served or publication.export_cards),
                site=publication.site,
                provisional_races=publication.provisional_races,
                **context,
            )
        )

    def board_page(self, template: str, board: Board, **context: Any) -> Document:
        """Render a page of a leaderboard."""
        return self.page(
            template,
            board=board,
            category=self.view.category_face(board.category),
            siblings=self.view.siblings(board),
            **context,
        )
