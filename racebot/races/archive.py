"""Reads archives of past races, which have places but no times, and user ids but no names.

An archive is a JSON list of races, each with `slug`, `ended_at`, `recorded` and `entrants`. An entrant has a
`user_id` (null for a deleted account) and a `place`; place 9999 means that the entrant did not finish.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

from racebot.errors import PayloadError
from racebot.races.result import MOST_ENTRANTS, NO_NAME, Entrant, EntrantStatus, RaceResult
from racebot.text.parse import parse_time

UNFINISHED_PLACE = 9999


def is_archive(document: object) -> bool:
    """Return whether a JSON document has the shape of an archive."""
    return (
        isinstance(document, list)
        and bool(document)
        and isinstance(document[0], Mapping)
        and {"slug", "entrants"} <= document[0].keys()
        and "status" not in document[0]
    )


def read_archive(document: Sequence[Any], *, category: str, goal: str) -> list[RaceResult]:
    """Read the races of an archive, in the order of the file.

    Args:
        document: the parsed JSON.
        category: slug to file the races under; empty if unknown.
        goal: the goal of all races; an archive names none.

    Raises:
        PayloadError: a race cannot be read; the message names its position and the field.
    """
    results = []
    for index, race in enumerate(document):
        try:
            results.append(_race(race, category, goal))
        except ValueError as error:
            raise PayloadError(f"race {index + 1} of the archive: {error}") from None
    return results


def _race(race: object, category: str, goal: str) -> RaceResult:
    slug, ended_at = _field(race, "slug", str), _field(race, "ended_at", str)
    entrants = _field(race, "entrants", list)
    if len(entrants) > MOST_ENTRANTS:
        raise ValueError(f"{len(entrants)} entrants: at most {MOST_ENTRANTS} can be rated")
    try:
        moment = parse_time(ended_at)
    except ValueError as error:
        raise ValueError(f"ended_at {error}") from None
    return RaceResult(
        name=f"{category}/{slug}" if category else slug,
        category=category,
        goal=goal,
        ended_at=moment,
        entrants=tuple(map(_entrant, entrants)),
        recorded=_field(race, "recorded", bool),
    )


def _field(document: object, name: str, *kinds: type) -> Any:
    """Return a required field of one of these kinds. An empty string counts as missing."""
    if not isinstance(document, Mapping):
        raise ValueError(f"{reprlib.repr(document)} is not an object")
    if name not in document:
        raise ValueError(f"it has no {name!r}")
    value = document[name]
    if type(value) not in kinds or value == "":
        raise ValueError(f"{name} has the unexpected value {reprlib.repr(value)}")
    return value


def _entrant(entrant: object) -> Entrant:
    user_id = _field(entrant, "user_id", str, type(None))
    place = _field(entrant, "place", int)
    if place < 1:
        raise ValueError(f"place {place!r} is not a place")
    finished = place != UNFINISHED_PLACE
    return Entrant(
        user_id=user_id,
        name=user_id or NO_NAME,
        status=EntrantStatus.DONE if finished else EntrantStatus.DNF,
        place=place if finished else None,
    )
