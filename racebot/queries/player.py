"""Players: their standing on each leaderboard, their rated races, and their records against each other."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from itertools import groupby
from math import inf
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from racebot.ledger.rows import Leaderboard, NamedPlayer, moment_of, states_of
from racebot.ledger.store import Ledger
from racebot.queries import Beside, FinishTime, Label, Listed, Place, ShownId
from racebot.queries.leaderboard import PlacedPlayer, place_among
from racebot.queries.races import entrants_of, finish_time
from racebot.queries.standings import Listing
from racebot.races.result import result_label
from racebot.ratings import registry
from racebot.standings.rater import current_states
from racebot.standings.settle import RatedRace


@dataclass(slots=True)  # not frozen: a page makes thousands, each in a fifth of the time
class PlayedRace:
    """One rated race of a player. `entrants` includes deleted accounts."""

    race: str
    sequence: int
    ended_at: datetime
    place: Place
    standing: Label
    entrants: int
    before: int
    after: int
    races_before: int
    change: int
    goal: str
    finish_time: FinishTime


class ShortResult(NamedTuple):
    """One result of a player. `place` is None for a race that the player did not finish."""

    place: int | None
    change: int


class Streak(NamedTuple):
    """The lengths of the current run of races that reached something, and of the longest."""

    now: int
    longest: int


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


@dataclass(slots=True)  # as `PlayedRace`
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

    @cached_property
    def opponents(self) -> Sequence[OpponentRecord]:
        """The player's opponents, the most frequent first."""
        return opponents_of(self.ledger, self.board.key, self.standing.id)

    def rivals(self, first: int = 0, last: int | None = None) -> list[Rival]:
        """Return the opponents from `first` up to `last` with predictions, the most frequent first."""
        records, board = self.opponents[first:last], self.board
        if not records:
            return []
        sql = (
            "SELECT name, points, state FROM json_each(?2) AS wanted"
            " CROSS JOIN standings ON leaderboard = ?1 AND player = wanted.value"
            " CROSS JOIN shown_players ON shown_players.id = player ORDER BY wanted.key"
        )
        now = self.ledger.connection.rows(sql, board.key, json.dumps([record.id for record in records]))
        names, points, states = zip(*now, strict=True)
        model, own = registry.create(board.model, board.parameters), np.array([self.standing.state])
        chances = model.win_probability(own, np.array(states_of(states))).tolist()
        withheld = self.ledger.people.withheld()
        return [
            Rival(None if record.id in withheld else record.id, name, *record[1:4], theirs, chance)
            for record, name, theirs, chance in zip(records, names, points, chances, strict=True)
        ]


def rated_players(ledger: Ledger) -> list[NamedPlayer]:
    """Return all players with a rating who are not hidden, by id."""
    rows = ledger.connection.rows(
        "SELECT id, name FROM shown_players WHERE id IN (SELECT player FROM standings)"
        " AND id NOT IN (SELECT player FROM hidden_players) ORDER BY id"
    )
    return [NamedPlayer(*row) for row in rows]


def player_standing(
    ledger: Ledger, board: Leaderboard, listing: Listing, player: str, ratings: Sequence[float] | None = None
) -> PlayerStanding | None:
    """Return a player's standing on a leaderboard, as `place_among` does; None if they have not raced."""
    standing = ledger.standings.get(board, player)
    if standing is None:
        return None
    place, listed = place_among(ledger, board, standing, listing, ratings)
    more = {"category": board.category, "leaderboard": board.name, "listed": listed}
    return PlayerStanding.of(standing, standing.name, place, listing, **more)


def player_report(
    ledger: Ledger, name: str, listing: Callable[[Leaderboard], Listing], limit: int = 20
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
            found.append(StandingWithHistory(standing, played_races(ledger, board.key, player.id, limit)))
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


def meetings(
    history: Sequence[PlayedRace], other: Sequence[PlayedRace]
) -> list[tuple[PlayedRace, PlayedRace]]:
    """Return the races in the histories of two players on a leaderboard, newest first, as each ran it."""
    theirs = {race.sequence: race for race in other}
    return [(race, theirs[race.sequence]) for race in reversed(history) if race.sequence in theirs]


def opponents_of(
    ledger: Ledger, leaderboard: int | None, player: str, other: str | None = None
) -> list[OpponentRecord]:
    """Return a player's opponents, or one of them, most races together first, then the most recently met."""
    sql = (
        "SELECT other.player, count(*) AS met,"
        " count(*) FILTER (WHERE mine.place < coalesce(other.place, 1e9)),"
        " count(*) FILTER (WHERE other.place < coalesce(mine.place, 1e9)),"
        " count(*) FILTER (WHERE coalesce(mine.place, other.place) IS NULL)"
        " FROM changes AS mine INDEXED BY changes_by_player"
        " CROSS JOIN changes AS other USING (leaderboard, sequence)"
        " WHERE leaderboard = ?1 AND mine.player = ?2 AND other.player <> ?2"
        " AND (?3 IS NULL OR other.player = ?3)"
        " GROUP BY other.player ORDER BY met DESC, max(sequence) DESC, other.player"
    )
    return list(map(OpponentRecord._make, ledger.connection.rows(sql, leaderboard, player, other)))


def played_races(ledger: Ledger, leaderboard: int, player: str, limit: int = -1) -> list[PlayedRace]:
    """Return a player's last rated races, newest first, without those to be rated again; -1 means all.

    Of a damaged result, what its changes say is returned.
    """
    sql = (
        "SELECT rated.race, sequence, ended_at, place, goal,"
        " points_before, points_after, races_before, result"
        " FROM changes AS mine INDEXED BY changes_by_player"
        " CROSS JOIN rated USING (leaderboard, sequence) CROSS JOIN races ON races.name = rated.race"
        " WHERE leaderboard = ?1 AND player = ?2 AND note IS NULL ORDER BY sequence DESC LIMIT ?3"
    )
    rows = ledger.connection.rows(sql, leaderboard, player, limit)
    sql_of_race = "SELECT count(*) FROM changes WHERE leaderboard = ? AND sequence = ?"
    found = []
    for race, sequence, ended_at, place, goal, before, after, races_before, result in rows:
        entrants = entrants_of(result)
        entrant = next((each for each in entrants if each.get("user_id") == player), {})
        found.append(
            PlayedRace(
                race=race,
                sequence=sequence,
                ended_at=moment_of(ended_at),
                place=place,
                standing=result_label(entrant.get("status", ""), place),
                entrants=len(entrants) or ledger.connection.value(sql_of_race, leaderboard, sequence),
                before=before,
                after=after,
                races_before=races_before,
                change=after - before,
                goal=goal,
                finish_time=finish_time(entrant, place),
            )
        )
    return found


def last_race(ledger: Ledger, board: Leaderboard, player: str) -> RatedRace | None:
    """Return the last race that changed a player's rating, not to be rated again; None without one."""
    name = ledger.connection.value(
        "SELECT race FROM changes INDEXED BY changes_by_player JOIN rated USING (leaderboard, sequence)"
        " WHERE changes.leaderboard = ? AND player = ? AND note IS NULL ORDER BY sequence DESC LIMIT 1",
        board.id,
        player,
    )
    row = None if name is None else ledger.ratings.get(board, name)
    return None if row is None else RatedRace(board, ledger.races.find(name).result, row.changes)


def last_results(
    ledger: Ledger, leaderboard: int, players: Sequence[str], count: int, last: int | None = None
) -> dict[str, list[ShortResult]]:
    """Return the last results of each player, oldest first, up to the race with the number `last`."""
    sql = (
        "SELECT wanted.value, (SELECT json_group_array(json_array(place, change)) FROM ("
        "  SELECT place, points_after - points_before AS change FROM changes INDEXED BY changes_by_player"
        "  CROSS JOIN rated USING (leaderboard, sequence) WHERE leaderboard = ?1 AND note IS NULL"
        "  AND player = wanted.value AND (?4 IS NULL OR sequence <= ?4)"
        "  ORDER BY sequence DESC LIMIT ?3)) FROM json_each(?2) AS wanted"
    )
    rows = ledger.connection.rows(sql, leaderboard, json.dumps(list(players)), count, last)
    return {player: [ShortResult(*each) for each in reversed(json.loads(found))] for player, found in rows}


def months_of(races: Sequence[PlayedRace]) -> list[tuple[date, list[PlayedRace]]]:
    """Return the first day of each month with its races, the newest month first."""
    by_month = groupby(races, key=lambda race: race.ended_at.astimezone(UTC).date().replace(day=1))
    return [(month, list(group)) for month, group in by_month][::-1]


def run(reached: Iterable[bool]) -> Streak:
    """Return the lengths of the runs of races that reached something."""
    runs = [sum(group) if each else 0 for each, group in groupby(reached)]
    return Streak(runs[-1], max(runs))


def fastest_of_goals(races: Sequence[PlayedRace]) -> list[PlayedRace]:
    """Return the race with the best finish time of each goal that has one, by goal; the first of several."""
    best: dict[str, tuple[float, PlayedRace]] = {}
    for race in races:
        if race.finish_time is not None and race.finish_time < best.get(race.goal, (inf, race))[0]:
            best[race.goal] = race.finish_time, race
    return [best[goal][1] for goal in sorted(best)]
