"""The effect of a race on a rating."""

from __future__ import annotations

from typing import NamedTuple

State = tuple[float, ...]
"""A player's row of numbers, as the leaderboard's model defines it."""


class Change(NamedTuple):
    """The effect of one race on one player's rating. A named tuple, because ratings make millions of them.

    Attributes:
        player: the user id.
        place: None for a player who did not finish.
        before: the state before the race.
        after: the state after the race.
        points_before: the rating in points, as shown to people, before the race.
        points_after: the rating in points after the race.
        races_before: number of the player's earlier races on the leaderboard; 0 for a newcomer.
        parts: points by cause, which add up to the change: `finish`, `place` and, if it applied, `limit`.
            Empty if the model does not separate them.
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
