"""Rated races: each leaderboard's sequence of races, their changes, and the resulting standings."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter

from pydantic_core import to_json

from racebot.ledger.connection import LedgerTable
from racebot.ledger.races import EXCLUDED, SKIPPED
from racebot.ledger.rows import (
    RATED_LATER,
    START,
    Change,
    Leaderboard,
    Position,
    RatedRow,
    Standing,
    State,
    as_int,
    as_text,
    changes_of,
    moment_of,
    position_of,
    read,
    standings_of,
    states_of,
)
from racebot.text.format import exact_time

LAST = 2**63 - 1  # no sequence number is larger


class Ratings(LedgerTable):
    def sequence_at(self, board: Leaderboard, position: Position) -> tuple[int, Position]:
        """Return the number in a leaderboard's sequence for a race at a position.

        It is one more than the number of the last rated race before, whose position is returned, too:
        `START` if there is none.
        """
        sql = (
            "SELECT sequence, race, counted_at FROM rated JOIN races ON races.name = race"
            " WHERE leaderboard = ? AND (counted_at, race) < (?, ?) ORDER BY sequence DESC LIMIT 1"
        )
        row = self._connection.row(sql, board.key, *position.columns)
        if row is None:
            return 1, START
        return as_int(row["sequence"]) + 1, position_of(row["counted_at"], row["race"])

    def sequence_until(self, board: Leaderboard, moment: datetime) -> int:
        """Return the number of the last rated race that counted by a given time; 0 if none did."""
        sql = (
            "SELECT sequence FROM races INDEXED BY races_by_category"
            " CROSS JOIN rated ON leaderboard = ? AND race = races.name"
            " WHERE category = ? AND counted_at <= ? ORDER BY counted_at DESC, races.name DESC LIMIT 1"
        )
        return self._connection.value(sql, board.key, board.category, exact_time(moment)) or 0

    def count(self, board: Leaderboard) -> int:
        """Return the last number of a leaderboard's sequence, in which races without effect have one, too."""
        return as_int(self._connection.value("SELECT count(*) FROM rated WHERE leaderboard = ?", board.key))

    def counting(self, board: Leaderboard, until: int = LAST) -> int:
        """Return how many races up to a number count: those that no order keeps from it."""
        sql = (
            "SELECT count(*) FROM rated WHERE leaderboard = ? AND sequence <= ?"
            " AND coalesce(note, '') NOT IN (?, ?)"
        )
        return as_int(self._connection.value(sql, board.key, until, EXCLUDED, SKIPPED))

    def races(self, board: Leaderboard) -> list[str]:
        """Return the names of a leaderboard's rated races, in order."""
        sql = "SELECT race FROM rated WHERE leaderboard = ? ORDER BY sequence"
        return [as_text(row["race"]) for row in self._connection.rows(sql, board.key)]

    def racers(self, board: Leaderboard, first: int, last: int = LAST) -> set[str]:
        """Return the players whose ratings changed between two numbers of a leaderboard's sequence."""
        # By sequence: the index by player would be read as a whole.
        sql = "SELECT DISTINCT +player FROM changes WHERE leaderboard = ? AND sequence BETWEEN ? AND ?"
        return {row[0] for row in self._connection.rows(sql, board.key, first, last)}

    def get(self, board: Leaderboard, race: str) -> RatedRow | None:
        """Return a race with its changes on a leaderboard, or None if it does not count there."""
        sql = "SELECT sequence FROM rated WHERE leaderboard = ? AND race = ?"
        sequence = self._connection.value(sql, board.key, race)
        return None if sequence is None else self.rows(board, sequence, sequence)[0]

    def of_race(self, race: str) -> list[tuple[Leaderboard, RatedRow]]:
        """Return the leaderboards that rated a race, by category and name, each with its changes."""
        sql = (
            "SELECT leaderboards.* FROM leaderboards CROSS JOIN rated ON leaderboard = id AND race = ?"
            " ORDER BY category, name"
        )
        boards = read(Leaderboard, self._connection.rows(sql, race))
        return [(board, row) for board in boards if (row := self.get(board, race))]

    def holds(self, board: Leaderboard, row: RatedRow) -> bool:
        """Return whether a rated race is stored exactly so. Much faster than reading its changes."""
        sql = (
            "SELECT race, note, changes.* FROM rated LEFT JOIN changes USING (leaderboard, sequence)"
            " WHERE rated.leaderboard = ? AND rated.sequence = ? ORDER BY player"
        )
        rows = self._connection.rows(sql, board.key, row.sequence)
        changes = [each[4:] for each in rows if each["player"] is not None]
        stored, replayed = (list(zip(*each, strict=True)) for each in (changes, row.changes))
        for at in (2, 3, 7) if stored and replayed else ():  # states and parts, each column in one text
            stored[at] = (f"[{','.join(map(str, stored[at]))}]",)
            replayed[at] = (to_json(replayed[at]).decode(),)
        return {each[:2] for each in rows} == {(row.race, row.note)} and stored == replayed

    def has(self, board: Leaderboard, race: str) -> bool:
        """Return whether a race counts on a leaderboard."""
        sql = "SELECT 1 FROM rated WHERE leaderboard = ? AND race = ?"
        return bool(self._connection.value(sql, board.key, race))

    def rows(self, board: Leaderboard, first: int = 0, last: int = LAST) -> list[RatedRow]:
        """Return the races of a leaderboard's sequence with their changes, in order, between two numbers."""
        query = "SELECT * FROM {} WHERE leaderboard = ? AND sequence BETWEEN ? AND ? ORDER BY sequence"
        changes: dict[int, list[sqlite3.Row]] = defaultdict(list)
        for row in self._connection.rows(f"{query.format('changes')}, player", board.key, first, last):
            changes[row["sequence"]].append(row)
        rated = []
        for row in self._connection.rows(query.format("rated"), board.key, first, last):
            shown = [] if row["note"] == RATED_LATER else changes[row["sequence"]]
            race = as_int(row["sequence"]), as_text(row["race"])
            rated.append(RatedRow(*race, tuple(changes_of(shown)), row["note"]))
        return rated

    def before(self, board: Leaderboard) -> Iterator[tuple[list[int | None], list[State]]]:
        """Yield the entrants' places and states before each race that changed ratings, the best first."""
        sql = (
            "SELECT sequence, place, state_before FROM changes WHERE leaderboard = ?"
            " ORDER BY sequence, place IS NULL, place, player"
        )
        for _, rows in groupby(self._connection.stream(sql, board.key), itemgetter(0)):
            _, places, states = zip(*rows, strict=True)
            yield list(places), states_of(states)

    def truncate(self, board: Leaderboard, sequence: int) -> None:
        """Delete a leaderboard's rated races from a sequence number on. Leaves the standings unchanged."""
        with self._connection.transaction():
            for table in ("changes", "rated", "rated_on"):
                sql = f"DELETE FROM {table} WHERE leaderboard = ? AND sequence >= ?"  # noqa: S608 - ours
                self._connection.write(sql, board.key, sequence)
            self._mark_updated(board)

    def _mark_updated(self, board: Leaderboard) -> None:
        """Store that a leaderboard's rated races are written now."""
        self._connection.ratings_written += 1
        sql = "UPDATE leaderboards SET updated_at = strftime('%Y-%m-%dT%H:%M:%S+00:00', 'now') WHERE id = ?"
        self._connection.write(sql, board.key)

    def updated_at(self, board: Leaderboard) -> datetime | None:
        """Return when a leaderboard's rated races were last written; None if that is unknown."""
        moment = self._connection.value("SELECT updated_at FROM leaderboards WHERE id = ?", board.key)
        return None if moment is None else moment_of(moment)

    def rate_later(self, board: Leaderboard, races: Iterable[str]) -> None:
        """Note that races wait for a leaderboard's rebuild. Their changes are kept, but no longer shown."""
        with self._connection.transaction():
            sql = "UPDATE rated SET note = ? WHERE leaderboard = ? AND race = ?"
            self._connection.write_many(sql, [(RATED_LATER, board.key, race) for race in races])
            self._mark_updated(board)

    def platforms(self, board: Leaderboard) -> list[str]:
        """Return the platforms that rated a leaderboard's races, in order.

        An empty string stands for races rated before racebot stored the platform.
        """
        sql = "SELECT * FROM rated_on WHERE leaderboard = ? ORDER BY sequence"
        rows = self._connection.rows(sql, board.key)
        unknown = [] if rows and rows[0]["sequence"] == 1 else [""]
        return [*unknown, *(as_text(row["platform"]) for row in rows)]

    def append(self, board: Leaderboard, rated: Sequence[RatedRow], platform: str) -> None:
        """Append rated races to a leaderboard's sequence, with the platform that rated them."""
        with self._connection.transaction():
            self._mark_updated(board)
            if rated and self.platforms(board)[-1:] != [platform]:
                row = {"leaderboard": board.key, "sequence": rated[0].sequence, "platform": platform}
                self._connection.save("rated_on", "leaderboard, sequence", [row])
            sql = "INSERT INTO rated (leaderboard, sequence, race, note) VALUES (?, ?, ?, ?)"
            self._connection.write_many(sql, [(board.key, row.sequence, row.race, row.note) for row in rated])
            self._connection.write_many(
                "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                ((board.key, row.sequence, *_columns_of(change)) for row in rated for change in row.changes),
            )


def _columns_of(change: Change) -> tuple[object, ...]:
    """Return the columns of a change, after its leaderboard and sequence number."""
    states = to_json(change.before).decode(), to_json(change.after).decode()  # much faster than `json.dumps`
    points, parts = (change.points_before, change.points_after), to_json(change.parts).decode()
    return change.player, change.place, *states, *points, change.races_before, parts


_COLUMNS = "player, state, rating, points, races, finishes, wins, last_race_at"
_HIDDEN = "player IN (SELECT player FROM hidden_players)"
_STANDINGS = (
    f"SELECT {_COLUMNS}, players.name, {_HIDDEN}"  # noqa: S608 - ours
    " FROM standings JOIN shown_players AS players ON players.id = player WHERE leaderboard = ?"
)
"""Reads the standings of a leaderboard with the players' names."""


class Standings(LedgerTable):
    def all(self, board: Leaderboard) -> list[Standing]:
        """Return all standings with names, best first, then by name."""
        order = "ORDER BY rating DESC, players.name COLLATE NOCASE, player"
        return standings_of(self._connection.rows(f"{_STANDINGS} {order}", board.key))

    def now(self, board: Leaderboard) -> dict[str, Standing]:
        """Return everybody's standing by player, without names, which take longest to read."""
        sql = f"SELECT {_COLUMNS}, '', {_HIDDEN} FROM standings WHERE leaderboard = ?"  # noqa: S608
        return {each.player: each for each in standings_of(self._connection.rows(sql, board.id))}

    def get(self, board: Leaderboard, player: str) -> Standing | None:
        """Return a player's standing; None without one, or if the leaderboard is not stored."""
        return next(iter(self.of(board, [player])), None)

    def of(self, board: Leaderboard, players: Iterable[str]) -> list[Standing]:
        """Return the standings that these players have; none if the leaderboard is not stored."""
        sql = f"{_STANDINGS} AND player IN (SELECT value FROM json_each(?))"  # noqa: S608
        return standings_of(self._connection.rows(sql, board.id, json.dumps(list(players))))

    def latest_race(self, board: Leaderboard) -> datetime | None:
        """Return when the last race of a leaderboard ended, None if there is none."""
        at = self._connection.value("SELECT max(last_race_at) FROM standings WHERE leaderboard = ?", board.id)
        return moment_of(at) if at else None

    def before(
        self,
        board: Leaderboard,
        sequence: int,
        rate: Callable[[list[State]], list[float]],
        players: Iterable[str] | None = None,
    ) -> list[Standing]:
        """Return everybody's standing before a sequence number, or these players', if they had raced.

        `rate` computes ratings, which changes do not hold. A race that is deleted and waits to be rated again
        has no time: if it was the only one, the last race was long ago.
        """
        chosen = "" if players is None else " AND player IN (SELECT value FROM json_each(?5))"
        # A race counts from its end, unless it was recorded late or has a date in the future. Only then may
        # an earlier one end later.
        sql = (
            "SELECT player, state_after, 0.0, points_after, races_before + 1, finished, won, coalesce("  # noqa: S608
            "  CASE WHEN ended_at >= counted_at AND NOT EXISTS ("
            "   SELECT 1 FROM races WHERE +category = ?3 AND ended_at > counted_at) THEN ended_at"
            "  ELSE (SELECT max(ended_at) FROM changes AS earlier INDEXED BY changes_by_player"
            "   CROSS JOIN rated USING (leaderboard, sequence) CROSS JOIN races ON races.name = rated.race"
            "   WHERE leaderboard = ?1 AND earlier.player = last.player AND sequence < ?2) END, ?4),"
            f" '', {_HIDDEN} FROM (SELECT ?1 AS leaderboard, player, max(sequence) AS sequence,"
            "  count(place) AS finished, count(*) FILTER (WHERE place = 1) AS won"
            "  FROM changes INDEXED BY changes_by_player"
            f"  WHERE leaderboard = ?1 AND sequence < ?2{chosen} GROUP BY player) AS last"
            " CROSS JOIN changes USING (leaderboard, sequence, player)"
            " CROSS JOIN rated USING (leaderboard, sequence) LEFT JOIN races ON races.name = race"
        )
        values = [board.key, sequence, board.category, START.counted_at]
        values += [] if players is None else [json.dumps(list(players))]
        return standings_of(self._connection.rows(sql, *values), rate)

    def replace(self, board: Leaderboard, standings: Sequence[Standing], *, every: bool = False) -> None:
        """Replace these players' standings, or everybody's. A player without races loses the standing."""
        self._connection.ratings_written += 1
        with self._connection.transaction():
            if every:
                self._connection.write("DELETE FROM standings WHERE leaderboard = ?", board.key)
            sql = "DELETE FROM standings WHERE leaderboard = ? AND player = ?"
            self._connection.write_many(sql, [(board.key, s.player) for s in standings if not s.races])
            of_board = {"leaderboard": board.key}
            rows = [s._asdict() | {"state": json.dumps(s.state)} | of_board for s in standings if s.races]
            for row in rows:
                del row["name"], row["hidden"]
            self._connection.save("standings", "leaderboard, player", rows)
