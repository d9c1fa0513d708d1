"""Chat lines as commands, and how many of them are answered. Pure: no I/O, and the time is passed in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from racebot.text.safe import printable

LONGEST_ARGUMENT = 100
"""Characters of an argument that are read; no name on the site is as long."""

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
