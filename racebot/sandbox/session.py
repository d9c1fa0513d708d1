"""The protocol of a bot's connection to a room, without I/O: texts in, frames out."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from racebot.sandbox import render
from racebot.sandbox.race_state import Bot, User
from racebot.sandbox.room import ChatRoom, Frame
from racebot.sandbox.site import FakeSite

TEXT_LIMIT = 1000
BUTTON_LIMIT = 4

PERMISSION_DENIED = "Permission denied. Check your authorization token."
UNKNOWN_ACTION = "Action is missing or not recognised. Check your input and try again."
CORRUPT = "Unable to process that message (encountered invalid or possibly corrupted data). Sorry about that."
NO_GUID = "Bad request, no GUID supplied. A unique string is required to prevent duplicate messaging."
CHAT_CLOSED = "This race chat is now closed. No new messages may be added."

_ACTIONS = ("message", "pin_message", "unpin_message", "setinfo", "setmeta", "getrace", "gethistory")
_GUID = re.compile(r"[0-9a-z-]+")


class _RefusedError(Exception):
    """The site answers the action with an error frame."""


class BotSession:
    """A bot's connection to a room, or anybody's to its public socket, which only shows it.

    Like the site, it checks the token on each action and not on connecting, so a connection with a bad token
    still receives every frame. Frames go to `send`. Call `close` at the end.
    """

    def __init__(
        self,
        site: FakeSite,
        room: ChatRoom,
        token: str | None,
        send: Callable[[Frame], None],
        *,
        is_public: bool = False,
    ) -> None:
        self._site, self._room, self._token, self._send = site, room, token, send
        self._is_public = is_public
        self._latest: dict[str, Frame] = {}
        self.close = room.listen(self._relay)
        for frame in room.frames():
            self._relay(frame)

    def receive(self, text: str) -> None:
        """Perform a bot's action, or answer with an error frame."""
        try:
            self._perform(text)
        except _RefusedError as refusal:
            self._room.refused += refusal.args
            self._send(render.frame("error", self._site.clock(), errors=list(refusal.args)))

    def _relay(self, frame: Frame) -> None:
        self._latest[frame["type"]] = frame
        self._send(frame)

    def _perform(self, text: str) -> None:
        try:
            request = json.loads(text)
            action, data = request.get("action"), request.get("data", {})
        except (ValueError, AttributeError):
            raise _RefusedError(CORRUPT) from None
        self._site.actions.append(str(action))
        bot = self._site.bot_for(self._token)
        if action == "ping":
            self._send(render.frame("pong", self._site.clock()))
        elif action not in _ACTIONS:
            raise _RefusedError(UNKNOWN_ACTION)
        elif action in ("getrace", "gethistory") and (bot or self._is_public):
            self._show(action)
        elif bot is None:
            raise _RefusedError(PERMISSION_DENIED)
        elif not isinstance(data, dict):
            raise _RefusedError(CORRUPT)
        elif action == "message":
            self._message(bot, data)
        elif action in ("pin_message", "unpin_message"):
            if not self._room.chat_open:
                raise _RefusedError("This race chat is now closed.")
            if not self._room.pin(data.get("message"), pinned=action == "pin_message"):
                raise _RefusedError("Could not find a message with that ID.")
        elif action == "setinfo":
            if info := _text("info_bot", data.get("info_bot") or ""):
                self._room.set_info(bot, info)
        elif not self._room.merge_meta(data):
            raise _RefusedError("Data provided is too large to save.")

    def _show(self, action: str) -> None:
        if action == "gethistory":
            self._send(self._room.history())
            return
        # The site repeats the last frames of this connection, which lack changes that were not broadcast
        # (an edited result, `setmeta`).
        for kind in ("race.data", "race.renders"):
            self._send(self._latest[kind] | render.frame(kind, self._site.clock()))

    def _message(self, bot: Bot, data: Mapping[str, Any]) -> None:
        guid = data.get("guid")
        if not isinstance(guid, str) or not _GUID.fullmatch(guid):
            raise _RefusedError(NO_GUID)
        if not self._site.use_guid(guid):
            return
        if not self._room.chat_open:
            raise _RefusedError(CHAT_CLOSED)
        text = _text("message", data.get("message", ""))
        if not text:
            raise _RefusedError("message: This field is required.")
        self._room.say_as_bot(
            bot,
            text,
            direct_to=self._recipient(data.get("direct_to")),
            pinned=bool(data.get("pinned")),
            actions=_buttons(data.get("actions")),
        )

    def _recipient(self, user_id: Any) -> User | None:
        if not user_id:
            return None
        user = self._site.users.get(user_id) if isinstance(user_id, str) else None
        if user is None or user.deleted:
            raise _RefusedError("direct_to: Unrecognised user")
        return user


def _text(field: str, value: Any) -> str:
    text = str(value).strip()
    if len(text) > TEXT_LIMIT:
        most = f"at most {TEXT_LIMIT} characters (it has {len(text)})"
        raise _RefusedError(f"{field}: Ensure this value has {most}.")
    return text


def _buttons(actions: Any) -> dict[str, Any]:
    if not actions:
        return {}
    if not isinstance(actions, dict) or len(actions) > BUTTON_LIMIT:
        raise _RefusedError(f"actions: At most {BUTTON_LIMIT} actions, by their labels, may be given.")
    for label, button in actions.items():
        if not isinstance(button, dict) or not (button.get("message") or button.get("url")):
            raise _RefusedError(f"actions: {label} needs a message or a url.")
    return actions
