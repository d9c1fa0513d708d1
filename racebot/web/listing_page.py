"""The page of a leaderboard: search, order and pages of a list of players."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from racebot.web import templating
from racebot.web.addresses import PAGE_SIZE, link
from racebot.web.view import Board


class Column(NamedTuple):
    """A column of the table. `down` says whether its first order is from the greatest to the least."""

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

_SORT_KEYS: dict[str, Any] = {
    "place": lambda e: e["place"],
    "player": lambda e: e["name"].casefold(),
    "points": lambda e: e["points"],
    "week": lambda e: e["moved"]["points"] if e["moved"] else 0,
    "races": lambda e: e["races"],
    "finished": lambda e: e["finishes"],
    "won": lambda e: e["wins"],
    "last": lambda e: e["last_race_at"],
}


class Choice(NamedTuple):
    """What a reader asked for."""

    q: str
    sort: str
    down: bool

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Choice:
        """From a query; what it does not name, or names wrongly, is as by default."""
        columns = {column.key: column for column in COLUMNS}
        sort = query.get("sort", "place")
        column = columns.get(sort, COLUMNS[0])
        down = {"up": False, "down": True}.get(query.get("order", ""), column.down)
        return cls(query.get("q", "")[:100], column.key, down)

    def query(self, **changes: Any) -> str:
        """The query that asks for this, with changes, as part of a link."""
        wanted = self._replace(**{k: v for k, v in changes.items() if k in self._fields})
        column = next(c for c in COLUMNS if c.key == wanted.sort)
        pairs = {
            "q": wanted.q,
            "sort": "" if wanted.sort == "place" and not wanted.down else wanted.sort,
            "order": "" if wanted.down == column.down else "down" if wanted.down else "up",
            "page": "" if changes.get("page", 1) == 1 else changes["page"],
        }
        text = urlencode({name: value for name, value in pairs.items() if value})
        return f"?{text}" if text else ""

    @property
    def plain(self) -> bool:
        return not self.q and self.sort == "place" and not self.down


def leaderboard_page(
    board: Board, report: Mapping[str, Any], path: str, number: int, query: Mapping[str, str], served: bool
) -> bytes | None:
    """One page of a leaderboard, or None where there is no such page.

    Args:
        board: which.
        report: of `leaderboards.report`.
        path: where the page is.
        number: of the page, from 1.
        query: what a reader asked for: `q`, `sort`, `order` and, of such a choice, `page`.
        served: whether a server can be asked.
    """
    choice = Choice.of(query)
    players = _chosen(report["players"], choice)
    if not choice.plain:
        number = int(query["page"]) if re.fullmatch(r"\d{1,6}", query.get("page", "")) else 1
    count = max(1, -(-len(players) // PAGE_SIZE))
    if not 1 <= number <= count:
        return None
    first = board.address.page()

    def page_link(page: int) -> str:
        if choice.plain:
            return link(path, board.address.page(page))
        return link(path, first) + choice.query(page=page)

    columns = [
        {
            **column._asdict(),
            "link": (link(path, first) + choice.query(sort=column.key, down=_next_order(choice, column))),
        }
        for column in COLUMNS
    ]
    whole = len(report["players"]) <= PAGE_SIZE and choice.plain
    return templating.render(
        "leaderboard.html",
        path,
        board=board,
        report=report,
        choice=choice,
        columns=columns,
        players=players[(number - 1) * PAGE_SIZE : number * PAGE_SIZE],
        matching=len(players),
        pages=pager(number, count, page_link),
        served=served,
        live=whole or not served,
        more=[page_link(n) for n in range(1, count + 1) if n != number] if not served else [],
    )


def pager(number: int, count: int, page_link: Any) -> list[dict[str, Any]]:
    """Links to the first, the last and the neighbouring pages, with gaps between them."""
    near = sorted({1, count, *range(max(1, number - 2), min(count, number + 2) + 1)})
    pages: list[dict[str, Any]] = []
    for previous, page in zip([0, *near], near, strict=False):
        if page - previous > 1:
            pages.append({"gap": True, "current": False})
        pages.append({"gap": False, "current": page == number, "number": page, "link": page_link(page)})
    return pages


def _next_order(choice: Choice, column: Column) -> bool:
    return not choice.down if column.key == choice.sort else column.down


def _chosen(players: Sequence[dict[str, Any]], choice: Choice) -> list[dict[str, Any]]:
    wanted = choice.q.strip().casefold()
    found = [entry for entry in players if wanted in entry["name"].casefold()]
    return found if choice.plain else sorted(found, key=_SORT_KEYS[choice.sort], reverse=choice.down)
