"""Reads archives of past races, which have places but no times, and user ids but no names.

An archive is a JSON list of races, each with `slug`, `ended_at`, `recorded` and `entrants`. An entrant has a
`user_id` (null for a deleted account) and a `place`; place 9999 means that the entrant did not finish.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter, ValidationError

from racebot.errors import PayloadError
from racebot.races.result import MOST_ENTRANTS, NO_NAME, Entrant, EntrantStatus, RaceResult
from racebot.text.parse import parse_time

UNFINISHED_PLACE = 9999
Text = Annotated[str, Field(min_length=1)]


class _Entrant(BaseModel, strict=True):
    user_id: Text | None
    place: int = Field(ge=1)

    def entrant(self) -> Entrant:
        name = self.user_id or NO_NAME
        if self.place == UNFINISHED_PLACE:
            return Entrant(self.user_id, name, EntrantStatus.DNF)
        return Entrant(self.user_id, name, EntrantStatus.DONE, place=self.place)


class _Race(BaseModel, strict=True):
    slug: Text
    ended_at: Annotated[datetime, BeforeValidator(parse_time)]
    recorded: bool
    entrants: list[_Entrant] = Field(max_length=MOST_ENTRANTS)


def is_archive(document: object) -> bool:
    """Return whether a JSON document has the shape of an archive."""
    first = document[0] if isinstance(document, list) and document else None
    return isinstance(first, Mapping) and {"slug", "entrants"} <= first.keys() and "status" not in first


def read_archive(document: Sequence[Any], *, category: str, goal: str) -> list[RaceResult]:
    """Read the races of an archive, in the order of the file, and file them under a category and a goal.

    Raises:
        PayloadError: a race cannot be read; the message names its position and the field.
    """
    try:
        races = TypeAdapter(list[_Race]).validate_python(document)
    except ValidationError as error:
        problem = error.errors()[0]
        index, *field = problem["loc"]
        where = "".join(f"{name!r}: " for name in field)
        raise PayloadError(f"race {int(index) + 1} of the archive: {where}{problem['msg']}") from None
    return [
        RaceResult(
            name=f"{category}/{race.slug}" if category else race.slug,
            category=category,
            goal=goal,
            ended_at=race.ended_at,
            entrants=tuple(each.entrant() for each in race.entrants),
            recorded=race.recorded,
        )
        for race in races
    ]
