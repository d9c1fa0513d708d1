"""The `sandbox` and `demo` commands, which do not connect to racetime.gg."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from racebot.cli import tables
from racebot.cli.common import app, console
from racebot.errors import SettingsError
from racebot.ledger.store import Ledger
from racebot.observe import logs
from racebot.settings import model
from racebot.standings import queries

DEMO_DATABASE = Path("state/demo.db")


@app.command()
def sandbox(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on this machine; 0 picks a free one.")
    ] = 8000,
    races: Annotated[
        Path | None,
        typer.Option(help="Past races to serve: an archive, or JSON saved from the site."),
    ] = None,
    goal: Annotated[
        str | None, typer.Option(help="The goal of an archive's races (default: the file's name).")
    ] = None,
    category: Annotated[str, typer.Option(help="The category's slug.")] = "sandbox",
    list_cache: Annotated[
        float,
        typer.Option(min=0, help="Seconds for which the list of open rooms is cached; racetime.gg's are 60."),
    ] = 60.0,
) -> None:
    """Serve a local imitation of racetime.gg, to try the bot against.

    Example: racebot sandbox --port 8000 --races season-1.json
    """
    _need_sandbox()
    from racebot.sandbox import server  # noqa: PLC0415 - an extra of the package
    from racebot.sandbox.errors import HistoryError  # noqa: PLC0415

    try:
        server.run(
            port,
            races,
            category=category,
            goal=goal,
            list_cache=list_cache,
            tell=lambda text: console.print(text, markup=False),
        )
    except HistoryError as error:
        raise SettingsError(str(error)) from None
    except OSError as error:
        raise SettingsError(f"port {port}: {error.strerror}. Choose another with --port") from None


@app.command()
def demo(
    races: Annotated[int, typer.Option(min=3, help="Number of races.")] = 4,
    seed: Annotated[int, typer.Option(help="Random seed; the same seed gives the same races.")] = 1,
    speed: Annotated[float, typer.Option(min=0.1, max=20, help="Playback speed; 2 is twice as fast.")] = 1.0,
    model: Annotated[str, typer.Option(help="The rating model.")] = model.DEFAULT_MODEL,
    database: Annotated[Path, typer.Option(help="The demo's ledger, which is overwritten.")] = DEMO_DATABASE,
) -> None:
    """Show the bot at work for about a minute, with a sandbox site and simulated racers.

    Example: racebot demo --races 5 --speed 2
    """
    _need_sandbox()
    from racebot.cli import demo as show  # noqa: PLC0415 - needs an extra of the package

    logs.to_stderr("warning")
    if database.exists() and database != DEMO_DATABASE:
        raise SettingsError(
            f"--database {database}: the file exists; name a new one, since the demo would overwrite it"
        )
    for suffix in ("", "-wal", "-shm", ".lock", ".alive"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)
    asyncio.run(show.demo(database, races=races, seed=seed, speed=speed, console=console, model=model))
    console.print()
    with Ledger.open(database, create=False) as ledger:
        for board in ledger.leaderboards():
            report = queries.leaderboard_report(ledger, board, queries.Listing())
            tables.print_leaderboard(console, report)
    console.print(f"To see it again: {Path(sys.argv[0])} leaderboard --database {database}", markup=False)


def _need_sandbox() -> None:
    try:
        import starlette  # noqa: F401, PLC0415 - an extra of the package
        import uvicorn  # noqa: F401, PLC0415
    except ModuleNotFoundError:
        raise SettingsError(
            "the sandbox is not installed: pip install 'racebot[sandbox]' "
            "(in a clone: pip install -e '.[sandbox]')"
        ) from None
