"""The races that the bot follows, the outbox of messages for their rooms, and its messages on Discord.

They outlive a restart, and are written in the same transaction as the ratings that cause a message.
"""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Any, Literal

from pydantic import AwareDatetime, TypeAdapter, ValidationError

from racebot.ledger.connection import LedgerTable
from racebot.ledger.rows import RESTORE, Leaderboard, read, readable, result_of
from racebot.races.result import RaceResult


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One race that the bot follows. Times are by the site's clock.

    Attributes:
        next_look: when to poll it next, until it is recorded; None if it is watched only, or settled.
        misses: how many times in a row the site did not find it.
        over: whether it was cancelled or set to "do not record", which an edit can undo.
        quiet: whether a moderator asked for quiet in its room.
        ordered_at: when a moderator last ordered quiet or its end; None before.
        unrecorded_since: since when the site shows the settled race without its record.
        standing: the fingerprint of the result that counts without a record, once it has stood long enough.
        stands_since: since when it stands.
    """

    race: str
    category: str
    ended_at: AwareDatetime | None = None
    next_look: AwareDatetime | None = None
    misses: int = 0
    over: bool = False
    quiet: bool = False
    ordered_at: AwareDatetime | None = None
    unrecorded_since: AwareDatetime | None = None
    standing: str | None = None
    stands_since: AwareDatetime | None = None


class Cases(LedgerTable):
    """The races that the bot follows."""

    def get(self, race: str) -> CaseRow | None:
        return next(iter(self._select("race = ?", race)), None)

    def polled(self, category: str) -> list[CaseRow]:
        """Return a category's ended races that are polled until they are recorded, oldest first."""
        return self._select("category = ? AND next_look NOT NULL ORDER BY ended_at", category)

    def due(self, category: str, now: datetime) -> list[CaseRow]:
        return self._select("category = ? AND next_look <= ? ORDER BY next_look", category, now)

    def unfinished(self, category: str) -> list[CaseRow]:
        """Return a category's races that the bot watched and that have not ended."""
        return self._select("category = ? AND ended_at IS NULL", category)

    def standing(self, category: str, boards: Iterable[Leaderboard]) -> dict[str, datetime]:
        """Return when, at the latest, each race of a category counts whose result has to stand, in order."""
        graces = (each.rule.grace for each in boards if each.category == category and each.rule.finished)
        grace = max(graces, default=timedelta(0))
        where = (
            "NOT over AND category = ? AND race NOT IN (SELECT name FROM races) AND stands_since NOT NULL"
            " AND race NOT IN (SELECT race FROM excluded_races WHERE kind = 'skip') ORDER BY stands_since"
        )
        found = self._select(where, category)
        return {row.race: row.stands_since + grace for row in found if row.stands_since}

    def save(self, row: CaseRow) -> None:
        self._connection.save("cases", "race", [asdict(row)])

    def remove(self, race: str) -> None:
        self._connection.write("DELETE FROM cases WHERE race = ?", race)

    def _select(self, where: str, *values: Any) -> list[CaseRow]:
        sql = f"SELECT * FROM cases WHERE {where}"  # noqa: S608 - `where` is ours
        return read(CaseRow, self._connection.rows(sql, *values))


log = logging.getLogger(__name__)

Kind = Literal["chat", "info", "meta"]
MESSAGES_KEPT = timedelta(days=90)
"""How long delivered messages stay, for questions about what the bot wrote, and a result's edits."""


class Delivery(StrEnum):
    WAITING = "waiting"
    SENT = "sent"
    """Written to the socket, but not confirmed by the site."""
    DELIVERED = "delivered"
    REFUSED = "refused"
    """The site refuses it for good."""
    DROPPED = "dropped"
    """No longer needed, for example because a correction followed."""


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit of one entrant's result: the new status, or `time` if only the time changed."""

    player: str
    edit: str


@dataclass(frozen=True, slots=True)
class ChatBody:
    """A chat message.

    Attributes:
        announces: whether it shows rating changes.
        result: the key of the result that it announces; None for a repetition and for other messages.
        correction: 0 for a first announcement, otherwise the number of the correction.
        edits: the edits behind a correction.
        entries: on the last message of an announcement, each entrant's entry by user id, by leaderboard.
        told: on the same message, the status and finish time that it was made from, by user id.
        buttons: the buttons below it, in the site's format, by label.
        withdraws: whether it withdraws the announcement.
        notes: whether it is not about ratings, but about the room's event.
    """

    text: str
    announces: bool = False
    result: str | None = None
    correction: int = 0
    edits: tuple[Edit, ...] = ()
    entries: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    told: Mapping[str, tuple[str, int | None]] = field(default_factory=dict)
    buttons: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    withdraws: bool = False
    notes: bool = False


@dataclass(frozen=True, slots=True)
class InfoBody:
    """Lines for the race's info box, one for each leaderboard."""

    blocks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MetaEntry:
    """One leaderboard's final changes for programs: points before and after by user id, by place."""

    leaderboard: str
    model: str
    changes: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class MetaBody:
    """Changes for the race's `bot_meta`, one entry for each leaderboard."""

    leaderboards: tuple[MetaEntry, ...] = ()


Body = ChatBody | InfoBody | MetaBody
_BODIES: Mapping[Kind, type[Body]] = {"chat": ChatBody, "info": InfoBody, "meta": MetaBody}
_READERS: Mapping[Kind, TypeAdapter[Body]] = {kind: TypeAdapter(body) for kind, body in _BODIES.items()}


@dataclass(frozen=True, slots=True)
class Message:
    """A message to a race room. The guid keeps it from being delivered twice."""

    race: str
    category: str
    guid: str
    body: Body

    @property
    def kind(self) -> Kind:
        return next(kind for kind, body in _BODIES.items() if isinstance(self.body, body))


@dataclass(frozen=True, slots=True)
class OutboxRow:
    id: int
    message: Message
    state: Delivery
    created_at: AwareDatetime
    updated_at: AwareDatetime
    """When the state last changed."""


def chat_messages(rows: Iterable[OutboxRow]) -> Iterator[tuple[OutboxRow, ChatBody]]:
    """Yield the chat messages among some messages, with their bodies, in the same order."""
    return ((row, row.message.body) for row in rows if isinstance(row.message.body, ChatBody))


@lru_cache(maxsize=256)
def _warn_once(race: str, number: int, kind: str) -> None:
    log.warning("%s: the stored %s message %d cannot be read, and is left out", race, kind, number)


_OPEN = "state IN ('waiting', 'sent')"  # condition for messages that are not delivered yet


class Outbox(LedgerTable):
    """Messages for race rooms, delivered in the order in which they were queued."""

    def put(self, message: Message, now: datetime) -> None:
        """Queue a message, unless one with its guid is already stored."""
        given = {name: value for name, value in asdict(message.body).items() if value}
        sql = (
            "INSERT OR IGNORE INTO outbox (race, category, kind, guid, body, state, created_at, updated_at)"
            " VALUES (?1, ?2, ?3, ?4, ?5, 'waiting', ?6, ?6)"
        )
        body = json.dumps(given, ensure_ascii=False)
        self._connection.write(sql, message.race, message.category, message.kind, message.guid, body, now)

    def open_for(self, race: str) -> list[OutboxRow]:
        """Return a room's undelivered messages, in order."""
        return self._select(f"race = ? AND {_OPEN}", race)

    def open_in(self, category: str) -> list[OutboxRow]:
        """Return a category's undelivered messages, in order."""
        return self._select(f"category = ? AND {_OPEN}", category)

    def mark(self, row: OutboxRow, state: Delivery, now: datetime, detail: str | None = None) -> None:
        sql = "UPDATE outbox SET state = ?, detail = ?, updated_at = ? WHERE id = ?"
        self._connection.write(sql, state.value, detail, now, row.id)

    def mark_sent(self, row: OutboxRow, now: datetime) -> bool:
        """Mark a message as sent, just before sending it. Return False if it was dropped in the meantime."""
        sql = f"UPDATE outbox SET state = 'sent', detail = NULL, updated_at = ? WHERE id = ? AND {_OPEN}"  # noqa: S608
        return bool(self._connection.write(sql, now, row.id))

    def drop_waiting(self, race: str, kind: Kind, now: datetime, detail: str) -> None:
        """Drop a room's messages of one kind that were never sent."""
        sql = (
            "UPDATE outbox SET state = 'dropped', detail = ?, updated_at = ?"
            " WHERE race = ? AND kind = ? AND state = 'waiting'"
        )
        self._connection.write(sql, detail, now, race, kind)

    def of(self, race: str) -> list[OutboxRow]:
        """Return all messages ever queued for a room, in order, without those that cannot be read."""
        return self._select("race = ?", race)

    def clear(self, before: datetime) -> int:
        """Delete messages done with before a time, of all ended races, and count them."""
        sql = (
            "DELETE FROM outbox WHERE updated_at < ? AND state NOT IN ('waiting', 'sent')"
            " AND race NOT IN (SELECT race FROM cases WHERE next_look NOT NULL)"
        )
        return self._connection.write(sql, before)

    def forget(self, player: str) -> None:
        """Erase the text of messages done with that may name a player, but not what later ones build on."""
        entries = "(SELECT json_group_object(key, json_object(?1, NULL)) FROM json_each(body, '$.entries'))"
        sql = (
            "UPDATE outbox SET body = json_patch(body, json_object('text', '', 'blocks', NULL,"  # noqa: S608 - ours
            f" 'entries', json({entries}))) WHERE state NOT IN ('waiting', 'sent') AND json_valid(body)"
            " AND (race IN (SELECT race FROM outbox WHERE instr(body, json_quote(?1)))"
            " OR instr(body, (SELECT name FROM players WHERE id = ?1)))"
        )
        self._connection.write(sql, player)

    def _select(self, where: str, *values: Any) -> list[OutboxRow]:
        found = []
        for row in self._connection.rows(f"SELECT * FROM outbox WHERE {where} ORDER BY id", *values):  # noqa: S608
            try:  # empty fields are missing
                body = _READERS[row["kind"]].validate_json(row["body"])
            except ValidationError:
                _warn_once(row["race"], row["id"], row["kind"])
                continue
            found.append({**row, "message": Message(row["race"], row["category"], row["guid"], body)})
        return read(OutboxRow, found)


Moves = Mapping[str, Mapping[str, int]]
"""Players' new places by leaderboard and user id."""


@dataclass(frozen=True, slots=True)
class Post:
    """The one message of a race in a channel.

    `wanted` names what it shows: a `result`, or the stored one; without any, the race is withdrawn. `moves`
    are by the fingerprint of a result. `message` is its id once it is posted.
    """

    race: str
    webhook: str
    wanted: str
    result: RaceResult | None
    moves: Mapping[str, Moves]
    message: str | None


class Posts(LedgerTable):
    """The messages of all races. Webhooks are given by their ids, which are no secrets."""

    def put(self, result: RaceResult, webhooks: Iterable[str], moves: Moves | None) -> None:
        """Show a result in these channels, and where the race is shown already. `moves`: if not settled."""
        fingerprint = mark = result.fingerprint()
        row = {"race": result.name, "result": None, "problem": None}
        if moves is not None:
            mark = f"{fingerprint}?"
            row |= {"result": result.to_json(), "moves": json.dumps({fingerprint: moves})}
        stored = self._connection.rows("SELECT webhook, wanted FROM discord WHERE race = ?", result.name)
        rows = []
        for webhook, wanted in (dict.fromkeys(webhooks, "") | {each[0]: each[1] for each in stored}).items():
            # An order about a player may wait to be shown, too.
            waits = wanted.startswith(f"{mark}+")
            rows.append(row | {"webhook": webhook, "wanted": wanted if waits else mark})
        self._connection.save("discord", "race, webhook", rows)

    def withdraw(self, race: str) -> None:
        """Show that a race does not count."""
        self._connection.write("UPDATE discord SET wanted = 'withdrawn', result = NULL WHERE race = ?", race)

    def refresh(self, subject: str) -> None:
        """Show a race, or a player's races, again after an order about them."""
        sql = (
            "UPDATE discord SET wanted = wanted || '+' WHERE race = ?1 OR instr(result, ?2)"
            " OR race IN (SELECT name FROM races WHERE instr(races.result, ?2))"
        )
        self._connection.write(sql, subject, json.dumps(subject, ensure_ascii=False))

    def waiting(self, webhook: str) -> list[str]:
        """Return the races to post in their order, then those to edit, newest first."""
        sql = (
            "SELECT race FROM discord WHERE shown <> wanted AND webhook = ?"
            " ORDER BY message IS NOT NULL, iif(message IS NULL, id, -id) LIMIT 1000"
        )
        return [race for (race,) in self._connection.rows(sql, webhook)]

    def get(self, race: str, webhook: str) -> Post:
        (row,) = self._connection.rows("SELECT * FROM discord WHERE race = ? AND webhook = ?", race, webhook)
        with readable(f"message {race} on Discord", RESTORE):
            post = {**row, "moves": json.loads(row["moves"])}
            if row["result"]:
                post["result"] = result_of(race, row["result"])
            return read(Post, [post])[0]

    def note(
        self, post: Post, message: str | None, problem: str | None = None, *, waits: bool = False
    ) -> None:
        """Store the id of the message that shows a post now, or the problem that keeps it from that."""
        sql = "UPDATE discord SET shown = ?, message = ?, problem = ? WHERE race = ? AND webhook = ?"
        shown = "" if waits else post.wanted
        self._connection.write(sql, shown, message, problem, post.race, post.webhook)

    def delayed(self) -> list[tuple[str, int, str | None]]:
        """Return the webhooks with waiting messages: the id, the number of them, and a problem."""
        sql = "SELECT webhook, count(*), max(problem) FROM discord WHERE shown <> wanted GROUP BY webhook"
        return [(row[0], row[1], row[2]) for row in self._connection.rows(sql)]
