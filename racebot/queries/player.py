"""Players: their standing on each leaderboard, their races, and their records against each other."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from racebot.ledger.rows import Leaderboard, NamedPlayer, damaged_race, moment_of, states_of
from racebot.ledger.store import Ledger
from racebot.queries.fields import FinishTime, Label, Listed, Place, ShownId
from racebot.queries.leaderboard import RatedPlayer, place_among
from racebot.queries.listing import Listing
from racebot.queries.races import entrants_of, finish_time
from racebot.races.result import EntrantStatus, result_label
from racebot.ratings import registry
from racebot.standings.rater import current_states
from racebot.standings.settle import RatedRace
from racebot.text.format import with_fields


@dataclass(frozen=True, slots=True)
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


class Result(NamedTuple):
    """One result of a player. `place` is None for a race that the player did not finish."""

    place: int | None
    change: int


@dataclass(frozen=True, slots=True)
class PlayerStanding(RatedPlayer):
    """A player's standing on one leaderboard."""

    category: str
    leaderboard: str
    listed: Listed


@dataclass(frozen=True, slots=True)
class StandingWithHistory(PlayerStanding):
    """A player's standing on one leaderboard with their last rated races, newest first."""

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
    """Two players against each other: all races of both, newest first, and the chance in the next."""

    chance: Annotated[float, Field(description="Chance of `a` to be placed before `b` next time")]
    ahead: Annotated[int, Field(description="Races in which `a` was placed before `b`")]
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

    id: ShownId
    name: str
    met: int
    ahead: int
    behind: int
    points: int
    chance: float


def rated_players(ledger: Ledger) -> list[NamedPlayer]:
    """Return all players with a rating, by id."""
    rows = ledger.connection.rows(
        "SELECT id, name FROM shown_players WHERE id IN ("
        "  SELECT player FROM standings JOIN leaderboards ON leaderboards.id = leaderboard"
        "  WHERE shadow_of IS NULL) ORDER BY id"
    )
    return [NamedPlayer(*row) for row in rows]


def player_standing(
    ledger: Ledger, board: Leaderboard, listing: Listing, player: str, *, provisional_races: int = 0
) -> PlayerStanding | None:
    """Return a player's standing on a leaderboard; None if they have not raced there."""
    standing = ledger.standings.get(board, player)
    if standing is None:
        return None
    place, listed = place_among(ledger, board, standing, listing)
    shared = standing._asdict()
    del shared["player"], shared["hidden"]
    return PlayerStanding(
        **shared,
        id=player,
        place=place,
        provisional=standing.races < provisional_races,
        category=board.category,
        leaderboard=board.name,
        listed=listed,
    )


def player_report(
    ledger: Ledger,
    name: str,
    listing: Callable[[Leaderboard], Listing],
    *,
    provisional_races: int = 0,
    limit: int = 20,
) -> PlayerReport:
    """Read a player's standing and last `limit` races on every leaderboard.

    Args:
        name: the player's name, in any case, or id.

    Raises:
        NoSuchEntryError: no player, or more than one, has that name.
    """
    player = ledger.players.find(name)
    found = []
    for board in ledger.leaderboards.all():
        standing = player_standing(
            ledger, board, listing(board), player.id, provisional_races=provisional_races
        )
        if standing is not None:
            history = played_races(ledger, board.key, player.id, limit)
            found.append(with_fields(StandingWithHistory, standing, history=history))
    return PlayerReport(player.id, player.shown, found)


def played_races(ledger: Ledger, leaderboard: int, player: str, limit: int = -1) -> list[PlayedRace]:
    """Return the last rated races of a player, newest first; all of them if `limit` is -1."""
    rows = ledger.connection.stream(
        "SELECT rated.race, sequence, ended_at, place, goal,"
        " points_before, points_after, races_before, result"
        " FROM changes AS mine INDEXED BY changes_by_player"
        " CROSS JOIN rated USING (leaderboard, sequence) CROSS JOIN races ON races.name = rated.race"
        " WHERE leaderboard = ?1 AND player = ?2 ORDER BY sequence DESC LIMIT ?3",
        leaderboard,
        player,
        limit,
    )
    found = []
    for race, sequence, ended_at, place, goal, before, after, races_before, result in rows:
        entrants = entrants_of(race, result)
        try:
            entrant = next(each for each in entrants if each.get("user_id") == player)
            standing = result_label(EntrantStatus(entrant["status"]), place)
        except (StopIteration, KeyError, ValueError):
            raise damaged_race(race, f"says nothing about {player}") from None
        found.append(
            PlayedRace(
                race=race,
                sequence=sequence,
                ended_at=moment_of(ended_at),
                place=place,
                standing=standing,
                entrants=len(entrants),
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
    """Return the last race that changed a player's rating; None if there is none."""
    name = ledger.connection.value(
        "SELECT race FROM changes INDEXED BY changes_by_player JOIN rated USING (leaderboard, sequence)"
        " WHERE changes.leaderboard = ? AND player = ? ORDER BY sequence DESC LIMIT 1",
        board.id,
        player,
    )
    row = None if name is None else ledger.ratings.get(board, name)
    return None if row is None else RatedRace(board, ledger.races.find(name).result, row.changes)


def last_results(
    ledger: Ledger, leaderboard: int, players: Sequence[str], count: int, last: int | None = None
) -> dict[str, list[Result]]:
    """Return the last results of each player, oldest first, up to the race with the number `last`."""
    rows = ledger.connection.rows(
        "SELECT wanted.value, (SELECT json_group_array(json_array(place, change)) FROM ("
        "  SELECT place, points_after - points_before AS change FROM changes INDEXED BY changes_by_player"
        "  WHERE leaderboard = ?1 AND player = wanted.value AND (?4 IS NULL OR sequence <= ?4)"
        "  ORDER BY sequence DESC LIMIT ?3)) FROM json_each(?2) AS wanted",
        leaderboard,
        json.dumps(list(players)),
        count,
        last,
    )
    return {player: [Result(*each) for each in reversed(json.loads(found))] for player, found in rows}


def next_points(ledger: Ledger, board: Leaderboard, player: str) -> int:
    """Return a player's points before the next race; those of a newcomer if they have not raced."""
    ((state, _),) = current_states(ledger, board, [player])
    return int(registry.create(board.model, board.parameters).points(np.array([state]))[0])


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
        "SELECT race, ended_at, mine.place, theirs.place, result,"
        " mine.points_after - mine.points_before, theirs.points_after - theirs.points_before"
        " FROM changes AS mine INDEXED BY changes_by_player"
        " CROSS JOIN changes AS theirs USING (leaderboard, sequence)"
        " CROSS JOIN rated USING (leaderboard, sequence) CROSS JOIN races ON races.name = rated.race"
        " WHERE leaderboard = ? AND mine.player = ? AND theirs.player = ? ORDER BY sequence DESC",
        board.id,
        player,
        other,
    )
    found = []
    for race, ended_at, place, other_place, result, *changes in rows:
        entrants = {each.get("user_id"): each for each in entrants_of(race, result)}
        if not {player, other} <= entrants.keys():
            raise damaged_race(race, f"lacks {player} or {other}")
        times = finish_time(entrants[player], place), finish_time(entrants[other], other_place)
        found.append(Meeting(race, moment_of(ended_at), place, other_place, *times, *changes))
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
