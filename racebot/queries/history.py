"""A player's rated races: all of them, the last ones, and what they add up to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import groupby
from math import inf
from typing import NamedTuple

from racebot.ledger.rows import Leaderboard, damaged_race, moment_of
from racebot.ledger.store import Ledger
from racebot.queries import FinishTime, Label, Place
from racebot.queries.races import entrants_of, finish_time
from racebot.races.result import EntrantStatus, result_label
from racebot.standings.settle import RatedRace


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


class ShortResult(NamedTuple):
    """One result of a player. `place` is None for a race that the player did not finish."""

    place: int | None
    change: int


class Streak(NamedTuple):
    """The lengths of the current run of races that reached something, and of the longest."""

    now: int
    longest: int


def played_races(ledger: Ledger, leaderboard: int, player: str, limit: int = -1) -> list[PlayedRace]:
    """Return the last rated races of a player, newest first; all of them if `limit` is -1."""
    sql = (
        "SELECT rated.race, sequence, ended_at, place, goal,"
        " points_before, points_after, races_before, result"
        " FROM changes AS mine INDEXED BY changes_by_player"
        " CROSS JOIN rated USING (leaderboard, sequence) CROSS JOIN races ON races.name = rated.race"
        " WHERE leaderboard = ?1 AND player = ?2 ORDER BY sequence DESC LIMIT ?3"
    )
    rows = ledger.connection.stream(sql, leaderboard, player, limit)
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
) -> dict[str, list[ShortResult]]:
    """Return the last results of each player, oldest first, up to the race with the number `last`."""
    sql = (
        "SELECT wanted.value, (SELECT json_group_array(json_array(place, change)) FROM ("
        "  SELECT place, points_after - points_before AS change FROM changes INDEXED BY changes_by_player"
        "  WHERE leaderboard = ?1 AND player = wanted.value AND (?4 IS NULL OR sequence <= ?4)"
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
