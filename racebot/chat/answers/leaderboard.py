"""The answer to `!leaderboard`: the first players, and the asker's own place."""

from __future__ import annotations

from racebot.chat.answers.context import Context, one_message
from racebot.chat.format import unbroken
from racebot.chat.people import Person
from racebot.chat.rating_message import MESSAGE_LIMIT
from racebot.ledger.rows import Standing
from racebot.queries.leaderboard import listed_count, place_among, top_players
from racebot.text.format import integer
from racebot.text.safe import plain

USUAL_LENGTH = 5
LONGEST = 25


def answer(context: Context, count: int, asker: Person) -> str:
    """Write a leaderboard's first `count` players, as many as fit, and the asker's own place."""
    texts, board, listing = context.texts, context.board, context.listing
    count = min(max(count, 1), LONGEST)
    players = top_players(context.ledger, board, listing, count)
    if not players:
        return texts.leaderboard_empty.format(leaderboard=context.name, needed=listing.minimum_finishes)
    listed = listed_count(context.ledger, board, listing)
    entries = [_entry(context, place, standing) for place, standing in players]
    end = [context.link_phrase(context.links.board(board))]
    own = context.standing(asker)
    if own is not None and not own.hidden and own.player not in {s.player for _, s in players}:
        place, _ = place_among(context.ledger, board, own, listing)
        end.insert(0, context.standing_phrase(asker, own) if place is None else _entry(context, place, own))
    for shown in range(len(entries), 0, -1):
        opening = texts.leaderboard.format(leaderboard=context.name, count=shown, listed=listed)
        text = opening + texts.separator.join(filter(None, [*entries[:shown], *end]))
        if len(text) <= MESSAGE_LIMIT:
            return text
    return one_message(entries[:1], texts, opening)


def _entry(context: Context, place: int, standing: Standing) -> str:
    template = context.texts.leaderboard_player
    return unbroken(template.format(place=place, name=plain(standing.name), points=integer(standing.points)))
