"""The answers to `!odds`, the entrants' chances to win, and `!vs`, two players against each other."""

from __future__ import annotations

from racebot.chat.answers.context import Context, find_pair, one_message, unknown_player
from racebot.chat.format import chat_names, percent, shown_points, unbroken
from racebot.chat.links import comparison_page
from racebot.ledger.rows import NamedPlayer
from racebot.queries.odds import odds
from racebot.queries.player import compared, next_points
from racebot.races.outcome import TeamPolicy
from racebot.racetime.payload import Race
from racebot.settings.commands import Command
from racebot.text.format import Count
from racebot.text.safe import plain

NAMED = 8
"""Most entrants to name."""


def answer(context: Context, race: Race) -> str:
    """Write the entrants' chances to win, or why there are none."""
    texts = context.texts
    phrases = odds_phrases(context, race)
    if not phrases:
        return texts.odds_none.format(counts=Count(True))
    return one_message(phrases, texts, texts.odds.format(leaderboard=context.name))


def odds_phrases(context: Context, race: Race) -> list[str]:
    """List the best entrants' chances to win, the favorite first, then what the others share.

    There are none unless two known entrants who are not hidden wait for the start, without teams.
    """
    texts, hidden = context.texts, context.ledger.people.hidden()
    entrants = [entrant for entrant in race.entrants if entrant.user_id is not None]
    teams = context.board.teams != TeamPolicy.INDIVIDUAL and any(each.team for each in race.entrants)
    if not race.before_start or race.hidden or teams:
        return []
    names = chat_names(entrants, texts)
    found = odds(context.ledger, context.board, [str(entrant.user_id) for entrant in entrants])
    visible = [each for each in found if each.id not in hidden]
    if len(visible) < 2:
        return []
    visible.sort(key=lambda each: (-each.forecast.win_chance, names[each.id]))
    named = len(visible) if len(visible) == NAMED + 1 else NAMED
    phrases = []
    for each in visible[:named]:
        ranked = each.new or context.is_ranked(context.ledger.standings.get(context.board, each.id))
        values = {"name": names[each.id], "chance": percent(each.forecast.win_chance, texts)}
        phrases.append(texts.odds_player.format(**values, ranked=Count(ranked), new=Count(each.new)))
    if others := visible[named:]:
        chance = percent(sum(each.forecast.win_chance for each in others), texts)
        phrases.append(texts.odds_rest.format(count=len(others), chance=chance))
    return list(map(unbroken, phrases))


def versus(context: Context, argument: str, race: Race, asker: NamedPlayer) -> str:
    """Compare two named players, or the asker and one named player."""
    texts, board = context.texts, context.board
    pair = find_pair(context, argument, race, asker) if argument else (asker, asker)
    if isinstance(pair, str):
        return unknown_player(context, pair)
    if any(context.ledger.people.is_hidden_from(asker.id, person.id) for person in pair):
        return texts.player_hidden
    one, other = pair
    if one.id == other.id:
        return texts.versus_whom.format(command=context.settings.command_prefix + Command.VERSUS)
    found = compared(context.ledger, board, one.id, other.id)
    points, other_points = (
        shown_points(
            next_points(context.ledger, board, person.id),
            texts,
            ranked=context.is_ranked(context.standing(person)),
        )
        for person in pair
    )
    tied, never = found.met - found.ahead - found.behind - found.unfinished, found.unfinished
    facts = {"won": found.ahead, "lost": found.behind, "met": Count(found.met), "tied": tied}
    flags = {"ties": Count(tied > 0), "both_out": Count(never > 0)}
    record = texts.versus_record.format(**facts, **flags, unfinished=never)
    opening = texts.versus.format(name=plain(one.name), other=plain(other.name), leaderboard=context.name)
    page = comparison_page(context.settings, context.ledger, board, one.id, other.id)
    phrases = [
        record if found.met else texts.versus_never,
        texts.versus_points.format(points=points, other_points=other_points),
        texts.versus_chance.format(chance=percent(found.chance, texts), other=plain(other.name)),
        context.link_phrase(page) if found.met else "",
    ]
    return one_message(phrases, texts, opening)
