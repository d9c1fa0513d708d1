"""What is true of a race and of the ratings, computed from the site's rooms alone.

Of the bot nothing is used but its rating models and their input, the outcome; how results come to the
ledger, in which order and how often, is worked out here anew.

Which order is right? A race counts from the moment at which the worker sees its record, and the worker may
see two records in either order if both were there before it saw either. So the ledger's own sequence is
taken, and these are demanded of it:

- it holds exactly the races that the site records, each once;
- a race that stood in the ledger when another was recorded comes before that other one;
- what once stood in it stays where it is.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from racebot.races.outcome import Outcome
from racebot.ratings import registry
from racebot.sandbox.race_state import RacerStatus, RaceStatus
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.text import stamp

Places = dict[str, int | None]
"""Each entrant's place by user id, equal times sharing one; None for who did not finish."""


def places(room: FakeRoom) -> Places:
    times = {e.user.id: e.finish_time if e.status is RacerStatus.DONE else None for e in room.entrants}
    known = [time for time in times.values() if time is not None]
    return {
        user: None if time is None else 1 + sum(other < time for other in known)
        for user, time in times.items()
    }


def stands(room: FakeRoom) -> Places | None:
    """The result, if the room has one that is final."""
    final = room.status is RaceStatus.FINISHED and all(e.status.final for e in room.entrants)
    return places(room) if final else None


def rateable(result: Places) -> bool:
    """Whether the result tells anything: a finisher, and somebody who did better or worse than another."""
    return len(set(result.values())) > 1


def counts(room: FakeRoom) -> bool:
    """Whether the site counts the race."""
    return room.recorded and not room.custom_goal


@dataclass
class Board:
    """A leaderboard as this replay rates it."""

    model: str
    states: dict[str, tuple[float, ...]] = field(default_factory=dict)
    races: dict[str, int] = field(default_factory=dict)
    finishes: dict[str, int] = field(default_factory=dict)
    wins: dict[str, int] = field(default_factory=dict)

    def add(self, room: FakeRoom) -> dict[str, tuple[tuple[float, ...], tuple[float, ...], int | None]]:
        """Rate a race; each rated player's state before and after, and place."""
        result = places(room)
        if room.team_race or not rateable(result):
            return {}
        model = registry.create(self.model)
        last = len(result)
        order = sorted(result, key=lambda user: (result[user] or last + 1, user))
        finished = [place for user in order if (place := result[user]) is not None]
        initial = tuple(model.initial().tolist())
        before = [self.states.get(user, initial) for user in order]
        ended_at = datetime.fromisoformat(stamp(room.ended_at) or "")
        outcome = Outcome.of(
            finished, unfinished=len(order) - len(finished), day=ended_at.timestamp() / 86_400.0
        )
        after = [tuple(row) for row in model.rate(np.array(before), outcome).tolist()]
        for user, state in zip(order, after, strict=True):
            self.states[user] = state
            self.races[user] = self.races.get(user, 0) + 1
            self.finishes[user] = self.finishes.get(user, 0) + (result[user] is not None)
            self.wins[user] = self.wins.get(user, 0) + (result[user] == 1)
        return {user: (old, new, result[user]) for user, old, new in zip(order, before, after, strict=True)}


class Database:
    """The ledger's file as any other program would read it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        if not self.path.exists():
            return []
        with closing(sqlite3.connect(self.path, timeout=20)) as connection:
            connection.row_factory = sqlite3.Row
            try:
                return connection.execute(sql, values).fetchall()
            except sqlite3.OperationalError as error:
                if "no such table" in str(error):
                    return []
                raise

    def races(self) -> list[str]:
        return [row["name"] for row in self.rows("SELECT name FROM races ORDER BY name")]

    def joined(self) -> list[str]:
        """Open races that the worker has noted."""
        return [row["race"] for row in self.rows("SELECT race FROM joined")]

    def sequences(self) -> dict[str, list[str]]:
        """The races of each leaderboard in its order."""
        found: dict[str, list[str]] = {}
        for row in self.rows(
            "SELECT name, race FROM rated JOIN leaderboards ON id = leaderboard"
            " ORDER BY leaderboard, sequence"
        ):
            found.setdefault(row["name"], []).append(row["race"])
        return found

    def undelivered(self) -> list[tuple[str, str]]:
        """The race and kind of each message that is still to be delivered."""
        rows = self.rows("SELECT race, kind FROM outbox WHERE state IN ('waiting', 'sent')")
        return [(row["race"], row["kind"]) for row in rows]

    def changes(self, board: str) -> dict[str, dict[str, sqlite3.Row]]:
        """By race and player."""
        found: dict[str, dict[str, sqlite3.Row]] = {}
        for row in self.rows(
            "SELECT changes.*, rated.race AS race FROM changes JOIN rated USING (leaderboard, sequence)"
            " JOIN leaderboards ON id = leaderboard WHERE name = ?",
            board,
        ):
            found.setdefault(row["race"], {})[row["player"]] = row
        return found

    def standings(self, board: str) -> dict[str, sqlite3.Row]:
        rows = self.rows(
            "SELECT standings.* FROM standings JOIN leaderboards ON id = leaderboard WHERE name = ?", board
        )
        return {row["player"]: row for row in rows}


def replay(database: Database, rooms: Mapping[str, FakeRoom], models: Mapping[str, str]) -> Iterator[str]:
    """Rate the ledger's sequences from the site's rooms, and tell where the ledger differs by a bit.

    Args:
        database: the ledger.
        rooms: the site's, by race name.
        models: the model's key by leaderboard.
    """
    for name, sequence in database.sequences().items():
        board = Board(models[name])
        kept = database.changes(name)
        for race in sequence:
            if race not in rooms:
                yield f"{name}: {race} is rated, and the site has no such race"
                continue
            expected = board.add(rooms[race])
            found = {
                user: (_state(row["state_before"]), _state(row["state_after"]), row["place"])
                for user, row in kept.get(race, {}).items()
            }
            if expected != found:
                yield f"{name}: {race} changed {found}, and a replay of the site's result {expected}"
        standings = database.standings(name)
        found_all = {
            user: (_state(row["state"]), row["races"], row["finishes"], row["wins"])
            for user, row in standings.items()
        }
        expected_all = {
            user: (state, board.races[user], board.finishes[user], board.wins[user])
            for user, state in board.states.items()
        }
        if found_all != expected_all:
            yield f"{name}: the standings differ from a replay of what the site recorded"


def _state(text: str) -> tuple[float, ...]:
    return tuple(json.loads(text))


def misplaced(
    sequences: Mapping[str, Sequence[str]],
    before: Mapping[str, Sequence[str]],
    settled_before: Mapping[str, Iterable[str]],
) -> Iterator[str]:
    """Where an order breaks the rules at the top of this module.

    Args:
        sequences: of each leaderboard, now.
        before: the same at an earlier time.
        settled_before: for each race, what the ledger held when it was recorded.
    """
    for name, sequence in sequences.items():
        if len(set(sequence)) != len(sequence):
            yield f"{name}: a race counts twice"
        if list(before.get(name, ())) != list(sequence[: len(before.get(name, ()))]):
            yield f"{name}: the order of what was settled has changed"
        position = {race: index for index, race in enumerate(sequence)}
        for race, earlier in settled_before.items():
            late = [e for e in earlier if e in position and race in position and position[e] > position[race]]
            if late:
                yield f"{name}: {race} stands before {late}, which were settled when it was recorded"
