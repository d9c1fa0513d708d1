"""Answers the commands in the rooms of one category."""

from dataclasses import dataclass
from operator import itemgetter

from racebot import __version__
from racebot.chat import player_answers
from racebot.chat.answer_context import Context, find_person, one_message, unknown_player
from racebot.ledger.rows import Leaderboard, NamedPlayer
from racebot.queries.standings import listing_of
from racebot.racetime.payload import Race
from racebot.settings.commands import CLOSING, Command, ParsedCommand
from racebot.settings.model import Settings
from racebot.standings.settle import Settler
from racebot.text.format import Count
from racebot.text.safe import plain


@dataclass(frozen=True)
class Answers:
    """Answers commands in the rooms of one category, from the settler's ledger."""

    settler: Settler
    settings: Settings

    def answer(self, command: ParsedCommand, race: Race, asker: NamedPlayer, *, moderator: bool) -> str:
        """Answer a command; an empty string is no answer. `moderator`: the asker moderates the category.

        Raise `LedgerError` if the ledger cannot be read.
        """
        texts = self.settings.texts
        if command.command is Command.HELP:
            boards = self._boards(race, race.goal)
            scored = any(listing_of(self.settings, board).scoring for board in boards)
            stands = bool(boards) and all(board.rule.finished for board in boards)
            phrases = help_phrases(self.settings, moderator=moderator, scored=scored, stands=stands)
            return one_message(phrases, texts)
        race = self.settler.ledger.people.amended(race)
        asker = self.settler.ledger.people.known(asker)
        goal: str | None = race.goal
        if command.command is Command.LEADERBOARD and command.argument:
            goal = self._goal_named(command.argument.rstrip(CLOSING), race)
        if goal is None:
            return texts.unknown_leaderboard
        boards = self._boards(race, goal)
        contexts = [Context(board, self.settler, self.settings) for board in boards]
        answers = [self._answer_on(context, command, race, asker) for context in contexts]
        if len(set(answers)) > 1 and command.command is not Command.LEADERBOARD:
            titles = [texts.board.format(leaderboard=plain(board.name)) for board in boards]
            answers = [title + text for title, text in zip(titles, answers, strict=True) if text]
        return one_message(dict.fromkeys(answers), texts)

    def _boards(self, race: Race, goal: str) -> list[Leaderboard]:
        """Return the leaderboards of the race, of a goal, or with a name.

        A room of an event has that of the event. A custom goal may have none: then the latest stands in.
        """
        rules, ledger, stored = self.settler.rules, self.settler.ledger, self.settler.ledger.leaderboards
        planned = rules.leaderboards(race)
        if goal != race.goal:
            configs = rules.configs_for_goal(race.category, goal)
            planned = [config.leaderboard(race.category, goal) for config in configs]
            named = stored.get(race.category, goal)
            if named is not None and not named.rule.by_goals_alone:
                planned = [named]
        name = rules.events.get(race.name)
        event = None if name is None else ledger.events.get(name)
        if event and not planned:
            configs = [config for config in rules.named_in(race.category) if config.name == event.leaderboard]
            own = stored.get(race.category, event.leaderboard)
            planned = [own] if own else [c.leaderboard(race.category, race.goal) for c in configs]
        if planned or not (race.custom_goal or name):
            return [stored.get(p.category, p.name) or p for p in planned]
        boards = [board for board in stored.all() if board.category == race.category]
        raced = [(at, board) for board in boards if (at := ledger.standings.latest_race(board))]
        return [max(raced, key=itemgetter(0))[1]] if raced else []

    def _goal_named(self, text: str, race: Race) -> str | None:
        """Return the goal whose leaderboard has a name in full or, failing that, in part."""
        wanted = text.casefold()
        named = [
            (goal, [" ".join(name.casefold().split()) for name in (goal, board.name)])
            for board in self.settler.ledger.leaderboards.all()
            if board.category == race.category
            for goal in (board.goals or (board.name,))
        ]
        found = [goal for goal, names in named if wanted in names]
        if not found:
            found = [goal for goal, names in named if any(wanted in name for name in names)]
        return race.goal if race.goal in found else next(iter(found), None)

    def _answer_on(self, context: Context, command: ParsedCommand, race: Race, asker: NamedPlayer) -> str:
        if command.command is Command.LEADERBOARD:
            return player_answers.leaderboard(context, asker)
        if command.command is Command.ODDS:
            return player_answers.odds_of(context, race)
        person: NamedPlayer | None = asker
        if command.argument:
            person = find_person(context, command.argument, race)
        if person is None:
            return unknown_player(context, command.argument)
        if person.id != asker.id and self.settler.ledger.people.is_hidden(person.id):
            return context.texts.player_hidden
        if command.command is Command.VERSUS:
            return player_answers.versus(context, asker, person)
        if command.command in {Command.SCORE, Command.NEED}:
            found = player_answers.score(context, command.command, person, race)
            others = (own for own in self.settings.leaderboards if own.category in {"", race.category})
            if not found and any(own.scoring for own in others):
                return context.texts.scores_missing.format(leaderboard=context.name, cut=Count(False))
            return found
        answer = player_answers.rating if command.command is Command.RATING else player_answers.why
        return answer(context, person, race)


def help_phrases(settings: Settings, *, moderator: bool, scored: bool, stands: bool) -> list[str]:
    """List the commands, those about scores if there are any, and moderators' commands for a moderator."""
    texts, prefix = settings.texts, settings.command_prefix
    player = texts.help_name
    named, maybe_named = (f" {player}", f" [{player}]") if player else ("", "")
    arguments = dict.fromkeys((Command.RATING, Command.WHY), maybe_named)
    arguments |= {Command.LEADERBOARD: "", Command.VERSUS: named, Command.ODDS: ""}
    if scored:
        arguments |= dict.fromkeys((Command.SCORE, Command.NEED), maybe_named)
    line = prefix + Command.HELP
    listed = [prefix + command + argument for command, argument in arguments.items()]
    commands = ", ".join([*listed, f"{line} hide me"])
    phrases = [texts.help.format(version=__version__, commands=commands, record=Count(not stands))]
    if moderator:
        event = f"event {player}".strip()
        own = ", ".join(f"{line} {word}" for word in ("off", "on", "redo", "count", "skip", event))
        phrases.append(texts.help_moderators.format(commands=own))
    return phrases
