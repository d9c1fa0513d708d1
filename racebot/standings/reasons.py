"""The reasons for a rating change, as data and in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from racebot.standings.explain import Explanation, Limit, Opponent, Unchanged
from racebot.text.format import percentage, signed


class ReasonKind(StrEnum):
    """The kinds of reasons."""

    UNCHANGED = "unchanged"
    """The rating stayed the same; `rule` says why."""
    UNFINISHED = "unfinished"
    """The player did not finish, with this `chance` to finish before the race."""
    FINISH = "finish"
    """The points for finishing."""
    PLACE = "place"
    """The points for the place."""
    LIMIT = "limit"
    """The points that a `rule` added or subtracted."""
    AS_EXPECTED = "as_expected"
    """The place was about as expected."""
    GAINED = "gained"
    """Opponents that the player beat against expectation."""
    COST = "cost"
    """Opponents that the player lost to against expectation."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason for a rating change."""

    kind: ReasonKind
    points: Annotated[int | None, Field(description="Points that this reason accounts for")] = None
    chance: Annotated[float | None, Field(description="Chance to finish before the race")] = None
    rule: Annotated[
        Limit | Unchanged | None, Field(description="The rule behind `limit` and `unchanged`")
    ] = None
    opponents: tuple[Opponent, ...] = ()


def reasons(explanation: Explanation) -> list[Reason]:
    """Return the reasons for a change: the parts, then the opponents."""
    if explanation.unchanged is not None:
        return [Reason(ReasonKind.UNCHANGED, rule=explanation.unchanged)]
    if not explanation.finished and explanation.finish_chance is not None:
        found = [Reason(ReasonKind.UNFINISHED, chance=explanation.finish_chance)]
    elif explanation.finish_points is None:
        found = []
    else:
        found = [Reason(ReasonKind.FINISH, points=explanation.finish_points)]
        if explanation.compares:
            found.append(Reason(ReasonKind.PLACE, points=explanation.place_points))
    if explanation.limit is not None:
        found.append(Reason(ReasonKind.LIMIT, points=explanation.limit_points, rule=explanation.limit))
    if explanation.as_expected:
        found.append(Reason(ReasonKind.AS_EXPECTED))
    for opponents in (explanation.pushed, () if explanation.opposed is None else (explanation.opposed,)):
        if opponents:
            kind = ReasonKind.GAINED if opponents[0].beaten else ReasonKind.COST
            found.append(Reason(kind, opponents=opponents))
    return found


def in_words(found: Iterable[Reason], names: Mapping[str, str]) -> list[str]:
    """Put each reason into a short English phrase.

    Args:
        found: the reasons for one entrant's change.
        names: the names of the race's entrants, by user id.
    """
    return [_phrase(reason, names) for reason in found]


def _phrase(reason: Reason, names: Mapping[str, str]) -> str:
    points = "" if reason.points is None else f" {signed(reason.points)}"
    match reason.kind:
        case ReasonKind.UNCHANGED:
            return _RULES[str(reason.rule)]
        case ReasonKind.UNFINISHED:
            return f"{percentage(reason.chance or 0)}% to finish"
        case ReasonKind.FINISH:
            return f"finishing{points}"
        case ReasonKind.PLACE:
            return f"place{points}"
        case ReasonKind.LIMIT:
            return f"{_RULES[str(reason.rule)]}{points}"
        case ReasonKind.AS_EXPECTED:
            return "about as expected"
        case ReasonKind.GAINED | ReasonKind.COST:
            first, *others = [
                f"{names[each.player]} ({percentage(each.chance)}%" for each in reason.opponents
            ]
            return f"{reason.kind}: {'), '.join([f'{first} to beat', *others])})"


_RULES = {
    "forfeit": "no finish costs more than a forfeit",
    "floor": "ratings never go lower",
    "winner": "no winner loses",
    "last": "last place never gains",
    "unfinished": "no DNF gains",
    "small": "under one point",
}
