"""Parses chat lines as commands. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from racebot.text.safe import printable

CLOSING = "?!.,;:"  # punctuation that may follow a command or a name
LONGEST_ARGUMENT = 100
"""Characters of an argument to read. All names on the site are shorter."""


class Command(StrEnum):
    """The commands, by their names, which follow the prefix."""

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
_NAMED = {str(command): command for command in Command} | ALIASES


@dataclass(frozen=True, slots=True)
class ParsedCommand:
    """A command with the rest of its line, with single spaces."""

    command: Command
    argument: str = ""


def parse_command(text: str, prefix: str = "!") -> ParsedCommand | None:
    """Return the command in a chat line, or None."""
    line = " ".join(printable(text).split())
    if not line.startswith(prefix):
        return None
    word, _, argument = line.removeprefix(prefix).partition(" ")
    command = _NAMED.get(word.rstrip(CLOSING).casefold())
    if command is None:
        return None
    return ParsedCommand(command, argument.lstrip("@")[:LONGEST_ARGUMENT].strip())
