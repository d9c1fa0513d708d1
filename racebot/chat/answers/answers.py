"""Answers the commands in the rooms of one category."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from operator import itemgetter

from racebot import __version__
from racebot.chat.answers import leaderboard, odds, rating, versus, why
from racebot.chat.answers.context import (
    NO_LINKS,
    Context,
    Draft,
    Links,
    finished,
    one_message,
    unknown_player,
)
from racebot.chat.commands import CLOSING, Command, CommandNames, ParsedCommand
from racebot.chat.people import Person, find_person, is_hidden_from, known_as
from racebot.chat.wording import Texts
from racebot.ledger.rows import Leaderboard
from racebot.queries.listing import Listing
from racebot.racetime.payload import Race
from racebot.standings.settle import Preview, Settler
from racebot.text.safe import plain

RACES_KEPT = 8
"""Previews to cache: after a finish, everyone asks for the same ones."""
GREETED = 5
"""Most entrants whose odds a greeting tells."""


class Answers:
    """Answers commands in the rooms of one category.

    Args:
        settler: reads the ledger and previews races.
        texts: the wording.
        names: the names of the commands.
        listing: which players a leaderboard lists.
        links: the addresses of published pages.
    """

    def __init__(
        self,
        settler: Settler,
        texts: Texts,
        names: CommandNames,
        listing: Callable[[Leaderboard], Listing],
        links: Links = NO_LINKS,
    ) -> None:
        self._settler = settler
        self._ledger = settler.ledger
        self._texts = texts
        self._names = names
        self._listing = listing
        self._links = links
        self._preview = lru_cache(RACES_KEPT)(Preview.rate)

    def draft(self, command: ParsedCommand, race: Race, asker: Person, *, moderator: bool) -> Draft:
        """Read everything that the answer to a command needs. Ledger work.

        Args:
            command: the command.
            race: the room's race.
            asker: the player who asks.
            moderator: whether the asker moderates the category.

        Returns:
            The draft. It returns an empty string if there is no answer.

        Raises:
            LedgerError: the ledger cannot be read.
        """
        if command.command is Command.HELP:
            phrases = help_phrases(self._names, self._texts, moderator=moderator)
            return finished(one_message(phrases, self._texts))
        race = replace(race, entrants=self._ledger.orders.amended_entrants(race.entrants))
        asker = known_as(self._ledger, asker)
        goal, count = race.goal, leaderboard.USUAL_LENGTH
        if command.command is Command.LEADERBOARD and command.argument:
            chosen = self._chosen_leaderboard(command.argument.rstrip(CLOSING), race)
            if chosen is None:
                return finished(self._texts.unknown_leaderboard)
            goal, count = chosen
        boards = self._boards(race, goal)
        drafts = [self._draft_for(self._context(board), command, count, race, asker) for board in boards]
        titles = [self._texts.board.format(leaderboard=plain(board.name)) for board in boards]

        def compose() -> str:
            answers = [draft() for draft in drafts]
            if len(set(answers)) > 1 and command.command is not Command.LEADERBOARD:
                answers = [title + text for title, text in zip(titles, answers, strict=True) if text]
            return one_message(dict.fromkeys(answers), self._texts)

        return compose

    def greeting(self, race: Race) -> str:
        """Return a line that greets the entrants: the odds, and a link to the leaderboard's page.

        Ledger work. Returns an empty string if there are no odds, or if the race does not count.
        """
        texts = self._texts
        if race.custom_goal or not race.recordable or not texts.greeting:
            return ""
        race = replace(race, entrants=self._ledger.orders.amended_entrants(race.entrants))
        for context in map(self._context, self._boards(race, race.goal)):
            if chances := odds.odds_phrases(context, race, GREETED):
                opening = texts.odds.format(leaderboard=context.name)
                greeting = texts.greeting.format(
                    goal=plain(race.goal), odds=opening + texts.separator.join(chances)
                )
                return one_message([greeting, context.link_phrase(self._links.board(context.board))], texts)
        return ""

    def _context(self, board: Leaderboard) -> Context:
        return Context(
            board, self._listing(board), self._settler, self._texts, self._names, self._links, self._preview
        )

    def _boards(self, race: Race, goal: str) -> list[Leaderboard]:
        """Return the leaderboards of a goal. A custom goal has none, so the latest one stands in."""
        if not race.custom_goal or goal != race.goal:
            planned = self._settler.plans.leaderboards(race.category, goal)
            return [self._ledger.leaderboards.get(p.category, p.name) or p for p in planned]
        raced = [
            (latest, board)
            for board in self._ledger.leaderboards.all()
            if board.category == race.category
            and (latest := self._ledger.standings.latest_race(board)) is not None
        ]
        return [max(raced, key=itemgetter(0))[1]] if raced else []

    def _chosen_leaderboard(self, text: str, race: Race) -> tuple[str, int] | None:
        """Return the goal and number of players that `!leaderboard` asks for; None for an unknown name."""
        name, _, number = text.rpartition(" ")
        if goal := self._goal_named(text, race):
            return goal, leaderboard.USUAL_LENGTH
        if not (number.isdecimal() and number.isascii()):
            return None
        goal = self._goal_named(name, race) if name else race.goal
        return (goal, int(number)) if goal else None

    def _goal_named(self, text: str, race: Race) -> str | None:
        """Return the goal whose leaderboard has a name in full or, failing that, in part."""
        wanted = text.casefold()
        named = [
            (goal, [" ".join(name.casefold().split()) for name in (goal, board.name)])
            for board in self._ledger.leaderboards.all()
            if board.category == race.category
            for goal in board.goals
        ]
        in_full = [goal for goal, names in named if wanted in names]
        # A number alone says how many players to name.
        in_part = [
            goal for goal, names in named if not wanted.isdecimal() and any(wanted in name for name in names)
        ]
        found = in_full or in_part
        return race.goal if race.goal in found else next(iter(found), None)

    def _draft_for(
        self, context: Context, command: ParsedCommand, count: int, race: Race, asker: Person
    ) -> Draft:
        match command.command:
            case Command.LEADERBOARD:
                return finished(leaderboard.answer(context, count, asker))
            case Command.ODDS:
                return finished(odds.answer(context, race))
            case Command.VERSUS:
                return finished(versus.answer(context, command.argument, race, asker))
        person = asker
        if command.argument:
            named = find_person(self._ledger, context.board, command.argument, race, asker)
            if named is None:
                return finished(unknown_player(context, command.argument))
            if is_hidden_from(self._ledger, asker, named):
                return finished(self._texts.player_hidden)
            person = named
        answer = rating.draft if command.command is Command.RATING else why.draft
        return answer(context, person, race)


def help_phrases(names: CommandNames, texts: Texts, *, moderator: bool) -> list[str]:
    """List the commands, and for a moderator also the moderators' commands."""
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
