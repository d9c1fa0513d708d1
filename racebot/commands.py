"""Chat lines as commands, and how many of them are answered. Pure: no I/O, and the time is passed in."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from racebot.announcement import printable

LONGEST_ARGUMENT = 100
"""Characters of an argument that are read; no name on the site is as long."""
WINDOW = 60.0
"""Seconds over which answers are counted."""

OTHER_BOTS = frozenset(
    [
        "seed",
        "spoilerseed",
        "presets",
        "preset",
        "settings",
        "lock",
        "unlock",
        "password",
        "fpa",
        "flags",
        "race",
        "cancel",
        "help",
        "score",
        "ready",
        "monitor",
        "restreamer",
        "breaks",
        "override",
        "register",
        "promote",
    ]
)
"""Command names that other bots on the site answer to."""


class Command(StrEnum):
    """What can be asked; the values are the names by default."""

    RATING = "rating"
    LEADERBOARD = "leaderboard"
    WHY = "why"
    ODDS = "odds"
    VERSUS = "vs"
    HELP = "ratings"


@dataclass(frozen=True, slots=True)
class Asked:
    """A command with the rest of its line, in which spaces are single."""

    command: Command
    argument: str = ""


@dataclass(frozen=True, slots=True)
class Words:
    """What the commands are called in a category's chat.

    `names` holds those that differ from the default; an empty name switches a command off.
    """

    prefix: str = "!"
    names: Mapping[Command, str] = field(default_factory=dict)

    def name(self, command: Command) -> str:
        """The name without the prefix; empty where the command is off."""
        return self.names.get(command, command.value)

    def line(self, command: Command) -> str:
        """What a person types; empty where the command is off."""
        name = self.name(command)
        return self.prefix + name if name else ""

    def problems(self) -> list[str]:
        """What would make these names ambiguous or clash with those of other bots."""
        found = []
        taken: dict[str, Command] = {}
        for command in Command:
            name = self.name(command).casefold()
            if not name:
                continue
            if not re.fullmatch(r"\w[\w-]*", name):
                found.append(f"{command.value}={name}: a name has letters, digits and hyphens only")
            elif self.prefix == "!" and name in OTHER_BOTS:
                found.append(f"{command.value}={name}: other bots answer to !{name}, choose another name")
            elif name in taken:
                found.append(f"{taken[name].value} and {command.value} are both called {name}")
            taken.setdefault(name, command)
        return found

    def parse(self, text: str) -> Asked | None:
        """The command of a chat line; None if it is not one of ours."""
        line = " ".join(printable(text).split())
        if not line.startswith(self.prefix):
            return None
        name, _, argument = line.removeprefix(self.prefix).partition(" ")
        for command in Command:
            if name and name.casefold() == self.name(command).casefold():
                return Asked(command, argument.lstrip("@")[:LONGEST_ARGUMENT].strip())
        return None


class Limiter:
    """Lets so many through per person and per room within `WINDOW` seconds.

    Times are seconds on any monotonic scale.
    """

    def __init__(self, per_person: int, per_room: int) -> None:
        self._per_person = per_person
        self._per_room = per_room
        self._allowed: dict[tuple[str, ...], deque[float]] = {}
        self._swept = float("-inf")

    def __len__(self) -> int:
        """People and rooms that are remembered."""
        return len(self._allowed)

    def allows(self, room: str, person: str, now: float) -> bool:
        """Whether one more is let through; if so, it is counted."""
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
        """Forget who has not asked for a while, once in that while."""
        if now - self._swept >= WINDOW:
            self._swept = now
            self._allowed = {key: times for key, times in self._allowed.items() if self._recent(key, now)}
