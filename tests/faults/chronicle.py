"""Follows a room's results and the bot's messages in it, and judges the messages."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from racebot.sandbox.race_state import RaceStatus
from racebot.sandbox.room import FakeRoom, Frame
from racebot.sandbox.session import CHAT_CLOSED
from racebot.sandbox.site import BOT_NAME
from racebot.settings.texts import DEFAULT_TEXTS

from .truth import Board, Places, Rated, final_places, rateable, side

_ANNOUNCEMENT = re.compile(
    r"(?P<correction>Correction[^:]*: (?:the result changed\. )?)?"
    r"(?:Ratings,? (?:once this race is|if) recorded \((?P<board>[^)]+)\): )(?P<players>.*)"
)
_PLAYER = re.compile(
    r"(?:(?P<word>\d+|DNF|DQ) (?:Team \d+: )?)?(?P<name>.+?)"
    r" (?:(?P<before>-?\d+)\??→)?(?P<after>-?\d+)\?? \((?P<change>[+−±]\d+)[^)]*\)"
)
_TEAM_RACE = re.compile(r"Team races are not rated \((?P<board>[^)]+)\)\.")
_OPENING = re.compile(r"(Correction \(.+?\)|Ratings if recorded \(.+?\)): (.*)", re.DOTALL)

Points = dict[str, tuple[int | None, int, int]]
"""Points before (if told), after, and change, by user id."""


@dataclass(frozen=True)
class Announcement:
    """One message about a result."""

    board: str
    places: Places
    """Of all entrants: a correction that names only some leaves the others as announced before."""
    points: Points
    """Of the entrants that the message names."""


@dataclass(frozen=True)
class Message:
    """One message of the bot, as it reached the room."""

    text: str
    shown: int
    """How many results the room had shown by then."""
    settled: Mapping[str, int]
    """How many races each leaderboard held by then."""


@dataclass
class Chronicle:
    """Follows one room from its opening.

    `boards` are the leaderboards that rate its race: none for a team race that no model can rate. `results`
    are all results that the room ever had, in order, None if it is not final. `heard` is called for each
    message of the bot before anybody in the room sees it. `ids` maps every name that a user has ever had to
    the user's id. `clock` returns the seconds that the worker had.
    """

    room: FakeRoom
    boards: Collection[str]
    heard: Callable[[FakeRoom], None]
    ids: Mapping[str, str]
    lengths: Callable[[], Mapping[str, int]]
    clock: Callable[[], float]
    results: list[Places | None] = field(default_factory=lambda: [None])
    said: list[Message] = field(default_factory=list)
    result_since: float = 0.0
    """Time since which the room has had its current result."""
    settled_at_result: list[Mapping[str, int]] = field(default_factory=lambda: [{}])
    judged: int = 0
    """Messages whose points have been checked."""

    def look(self) -> None:
        """Note the result; an edited one is saved without a frame."""
        if (now := final_places(self.room)) != self.results[-1]:
            self.results.append(now)
            self.settled_at_result.append(self.lengths())
            self.result_since = self.clock()

    def hear(self, frame: Frame) -> None:
        self.look()
        if frame["type"] == "chat.message" and frame["message"]["bot"] == BOT_NAME:
            text = frame["message"]["message"].replace("\N{NO-BREAK SPACE}", " ")
            for part in _by_board(text, self.boards):
                self.said.append(Message(part, len(self.results), self.lengths()))
            self.heard(self.room)

    # ── at any time ──

    def wrongs(self) -> Iterator[str]:
        """Return violations of the rules that hold at any time."""
        name = self.room.name
        texts = [message.text for message in self.said]
        if self.room.refused.count(CHAT_CLOSED) > 1:
            yield f"{name}: spoke {self.room.refused.count(CHAT_CLOSED)} times in the closed chat"
        announced_at: dict[str, int] = {}
        withdrawn: set[int] = set()
        for index, message in enumerate(self.said):
            text = message.text
            if text == DEFAULT_TEXTS.withdrawn:
                if message.shown in withdrawn:
                    yield f"{name}: withdrew the same result twice"
                withdrawn.add(message.shown)
                announced_at.clear()
                continue
            team_race = _TEAM_RACE.fullmatch(text)
            if team_race and self.room.team_race and team_race["board"] not in self.boards:
                if texts.count(text) > 1:
                    yield f"{name}: said {texts.count(text)} times: {text}"
                continue
            announcement = self._read(index)
            if announcement is None:
                yield f"{name}: said what it should not: {text}"
                continue
            if announcement.board not in self.boards:
                yield f"{name}: counts for no such leaderboard: {text}"
            matching = [
                index
                for index in range(message.shown)
                if (result := self.results[index]) is not None and _named(result) == announcement.places
            ]
            if not matching:
                yield f"{name}: never had the result that was said: {text}"
                continue
            since = announced_at.get(announcement.board, 0)
            if since and all(
                result is None or _named(result) == announcement.places
                for result in self.results[since - 1 : message.shown]
            ):
                yield f"{name}: repeated or corrected though nothing had changed: {text}"
            announced_at[announcement.board] = matching[-1] + 1

    def _read(self, index: int) -> Announcement | None:
        """Read one of the bot's messages as an announcement."""
        match = _ANNOUNCEMENT.fullmatch(self.said[index].text)
        if match is None:
            return None
        places: Places = {}
        points: Points = {}
        sides = {entrant.user.id: side(entrant) for entrant in self.room.entrants}
        last = None
        phrases = [] if match["players"] == DEFAULT_TEXTS.no_changes else match["players"].split(" · ")
        for phrase in phrases:
            player = _PLAYER.fullmatch(phrase)
            if player is None or player["name"] not in self.ids:
                return None
            user = self.ids[player["name"]]
            if player["word"] is not None:
                places[user] = int(player["word"]) if player["word"].isdecimal() else None
            elif last is not None and sides[last] == sides[user]:
                places[user] = places[last]
            else:
                return None  # it reads as if the player were in another team
            last = user
            told = None if player["before"] is None else int(player["before"])
            points[user] = (told, int(player["after"]), _signed(player["change"]))
        entrants = {entrant.user.id for entrant in self.room.entrants}
        if places and match["correction"] and set(places) < entrants:
            earlier = (self._read(i) for i in reversed(range(index)))
            before = next((a for a in earlier if a is not None and a.board == match["board"]), None)
            places = {**(before.places if before else {}), **places}
        return Announcement(match["board"], places, points)

    def wrong_points(self, boards: Mapping[str, Board]) -> Iterator[str]:
        """Say which points the bot announced that no state of the ledger at the time explains.

        A message may be worded from any state of the leaderboard between the result and its arrival.
        """
        for index in range(self.judged, len(self.said)):
            message, announcement = self.said[index], self._read(index)
            if announcement is None or announcement.board not in boards or not announcement.points:
                continue
            earlier = reversed(self.results[: message.shown])
            result = next((r for r in earlier if r and _named(r) == announcement.places), None)
            if result is None:
                continue
            board = boards[announcement.board]
            shown = self.results.index(result)
            first = self.settled_at_result[shown].get(announcement.board, 0)
            last = message.settled.get(announcement.board, 0)
            if not any(
                _explains(board.rate(self.room, result, length), announcement.points)
                for length in range(first, last + 1)
            ):
                yield f"{self.room.name}: no state of the ledger explains the points: {message.text}"
        self.judged = len(self.said)

    # ── once the bot has caught up ──

    def missing(self) -> Iterator[str]:
        """Return messages that the bot should have written by now."""
        room = self.room
        if room.custom_goal or room.recorded:
            return
        over = room.status is RaceStatus.CANCELLED or not room.recordable
        if over != self._withdrawn() and any(a.places for a in self._announced()):
            yield f"{room.name}: {'not ' if over else ''}said that it will not be recorded"
        if over or (result := final_places(room)) is None:
            return
        yield from self._unannounced(result)

    def _announced(self) -> list[Announcement]:
        return [found for index in range(len(self.said)) if (found := self._read(index))]

    def _withdrawn(self) -> bool:
        """Return whether the last announcement of changes was withdrawn."""
        for index in reversed(range(len(self.said))):
            is_withdrawal = self.said[index].text == DEFAULT_TEXTS.withdrawn
            if is_withdrawal or ((announcement := self._read(index)) is not None and announcement.places):
                return is_withdrawal
        return False

    def _unannounced(self, result: Places) -> Iterator[str]:
        room, announced = self.room, self._announced()
        if not self.boards and not any(_TEAM_RACE.fullmatch(message.text) for message in self.said):
            yield f"{room.name}: is a team race, which was not said"
        for board in self.boards:
            last = next((a for a in reversed(announced) if a.board == board), None)
            if last is None and rateable(result):
                yield f"{room.name}: nothing was said for {board}"
            elif last is not None and last.places != _named(result):
                yield f"{room.name}: the last message for {board} does not show the result"

    def silence(self, calm: float, enough: float) -> Iterator[str]:
        """Return messages that are missing in a room about to be recorded, if the bot had time to write them.

        It had time after `calm` seconds without faults, by the clock, if they are `enough`.
        """
        self.look()
        result = self.results[-1]
        if result is None or min(calm, self.clock() - self.result_since) < enough:
            return
        for problem in self._unannounced(result):
            yield f"{problem} before the record"

    def info_box(self, changes: Mapping[str, Mapping[str, Rated]]) -> Iterator[str]:
        """Return points in the info box that differ from the race's changes, by leaderboard and user id."""
        for line in (self.room.info_bot or "").replace("\N{NO-BREAK SPACE}", " ").splitlines():
            if not line.startswith(DEFAULT_TEXTS.info.partition("{")[0]):
                continue
            for player in filter(None, map(_PLAYER.fullmatch, line.partition("): ")[2].split(" · "))):
                user = self.ids.get(player["name"])
                found = (int(player["after"]), _signed(player["change"]))
                told = {
                    (row.points_after, row.change) for of in changes.values() if (row := of.get(user or ""))
                }
                if found not in told:
                    yield f"{self.room.name}: the info box has {player[0]!r}"


def _named(result: Places) -> Places:
    """Return the players that an announcement of this result names: none if nothing changes."""
    return result if rateable(result) else {}


def _signed(text: str) -> int:
    return int(text.replace("−", "-").replace("±", ""))


def _explains(rated: Mapping[str, Rated], points: Points) -> bool:
    return all(
        user in rated
        and before in {None, rated[user].points_before}
        and (after, change) == (rated[user].points_after, rated[user].change)
        for user, (before, after, change) in points.items()
    )


def _by_board(text: str, boards: Collection[str]) -> list[str]:
    """Split one message of the bot into one for each leaderboard, with the leaderboard's name in it."""
    match = _OPENING.fullmatch(text)
    if match is None:
        return [text]
    correction = "Correction: " if match[1].startswith("Correction") else ""
    if match[2] == DEFAULT_TEXTS.no_changes:
        entries = {board: [match[2]] for board in boards}
    else:
        entries = {}
        board = next(iter(boards), "")
        for part in match[2].split(" · "):
            named = next((each for each in boards if part.startswith(f"{each}: ")), None)
            board, entry = (board, part) if named is None else (named, part.removeprefix(f"{named}: "))
            entries.setdefault(board, []).append(entry)
    return [f"{correction}Ratings if recorded ({board}): {' · '.join(of)}" for board, of in entries.items()]
