"""Computes the expected races and ratings from the site's rooms alone.

Shares nothing with the bot but the rating models and their input, the outcome. How results reach the ledger,
in which order and how often, is worked out here independently.

A race counts from the moment at which the worker sees its record, and if two records were there before it saw
either, both orders are right. So this replay takes the ledger's own sequence and demands:

- it holds exactly the races that the site recorded, each once;
- a race that was settled when another was recorded comes before that other one;
- a settled race keeps its place.
"""

import json
import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from worker_support import PATIENCE

from racebot.races.outcome import Outcome
from racebot.ratings import registry
from racebot.ratings.model import Carries
from racebot.sandbox.race_state import FakeEntrant, RacerStatus, RaceStatus, stamp
from racebot.sandbox.room import FakeRoom

Places = dict[str, int | None]
"""Each entrant's place by user id; equal times share a place, and None is a DNF or DQ.

In a team race it is the place of the entrant's team.
"""

State = tuple[float, ...]


def places(room: FakeRoom) -> Places:
    """Return the places in a room's result, whatever its status. A team's time is its members' mean."""
    sides: dict[str, list[timedelta | None]] = {}
    for e in room.entrants:
        sides.setdefault(side(e), []).append(e.finish_time if e.status is RacerStatus.DONE else None)
    times = {
        team: Fraction(sum(time // timedelta(microseconds=1) for time in known), len(known))
        for team, each in sides.items()
        if len(known := [time for time in each if time is not None]) == len(each)
    }
    placed = {team: 1 + sum(other < time for other in times.values()) for team, time in times.items()}
    return {e.user.id: placed.get(side(e)) for e in room.entrants}


def side(entrant: FakeEntrant) -> str:
    """Return what an entrant races for: a team, or only themselves."""
    return entrant.user.id if entrant.team is None else entrant.team.slug


def final_places(room: FakeRoom) -> Places | None:
    """Return the result of a finished room, or None if it is not final."""
    final = room.status is RaceStatus.FINISHED and all(e.status.final for e in room.entrants)
    return places(room) if final else None


def rateable(result: Places) -> bool:
    """Return whether a result ranks any entrant above another."""
    return len(set(result.values())) > 1


def counts(room: FakeRoom) -> bool:
    """Return whether the site counts the race."""
    return room.recorded and not room.custom_goal


@dataclass(frozen=True)
class Rated:
    """The expected change of one player in one race."""

    before: State
    after: State
    points_before: int
    points_after: int
    place: int | None

    @property
    def change(self) -> int:
        return self.points_after - self.points_before


@dataclass(frozen=True)
class Carry:
    """The board that a season starts from, and how much of its ratings is kept."""

    source: str
    factor: float


@dataclass
class Board:
    """A leaderboard as this replay rates it. `history` holds each player's (sequence index, state) pairs."""

    model: str
    states: dict[str, State] = field(default_factory=dict)
    races: Counter[str] = field(default_factory=Counter)
    finishes: Counter[str] = field(default_factory=Counter)
    wins: Counter[str] = field(default_factory=Counter)
    carried: dict[str, State] = field(default_factory=dict)
    history: dict[str, list[tuple[int, State]]] = field(default_factory=dict)
    length: int = 0

    def state(self, user: str, length: int | None = None) -> State:
        """Return a player's state after the first `length` races, by default after all of them."""
        earlier = [state for index, state in self.history.get(user, ()) if length is None or index < length]
        if earlier:
            return earlier[-1]
        return self.carried.get(user, tuple(registry.create(self.model).initial().tolist()))

    def rate(self, room: FakeRoom, result: Places, length: int | None = None) -> dict[str, Rated]:
        """Return the changes that a result would cause after the first `length` races. Stores nothing."""
        model = registry.create(self.model)
        if not rateable(result) or (room.team_race and not model.rates_teams):
            return {}
        sides = {e.user.id: side(e) if room.team_race else "" for e in room.entrants}
        order = sorted(result, key=lambda user: (result[user] or math.inf, sides[user], user))
        numbers = {team: number for number, team in enumerate(dict.fromkeys(map(sides.get, order)))}
        finished = [place for user in order if (place := result[user]) is not None]
        before = np.array([self.state(user, length) for user in order])
        ended_at = datetime.fromisoformat(stamp(room.ended_at) or "")
        outcome = Outcome.of(
            finished,
            unfinished=len(order) - len(finished),
            team=[numbers[sides[user]] for user in order] if room.team_race else None,
            day=ended_at.timestamp() / 86_400.0,
        )
        after = model.rate(before, outcome)
        points = zip(model.points(before).tolist(), model.points(after).tolist(), strict=True)
        return {
            user: Rated(tuple(old), tuple(new), int(was), int(becomes), result[user])
            for user, old, new, (was, becomes) in zip(
                order, before.tolist(), after.tolist(), points, strict=True
            )
        }

    def add(self, room: FakeRoom) -> dict[str, Rated]:
        """Rate one more race, and return each player's change."""
        rated = self.rate(room, places(room))
        for user, change in rated.items():
            self.history.setdefault(user, []).append((self.length, change.after))
            self.states[user] = change.after
            self.races[user] += 1
            self.finishes[user] += change.place is not None
            self.wins[user] += change.place == 1
        self.length += 1
        return rated


class Database:
    """The ledger's file, read as any other program would read it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        if not self.path.exists():
            return []
        with closing(sqlite3.connect(self.path, timeout=PATIENCE)) as connection:
            connection.row_factory = sqlite3.Row
            try:
                return connection.execute(sql, values).fetchall()
            except sqlite3.OperationalError as error:
                if "no such table" in str(error):
                    return []
                raise

    def pairs(self, sql: str, *values: Any) -> list[tuple[Any, Any]]:
        """Return the first two columns."""
        return [(row[0], row[1]) for row in self.rows(sql, *values)]

    def races(self) -> list[str]:
        return [row["name"] for row in self.rows("SELECT name FROM races ORDER BY name")]

    def known(self) -> set[str]:
        """Races that the worker watches or waits for."""
        return {row["race"] for row in self.rows("SELECT race FROM cases")}

    def joined(self) -> list[str]:
        """Open races that the worker watches."""
        return [row["race"] for row in self.rows("SELECT race FROM cases WHERE ended_at IS NULL")]

    def sequences(self) -> dict[str, list[str]]:
        """The races of each leaderboard in its order."""
        found: dict[str, list[str]] = {}
        for board, race in self.pairs(
            "SELECT name, race FROM rated JOIN leaderboards ON id = leaderboard"
            " ORDER BY leaderboard, sequence"
        ):
            found.setdefault(board, []).append(race)
        return found

    def lengths(self) -> dict[str, int]:
        """How many races each leaderboard holds."""
        return dict(
            self.pairs("SELECT name, count(*) FROM rated JOIN leaderboards ON id = leaderboard GROUP BY name")
        )

    def changes(self, board: str) -> dict[str, dict[str, sqlite3.Row]]:
        """A leaderboard's changes by race and player."""
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


def replay(
    database: Database, rooms: Mapping[str, FakeRoom], models: Mapping[str, str], carries: Mapping[str, Carry]
) -> tuple[dict[str, Board], list[str]]:
    """Rate the ledger's sequences from the site's rooms.

    Returns the leaderboards as they must be, and one line for each difference from the ledger, to the last
    bit.
    """
    boards: dict[str, Board] = {}
    problems: list[str] = []
    sequences = database.sequences()
    counted_at = dict(database.pairs("SELECT name, counted_at FROM races"))
    for name in sorted(sequences, key=lambda each: each in carries):
        board = boards[name] = Board(models[name])
        if name in carries:
            first = min(counted_at[race] for race in sequences[name])
            source = sequences.get(carries[name].source, [])
            earlier = sum(counted_at[race] < first for race in source)
            board.carried = _carried(boards.get(carries[name].source), earlier, carries[name].factor)
        kept = database.changes(name)
        for race in sequences[name]:
            if race not in rooms:
                problems.append(f"{name}: {race} is rated, and the site has no such race")
                continue
            expected = board.add(rooms[race])
            found = {}
            for user, row in kept.get(race, {}).items():
                before, after = _state(row["state_before"]), _state(row["state_after"])
                found[user] = Rated(before, after, row["points_before"], row["points_after"], row["place"])
            if expected != found:
                problems.append(f"{name}: {race} changed {found}, a replay of the site's result {expected}")
        problems += _standings(name, board, database)
    return boards, problems


def _standings(name: str, board: Board, database: Database) -> Iterator[str]:
    found = {
        user: (_state(row["state"]), row["points"], row["races"], row["finishes"], row["wins"])
        for user, row in database.standings(name).items()
    }
    model = registry.create(board.model)
    expected = {}
    for user, state in board.states.items():
        points = int(model.points(np.array([state]))[0])
        expected[user] = (state, points, board.races[user], board.finishes[user], board.wins[user])
    if found != expected:
        yield f"{name}: the standings differ from a replay of the site's records"


def _carried(source: Board | None, races: int, factor: float) -> dict[str, State]:
    """Return the states that players carry over from the first races of another leaderboard."""
    if source is None:
        return {}
    model = registry.create(source.model)
    assert isinstance(model, Carries)
    brought = {}
    for user, history in source.history.items():
        if any(index < races for index, _ in history):
            state = model.carried(np.array([source.state(user, races)]), factor)
            brought[user] = tuple(state[0].tolist())
    return brought


def _state(text: str) -> State:
    return tuple(json.loads(text))


def misplaced(
    sequences: Mapping[str, Sequence[str]],
    before: Mapping[str, Sequence[str]],
    settled_before: Mapping[str, Iterable[str]],
) -> Iterator[str]:
    """Say where the sequences of leaderboards, now and before, break the rules at the top of this module.

    `settled_before` holds, for each race, the races in the ledger when it was recorded.
    """
    for name, sequence in sequences.items():
        if len(set(sequence)) != len(sequence):
            yield f"{name}: a race counts twice"
        if list(before.get(name, ())) != list(sequence[: len(before.get(name, ()))]):
            yield f"{name}: the order of settled races has changed"
        position = {race: index for index, race in enumerate(sequence)}
        for race, earlier in settled_before.items():
            late = [e for e in earlier if e in position and race in position and position[e] > position[race]]
            if late:
                yield f"{name}: {race} comes before {late}, which were settled when it was recorded"
