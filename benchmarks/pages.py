"""Measure the time and size of pages, and the time of exports, on a large ledger.

    python benchmarks/pages.py [--players 5000] [--races 12000]

Invents a category; one player has 2,000 races. Requests each kind of page after a change to the ledger,
and again from the cache: the best of five. Or: --export exports all pages, and again after one more race;
--readers 50 lets that many readers click, each every two seconds. --database keeps the ledger for later runs.
--league measures a league of 300 racers and 20 races instead.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import numpy as np
from support import CATEGORY, GOAL, people, race, rate, serving

from racebot.ledger.cases import CaseRow
from racebot.ledger.store import Ledger
from racebot.queries.races import latest_races
from racebot.queries.scores import league
from racebot.queries.standings import Listing
from racebot.races.result import RaceResult
from racebot.scoring.need import Forecast
from racebot.scoring.rules import rules_of
from racebot.web.export import export
from racebot.web.http.server import application, collect_rarely
from racebot.web.site.ledger_view import Publication

BUSY = "player-00000"
BUSY_RACES = 2000
READING, PAUSE = 20.0, 2.0
"""Seconds for which readers click, and the mean pause between two clicks."""
STEM = f"{CATEGORY}/{GOAL.lower()}"


def invented(players: int, races: int) -> Iterator[RaceResult]:
    """Yield races of two to sixteen entrants. Every player is in at least one, `BUSY` in `BUSY_RACES`."""
    rng = random.Random(1)
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
        ledger.cases.save(CaseRow(f"{CATEGORY}/unfinished", CATEGORY))
        ledger.cases.remove(f"{CATEGORY}/unfinished")


async def request(database: Path, paths: Sequence[str], publication: Publication) -> None:
    """Print the time of a first and a repeated request for each path, with CPU time and size."""
    collect_rarely()
    print(f"{'':58} {'first':>9} {'CPU':>9} {'again':>9} {'size':>9}")
    for path in paths:
        app = application(database, publication)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://pages") as client:
            await client.get(path)  # reads the templates
            times = []
            for number in range(10):
                if number % 2 == 0:
                    changed(database)
                start, used = time.perf_counter(), time.process_time()
                answer = await client.get(path, headers={"Accept-Encoding": "identity"})
                times.append((time.perf_counter() - start, time.process_time() - used))
            assert answer.status_code == 200, path
        (first, used), (again, _) = 1000 * np.min([times[::2], times[1::2]], axis=1)
        kilobytes = len(answer.content) / 1000
        print(f"{path:58.58} {first:6.1f} ms {used:6.1f} ms {again:6.1f} ms {kilobytes:6.0f} kB")
        async with app.router.lifespan_context(app):
            pass


def league_pages(database: Path) -> None:
    """Print the times of a large league's pages, and of working out `!need`."""
    if not database.exists():
        rng = random.Random(1)
        skill = people(300, rng)
        rate(database, (race(number, rng.sample(list(skill), 220), skill, rng) for number in range(20)))
    rules = rules_of("sgl-2025", first=20, cut=64)  # so many count that racers still need a time
    pages = ["/", f"/races/{CATEGORY}/race-000019", f"/players/{BUSY}/{STEM}"]
    pages += [f"/leaderboards/{STEM}{page}" for page in ("", "/races", "/movement", "/fame", "/explained")]
    pages += [f"/api/leaderboards/{STEM}/scores.{kind}" for kind in ("json", "csv")]
    asyncio.run(request(database, pages, Publication(listing=lambda _: Listing(scoring=rules))))
    with Ledger.open_to_read(database) as ledger:
        start, (board,) = time.process_time(), ledger.leaderboards.all()
        for place in range(60, 70):
            table = league(ledger, board, rules)
            Forecast(table, 64).of(table.standings[place])
        print(f"!need {100 * (time.process_time() - start):.1f} ms")


def exports(database: Path, public: Path, races: int, players: int) -> None:
    """Print the time of a first export, of one without a change, and of one with one more race."""
    exported("first export", database, public)
    exported("nothing changed", database, public)
    rng, skill = random.Random(races), people(players, random.Random(1))
    rate(database, iter([race(races, rng.sample(list(skill), 9), skill, rng)]))
    exported("after one race", database, public)


def exported(name: str, database: Path, folder: Path) -> None:
    start, used = time.perf_counter(), sum(os.times()[:4])
    with Ledger.open_to_read(database) as ledger:
        done = export(ledger, Publication(), folder)
    seconds, processor = time.perf_counter() - start, sum(os.times()[:4]) - used
    print(f"{name}: {seconds:.2f} s, CPU of all processes {processor:.2f} s, {done}")


async def crowd(address: str, readers: int, popular: Sequence[str], others: Sequence[str]) -> None:
    """Print how long readers wait who open popular pages half the time, and any of the others otherwise."""
    times: list[float] = []
    limits = httpx.Limits(max_connections=readers)
    async with httpx.AsyncClient(base_url=address, timeout=30, limits=limits) as client:

        async def read(number: int) -> None:
            rng = random.Random(number)
            await asyncio.sleep(PAUSE * rng.random())
            until = time.perf_counter() + READING
            while time.perf_counter() < until:
                path = rng.choice(popular if rng.random() < 0.5 else others)
                start = time.perf_counter()
                answer = await client.get(path, headers={"Accept-Encoding": "gzip"})
                times.append(time.perf_counter() - start)
                assert answer.status_code == 200, path
                await asyncio.sleep(PAUSE * rng.uniform(0.5, 1.5))

        for path in popular:
            (await client.get(path)).raise_for_status()
        await asyncio.gather(*(read(number) for number in range(readers)))
    p50, p95 = 1000 * np.percentile(times, [50, 95])
    print(f"{readers} readers opened {len(times)} pages: half within {p50:.0f} ms, 95 % within {p95:.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--players", type=int, default=5000)
    parser.add_argument("--races", type=int, default=6 * BUSY_RACES)
    parser.add_argument("--database", type=Path)
    parser.add_argument("--readers", type=int, help="measure with this many readers at once")
    parser.add_argument("--export", action="store_true", help="time the export")
    parser.add_argument("--league", action="store_true", help="time a league's pages")
    given = parser.parse_args()
    if given.players < BUSY_RACES or given.races < BUSY_RACES:
        parser.error(f"--players and --races: give at least {BUSY_RACES}")
    with tempfile.TemporaryDirectory() as folder:
        database = given.database or Path(folder) / "pages.db"
        if given.league:
            league_pages(database)
            return
        if not database.exists():
            rate(database, invented(given.players, given.races))
        with Ledger.open(database) as ledger:
            (board,) = ledger.leaderboards.all()
            races = ledger.ratings.count(board)
            players = [standing.player for standing in ledger.standings.all(board)]
            sixths = [latest_races(ledger, board.key, 1, races - races * part // 6)[0] for part in (1, 3, 5)]
        print(f"{len(players)} players, {races} races; the busiest player has {BUSY_RACES}")
        popular = ["/", *(f"/leaderboards/{STEM}{page}" for page in ("", "/races", "/explained"))]
        popular += [f"/players/{BUSY}/{STEM}", f"/races/{CATEGORY}/race-{races - 1:06d}"]
        if given.export:
            exports(database, Path(folder) / "public", races, given.players)
        elif given.readers:
            with serving("web", "--database", str(database.absolute())) as address:
                others = [f"/players/{player}/{STEM}" for player in players]
                others += [f"/races/{CATEGORY}/race-{number:06d}" for number in range(races)]
                asyncio.run(crowd(address, given.readers, popular, others))
        else:
            pages = ["?q=123&sort=races", "/movement", "/fame"]
            pages += [f"?at={each.ended_at:%Y-%m-%d}" for each in sixths]
            more = [f"/leaderboards/{STEM}{page}" for page in pages]
            more.append(f"/api/leaderboards/{STEM}/players/{BUSY}")
            asyncio.run(request(database, [*popular, *more], Publication()))


if __name__ == "__main__":
    main()
