"""The answer to `!rating`: a player's points, place and record, and what this room's race would change."""

from __future__ import annotations

from racebot.chat.answers.context import Context, Draft, change_of, one_message
from racebot.chat.format import shown_points
from racebot.chat.people import Person
from racebot.chat.wording import Texts
from racebot.ledger.rows import Standing
from racebot.queries.player import last_race, next_points
from racebot.racetime.payload import Race
from racebot.text.format import integer, signed
from racebot.text.safe import plain


def draft(context: Context, person: Person, race: Race) -> Draft:
    """Draft the answer about one player. Ledger work."""
    texts, board = context.texts, context.board
    standing = context.standing(person)
    if standing is None:
        opening = texts.rating_newcomer.format(
            name=plain(person.name),
            leaderboard=context.name,
            points=integer(next_points(context.ledger, board, person.id)),
        )
        phrases = []
    else:
        opening = context.standing_phrase(person, standing)
        phrases = [_record(standing, texts)]
        last = last_race(context.ledger, board, person.id)
        if (before := None if last is None else change_of(last, person)) is not None:
            phrases.append(texts.rating_last.format(change=signed(before.points_change)))
    pending = context.pending(race, person)

    def compose() -> str:
        change = None if pending is None else change_of(context.preview(pending), person)
        coming = []
        if change is not None:
            points = shown_points(change.points_after, texts, ranked=context.is_ranked(standing, change))
            finished = context.board.rule.finished
            template = texts.rating_standing if finished else texts.rating_pending
            coming = [template.format(points=points, change=signed(change.points_change))]
        return one_message([opening, *coming, *phrases], texts)

    return compose


def _record(standing: Standing, texts: Texts) -> str:
    """Sum up a player's races on a leaderboard."""
    if standing.races == 1:
        template = texts.rating_one_race
    else:
        template = texts.rating_one_win if standing.wins == 1 else texts.rating_record
    return template.format(races=standing.races, finishes=standing.finishes, wins=standing.wins)
