"""All standings of a leaderboard in columns, now or at an earlier time.

Most pages show a few rows of a large leaderboard. Columns rank everybody without building an object for each
player.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from racebot.ledger.connection import Connection
from racebot.ledger.rows import REBUILD, RESTORE, as_text, readable, states_of
from racebot.races.change import State
from racebot.races.result import NO_NAME

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StandingColumns:
    """The standings of a leaderboard. Entry i of every column belongs to the same player.

    Attributes:
        players: user ids.
        states: states as stored, which `states_of` reads.
        points: points.
        races: numbers of rated races.
        finishes: numbers of finished races.
        wins: numbers of won races.
        last_race_at: when each player's last race ended, as text that sorts as time.
    """

    players: Sequence[str]
    states: Sequence[str]
    points: Sequence[int]
    races: Sequence[int]
    finishes: Sequence[int]
    wins: Sequence[int]
    last_race_at: Sequence[str]


class StandingBefore(NamedTuple):
    """A player's standing before a range of races in which they raced.

    `races` is 0 for a player who had not raced; `last_race_at` is then None.
    """

    state: State
    points: int
    races: int
    finishes_since: int
    last_race_at: str | None


class Rankings:
    """Queries over all standings of one leaderboard, by its key."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def now(self, leaderboard: int) -> tuple[StandingColumns, Sequence[float]]:
        """Return the current standings with their ratings."""
        rows = self._connection.rows(
            "SELECT player, state, points, races, finishes, wins, last_race_at, rating"
            " FROM standings WHERE leaderboard = ?",
            leaderboard,
        )
        return _columns(rows), _column([row[7] for row in rows], float)

    @readable("standing", REBUILD)
    def after(self, leaderboard: int, sequence: int) -> StandingColumns:
        """Return the standings after a race of the sequence, of all players who had raced."""
        now = {
            row[0]: (row[1], row[2])
            for row in self._connection.rows(
                "SELECT player, races, last_race_at FROM standings WHERE leaderboard = ?", leaderboard
            )
        }
        rows = self._connection.rows(
            "SELECT player, state_after, points_after, races_before + 1, finishes, wins, sequence FROM ("
            "  SELECT player, max(sequence) AS sequence, count(place) AS finishes, sum(place IS 1) AS wins"
            "  FROM changes INDEXED BY changes_by_player"
            "  WHERE leaderboard = ?1 AND sequence <= ?2 GROUP BY player"
            " ) CROSS JOIN changes USING (player, sequence) WHERE leaderboard = ?1",
            leaderboard,
            sequence,
        )
        # Most players have not raced since a recent date: their last race is known.
        known = {row[0]: now[row[0]][1] for row in rows if now[row[0]][0] == row[3]}
        ends = known | self._ends(leaderboard, {row[0]: row[6] for row in rows if row[0] not in known})
        return _columns([(*row[:6], ends[row[0]]) for row in rows])

    def before(self, leaderboard: int, first: int, last: int) -> dict[str, StandingBefore]:
        """Return the standings before a range of races, of the players in these races, by player.

        Args:
            first: sequence number of the first race.
            last: sequence number of the last race.
        """
        rows = self._connection.rows(
            "SELECT player, state_before, points_before, races_before, finishes, ("
            "  SELECT max(c.sequence) FROM changes AS c INDEXED BY changes_by_player"
            "  WHERE c.leaderboard = ?1 AND c.player = changes.player AND c.sequence < ?2"
            " ) FROM ("
            "  SELECT player, min(sequence) AS sequence, count(place) AS finishes FROM changes"
            # Without the sign, SQLite reads all changes in the order of players to save the sort.
            "  WHERE leaderboard = ?1 AND sequence BETWEEN ?2 AND ?3 GROUP BY +player"
            " ) AS first CROSS JOIN changes USING (player, sequence) WHERE leaderboard = ?1",
            leaderboard,
            first,
            last,
        )
        states = states_of([row[1] for row in rows])
        ends = self._ends(leaderboard, {row[0]: row[5] for row in rows if row[5] is not None})
        return {
            row[0]: StandingBefore(state, row[2], row[3], row[4], ends.get(row[0]))
            for row, state in zip(rows, states, strict=True)
        }

    @readable("player", RESTORE)
    def names(self, players: Sequence[str]) -> list[str]:
        """Return the names of players to show, in the same order: `NO_NAME` for removed players."""
        rows = self._connection.rows(
            "SELECT shown_players.id, name FROM json_each(?) AS wanted"
            " CROSS JOIN shown_players ON shown_players.id = wanted.value",
            json.dumps(players),
        )
        found = {row[0]: as_text(row[1]) for row in rows}
        return [found.get(player, NO_NAME) for player in players]

    def _ends(self, leaderboard: int, lasts: Mapping[str, int]) -> dict[str, str]:
        """Return when the last of each player's races ended, up to a number in the sequence, by player.

        Args:
            lasts: the last number in the sequence of each player's races, by player.
        """
        rows = self._connection.rows(
            "SELECT sequence, ended_at, ended_at < counted_at FROM json_each(?2) AS wanted"
            " CROSS JOIN rated ON leaderboard = ?1 AND sequence = wanted.value"
            " CROSS JOIN races ON races.name = race",
            leaderboard,
            json.dumps(sorted(set(lasts.values()))),
        )
        ends = {row[0]: row[1] for row in rows}
        # A race counts from its end, or later if recorded late. Only then may an earlier one end later.
        late = {row[0] for row in rows if row[2]}
        again = self._connection.rows(
            "SELECT wanted.key, max(ended_at) FROM json_each(?2) AS wanted"
            " CROSS JOIN changes INDEXED BY changes_by_player"
            "  ON changes.leaderboard = ?1 AND player = wanted.key AND sequence <= wanted.value"
            " CROSS JOIN rated USING (leaderboard, sequence) CROSS JOIN races ON races.name = race"
            " GROUP BY wanted.key",
            leaderboard,
            json.dumps({player: last for player, last in lasts.items() if last in late}),
        )
        return {player: ends[last] for player, last in lasts.items()} | dict(map(tuple, again))


@readable("standing", REBUILD)
def _columns(rows: Sequence[Sequence[Any]]) -> StandingColumns:
    columns = list(zip(*rows, strict=True)) or [()] * 8
    kinds = (str, str, int, int, int, int, str)
    return StandingColumns(*map(_column, columns, kinds))


@readable("standing", REBUILD)
def _column(values: Sequence[Any], kind: type[T]) -> Sequence[T]:
    """Return a column. Raise an error if a value has another type."""
    for found in set(map(type, values)) - {kind}:
        raise TypeError(f"{found.__name__} in place of {kind.__name__}")
    return values
