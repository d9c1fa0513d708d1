"""Races that the bot follows: one row for each, with what must outlive the process."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import AwareDatetime

from racebot.ledger.connection import LedgerTable
from racebot.ledger.rows import read


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One race that the bot follows. Times are by the site's clock.

    Attributes:
        next_look: when to poll it next, until it is recorded; None if it is watched only, or settled.
        misses: how many times in a row the site did not find it.
        over: whether it was cancelled or set to "do not record", which an edit can undo.
        quiet: whether a moderator asked for quiet in its room.
        ordered_at: when a moderator last ordered quiet or its end; None before.
        unrecorded_since: since when the site shows the settled race without its record.
        standing: the fingerprint of the result that counts without a record, once it has stood long enough.
        stands_since: since when it stands.
    """

    race: str
    category: str
    ended_at: AwareDatetime | None = None
    next_look: AwareDatetime | None = None
    misses: int = 0
    over: bool = False
    quiet: bool = False
    ordered_at: AwareDatetime | None = None
    unrecorded_since: AwareDatetime | None = None
    standing: str | None = None
    stands_since: AwareDatetime | None = None


class Cases(LedgerTable):
    """The races that the bot follows."""

    def get(self, race: str) -> CaseRow | None:
        return next(iter(self._select("race = ?", race)), None)

    def polled(self, category: str) -> list[CaseRow]:
        """Return a category's ended races that are polled until they are recorded, oldest first."""
        return self._select("category = ? AND next_look NOT NULL ORDER BY ended_at", category)

    def due(self, category: str, now: datetime) -> list[CaseRow]:
        """Return a category's races whose next look is due."""
        return self._select("category = ? AND next_look <= ? ORDER BY next_look", category, now)

    def unfinished(self, category: str) -> list[CaseRow]:
        """Return a category's races that the bot watched and that have not ended."""
        return self._select("category = ? AND ended_at IS NULL", category)

    def standing(self, category: str, grace: timedelta) -> dict[str, datetime]:
        """Return when each race of a category counts whose result has to stand for `grace`, in order."""
        where = "NOT over AND category = ? AND race NOT IN (SELECT name FROM races) AND stands_since NOT NULL"
        found = self._select(f"{where} ORDER BY stands_since", category)
        return {row.race: row.stands_since + grace for row in found if row.stands_since}

    def save(self, row: CaseRow) -> None:
        """Add or replace a race's row."""
        self._connection.save("cases", "race", [asdict(row)])

    def remove(self, race: str) -> None:
        self._connection.write("DELETE FROM cases WHERE race = ?", race)

    def _select(self, where: str, *values: Any) -> list[CaseRow]:
        sql = f"SELECT * FROM cases WHERE {where}"  # noqa: S608 - `where` is ours
        return read(CaseRow, self._connection.rows(sql, *values))
