"""Render a player's pages: one leaderboard, races, opponents, all leaderboards, and comparisons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC
from functools import partial
from itertools import groupby
from math import inf
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from racebot import addresses
from racebot.addresses import OPPONENTS_ON_A_PAGE, OPPONENTS_SHOWN, link
from racebot.queries.player import PlayedRace, PlayerStanding
from racebot.queries.race import reasons_of
from racebot.queries.races import winners_of
from racebot.queries.records import upsets
from racebot.text.format import integer
from racebot.web.html import charts, fragments, templating
from racebot.web.html.leaderboard import page_number, pager, race_pages
from racebot.web.html.sheet import fastest, sheet, streak
from racebot.web.site.formats import day, shown_name
from racebot.web.site.ledger_view import Board, Content, LedgerView, Moved, PageRequest

LAST_PLACE = 10
"""Places after this one are counted together."""
RACES_NAMED = 3
"""Number of best races to show, and of worst races."""
LAST_RACES = 10
"""Races on a player's page. A longer list also has separate pages."""
WON = Markup('<span class="soft">won</span>')
ROUND_RACES = (50, 100, 200, 300, 500, 1000, 2000)
ROUND_WINS = (10, 50, 100)
"""Numbers of races and wins that are milestones."""
MEETINGS = 50
"""Races together on one page of a comparison."""


def player_figures(view: LedgerView, races: Sequence[PlayedRace]) -> dict[str, Any]:
    """Compute a player's statistics, by name, from all of their races, oldest first.

    `peak` is the first race after which the points were highest. `best` and `worst` leave out provisional
    ratings if `only_settled`. `places` has the number of races of each place, `months` the races of each
    month, newest first, and `fastest` one race a goal. `wins` and `finishes` are the lengths of the current
    run of won or finished races and of the longest one.
    """
    settled = [race for race in races if race.races_before >= view.publication.provisional_races]
    rises = sorted(settled or races, key=lambda race: race.change, reverse=True)
    by_month = groupby(races, key=lambda race: race.ended_at.astimezone(UTC).date().replace(day=1))
    goals = sorted({race.goal for race in races})
    by_goal = (fastest(race for race in races if race.goal == goal) for goal in goals)
    return {
        "peak": max(races, key=lambda race: race.after),
        "only_settled": bool(settled),
        "best": [race for race in rises[:RACES_NAMED] if race.change > 0],
        "worst": [race for race in rises[: -RACES_NAMED - 1 : -1] if race.change < 0],
        "places": Counter(map(_place, sorted(races, key=lambda race: race.place or inf))),
        "months": [(month, list(group)) for month, group in by_month][::-1],
        "wins": streak(race.place == 1 for race in races),
        "finishes": streak(race.place is not None for race in races),
        "fastest": [race for race in by_goal if race is not None],
    }


def milestones(races: Sequence[PlayedRace]) -> list[tuple[str, PlayedRace]]:
    """Return what a player has reached and in which race, the latest first."""
    wins = [race for race in races if race.place == 1]
    found = {"First race": races[0]} | ({"First win": wins[0]} if wins else {})
    found |= {f"{number}th race": races[number - 1] for number in ROUND_RACES if number <= len(races)}
    found |= {f"{number}th win": wins[number - 1] for number in ROUND_WINS if number <= len(wins)}
    found["Highest rating"] = max(races, key=lambda race: race.after)
    return sorted(found.items(), key=lambda each: -each[1].sequence)


def best_of_year(
    view: LedgerView, board: Board, player: str, races: Sequence[PlayedRace]
) -> tuple[PlayedRace, str] | None:
    """Return the race of a year with the highest gain, and its reasons in words; None without a gain."""
    settled = [race for race in races if race.races_before >= view.publication.provisional_races]
    best = max(settled, key=lambda race: race.change, default=None)
    if best is None or best.change <= 0:
        return None
    return best, "; ".join(reasons_of(view.ledger, board.stored, best.race, player))


def _place(race: PlayedRace) -> str:
    if race.place is None:
        return "unfinished"
    return str(race.place) if race.place <= LAST_PLACE else f"{LAST_PLACE + 1}+"


def _has(race: PlayedRace, result: str) -> bool:
    """Return whether a race has the result that a reader chose. Other words choose all races."""
    shown = {"won": race.place == 1, "finished": race.place is not None, "unfinished": race.place is None}
    return shown.get(result, True)


def opponent_pages(opponents: int) -> int:
    return max(1, -(-opponents // OPPONENTS_ON_A_PAGE))


def on_board(request: PageRequest, board: Board, player: str) -> Content:
    """Render a player's page on one leaderboard. Return None if the player has no standing there."""
    view = request.view
    standing = view.standing(board, player)
    if standing is None:
        return None
    if comparison := compare(request, player, request.query.get("vs", ""), board.address.stem):
        return comparison
    history = view.history(board, player)
    figures = player_figures(view, history)
    first, last = (day(history[i].ended_at) for i in (0, -1))
    label = f"Rating of {shown_name(standing.name)} from {first} to {last}"
    numbers = f"now {integer(standing.points)} points, highest {integer(figures['peak'].after)}"
    settled = min(view.publication.provisional_races, max(0, len(history) - 1))
    met = len(view.opponents(board, player))
    best = upsets(view.ledger, board.stored, player=player, settled=settled, limit=1)
    races = history[: -LAST_RACES - 1 : -1]
    year = charts.Year(history)
    return templating.board_page(
        request,
        "player.html",
        board,
        share_year=request.query.get("card") == "year",
        **_person(request, board, standing),
        figures=figures,
        year=year,
        milestones=milestones(history),
        best_result=best_of_year(view, board, player, year.races) if request.served else None,
        graph=charts.ratings([history], f"{label}: {numbers}"),
        graph_data=charts.graph_data(request.path, [(standing.name, history)]),
        score_graph=charts.scores,
        best_win=best[0] if best else None,
        opponents=view.rivals(board, player, 0, OPPONENTS_SHOWN),
        all_opponents=met,
        whole=_opponent_links(request, board, player, met) if met > OPPONENTS_SHOWN else [],
        races=races,
        won_by=_won_by(request, board, player, races),
        timed=_timed(history),
        history=history,
        standings=view.standings(player),
        rooms=[each for each in view.live_rooms().of(player) if each[1].board == board.address.stem],
    )


def races(request: PageRequest, board: Board, player: str, number: int | None = None) -> Content:
    """Render one page of a player's races, newest first, or of those that a filter chooses.

    Earlier versions could filter by opponent. Such an address leads to the comparison of both players.
    """
    view = request.view
    standing = view.standing(board, player)
    if opponent := request.query.get("opponent"):
        other = view.merged.get(opponent, opponent)
        if standing is None or view.standing(board, other) is None:
            return None
        return Moved(addresses.COMPARED.path(player=player, other=other), {"on": board.address.stem})
    choice = {name: request.query.get(name, "")[:300] for name in ("result", "goal")}
    if standing is None:
        return None
    history = view.history(board, player)
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
        **_person(request, board, standing),
        races=shown,
        timed=_timed(history),
        won_by=_won_by(request, board, player, shown),
        matching=len(chosen),
        goals=sorted({race.goal for race in history}),
        choice=choice,
        pages=pages,
        whole=[] if request.served else whole,
    )


def opponents(request: PageRequest, board: Board, player: str, number: int | None = None) -> Content:
    """Render one page of a player's opponents, the most frequent first."""
    number = 1 if number is None else number
    standing = request.view.standing(board, player)
    if standing is None:
        return None
    if comparison := compare(request, player, request.query.get("vs", ""), board.address.stem):
        return comparison
    total = len(request.view.opponents(board, player))
    count = opponent_pages(total)
    if not 1 <= number <= count:
        return None

    links = _opponent_links(request, board, player, total)
    first = (number - 1) * OPPONENTS_ON_A_PAGE
    return templating.board_page(
        request,
        "opponents.html",
        board,
        **_person(request, board, standing),
        total=total,
        opponents=request.view.rivals(board, player, first, first + OPPONENTS_ON_A_PAGE),
        pages=pager(number, count, lambda page: links[page - 1]),
        whole=links if count > 1 else [],
    )


def _timed(history: Sequence[PlayedRace]) -> bool:
    return any(race.finish_time is not None for race in history)


def _won_by(
    request: PageRequest, board: Board, player: str, races: Sequence[PlayedRace]
) -> dict[int, Markup]:
    """Return links to the winners of races, or "won" for the player, by number in the sequence."""
    winners = winners_of(request.view.ledger, board.key, [race.sequence for race in races])
    return {
        race.sequence: Markup(", ").join(
            WON if winner.id == player else fragments.player_link(request, winner, board.address.stem, 30)
            for winner in winners.get(race.sequence, ())
        )
        for race in races
    }


def _opponent_links(request: PageRequest, board: Board, player: str, total: int) -> list[str]:
    numbers = range(1, opponent_pages(total) + 1)
    return [link(request.path, board.address.opponents(player, number)) for number in numbers]


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


def _person(request: PageRequest, board: Board, standing: PlayerStanding) -> dict[str, Any]:
    """Return what all pages of a player on a leaderboard show."""
    address = board.address
    own = address.player(standing.id)
    all_races = request.served or standing.races > LAST_RACES
    all_opponents = request.served or len(request.view.opponents(board, standing.id)) > OPPONENTS_SHOWN
    return {
        # An export has separate pages only of long lists.
        "tabs": {
            "Overview": (own, ""),
            "Races": (address.of(addresses.PLAYER_RACES, player=standing.id), "")
            if all_races
            else (own, "#races"),
            "Opponents": (address.opponents(standing.id), "") if all_opponents else (own, "#opponents"),
        },
        "standing": standing,
        "profile": request.view.ledger.profiles.get(standing.id),
        "as_of": None if request.served else request.view.report(board).last_race_at,
        "compare_link": partial(compare_link, request, board),
    }


def compare(request: PageRequest, player: str, other: str, on: str = "") -> Content:
    """Render the comparison of two players on a leaderboard, if any. `on` is as for `LedgerView.pair`."""
    found = request.view.pair(player, other, request.query.get("on", on)) if request.served else None
    if found is None:
        return None
    number, count = page_number(request.query) or 1, -(-len(found.comparison.meetings) // MEETINGS)
    if not 1 <= number <= max(count, 1):
        return None
    own = compare_link(request, found.board, player, other)
    histories = [request.view.history(found.board, each) for each in (player, other)]
    names = [shown_name(person.name) for person in found.people]
    return templating.board_page(
        request,
        "compare.html",
        found.board,
        people=found.people,
        comparison=found.comparison,
        graph=charts.ratings(histories, f"Ratings of {names[0]} and {names[1]}"),
        graph_data=charts.graph_data(request.path, list(zip(names, histories, strict=True))),
        meetings=found.comparison.meetings[(number - 1) * MEETINGS : number * MEETINGS],
        pages=pager(number, count, lambda page: own if page == 1 else f"{own}&page={page}"),
    )


def compare_by_query(request: PageRequest) -> Content:
    """Render the sheet of players, or two players at an address of an earlier version.

    An export has a page that lets the reader choose two players, and a script compares them.
    """
    if not request.served:
        return templating.page(request, "compare_files.html", boards=request.view.boards)
    if request.query.keys() & {"a", "b"}:
        return compare(request, request.query.get("a", ""), request.query.get("b", ""))
    return sheet(request)
