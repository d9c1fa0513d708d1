"""Carries out operators' orders: each one changes the ledger and the ratings in one transaction.

An order that cannot be carried out, or would change nothing, is refused with an OrderError.
"""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from racebot.errors import OrderError
from racebot.ledger.orders import Order, OrderKind
from racebot.ledger.rows import START, Leaderboard, Player, Position, StoredRace
from racebot.ledger.store import Ledger
from racebot.races.result import Entrant, EntrantStatus, RaceResult
from racebot.standings.rebuild import update_ratings
from racebot.standings.settle import Settler

DELETED = "the account was deleted on the site"  # the reason of an automatic order
LONGEST_REASON = 500  # most characters in an order's reason


def forget(settler: Settler, player: Player, reason: str, now: datetime) -> None:
    """Erase a player's name from the ledger and remove the player from lists. Ratings do not change."""
    ledger = settler.ledger
    with ledger.transaction():
        if ledger.people.is_forgotten(player.id):
            raise OrderError(f"{player.id} is already forgotten")
        ledger.orders.add(Order(now, OrderKind.FORGET, player.id, None, on_one_line(reason)))
        ledger.messages.forget(player.id)
        ledger.events.amend(player.id)


def hide(settler: Settler, player: Player, reason: str, now: datetime, *, by_player: bool = False) -> None:
    """Leave a player out of leaderboards and other lists. Ratings do not change.

    The operator and, in chat, the player can both give this order. It stands until both take theirs back.
    It is refused if the player is already hidden by the same order, or is forgotten.
    """
    orders, people = settler.ledger.orders, settler.ledger.people
    with settler.ledger.transaction():
        if by_player in people.hiding(player.id) or people.is_forgotten(player.id):
            raise OrderError(f"{player.shown} is already hidden")
        orders.add(Order(now, OrderKind.HIDE, player.id, None, on_one_line(reason), by_player))


def unhide(settler: Settler, player: Player, reason: str, now: datetime, *, by_player: bool = False) -> None:
    """List a hidden player again.

    If both the operator and the player gave that order, the operator's first `unhide` takes back the
    operator's only, and a second one the player's. Players cannot take back the operator's.
    """
    orders, people = settler.ledger.orders, settler.ledger.people
    with settler.ledger.transaction():
        if people.is_forgotten(player.id):
            raise OrderError(f"{player.id} is forgotten: a forgotten player cannot be listed again")
        if not people.is_hidden(player.id):
            raise OrderError(f"{player.shown} is not hidden")
        hiding = people.hiding(player.id)
        if by_player and False in hiding:
            raise OrderError(f"the operator hid {player.shown}: only the operator can list this player again")
        orders.add(Order(now, OrderKind.UNHIDE, player.id, None, on_one_line(reason), by_player))
        if len(hiding) == 2:  # the last order applies, so give the player's own one again
            orders.add(Order(now, OrderKind.HIDE, player.id, None, hiding[True], by_player=True))


def exclude(
    settler: Settler, race: StoredRace, reason: str, now: datetime, *, undo: bool = False
) -> list[Leaderboard]:
    """Exclude a race, or include it again at its old position. Return its leaderboards, rated again."""
    name, orders = race.result.name, settler.ledger.orders
    if not (undo or reason.strip()):
        raise OrderError("an exclusion needs a reason: give --reason TEXT")
    with settler.ledger.transaction():
        if (name in orders.under(OrderKind.EXCLUDE)) != undo:
            raise OrderError(f"{name} is {'not' if undo else 'already'} excluded")
        kind, done = (OrderKind.INCLUDE, "included again") if undo else (OrderKind.EXCLUDE, "excluded")
        orders.add(Order(now, kind, name, None, on_one_line(reason)))
        return _rate_again(settler, settler.boards.holding(name), race.position, f"{name} was {done}")


def skip(
    settler: Settler, race: str, reason: str, now: datetime, *, undo: bool = False, author: str = ""
) -> list[Leaderboard]:
    """Keep a race off the leaderboards that need no record, or let it count there at once.

    The race need not be stored, nor be over. If it is to count and is not stored yet, the caller must settle
    it. Chat may repeat an order: it is stored, so that its room's history gives it no second time. Return the
    leaderboards that were rated again.
    """
    ledger = settler.ledger
    with ledger.transaction():
        if not (undo or author) and is_skipped(ledger, race):
            raise OrderError(f"{race} is already skipped")
        kind, done = (OrderKind.COUNT, "counted") if undo else (OrderKind.SKIP, "skipped")
        ledger.orders.add(Order(now, kind, race, None, on_one_line(reason), author=author))
        position = ledger.races.position(race)
        if position is None:
            return []
        boards = [board for board in settler.boards.holding(race) if board.rule.finished]
        return _rate_again(settler, boards, position, f"{race} was {done}")


def penalize(
    settler: Settler, race: str, player: Player, amount: int, reason: str, now: datetime
) -> list[Leaderboard]:
    """Add microseconds to a player's time in an event, or in a stored race without a record.

    A further penalty replaces the first, 0 takes it back. Return the leaderboards that were rated again.
    """
    ledger = settler.ledger
    with ledger.transaction():
        event, stored = ledger.events.get(race), ledger.races.get(race)
        results = [each.entrant for each in ledger.events.attempts(event) if not each.note] if event else []
        if not event and stored:
            results = list(stored.result.entrants)
        own = next((each for each in results if each.user_id == player.id), None)
        if own is None or own.seconds is None:
            raise OrderError(f"{player.shown} has no finish time in {race}")
        if (own.penalty or 0) == amount:
            raise OrderError(f"{player.shown} has {'this' if amount else 'no'} penalty there already")
        if amount and not event and stored and stored.result.recorded:
            raise OrderError(f"{race} is recorded: the site's moderators edit its times")
        if amount and not reason.strip():
            raise OrderError("a penalty needs a reason: give --reason TEXT")
        ledger.orders.add(Order(now, OrderKind.PENALTY, race, player.id, on_one_line(reason), amount=amount))
        if stored is None:
            return []
        settler.settle(ledger.events.combined(event) if event else stored.result, now)
        return settler.boards.holding(race)


def is_skipped(ledger: Ledger, race: str) -> bool:
    """Return whether the last order about a race keeps it off leaderboards that need no record."""
    return race in ledger.orders.under(OrderKind.SKIP)


def merge_accounts(
    settler: Settler, old: Player, kept: Player, reason: str, now: datetime
) -> list[Leaderboard]:
    """Move all races of one account to another one of the same person, and return the boards rated again.

    If the first one is hidden, the other is from now on, too.

    Raises:
        OrderError: both are the same account, one is forgotten, both entered the same race, or one is itself
            merged into another.
    """
    ledger, people = settler.ledger, settler.ledger.people
    with ledger.transaction():
        if old.id == kept.id:
            raise OrderError(f"{old.shown} and {kept.shown} are the same account")
        for player in (old, kept):
            if (account := people.account(player.id)) != player.id:
                raise OrderError(f"{player.id} is already merged into {account}: give that account")
            if people.is_forgotten(player.id):
                raise OrderError(f"{player.id} is forgotten: a forgotten player cannot be merged")
        together = sorted(_met_in(ledger, old.id) & _met_in(ledger, kept.id))
        if together:
            raise OrderError(
                f"{old.shown} and {kept.shown} both raced in {', '.join(together[:3])}: "
                "accounts that raced each other cannot be merged"
            )
        boards = {
            board.key: board for race in people.races_with(old.id) for board in settler.boards.holding(race)
        }
        if ledger.players.get(kept.id) is None:
            known = Entrant(kept.id, kept.name, EntrantStatus.RACING, discriminator=kept.discriminator)
            ledger.players.save(RaceResult(kept.id, "", "", now, (known,)), current=True)
        ledger.orders.add(Order(now, OrderKind.MERGE, old.id, kept.id, on_one_line(reason)))
        for by_player in people.hiding(old.id):
            with suppress(OrderError):  # the kept account is hidden already
                hide(settler, kept, reason, now, by_player=by_player)
        ledger.events.amend(old.id, now)
        for name in {source.event for source in ledger.events.with_player(kept.id)}:
            if ledger.races.has(name):
                settler.settle(ledger.events.combined(ledger.events.find(name)), now)
        rated = _rate_again(settler, list(boards.values()), START, "accounts were merged")
        people.remove_merged_players()
        return rated


def _met_in(ledger: Ledger, player: str) -> set[str]:
    """Return where a player met others: in races, or in the rooms and sheets of events."""
    events = {event.name for event in ledger.events.all()}
    sources = {f"{source.name} of {source.event}" for source in ledger.events.with_player(player)}
    return set(ledger.people.races_with(player)) - events | sources


def _rate_again(
    settler: Settler, boards: list[Leaderboard], since: Position, reason: str
) -> list[Leaderboard]:
    update_ratings(settler.ledger, {board.key: since for board in boards}, reason)
    return boards


def on_one_line(reason: str) -> str:
    """Return a reason without line breaks, or raise OrderError if it is too long."""
    text = " ".join(reason.split())
    if len(text) > LONGEST_REASON:
        raise OrderError(f"the reason has {len(text)} characters: shorten it to {LONGEST_REASON}")
    return text


def forget_deleted(settler: Settler, results: Iterable[RaceResult], now: datetime) -> list[str]:
    """Forget players whose accounts the site now shows as deleted in stored races, and return these.

    Not those into whom others were merged: the account that was given up may be the deleted one.
    """
    ledger, people = settler.ledger, settler.ledger.people
    deleted: list[str] = []
    for result in results:
        is_shown = any(entrant.user_id is None for entrant in result.entrants)
        if is_shown and (stored := ledger.races.get(result.name)):
            deleted += people.amended(result).deleted_accounts(stored.result)
    unclear = people.merged().values()
    found = [player for account in dict.fromkeys(deleted) if (player := ledger.players.get(account))]
    left = [each for each in found if each.id not in unclear and not people.is_forgotten(each.id)]
    for player in left:
        forget(settler, player, DELETED, now)
    return [player.id for player in left]
