"""Rates races one after another, in memory, from the ratings with which a leaderboard starts."""

import logging
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib.metadata import version
from itertools import repeat

import numpy as np

from racebot import __version__
from racebot.errors import ModelError, PayloadError
from racebot.ledger.rows import END, TEAM_RACE, Change, Leaderboard, Position, RatedRow, Standing, State
from racebot.ledger.store import Ledger
from racebot.races.outcome import PlacedRace, TeamPolicy, outcome_of
from racebot.races.result import RaceResult
from racebot.ratings import registry
from racebot.ratings.model import REVISION, Carries, RatingModel
from racebot.ratings.models.hurdle import HurdleModel

log = logging.getLogger(__name__)

NOBODY_FINISHED = "nobody finished"
TOO_FEW = "fewer than two rated entrants to compare"
UNCOMPARABLE = "its results cannot be compared"
UNSUITED = "the model cannot rate it"


@cache
def this_platform() -> str:
    """Return the versions and hardware that can change the last bits of a rating."""
    libc, libc_version = platform.libc_ver()
    return (
        f"racebot {__version__}, models {REVISION}, {platform.system()} {platform.machine()}, "
        f"{libc or 'libc'} {libc_version}, Python {platform.python_version()}, "
        f"numpy {version('numpy')}, scipy {version('scipy')}"
    )


def is_current(rated_on: str) -> bool:
    """Return whether the models that rated on a platform are of today's revision."""
    return f", models {REVISION}, " in rated_on


class Rater:
    """A leaderboard's model and standings, which each rated race updates. Nothing is read or written.

    Args:
        carried: the states that players carry over from an earlier leaderboard.
        next_sequence: the number of the next race in the leaderboard's sequence.
    """

    def __init__(
        self,
        board: Leaderboard,
        carried: Mapping[str, State] | None = None,
        standings: Iterable[Standing] = (),
        *,
        next_sequence: int = 1,
    ) -> None:
        self._standings = {standing.player: standing for standing in standings}
        self.model: RatingModel = registry.create(board.model, board.parameters)
        self.teams = TeamPolicy(board.teams)
        self._sequence = next_sequence
        self._carried = carried or {}
        self._initial: State = tuple(self.model.initial().tolist())

    def load(self, standings: Iterable[Standing]) -> None:
        """Add standings, from which to start."""
        self._standings.update((standing.player, standing) for standing in standings)

    def rate_next(self, result: RaceResult, note: str | None = None) -> RatedRow:
        """Rate the next race and update the standings.

        A race that an order keeps from counting has a note, and so gets one that cannot be rated.
        """
        changes: list[Change] = []
        if note is None:
            try:
                changes, note = self._changes_of(result)
            except PayloadError as error:
                log.warning("%s", error)
                note = UNCOMPARABLE
            except ModelError:
                note = UNSUITED
        row = RatedRow(self._sequence, result.name, tuple(changes), note)
        self._sequence += 1
        return row

    def state(self, player: str) -> tuple[State, bool]:
        """Return a player's state before the next race, and whether the player has raced here."""
        standing = self._standings.get(player)
        if standing is None:
            return self._carried.get(player, self._initial), False
        return standing.state, True

    def standings(self) -> list[Standing]:
        """Return the current standings, sorted by player."""
        return [self._standings[player] for player in sorted(self._standings)]

    def _changes_of(self, result: RaceResult) -> tuple[list[Change], str | None]:
        """Return the changes of a race by player, or the reason for having none."""
        race = outcome_of(result, self.teams)
        if result.team_race and self.teams is TeamPolicy.IGNORE:
            return [], TEAM_RACE
        if not race.outcome.rateable:
            return [], TOO_FEW if any(e.finished for e in result.entrants) else NOBODY_FINISHED
        earlier = [self._standings.get(player) for player in race.players]
        changes, ratings = self._apply_model(race, earlier)
        for change, rating, standing in zip(changes, ratings, earlier, strict=True):
            self._standings[change.player] = _moved(standing, change, rating, result.ended_at)
        return sorted(changes), None

    def _apply_model(
        self, race: PlacedRace, earlier: Sequence[Standing | None]
    ) -> tuple[list[Change], list[float]]:
        """Return each entrant's change and new rating, given their standings before the race."""
        states = [self.state(player)[0] for player in race.players]
        before = np.array(states)
        if isinstance(self.model, HurdleModel):
            steps = self.model.steps(before, race.outcome)
            names, stages = [name for name, _ in steps], [before, *(states for _, states in steps)]
        else:
            names, stages = [], [before, self.model.rate(before, race.outcome)]
        after = stages[-1]
        # One call for all stages, since a call costs far more than its rows.
        points = self.model.points(np.concatenate(stages)).reshape(len(stages), len(states))
        moves = map(zip, map(repeat, names), (points[1:] - points[:-1]).tolist())
        # Leave out a limit that did not apply.
        parts = [each[:-1] if each[-1] == ("limit", 0) else each for each in zip(*moves, strict=True)]
        changes = map(
            Change,
            race.players,
            race.places,
            states,
            map(tuple, after.tolist()),
            points[0].tolist(),
            points[-1].tolist(),
            [standing.races if standing else 0 for standing in earlier],
            parts or repeat(()),
        )
        return list(changes), self.model.rating(after).tolist()


def current_rater(
    ledger: Ledger, board: Leaderboard, players: Iterable[str], moment: datetime, race: str = ""
) -> Rater:
    """Return a rater with these players' current standings, for a race that would count at `moment`.

    If `race` is stored already, it is rated again: its players have the states before it. The leaderboard
    need not be stored. Raises ModelError if it cannot carry over from its source.
    """
    first = None if board.id is None or board.carry is None else ledger.races.first_position(board)
    carried = states_to_carry(ledger, board, moment) if first is None else ledger.leaderboards.carried(board)
    row = None if board.id is None else ledger.ratings.get(board, race)
    before = {change.player: change for change in (row.changes if row else ())}
    standings = (
        s._replace(state=before[s.player].before, races=before[s.player].races_before)
        if s.player in before
        else s
        for s in ledger.standings.of(board, players)
        if s.player not in before or before[s.player].races_before
    )
    return Rater(board, carried, standings)


def states_to_carry(ledger: Ledger, board: Leaderboard, moment: datetime | None) -> dict[str, State]:
    """Compute what players carry over into a leaderboard from all races of its source before `moment`.

    Raise `ModelError` if its source has another model, or the model cannot carry over.
    """
    source = ledger.leaderboards.source(board)
    if board.carry is None or source is None or moment is None:
        return {}
    rebuild = ledger.rebuilds.of(source)
    if rebuild is not None and rebuild.board.model == board.model != source.model:
        return {}  # its rebuild will rate this leaderboard again, too
    own = None if board.id is None else ledger.rebuilds.of(board)
    if own is not None and own.board.model != board.model:
        return ledger.leaderboards.carried(board)  # its rebuild will carry ratings of the new model over
    model = registry.create(board.model, board.parameters)
    if source.model != board.model or not isinstance(model, Carries):
        raise ModelError(
            f"leaderboard {board.name!r} cannot carry over from {source.name!r}: they are rated by "
            f"{board.model} and {source.model}; use one model that can carry over for both"
        )
    sequence, _ = ledger.ratings.sequence_at(source, Position(moment))
    before = standings_before(ledger, source, sequence)
    if not before:
        return {}
    states = np.array([each.state for each in before.values()])
    states = model.carried(states, board.carry.factor, board.carry.most_races)
    return dict(zip(before, map(tuple, states.tolist()), strict=True))


def states_to_carry_now(ledger: Ledger, board: Leaderboard) -> dict[str, State]:
    """Compute the states that players carry over into a leaderboard with its current races."""
    first = None if board.carry is None else ledger.races.first_position(board)
    return {} if first is None else states_to_carry(ledger, board, first.counted_at)


def current_states(ledger: Ledger, board: Leaderboard, players: Sequence[str]) -> list[tuple[State, bool]]:
    """Return each player's state before the next race, and whether the player has raced here."""
    rater = current_rater(ledger, board, players, END.counted_at)
    return [rater.state(player) for player in players]


def standings_before(
    ledger: Ledger, board: Leaderboard, sequence: int, players: Iterable[str] | None = None
) -> dict[str, Standing]:
    """Return everybody's standing before a sequence number, or these players', by player."""
    model = registry.create(board.model, board.parameters)
    earlier = ledger.standings.before(board, sequence, lambda s: model.rating(np.array(s)).tolist(), players)
    return {each.player: each for each in earlier}


def _moved(old: Standing | None, change: Change, rating: float, ended_at: datetime) -> Standing:
    player, place, _, after, _, points, races, _ = change
    finishes, wins, last = (old.finishes, old.wins, old.last_race_at) if old else (0, 0, ended_at)
    finishes, wins = finishes + (place is not None), wins + (place == 1)
    return Standing(player, after, rating, points, races + 1, finishes, wins, max(ended_at, last))
