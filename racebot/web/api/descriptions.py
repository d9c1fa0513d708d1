"""Descriptions of the fields in the OpenAPI description, for types that other parts of racebot share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_HIDDEN = {"description": "null for a hidden player", "type": ["string", "null"]}
_DELETED = "null for a deleted account or a hidden player"
_UNFINISHED = "null if the player did not finish"
_LABEL = "The place, DNF, DQ, or team DNF"
_PARTS = "Points of the change by their cause, such as `finish` and `place`; may be empty"
_RATING = {
    "rating": "The number that ranks, before rounding to points",
    "state": "Everything the model stores about the player",
}
_STANDING = {**_RATING, "place": "null if the player is not listed", "listed": "Number of listed players"}
_AFTER_RACE = "once the race is recorded; null before its end"

FIELDS: Mapping[str, Mapping[str, str | Mapping[str, Any]]] = {
    "LeaderboardPart": {
        "everybody": "Players with a rating, listed or not",
        "since": "Start of the time that `moved` covers",
    },
    "ListedPlayer": {**_RATING, "moved": "Change since `since`; null if the player had not raced by then"},
    "ListedRace": {"note": "Why no rating changed"},
    "LiveBoard": {
        "board": "The leaderboard's id; null before its first race",
        "outcome": f"What the race changes, with the reasons, {_AFTER_RACE}",
    },
    "LiveEntrant": {
        "after": f"Points {_AFTER_RACE}",
        "change": f"Change {_AFTER_RACE}",
        "finish_chance": "Chance to finish, before the race; null if the model has none",
        "finish_time": "Seconds",
        "new": "True before the player's first race on this leaderboard",
        "win_chance": "Chance to win, before the race; null in team races",
    },
    "OpenRoom": {"status": "The site's status, such as `open` or `in_progress`"},
    "Opponent": {"player": _HIDDEN},
    "PlayerOdds": {
        "expected_place": "Mean place; unfinished entrants share the rest",
        "finish_chance": "null if the model has none",
        "name": "null for an unknown player",
        "new": "True for a player without a race on this leaderboard",
    },
    "PlayerOnBoard": _STANDING,
    "PlayerRace": {"finish_time": "Seconds", "place": _UNFINISHED, "standing": _LABEL},
    "RaceAnswer": {"source": {"enum": ["live", "backfill", "import"]}},
    "RacedEntrant": {
        "finish_time": "Seconds; null if the entrant did not finish",
        "id": _DELETED,
        "standing": _LABEL,
    },
    "RatedEntrant": {
        "actual": "Place among the same entrants; tied entrants share their mean place",
        "expected": "Place expected from the ratings, among all rated entrants; for finishers among the "
        "finishers, if the model rates finishing on its own",
        "finish_chance": "Chance to finish before the race; null if the model has none",
        "finish_time": "Seconds; null if the entrant did not finish",
        "id": _HIDDEN,
        "opposed": "The opponent that moved it most the other way",
        "parts": _PARTS,
        "place": _UNFINISHED,
        "pushed": "Opponents that moved the rating the way the place did, the largest first; empty if the "
        "place was about as expected",
        "reasons": "The explanation in words",
        "standing": _LABEL,
        "why": "The same explanation as data, in the same order",
        "win_chance": "Chance to win before the race",
    },
    "RatedOnBoard": {
        "entrants": "By place, then by points; empty if no rating changed",
        "unrated": "The other entrants: their accounts were deleted; empty if no rating changed",
    },
    "RatingChange": {"finish_time": "Seconds", "parts": _PARTS, "place": _UNFINISHED, "player": _HIDDEN},
    "Reason": {
        "chance": "Chance to finish before the race",
        "points": "Points that this reason accounts for",
        "rule": "The rule behind `limit` and `unchanged`",
    },
    "Rival": {"id": _HIDDEN},
    "StandingOnBoard": _STANDING,
    "Winner": {"id": _DELETED},
}
"""What to add to a field of a schema, by the schema's name: a description, or parts of the field's schema."""


def describe(schemas: dict[str, dict[str, Any]]) -> None:
    """Add the descriptions of fields to schemas, and shorten those of types to their first paragraph."""
    for schema in schemas.values():
        if "description" in schema:
            schema["description"] = schema["description"].partition("\n\n")[0]
    for name, fields in FIELDS.items():
        for field, facts in fields.items():
            added = {"description": facts} if isinstance(facts, str) else facts
            schemas[name]["properties"][field].update(added)
