"""What `racebot improve` needs: the effect of other parameters, and odds fitted to a leaderboard's races.

Odds and the finish forecast change no rating.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from racebot.ledger.rows import START, Leaderboard, Standing
from racebot.ledger.store import Ledger
from racebot.races.outcome import Outcome, TeamPolicy
from racebot.standings.rater import states_to_carry_now
from racebot.standings.rebuild import RatedAgain
from racebot.standings.settle import Settler
from racebot.study.fit import fit_odds
from racebot.study.history import Earlier, History


def rated_history(ledger: Ledger, board: Leaderboard) -> History:
    """Return the races that count on a leaderboard."""
    return History.of((stored.result for stored in ledger.races.counted(board)), TeamPolicy(board.teams))


def earlier_races(ledger: Ledger, board: Leaderboard) -> Earlier | None:
    """Return the races from which ratings carry over into a leaderboard with races, over any chain."""
    source, first = ledger.leaderboards.source(board), ledger.races.first_position(board)
    if board.carry is None or source is None or first is None:
        return None
    before = (each.result for each in ledger.races.counted(source) if each.counted_at < first.counted_at)
    history = History.of(before, TeamPolicy(source.teams))
    return Earlier(history, board.carry.factor, board.carry.most_races, earlier_races(ledger, source))


def with_fitted_odds(settler: Settler, board: Leaderboard, now: datetime) -> Leaderboard:
    """Fit a leaderboard's odds and finish forecast, store them, and return the leaderboard.

    Parameters that the operator set stay. Nothing is stored while the leaderboard waits for a rebuild, or if
    another process changed its settings during the fit.
    """
    ledger, config = settler.ledger, settler.rules.config_of(board)
    races = ledger.ratings.count(board)
    before = [
        (Outcome.of(tuple(filter(None, places)), unfinished=places.count(None)), np.array(states))
        for places, states in ledger.ratings.before(board)
    ]
    fitted = fit_odds(before, board.model, board.parameters)
    given = {} if config is None else config.parameters
    parameters = {**fitted, **{name: board.parameters[name] for name in given if name in board.parameters}}
    with ledger.transaction():
        # By its id: a goal may have been renamed meanwhile.
        stored = next((each for each in ledger.leaderboards.all() if each.id == board.id), board)
        same = (stored.model, stored.parameters) == (board.model, board.parameters)
        if not same or ledger.rebuilds.of(stored) is not None:
            return stored
        new = replace(stored, parameters=parameters, odds_races=races, odds_fitted_at=now)
        return ledger.leaderboards.save(new)


@dataclass(frozen=True, slots=True)
class Move:
    """A player's place and points before and after. Equal ratings share a place."""

    name: str
    place_before: int
    place_after: int
    points_before: int
    points_after: int


def effect_of(ledger: Ledger, proposed: Leaderboard) -> list[Move]:
    """Rate a stored leaderboard's races in another way, without storing anything. Return players' moves."""
    before = ledger.standings.all(proposed)
    again = RatedAgain(ledger, proposed, START, states_to_carry_now(ledger, proposed))
    again.catch_up()
    after = {standing.player: standing for standing in again.standings()}
    now, then = (sorted(-each.rating for each in standings) for standings in (before, after.values()))

    def move(old: Standing, new: Standing) -> Move:
        places = 1 + bisect_left(now, -old.rating), 1 + bisect_left(then, -new.rating)
        return Move(old.name, *places, old.points, new.points)

    return [move(old, after[old.player]) for old in before if old.player in after]
