"""The effect of a race on a rating."""

from __future__ import annotations

from typing import NamedTuple

State = tuple[float, ...]
"""A player's row of numbers, as the leaderboard's model defines it."""


class Change(NamedTuple):
    """The effect of one race on one player's rating. A named tuple, because ratings make millions of them.

    `place` is None for a player who did not finish. Points are the rating as shown to people. `races_before`
    counts the player's earlier races on the leaderboard. `parts` has points by cause, which add up to the
    change: `finish`, `place` and, if it applied, `limit`; it is empty if the model does not separate them.
    """

    player: str
    place: int | None
    before: State
    after: State
    points_before: int
    points_after: int
    races_before: int
    parts: tuple[tuple[str, int], ...] = ()

    @property
    def points_change(self) -> int:
        return self.points_after - self.points_before
