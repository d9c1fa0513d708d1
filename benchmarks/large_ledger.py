"""Measure how the size of the ledger affects settling, chat, commands, the worker's start, pages and exports.

    python benchmarks/large_ledger.py growth [--changes 10000 100000 1000000] [--folder DIR]
    python benchmarks/large_ledger.py pages | export [--folder DIR]

`growth` invents, for each number of rating changes, a leaderboard with a tenth as many players, some far more
active than others, and times what reads or writes it: medians, and p99 for repeated operations. Commands run
in separate processes, so their time includes Python's start; the second figure is their peak memory.

`pages` requests each kind of page of a category of 5,000 players, one with 2,000 races, after a change to the
ledger and again from the cache: the best of five. `export` exports all pages, and again after one more race.
--folder keeps the databases for the next run. Linux only.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path

import httpx
import numpy as np

from racebot.bot.room.events import Settle
from racebot.bot.room.ledger_work import LedgerWork
from racebot.chat.answers import Answers
from racebot.ledger.lock import read_heartbeat, utc_now
from racebot.ledger.outbox import CaseRow
from racebot.ledger.rows import Leaderboard, NamedPlayer
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import leaderboard_report
from racebot.queries.race import race_report
from racebot.queries.races import latest_races
from racebot.queries.standings import Listing
from racebot.races.result import Entrant, EntrantStatus, RaceResult
from racebot.racetime.payload import Race
from racebot.ratings.registry import DEFAULT_MODEL
from racebot.sandbox.site import CLIENT_ID, CLIENT_SECRET
from racebot.settings.commands import Command, ParsedCommand
from racebot.settings.model import Settings
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.rebuild import carry_out_rebuilds
from racebot.standings.settle import Settler
from racebot.web.export import export
from racebot.web.http.server import application
from racebot.web.site.ledger_view import Publication

CATEGORY = "bench"
GOAL = "Everything"
START = datetime(2022, 1, 1, tzinfo=UTC)
RULES = RatingRules(LeaderboardConfig(DEFAULT_MODEL))
AT_ONCE = 2500
"""Races per transaction while building a ledger."""


def people(count: int, rng: random.Random) -> dict[str, float]:
    """Return the ids of this many players, each with a skill."""
    return {f"player-{number:05d}": rng.gauss(0, 1) for number in range(count)}


def race(
    number: int,
    field: Sequence[str],
    skill: Mapping[str, float],
    rng: random.Random,
    every: timedelta = timedelta(hours=2),
) -> RaceResult:
    """Return a recorded race. One in seven entrants forfeits; the rest have finish times."""
    entrants = []
    for player in field:
        done = rng.random() < 0.85
        minutes = 90 - 8 * (skill[player] + rng.gauss(0, 1))
        finish_time = round(minutes * 60e6) if done else None
        status = EntrantStatus.DONE if done else EntrantStatus.DNF
        entrants.append(Entrant(player, f"Racer {player.removeprefix('player-')}", status, finish_time))
    name, ended_at = f"{CATEGORY}/race-{number:06d}", START + number * every
    return RaceResult(name, CATEGORY, GOAL, ended_at, tuple(entrants), recorded=True)


def rate(database: Path, races: Iterable[RaceResult]) -> None:
    """Add past races to a ledger, and rate them."""
    with Ledger.open(database) as ledger:
        settler, results = Settler(ledger, RULES), iter(races)
        while batch := list(islice(results, AT_ONCE)):
            settler.add_past_races(batch, "import")
        carry_out_rebuilds(ledger)


@contextmanager
def serving(*arguments: str) -> Iterator[str]:
    """Run a command of racebot that serves in a separate process, and yield the address that it prints."""
    command = [sys.executable, "-m", "racebot", *arguments, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"http://[^/\s]+", process.stdout.readline())
        assert found is not None
        try:
            yield found[0]
        finally:
            process.terminate()


def environment(site: str, database: Path, **more: str) -> dict[str, str]:
    """Return the environment of a `racebot` beside a sandbox, without any setting of the user."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("RACEBOT_")},
        "RACEBOT_SITE": site,
        "RACEBOT_CATEGORY": CATEGORY,
        "RACEBOT_CLIENT_ID": CLIENT_ID,
        "RACEBOT_CLIENT_SECRET": CLIENT_SECRET,
        "RACEBOT_DATABASE": str(database),
        "RACEBOT_LOG_LEVEL": "warning",
        **more,
    }


def peak_mib(pid: int) -> float:
    """Return the peak resident memory of a process, in MiB, or 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), 0.0)


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process, in seconds over all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


ENTRANTS = 20
SETTLED = 200
"""Number of races to settle for a p99."""
EVERY = timedelta(minutes=30)
LISTING = Listing(minimum_finishes=2, inactive_days=90)


class World:
    """The players of one invented leaderboard and the races they enter."""

    def __init__(self, changes: int) -> None:
        self.rng = random.Random(changes)
        self.skill = people(changes // 10, self.rng)
        self.names = list(self.skill)
        self.races = changes // ENTRANTS

    def result(self, number: int) -> RaceResult:
        """Return race `number`. Half of its entrants are new players in turn, half are regulars."""
        half = ENTRANTS // 2
        turn = {self.names[(number * half + seat) % len(self.names)] for seat in range(half)}
        while len(turn) < ENTRANTS:
            turn.add(self.names[int(len(self.names) * self.rng.random() ** 4)])
        return race(number, sorted(turn), self.skill, self.rng, EVERY)


def timed(work: Callable[[], object], times: int = 1) -> str:
    """Return the median time of a call and, if repeated often, the p99."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    late = f", p99 {_duration(float(np.percentile(taken, 99)))}" if times >= 100 else ""
    return _duration(statistics.median(taken)) + late


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"


def within(database: Path, world: World) -> Iterator[tuple[str, str]]:
    """Yield timings of everything the running worker does with the ledger."""
    with Ledger.open(database) as ledger:
        settler = Settler(ledger, RULES)
        work = LedgerWork(settler, utc_now, Settings(), "bot")
        (board,) = ledger.leaderboards.all()
        next_race = ledger.ratings.count(board)
        results = [world.result(next_race + number) for number in range(SETTLED)]
        waiting = iter(results)

        def settle() -> None:
            case = work.load((result := next(waiting)).name, watched=True)
            work.carry_out(case, case.row, [Settle(result)])

        yield "settling a race of 20, commit included", timed(settle, SETTLED)
        coming = world.result(next_race + SETTLED)
        yield "working out what a finished race will change", timed(lambda: settler.preview(coming), SETTLED)
        yield from _chat(settler, board, coming, world)
        report = partial(leaderboard_report, ledger, board, LISTING)
        yield "leaderboard, whole, as data", timed(lambda: report().players[:], 3)
        yield "race, explained", timed(lambda: race_report(ledger, results[-1].name), 20)


def _chat(
    settler: Settler, board: Leaderboard, coming: RaceResult, world: World
) -> Iterator[tuple[str, str]]:
    answers = Answers(settler, Settings(minimum_finishes=2, inactive_days=90))
    room = Race(
        name=coming.name,
        category=CATEGORY,
        status="open",
        goal=GOAL,
        version=1,
        recordable=True,
        recorded=False,
        result=None,
        entrants=coming.entrants,
    )
    busy, other = (settler.ledger.standings.get(board, player) for player in world.names[:2])
    assert busy is not None and other is not None

    def answer(command: ParsedCommand) -> str:
        return answers.answer(command, room, NamedPlayer(busy.player, busy.name), moderator=False)

    for line, command, argument in (
        ("!rating", Command.RATING, ""),
        ("!rating of an unknown name", Command.RATING, "nobody at all"),
        ("!why", Command.WHY, ""),
        ("!vs NAME, between two who met often", Command.VERSUS, other.name),
    ):
        yield f"answering {line}", timed(partial(answer, ParsedCommand(command, argument)), 100)


def commands(database: Path, site: str) -> Iterator[tuple[str, str]]:
    """Yield timings of the operator's commands, and of the worker's start."""
    variables = environment(site, database)
    seen = read_heartbeat(database).seen_at
    watching = _run(["run"], database, variables, lambda: read_heartbeat(database).seen_at != seen)
    yield "racebot run, until it watches", watching
    for command in ("status", "backup", "verify", "rebuild"):
        yield f"racebot {command}", _run([command], database, variables)


def _run(
    arguments: list[str], database: Path, variables: dict[str, str], ready: Callable[[], bool] | None = None
) -> str:
    """Run a command to its end, or until `ready`. Return the time it took and its peak memory."""
    begin, peak = time.perf_counter(), 0.0
    with tempfile.TemporaryFile("w+") as output:
        command = [sys.executable, "-m", "racebot", *arguments]
        process = subprocess.Popen(command, cwd=database.parent, env=variables, stdout=output, stderr=output)
        while process.poll() is None and not (ready and ready()):
            peak = max(peak, peak_mib(process.pid))
            time.sleep(0.005)
        taken = time.perf_counter() - begin
        if process.poll() is None:
            process.terminate()
        output.seek(0)
        assert process.wait() == 0, output.read()[-2000:]
    return f"{_duration(taken)}, {peak:.0f} MiB"


BUSY = "player-00000"
BUSY_RACES, PLAYERS = 2000, 5000
STEM = f"{CATEGORY}/{GOAL.lower()}"


def invented() -> Iterator[RaceResult]:
    """Yield races of two to sixteen entrants. Every player is in at least one, `BUSY` in `BUSY_RACES`."""
    rng = random.Random(1)
    skill = people(PLAYERS, rng)
    names = list(skill)
    waiting = names[1:]
    rng.shuffle(waiting)
    for number in range(6 * BUSY_RACES):
        field = {waiting.pop()} if waiting else set()
        field |= set(rng.sample(names[1:], rng.randint(2, 15)))
        if number % 6 == 0:
            field.add(BUSY)
        yield race(number, sorted(field), skill, rng)


def changed(database: Path) -> None:
    """Change the ledger without changing any page."""
    with Ledger.open(database) as ledger, ledger.transaction():
        ledger.cases.save(CaseRow(f"{CATEGORY}/unfinished", CATEGORY))
        ledger.cases.remove(f"{CATEGORY}/unfinished")


async def request(database: Path, paths: Sequence[str], publication: Publication) -> None:
    """Print the time of a first and a repeated request for each path, with CPU time and size."""
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


def exports(database: Path, public: Path, races: int) -> None:
    """Print the time of a first export, of one without a change, and of one with one more race."""
    for name in ("first export", "nothing changed", "after one race"):
        if name == "after one race":
            rng, skill = random.Random(races), people(PLAYERS, random.Random(1))
            rate(database, [race(races, rng.sample(list(skill), 9), skill, rng)])
        start, used = time.perf_counter(), sum(os.times()[:4])
        with Ledger.open_to_read(database) as ledger:
            done = export(ledger, Publication(), public)
        seconds, processor = time.perf_counter() - start, sum(os.times()[:4]) - used
        print(f"{name}: {seconds:.2f} s, CPU of all processes {processor:.2f} s, {done}")


def pages(what: str, database: Path, public: Path) -> None:
    """Measure the pages of the invented category, or their export."""
    if not database.exists():
        rate(database, invented())
    with Ledger.open(database) as ledger:
        (board,) = ledger.leaderboards.all()
        races = ledger.ratings.count(board)
        sixths = [latest_races(ledger, board.key, 1, races - races * part // 6)[0] for part in (1, 3, 5)]
    print(f"{PLAYERS} players, {races} races; the busiest player has {BUSY_RACES}")
    popular = ["/", *(f"/leaderboards/{STEM}{page}" for page in ("", "/races", "/explained"))]
    popular += [f"/players/{BUSY}/{STEM}", f"/races/{CATEGORY}/race-{races - 1:06d}"]
    if what == "export":
        exports(database, public, races)
    else:
        lists = ["?q=123&sort=races", "/movement", "/fame"]
        lists += [f"?at={each.ended_at:%Y-%m-%d}" for each in sixths]
        more = [f"/leaderboards/{STEM}{page}" for page in lists]
        more.append(f"/api/leaderboards/{STEM}/players/{BUSY}")
        asyncio.run(request(database, [*popular, *more], Publication()))


def growth(folder: Path, sizes: Sequence[int]) -> None:
    """Print a table of timings with a column for each number of changes."""
    table: dict[str, list[str]] = {}
    with serving("sandbox", "--category", CATEGORY) as site:
        for changes in sizes:
            database, world = folder / f"ledger-{changes}.db", World(changes)
            if not database.exists():
                rate(database, map(world.result, range(world.races)))
            size = "size of the database", f"{database.stat().st_size / 1e6:.0f} MB"
            for what, figure in (*within(database, world), size, *commands(database, site)):
                table.setdefault(what, []).append(figure)
    print("| | " + " | ".join(f"{changes:,} changes" for changes in sizes) + " |")
    print("|---|" + "---|" * len(sizes))
    for what, figures in table.items():
        print(f"| {what} | " + " | ".join(figures) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["growth", "pages", "export"])
    parser.add_argument("--changes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        if given.what == "growth":
            growth(folder, given.changes)
        else:
            pages(given.what, folder / "pages.db", Path(temporary) / "public")


if __name__ == "__main__":
    main()
