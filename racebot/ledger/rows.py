"""What the ledger holds, and how it stands in the tables' columns.

States are JSON lists of floats, times are ISO 8601 text in UTC.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from racebot.errors import LedgerError
from racebot.races.change import Change, State
from racebot.races.result import RaceResult


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """A leaderboard and how it is rated. `id` is None until it is stored.

    `carry` says which earlier leaderboard of the category the players bring their ratings from, as the
    arguments of `racebot.ratings.model.Carries.carried`; None where everybody starts anew.
    """

    category: str
    name: str
    goals: tuple[str, ...]
    model: str
    parameters: dict[str, Any]
    teams: str
    carry: dict[str, Any] | None = None
    id: int | None = None

    @property
    def key(self) -> int:
        if self.id is None:
            raise LedgerError(f"leaderboard {self.name!r} is not stored yet")
        return self.id


@dataclass(frozen=True, slots=True)
class StoredRace:
    """A recorded race as the ledger holds it."""

    result: RaceResult
    counted_at: datetime
    source: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class RatedRow:
    """One race of a leaderboard in its sequence, with its changes. `note` says why nothing changed."""

    sequence: int
    race: str
    changes: tuple[Change, ...]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a player stands on a leaderboard. `hidden` players are left out of lists."""

    player: str
    state: State
    rating: float
    points: int
    races: int
    finishes: int
    wins: int
    last_race_at: datetime
    name: str = ""
    hidden: bool = False


def text_of(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def moment_of(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise LedgerError(f"a stored time cannot be read ({text!r}): restore a backup") from None


def state_of(text: str) -> State:
    try:
        return tuple(json.loads(text))
    except (TypeError, ValueError):
        raise LedgerError(f"a stored state cannot be read ({text!r}): run `racebot rebuild`") from None


def states_of(texts: Sequence[str]) -> list[State]:
    """Many states at once, which is much quicker than one by one."""
    try:
        return [tuple(state) for state in json.loads(f"[{','.join(texts)}]")]
    except (TypeError, ValueError):
        return [state_of(text) for text in texts]  # one of them raises, and says which


def leaderboard_of(row: dict[str, Any]) -> Leaderboard:
    return Leaderboard(
        category=row["category"],
        name=row["name"],
        goals=tuple(json.loads(row["goals"])),
        model=row["model"],
        parameters=json.loads(row["parameters"]),
        teams=row["teams"],
        carry=json.loads(row["carry"]),
        id=row["id"],
    )


def race_of(row: dict[str, Any]) -> StoredRace:
    try:
        result = RaceResult.from_json(row["result"])
    except (KeyError, TypeError, ValueError):
        raise LedgerError(f"race {row['name']}: its stored result cannot be read: restore a backup") from None
    return StoredRace(
        result=result,
        counted_at=moment_of(row["counted_at"]),
        source=row["source"],
        fingerprint=row["fingerprint"],
    )


def change_of(row: dict[str, Any]) -> Change:
    return Change(
        player=row["player"],
        place=row["place"],
        before=state_of(row["state_before"]),
        after=state_of(row["state_after"]),
        points_before=row["points_before"],
        points_after=row["points_after"],
        races_before=row["races_before"],
        parts=tuple((name, points) for name, points in json.loads(row["parts"])),
    )


def standing_of(row: dict[str, Any], state: State | None = None) -> Standing:
    return Standing(
        player=row["player"],
        state=state_of(row["state"]) if state is None else state,
        rating=row["rating"],
        points=row["points"],
        races=row["races"],
        finishes=row["finishes"],
        wins=row["wins"],
        last_race_at=moment_of(row["last_race_at"]),
        name=row["name"],
        hidden=bool(row["hidden"]),
    )
