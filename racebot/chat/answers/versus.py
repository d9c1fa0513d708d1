"""The answer to `!vs`: two players' races together, their points, and the chance to win the next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from racebot.chat.answers.context import Context, one_message, unknown_player
from racebot.chat.commands import Command
from racebot.chat.numbers import percent, shown_points
from racebot.chat.people import Person, find_pair, is_hidden_from
from racebot.chat.wording import Texts
from racebot.racetime.payload import Race
from racebot.ratings import registry
from racebot.standings.rater import current_states
from racebot.text.safe import plain


def answer(context: Context, argument: str, race: Race, asker: Person) -> str:
    """Compare two named players, or the asker and one named player."""
    texts, board = context.texts, context.board
    pair = find_pair(context.ledger, board, argument, race, asker) if argument else (asker, asker)
    if isinstance(pair, str):
        return unknown_player(context, pair)
    if any(is_hidden_from(context.ledger, asker, person) for person in pair):
        return texts.player_hidden
    one, other = pair
    if one.id == other.id:
        return texts.versus_whom.format(command=context.names.line(Command.VERSUS))
    met = context.ledger.meetings(board, one.id, other.id) if board.id is not None else []
    model = registry.create(board.model, board.parameters)
    states = np.array([state for state, _ in current_states(context.ledger, board, [one.id, other.id])])
    chance = float(model.win_probability(states[:1], states[1:])[0])
    points, other_points = (
        shown_points(rounded, texts, ranked=context.is_ranked(context.standing(person)))
        for rounded, person in zip(model.points(states).tolist(), pair, strict=True)
    )
    opening = texts.versus.format(name=plain(one.name), other=plain(other.name), leaderboard=context.name)
    phrases = [
        _head_to_head(met, texts) if met else texts.versus_never,
        texts.versus_points.format(points=points, other_points=other_points),
        texts.versus_chance.format(chance=percent(chance, texts)),
        context.link_phrase(context.links.comparison(board, one.id, other.id)) if met else "",
    ]
    return one_message(phrases, texts, opening)


def _head_to_head(met: Sequence[tuple[int | None, int | None]], texts: Texts) -> str:
    """Sum up every race of two players.

    Args:
        met: the places of both in each race; None for a player who did not finish.
        texts: the wording.
    """
    won = sum(_ahead(place, other) for place, other in met)
    lost = sum(_ahead(other, place) for place, other in met)
    unfinished = sum(place is None and other is None for place, other in met)
    tied = len(met) - won - lost - unfinished
    record = texts.versus_one_race if len(met) == 1 else texts.versus_record
    phrases = [
        record.format(won=won, lost=lost, met=len(met)),
        texts.versus_tied.format(tied=tied) if tied else "",
        texts.versus_unfinished.format(unfinished=unfinished) if unfinished else "",
    ]
    return ", ".join(filter(None, phrases))


def _ahead(place: int | None, other: int | None) -> bool:
    return place is not None and (other is None or place < other)
