"""The answer to `!odds`: the entrants' chances to win."""

from __future__ import annotations

import numpy as np

from racebot.chat.answers.context import Context, one_message
from racebot.chat.line_breaks import unbroken
from racebot.chat.names import chat_names
from racebot.chat.numbers import percent
from racebot.races.outcome import TeamPolicy
from racebot.racetime.payload import Race
from racebot.ratings import registry
from racebot.ratings.forecast import win_chances
from racebot.standings.rater import current_states

LEAST_ODDS = 0.005
"""Entrants with a smaller chance to win, which is written as <1%, are counted, not named."""


def answer(context: Context, race: Race) -> str:
    """Write the entrants' chances to win, or why there are none. Ledger work."""
    texts = context.texts
    if phrases := odds_phrases(context, race):
        return one_message(phrases, texts, texts.odds.format(leaderboard=context.name))
    if not race.before_start:
        return texts.odds_started
    return texts.odds_teams if _by_team(context, race) else texts.odds_none


def odds_phrases(context: Context, race: Race, most: int | None = None) -> list[str]:
    """List the entrants' chances to win, the favorite first. Ledger work.

    Args:
        context: the leaderboard.
        race: the race.
        most: how many entrants to name; None names all with a chance of at least `LEAST_ODDS`.

    Returns:
        The phrases, without hidden players; none unless two known individual entrants wait for the start.
    """
    board, texts = context.board, context.texts
    entrants = [entrant for entrant in race.entrants if entrant.user_id is not None]
    if not race.before_start or race.hidden or _by_team(context, race) or len(entrants) < 2:
        return []
    players = [str(entrant.user_id) for entrant in entrants]
    hidden = context.ledger.orders.hidden()
    states, raced = zip(*current_states(context.ledger, board, players), strict=True)
    model = registry.create(board.model, board.parameters)
    chances = win_chances(model, np.array(states)).tolist()
    names = chat_names(entrants, texts)
    visible = [i for i, player in enumerate(players) if player not in hidden]
    if len(visible) < 2:
        return []
    order = sorted(visible, key=lambda i: (-chances[i], names[players[i]]))
    likely = [i for i in order if chances[i] >= LEAST_ODDS] or order[:1]
    named = likely[:most]
    phrases = []
    for i in named:
        template = texts.odds_new
        if raced[i]:
            standing = context.ledger.standing(board, players[i])
            ranked = standing is None or context.is_ranked(standing)
            template = texts.odds_player if ranked else texts.odds_unranked
        phrases.append(unbroken(template.format(name=names[players[i]], chance=percent(chances[i], texts))))
    rest = len(order) - len(named)
    if rest:
        template = texts.odds_rest if len(named) == len(likely) else texts.more
        phrases.append(unbroken(template.format(count=rest)))
    return phrases


def _by_team(context: Context, race: Race) -> bool:
    """Return whether the race has teams, and the leaderboard does not rate their members one by one."""
    individual = context.board.teams == TeamPolicy.INDIVIDUAL
    return not individual and any(entrant.team is not None for entrant in race.entrants)
