"""What belongs to each path: the one place that both the server and the export ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from racebot.web import addresses, api, charts, leaderboards, players, races, templating
from racebot.web.figures import RACES as RECENT, figures
from racebot.web.listing_page import leaderboard_page, pager
from racebot.web.view import Board, View
from racebot.web.words import WORDS

RACES_ON_A_PAGE = 100
LAST_RACES = 50
"""Of a player."""
OPPONENTS = 25

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Document:
    """What is sent or written for one path."""

    body: bytes
    media_type: str = HTML


class Site:
    """All pages of one state of the ledger.

    Args:
        view: the state.
        served: whether a server answers, so that searching and sorting can be asked of it; otherwise the
            pages are files.
    """

    def __init__(self, view: View, *, served: bool) -> None:
        self.view = view
        self.served = served

    def document(self, path: str, query: Mapping[str, str]) -> Document | None:
        """What belongs to a path, or None where there is nothing.

        Raises:
            BadQueryError: a query for data that cannot be answered.
        """
        if path in {"", addresses.FRONT}:
            return Document(self._front())
        if path == addresses.NO_JEKYLL:
            return None if self.served else Document(b"")
        if path in templating.ASSETS:
            return Document(templating.asset(path), templating.ASSETS[path])
        if path == "api" or path.startswith("api/"):
            return self._data(path, query)
        if not path.endswith(".html"):
            return None
        body = self._page(path, path.removesuffix(".html").split("/"), query)
        return None if body is None else Document(body)

    def paths(self) -> Iterator[str]:
        """All paths that an export writes."""
        yield from (addresses.FRONT, addresses.ALL_DATA, addresses.OPENAPI, addresses.NO_JEKYLL)
        yield from templating.ASSETS
        for board in self.view.boards:
            address = board.address
            listed = len(self.view.once(leaderboards.report, board)["players"])
            yield from (address.page(number) for number in _pages(listed, addresses.PAGE_SIZE))
            rated = self.view.ledger.rated_count(board.stored)
            yield from (address.races(number) for number in _pages(rated, RACES_ON_A_PAGE))
            yield from (address.explained, address.data, address.races_data)
            yield from (address.sheet, address.changes_sheet)
            for standing in self.view.ledger.standings(board.stored):
                yield from (address.player(standing.player), address.player_data(standing.player))
        for player, _ in self.view.ledger.pages.players():
            yield from (addresses.player(player), addresses.player_data(player))
        for race in self.view.ledger.pages.race_names():
            yield from (addresses.race(race), addresses.race_data(race))

    def _data(self, path: str, query: Mapping[str, str]) -> Document | None:
        try:
            found = api.answer(self.view, path, query, whole=not self.served)
        except api.BadQueryError:
            raise
        except ValueError:
            return None  # no address that we make
        return None if found is None else Document(*found)

    def _page(self, path: str, parts: list[str], query: Mapping[str, str]) -> bytes | None:
        try:
            match parts:
                case ["leaderboards", category, name, *rest]:
                    board = self.view.board(f"{category}/{name}")
                    return None if board is None else self._board_page(board, path, rest, query)
                case ["players", player, category, name]:
                    board = self.view.board(f"{category}/{name}")
                    return None if board is None else self._player(board, path, addresses.text_of(player))
                case ["players", player]:
                    return self._player_boards(path, addresses.text_of(player))
                case ["races", *names]:
                    return self._race(path, "/".join(map(addresses.text_of, names)))
        except ValueError:
            pass  # no address that we make
        return None

    def _front(self) -> bytes:
        found = [(board, self.view.once(leaderboards.report, board)) for board in self.view.boards]
        categories = [
            (category, sorted(group, key=lambda pair: pair[1]["last_race_at"] or "", reverse=True))
            for category, group in groupby(found, key=lambda pair: pair[0].category)
        ]
        return templating.render(
            "front.html", addresses.FRONT, categories=categories, shown=10 if len(found) < 3 else 5
        )

    def _board_page(self, board: Board, path: str, rest: list[str], query: Mapping[str, str]) -> bytes | None:
        match rest:
            case []:
                return self._leaderboard(board, path, 1, query)
            case ["explained"]:
                return self._explained(board, path)
            case ["races"]:
                return self._races(board, path, 1)
            case [page]:
                kind, _, number = page.rpartition("-")
                if kind == "page":
                    return self._leaderboard(board, path, int(number), query)
                if kind == "races":
                    return self._races(board, path, int(number))
        return None

    def _leaderboard(self, board: Board, path: str, number: int, query: Mapping[str, str]) -> bytes | None:
        report = self.view.once(leaderboards.report, board)
        return leaderboard_page(board, report, path, number, query if self.served else {}, self.served)

    def _races(self, board: Board, path: str, number: int) -> bytes | None:
        total = self.view.ledger.rated_count(board.stored)
        numbers = _pages(total, RACES_ON_A_PAGE)
        if number not in numbers:
            return None
        return templating.render(
            "races.html",
            path,
            board=board,
            total=total,
            races=leaderboards.races(self.view, board, RACES_ON_A_PAGE, (number - 1) * RACES_ON_A_PAGE),
            pages=pager(number, numbers[-1], lambda page: addresses.link(path, board.address.races(page))),
        )

    def _explained(self, board: Board, path: str) -> bytes:
        found = self.view.once(figures, board)
        bars = found["distribution"]
        graph = bars and charts.distribution(
            [(str(low), count) for low, count in bars["bars"]], "Number of players by points"
        )
        return templating.render(
            "explained.html",
            path,
            board=board,
            figures=found,
            recent=RECENT,
            provisional_races=self.view.publication.provisional_races,
            words=WORDS.get(board.stored.model, ()),
            graph=graph,
        )

    def _player(self, board: Board, path: str, player: str) -> bytes | None:
        report = players.report(self.view, board, player)
        if report is None:
            return None
        history = report["history"]
        graph = None
        if len(history) > 1:
            name = templating.shown_name(report["name"])
            first, last = (templating.day(history[i]["ended_at"]) for i in (0, -1))
            graph = charts.ratings(
                [datetime.fromisoformat(race["ended_at"]) for race in history],
                [race["after"] for race in history],
                f"Rating of {name} from {first} to {last}: now {report['points']} points, "
                f"at most {report['peak']['after']}",
            )
        return templating.render(
            "player.html",
            path,
            board=board,
            report=report,
            graph=graph,
            most=max(row["races"] for row in report["places"]),
            opponents=report["opponents"][:OPPONENTS],
            races=history[: -LAST_RACES - 1 : -1],
            others=len(players.standings(self.view, player)) - 1,
            provisional_races=self.view.publication.provisional_races,
            site=self.view.publication.site,
        )

    def _player_boards(self, path: str, player: str) -> bytes | None:
        standings = players.standings(self.view, player)
        if not standings:
            return None
        name = standings[0][1]["name"]
        return templating.render(
            "player_boards.html", path, player_id=player, player_name=name, standings=standings
        )

    def _race(self, path: str, name: str) -> bytes | None:
        report = races.report(self.view, name)
        if report is None:
            return None
        boards = races.boards(self.view, report)
        placed = (entrant for entrant in report["result"] if entrant["place"] is not None)
        times = {e["id"]: e["finish_time"] for e in placed if e["finish_time"] is not None}
        return templating.render(
            "race.html",
            path,
            report=report,
            boards=boards,
            times=times,
            explained=any(part["entrants"] for _, part in boards),
            unrated=[entrant for entrant in report["result"] if entrant["id"] is None],
            site=self.view.publication.site,
        )


def _pages(items: int, size: int) -> range:
    """Numbers of the pages that so many items take; there is always a first."""
    return range(1, max(1, -(-items // size)) + 1)
