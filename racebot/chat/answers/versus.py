"""The answer to `!vs`: two players' races together, their points, and the chance to win the next."""

from __future__ import annotations

from racebot.chat.answers.context import Context, one_message, unknown_player
from racebot.chat.commands import Command
from racebot.chat.format import percent, shown_points
from racebot.chat.people import Person, find_pair, is_hidden_from
from racebot.chat.wording import Texts
from racebot.queries.pair import Comparison, compared
from racebot.queries.player import next_points
from racebot.racetime.payload import Race
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
    found = compared(context.ledger, board, one.id, other.id)
    points, other_points = (
        shown_points(
            next_points(context.ledger, board, person.id),
            texts,
            ranked=context.is_ranked(context.standing(person)),
        )
        for person in pair
    )
    opening = texts.versus.format(name=plain(one.name), other=plain(other.name), leaderboard=context.name)
    phrases = [
        _head_to_head(found, texts) if found.meetings else texts.versus_never,
        texts.versus_points.format(points=points, other_points=other_points),
        texts.versus_chance.format(chance=percent(found.chance, texts), other=plain(other.name)),
        context.link_phrase(context.links.comparison(board, one.id, other.id)) if found.meetings else "",
    ]
    return one_message(phrases, texts, opening)


def _head_to_head(found: Comparison, texts: Texts) -> str:
    """Sum up every race of two players."""
    met = len(found.meetings)
    unfinished = sum(each.place is None and each.other_place is None for each in found.meetings)
    tied = met - found.ahead - found.behind - unfinished
    record = texts.versus_one_race if met == 1 else texts.versus_record
    phrases = [
        record.format(won=found.ahead, lost=found.behind, met=met),
        texts.versus_tied.format(tied=tied) if tied else "",
        texts.versus_unfinished.format(unfinished=unfinished) if unfinished else "",
    ]
    return ", ".join(filter(None, phrases))
