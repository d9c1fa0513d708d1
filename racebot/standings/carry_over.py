"""Carry-over: a new leaderboard, such as a season's, starts from the ratings of an earlier one, its source.

Players carry over their standings after all of the source's races that count before the new leaderboard's
first race.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

import numpy as np

from racebot.errors import ModelError
from racebot.ledger.rows import Leaderboard, Position, State
from racebot.ledger.store import Ledger
from racebot.ratings import registry
from racebot.ratings.model import Carries
from racebot.standings.counting import RatingRules
from racebot.text.parse import did_you_mean


def states_to_carry(ledger: Ledger, board: Leaderboard, moment: datetime | None) -> dict[str, State]:
    """Compute the states that players carry over into a leaderboard whose first race counts at `moment`.

    Raises:
        ModelError: its source has another model, or the model cannot carry over.
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
    undone = {each.player: each for each in ledger.standings.before(source, sequence)}
    standings = (ledger.standings.now(source) | undone).values()
    before = {each.player: each.state for each in standings if each.races}
    if not before:
        return {}
    states = model.carried(np.array(list(before.values())), board.carry.factor, board.carry.most_races)
    return dict(zip(before, map(tuple, states.tolist()), strict=True))


def states_to_carry_now(ledger: Ledger, board: Leaderboard) -> dict[str, State]:
    """Compute the states that players carry over into a leaderboard with its current races."""
    first = None if board.carry is None else ledger.races.first_position(board)
    return {} if first is None else states_to_carry(ledger, board, first.counted_at)


def sources_first(boards: Iterable[Leaderboard]) -> list[Leaderboard]:
    """Sort leaderboards so that each comes after the one that it carries over from."""
    named = {(board.category, board.name): board for board in boards}

    def depth(board: Leaderboard, most: int = len(named)) -> int:
        source = named.get((board.category, board.carry.source)) if board.carry is not None else None
        return 0 if source is None or most == 0 else 1 + depth(source, most - 1)

    return sorted(named.values(), key=depth)


def unknown_sources(
    rules: RatingRules, boards: Collection[Leaderboard], goals: Collection[str] = ()
) -> list[str]:
    """Name sources that are neither in the settings nor stored: a misspelt name, or a season not rated yet.

    Args:
        boards: all stored leaderboards.
        goals: the goals that the categories have now; their leaderboards may have no races yet.
    """
    found = []
    for config in rules.named:
        others = (each for each in rules.named if each is not config)
        known = {board.name for board in boards if config.category in {"", board.category}} | set(goals)
        known |= {
            each.name for each in others if not config.category or each.category in {"", config.category}
        }
        if config.carry is not None and config.carry.source not in known:
            source = f"{config.carry.source!r}{did_you_mean(config.carry.source, known)}"
            problem = f"leaderboard {config.name!r}: carry_over: there is no leaderboard {source}"
            found.append(f"{problem}: correct the name, or import that season first")
    return found
