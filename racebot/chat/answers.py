"""Answers to commands, each one message.

An answer takes two steps. `Answers.draft` reads the ledger on its thread, in milliseconds. The `Draft` that
it returns does the slow part without the ledger: it rates the room's race and explains it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from functools import lru_cache
from operator import itemgetter
from typing import cast

import numpy as np

from racebot.chat.commands import Asked, Command, Words
from racebot.chat.line_breaks import unbroken
from racebot.chat.numbers import ordinal, percent, shown_points
from racebot.chat.odds import odds_phrases
from racebot.chat.people import Person, find_pair, find_person, known_as
from racebot.chat.phrases import head_to_head_phrase, help_phrases, record_phrase
from racebot.chat.rating_message import MESSAGE_LIMIT
from racebot.chat.why import why_phrases
from racebot.chat.wording import Texts
from racebot.errors import LedgerError
from racebot.ledger.rows import Leaderboard, Standing
from racebot.races.change import Change
from racebot.races.outcome import TeamPolicy
from racebot.races.result import Entrant, RaceResult, shown_names
from racebot.racetime.payload import Race
from racebot.ratings import registry
from racebot.ratings.model import RatingModel
from racebot.standings import queries
from racebot.standings.explain import Explanation, explain_race
from racebot.standings.queries import Listing
from racebot.standings.settle import Preview, Rated, Settler
from racebot.text.format import signed
from racebot.text.safe import plain

LEADERBOARD_LENGTH = 5
LONGEST_LEADERBOARD = 25
RACES_KEPT = 8
"""Previews and explanations to cache: after a finish, everyone asks for the same ones."""
GREETED = 5
"""Most entrants whose odds a greeting tells."""

Draft = Callable[[], str]
"""Composes an answer without the ledger, on any thread."""


class Answers:
    """Answers commands in the rooms of one category.

    Args:
        settler: reads the ledger and previews races.
        texts: the wording.
        words: the names of the commands.
        listing: which players a leaderboard lists.
        link: the address of a leaderboard's page or, given two players, of their comparison there; None if
            no pages are published.
    """

    def __init__(
        self,
        settler: Settler,
        texts: Texts,
        words: Words,
        listing: Callable[[Leaderboard], Listing],
        link: Callable[..., str | None],
    ) -> None:
        self._settler = settler
        self._ledger = settler.ledger
        self._texts = texts
        self._words = words
        self._listing = listing
        self._link = link
        self._preview = lru_cache(RACES_KEPT)(Preview.rate)
        self._explain = lru_cache(RACES_KEPT)(_explain)

    def draft(self, asked: Asked, race: Race, asker: Person, *, moderator: bool) -> Draft:
        """Read everything that the answer to a command needs. Ledger work.

        Args:
            asked: the command.
            race: the room's race.
            asker: the player who asks.
            moderator: whether the asker moderates the category.

        Returns:
            The draft. It returns an empty string if there is no answer.

        Raises:
            LedgerError: the ledger cannot be read.
        """
        if asked.command is Command.HELP:
            return _finished(self._one(help_phrases(self._words, self._texts, moderator=moderator)))
        race = replace(race, entrants=self._ledger.orders.amended_entrants(race.entrants))
        asker = known_as(self._ledger, asker)
        boards = self._boards(race, self._goal(asked, race))
        drafts = [self._on(board, asked, race, asker) for board in boards]
        names = [plain(board.name) for board in boards]

        def compose() -> str:
            answers = [draft() for draft in drafts]
            if len(set(answers)) > 1 and asked.command is not Command.LEADERBOARD:
                named = zip(names, answers, strict=True)
                answers = [self._texts.board.format(leaderboard=name) + text for name, text in named if text]
            return self._one(dict.fromkeys(answers))

        return compose

    def answer(self, asked: Asked, race: Race, asker: Person, *, moderator: bool) -> str:
        """Draft and compose an answer at once."""
        return self.draft(asked, race, asker, moderator=moderator)()

    def greeting(self, race: Race) -> str:
        """Return a line that greets the entrants: the odds, and a link to the leaderboard's page.

        Ledger work. Returns an empty string if there are no odds, or if the race does not count.
        """
        texts = self._texts
        if race.custom_goal or not race.recordable or not texts.greeting:
            return ""
        race = replace(race, entrants=self._ledger.orders.amended_entrants(race.entrants))
        for board in self._boards(race, race.goal):
            phrases = odds_phrases(self._settler, board, self._listing(board), race, texts, GREETED)
            if phrases:
                odds = texts.odds.format(leaderboard=plain(board.name)) + texts.separator.join(phrases)
                greeting = texts.greeting.format(goal=plain(race.goal), odds=odds)
                url = self._link(board)
                return self._one([greeting, texts.link.format(url=url) if url else ""])
        return ""

    def _boards(self, race: Race, goal: str) -> list[Leaderboard]:
        """Return the leaderboards of a goal. A custom goal has none, so the latest one stands in."""
        if not race.custom_goal or goal != race.goal:
            planned = self._settler.plans.leaderboards(race.category, goal)
            return [self._ledger.leaderboard(p.category, p.name) or p for p in planned]
        raced = [
            (latest, board)
            for board in self._ledger.leaderboards()
            if board.category == race.category and (latest := self._ledger.latest_race(board)) is not None
        ]
        return [max(raced, key=itemgetter(0))[1]] if raced else []

    def _goal(self, asked: Asked, race: Race) -> str:
        """Return the room's goal, or the goal that `!leaderboard` names."""
        if asked.command is Command.LEADERBOARD and asked.argument:
            wanted = asked.argument.casefold()
            for board in self._ledger.leaderboards():
                if board.category == race.category:
                    for goal in board.goals:
                        if wanted in {goal.casefold(), board.name.casefold()}:
                            return goal
        return race.goal

    def _on(self, board: Leaderboard, asked: Asked, race: Race, asker: Person) -> Draft:
        match asked.command:
            case Command.LEADERBOARD:
                return _finished(self._leaderboard(board, asked.argument, asker))
            case Command.ODDS:
                return _finished(self._odds(board, race))
            case Command.VERSUS:
                return _finished(self._versus(board, asked.argument, race, asker))
        person = find_person(self._ledger, board, asked.argument, race) if asked.argument else asker
        if person is None:
            return _finished(self._unknown(board, asked.argument))
        if asked.command is Command.RATING:
            return self._rating(board, person, race)
        return self._why(board, person, race)

    def _rating(self, board: Leaderboard, person: Person, race: Race) -> Draft:
        texts = self._texts
        standing = self._standing(board, person)
        if standing is None:
            opening = texts.rating_newcomer.format(
                name=plain(person.name), leaderboard=plain(board.name), points=self._points(board, person)
            )
            pieces = []
        else:
            opening = self._standing_phrase(board, standing)
            last = [change for _, change in self._ledger.history(board, person.id, 1)]
            pieces = [
                record_phrase(standing, texts),
                *(texts.rating_last.format(change=signed(change.points_change)) for change in last),
            ]
        pending = self._pending(board, race, person)

        def compose() -> str:
            coming = []
            change = None if pending is None else _change(self._preview(pending), person)
            if change is not None:
                points = shown_points(
                    change.points_after, texts, ranked=self._is_ranked(board, standing, change)
                )
                coming = [texts.rating_pending.format(points=points, change=signed(change.points_change))]
            return self._one([opening, *coming, *pieces])

        return compose

    def _standing_phrase(self, board: Leaderboard, standing: Standing) -> str:
        return self._texts.rating.format(
            name=plain(standing.name),
            points=self._shown(board, standing),
            standing=self._place(board, standing),
            leaderboard=plain(board.name),
        )

    def _shown(self, board: Leaderboard, standing: Standing) -> str:
        return shown_points(standing.points, self._texts, ranked=self._is_ranked(board, standing))

    def _is_ranked(self, board: Leaderboard, standing: Standing | None, coming: Change | None = None) -> bool:
        """Return whether a player has enough finishes to be ranked, counting a race to come if given."""
        finishes = standing.finishes if standing else 0
        finishes += coming is not None and coming.place is not None
        return finishes >= self._listing(board).minimum_finishes

    def _place(self, board: Leaderboard, standing: Standing) -> str:
        listing = self._listing(board)
        placing = queries.placing_of(self._ledger, board, standing, listing)
        if placing.place is not None:
            return self._texts.rating_place.format(
                place=placing.place, ordinal=ordinal(placing.place, self._texts), listed=placing.listed
            )
        if standing.hidden:
            return self._texts.rating_hidden
        if standing.finishes < listing.minimum_finishes:
            missing = listing.minimum_finishes - standing.finishes
            text = self._texts.rating_one_missing if missing == 1 else self._texts.rating_too_few
            return text.format(missing=missing, finishes=standing.finishes, needed=listing.minimum_finishes)
        latest = self._ledger.latest_race(board) or standing.last_race_at
        return self._texts.rating_inactive.format(days=(latest - standing.last_race_at).days)

    def _leaderboard(self, board: Leaderboard, argument: str, asker: Person) -> str:
        texts = self._texts
        length = int(argument) if argument.isdecimal() and argument.isascii() else LEADERBOARD_LENGTH
        length = min(max(length, 1), LONGEST_LEADERBOARD)
        listing = self._listing(board)
        players = queries.top_players(self._ledger, board, listing, length) if board.id is not None else []
        if not players:
            return texts.leaderboard_empty.format(leaderboard=plain(board.name))
        listed = queries.listed_count(self._ledger, board, listing)
        entries = [self._listed(place, standing) for place, standing in players]
        url = self._link(board)
        end = [texts.link.format(url=url)] if url else []
        own = self._standing(board, asker)
        if own is not None and not own.hidden and own.player not in {s.player for _, s in players}:
            place = queries.placing_of(self._ledger, board, own, listing).place
            end = [self._standing_phrase(board, own) if place is None else self._listed(place, own), *end]
        for count in range(len(entries), 0, -1):
            opening = texts.leaderboard.format(leaderboard=plain(board.name), count=count, listed=listed)
            text = opening + texts.separator.join(filter(None, [*entries[:count], *end]))
            if len(text) <= MESSAGE_LIMIT:
                return text
        return self._one(entries[:1], opening)

    def _listed(self, place: int, standing: Standing) -> str:
        return unbroken(
            self._texts.leaderboard_player.format(
                place=place, name=plain(standing.name), points=standing.points
            )
        )

    def _why(self, board: Leaderboard, person: Person, race: Race) -> Draft:
        texts = self._texts
        pending = self._pending(board, race, person)
        last = self._last(board, person.id)
        standing = self._standing(board, person)
        model = cast(Hashable, registry.create(board.model, board.parameters))

        def compose() -> str:
            raced = None if pending is None else self._preview(pending)
            is_coming = raced is not None and _change(raced, person) is not None
            raced = raced if is_coming else last
            change = None if raced is None else _change(raced, person)
            if raced is None or change is None:
                return texts.why_nothing.format(name=plain(person.name), leaderboard=plain(board.name))
            explained = self._explain(model, TeamPolicy(board.teams), raced.result, raced.changes)
            entrant, explanation = explained[person.id]
            shown = shown_names(raced.result.entrants)
            ranked = self._is_ranked(board, standing, change if is_coming else None)
            opening = (texts.why_pending if is_coming else texts.why).format(
                name=plain(shown[entrant]),
                before=shown_points(change.points_before, texts, ranked=ranked),
                after=shown_points(change.points_after, texts, ranked=ranked),
                change=signed(change.points_change),
                leaderboard=plain(board.name),
                race=raced.result.name,
            )
            names = {player: plain(shown[other]) for player, (other, _) in explained.items()}
            return self._one(why_phrases(explanation, names, texts), opening)

        return compose

    def _odds(self, board: Leaderboard, race: Race) -> str:
        phrases = odds_phrases(self._settler, board, self._listing(board), race, self._texts)
        if not phrases:
            return self._texts.odds_none
        return self._one(phrases, self._texts.odds.format(leaderboard=plain(board.name)))

    def _versus(self, board: Leaderboard, argument: str, race: Race, asker: Person) -> str:
        texts = self._texts
        pair = find_pair(self._ledger, board, argument, race, asker) if argument else (asker, asker)
        if pair is None:
            return self._unknown(board, argument)
        one, other = pair
        if one.id == other.id:
            return texts.versus_whom.format(command=self._words.line(Command.VERSUS))
        met = self._ledger.meetings(board, one.id, other.id) if board.id is not None else []
        model = registry.create(board.model, board.parameters)
        states = np.array([state for state, _ in self._settler.states(board, [one.id, other.id])])
        chance = float(model.win_probability(states[:1], states[1:])[0])
        points, other_points = (
            shown_points(rounded, texts, ranked=self._is_ranked(board, self._standing(board, person)))
            for rounded, person in zip(model.points(states).tolist(), pair, strict=True)
        )
        name, other_name = (plain(person.name) for person in (one, other))
        url = self._link(board, one.id, other.id) if met else None
        return self._one(
            [
                head_to_head_phrase(met, texts) if met else texts.versus_never,
                texts.versus_points.format(points=points, other_points=other_points),
                texts.versus_chance.format(chance=percent(chance, texts)),
                texts.link.format(url=url) if url else "",
            ],
            texts.versus.format(name=name, other=other_name, leaderboard=plain(board.name)),
        )

    def _unknown(self, board: Leaderboard, text: str) -> str:
        """Say that no player has this name, without repeating it."""
        texts = self._texts
        hidden = self._ledger.orders.hidden()
        found = (player for player in self._ledger.players.like(text, 3) if player.id not in hidden)
        alike = ", ".join(plain(player.shown) for player in found)
        unknown = texts.unknown_player.format(leaderboard=plain(board.name))
        return " ".join(filter(None, [unknown, texts.did_you_mean.format(names=alike) if alike else ""]))

    def _standing(self, board: Leaderboard, person: Person) -> Standing | None:
        return self._ledger.standing(board, person.id) if board.id is not None else None

    def _points(self, board: Leaderboard, person: Person) -> int:
        ((state, _),) = self._settler.states(board, [person.id])
        return int(registry.create(board.model, board.parameters).points(np.array([state]))[0])

    def _pending(self, board: Leaderboard, race: Race, person: Person) -> Preview | None:
        """Return a preview of the room's race if it is finished, not settled, and has this player."""
        result = race.result
        if result is None or not result.final or not self._settler.plans.counts(result):
            return None
        if self._ledger.race(result.name) is not None:
            return None
        for preview in self._settler.previews(result):
            if preview.leaderboard.name == board.name and person.id in {
                e.user_id for e in preview.result.entrants
            }:
                return preview
        return None

    def _last(self, board: Leaderboard, player: str) -> Rated | None:
        """Return the last race that changed a player's rating."""
        if board.id is None:
            return None
        for stored, _ in self._ledger.history(board, player, 1):
            row = self._ledger.rated_race(board, stored.result.name)
            if row is None:
                raise LedgerError(
                    f"race {stored.result.name}: has changes but is not rated: run `racebot rebuild`"
                )
            return Rated(board, stored.result, row.changes)
        return None

    def _one(self, pieces: Iterable[str], opening: str = "") -> str:
        """Join pieces to one message, leaving out the last ones if it would be too long."""
        text, between = opening, ""
        for piece in filter(None, pieces):
            longer = text + between + piece
            if len(longer) > MESSAGE_LIMIT:
                break
            text, between = longer, self._texts.separator
        return text[:MESSAGE_LIMIT]


def _finished(text: str) -> Draft:
    return lambda: text


def _change(raced: Rated, person: Person) -> Change | None:
    return next((change for change in raced.changes if change.player == person.id), None)


def _explain(
    model: Hashable, teams: TeamPolicy, result: RaceResult, changes: tuple[Change, ...]
) -> dict[str, tuple[Entrant, Explanation]]:
    return explain_race(cast(RatingModel, model), teams, result, changes)
