"""Queries about players' careers: races against one opponent, records, and the states behind predictions."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from racebot.ledger.connection import Connection
from racebot.ledger.entrants import entrant_count, entrant_in, start_of
from racebot.ledger.history import NamedPlayer
from racebot.ledger.rows import moment_of, states_of


@dataclass(frozen=True, slots=True)
class Meeting:
    """A race that two players both entered. Times are in seconds; a place is None for an unfinished race."""

    race: str
    ended_at: datetime
    place: int | None
    other_place: int | None
    finish_time: float | None
    other_finish_time: float | None
    change: int
    other_change: int


class Encounter(NamedTuple):
    """A race of a player against one opponent, with both states before it."""

    opponent: str
    place: int | None
    other_place: int | None
    state: tuple[float, ...]
    other_state: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Peak:
    """The highest rating of a player, and the race that led to it."""

    player: NamedPlayer
    points: int
    race: str
    ended_at: datetime


@dataclass(frozen=True, slots=True)
class Win:
    """A won race. `lead` is the winner's points before the race minus the other rated entrants' mean."""

    player: NamedPlayer
    sequence: int
    race: str
    ended_at: datetime
    entrants: int
    lead: float


@dataclass(frozen=True, slots=True)
class Streak:
    """A player's longest run of won races. `ongoing` is True if the last race is part of it."""

    player: NamedPlayer
    length: int
    ended_at: datetime
    ongoing: bool


class CurrentRating(NamedTuple):
    """A player's name to show, points and state."""

    name: str
    points: int
    state: tuple[float, ...]


class FieldRow(NamedTuple):
    """One rated entrant of a race with the state before it."""

    sequence: int
    player: str
    state: tuple[float, ...]


class Careers:
    """Queries over the rated races of one leaderboard, by its key."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def meetings(self, leaderboard: int, player: str, other: str) -> list[Meeting]:
        """Return every race of two players against each other, newest first."""
        rows = self._connection.rows(
            "SELECT race, ended_at, mine.place AS place, theirs.place AS other_place, result,"
            " mine.points_after - mine.points_before AS change,"
            " theirs.points_after - theirs.points_before AS other_change"
            " FROM changes AS mine INDEXED BY changes_by_player"
            " CROSS JOIN changes AS theirs USING (leaderboard, sequence)"
            " CROSS JOIN rated USING (leaderboard, sequence) CROSS JOIN races ON races.name = rated.race"
            " WHERE leaderboard = ? AND mine.player = ? AND theirs.player = ? ORDER BY sequence DESC",
            leaderboard,
            player,
            other,
        )
        mine, theirs = start_of(player), start_of(other)
        return [
            Meeting(
                race=row["race"],
                ended_at=moment_of(row["ended_at"]),
                place=row["place"],
                other_place=row["other_place"],
                finish_time=entrant_in(row["result"], mine).time(row["place"]),
                other_finish_time=entrant_in(row["result"], theirs).time(row["other_place"]),
                change=row["change"],
                other_change=row["other_change"],
            )
            for row in rows
        ]

    def encounters(
        self, leaderboard: int, player: str, opponents: Collection[str], races: int
    ) -> list[Encounter]:
        """Return a player's last races against some opponents, one entry for each race and opponent."""
        found = self._connection.rows(
            "SELECT other.player, mine.place, other.place, mine.state_before, other.state_before FROM ("
            "  SELECT leaderboard, sequence, place, state_before FROM changes INDEXED BY changes_by_player"
            "  WHERE leaderboard = ?1 AND player = ?2 ORDER BY sequence DESC LIMIT ?3"
            " ) AS mine CROSS JOIN changes AS other USING (leaderboard, sequence) WHERE other.player <> ?2",
            leaderboard,
            player,
            races,
        )
        rows = [row for row in found if row[0] in opponents]
        own = list({row[3] for row in rows})  # one for each race
        mine = dict(zip(own, states_of(own), strict=True))
        others = states_of([row[4] for row in rows])
        return [
            Encounter(row[0], row[1], row[2], mine[row[3]], other)
            for row, other in zip(rows, others, strict=True)
        ]

    def wins(self, leaderboard: int, *, player: str | None = None, settled: int = 0, limit: int) -> list[Win]:
        """Return the wins against the strongest opponents, most surprising first.

        Args:
            player: only wins of this player; of all players if None.
            settled: only wins of players with this many earlier races.
        """
        index = " INDEXED BY changes_by_player" if player is not None else ""
        rows = self._connection.rows(
            "SELECT players.id, players.name, won.sequence, rated.race, ended_at, result, lead FROM ("  # noqa: S608
            "  SELECT mine.sequence, mine.player,"
            "   mine.points_before - (sum(other.points_before) - mine.points_before) / (count(*) - 1.0)"
            "   AS lead"
            f"  FROM changes AS mine{index} CROSS JOIN changes AS other USING (leaderboard, sequence)"
            "  WHERE mine.leaderboard = ?1 AND mine.place = 1 AND mine.races_before >= ?3"
            f"  {'AND mine.player = ?2' if player is not None else ''}"
            "  AND mine.player NOT IN (SELECT player FROM hidden_players)"
            "  GROUP BY mine.sequence, mine.player HAVING count(*) > 1 ORDER BY lead LIMIT ?4"
            " ) AS won JOIN rated ON rated.leaderboard = ?1 AND rated.sequence = won.sequence"
            " JOIN races ON races.name = rated.race JOIN shown_players AS players ON players.id = won.player"
            " ORDER BY lead",
            leaderboard,
            player,
            settled,
            limit,
        )
        return [
            Win(NamedPlayer(row[0], row[1]), row[2], row[3], moment_of(row[4]), entrant_count(row[5]), row[6])
            for row in rows
        ]

    def fields(self, leaderboard: int, sequences: Sequence[int]) -> list[FieldRow]:
        """Return the rated entrants of races, by their numbers in the sequence."""
        rows = self._connection.rows(
            "SELECT sequence, player, state_before FROM json_each(?2) AS wanted"
            " CROSS JOIN changes ON leaderboard = ?1 AND sequence = wanted.value ORDER BY sequence, player",
            leaderboard,
            json.dumps(list(sequences)),
        )
        return [
            FieldRow(row[0], row[1], state)
            for row, state in zip(rows, states_of([r[2] for r in rows]), strict=True)
        ]

    def peaks(self, leaderboard: int, *, settled: int, limit: int) -> list[Peak]:
        """Return the players with the highest ratings ever, after at least `settled` earlier races."""
        hidden, read = self._hidden(), 64
        best: dict[str, tuple[int, int]] = {}
        while True:
            # Grouping all changes by player would sort them all.
            rows = self._connection.rows(
                "SELECT player, points_after, sequence FROM changes"
                " WHERE leaderboard = ? AND races_before >= ? ORDER BY points_after DESC, sequence LIMIT ?",
                leaderboard,
                settled,
                read,
            )
            for row in rows:
                if row[0] not in hidden and len(best) < limit:
                    best.setdefault(row[0], (row[1], row[2]))
            if len(best) == limit or len(rows) < read:
                break
            read *= 8
        races = self._races(leaderboard, [sequence for _, sequence in best.values()])
        return [
            Peak(self._named(player), points, *races[sequence]) for player, (points, sequence) in best.items()
        ]

    def streaks(self, leaderboard: int, limit: int) -> list[Streak]:
        """Return the longest runs of won races, one for each player."""
        hidden = self._hidden()
        runs: dict[str, tuple[int, int, int]] = {}
        longest: dict[str, tuple[int, int, int]] = {}
        for player, sequence, before in self._connection.rows(
            "SELECT player, sequence, races_before FROM changes"
            " WHERE leaderboard = ? AND place = 1 ORDER BY sequence",
            leaderboard,
        ):
            length, _, after = runs.get(player, (0, 0, -1))
            run = runs[player] = (length + 1 if before == after else 1, sequence, before + 1)
            if player not in longest or run[0] > longest[player][0]:
                longest[player] = run
        found = [(player, *run) for player, run in longest.items() if run[0] > 1 and player not in hidden]
        found = sorted(found, key=lambda each: (-each[1], each[2]))[:limit]
        races = self._races(leaderboard, [sequence for _, _, sequence, _ in found])
        return [
            Streak(
                self._named(player),
                length,
                races[sequence][1],
                ongoing=self._has_races(leaderboard, player, last),
            )
            for player, length, sequence, last in found
        ]

    def current(self, leaderboard: int, players: Sequence[str]) -> dict[str, CurrentRating]:
        """Return the current ratings of players, by player."""
        rows = self._connection.rows(
            "SELECT player, name, points, state FROM json_each(?2) AS wanted"
            " CROSS JOIN standings ON leaderboard = ?1 AND player = wanted.value"
            " CROSS JOIN shown_players ON shown_players.id = player",
            leaderboard,
            json.dumps(players),
        )
        states = states_of([row[3] for row in rows])
        return {row[0]: CurrentRating(row[1], row[2], state) for row, state in zip(rows, states, strict=True)}

    def _hidden(self) -> set[str]:
        return {row[0] for row in self._connection.rows("SELECT player FROM hidden_players")}

    def _named(self, player: str) -> NamedPlayer:
        row = self._connection.row("SELECT id, name FROM shown_players WHERE id = ?", player)
        return NamedPlayer(player, "") if row is None else NamedPlayer(*row)

    def _has_races(self, leaderboard: int, player: str, races: int) -> bool:
        """Return True if a player has exactly this many races."""
        return bool(
            self._connection.value(
                "SELECT 1 FROM standings WHERE leaderboard = ? AND player = ? AND races = ?",
                leaderboard,
                player,
                races,
            )
        )

    def _races(self, leaderboard: int, sequences: Sequence[int]) -> dict[int, tuple[str, datetime]]:
        """Return name and end of races, by their numbers in the sequence."""
        rows = self._connection.rows(
            "SELECT sequence, race, ended_at FROM json_each(?2) AS wanted"
            " CROSS JOIN rated ON leaderboard = ?1 AND sequence = wanted.value"
            " CROSS JOIN races ON races.name = race",
            leaderboard,
            json.dumps(list(sequences)),
        )
        return {row[0]: (row[1], moment_of(row[2])) for row in rows}
