"""Stored races, in the order in which they count, and when all races of a category were last read."""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from racebot.errors import NoSuchEntryError
from racebot.ledger.connection import LedgerTable
from racebot.ledger.players import Players
from racebot.ledger.rows import (
    START,
    Leaderboard,
    Position,
    StoredRace,
    as_int,
    as_text,
    moment_of,
    position_of,
    race_of,
)
from racebot.ledger.schema import TIMES_OF_RACES
from racebot.races.result import RaceResult
from racebot.races.rooms import BY_GOALS

EXCLUDED = "excluded by the operator"
SKIPPED = "skipped by a moderator"
"""The notes of races that an order keeps from changing ratings."""


class Races(LedgerTable):
    """Reads and writes recorded races and the names of their goals."""

    def get(self, name: str) -> StoredRace | None:
        """Return the recorded race with a name (`category/slug`), or None."""
        row = self._connection.row("SELECT * FROM races WHERE name = ?", name)
        return None if row is None else race_of(row)

    def has(self, name: str) -> bool:
        """Return whether a race is recorded, without reading its result."""
        return self.position(name) is not None

    def find(self, name: str) -> StoredRace:
        """Return the one recorded race with a name, or with a slug alone, or raise `NoSuchEntryError`."""
        names = [name] if "/" in name else self.called(name)
        stored = [race for each in names if (race := self.get(each))]
        if len(stored) == 1:
            return stored[0]
        if stored:
            raise NoSuchEntryError(f"{name!r} could be any of: {', '.join(names)}")
        for each in names:
            if self._connection.value("SELECT 1 FROM cases WHERE race = ?", each):
                raise NoSuchEntryError(f"{each} does not count yet: it is not recorded, or has to stand")
        raise NoSuchEntryError(f"no recorded race {name!r} in the ledger")

    def called(self, slug: str) -> list[str]:
        """Return the names of the races and rooms with a slug, also of those that do not count."""
        sql = (
            "SELECT name FROM (SELECT name FROM races UNION SELECT race FROM cases"
            " UNION SELECT name FROM event_sources WHERE kind = 'room')"
            " WHERE substr(name, instr(name, '/') + 1) = ? ORDER BY name"
        )
        return [row[0] for row in self._connection.rows(sql, slug)]

    def position(self, name: str) -> Position | None:
        """Return a stored race's position, without reading its result."""
        moment = self._connection.value("SELECT counted_at FROM races WHERE name = ?", name)
        return None if moment is None else position_of(moment, name)

    def of(self, board: Leaderboard, after: Position = START, *, limit: int = -1) -> Iterator[StoredRace]:
        """Yield the races of a leaderboard after a position, in the order in which they count.

        A race that an order keeps from counting has a note; `counted` leaves it out. At most `limit` races;
        -1 means no limit.
        """
        by_goals = board.rule == BY_GOALS  # SQL cannot tell races that another rule chooses
        chosen, values = _after(board, after)
        sql = f"SELECT *, {_note(board)} AS note {chosen} ORDER BY counted_at, name LIMIT ?"
        rows = self._connection.stream(sql, *values, limit if by_goals else -1)
        found = (race_of(row, row["note"]) for row in rows)
        if by_goals:
            return found
        return islice((each for each in found if board.holds(each.result)), None if limit < 0 else limit)

    def counted(self, board: Leaderboard) -> Iterator[StoredRace]:
        """Yield the races that count on a leaderboard now, in the order in which they count.

        Operators' orders are applied: accounts are merged, events count as one race, and races that are
        excluded or skipped are left out.
        """
        return (stored for stored in self.of(board) if stored.note is None)

    def note(self, board: Leaderboard, name: str) -> str | None:
        """Return the note of a race, stored or not, that an order keeps from counting on a leaderboard."""
        sql = f"SELECT {_note(board)} FROM (SELECT ? AS name) AS races"  # noqa: S608 - ours
        note: str | None = self._connection.value(sql, name)
        return note

    def count(self, board: Leaderboard, after: Position = START, *, counted: bool = False) -> int:
        """Count the races of a leaderboard after a position, or only those that `counted` yields."""
        if board.rule != BY_GOALS:
            return sum(each.note is None or not counted for each in self.of(board, after))
        rows, values = _after(board, after)
        condition = f"AND {_note(board)} IS NULL" if counted else ""
        return as_int(self._connection.value(f"SELECT count(*) {rows} {condition}", *values))

    def first_position(self, board: Leaderboard) -> Position | None:
        """Return the position of the first race that counts on a leaderboard, None if none does."""
        return self._position(board, f"AND {_note(board)} IS NULL ORDER BY counted_at, name")

    def last_position(self, board: Leaderboard) -> Position | None:
        """Return the position of a leaderboard's last stored race, rated or not; None if it has no race."""
        return self._position(board, "ORDER BY counted_at DESC, name DESC")

    def _position(self, board: Leaderboard, order: str) -> Position | None:
        """Return the position of the first of a leaderboard's races in an order. Reads few results."""
        rows, values = _after(board)
        for row in self._connection.stream(f"SELECT * {rows} {order}", *values):
            if board.rule == BY_GOALS or board.holds(race_of(row).result):
                return position_of(row["counted_at"], row["name"])
        return None

    def goals(self) -> list[tuple[str, str]]:
        rows = self._connection.rows(
            "SELECT DISTINCT category, goal FROM races WHERE recorded AND counts_on = ''"
            " ORDER BY category, goal"
        )
        return [(as_text(row["category"]), as_text(row["goal"])) for row in rows]

    def categories(self) -> list[tuple[str, str]]:
        """Return the categories of races, each with '' and with the leaderboards that its events name."""
        rows = self._connection.rows(
            "SELECT DISTINCT category, '' FROM races"
            " UNION SELECT category, counts_on FROM races WHERE counts_on <> ''"
        )
        return [(as_text(row[0]), as_text(row[1])) for row in rows]

    def state(self, name: str) -> tuple[str, bool] | None:
        """Return a stored race's fingerprint, and whether it is recorded; None if it is not stored."""
        row = self._connection.row("SELECT fingerprint, recorded FROM races WHERE name = ?", name)
        return None if row is None else (as_text(row["fingerprint"]), bool(row["recorded"]))

    def renamed_goals(self) -> dict[str, dict[str, str]]:
        """Return, by category, the earlier names of its goals with their current names."""
        renamed: dict[str, dict[str, str]] = {}
        for row in self._connection.rows("SELECT category, earlier, goal FROM renamed_goals"):
            renamed.setdefault(as_text(row["category"]), {})[as_text(row["earlier"])] = as_text(row["goal"])
        return renamed

    def goal_of(self, name: str) -> str | None:
        goal = self._connection.value("SELECT goal FROM races WHERE name = ?", name)
        return None if goal is None else as_text(goal)

    def rename_goal(self, category: str, earlier: str, goal: str) -> None:
        """Rename a goal in all of its races, and remember the earlier name."""
        with self._connection.transaction():
            for table, own in (
                ("races", " AND NOT iif(json_valid(result), json_extract(result, '$.custom_goal'), 0)"),
                ("renamed_goals", ""),
            ):
                sql = f"UPDATE {table} SET goal = ? WHERE category = ? AND goal = ?{own}"  # noqa: S608 - ours
                self._connection.write(sql, goal, category, earlier)
            self.forget_rename(category, goal)
            row = {"category": category, "earlier": earlier, "goal": goal}
            self._connection.save("renamed_goals", "category, earlier", [row])

    def forget_rename(self, category: str, earlier: str) -> None:
        """Forget that a goal had an earlier name, which is a goal's current one now."""
        sql = "DELETE FROM renamed_goals WHERE category = ? AND earlier = ?"
        self._connection.write(sql, category, earlier)

    def save(
        self, result: RaceResult, *, counted_at: datetime, source: str, now: datetime | None = None
    ) -> None:
        """Store a recorded race. If it is stored already, replace its result, but not its position or source.

        `now` is when a stored race is corrected, if its result differs; None if the time is unknown.
        """
        sql = (
            "INSERT INTO races (name, category, goal, ended_at, counted_at, source, result, fingerprint,"
            " recorded, counts_on) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name)"
            " DO UPDATE SET goal = excluded.goal, ended_at = excluded.ended_at, result = excluded.result,"
            " fingerprint = excluded.fingerprint, recorded = excluded.recorded,"
            " corrected_at = coalesce(iif(fingerprint != excluded.fingerprint, ?, NULL), corrected_at)"
        )
        race = result.name, result.category, result.goal, result.ended_at, counted_at, source
        facts = result.to_json(), result.fingerprint(), result.recorded, result.leaderboard or ""
        with self._connection.transaction():
            self._connection.races_written.add(result.name)
            self._connection.write(sql, *race, *facts, now)
            self._connection.write(f"{TIMES_OF_RACES} AND name = ?", result.name)
            Players(self._connection).save(result, current=source != "import")

    def remove(self, name: str) -> None:
        """Delete a race. In the same transaction, the caller must rate its leaderboards again."""
        self._connection.races_written.add(name)
        self._connection.write("DELETE FROM races WHERE name = ?", name)


class FullReads(LedgerTable):
    """When the whole list of past races of each category was last read."""

    def last(self, category: str, now: datetime) -> datetime:
        """Return when the list was last read. Store `now` the first time."""
        sql = "INSERT OR IGNORE INTO full_reads (category, read_at) VALUES (?, ?)"
        self._connection.write(sql, category, now)
        sql = "SELECT read_at FROM full_reads WHERE category = ?"
        return moment_of(self._connection.value(sql, category))

    def note(self, category: str, now: datetime) -> None:
        self._connection.save("full_reads", "category", [{"category": category, "read_at": now}])


def _note(board: Leaderboard) -> str:
    """Return an expression for the order that keeps a row of `races` from counting, as a note or NULL.

    Where a race needs a record, moderators skip it by not recording it.
    """
    kinds = "('exclude', 'skip')" if board.rule.finished else "('exclude')"
    return (
        f"(SELECT CASE kind WHEN 'exclude' THEN '{EXCLUDED}' ELSE '{SKIPPED}' END FROM excluded_races"  # noqa: S608
        f" WHERE race = races.name AND kind IN {kinds} ORDER BY kind LIMIT 1)"
    )


def _after(board: Leaderboard, after: Position = START) -> tuple[str, tuple[str, ...]]:
    """Return the end of a query for a leaderboard's races after a position, and its values."""
    races, chosen = "races", list[str]()
    if board.goals and board.rule.by_goals_alone:
        goals = f"goal IN ({', '.join('?' for _ in board.goals)})"
        races = (  # SQLite merges the two, each in the order of an index
            f"(SELECT * FROM races WHERE counts_on = '' AND {goals} UNION ALL"  # noqa: S608 - ours
            " SELECT * FROM races WHERE counts_on <> '' AND counts_on = ?) AS races"
        )
        chosen = [*board.goals, board.name]
    chooses = "category = ?" if board.rule.finished else "recorded AND category = ?"
    sql = f"FROM {races} WHERE {chooses} AND counted_at >= ? AND (counted_at, name) > (?, ?)"
    return sql, (*chosen, board.category, after.columns[0], *after.columns)
