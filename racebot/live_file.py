"""The live file: rooms that are open or await their record, as the worker sees them now.

The worker writes it, other programs read it. It may be deleted at any time: the worker writes it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from racebot.ledger.lock import replace_file
from racebot.queries import FinishByRating, FinishChance, FinishTime, IsNew, Place
from racebot.queries.race import JUST_EDITED, Facts, RaceOnBoard, ResultEdit, edits_between, named_edits
from racebot.queries.scores import ComingScore
from racebot.races.result import EntrantStatus


@dataclass(frozen=True, slots=True)
class LiveEntrant:
    """An entrant of a live room, with the rating on one leaderboard. `finish_time` is in seconds."""

    id: str
    name: str
    status: EntrantStatus
    place: Place
    finish_time: FinishTime
    points: int
    new: IsNew
    win_chance: Annotated[float | None, Field(description="Chance to win; null in team races")]
    finish_chance: FinishChance
    after: Annotated[int | None, Field(description="Points once the race is recorded; null before its end")]
    change: Annotated[int | None, Field(description="Change once the race is recorded; null before its end")]
    rank_before: Annotated[
        int | None, Field(description="Place on the leaderboard before; null if not listed")
    ] = None
    rank_after: Annotated[
        int | None,
        Field(description="Place on the leaderboard once the race is recorded; null if not listed"),
    ] = None
    finish_by_rating: FinishByRating = None
    stream: Annotated[str, Field(description="Twitch name of a racer who streams now, or empty")] = ""


@dataclass(frozen=True, slots=True)
class LiveBoard:
    """A live room on one leaderboard: finishers by place, racers by their chance to win, then forfeits."""

    board: Annotated[str | None, Field(description="The leaderboard's id; null before its first race")]
    leaderboard: str
    entrants: tuple[LiveEntrant, ...]
    outcome: Annotated[
        RaceOnBoard | None,
        Field(description="What the record of the race changes, with the reasons; null before its end"),
    ] = None

    par: Annotated[float | None, Field(description="The par of the scores to come, in seconds")] = None
    scores: Annotated[
        tuple[ComingScore, ...], Field(description="Scores once the race is recorded; empty without scores")
    ] = ()
    needs_record: Annotated[
        bool, Field(description="False if the result counts once it has stood for a while")
    ] = True
    changes_before: Annotated[
        Mapping[str, int],
        Field(description="Changes before the last edit of the result, where it moved them"),
    ] = field(default_factory=dict)

    @property
    def condition(self) -> str:
        """Return the words that mark changes to come."""
        return "if recorded" if self.needs_record else "if it stands"

    @property
    def places(self) -> dict[str, tuple[int | None, int]]:
        """Return the places on the leaderboard before and after the race; before its end, both are as now."""
        ranks = {each.id: (each.rank_before, each.rank_after or each.rank_before) for each in self.entrants}
        return {player: (before, after) for player, (before, after) in ranks.items() if after}


@dataclass(frozen=True, slots=True)
class LiveRoom:
    """A race room that is open, in progress or not recorded yet, or the last state of a refused one."""

    race: str
    category: str
    goal: str
    status: Annotated[str, Field(description="The site's status, such as `open` or `in_progress`")]
    opened_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    updated_at: datetime
    leaderboards: tuple[LiveBoard, ...]
    edits: Annotated[
        tuple[ResultEdit, ...], Field(description="Edits of the result since the end of the race")
    ] = ()
    refused: Annotated[
        str | None, Field(description="Why the race will change no rating; null while it may")
    ] = None

    @property
    def before_start(self) -> bool:
        return self.status in {"open", "invitational", "pending"}

    @property
    def finished(self) -> bool:
        return self.status == "finished"

    def was_edited(self, now: datetime) -> bool:
        return bool(self.edits) and now - self.edits[-1].at < JUST_EDITED

    @property
    def condition(self) -> str:
        """Return the words that mark changes to come."""
        return next((each.condition for each in self.leaderboards), "if recorded")

    @property
    def facts(self) -> dict[str, Facts]:
        """Return the facts of a finished room's entrants, by id."""
        entrants = [each for board in self.leaderboards for each in board.entrants if self.finished]
        times = ((each, each.finish_time) for each in entrants)
        return {e.id: (e.status.value, None if time is None else round(time * 1e6)) for e, time in times}

    def edited(self, facts: Mapping[str, Facts], now: datetime) -> LiveRoom:
        """Return the room with the edits that lead to later facts, and the changes before the last ones."""
        names = {each.id: each.name for board in self.leaderboards for each in board.entrants}
        edits = named_edits(edits_between(self.facts, facts), names, now)
        if not edits:
            return self
        boards = []
        for board in self.leaderboards:
            changes = {each.id: each.change for each in board.entrants if each.change is not None}
            boards.append(replace(board, changes_before=changes))
        return replace(self, leaderboards=tuple(boards), edits=(*self.edits, *edits))


@dataclass(frozen=True, slots=True)
class LiveReport:
    """The live rooms, when the worker last wrote the file, and the races that the site does not list.

    `edited` are rooms of recorded races whose results were edited before, without their entrants.
    """

    seen_at: datetime
    rooms: tuple[LiveRoom, ...]
    unlisted: frozenset[str] = frozenset()
    edited: tuple[LiveRoom, ...] = ()


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
