"""Events with their sources, and the orders about their results."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import datetime

from racebot.errors import NoSuchEntryError
from racebot.ledger.connection import LedgerTable
from racebot.ledger.orders import OrderKind, Orders
from racebot.ledger.people import People
from racebot.ledger.races import Races
from racebot.ledger.rows import read, result_of
from racebot.races.events import Attempt, Event, EventSource, attempts
from racebot.races.result import RaceResult


class Events(LedgerTable):
    """Reads and writes the tables `events` and `event_sources`."""

    def all(self) -> list[Event]:
        """Return all events, the newest first."""
        return read(Event, self._connection.rows("SELECT * FROM events ORDER BY created_at DESC, name"))

    def get(self, name: str) -> Event | None:
        return next((event for event in self.all() if event.name == name), None)

    def find(self, text: str) -> Event:
        """Return the one event with a title, or with a name with or without its category.

        Raises:
            NoSuchEntryError: no event, or more than one, has that name.
        """
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

    def update_room(self, result: RaceResult) -> None:
        """Store a room's result in its event, unless that is closed."""
        sql = (
            "UPDATE event_sources SET result = ? WHERE kind = 'room' AND name = ?"
            " AND event IN (SELECT name FROM events WHERE closed_at IS NULL)"
        )
        self._connection.write(sql, result.to_json(), result.name)

    def remove_source(self, source: EventSource) -> None:
        sql = "DELETE FROM event_sources WHERE event = ? AND name = ?"
        self._connection.write(sql, source.event, source.name)

    def annulled(self, event: Event) -> dict[str, str]:
        """Return the players whose results in an event are annulled, each with the reason."""
        merged, found = People(self._connection).merged(), dict[str, str]()
        for order in Orders(self._connection).all():
            if order.subject != event.name or order.given_at < event.created_at:
                continue
            player = merged.get(order.target or "", order.target or "")
            if order.kind is OrderKind.ANNUL:
                found[player] = order.reason
            elif order.kind is OrderKind.RESTORE:
                found.pop(player, None)
        return found

    def attempts(self, event: Event) -> list[Attempt]:
        """Return all results of an event, with operators' orders applied."""
        found = attempts(event, self.sources(event.name), self.annulled(event))
        counted = [each.entrant for each in found if each.note is None]
        penalized = iter(People(self._connection).penalized(event.name, counted))
        return [each if each.note else replace(each, entrant=next(penalized)) for each in found]

    def combined(self, event: Event) -> RaceResult:
        """Return the race of all entrants whose results count, under the current name of its goal."""
        goal = Races(self._connection).current_goal(event.category, event.goal)
        counted = (a.entrant for a in self.attempts(event) if a.note is None)
        entrants = tuple(replace(each, place=None) if each.finish_time else each for each in counted)
        facts = event.name, event.category, goal, event.ended_at, entrants
        race = RaceResult(*facts, recorded=True, leaderboard=event.leaderboard)
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
