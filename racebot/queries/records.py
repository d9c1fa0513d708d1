"""Records of a leaderboard: the highest ratings ever, the biggest upsets, the longest streaks."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from racebot.ledger.rows import Leaderboard, moment_of, states_of
from racebot.ledger.store import Ledger
from racebot.queries.player import NamedPlayer
from racebot.queries.races import entrants_of, races_numbered
from racebot.ratings import registry
from racebot.ratings.forecast import win_chances

SHOWN = 10
"""Entries of each list."""
LIKELY_UPSETS = 12
"""Number of wins whose exact chance is computed in search of the least likely."""


@dataclass(frozen=True, slots=True)
class Peak:
    """The highest rating of a player, and the race that led to it."""

    player: NamedPlayer
    points: int
    race: str
    ended_at: datetime


@dataclass(frozen=True, slots=True)
class Streak:
    """A player's longest run of won races. `ongoing` is True if the last race is part of it."""

    player: NamedPlayer
    length: int
    ended_at: datetime
    ongoing: bool


@dataclass(frozen=True, slots=True)
class Upset:
    """A won race with its chance before the race.

    `lead` is the winner's points before the race minus the other rated entrants' mean.
    """

    player: NamedPlayer
    sequence: int
    race: str
    ended_at: datetime
    entrants: int
    lead: float
    chance: float


@dataclass(frozen=True, slots=True)
class HallOfFame:
    """Records of a leaderboard, each list best first, with one peak and one streak for each player."""

    peaks: Sequence[Peak]
    streaks: Sequence[Streak]
    upsets: Sequence[Upset]


def hall_of_fame(ledger: Ledger, board: Leaderboard, *, settled: int) -> HallOfFame:
    """Read the records of a leaderboard. A player's ratings and wins count after `settled` races."""
    surprises = upsets(ledger, board, settled=settled, limit=SHOWN)
    return HallOfFame(_peaks(ledger, board, settled), _streaks(ledger, board), surprises)


def upsets(
    ledger: Ledger, board: Leaderboard, *, player: str | None = None, settled: int, limit: int
) -> list[Upset]:
    """Return the least likely wins of one player or of all, the least likely first.

    Wins of players with fewer than `settled` earlier races do not count.
    """
    index = " INDEXED BY changes_by_player" if player is not None else ""
    wins = ledger.connection.rows(
        "SELECT players.id, players.name, won.sequence, rated.race, ended_at, result, lead FROM ("  # noqa: S608
        "  SELECT mine.sequence, mine.player,"
        "   mine.points_before - (sum(other.points_before) - mine.points_before) / (count(*) - 1.0)"
        "   AS lead"
        f"  FROM changes AS mine{index} CROSS JOIN changes AS other USING (leaderboard, sequence)"
        "  WHERE mine.leaderboard = ?1 AND mine.place = 1 AND mine.races_before >= ?3"
        f"  {'AND mine.player = ?2' if player is not None else ''}"
        "  AND mine.player NOT IN (SELECT player FROM hidden_players)"
        "  GROUP BY mine.sequence, mine.player HAVING count(*) > 1 ORDER BY lead LIMIT ?4"
        " ) AS won JOIN rated ON rated.leaderboard = ?1 AND rated.sequence = won.sequence"
        " JOIN races ON races.name = rated.race JOIN shown_players AS players ON players.id = won.player"
        " ORDER BY lead",
        board.key,
        player,
        settled,
        max(LIKELY_UPSETS, 2 * limit),
    )
    rows = ledger.connection.rows(
        "SELECT sequence, player, state_before FROM json_each(?2) AS wanted"
        " CROSS JOIN changes ON leaderboard = ?1 AND sequence = wanted.value ORDER BY sequence, player",
        board.key,
        json.dumps(sorted({win[2] for win in wins})),
    )
    fields: dict[int, dict[str, tuple[float, ...]]] = defaultdict(dict)
    for row, state in zip(rows, states_of([row[2] for row in rows]), strict=True):
        fields[row[0]][row[1]] = state
    model = registry.create(board.model, board.parameters)
    found = []
    for winner, name, sequence, race, ended_at, result, lead in wins:
        field = fields[sequence]
        chances = dict(zip(field, win_chances(model, np.array(list(field.values()))).tolist(), strict=True))
        entrants, moment = len(entrants_of(race, result)), moment_of(ended_at)
        found.append(
            Upset(NamedPlayer(winner, name), sequence, race, moment, entrants, lead, chances[winner])
        )
    return sorted(found, key=lambda upset: upset.chance)[:limit]


def _peaks(ledger: Ledger, board: Leaderboard, settled: int) -> list[Peak]:
    """Return the players with the highest ratings ever, after at least `settled` earlier races."""
    rows = ledger.connection.rows(
        "SELECT player, max(points_after) AS peak, sequence FROM changes INDEXED BY changes_by_player"
        " WHERE leaderboard = ? AND races_before >= ? AND player NOT IN (SELECT player FROM hidden_players)"
        " GROUP BY player ORDER BY peak DESC, sequence LIMIT ?",
        board.key,
        settled,
        SHOWN,
    )
    races = races_numbered(ledger, board.key, [row[2] for row in rows])
    names = ledger.players.names([row[0] for row in rows])
    return [
        Peak(NamedPlayer(player, names[player]), points, races[sequence].race, races[sequence].ended_at)
        for player, points, sequence in rows
    ]


def _streaks(ledger: Ledger, board: Leaderboard) -> list[Streak]:
    """Return the longest runs of won races, one for each player."""
    hidden = ledger.orders.hidden()
    runs: dict[str, tuple[int, int, int]] = {}
    longest: dict[str, tuple[int, int, int]] = {}
    for player, sequence, before in ledger.connection.rows(
        "SELECT player, sequence, races_before FROM changes"
        " WHERE leaderboard = ? AND place = 1 ORDER BY sequence",
        board.key,
    ):
        length, _, after = runs.get(player, (0, 0, -1))
        run = runs[player] = (length + 1 if before == after else 1, sequence, before + 1)
        if player not in longest or run[0] > longest[player][0]:
            longest[player] = run
    found = [(player, *run) for player, run in longest.items() if run[0] > 1 and player not in hidden]
    found = sorted(found, key=lambda each: (-each[1], each[2]))[:SHOWN]
    races = races_numbered(ledger, board.key, [sequence for _, _, sequence, _ in found])
    names = ledger.players.names(player for player, *_ in found)
    standings = {player: ledger.standings.get(board, player) for player in names}
    return [
        Streak(
            NamedPlayer(player, names[player]),
            length,
            races[sequence].ended_at,
            ongoing=(standing := standings[player]) is not None and standing.races == last,
        )
        for player, length, sequence, last in found
    ]
