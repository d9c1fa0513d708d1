"""Commands that run the bot, show what it is doing, and serve and export the pages."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from racebot.bot.status import status
from racebot.cli import common, tables
from racebot.cli.commands import loaded
from racebot.cli.common import AsJson, Database, console, load_settings, notices, tell
from racebot.errors import RacebotError
from racebot.ledger.lock import health_timeout, read_heartbeat, utc_now
from racebot.ledger.pictures import folder_beside
from racebot.ledger.store import Ledger
from racebot.queries.standings import listing_of
from racebot.settings.model import Settings
from racebot.standings.counting import planned_boards
from racebot.text.format import counted, span

if TYPE_CHECKING:
    from racebot.web.site.ledger_view import Publication

DEMO_CATEGORY = "sandbox"  # the category of a demo's races


@loaded.command()
def run(database: Database = None) -> None:
    """Watch the category's race rooms and update the ratings, until stopped.

    Example: racebot run
    """
    from racebot.bot.worker import Worker  # other commands need none of it

    settings = load_settings(database=database)
    settings.required_categories()
    common.create_ledger(settings)

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


@loaded.command("status")
def show_status(
    database: Database = None,
    as_json: AsJson = False,
    metrics: Annotated[bool, typer.Option("--metrics", help="Print numbers for Prometheus.")] = False,
) -> None:
    """Show the state of the running bot: rooms, races waiting to be recorded, messages to deliver.

    Example: racebot status
    """
    settings = load_settings(database=database)
    with Ledger.open_to_read(settings.database) as ledger:
        report = status(ledger, settings, utc_now())
    if metrics:
        typer.echo("".join(f"racebot_{name} {value}\n" for name, value in report.numbers()), nl=False)
        return
    common.give(report, tables.print_status, as_json=as_json)


@loaded.command()
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


@loaded.command()
def web(
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 means all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes any free one.")] = 8080,
    database: Database = None,
) -> None:
    """Serve leaderboards, players and races as pages and JSON. The bot may run at the same time.

    Example: racebot web --port 8080
    """
    common.need_web()
    from racebot.web.http import server

    settings = load_settings(database=database)
    with Ledger.open_to_read(settings.database) as ledger:
        publication = publication_of(settings, ledger)
    try:
        server.serve(settings.database, publication, host, port, lambda address: tell(f"pages: {address}"))
    except OSError as error:
        raise common.cannot_listen(port, error) from None


@loaded.command("export-site")
def export_site(
    folder: Annotated[Path, typer.Argument(help="Folder to write to; created if it does not exist.")],
    database: Database = None,
) -> None:
    """Export the pages as files for a static host. Later runs render only what changed.

    Example: racebot export-site public
    """
    common.need_web()
    from racebot.web.export import export

    settings = load_settings(database=database)
    with Ledger.open_to_read(settings.database) as ledger:
        done = export(ledger, publication_of(settings, ledger), folder)
    tell(f"{folder}: {done.written} files written, {done.unchanged} unchanged, {done.removed} removed")
    for each in done.failed[1:]:
        tell(f"racebot: {each}", to=notices)
    if done.failed:
        count = counted(len(done.failed), "part")
        raise RacebotError(f"{count} of the site could not be made: {done.failed[0]}")


def publication_of(settings: Settings, ledger: Ledger) -> Publication:
    """Return what the pages show, as the settings say. A demo's rooms and players are on no site."""
    from racebot.web.site.ledger_view import Publication, theme_beside

    is_default = settings.site == type(settings).model_fields["site"].default
    of_demo = is_default and any(each.category == DEMO_CATEGORY for each in ledger.leaderboards.all())
    return Publication(
        listing=partial(listing_of, settings),
        site="" if of_demo else settings.site,
        url=settings.pages_url or "",
        command_prefix=settings.command_prefix if settings.commands else None,
        planned=planned_boards(settings),
        rooms_every=settings.rooms_every,
        export_cards=settings.pages_cards,
        title=settings.pages_title,
        footer=settings.pages_footer,
        theme=theme_beside(settings.database),
        pictures=folder_beside(settings.database),
    )
