"""The data API: makes what the addresses under `api/` return as JSON.

The server pages long lists. An export writes each list to one file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace

from racebot.ledger.careers import Meeting
from racebot.ledger.history import NamedPlayer, PlayedRace, RaceRow
from racebot.ledger.live import LiveRoom
from racebot.standings.queries import (
    PlayerStanding,
    compared,
    finish_chance,
    odds,
)
from racebot.standings.queries.records import extended
from racebot.web.api.types import (
    Addressed,
    BoardSummary,
    Changes,
    FacingPlayer,
    FoundPlayer,
    FoundPlayers,
    FoundStanding,
    HeadToHead,
    LeaderboardPart,
    LeaderboardsAnswer,
    ListedRace,
    ListPage,
    LiveAnswer,
    OddsAnswer,
    OpenRoom,
    PlayerAnswer,
    PlayerOnBoard,
    PlayerRace,
    RaceAnswer,
    RacesPart,
    RatedOnBoard,
    SharedRace,
    StandingOnBoard,
)
from racebot.web.site import addresses
from racebot.web.site.ledger_view import Board, LedgerView
from racebot.web.site.query import MOST, BadQueryError, whole_number

PER_PAGE = 100
MOST_PER_PAGE = 1000
MOST_IN_A_RACE = 200
"""The most players whose odds can be asked for."""
MOST_FOUND = 50
"""The most players that a search by name returns."""


def all_leaderboards(view: LedgerView) -> LeaderboardsAnswer:
    """Return a summary of every leaderboard."""
    totals = [(board, view.totals(board)) for board in view.boards]
    return LeaderboardsAnswer(
        [
            BoardSummary(
                id=board.address.stem,
                leaderboard=board.name,
                category=board.category,
                goals=board.stored.goals,
                model=board.stored.model,
                races=each.races,
                last_race_at=each.last_race_at,
                listed=each.listed,
                page=page_of(view, board.address.page()),
            )
            for board, each in totals
        ]
    )


def leaderboard(view: LedgerView, board: Board, query: Mapping[str, str], *, served: bool) -> LeaderboardPart:
    """Return a leaderboard with one page of its players."""
    report = view.report(board)
    part = _part(query, len(report.players), served=served)
    players = report.players[part.offset : part.offset + part.per_page]
    address = page_of(view, board.address.page())
    found = extended(LeaderboardPart, report, id=board.address.stem, address=address, **asdict(part))
    return replace(found, players=players)


def races_of(view: LedgerView, board: Board, query: Mapping[str, str], *, served: bool) -> RacesPart:
    """Return one page of a leaderboard's races, newest first."""
    part = _part(query, view.ledger.rated_count(board.stored), served=served)
    rows = view.ledger.pages.races(board.key, part.per_page, part.offset)
    return extended(RacesPart, part, board=board.address.stem, races=_with_addresses(view, ListedRace, rows))


def changes(view: LedgerView, board: Board, query: Mapping[str, str]) -> Changes:
    """Return rating changes in race order, starting after the sequence number `after` of the query."""
    after = whole_number(query, "after", 0, least=0)
    limit = whole_number(query, "limit", PER_PAGE, most=MOST_PER_PAGE)
    rows = list(view.ledger.pages.changes(board.key, after, limit))
    return Changes(board.address.stem, after, rows[-1].sequence if rows else after, rows)


def player_on_board(
    view: LedgerView, board: Board, player: str, query: Mapping[str, str]
) -> PlayerOnBoard | None:
    """Return a player's standing on one leaderboard, with races and opponents.

    These are all races and opponents, or the last and most frequent if the query has a `limit`. `before`
    leaves out the races from a sequence number on.

    Raises:
        BadQueryError: one of these is not a number in range.
    """
    before = whole_number(query, "before", MOST)
    limit = whole_number(query, "limit", 0, most=MOST_PER_PAGE)
    standing = view.standing(board, player)
    if standing is None:
        return None
    history = [race for race in view.history(board, player) if race.sequence < before]
    return extended(
        PlayerOnBoard,
        _on_board(view, board, standing),
        history=_with_addresses(view, PlayerRace, history[-limit:]),  # [-0:] is all of it
        opponents=view.rivals(board, player, 0, limit or None),
    )


def player_on_boards(view: LedgerView, player_id: str) -> PlayerAnswer | None:
    """Return a player's standing on every leaderboard."""
    standings = view.standings(player_id)
    if not standings:
        return None
    on_boards = [_on_board(view, board, standing) for board, standing in standings]
    name = on_boards[0].name
    profile, picture = view.ledger.profiles.get(player_id), view.face(player_id, name).picture
    return PlayerAnswer(
        id=player_id,
        name=name,
        pronouns=profile.pronouns,
        twitch=profile.twitch,
        avatar=picture and page_of(view, picture),
        profile=f"{view.publication.site}/user/{addresses.quoted(player_id)}",
        page=page_of(view, addresses.PLAYER.path(player=player_id)),
        leaderboards=on_boards,
    )


def _on_board(view: LedgerView, board: Board, standing: PlayerStanding) -> StandingOnBoard:
    return extended(
        StandingOnBoard,
        standing,
        board=board.address.stem,
        page=page_of(view, board.address.player(standing.id)),
        finish_chance=finish_chance(board.stored, standing.state),
    )


def odds_of(view: LedgerView, board: Board, query: Mapping[str, str]) -> OddsAnswer:
    """Return the odds of a race between the query's `players`.

    Raises:
        BadQueryError: there are too few or too many players, one of them twice, or one is hidden.
    """
    players = [part.strip() for part in query.get("players", "").split(",")]
    if not 2 <= len(players) <= MOST_IN_A_RACE or len(set(players)) < len(players) or "" in players:
        raise BadQueryError(f"players: must be 2 to {MOST_IN_A_RACE} different ids, separated by commas")
    if hidden := view.hidden.intersection(players):
        raise BadQueryError(f"players: hidden players have no odds: leave out {', '.join(sorted(hidden))}")
    return OddsAnswer(board.address.stem, odds(view.ledger, board.stored, players))


def head_to_head(view: LedgerView, board: Board, query: Mapping[str, str]) -> HeadToHead | None:
    """Return the query's players `a` and `b` against each other.

    Return None if one of them has not raced here, or is hidden.

    Raises:
        BadQueryError: one of them is missing, or both are the same.
    """
    a, b = query.get("a", "").strip(), query.get("b", "").strip()
    if not a or not b or a == b:
        raise BadQueryError("a, b: the ids of two different players are required")
    one, other = (view.standing(board, player) for player in (a, b))
    found = compared(view.ledger, board.stored, a, b)
    if one is None or other is None or found is None:
        return None
    return HeadToHead(
        chance=found.chance,
        ahead=found.ahead,
        behind=found.behind,
        meetings=_with_addresses(view, SharedRace, found.meetings),
        board=board.address.stem,
        a=_facing(view, board, one),
        b=_facing(view, board, other),
    )


def _facing(view: LedgerView, board: Board, standing: PlayerStanding) -> FacingPlayer:
    page = page_of(view, board.address.player(standing.id))
    return FacingPlayer(standing.id, standing.name, standing.points, standing.place, page)


def find_players(view: LedgerView, query: Mapping[str, str]) -> FoundPlayers:
    """Return players whose name contains the query's `name`, ignoring case and accents.

    Raises:
        BadQueryError: `name` is missing or empty.
    """
    wanted = query.get("name", "").strip()
    if not wanted:
        raise BadQueryError("name: a part of a player's name is required")
    shown = view.rated_players.keys() - view.hidden
    found = [view.rated_players[each] for each in view.ledger.players.containing(wanted) if each in shown]
    return FoundPlayers([_found(view, each) for each in found[:MOST_FOUND]], len(found))


def _found(view: LedgerView, player: NamedPlayer) -> FoundPlayer:
    return FoundPlayer(
        id=player.id,
        name=player.name,
        page=page_of(view, addresses.PLAYER.path(player=player.id)),
        leaderboards=[
            FoundStanding(board.address.stem, standing.points, standing.place)
            for board, standing in view.standings(player.id)
        ],
    )


def rated_race(view: LedgerView, name: str) -> RaceAnswer | None:
    """Return a race with its result and its rating changes on each leaderboard."""
    report = view.race(name)
    if report is None:
        return None
    on_boards = [
        extended(RatedOnBoard, part, board=board.address.stem)
        for board, part in zip(view.boards_of(report), report.leaderboards, strict=True)
    ]
    return replace(extended(RaceAnswer, report, **_addresses_of(view, name)), leaderboards=on_boards)


def live_rooms(view: LedgerView) -> LiveAnswer:
    """Return the open rooms with their addresses."""
    live = view.live_rooms()
    return LiveAnswer(live.seen_at, live.late, _with_addresses(view, OpenRoom, live.rooms))


def _with_addresses(
    view: LedgerView, kind: type[Addressed], races: Iterable[RaceRow | PlayedRace | Meeting | LiveRoom]
) -> list[Addressed]:
    """Add the addresses of its room and page to each race."""
    return [extended(kind, race, **_addresses_of(view, race.race)) for race in races]


def _addresses_of(view: LedgerView, race: str) -> dict[str, str]:
    """Return the addresses of a race's room and page."""
    page = page_of(view, addresses.RACE.path(race=race))
    return {"room": f"{view.publication.site}/{addresses.quoted(race)}", "page": page}


def page_of(view: LedgerView, path: str) -> str:
    """Return the address of a page, relative to the front page if the pages' address is unknown."""
    return "/".join(filter(None, [view.publication.url, addresses.quoted(path)]))


def _part(query: Mapping[str, str], total: int, *, served: bool) -> ListPage:
    if not served:
        return ListPage(page=1, per_page=max(total, 1), pages=1, total=total)
    per_page = whole_number(query, "per_page", PER_PAGE, most=MOST_PER_PAGE)
    return ListPage(whole_number(query, "page", 1), per_page, max(1, -(-total // per_page)), total)
