"""Render leaderboard pages, with search, sorting and paging."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from racebot.standings.queries import LeaderboardReport, ListedPlayer
from racebot.web import templating
from racebot.web.addresses import PAGE_SIZE, link
from racebot.web.view import Board


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table. `down` is True if the first click sorts in descending order."""

    key: str
    label: str
    down: bool
    kind: str = ""


COLUMNS = (
    Column("place", "Place", False, "place"),
    Column("player", "Player", False, "name"),
    Column("points", "Points", True),
    Column("week", "Week", True),
    Column("races", "Races", True),
    Column("finished", "Finished", True, "wide"),
    Column("won", "Won", True, "wide"),
    Column("last", "Last race", True, "wide"),
)
_COLUMNS = {column.key: column for column in COLUMNS}

_SORT_KEYS: dict[str, Callable[[ListedPlayer], Any]] = {
    "place": lambda player: player.place,
    "player": lambda player: player.name.casefold(),
    "points": lambda player: player.points,
    "week": lambda player: player.moved.points if player.moved else 0,
    "races": lambda player: player.races,
    "finished": lambda player: player.finishes,
    "won": lambda player: player.wins,
    "last": lambda player: player.last_race_at,
}


@dataclass(frozen=True, slots=True)
class Choice:
    """The search and sort order that a reader chose."""

    q: str
    sort: str
    down: bool

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Choice:
        """Parse a query string. Missing and unknown values get their defaults."""
        column = _COLUMNS.get(query.get("sort", ""), COLUMNS[0])
        down = {"up": False, "down": True}.get(query.get("order", ""), column.down)
        return cls(query.get("q", "")[:100], column.key, down)

    def query(self, page: int = 1) -> str:
        """Return the query string for this choice and page."""
        pairs = {
            "q": self.q,
            "sort": "" if self.sort == "place" and not self.down else self.sort,
            "order": "" if self.down == _COLUMNS[self.sort].down else "down" if self.down else "up",
            "page": "" if page == 1 else str(page),
        }
        text = urlencode({name: value for name, value in pairs.items() if value})
        return f"?{text}" if text else ""

    def sorted_by(self, column: Column) -> Choice:
        """Return the choice after a click on a column heading."""
        return replace(self, sort=column.key, down=not self.down if column.key == self.sort else column.down)

    @property
    def default(self) -> bool:
        return not self.q and self.sort == "place" and not self.down


@dataclass(frozen=True, slots=True)
class PageLink:
    """One entry of a pager. `number` is None for a gap."""

    number: int | None
    link: str = ""
    current: bool = False


def leaderboard_page(
    board: Board, report: LeaderboardReport, path: str, number: int, query: Mapping[str, str], served: bool
) -> bytes | None:
    """Render one page of a leaderboard.

    Args:
        board: the leaderboard.
        report: the leaderboard's listed players.
        path: the address of the page.
        number: the page number, from 1.
        query: the query string, with `q`, `sort`, `order` and, if any of these is set, `page`.
        served: True if a server can search and sort.

    Returns:
        The page, or None if there is no page with that number.
    """
    choice = Choice.of(query)
    players = _chosen(report.players, choice)
    if not choice.default:
        number = int(query["page"]) if re.fullmatch("[0-9]{1,6}", query.get("page", "")) else 1
    count = max(1, -(-len(players) // PAGE_SIZE))
    if not 1 <= number <= count:
        return None
    first = link(path, board.address.page())

    def page_link(page: int) -> str:
        return link(path, board.address.page(page)) if choice.default else first + choice.query(page)

    everybody_shown = len(report.players) <= PAGE_SIZE and choice.default
    return templating.render(
        "leaderboard.html",
        path,
        board=board,
        report=report,
        choice=choice,
        columns=[(column, first + choice.sorted_by(column).query()) for column in COLUMNS],
        players=players[(number - 1) * PAGE_SIZE : number * PAGE_SIZE],
        matching=len(players),
        pages=pager(number, count, page_link),
        served=served,
        live=everybody_shown or not served,
        more=[page_link(n) for n in range(1, count + 1) if n != number] if not served else [],
    )


def pager(number: int, count: int, page_link: Callable[[int], str]) -> list[PageLink]:
    """Return links to the first, last and neighbouring pages, with gaps between them."""
    near = sorted({1, count, *range(max(1, number - 2), min(count, number + 2) + 1)})
    pages: list[PageLink] = []
    for previous, page in zip([0, *near], near, strict=False):
        if page - previous > 1:
            pages.append(PageLink(None))
        pages.append(PageLink(page, page_link(page), page == number))
    return pages


def _chosen(players: Sequence[ListedPlayer], choice: Choice) -> Sequence[ListedPlayer]:
    if choice.default:
        return players
    wanted = choice.q.strip().casefold()
    found = [player for player in players if wanted in player.name.casefold()]
    return sorted(found, key=_SORT_KEYS[choice.sort], reverse=choice.down)
