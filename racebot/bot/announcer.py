"""Queues, corrects and withdraws the announcements of a race in its room.

All methods are ledger work on the outbox, inside the caller's transaction.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from racebot.chat import rating_message
from racebot.chat.wording import Texts
from racebot.ledger.outbox import Body, ChatBody, Delivery, Edit, Message, Outbox, OutboxRow, chat_messages
from racebot.ledger.rows import Leaderboard
from racebot.races.result import RaceResult
from racebot.standings.settle import RatedRace


class Announcer:
    """Queues announcements, and tracks which of them stand in a room's chat.

    Args:
        outbox: the queue of messages.
        clock: returns the current time, with its offset.
        texts: the wording.
        buttons: returns the buttons of a rating message, given its leaderboard and the race's name.
        pin: whether to pin the rating message that stands.
    """

    def __init__(
        self,
        outbox: Outbox,
        clock: Callable[[], datetime],
        texts: Texts,
        buttons: Callable[[Leaderboard, str], Mapping[str, Mapping[str, str]]],
        *,
        pin: bool = False,
    ) -> None:
        self._outbox = outbox
        self._clock = clock
        self._texts = texts
        self._buttons = buttons
        self._pin = pin

    def announce(
        self,
        rated: Sequence[RatedRace],
        key: str | None = None,
        *,
        correction: int = 0,
        edits: Sequence[Edit] = (),
        marks: rating_message.MarksByBoard | None = None,
        ordered_in: str | None = None,
    ) -> bool:
        """Queue the changes of a finished race, or their correction.

        Args:
            rated: the changes on each leaderboard.
            key: the `announcement_key`; None for a repetition.
            correction: 0 for a first announcement, otherwise the number of the correction.
            edits: the edits behind a correction, from `edits_between`; stored in the message's body.
            marks: new places and unranked players, as `rating_message.announcement` takes them.
            ordered_in: for a repetition, the id of the chat message that ordered it. The same order queues
                nothing twice.

        Returns:
            Whether there was any message to queue.
        """
        race, category = rated[0].result.name, rated[0].result.category
        if correction:
            texts = rating_message.correction(
                rated, self._announced_entries(race), edits, self._texts, marks=marks
            )
        else:
            texts = rating_message.announcement(rated, self._texts, marks=marks)
        changed = [each for each in rated if each.changes]
        for number, text in enumerate(texts, start=1):
            body = ChatBody(text, bool(changed), result=key, correction=correction, edits=tuple(edits))
            if changed and number == len(texts):
                body = replace(
                    body,
                    entries=rating_message.entries(changed, self._texts, marks),
                    buttons=self._buttons(changed[0].leaderboard, race),
                    pin=self._pin,
                )
            seed = f"order:{ordered_in}:{number}" if ordered_in is not None else None
            self._put(race, category, body, seed)
        return bool(texts)

    def greet(self, race: str, category: str, compose: Callable[[], str]) -> bool:
        """Queue the greeting of a room, unless it has been queued before.

        Args:
            race: the race's name.
            category: its category.
            compose: returns the greeting, empty if there is none yet.

        Returns:
            Whether the greeting is queued, now or before.
        """
        if any(body.greets for _, body in chat_messages(self._outbox.of(race))):
            return True
        text = compose()
        if text:
            self._put(race, category, ChatBody(text, greets=True))
        return bool(text)

    def withdraw(self, race: str, category: str) -> None:
        """Queue the withdrawal of changes that stand in a room's chat."""
        if self._texts.withdrawn and self._announced_changes(race):
            self._put(race, category, ChatBody(self._texts.withdrawn, withdraws=True))

    def drop_waiting(self, race: str, reason: str) -> None:
        """Drop a room's unsent chat messages."""
        self._outbox.drop_waiting(race, "chat", self._clock(), reason)

    def drop_unbegun(self, race: str, reason: str) -> None:
        """Drop a room's unsent chat messages, except the rest of a half-sent announcement."""
        begun = {body.correction for _, body in self._announced(race)}
        for row, body in chat_messages(self._outbox.open_for(race)):
            is_rest = body.result is not None and body.correction in begun
            if row.state is Delivery.WAITING and not is_rest:
                self._outbox.mark(row, Delivery.DROPPED, self._clock(), reason)

    def stands(self, race: str, key: str) -> bool:
        """Return whether this is the last announcement in a room's chat, complete and not withdrawn."""
        announced = self._announced(race)
        if not announced or announced[-1][1].result != key:
            return False
        last, last_body = announced[-1]
        return not any(
            row.id > last.id and body.result == key and body.correction == last_body.correction
            for row, body in chat_messages(self._outbox.of(race))
        )

    def standing_key(self, race: str) -> str | None:
        """Return the key of the announcement that stands in a room's chat, or None."""
        announced = self._announced(race)
        return announced[-1][1].result if announced else None

    def sent(self, race: str) -> list[tuple[OutboxRow, ChatBody]]:
        """Return the chat messages about ratings that were sent to a room, oldest first."""
        return [
            (row, body)
            for row, body in chat_messages(self._outbox.of(race))
            if not body.greets and row.state in {Delivery.SENT, Delivery.DELIVERED}
        ]

    def message(self, race: str, category: str, body: Body, seed: str | None = None) -> Message:
        """Return a message with a guid made from a seed; None for a new guid, even for a repeated text."""
        if seed is None:
            seed = f"{race}:{len(self._outbox.of(race))}:{self._clock().isoformat()}"
        return Message(race, category, str(uuid.uuid5(uuid.NAMESPACE_URL, f"racebot:{seed}")), body)

    def _put(self, race: str, category: str, body: ChatBody, seed: str | None = None) -> None:
        self._outbox.put(self.message(race, category, body, seed), self._clock())

    def _announced_entries(self, race: str) -> rating_message.Entries:
        """Return the entries of the standing announcement in a room's chat; empty if unknown."""
        announced = self._announced(race)
        return announced[-1][1].entries if announced else {}

    def _announced_changes(self, race: str) -> bool:
        return any(body.announces for _, body in self._since_withdrawal(race))

    def _announced(self, race: str) -> list[tuple[OutboxRow, ChatBody]]:
        """Return the announcements and corrections that stand in a room's chat, oldest first."""
        return [(row, body) for row, body in self._since_withdrawal(race) if body.result is not None]

    def _since_withdrawal(self, race: str) -> list[tuple[OutboxRow, ChatBody]]:
        sent = self.sent(race)
        withdrawn = [n for n, (_, body) in enumerate(sent, start=1) if body.withdraws]
        return sent[withdrawn[-1] :] if withdrawn else sent


def announcement_key(rated: Sequence[RatedRace]) -> str:
    """Return a key that changes if the result behind an announcement changes.

    Points are left out: another race settled in the meantime changes them, which needs no correction.
    """
    facts = [(r.leaderboard.name, r.note, [(c.player, c.place) for c in r.changes]) for r in rated]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def edits_between(before: RaceResult, after: RaceResult) -> list[Edit]:
    """List the entrants whose result differs: the new status, or `time` if only the time changed."""
    known = {e.user_id: e for e in before.entrants if e.user_id is not None}
    edits = []
    for entrant in after.entrants:
        if entrant.user_id is None or (old := known.get(entrant.user_id)) is None:
            continue
        if old.status is not entrant.status:
            edits.append(Edit(entrant.user_id, entrant.status.value))
        elif old.finish_time != entrant.finish_time:
            edits.append(Edit(entrant.user_id, "time"))
    return edits
