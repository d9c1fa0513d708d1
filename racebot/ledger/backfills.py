"""Unfinished backfills: the races that they fetched, and the page at which they resume."""

from __future__ import annotations

from datetime import datetime

from racebot.ledger.connection import Table
from racebot.ledger.rows import moment_of
from racebot.races.result import RaceResult


class Backfills(Table):
    """Races that a backfill has fetched but not rated, and the next page to fetch."""

    def next_page(self, category: str, *, not_before: datetime) -> int:
        """Return the page after the last one stored by a backfill begun since `not_before`, or 1."""
        sql = "SELECT next_page FROM backfills WHERE category = ? AND started_at >= ?"
        page = self._connection.value(sql, category, not_before)
        return 1 if page is None else page

    def save_page(self, category: str, page: int, results: list[RaceResult], now: datetime) -> None:
        """Store a page's races, replacing earlier copies. Page 1 starts a new backfill."""
        if page == 1:
            self.clear(category)
        sql = (
            "INSERT INTO backfills (category, next_page, started_at) VALUES (?, ?, ?)"
            " ON CONFLICT (category) DO UPDATE SET next_page = excluded.next_page"
        )
        self._connection.write(sql, category, page + 1, now)
        self.add(category, results)

    def add(self, category: str, results: list[RaceResult]) -> None:
        """Store races that were read one by one, replacing earlier copies."""
        fetched = [{"race": r.name, "category": category, "result": r.to_json()} for r in results]
        self._connection.save("fetched", "race", fetched)

    def results(self, category: str) -> list[RaceResult]:
        """Return all races stored so far."""
        rows = self._connection.rows("SELECT result FROM fetched WHERE category = ?", category)
        return [RaceResult.from_json(row["result"]) for row in rows]

    def count(self, category: str) -> int:
        """Return the number of races stored so far."""
        return int(self._connection.value("SELECT count(*) FROM fetched WHERE category = ?", category))

    def under_way(self) -> list[tuple[str, int]]:
        """Return the categories with an unfinished backfill, each with its next page."""
        rows = self._connection.rows("SELECT category, next_page FROM backfills ORDER BY category")
        return [(row["category"], row["next_page"]) for row in rows]

    def abandoned(self, before: datetime) -> list[str]:
        """Return the categories with an unfinished backfill begun before a given time."""
        sql = "SELECT category FROM backfills WHERE started_at < ?"
        return [row["category"] for row in self._connection.rows(sql, before)]

    def clear(self, category: str) -> None:
        """Delete a category's backfill with all races it fetched."""
        self._connection.write("DELETE FROM backfills WHERE category = ?", category)
        self._connection.write("DELETE FROM fetched WHERE category = ?", category)

    def fully_read_at(self, category: str, now: datetime) -> datetime:
        """Return when the whole list of past races was last read. Store `now` the first time."""
        sql = "INSERT OR IGNORE INTO full_reads (category, read_at) VALUES (?, ?)"
        self._connection.write(sql, category, now)
        sql = "SELECT read_at FROM full_reads WHERE category = ?"
        return moment_of(self._connection.value(sql, category))

    def note_full_read(self, category: str, now: datetime) -> None:
        """Store that the whole list of past races was read."""
        self._connection.save("full_reads", "category", [{"category": category, "read_at": now}])
