"""Orders, such as to forget, hide or merge players and to exclude races, and the events that orders make.

The ledger keeps every order with its date and reason. The last one about a player or race applies.
"""

import json
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import StrEnum

from pydantic import AwareDatetime

from racebot.errors import NoSuchEntryError
from racebot.ledger.connection import LedgerTable
from racebot.ledger.leaderboards import Leaderboards
from racebot.ledger.outbox import Posts
from racebot.ledger.people import People
from racebot.ledger.races import Races
from racebot.ledger.rows import moment_of, read, result_of
from racebot.races.events import Attempt, Event, EventSource, attempts
from racebot.races.result import RaceResult


class OrderKind(StrEnum):
    FORGET = "forget"
    HIDE = "hide"
    UNHIDE = "unhide"
    MERGE = "merge"
    EXCLUDE = "exclude"
    INCLUDE = "include"
    SKIP = "skip"
    COUNT = "count"
    EVENT_CREATE = "event create"
    EVENT_ADD = "event add"
    EVENT_CLOSE = "event close"
    EVENT_REOPEN = "event reopen"
    EVENT_REMOVE = "event remove"
    ANNUL = "annul"
    RESTORE = "restore"
    PENALTY = "penalty"


@dataclass(frozen=True, slots=True)
class Order:
    """One order about a player's id or a race's name. `target` is the account that a merge keeps.

    `by_player` says whether players gave it about themselves, in chat. An event's order has its name as the
    subject, and the room, sheet or player as its `target`. A penalty has the race as its subject, the player
    as its `target`, and an `amount` of microseconds. `author` is the moderator who gave it in chat.
    """

    given_at: AwareDatetime
    kind: OrderKind
    subject: str
    target: str | None
    reason: str
    by_player: bool = False
    author: str = ""
    amount: int | None = None


_RACES = (
    "SELECT DISTINCT iif(kind = 'penalty', subject, coalesce(target, subject)) FROM orders WHERE kind IN"
    " ('exclude', 'include', 'skip', 'count', 'penalty', 'event add', 'event remove')"
)
"""The races that orders are about."""


class Orders(LedgerTable):
    """The orders of a ledger. Write them in the transaction that also carries them out."""

    def all(self) -> list[Order]:
        """Return all orders ever given, oldest first."""
        return read(Order, self._connection.rows("SELECT * FROM orders ORDER BY id"))

    def last(self) -> int:
        """Return the number of the last order, 0 if there is none."""
        return int(self._connection.value("SELECT coalesce(max(id), 0) FROM orders"))

    def add(self, order: Order) -> None:
        Posts(self._connection).refresh(order.subject)
        self._connection.save("orders", "id", [asdict(order)])

    def under(self, kind: OrderKind) -> set[str]:
        """Return the races that are excluded, or skipped."""
        sql = "SELECT race FROM excluded_races WHERE kind = ?"
        return {row[0] for row in self._connection.rows(sql, kind.value)}

    def last_in_chat(self, race: str) -> datetime | None:
        """Return when the last order on where a race counts was given in chat, or None.

        Orders of chat carry the site's time, those of the shell the machine's, which may be ahead.
        """
        sql = (
            "SELECT max(given_at) FROM orders WHERE author <> ''"
            " AND ((subject = ?1 AND kind IN ('skip', 'count')) OR (target = ?1 AND kind = 'event add'))"
        )
        given_at = self._connection.value(sql, race)
        return given_at and moment_of(given_at)

    def races_since(self, number: int) -> list[str]:
        """Return the races that orders after this number are about, or the rooms."""
        return [race for (race,) in self._connection.rows(f"{_RACES} AND id > ?", number)]

    def unpublished(self) -> list[str]:
        """Return the races that an order of the shell or an edit changed after they were last published."""
        sql = (
            "SELECT race"  # noqa: S608 - a constant
            " FROM (SELECT race, max(created_at) AS told FROM outbox WHERE kind <> 'chat' GROUP BY race)"
            f" WHERE race IN ({_RACES} AND author = '' AND given_at > told)"
            " OR told < (SELECT corrected_at FROM races WHERE name = race)"
        )
        return [race for (race,) in self._connection.rows(sql)]

    def last_of_event(self, room: str) -> Order | None:
        """Return the last order by which a room joined or left an event, or its event closed or reopened."""
        sql = (
            "SELECT * FROM orders WHERE (target = ?1 AND kind IN ('event add', 'event remove'))"
            " OR (kind IN ('event close', 'event reopen')"
            " AND subject = (SELECT event FROM event_sources WHERE name = ?1)) ORDER BY id DESC LIMIT 1"
        )
        return next(iter(read(Order, self._connection.rows(sql, room))), None)


class Events(LedgerTable):
    """Reads and writes the tables `events` and `event_sources`."""

    def all(self) -> list[Event]:
        """Return all events, the newest first."""
        return read(Event, self._connection.rows("SELECT * FROM events ORDER BY created_at DESC, name"))

    def get(self, name: str) -> Event | None:
        return next((event for event in self.all() if event.name == name), None)

    def find(self, text: str) -> Event:
        """Return the one event that `is_named` by a text, or raise `NoSuchEntryError`."""
        events = self.all()
        found = [event for event in events if event.is_named(text)]
        if len(found) == 1:
            return found[0]
        names = ", ".join(event.name for event in found or events) or "none yet"
        raise NoSuchEntryError(f"{'several events are' if found else 'no event is'} named {text!r}: {names}")

    def open_to(self, category: str, text: str, started_at: datetime) -> Event | None:
        """Return the open event of a category with a name that takes a room with this start, or None."""
        found = (e for e in self.all() if e.category == category and e.closed_at is None and e.is_named(text))
        return next((e for e in found if started_at <= e.until), None)

    def save(self, event: Event) -> None:
        self._connection.save("events", "name", [asdict(event)])

    def remove(self, event: Event) -> None:
        self._connection.write("DELETE FROM events WHERE name = ?", event.name)

    def rooms(self) -> dict[str, str]:
        """Return the rooms that belong to events, each with its event."""
        rows = self._connection.rows("SELECT name, event FROM event_sources WHERE kind = 'room'")
        return {row["name"]: row["event"] for row in rows}

    def sources(self, event: str) -> list[EventSource]:
        """Return the sources of an event, in the order in which they were added."""
        rows = self._connection.rows("SELECT * FROM event_sources WHERE event = ? ORDER BY id", event)
        found = []
        for row in rows:
            result = row["result"] and result_of(row["name"], row["result"])
            found.append({**row, "result": result, "remarks": json.loads(row["remarks"])})
        return read(EventSource, found)

    def save_source(self, source: EventSource) -> None:
        result, remarks = source.result and source.result.to_json(), json.dumps(source.remarks)
        row = asdict(source) | {"result": result, "remarks": remarks}
        self._connection.save("event_sources", "event, name", [row])

    def update_room(self, room: str, result: RaceResult | None) -> None:
        """Store a room's result in its event, unless that is closed. Accounts that were deleted stay."""
        event = self.find(self.rooms()[room])
        (source,) = (each for each in self.sources(event.name) if each.name == room)
        result = result and People(self._connection).amended(result)
        if result and source.result:
            result = result.with_accounts_of(source.result)
        if event.closed_at is None:
            self.save_source(replace(source, result=result))

    def remove_source(self, source: EventSource) -> None:
        sql = "DELETE FROM event_sources WHERE event = ? AND name = ?"
        self._connection.write(sql, source.event, source.name)

    def annulled(self, event: Event) -> dict[str, str]:
        """Return the players whose results in an event are annulled, each with the reason."""
        people, found = People(self._connection), dict[str, str]()
        sql = "SELECT * FROM orders_in_force WHERE subject = ? AND kind IN ('annul', 'restore') ORDER BY id"
        for order in read(Order, self._connection.rows(sql, event.name)):
            player = people.account(order.target or "")
            found.pop(player, None)
            if order.kind is OrderKind.ANNUL:
                found[player] = order.reason
        return found

    def attempts(self, event: Event) -> list[Attempt]:
        """Return all results of an event, with operators' orders applied."""
        found = attempts(event, self.sources(event.name), self.annulled(event))
        counted = [each.entrant for each in found if each.note is None]
        penalized = iter(People(self._connection).penalized(event.name, counted))
        return [each if each.note else replace(each, entrant=next(penalized)) for each in found]

    def combined(self, event: Event) -> RaceResult:
        """Return the race of all entrants whose results count. Its goal is shown, and decides nothing."""
        board = Leaderboards(self._connection).get(event.category, event.leaderboard)
        goal = Races(self._connection).goal_of(event.name) or (board and board.first_goal)
        counted = (a.entrant for a in self.attempts(event) if a.note is None)
        entrants = tuple(replace(each, place=None) if each.finish_time else each for each in counted)
        race = RaceResult(
            name=event.name,
            category=event.category,
            goal=goal or event.leaderboard,
            ended_at=event.ended_at,
            entrants=entrants,
            recorded=True,
            leaderboard=event.leaderboard,
        )
        return People(self._connection).amended(race)  # accounts that met in a room may not meet in the race

    def with_player(self, player: str) -> list[EventSource]:
        """Return the sources with a result of a player."""
        sql = "SELECT DISTINCT event FROM event_sources WHERE instr(result, ?)"
        rows = self._connection.rows(sql, json.dumps(player, ensure_ascii=False))
        sources = (source for row in rows for source in self.sources(row["event"]))
        return [s for s in sources if s.result and player in {e.user_id for e in s.result.entrants}]

    def amend(self, player: str, now: datetime | None = None) -> None:
        """Apply the orders to all results of a player, as `People.apply` does, also in rooms and sheets.

        A forgotten player's proofs and comments go, too.
        """
        people = People(self._connection)
        people.apply(player, now)
        gone = player if people.is_forgotten(player) else None
        for source in self.with_player(player):
            entrants = source.result.entrants if source.result else ()
            pairs = zip(entrants, source.remarks, strict=False)  # rooms have no remarks
            remarks = (("", "") if gone and each.user_id == gone else remark for each, remark in pairs)
            result = source.result and people.amended(source.result)
            self.save_source(replace(source, result=result, remarks=tuple(remarks)))
