"""Render the pages of all leaderboards: the front page, the activity of a category, and the search."""

import json
from collections import Counter
from datetime import datetime
from operator import itemgetter, sub

from racebot.ledger.rows import NamedPlayer
from racebot.queries.activity import REGULAR
from racebot.queries.races import races_named
from racebot.text.parse import fold_name
from racebot.web.html import templating
from racebot.web.html.templating import SCRIPT_TYPE
from racebot.web.site.formats import latin, shown_name
from racebot.web.site.ledger_view import Board, Content, Document, PageRequest

CARDS = 6  # leaderboards with their best players on the front page
MOST_FOUND = 20  # most players and races that a search lists


def front(request: PageRequest) -> Content:
    """Render the front page: the leaderboards raced last with their best players, the others by name."""
    view, shown = request.view, 10 if len(request.view.boards) < 3 else 5
    running_first = view.by_last_race(view.boards)
    cards = [board for board in running_first if not board.final_since][:CARDS] or running_first[:1]
    categories = []
    for category in dict.fromkeys(board.category for board in view.boards):
        own = [board for board in running_first if board.category == category]
        shown_here, more = ([board for board in own if (board in cards) is each] for each in (True, False))
        categories.append((category, view.category_face(category), len(own), shown_here, more))
    return templating.page(
        request,
        "front.html",
        updated=max(filter(None, (view.totals(board).updated_at for board in view.boards)), default=None),
        categories=categories,
        latest=view.latest_races(shown - 2),
        scored=[board.address.stem for board in view.boards if board.listing.ordering],
        shown=shown,
    )


def activity(request: PageRequest, category: str) -> Content:
    """Render when a category races, and how many do. Its starts let a script count in the reader's zone."""
    boards = [board for board in request.view.boards if board.category == category]
    if not boards:
        return None
    found = request.view.activity(category)
    starts = found.starts if found else ()
    hours = Counter((each.weekday(), each.hour) for each in starts)
    halves = [0, *(int(each.timestamp() // 1800) for each in starts)]
    return templating.page(
        request,
        "activity.html",
        found=found,
        hours=hours,
        busiest=max(hours.values(), default=1),
        starts=" ".join(map(str, map(sub, halves[1:], halves))),
        regular=REGULAR,
        category=request.view.category_face(category),
        boards=request.view.by_last_race(boards),
    )


def search(request: PageRequest) -> Content:
    text = request.query.get("q", "")[:100].strip()
    wanted = fold_name(text)
    race = "" if text else request.query.get("race", "")
    racers, counted = _racers(request, race) if race else ([], set())
    named = request.view.players_named
    players = (named(text) or named(text, typos=True))[:MOST_FOUND] if text else racers
    return templating.page(
        request,
        "search.html",
        text=text,
        race=race,
        players=[(player, request.view.main_standing(player.id, counted)) for player in players],
        races=races_named(request.view.ledger, text, MOST_FOUND) if text else [],
        boards=[
            (board, _category(request, board))
            for board in request.view.boards
            if wanted and wanted in fold_name(board.name)
        ],
    )


def index(request: PageRequest) -> Content:
    """Return a script with the names and addresses of all players and leaderboards, for an export.

    Each player has an avatar's address, or initials after the number of their color, then the points or the
    score on their main leaderboard and its index; each leaderboard its category's name, empty if all have
    the same. `latin` has names with other letters than A to Z in Latin letters.
    """
    if request.served:
        return None
    standings: list[tuple[bool, datetime, str, int | str, int]] = []
    for number, board in reversed([*enumerate(request.view.boards)]):
        rows, least = request.view.ledger.standings.now(board.stored), board.listing.minimum_finishes
        table = request.view.ordering_league(board)
        shown: dict[str, int | str] = {row.player: row.points for row in rows.values()}
        shown |= {each.id: f"{each.total.score:.1f}" for each in table.standings} if table else {}
        standings += [(r.finishes >= least, r.last_race_at, p, shown[p], number) for p, r in rows.items()]
    points = {player: main for _, _, player, *main in sorted(standings, key=itemgetter(0, 1))}
    players = [
        [
            each.id,
            shown_name(each.name),
            face.small or f"{face.color}{face.initials}",
            *points.get(each.id, ()),
        ]
        for each in request.view.rated_players.values()
        for face in [request.view.face(each.id, each.name)]
    ]
    boards = [
        [board.address.page(), shown_name(board.name), _category(request, board)]
        for board in request.view.boards
    ]
    names = {row[1]: folded for row in (*players, *boards) if (folded := latin(row[1]))}
    content = {"players": players, "boards": boards, "latin": names}
    script = f"window.racebotIndex={json.dumps(content, ensure_ascii=False, separators=(',', ':'))};\n"
    return Document(script.encode(errors="replace"), SCRIPT_TYPE)


def _racers(request: PageRequest, race: str) -> tuple[list[NamedPlayer], set[str | None]]:
    """Return the racers of an open or recorded race who have a rating, and the ids of its leaderboards."""
    view = request.view
    room, report = view.live_room(race), view.race(race)
    shown = [board.entrants for board in room.leaderboards] if room else []
    placed = [part.placed for part in report.leaderboards] if report else []
    ids = dict.fromkeys(each.id for group in (*shown, *placed) for each in group)
    stems = {board.board for board in room.leaderboards} if room else set()
    stems |= {board.address.stem for board in view.boards_of(report)} if report else set()
    return [view.rated_players[each] for each in ids if each in view.rated_players], stems


def _category(request: PageRequest, board: Board) -> str:
    """Return the name of a leaderboard's category, empty if all leaderboards have the same."""
    view = request.view
    if not board.category or len(view.siblings(board)) == len(view.boards):
        return ""
    return shown_name(view.category_face(board.category).name)
