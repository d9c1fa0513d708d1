"""A player against others: every opponent with the chance next time, and comparisons of two players."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from racebot.ledger.careers import Meeting, Win
from racebot.ledger.history import OpponentRecord, PlayerId
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.ratings import registry
from racebot.ratings.forecast import win_chances
from racebot.standings.queries.records import extended

RACES_COMPARED = 200
"""Number of a player's last races to compare with the predictions."""
LIKELY_UPSETS = 12
"""Number of wins whose exact chance is computed in search of the least likely."""


@dataclass(frozen=True, slots=True)
class Rival:
    """A player's record against an opponent, and the prediction for their next race.

    Attributes:
        points: the opponent's points now.
        chance: chance to be placed before the opponent next time.
        gained: places won against the opponent beyond what was expected; below zero for places lost. None if
            they have not met in the player's last races.
    """

    id: PlayerId
    name: str
    met: int
    ahead: int
    behind: int
    points: int
    chance: float
    gained: float | None


@dataclass(frozen=True, slots=True)
class Upset(Win):
    """A win with its chance before the race."""

    chance: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two players against each other, from the side of the first.

    Attributes:
        chance: chance of the first player to be placed before the second next time.
        ahead: races in which the first player was ahead.
        behind: races in which the second player was ahead.
        meetings: all races of both, newest first.
    """

    chance: float
    ahead: int
    behind: int
    meetings: Sequence[Meeting]


def rivals(ledger: Ledger, board: Leaderboard, player: str, records: Sequence[OpponentRecord]) -> list[Rival]:
    """Add predictions to a player's records against opponents."""
    if not records:
        return []
    model = registry.create(board.model, board.parameters)
    current = ledger.careers.current(board.key, [player, *(record.id for record in records)])
    opponents = [current[record.id] for record in records]
    mine, theirs = np.array([current[player].state]), np.array([opponent.state for opponent in opponents])
    chances = model.win_probability(mine, theirs).tolist()
    gained: dict[str, float] = defaultdict(float)
    met = ledger.careers.encounters(board.key, player, current.keys(), RACES_COMPARED)
    expected = (
        model.win_probability(np.array([e.state for e in met]), np.array([e.other_state for e in met]))
        if met
        else np.empty(0)
    )
    for encounter, chance in zip(met, expected.tolist(), strict=True):
        place, other = encounter.place or np.inf, encounter.other_place or np.inf
        if place != other:
            gained[encounter.opponent] += (place < other) - chance
    return [
        Rival(r.id, now.name, r.met, r.ahead, r.behind, now.points, chance, gained.get(r.id))
        for r, now, chance in zip(records, opponents, chances, strict=True)
    ]


def compared(ledger: Ledger, board: Leaderboard, player: str, other: str) -> Comparison | None:
    """Compare two players on a leaderboard. Return None unless both have raced there."""
    standings = ledger.standing(board, player), ledger.standing(board, other)
    if standings[0] is None or standings[1] is None:
        return None
    model = registry.create(board.model, board.parameters)
    chance = model.win_probability(np.array([standings[0].state]), np.array([standings[1].state]))
    meetings = ledger.careers.meetings(board.key, player, other)
    places = [(each.place or np.inf, each.other_place or np.inf) for each in meetings]
    return Comparison(
        chance=float(chance[0]),
        ahead=sum(mine < theirs for mine, theirs in places),
        behind=sum(mine > theirs for mine, theirs in places),
        meetings=meetings,
    )


def upsets(
    ledger: Ledger, board: Leaderboard, *, player: str | None = None, settled: int, limit: int
) -> list[Upset]:
    """Return the least likely wins, the least likely first.

    Args:
        player: only wins of this player; of all players if None.
        settled: only wins of players with this many earlier races.
    """
    wins = ledger.careers.wins(board.key, player=player, settled=settled, limit=max(LIKELY_UPSETS, 2 * limit))
    if not wins:
        return []
    model = registry.create(board.model, board.parameters)
    fields: dict[int, list[tuple[str, tuple[float, ...]]]] = defaultdict(list)
    for row in ledger.careers.fields(board.key, sorted({win.sequence for win in wins})):
        fields[row.sequence].append((row.player, row.state))
    found = []
    for win in wins:
        players, states = zip(*fields[win.sequence], strict=True)
        chances = win_chances(model, np.array(states))
        found.append(extended(Upset, win, chance=float(chances[players.index(win.player.id)])))
    return sorted(found, key=lambda upset: upset.chance)[:limit]
