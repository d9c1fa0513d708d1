"""The demo: a sandbox site, simulated racers and the real worker, all in one process."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from rich.console import Console
from rich.markup import escape

from racebot.bot.worker import Worker
from racebot.ledger.store import Ledger
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.scenario import DEMO, play
from racebot.sandbox.server import serve
from racebot.sandbox.site import CATEGORY, CLIENT_ID, CLIENT_SECRET, FakeSite
from racebot.settings.model import DEFAULT_MODEL, Settings

SPEED = 12.0
"""How much faster than real time a demo race runs. One race takes about seven seconds."""
QUIET_SECONDS = 0.5
SETTLE_WITHIN = 10.0


async def demo(
    database: Path, *, races: int, seed: int, speed: float, console: Console, model: str = DEFAULT_MODEL
) -> None:
    """Play races in a sandbox while the worker watches, printing each room's chat as it happens.

    Args:
        database: path of the worker's ledger, which should not exist yet.
        races: number of races. The first three show DNFs, a disqualification, and a race not recorded.
        seed: the same seed gives the same races.
        speed: playback speed, relative to the usual pace of the demo.
        console: where to print the chat.
        model: the rating model's key.
    """
    # The order of the site's draws depends on timing, so the races need a generator that nothing else uses.
    site = FakeSite(rng=random.Random(seed))  # noqa: S311 - nothing to keep secret
    rng = random.Random(f"races {seed}")  # noqa: S311
    async with serve(site, list_cache=0.0) as address:
        worker = Worker(
            Settings(
                site=address,
                category=CATEGORY,
                client_id=CLIENT_ID,
                client_secret=SecretStr(CLIENT_SECRET),
                database=database,
                model=model,
                quiet_seconds=QUIET_SECONDS / speed,
                rooms_every=max(0.1, 0.3 / speed),
                request_interval=0.0,
            )
        )
        working = asyncio.create_task(worker.run())
        watching = asyncio.create_task(_show_rooms(site, console))
        playing = asyncio.create_task(play(site, races=max(races, len(DEMO)), rng=rng, speed=SPEED * speed))
        await asyncio.wait({working, playing}, return_when=asyncio.FIRST_COMPLETED)
        if playing.done():
            await _until_told(database, playing.result())
        worker.stop()
        await working
        watching.cancel()


async def _show_rooms(site: FakeSite, console: Console) -> None:
    """Print the chat of every room, from the moment it opens."""
    known: set[str] = set()
    while True:
        for slug, room in list(site.rooms.items()):
            if slug not in known:
                known.add(slug)
                console.print(f"\n[bold]{escape(room.name)}[/bold]  ({escape(room.goal)})")
                show = _printer(room, console)
                for message in room.history()["messages"]:
                    show({"type": "chat.message", "message": message})
                room.listen(show)
        await asyncio.sleep(0.01)


def _printer(room: FakeRoom, console: Console) -> Callable[[dict[str, Any]], None]:
    shown = {"info": ""}

    def show(frame: dict[str, Any]) -> None:
        if frame["type"] == "chat.message":
            message = frame["message"]
            text = escape(message["message_plain"])
            if message["bot"]:
                console.print(f"  [cyan]{escape(message['bot'])}[/cyan]: {text}")
            elif message["user"]:
                console.print(f"  [green]{escape(message['user']['name'])}[/green]: {text}")
            else:
                console.print(f"  [dim]{text}[/dim]")
        elif frame["type"] == "race.data" and (info := frame["race"]["info_bot"] or "") != shown["info"]:
            shown["info"] = info
            console.print(f"  [magenta]race information:[/magenta] {escape(info)}")

    return show


async def _until_told(database: Path, rooms: list[FakeRoom]) -> None:
    """Wait until the bot has posted its final message in every recorded room."""
    recorded = [room.name for room in rooms if room.recorded]
    with Ledger.open(database, create=False) as ledger:
        try:
            async with asyncio.timeout(SETTLE_WITHIN):
                while ledger.outbox.rooms(CATEGORY) or not all(map(ledger.race, recorded)):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        except TimeoutError:
            return
