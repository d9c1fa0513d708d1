"""Limits answers per player and per room."""

from __future__ import annotations

from collections import deque

WINDOW = 60.0
"""Seconds for which an answer counts toward the limits."""


class Limiter:
    """Limits answers per player and per room in any `WINDOW` seconds of a monotonic clock."""

    def __init__(self, per_person: int, per_room: int) -> None:
        self._per_person = per_person
        self._per_room = per_room
        self._allowed: dict[tuple[str, ...], deque[float]] = {}
        self._swept = float("-inf")

    def __len__(self) -> int:
        """Return the number of players and rooms in memory."""
        return len(self._allowed)

    def allows(self, room: str, person: str, now: float) -> bool:
        """Return whether one more answer is allowed, and count it if so."""
        self._sweep(now)
        counts = [((room, person), self._per_person), ((room,), self._per_room)]
        if any(len(self._recent(key, now)) >= most for key, most in counts):
            return False
        for key, _ in counts:
            self._allowed.setdefault(key, deque()).append(now)
        return True

    def _recent(self, key: tuple[str, ...], now: float) -> deque[float]:
        times = self._allowed.get(key, deque())
        while times and now - times[0] >= WINDOW:
            times.popleft()
        return times

    def _sweep(self, now: float) -> None:
        """Drop old entries, at most once per window."""
        if now - self._swept >= WINDOW:
            self._swept = now
            self._allowed = {key: times for key, times in self._allowed.items() if self._recent(key, now)}
