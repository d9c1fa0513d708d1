"""The ledger as pages need it: its leaderboards with their addresses, and what is worked out once for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.standings.queries import Listing
from racebot.web.addresses import BoardAddress, board_addresses

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Publication:
    """What the operator decided about the pages.

    Attributes:
        listing: who is listed on a leaderboard.
        provisional_races: a rating after fewer races is marked as provisional.
        site: address of the races' site, for links to its rooms and users.
    """

    listing: Callable[[Leaderboard], Listing] = lambda _: Listing()
    provisional_races: int = 5
    site: str = "https://racetime.gg"


@dataclass(frozen=True, slots=True)
class Board:
    """A leaderboard, where its pages are, and who is listed."""

    stored: Leaderboard
    address: BoardAddress
    listing: Listing

    @property
    def key(self) -> int:
        return self.stored.key

    @property
    def name(self) -> str:
        return self.stored.name

    @property
    def category(self) -> str:
        return self.stored.category


class View:
    """One state of the ledger. Make a new one when the ledger has changed."""

    def __init__(self, ledger: Ledger, publication: Publication) -> None:
        self.ledger = ledger
        self.publication = publication
        self._known: dict[tuple[Any, ...], Any] = {}

    @cached_property
    def boards(self) -> list[Board]:
        """All leaderboards, by category and name."""
        stored = self.ledger.leaderboards()
        addresses = board_addresses(stored)
        return [
            Board(board, address, self.publication.listing(board))
            for board, address in zip(stored, addresses, strict=True)
        ]

    def board(self, stem: str) -> Board | None:
        """The leaderboard at an address."""
        return next((board for board in self.boards if board.address.stem == stem), None)

    def provisional(self, races: int) -> bool:
        """Whether a rating after so many races is still provisional."""
        return races < self.publication.provisional_races

    def once(self, work: Callable[[View, Board], T], board: Board) -> T:
        """What `work` makes of a leaderboard, worked out once."""
        key = (work, board.key)
        if key not in self._known:
            self._known[key] = work(self, board)
        found: T = self._known[key]
        return found
