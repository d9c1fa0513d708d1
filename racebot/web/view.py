"""A snapshot of the ledger for the pages: leaderboards with their addresses, and cached queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from racebot.errors import NoSuchEntryError
from racebot.ledger.history import OpponentRecord, PlayedRace
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.standings import queries
from racebot.standings.queries import LeaderboardReport, Listing, PlayerStanding, RaceReport
from racebot.web.addresses import BoardAddress, board_addresses
from racebot.web.live import LiveReader

_REMEMBERED = 32
"""Number of races and players to cache, since a page and its data are often requested together."""


@dataclass(frozen=True, slots=True)
class Publication:
    """The operator's settings for pages.

    Attributes:
        listing: the rule that decides which players a leaderboard lists.
        provisional_races: number of races below which a rating is provisional.
        site: address of the site, for links to race rooms and users.
        url: public address of the pages, without a slash at the end; empty if unknown.
        embed_on: sites that may show an embedded leaderboard in a frame, as sources of a content security
            policy; `'none'` forbids it.
        export_cards: True if an export has cards of every player and race.
    """

    listing: Callable[[Leaderboard], Listing] = lambda _: Listing()
    provisional_races: int = 5
    site: str = "https://racetime.gg"
    url: str = ""
    embed_on: str = "*"
    export_cards: bool = False


@dataclass(frozen=True, slots=True)
class Board:
    """A stored leaderboard with its address and the players it lists."""

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
    """A snapshot of the ledger. Create a new one when the ledger has changed.

    Args:
        ledger: the ledger, opened for reading.
        publication: the operator's settings for pages.
        live: the open rooms; None in an export.
    """

    def __init__(self, ledger: Ledger, publication: Publication, live: LiveReader | None = None) -> None:
        self.ledger = ledger
        self.live = live
        self.publication = publication
        self._reports: dict[int, LeaderboardReport] = {}
        self._standing = lru_cache(_REMEMBERED)(self._read_standing)
        self._race = lru_cache(_REMEMBERED)(self._read_race)
        self._history = lru_cache(_REMEMBERED)(ledger.pages.played)
        self._opponents = lru_cache(_REMEMBERED)(ledger.pages.opponents)

    @cached_property
    def boards(self) -> list[Board]:
        """Every leaderboard, by category and name."""
        stored = self.ledger.leaderboards()
        addresses = board_addresses(stored)
        return [
            Board(board, address, self.publication.listing(board))
            for board, address in zip(stored, addresses, strict=True)
        ]

    def board(self, stem: str) -> Board | None:
        """Return the leaderboard at an address."""
        return next((board for board in self.boards if board.address.stem == stem), None)

    def report(self, board: Board) -> LeaderboardReport:
        """Return a leaderboard with its listed players."""
        if board.key not in self._reports:
            self._reports[board.key] = queries.leaderboard_report(
                self.ledger,
                board.stored,
                board.listing,
                provisional_races=self.publication.provisional_races,
            )
        return self._reports[board.key]

    def standing(self, board: Board, player: str) -> PlayerStanding | None:
        """Return a player's standing on a leaderboard, or None if they have not raced there."""
        return self._standing(board.key, player)

    def standings(self, player: str) -> list[tuple[Board, PlayerStanding]]:
        """Return a player's standing on each of their leaderboards, the most recently raced first."""
        found = [
            (board, standing)
            for board in self.boards
            if (standing := self.standing(board, player)) is not None
        ]
        return sorted(found, key=lambda pair: pair[1].last_race_at, reverse=True)

    def history(self, board: Board, player: str) -> Sequence[PlayedRace]:
        """Return all rated races of a player on a leaderboard, oldest first."""
        return self._history(board.key, player)

    def opponents(self, board: Board, player: str) -> Sequence[OpponentRecord]:
        """Return a player's opponents on a leaderboard, the most frequent first."""
        return self._opponents(board.key, player)

    def race(self, name: str) -> RaceReport | None:
        """Return a race by its full name, or None if it counts on no leaderboard."""
        return self._race(name)

    def boards_of(self, report: RaceReport) -> list[Board]:
        """Return the leaderboards of a race, in the order of its report."""
        by_name = {(board.category, board.name): board for board in self.boards}
        return [by_name[report.category, part.leaderboard] for part in report.leaderboards]

    def provisional(self, races: int) -> bool:
        """Return True if a rating after this many races is provisional."""
        return races < self.publication.provisional_races

    def _read_standing(self, key: int, player: str) -> PlayerStanding | None:
        board = next(board for board in self.boards if board.key == key)
        return queries.player_standing(
            self.ledger,
            board.stored,
            board.listing,
            player,
            provisional_races=self.publication.provisional_races,
        )

    def _read_race(self, name: str) -> RaceReport | None:
        try:
            report = queries.race_report(self.ledger, name)
        except NoSuchEntryError:
            return None
        # The ledger also finds a race by its slug alone, which is not the race's address.
        return report if report.leaderboards and report.race == name else None


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
