"""The answer to `!why`: the reasons for a player's change, by this room's race or by the last one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from racebot.chat.answers.context import Context, Draft, change_of, one_message
from racebot.chat.format import chat_names, decimal, ordinal, percent, shown_points, unbroken
from racebot.chat.people import Person
from racebot.chat.wording import Texts
from racebot.queries.explain import Explanation, explain_race
from racebot.queries.player import last_race
from racebot.queries.reasons import Limit, Opponent, Unchanged
from racebot.races.outcome import TeamPolicy
from racebot.races.result import EntrantStatus
from racebot.racetime.payload import Race
from racebot.ratings import registry
from racebot.text.format import signed
from racebot.text.safe import plain


def draft(context: Context, person: Person, race: Race) -> Draft:
    """Draft the answer about one player. Ledger work."""
    texts, board, needed = context.texts, context.board, context.listing.minimum_finishes
    pending = context.pending(race, person)
    last = last_race(context.ledger, board, person.id)
    standing = context.standing(person)
    hidden = context.ledger.orders.hidden() - {person.id}
    model = registry.create(board.model, board.parameters)

    def compose() -> str:
        rated = None if pending is None else context.preview(pending)
        is_coming = rated is not None and change_of(rated, person) is not None
        rated = rated if is_coming else last
        change = None if rated is None else change_of(rated, person)
        if rated is None or change is None:
            return texts.why_nothing.format(name=plain(person.name), leaderboard=context.name)
        explained = explain_race(model, TeamPolicy(board.teams), rated.result, rated.changes)
        _, explanation = explained[person.id]
        names = chat_names(rated.result.entrants, texts, hidden)
        finishes, finished = standing.finishes if standing else 0, change.place is not None
        after = finishes + (is_coming and finished)
        opening = (texts.why_pending if is_coming else texts.why).format(
            name=plain(person.name),
            before=shown_points(change.points_before, texts, ranked=after - finished >= needed),
            after=shown_points(change.points_after, texts, ranked=after >= needed),
            change=signed(change.points_change),
            leaderboard=context.name,
            race=rated.result.name,
        )
        return one_message(why_phrases(explanation, names, texts), texts, opening)

    return compose


def why_phrases(explanation: Explanation, names: Mapping[str | None, str], texts: Texts) -> list[str]:
    """Put an explanation into phrases: the place, the parts of the change, then the opponents.

    Args:
        explanation: the explanation of one entrant's change.
        names: the names of the race's entrants, safe to show, by user id.
        texts: the wording.
    """
    about_the_change = [_expectation(explanation, texts), *_parts(explanation, texts)]
    return [*map(unbroken, about_the_change), *_opponents(explanation, names, texts)]


def _expectation(explanation: Explanation, texts: Texts) -> str:
    expected = decimal(explanation.expected, texts)
    if explanation.finished:
        if explanation.compared == 1:
            return texts.why_only_finisher
        place, compared = explanation.place, explanation.compared
        return texts.why_place.format(
            place=place, ordinal=ordinal(place, texts), compared=compared, expected=expected
        )
    status = texts.dq if explanation.status is EntrantStatus.DQ else texts.dnf
    if explanation.finish_chance is None:
        return texts.why_unfinished_place.format(status=status, expected=expected)
    return texts.why_unfinished.format(status=status, chance=percent(explanation.finish_chance, texts))


def _parts(explanation: Explanation, texts: Texts) -> list[str]:
    """Return a phrase for each part of a change. A part that is the whole change gets none."""
    match explanation.unchanged:
        case Unchanged.SMALL:
            return [texts.why_small]
        case Unchanged.LAST:
            return [texts.why_last]
        case Unchanged.FLOOR:
            return [texts.why_floor]
    phrases = []
    if explanation.finish_points is not None and explanation.finished:
        phrases.append(texts.why_finishing.format(points=signed(explanation.finish_points)))
        if explanation.compares:
            phrases.append(texts.why_placing.format(points=signed(explanation.place_points)))
    if explanation.limit is not None:
        limit, points = _limit(explanation.limit, texts), signed(explanation.limit_points)
        phrases.append(texts.why_limit.format(limit=limit, points=points) if limit else "")
    return phrases


def _limit(limit: Limit, texts: Texts) -> str:
    return {
        Limit.FORFEIT: texts.why_forfeit,
        Limit.FLOOR: texts.why_floor,
        Limit.WINNER: texts.why_winner,
        Limit.LAST: texts.why_last,
        Limit.UNFINISHED: texts.why_last,
    }[limit]


def _opponents(explanation: Explanation, names: Mapping[str | None, str], texts: Texts) -> list[str]:
    if explanation.unchanged is not None:
        return []
    if explanation.as_expected:
        return [texts.why_as_expected]
    opposed = () if explanation.opposed is None else (explanation.opposed,)
    return [_named(each, names, texts) for each in (explanation.pushed, opposed) if each]


def _named(opponents: Sequence[Opponent], names: Mapping[str | None, str], texts: Texts) -> str:
    phrases = [
        unbroken(
            (texts.why_opponent if number else texts.why_first).format(
                name=names[each.player], chance=percent(each.chance, texts)
            )
        )
        for number, each in enumerate(opponents)
    ]
    template = texts.why_gained if opponents[0].beaten else texts.why_cost
    return template.format(names=", ".join(phrases))
