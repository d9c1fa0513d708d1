"""What a race does to a rating."""

from __future__ import annotations

from dataclasses import dataclass

State = tuple[float, ...]
"""A player's row of numbers, as the leaderboard's model defines it."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one race did to one player's rating.

    Attributes:
        player: the user id.
        place: None for a player who did not finish.
        before: state before the race.
        after: state after it.
        points_before: the rating that people see, before the race.
        points_after: the same after it.
        races_before: the player's earlier races on the leaderboard; 0 marks a newcomer.
        parts: points by step of the model, empty where it has none. They add up to the change: `finish`,
            `place` and, where it applied, `limit`.
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
