"""Commands that run the bot, and show what it is doing."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

import typer

from racebot.bot.status import status
from racebot.cli import tables
from racebot.cli.commands import app
from racebot.cli.common import (
    AsJson,
    Database,
    console,
    create_ledger,
    load_settings,
    notices,
    print_json,
    tell,
)
from racebot.ledger.lock import health_timeout, read_heartbeat, utc_now
from racebot.ledger.store import Ledger
from racebot.text.format import span


@app.command()
def run(database: Database = None) -> None:
    """Watch the category's race rooms and update the ratings, until stopped.

    Example: racebot run
    """
    from racebot.bot.worker import Worker  # other commands need none of it

    settings = load_settings(database=database)
    settings.required_categories()
    create_ledger(settings)

    async def work() -> None:
        worker = Worker(settings)
        on_stop_signal(worker.stop)
        await worker.run()

    asyncio.run(work())


def on_stop_signal(stop: Callable[[], object]) -> None:
    """Call a function when the process receives a signal to stop."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, stop)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))


@app.command("status")
def show_status(database: Database = None, as_json: AsJson = False) -> None:
    """Show the state of the running bot: rooms, races waiting to be recorded, messages to deliver.

    Example: racebot status
    """
    settings = load_settings(database=database)
    with Ledger.open_to_read(settings.database) as ledger:
        report = status(ledger, settings, utc_now())
    if as_json:
        print_json(report)
    else:
        tables.print_status(console, report)


@app.command()
def health(database: Database = None) -> None:
    """Succeed if the database can be read, and the bot has seen its category within the last five minutes.

    Example: racebot health
    """
    settings = load_settings(database=database)
    if settings.database.exists():
        Ledger.open_to_read(settings.database).close()
    beat, now = read_heartbeat(settings.database), utc_now()
    problems = [f"category {slug} is suspended: {reason}" for slug, reason in beat.suspended.items()]
    if beat.seen_at is None:
        problems = [f"the bot has never run on {settings.database}: start it with `racebot run`"]
    elif now - beat.seen_at > health_timeout(settings.rooms_every):
        age = span((now - beat.seen_at).total_seconds())
        problems = [f"the bot last saw its category {age} ago: check its log"]
    for problem in problems:
        tell(f"racebot: {problem}", to=notices)
    if problems:
        raise typer.Exit(1)
    console.print("healthy")
