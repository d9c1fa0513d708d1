"""Scores that resemble the site's: a number before each race and a change after it.

This is not the site's formula. It is Elo over all pairs with a large step, which behaves alike: newcomers
gain most, and all racers who did not finish share the last place.
"""

from __future__ import annotations

from collections.abc import Mapping

NEWCOMER = 900
STEP = 500


def change(who: str, before: Mapping[str, int | None], places: Mapping[str, int | None]) -> int:
    """Return the change in one entrant's score. Newcomers start from 0."""
    own = _strength(before[who])
    won = sum(_won(places[who], places[other]) for other in places if other != who)
    expected = sum(1 / (1 + 10 ** ((_strength(before[o]) - own) / 800)) for o in places if o != who)
    share = (won - expected) / max(1, len(places) - 1)
    after = max(0, round(own + STEP * share))
    return after - (before[who] or 0)


def _strength(score: int | None) -> int:
    return NEWCOMER if score is None else score


def _won(place: int | None, other: int | None) -> float:
    if place is None or other is None:
        return 0.5 if place is other else float(place is not None)
    return float(place < other)
