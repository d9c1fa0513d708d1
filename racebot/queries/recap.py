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
class Feat:
    """A player's number of races with the last one, or gain of points with the race of the largest step."""

    player: NamedPlayer
    number: int
    race: NumberedRace


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
    improved: Sequence[Feat]
    most_races: Sequence[Feat]
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
    champions = [each.player.id for each in places if each.place == 1 and each.wins is not None]
    rows = ledger.connection.rows(
        "SELECT sequence, player, points_before, points_after, races_before FROM changes"
        " WHERE leaderboard = ? ORDER BY sequence",
        board.key,
    )
    changes = list(map(_Change._make, rows))
    points = {row.player: row.points for row in report.players.rows}
    since = _led_since(changes, points, champions[0]) if len(champions) == 1 else None
    gains = _gains(changes, points, settled)
    names = ledger.players.names([player for player, *_ in gains])
    last = {change.player: change.sequence for change in changes}
    frequent = [each for each in most(ledger, board, "races") if each.rank == 1]
    wanted = [change.sequence for change in (*changes[:1], *changes[-1:])]
    wanted += [since or 0, *(race for *_, race in gains), *(last[each.player.id] for each in frequent)]
    found = races_numbered(ledger, board.key, set(wanted))
    return Recap(
        races=report.races,
        podium=places,
        led_since=found.get(since or 0),
        span=(found[wanted[0]], found[wanted[1]]) if changes else None,
        upsets=upsets(ledger, board, settled=settled, limit=1),
        improved=[
            Feat(NamedPlayer(player, names[player]), gain, found[race]) for player, gain, race in gains
        ],
        most_races=[Feat(each.player, each.number, found[last[each.player.id]]) for each in frequent],
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
