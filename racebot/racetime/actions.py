"""The actions that a bot can send to a room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Action:
    """An action, by its name on the site."""

    name: str
    data: Mapping[str, Any] = field(default_factory=dict)


GET_RACE = Action("getrace")
"""Ask for the race's data."""
GET_HISTORY = Action("gethistory")
"""Ask for the last 100 chat messages, and all pinned ones."""
PING = Action("ping")
"""Ask for a pong. It arrives after the answers to all earlier actions."""


def message(
    text: str,
    guid: str,
    *,
    to: str | None = None,
    buttons: Mapping[str, Mapping[str, str]] | None = None,
    pinned: bool = False,
) -> Action:
    """Write a chat message. The site silently ignores a guid that it has seen in the last five minutes.

    Args:
        text: 1 to 1,000 characters.
        guid: lower-case letters, digits and hyphens.
        to: the id of the only user to see it; None for the room.
        buttons: at most four, by label. Pressing one posts `message` as the user, or opens `url`.
        pinned: whether to pin the message at the top of chat.
    """
    options = {"direct_to": to, "actions": buttons, "pinned": pinned}
    given = {name: value for name, value in options.items() if value}
    return Action("message", {"message": text, "guid": guid, **given})
