"""Render a player's pages: one leaderboard, races, opponents, all leaderboards, and comparisons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date
from functools import partial
from itertools import groupby, takewhile
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from racebot.queries.pair import meetings
from racebot.queries.player import NamedPlayer, PlayedRace, PlayerStanding
from racebot.queries.races import winners_of
from racebot.queries.records import upsets
from racebot.text.format import integer
from racebot.web.html import fragments, templating
from racebot.web.html.leaderboard import RACES_ON_A_PAGE, PageLink, page_number, pager, race_pages
from racebot.web.pictures import charts
from racebot.web.site import addresses
from racebot.web.site.addresses import OPPONENTS_ON_A_PAGE, OPPONENTS_SHOWN, link
from racebot.web.site.formats import day, shown_name
from racebot.web.site.ledger_view import Board, LedgerView
from racebot.web.site.request import Content, PageRequest

LAST_PLACE = 10
"""Places after this one are counted together."""
RACES_NAMED = 3
"""Number of best races to show, and of worst races."""
FORM = 10
"""Number of last races that make up the form."""


@dataclass(frozen=True, slots=True)
class PlaceCount:
    """How often a player finished in a place."""

    place: str
    races: int


@dataclass(frozen=True, slots=True)
class Month:
    """A player's races in one month, and the points after the last race."""

    first_day: date
    races: int
    points: int
    change: int


@dataclass(frozen=True, slots=True)
class RunLengths:
    """How many races in a row met a condition: in the current run, and in the longest one."""

    now: int
    longest: int


@dataclass(frozen=True, slots=True)
class PlayerFigures:
    """Statistics of a player's races.

    `peak` is the first race after which the points were highest. `best` and `worst` leave out provisional
    ratings if `only_settled`. `months` are newest first, `form` oldest first. `fastest` has one a goal.
    """

    peak: PlayedRace
    only_settled: bool
    best: Sequence[PlayedRace]
    worst: Sequence[PlayedRace]
    places: Sequence[PlaceCount]
    months: Sequence[Month]
    form: Sequence[PlayedRace]
    form_change: int
    wins: RunLengths
    finishes: RunLengths
    fastest: Sequence[PlayedRace]


def player_figures(view: LedgerView, races: Sequence[PlayedRace]) -> PlayerFigures:
    """Compute a player's statistics from all of their races, oldest first."""
    settled = [race for race in races if not view.provisional(race.races_before)]
    rises = sorted(settled or races, key=lambda race: race.change, reverse=True)
    form = races[-FORM:]
    return PlayerFigures(
        peak=max(races, key=lambda race: race.after),
        only_settled=bool(settled),
        best=[race for race in rises[:RACES_NAMED] if race.change > 0],
        worst=[race for race in rises[: -RACES_NAMED - 1 : -1] if race.change < 0],
        places=_places(races),
        months=_months(races),
        form=form,
        form_change=sum(race.change for race in form),
        wins=_streak([race.place == 1 for race in races]),
        finishes=_streak([race.place is not None for race in races]),
        fastest=_fastest(races),
    )


def _places(races: Sequence[PlayedRace]) -> list[PlaceCount]:
    taken = Counter(race.place for race in races)
    rows = [PlaceCount(str(place), taken[place]) for place in range(1, LAST_PLACE + 1) if taken[place]]
    behind = sum(races for place, races in taken.items() if place is not None and place > LAST_PLACE)
    if behind:
        rows.append(PlaceCount(f"{LAST_PLACE + 1}+", behind))
    if taken[None]:
        rows.append(PlaceCount("unfinished", taken[None]))
    return rows


def _months(races: Sequence[PlayedRace]) -> list[Month]:
    months = []
    for first_day, group in groupby(races, key=_first_of_month):
        rows = list(group)
        months.append(Month(first_day, len(rows), rows[-1].after, sum(row.change for row in rows)))
    return months[::-1]


def _first_of_month(race: PlayedRace) -> date:
    return race.ended_at.astimezone(UTC).date().replace(day=1)


def _streak(reached: Sequence[bool]) -> RunLengths:
    runs = [sum(1 for _ in group) for each, group in groupby(reached) if each]
    return RunLengths(sum(1 for _ in takewhile(bool, reversed(reached))), max(runs, default=0))


def _fastest(races: Sequence[PlayedRace]) -> list[PlayedRace]:
    best: dict[str, PlayedRace] = {}
    for race in races:
        time = race.finish_time
        if time is not None and (race.goal not in best or time < (best[race.goal].finish_time or 0)):
            best[race.goal] = race
    return [best[goal] for goal in sorted(best)]


LAST_RACES = 25
"""Races on a player's page. A longer list also has separate pages."""
WON = Markup('<span class="soft">won</span>')
MEETINGS = 50
"""Races together that a comparison shows."""
OPPONENTS_TO_CHOOSE = 300
"""Most opponents in the filter of a player's races."""


@dataclass(frozen=True, slots=True)
class RaceFilter:
    """A reader's choice of races, all by default. `result` may be `won`, `finished` or `unfinished`."""

    result: str = ""
    goal: str = ""
    opponent: str = ""

    def matches(self, race: PlayedRace) -> bool:
        shown = {"won": race.place == 1, "finished": race.place is not None, "unfinished": race.place is None}
        return shown.get(self.result, True) and self.goal in {"", race.goal}


def has_race_pages(races: int) -> bool:
    """Return True if a player with this many races has separate pages of races in an export."""
    return races > LAST_RACES


def has_opponents_page(opponents: int) -> bool:
    """Return True if a player with this many opponents has separate pages of opponents in an export."""
    return opponents > OPPONENTS_SHOWN


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
    graph = None
    if len(history) > 1:
        name = shown_name(standing.name)
        first, last = (day(history[i].ended_at) for i in (0, -1))
        graph = charts.ratings(
            [race.ended_at for race in history],
            [race.after for race in history],
            f"Rating of {name} from {first} to {last}: now {integer(standing.points)} points, "
            f"highest {integer(figures.peak.after)}",
        )
    settled = min(view.publication.provisional_races, max(0, len(history) - 1))
    met = len(view.opponents(board, player))
    best = upsets(view.ledger, board.stored, player=player, settled=settled, limit=1)
    races = history[: -LAST_RACES - 1 : -1]
    return templating.board_page(
        request,
        "player.html",
        board,
        **_person(request, board, standing),
        figures=figures,
        graph=graph,
        graph_data=graph and charts.graph_data(request.path, [(standing.name, history)]),
        best_win=best[0] if best else None,
        most=max(row.races for row in figures.places),
        opponents=view.rivals(board, player, 0, OPPONENTS_SHOWN),
        all_opponents=met,
        whole=_opponent_links(request, board, player, met) if met > OPPONENTS_SHOWN else [],
        races=races,
        won_by=_won_by(request, board, player, races),
        timed=_timed(history),
        all_races=len(history),
        others=len(view.standings(player)) - 1,
    )


def races(request: PageRequest, board: Board, player: str, number: int | None = None) -> Content:
    """Render one page of a player's races, newest first, or of those that a filter chooses."""
    view = request.view
    standing = view.standing(board, player)
    choice = RaceFilter(*(request.query.get(name, "")[:300] for name in ("result", "goal", "opponent")))
    if standing is None or choice.opponent in view.hidden:
        return None
    history = view.history(board, player)
    if choice == RaceFilter():
        address = board.address
        listed = race_pages(
            len(history), number, lambda page: link(request.path, address.player_races(player, page))
        )
        found = (
            None
            if listed is None
            else _RacesOnPage(
                history[listed.first - 1 : listed.last][::-1], len(history), listed.pages, listed.whole
            )
        )
    else:
        found = _chosen_races(request, board, player, history, choice)
    if found is None:
        return None
    return templating.board_page(
        request,
        "player_races.html",
        board,
        **_person(request, board, standing),
        races=found.races,
        timed=_timed(history),
        won_by=_won_by(request, board, player, found.races),
        matching=found.total,
        goals=sorted({race.goal for race in history}),
        opponents=_most_frequent_opponents(view, board, player),
        choice=choice,
        pages=found.pages,
        whole=[] if request.served else found.whole,
    )


@dataclass(frozen=True, slots=True)
class _RacesOnPage:
    """The races on one page of a list of `total` races, with links to all pages in `whole`."""

    races: Sequence[PlayedRace]
    total: int
    pages: Sequence[PageLink]
    whole: Sequence[str] = ()


def _chosen_races(
    request: PageRequest, board: Board, player: str, history: Sequence[PlayedRace], choice: RaceFilter
) -> _RacesOnPage | None:
    chosen = [race for race in reversed(history) if choice.matches(race)]
    if choice.opponent:
        met = meetings(request.view.ledger, board.stored, player, choice.opponent)
        together = {meeting.race for meeting in met}
        chosen = [race for race in chosen if race.race in together]
    count = max(1, -(-len(chosen) // RACES_ON_A_PAGE))
    current = page_number(request.query)
    if not 1 <= current <= count:
        return None
    address = link(request.path, board.address.player_races(player))
    fields = {name: value for name, value in asdict(choice).items() if value}
    pages = pager(current, count, lambda page: f"{address}?{urlencode(fields | {'page': str(page)})}")
    shown = chosen[(current - 1) * RACES_ON_A_PAGE : current * RACES_ON_A_PAGE]
    return _RacesOnPage(shown, len(chosen), pages)


def opponents(request: PageRequest, board: Board, player: str, number: int = 1) -> Content:
    """Render one page of a player's opponents, the most frequent first."""
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


def _most_frequent_opponents(view: LedgerView, board: Board, player: str) -> list[NamedPlayer]:
    """Return the opponents that readers can choose to see only the races with them, by name."""
    shown = (
        view.rated_players[each.id]
        for each in view.opponents(board, player)[:OPPONENTS_TO_CHOOSE]
        if each.id not in view.hidden
    )
    return sorted(shown, key=lambda each: each.name.casefold())


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
    standings = request.view.standings(player)
    if not standings:
        return None
    return templating.page(
        request,
        "player_boards.html",
        player_id=player,
        player_name=standings[0][1].name,
        profile=request.view.profile(player),
        standings=standings,
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
    all_races = request.served or has_race_pages(standing.races)
    all_opponents = request.served or has_opponents_page(len(request.view.opponents(board, standing.id)))
    return {
        # An export has separate pages only of long lists.
        "tabs": {
            "Overview": (own, ""),
            "Races": (address.player_races(standing.id), "") if all_races else (own, "#races"),
            "Opponents": (address.opponents(standing.id), "") if all_opponents else (own, "#opponents"),
        },
        "standing": standing,
        "profile": request.view.profile(standing.id),
        "as_of": None if request.served else request.view.report(board).last_race_at,
        "compare_link": partial(compare_link, request, board),
    }


def compare(request: PageRequest, player: str, other: str, on: str = "") -> Content:
    """Render the comparison of two players on a leaderboard, if any. `on` is as for `LedgerView.pair`."""
    found = request.view.pair(player, other, request.query.get("on", on)) if request.served else None
    if found is None:
        return None
    histories = [request.view.history(found.board, each) for each in (player, other)]
    names = [shown_name(person.name) for person in found.people]
    return templating.board_page(
        request,
        "compare.html",
        found.board,
        people=found.people,
        comparison=found.comparison,
        graph=charts.comparison(
            [[(race.ended_at, race.after) for race in history] for history in histories],
            f"Ratings of {names[0]} and {names[1]}",
        ),
        graph_data=charts.graph_data(request.path, list(zip(names, histories, strict=True))),
        shown=MEETINGS,
    )


def compare_by_query(request: PageRequest) -> Content:
    """Render the comparison at an address of an earlier version. In an export, a script redirects it."""
    if not request.served:
        return templating.page(request, "compare_files.html", boards=request.view.boards)
    return compare(request, request.query.get("a", ""), request.query.get("b", ""))
