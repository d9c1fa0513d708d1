"""Records of a leaderboard: ratings, upsets, streaks, times, close finishes, and most wins and races."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Literal

import numpy as np

from racebot.errors import DamagedRaceError
from racebot.ledger.rows import Leaderboard, states_of
from racebot.ledger.store import Ledger
from racebot.queries.player import NamedPlayer
from racebot.queries.races import NumberedRace, entrants_of, races_numbered
from racebot.races.result import EntrantStatus, RaceResult
from racebot.ratings import registry
from racebot.ratings.forecast import win_chances

SHOWN = 10
"""Entries of each list."""
UPSET = 0.15
"""A win with a lower chance is an upset."""
BEST_FROM = 3
"""Earlier finishes of a player from which on a fastest time is a personal best."""
LIKELY_UPSETS = 12
"""Number of wins whose exact chance is computed in search of the least likely."""
_FINISH = re.compile(r'"status":"done","finish_time":([1-9]\d*)')
"""Finds finish times in a result as `RaceResult.to_json` writes it, much faster than a parser does."""


@dataclass(frozen=True, slots=True)
class Record:
    """A player's number of points, races, wins, wins in a row, or seconds. Equal numbers share a rank.

    `race` is the one that led to the number, or the player's last one. `second` came in behind in a close
    finish. A streak is `ongoing` if the player's last race is part of it.
    """

    rank: int
    player: NamedPlayer
    number: float
    race: NumberedRace
    second: NamedPlayer | None = None
    ongoing: bool = False


@dataclass(frozen=True, slots=True)
class Upset:
    """A won race with its chance before the race."""

    player: NamedPlayer
    race: NumberedRace
    entrants: int
    chance: float


@dataclass(frozen=True, slots=True)
class HallOfFame:
    """Records of a leaderboard, each list best first. Upsets and close finishes may name a player twice.

    `times` has a list for each goal.
    """

    peaks: Sequence[Record]
    streaks: Sequence[Record]
    upsets: Sequence[Upset]
    wins: Sequence[Record]
    races: Sequence[Record]
    times: Mapping[str, Sequence[Record]]
    closest: Sequence[Record]


def hall_of_fame(ledger: Ledger, board: Leaderboard, *, settled: int) -> HallOfFame:
    """Read the records of a leaderboard. A player's ratings and wins count after `settled` races."""
    times, closest = times_and_closest(ledger, board)
    return HallOfFame(
        peaks=_peaks(ledger, board, settled),
        streaks=streaks(ledger, board),
        upsets=upsets(ledger, board, settled=settled, limit=SHOWN),
        wins=most(ledger, board, "wins"),
        races=most(ledger, board, "races"),
        times=times,
        closest=closest,
    )


def upsets(
    ledger: Ledger,
    board: Leaderboard,
    *,
    player: str | None = None,
    settled: int,
    limit: int,
    after: int = 0,
    until: int | None = None,
) -> list[Upset]:
    """Return the least likely wins of one player or of all, the least likely first.

    Wins of players with fewer than `settled` earlier races do not count. `after` and `until` are the numbers
    of the last race before the wins, and of the last of them.
    """
    # The plus keeps SQLite from reading all races after the first of them for each win.
    index = " INDEXED BY changes_by_player" if player is not None else ""
    wins = ledger.connection.rows(
        "SELECT players.id, players.name, won.sequence, result FROM ("  # noqa: S608 - constants
        "  SELECT mine.sequence, mine.player,"
        "   mine.points_before - (sum(other.points_before) - mine.points_before) / (count(*) - 1.0)"
        "   AS lead"
        f"  FROM changes AS mine{index} CROSS JOIN changes AS other"
        "  ON other.leaderboard = ?1 AND other.sequence = +mine.sequence"
        "  WHERE mine.leaderboard = ?1 AND mine.place = 1 AND mine.races_before >= ?3"
        # Without the sign, SQLite reads all later races for each win.
        "  AND +mine.sequence > ?5 AND mine.sequence <= coalesce(?6, mine.sequence)"
        f"  {'AND mine.player = ?2' if player is not None else ''}"
        "  AND mine.player NOT IN (SELECT player FROM hidden_players)"
        "  GROUP BY mine.sequence, mine.player HAVING count(*) > 1 ORDER BY lead LIMIT ?4"
        " ) AS won JOIN rated ON rated.leaderboard = ?1 AND rated.sequence = won.sequence"
        " JOIN races ON races.name = rated.race JOIN shown_players AS players ON players.id = won.player"
        " ORDER BY lead",
        board.key,
        player,
        settled,
        max(LIKELY_UPSETS, 2 * limit),
        after,
        until,
    )
    rows = ledger.connection.rows(
        "SELECT sequence, player, state_before FROM json_each(?2) AS wanted"
        " CROSS JOIN changes ON leaderboard = ?1 AND sequence = wanted.value ORDER BY sequence, player",
        board.key,
        json.dumps(sorted({win[2] for win in wins})),
    )
    fields: dict[int, dict[str, tuple[float, ...]]] = defaultdict(dict)
    for row, state in zip(rows, states_of([row[2] for row in rows]), strict=True):
        fields[row[0]][row[1]] = state
    model = registry.create(board.model, board.parameters)
    races, found = races_numbered(ledger, board.key, fields), []
    for winner, name, sequence, result in wins:
        field, race = fields[sequence], races[sequence]
        chances = dict(zip(field, win_chances(model, np.array(list(field.values()))).tolist(), strict=True))
        entrants = len(entrants_of(race.race, result))
        found.append(Upset(NamedPlayer(winner, name), race, entrants, chances[winner]))
    return sorted(found, key=lambda upset: upset.chance)[:limit]


def _peaks(ledger: Ledger, board: Leaderboard, settled: int) -> list[Record]:
    """Return the players with the highest ratings ever, after at least `settled` earlier races."""
    hidden, read = ledger.orders.hidden(), 64
    best: dict[str, tuple[int, int]] = {}
    while True:
        # Grouping all changes by player would sort them all.
        rows = ledger.connection.rows(
            "SELECT player, points_after, sequence FROM changes"
            " WHERE leaderboard = ? AND races_before >= ? ORDER BY points_after DESC, sequence LIMIT ?",
            board.key,
            settled,
            read,
        )
        for row in rows:
            if row[0] not in hidden and len(best) < SHOWN:
                best.setdefault(row[0], (row[1], row[2]))
        if len(best) == SHOWN or len(rows) < read:
            break
        read *= 8
    found = [(points, sequence, (player,)) for player, (points, sequence) in best.items()]
    return ranked(ledger, board, found)


def streaks(ledger: Ledger, board: Leaderboard) -> list[Record]:
    """Return the longest runs of won races, one for each player."""
    hidden = ledger.orders.hidden()
    runs: dict[str, tuple[int, int, int]] = {}
    longest: dict[str, tuple[int, int, int]] = {}
    for player, sequence, before in ledger.connection.rows(
        "SELECT player, sequence, races_before FROM changes"
        " WHERE leaderboard = ? AND place = 1 ORDER BY sequence",
        board.key,
    ):
        length, _, after = runs.get(player, (0, 0, -1))
        run = runs[player] = (length + 1 if before == after else 1, sequence, before + 1)
        if player not in longest or run[0] > longest[player][0]:
            longest[player] = run
    found = [
        (length, sequence, (player,))
        for player, (length, sequence, _) in longest.items()
        if length > 1 and player not in hidden
    ]
    found = sorted(found, key=lambda each: (-each[0], each[1]))[:SHOWN]
    records = []
    for record in ranked(ledger, board, found):
        standing = ledger.standings.get(board, record.player.id)
        ongoing = standing is not None and standing.races == longest[record.player.id][2]
        records.append(replace(record, ongoing=ongoing))
    return records


def most(ledger: Ledger, board: Leaderboard, column: Literal["wins", "races"]) -> list[Record]:
    """Return the players with the most wins, or races, each with the player's last race."""
    rows = ledger.connection.rows(
        f"SELECT {column}, (SELECT max(sequence) FROM changes INDEXED BY changes_by_player"  # noqa: S608
        "  WHERE changes.leaderboard = ?1 AND changes.player = standings.player), player"
        " FROM standings CROSS JOIN shown_players AS players ON players.id = player"
        f" WHERE leaderboard = ?1 AND {column} > 0 AND player NOT IN (SELECT player FROM hidden_players)"
        f" ORDER BY {column} DESC, players.name COLLATE NOCASE, player LIMIT ?2",
        board.key,
        SHOWN,
    )
    return ranked(ledger, board, [(number, last, (player,)) for number, last, player in rows])


def personal_bests(ledger: Ledger, board: Leaderboard, result: RaceResult) -> list[str]:
    """Return the finishers of a race who were never faster, by place, after `BEST_FROM` earlier finishes.

    Times are compared within the race's goal on a leaderboard that is stored.
    """
    done = [each for each in result.entrants if each.finished]
    times = {each.user_id: each.finish_time for each in done if each.user_id and each.finish_time}
    row, earlier = ledger.ratings.get(board, result.name), defaultdict[str, list[int]](list)
    own_races = (
        "AND goal = ?2 AND sequence < coalesce(?3, sequence + 1) AND sequence IN (SELECT sequence"
        " FROM changes WHERE leaderboard = ?1 AND player IN (SELECT value FROM json_each(?4)))"
    )
    values = (result.goal, row and row.sequence, json.dumps(list(times)))
    for _, _, finishers, _ in _finishers(ledger, board, own_races, *values):
        for time, player in finishers:
            earlier[player].append(time)
    best = [p for p, time in times.items() if len(earlier[p]) >= BEST_FROM and time < min(earlier[p])]
    return sorted(best, key=lambda player: times[player])


def times_and_closest(ledger: Ledger, board: Leaderboard) -> tuple[dict[str, list[Record]], list[Record]]:
    """Return each goal's fastest finishes in races that count, one for each player, and the closest ones."""
    hidden = ledger.orders.hidden()
    best: dict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
    gaps: list[tuple[int, int, tuple[str, ...]]] = []
    slowest, widest = defaultdict[str, float](lambda: inf), inf

    def may_count(goal: str, result: str) -> bool:
        first, second, *_ = *sorted(map(int, _FINISH.findall(result))), inf, inf
        return first <= slowest[goal] or second - first <= widest

    for sequence, goal, finishers, of_teams in _finishers(ledger, board, wanted=may_count):
        own = best[goal]
        for time, player in finishers:
            if player and (player not in own or (time, sequence) < own[player]) and player not in hidden:
                own[player] = (time, sequence)
        if len(own) >= SHOWN:
            slowest[goal] = sorted(own.values())[SHOWN - 1][0]
        if len(finishers) > 1 and not of_teams:
            (time, first), (later, second) = finishers[:2]
            if first and second and hidden.isdisjoint({first, second}):
                gaps = sorted([*gaps, (later - time, sequence, (first, second))])[:SHOWN]
                widest = gaps[-1][0] if len(gaps) == SHOWN else inf
    times = {}
    for goal, of_players in best.items():
        found = [(time / 1e6, sequence, (player,)) for player, (time, sequence) in of_players.items()]
        times[goal] = ranked(ledger, board, sorted(found)[:SHOWN])
    in_seconds = [(gap / 1e6, sequence, players) for gap, sequence, players in gaps]
    return times, ranked(ledger, board, in_seconds)


def _finishers(
    ledger: Ledger,
    board: Leaderboard,
    which: str = "",
    *values: object,
    wanted: Callable[[str, str], bool] | None = None,
) -> Iterator[tuple[int, str, list[tuple[int, str]], bool]]:
    """Yield the number and goal of races that count, their times with players, and whether there are teams.

    Times are in microseconds, the fastest first; a deleted account has no id. `which` is a condition in SQL,
    and `wanted` chooses by the goal and the stored result before it is parsed.
    """
    for sequence, race, goal, result in ledger.connection.stream(
        "SELECT sequence, race, goal, result FROM rated JOIN races ON races.name = race"  # noqa: S608
        f" WHERE leaderboard = ?1 AND note IS NULL {which}",
        board.key,
        *values,
    ):
        if wanted and not wanted(goal, result):
            continue
        try:
            entrants = entrants_of(race, result)
        except DamagedRaceError:
            continue  # the race's own page says so
        finishers = sorted(
            (time, each.get("user_id") or "")
            for each in entrants
            if each.get("status") == EntrantStatus.DONE and (time := each.get("finish_time"))
        )
        yield sequence, goal, finishers, any(each.get("team") for each in entrants)


def ranked(
    ledger: Ledger, board: Leaderboard, found: Sequence[tuple[float, int, tuple[str, ...]]]
) -> list[Record]:
    """Return records from numbers in order, each with the number of its race and the ids of its players."""
    values = [value for value, _, _ in found]
    races = races_numbered(ledger, board.key, [sequence for _, sequence, _ in found])
    names = ledger.players.names({player for _, _, players in found for player in players})
    records = []
    for value, sequence, players in found:
        named = [NamedPlayer(player, names[player]) for player in players]
        second = named[1] if len(named) > 1 else None
        records.append(Record(1 + values.index(value), named[0], value, races[sequence], second))
    return records
