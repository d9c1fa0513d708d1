"""The names that chat shows for a race's entrants."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from racebot.chat.wording import Texts
from racebot.races.result import NO_NAME, Entrant, shown_names
from racebot.text.safe import plain


def chat_names(
    entrants: Iterable[Entrant], texts: Texts, hidden: Collection[str | None] = ()
) -> dict[str | None, str]:
    """Return the names to show for a race's entrants in chat, by user id.

    Args:
        entrants: the entrants.
        texts: the templates.
        hidden: the user ids of players whose names chat does not show.
    """
    names = {}
    for entrant, name in shown_names(entrants).items():
        if entrant.name == NO_NAME:
            shown = texts.deleted_name
        else:
            shown = texts.hidden_name if entrant.user_id in hidden else plain(name)
        names[entrant.user_id] = shown
    return names
