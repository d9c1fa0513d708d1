"""What moderators changed in a result after it was first announced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field

from racebot.ledger.outbox import Edit, chat_messages
from racebot.ledger.store import Ledger
from racebot.queries import OptionalId

JUST_EDITED = timedelta(seconds=75)
"""Age of an edit up to which the changes before it are shown. Pages are drawn again each minute."""
WORDS = {"dq": "disqualified", "dnf": "did not finish", "done": "finished", "time": "has another time"}
"""What an edit says about a racer, by its kind."""


@dataclass(frozen=True, slots=True)
class ResultEdit:
    """An edit of one entrant's result."""

    at: datetime
    id: OptionalId
    name: str
    edit: Annotated[str, Field(description="`dq`, `dnf` or `done`, or `time` if only the time changed")]

    @property
    def words(self) -> str:
        return WORDS[self.edit]


def named(edits: Iterable[Edit], names: Mapping[str, str], at: datetime) -> list[ResultEdit]:
    """Return the edits of the players in `names`, by their ids: hidden players are left out."""
    return [
        ResultEdit(at, each.player, names[each.player], each.edit)
        for each in edits
        if each.player in names and each.edit in WORDS
    ]


def changes_before(ledger: Ledger, race: str, now: datetime) -> Mapping[str, Mapping[str, int]]:
    """Return the changes before an edit that chat has just been told, by leaderboard and player."""
    told = [(row, body) for row, body in chat_messages(ledger.messages.of(race)) if body.changes]
    is_new = len(told) > 1 and told[-1][1].correction and now - told[-1][0].created_at < JUST_EDITED
    return told[-2][1].changes if is_new else {}


def edits_of(ledger: Ledger, race: str, names: Mapping[str, str]) -> list[ResultEdit]:
    """Return the edits of a race that chat was told, oldest first."""
    return [
        edit
        for row, body in chat_messages(ledger.messages.of(race))
        for edit in named(body.edits, names, row.created_at)
    ]
