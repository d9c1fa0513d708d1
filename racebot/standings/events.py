"""Carries out the steps of events: create, add, close, reopen and remove, and annulled results.

Each step is an order with its date and author, in the transaction that carries it out. One that cannot be
carried out is refused with an OrderError.
"""

import re
import reprlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from racebot.errors import NoSuchEntryError, OrderError
from racebot.files.cells import BadCellError
from racebot.files.options import ReadOptions
from racebot.files.read import read_attempts
from racebot.ledger.orders import Order, OrderKind
from racebot.ledger.rows import Leaderboard, Player
from racebot.ledger.store import Ledger
from racebot.races.events import Event, EventSource, SourceKind
from racebot.races.result import Entrant, EntrantStatus, RaceResult
from racebot.standings.orders import on_one_line
from racebot.standings.settle import Settler
from racebot.text.parse import fold_name, slug_of

_SITE_ID = re.compile("[A-Za-z0-9]{16}")
_PROFILE = re.compile("https?://[^/]+/user/([A-Za-z0-9]+)(?:/.*)?")


@dataclass(frozen=True, slots=True)
class EventSteps:
    """Gives the orders of one person about events. `author` is empty for the operator.

    `webhook` returns the id of a leaderboard's Discord webhook, and `ask` the site's accounts for a text.
    """

    settler: Settler
    now: datetime
    author: str = ""
    webhook: Callable[[Leaderboard], str | None] = lambda _: None
    ask: Callable[[str], list[Entrant]] = lambda _: []

    def create(self, title: str, board: Leaderboard, until: datetime) -> Event:
        """Create an event for a leaderboard, which need not be stored yet."""
        title, events = on_one_line(title), self.settler.ledger.events
        slug = slug_of(fold_name(title))
        if not 0 < len(slug) <= 80:
            raise OrderError("an event's name has letters or digits, and at most 80 characters")
        name = f"{board.category}/event-{slug}"
        with self.settler.ledger.transaction():
            if events.get(name) is not None or self.settler.ledger.races.has(name):
                raise OrderError(f"there is an event {name} already: choose another name")
            event = Event(name, title, board.category, board.name, until, self.now)
            events.save(event)
            self._order(OrderKind.EVENT_CREATE, event)
        return event

    def add_room(self, event: Event, room: str, result: RaceResult | None) -> None:
        """Add a room, with its result if it is final, or update it. It no longer counts by itself."""
        events = self.settler.ledger.events
        with self.settler.ledger.transaction():
            _require_open(event)
            other = events.rooms().get(room)
            if not room.startswith(f"{event.category}/"):
                raise OrderError(f"{room} is not in {event.category}, the category of {event.title}")
            if other not in {None, event.name}:
                raise OrderError(f"{room} belongs to {other}: remove it there first")
            if other is None:
                self._order(OrderKind.EVENT_ADD, event, room)
                stored = self.settler.ledger.races.get(room)
                given = None if stored is None else stored.result
                events.save_source(EventSource(event.name, SourceKind.ROOM, room, given, ()))
            events.update_room(room, result)
            self.settler.withdraw(room)

    def read_sheet(
        self,
        event: Event,
        path: Path,
        options: ReadOptions,
        *,
        guests: Collection[str] = (),
        rooms: Iterable[RaceResult | None] = (),
        new: bool = False,
    ) -> tuple[EventSource, tuple[str, ...]]:
        """Read the results of a file for an event, and return them with notes about it. Changes nothing.

        `guests` are names of racers without an account, who get ids that can be merged into an account later.
        `rooms` will be added, too. The site is asked about players that neither they nor the ledger know.
        """
        known = [source.result for source in self.settler.ledger.events.sources(event.name)]
        results = filter(None, [*known, *rooms])
        racers = {entrant.user_id: entrant for result in results for entrant in result.entrants}
        for name in guests:
            racers[guest_id(name)] = Entrant(guest_id(name), on_one_line(name), EntrantStatus.RACING)
        entrants, remarks, notes = read_attempts(
            path, lambda text: self._player(racers, text, new=new), options
        )
        name = f"{event.category}/{path.name}"
        given = RaceResult(name, event.category, "", self.now, entrants)
        return EventSource(event.name, SourceKind.SHEET, path.name, given, remarks), notes

    def add_sheet(self, event: Event, sheet: EventSource) -> None:
        """Add the results of a file, or replace those of a file of this name."""
        with self.settler.ledger.transaction():
            _require_open(event)
            self._order(OrderKind.EVENT_ADD, event, sheet.name)
            result = sheet.result and self.settler.ledger.people.amended(sheet.result)
            self.settler.ledger.events.save_source(replace(sheet, result=result))

    def close(self, event: Event) -> None:
        """Combine the sources into one race that ends now, or when the event ended, and rate it."""
        ledger = self.settler.ledger
        with ledger.transaction():
            _require_open(event)
            unfinished = [source.name for source in ledger.events.sources(event.name) if not source.result]
            if unfinished:
                remedy = "wait for it, or take the room out with `racebot event remove`"
                raise OrderError(f"{unfinished[0]} has no final result: {remedy}")
            closed = replace(event, closed_at=self.now)
            result = ledger.events.combined(closed)
            if not result.entrants:
                raise OrderError(f"{event.title} has no results: add a room or a file")
            if not self.settler.rules.counts(result):
                raise OrderError(f"the settings have no leaderboard {event.leaderboard!r} any more: add it")
            ledger.events.save(closed)
            self._order(OrderKind.EVENT_CLOSE, event)
            self.settler.settle(result, self.now)
            board = ledger.leaderboards.get(event.category, event.leaderboard)
            webhook = None if board is None else self.webhook(board)
            ledger.posts.put(result, [webhook] if webhook else [], None)

    def reopen(self, event: Event) -> None:
        """Take back the race of a closed event. Its sources stay."""
        with self.settler.ledger.transaction():
            if event.closed_at is None:
                raise OrderError(f"{event.title} is not closed")
            self.settler.withdraw(event.name)
            self.settler.ledger.events.save(replace(event, closed_at=None))
            self._order(OrderKind.EVENT_REOPEN, event)

    def remove(self, event: Event, names: Collection[str] = ()) -> None:
        """Remove sources of an open event, or the whole event. Its rooms count by themselves again."""
        events = self.settler.ledger.events
        with self.settler.ledger.transaction():
            sources = events.sources(event.name)
            if names:
                _require_open(event)
            if missing := sorted(set(names).difference(source.name for source in sources)):
                has = ", ".join(source.name for source in sources) or "none yet"
                raise OrderError(f"{missing[0]} is no source of {event.title}. It has: {has}")
            removed = [source for source in sources if source.name in names or not names]
            for source in removed:
                events.remove_source(source)
                self._order(OrderKind.EVENT_REMOVE, event, source.name)
            if not names:
                self.settler.withdraw(event.name)
                events.remove(event)
                self._order(OrderKind.EVENT_REMOVE, event)
            rooms = [s.result for s in removed if s.kind is SourceKind.ROOM and s.result is not None]
            self.settler.add_past_races(rooms, "backfill", self.now)

    def annul(self, event: Event, player: Player, reason: str, *, undo: bool = False) -> None:
        """Take a player's results out of an event, or restore them, and rate a closed event again."""
        ledger = self.settler.ledger
        with ledger.transaction():
            if not (undo or reason.strip()):
                raise OrderError("an annulled result needs a reason: give --reason TEXT")
            if player.id not in {each.entrant.user_id for each in ledger.events.attempts(event)}:
                raise OrderError(f"{player.shown} has no result in {event.title}")
            if (player.id in ledger.events.annulled(event)) != undo:
                raise OrderError(f"{player.shown} is {'not' if undo else 'already'} annulled there")
            self._order(OrderKind.RESTORE if undo else OrderKind.ANNUL, event, player.id, reason)
            if event.closed_at is not None:
                self.settler.settle(ledger.events.combined(event), self.now)

    def _order(self, kind: OrderKind, event: Event, target: str | None = None, reason: str = "") -> None:
        order = Order(self.now, kind, event.name, target, on_one_line(reason), author=self.author)
        self.settler.ledger.orders.add(order)

    def _player(self, racers: Mapping[str | None, Entrant], given: str, *, new: bool) -> Entrant:
        """Return who has an id, a name or a profile's address, of the event's racers (by id) or others."""
        try:
            found = racer_named(self.settler.ledger, racers, given)
        except OrderError as error:
            raise BadCellError("player", str(error)) from None
        except NoSuchEntryError as error:
            text = profile_id(given)
            account, asked = account_named(self.ask, text)
            if account is not None:
                return account
            is_id = _SITE_ID.fullmatch(text) is not None
            if is_id and (new or text != given or self.settler.ledger.people.account(text) != text):
                return Entrant(text, text, EntrantStatus.RACING)
            shown = ", ".join(f"{e.name}#{e.discriminator}" for e in asked[:5])
            there = f" The site has {shown}." if shown else ""
            fix = "write the id or address of the profile, or add --guest NAME without an account"
            fix += ", or --new if it is the id of an account that has not raced here" if is_id else ""
            problem = f"{error}.{there} Correct {reprlib.repr(text)}, {fix}".replace("?.", "?")
            raise BadCellError("player", problem) from None
        return Entrant(found.id, found.name, EntrantStatus.RACING, discriminator=found.discriminator or None)


def profile_id(given: str) -> str:
    """Return the id in the address of a profile, or another text as it is."""
    return _PROFILE.sub(r"\1", given)


def account_named(ask: Callable[[str], list[Entrant]], text: str) -> tuple[Entrant | None, list[Entrant]]:
    """Ask the site for the one account with an id, a name or `name#1234`. Return all that it found, too."""
    name = text.rpartition("/")[2]
    asked, plain = ask(name), name.casefold()
    same = [each for each in asked if plain in {*_names_of(each), (each.user_id or "").casefold()}]
    return same[0] if len(same) == 1 else None, asked


def racer_named(ledger: Ledger, racers: Mapping[str | None, Entrant], given: str) -> Player:
    """Return who has an id, a name, a profile's address or a name on Twitch, of racers (by id) or others.

    Raises:
        NoSuchEntryError: nobody has, or several others do.
        OrderError: several of the racers have that name.
    """
    text = profile_id(given)
    if text not in racers and ledger.players.get(text) is None:
        called = [each for each in racers.values() if text.casefold() in _names_of(each)]
        if len(called) > 1:
            problem = f"{len(called)} racers there are named {reprlib.repr(text)}"
            raise OrderError(f"{problem}: write the id or address of the profile")
        text = called[0].user_id or "" if called else text
    if found := racers.get(text):
        name, number = found.name, found.discriminator or ""
        alike = {key for key, each in racers.items() if each.name.casefold() == name.casefold()}
        alike |= {each.id for each in ledger.players.called(name)}
        return Player(text, name, number, f"{name}#{number}" if number and len(alike) > 1 else name)
    try:
        return ledger.players.find(text)
    except NoSuchEntryError:
        on_twitch = ledger.profiles.on_twitch(text.rpartition("/")[2])
        if len(on_twitch) == 1 and (known := ledger.players.get(on_twitch[0])):
            return known
        raise


def _names_of(racer: Entrant) -> tuple[str, str]:
    """Return a racer's name and full name, as they compare."""
    name = racer.name.casefold()
    return name, f"{name}#{racer.discriminator}"


def guest_id(name: str) -> str:
    """Return the id of a racer without an account, who can be merged into one later."""
    if not (slug := slug_of(fold_name(name))):
        raise OrderError(f"--guest {name!r}: a name has letters or digits")
    return f"guest-{slug}"


def _require_open(event: Event) -> None:
    if event.closed_at is not None:
        raise OrderError(f"{event.title} is closed: run `racebot event reopen` first")
