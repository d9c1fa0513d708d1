"""Shadow leaderboards: hidden copies that are rated beside the live leaderboard, and then take its place.

A shadow is written in many small transactions, which delay nobody. Taking over changes two rows, however
large the leaderboard is. The old rows stay as a leftover until `sweep` deletes them, again in small pieces.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from uuid import uuid4

from racebot.ledger.ratings import Ratings
from racebot.ledger.rows import Leaderboard, as_int, as_text, carry_text

PIECE = 100
"""Number of races copied or deleted in one transaction: some tens of milliseconds."""
STANDINGS_PIECE = 1000
"""Number of standings copied or deleted in one transaction."""

Pause = Callable[[], None]
"""Called between pieces of background work, to let other work go first."""

_RATED = "sequence, race, note"
_CHANGES = (
    "sequence, player, place, state_before, state_after, points_before, points_after, races_before, parts"
)
_STANDINGS = "player, state, rating, points, races, finishes, wins, last_race_at"


@dataclass(frozen=True, slots=True)
class RebuildProgress:
    """A leaderboard that is being rebuilt, and the number of its races that are rated again."""

    category: str
    leaderboard: str
    races: int


class Shadows(Ratings):
    """Reads and writes leaderboards that are not live."""

    def add_shadow(self, board: Leaderboard) -> Leaderboard:
        """Store an empty shadow of a leaderboard."""
        shadow = replace(board, name=uuid4().hex)
        with self.transaction(lasting=False):
            self.write(
                "INSERT INTO leaderboards (category, name, goals, model, parameters, teams, carry, shadow_of)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                shadow.category,
                shadow.name,
                json.dumps(list(shadow.goals)),
                shadow.model,
                json.dumps(dict(shadow.parameters), sort_keys=True),
                shadow.teams,
                carry_text(shadow.carry),
                board.name,
            )
            key = self.value("SELECT id FROM leaderboards WHERE name = ?", shadow.name)
        return replace(shadow, id=as_int(key))

    def copy_to_shadow(self, board: Leaderboard, shadow: Leaderboard, until: int, pause: Pause) -> None:
        """Copy a leaderboard's races before a sequence number, and all of its standings, into a shadow."""
        for first in range(1, until, PIECE):
            with self.transaction(lasting=False):
                for table, columns in (("rated", _RATED), ("changes", _CHANGES)):
                    self.write(
                        f"INSERT INTO {table} SELECT ?, {columns} FROM {table}"  # noqa: S608 - ours
                        " WHERE leaderboard = ? AND sequence >= ? AND sequence < ?",
                        shadow.key,
                        board.key,
                        first,
                        min(first + PIECE, until),
                    )
            pause()
        with self.transaction(lasting=False):
            self.write(
                "INSERT INTO rated_on SELECT ?, sequence, platform FROM rated_on"
                " WHERE leaderboard = ? AND sequence < ?",
                shadow.key,
                board.key,
                until,
            )
        last: str | None = ""
        while last is not None:
            with self.transaction(lasting=False):
                following = self.value(
                    "SELECT max(player) FROM (SELECT player FROM standings"
                    " WHERE leaderboard = ? AND player > ? ORDER BY player LIMIT ?)",
                    board.key,
                    last,
                    STANDINGS_PIECE,
                )
                if following is not None:
                    self.write(
                        f"INSERT INTO standings SELECT ?, {_STANDINGS} FROM standings"  # noqa: S608 - ours
                        " WHERE leaderboard = ? AND player > ? AND player <= ?",
                        shadow.key,
                        board.key,
                        last,
                        following,
                    )
            last = following
            pause()

    def take_over(self, board: Leaderboard, shadow: Leaderboard) -> Leaderboard:
        """Put a shadow in a leaderboard's place, and return it. The old rows become a leftover.

        Args:
            board: the live leaderboard, with the settings that the shadow was rated with.
        """
        with self.transaction():
            self.mark_updated(shadow)
            number = self.value("SELECT coalesce(number, id) FROM leaderboards WHERE id = ?", board.key)
            self.write(
                "UPDATE leaderboards SET name = ?, shadow_of = '' WHERE id = ?", uuid4().hex, board.key
            )
            self.write(
                "UPDATE leaderboards SET name = ?, number = ?, shadow_of = NULL WHERE id = ?",
                board.name,
                number,
                shadow.key,
            )
            for race in self.races_written:
                # A leftover must not refer to a race that this transaction deletes.
                self.write(
                    "DELETE FROM rated WHERE leaderboard = ?1 AND race = ?2"
                    " AND NOT EXISTS (SELECT 1 FROM races WHERE name = ?2)",
                    board.key,
                    race,
                )
        return replace(board, id=shadow.key)

    def rebuilds(self) -> list[RebuildProgress]:
        """Return the leaderboards that are being rebuilt."""
        rows = self.rows(
            "SELECT category, shadow_of,"
            " (SELECT coalesce(max(sequence), 0) FROM rated WHERE leaderboard = id) AS races"
            " FROM leaderboards WHERE shadow_of <> '' ORDER BY category, shadow_of"
        )
        return [
            RebuildProgress(as_text(row["category"]), as_text(row["shadow_of"]), as_int(row["races"]))
            for row in rows
        ]

    def leftovers(self) -> list[int]:
        """Return the ids of leaderboards that are not live. Only a rebuild under way needs one of them."""
        return [
            as_int(row["id"]) for row in self.rows("SELECT id FROM leaderboards WHERE shadow_of NOT NULL")
        ]

    def sweep(self, leftover: int, pause: Pause) -> None:
        """Delete a leaderboard that is not live, in small transactions."""
        for table, key, size in (
            ("changes", "sequence", 20 * PIECE),
            ("rated", "sequence", 20 * PIECE),
            ("standings", "player", STANDINGS_PIECE),
            ("carried", "player", STANDINGS_PIECE),
            ("rated_on", "sequence", STANDINGS_PIECE),
        ):
            deleted = -1
            while deleted:
                with self.transaction(lasting=False):
                    deleted = self.write(
                        f"DELETE FROM {table} WHERE leaderboard = ?1 AND {key} <= (SELECT max({key}) FROM"  # noqa: S608
                        f" (SELECT {key} FROM {table} WHERE leaderboard = ?1 ORDER BY {key} LIMIT ?2))",
                        leftover,
                        size,
                    )
                pause()
        self.write("DELETE FROM leaderboards WHERE id = ?", leftover)
