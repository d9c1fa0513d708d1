"""What pages ask of the ledger beyond what commands do: spans of races, opponents, all of a history.

Where a player's races are looked up the index is named, and joins are in the order written (CROSS JOIN):
SQLite by itself reads the whole leaderboard, since that comes in order.

Times are given and returned as the ledger keeps them: ISO 8601 text in UTC, which sorts as time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlite_utils.db import Database


class Earlier(NamedTuple):
    """How a player stood before the first of some races, and what these races then added.

    `races` is 0 for one who had not raced. `last_race_at` is the end of the last race before, or empty.
    """

    player: str
    state: tuple[float, ...]
    points: int
    races: int
    finishes_since: int
    last_race_at: str


class RaceRow(NamedTuple):
    """A rated race in a list: `entrants` and `finishers` count rated entrants, `winners` are their names."""

    race: str
    sequence: int
    ended_at: str
    note: str | None
    entrants: int
    finishers: int
    winners: tuple[tuple[str, str], ...]


class PlayedRow(NamedTuple):
    """One race of a player. `place` is None for a race not finished; `entrants` are those rated."""

    race: str
    sequence: int
    ended_at: str
    place: int | None
    entrants: int
    before: int
    after: int
    races_before: int

    @property
    def change(self) -> int:
        return self.after - self.before


class OpponentRow(NamedTuple):
    """How a player fared against another. Races that decided nothing between them count as met only."""

    id: str
    name: str
    met: int
    ahead: int
    behind: int
    points: int


class ChangeRow(NamedTuple):
    """One change of a rating, as the ledger lists them."""

    sequence: int
    race: str
    ended_at: str
    player: str
    name: str
    place: int | None
    before: int
    after: int
    races_before: int
    parts: str


class EntryRow(NamedTuple):
    """One entrant of a rated race, with what the model knew before it."""

    sequence: int
    place: int | None
    state: tuple[float, ...]
    before: int
    after: int
    races_before: int


class PageQueries:
    """Queries over the rated races of one leaderboard, by its key."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def last_sequence(self, leaderboard: int, moment: str) -> int:
        """Sequence of the last race that counted at or before a moment; 0 if none did."""
        rows = self._all(
            "SELECT max(sequence) FROM rated JOIN races ON races.name = race"
            " WHERE leaderboard = ? AND counted_at <= ?",
            leaderboard,
            moment,
        )
        return int(rows[0][0] or 0)

    def earlier(self, leaderboard: int, sequence: int) -> list[Earlier]:
        """How those who raced after a sequence number stood before that."""
        rows = self._all(
            "SELECT player, state_before, points_before, races_before, count(place), min(sequence), ("
            "  SELECT races.ended_at FROM changes AS c INDEXED BY changes_by_player"
            "  JOIN rated USING (leaderboard, sequence) JOIN races ON races.name = rated.race"
            "  WHERE c.leaderboard = ?1 AND c.player = changes.player AND c.sequence <= ?2"
            "  ORDER BY c.sequence DESC LIMIT 1)"
            " FROM changes WHERE leaderboard = ?1 AND sequence > ?2 GROUP BY player",
            leaderboard,
            sequence,
        )
        return [
            Earlier(row[0], tuple(json.loads(row[1])), row[2], row[3], row[4], row[6] or "") for row in rows
        ]

    def races(self, leaderboard: int, limit: int, offset: int = 0) -> list[RaceRow]:
        """Rated races, the newest first."""
        rows = self._all(
            "SELECT rated.race, sequence, ended_at, note,"
            " (SELECT count(*) FROM changes AS c"
            "  WHERE c.leaderboard = rated.leaderboard AND c.sequence = rated.sequence),"
            " (SELECT count(place) FROM changes AS c"
            "  WHERE c.leaderboard = rated.leaderboard AND c.sequence = rated.sequence),"
            " (SELECT json_group_array(json_array(players.id, players.name)) FROM changes AS c"
            "  JOIN shown_players AS players ON players.id = c.player"
            "  WHERE c.leaderboard = rated.leaderboard AND c.sequence = rated.sequence AND place = 1)"
            " FROM rated JOIN races ON races.name = rated.race"
            " WHERE leaderboard = ? ORDER BY sequence DESC LIMIT ? OFFSET ?",
            leaderboard,
            limit,
            offset,
        )
        return [
            RaceRow(
                row[0],
                row[1],
                row[2],
                row[3],
                row[4],
                row[5],
                tuple((player, name) for player, name in json.loads(row[6])),
            )
            for row in rows
        ]

    def played(self, leaderboard: int, player: str) -> list[PlayedRow]:
        """All rated races of a player, oldest first."""
        rows = self._all(
            "SELECT rated.race, sequence, ended_at, place,"
            " (SELECT count(*) FROM changes AS c"
            "  WHERE c.leaderboard = mine.leaderboard AND c.sequence = mine.sequence),"
            " points_before, points_after, races_before"
            " FROM changes AS mine INDEXED BY changes_by_player"
            " CROSS JOIN rated USING (leaderboard, sequence) CROSS JOIN races ON races.name = rated.race"
            " WHERE leaderboard = ? AND player = ? ORDER BY sequence",
            leaderboard,
            player,
        )
        return [PlayedRow(*row) for row in rows]

    def opponents(self, leaderboard: int, player: str) -> list[OpponentRow]:
        """Everybody whom a player raced, the most met first."""
        rows = self._all(
            "SELECT players.id, players.name, met, ahead, behind, standings.points FROM ("
            "  SELECT other.player AS id, count(*) AS met,"
            "   sum(mine.place IS NOT NULL AND (other.place IS NULL OR mine.place < other.place)) AS ahead,"
            "   sum(other.place IS NOT NULL AND (mine.place IS NULL OR other.place < mine.place)) AS behind"
            "  FROM changes AS mine INDEXED BY changes_by_player"
            "  CROSS JOIN changes AS other USING (leaderboard, sequence)"
            "  WHERE leaderboard = ?1 AND mine.player = ?2 AND other.player <> ?2 GROUP BY other.player"
            " ) JOIN shown_players AS players USING (id)"
            " JOIN standings ON standings.leaderboard = ?1 AND standings.player = id"
            " ORDER BY met DESC, ahead + behind DESC, players.name COLLATE NOCASE, id",
            leaderboard,
            player,
        )
        return [OpponentRow(*row) for row in rows]

    def changes(
        self, leaderboard: int, after: int = 0, limit: int = -1, player: str | None = None
    ) -> Iterator[ChangeRow]:
        """Changes of the races after a sequence number, in order: of `limit` races, or of all."""
        rows = self._db.execute(
            "SELECT sequence, rated.race, ended_at, player, players.name, place, points_before,"
            " points_after, races_before, parts FROM ("
            "  SELECT * FROM rated WHERE leaderboard = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3"
            " ) AS rated JOIN changes USING (leaderboard, sequence) JOIN races ON races.name = rated.race"
            " JOIN shown_players AS players ON players.id = player WHERE ?4 IS NULL OR player = ?4"
            " ORDER BY sequence, place IS NULL, place, player",
            (leaderboard, after, limit, player),
        )
        return (ChangeRow(*row) for row in rows)

    def entries(self, leaderboard: int, races: int) -> Iterator[EntryRow]:
        """Entrants of the last so many races of the sequence, in order."""
        rows = self._db.execute(
            "SELECT sequence, place, state_before, points_before, points_after, races_before FROM changes"
            " WHERE leaderboard = ?1 AND sequence > ("
            "  SELECT coalesce(max(sequence), 0) FROM rated WHERE leaderboard = ?1) - ?2"
            " ORDER BY sequence, player",
            (leaderboard, races),
        )
        return (EntryRow(row[0], row[1], tuple(json.loads(row[2])), *row[3:]) for row in rows)

    def players(self) -> list[tuple[str, str]]:
        """Id and name of all who are on any leaderboard, by id."""
        return self._all(
            "SELECT id, name FROM shown_players WHERE id IN (SELECT player FROM standings) ORDER BY id"
        )

    def race_names(self) -> list[str]:
        """Names of all races that count on any leaderboard."""
        return [row[0] for row in self._all("SELECT DISTINCT race FROM rated ORDER BY race")]

    def _all(self, sql: str, *values: Any) -> list[Any]:
        found: Sequence[Any] = self._db.execute(sql, values).fetchall()
        return list(found)
