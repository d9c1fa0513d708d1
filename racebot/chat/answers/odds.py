"""The answer to `!odds`: the entrants' chances to win."""

from __future__ import annotations

from racebot.chat.answers.context import Context, one_message
from racebot.chat.format import chat_names, percent, unbroken
from racebot.queries.odds import odds
from racebot.races.outcome import TeamPolicy
from racebot.racetime.payload import Race

NAMED = 8
"""Most entrants to name."""


def answer(context: Context, race: Race) -> str:
    """Write the entrants' chances to win, or why there are none. Ledger work."""
    texts = context.texts
    if phrases := odds_phrases(context, race):
        return one_message(phrases, texts, texts.odds.format(leaderboard=context.name))
    if not race.before_start:
        return texts.odds_started
    return texts.odds_teams if _by_team(context, race) else texts.odds_none


def odds_phrases(context: Context, race: Race, most: int = NAMED) -> list[str]:
    """List the best entrants' chances to win, the favorite first, then what the others share. Ledger work.

    There are none unless two known entrants who are not hidden wait for the start, without teams.
    """
    texts, hidden = context.texts, context.ledger.orders.hidden()
    entrants = [entrant for entrant in race.entrants if entrant.user_id is not None]
    if not race.before_start or race.hidden or _by_team(context, race):
        return []
    names = chat_names(entrants, texts)
    found = odds(context.ledger, context.board, [str(entrant.user_id) for entrant in entrants])
    visible = [each for each in found if each.id not in hidden]
    if len(visible) < 2:
        return []
    visible.sort(key=lambda each: (-each.win_chance, names[each.id]))
    named = len(visible) if len(visible) == most + 1 else most
    phrases = []
    for each in visible[:named]:
        template = texts.odds_new
        if not each.new:
            standing = context.ledger.standings.get(context.board, each.id)
            template = texts.odds_player if context.is_ranked(standing) else texts.odds_unranked
        phrases.append(template.format(name=names[each.id], chance=percent(each.win_chance, texts)))
    if others := visible[named:]:
        chance = percent(sum(each.win_chance for each in others), texts)
        phrases.append(texts.odds_rest.format(count=len(others), chance=chance))
    return list(map(unbroken, phrases))


def _by_team(context: Context, race: Race) -> bool:
    """Return whether the race has teams, and the leaderboard does not rate their members one by one."""
    individual = context.board.teams == TeamPolicy.INDIVIDUAL
    return not individual and any(entrant.team is not None for entrant in race.entrants)
