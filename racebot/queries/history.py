"""A player's rated races: all of them, the last ones, and what they add up to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from typing import NamedTuple

from racebot.ledger.rows import Leaderboard, damaged_race, moment_of
from racebot.ledger.store import Ledger
from racebot.queries import FinishTime, Label, Place
from racebot.queries.races import entrants_of, finish_time
from racebot.races.result import EntrantStatus, result_label
from racebot.standings.settle import RatedRace

ROUND_RACES = (50, 100, 200, 300, 500, 1000, 2000)
ROUND_WINS = (10, 50, 100)
"""Numbers of races and wins that are milestones."""
WEEKS_OF_YEAR = 53
"""Weeks of a year, the first and the last one in part."""


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


def milestones(races: Sequence[PlayedRace]) -> list[tuple[str, PlayedRace]]:
    """Return what a player has reached and in which race, the latest first."""
    wins = [race for race in races if race.place == 1]
    found = {"First race": races[0]} | ({"First win": wins[0]} if wins else {})
    found |= {f"{number}th race": races[number - 1] for number in ROUND_RACES if number <= len(races)}
    found |= {f"{number}th win": wins[number - 1] for number in ROUND_WINS if number <= len(wins)}
    found["Highest rating"] = max(races, key=lambda race: race.after)
    return sorted(found.items(), key=lambda each: -each[1].sequence)


def last_year(races: Sequence[PlayedRace]) -> tuple[date, list[PlayedRace]]:
    """Return the Monday on which a player's last year begins, and the races since then."""
    last = races[-1].ended_at.astimezone(UTC).date()
    first = last - timedelta(days=last.weekday() + 7 * (WEEKS_OF_YEAR - 1))
    return first, [race for race in races if race.ended_at.astimezone(UTC).date() >= first]


def run(reached: Iterable[bool]) -> Streak:
    """Return the lengths of the runs of races that reached something."""
    runs = [sum(group) if each else 0 for each, group in groupby(reached)]
    return Streak(runs[-1], max(runs))


def fastest(races: Iterable[PlayedRace]) -> PlayedRace | None:
    """Return the race with the best finish time, the first of several; None without any time."""
    timed = (race for race in races if race.finish_time is not None)
    return min(timed, key=lambda race: race.finish_time or 0.0, default=None)


def fastest_of_goals(races: Sequence[PlayedRace]) -> list[PlayedRace]:
    """Return the race with the best finish time of each goal that has one, by goal."""
    goals = sorted({race.goal for race in races})
    return list(filter(None, (fastest(race for race in races if race.goal == goal) for goal in goals)))
