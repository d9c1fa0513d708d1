"""The data API as JSON and CSV. The server pages long lists; an export writes each list to one file."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any
from urllib.parse import quote

import orjson

from racebot import addresses
from racebot.addresses import MOST, BadQueryError, Route, whole_number
from racebot.queries import AnyRecord
from racebot.queries.activity import CategoryActivity
from racebot.queries.odds import finishing_habits, forecasts, odds
from racebot.queries.player import PlayerStanding
from racebot.queries.race import EventReport, event_reports
from racebot.queries.races import latest_races, rating_changes
from racebot.queries.scores import LeagueTable, document
from racebot.queries.seeds import Seed, SeedList
from racebot.text.format import as_record, field_names, rows_as_csv
from racebot.web.api import types
from racebot.web.html.leaderboard import seeds_of
from racebot.web.site.ledger_view import CSV, JSON, Board, Content, Document, LedgerView, PageRequest

PER_PAGE = 100
MOST_PER_PAGE = 1000
MOST_IN_A_RACE = 200  # the most players whose odds can be asked for
MOST_FOUND = 50  # the most players that a search by name returns


def all_leaderboards(request: PageRequest) -> types.LeaderboardsAnswer:
    view = request.view
    found = [
        types.BoardSummary(
            id=board.address.stem,
            leaderboard=board.name,
            category=board.category,
            goals=board.stored.goals,
            model=board.stored.model,
            races=totals.races,
            last_race_at=totals.last_race_at,
            final_since=board.final_since,
            listed=totals.listed,
            page=page_of(view, board.address.page()),
        )
        for board, totals in zip(view.boards, map(view.totals, view.boards), strict=True)
    ]
    return types.LeaderboardsAnswer(found)


def leaderboard(request: PageRequest, board: Board) -> types.LeaderboardPart:
    view = request.view
    report = view.report(board)
    part = _part(request, len(report.players))
    players = report.players[part.offset : part.offset + part.per_page]
    address = page_of(view, board.address.page())
    return types.LeaderboardPart(report, part, board.address.stem, address, board.final_since, players)


def scores(request: PageRequest, board: Board) -> LeagueTable | None:
    table = request.view.league(board)
    return None if table is None else document(table)


def races_of(request: PageRequest, board: Board) -> types.RacesPart:
    view = request.view
    part = _part(request, view.ledger.ratings.count(board.stored))
    rows = latest_races(view.ledger, board.key, part.per_page, part.offset)
    return types.RacesPart(part, board.address.stem, [_addressed(view, row, row.race) for row in rows])


def changes(request: PageRequest, board: Board) -> types.Changes:
    """Return rating changes in race order, starting after the sequence number `after` of the query."""
    after = whole_number(request.query, "after", 0, least=0)
    limit = whole_number(request.query, "limit", PER_PAGE, most=MOST_PER_PAGE)
    rows = list(rating_changes(request.view.ledger, board.key, after, limit))
    return types.Changes(board.address.stem, after, rows[-1].sequence if rows else after, rows)


def player_on_board(request: PageRequest, board: Board, player: str) -> types.PlayerOnBoard | None:
    """Return a player with races, of which `limit` and `before` choose the last, and opponents."""
    view, query = request.view, request.query
    before = whole_number(query, "before", MOST)
    limit = whole_number(query, "limit", 0, most=MOST_PER_PAGE)
    record = view.player(board, player)
    if record is None:
        return None
    history = [race for race in record.history if race.sequence < before]
    shown = [_addressed(view, race, race.race) for race in history[-limit:]]  # [-0:] is all of it
    standing, rivals = _on_board(view, board, record.standing), record.rivals(last=limit or None)
    return types.PlayerOnBoard(standing, shown, rivals)


def player_on_boards(request: PageRequest, player: str) -> types.PlayerAnswer | None:
    view = request.view
    on_boards = [_on_board(view, board, standing) for board, standing in view.standings(player)]
    if not on_boards:
        return None
    name = on_boards[0].standing.name
    profile, picture = view.ledger.profiles.get(player), view.face(player, name).picture
    return types.PlayerAnswer(
        id=player,
        name=name,
        pronouns=profile.pronouns,
        twitch=profile.twitch,
        avatar=picture and page_of(view, picture),
        profile=f"{view.publication.site}/user/{quote(player)}",
        page=page_of(view, addresses.PLAYER.path(player=player)),
        leaderboards=on_boards,
    )


def _on_board(view: LedgerView, board: Board, standing: PlayerStanding) -> types.StandingOnBoard:
    habits = finishing_habits(view.ledger, board.stored, [standing.id])
    chance = forecasts(board.stored, [standing.state], habits)[0].finish_chance
    page = page_of(view, board.address.player(standing.id))
    return types.StandingOnBoard(standing, board.address.stem, page, chance)


def odds_of(request: PageRequest, board: Board) -> types.OddsAnswer:
    """Return the odds of a race between the query's `players`."""
    view = request.view
    names = [part.strip() for part in request.query.get("players", "").split(",")]
    players = [view.merged.get(each, each) for each in names]
    if not 2 <= len(players) <= MOST_IN_A_RACE or len(set(players)) < len(players) or "" in players:
        raise BadQueryError(f"players: must be 2 to {MOST_IN_A_RACE} different ids, separated by commas")
    return types.OddsAnswer(board.address.stem, odds(view.ledger, board.stored, players))


def find_players(request: PageRequest) -> types.FoundPlayers:
    """Return players whose name contains the query's `name`, ignoring case and accents."""
    view = request.view
    wanted = request.query.get("name", "").strip()
    if not wanted:
        raise BadQueryError("name: a part of a player's name is required")
    named = view.players_named(wanted)
    found = (player_on_boards(request, player.id) for player in named[:MOST_FOUND])
    return types.FoundPlayers([each for each in found if each is not None], len(named))


def rated_race(request: PageRequest, race: str) -> types.RaceAnswer | None:
    view = request.view
    report = view.race(race)
    if report is None:
        return None
    on_boards = [
        types.RatedOnBoard(part, board.address.stem)
        for board, part in zip(view.boards_of(report), report.leaderboards, strict=True)
    ]
    return types.RaceAnswer(_addressed(view, report, race), on_boards)


def all_events(request: PageRequest) -> types.EventsAnswer:
    return types.EventsAnswer([_summary(request.view, each) for each in event_reports(request.view.ledger)])


def one_event(request: PageRequest, event: str) -> types.EventAnswer | None:
    for report in event_reports(request.view.ledger, event):
        results = [
            types.EventResult(
                id=who.user_id,
                name=who.name,
                status=who.status,
                finish_time=who.seconds,
                source=each.source,
                proof=each.proof,
                comment=each.comment,
                penalty=who.penalty and who.penalty / 1e6,
                penalty_reason=who.penalty_reason,
                note=each.note,
            )
            for each in report.results
            for who in [each.entrant]
        ]
        sources = [source.name for source in report.sources]
        return types.EventAnswer(_summary(request.view, report), sources, results)
    return None


def _summary(view: LedgerView, report: EventReport) -> types.EventSummary:
    page = page_of(view, addresses.EVENT.path(event=report.event.name))
    return types.EventSummary(report.event, report.finished, page)


def _event_csv(request: PageRequest, event: str) -> Document | None:
    found = one_event(request, event)
    return None if found is None else records_csv(types.EventResult, found.results)


def live_rooms(request: PageRequest) -> types.LiveAnswer:
    view = request.view
    live = view.live_rooms()
    return types.LiveAnswer(live, [_addressed(view, room, room.race) for room in live.rooms])


def leaderboard_csv(request: PageRequest, board: Board) -> Document:
    columns = ("place", "id", "name", "points", "races", "finishes", "wins", "last_race_at", "provisional")
    return _csv(columns, map(attrgetter(*columns), request.view.report(board).players))


def scores_csv(request: PageRequest, board: Board) -> Document | None:
    """Return a league's scores as CSV, with one row per racer and race entered; None without scores."""
    table = request.view.league(board)
    if table is None:
        return None
    races = [race.result.name for race in table.races]
    of_racer = attrgetter("place", "id", "name", "total.score", "total.entered", "total.finished")
    rows = (
        (*found, race, each.time, each.score, at in racer.counted)
        for racer, found in zip(table.standings, map(of_racer, table.standings), strict=True)
        for at, (race, each) in enumerate(zip(races, racer.scores, strict=True))
        if each
    )
    columns = ("place", "id", "name", "total", "entered", "finished", "race", "time", "score", "counted")
    return _csv(columns, rows)


def records_csv(kind: type, records: Iterable[object]) -> Document:
    columns = field_names(kind)
    return _csv(columns, map(attrgetter(*columns), records))


def _csv(columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> Document:
    return Document(rows_as_csv(columns, rows).encode(errors="replace"), CSV)


def _addressed(view: LedgerView, record: AnyRecord, race: str) -> types.Addressed[AnyRecord]:
    page = page_of(view, addresses.RACE.path(race=race))
    return types.Addressed(record, addresses.room_address(view.publication.site, race), page)


def page_of(view: LedgerView, path: str) -> str:
    """Return the address of a page, relative to the front page if the pages' address is unknown."""
    return "/".join(filter(None, [view.publication.url, path]))


def _part(request: PageRequest, total: int) -> types.ListPage:
    per_page = max(total, 1)
    if request.served:
        per_page = whole_number(request.query, "per_page", PER_PAGE, most=MOST_PER_PAGE)
    pages = max(1, -(-total // per_page))
    return types.ListPage(whole_number(request.query, "page", 1, most=pages), per_page, pages, total)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address of the API. `kind` is the type of its answer, or a text that describes its CSV file."""

    answer: Callable[..., Any]
    kind: type | str

    def content(self, request: PageRequest, **fields: Any) -> Content:
        found = self.answer(request, **fields)
        if found is None or isinstance(self.kind, str):
            return found  # type: ignore[no-any-return]
        return Document(orjson.dumps(found, as_record, orjson.OPT_PASSTHROUGH_DATACLASS), JSON)


ENDPOINTS: Mapping[Route, Endpoint] = {
    addresses.ALL_DATA: Endpoint(all_leaderboards, types.LeaderboardsAnswer),
    addresses.DATA: Endpoint(leaderboard, types.LeaderboardPart),
    addresses.RACES_DATA: Endpoint(races_of, types.RacesPart),
    addresses.CHANGES_DATA: Endpoint(changes, types.Changes),
    addresses.PLAYER_ON_BOARD_DATA: Endpoint(player_on_board, types.PlayerOnBoard),
    addresses.PLAYER_DATA: Endpoint(player_on_boards, types.PlayerAnswer),
    addresses.FIND_PLAYERS: Endpoint(find_players, types.FoundPlayers),
    addresses.RACE_DATA: Endpoint(rated_race, types.RaceAnswer),
    addresses.ACTIVITY_DATA: Endpoint(
        lambda request, category: request.view.activity(category), CategoryActivity
    ),
    addresses.EVENTS_DATA: Endpoint(all_events, types.EventsAnswer),
    addresses.EVENT_DATA: Endpoint(one_event, types.EventAnswer),
    addresses.EVENT_CSV: Endpoint(_event_csv, "Results of an event, as CSV; none while they are sealed"),
    addresses.ODDS_DATA: Endpoint(odds_of, types.OddsAnswer),
    addresses.LIVE_DATA: Endpoint(live_rooms, types.LiveAnswer),
    addresses.LEADERBOARD_CSV: Endpoint(leaderboard_csv, "Listed players by place, as CSV"),
    addresses.SCORES_DATA: Endpoint(scores, LeagueTable),
    addresses.SCORES_CSV: Endpoint(scores_csv, "Scores by par of each racer and race, as CSV"),
    addresses.SEEDS_DATA: Endpoint(seeds_of, SeedList),
    addresses.SEEDS_CSV: Endpoint(
        lambda request, board: records_csv(Seed, seeds_of(request, board).seeds),
        "Seeds of a bracket, best first, as CSV",
    ),
}
