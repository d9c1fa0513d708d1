"""Measure what grows with races and ledgers: rating, studies, imports, pages, exports, chat and commands.

    python benchmarks/large_ledger.py rating | import | pages | export [--folder DIR]
    python benchmarks/large_ledger.py growth [--changes 10000 100000 1000000] [--folder DIR]
    python benchmarks/large_ledger.py table --file FILE --changes 1000000 [--folder DIR]

All figures are processor time. `growth` invents a leaderboard for each number of changes, with a tenth as
many players, some far more active than others, and times what reads or writes it: medians, and p99 for
repeated operations. Commands run in separate processes, with Python's start and their peak memory. `pages`
requests pages of 5,000 players, one with 2,000 races, after a change and again from the cache: the best of
five. `table` does all, and evaluates a file. Goals are for a million changes, and a file of 224 races of 60
to 118 entrants. --folder keeps databases for the next run. Linux only.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

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
from racebot.races.outcome import Outcome
from racebot.races.result import Entrant, EntrantStatus, RaceResult
from racebot.racetime.payload import Race
from racebot.ratings.registry import DEFAULT_MODEL, create
from racebot.sandbox.site import CLIENT_ID, CLIENT_SECRET
from racebot.settings.commands import Command, ParsedCommand
from racebot.settings.model import Settings
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.rebuild import carry_out_rebuilds
from racebot.standings.settle import Settler
from racebot.web.export import export
from racebot.web.http.server import application
from racebot.web.site.ledger_view import Publication

CATEGORY, GOAL = "bench", "Everything"
START = datetime(2022, 1, 1, tzinfo=UTC)
RULES = RatingRules(LeaderboardConfig(DEFAULT_MODEL))
AT_ONCE = 2500
"""Races per transaction while building a ledger."""
Rows = Iterator[tuple[str, str]]
"""What was measured, with its goal if there is one, and the figure."""


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


ENTRANTS, SETTLED = 20, 200
"""Entrants of a race, and number of races to settle for a p99."""
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
    """Return the median processor time of a call and, if repeated often, the p99."""
    taken = timeit.repeat(work, timer=time.process_time, number=1, repeat=times)
    late = f", p99 {_duration(float(np.percentile(taken, 99)))}" if times >= 100 else ""
    return _duration(float(np.median(taken))) + late


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.2f} ms"


def rating() -> Rows:
    """Yield what it takes the default model to rate a race."""
    model, rng = create(DEFAULT_MODEL), np.random.default_rng(1)
    fields: dict[str, Sequence[int]] = {
        "12": range(12),
        "20": range(20),
        "20, one tie, goal 1 ms": [0, *range(19)],
        "20, ten tied pairs, goal 2 ms": [i // 2 for i in range(20)],
        "100, 50 tied pairs, goal 50 ms": [i // 2 for i in range(100)],
        "100, half in five places, goal 50 ms": [*range(50), *(50 + i // 10 for i in range(50))],
        "1,000, goal 50 ms": range(1000),
        "20,000, goal 1 s": range(20_000),
    }
    for what, places in fields.items():
        mean = rng.normal(size=len(places))
        mean = mean[np.argsort(-rng.normal(mean))]
        states = np.stack([mean, rng.integers(0, 30, len(places))], 1)
        work = partial(model.rate, states, Outcome.of(places))
        yield f"rating a race of {what}", timed(work, max(1, 4000 // len(places)))
    yield "memory after that, goal 300 MB", f"{peak_mib(os.getpid()):.0f} MiB"


def within(database: Path, world: World) -> Rows:
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

        yield "settling a race of 20, commit included, goal 30 ms", timed(settle, SETTLED)
        coming = world.result(next_race + SETTLED)
        yield "working out what a finished race will change", timed(lambda: settler.preview(coming), SETTLED)
        yield from _chat(settler, board, coming, world)
        whole = partial(leaderboard_report, ledger, board, LISTING)
        yield "leaderboard, whole, as data", timed(lambda: whole().players[:], 3)
        yield "race, explained", timed(lambda: race_report(ledger, results[-1].name), 20)


def _chat(settler: Settler, board: Leaderboard, coming: RaceResult, world: World) -> Rows:
    answers = Answers(settler, Settings(minimum_finishes=2, inactive_days=90))
    facts: dict[str, Any] = {"name": coming.name, "category": CATEGORY, "goal": GOAL, "status": "open"}
    facts |= {"version": 1, "recordable": True, "recorded": False, "result": None}
    room = Race(**facts, entrants=coming.entrants)
    busy, other = (settler.ledger.standings.get(board, player) for player in world.names[:2])
    assert busy is not None and other is not None

    def answer(command: ParsedCommand) -> str:
        return answers.answer(command, room, NamedPlayer(busy.player, busy.name), moderator=False)

    for line, command, argument in (
        ("!rating", Command.RATING, ""),
        ("!rating of an unknown name, goal 50 ms", Command.RATING, "nobody at all"),
        ("!why", Command.WHY, ""),
        ("!vs NAME, between two who met often, goal 20 ms", Command.VERSUS, other.name),
    ):
        yield f"answering {line}", timed(partial(answer, ParsedCommand(command, argument)), 100)


def commands(database: Path, site: str, old: str) -> Rows:
    """Yield what the operator's commands take, some for an `old` race, and the worker's start."""
    variables = environment(site, database)
    seen = read_heartbeat(database).seen_at
    watching = _run(["run"], database, variables, lambda: read_heartbeat(database).seen_at != seen)
    yield "racebot run, until it watches", watching
    old_race = f"exclude {old} --reason measured, goal 2.5 s", f"include {old}"
    for command in ("status, goal .35 s", "backup", *old_race, "verify, goal 20 s", "rebuild"):
        yield f"racebot {command}", _run(command.partition(",")[0].split(), database, variables)


def imported(folder: Path) -> Rows:
    """Import a file into a new ledger."""
    world, file, database = World(200_000), folder / "import.csv", folder / "imported.db"
    with file.open("w") as output:
        print("race,ended_at,player,time", file=output)
        for result in map(world.result, range(world.races)):
            for e in result.entrants:
                print(result.name, result.ended_at, e.name, e.seconds or "DNF", sep=",", file=output)
    database.unlink(missing_ok=True)
    variables = environment("http://127.0.0.1", database)
    took = _run(["import", file.name], database, variables)
    yield "racebot import of 200,000 rows, goal 10 s, 300 MB", took


def _run(
    arguments: list[str], database: Path, variables: dict[str, str], ready: Callable[[], bool] | None = None
) -> str:
    """Run a command to its end, or until `ready`. Return its processor time and peak memory."""
    command = [sys.executable, "-m", "racebot", *arguments]
    seconds, peak = usage(command, ready, cwd=database.parent, env=variables)
    return f"{_duration(seconds)}, {peak:.0f} MiB"


def usage(command: list[str], ready: Callable[[], bool] | None = None, **where: Any) -> tuple[float, float]:
    """Run a program to its end, or until `ready`. Return its processor time, and peak memory in MiB."""
    begin, peak = sum(os.times()[2:4]), 0.0
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, **where)
        while process.poll() is None and not (ready and ready()):
            peak = max(peak, peak_mib(process.pid))
            time.sleep(0.01)
        if process.poll() is None:
            process.terminate()
        output.seek(0)
        assert process.wait() == 0, output.read()[-2000:]
    return sum(os.times()[2:4]) - begin, peak


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


async def request(database: Path, paths: Sequence[str], publication: Publication) -> list[tuple[str, str]]:
    """Return what a first and a repeated request for each path take, and the size."""
    rows = []
    for path in paths:
        app = application(database, publication)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://pages") as client:
            await client.get(path)  # reads the templates
            times = []
            for number in range(10):
                if number % 2 == 0:
                    changed(database)
                start = time.process_time()
                answer = await client.get(path, headers={"Accept-Encoding": "identity"})
                times.append(time.process_time() - start)
            assert answer.status_code == 200, path
        first, again = 1000 * min(times[::2]), 1000 * min(times[1::2])
        took = f"{first:.1f} ms, again {again:.1f} ms, {len(answer.content) / 1000:.0f} kB"
        rows.append((f"{path}, goal 60 ms", took))
        async with app.router.lifespan_context(app):
            pass
    return rows


def exports(database: Path, public: Path, races: int) -> Rows:
    """Yield what a first export takes, one without a change, and one with one more race."""
    for name in ("first export, goal 120 s", "export, nothing changed", "export after one race, goal 2 s"):
        if "after" in name:
            rng, skill = random.Random(races), people(PLAYERS, random.Random(1))
            rate(database, [race(races, rng.sample(list(skill), 9), skill, rng)])
        used = sum(os.times()[:4])
        with Ledger.open_to_read(database) as ledger:
            done = export(ledger, Publication(), public)
        yield name, f"{sum(os.times()[:4]) - used:.2f} s, {done}"


def pages(what: str, database: Path, public: Path) -> Rows:
    """Measure the pages of the invented category, or their export."""
    if not database.exists():
        rate(database, invented())
    with Ledger.open(database) as ledger:
        (board,) = ledger.leaderboards.all()
        races = ledger.ratings.count(board)
        sixths = [latest_races(ledger, board.key, 1, races - races * part // 6)[0] for part in (1, 3, 5)]
    if what == "export":
        return exports(database, public, races)
    lists = ["", "/races", "/explained", "?q=123&sort=races", "/movement", "/fame"]
    lists += [f"?at={each.ended_at:%Y-%m-%d}" for each in sixths]
    paths = ["/", *(f"/leaderboards/{STEM}{page}" for page in lists), f"/players/{BUSY}/{STEM}"]
    paths += [f"/races/{CATEGORY}/race-{races - 1:06d}", f"/api/leaderboards/{STEM}/players/{BUSY}"]
    return iter(asyncio.run(request(database, paths, Publication())))


def growth(folder: Path, sizes: Sequence[int]) -> Rows:
    """Yield what it takes to work with ledgers of these numbers of changes."""
    with serving("sandbox", "--category", CATEGORY) as site:
        for changes in sizes:
            database, world = folder / f"ledger-{changes}.db", World(changes)
            if not database.exists():
                rate(database, map(world.result, range(world.races)))
            yield f"{changes:,} changes", f"{database.stat().st_size / 1e6:.0f} MB"
            yield from within(database, world)
            yield from commands(database, site, f"{CATEGORY}/race-{max(world.races - 1000, 0):06d}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["rating", "studies", "import", "pages", "export", "growth", "table"])
    parser.add_argument("--changes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--file", type=Path, help="a file of races to evaluate")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    print("| | measured | goal |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        of_pages = folder / "pages.db", Path(temporary) / "public"
        parts: dict[str, Callable[[], Rows]] = {
            "rating": rating,
            "studies": lambda: importlib.import_module("replay").of_file(given.file),  # of other packages
            "import": partial(imported, folder),
            "pages": partial(pages, "pages", *of_pages),
            "export": partial(pages, "export", *of_pages),
            "growth": partial(growth, folder, given.changes),
        }
        chosen = parts.values() if given.what == "table" else [parts[given.what]]
        for what, figure in chain.from_iterable(part() for part in chosen):
            name, _, goal = what.partition(", goal ")
            print(f"| {name} | {figure} | {goal} |", flush=True)


if __name__ == "__main__":
    main()
