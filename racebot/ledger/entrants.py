"""Reads the entrants of a stored result, where possible without reading all of it."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from racebot.errors import PayloadError
from racebot.races.outcome import TeamPolicy, places
from racebot.races.result import Entrant, EntrantStatus, RaceResult

_DECODER = json.JSONDecoder()
_PLAYER = re.compile(r'\{"user_id":("(?:[^"\\]|\\.)*")')


class StoredEntrant(NamedTuple):
    """An entrant's status and finish time, as stored with a race."""

    status: EntrantStatus
    finish_time: int | None

    def time(self, place: int | None) -> float | None:
        """Return the finish time in seconds; None without a place."""
        return None if place is None or self.finish_time is None else self.finish_time / 1_000_000


def entrant_in(result: str, start: str) -> StoredEntrant:
    """Return one entrant of a stored result without reading the others, which is much faster.

    Args:
        result: the stored result, or a part of it with the entrant.
        start: the text with which the entry begins, from `start_of`.
    """
    try:
        facts = _DECODER.raw_decode(result, result.index(start))[0]
        return StoredEntrant(EntrantStatus(facts["status"]), facts.get("finish_time"))
    except (ValueError, KeyError):
        return StoredEntrant(EntrantStatus.DNF, None)


def entrant_count(result: str) -> int:
    """Return the number of entrants of a stored result, rated or not, even if the result is damaged."""
    return result.count('"status":')


def start_of(player: str) -> str:
    """Return the JSON text with which a player's entry in a stored result begins."""
    return f'{{"user_id":{json.dumps(player, ensure_ascii=False)},'


def placed_in(result: str, teams: TeamPolicy) -> list[tuple[Entrant, int | None]]:
    """Return the entrants of a stored result with their places.

    Return none if the result is damaged, or if its finishers cannot be compared.
    """
    try:
        read = RaceResult.from_json(result)
        found = places(read, teams)
    except (ValueError, KeyError, TypeError, PayloadError):
        return []
    return [(entrant, found[entrant]) for entrant in read.entrants if entrant in found]


def players_in(result: str) -> list[str]:
    """Return the user ids of a stored result's entrants."""
    return [json.loads(player) for player in _PLAYER.findall(result)]
