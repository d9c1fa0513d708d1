"""Addresses for previews: chat programs show a card with a link to a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from racebot.web.site import addresses
from racebot.web.site.ledger_view import Board


@dataclass(frozen=True, slots=True)
class Share:
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
        return f"{self.url}/{addresses.quoted(path)}"
