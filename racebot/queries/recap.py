"""The recap of a season: champion and podium, who led and who improved, and the season's records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import ListedPlayers, open_leaderboard
from racebot.queries.listing import Listing
from racebot.queries.player import NamedPlayer
from racebot.queries.races import NumberedRace, races_numbered
from racebot.queries.records import (
    BestTime,
    CloseFinish,
    Streak,
    Upset,
    most,
    streaks,
    times_and_closest,
    upsets,
)
from racebot.queries.scores import league


@dataclass(frozen=True, slots=True)
class PodiumPlace:
    """A player on the podium. `total` is the points, or the score if scores order the leaderboard.

    `wins` is None if scores do. Equal players share a place.
    """

    place: int
    player: NamedPlayer
    total: float
    races: int
    wins: int | None


@dataclass(frozen=True, slots=True)
class Improvement:
    """A player's gain of points after their first races, and the race that brought most of it."""

    player: NamedPlayer
    gain: int
    points: int
    race: NumberedRace


@dataclass(frozen=True, slots=True)
class MostRaces:
    """A player with most races, and the last of them."""

    player: NamedPlayer
    races: int
    last: NumberedRace


@dataclass(frozen=True, slots=True)
class Recap:
    """The facts of a season. Hidden players are in none, and a fact that no race shows is empty.

    Attributes:
        races: number of races that count.
        listed: the listed players, who are read when they are asked for.
        podium: the first three places, with more players if some are equal.
        led_since: the race since which the champion had the most points; None if two share the first place,
            or scores order the leaderboard.
        span: the first race that changed ratings, and the last.
        upset: the win with the lowest chance.
        improved: the players who gained most points after their first `settled` races.
        streaks: the longest runs of won races.
        fastest: the fastest times of each goal.
    """

    races: int
    listed: ListedPlayers
    podium: Sequence[PodiumPlace]
    led_since: NumberedRace | None
    span: tuple[NumberedRace, NumberedRace] | None
    upset: Upset | None
    improved: Sequence[Improvement]
    most_races: Sequence[MostRaces]
    streaks: Sequence[Streak]
    closest: Sequence[CloseFinish]
    fastest: Mapping[str, Sequence[BestTime]]


class _Change(NamedTuple):
    """One change of a player's points. `races_before` counts the player's earlier races."""

    sequence: int
    player: str
    before: int
    after: int
    races_before: int


def recap(ledger: Ledger, board: Leaderboard, listing: Listing, *, settled: int) -> Recap:
    """Return the facts of a season. Upsets and improvements count after a player's first `settled` races."""
    report = open_leaderboard(ledger, board, listing)
    times, closest = times_and_closest(ledger, board)
    places = podium(ledger, board, listing, report.players)
    by_points = listing.scoring is None or listing.by_rating
    leader = places[0].player.id if by_points and [each.place for each in places].count(1) == 1 else None
    rows = ledger.connection.rows(
        "SELECT sequence, player, points_before, points_after, races_before FROM changes"
        " WHERE leaderboard = ? ORDER BY sequence",
        board.key,
    )
    changes = list(map(_Change._make, rows))
    points = {row.player: row.points for row in report.players.rows}
    since = _led_since(changes, points, leader)
    gains = _gains(changes, points, settled)
    last = {change.player: change.sequence for change in changes}
    frequent = [each for each in most(ledger, board, "races") if each.rank == 1]
    ends = (changes[0].sequence, changes[-1].sequence) if changes else ()
    wanted = {*ends, *([since] if since else ()), *(race for *_, race in gains)}
    found = races_numbered(ledger, board.key, wanted | {last[each.player.id] for each in frequent})
    names = ledger.players.names([player for player, *_ in gains])
    return Recap(
        races=report.races,
        listed=report.players,
        podium=places,
        led_since=found[since] if since else None,
        span=(found[ends[0]], found[ends[1]]) if ends else None,
        upset=next(iter(upsets(ledger, board, settled=settled, limit=1)), None),
        improved=[
            Improvement(NamedPlayer(player, names[player]), gain, points[player], found[race])
            for player, gain, race in gains
        ],
        most_races=[MostRaces(each.player, each.number, found[last[each.player.id]]) for each in frequent],
        streaks=[each for each in streaks(ledger, board) if each.rank == 1],
        closest=[each for each in closest if each.rank == 1],
        fastest={goal: [each for each in best if each.rank == 1] for goal, best in times.items()},
    )


def podium(ledger: Ledger, board: Leaderboard, listing: Listing, listed: ListedPlayers) -> list[PodiumPlace]:
    """Return the players on the first three places, as the leaderboard orders its listed players."""
    if listing.scoring is not None and not listing.by_rating:
        racers = league(ledger, board, listing.scoring).standings
        return [
            PodiumPlace(each.place, NamedPlayer(each.player, each.name), total.score, total.entered, None)
            for each in racers
            if each.place <= 3
            for total in [each.total]
        ]
    rows = [row for row in listed.rows if listed.places[row.rating] <= 3]
    return [
        PodiumPlace(each.place, NamedPlayer(each.id, each.name), each.points, each.races, each.wins)
        for each in listed.chosen(rows)
    ]


def _led_since(changes: Sequence[_Change], now: Mapping[str, int], leader: str | None) -> int | None:
    """Return the number of the race since which a player had the most points of all listed ones."""
    points, since = dict(now), None
    for sequence, undone in groupby(reversed(changes), attrgetter("sequence")):
        if leader is None or points.get(leader) != max(points.values(), default=0):
            break
        since = sequence
        for change in undone:
            if not change.races_before:
                points.pop(change.player, None)
            elif change.player in points:
                points[change.player] = change.before
    return since


def _gains(changes: Sequence[_Change], now: Mapping[str, int], settled: int) -> list[tuple[str, int, int]]:
    """Return the listed players who gained most, with the gain and the race of the largest step."""
    start: dict[str, int] = {}
    steps: dict[str, tuple[int, int]] = {}
    for change in changes:
        if change.races_before >= settled and change.player in now:
            start.setdefault(change.player, change.before)
            step = (change.after - change.before, -change.sequence)
            steps[change.player] = max(steps.get(change.player, step), step)
    gains = {player: now[player] - before for player, before in start.items()}
    most = max(gains.values(), default=0)
    return [(player, gain, -steps[player][1]) for player, gain in gains.items() if gain == most > 0]
