"""Render the pages of a leaderboard: players with search, filters, sorting and paging, races, and seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Any
from urllib.parse import urlencode

from racebot.addresses import PAGE_SIZE, RACES, BadQueryError, day_in, link, whole_number
from racebot.queries import leaderboard as queries
from racebot.queries.history import last_results
from racebot.queries.races import latest_races
from racebot.queries.recap import PodiumPlace, corrections, podium
from racebot.queries.records import hall_of_fame
from racebot.queries.seeds import SeedList, seed_list
from racebot.queries.standings import StandingRow
from racebot.text.format import exact_time
from racebot.text.parse import fold_name
from racebot.web.html import templating
from racebot.web.html.movement import climber
from racebot.web.site.ledger_view import Board, Content, LedgerView, PageRequest

RACES_ON_A_PAGE = 50
EMBEDDED_ROWS = 10
MOST_EMBEDDED_ROWS = 100
SEEDS = 256
"""Most seeds on a page. The JSON and the CSV have all."""
UNRANKED = 50
"""Most players without a place below the others."""
RESULTS = 5
"""Last results to show for each player."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table. `down` is True if the first click sorts in descending order."""

    key: str
    label: str
    down: bool
    kind: str = ""
    sorts: bool = True


COLUMNS = (
    Column("place", "Place", False, "place"),
    Column("player", "Player", False, "name"),
    Column("points", "Points", True),
    Column("week", "Week", True),
    Column("form", "Last 5", True, sorts=False),
    Column("races", "Races", True, "wide"),
    Column("finished", "Finished", True, "wide"),
    Column("won", "Won", True, "wide"),
    Column("last", "Last race", True, "wide"),
)
_COLUMNS = {column.key: column for column in COLUMNS if column.sorts}

_SORT_KEYS: dict[str, Callable[[StandingRow], Any]] = {
    "place": lambda row: -row.rating,
    "points": attrgetter("points"),
    "races": attrgetter("races"),
    "finished": attrgetter("finishes"),
    "won": attrgetter("wins"),
    "last": attrgetter("last_race_at"),
}


@dataclass(frozen=True, slots=True)
class Choice:
    """The search, filters, date and sort order that a reader chose.

    `sort` is the key of a column. `active` is a number of days before the last race, 0 for any. The
    leaderboard is shown at the end of the day `at`, None for now.
    """

    q: str
    sort: str
    down: bool
    minimum: int = 0
    active: int = 0
    at: date | None = None

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Choice:
        """Parse a query string. Missing and empty values get their defaults.

        Raises:
            BadQueryError: a number or the date is invalid.
        """
        given = {name: value for name, value in query.items() if value}
        column = _COLUMNS.get(given.get("sort", COLUMNS[0].key))
        if column is None:
            raise BadQueryError(f"sort: must be one of {', '.join(_COLUMNS)}")
        if given.get("order", "up") not in {"up", "down"}:
            raise BadQueryError("order: must be up or down")
        down = given["order"] == "down" if "order" in given else column.down
        return cls(
            q=query.get("q", "")[:100],
            sort=column.key,
            down=down,
            minimum=whole_number(given, "min", 0, least=0, most=9999),
            active=whole_number(given, "active", 0, least=0, most=9999),
            at=day_in(given, "at"),
        )

    def query(self, page: int = 1) -> str:
        pairs = {
            "q": self.q,
            "min": str(self.minimum or ""),
            "active": str(self.active or ""),
            "at": "" if self.at is None else self.at.isoformat(),
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
    def narrowed(self) -> bool:
        return bool(self.q or self.minimum or self.active)

    @property
    def default(self) -> bool:
        return self == Choice("", "place", down=False)

    @property
    def moment(self) -> datetime | None:
        return None if self.at is None else datetime.combine(self.at + timedelta(days=1), time(), UTC)


@dataclass(frozen=True, slots=True)
class PageLink:
    """One entry of a pager. `number` is None for a gap."""

    number: int | None
    link: str = ""
    current: bool = False


def leaderboard_page(request: PageRequest, board: Board, page: int = 1) -> Content:
    """Render one page of a leaderboard. Return None if there is no page with that number."""
    choice = Choice.of(request.query)
    view = request.view
    report = view.report(board, choice.moment) if choice.moment else view.report(board)
    players = _chosen(view, report, choice)
    number = page_number(request.query) or page
    count = max(1, -(-len(players) // PAGE_SIZE))
    if not 1 <= number <= count:
        return None
    first = link(request.path, board.address.page())

    def page_link(page: int) -> str:
        return link(request.path, board.address.page(page)) if choice.default else first + choice.query(page)

    everybody_shown = len(report.players) <= PAGE_SIZE and choice.default
    shown = players[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
    ids = [player.id for player in shown]
    last = None if choice.at is None else report.races
    then = queries.BoardTotals(len(report.players), report.races, report.last_race_at, None)
    totals = view.totals(board) if choice.at is None else then
    return templating.board_page(
        request,
        "leaderboard.html",
        board,
        # In an export, the other pages are rendered again only when one of their rows changes.
        totals if number == 1 else None,
        report=report,
        climber=climber(report) if number == 1 and choice.default else None,
        corrected=corrections(view.ledger, board.stored, board.final_since)
        if board.final_since and number == 1
        else [],
        choice=choice,
        columns=[
            (column, first + choice.sorted_by(column).query() if column.sorts else "") for column in COLUMNS
        ],
        players=shown,
        unranked=queries.unranked_players(report.players, UNRANKED) if number == 1 and choice.default else [],
        unranked_total=len(report.players.unranked),
        form=last_results(request.view.ledger, board.key, ids, RESULTS, last),
        matching=len(players),
        pages=pager(number, count, page_link),
        live=everybody_shown or not request.served,
        whole=[page_link(page) for page in range(1, count + 1)] if count > 1 and not request.served else [],
    )


def pager(number: int, count: int, page_link: Callable[[int], str]) -> list[PageLink]:
    """Return links to the first, last and neighboring pages, with gaps between them."""
    near = sorted({1, count, *range(max(1, number - 2), min(count, number + 2) + 1)})
    pages: list[PageLink] = []
    for previous, page in zip([0, *near], near, strict=False):
        if page - previous > 1:
            pages.append(PageLink(None))
        pages.append(PageLink(page, page_link(page), page == number))
    return pages


def page_number(query: Mapping[str, str]) -> int | None:
    return whole_number(query, "page", 0) if query.get("page") else None


def older_race_pages(total: int) -> int:
    """Return the number of pages of older races.

    Pages of older races are numbered from the oldest and never change, because the newest page holds 50 to
    99 races.
    """
    return max(0, total // RACES_ON_A_PAGE - 1)


def race_span(total: int, number: int | None) -> tuple[int, int]:
    """Return the numbers of the first and last race on a page, counted from the oldest.

    The newest page has the number None.
    """
    if number is None:
        return older_race_pages(total) * RACES_ON_A_PAGE + 1, total
    return (number - 1) * RACES_ON_A_PAGE + 1, number * RACES_ON_A_PAGE


def race_pages(
    total: int, number: int | None, page: Callable[[int | None], str]
) -> tuple[int, int, list[PageLink], list[str]] | None:
    """Return the numbers of the first and last race on a page of a list, its pager, and links to all pages.

    That is page `number` of the older races, or the newest page if it is None; None if there is none.
    """
    older = older_race_pages(total)
    if number is not None and not 1 <= number <= older:
        return None
    current = 1 if number is None else older + 2 - number
    links = [page(None), *map(page, range(older, 0, -1))]
    pages = pager(current, older + 1, lambda position: links[position - 1])
    return *race_span(total, number), pages, links if older else []


def _chosen(
    view: LedgerView, report: queries.OpenLeaderboard, choice: Choice
) -> Sequence[queries.ListedPlayer]:
    players = report.players
    if choice.sort == "place" and not choice.down and not choice.narrowed:
        return players
    rows = [row for row in players.rows if row.races >= choice.minimum]
    if choice.active and report.last_race_at:
        since = exact_time(report.last_race_at - timedelta(days=choice.active))
        rows = [row for row in rows if row.last_race_at >= since]
    names = players.names() if choice.q or choice.sort == "player" else {}
    if wanted := fold_name(choice.q.strip()):
        folded = {row: fold_name(names[row.player]) for row in rows}
        rows = [row for row in folded if wanted in folded[row]]
        if not rows:
            near = {each.id for each in view.players_named(choice.q.strip(), typos=True)}
            rows = [row for row in folded if row.player in near]
    keys = {"player": lambda row: names[row.player].casefold(), "week": players.points_won, **_SORT_KEYS}
    return players.chosen(sorted(rows, key=keys[choice.sort], reverse=choice.down))


def embedded_board(request: PageRequest, board: Board) -> Content:
    rows = whole_number(request.query, "rows", EMBEDDED_ROWS, most=MOST_EMBEDDED_ROWS)
    players = request.view.report(board).players[:rows]
    return templating.page(request, "embed.html", board=board, players=players)


def races(request: PageRequest, board: Board, number: int | None = None) -> Content:
    """Render one page of a leaderboard's races, the newest without a number."""
    total = request.view.totals(board).races
    found = race_pages(total, number, lambda page: link(request.path, board.address.of(RACES, number=page)))
    if found is None:
        return None
    first, last, pages, _ = found
    return templating.board_page(
        request,
        "races.html",
        board,
        totals=request.view.totals(board) if number is None else None,
        total=total if number is None else None,
        first=first,
        last=last,
        races=latest_races(request.view.ledger, board.key, last - first + 1, total - last),
        pages=pages,
    )


def records(request: PageRequest, board: Board) -> Content:
    settled = request.view.publication.provisional_races
    fame = hall_of_fame(request.view.ledger, board.stored, settled=settled)
    return templating.board_page(request, "fame.html", board, totals=request.view.totals(board), fame=fame)


def front(request: PageRequest) -> Content:
    """Render the front page: the best players and last races of every category."""
    found = [(board, request.view.report(board)) for board in request.view.boards]
    shown = 10 if len(found) < 3 else 5
    categories = []
    for category, group in groupby(found, key=lambda pair: pair[0].category):
        pairs = sorted(
            group,
            key=lambda pair: (
                pair[0].final_since is None,
                pair[1].last_race_at.timestamp() if pair[1].last_race_at else 0.0,
            ),
            reverse=True,
        )
        latest = latest_races(request.view.ledger, pairs[0][0].key, shown - 2)
        running = sum(board.final_since is None for board, _ in pairs) or 1
        ended = [(board, _champions(request.view, board, report)) for board, report in pairs[running:]]
        categories.append((request.view.category_face(category), latest, ended, pairs[:running]))
    live = len(request.view.live_rooms().rooms)
    updated = [moment for board, _ in found if (moment := request.view.totals(board).updated_at) is not None]
    return templating.page(
        request,
        "front.html",
        unranked=lambda board: queries.unranked_players(request.view.report(board).players, shown),
        updated=max(updated, default=None),
        categories=categories,
        shown=shown,
        live=live,
        events=bool(request.view.ledger.events.all()),
    )


def _champions(view: LedgerView, board: Board, report: queries.OpenLeaderboard) -> list[PodiumPlace]:
    best = podium(view.ledger, board.stored, board.listing, report.players)
    return [each for each in best if each.place == 1]


def seeds_of(request: PageRequest, board: Board, limit: int | None = None) -> SeedList:
    """Return the first seeds of the entrants in the query, or of all listed players."""
    text = request.query.get("entrants", "").strip()
    entrants = text.splitlines() if text else None
    return seed_list(request.view.ledger, board.stored, board.listing, entrants, limit)


def seeds_page(request: PageRequest, board: Board) -> Content:
    entrants = request.query.get("entrants", "").strip()
    return templating.board_page(
        request,
        "seeds.html",
        board,
        totals=request.view.totals(board),
        found=seeds_of(request, board, SEEDS),
        most=SEEDS,
        entrants=entrants,
        query=f"?{urlencode({'entrants': entrants})}" if entrants else "",
    )
