"""What happens at each stage of a race's life: finished, taken back, recorded, over.

Everything here is plain ledger work, called by the room tasks, the polling of pending races and the
list of past races alike; what is to be said goes into the outbox and is delivered by `delivery.py`.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from racebot.chat import info_box, messages
from racebot.chat.templates import DEFAULT_TEXTS, Texts
from racebot.ledger.queue import Delivery, Kind, Message, OutboxRow, PendingRace
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.observe import metrics
from racebot.races.result import RaceResult
from racebot.racetime.payload import Race
from racebot.standings.rater import TEAM_RACE
from racebot.standings.settle import Rated, Settler

log = logging.getLogger(__name__)

ANNOUNCE_WITHIN = timedelta(hours=1)
"""A result older than this when first seen is not announced: its racers have left the room."""
GIVE_UP_AFTER = timedelta(days=1)
"""A finished race that the site does not know is looked for this long."""
WITHDRAW_AFTER = timedelta(hours=6)
"""A settled race is only forgotten this long after it was settled: an answer of the site may be older."""
EXPIRE_AFTER = timedelta(days=90)
"""A finished race that is neither recorded nor set aside is looked after this long."""


class Lifecycle:
    """Turns what is seen of races into ledger entries and messages.

    Args:
        settler: rates results.
        clock: the current time, with its offset.
        announce: whether anything is to be said in chat.
        texts: the wording.
        buttons: for the rating message, as the room's socket takes them.
    """

    def __init__(
        self,
        settler: Settler,
        clock: Callable[[], datetime],
        *,
        announce: bool = True,
        texts: Texts = DEFAULT_TEXTS,
        buttons: Callable[[Leaderboard], Mapping[str, Mapping[str, str]]] = lambda _: {},
    ) -> None:
        self.settler = settler
        self._ledger: Ledger = settler.ledger
        self._clock = clock
        self._announce = announce
        self._texts = texts
        self._buttons = buttons
        self._started_at = clock()
        self._settled_at: dict[str, datetime] = {}

    def joined(self, race: Race) -> None:
        """Remember an unfinished race that is watched, in case that nobody watches when it finishes."""
        with self._ledger.transaction():
            self._ledger.pending.join(race.name, race.category)

    def observe(self, race: Race, *, in_room: bool = False) -> None:
        """Take in a race as the site now shows it, wherever it was seen.

        Args:
            race: from a room frame, a race detail or the list.
            in_room: whether we are in its room, and so may give the final word there.
        """
        result = race.result
        if race.over and not race.recorded:
            self.over(race.name)
            self._withdraw(race)
        elif result is None or result.hidden:
            return
        elif not self.settler.plans.counts(result):
            self.over(race.name)
        elif race.recorded:
            self.recorded(result, in_room=in_room)
        elif self._ledger.race(race.name) is not None:
            self._withdraw(race)
        else:
            self.finished(result)

    def finished(self, result: RaceResult) -> None:
        """Look after a finished race until it is settled."""
        with self._ledger.transaction():
            self._ledger.pending.leave(result.name)
            if self._ledger.pending.get(result.name) is None:
                log.info("%s: finished, waiting for its record", result.name)
                self._ledger.pending.save(
                    PendingRace(
                        result.name, result.category, result.ended_at, self._next_look(result.ended_at)
                    )
                )

    def result_stands(self, result: RaceResult) -> None:
        """Queue the provisional changes, or a correction of what was said before."""
        if not self.settler.plans.counts(result) or not self._announce:
            return
        if self._ledger.race(result.name) is not None:
            return  # settled already, from what another source showed
        self.finished(result)
        with self._ledger.transaction():
            pending = self._ledger.pending.get(result.name)
            if pending is None:
                return
            if pending.said is None and self._clock() - result.ended_at > ANNOUNCE_WITHIN:
                return
            if self.is_quiet(result.name):
                return
            rated = self.settler.preview(result)
            key = _standing_key(rated)
            if pending.said == key:
                return
            self._ledger.outbox.drop_waiting(result.name, "chat", self._clock(), "the result changed")
            correction = pending.corrections + 1 if self._was_heard(result.name) else 0
            self._say_changes(rated, correction=correction)
            self._ledger.pending.save(replace(pending, said=key, corrections=correction))

    def say_again(self, result: RaceResult | None) -> bool:
        """Queue the provisional changes once more; False where there are none."""
        if result is None or not result.final or not self.settler.plans.counts(result):
            return False
        with self._ledger.transaction():
            if self._ledger.race(result.name) is not None:
                return False
            return self._say_changes(self.settler.preview(result), again=True)

    def keep_quiet(self, name: str) -> None:
        """Say nothing more in this room's chat."""
        with self._ledger.transaction():
            self._ledger.outbox.drop_waiting(name, "chat", self._clock(), "a moderator asked for quiet")
            self._ledger.pending.keep_quiet(name)

    def speak_again(self, name: str, result: RaceResult | None) -> None:
        """End what `keep_quiet` began, and say of the room's finished race what was not said."""
        with self._ledger.transaction():
            self._ledger.pending.speak_again(name)
            if result is not None and result.final:
                self.result_stands(result)

    def is_quiet(self, name: str) -> bool:
        """Whether a moderator asked for quiet in this room."""
        return self._ledger.pending.is_quiet(name)

    def taken_back(self, name: str) -> None:
        """The race goes on: what was not said yet must not be said, unless half of it was."""
        with self._ledger.transaction():
            told = [row.message.body for row in self._heard(name) if "result" in row.message.body]
            begun = {body["correction"] for body in told}
            for row in self._ledger.outbox.open_for(name):
                unsaid = row.message.kind == "chat" and row.state is Delivery.WAITING
                if unsaid and row.message.body.get("correction") not in begun:
                    self._ledger.outbox.mark(row, Delivery.DROPPED, self._clock(), "the race goes on")
            pending = self._ledger.pending.get(name)
            if pending is not None:
                said = str(told[-1]["result"]) if told else None
                self._ledger.pending.save(replace(pending, said=said))

    def recorded(self, result: RaceResult, *, in_room: bool) -> None:
        """Settle a recorded race, and queue the final word for a room that we know."""
        known = (
            in_room
            or self._ledger.pending.get(result.name) is not None
            or self._ledger.pending.is_joined(result.name)
            or bool(self._ledger.outbox.of(result.name))
        )

        def final_words(rated: list[Rated]) -> Iterable[Message]:
            self._ledger.outbox.drop_waiting(result.name, "chat", self._clock(), "the race is recorded")
            boards = [r for r in rated if r.changes]
            if not known or not boards:
                return
            entries = [
                info_box.meta_entry(r.leaderboard.name, r.leaderboard.model, r.changes) for r in boards
            ]
            yield self._message(result.name, result.category, "meta", {"leaderboards": entries})
            if self._texts.info:
                blocks = [
                    info_box.info_block(result, r.leaderboard.name, r.changes, self._texts) for r in boards
                ]
                yield self._message(result.name, result.category, "info", {"blocks": blocks})

        with self._ledger.transaction():
            self._ledger.pending.leave(result.name)
            self._ledger.pending.speak_again(result.name)
            began = time.perf_counter()
            rated = self.settler.settle(result, final_words, self._clock())
        if rated is not None:
            metrics.SETTLED.labels(result.category).inc()
            metrics.SETTLE_SECONDS.observe(time.perf_counter() - began)
            self._settled_at[result.name] = self._clock()
        for each in rated or ():
            outcome = each.note or f"{len(each.changes)} ratings changed"
            log.info("%s: settled on %s: %s", result.name, each.leaderboard.name, outcome)

    def over(self, name: str) -> None:
        """The race will never be recorded: say so where changes were announced, and forget it."""
        with self._ledger.transaction():
            quiet = self.is_quiet(name)
            self._ledger.pending.leave(name)
            self._ledger.pending.speak_again(name)
            pending = self._ledger.pending.get(name)
            if pending is None:
                return
            self._ledger.outbox.drop_waiting(name, "chat", self._clock(), "the race is not recorded")
            if self._stands_in_chat(name) and self._texts.withdrawn and not quiet:
                body = {"text": self._texts.withdrawn, "withdraws": True}
                self._put(name, pending.category, "chat", body)
            self._ledger.pending.remove(name)
        log.info("%s: will not be recorded, nothing changes", name)

    def vanished(self, name: str) -> None:
        """The site says that there is no such race: give it up, unless it may be a passing fault."""
        pending = self._ledger.pending.get(name)
        if pending is not None and self._clock() - pending.ended_at < GIVE_UP_AFTER:
            return
        with self._ledger.transaction():
            self._ledger.pending.leave(name)
            self._ledger.pending.remove(name)
            for row in self._ledger.outbox.open_for(name):
                self._ledger.outbox.mark(row, Delivery.DROPPED, self._clock(), "the room is gone")

    def looked_at(self, name: str) -> None:
        """Put off the next look at a pending race, the longer the older it is."""
        with self._ledger.transaction(lasting=False):
            pending = self._ledger.pending.get(name)
            if pending is None:
                return
            if self._clock() - pending.ended_at > EXPIRE_AFTER:
                log.warning("%s: not recorded in %d days; given up", name, EXPIRE_AFTER.days)
                self._ledger.pending.remove(name)
            else:
                self._ledger.pending.save(replace(pending, next_look=self._next_look(pending.ended_at)))

    def _withdraw(self, race: Race) -> None:
        """Forget a settled race that the site shows as not recorded, unless that may be an old answer."""
        settled_at = self._settled_at.get(race.name, self._started_at)
        if self._clock() - settled_at > WITHDRAW_AFTER:
            self.settler.withdraw(race.name)

    def _say_changes(self, rated: Sequence[Rated], *, correction: int = 0, again: bool = False) -> bool:
        """Queue what each leaderboard makes of a finished race; whether there was anything to say."""
        said = False
        for each in rated:
            board, result = each.leaderboard, each.result
            if each.note == TEAM_RACE:
                phrases = messages.team_race(board.name, self._texts)
            elif each.changes or correction:
                phrases = messages.provisional(
                    result, board.name, each.changes, self._texts, correction=correction, again=again
                )
            else:
                phrases = []
            for number, text in enumerate(phrases, start=1):
                body: dict[str, object] = {"text": text, "announces": bool(each.changes)}
                if not again:
                    body |= {"result": _standing_key(rated), "correction": correction}
                if each.changes and number == len(phrases) and (buttons := self._buttons(board)):
                    body["buttons"] = buttons
                self._put(result.name, result.category, "chat", body)
                said = True
        return said

    def _was_heard(self, name: str) -> bool:
        return bool(self._heard(name))

    def _stands_in_chat(self, name: str) -> bool:
        """Whether changes were announced in a room and not taken back since.

        An old answer of the site can make a race that is over look as though it might still be recorded.
        """
        for row in reversed(self._heard(name)):
            if row.message.body.get("withdraws"):
                return False
            if row.message.body.get("announces"):
                return True
        return False

    def _heard(self, name: str) -> list[OutboxRow]:
        """What was said in a room's chat, as far as is known."""
        return [
            row
            for row in self._ledger.outbox.of(name)
            if row.message.kind == "chat" and row.state in {Delivery.SENT, Delivery.DELIVERED}
        ]

    def _next_look(self, ended_at: datetime) -> datetime:
        now = self._clock()
        age = now - ended_at
        if age < timedelta(hours=6):
            return now + timedelta(minutes=1)
        if age < timedelta(days=2):
            return now + timedelta(minutes=10)
        return now + (timedelta(hours=1) if age < timedelta(days=14) else timedelta(days=1))

    def _put(self, race: str, category: str, kind: Kind, body: dict[str, object]) -> None:
        self._ledger.outbox.put(self._message(race, category, kind, body), self._clock())

    def _message(self, race: str, category: str, kind: Kind, body: dict[str, object]) -> Message:
        """A message with a guid of its own, also where the same was said or dropped before."""
        number = len(self._ledger.outbox.of(race))
        guid = uuid.uuid5(uuid.NAMESPACE_URL, f"racebot:{race}:{number}:{self._clock().isoformat()}")
        return Message(race, category, kind, str(guid), body)


def _standing_key(rated: Sequence[Rated]) -> str:
    """Identifies what a result says of its entrants.

    Points are left out: another race settled meanwhile moves them, and is no reason for a correction.
    """
    facts = [(r.leaderboard.name, r.note, [(c.player, c.place) for c in r.changes]) for r in rated]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]
