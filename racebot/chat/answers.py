"""What the bot answers to commands: the ledger's facts in the words of `texts.py`.

Each answer is one message. All of it is ledger work; nothing here writes or sends.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import itemgetter
from typing import cast

import numpy as np

from racebot import __version__
from racebot.chat.commands import Asked, Command, Words
from racebot.chat.messages import MESSAGE_LIMIT
from racebot.chat.people import Person, find_person, known_as
from racebot.chat.templates import Texts
from racebot.chat.why import why_phrases
from racebot.chat.words import percent
from racebot.errors import LedgerError
from racebot.ledger.rows import Leaderboard, Standing
from racebot.races.change import Change
from racebot.races.outcome import TeamPolicy
from racebot.races.result import RaceResult, shown_names
from racebot.racetime.payload import Race
from racebot.ratings import registry
from racebot.ratings.forecast import win_chances
from racebot.standings import queries
from racebot.standings.explain import explain_race
from racebot.standings.queries import Listing
from racebot.standings.settle import Settler
from racebot.text.format import signed
from racebot.text.safe import plain

LEADERBOARD_LENGTH = 5
LONGEST_LEADERBOARD = 25
RACES_EXPLAINED = 8
"""Explanations that are kept, for after a finish all ask for the same; that of a large race takes a while."""
BEFORE_START = frozenset({"open", "invitational", "pending"})


@dataclass(frozen=True, slots=True)
class _Raced:
    """A race that changed a player's rating, or will once it is recorded."""

    result: RaceResult
    changes: tuple[Change, ...]
    pending: bool

    def change(self, player: str) -> Change:
        (change,) = (each for each in self.changes if each.player == player)
        return change


class Answers:
    """Answers commands in the rooms of one category.

    Args:
        settler: for the ledger, and for what a race that is not recorded yet would do.
        texts: the wording.
        words: what the commands are called.
        listing: who is listed on a leaderboard.
        link: the address of a leaderboard's page, None where none is published.
    """

    def __init__(
        self,
        settler: Settler,
        texts: Texts,
        words: Words,
        listing: Callable[[Leaderboard], Listing],
        link: Callable[[Leaderboard], str | None],
    ) -> None:
        self._settler = settler
        self._ledger = settler.ledger
        self._texts = texts
        self._words = words
        self._listing = listing
        self._link = link
        self._explain = lru_cache(RACES_EXPLAINED)(explain_race)

    def answer(self, asked: Asked, race: Race, asker: Person, *, moderator: bool) -> str:
        """The answer to a command asked in a race's room; empty where the texts are silent.

        Raises:
            LedgerError: the ledger cannot be read.
        """
        if asked.command is Command.HELP:
            return self._help(moderator=moderator)
        race = replace(race, entrants=self._ledger.orders.amended_entrants(race.entrants))
        asker = known_as(self._ledger, asker)
        answers = [self._on(board, asked, race, asker) for board in self._boards(race)]
        return self._one(dict.fromkeys(answers))  # what holds of all leaderboards is said once

    def _boards(self, race: Race) -> list[Leaderboard]:
        """Return the leaderboards of a race's goal. A custom goal has none, so the latest one stands in."""
        if not race.custom_goal:
            planned = self._settler.plans.leaderboards(race.category, race.goal)
            return [self._ledger.leaderboard(p.category, p.name) or p for p in planned]
        raced = [
            (latest, board)
            for board in self._ledger.leaderboards()
            if board.category == race.category and (latest := self._ledger.latest_race(board)) is not None
        ]
        return [max(raced, key=itemgetter(0))[1]] if raced else []

    def _on(self, board: Leaderboard, asked: Asked, race: Race, asker: Person) -> str:
        match asked.command:
            case Command.LEADERBOARD:
                return self._leaderboard(board, asked.argument)
            case Command.ODDS:
                return self._odds(board, race)
            case Command.VERSUS if not asked.argument:
                return self._texts.versus_whom.format(command=self._words.line(Command.VERSUS))
        person = find_person(self._ledger, board, asked.argument, race) if asked.argument else asker
        if person is None:
            return self._unknown(board, asked.argument)
        match asked.command:
            case Command.RATING:
                return self._rating(board, person, race)
            case Command.WHY:
                return self._why(board, person, race)
            case Command.VERSUS if person.id == asker.id:
                return self._texts.versus_whom.format(command=self._words.line(Command.VERSUS))
            case Command.VERSUS:
                return self._versus(board, asker, person)
        raise AssertionError(asked.command)

    def _rating(self, board: Leaderboard, person: Person, race: Race) -> str:
        texts = self._texts
        standing = self._standing(board, person)
        pending = self._pending(board, race, person.id)
        coming = []
        if pending is not None:
            change = pending.change(person.id)
            coming = [
                texts.rating_pending.format(points=change.points_after, change=signed(change.points_change))
            ]
        if standing is None:
            opening = texts.rating_newcomer.format(
                name=plain(person.name), leaderboard=plain(board.name), points=self._points(board, person)
            )
            return self._one([opening, *coming])
        last = [change for _, change in self._ledger.history(board, person.id, 1)]
        pieces = [
            texts.rating.format(
                name=plain(standing.name),
                points=self._shown(board, standing),
                standing=self._place(board, standing),
                leaderboard=plain(board.name),
            ),
            *coming,
            texts.rating_record.format(races=standing.races, finishes=standing.finishes, wins=standing.wins),
            *(texts.rating_last.format(change=signed(change.points_change)) for change in last),
        ]
        return self._one(pieces)

    def _shown(self, board: Leaderboard, standing: Standing) -> str:
        """A player's points, marked while the player has too few finishes to be ranked."""
        if standing.finishes >= self._listing(board).minimum_finishes:
            return str(standing.points)
        return self._texts.unranked_points.format(points=standing.points)

    def _place(self, board: Leaderboard, standing: Standing) -> str:
        listing = self._listing(board)
        placing = queries.placing_of(self._ledger, board, standing, listing)
        if placing.place is not None:
            return self._texts.rating_place.format(place=placing.place, listed=placing.listed)
        if standing.hidden:
            return self._texts.rating_hidden
        if standing.finishes < listing.minimum_finishes:
            missing = listing.minimum_finishes - standing.finishes
            text = self._texts.rating_one_missing if missing == 1 else self._texts.rating_too_few
            return text.format(missing=missing, finishes=standing.finishes, needed=listing.minimum_finishes)
        latest = self._ledger.latest_race(board) or standing.last_race_at
        return self._texts.rating_inactive.format(days=(latest - standing.last_race_at).days)

    def _leaderboard(self, board: Leaderboard, argument: str) -> str:
        texts = self._texts
        length = int(argument) if argument.isdecimal() and argument.isascii() else LEADERBOARD_LENGTH
        players = (
            queries.top_players(
                self._ledger, board, self._listing(board), min(max(length, 1), LONGEST_LEADERBOARD)
            )
            if board.id is not None
            else []
        )
        if not players:
            return texts.leaderboard_empty.format(leaderboard=plain(board.name))
        listed = queries.listed_count(self._ledger, board, self._listing(board))
        entries = [
            texts.leaderboard_player.format(place=place, name=plain(standing.name), points=standing.points)
            for place, standing in players
        ]
        url = self._link(board)
        end = [texts.link.format(url=url)] if url else []
        for count in range(len(entries), 0, -1):
            opening = texts.leaderboard.format(leaderboard=plain(board.name), count=count, listed=listed)
            told = opening + texts.separator.join(filter(None, [*entries[:count], *end]))
            if len(told) <= MESSAGE_LIMIT:
                return told
        return self._one(entries[:1], opening)

    def _why(self, board: Leaderboard, person: Person, race: Race) -> str:
        texts = self._texts
        raced = self._pending(board, race, person.id) or self._last(board, person.id)
        if raced is None:
            return texts.why_nothing.format(name=plain(person.name), leaderboard=plain(board.name))
        model = registry.create(board.model, board.parameters)
        explained = self._explain(cast(Hashable, model), TeamPolicy(board.teams), raced.result, raced.changes)
        entrant, explanation = explained[person.id]
        change = raced.change(person.id)
        shown = shown_names(raced.result.entrants)
        opening = (texts.why_pending if raced.pending else texts.why).format(
            name=plain(shown[entrant]),
            before=change.points_before,
            after=change.points_after,
            change=signed(change.points_change),
            leaderboard=plain(board.name),
            race=raced.result.name,
        )
        names = {player: plain(shown[other]) for player, (other, _) in explained.items()}
        return self._one(why_phrases(explanation, names, texts), opening)

    def _odds(self, board: Leaderboard, race: Race) -> str:
        texts = self._texts
        if race.status not in BEFORE_START:
            return texts.odds_started
        if race.hidden:
            return texts.odds_hidden
        if board.teams != TeamPolicy.INDIVIDUAL and any(e.team is not None for e in race.entrants):
            return texts.odds_team
        entrants = [e for e in race.entrants if e.user_id is not None]
        if len(entrants) < 2:
            return texts.odds_none
        model = registry.create(board.model, board.parameters)
        known = self._settler.states(board, [str(e.user_id) for e in entrants])
        chances = win_chances(model, np.array([state for state, _ in known]))
        shown = shown_names(race.entrants)
        told = sorted(
            zip(entrants, known, chances.tolist(), strict=True), key=lambda each: (-each[2], shown[each[0]])
        )
        return self._one(
            (
                (texts.odds_player if rated else texts.odds_new).format(
                    name=plain(shown[entrant]), chance=percent(chance)
                )
                for entrant, (_, rated), chance in told
            ),
            texts.odds.format(leaderboard=plain(board.name)),
        )

    def _versus(self, board: Leaderboard, asker: Person, person: Person) -> str:
        texts = self._texts
        mine, theirs = self._standing(board, asker), self._standing(board, person)
        met = self._ledger.meetings(board, asker.id, person.id) if board.id is not None else []
        model = registry.create(board.model, board.parameters)
        states = np.array([state for state, _ in self._settler.states(board, [asker.id, person.id])])
        chance = float(model.win_probability(states[:1], states[1:])[0])
        points, other_points = model.points(states).tolist()
        opening = texts.versus.format(
            name=plain(mine.name if mine else asker.name),
            other=plain(theirs.name if theirs else person.name),
            leaderboard=plain(board.name),
        )
        return self._one(
            [
                self._record(met) if met else texts.versus_never,
                texts.versus_points.format(points=points, other_points=other_points),
                texts.versus_chance.format(chance=percent(chance)),
            ],
            opening,
        )

    def _record(self, met: Sequence[tuple[int | None, int | None]]) -> str:
        """Account for every race of two players, given their places in each."""
        texts = self._texts
        won = sum(_ahead(place, other) for place, other in met)
        lost = sum(_ahead(other, place) for place, other in met)
        unfinished = sum(place is None and other is None for place, other in met)
        tied = len(met) - won - lost - unfinished
        phrases = [
            texts.versus_record.format(won=won, lost=lost, met=len(met)),
            texts.versus_tied.format(tied=tied) if tied else "",
            texts.versus_unfinished.format(unfinished=unfinished) if unfinished else "",
        ]
        return ", ".join(filter(None, phrases))

    def _help(self, *, moderator: bool) -> str:
        words, texts = self._words, self._texts
        arguments = {
            Command.RATING: f" [{texts.help_name}]" if texts.help_name else "",
            Command.WHY: f" [{texts.help_name}]" if texts.help_name else "",
            Command.LEADERBOARD: f" [{texts.help_number}]" if texts.help_number else "",
            Command.VERSUS: f" {texts.help_name}" if texts.help_name else "",
        }
        order = (Command.RATING, Command.WHY, Command.LEADERBOARD, Command.VERSUS, Command.ODDS)
        told = [words.line(c) + arguments.get(c, "") for c in order if words.line(c)]
        pieces = [texts.help.format(version=__version__, commands=", ".join(told))]
        if moderator:
            line = words.line(Command.HELP)
            own = ", ".join(f"{line} {word}" for word in ("off", "on", "redo"))
            pieces.append(texts.help_moderators.format(commands=own))
        return self._one(pieces)

    def _unknown(self, board: Leaderboard, text: str) -> str:
        """Say that no player has this name, without repeating it."""
        texts = self._texts
        alike = ", ".join(plain(player.shown) for player in self._ledger.players.like(text, 3))
        unknown = texts.unknown_player.format(leaderboard=plain(board.name))
        return " ".join(filter(None, [unknown, texts.did_you_mean.format(names=alike) if alike else ""]))

    def _standing(self, board: Leaderboard, person: Person) -> Standing | None:
        return self._ledger.standing(board, person.id) if board.id is not None else None

    def _points(self, board: Leaderboard, person: Person) -> int:
        ((state, _),) = self._settler.states(board, [person.id])
        return int(registry.create(board.model, board.parameters).points(np.array([state]))[0])

    def _pending(self, board: Leaderboard, race: Race, player: str) -> _Raced | None:
        """What this room's race will do to a player, where it is finished and not settled."""
        result = race.result
        if result is None or not result.final or not self._settler.plans.counts(result):
            return None
        if self._ledger.race(result.name) is not None:
            return None
        for rated in self._settler.preview(result):
            if rated.leaderboard.name == board.name and any(c.player == player for c in rated.changes):
                return _Raced(rated.result, rated.changes, pending=True)
        return None

    def _last(self, board: Leaderboard, player: str) -> _Raced | None:
        """The last race that changed a player's rating."""
        if board.id is None:
            return None
        for stored, _ in self._ledger.history(board, player, 1):
            row = self._ledger.rated_race(board, stored.result.name)
            if row is None:
                raise LedgerError(f"race {stored.result.name}: changes without a race: run `racebot rebuild`")
            return _Raced(stored.result, row.changes, pending=False)
        return None

    def _one(self, pieces: Iterable[str], opening: str = "") -> str:
        """One message of these pieces, the last left out where they are too many."""
        text, between = opening, ""
        for piece in filter(None, pieces):
            longer = text + between + piece
            if len(longer) > MESSAGE_LIMIT:
                break
            text, between = longer, self._texts.separator
        return text[:MESSAGE_LIMIT]


def _ahead(place: int | None, other: int | None) -> bool:
    return place is not None and (other is None or place < other)
