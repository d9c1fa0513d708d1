"""Commands to try racebot with, which do not connect to racetime.gg."""

import asyncio
import random
import sys
import time
import webbrowser
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import SecretStr
from rich.text import Text

from racebot import logs
from racebot.cli import tables
from racebot.cli.commands import loaded
from racebot.cli.common import cannot_listen, console, need_web, tell
from racebot.errors import SettingsError
from racebot.ledger.lock import utc_now
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import leaderboard_report
from racebot.queries.standings import Listing
from racebot.sandbox import scenario
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.scenario import Racer, recruit
from racebot.sandbox.site import CATEGORY, CLIENT_ID, CLIENT_SECRET, FakeSite
from racebot.settings.model import Settings
from racebot.settings.tables import LeaderboardSettings
from racebot.standings.counting import rating_rules
from racebot.standings.improve import with_fitted_odds

DEMO_DATABASE = Path("state/demo.db")
SHOWN_PLAYERS = 12
RACERS = 24
PAST_RACES = 200
SETTLE_WITHIN = 60.0  # most seconds to wait for the bot after the last race
LEAGUE = LeaderboardSettings(
    name="Orb League", custom_goals=("Orb League*",), counts="finished", grace=timedelta(seconds=1)
)
WIDEST = 100  # columns that chat fills at most


@loaded.command()
def sandbox(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of this machine; 0 is any free one.")
    ] = 8000,
    category: Annotated[str, typer.Option(help="The category's slug.")] = "sandbox",
    play: Annotated[bool, typer.Option("--play", help="Open rooms in which simulated racers race.")] = False,
    custom_goal: Annotated[
        str, typer.Option(help="With `--play`: some rooms have this custom goal, with a number for `*`.")
    ] = "",
) -> None:
    """Serve a local imitation of racetime.gg, to try the bot on.

    Its pages show the rooms and their chat, with buttons to open and run races. Programs post JSON to
    /sandbox/control/COMMAND; /sandbox/control lists the commands and their arguments.

    Example: racebot sandbox --play --custom-goal "SGL 2026 q*"
    """
    need_web()
    if custom_goal and not play:
        raise SettingsError("--custom-goal: add --play, or open rooms on the sandbox's page")
    from racebot.sandbox import server

    try:
        server.run(port, category=category, play=play, custom_goal=custom_goal, tell=tell)
    except OSError as error:
        raise cannot_listen(port, error) from None


@loaded.command()
def demo(
    speed: Annotated[float, typer.Option(min=0.1, max=20, help="Playback speed; 2 is twice as fast.")] = 1.0,
    database: Annotated[Path, typer.Option(help="The demo's ledger, which is overwritten.")] = DEMO_DATABASE,
    open_pages: Annotated[bool, typer.Option("--open", help="Then open its pages in a browser.")] = False,
) -> None:
    """Show the bot at work for half a minute: the real worker, a sandbox and simulated racers.

    Example: racebot demo --open
    """
    need_web()
    logs.to_stderr("warning")
    if database.exists() and database != DEMO_DATABASE:
        problem = "it exists, and the demo would overwrite it: name a new one"
        raise SettingsError(f"--database {database}: {problem}")
    for suffix in ("", "-wal", "-shm", ".lock", ".alive"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)
    asyncio.run(_demo(database, speed))
    console.print()
    with Ledger.open_to_read(database) as ledger:
        for board in ledger.leaderboards.all():
            tables.print_leaderboard(console, leaderboard_report(ledger, board, Listing()), SHOWN_PLAYERS)
    console.print()
    tell(f"All players and races as pages: {Path(sys.argv[0])} web --database {database}")
    if open_pages:
        _open_pages(database)


def _open_pages(database: Path) -> None:
    from racebot.cli.run import publication_of
    from racebot.web.http import server

    def opened(address: str) -> None:
        tell(f"{address} - press Ctrl-C to stop")
        webbrowser.open(address)

    with Ledger.open_to_read(database) as ledger:
        publication = publication_of(Settings(database=database), ledger)
    server.serve(database, publication, "127.0.0.1", 0, opened)


async def _demo(database: Path, speed: float) -> None:
    """Rate a season of past races, then show the chat of three live races as the worker follows them.

    The database should not exist yet. `speed` divides every wait.
    """
    from racebot.bot.worker import Worker
    from racebot.racetime.client import Site
    from racebot.sandbox.server import serve
    from racebot.standings.backfill import backfill
    from racebot.standings.settle import Settler

    # The order of the site's draws depends on timing, so the races need a generator that nothing else uses.
    site = FakeSite(rng=random.Random(1))  # noqa: S311 - nothing to keep secret
    rng = random.Random("races 1")  # noqa: S311
    racers = recruit(site, RACERS, rng)
    scenario.play_past_races(site, racers, PAST_RACES, rng)
    async with serve(site, list_cache=0.0, race_cache=0.0) as address:
        settings = Settings(
            site=address,
            category=CATEGORY,
            client_id=CLIENT_ID,
            client_secret=SecretStr(CLIENT_SECRET),
            database=database,
            quiet_seconds=0.3,
            rooms_every=0.2,
            request_interval=0.0,
            backups=0,
            discord_webhook=SecretStr(f"{address}/api/webhooks/1/demo"),
            leaderboards=[LEAGUE],
        )
        began = time.perf_counter()
        with Ledger.open(database) as ledger:
            settler = Settler(ledger, rating_rules(settings))
            async with Site(address, interval=0.0) as client:
                report = await backfill(client, CATEGORY, settler, utc_now, lambda *_: None)
            (board,) = ledger.leaderboards.all()
            with_fitted_odds(settler, board, utc_now())  # before the first question in chat
            users = {racer.user.id: racer for racer in racers}
            ranked = [users[standing.player] for standing in ledger.standings.all(board)]
        console.print(f"{report.new} past races rated in {time.perf_counter() - began:.1f} s")
        console.print(f"Its messages on Discord: {address}/discord")
        worker = Worker(settings)
        working = asyncio.create_task(worker.run())
        watching = asyncio.create_task(_show_rooms(site))
        field = ranked[: 2 * scenario.FIELD : 2]  # spread over the leaderboard
        playing = asyncio.create_task(_play(site, field, rng, speed))
        await asyncio.wait({working, playing}, return_when=asyncio.FIRST_COMPLETED)
        if playing.done():
            await _until_told(database, playing.result())
        worker.stop()
        await working
        watching.cancel()


async def _play(site: FakeSite, racers: Sequence[Racer], rng: random.Random, speed: float) -> list[FakeRoom]:
    stage = scenario.Stage(site, rng, speed)
    return [
        await scenario.upset(stage, racers),
        await scenario.silent_edit(stage, racers),
        await scenario.league_race(stage, racers[:3]),
    ]


async def _show_rooms(site: FakeSite) -> None:
    known = set(site.rooms)
    while True:
        for slug, room in list(site.rooms.items()):
            if slug not in known:
                known.add(slug)
                console.print()
                _print_line(Text.assemble((room.name, "bold"), f"  {room.goal}"), indent=0)
                show = _printer(room)
                for message in room.history()["messages"]:
                    show({"type": "chat.message", "message": message})
                room.listen(show)
        await asyncio.sleep(0.01)


def _printer(room: FakeRoom) -> Callable[[dict[str, Any]], None]:
    shown = {"info": room.info_bot or ""}

    def show(frame: dict[str, Any]) -> None:
        if frame["type"] == "chat.message":
            message = frame["message"]
            text = message["message_plain"]
            if message["bot"]:
                _print_line(Text.assemble((f"{message['bot']}:", "cyan"), f" {text}"))
            elif message["user"]:
                _print_line(Text.assemble((f"{message['user']['name']}:", "green"), f" {text}"))
            elif not text.endswith("remaining)"):
                _print_line(Text(text, "dim"))
        elif frame["type"] == "race.data" and (info := frame["race"]["info_bot"] or "") != shown["info"]:
            shown["info"] = info
            _print_line(Text.assemble(("Race information:", "magenta"), f" {info}"))

    return show


def _print_line(line: Text, *, indent: int = 2) -> None:
    """Print a chat line. Further rows are indented more."""
    for number, row in enumerate(line.wrap(console, min(console.width, WIDEST) - 2 * indent)):
        row.rstrip()
        console.print(Text(" " * indent * (2 if number else 1)) + row, soft_wrap=True)


async def _until_told(database: Path, rooms: list[FakeRoom]) -> None:
    """Wait until every room has its final word, which comes a moment after its race counts."""
    names = [room.name for room in rooms]
    with Ledger.open(database, create=False) as ledger:
        try:
            async with asyncio.timeout(SETTLE_WITHIN):
                while ledger.messages.open_in(CATEGORY) or not all(map(ledger.races.get, names)):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        except TimeoutError:
            return
