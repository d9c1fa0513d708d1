"""Archives of past races that keep places but no times, and user ids but no names.

An archive is a JSON list of races, each with `slug`, `ended_at`, `recorded` and `entrants` of `user_id`
(null for a deleted account) and `place`, where 9999 stands for an entrant who did not finish.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from racebot.errors import PayloadError
from racebot.races.result import Entrant, EntrantStatus, RaceResult

UNFINISHED_PLACE = 9999


def is_archive(document: object) -> bool:
    """Whether a JSON document has the shape of an archive."""
    return (
        isinstance(document, list)
        and bool(document)
        and isinstance(document[0], Mapping)
        and {"slug", "entrants"} <= document[0].keys()
        and "status" not in document[0]
    )


def read_archive(document: Sequence[Any], *, category: str, goal: str) -> list[RaceResult]:
    """The races of an archive, in the order of the file.

    Args:
        document: the parsed JSON.
        category: slug that the races are filed under; empty if unknown.
        goal: goal that all races of the archive belong to, since it names none.

    Raises:
        PayloadError: a race that cannot be read; the text names its position and the field.
    """
    results = []
    for index, race in enumerate(document):
        try:
            slug = str(race["slug"])
            results.append(
                RaceResult(
                    name=f"{category}/{slug}" if category else slug,
                    category=category,
                    goal=goal,
                    ended_at=timestamp(race["ended_at"]),
                    entrants=tuple(_entrant(entrant) for entrant in race["entrants"]),
                    recorded=bool(race["recorded"]),
                )
            )
        except KeyError as error:
            raise PayloadError(f"race {index + 1} of the archive has no {error.args[0]!r}") from None
        except (TypeError, ValueError, AttributeError) as error:
            raise PayloadError(f"race {index + 1} of the archive: {error}") from None
    return results


def timestamp(text: object) -> datetime:
    """An ISO 8601 time with its offset, in UTC.

    Raises:
        ValueError: not a time, or one without an offset.
    """
    if not isinstance(text, str):
        raise ValueError(f"{text!r} is not a time")
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"the time {text!r} has no offset from UTC")
    return moment.astimezone(UTC)


def _entrant(entrant: Mapping[str, Any]) -> Entrant:
    user_id = entrant["user_id"]
    place = entrant["place"]
    if user_id is not None and (not isinstance(user_id, str) or not user_id):
        raise ValueError(f"user_id {user_id!r} is not an id")
    if not isinstance(place, int) or isinstance(place, bool) or place < 1:
        raise ValueError(f"place {place!r} is not a place")
    finished = place != UNFINISHED_PLACE
    return Entrant(
        user_id=user_id,
        name=user_id or "deleted account",
        status=EntrantStatus.DONE if finished else EntrantStatus.DNF,
        place=place if finished else None,
    )
