"""Moderators' edits, replayed frame by frame, and the bot's messages after each.

The frames have the shape of recorded ones: a chat message, then the old data. Only HTTP shows the new data.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from builders import NOON, Clock, chat_body, entrant_document, race_document
from room_support import QUIET, Follower

from racebot.bot.room import case as cases
from racebot.bot.room.case import Signal
from racebot.chat.wording import DEFAULT_TEXTS
from racebot.ledger.outbox import Delivery
from racebot.ledger.store import Ledger
from racebot.racetime.frames import RaceUpdate, parse_event
from racebot.racetime.payload import parse_race
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.settle import Settler

TIMES = {"tess": "P0DT01H00M01.527896S", "pia": "P0DT01H00M01.882611S", "quinn": "P0DT01H00M02.212746S"}
OLD = [("tess", "done"), ("pia", "done"), ("quinn", "done"), ("uma", "dnf")]
EARLIER = "P0DT00H50M00S"


def document(entrants: list[tuple[str, str]], version: int, **facts: Any) -> dict[str, Any]:
    """A race with these entrants; a time given in `times` replaces the usual one."""
    times = TIMES | facts.pop("times", {})
    return race_document(
        "r",
        [
            entrant_document(name, status, None if status == "dnf" else times.get(name))
            for name, status in entrants
        ],
        version=version,
        **facts,
    )


class Replay:
    """A followed race without sockets. Messages count as delivered at once."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._follower = Follower(Settler(ledger, RatingRules(LeaderboardConfig("elo-ffa"))), clock)
        self._http: dict[str, Any] = {}
        self._messages: list[str] = []
        self._answered = 0

    @property
    def reads(self) -> list[float]:
        return self._follower.reads

    def frame(self, race: dict[str, Any]) -> None:
        event = parse_event({"type": "race.data", "race": race, "version": race["version"]})
        assert isinstance(event, RaceUpdate)
        self._on(cases.Frame(event.race))

    def edit(self, shown: dict[str, Any], saved: dict[str, Any]) -> None:
        """Send a system message and a frame with the old data, then change the data silently."""
        self._on(Signal.SYSTEM_LINE)
        self.frame(shown)
        self._http = saved

    def wait(self, seconds: float = 30.0) -> list[str]:
        """Let time pass, and return the chat messages since the last call."""
        until = self._follower.now + seconds
        while (at := self._follower.watched["orb/r"].deadline) is not None and at <= until:
            self._follower.now = at
            self._on(Signal.TICK)
        self._follower.now = until
        messages, self._messages = self._messages, []
        return messages

    def _on(self, event: cases.Event) -> None:
        self._follower.on("orb/r", event)
        for row in self._ledger.messages.open_for("orb/r"):
            self._ledger.messages.mark(row, Delivery.DELIVERED, NOON)
            if row.message.kind == "chat":
                self._messages.append(chat_body(row).text)
        if len(self.reads) > self._answered:
            self._answered = len(self.reads)
            self._on(cases.Read(parse_race(self._http), self._follower.now))


@pytest.fixture
def replay(ledger: Ledger, clock: Clock) -> Replay:
    clock.advance(seconds=10)
    return Replay(ledger, clock)


def winner(text: str) -> str:
    """Return the name of the player in first place."""
    first = re.search(r": 1\s(\S+)", text)
    return first[1] if first else ""


def test_a_cancelled_race_that_comes_back_is_announced_and_settled(replay: Replay, ledger: Ledger) -> None:
    nobody = [("eve", "dnf"), ("finn", "dnf"), ("gus", "dnf")]
    ended = "2026-03-01T12:00:00.000Z"
    cancelled = document(nobody, 13, status="cancelled", recordable=False, ended_at=ended, cancelled_at=ended)
    replay.frame(cancelled)
    assert replay.wait() == []
    eve = [("eve", "done"), *nobody[1:]]
    back = document(eve, 15, times={"eve": EARLIER})
    replay.edit(cancelled, back)
    replay.edit(cancelled, back)
    (text,) = replay.wait()
    assert winner(text) == "Eve"
    replay.frame(document(eve, 16, times={"eve": EARLIER}, recorded=True))
    assert ledger.races.get("orb/r") is not None


def test_undoing_do_not_record_and_cancelling_a_settled_race_are_followed(
    replay: Replay, ledger: Ledger
) -> None:
    replay.frame(document(OLD, 20))
    (first,) = replay.wait()
    not_recorded = document(OLD, 21, recordable=False)
    replay.frame(not_recorded)
    assert replay.wait() == [DEFAULT_TEXTS.withdrawn]

    back = document(OLD, 23, times={"quinn": EARLIER})
    replay.edit(not_recorded, back)
    (text,) = replay.wait()
    assert winner(text) == "Quinn"

    nobody = [(name, "dnf") for name, _ in OLD]
    replay.edit(
        back, document(nobody, 31, status="cancelled", recordable=False, ended_at="2026-03-01T12:00:00.000Z")
    )
    assert replay.wait() == [DEFAULT_TEXTS.withdrawn]
    assert ledger.races.get("orb/r") is None

    replay.edit(back, document(OLD, 33))
    assert winner(replay.wait()[0]) == winner(first)


def test_corrections_of_edits_come_within_twenty_seconds_and_the_quiet_time(replay: Replay) -> None:
    finished = document(OLD, 19)
    replay.frame(finished)
    replay.wait()
    assert replay.reads == [], "an ordinary finish needs no request"
    replay.edit(finished, document(OLD, 21, times={"quinn": EARLIER}))
    replay.frame(finished)  # the answer to `getrace`
    assert len(replay.wait(QUIET + 20)) == 1
