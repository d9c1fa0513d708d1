"""The ledger: results, changes and standings in one SQLite file.

The database is opened in WAL mode with full synchronisation. Everything that belongs together is
written inside `Ledger.transaction`, so that a process that dies leaves all of it or nothing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from sqlite_utils.db import Database

from racebot.errors import NoSuchEntryError
from racebot.ledger.database import connect, connect_to_read, translated
from racebot.ledger.history import PageQueries
from racebot.ledger.orders import Orders
from racebot.ledger.players import Players
from racebot.ledger.queue import Outbox, Pending, Staging
from racebot.ledger.rows import (
    Leaderboard,
    RatedRow,
    Standing,
    StoredRace,
    change_of,
    leaderboard_of,
    moment_of,
    race_of,
    standing_of,
    state_of,
    states_of,
    text_of,
)
from racebot.races.change import Change, State
from racebot.races.result import RaceResult

_RACES_AT_ONCE = 500
"""Races whose changes are in memory together while a whole leaderboard is written."""


class Ledger:
    """Reads and writes the database. Use `Ledger.open`; close it, or use it as a context manager.

    Raises (all methods):
        LedgerError: the database is unreadable, read-only, full, or not a ledger.
        PayloadError: a value that no database holds: text that is none, or a number beyond 64 bits.
    """

    def __init__(self, db: Database, path: Path) -> None:
        self.db = db
        self.path = path
        self.pending = Pending(db)
        self.outbox = Outbox(db)
        self.staging = Staging(db)
        self.pages = PageQueries(db)
        self.players = Players(db, path)
        self.orders = Orders(db, path, self.players)
        self._writings = 0

    @classmethod
    def open(cls, path: Path, *, create: bool = True) -> Ledger:
        """Open the ledger at `path`, bringing its schema up to date; a new file is its owner's alone.

        Raises:
            LedgerError: no such file (with `create` false), no permission, not an SQLite database, or
                written by a newer version.
        """
        return cls(connect(path, create=create), path)

    @classmethod
    def open_to_read(cls, path: Path) -> Ledger:
        """Open the ledger at `path` without ever writing to it, also while a worker does.

        Raises:
            LedgerError: no such file, no permission, not a ledger, or one of another version of racebot.
        """
        return cls(connect_to_read(path), path)

    @contextmanager
    def snapshot(self) -> Generator[None]:
        """All reads inside see the ledger as it is at the first of them."""
        with translated(self.path):
            self.db.conn.execute("BEGIN")
            try:
                yield
            finally:
                self.db.conn.rollback()

    def revision(self) -> tuple[int, ...]:
        """Token that changes whenever ratings or orders may have changed."""
        return self._writings, self.orders.last(), self.data_version()

    def data_version(self) -> int:
        """A number that changes when another connection has written to the database."""
        with translated(self.path):
            return int(self.db.execute("PRAGMA data_version").fetchone()[0])

    def close(self) -> None:
        self.db.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @contextmanager
    def transaction(self, *, lasting: bool = True) -> Generator[None]:
        """All writes inside happen together or not at all. May be nested; the outermost one commits.

        The write lock is taken at the start, so that what is read inside cannot change before it is
        written back, not even by another process.

        Args:
            lasting: wait until the disk has it. Otherwise it outlives the process all the same, but a power
                cut may undo it until the next lasting one is committed.
        """
        with translated(self.path):
            if self.db.conn.in_transaction:
                yield
                return
            if not lasting:
                self.db.conn.execute("PRAGMA synchronous = NORMAL")
            try:
                self.db.conn.execute("BEGIN IMMEDIATE")
                yield
                self.db.conn.execute("COMMIT")
            except BaseException:
                self.db.conn.rollback()
                raise
            finally:
                if not lasting:
                    self.db.conn.execute("PRAGMA synchronous = FULL")

    # Leaderboards

    def leaderboards(self) -> list[Leaderboard]:
        """All leaderboards, by category and name."""
        rows = self._rows("SELECT * FROM leaderboards ORDER BY category, name")
        return [leaderboard_of(row) for row in rows]

    def leaderboard(self, category: str, name: str) -> Leaderboard | None:
        rows = self._rows("SELECT * FROM leaderboards WHERE category = ? AND name = ?", category, name)
        return next((leaderboard_of(row) for row in rows), None)

    def save_leaderboard(self, board: Leaderboard) -> Leaderboard:
        """Store a leaderboard's settings, new or changed; returns it with its id. Changes no rating."""
        with self.transaction():
            self.db.execute(
                "INSERT INTO leaderboards (category, name, goals, model, parameters, teams, carry)"
                " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (category, name) DO UPDATE SET"
                " goals = excluded.goals, model = excluded.model, parameters = excluded.parameters,"
                " teams = excluded.teams, carry = excluded.carry",
                (
                    board.category,
                    board.name,
                    json.dumps(list(board.goals)),
                    board.model,
                    json.dumps(board.parameters, sort_keys=True),
                    board.teams,
                    json.dumps(board.carry),
                ),
            )
            stored = self.leaderboard(board.category, board.name)
        assert stored is not None  # noqa: S101 - written two lines up
        return stored

    def remove_leaderboard(self, board: Leaderboard) -> None:
        """Forget a leaderboard with its changes and standings; the races stay."""
        self._writings += 1
        with self.transaction():
            self.db.execute("DELETE FROM leaderboards WHERE id = ?", (board.key,))

    # Races

    def race(self, name: str) -> StoredRace | None:
        """A recorded race by its name (`category/slug`)."""
        rows = self._rows("SELECT * FROM races WHERE name = ?", name)
        return next((race_of(row) for row in rows), None)

    def find_race(self, name: str) -> StoredRace:
        """A recorded race by its name or its slug alone.

        Raises:
            NoSuchEntryError: none, or more than one, is called so.
        """
        stored = self.race(name)
        if stored is not None:
            return stored
        rows = self._rows("SELECT * FROM races WHERE substr(name, instr(name, '/') + 1) = ?", name)
        if len(rows) != 1:
            names = ", ".join(row["name"] for row in rows)
            raise NoSuchEntryError(
                f"{name!r} could be any of: {names}" if rows else f"no recorded race {name!r} in the ledger"
            )
        return race_of(rows[0])

    def save_race(self, result: RaceResult, *, counted_at: datetime, source: str) -> None:
        """Store a recorded race, or a new result of a stored one, which keeps its place in the order."""
        with self.transaction():
            self.db.execute(
                "INSERT INTO races (name, category, goal, ended_at, counted_at, source, result, fingerprint)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET"
                " goal = excluded.goal, ended_at = excluded.ended_at, result = excluded.result,"
                " fingerprint = excluded.fingerprint",
                (
                    result.name,
                    result.category,
                    result.goal,
                    text_of(result.ended_at),
                    text_of(counted_at),
                    source,
                    result.to_json(),
                    result.fingerprint(),
                ),
            )
            self.players.see(result)

    def races_of(self, board: Leaderboard) -> Iterator[StoredRace]:
        """All recorded races of a leaderboard's goals, in the order in which they count."""
        marks = ", ".join("?" for _ in board.goals)
        rows = self._stream(
            f"SELECT * FROM races WHERE category = ? AND goal IN ({marks}) ORDER BY counted_at, name",  # noqa: S608
            board.category,
            *board.goals,
        )
        return map(race_of, rows)

    def goals(self) -> list[tuple[str, str]]:
        """Category and goal of all recorded races, each once."""
        rows = self._rows("SELECT DISTINCT category, goal FROM races ORDER BY category, goal")
        return [(row["category"], row["goal"]) for row in rows]

    def remove_race(self, name: str) -> None:
        """Forget a race that the site no longer counts. Its leaderboards must be rebuilt with it."""
        with self.transaction():
            self.db.execute("DELETE FROM rated WHERE race = ?", (name,))
            self.db.execute("DELETE FROM races WHERE name = ?", (name,))

    def last_counted(self, board: Leaderboard) -> datetime | None:
        """When the last race of a leaderboard's sequence counted."""
        rows = self._rows(
            "SELECT races.counted_at AS at FROM rated JOIN races ON races.name = rated.race"
            " WHERE leaderboard = ? ORDER BY sequence DESC LIMIT 1",
            board.key,
        )
        return moment_of(rows[0]["at"]) if rows else None

    # Changes and standings

    def carried(self, board: Leaderboard) -> dict[str, State]:
        """States that players brought from an earlier leaderboard, as they were when this one was begun."""
        rows = self._rows("SELECT player, state FROM carried WHERE leaderboard = ?", board.key)
        return {row["player"]: state_of(row["state"]) for row in rows}

    def replace_carried(self, board: Leaderboard, states: Mapping[str, State]) -> None:
        """Put these states in place of those that `carried` gives."""
        with self.transaction():
            self.db.execute("DELETE FROM carried WHERE leaderboard = ?", (board.key,))
            self.db.conn.executemany(
                "INSERT INTO carried (leaderboard, player, state) VALUES (?, ?, ?)",
                [(board.key, player, json.dumps(state)) for player, state in states.items()],
            )

    def next_sequence(self, board: Leaderboard) -> int:
        rows = self._rows("SELECT max(sequence) AS last FROM rated WHERE leaderboard = ?", board.key)
        return (rows[0]["last"] or 0) + 1

    def append(self, board: Leaderboard, rated: Iterable[RatedRow], standings: Iterable[Standing]) -> None:
        """Write rated races at the end of a leaderboard's sequence, and the standings they led to."""
        self._writings += 1
        with self.transaction():
            self._write_rated(board, rated)
            self._write_standings(board, standings)

    def replace(self, board: Leaderboard, rated: Iterable[RatedRow], standings: Iterable[Standing]) -> None:
        """Put a leaderboard's whole sequence and all its standings in place of what is there.

        `standings` are asked for when all of `rated` is written: both may come from one replay.
        """
        self._writings += 1
        with self.transaction():
            for table in ("changes", "rated", "standings"):
                self.db.execute(f"DELETE FROM {table} WHERE leaderboard = ?", (board.key,))  # noqa: S608
            self._write_rated(board, rated)
            self._write_standings(board, standings)

    def standings(self, board: Leaderboard) -> list[Standing]:
        """All standings with names, best first; equal ratings by name."""
        rows = self._rows(
            "SELECT standings.*, players.name AS name,"
            " player IN (SELECT player FROM hidden_players) AS hidden FROM standings"
            " JOIN shown_players AS players ON players.id = player"
            " WHERE leaderboard = ? ORDER BY rating DESC, players.name COLLATE NOCASE, player",
            board.key,
        )
        states = states_of([row["state"] for row in rows])
        return [standing_of(row, state) for row, state in zip(rows, states, strict=True)]

    def listed(
        self, board: Leaderboard, *, finishes: int, since: datetime | None, above: float = float("inf")
    ) -> tuple[int, int]:
        """How many players with so many finishes raced since a moment: rated above a number, and in all."""
        rows = self._rows(
            "SELECT coalesce(sum(rating > ?), 0) AS above, count(*) AS listed"
            " FROM standings INDEXED BY standings_by_rating"
            " WHERE leaderboard = ? AND finishes >= ? AND last_race_at >= ?"
            " AND player NOT IN (SELECT player FROM hidden_players)",
            above,
            board.key,
            finishes,
            text_of(since) if since else "",
        )
        return int(rows[0]["above"]), int(rows[0]["listed"])

    def standing(self, board: Leaderboard, player: str) -> Standing | None:
        rows = self._rows(
            "SELECT standings.*, players.name AS name,"
            " player IN (SELECT player FROM hidden_players) AS hidden FROM standings"
            " JOIN shown_players AS players ON players.id = player"
            " WHERE leaderboard = ? AND player = ?",
            board.key,
            player,
        )
        return next((standing_of(row) for row in rows), None)

    def rated_rows(self, board: Leaderboard) -> Iterator[RatedRow]:
        """A leaderboard's whole sequence with its changes, in order."""
        waiting = self._stream(
            "SELECT * FROM changes WHERE leaderboard = ? ORDER BY sequence, player", board.key
        )
        change = next(waiting, None)
        for row in self._stream("SELECT * FROM rated WHERE leaderboard = ? ORDER BY sequence", board.key):
            mine = []
            while change is not None and change["sequence"] == row["sequence"]:
                mine.append(change_of(change))
                change = next(waiting, None)
            yield RatedRow(row["sequence"], row["race"], tuple(mine), row["note"])

    def rated_race(self, board: Leaderboard, race: str) -> RatedRow | None:
        """What one race did on a leaderboard, or None if it does not count there."""
        rows = self._rows("SELECT * FROM rated WHERE leaderboard = ? AND race = ?", board.key, race)
        if not rows:
            return None
        changes = self._rows(
            "SELECT * FROM changes WHERE leaderboard = ? AND sequence = ? ORDER BY player",
            board.key,
            rows[0]["sequence"],
        )
        return RatedRow(rows[0]["sequence"], race, tuple(change_of(c) for c in changes), rows[0]["note"])

    def rated_count(self, board: Leaderboard) -> int:
        """How many races count on a leaderboard."""
        rows = self._rows("SELECT count(*) AS n FROM rated WHERE leaderboard = ?", board.key)
        return int(rows[0]["n"])

    def history(self, board: Leaderboard, player: str, limit: int) -> list[tuple[StoredRace, Change]]:
        """A player's last races on a leaderboard with what each did, newest first."""
        rows = self._rows(
            "SELECT changes.*, races.* FROM changes INDEXED BY changes_by_player"
            " JOIN rated USING (leaderboard, sequence) JOIN races ON races.name = rated.race"
            " WHERE changes.leaderboard = ? AND player = ? ORDER BY sequence DESC LIMIT ?",
            board.key,
            player,
            limit,
        )
        return [(race_of(row), change_of(row)) for row in rows]

    def changes_since(self, board: Leaderboard, moment: datetime) -> Iterator[Change]:
        """What races that ended at or after a moment did, in the leaderboard's order."""
        rows = self._rows(
            "SELECT changes.* FROM rated CROSS JOIN races ON races.name = rated.race"
            " CROSS JOIN changes USING (leaderboard, sequence)"
            " WHERE rated.leaderboard = ? AND races.ended_at >= ? ORDER BY sequence, player",
            board.key,
            text_of(moment),
        )
        return (change_of(row) for row in rows)

    def latest_race(self, board: Leaderboard) -> datetime | None:
        """When the last race of a leaderboard ended."""
        rows = self._rows("SELECT max(last_race_at) AS at FROM standings WHERE leaderboard = ?", board.key)
        return moment_of(rows[0]["at"]) if rows[0]["at"] else None

    def meetings(self, board: Leaderboard, player: str, other: str) -> list[tuple[int | None, int | None]]:
        """The places of two players in the races of a leaderboard that both were in, in its order."""
        rows = self._rows(
            "SELECT mine.place AS place, theirs.place AS their_place"
            " FROM changes AS mine INDEXED BY changes_by_player"
            " CROSS JOIN changes AS theirs USING (leaderboard, sequence)"
            " WHERE mine.leaderboard = ? AND mine.player = ? AND theirs.player = ? ORDER BY sequence",
            board.key,
            player,
            other,
        )
        return [(row["place"], row["their_place"]) for row in rows]

    def top(self, board: Leaderboard, *, finishes: int, since: datetime | None, limit: int) -> list[Standing]:
        """The best players with so many finishes who raced since a moment, in the order of `standings`."""
        rows = self._rows(
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
        return [standing_of(row) for row in rows]

    def check(self) -> list[str]:
        """What SQLite finds wrong with the file; empty if nothing."""
        with translated(self.path):
            found = [row[0] for row in self.db.execute("PRAGMA integrity_check").fetchall()]
            broken = self.db.execute("PRAGMA foreign_key_check").fetchall()
        problems = [text for text in found if text != "ok"]
        return problems + [f"a row of {row[0]} refers to a {row[2]} that is not there" for row in broken]

    # Inside

    def _write_rated(self, board: Leaderboard, rated: Iterable[RatedRow]) -> None:
        waiting = iter(rated)
        while rows := list(islice(waiting, _RACES_AT_ONCE)):
            self._write_rows(board, rows)

    def _write_rows(self, board: Leaderboard, rows: Sequence[RatedRow]) -> None:
        self.db.conn.executemany(
            "INSERT INTO rated (leaderboard, sequence, race, note) VALUES (?, ?, ?, ?)",
            [(board.key, row.sequence, row.race, row.note) for row in rows],
        )
        self.db.conn.executemany(
            "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    board.key,
                    row.sequence,
                    change.player,
                    change.place,
                    json.dumps(change.before),
                    json.dumps(change.after),
                    change.points_before,
                    change.points_after,
                    change.races_before,
                    json.dumps(change.parts),
                )
                for row in rows
                for change in row.changes
            ],
        )

    def _write_standings(self, board: Leaderboard, standings: Iterable[Standing]) -> None:
        self.db.conn.executemany(
            "INSERT OR REPLACE INTO standings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    board.key,
                    s.player,
                    json.dumps(s.state),
                    s.rating,
                    s.points,
                    s.races,
                    s.finishes,
                    s.wins,
                    text_of(s.last_race_at),
                )
                for s in standings
            ],
        )

    def _stream(self, sql: str, *values: Any) -> Iterator[dict[str, Any]]:
        with translated(self.path):
            cursor = self.db.execute(sql, values)
            for row in cursor:
                yield _named(cursor, row)

    def _rows(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        with translated(self.path):
            cursor = self.db.execute(sql, values)
            return [_named(cursor, row) for row in cursor.fetchall()]


def _named(cursor: sqlite3.Cursor, row: Sequence[Any]) -> dict[str, Any]:
    return dict(zip((column[0] for column in cursor.description), row, strict=True))
