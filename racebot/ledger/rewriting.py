"""Replaces rated races of a leaderboard by newly rated ones, and writes only the rows that differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from racebot.ledger.connection import Interrupted, never
from racebot.ledger.ratings import Ratings, change_values
from racebot.ledger.rows import Leaderboard, RatedRow

Values = tuple[Any, ...]


@dataclass(slots=True)
class Difference:
    """The writes that turn stored rows of a leaderboard into newly rated ones.

    Attributes:
        first: sequence number of the first newly rated race.
        notes: races with another note, as values of an UPDATE.
        cleared: races with other entrants or places, whose changes are deleted first.
        updated: changes that differ, as values of an UPDATE.
        inserted: changes to insert.
        appended: races to append, after deleting all stored ones from the first of them on.
        players: the players whose changes differ.
    """

    first: int
    notes: list[Values] = field(default_factory=list)
    cleared: list[Values] = field(default_factory=list)
    updated: list[Values] = field(default_factory=list)
    inserted: list[Values] = field(default_factory=list)
    appended: list[RatedRow] = field(default_factory=list)
    players: set[str] = field(default_factory=set)


class Rewriting(Ratings):
    """Compares newly rated races with the stored ones, and writes the difference."""

    def difference(self, board: Leaderboard, rated: Sequence[RatedRow]) -> Difference:
        """Compare newly rated races with the stored ones.

        Args:
            rated: the races, with consecutive sequence numbers.
        """
        found = Difference(rated[0].sequence)
        between = board.key, rated[0].sequence, rated[-1].sequence
        stored = {
            row["sequence"]: (row["race"], row["note"])
            for row in self.rows(
                "SELECT sequence, race, note FROM rated WHERE leaderboard = ? AND sequence BETWEEN ? AND ?",
                *between,
            )
        }
        changes: dict[int, dict[str, Values]] = {}
        for sequence, player, *values in self.rows(
            "SELECT sequence, player, place, state_before, state_after, points_before, points_after,"
            " races_before, parts FROM changes WHERE leaderboard = ? AND sequence BETWEEN ? AND ?",
            *between,
        ):
            changes.setdefault(sequence, {})[player] = tuple(values)
        for index, row in enumerate(rated):
            race, note = stored.get(row.sequence, (None, None))
            if race != row.race:
                found.appended = list(rated[index:])
                break
            if note != row.note:
                found.notes.append((row.note, board.key, row.sequence))
            _compare(found, board.key, row, changes.get(row.sequence, {}))
        # Players of deleted races have changed, too.
        for row in found.appended:
            found.players.update(changes.get(row.sequence, ()), (change.player for change in row.changes))
        return found

    def apply(
        self, board: Leaderboard, difference: Difference, platform: str, interrupted: Interrupted = never
    ) -> None:
        """Write a difference. The stored rows must be the ones it was computed from.

        Args:
            platform: the platform that rated the races.
            interrupted: returns whether to undo the write.

        Raises:
            WriteInterrupted: `interrupted` returned True.
        """
        if difference.appended:
            self.truncate(board, difference.appended[0].sequence)
        with self.transaction():
            self._replace_platform(board, difference.first, platform)
            self.write_many(
                "UPDATE rated SET note = ? WHERE leaderboard = ? AND sequence = ?", difference.notes
            )
            self.write_many("DELETE FROM changes WHERE leaderboard = ? AND sequence = ?", difference.cleared)
            self.write_many(
                "UPDATE changes SET state_before = ?, state_after = ?, points_before = ?, points_after = ?,"
                " races_before = ?, parts = ? WHERE leaderboard = ? AND sequence = ? AND player = ?",
                difference.updated,
                interrupted,
            )
            self.write_many(
                "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", difference.inserted, interrupted
            )
            if difference.notes or difference.cleared or difference.updated:
                self.mark_updated(board)
            if not difference.appended or difference.appended[0].sequence > difference.first:
                # A changed result can change when a race ended and no rating.
                self.write("UPDATE leaderboards SET revision = revision + 1 WHERE id = ?", board.key)
            self.append(board, difference.appended, platform)

    def _replace_platform(self, board: Leaderboard, first: int, platform: str) -> None:
        """Store that the races from a sequence number on were rated on a platform."""
        self.write("DELETE FROM rated_on WHERE leaderboard = ? AND sequence >= ?", board.key, first)
        if self.platforms(board)[-1:] != [platform]:
            self.write("INSERT INTO rated_on VALUES (?, ?, ?)", board.key, first, platform)


def _compare(found: Difference, key: int, row: RatedRow, stored: dict[str, Values]) -> None:
    """Add the difference between a race's stored and new changes."""
    given = {change.player: change_values(change)[1:] for change in row.changes}
    # An update that leaves places out writes to no index.
    if {player: values[0] for player, values in given.items()} != {
        player: values[0] for player, values in stored.items()
    }:
        found.cleared.append((key, row.sequence))
        found.inserted += [(key, row.sequence, player, *values) for player, values in given.items()]
        found.players.update(given, stored)
        return
    for player, values in given.items():
        if values != stored[player]:
            found.updated.append((*values[1:], key, row.sequence, player))
            found.players.add(player)
