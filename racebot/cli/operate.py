"""Commands that run the bot, and check its setup."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

import typer

from racebot.bot import doctor as examination
from racebot.bot.worker import Worker
from racebot.cli.commands import app
from racebot.cli.common import console, load_settings, tell
from racebot.cli.options import Database


@app.command()
def run(database: Database = None) -> None:
    """Watch the category's race rooms and update the ratings, until stopped.

    Example: racebot run
    """
    settings = load_settings(database=database)
    settings.required_categories()

    async def work() -> None:
        worker = Worker(settings)
        _on_stop_signal(worker.stop)
        await worker.run()

    asyncio.run(work())


def _on_stop_signal(stop: Callable[[], object]) -> None:
    """Call a function when the process receives a signal to stop."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, stop)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))


@app.command()
def doctor() -> None:
    """Check settings, credentials, category, goals and database, and say how to fix any problem.

    Example: racebot doctor
    """
    settings = load_settings()

    async def examine() -> bool:
        good = True
        async for finding in examination.examine(settings):
            good = good and finding.good
            mark = "[green]ok[/green]   " if finding.good else "[red]wrong[/red]"
            console.print(mark, end=" ")
            tell(finding.text)
        return good

    if not asyncio.run(examine()):
        raise typer.Exit(2)
