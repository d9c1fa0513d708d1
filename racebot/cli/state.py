"""Commands that show the state of the running bot."""

from __future__ import annotations

from racebot.bot.heartbeat import health_timeout, last_seen, utc_now
from racebot.bot.status import status
from racebot.cli import tables
from racebot.cli.commands import app
from racebot.cli.common import AsJson, console, load_settings, print_json
from racebot.cli.options import Database
from racebot.errors import SiteError
from racebot.ledger.store import Ledger


@app.command("status")
def show_status(database: Database = None, as_json: AsJson = False) -> None:
    """Show the state of the running bot: rooms, races waiting to be recorded, messages to deliver.

    Example: racebot status
    """
    settings = load_settings(database=database)
    with Ledger.open_to_read(settings.database) as ledger:
        report = status(
            ledger,
            settings.slugs(),
            rooms_every=settings.rooms_every,
            now=utc_now(),
            plans=settings.plans(),
        )
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
    seen = last_seen(settings.database)
    if seen is None:
        raise SiteError(f"the bot has never run on {settings.database}: start it with `racebot run`")
    age = utc_now() - seen
    if age > health_timeout(settings.rooms_every):
        raise SiteError(
            f"the bot last saw its category {age.total_seconds() / 60:.0f} minutes ago: check its log"
        )
    console.print("healthy")
