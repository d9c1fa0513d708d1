"""What a leaderboard's pages show: its players with their movement of late, and its races."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from racebot.ledger.history import Earlier, RaceRow
from racebot.ledger.rows import Standing
from racebot.ratings import registry
from racebot.standings import queries
from racebot.web.view import Board, View

WINDOW = timedelta(days=7)
"""Movement is told over so long a time before the leaderboard's last race."""


def report(view: View, board: Board) -> dict[str, Any]:
    """A leaderboard with its listed players by place, as `queries.leaderboard` has it, and more.

    `since` is when the movement begins. Each player also has `provisional` and `moved`: by how many
    `points` and `places` (None for one who was not listed then), or None for one who had not raced then.
    """
    everybody = view.ledger.standings(board.stored)
    found = queries.leaderboard(view.ledger, board.stored, board.listing, everybody)
    latest = max((s.last_race_at for s in everybody), default=None)
    since = None if latest is None else latest - WINDOW
    then = {} if since is None else _then(view, board, everybody, since)
    for entry in found["players"]:
        entry["provisional"] = view.provisional(entry["races"])
        entry["moved"] = _moved(entry, *then[entry["id"]]) if entry["id"] in then else None
    return {
        **found,
        "minimum_finishes": board.listing.minimum_finishes,
        "inactive_days": board.listing.inactive_days,
        "provisional_races": view.publication.provisional_races,
        "everybody": len(everybody),
        "last_race_at": latest.isoformat() if latest else None,
        "since": since.isoformat() if since else None,
    }


def races(view: View, board: Board, limit: int, offset: int = 0) -> list[dict[str, Any]]:
    """Races of a leaderboard, the newest first."""
    return [_race(row) for row in view.ledger.pages.races(board.key, limit, offset)]


def _race(row: RaceRow) -> dict[str, Any]:
    winners = [{"id": player, "name": name} for player, name in row.winners]
    return {**row._asdict(), "winners": winners}


def _moved(entry: dict[str, Any], points: int, place: int | None) -> dict[str, Any]:
    return {
        "points": entry["points"] - points,
        "places": None if place is None else place - entry["place"],
    }


def _then(
    view: View, board: Board, everybody: list[Standing], since: datetime
) -> dict[str, tuple[int, int | None]]:
    """Points and place that players had at an earlier moment, of those who had raced."""
    history = view.ledger.pages
    moment = since.astimezone(UTC).isoformat(timespec="microseconds")
    changed = {
        row.player: row for row in history.earlier(board.key, history.last_sequence(board.key, moment))
    }
    ratings = _ratings(board, changed)
    standings = [
        _as_before(s, changed[s.player], ratings[s.player]) if s.player in changed else s
        for s in everybody
        if s.player not in changed or changed[s.player].races > 0
    ]
    latest = max((s.last_race_at for s in standings), default=None)
    listed = {s.player: s.rating for s in standings if queries.listed(s, board.listing, latest)}
    rated = np.array(list(listed.values()))
    places = 1 + rated.size - np.searchsorted(np.sort(rated), rated, side="right")
    place_of = dict(zip(listed, places.tolist(), strict=True))
    return {s.player: (s.points, place_of.get(s.player)) for s in standings}


def _ratings(board: Board, changed: dict[str, Earlier]) -> dict[str, float]:
    if not changed:
        return {}
    model = registry.create(board.stored.model, board.stored.parameters)
    ratings = model.rating(np.array([row.state for row in changed.values()]))
    return dict(zip(changed, ratings.tolist(), strict=True))


def _as_before(standing: Standing, earlier: Earlier, rating: float) -> Standing:
    return Standing(
        player=standing.player,
        state=earlier.state,
        rating=rating,
        points=earlier.points,
        races=earlier.races,
        finishes=standing.finishes - earlier.finishes_since,
        wins=standing.wins,
        last_race_at=datetime.fromisoformat(earlier.last_race_at)
        if earlier.last_race_at
        else standing.last_race_at,
    )
