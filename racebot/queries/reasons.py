"""The reasons for a rating change, as codes and in English.

Pages, the API and the terminal use these words. They are also the defaults of chat's texts, which an
operator can change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from racebot.queries.fields import ShownId
from racebot.text.format import percentage, signed

FINISHING = "finishing {points}"
PLACE = "place {points}"
LIMIT = "{limit} {points}"
AS_EXPECTED = "about as expected"
GAINED = "gained: {names}"
COST = "cost: {names}"
FIRST_OPPONENT = "{name} ({chance} to beat)"
OPPONENT = "{name} ({chance})"
RULES = {
    "forfeit": "no worse than a forfeit",
    "floor": "ratings never go lower",
    "winner": "a winner never loses",
    "last": "last place never gains",
    "unfinished": "a DNF never gains",
    "small": "under one point",
}
"""Words for each `Rule`."""


class Rule(StrEnum):
    """A rule that reduced a change, or made it ±0; `RULES` says what each means."""

    FORFEIT = "forfeit"
    FLOOR = "floor"
    WINNER = "winner"
    LAST = "last"
    UNFINISHED = "unfinished"
    SMALL = "small"


class ReasonKind(StrEnum):
    """The kinds of reasons: the parts of a change, and opponents beaten or lost to against expectation."""

    UNCHANGED = "unchanged"
    UNFINISHED = "unfinished"
    FINISH = "finish"
    PLACE = "place"
    LIMIT = "limit"
    AS_EXPECTED = "as_expected"
    GAINED = "gained"
    COST = "cost"


@dataclass(frozen=True, slots=True)
class Opponent:
    """An opponent whose result moved a rating.

    Attributes:
        player: the user id.
        beaten: whether the player placed ahead of this opponent.
        chance: the chance, before the race, that the player beats this opponent.
        team: the name of the opposing team, which `player` is a member of; None without teams.
    """

    player: ShownId
    beaten: bool
    chance: float
    team: str | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason for a rating change.

    `points` are the points that it accounts for, and `chance` is the chance to finish before the race.
    """

    kind: ReasonKind
    points: int | None = None
    chance: float | None = None
    rule: Annotated[Rule | None, Field(description="The rule behind `limit` and `unchanged`")] = None
    opponents: tuple[Opponent, ...] = ()


_TEMPLATES = {
    ReasonKind.UNCHANGED: "{limit}",
    ReasonKind.UNFINISHED: "{chance}% to finish",
    ReasonKind.FINISH: FINISHING,
    ReasonKind.PLACE: PLACE,
    ReasonKind.LIMIT: LIMIT,
    ReasonKind.AS_EXPECTED: AS_EXPECTED,
    ReasonKind.GAINED: GAINED,
    ReasonKind.COST: COST,
}


def in_words(reason: Reason, names: Mapping[str, str]) -> str:
    """Put a reason into a short English phrase.

    Args:
        reason: a reason for one entrant's change.
        names: the names of the race's entrants, by user id.
    """
    points = "" if reason.points is None else signed(reason.points)
    rule = "" if reason.rule is None else RULES[reason.rule]
    opponents = [
        (OPPONENT if number else FIRST_OPPONENT).format(
            name=each.team or names[each.player], chance=f"{percentage(each.chance)}%"
        )
        for number, each in enumerate(reason.opponents)
    ]
    chance, named = percentage(reason.chance or 0), ", ".join(opponents)
    return _TEMPLATES[reason.kind].format(points=points, limit=rule, chance=chance, names=named)
