"""Two players: their races against each other, and the chance of either to win the next."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np

from racebot.ledger.rows import Leaderboard, damaged_race, moment_of, states_of
from racebot.ledger.store import Ledger
from racebot.queries.races import entrants_of, finish_time
from racebot.ratings import registry
from racebot.standings.rater import current_states


@dataclass(frozen=True, slots=True)
class Meeting:
    """A race that two players both entered. Times are in seconds; a place is None for an unfinished race."""

    race: str
    ended_at: datetime
    place: int | None
    other_place: int | None
    finish_time: float | None
    other_finish_time: float | None
    change: int
    other_change: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two players against each other: all races of both, newest first, and the chance in the next.

    The first player was ahead in `ahead` races, and has this `chance` to be placed before the second.
    """

    chance: float
    ahead: int
    behind: int
    meetings: Sequence[Meeting]


class OpponentRecord(NamedTuple):
    """A player's record against another. Races that ranked neither above the other only count as met."""

    id: str
    met: int
    ahead: int
    behind: int


@dataclass(frozen=True, slots=True)
class Rival:
    """A player's record against an opponent, whose `points` are those of now, and the chance to beat them."""

    id: str
    name: str
    met: int
    ahead: int
    behind: int
    points: int
    chance: float


def compared(ledger: Ledger, board: Leaderboard, player: str, other: str) -> Comparison:
    """Compare two players on a leaderboard. A player who has not raced there counts as a newcomer."""
    model = registry.create(board.model, board.parameters)
    states = np.array([state for state, _ in current_states(ledger, board, [player, other])])
    found = meetings(ledger, board, player, other)
    places = [(each.place or np.inf, each.other_place or np.inf) for each in found]
    return Comparison(
        chance=float(model.win_probability(states[:1], states[1:])[0]),
        ahead=sum(mine < theirs for mine, theirs in places),
        behind=sum(mine > theirs for mine, theirs in places),
        meetings=found,
    )


def meetings(ledger: Ledger, board: Leaderboard, player: str, other: str) -> list[Meeting]:
    """Return every race of two players against each other, newest first."""
    rows = ledger.connection.rows(
        "SELECT race, ended_at, mine.place AS place, theirs.place AS other_place, result,"
        " mine.points_after - mine.points_before AS change,"
        " theirs.points_after - theirs.points_before AS other_change"
        " FROM changes AS mine INDEXED BY changes_by_player"
        " CROSS JOIN changes AS theirs USING (leaderboard, sequence)"
        " CROSS JOIN rated USING (leaderboard, sequence) CROSS JOIN races ON races.name = rated.race"
        " WHERE leaderboard = ? AND mine.player = ? AND theirs.player = ? ORDER BY sequence DESC",
        board.id,
        player,
        other,
    )
    found = []
    for row in rows:
        entrants = {each.get("user_id"): each for each in entrants_of(row["race"], row["result"])}
        if not {player, other} <= entrants.keys():
            raise damaged_race(row["race"], f"lacks {player} or {other}")
        found.append(
            Meeting(
                race=row["race"],
                ended_at=moment_of(row["ended_at"]),
                place=row["place"],
                other_place=row["other_place"],
                finish_time=finish_time(entrants[player], row["place"]),
                other_finish_time=finish_time(entrants[other], row["other_place"]),
                change=row["change"],
                other_change=row["other_change"],
            )
        )
    return found


def opponents_of(ledger: Ledger, leaderboard: int, player: str) -> list[OpponentRecord]:
    """Return a player's opponents, most races together first, then the most recently met."""
    rows = ledger.connection.rows(
        "SELECT other.player, count(*) AS met,"
        " sum(coalesce(mine.place, 1e9) < coalesce(other.place, 1e9)),"
        " sum(coalesce(other.place, 1e9) < coalesce(mine.place, 1e9))"
        " FROM changes AS mine INDEXED BY changes_by_player"
        " CROSS JOIN changes AS other USING (leaderboard, sequence)"
        " WHERE leaderboard = ?1 AND mine.player = ?2 AND other.player <> ?2"
        " GROUP BY other.player ORDER BY met DESC, max(sequence) DESC, other.player",
        leaderboard,
        player,
    )
    return list(map(OpponentRecord._make, rows))


def opponent_rank(ledger: Ledger, leaderboard: int, player: str, other: str) -> int | None:
    """Return the position of another player among `opponents`, from 0; None if they never met."""
    ids = [record.id for record in opponents_of(ledger, leaderboard, player)]
    return ids.index(other) if other in ids else None


def rivals(ledger: Ledger, board: Leaderboard, player: str, records: Sequence[OpponentRecord]) -> list[Rival]:
    """Add predictions to a player's records against opponents."""
    if not records:
        return []
    model = registry.create(board.model, board.parameters)
    rows = ledger.connection.rows(
        "SELECT player, name, points, state FROM json_each(?2) AS wanted"
        " CROSS JOIN standings ON leaderboard = ?1 AND player = wanted.value"
        " CROSS JOIN shown_players ON shown_players.id = player",
        board.key,
        json.dumps([player, *(record.id for record in records)]),
    )
    current = {row[0]: row for row in rows}
    states = dict(zip(current, states_of([row[3] for row in rows]), strict=True))
    theirs = np.array([states[record.id] for record in records])
    chances = model.win_probability(np.array([states[player]]), theirs).tolist()
    return [
        Rival(r.id, current[r.id][1], r.met, r.ahead, r.behind, current[r.id][2], chance)
        for r, chance in zip(records, chances, strict=True)
    ]
