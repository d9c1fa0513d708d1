"""The ledger's rows as dataclasses, converted from and to table columns.

States are JSON lists of floats; times are ISO 8601 text in UTC, which sorts as time.
"""

import json
import sqlite3
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import AwareDatetime, BeforeValidator, InstanceOf, TypeAdapter, ValidationError
from pydantic_core import from_json

from racebot.errors import DamagedRaceError, LedgerError
from racebot.races.result import RaceResult
from racebot.races.rooms import BY_GOALS, Carry, RoomRule
from racebot.ratings.parameters import Parameters
from racebot.text.format import exact_time

State = tuple[float, ...]
"""A player's row of numbers, as the leaderboard's model defines it."""


class Change(NamedTuple):
    """The effect of one race on one player's rating. A named tuple, because ratings make millions of them.

    `place` is None for a player who did not finish. Points are the rating as shown to people. `races_before`
    counts the player's earlier races on the leaderboard. `parts` has points by cause, which add up to the
    change: `finish`, `place` and, if it applied, `limit`; it is empty if the model does not separate them.
    """

    player: str
    place: int | None
    before: State
    after: State
    points_before: int
    points_after: int
    races_before: int
    parts: tuple[tuple[str, int], ...] = ()

    @property
    def points_change(self) -> int:
        return self.points_after - self.points_before


T = TypeVar("T")
_AS_JSON = BeforeValidator(lambda text: json.loads(text or "{}"))
"""Reads a column of JSON. An empty one stands for an object without values."""


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """A leaderboard and how it is rated.

    `id` is None until the leaderboard is stored. `odds_races` and `odds_fitted_at` say how many races it had
    when its odds were last fitted, and when.
    """

    category: str
    name: str
    goals: Annotated[tuple[str, ...], _AS_JSON]
    model: str
    parameters: Annotated[InstanceOf[Parameters], _AS_JSON]  # not converted: integers stay integers
    teams: str
    carry: Annotated[Carry | None, _AS_JSON] = None
    id: int | None = None
    rule: Annotated[RoomRule, _AS_JSON] = BY_GOALS
    odds_races: int = field(default=0, compare=False)
    odds_fitted_at: AwareDatetime | None = field(default=None, compare=False)

    @property
    def key(self) -> int:
        if self.id is None:
            raise LedgerError(f"leaderboard {self.name!r} is not stored yet")
        return self.id

    @property
    def first_goal(self) -> str:
        """The first of its goals, empty if it chooses rooms by other conditions."""
        return next(iter(self.goals), "")

    def holds(self, result: RaceResult) -> bool:
        """Return whether a result counts on this leaderboard now."""
        if result.category != self.category or not (result.recorded or self.rule.finished):
            return False
        if result.leaderboard is None:
            return self.rule.judge(result, self.goals).counts
        return result.leaderboard == self.name


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A race's place in the order in which races count."""

    counted_at: datetime
    race: str = ""

    @property
    def columns(self) -> tuple[str, str]:
        """The time and the race as the ledger stores and sorts them."""
        return "" if self == START else exact_time(self.counted_at), self.race


START = Position(datetime.min.replace(tzinfo=UTC))
END = Position(datetime.max.replace(tzinfo=UTC))
"""The positions before and after all races."""
TEAM_RACE = "team race"  # note of a rated race in which no rating changed, because teams raced
RATED_LATER = "its result changed, and it will be rated again"
"""Note of a race whose new result waits for the leaderboard's rebuild."""


@dataclass(frozen=True, slots=True)
class StoredRace:
    """A recorded race as the ledger holds it.

    `recorded_goal` is the name that the goal had when the result was stored; `result.goal` is its name now.
    `note` says which order keeps it from counting on the leaderboard that was asked for, None if none does.
    """

    result: RaceResult
    counted_at: datetime
    source: str
    fingerprint: str
    recorded_goal: str
    note: str | None = None
    corrected_at: datetime | None = None

    @property
    def position(self) -> Position:
        return Position(self.counted_at, self.result.name)

    @property
    def intact(self) -> bool:
        """Whether the stored result still matches the fingerprint stored with it."""
        return replace(self.result, goal=self.recorded_goal).fingerprint() == self.fingerprint

    def require_intact(self) -> None:
        """Raise `DamagedRaceError` unless the result is intact."""
        if not self.intact:
            raise damaged_race(self.result.name, "does not match its fingerprint")


@dataclass(frozen=True, slots=True)
class RatedRow:
    """One race in a leaderboard's sequence, with its changes. `note` says why nothing changed."""

    sequence: int
    race: str
    changes: tuple[Change, ...]
    note: str | None = None


class Standing(NamedTuple):
    """A player's rating and record on a leaderboard. `hidden` players are left out of lists.

    The name is empty where it is not read.
    """

    player: str
    state: State
    rating: float
    points: int
    races: int
    finishes: int
    wins: int
    last_race_at: AwareDatetime
    name: str = ""
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class NamedPlayer:
    """A player's id and current name."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Player:
    """A player as the ledger knows them.

    `shown` is the name, with the discriminator if another player shares it. `discriminator` is empty until
    a race shows it.
    """

    id: str
    name: str
    discriminator: str
    shown: str


@dataclass(frozen=True, slots=True)
class CategoryProfile:
    """A category's name and the address of its picture, None without one."""

    name: str
    image: str | None = None


_UNREADABLE = (AttributeError, LookupError, TypeError, ValueError, OverflowError, RecursionError)
"""The errors of code that reads damaged JSON."""


@contextmanager
def readable(what: str, remedy: str) -> Generator[None]:
    """Raise `LedgerError` for stored values that the block, or the decorated function, cannot read."""
    try:
        yield
    except _UNREADABLE as error:
        raise LedgerError(f"a stored {what} cannot be read ({error}): {remedy}") from None


REBUILD = "run `racebot rebuild`"
RESTORE = "restore a backup"

_READERS: dict[Any, TypeAdapter[Any]] = {}


def read(kind: type[T], rows: Iterable[sqlite3.Row | Mapping[str, Any]], remedy: str = RESTORE) -> list[T]:
    """Return rows as objects of a class with a field for each column. A wrong value is a `LedgerError`."""
    reader = _READERS.get(kind) or _READERS.setdefault(kind, TypeAdapter(kind))
    values: dict[str, Any] = {}
    try:
        return [reader.validate_python(values := dict(row)) for row in rows]
    except ValidationError as error:
        problem = error.errors()[0]
        row = f"{kind.__name__} {values.get('race') or values.get('name') or ''}".rstrip()
        place = f"{row}, {'.'.join(map(str, problem['loc']))}: {problem['msg']}"
        raise LedgerError(f"a stored row cannot be read ({place}): {remedy}") from None


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no offset")
    return moment if moment.tzinfo is UTC else moment.astimezone(UTC)


@readable("time", RESTORE)
def moment_of(text: str) -> datetime:
    """Return a stored time. The ledger stores times as `exact_time` formats them."""
    return _moment(text)


def position_of(counted_at: str, race: object) -> Position:
    """Return a stored position."""
    return Position(moment_of(counted_at), as_text(race)) if counted_at else START


@readable("state", REBUILD)
def states_of(texts: Sequence[object]) -> list[State]:
    """Return states read from JSON lists. Reading many at once is much faster than one by one."""
    states = from_json(f"[{','.join(map(as_text, texts))}]", allow_inf_nan=False)
    if len(states) != len(texts) or not {float}.issuperset(map(type, chain.from_iterable(states))):
        raise TypeError("not a list of numbers")
    return list(map(tuple, states))


def _column(kind: type[T]) -> Callable[[object], T]:
    """Return a function that returns a column's value, and raises TypeError if it has another type."""

    def checked(value: object) -> T:
        if type(value) is not kind:
            raise TypeError(f"{value!r} is not of type {kind.__name__}")
        return value

    return checked


as_text, as_int = _column(str), _column(int)


def rating_columns(board: Leaderboard) -> dict[str, str]:
    """Return how a leaderboard is rated, as columns of the tables `leaderboards` and `rebuilds`."""
    carry = None if board.carry is None else asdict(board.carry)
    return {
        "model": board.model,
        "parameters": json.dumps(dict(board.parameters), sort_keys=True),
        "teams": board.teams,
        "carry": json.dumps(carry and {"from": carry.pop("source"), **carry}),
    }


@readable("race", RESTORE)
def race_of(row: sqlite3.Row, note: str | None = None) -> StoredRace:
    """Return a stored race, with the note of an order that keeps it out, or raise `DamagedRaceError`."""
    result = result_of(str(row["name"]), row["result"])
    board = as_text(row["counts_on"]) or None
    return StoredRace(
        result=replace(result, name=as_text(row["name"]), goal=as_text(row["goal"]), leaderboard=board),
        counted_at=moment_of(row["counted_at"]),
        source=as_text(row["source"]),
        fingerprint=as_text(row["fingerprint"]),
        recorded_goal=as_text(result.goal),
        note=note,
        corrected_at=row["corrected_at"] and moment_of(row["corrected_at"]),
    )


def result_of(name: str, text: str) -> RaceResult:
    """Return the stored result of the race with a name, or raise `DamagedRaceError`."""
    try:
        return RaceResult.from_json(text)
    except _UNREADABLE:
        raise damaged_race(name, "cannot be read") from None


def damaged_race(name: str, problem: str) -> DamagedRaceError:
    """Return the error for a stored result that must not be rated."""
    return DamagedRaceError(
        f"race {name}: its stored result {problem}: run `racebot backfill`, or restore a backup"
    )


@readable("change", REBUILD)
def changes_of(rows: Sequence[sqlite3.Row]) -> list[Change]:
    """Return stored changes, given rows that begin with the columns of the table `changes`."""
    before, after = (states_of([row[column] for row in rows]) for column in ("state_before", "state_after"))
    return [
        Change(
            player=as_text(row["player"]),
            place=None if row["place"] is None else as_int(row["place"]),
            before=state_before,
            after=state_after,
            points_before=as_int(row["points_before"]),
            points_after=as_int(row["points_after"]),
            races_before=as_int(row["races_before"]),
            parts=parts_of(row["parts"]),
        )
        for row, state_before, state_after in zip(rows, before, after, strict=True)
    ]


def parts_of(text: object) -> tuple[tuple[str, int], ...]:
    """Return points by cause from JSON."""
    return tuple((as_text(name), as_int(points)) for name, points in json.loads(as_text(text)))


@readable("standing", REBUILD)
def standings_of(
    rows: Sequence[sqlite3.Row], rate: Callable[[list[State]], list[float]] | None = None
) -> list[Standing]:
    """Return standings, given rows that begin with the columns of their fields. `rate` computes ratings."""
    columns: list[Any] = list(zip(*rows, strict=True))
    for kind, column in zip((str, str, float, int, int, int, int, str), columns, strict=False):
        for found in set(map(type, column)) - {kind}:
            raise TypeError(f"{found.__name__} in place of {kind.__name__}")
    if columns:
        columns[1], columns[7] = states_of(columns[1]), map(_moment, columns[7])
        columns[2] = rate(columns[1]) if rate else columns[2]
    return list(map(Standing, *columns[: len(Standing._fields)])) if columns else []
