"""The live file: rooms that are open or await their record, as the worker sees them now.

The worker writes it, other programs read it. It may be deleted at any time: the worker writes it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from racebot.ledger.lock import replace_file
from racebot.queries.race import RaceOnBoard
from racebot.races.result import EntrantStatus


@dataclass(frozen=True, slots=True)
class LiveEntrant:
    """An entrant of a live room, with the rating on one leaderboard. `finish_time` is in seconds.

    `new` is True before the player's first race there. Chances are those before the race: `win_chance` is
    None in team races, `finish_chance` if the model has none. `after` and `change` are the points and their
    change once the race is recorded, None before its end. `rank_after` is the place on the leaderboard then,
    and `rank_before` the place now, both None for a player who is not listed. `chance_now` is the
    chance to finish next, for those still racing after somebody has finished.
    """

    id: str
    name: str
    status: EntrantStatus
    place: int | None
    finish_time: float | None
    points: int
    new: bool
    win_chance: float | None
    finish_chance: float | None
    after: int | None
    change: int | None
    rank_before: int | None = None
    rank_after: int | None = None
    chance_now: float | None = None


@dataclass(frozen=True, slots=True)
class LiveBoard:
    """A live room on one leaderboard: finishers by place, racers by their chance to win, then forfeits.

    `board` is the leaderboard's id, None before its first race, and `outcome` what the race's record will
    change, None before its end.
    """

    board: str | None
    leaderboard: str
    entrants: tuple[LiveEntrant, ...]
    outcome: RaceOnBoard | None = None

    @property
    def places(self) -> dict[str, tuple[int | None, int]]:
        """Return the places on the leaderboard before and after the race; before its end, both are as now."""
        ranks = {each.id: (each.rank_before, each.rank_after or each.rank_before) for each in self.entrants}
        return {player: (before, after) for player, (before, after) in ranks.items() if after}


@dataclass(frozen=True, slots=True)
class LiveRoom:
    """A race room that is open, in progress, or finished and not recorded yet."""

    race: str
    category: str
    goal: str
    status: str
    opened_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    updated_at: datetime
    leaderboards: tuple[LiveBoard, ...]

    @property
    def before_start(self) -> bool:
        return self.status in {"open", "invitational", "pending"}

    @property
    def finished(self) -> bool:
        return self.status == "finished"


@dataclass(frozen=True, slots=True)
class LiveReport:
    """The live rooms by the name of the race, and when the worker last wrote the file.

    `unlisted` are the names of races that the site does not list before their record.
    """

    seen_at: datetime
    rooms: tuple[LiveRoom, ...]
    unlisted: frozenset[str] = frozenset()


@cache
def _reader() -> TypeAdapter[LiveReport]:
    return TypeAdapter(LiveReport)


def live_path(database: Path) -> Path:
    """Return the path of the live file beside a database: `live.json` for `racebot.db`."""
    return database.with_name("live.json" if database.stem == "racebot" else f"{database.stem}-live.json")


def write_live(path: Path, report: LiveReport) -> None:
    """Replace the live file. Raise `LedgerUnavailable` if that fails."""
    replace_file(path, _reader().dump_json(report))


def read_live(path: Path) -> LiveReport | None:
    """Read the live file. Return None if it is missing or cannot be read."""
    try:
        return _reader().validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
