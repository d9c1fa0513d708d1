"""Parses chat lines as commands. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from racebot.text.safe import printable

CLOSING = "?!.,;:"
"""Punctuation that may follow a command or a name."""
LONGEST_ARGUMENT = 100
"""Characters of an argument to read. All names on the site are shorter."""


class Command(StrEnum):
    """The commands, by their default names."""

    RATING = "rating"
    LEADERBOARD = "leaderboard"
    WHY = "why"
    ODDS = "odds"
    VERSUS = "vs"
    SCORE = "score"
    NEED = "need"
    HELP = "ratings"


ALIASES = {"rank": Command.RATING, "elo": Command.RATING, "lb": Command.LEADERBOARD}
"""Other names that players try."""


@dataclass(frozen=True, slots=True)
class ParsedCommand:
    """A command with the rest of its line, with single spaces."""

    command: Command
    argument: str = ""


@dataclass(frozen=True, slots=True)
class CommandNames:
    """The names of the commands in a category's chat.

    `names` holds the names that differ from the defaults. An empty name switches a command off.
    """

    prefix: str = "!"
    names: Mapping[Command, str] = field(default_factory=dict)

    def name(self, command: Command) -> str:
        """Return the name without the prefix; empty if the command is off."""
        return self.names.get(command, command.value)

    def line(self, command: Command) -> str:
        """Return the command as a player types it; empty if the command is off."""
        name = self.name(command)
        return self.prefix + name if name else ""

    def problems(self) -> list[str]:
        """List the names that cannot be typed or are ambiguous."""
        found = []
        taken: dict[str, Command] = {}
        for command in Command:
            name = self.name(command).casefold()
            if not name:
                continue
            if not re.fullmatch(r"\w[\w-]*", name):
                found.append(f"{command.value}={name}: a name has letters, digits and hyphens only")
            elif name in taken:
                found.append(f"{taken[name].value} and {command.value} are both named {name}")
            taken.setdefault(name, command)
        return found

    def parse(self, text: str) -> ParsedCommand | None:
        """Return the command in a chat line, or None."""
        line = " ".join(printable(text).split())
        if not line.startswith(self.prefix):
            return None
        word, _, argument = line.removeprefix(self.prefix).partition(" ")
        command = self._named(word.rstrip(CLOSING).casefold())
        if command is None:
            return None
        return ParsedCommand(command, argument.lstrip("@")[:LONGEST_ARGUMENT].strip())

    def _named(self, word: str) -> Command | None:
        """Return the command with a name, or with an alias that is no command's name."""
        for command in Command:
            if word and word == self.name(command).casefold():
                return command
        meant = ALIASES.get(word)
        return meant if meant is not None and self.name(meant) else None
