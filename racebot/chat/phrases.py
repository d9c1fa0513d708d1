"""Phrases of answers that need neither the ledger nor a model."""

from __future__ import annotations

from collections.abc import Sequence

from racebot import __version__
from racebot.chat.commands import Command, Words
from racebot.chat.wording import Texts
from racebot.ledger.rows import Standing


def record_phrase(standing: Standing, texts: Texts) -> str:
    """Sum up a player's races on a leaderboard."""
    if standing.races == 1:
        template = texts.rating_one_race
    else:
        template = texts.rating_one_win if standing.wins == 1 else texts.rating_record
    return template.format(races=standing.races, finishes=standing.finishes, wins=standing.wins)


def head_to_head_phrase(met: Sequence[tuple[int | None, int | None]], texts: Texts) -> str:
    """Sum up every race of two players.

    Args:
        met: the places of both in each race; None for a player who did not finish.
        texts: the templates.
    """
    won = sum(_ahead(place, other) for place, other in met)
    lost = sum(_ahead(other, place) for place, other in met)
    unfinished = sum(place is None and other is None for place, other in met)
    tied = len(met) - won - lost - unfinished
    record = texts.versus_one_race if len(met) == 1 else texts.versus_record
    phrases = [
        record.format(won=won, lost=lost, met=len(met)),
        texts.versus_tied.format(tied=tied) if tied else "",
        texts.versus_unfinished.format(unfinished=unfinished) if unfinished else "",
    ]
    return ", ".join(filter(None, phrases))


def help_phrases(words: Words, texts: Texts, *, moderator: bool) -> list[str]:
    """List the commands, and the moderators' commands for a moderator.

    Args:
        words: the names of the commands.
        texts: the templates.
        moderator: whether the asker moderates the category.
    """
    name = texts.help_name
    arguments = {
        Command.RATING: f" [{name}]",
        Command.WHY: f" [{name}]",
        Command.LEADERBOARD: "",
        Command.VERSUS: f" {name}",
    }
    order = (Command.RATING, Command.WHY, Command.LEADERBOARD, Command.VERSUS, Command.ODDS)
    listed = [words.line(c) + (arguments.get(c, "") if name else "") for c in order if words.line(c)]
    phrases = [texts.help.format(version=__version__, commands=", ".join(listed))]
    if moderator:
        line = words.line(Command.HELP)
        own = ", ".join(f"{line} {word}" for word in ("off", "on", "redo"))
        phrases.append(texts.help_moderators.format(commands=own))
    return phrases


def _ahead(place: int | None, other: int | None) -> bool:
    return place is not None and (other is None or place < other)
