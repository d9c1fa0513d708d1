"""What a race's page shows: the result, and what it did to each rating and why."""

from __future__ import annotations

from typing import Any

from racebot.races.outcome import places
from racebot.races.result import EntrantStatus, shown_names
from racebot.standings import queries
from racebot.web.view import Board, View

_UNFINISHED = {EntrantStatus.DNF: "DNF", EntrantStatus.DQ: "DQ", EntrantStatus.RACING: "?"}


def report(view: View, name: str) -> dict[str, Any] | None:
    """A race as `queries.race` has it, with the `result` of all entrants; None where it counts nowhere.

    Entrants whose account was deleted have no `id`. `finish_time` is in seconds.
    """
    stored = view.ledger.race(name)
    if stored is None:
        return None
    found = queries.race(view.ledger, name)
    if not found["leaderboards"]:
        return None
    place_of = places(stored.result) if any(board["entrants"] for board in found["leaderboards"]) else {}
    shown = shown_names(stored.result.entrants)
    entrants = [
        {
            "id": entrant.user_id,
            "name": shown[entrant],
            "place": place_of.get(entrant),
            "standing": str(place_of.get(entrant) or _UNFINISHED.get(entrant.status, "")),
            "team": entrant.team,
            "finish_time": None if entrant.finish_time is None else entrant.finish_time / 1_000_000,
        }
        for entrant in stored.result.entrants
    ]
    entrants.sort(key=lambda entrant: (entrant["place"] is None, entrant["place"] or 0, entrant["name"]))
    return {**found, "category": stored.result.category, "result": entrants}


def boards(view: View, found: dict[str, Any]) -> list[tuple[Board, dict[str, Any]]]:
    """The leaderboards of a race's report, each with its part of it."""
    by_name = {(board.category, board.name): board for board in view.boards}
    return [(by_name[found["category"], part["leaderboard"]], part) for part in found["leaderboards"]]
