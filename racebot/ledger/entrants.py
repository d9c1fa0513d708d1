"""Reads the entrants of a stored result without reading all of it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from racebot.races.result import EntrantStatus

_DECODER = json.JSONDecoder()
_PLAYER = re.compile(r'\{"user_id":("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True, slots=True)
class StoredEntrant:
    """An entrant's status and finish time, as stored with a race."""

    status: EntrantStatus
    finish_time: int | None

    def time(self, place: int | None) -> float | None:
        """Return the finish time in seconds; None without a place."""
        return None if place is None or self.finish_time is None else self.finish_time / 1_000_000


def entrant_in(result: str, start: str) -> StoredEntrant:
    """Return one entrant of a stored result without reading the others, which is much faster.

    Args:
        result: the stored result, or its part from the entrant on.
        start: the text with which the entry begins, from `start_of`.
    """
    try:
        facts = _DECODER.raw_decode(result, result.index(start))[0]
        return StoredEntrant(EntrantStatus(facts["status"]), facts.get("finish_time"))
    except (ValueError, KeyError):
        return StoredEntrant(EntrantStatus.DNF, None)


def start_of(player: str) -> str:
    """Return the JSON text with which a player's entry in a stored result begins."""
    return f'{{"user_id":{json.dumps(player, ensure_ascii=False)},'


def players_in(result: str) -> list[str]:
    """Return the user ids of a stored result's entrants."""
    return [json.loads(player) for player in _PLAYER.findall(result)]
