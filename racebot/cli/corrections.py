"""Commands that forget, hide and merge players, exclude races and results, and list all such orders."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from racebot.cli import common
from racebot.cli.commands import loaded
from racebot.cli.common import Database, console, open_ledger, tell
from racebot.cli.tables import print_rows
from racebot.errors import NoSuchEntryError, OrderError, SettingsError
from racebot.files.cells import BadCellError, microseconds
from racebot.ledger.lock import utc_now
from racebot.ledger.rows import Leaderboard, Player
from racebot.ledger.store import Ledger
from racebot.settings.model import Settings
from racebot.standings import orders
from racebot.standings.counting import rating_rules
from racebot.standings.events import EventSteps, account_named, profile_id, racer_named
from racebot.standings.settle import Settler
from racebot.text.format import counted, gap, minute

Exactly = Annotated[str, typer.Argument(help="The player's id, or name#1234.")]
Racer = Annotated[str, typer.Argument(help="The racer's name, id, profile's address or name on Twitch.")]
Race = Annotated[str, typer.Argument(help="The race's name or address, or an event's name.")]
DAY = 86_400 * 1_000_000
Why = Annotated[str, typer.Option(help="Why; `racebot audit` shows it.")]


@loaded.command()
def forget(player: Exactly, reason: Why = "", yes: common.Yes = False, database: Database = None) -> None:
    """Erase a player's name, after a confirmation and a backup, and remove the player from all lists.

    Results show the player as "deleted account". Ratings do not change.

    Example: racebot forget "Ann#0007" --reason "asked by mail"
    """
    with _settler(database) as (settings, settler):
        found = settler.ledger.people.subject(player)
        tell(f"{_with_races(settler.ledger, found)}: only a backup brings the name back")
        if common.confirmed(settings, settler.ledger, f"Erase the name {found.shown}?", yes=yes):
            orders.forget(settler, found, reason, utc_now())
            tell(f"{found.id}: the name is erased")


@loaded.command()
def hide(player: Exactly, reason: Why = "", database: Database = None) -> None:
    """Hide a player in chat and on pages. Their races still count.

    Example: racebot hide "Ann#0007"
    """
    with _settler(database) as (_, settler):
        found = settler.ledger.people.subject(player)
        orders.hide(settler, found, reason, utc_now())
        tell(f"{_named(found)} is hidden")


@loaded.command()
def unhide(player: Exactly, reason: Why = "", database: Database = None) -> None:
    """Show a hidden player again.

    Players who also hid themselves in chat stay hidden, unless you repeat the command.

    Example: racebot unhide "Ann#0007"
    """
    with _settler(database) as (_, settler):
        found = settler.ledger.people.subject(player)
        orders.unhide(settler, found, reason, utc_now())
        wish = "stays hidden, as they asked in chat: repeat this command to show them anyway"
        tell(f"{_named(found)} {wish if settler.ledger.people.is_hidden(found.id) else 'is shown again'}")


@loaded.command()
def exclude(race: Race, reason: Why, database: Database = None) -> None:
    """Exclude a race from the ratings, and rate its leaderboards again.

    Example: racebot exclude smr/curious-midfast-0534 --reason "wrong seed"
    """
    with _settler(database) as (settings, settler):
        stored = settler.ledger.races.find(common.race_named(settings, settler.ledger, race))
        rated = orders.exclude(settler, stored, reason, utc_now())
        _carry_out(settler.ledger, rated, f"{stored.result.name} is excluded")


@loaded.command()
def include(race: Race, reason: Why = "", database: Database = None) -> None:
    """Include an excluded race again, at its original place in the order.

    Example: racebot include smr/curious-midfast-0534
    """
    with _settler(database) as (settings, settler):
        stored = settler.ledger.races.find(common.race_named(settings, settler.ledger, race))
        rated = orders.exclude(settler, stored, reason, utc_now(), undo=True)
        _carry_out(settler.ledger, rated, f"{stored.result.name} counts again")


@loaded.command()
def skip(race: Race, reason: Why = "", database: Database = None) -> None:
    """Keep a race from counting on leaderboards that need no record, before or after it counted.

    Example: racebot skip ootr/brisk-dune-0534 --reason "wrong seed"
    """
    with _settler(database) as (settings, settler):
        name = common.race_named(settings, settler.ledger, race)
        seen = name in settler.ledger.races.called(name.partition("/")[2])
        rated = orders.skip(settler, name, reason, utc_now())
        _carry_out(settler.ledger, rated, f"{name} is skipped" + ("" if seen else ". It is not known yet"))


@loaded.command()
def count(race: Race, reason: Why = "", database: Database = None) -> None:
    """Let a race count now on leaderboards that need no record. This undoes `skip`.

    Example: racebot count ootr/brisk-dune-0534
    """
    with _settler(database) as (settings, settler):
        ledger = settler.ledger
        name = common.race_named(settings, ledger, race)
        unseen = not ledger.races.has(name)
        if not unseen and not orders.is_skipped(ledger, name):
            raise OrderError(f"{name} counts already")
        result = common.final_results(settings, ledger, [name])[name] if unseen else None
        if unseen and result is None:
            raise OrderError(f"{name} is not finished: repeat this afterwards")
        if result is not None and settler.rules.grace(result) is None:
            raise OrderError(f"{name} counts on no leaderboard with counts = 'finished'")
        with ledger.transaction():
            rated = orders.skip(settler, name, reason, utc_now(), undo=True)
            if result is not None:
                settler.settle(result, utc_now())
        _carry_out(ledger, rated, f"{name} counts")


@loaded.command()
def merge(
    old: Annotated[str, typer.Argument(help="The account to merge: its id, or name#1234.")],
    new: Annotated[str, typer.Argument(help="The account to keep: its id, name#1234 or profile's address.")],
    reason: Why = "",
    yes: common.Yes = False,
    database: Database = None,
) -> None:
    """Merge two accounts of the same person: the new one gets the races of the old.

    Only a backup can undo this, so it makes one, after a confirmation.

    Example: racebot merge "Ann#0007" "Annika#0420"
    """
    with _settler(database) as (settings, settler):
        ledger = settler.ledger
        given_up, kept = ledger.people.subject(old), _account(settings, ledger, new)
        tell(f"{_with_races(ledger, given_up)} → {_with_races(ledger, kept)}: only a backup separates them")
        if not common.confirmed(settings, ledger, f"Merge {given_up.shown} into {kept.shown}?", yes=yes):
            return
        rated = orders.merge_accounts(settler, given_up, kept, reason, utc_now())
        _carry_out(ledger, rated, f"the races of {_named(given_up)} are now those of {_named(kept)}")


@loaded.command()
def annul(
    event: Annotated[str, typer.Argument(help="The event's name.")],
    player: Racer,
    reason: Why = "",
    undo: Annotated[bool, typer.Option("--undo", help="Restore an annulled result.")] = False,
    database: Database = None,
) -> None:
    """Take a player's results out of an event, whose page shows the reason. A closed one is rated again.

    Example: racebot annul "Qualifier 1" Ann --reason "no video"
    """
    with _settler(database) as (settings, settler):
        ledger = settler.ledger
        found = ledger.events.find(event)
        subject = _racer(ledger, found.name, player)
        EventSteps(settler, utc_now(), webhook=settings.webhook_of).annul(found, subject, reason, undo=undo)
        common.carry_out_rebuilds(ledger)
        tell(f"{found.title}: {subject.shown} {'counts again' if undo else 'is annulled'}")


@loaded.command()
def penalty(
    race: Race,
    player: Racer,
    time: Annotated[str, typer.Argument(help="Time to add, such as +0:30; 0 takes it back.")],
    reason: Why = "",
    database: Database = None,
) -> None:
    """Add time to a player's result in an event, or in a race that counts without a record.

    In a recorded race, the site's moderators edit the time.

    Example: racebot penalty "Qualifier 1" Ann +0:30 --reason "warped"
    """
    try:
        amount = microseconds(time.removeprefix("+"))
    except BadCellError:
        amount = DAY
    if amount >= DAY:
        raise SettingsError(f"{time[:20]!r} is no penalty below a day: write +0:30, +1:02:03, or 0")
    with _settler(database) as (settings, settler):
        ledger = settler.ledger
        name = common.race_named(settings, ledger, race)
        if ledger.events.get(name) is None:
            ledger.races.find(name)  # or say why it does not count
        subject = _racer(ledger, name, player)
        rated = orders.penalize(settler, name, subject, amount, reason, utc_now())
        added = f"{gap(amount / 1e6)} is added" if amount else "the penalty is taken back"
        _carry_out(ledger, rated, f"{name}: {subject.shown}: {added}")


@loaded.command()
def audit(database: Database = None, as_json: common.AsJson = False) -> None:
    """List all orders with date and reason, oldest first.

    Example: racebot audit
    """
    settings = common.load_settings(database=database)
    with Ledger.open_to_read(settings.database) as ledger:
        given = ledger.orders.all()
        keys = {key for each in given for key in (each.subject, each.target) if key}
        names = {key: player.shown for key in keys if (player := ledger.players.get(key))}
    if as_json:
        named = ((each, names.get(each.subject), names.get(each.target or "")) for each in given)
        found = [{"order": o.kind, **asdict(o), "name": name, "target_name": to} for o, name, to in named]
        common.print_json(found)
        return
    if not given:
        console.print("no orders")
        return
    rows = []
    for each in given:
        about = " → ".join(_described(key, names.get(key)) for key in (each.subject, each.target) if key)
        order = each.kind.value if each.amount is None else f"{each.kind.value} {gap(each.amount / 1e6)}"
        rows.append((minute(each.given_at), order, about, each.reason, each.author))
    print_rows(console, None, ("Given (UTC)", "Order", "Player or race", "Reason", "By"), rows)


def _account(settings: Settings, ledger: Ledger, text: str) -> Player:
    """Return the one account with an id, name#1234 or address, which the site is asked about if need be."""
    named = profile_id(text)
    try:
        player = ledger.people.subject(named)
    except NoSuchEntryError as error:
        unknown = error
    else:
        if ledger.players.get(player.id):
            return player
        unknown = NoSuchEntryError(f"{player.id} has not raced here, and the site does not know it")
    found = account_named(partial(common.accounts, settings), named)[0]
    if found is None or not found.user_id or found.name.casefold() == named.casefold():
        raise unknown
    return Player(found.user_id, found.name, found.discriminator or "", found.name)


def _racer(ledger: Ledger, race: str, given: str) -> Player:
    event, stored = ledger.events.get(race), ledger.races.get(race)
    entrants = stored.result.entrants if stored else ()
    results = [each.entrant for each in ledger.events.attempts(event)] if event else entrants
    return racer_named(ledger, {each.user_id: each for each in results}, given)


def _carry_out(ledger: Ledger, rated: Iterable[Leaderboard], done: str) -> None:
    common.carry_out_rebuilds(ledger)
    for line in (done, *(f"{board.name}: ratings updated" for board in rated)):
        tell(line)


@contextmanager
def _settler(database: Path | None) -> Generator[tuple[Settings, Settler]]:
    with open_ledger(database) as (settings, ledger):
        yield settings, Settler(ledger, rating_rules(settings))


def _with_races(ledger: Ledger, player: Player) -> str:
    return f"{_named(player)}, {counted(len(ledger.people.races_with(player.id)), 'race')}"


def _named(player: Player) -> str:
    return _described(player.id, player.shown if player.shown != player.id else None)


def _described(key: str, name: str | None) -> str:
    return f"{name} ({key})" if name else key
