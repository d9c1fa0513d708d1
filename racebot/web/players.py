"""What a player's pages show: all of their races on a leaderboard, their places and their opponents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from racebot.ledger.rows import Standing
from racebot.standings import queries
from racebot.web.view import Board, View

LAST_PLACE_TOLD = 10
"""Places from the next one on are counted together."""


def standing(view: View, board: Board, player: str) -> dict[str, Any] | None:
    """Where a player stands on a leaderboard; None for one who is not on it."""
    found = view.ledger.standing(board.stored, player)
    return None if found is None else _standing(view, board, found)


def standings(view: View, player: str) -> list[tuple[Board, dict[str, Any]]]:
    """Where a player stands on each leaderboard they are on, the last raced first."""
    found = [
        (board, report) for board in view.boards if (report := standing(view, board, player)) is not None
    ]
    return sorted(found, key=lambda pair: pair[1]["last_race_at"], reverse=True)


def history(view: View, board: Board, player: str) -> list[dict[str, Any]]:
    """All rated races of a player on a leaderboard, oldest first."""
    rows = view.ledger.pages.played(board.key, player)
    return [{**row._asdict(), "change": row.change} for row in rows]


def opponents(view: View, board: Board, player: str) -> list[dict[str, Any]]:
    """Everybody whom a player raced on a leaderboard, the most met first."""
    return [row._asdict() for row in view.ledger.pages.opponents(board.key, player)]


def report(view: View, board: Board, player: str) -> dict[str, Any] | None:
    """All that a player's page of a leaderboard shows; None for one who is not on it.

    Besides their `standing`, `history` and `opponents`: `peak`, the race after which the points were
    highest; `best` and `worst`, the races that gained and cost most once the rating had settled; `places`
    with how often each was taken; and `months`, the rating at the end of each, newest first.
    """
    known = standing(view, board, player)
    if known is None:
        return None
    races = history(view, board, player)
    settled = [race for race in races if not view.provisional(race["races_before"])]
    rises = sorted(settled or races, key=lambda race: race["change"], reverse=True)
    return {
        **known,
        "history": races,
        "peak": max(races, key=lambda race: race["after"]),
        "only_settled": bool(settled),
        "best": [race for race in rises[:5] if race["change"] > 0],
        "worst": [race for race in rises[:-6:-1] if race["change"] < 0],
        "places": _places(races),
        "months": _months(races),
        "opponents": opponents(view, board, player),
    }


def _standing(view: View, board: Board, found: Standing) -> dict[str, Any]:
    return {
        "id": found.player,
        "name": found.name,
        "category": board.category,
        "leaderboard": board.name,
        **queries.place_of(view.ledger, board.stored, found, board.listing),
        "points": found.points,
        "rating": found.rating,
        "state": list(found.state),
        "races": found.races,
        "finishes": found.finishes,
        "wins": found.wins,
        "last_race_at": found.last_race_at.isoformat(),
        "provisional": view.provisional(found.races),
    }


def _places(races: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """How often each place was taken: up to the tenth, those behind it together, and unfinished races."""
    taken = Counter(race["place"] for race in races)
    finishes = [place for place in taken if place is not None]
    rows = [
        {"place": str(place), "races": taken[place]}
        for place in range(1, LAST_PLACE_TOLD + 1)
        if taken[place]
    ]
    behind = sum(taken[place] for place in finishes if place > LAST_PLACE_TOLD)
    if behind:
        rows.append({"place": f"{LAST_PLACE_TOLD + 1}+", "races": behind})
    if taken[None]:
        rows.append({"place": "unfinished", "races": taken[None]})
    return rows


def _months(races: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    months = []
    for month, group in groupby(races, key=lambda race: race["ended_at"][:7]):
        rows = list(group)
        months.append(
            {
                "month": datetime.fromisoformat(f"{month}-01"),
                "races": len(rows),
                "points": rows[-1]["after"],
                "change": sum(row["change"] for row in rows),
            }
        )
    return months[::-1]
