"""A race room's chat, its info fields, and the frames that its listeners receive."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from racebot.sandbox import render
from racebot.sandbox.race_state import (
    Accounts,
    Bot,
    ChatLine,
    RaceState,
    RaceStatus,
    RuleError,
    UnknownError,
    User,
)

Frame = dict[str, Any]
"""A JSON object sent over a room's socket."""

CHAT_AFTER_END = timedelta(hours=1)
"""How long chat stays open after a race is cancelled or set to not recorded."""
META_LIMIT = 2048
"""Size limit of `bot_meta`, in bytes of JSON."""


@dataclass(eq=False, kw_only=True)
class ChatRoom(RaceState):
    """A race with its chat. Listeners get frames that later changes do not affect."""

    site: Accounts

    @property
    def chat_open(self) -> bool:
        if self.recorded:
            return False
        end = self.cancelled_at or self.ended_at
        awaits_record = self.status is RaceStatus.FINISHED and self.recordable
        return awaits_record or end is None or self.site.clock() - end < CHAT_AFTER_END

    def say(self, user: User | str, text: str) -> ChatLine:
        user = self.site.user(user)
        self._require(self.chat_open, "chat is closed")
        self._require(0 < len(text) <= 1000, "a message has 1 to 1,000 characters")
        monitor = self.category.may_moderate(user) or user is self.opened_by or user in self.monitors
        return self._post(text, user=user, monitor=monitor)

    def say_as_bot(self, bot: Bot, text: str, *, direct_to: User | None = None, **options: Any) -> ChatLine:
        """Post a bot's chat line, or send it privately to one user. `options` are `pinned` and `actions`."""
        if direct_to is None:
            return self._post(text, bot=bot, **options)
        note = self._line(text, bot=bot, direct_to=direct_to, **options)
        self.notes.append(note)
        self._send(render.note_frame(note, self.site.clock()))
        return note

    def add_monitor(self, user: User | str) -> None:
        self.monitors.append(self.site.user(user))
        self._publish()

    def set_pin(self, message_id: str, *, pinned: bool) -> None:
        """Pin or unpin a chat line, as moderators and bots can while chat is open."""
        self._require(self.chat_open, "chat is closed")
        line = next((line for line in self.chat if line.id == message_id), None)
        if line is None:
            raise UnknownError(f"{self.name}: no message {message_id!r}")
        if line.pinned is not pinned:
            line.pinned = pinned
            self._send_line("chat.pin" if pinned else "chat.unpin", line)

    def set_info(self, bot: Bot, info: str) -> None:
        """Replace the `info_bot` field, which all bots of the category share."""
        self.info_bot = info
        self._say(f"##bot##{bot.name}## updated the race information.")
        self._publish()

    def merge_meta(self, meta: Mapping[str, Any]) -> bool:
        """Merge keys into `bot_meta`. If it would grow too large, change nothing and return False.

        The race's version increases, but no frame is sent.
        """
        merged = {**self.bot_meta, **meta}
        if len(json.dumps(merged).encode()) > META_LIMIT:
            return False
        self.bot_meta = merged
        self.version += 1
        return True

    def history(self) -> Frame:
        """Return the answer to `gethistory`: the last 100 messages and all pinned ones, those last."""
        shown = [line for line in self.chat[:-100] if line.pinned] + self.chat[-100:]
        messages = [render.message(self, line) for line in sorted(shown, key=lambda line: line.pinned)]
        return render.frame("chat.history", self.site.clock(), messages=messages)

    def listen(self, listener: Callable[[Frame], None]) -> Callable[[], None]:
        """Call `listener` with every frame from now on. Return a function that stops this."""
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def frames(self) -> Sequence[Frame]:
        """Return the two frames that the site sends after each change. The second has no markup here."""
        now = self.site.clock()
        renders = {"entrants": "", "intro": "", "status": "", "streams": ""}
        return (
            render.frame("race.data", now, race=render.race(self), version=self.version),
            render.frame("race.renders", now, renders=renders, version=self.version),
        )

    def _send(self, *frames: Frame) -> None:
        for listener in list(self.listeners):
            for frame in frames:
                listener(frame)

    def _send_line(self, kind: str, line: ChatLine) -> None:
        self._send(render.frame(kind, self.site.clock(), message=render.message(self, line)))

    def _publish(self, *, bumps: int = 1) -> None:
        self.version += bumps
        self._send(*self.frames())

    def _say(self, text: str, *, highlight: bool = False) -> None:
        self._post(text, highlight=highlight)

    def _line(self, text: str, **about: Any) -> ChatLine:
        return ChatLine(self.site.new_id(), self.site.clock(), text, **about)

    def _post(self, text: str, **about: Any) -> ChatLine:
        line = self._line(text, **about)
        self.chat.append(line)
        self._send_line("chat.message", line)
        return line

    def _require(self, condition: bool, otherwise: str) -> None:
        if not condition:
            raise RuleError(f"{self.name}: {otherwise}")
