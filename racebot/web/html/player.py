"""Render a player's pages: one leaderboard, races, opponents, all leaderboards, comparisons, the sheet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from statistics import median
from typing import Any
from urllib.parse import urlencode

from racebot import addresses
from racebot.addresses import OPPONENTS_ON_A_PAGE, OPPONENTS_SHOWN, link
from racebot.queries.history import (
    PlayedRace,
    fastest,
    fastest_of_goals,
    last_results,
    milestones,
    months_of,
    run,
)
from racebot.queries.leaderboard import ListedPlayer
from racebot.queries.odds import odds
from racebot.queries.player import OpponentRecord, PlayerRecord, PlayerStanding, meetings
from racebot.queries.races import races_numbered
from racebot.queries.records import upsets
from racebot.scoring.table import LeagueStanding
from racebot.text.format import integer
from racebot.text.parse import fold_name
from racebot.web.html import charts, templating
from racebot.web.html.leaderboard import page_number, pager, race_pages
from racebot.web.site.formats import day, shown_name
from racebot.web.site.ledger_view import Board, Content, LedgerView, PageRequest

LAST_RACES = 10  # Races on a player's page. A longer list also has separate pages
MEETINGS = 50  # races together on one page of a comparison
MOST = 8  # players on a commentator's sheet, and most players to offer for a name
FORM = 10  # last results of each player on the sheet


def _has(race: PlayedRace, result: str) -> bool:
    """Return whether a race has the result that a reader chose. Other words choose all races."""
    shown = {"won": race.place == 1, "finished": race.place is not None, "unfinished": race.place is None}
    return shown.get(result, True)


def opponent_pages(opponents: int) -> int:
    return max(1, -(-opponents // OPPONENTS_ON_A_PAGE))


def on_board(request: PageRequest, board: Board, player: str) -> Content:
    view = request.view
    record = view.player(board, player)
    if record is None:
        return None
    settled = view.publication.provisional_races
    history, standing, peak = record.history, record.standing, max(record.history, key=attrgetter("after"))
    before, numbers = min(settled, len(history) - 1), [race.sequence for race in history[-LAST_RACES:]]
    best_wins = upsets(view.ledger, board.stored, player=player, settled=before, limit=1)
    first, last = (day(history[i].ended_at) for i in (0, -1))
    label = f"Rating of {shown_name(standing.name)} from {first} to {last}"
    now = f"now {integer(standing.points)} points, highest {integer(peak.after)}"
    return templating.board_page(
        request,
        "player.html",
        board,
        **_person(request, board, record),
        peak=peak,
        months=months_of(history),
        wins=run(race.place == 1 for race in history),
        finishes=run(race.place is not None for race in history),
        fastest=fastest_of_goals(history),
        year=charts.Year(history),
        milestones=milestones(history),
        best_win=best_wins[0] if best_wins else None,
        racer=view.racer(board, player),
        neighbors=_neighbors(request, board, record),
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
    request: PageRequest, board: Board, record: PlayerRecord
) -> list[tuple[bool, ListedPlayer | LeagueStanding, OpponentRecord | None]]:
    """Return who is above a player and who below, each with the record. An export does not follow them."""
    view, own, records = request.view, record.standing.id, {each.id: each for each in record.opponents}
    table, players = view.ordering_league(board), view.report(board).players
    ids = [each.id for each in table.standings] if table else [row.player for row in players.rows]
    if not request.served or own not in ids:
        return []
    at, listed = ids.index(own), table.standings if table else players
    around = [other for other in (at - 1, at + 1) if 0 <= other < len(ids)]
    return [(other < at, listed[other], records.get(ids[other])) for other in around]


def or_comparison(page: Callable[..., Content]) -> Callable[..., Content]:
    """Return a page of a player on a leaderboard, or of the comparison with the query's player `vs`."""

    def content(request: PageRequest, board: Board, player: str, **fields: Any) -> Content:
        other = request.query.get("vs", "")
        known = other and request.view.standing(board, player) is not None
        found = compare(request, player, other, board.address.stem) if known else None
        return found or page(request, board, player, **fields)

    return content


def races(request: PageRequest, board: Board, player: str, number: int | None = None) -> Content:
    view = request.view
    record = view.player(board, player)
    if record is None:
        return None
    choice = {name: request.query.get(name, "")[:300] for name in ("result", "goal")}
    history = record.history
    number = page_number(request.query) or number
    chosen = [race for race in history if _has(race, choice["result"]) and choice["goal"] in {"", race.goal}]

    def page_link(page: int | None) -> str:
        chosen = any(choice.values())
        number = None if chosen else page
        to = link(request.path, board.address.of(addresses.PLAYER_RACES, player=player, number=number))
        query = {name: value for name, value in {**choice, "page": page}.items() if value}
        return f"{to}?{urlencode(query)}" if chosen else to

    listed = race_pages(len(chosen), number, page_link)
    if listed is None:
        return None
    first, last, pages, whole = listed
    shown = chosen[first - 1 : last][::-1]
    return templating.board_page(
        request,
        "player_races.html",
        board,
        **_person(request, board, record),
        races=shown,
        rows=races_numbered(view.ledger, board.key, [race.sequence for race in shown]),
        matching=len(chosen),
        goals=sorted({race.goal for race in history}),
        choice=choice,
        pages=pages,
        whole=[] if request.served else whole,
    )


def opponents(request: PageRequest, board: Board, player: str, number: int | None = None) -> Content:
    number = 1 if number is None else number
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


def _opponent_lists(board: Board, record: PlayerRecord) -> list[str]:
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


def compare_link(request: PageRequest, board: Board, player: str, other: str) -> str:
    """Return a link to the comparison of two players. In an export, it marks the opponent's row."""
    if not request.served:
        return addresses.versus(other)
    target = addresses.COMPARED.path(player=player, other=other)
    return f"{link(request.path, target)}?{urlencode({'on': board.address.stem})}"


def _person(request: PageRequest, board: Board, record: PlayerRecord) -> dict[str, Any]:
    address, standing = board.address, record.standing
    own = address.player(standing.id)
    all_races = request.served or standing.races > LAST_RACES
    all_opponents = request.served or len(record.opponents) > OPPONENTS_SHOWN
    return {
        # An export has separate pages only of long lists.
        "tabs": {
            "Overview": (own, ""),
            "Races": (address.of(addresses.PLAYER_RACES, player=standing.id) if all_races else own, "#races"),
            "Opponents": (address.opponents(standing.id) if all_opponents else own, "#opponents"),
        },
        "standing": standing,
        "profile": request.view.ledger.profiles.get(standing.id),
        "as_of": None if request.served else record.latest,
        "timed": any(race.finish_time is not None for race in record.history),
        "compare_link": partial(compare_link, request, board),
    }


def compare(request: PageRequest, player: str, other: str, on: str = "") -> Content:
    """Render the comparison of two players on a leaderboard, if any. `on` is as for `LedgerView.pair`."""
    found = request.view.pair(player, other, request.query.get("on", on)) if request.served else None
    if found is None:
        return None
    board, people, comparison = found
    number, count = page_number(request.query) or 1, -(-comparison.met // MEETINGS)
    if not 1 <= number <= max(count, 1):
        return None
    own = compare_link(request, board, player, other)
    histories = [request.view.history(board, each) for each in (player, other)]
    names = [shown_name(person.name) for person in people]
    return templating.board_page(
        request,
        "compare.html",
        board,
        people=people,
        comparison=comparison,
        graph=charts.ratings(histories, f"Ratings of {names[0]} and {names[1]}"),
        graph_data=charts.graph_data(request.path, list(zip(names, histories, strict=True))),
        meetings=meetings(*histories)[(number - 1) * MEETINGS : number * MEETINGS],
        pages=pager(number, count, lambda page: own if page == 1 else f"{own}&page={page}"),
    )


def compare_by_query(request: PageRequest) -> Content:
    """Render the sheet of players, or two players at an address of an earlier version."""
    if not request.served:
        return templating.page(request, "compare_files.html", boards=request.view.boards)
    if request.query.keys() & {"a", "b"}:
        return compare(request, request.query.get("a", ""), request.query.get("b", ""))
    return sheet(request)


def sheet(request: PageRequest) -> Content:
    """Render the sheet of the players that the address names, and offer more. Bad ids are left out."""
    view, query = request.view, request.query
    ids = list(dict.fromkeys(filter(None, query.get("players", "").split(","))))[:MOST]
    ids = [view.merged.get(each, each) for each in ids]
    board = _sheet_board(request, ids)
    if board is None:
        return None
    standings = [found for each in ids if (found := view.standing(board, each)) is not None]
    chosen = [each.id for each in standings]
    text = query.get("add", "").strip()[:100]
    named = [view.rated_players[text]] if text in view.rated_players else view.players_meant(text)
    offered = [each for each in named if each.id not in chosen and view.standing(board, each.id)][:MOST]
    exact = [e for e in offered if text == e.id or fold_name(e.name) == fold_name(text)] or offered
    if len(exact) == 1 and len(chosen) < MOST:
        standings.append(view.standing(board, exact[0].id))  # type: ignore[arg-type]
        chosen, offered, text = [*chosen, exact[0].id], [], ""

    def address(players: Sequence[str]) -> str:
        return f"?{urlencode({'players': ','.join(players), 'on': board.address.stem})}"

    return templating.board_page(
        request,
        "sheet.html",
        board,
        rows=_sheet_rows(view, board, standings),
        chosen=chosen,
        names={each.id: each.name for each in standings},
        without={each: address([other for other in chosen if other != each]) for each in chosen},
        offered=[(each, address([*chosen, each.id])) for each in offered] if len(chosen) < MOST else [],
        boards=view.boards,
        text=text,
        added="add" in query,
        best=None if chosen else address([each.id for each in view.report(board).players[:MOST]]),
        full=len(chosen) == MOST,
    )


def _sheet_board(request: PageRequest, ids: Sequence[str]) -> Board | None:
    view = request.view
    if (board := view.board(request.query.get("on", ""))) is not None:
        return board
    raced = next((found[0][0] for each in ids if (found := view.standings(each))), None)
    return raced or next(iter(sorted(view.boards, key=lambda each: -view.totals(each).races)), None)


def _sheet_rows(view: LedgerView, board: Board, standings: Sequence[PlayerStanding]) -> list[dict[str, Any]]:
    """Return what the sheet shows of each player: `versus` has the record against each other one, by id."""
    if len(standings) < 2:
        return []
    ids = [each.id for each in standings]
    form = last_results(view.ledger, board.key, ids, FORM)
    histories = {each: view.history(board, each) for each in ids}
    rows = [
        {
            "standing": standing,
            "odds": chance,
            "best": fastest(histories[standing.id]),
            "form": form.get(standing.id, ()),
            "versus": {each: _versus(histories[standing.id], histories[each]) for each in ids},
        }
        for standing, chance in zip(standings, odds(view.ledger, board.stored, ids), strict=True)
    ]
    return sorted(rows, key=lambda row: -row["odds"].forecast.win_chance)


def _versus(mine: Sequence[PlayedRace], theirs: Sequence[PlayedRace]) -> tuple[int, int, float | None]:
    """Return the races ahead and behind, and the median margin in seconds, below zero if ahead."""
    met, last = meetings(mine, theirs), float("inf")
    margins = [
        each.finish_time - each.other_finish_time
        for each in met
        if each.finish_time is not None and each.other_finish_time is not None
    ]
    ahead = sum((each.place or last) < (each.other_place or last) for each in met)
    behind = sum((each.place or last) > (each.other_place or last) for each in met)
    return ahead, behind, median(margins) if margins else None
