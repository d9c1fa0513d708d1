"""Render a player's pages: one leaderboard, races, opponents, all leaderboards, comparisons."""

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any

from racebot import addresses
from racebot.addresses import OPPONENTS_ON_A_PAGE, OPPONENTS_SHOWN, link
from racebot.queries import player as queries
from racebot.queries.leaderboard import neighbors
from racebot.queries.races import races_numbered
from racebot.scoring.table import LeagueStanding
from racebot.text.format import integer
from racebot.web.html import charts, templating
from racebot.web.html.leaderboard import page_number, pager, race_pages
from racebot.web.site.formats import day, shown_name
from racebot.web.site.ledger_view import Board, Content, PageRequest

LAST_RACES = 10  # Races on a player's page. A longer list also has separate pages
MEETINGS = 100  # most races together on a comparison


def opponent_pages(opponents: int) -> int:
    return max(1, -(-opponents // OPPONENTS_ON_A_PAGE))


def on_board(request: PageRequest, board: Board, player: str) -> Content:
    view = request.view
    record = view.player(board, player)
    if record is None:
        return None
    history, standing, peak = record.history, record.standing, max(record.history, key=attrgetter("after"))
    numbers = [race.sequence for race in history[-LAST_RACES:]]
    first, last = (day(history[i].ended_at) for i in (0, -1))
    label = f"Rating of {shown_name(standing.name)} from {first} to {last}"
    now = f"now {integer(standing.points)} points, highest {integer(peak.after)}"
    return templating.board_page(
        request,
        "player.html",
        board,
        **_person(request, board, record),
        peak=peak,
        months=queries.months_of(history),
        wins=queries.run(race.place == 1 for race in history),
        fastest=queries.fastest_of_goals(history),
        racer=view.racer(board, player),
        neighbors=_neighbors(request, board, record) if request.served else [],
        graph=charts.ratings([history], f"{label}: {now}"),
        graph_data=charts.graph_data(request.path, [(standing.name, history)]),
        opponents=record.rivals(last=OPPONENTS_SHOWN),
        all_opponents=len(record.opponents),
        whole=_opponent_lists(board, record) if len(record.opponents) > OPPONENTS_SHOWN else [],
        races=history[: -LAST_RACES - 1 : -1],
        rows=races_numbered(view.ledger, board.key, numbers),
        history=history,
        standings=view.standings(player),
        rooms=[each for each in view.live_rooms().of(player) if each[1].board == board.address.stem],
    )


def _neighbors(
    request: PageRequest, board: Board, record: queries.PlayerRecord
) -> list[tuple[bool, LeagueStanding | queries.PlayerStanding | None, queries.OpponentRecord | None]]:
    """Return the players above and below a player, each with the record."""
    view, own, records = request.view, record.standing, {each.id: each for each in record.opponents}
    table = view.ordering_league(board)
    if table is None:
        next_to = neighbors(view.ledger, board.stored, board.listing, own)
        return [(is_above, view.standing(board, each), records.get(each)) for is_above, each in next_to]
    ids = [each.id for each in table.standings]
    at = ids.index(own.id) if own.id in ids else len(ids) + 1
    around = [other for other in (at - 1, at + 1) if 0 <= other < len(ids)]
    return [(other < at, table.standings[other], records.get(ids[other])) for other in around]


def or_comparison(page: Callable[..., Content]) -> Callable[..., Content]:
    """Return a page of a player on a leaderboard, or of the comparison with the query's player `vs`."""

    def content(request: PageRequest, board: Board, player: str, **fields: Any) -> Content:
        other = request.view.player_meant(request.query.get("vs", ""))
        found = compare(request, board, player, other.id) if other else None
        return found or page(request, board, player, **fields)

    return content


def races(request: PageRequest, board: Board, player: str, number: int | None = None) -> Content:
    view = request.view
    record = view.player(board, player)
    if record is None:
        return None
    address = partial(board.address.of, addresses.PLAYER_RACES, player=player)
    listed = race_pages(request, len(record.history), number, address)
    if listed is None:
        return None
    first, last, pages = listed
    shown = record.history[first - 1 : last][::-1]
    return templating.board_page(
        request,
        "player_races.html",
        board,
        **_person(request, board, record),
        races=shown,
        rows=races_numbered(view.ledger, board.key, [race.sequence for race in shown]),
        pages=pages,
    )


def opponents(request: PageRequest, board: Board, player: str, number: int | None = None) -> Content:
    number = page_number(request.query, number or 1)
    record = request.view.player(board, player)
    if record is None:
        return None
    total = len(record.opponents)
    count = opponent_pages(total)
    if not 1 <= number <= count:
        return None
    lists = _opponent_lists(board, record)
    first = (number - 1) * OPPONENTS_ON_A_PAGE
    return templating.board_page(
        request,
        "opponents.html",
        board,
        **_person(request, board, record),
        total=total,
        opponents=record.rivals(first, first + OPPONENTS_ON_A_PAGE),
        pages=pager(number, count, lambda page: link(request.path, lists[page - 1])),
        whole=lists if count > 1 else [],
    )


def _opponent_lists(board: Board, record: queries.PlayerRecord) -> list[str]:
    """Return the addresses of the pages that together list a player's opponents."""
    numbers = range(1, opponent_pages(len(record.opponents)) + 1)
    return [board.address.opponents(record.standing.id, number) for number in numbers]


def on_all_boards(request: PageRequest, player: str) -> Content:
    view, standings = request.view, request.view.standings(player)
    if not standings:
        return None
    return templating.page(
        request,
        "player_boards.html",
        profile=view.ledger.profiles.get(player),
        standings=standings,
        player=standings[0][1],
    )


def _person(request: PageRequest, board: Board, record: queries.PlayerRecord) -> dict[str, Any]:
    address, standing = board.address, record.standing
    own = address.player(standing.id)
    all_races, all_opponents = standing.races > LAST_RACES, len(record.opponents) > OPPONENTS_SHOWN
    return {
        "tabs": {
            "Overview": (own, ""),
            "Races": (address.of(addresses.PLAYER_RACES, player=standing.id) if all_races else own, "#races"),
            "Opponents": (address.opponents(standing.id) if all_opponents else own, "#opponents"),
        },
        "standing": standing,
        "profile": request.view.ledger.profiles.get(standing.id),
        "as_of": None if request.served else request.view.totals(board).last_race_at,
        "timed": any(race.finish_time is not None for race in record.history),
    }


def compare(request: PageRequest, board: Board, player: str, other: str) -> Content:
    """Render the comparison of two players. None unless both raced on the leaderboard."""
    people = [request.view.standing(board, each) for each in (player, other)]
    if player == other or None in people:
        return None
    histories = [request.view.history(board, each) for each in (player, other)]
    names = [shown_name(person.name) for person in people if person]
    return templating.board_page(
        request,
        "compare.html",
        board,
        people=people,
        comparison=queries.compared(request.view.ledger, board.stored, player, other),
        graph=charts.ratings(histories, f"Ratings of {names[0]} and {names[1]}"),
        graph_data=charts.graph_data(request.path, list(zip(names, histories, strict=True))),
        meetings=queries.meetings(*histories)[:MEETINGS],
    )
