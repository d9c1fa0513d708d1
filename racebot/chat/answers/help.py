"""The answer to `!ratings`: the commands."""

from __future__ import annotations

from racebot import __version__
from racebot.chat.commands import Command, CommandNames
from racebot.chat.wording import Texts


def help_phrases(names: CommandNames, texts: Texts, *, moderator: bool) -> list[str]:
    """List the commands, and the moderators' commands for a moderator.

    Args:
        names: the names of the commands.
        texts: the wording.
        moderator: whether the asker moderates the category.
    """
    player = texts.help_name
    arguments = {
        Command.RATING: f" [{player}]",
        Command.WHY: f" [{player}]",
        Command.LEADERBOARD: "",
        Command.VERSUS: f" {player}",
    }
    order = (Command.RATING, Command.WHY, Command.LEADERBOARD, Command.VERSUS, Command.ODDS)
    line = names.line(Command.HELP)
    listed = [names.line(c) + (arguments.get(c, "") if player else "") for c in order if names.line(c)]
    commands = ", ".join([*listed, f"{line} hide me"])
    phrases = [texts.help.format(version=__version__, commands=commands)]
    if moderator:
        own = ", ".join(f"{line} {word}" for word in ("off", "on", "redo"))
        phrases.append(texts.help_moderators.format(commands=own))
    return phrases
