"""Players: their standing on each leaderboard, and their records against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from racebot.ledger.rows import Leaderboard, NamedPlayer
from racebot.ledger.store import Ledger
from racebot.queries import Beside, FinishTime, Listed, Place, ShownId
from racebot.queries.history import PlayedRace, played_races
from racebot.queries.leaderboard import PlacedPlayer, place_among
from racebot.queries.standings import Listing
from racebot.ratings import registry
from racebot.standings.rater import current_states

_TOGETHER = (
    "FROM changes AS mine INDEXED BY changes_by_player"
    " CROSS JOIN changes AS other USING (leaderboard, sequence)"
    " WHERE leaderboard = ?1 AND mine.player = ?2 AND other.player <> ?2"
)
"""The changes of a player and of others in each race that both entered."""


@dataclass(frozen=True, slots=True)
class PlayerStanding(PlacedPlayer):
    """A player's standing on one leaderboard."""

    category: str
    leaderboard: str
    listed: Listed


@dataclass(frozen=True, slots=True)
class StandingWithHistory:
    """A player's standing on one leaderboard with their last rated races, newest first."""

    standing: Beside[PlayerStanding]
    history: Sequence[PlayedRace]


@dataclass(frozen=True, slots=True)
class PlayerReport:
    """A player with their standing and last races on every leaderboard they have raced on."""

    id: str
    name: str
    leaderboards: Sequence[StandingWithHistory]


@dataclass(frozen=True, slots=True)
class Meeting:
    """A race that two players both entered. Times are in seconds."""

    race: str
    ended_at: datetime
    place: Place
    other_place: int | None
    finish_time: FinishTime
    other_finish_time: float | None
    change: int
    other_change: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """The record of two players against each other, and the chance in their next race."""

    chance: Annotated[float, Field(description="Chance of `a` to be placed before `b` next time")]
    met: Annotated[int, Field(description="Races that both entered")]
    ahead: Annotated[int, Field(description="Races in which `a` was placed before `b`")]
    behind: int
    unfinished: Annotated[int, Field(description="Races that neither finished")]


class OpponentRecord(NamedTuple):
    """A player's record against another: races met, placed ahead, placed behind, and finished by neither."""

    id: str
    met: int
    ahead: int
    behind: int
    unfinished: int


@dataclass(frozen=True, slots=True)
class Rival:
    """A player's record against an opponent, whose `points` are those of now, and the chance to beat them."""

    id: ShownId
    name: str
    met: int
    ahead: int
    behind: int
    points: int
    chance: float


@dataclass(frozen=True, eq=False)
class PlayerRecord:
    """A player's standing and races on a leaderboard, oldest first. Opponents are read when asked for."""

    ledger: Ledger
    board: Leaderboard
    standing: PlayerStanding
    history: Sequence[PlayedRace]

    @property
    def latest(self) -> datetime | None:
        """The end of the leaderboard's last race."""
        return self.ledger.standings.latest_race(self.board)

    @cached_property
    def opponents(self) -> Sequence[OpponentRecord]:
        """The player's opponents, the most frequent first."""
        return opponents_of(self.ledger, self.board.key, self.standing.id)

    def rivals(self, first: int = 0, last: int | None = None) -> list[Rival]:
        """Return the opponents from `first` up to `last` with predictions, the most frequent first."""
        records, board = self.opponents[first:last], self.board
        if not records:
            return []
        ids = [record.id for record in records]
        current = {each.player: each for each in self.ledger.standings.of(board, ids)}
        model, theirs = registry.create(board.model, board.parameters), [current[each].state for each in ids]
        chances = model.win_probability(np.array([self.standing.state]), np.array(theirs)).tolist()
        withheld, found = self.ledger.people.withheld(), []
        for (opponent, met, ahead, behind, _), chance in zip(records, chances, strict=True):
            shown, now = None if opponent in withheld else opponent, current[opponent]
            found.append(Rival(shown, now.name, met, ahead, behind, now.points, chance))
        return found


def rated_players(ledger: Ledger) -> list[NamedPlayer]:
    """Return all players with a rating who are not hidden, by id."""
    rows = ledger.connection.rows(
        "SELECT id, name FROM shown_players WHERE id IN (SELECT player FROM standings)"
        " AND id NOT IN (SELECT player FROM hidden_players) ORDER BY id"
    )
    return [NamedPlayer(*row) for row in rows]


def player_standing(
    ledger: Ledger, board: Leaderboard, listing: Listing, player: str
) -> PlayerStanding | None:
    """Return a player's standing on a leaderboard; None if they have not raced there."""
    standing = ledger.standings.get(board, player)
    if standing is None:
        return None
    place, listed = place_among(ledger, board, standing, listing)
    more = {"category": board.category, "leaderboard": board.name, "listed": listed}
    return PlayerStanding.of(standing, standing.name, place, listing, **more)


def player_report(
    ledger: Ledger,
    name: str,
    listing: Callable[[Leaderboard], Listing],
    limit: int = 20,
) -> PlayerReport:
    """Read the standing and last `limit` races on every leaderboard of the player with a name or id.

    Raises:
        NoSuchEntryError: no player, or more than one, has that name.
    """
    player = ledger.players.find(name)
    found = []
    for board in ledger.leaderboards.all():
        standing = player_standing(ledger, board, listing(board), player.id)
        if standing is not None:
            history = played_races(ledger, board.key, player.id, limit)
            found.append(StandingWithHistory(standing, history))
    return PlayerReport(player.id, player.shown, found)


def next_points(ledger: Ledger, board: Leaderboard, player: str) -> int:
    """Return a player's points before the next race; those of a newcomer if they have not raced."""
    ((state, _),) = current_states(ledger, board, [player])
    return int(registry.create(board.model, board.parameters).points(np.array([state]))[0])


def compared(ledger: Ledger, board: Leaderboard, player: str, other: str) -> Comparison:
    """Compare two players on a leaderboard. A player who has not raced there counts as a newcomer."""
    model = registry.create(board.model, board.parameters)
    states = np.array([state for state, _ in current_states(ledger, board, [player, other])])
    chance = float(model.win_probability(states[:1], states[1:])[0])
    never = OpponentRecord(other, 0, 0, 0, 0)
    _, *together = next(iter(opponents_of(ledger, board.id, player, other)), never)
    return Comparison(chance, *together)


def meetings(history: Sequence[PlayedRace], other: Sequence[PlayedRace]) -> list[Meeting]:
    """Return the races in the histories of two players on a leaderboard, newest first."""
    theirs = {race.sequence: race for race in other}
    both = ((race, theirs[race.sequence]) for race in reversed(history) if race.sequence in theirs)
    return [
        Meeting(
            race=one.race,
            ended_at=one.ended_at,
            place=one.place,
            other_place=other.place,
            finish_time=one.finish_time,
            other_finish_time=other.finish_time,
            change=one.change,
            other_change=other.change,
        )
        for one, other in both
    ]


def opponents_of(
    ledger: Ledger, leaderboard: int | None, player: str, other: str | None = None
) -> list[OpponentRecord]:
    """Return a player's opponents, or one of them, most races together first, then the most recently met."""
    sql = (
        "SELECT other.player, count(*) AS met,"
        " sum(coalesce(mine.place, 1e9) < coalesce(other.place, 1e9)),"
        " sum(coalesce(other.place, 1e9) < coalesce(mine.place, 1e9)),"
        f" sum(coalesce(mine.place, other.place) IS NULL) {_TOGETHER}"
        f" {'' if other is None else 'AND other.player = ?3'}"
        " GROUP BY other.player ORDER BY met DESC, max(sequence) DESC, other.player"
    )
    values = [leaderboard, player, *([] if other is None else [other])]
    return list(map(OpponentRecord._make, ledger.connection.rows(sql, *values)))
