"""What people ask of the ledger, as plain data: leaderboards, players, races, movers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from racebot.chat.messages import standing_word
from racebot.ledger.rows import Leaderboard, Standing, StoredRace
from racebot.ledger.store import Ledger
from racebot.races.outcome import TeamPolicy
from racebot.races.result import shown_names
from racebot.ratings import registry
from racebot.standings.explain import explain_race, in_words

MOVERS_WINDOW = timedelta(days=28)


@dataclass(frozen=True, slots=True)
class Listing:
    """Who is listed on a leaderboard: enough finishes, and raced within so many days of the last race."""

    minimum_finishes: int = 0
    inactive_days: int = 0


def leaderboard(
    ledger: Ledger,
    board: Leaderboard,
    listing: Listing,
    everybody: list[Standing] | None = None,
    *,
    limit: int | None = None,
) -> dict[str, Any]:
    """A leaderboard with its players by place; equal ratings share one.

    Args:
        ledger: where it is.
        board: which.
        listing: who is listed.
        everybody: all standings, best first, where they are known already.
        limit: only so many players, the best; all if None.
    """
    latest = ledger.latest_race(board)
    if limit is not None and everybody is None:
        everybody = _best(ledger, board, listing, limit)
    everybody = ledger.standings(board) if everybody is None else everybody
    standings = [s for s in everybody if listed(s, listing, latest)][:limit]
    entries: list[dict[str, Any]] = []
    for index, standing in enumerate(standings):
        tied = index > 0 and standings[index - 1].rating == standing.rating
        entries.append(
            {
                "place": entries[-1]["place"] if tied else index + 1,
                "id": standing.player,
                "name": standing.name,
                **_standing(standing),
            }
        )
    return {
        "leaderboard": board.name,
        "category": board.category,
        "goals": list(board.goals),
        "model": board.model,
        "parameters": board.parameters,
        "races": ledger.rated_count(board),
        "players": entries,
    }


def first_of(ledger: Ledger, board: Leaderboard, listing: Listing, limit: int) -> list[tuple[int, Standing]]:
    """The best listed players with their places; equal ratings share one."""
    best = _best(ledger, board, listing, limit)
    return [(1 + sum(other.rating > standing.rating for other in best), standing) for standing in best]


def movers(ledger: Ledger, board: Leaderboard, count: int = 5) -> list[dict[str, Any]]:
    """Who gained and lost most in the last weeks of a leaderboard's races, the biggest change first."""
    latest = ledger.latest_race(board)
    if latest is None:
        return []
    spans: dict[str, tuple[int, int]] = {}
    for change in ledger.changes_since(board, latest - MOVERS_WINDOW):
        first, _ = spans.get(change.player, (change.points_before, 0))
        spans[change.player] = (first, change.points_after)
    sizes = sorted((abs(last - first) for first, last in spans.values() if last != first), reverse=True)
    least = sizes[:count][-1] if sizes else 1
    moved: list[dict[str, Any]] = [
        {"id": player, "name": standing.name, "before": first, "after": last, "change": last - first}
        for player, (first, last) in spans.items()
        if abs(last - first) >= least and (standing := ledger.standing(board, player)) is not None
    ]
    return sorted(moved, key=lambda m: (-abs(m["change"]), m["name"]))[:count]


def player(ledger: Ledger, name: str, listings: dict[int, Listing], limit: int = 20) -> dict[str, Any]:
    """A player's standing and last races on every leaderboard they are on.

    Raises:
        NoSuchEntryError: nobody, or more than one, is called so.
    """
    found = ledger.players.find(name)
    player_id, current = found.id, found.shown
    boards = []
    for board in ledger.leaderboards():
        standing = ledger.standing(board, player_id)
        if standing is None:
            continue
        listing = listings.get(board.key, Listing())
        boards.append(
            {
                "leaderboard": board.name,
                "category": board.category,
                **place_of(ledger, board, standing, listing),
                **_standing(standing),
                "history": [
                    {
                        "race": race.result.name,
                        "ended_at": race.result.ended_at.isoformat(),
                        "place": change.place,
                        "entrants": len(race.result.entrants),
                        "before": change.points_before,
                        "after": change.points_after,
                        "change": change.points_change,
                    }
                    for race, change in ledger.history(board, player_id, limit)
                ],
            }
        )
    return {"id": player_id, "name": current, "leaderboards": boards}


def place_of(ledger: Ledger, board: Leaderboard, standing: Standing, listing: Listing) -> dict[str, Any]:
    """A player's `place` on a leaderboard, None for one who is not listed, and how many are `listed`."""
    latest = ledger.latest_race(board)
    above, everybody = ledger.listed(
        board, finishes=listing.minimum_finishes, since=_since(listing, latest), above=standing.rating
    )
    return {"place": above + 1 if listed(standing, listing, latest) else None, "listed": everybody}


def listed_count(ledger: Ledger, board: Leaderboard, listing: Listing) -> int:
    """How many players a leaderboard lists."""
    since = _since(listing, ledger.latest_race(board))
    return ledger.listed(board, finishes=listing.minimum_finishes, since=since)[1]


def race(ledger: Ledger, name: str) -> dict[str, Any]:
    """A race and what it did to each entrant on every leaderboard it counts on, and why.

    Raises:
        NoSuchEntryError: no such recorded race.
    """
    stored = ledger.find_race(name)
    result = stored.result
    return {
        "race": result.name,
        "goal": result.goal,
        "ended_at": result.ended_at.isoformat(),
        "source": stored.source,
        "leaderboards": [
            entry for board in ledger.leaderboards() if (entry := _race_on(ledger, board, stored)) is not None
        ],
    }


def _race_on(ledger: Ledger, board: Leaderboard, stored: StoredRace) -> dict[str, Any] | None:
    row = ledger.rated_race(board, stored.result.name)
    if row is None:
        return None
    entries = []
    changes = {change.player: change for change in row.changes}
    if changes:
        model = registry.create(board.model, board.parameters)
        explained = explain_race(model, TeamPolicy(board.teams), stored.result, row.changes)
        shown = shown_names(stored.result.entrants)
        names = {player_id: shown[entrant] for player_id, (entrant, _) in explained.items()}
        for player_id, (entrant, explanation) in explained.items():
            change = changes[player_id]
            entries.append(
                {
                    "standing": standing_word(entrant, change),
                    "id": change.player,
                    "name": shown[entrant],
                    "before": change.points_before,
                    "after": change.points_after,
                    "change": change.points_change,
                    "first_race": change.races_before == 0,
                    "parts": dict(change.parts),
                    "expected": round(explanation.expected, 2),
                    "actual": explanation.actual,
                    "finish_chance": explanation.finish_chance,
                    "pushed": [asdict(opponent) for opponent in explanation.pushed],
                    "opposed": None if explanation.opposed is None else asdict(explanation.opposed),
                    "reasons": in_words(explanation, names),
                }
            )
    return {
        "leaderboard": board.name,
        "model": board.model,
        "sequence": row.sequence,
        "note": row.note,
        "entrants": entries,
    }


def _standing(standing: Standing) -> dict[str, Any]:
    return {
        "points": standing.points,
        "rating": standing.rating,
        "state": list(standing.state),
        "races": standing.races,
        "finishes": standing.finishes,
        "wins": standing.wins,
        "last_race_at": standing.last_race_at.isoformat(),
    }


def _best(ledger: Ledger, board: Leaderboard, listing: Listing, limit: int) -> list[Standing]:
    since = _since(listing, ledger.latest_race(board))
    return ledger.top(board, finishes=listing.minimum_finishes, since=since, limit=limit)


def _since(listing: Listing, latest: datetime | None) -> datetime | None:
    """Since when who is listed must have raced."""
    return latest - timedelta(days=listing.inactive_days) if listing.inactive_days and latest else None


def listed(standing: Standing, listing: Listing, latest: datetime | None) -> bool:
    """Whether a player is listed on a leaderboard whose last race ended at `latest`."""
    if standing.finishes < listing.minimum_finishes:
        return False
    if listing.inactive_days and latest is not None:
        return latest - standing.last_race_at <= timedelta(days=listing.inactive_days)
    return True
