"""What was said in a room, and what the room showed when it was said."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from racebot.chat.templates import DEFAULT_TEXTS
from racebot.sandbox.chat_room import Frame
from racebot.sandbox.race_state import RaceStatus
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.session import CHAT_CLOSED

from .truth import Places, rateable, stands

_ANNOUNCEMENT = re.compile(
    r"(?:Correction (?P<number>\d+): the result changed\. )?"
    r"Ratings, once this race is recorded \((?P<board>[^)]+)\): (?P<players>.*)"
)
_PLAYER = re.compile(r"(?P<word>\d+|DNF|DQ) (?P<name>.+) -?\d+→-?\d+ \([+−±]\d+(?:, first race)?\)")
_TEAM_RACE = re.compile(r"This is a team race: it does not change any rating \((?P<board>[^)]+)\)\.")


@dataclass(frozen=True)
class Announcement:
    """One message about a result: the number of the correction, or 0, and the places that it tells."""

    number: int
    board: str
    places: Places


@dataclass
class Chronicle:
    """Follows one room from its opening.

    `results` are all that the room ever showed, in order, None for having none; `said` are the bot's
    messages, each with the number of results shown by then. `heard` is told of each of these messages, before
    anybody else in the room is.
    """

    room: FakeRoom
    boards: Collection[str]
    heard: Callable[[FakeRoom], None]
    results: list[Places | None] = field(default_factory=lambda: [None])
    said: list[tuple[str, int]] = field(default_factory=list)

    def follow(self) -> None:
        self.room.listen(self._hear)

    def look(self) -> None:
        """Note the result, which may have changed without a frame."""
        if (now := stands(self.room)) != self.results[-1]:
            self.results.append(now)

    def _hear(self, frame: Frame) -> None:
        self.look()
        if frame["type"] == "chat.message" and frame["message"]["bot"] == self.room.site.bot.name:
            self.said.append((frame["message"]["message"], len(self.results)))
            self.heard(self.room)

    # ── what must hold at any time ──

    def wrongs(self) -> Iterator[str]:
        """Everything that must never be, whatever is still to come."""
        name = self.room.name
        texts = [text for text, _ in self.said]
        for text in {text for text in texts if texts.count(text) > 1}:
            yield f"{name}: said {texts.count(text)} times: {text}"
        if self.room.refused.count(CHAT_CLOSED) > 1:
            yield f"{name}: spoke {self.room.refused.count(CHAT_CLOSED)} times in the closed chat"
        last_number = 0
        told: dict[str, int] = {}
        for text, shown in self.said:
            if text == DEFAULT_TEXTS.withdrawn or _TEAM_RACE.fullmatch(text):
                continue
            announcement = self._read(text)
            if announcement is None:
                yield f"{name}: said what it should not: {text}"
                continue
            if announcement.board not in self.boards:
                yield f"{name}: counts for no such leaderboard: {text}"
            if announcement.number < last_number:
                yield f"{name}: an older message after a newer one: {text}"
            last_number = announcement.number
            matching = [
                index
                for index in range(shown)
                if (result := self.results[index]) is not None and _told(result) == announcement.places
            ]
            if not matching:
                yield f"{name}: never had the result that was said: {text}"
                continue
            since = told.get(announcement.board, 0)
            if since and all(
                result is None or _told(result) == announcement.places
                for result in self.results[since - 1 : shown]
            ):
                yield f"{name}: corrected though nothing had changed: {text}"
            told[announcement.board] = matching[-1] + 1

    def _read(self, text: str) -> Announcement | None:
        match = _ANNOUNCEMENT.fullmatch(text)
        if match is None:
            return None
        ids = {entrant.user.name: entrant.user.id for entrant in self.room.entrants}
        told: Places = {}
        phrases = [] if match["players"] == "no changes" else match["players"].split(" · ")
        for phrase in phrases:
            player = _PLAYER.fullmatch(phrase)
            if player is None or player["name"] not in ids:
                return None
            told[ids[player["name"]]] = int(player["word"]) if player["word"].isdecimal() else None
        return Announcement(int(match["number"] or 0), match["board"], told)

    # ── what must hold once nothing is left to do ──

    def missing(self) -> Iterator[str]:
        """What has not been said though it should have been by now."""
        room = self.room
        announced = [a for text, _ in self.said if (a := self._read(text)) is not None]
        if room.custom_goal or room.recorded:
            return
        over = room.status is RaceStatus.CANCELLED or not room.recordable
        withdrawn = any(text == DEFAULT_TEXTS.withdrawn for text, _ in self.said)
        if withdrawn != (over and any(a.places for a in announced)):
            yield f"{room.name}: {'' if withdrawn else 'not '}said that it will not be recorded"
        if over or (result := stands(room)) is None:
            return
        if room.team_race:
            told = {m["board"] for text, _ in self.said if (m := _TEAM_RACE.fullmatch(text))}
            if told != set(self.boards):
                yield f"{room.name}: is a team race, told for {sorted(told)}"
            return
        for board in self.boards:
            last = next((a for a in reversed(announced) if a.board == board), None)
            if last is None and rateable(result):
                yield f"{room.name}: nothing was said for {board}"
            elif last is not None and last.places != _told(result):
                yield f"{room.name}: what was said last for {board} is not the result"


def _told(result: Places) -> Places:
    """What an announcement of this result names: nobody, where nothing changes."""
    return result if rateable(result) else {}
