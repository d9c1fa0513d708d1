"""The reasons for a rating change, as codes and in English.

Pages, the API and the terminal use the words that are the defaults of chat's texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from racebot.queries.fields import ShownId
from racebot.settings.texts import DEFAULT_TEXTS
from racebot.text.format import percentage, signed

RULES = {
    "forfeit": DEFAULT_TEXTS.why_forfeit,
    "floor": DEFAULT_TEXTS.why_floor,
    "winner": DEFAULT_TEXTS.why_winner,
    "last": DEFAULT_TEXTS.why_last,
    "unfinished": "a DNF never gains",
    "small": DEFAULT_TEXTS.why_small,
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
    ReasonKind.FINISH: DEFAULT_TEXTS.why_finishing,
    ReasonKind.PLACE: DEFAULT_TEXTS.why_placing,
    ReasonKind.LIMIT: DEFAULT_TEXTS.why_limit,
    ReasonKind.AS_EXPECTED: DEFAULT_TEXTS.why_as_expected,
    ReasonKind.GAINED: DEFAULT_TEXTS.why_gained,
    ReasonKind.COST: DEFAULT_TEXTS.why_cost,
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
        (DEFAULT_TEXTS.why_opponent if number else DEFAULT_TEXTS.why_first).format(
            name=each.team or names[each.player], chance=f"{percentage(each.chance)}%"
        )
        for number, each in enumerate(reason.opponents)
    ]
    chance, named = percentage(reason.chance or 0), ", ".join(opponents)
    return _TEMPLATES[reason.kind].format(points=points, limit=rule, chance=chance, names=named)
