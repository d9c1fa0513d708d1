"""Lists of a leaderboard's rated races, and all rating changes in order."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from hashlib import blake2b
from typing import Annotated, Any

from pydantic import Field
from pydantic_core import from_json

from racebot.ledger.rows import RATED_LATER, START, moment_of, parts_of
from racebot.ledger.store import Ledger
from racebot.queries import FinishTime, OptionalId, Parts, Place, ShownId
from racebot.races.outcome import TeamPolicy, places


@dataclass(frozen=True, slots=True)
class Winner:
    """A winner of a race."""

    id: OptionalId
    name: str


@dataclass(frozen=True, slots=True)
class RaceRow:
    """A race in a list. `entrants` and `finishers` include deleted accounts.

    `winners` is empty if no rating changed or nobody finished.
    """

    race: str
    sequence: int
    ended_at: datetime
    goal: str
    note: Annotated[str | None, Field(description="Why no rating changed")]
    entrants: int
    finishers: int
    winners: tuple[Winner, ...]


@dataclass(frozen=True, slots=True)
class RatingChange:
    """One change of a rating."""

    sequence: int
    race: str
    ended_at: datetime
    player: ShownId
    name: str
    place: Place
    before: int
    after: int
    races_before: int
    parts: Parts
    change: int
    finish_time: FinishTime


@dataclass(frozen=True, slots=True)
class RaceDigest:
    """A hash of everything the ledger stores about a race on a leaderboard, and the race's players."""

    race: str
    players: tuple[str, ...]
    value: int


def latest_races(ledger: Ledger, leaderboard: int, limit: int, offset: int = 0) -> list[RaceRow]:
    """Return rated races, newest first."""
    return _races(ledger, leaderboard, "ORDER BY sequence DESC LIMIT ? OFFSET ?", limit, offset)


def races_named(ledger: Ledger, text: str, limit: int) -> list[str]:
    """Return the names of rated races with this text in the slug, the newest first."""
    rows = ledger.connection.rows(
        "SELECT DISTINCT race FROM rated JOIN races ON races.name = race"
        " WHERE instr(substr(race, instr(race, '/') + 1), lower(?)) > 0 ORDER BY ended_at DESC LIMIT ?",
        text.strip(),
        limit,
    )
    return [row[0] for row in rows]


def races_numbered(ledger: Ledger, leaderboard: int, sequences: Iterable[int]) -> dict[int, RaceRow]:
    """Return rated races by their numbers in the sequence."""
    chosen = "AND sequence IN (SELECT value FROM json_each(?))"
    return {row.sequence: row for row in _races(ledger, leaderboard, chosen, json.dumps(list(sequences)))}


def corrected_at(ledger: Ledger, leaderboard: int, sequences: Iterable[int]) -> dict[int, datetime]:
    """Return when rated races counted or were last corrected, by their numbers in the sequence."""
    rows = ledger.connection.rows(
        "SELECT sequence, coalesce(corrected_at, counted_at) FROM json_each(?2) AS wanted"
        " CROSS JOIN rated ON leaderboard = ?1 AND sequence = wanted.value"
        " CROSS JOIN races ON races.name = rated.race",
        leaderboard,
        json.dumps(list(sequences)),
    )
    return {sequence: moment_of(moment) for sequence, moment in rows}


def rating_changes(
    ledger: Ledger, leaderboard: int, after: int = 0, limit: int = -1
) -> Iterator[RatingChange]:
    """Yield the changes of up to `limit` races after a sequence number, without those to be rated again."""
    which = "WHERE leaderboard = ?1 AND sequence > ?2 AND note IS NOT ?4 ORDER BY sequence LIMIT ?3"
    sql = (
        "SELECT sequence, player, players.name, place,"  # noqa: S608 - constants
        " points_before, points_after, races_before, parts"
        f" FROM (SELECT leaderboard, sequence FROM rated {which})"
        " CROSS JOIN changes USING (leaderboard, sequence)"
        " CROSS JOIN shown_players AS players ON players.id = player"
        " ORDER BY sequence, place IS NULL, place, player"
    )
    rows = ledger.connection.stream(sql, leaderboard, after, limit, RATED_LATER)
    sql = (
        "SELECT sequence, race, ended_at, result FROM rated"  # noqa: S608 - constants
        f" JOIN races ON races.name = race {which}"
    )
    races = ledger.connection.stream(sql, leaderboard, after, limit, RATED_LATER)
    of_race, race, ended_at = 0, "", START.counted_at
    withheld = ledger.people.withheld()
    entrants: dict[str, Mapping[str, Any]] = {}
    for sequence, player, name, place, points_before, points_after, races_before, parts in rows:
        while of_race < sequence:  # each result is read once, since most are long
            of_race, race, ended, result = next(races)
            ended_at = moment_of(ended)
            entrants = {each["user_id"]: each for each in entrants_of(result) if "user_id" in each}
        yield RatingChange(
            sequence=sequence,
            race=race,
            ended_at=ended_at,
            player=None if player in withheld else player,
            name=name,
            place=place,
            before=points_before,
            after=points_after,
            races_before=races_before,
            parts=dict(parts_of(parts)),
            change=points_after - points_before,
            finish_time=finish_time(entrants.get(player, {}), place),
        )


def race_digests(ledger: Ledger, leaderboard: int, names: Mapping[str, object]) -> list[RaceDigest]:
    """Return a digest of every rated race in order, over its result, changes and players' `names`."""
    rows = ledger.connection.rows(
        "SELECT rated.race, sequence, result, coalesce(corrected_at, counted_at) || coalesce(note, ''),"
        " (SELECT group_concat(player, char(31)) FROM changes AS c"
        "  WHERE c.leaderboard = rated.leaderboard AND c.sequence = rated.sequence),"
        " (SELECT json_group_array(json_array(place, points_before, points_after, races_before,"
        "   state_before, state_after, parts)) FROM changes AS c"
        "  WHERE c.leaderboard = rated.leaderboard AND c.sequence = rated.sequence)"
        " FROM rated CROSS JOIN races ON races.name = rated.race WHERE leaderboard = ? ORDER BY sequence",
        leaderboard,
    )
    hidden = ledger.people.hidden()

    @cache
    def shown(player: str) -> str:
        return f"{player in hidden}{names.get(player, '')}"

    digests = []
    for race, sequence, result, note, joined, changed in rows:
        players = tuple(joined.split("\x1f")) if joined else ()
        # The page of a race without changes shows the entrants of its result.
        shown_players = players or [each.get("user_id", "") for each in entrants_of(result)]
        parts = (str(sequence), result, note, changed, *map(shown, shown_players))
        digest = blake2b("\0".join(parts).encode(errors="replace"), digest_size=8).digest()
        digests.append(RaceDigest(race, players, int.from_bytes(digest, "big")))
    return digests


def entrants_of(result: str) -> list[dict[str, Any]]:
    """Return a stored result's entrants as JSON, faster than `race_of` does; none if it is damaged."""
    try:
        return list(from_json(result)["entrants"])
    except (KeyError, TypeError, ValueError):
        return []  # the race's own page says so


def finish_time(entrant: Mapping[str, Any], place: int | None) -> float | None:
    """Return the finish time of an entrant from `entrants_of`, in seconds; None without a place."""
    time = entrant.get("finish_time")
    return None if place is None or time is None else time / 1_000_000


def _races(ledger: Ledger, leaderboard: int, chosen: str, *values: Any) -> list[RaceRow]:
    rows = ledger.connection.rows(
        "SELECT rated.race, sequence, ended_at, goal, note, result, ("  # noqa: S608 - constants
        "  SELECT json_array(count(*), count(place), json_group_array(player) FILTER (WHERE place = 1))"
        "  FROM changes AS c WHERE c.leaderboard = rated.leaderboard AND c.sequence = rated.sequence)"
        f" FROM rated JOIN races ON races.name = rated.race WHERE leaderboard = ? {chosen}",
        leaderboard,
        *values,
    )
    counted = [json.loads(row[6]) for row in rows]
    names = ledger.people.names({player for *_, first in counted for player in first})
    withheld = ledger.people.withheld()
    teams = ledger.connection.value("SELECT teams FROM leaderboards WHERE id = ?", leaderboard)
    found = []
    for row, (rated, finishers, first) in zip(rows, counted, strict=True):
        race, sequence, ended_at, goal, note, result, _ = row
        winners = [Winner(None if player in withheld else player, names[player]) for player in first]
        entrants = len(shown := entrants_of(result)) or rated
        note = note if shown else "its stored result is damaged"
        if rated < entrants and (placed := places(ledger.races.find(race).result, TeamPolicy(teams))):
            finishers = sum(place is not None for place in placed.values())  # noqa: PLW2901
            winners += [Winner(None, e.name) for e, place in placed.items() if not e.user_id and place == 1]
        found.append(
            RaceRow(
                race=race,
                sequence=sequence,
                ended_at=moment_of(ended_at),
                goal=goal,
                note=note,
                entrants=entrants,
                finishers=finishers,
                winners=() if note else tuple(winners),
            )
        )
    return found
