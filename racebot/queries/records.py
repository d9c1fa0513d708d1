"""Records of a leaderboard, such as peaks, upsets and streaks, and the recap of a season.

The end of a season is never stored: it follows from a leaderboard's `until` and the time.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import inf
from operator import itemgetter
from typing import Any, Literal

import numpy as np

from racebot.ledger.rows import Leaderboard, NamedPlayer, states_of
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import ListedPlayers, leaderboard_report
from racebot.queries.races import RaceRow, entrants_of, races_numbered
from racebot.queries.scores import league
from racebot.queries.standings import Listing
from racebot.races.result import EntrantStatus
from racebot.races.rooms import RoomRule
from racebot.ratings import registry
from racebot.ratings.forecast import win_chances

SETTLES = timedelta(days=1)
"""Shortest time after a season's end for its last races to finish, and to be recorded."""
SHOWN = 10  # entries of each list
UPSET = 0.15  # a win with a lower chance is an upset
_SHOWN = "AND player NOT IN (SELECT player FROM hidden_players)"


@dataclass(frozen=True, slots=True)
class Record:
    """A player's number of points, races, wins, wins in a row or seconds, or the chance to win an upset.

    Equal numbers share a rank. `race` is the one that led to the number, or the player's last one. In a close
    finish, `second` came in behind. A streak is `ongoing` if the player's last race is part of it.
    """

    rank: int
    player: NamedPlayer
    number: float
    race: RaceRow
    second: NamedPlayer | None = None
    ongoing: bool = False


@dataclass(frozen=True, slots=True)
class HallOfFame:
    """Records of a leaderboard, each list best first. Upsets and close finishes may name a player twice.

    `times` has a list for each goal.
    """

    peaks: Sequence[Record]
    streaks: Sequence[Record]
    upsets: Sequence[Record]
    wins: Sequence[Record]
    races: Sequence[Record]
    times: Mapping[str, Sequence[Record]]
    closest: Sequence[Record]


def hall_of_fame(ledger: Ledger, board: Leaderboard, *, settled: int) -> HallOfFame:
    """Read the records of a leaderboard. A player's ratings and wins count after `settled` races."""
    times, closest = times_and_closest(ledger, board)
    peaks = (
        "SELECT points_after, sequence, player FROM changes INDEXED BY changes_by_points"  # noqa: S608 - constants
        f" WHERE leaderboard = ? AND races_before >= ? {_SHOWN} ORDER BY points_after DESC, sequence"
    )
    return HallOfFame(
        peaks=_of_players(ledger, board, ledger.connection.stream(peaks, board.key, settled)),
        streaks=streaks(ledger, board),
        upsets=upsets(ledger, board, settled=settled),
        wins=most(ledger, board, "wins"),
        races=most(ledger, board, "races"),
        times=times,
        closest=closest,
    )


def upsets(ledger: Ledger, board: Leaderboard, *, settled: int) -> list[Record]:
    """Return the least likely wins, the least likely first.

    Wins of players with fewer than `settled` earlier races do not count.
    """
    wins = ledger.connection.rows(
        "SELECT player, sequence FROM ("  # noqa: S608 - constants
        "  SELECT sequence, player, points_before - ("
        "   SELECT avg(points_before) FROM changes AS other"
        "   WHERE leaderboard = ?1 AND sequence = mine.sequence AND player <> mine.player"
        "  ) AS lead FROM changes AS mine INDEXED BY changes_won"
        "  WHERE leaderboard = ?1 AND place = 1 AND races_before >= ?2"
        f"  {_SHOWN} ORDER BY lead IS NULL, lead LIMIT ?3"
        " ) WHERE lead IS NOT NULL ORDER BY lead",
        board.key,
        settled,
        2 * SHOWN,
    )
    rows = ledger.connection.rows(
        "SELECT sequence, player, state_before FROM json_each(?2) AS wanted"
        " CROSS JOIN changes ON leaderboard = ?1 AND sequence = wanted.value ORDER BY sequence, player",
        board.key,
        json.dumps(sorted({sequence for _, sequence in wins})),
    )
    fields: dict[int, dict[str, tuple[float, ...]]] = defaultdict(dict)
    for row, state in zip(rows, states_of([row[2] for row in rows]), strict=True):
        fields[row[0]][row[1]] = state
    model = registry.create(board.model, board.parameters)
    found = []
    for winner, sequence in wins:
        field = fields[sequence]
        chances = dict(zip(field, win_chances(model, np.array(list(field.values()))).tolist(), strict=True))
        found.append((chances[winner], sequence, (winner,)))
    return ranked(ledger, board, sorted(found, key=itemgetter(0))[:SHOWN])


def streaks(ledger: Ledger, board: Leaderboard) -> list[Record]:
    """Return the longest runs of won races, one for each player."""
    rows = ledger.connection.rows(
        "SELECT count(*) AS length, max(sequence) AS last, player, max(races_before) + 1 = races FROM ("  # noqa: S608 - constants
        "  SELECT leaderboard, player, sequence, races_before,"
        "   races_before - row_number() OVER (PARTITION BY player ORDER BY sequence) AS run"
        f"  FROM changes INDEXED BY changes_won WHERE leaderboard = ? AND place = 1 {_SHOWN}"
        " ) JOIN standings USING (leaderboard, player)"
        " GROUP BY player, run HAVING length > 1 ORDER BY length DESC, last",
        board.key,
    )
    ongoing = {(player, last) for _, last, player, is_ongoing in rows if is_ongoing}
    records = _of_players(ledger, board, (tuple(row)[:3] for row in rows))
    return [replace(each, ongoing=(each.player.id, each.race.sequence) in ongoing) for each in records]


def most(ledger: Ledger, board: Leaderboard, column: Literal["wins", "races"]) -> list[Record]:
    """Return the players with the most wins, or races, each with the player's last race."""
    sql = (
        f"SELECT {column}, (SELECT max(sequence) FROM changes INDEXED BY changes_by_player"  # noqa: S608
        "  WHERE changes.leaderboard = ?1 AND changes.player = standings.player), player"
        " FROM standings CROSS JOIN shown_players AS players ON players.id = player"
        f" WHERE leaderboard = ?1 AND {column} > 0 {_SHOWN}"
        f" ORDER BY {column} DESC, players.name COLLATE NOCASE, player"
    )
    return _of_players(ledger, board, ledger.connection.stream(sql, board.key))


def times_and_closest(ledger: Ledger, board: Leaderboard) -> tuple[dict[str, list[Record]], list[Record]]:
    """Return each goal's fastest finishes in races that count, one for each player, and the closest ones."""
    times: dict[str, list[Record]] = {}
    sql = "SELECT goal FROM races WHERE category = ? GROUP BY goal ORDER BY min(counted_at)"
    for (goal,) in ledger.connection.rows(sql, board.category):
        best: dict[str, tuple[int, int]] = {}
        by_time = "AND category = ?2 AND goal = ?3 AND fastest > 0 ORDER BY fastest"
        for sequence, finishers, _ in _finishers(ledger, board, by_time, board.category, goal):
            slowest = sorted(best.values())[SHOWN - 1][0] if len(best) >= SHOWN else inf
            if finishers and finishers[0][0] > slowest:
                break
            for time, player in finishers:
                if player:
                    best[player] = min(best.get(player, (time, sequence)), (time, sequence))
        found = sorted((time / 1e6, sequence, (player,)) for player, (time, sequence) in best.items())
        if found:
            times[goal] = ranked(ledger, board, found[:SHOWN])
    gaps: list[tuple[float, int, tuple[str, ...]]] = []
    by_gap = "AND category = ?2 AND gap >= 0 ORDER BY gap"
    for sequence, finishers, of_teams in _finishers(ledger, board, by_gap, board.category):
        (time, first), (later, second), *_ = *finishers, (0, ""), (0, "")
        if len(gaps) >= SHOWN and (later - time) / 1e6 > gaps[SHOWN - 1][0]:
            break
        if first and second and not of_teams:
            gaps = sorted([*gaps, ((later - time) / 1e6, sequence, (first, second))])
    return times, ranked(ledger, board, gaps[:SHOWN])


def _finishers(
    ledger: Ledger, board: Leaderboard, which: str, *values: object
) -> Iterator[tuple[int, list[tuple[int, str]], bool]]:
    """Yield the number of each race that counts, its times with players, and whether there are teams.

    Times are in microseconds, the fastest first; deleted accounts and hidden players have no id. `which` is
    a condition in SQL.
    """
    hidden = ledger.people.hidden()
    for sequence, result in ledger.connection.stream(
        "SELECT sequence, result FROM rated JOIN races ON races.name = race"  # noqa: S608 - constants
        f" WHERE leaderboard = ?1 AND note IS NULL {which}",
        board.key,
        *values,
    ):
        entrants = entrants_of(result)
        finishers = sorted(
            (time, "" if (player := each.get("user_id") or "") in hidden else player)
            for each in entrants
            if each.get("status") == EntrantStatus.DONE and (time := each.get("finish_time"))
        )
        yield sequence, finishers, any(each.get("team") for each in entrants)


def _of_players(ledger: Ledger, board: Leaderboard, rows: Iterable[Sequence[Any]]) -> list[Record]:
    """Return a record for each player, from rows of a number, a race and a player."""
    best: dict[str, tuple[int, int]] = {}
    for number, sequence, player in rows:
        best.setdefault(player, (number, sequence))
        if len(best) == SHOWN:
            break
    return ranked(ledger, board, [(*each, (player,)) for player, each in best.items()])


def ranked(
    ledger: Ledger, board: Leaderboard, found: Sequence[tuple[float, int, tuple[str, ...]]]
) -> list[Record]:
    """Return records from numbers in order, each with the number of its race and the ids of its players."""
    races = races_numbered(ledger, board.key, [sequence for _, sequence, _ in found])
    found = [each for each in found if each[1] in races]  # a race may be gone, and the rest not rated yet
    values = [value for value, _, _ in found]
    names = ledger.people.names({player for _, _, players in found for player in players})
    records = []
    for value, sequence, players in found:
        named = [NamedPlayer(player, names[player]) for player in players]
        second = named[1] if len(named) > 1 else None
        records.append(Record(1 + values.index(value), named[0], value, races[sequence], second))
    return records


@dataclass(frozen=True, slots=True)
class PodiumPlace:
    """A player on the podium. `total` is the points, or the score if scores order the leaderboard.

    `wins` is None if scores do. Equal players share a place.
    """

    place: int
    player: NamedPlayer
    total: float
    races: int
    wins: int | None


@dataclass(frozen=True, slots=True)
class Recap:
    """The facts of a season, without hidden players. Equal players share one; a fact without a race is empty.

    `span` are the first race and the last one that changed ratings.
    """

    races: int
    podium: Sequence[PodiumPlace]
    span: tuple[RaceRow, RaceRow] | None
    upsets: Sequence[Record]
    most_races: Sequence[Record]
    streaks: Sequence[Record]
    closest: Sequence[Record]
    fastest: Mapping[str, Sequence[Record]]


def final_from(rule: RoomRule) -> datetime | None:
    """Return when a season becomes final, None without an end: once its last races have settled.

    It is a midnight in UTC, so that pages can be kept for a day.
    """
    until, settles = rule.until, max(SETTLES, rule.grace)
    if until is None or until > datetime.max.replace(tzinfo=UTC) - settles - 2 * SETTLES:
        return None
    settled = (until + settles).astimezone(UTC)
    midnight = settled.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight if midnight == settled else midnight + timedelta(days=1)


def final_since(board: Leaderboard, now: datetime) -> datetime | None:
    """Return since when a season is final, None if it is not final at this time."""
    moment = final_from(board.rule)
    return moment if moment is not None and moment <= now else None


def recap(ledger: Ledger, board: Leaderboard, listing: Listing) -> Recap:
    """Return the facts of a season. Upsets count after a player's provisional races."""
    report = leaderboard_report(ledger, board, listing)
    fame = hall_of_fame(ledger, board, settled=listing.provisional_races)
    sql = "SELECT min(sequence), max(sequence) FROM changes WHERE leaderboard = ?"
    ((first, last),) = ledger.connection.rows(sql, board.key)
    found = races_numbered(ledger, board.key, [first, last])
    return Recap(
        races=report.races,
        podium=podium(ledger, board, listing, report.players),
        span=(found[first], found[last]) if found else None,
        upsets=fame.upsets[:1],
        most_races=_first(fame.races),
        streaks=_first(fame.streaks),
        closest=_first(fame.closest),
        fastest={goal: _first(own) for goal, own in fame.times.items()},
    )


def _first(records: Sequence[Record]) -> list[Record]:
    return [each for each in records if each.rank == 1]


def podium(ledger: Ledger, board: Leaderboard, listing: Listing, listed: ListedPlayers) -> list[PodiumPlace]:
    """Return the players on the first three places, as the leaderboard orders its listed players."""
    if listing.ordering is not None:
        return [
            PodiumPlace(each.place, NamedPlayer(each.id, each.name), total.score, total.entered, None)
            for each in league(ledger, board, listing.ordering).standings
            if each.place <= 3
            for total in [each.total]
        ]
    return [
        PodiumPlace(each.place, NamedPlayer(each.id, each.name), each.points, each.races, each.wins)
        for each in listed.chosen([row for row in listed.rows if listed.places[row.rating] <= 3])
    ]
