"""The recap of a season: champion and podium, the last change of leader, gains, and the season's records."""

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
from racebot.queries.records import Record, Upset, hall_of_fame, ranked
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
class Recap:
    """The facts of a season, without hidden players. Equal players share one; a fact without a race is empty.

    `led_since` is the race since which the champion had the most points; None if two share the first place,
    or scores order the leaderboard. `span` are the first race and the last one that changed ratings.
    """

    races: int
    podium: Sequence[PodiumPlace]
    led_since: NumberedRace | None
    span: tuple[NumberedRace, NumberedRace] | None
    upsets: Sequence[Upset]
    improved: Sequence[Record]
    most_races: Sequence[Record]
    streaks: Sequence[Record]
    closest: Sequence[Record]
    fastest: Mapping[str, Sequence[Record]]


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
    fame = hall_of_fame(ledger, board, settled=settled)
    places = podium(ledger, board, listing, report.players)
    champions = [each.player.id for each in places if each.place == 1 and each.wins is not None]
    rows = ledger.connection.rows(
        "SELECT sequence, player, points_before, points_after, races_before FROM changes"
        " WHERE leaderboard = ? ORDER BY sequence",
        board.key,
    )
    changes = list(map(_Change._make, rows))
    points = {row.player: row.points for row in report.players.rows}
    since = _led_since(changes, points, champions[0]) if len(champions) == 1 else None
    ends = [change.sequence for change in (*changes[:1], *changes[-1:])]
    found = races_numbered(ledger, board.key, {*ends, since or 0})
    return Recap(
        races=report.races,
        podium=places,
        led_since=found.get(since or 0),
        span=(found[ends[0]], found[ends[1]]) if changes else None,
        upsets=fame.upsets[:1],
        improved=ranked(ledger, board, _gains(changes, points, settled)),
        most_races=_first(fame.races),
        streaks=_first(fame.streaks),
        closest=_first(fame.closest),
        fastest={goal: _first(times) for goal, times in fame.times.items()},
    )


def _first(records: Sequence[Record]) -> list[Record]:
    return [each for each in records if each.rank == 1]


def podium(ledger: Ledger, board: Leaderboard, listing: Listing, listed: ListedPlayers) -> list[PodiumPlace]:
    """Return the players on the first three places, as the leaderboard orders its listed players."""
    if listing.ordering is not None:
        racers = league(ledger, board, listing.ordering).standings
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


def _led_since(changes: Sequence[_Change], now: Mapping[str, int], leader: str) -> int | None:
    """Return the number of the race since which a player had the most points of all listed ones."""
    points, since = dict(now), None
    for sequence, undone in groupby(reversed(changes), attrgetter("sequence")):
        if points.get(leader) != max(points.values(), default=0):
            break
        since = sequence
        for change in undone:
            if not change.races_before:
                points.pop(change.player, None)
            elif change.player in points:
                points[change.player] = change.before
    return since


def _gains(
    changes: Sequence[_Change], now: Mapping[str, int], settled: int
) -> list[tuple[int, int, tuple[str]]]:
    """Return the most points that listed players gained, the race of the largest step, and the player."""
    start: dict[str, int] = {}
    steps: dict[str, tuple[int, int]] = {}
    for change in changes:
        if change.races_before >= settled and change.player in now:
            start.setdefault(change.player, change.before)
            step = (change.after - change.before, -change.sequence)
            steps[change.player] = max(steps.get(change.player, step), step)
    gains = {player: now[player] - before for player, before in start.items()}
    most = max(gains.values(), default=0)
    return [(gain, -steps[player][1], (player,)) for player, gain in gains.items() if gain == most > 0]
