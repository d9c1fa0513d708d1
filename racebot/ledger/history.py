"""Queries for pages: lists of races, opponents and complete histories.

Queries for one player name their index and fix the order of joins (CROSS JOIN). Otherwise SQLite prefers to
read the whole leaderboard, which is already sorted.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from hashlib import blake2b
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from racebot.ledger.connection import Connection
from racebot.ledger.entrants import entrant_count, entrant_in, placed_in, players_in, start_of
from racebot.ledger.rankings import Rankings
from racebot.ledger.rows import START, as_text, moment_of, parts_of, states_of
from racebot.races.outcome import TeamPolicy
from racebot.races.result import Entrant, result_label

PlayerId = Annotated[
    str, Field(description="null for a hidden player", json_schema_extra={"type": ["string", "null"]})
]
"""A player's id on the site, which the data API leaves out if the player is hidden."""


@dataclass(frozen=True, slots=True)
class NamedPlayer:
    """A player's id and current name."""

    id: PlayerId
    name: str


@dataclass(frozen=True, slots=True)
class Winner:
    """A winner of a race."""

    id: Annotated[str | None, Field(description="null for a deleted account or a hidden player")]
    name: str


@dataclass(frozen=True, slots=True)
class RaceRow:
    """A race in a list. `entrants` and `finishers` include deleted accounts.

    `winners` is empty if nobody finished, or if no rating changed.
    """

    race: str
    sequence: int
    ended_at: datetime
    goal: str
    note: Annotated[str | None, Field(description="Why no rating changed")]
    entrants: int
    finishers: int
    winners: tuple[Winner, ...]


@dataclass(frozen=True, slots=True)
class PlayedRace:
    """One rated race of a player. `entrants` includes deleted accounts."""

    race: str
    sequence: int
    ended_at: datetime
    place: Annotated[int | None, Field(description="null if the player did not finish")]
    standing: Annotated[str, Field(description="The place, DNF, DQ, or team DNF")]
    entrants: int
    before: int
    after: int
    races_before: int
    change: int
    goal: str
    finish_time: Annotated[float | None, Field(description="Seconds")]


@dataclass(frozen=True, slots=True)
class RatingChange:
    """One change of a rating, in the order of the leaderboard."""

    sequence: int
    race: str
    ended_at: datetime
    player: PlayerId
    name: str
    place: Annotated[int | None, Field(description="null if the player did not finish")]
    before: int
    after: int
    races_before: int
    parts: Annotated[
        Mapping[str, int],
        Field(description="Points of the change by their cause, such as `finish` and `place`; may be empty"),
    ]
    change: int
    finish_time: Annotated[float | None, Field(description="Seconds")]


@dataclass(frozen=True, slots=True)
class RaceDigest:
    """A hash of everything the ledger stores about a race on a leaderboard, and the race's players."""

    race: str
    sequence: int
    players: tuple[str, ...]
    value: int


class EntryRow(NamedTuple):
    """One rated entrant, with the model's state before the race."""

    sequence: int
    place: int | None
    state: tuple[float, ...]
    before: int
    after: int
    races_before: int


class Result(NamedTuple):
    """One result of a player. `place` is None for a race that the player did not finish."""

    place: int | None
    change: int


class OpponentRecord(NamedTuple):
    """A player's record against another. Races that ranked neither above the other only count as met."""

    id: str
    met: int
    ahead: int
    behind: int


class PageQueries:
    """Queries over the rated races of one leaderboard, by its key."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def races(self, leaderboard: int, limit: int, offset: int = 0) -> list[RaceRow]:
        """Return rated races, newest first."""
        return self._races(leaderboard, "ORDER BY sequence DESC LIMIT ? OFFSET ?", limit, offset)

    def winners(self, leaderboard: int, sequences: Sequence[int]) -> dict[int, tuple[Winner, ...]]:
        """Return the winners of rated races, by their numbers in the sequence."""
        chosen = "AND sequence IN (SELECT value FROM json_each(?))"
        rows = self._races(leaderboard, chosen, json.dumps(list(sequences)))
        return {row.sequence: row.winners for row in rows}

    def _races(self, leaderboard: int, chosen: str, *values: Any) -> list[RaceRow]:
        found = self._connection.stream(
            "SELECT rated.race, sequence, ended_at, goal, note, result, ("  # noqa: S608 - constants
            "  SELECT json_array(count(*), count(place), json_group_array(player) FILTER (WHERE place = 1))"
            "  FROM changes AS c WHERE c.leaderboard = rated.leaderboard AND c.sequence = rated.sequence)"
            f" FROM rated JOIN races ON races.name = rated.race WHERE leaderboard = ? {chosen}",
            leaderboard,
            *values,
        )
        rows = [(*row[:5], entrant_count(row[5]), row[6]) for row in found]  # keeps no results in memory
        counted = json.loads(f"[{','.join(row[6] for row in rows)}]")  # faster than one by one
        winners = list({player for *_, first in counted for player in first})
        names = dict(zip(winners, Rankings(self._connection).names(winners), strict=True))
        unrated = [row[1] for row, (rated, _, _) in zip(rows, counted, strict=True) if rated < row[5]]
        placed = self._placed(leaderboard, unrated)
        return [
            _race_row(
                row, finishers, [Winner(player, names[player]) for player in first], placed.get(row[1], [])
            )
            for row, (_, finishers, first) in zip(rows, counted, strict=True)
        ]

    def _placed(
        self, leaderboard: int, sequences: Sequence[int]
    ) -> dict[int, list[tuple[Entrant, int | None]]]:
        """Return all entrants of races with their places, by the races' numbers in the sequence."""
        rows = self._connection.rows(
            "SELECT sequence, result, teams FROM json_each(?2) AS wanted"
            " CROSS JOIN rated ON leaderboard = ?1 AND sequence = wanted.value"
            " CROSS JOIN races ON races.name = rated.race CROSS JOIN leaderboards ON leaderboards.id = ?1",
            leaderboard,
            json.dumps(list(sequences)),
        )
        return {row[0]: placed_in(as_text(row[1]), TeamPolicy(row[2])) for row in rows}

    def played(self, leaderboard: int, player: str) -> list[PlayedRace]:
        """Return all rated races of a player, oldest first."""
        return self.last_played(leaderboard, player, -1)[::-1]

    def last_played(self, leaderboard: int, player: str, limit: int) -> list[PlayedRace]:
        """Return the last rated races of a player, newest first; all of them if `limit` is -1."""
        start = start_of(player)
        rows = self._connection.stream(
            "SELECT rated.race, sequence, ended_at, place, goal,"
            " points_before, points_after, races_before, result"
            " FROM changes AS mine INDEXED BY changes_by_player"
            " CROSS JOIN rated USING (leaderboard, sequence) CROSS JOIN races ON races.name = rated.race"
            " WHERE leaderboard = ?1 AND player = ?2 ORDER BY sequence DESC LIMIT ?3",
            leaderboard,
            player,
            limit,
        )
        return [_played_race(row, start) for row in rows]

    def updated(self, leaderboard: int, sequences: Sequence[int]) -> dict[int, datetime]:
        """Return when rated races were counted or last corrected, by their numbers in the sequence."""
        rows = self._connection.rows(
            "SELECT sequence, coalesce(corrected_at, counted_at) FROM json_each(?2) AS wanted"
            " CROSS JOIN rated ON leaderboard = ?1 AND sequence = wanted.value"
            " CROSS JOIN races ON races.name = rated.race",
            leaderboard,
            json.dumps(list(sequences)),
        )
        return {row[0]: moment_of(row[1]) for row in rows}

    def last_results(
        self, leaderboard: int, players: Sequence[str], count: int, last: int | None = None
    ) -> dict[str, list[Result]]:
        """Return the last results of each player, oldest first, up to the race with the number `last`."""
        rows = self._connection.rows(
            "SELECT wanted.value, (SELECT json_group_array(json_array(place, change)) FROM ("
            "  SELECT place, points_after - points_before AS change FROM changes INDEXED BY changes_by_player"
            "  WHERE leaderboard = ?1 AND player = wanted.value AND (?4 IS NULL OR sequence <= ?4)"
            "  ORDER BY sequence DESC LIMIT ?3)) FROM json_each(?2) AS wanted",
            leaderboard,
            json.dumps(list(players)),
            count,
            last,
        )
        return {player: [Result(*each) for each in reversed(json.loads(found))] for player, found in rows}

    def opponents(self, leaderboard: int, player: str) -> list[OpponentRecord]:
        """Return a player's opponents, most races together first, then the most recently met."""
        rows = self._connection.rows(
            "SELECT other.player, count(*) AS met,"
            " sum(coalesce(mine.place, 1e9) < coalesce(other.place, 1e9)),"
            " sum(coalesce(other.place, 1e9) < coalesce(mine.place, 1e9))"
            " FROM changes AS mine INDEXED BY changes_by_player"
            " CROSS JOIN changes AS other USING (leaderboard, sequence)"
            " WHERE leaderboard = ?1 AND mine.player = ?2 AND other.player <> ?2"
            " GROUP BY other.player ORDER BY met DESC, max(sequence) DESC, other.player",
            leaderboard,
            player,
        )
        return list(map(OpponentRecord._make, rows))

    def opponent_rank(self, leaderboard: int, player: str, other: str) -> int | None:
        """Return the position of another player among `opponents`, from 0; None if they never met."""
        rank: int | None = self._connection.value(
            "WITH met AS MATERIALIZED ("
            "  SELECT other.player, count(*) AS races, max(sequence) AS latest"
            "  FROM changes AS mine INDEXED BY changes_by_player"
            "  CROSS JOIN changes AS other USING (leaderboard, sequence)"
            "  WHERE leaderboard = ?1 AND mine.player = ?2 AND other.player <> ?2 GROUP BY other.player)"
            " SELECT sum("
            "  (-met.races, -met.latest, met.player) < (-wanted.races, -wanted.latest, wanted.player)"
            " ) FROM met CROSS JOIN met AS wanted WHERE wanted.player = ?3",
            leaderboard,
            player,
            other,
        )
        return rank

    def changes(self, leaderboard: int, after: int = 0, limit: int = -1) -> Iterator[RatingChange]:
        """Yield the changes of up to `limit` races after a sequence number; -1 means no limit."""
        after_and_limit = "WHERE leaderboard = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3"
        rows = self._connection.stream(
            "SELECT sequence, player, players.name, place,"  # noqa: S608 - constants
            " points_before, points_after, races_before, parts"
            f" FROM (SELECT leaderboard, sequence FROM rated {after_and_limit})"
            " CROSS JOIN changes USING (leaderboard, sequence)"
            " CROSS JOIN shown_players AS players ON players.id = player"
            " ORDER BY sequence, place IS NULL, place, player",
            leaderboard,
            after,
            limit,
        )
        races = self._connection.stream(
            "SELECT sequence, race, ended_at, result FROM rated"  # noqa: S608 - constants
            f" JOIN races ON races.name = race {after_and_limit}",
            leaderboard,
            after,
            limit,
        )
        of_race, race, ended_at, result = 0, "", START.counted_at, ""
        for sequence, player, name, place, points_before, points_after, races_before, parts in rows:
            while of_race < sequence:  # each result is read once, since most are long
                of_race, race, ended, result = next(races)
                ended_at = moment_of(ended)
            yield RatingChange(
                sequence=sequence,
                race=race,
                ended_at=ended_at,
                player=player,
                name=name,
                place=place,
                before=points_before,
                after=points_after,
                races_before=races_before,
                parts=dict(parts_of(parts)),
                change=points_after - points_before,
                finish_time=entrant_in(result, start_of(player)).time(place),
            )

    def entries(self, leaderboard: int, races: int) -> list[EntryRow]:
        """Return the entrants of the last `races` races of the sequence, in order."""
        rows = self._connection.rows(
            "SELECT sequence, place, state_before, points_before, points_after, races_before FROM changes"
            " WHERE leaderboard = ?1 AND sequence > ("
            "  SELECT coalesce(max(sequence), 0) FROM rated WHERE leaderboard = ?1) - ?2"
            " ORDER BY sequence, player",
            leaderboard,
            races,
        )
        states = states_of([row[2] for row in rows])
        return [EntryRow(row[0], row[1], state, *row[3:]) for row, state in zip(rows, states, strict=True)]

    def players(self) -> list[NamedPlayer]:
        """Return all players with a rating, by id."""
        rows = self._connection.rows(
            "SELECT id, name FROM shown_players WHERE id IN ("
            "  SELECT player FROM standings JOIN leaderboards ON leaderboards.id = leaderboard"
            "  WHERE shadow_of IS NULL) ORDER BY id"
        )
        return [NamedPlayer(*row) for row in rows]

    def race_digests(self, leaderboard: int, names: Mapping[str, str]) -> list[RaceDigest]:
        """Return a digest of every rated race, in order, over its result, changes and players' current names.

        Args:
            names: current names of the players.
        """
        rows = self._connection.rows(
            "SELECT rated.race, sequence, result, coalesce(corrected_at, counted_at) || coalesce(note, ''),"
            " (SELECT group_concat(player, char(31)) FROM changes AS c"
            "  WHERE c.leaderboard = rated.leaderboard AND c.sequence = rated.sequence),"
            " (SELECT json_group_array(json_array(place, points_before, points_after, races_before,"
            "   state_before, state_after, parts)) FROM changes AS c"
            "  WHERE c.leaderboard = rated.leaderboard AND c.sequence = rated.sequence)"
            " FROM rated CROSS JOIN races ON races.name = rated.race WHERE leaderboard = ? ORDER BY sequence",
            leaderboard,
        )
        hidden = {row[0] for row in self._connection.rows("SELECT player FROM hidden_players")}

        @cache
        def shown(player: str) -> str:
            return f"{player in hidden}{names.get(player, '')}"

        digests = []
        for race, sequence, result, note, joined, changes in rows:
            players = tuple(joined.split("\x1f")) if joined else ()
            # The page of a race without changes shows the entrants of its result.
            shown_players = map(shown, players or players_in(result))
            parts = (str(sequence), result, note, changes, *shown_players)
            digest = blake2b("\0".join(parts).encode(errors="replace"), digest_size=8).digest()
            digests.append(RaceDigest(race, sequence, players, int.from_bytes(digest, "big")))
        return digests


def _race_row(
    row: Sequence[Any],
    finishers: int,
    winners: Sequence[Winner],
    placed: Sequence[tuple[Entrant, int | None]],
) -> RaceRow:
    """Return a race.

    Args:
        row: its columns.
        finishers: number of rated entrants who finished.
        winners: the rated winners.
        placed: all entrants with their places, if some of them are not rated.
    """
    race, sequence, ended_at, goal, note, entrants, _ = row
    deleted = [Winner(None, entrant.name) for entrant, place in placed if not entrant.user_id and place == 1]
    return RaceRow(
        race=race,
        sequence=sequence,
        ended_at=moment_of(ended_at),
        goal=goal,
        note=note,
        entrants=entrants,
        finishers=sum(place is not None for _, place in placed) if placed else finishers,
        winners=() if note else (*winners, *deleted),
    )


def _played_race(row: sqlite3.Row, start: str) -> PlayedRace:
    # Much faster than reading each column by its name.
    race, sequence, ended_at, place, goal, before, after, races_before, result = row
    entrant = entrant_in(result, start)
    return PlayedRace(
        race=race,
        sequence=sequence,
        ended_at=moment_of(ended_at),
        place=place,
        standing=result_label(entrant.status, place),
        entrants=entrant_count(result),
        before=before,
        after=after,
        races_before=races_before,
        change=after - before,
        goal=goal,
        finish_time=entrant.time(place),
    )
