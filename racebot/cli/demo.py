"""The demo: a sandbox site, simulated racers, and the real worker beside them, all in one process.

Needs the extra `sandbox`.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from rich.console import Console
from rich.text import Text

from racebot.bot.heartbeat import utc_now
from racebot.bot.worker import Worker
from racebot.ledger.store import Ledger
from racebot.racetime.client import Site
from racebot.sandbox import scenario
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.scenario import Racer, recruit
from racebot.sandbox.server import serve
from racebot.sandbox.site import CATEGORY, CLIENT_ID, CLIENT_SECRET, FakeSite
from racebot.settings.model import Settings
from racebot.standings.backfill import Selection, backfill
from racebot.standings.settle import Settler

RACERS = 24
PAST_RACES = 200
SETTLE_WITHIN = 60.0
"""Most seconds to wait for the bot after the last race."""
NO_BREAK_SPACE, KEPT_TOGETHER = "\xa0", "\ue000"
WIDEST = 100
"""Columns that chat fills at most."""


async def demo(database: Path, *, seed: int, speed: float, console: Console, model: str) -> None:
    """Rate a season of past races, then show the chat of two live races as the worker follows them.

    The database should not exist yet. The same seed gives the same races; `speed` divides every wait.
    """
    # The order of the site's draws depends on timing, so the races need a generator that nothing else uses.
    site = FakeSite(rng=random.Random(seed))  # noqa: S311 - nothing to keep secret
    rng = random.Random(f"races {seed}")  # noqa: S311
    racers = recruit(site, RACERS, rng)
    scenario.play_past_races(site, racers, PAST_RACES, rng)
    async with serve(site, list_cache=0.0, race_cache=0.0) as address:
        settings = Settings(
            site=address,
            category=CATEGORY,
            client_id=CLIENT_ID,
            client_secret=SecretStr(CLIENT_SECRET),
            database=database,
            model=model,
            quiet_seconds=0.3,
            rooms_every=0.2,
            request_interval=0.0,
            backups=0,
            discord_webhook=SecretStr(f"{address}/api/webhooks/1/demo"),
        )
        began = time.perf_counter()
        with Ledger.open(database) as ledger:
            settler = Settler(ledger, settings.rules())
            async with Site(address, interval=0.0) as client:
                report = await backfill(client, CATEGORY, settler, Selection(), utc_now, lambda *_: None)
        console.print(f"{report.new} past races rated in {time.perf_counter() - began:.1f} s")
        console.print(f"Its messages on Discord: {address}/discord")
        worker = Worker(settings)
        working = asyncio.create_task(worker.run())
        watching = asyncio.create_task(_show_rooms(site, console))
        field = _ranked(database, racers)[: 2 * scenario.FIELD : 2]  # spread over the leaderboard
        playing = asyncio.create_task(_play(site, field, rng, speed))
        await asyncio.wait({working, playing}, return_when=asyncio.FIRST_COMPLETED)
        if playing.done():
            await _until_told(database, playing.result())
        worker.stop()
        await working
        watching.cancel()


def _ranked(database: Path, racers: Sequence[Racer]) -> list[Racer]:
    """Return the racers by rating, the best first."""
    users = {racer.user.id: racer for racer in racers}
    with Ledger.open_to_read(database) as ledger:
        (board,) = ledger.leaderboards.all()
        return [users[standing.player] for standing in ledger.standings.all(board)]


async def _play(site: FakeSite, racers: Sequence[Racer], rng: random.Random, speed: float) -> list[FakeRoom]:
    stage = scenario.Stage(site, rng, speed)
    return [await scenario.upset(stage, racers), await scenario.silent_edit(stage, racers)]


async def _show_rooms(site: FakeSite, console: Console) -> None:
    """Print the chat of every new room."""
    known = set(site.rooms)
    while True:
        for slug, room in list(site.rooms.items()):
            if slug not in known:
                known.add(slug)
                console.print()
                _print_line(console, Text.assemble((room.name, "bold"), f"  {room.goal}"), indent=0)
                show = _printer(room, console)
                for message in room.history()["messages"]:
                    show({"type": "chat.message", "message": message})
                room.listen(show)
        await asyncio.sleep(0.01)


def _printer(room: FakeRoom, console: Console) -> Callable[[dict[str, Any]], None]:
    shown = {"info": room.info_bot or ""}

    def show(frame: dict[str, Any]) -> None:
        if frame["type"] == "chat.message":
            message = frame["message"]
            text = message["message_plain"]
            if message["bot"]:
                _print_line(console, Text.assemble((f"{message['bot']}:", "cyan"), f" {text}"))
            elif message["user"]:
                _print_line(console, Text.assemble((f"{message['user']['name']}:", "green"), f" {text}"))
            elif not text.endswith("remaining)"):
                _print_line(console, Text(text, "dim"))
        elif frame["type"] == "race.data" and (info := frame["race"]["info_bot"] or "") != shown["info"]:
            shown["info"] = info
            _print_line(console, Text.assemble(("Race information:", "magenta"), f" {info}"))

    return show


def _print_line(console: Console, line: Text, *, indent: int = 2) -> None:
    """Print a chat line, wrapped at ordinary spaces only: entries of the bot hold no-break spaces."""
    line.plain = line.plain.replace(NO_BREAK_SPACE, KEPT_TOGETHER)  # Rich breaks lines at both spaces
    rows = line.wrap(console, min(console.width, WIDEST) - 2 * indent)
    for number, row in enumerate(rows):
        row.rstrip()
        row.plain = row.plain.replace(KEPT_TOGETHER, NO_BREAK_SPACE)
        console.print(Text(" " * indent * (2 if number else 1)) + row, soft_wrap=True)


async def _until_told(database: Path, rooms: list[FakeRoom]) -> None:
    """Wait until every recorded room has its final word, which comes a moment after the record."""
    recorded = [room.name for room in rooms if room.recorded]
    with Ledger.open(database, create=False) as ledger:
        try:
            async with asyncio.timeout(SETTLE_WITHIN):
                while ledger.messages.rooms(CATEGORY) or not all(map(ledger.races.get, recorded)):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        except TimeoutError:
            return
