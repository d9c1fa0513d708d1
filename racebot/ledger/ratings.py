"""Rated races: each leaderboard's sequence of races, their changes, and the resulting standings."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from racebot.ledger.connection import Connection
from racebot.ledger.rows import (
    REBUILD,
    START,
    Leaderboard,
    Position,
    RatedRow,
    Standing,
    StoredRace,
    as_int,
    as_text,
    change_of,
    moment_of,
    race_of,
    readable,
    standing_of,
    state_text,
    states_of,
    text_of,
)
from racebot.races.change import Change, State


class StoredRow(NamedTuple):
    """A rated race as its raw columns. `changes` has the form that `change_values` returns."""

    sequence: int
    race: str
    note: str | None
    changes: tuple[tuple[Any, ...], ...]


def change_values(change: Change) -> tuple[Any, ...]:
    """Return a change as values of the `changes` table, from `player` on."""
    return (
        change.player,
        change.place,
        state_text(change.before),
        state_text(change.after),
        change.points_before,
        change.points_after,
        change.races_before,
        _parts_text(change.parts),
    )


@lru_cache(maxsize=10_000)
def _parts_text(parts: tuple[tuple[str, int], ...]) -> str:
    """Return points by cause as JSON. Cached, because few combinations make up most changes."""
    return json.dumps(parts)


class Ratings(Connection):
    """Reads and writes the tables `rated`, `changes` and `standings`."""

    # Sequences

    def sequence_at(self, board: Leaderboard, position: Position) -> tuple[int, Position]:
        """Return the number in a leaderboard's sequence for a race at a position.

        The time it takes grows with the number of races after the position.

        Returns:
            One more than the number of the last rated race before the position, and that race's own
            position, `START` if there is none.
        """
        rows = self.stream(
            "SELECT sequence, race, counted_at FROM rated JOIN races ON races.name = race"
            " WHERE leaderboard = ? ORDER BY sequence DESC",
            board.key,
        )
        for row in rows if position != START else ():
            earlier = Position(moment_of(row["counted_at"]), as_text(row["race"]))
            if earlier < position:
                return as_int(row["sequence"]) + 1, earlier
        return 1, START

    def last_counted(self, board: Leaderboard) -> datetime | None:
        """Return when the last race of a leaderboard's sequence counted, None if there is none."""
        row = self.row(
            "SELECT races.counted_at AS at FROM rated JOIN races ON races.name = rated.race"
            " WHERE leaderboard = ? ORDER BY sequence DESC LIMIT 1",
            board.key,
        )
        return None if row is None else moment_of(row["at"])

    def rated_count(self, board: Leaderboard) -> int:
        """Return the number of races that count on a leaderboard."""
        return as_int(self.rows("SELECT count(*) FROM rated WHERE leaderboard = ?", board.key)[0][0])

    def rated_race(self, board: Leaderboard, race: str) -> RatedRow | None:
        """Return a race with its changes on a leaderboard, or None if it does not count there."""
        row = self.row("SELECT * FROM rated WHERE leaderboard = ? AND race = ?", board.key, race)
        if row is None:
            return None
        changes = self.rows(
            "SELECT * FROM changes WHERE leaderboard = ? AND sequence = ? ORDER BY player",
            board.key,
            row["sequence"],
        )
        return RatedRow(as_int(row["sequence"]), race, tuple(map(change_of, changes)), row["note"])

    def holds(self, board: Leaderboard, race: str) -> bool:
        """Return whether a race counts on a leaderboard."""
        return self.row("SELECT 1 FROM rated WHERE leaderboard = ? AND race = ?", board.key, race) is not None

    def rated_rows(self, board: Leaderboard) -> Iterator[RatedRow]:
        """Yield all races of a leaderboard's sequence with their changes, in order."""
        for row in self.rows("SELECT * FROM rated WHERE leaderboard = ? ORDER BY sequence", board.key):
            changes = self.rows(
                "SELECT * FROM changes WHERE leaderboard = ? AND sequence = ? ORDER BY player",
                board.key,
                row["sequence"],
            )
            yield RatedRow(
                as_int(row["sequence"]), as_text(row["race"]), tuple(map(change_of, changes)), row["note"]
            )

    def stored_rows(self, board: Leaderboard) -> Iterator[StoredRow]:
        """Yield all races of a leaderboard's sequence as raw columns, in order."""
        changes = self.stream(
            "SELECT sequence, player, place, state_before, state_after, points_before, points_after,"
            " races_before, parts FROM changes WHERE leaderboard = ? ORDER BY sequence, player",
            board.key,
        )
        by_sequence = groupby(map(tuple, changes), key=itemgetter(0))
        sequence, group = next(by_sequence, (None, iter(())))
        for row in self.stream(
            "SELECT sequence, race, note FROM rated WHERE leaderboard = ? ORDER BY sequence", board.key
        ):
            mine: tuple[tuple[Any, ...], ...] = ()
            if row["sequence"] == sequence:
                mine = tuple(change[1:] for change in group)
                sequence, group = next(by_sequence, (None, iter(())))
            yield StoredRow(row["sequence"], row["race"], row["note"], mine)

    def truncate(self, board: Leaderboard, sequence: int) -> None:
        """Delete a leaderboard's rated races from a sequence number on. Leaves the standings unchanged."""
        self.ratings_written += 1
        for table in ("changes", "rated", "rated_on"):
            self.write(f"DELETE FROM {table} WHERE leaderboard = ? AND sequence >= ?", board.key, sequence)  # noqa: S608

    def platforms(self, board: Leaderboard) -> list[str]:
        """Return the platforms that rated a leaderboard's races, in order.

        An empty string stands for races rated before racebot stored the platform.
        """
        rows = self.rows("SELECT * FROM rated_on WHERE leaderboard = ? ORDER BY sequence", board.key)
        unknown = [] if rows and rows[0]["sequence"] == 1 else [""]
        return [*unknown, *(as_text(row["platform"]) for row in rows)]

    def append(self, board: Leaderboard, rated: Sequence[RatedRow], platform: str) -> None:
        """Append rated races to a leaderboard's sequence, with the platform that rated them."""
        self.ratings_written += 1
        with self.transaction():
            if rated and self.platforms(board)[-1:] != [platform]:
                first = min(row.sequence for row in rated)
                self.write("INSERT OR REPLACE INTO rated_on VALUES (?, ?, ?)", board.key, first, platform)
            self.write_many(
                "INSERT INTO rated (leaderboard, sequence, race, note) VALUES (?, ?, ?, ?)",
                [(board.key, row.sequence, row.race, row.note) for row in rated],
            )
            self.write_many(
                "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (board.key, row.sequence, *change_values(change))
                    for row in rated
                    for change in row.changes
                ],
            )

    # Changes

    def history(self, board: Leaderboard, player: str, limit: int) -> list[tuple[StoredRace, Change]]:
        """Return a player's last races on a leaderboard with the player's changes, newest first."""
        rows = self.rows(
            "SELECT changes.*, races.* FROM changes INDEXED BY changes_by_player"
            " JOIN rated USING (leaderboard, sequence) JOIN races ON races.name = rated.race"
            " WHERE changes.leaderboard = ? AND player = ? ORDER BY sequence DESC LIMIT ?",
            board.key,
            player,
            limit,
        )
        return [(race_of(row), change_of(row)) for row in rows]

    def changes_since(self, board: Leaderboard, moment: datetime) -> Iterator[Change]:
        """Yield the changes of races that ended at or after a given time, in the leaderboard's order."""
        rows = self.rows(
            "SELECT changes.* FROM rated CROSS JOIN races ON races.name = rated.race"
            " CROSS JOIN changes USING (leaderboard, sequence)"
            " WHERE rated.leaderboard = ? AND races.ended_at >= ? ORDER BY sequence, player",
            board.key,
            text_of(moment),
        )
        return map(change_of, rows)

    def meetings(self, board: Leaderboard, player: str, other: str) -> list[tuple[int | None, int | None]]:
        """Return the places of two players in every race of a leaderboard that both entered, in order."""
        rows = self.rows(
            "SELECT mine.place AS place, theirs.place AS their_place"
            " FROM changes AS mine INDEXED BY changes_by_player"
            " CROSS JOIN changes AS theirs USING (leaderboard, sequence)"
            " WHERE mine.leaderboard = ? AND mine.player = ? AND theirs.player = ? ORDER BY sequence",
            board.key,
            player,
            other,
        )
        return [(row["place"], row["their_place"]) for row in rows]

    def states_before(self, board: Leaderboard, moment: datetime) -> dict[str, State]:
        """Return each player's state after all races of a leaderboard that count before a given time."""
        last = self.last_counted(board)
        if last is None or last < moment:
            rows = self.rows("SELECT player, state FROM standings WHERE leaderboard = ?", board.key)
        else:
            sequence, _ = self.sequence_at(board, Position(moment))
            rows = self.rows(
                "SELECT player, state_after AS state, max(sequence) FROM changes"
                " WHERE leaderboard = ? AND sequence < ? GROUP BY player",
                board.key,
                sequence,
            )
        states = states_of([row["state"] for row in rows])
        return {as_text(row["player"]): state for row, state in zip(rows, states, strict=True)}

    # Standings

    def standings(self, board: Leaderboard) -> list[Standing]:
        """Return all standings with names, best first, then by name."""
        rows = self.rows(
            "SELECT standings.*, players.name AS name,"
            " player IN (SELECT player FROM hidden_players) AS hidden FROM standings"
            " JOIN shown_players AS players ON players.id = player"
            " WHERE leaderboard = ? ORDER BY rating DESC, players.name COLLATE NOCASE, player",
            board.key,
        )
        states = states_of([row["state"] for row in rows])
        return [standing_of(row, state) for row, state in zip(rows, states, strict=True)]

    def standing(self, board: Leaderboard, player: str) -> Standing | None:
        """Return a player's standing, or None."""
        row = self.row(
            "SELECT standings.*, players.name AS name,"
            " player IN (SELECT player FROM hidden_players) AS hidden FROM standings"
            " JOIN shown_players AS players ON players.id = player"
            " WHERE leaderboard = ? AND player = ?",
            board.key,
            player,
        )
        return None if row is None else standing_of(row)

    def top(self, board: Leaderboard, *, finishes: int, since: datetime | None, limit: int) -> list[Standing]:
        """Return the best players with at least `finishes` finishes and a race since `since`, best first."""
        rows = self.rows(
            "SELECT standings.*, players.name AS name, 0 AS hidden"
            " FROM standings INDEXED BY standings_by_rating"
            " CROSS JOIN shown_players AS players ON players.id = player"
            " WHERE leaderboard = ? AND finishes >= ? AND last_race_at >= ?"
            " AND player NOT IN (SELECT player FROM hidden_players)"
            " ORDER BY rating DESC, players.name COLLATE NOCASE, player LIMIT ?",
            board.key,
            finishes,
            text_of(since) if since else "",
            limit,
        )
        return list(map(standing_of, rows))

    def listed(
        self, board: Leaderboard, *, finishes: int, since: datetime | None, above: float = float("inf")
    ) -> tuple[int, int]:
        """Count players with at least `finishes` finishes and a race since `since`.

        Returns:
            The number of them rated above `rating`, and the number of all.
        """
        row = self.rows(
            "SELECT coalesce(sum(rating > ?), 0) AS above, count(*) AS listed"
            " FROM standings INDEXED BY standings_by_rating"
            " WHERE leaderboard = ? AND finishes >= ? AND last_race_at >= ?"
            " AND player NOT IN (SELECT player FROM hidden_players)",
            above,
            board.key,
            finishes,
            text_of(since) if since else "",
        )[0]
        return as_int(row["above"]), as_int(row["listed"])

    def latest_race(self, board: Leaderboard) -> datetime | None:
        """Return when the last race of a leaderboard ended, None if there is none."""
        at = self.rows("SELECT max(last_race_at) FROM standings WHERE leaderboard = ?", board.key)[0][0]
        return moment_of(at) if at else None

    def standings_before(self, board: Leaderboard, sequence: int) -> list[Standing]:
        """Return the standings before a sequence number, for the players who have raced since.

        `rating` is not computed, and `last_race_at` comes from the current standing. Players whose first race
        on the leaderboard comes later have zero races.
        """
        rows = self.rows(
            "SELECT player, state_before, points_before, races_before, min(sequence),"
            " standings.finishes - sum(place IS NOT NULL) AS finishes,"
            " standings.wins - sum(place IS 1) AS wins,"
            " last_race_at FROM changes LEFT JOIN standings USING (leaderboard, player)"
            " WHERE leaderboard = ? AND sequence >= ? GROUP BY player",
            board.key,
            sequence,
        )
        states = states_of([row["state_before"] for row in rows])
        return [_standing_before(row, state) for row, state in zip(rows, states, strict=True)]

    def last_race_before(self, board: Leaderboard, player: str, sequence: int) -> datetime:
        """Return when a player's last race before a sequence number ended."""
        row = self.rows(
            "SELECT max(ended_at) FROM changes INDEXED BY changes_by_player"
            " CROSS JOIN rated USING (leaderboard, sequence) CROSS JOIN races ON races.name = rated.race"
            " WHERE leaderboard = ? AND player = ? AND sequence < ?",
            board.key,
            player,
            sequence,
        )[0]
        return moment_of(row[0])

    def replace_standings(self, board: Leaderboard, standings: Sequence[Standing]) -> None:
        """Replace players' standings. A player without races loses the standing."""
        self.ratings_written += 1
        with self.transaction():
            self.write_many(
                "DELETE FROM standings WHERE leaderboard = ? AND player = ?",
                [(board.key, s.player) for s in standings if not s.races],
            )
            self.write_many(
                "INSERT OR REPLACE INTO standings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        board.key,
                        s.player,
                        state_text(s.state),
                        s.rating,
                        s.points,
                        s.races,
                        s.finishes,
                        s.wins,
                        text_of(s.last_race_at),
                    )
                    for s in standings
                    if s.races
                ],
            )

    def remove_standings(self, board: Leaderboard) -> None:
        """Delete all standings of a leaderboard."""
        self.ratings_written += 1
        self.write("DELETE FROM standings WHERE leaderboard = ?", board.key)


@readable("standing", REBUILD)
def _standing_before(row: sqlite3.Row, state: State) -> Standing:
    return Standing(
        player=as_text(row["player"]),
        state=state,
        rating=0.0,
        points=as_int(row["points_before"]),
        races=as_int(row["races_before"]),
        finishes=as_int(row["finishes"]),
        wins=as_int(row["wins"]),
        last_race_at=moment_of(row["last_race_at"]),
    )
