"""Render the pages of a leaderboard: players, races, records, seeds, places over time, and a recap."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple
from urllib.parse import urlencode

from racebot.addresses import PAGE_SIZE, RACES, RATINGS, BadQueryError, day_in, link, whole_number
from racebot.ledger.rows import Standing
from racebot.queries import leaderboard as queries
from racebot.queries.leaderboard import places_over_time
from racebot.queries.player import last_results
from racebot.queries.races import latest_races
from racebot.queries.records import hall_of_fame
from racebot.queries.seeds import SeedList, seed_list
from racebot.ratings import registry
from racebot.text.parse import fold_name
from racebot.web.html import charts, templating
from racebot.web.site.formats import plain_name
from racebot.web.site.ledger_view import Board, Content, LedgerView, Moved, PageRequest

RACES_ON_A_PAGE = 50
SEEDS = 256  # Most seeds on a page. The JSON and the CSV have all
UNRANKED = 50  # most players without a place below the others
RESULTS = 5  # last results to show for each player
DRAWN = 10  # most players of a chart
MOMENTS = 13  # times at which a chart has places
WEEKS = timedelta(weeks=12)  # the time that the chart shows unless its address says otherwise

COLUMNS = {
    "place": ("Place", "place"),
    "player": ("Player", "name"),
    "points": ("Points", ""),
    "week": ("Week", ""),
    "form": ("Last 5", ""),
    "races": ("Races", "wide"),
    "finished": ("Finished", "wide"),
    "won": ("Won", "wide"),
    "last": ("Last race", "wide"),
}
"""The heading and the CSS class of each column of the table."""
_SORTABLE = [column for column in COLUMNS if column != "form"]
_SORTED_UP = {"place", "player"}  # columns that a first click sorts in ascending order
_SORT_KEYS: dict[str, Callable[[Standing], Any]] = {
    "place": lambda row: -row.rating,
    "points": attrgetter("points"),
    "races": attrgetter("races"),
    "finished": attrgetter("finishes"),
    "won": attrgetter("wins"),
    "last": attrgetter("last_race_at"),
}


@dataclass(frozen=True, slots=True)
class Choice:
    """The search, sort order and past date that a reader chose."""

    given: Mapping[str, str]
    sort: str
    down: bool
    at: date | None

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Choice:
        """Parse a query string; an invalid one is a `BadQueryError`."""
        given = {name: value[:100] for name, value in query.items() if value and name != "page"}
        sort, order = given.get("sort", "place"), given.get("order")
        if sort not in _SORTABLE:
            raise BadQueryError(f"sort: must be one of {', '.join(_SORTABLE)}")
        if order not in {None, "up", "down"}:
            raise BadQueryError("order: must be up or down")
        down = order == "down" if order else sort not in _SORTED_UP
        return cls(given, sort, down, day_in(given, "at"))

    @property
    def q(self) -> str:
        return self.given.get("q", "")

    @property
    def default(self) -> bool:
        return self.sort == "place" and not (self.down or self.q or self.at)

    @property
    def moment(self) -> datetime | None:
        return None if self.at is None else datetime.combine(self.at + timedelta(days=1), time(), UTC)

    def query(self, page: int = 1) -> str:
        return _query({**self.given, "page": page} if page > 1 else self.given)

    def sorted_by(self, column: str) -> str:
        """Return the query after a click on a column heading."""
        down = not self.down if column == self.sort else column not in _SORTED_UP
        return _query({**self.given, "sort": column, "order": "down" if down else "up"})


def _query(values: Mapping[str, object]) -> str:
    return f"?{urlencode(values)}" if values else ""


class PageLink(NamedTuple):
    """One entry of a pager. `number` is None for a gap."""

    number: int | None
    link: str = ""
    current: bool = False


def leaderboard_page(request: PageRequest, board: Board) -> Content:
    """Render a leaderboard: its scores, if they order it, else the first page of its ratings."""
    view, wanted = request.view, fold_name(request.query.get("q", "")[:100].strip())
    league = view.ordering_league(board)
    if league is None:
        return ratings_page(request, board)
    if request.query.keys() - {"q"}:
        return Moved(board.address.of(RATINGS))
    racers = [each for each in league.standings if wanted in fold_name(each.name)]
    coming = {
        each.id: each for _, live in view.live_rooms().scored(board.address.stem) for each in live.scores
    }
    return templating.board_page(
        request,
        "league.html",
        board,
        view.totals(board),
        league=league,
        racers=racers,
        coming=coming,
        waiting=waiting(view, board),
    )


def ratings_page(request: PageRequest, board: Board, page: int = 1) -> Content:
    """Render one page of a leaderboard's ratings. Return None if there is no page with that number."""
    choice = Choice.of(request.query)
    view, scored = request.view, board.listing.ordering is not None
    if request.path == board.address.of(RATINGS) and not scored:
        return Moved(board.address.page())
    report = view.report(board, choice.moment) if choice.moment else view.report(board)
    players = _chosen(view, report, choice)
    number = page_number(request.query, page)
    count = max(1, -(-len(players) // PAGE_SIZE))
    if not 1 <= number <= count:
        return None
    first = link(request.path, board.address.of(RATINGS) if scored else board.address.page())

    def page_link(page: int) -> str:
        if page == 1 or not choice.default:
            return first + choice.query(page)
        return link(request.path, board.address.page(page))

    everybody_shown = len(report.players) <= PAGE_SIZE and choice.default
    shown = players[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
    ids = [player.id for player in shown]
    last = view.ledger.ratings.sequence_until(board.stored, choice.moment) if choice.moment else None
    then = queries.BoardTotals(len(report.players), report.races, report.last_race_at, None)
    return templating.board_page(
        request,
        "leaderboard.html",
        board,
        # In an export, the other pages are rendered again only when one of their rows changes.
        None if number > 1 else view.totals(board) if choice.at is None else then,
        report=report,
        first=first,
        tab="Ratings" if scored else "Leaderboard",
        waiting=waiting(view, board) if number == 1 and choice.at is None else [],
        choice=choice,
        columns=COLUMNS,
        sort_by=lambda column: first + choice.sorted_by(column),
        players=shown,
        unranked=report.players.unranked(UNRANKED) if number == 1 and choice.default else [],
        form=last_results(view.ledger, board.key, ids, RESULTS, last),
        matching=len(players),
        pages=pager(number, count, page_link),
        live=everybody_shown or not request.served,
        whole=[page_link(page) for page in range(1, count + 1)] if count > 1 and not request.served else [],
    )


def waiting(view: LedgerView, board: Board) -> list[datetime]:
    """Return when, at the latest, each race of the category counts that needs no record, but has to stand."""
    if not board.stored.rule.finished:
        return []
    boards = [board.stored, *view.publication.planned]
    return [*view.ledger.cases.standing(board.category, boards).values()]


def pager(number: int, count: int, page_link: Callable[[int], str]) -> list[PageLink]:
    """Return links to the first, last and neighboring pages, with gaps between them."""
    near = sorted({1, count, *range(max(1, number - 2), min(count, number + 2) + 1)})
    pages: list[PageLink] = []
    for previous, page in zip([0, *near], near, strict=False):
        if page - previous > 1:
            pages.append(PageLink(None))
        pages.append(PageLink(page, page_link(page), page == number))
    return pages


def page_number(query: Mapping[str, str], default: int) -> int:
    return whole_number(query, "page", default) if query.get("page") else default


def older_race_pages(total: int) -> int:
    """Return the number of pages of older races. They never change: the newest page holds 50 to 99."""
    return max(0, total // RACES_ON_A_PAGE - 1)


def race_span(total: int, number: int | None) -> tuple[int, int]:
    """Return the numbers of the first and last race on a page, from the oldest; None is the newest page."""
    if number is None:
        return older_race_pages(total) * RACES_ON_A_PAGE + 1, total
    return (number - 1) * RACES_ON_A_PAGE + 1, number * RACES_ON_A_PAGE


def race_pages(
    request: PageRequest, total: int, number: int | None, address: Callable[..., str]
) -> tuple[int, int, list[PageLink]] | None:
    """Return a page's first and last race, and its pager; None without such a page.

    `number` is from the oldest page, for `address`, too; a `page` of the query is from the newest.
    """
    older = older_race_pages(total)
    if asked := page_number(request.query, 0):
        number = None if asked == 1 else older + 2 - asked
    if number is not None and not 1 <= number <= older:
        return None
    current = 1 if number is None else older + 2 - number

    def page_link(position: int) -> str:
        return link(request.path, address(number=None if position == 1 else older + 2 - position))

    return *race_span(total, number), pager(current, older + 1, page_link)


def _chosen(
    view: LedgerView, report: queries.LeaderboardReport, choice: Choice
) -> Sequence[queries.ListedPlayer]:
    players = report.players
    if choice.sort == "place" and not choice.down and not choice.q:
        return players
    rows = list(players.rows)
    names = players.names() if choice.q or choice.sort == "player" else {}
    if wanted := fold_name(choice.q.strip()):
        folded = {row: fold_name(names[row.player]) for row in rows}
        rows = [row for row in folded if wanted in folded[row]]
        if not rows:
            near = {each.id for each in view.players_named(choice.q.strip(), typos=True)}
            rows = [row for row in folded if row.player in near]
    keys = {"player": lambda row: names[row.player].casefold(), "week": players.points_won, **_SORT_KEYS}
    return players.chosen(sorted(rows, key=keys[choice.sort], reverse=choice.down))


def races(request: PageRequest, board: Board, number: int | None = None) -> Content:
    total = request.view.ledger.ratings.count(board.stored)
    found = race_pages(request, total, number, partial(board.address.of, RACES))
    if found is None:
        return None
    first, last, pages = found
    return templating.board_page(
        request,
        "races.html",
        board,
        request.view.totals(board) if number is None else None,
        first=first,
        last=last,
        races=latest_races(request.view.ledger, board.key, last - first + 1, total - last),
        pages=pages,
    )


def records(request: PageRequest, board: Board) -> Content:
    settled = board.listing.provisional_races
    fame = hall_of_fame(request.view.ledger, board.stored, settled=settled)
    return templating.board_page(request, "fame.html", board, request.view.totals(board), fame=fame)


def seeds_of(request: PageRequest, board: Board, limit: int | None = None) -> SeedList:
    text = request.query.get("entrants", "").strip()
    if not (text or limit):
        return request.view.seeds(board)
    entrants = text.splitlines() if text else None
    return seed_list(request.view.ledger, board.stored, board.listing, entrants, limit)


def seeds_page(request: PageRequest, board: Board) -> Content:
    entrants = request.query.get("entrants", "").strip()
    return templating.board_page(
        request,
        "seeds.html",
        board,
        request.view.totals(board),
        found=seeds_of(request, board, SEEDS),
        entrants=entrants,
        query=f"?{urlencode({'entrants': entrants})}" if entrants else "",
    )


def explained(request: PageRequest, board: Board) -> Content:
    """Render how a race moves a rating, in plain words."""
    model = registry.create(board.stored.model, board.stored.parameters)
    return templating.board_page(
        request,
        "explained.html",
        board,
        request.view.totals(board),
        listing=board.listing,
        prefix=request.view.publication.command_prefix,
        newcomer=int(model.points(model.initial()[None, :])[0]),
    )


def places_chart(
    view: LedgerView, board: Board, players: Sequence[queries.ListedPlayer], start: datetime, end: datetime
) -> charts.Bump:
    """Draw the places of some listed players between two times."""
    listed = view.report(board).players
    moments = [start + (end - start) * number / (MOMENTS - 1) for number in range(MOMENTS)]
    places = places_over_time(view.ledger, board.stored, listed, [each.id for each in players], moments)
    lines = [(plain_name(each.name, 14), places[each.id]) for each in players if any(places[each.id])]
    return charts.Bump(moments, lines)


def movement(request: PageRequest, board: Board) -> Content:
    """Render the places of the best players, or of those whom the address names, over a range of dates."""
    view = request.view
    report = view.report(board)
    last = report.last_race_at
    asked = {fold_name(name.strip()): name.strip() for name in request.query.get("players", "").split(",")}
    asked.pop("", None)
    players, listed = list(report.players[:DRAWN]), set[str]()
    if asked:
        names = report.players.names()
        rows = [row for row in report.players.rows if fold_name(names[row.player]) in asked]
        listed = {fold_name(names[row.player]) for row in rows}
        players = list(report.players.chosen(rows[:DRAWN])) or players
    chart = None
    if last is not None and players:
        end = datetime.combine(day_in(request.query, "to") or last.astimezone(UTC).date(), time.max, UTC)
        since = day_in(request.query, "from")
        start = datetime.combine(since, time(), UTC) if since else end - WEEKS
        if start >= end:
            raise BadQueryError("from: must be an earlier date than to")
        chart = places_chart(view, board, players, start, end)
    return templating.board_page(
        request,
        "movement.html",
        board,
        view.totals(board),
        chart=chart,
        query=request.query,
        missing=[name for folded, name in asked.items() if folded not in listed],
        newest=last,
    )


def recap_page(request: PageRequest, board: Board) -> Content:
    """Render the champion, the podium and the facts of a season. Before it is final, there is no page."""
    view = request.view
    found = view.recap(board)
    if found is None:
        return None
    chart, players = None, view.report(board).players[:DRAWN]
    if players and found.span and found.span[0].ended_at < found.span[1].ended_at:
        chart = places_chart(view, board, players, *(race.ended_at for race in found.span))
    return templating.board_page(request, "recap.html", board, view.totals(board), found=found, chart=chart)
