"""Limits answers per player and per room, and orders per player."""

from __future__ import annotations

from collections import deque

WINDOW = 60.0
"""Seconds for which an answer counts toward the limits."""
ORDERS_PER_PERSON = 10
"""Orders of moderators are needed most in a busy chat, so only this limit holds for them."""


class Limiter:
    """Limits answers and orders in any `WINDOW` seconds of a monotonic clock, in each room on its own."""

    def __init__(self, per_person: int, per_room: int) -> None:
        self._per_person = per_person
        self._per_room = per_room
        self._counted: dict[tuple[str, ...], deque[float]] = {}
        self._swept = float("-inf")

    def __len__(self) -> int:
        """Return the number of players and rooms in memory."""
        return len(self._counted)

    def allows(self, room: str, person: str, now: float) -> bool:
        """Return whether one more answer is allowed, and count it if so."""
        return self._allows({(room, person): self._per_person, (room,): self._per_room}, now)

    def allows_order(self, room: str, person: str, now: float) -> bool:
        """Return whether one more order is allowed, and count it if so."""
        return self._allows({(room, person, "orders"): ORDERS_PER_PERSON}, now)

    def tells(self, room: str, person: str, now: float) -> bool:
        """Return whether to tell a player over the limit that answers pause: once in a window."""
        return self._allows({(room, person, "told"): 1}, now)

    def _allows(self, most: dict[tuple[str, ...], int], now: float) -> bool:
        if now - self._swept >= WINDOW:  # drop old entries
            self._swept = now
            self._counted = {key: times for key, times in self._counted.items() if self._recent(key, now)}
        if any(len(self._recent(key, now)) >= limit for key, limit in most.items()):
            return False
        for key in most:
            self._counted.setdefault(key, deque()).append(now)
        return True

    def _recent(self, key: tuple[str, ...], now: float) -> deque[float]:
        times = self._counted.get(key, deque())
        while times and now - times[0] >= WINDOW:
            times.popleft()
        return times
