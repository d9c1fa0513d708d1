"""What a race does to a rating, as a fact to store and to tell."""

from __future__ import annotations

from dataclasses import dataclass

State = tuple[float, ...]
"""A player's row of numbers, as the leaderboard's model defines it."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one race did to one player's rating.

    `place` is None for those who did not finish. `races_before` counts the player's earlier races on the
    leaderboard: 0 marks a newcomer. `parts` says how many points each step of the model gave, where it
    has steps; they add up to the whole change.
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
