"""The answers to `!rating`, a player's points, place and record, and `!leaderboard`, the first players."""

from __future__ import annotations

from racebot.chat.answers.context import Context, Draft, change_of, one_message
from racebot.chat.format import shown_points, unbroken
from racebot.chat.rating_message import MESSAGE_LIMIT
from racebot.ledger.rows import NamedPlayer, Standing
from racebot.queries.history import last_race
from racebot.queries.leaderboard import board_totals, place_among, top_players
from racebot.queries.player import next_points
from racebot.racetime.payload import Race
from racebot.text.format import Count, integer, signed
from racebot.text.safe import plain

USUAL_LENGTH = 5
LONGEST = 25


def draft(context: Context, person: NamedPlayer, race: Race) -> Draft:
    """Draft the answer about one player. Ledger work."""
    texts, board = context.texts, context.board
    standing = context.standing(person)
    if standing is None:
        points = integer(next_points(context.ledger, board, person.id))
        opening = texts.rating_newcomer.format(name=plain(person.name), points=points)
        phrases = []
    else:
        opening = context.standing_phrase(person, standing)
        races, finishes, wins = map(Count, (standing.races, standing.finishes, standing.wins))
        phrases = [texts.rating_record.format(races=races, finishes=finishes, wins=wins)]
        last = last_race(context.ledger, board, person.id)
        if (before := None if last is None else change_of(last, person)) is not None:
            phrases.append(texts.rating_last.format(change=signed(before.points_change)))
    pending = context.pending(race, person)

    def compose() -> str:
        change = None if pending is None else change_of(pending.rate(), person)
        coming = []
        if change is not None:
            points = shown_points(change.points_after, texts, ranked=context.is_ranked(standing, change))
            values = {"points": points, "change": signed(change.points_change)}
            coming = [texts.rating_pending.format(**values, record=Count(not board.rule.finished))]
        return one_message([opening, *coming, *phrases], texts)

    return compose


def leaderboard(context: Context, count: int, asker: NamedPlayer) -> str:
    """Write a leaderboard's first `count` players, as many as fit, and the asker's own place."""
    texts, board, listing = context.texts, context.board, context.listing
    count = min(max(count, 1), LONGEST)
    players = top_players(context.ledger, board, listing, count)
    if not players:
        return texts.leaderboard_empty.format(needed=listing.minimum_finishes)
    listed = board_totals(context.ledger, board, listing).listed
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
