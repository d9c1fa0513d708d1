"""Commands to try racebot with, which do not connect to racetime.gg."""

from __future__ import annotations

import asyncio
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from racebot.cli import tables
from racebot.cli.commands import app
from racebot.cli.common import cannot_listen, console, need_web, tell
from racebot.errors import MissingExtraError, SettingsError
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import leaderboard_report
from racebot.queries.listing import Listing
from racebot.ratings.registry import DEFAULT_MODEL
from racebot.settings.model import Settings
from racebot.telemetry import logs

DEMO_DATABASE = Path("state/demo.db")
SHOWN_PLAYERS = 12


@app.command()
def sandbox(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on this machine; 0 picks a free one.")
    ] = 8000,
    category: Annotated[str, typer.Option(help="The category's slug.")] = "sandbox",
    play: Annotated[bool, typer.Option("--play", help="Open rooms in which simulated racers race.")] = False,
) -> None:
    """Serve a local imitation of racetime.gg, to try the bot on.

    Its pages show the rooms and their chat, with buttons to open and run races. Programs post JSON to
    /sandbox/control/COMMAND; /sandbox/control lists the commands and their arguments.

    Example: racebot sandbox --play
    """
    _need_sandbox()
    from racebot.sandbox import server

    try:
        server.run(port, category=category, play=play, tell=tell)
    except OSError as error:
        raise cannot_listen(port, error) from None


@app.command()
def demo(
    seed: Annotated[int, typer.Option(help="Random seed; the same seed gives the same races.")] = 1,
    speed: Annotated[float, typer.Option(min=0.1, max=20, help="Playback speed; 2 is twice as fast.")] = 1.0,
    model: Annotated[str, typer.Option(help="The rating model.")] = DEFAULT_MODEL,
    database: Annotated[Path, typer.Option(help="The demo's ledger, which is overwritten.")] = DEMO_DATABASE,
    open_pages: Annotated[
        bool, typer.Option("--open", help="Then serve the pages and open them in a browser.")
    ] = False,
) -> None:
    """Show the bot at work for half a minute: the real worker, a sandbox and simulated racers.

    Example: racebot demo --open
    """
    _need_sandbox()
    from racebot.cli import demo as show

    if open_pages:
        need_web()
    logs.to_stderr("warning")
    if database.exists() and database != DEMO_DATABASE:
        raise SettingsError(
            f"--database {database}: the file exists; name a new one, since the demo would overwrite it"
        )
    for suffix in ("", "-wal", "-shm", ".lock", ".alive"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)
    asyncio.run(show.demo(database, seed=seed, speed=speed, console=console, model=model))
    console.print()
    with Ledger.open_to_read(database) as ledger:
        for board in ledger.leaderboards.all():
            report = leaderboard_report(ledger, board, Listing(), limit=SHOWN_PLAYERS)
            tables.print_leaderboard(console, report, report.everybody)
    console.print()
    tell(f"All players and races as pages: {Path(sys.argv[0])} web --database {database}")
    if open_pages:
        _open_pages(database)


def _open_pages(database: Path) -> None:
    from racebot.cli.pages import publication_of
    from racebot.web.http import server

    def opened(address: str) -> None:
        tell(f"{address} - press Ctrl-C to stop")
        webbrowser.open(address)

    with Ledger.open_to_read(database) as ledger:
        publication = publication_of(Settings(database=database), ledger)
    server.serve(database, publication, "127.0.0.1", 0, opened)


def _need_sandbox() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtraError("sandbox", "the sandbox is not installed") from None
