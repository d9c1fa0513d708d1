"""Measure the time and size of pages, and the time of exports, on a large ledger.

    python benchmarks/pages.py [--players 5000] [--races 12000]

Invents a category in which one player has 2,000 races, rates it, and requests each kind of page twice: after
a change to the ledger, and again from the cache. --export also exports all pages, and again after one more
race. --readers lets that many readers click at once, each every two seconds: half the time on a page that
others read as well, half the time on any player or race. --browser prints what a first visit costs in
Chromium: bytes, requests, first paint and layout shift. --database keeps the ledger for the next run.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import web_clients
from invented import CATEGORY, GOAL, people, race

from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.races.result import RaceResult
from racebot.standings.plans import LeaderboardPlan, Plans
from racebot.standings.settle import Settler
from racebot.web.export import export
from racebot.web.http.server import application, collect_less
from racebot.web.site.ledger_view import Publication

BUSY = "player-00000"
BUSY_RACES = 2000
READING = 20.0
"""Seconds for which readers click."""


def invented(players: int, races: int, seed: int = 1) -> Iterator[RaceResult]:
    """Yield races of two to sixteen entrants. Every player is in at least one, `BUSY` in `BUSY_RACES`."""
    rng = random.Random(seed)
    skill = people(players, rng)
    names = list(skill)
    waiting = names[1:]
    rng.shuffle(waiting)
    for number in range(races):
        field = {waiting.pop()} if waiting else set()
        field |= set(rng.sample(names[1:], rng.randint(2, 15)))
        if number % (races // BUSY_RACES) == 0:
            field.add(BUSY)
        yield race(number, sorted(field), skill, rng)


def changed(database: Path) -> None:
    """Change the ledger without changing any page."""
    with Ledger.open(database) as ledger, ledger.transaction():
        ledger.pending.join(f"{CATEGORY}/unfinished", CATEGORY)
        ledger.pending.leave(f"{CATEGORY}/unfinished")


async def asked(database: Path, paths: list[str]) -> None:
    """Print the time of a first and a repeated request for each path, with CPU time and size."""
    print(f"{'':58} {'first':>9} {'CPU':>9} {'again':>9} {'size':>9}")
    for path in paths:
        app = application(database, Publication())
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://pages") as client:
            await client.get(path)  # reads the templates
            collect_less()  # as the server does when it starts
            changed(database)
            times = []
            for _ in range(2):
                start, used = time.perf_counter(), time.process_time()
                answer = await client.get(path, headers={"Accept-Encoding": "identity"})
                times += [time.perf_counter() - start, time.process_time() - used]
            assert answer.status_code == 200, path
        first, used_first, again, _ = (f"{1000 * each:.1f} ms" for each in times)
        print(f"{path[:58]:58} {first:>9} {used_first:>9} {again:>9} {len(answer.content) / 1000:6.0f} kB")
        async with app.router.lifespan_context(app):
            pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--players", type=int, default=5000)
    parser.add_argument("--races", type=int, default=6 * BUSY_RACES)
    parser.add_argument("--database", type=Path)
    parser.add_argument("--readers", type=int, help="measure with this many readers at once instead")
    parser.add_argument("--browser", action="store_true", help="measure first visits in Chromium instead")
    parser.add_argument("--export", action="store_true", help="time the export as well")
    given = parser.parse_args()
    if given.players < BUSY_RACES or given.races < BUSY_RACES:
        parser.error(f"--players and --races: give at least {BUSY_RACES}")
    with tempfile.TemporaryDirectory() as folder:
        database = given.database or Path(folder) / "pages.db"
        if not database.exists():
            with Ledger.open(database) as ledger:
                Settler(ledger, Plans(LeaderboardPlan("thurstone-hurdle"))).merge(
                    invented(given.players, given.races), "import"
                )
        with Ledger.open(database) as ledger:
            (board,) = ledger.leaderboards()
            busy = ledger.standing(board, BUSY)
            races = ledger.rated_count(board)
            assert busy is not None
            past = [sixth_of(ledger, board, part) for part in (1, 3, 5)]
            print(f"{len(ledger.standings(board))} players, {races} races; the busy one has {busy.races}")
        stem = f"{CATEGORY}/{GOAL.lower()}"
        if given.readers or given.browser:
            by_clients(database.absolute(), stem, races, given.readers)
            return
        asyncio.run(
            asked(
                database,
                [
                    "/",
                    f"/leaderboards/{stem}.html",
                    f"/leaderboards/{stem}/page-2.html",
                    f"/leaderboards/{stem}.html?q=123&sort=races",
                    *(f"/leaderboards/{stem}.html?at={day}" for day in past),
                    f"/players/{BUSY}/{stem}.html",
                    f"/players/{BUSY}.html",
                    f"/races/{CATEGORY}/race-{races - 1:06d}.html",
                    f"/leaderboards/{stem}/races.html",
                    f"/leaderboards/{stem}/fame.html",
                    f"/leaderboards/{stem}/explained.html",
                    f"/api/leaderboards/{stem}",
                    f"/api/leaderboards/{stem}/changes?after={races - 100}",
                    f"/api/leaderboards/{stem}/players/{BUSY}",
                ],
            )
        )
        if given.export:
            public = Path(folder) / "public"
            exported("first export", database, public)
            exported("nothing changed", database, public)
            for number in range(races, races + 3):
                with Ledger.open(database) as ledger:
                    settler = Settler(ledger, Plans(LeaderboardPlan("thurstone-hurdle")))
                    settler.merge(one_more(number, given.players), "import")
                exported("after one race", database, public)


def sixth_of(ledger: Ledger, board: Leaderboard, part: int) -> str:
    """Return the day by which this many sixths of a leaderboard's races had ended."""
    races = ledger.rated_count(board)
    (race,) = ledger.pages.races(board.key, 1, races - races * part // 6)
    return f"{race.ended_at:%Y-%m-%d}"


def by_clients(database: Path, stem: str, races: int, readers: int | None) -> None:
    """Serve the ledger in a process of its own, to readers or, if there are none, to a browser."""
    pages = {
        "front page": "/",
        "leaderboard": f"/leaderboards/{stem}",
        "races": f"/leaderboards/{stem}/races",
        "how it works": f"/leaderboards/{stem}/explained",
        "player": f"/players/{BUSY}/{stem}",
        "race": f"/races/{CATEGORY}/race-{races - 1:06d}",
        "live": "/live",
        "embedded leaderboard": f"/embed/{stem}",
    }
    with Ledger.open_to_read(database) as ledger:
        (board,) = ledger.leaderboards()
        players = [standing.player for standing in ledger.standings(board)]
    others = [f"/players/{player}/{stem}" for player in players]
    others += [f"/races/{CATEGORY}/race-{number:06d}" for number in range(races)]
    with web_clients.served(database) as address:
        if readers:
            asyncio.run(web_clients.crowd(address, readers, READING, list(pages.values()), others))
        else:
            web_clients.visits(address, pages)


def one_more(number: int, players: int) -> list[RaceResult]:
    """Return one more race of nine entrants."""
    rng = random.Random(number)
    skill = people(players, random.Random(1))
    return [race(number, rng.sample(list(skill), 9), skill, rng)]


def exported(name: str, database: Path, folder: Path) -> None:
    """Print time and CPU time of an export, that of its processes included."""
    start, used = time.perf_counter(), sum(os.times()[:4])
    with Ledger.open_to_read(database) as ledger:
        done = export(ledger, Publication(), folder)
    seconds, processor = time.perf_counter() - start, sum(os.times()[:4]) - used
    print(f"{name}: {seconds:.2f} s, CPU of all processes {processor:.2f} s, {done}")


if __name__ == "__main__":
    main()
