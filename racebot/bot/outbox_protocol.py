"""Decides how a room's outbox is delivered. No I/O and no clock: events and times in, commands out.

The site sends no acknowledgements. A chat message comes back as the bot's own message; `info_bot` and
`bot_meta` appear in the race's data. If the connection or the process dies before that, the chat history
shows whether the message arrived. If it did not, it is sent again with the same guid.
"""

from __future__ import annotations

import uuid
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from racebot.bot.outbox_commands import (
    Command,
    DropWaitingChat,
    Mark,
    ReadOutbox,
    Take,
    Wait,
    Warn,
)
from racebot.bot.outbox_echoes import (
    echo_of,
    is_history,
    is_pong,
    reaches_back,
    shows_any,
    shows_info,
)
from racebot.chat import info_box
from racebot.chat.info_box import InfoPolicy
from racebot.chat.wording import Texts
from racebot.errors import ConnectionLost, TokenRefused
from racebot.ledger.outbox import ChatBody, Delivery, InfoBody, MetaBody, OutboxRow, chat_messages
from racebot.racetime import actions
from racebot.racetime.actions import Action
from racebot.racetime.frames import ChatHistory, ChatMessage, Event, RaceUpdate, Refusal
from racebot.racetime.payload import Race

CONFIRM_WITHIN = 10.0
"""Seconds to wait for the site to show what we sent, before the connection counts as lost."""
ANSWER_WITHIN = 3.0
"""The same for an answer to a command, which must not delay a rating message."""
ANSWER_EXPIRES = 60.0
"""Seconds after which an answer to a command is dropped."""
INFO_WITHIN = 3.0
"""Seconds in which the site may still carry out a `setinfo` that was sent on a lost connection."""
MOST_TRIES = {"chat": 20, "meta": 20, "info": 3}
"""How often to send a message that the site never shows. Fewer for `setinfo`: each posts a chat line."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer to a command. It is kept in memory only, since the player can ask again."""

    text: str
    guid: str
    to: str | None
    expires: float


class OutboxProtocol:
    """Delivers one room's outbox in order, then the answers to commands.

    Args:
        info: how `info_bot` may be used.
        texts: the wording, which identifies our own line in the info box.
        confirm_within: seconds within which the site must show what was sent.

    Times are seconds on any monotonic scale.
    """

    def __init__(self, info: InfoPolicy, texts: Texts, confirm_within: float = CONFIRM_WITHIN) -> None:
        self._info = info
        self._texts = texts
        self._confirm_within = confirm_within
        self._race: Race | None = None
        self._shown = False
        """Whether the site has shown the race on this connection."""
        self._outbox: Sequence[OutboxRow] = ()
        self._taken = False
        self._tries: Counter[int] = Counter()
        self._answers: deque[_Answer] = deque()
        self._expected: Callable[[Event], bool] | None = None
        self._confirmation: Event | None = None
        self._steps: Generator[Command] | None = None
        self._now = 0.0

    @property
    def expects_confirmation(self) -> bool:
        """Return whether the site has yet to confirm or refuse something."""
        return self._expected is not None

    def answer(self, text: str, asked_in: str, now: float, *, to: str | None) -> None:
        """Queue an answer to a command.

        Args:
            text: the answer.
            asked_in: the id of the chat message with the command. The guid is made from it, so that the site
                ignores a second answer, even after a restart.
            now: the current time.
            to: the id of the only user to see it; None for the room.
        """
        guid = uuid.uuid5(uuid.NAMESPACE_URL, f"racebot:answer:{asked_in}")
        self._answers.append(_Answer(text, str(guid), to, now + ANSWER_EXPIRES))

    def on_joined(self) -> None:
        """Start over on a new connection. The state from the last one may be out of date."""
        self.stop()
        self._shown = False

    def on_event(self, event: Event) -> None:
        """Process an event of the room, which may confirm or refuse a message."""
        if isinstance(event, RaceUpdate):
            self._race = event.race
            self._shown = True
        expected = self._expected is not None and (isinstance(event, Refusal) or self._expected(event))
        if expected and self._confirmation is None:
            self._confirmation = event

    def on_outbox(self, rows: Sequence[OutboxRow]) -> None:
        """Receive the room's messages, oldest first, in reply to `ReadOutbox`."""
        self._outbox = rows

    def on_taken(self, taken: bool) -> None:
        """Receive whether the message may still be sent, in reply to `Take`."""
        self._taken = taken

    def next_command(self, now: float) -> Command | None:
        """Return the next command, or None once everything is delivered.

        Raises:
            TokenRefused: the site refuses the token.
            ConnectionLost: the site does not respond in time.
        """
        self._now = now
        if self._steps is None:
            self._steps = self._deliver()
        command = next(self._steps, None)
        if command is None:
            self._steps = None
        return command

    def stop(self) -> None:
        """Abandon the current delivery."""
        if self._steps is not None:
            self._steps.close()
        self._steps = None

    def _open_rows(self) -> list[OutboxRow]:
        return [row for row in self._outbox if row.state in {Delivery.WAITING, Delivery.SENT}]

    def _deliver(self) -> Generator[Command]:
        while True:
            yield ReadOutbox()
            if rows := self._open_rows():
                yield from self._deliver_row(rows[0])
            elif self._answers:
                yield from self._give_answer()
            else:
                return

    def _deliver_row(self, row: OutboxRow) -> Generator[Command]:
        kind, body = row.message.kind, row.message.body
        if self._tries[row.id] >= MOST_TRIES[kind]:
            yield Warn(f"gave up on a {kind} message that the site never showed")
            yield Mark(row, Delivery.REFUSED, "never confirmed by the site")
            return
        match body:
            case ChatBody():
                yield from self._send_chat(row, body)
            case MetaBody():
                yield from self._send_meta(row, body)
            case InfoBody():
                yield from self._send_info(row, body)

    def _send_chat(self, row: OutboxRow, body: ChatBody) -> Generator[Command]:
        if body.greets and not (yield from self._current_race()).before_start:
            yield Mark(row, Delivery.DROPPED, "the race has begun")
            return
        if row.state is Delivery.SENT:
            history = yield from self._history()
            if self._arrived(row, body.text, history):
                yield from self._unpin_replaced(row, body)
                yield Mark(row, Delivery.DELIVERED, "found in the chat history")
                return
            if not reaches_back(history, row):
                yield Mark(row, Delivery.DELIVERED, "too long ago for the chat history")
                return
            race = yield from self._current_race()
            if race.recorded:
                # If a refusal was lost, the site would silently ignore a message with the same guid.
                yield Mark(row, Delivery.DROPPED, "chat was closed before it arrived")
                return
        elif self._race is not None and self._race.recorded:
            yield Mark(row, Delivery.DROPPED, "chat is closed")
            return
        elif not (yield from self._take(row)):
            return
        pinned = body.pin and (yield from self._may_pin())
        message = actions.message(body.text, row.message.guid, buttons=body.buttons, pinned=pinned)
        event = yield from self._exchange(message, confirmed=echo_of(body.text), row=row)
        if not isinstance(event, Refusal):
            yield from self._unpin_replaced(row, body)
        yield from self._conclude(row, event)

    def _may_pin(self) -> Generator[Command, None, bool]:
        """Return False if a moderator unpinned the rating message that stands."""
        before = self._pinned_texts()
        if not before:
            return True
        history = yield from self._history()
        return any(message.pinned and shows_any(message, before) for message in history)

    def _unpin_replaced(self, row: OutboxRow, body: ChatBody) -> Generator[Command]:
        """Unpin our rating messages that a new one replaces or withdraws."""
        ours = [chat.text for each, chat in chat_messages(self._outbox) if chat.pin and each.id < row.id]
        if not ours or not (body.pin or body.withdraws):
            return
        history = yield from self._history()
        pinned = [each for each in history if each.pinned and shows_any(each, ours)]
        pinned.sort(key=lambda message: message.posted_at)
        if pinned and shows_any(pinned[-1], [body.text]):
            pinned.pop()
        for message in pinned:
            event = yield from self._exchange_unconfirmed(actions.unpin(message.id))
            if isinstance(event, Refusal):
                yield Warn(f"the site refused to unpin a message: {'; '.join(event.errors)}")

    def _pinned_texts(self) -> list[str]:
        """Return the rating messages that were sent to be pinned since the last withdrawal, oldest first."""
        texts: list[str] = []
        for row, body in chat_messages(self._outbox):
            if row.state is Delivery.DELIVERED:
                if body.withdraws:
                    texts.clear()
                elif body.pin:
                    texts.append(body.text)
        return texts

    def _send_meta(self, row: OutboxRow, body: MetaBody) -> Generator[Command]:
        race = yield from self._current_race()
        keys = info_box.meta(race.bot_meta, body.leaderboards)
        if all(race.bot_meta.get(key) == value for key, value in keys.items()):
            yield Mark(row, Delivery.DELIVERED)
        elif (yield from self._take(row)):
            event = yield from self._exchange_unconfirmed(actions.set_meta(keys), row=row)
            yield from self._conclude(row, event)

    def _send_info(self, row: OutboxRow, body: InfoBody) -> Generator[Command]:
        deadline = self._now + min(INFO_WITHIN, self._confirm_within)
        while True:
            race = yield from self._current_race()
            text = info_box.merged_info(race.info_bot, body.blocks, self._info, self._texts)
            if text is None or row.state is not Delivery.SENT or self._now >= deadline:
                break
            yield Wait(deadline)
        if text is None and row.state is Delivery.SENT:
            yield Mark(row, Delivery.DELIVERED, "found in the info box")
        elif text is None:
            yield Mark(row, Delivery.DROPPED, f"info box left alone ({self._info.value})")
        elif (yield from self._take(row)):
            event = yield from self._exchange(actions.set_info(text), confirmed=shows_info(text), row=row)
            yield from self._conclude(row, event)

    def _give_answer(self) -> Generator[Command]:
        answer = self._answers[0]
        race = yield from self._current_race()
        if self._now <= answer.expires and not race.recorded:
            message = actions.message(answer.text, answer.guid, to=answer.to)
            # If the connection is lost, it is sent again: the site ignores a guid that it knows.
            event = yield from self._exchange_unconfirmed(message, min(ANSWER_WITHIN, self._confirm_within))
            if isinstance(event, Refusal):
                yield Warn(f"the site refused an answer: {'; '.join(event.errors)}")
        self._answers.popleft()

    def _conclude(self, row: OutboxRow, event: Event) -> Generator[Command]:
        if not isinstance(event, Refusal):
            yield Mark(row, Delivery.DELIVERED)
            return
        reason = "; ".join(event.errors)
        yield Warn(f"the site refused a {row.message.kind} message: {reason}")
        yield Mark(row, Delivery.REFUSED, reason)
        if event.chat_closed:
            yield DropWaitingChat("chat is closed")

    def _take(self, row: OutboxRow) -> Generator[Command, None, bool]:
        yield Take(row)
        return self._taken

    def _current_race(self) -> Generator[Command, None, Race]:
        """Return the race as this connection shows it, waiting for its first frame."""
        deadline = self._now + self._confirm_within
        while not self._shown or self._race is None:
            if self._now >= deadline:
                raise ConnectionLost("the site does not show the race")
            yield Wait(deadline)
        return self._race

    def _history(self) -> Generator[Command, None, Sequence[ChatMessage]]:
        """Return the last messages of chat, or none if the site refuses to show them."""
        event = yield from self._exchange(actions.GET_HISTORY, confirmed=is_history)
        return event.messages if isinstance(event, ChatHistory) else ()

    def _exchange_unconfirmed(
        self, action: Action, within: float | None = None, row: OutboxRow | None = None
    ) -> Generator[Command, None, Event]:
        """Send an action, and return the site's refusal, or a pong once the site has carried it out."""
        # The site answers in order, so a refusal comes before the pong.
        return (yield from self._exchange(action, actions.PING, confirmed=is_pong, within=within, row=row))

    def _exchange(
        self,
        *sent: Action,
        confirmed: Callable[[Event], bool],
        within: float | None = None,
        row: OutboxRow | None = None,
    ) -> Generator[Command, None, Event]:
        """Send actions, and return the event that confirms or refuses them.

        If they are for a message of the outbox, that counts as a try, unless the site refuses the token.
        """
        within = self._confirm_within if within is None else within
        self._expected = confirmed
        try:
            yield from sent
            if row is not None:
                self._tries[row.id] += 1
            deadline = self._now + within
            while self._confirmation is None:
                if self._now >= deadline:
                    raise ConnectionLost(f"no answer within {within:g} s")
                yield Wait(deadline)
            event = self._confirmation
        finally:
            self._expected = self._confirmation = None
        if isinstance(event, Refusal) and event.token_refused:
            if row is not None:
                self._tries[row.id] -= 1
            raise TokenRefused("the site refuses the token")
        return event

    def _arrived(self, row: OutboxRow, text: str, history: Sequence[ChatMessage]) -> bool:
        """Return whether the history shows this message, apart from earlier ones with the same text.

        Compares texts and counts messages, because the site's clock or ours may be wrong.
        """
        earlier = [
            each
            for each, body in chat_messages(self._outbox)
            if each.id < row.id and each.state is Delivery.DELIVERED and body.text == text
        ]
        return sum(map(echo_of(text), history)) > len(earlier)
