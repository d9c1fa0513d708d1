"""The answer to `!why`: an explanation in the words of the templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from racebot.chat.line_breaks import unbroken
from racebot.chat.numbers import decimal, ordinal, percent
from racebot.chat.wording import Texts
from racebot.races.result import EntrantStatus
from racebot.standings.explain import Explanation, Limit, Opponent, Unchanged
from racebot.text.format import signed


def why_phrases(explanation: Explanation, names: Mapping[str, str], texts: Texts) -> list[str]:
    """Put an explanation into phrases: the place, the parts of the change, then the opponents.

    Args:
        explanation: the explanation of one entrant's change.
        names: the names of the race's entrants, safe to show, by user id.
        texts: the templates.
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
        case Unchanged.EVEN:
            return [texts.why_even.format(points=signed(explanation.finish_points or 0))]
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


def _opponents(explanation: Explanation, names: Mapping[str, str], texts: Texts) -> list[str]:
    if explanation.unchanged not in {None, Unchanged.EVEN}:
        return []
    if explanation.as_expected:
        return [texts.why_as_expected]
    opposed = () if explanation.opposed is None else (explanation.opposed,)
    return [_named(each, names, texts) for each in (explanation.pushed, opposed) if each]


def _named(opponents: Sequence[Opponent], names: Mapping[str, str], texts: Texts) -> str:
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
