"""Measure how the size of the ledger affects settling, chat, commands and the worker's start.

    python benchmarks/ledger_size.py [--changes 10000 100000 1000000] [--folder DIR]

For each number of rating changes, it invents a leaderboard with a tenth as many players, some far more active
than others, rates it through the settler, and times everything that reads or writes it. It prints medians,
and p99 for repeated operations. --folder keeps the databases for the next run. Commands run in separate
processes, so their time includes Python's start; the second figure is their peak memory.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any

from invented import CATEGORY, GOAL, people, race
from process import peak_mib

from racebot.bot.heartbeat import last_seen, utc_now
from racebot.bot.ledger_calls import LedgerCalls
from racebot.bot.race_lifecycle import Lifecycle
from racebot.chat.answers.answers import Answers
from racebot.chat.commands import Command, CommandNames, ParsedCommand
from racebot.chat.people import Person
from racebot.chat.wording import DEFAULT_TEXTS
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.ledger.thread import LedgerThread
from racebot.races.result import RaceResult
from racebot.racetime.payload import Race
from racebot.sandbox.site import CLIENT_ID, CLIENT_SECRET
from racebot.settings.model import DEFAULT_MODEL
from racebot.standings import queries
from racebot.standings.plans import LeaderboardPlan, Plans
from racebot.standings.prepare import Preparer
from racebot.standings.queries import Listing
from racebot.standings.reconcile import apply_plans
from racebot.standings.rerating import RatingsDeferred
from racebot.standings.settle import Settler

ENTRANTS = 20
SETTLED = 200
"""Number of races to settle for a p99."""
AT_ONCE = 2500
"""Races per transaction while building a ledger."""
EVERY = timedelta(minutes=30)
LISTING = Listing(minimum_finishes=2, inactive_days=90)

Figures = dict[str, str]


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


def plans() -> Plans:
    return Plans(LeaderboardPlan(DEFAULT_MODEL))


def build(database: Path, world: World) -> float:
    """Rate all races of a world, and return the seconds it took."""
    begin = time.perf_counter()
    with Ledger.open(database) as ledger:
        settler = Settler(ledger, plans())
        results = map(world.result, range(world.races))
        while batch := list(islice(results, AT_ONCE)):
            settler.merge(batch, "import")
    return time.perf_counter() - begin


def timed(work: Callable[[], Any], times: int = 1) -> str:
    """Return the median time of a call and, if repeated often, the p99."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return _figure(taken)


def _figure(taken: list[float]) -> str:
    middle = statistics.median(taken)
    if len(taken) < 100:
        return _duration(middle)
    return f"{_duration(middle)}, p99 {_duration(statistics.quantiles(taken, n=100, method='inclusive')[98])}"


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"


# In this process


def within(database: Path, world: World) -> Iterator[tuple[str, str]]:
    """Yield timings of everything the running worker does with the ledger."""
    with Ledger.open(database) as ledger:
        yield (
            "bringing leaderboards in line at the start",
            timed(partial(apply_plans, Settler(ledger, plans())), 5),
        )
        settler = Settler(ledger, plans())
        lifecycle = Lifecycle(settler, utc_now)
        (board,) = ledger.leaderboards()
        next_race = ledger.rated_count(board)
        results = [world.result(next_race + number) for number in range(SETTLED)]
        waiting = iter(results)
        yield (
            "settling a race of 20, commit included",
            timed(lambda: lifecycle.recorded(next(waiting), in_room=True), SETTLED),
        )
        coming = world.result(next_race + SETTLED)
        yield "working out what a finished race will change", timed(lambda: settler.preview(coming), SETTLED)
        if world.races > 1000:
            yield from _corrections(settler, world)
            yield from asyncio.run(_other_rooms(database, world))
        yield from _chat(settler, board, coming, world)
        yield from _reports(ledger, board, world, results[-1].name)


def _corrections(settler: Settler, world: World) -> Iterator[tuple[str, str]]:
    """Yield the processor time of results that change late, and how long each holds the ledger."""
    for back in (1000, 500):
        result = _with_winner_swapped(settler, world, back)
        work = partial(settler.settle, result, lambda _: (), utc_now())
        with settler.updater.prepared_by(Preparer(settler.ledger.path)) as preparer:
            begin = time.process_time()
            try:
                work()
            except RatingsDeferred as deferred:
                preparer.prepare(deferred.task)
            ready = time.process_time()
            work()
            end = time.process_time()
        yield f"changing a result {back} races back, processor time", _duration(end - begin)
        yield f"… holding the ledger, {back} races back", _duration(end - ready)


def _with_winner_swapped(settler: Settler, world: World, back: int) -> RaceResult:
    """Return a past race with the times of its first two entrants exchanged."""
    stored = settler.ledger.race(world.result(world.races - back).name)
    assert stored is not None
    first, second, *others = sorted(stored.result.entrants, key=lambda e: e.finish_time or math.inf)
    swapped = (
        replace(first, finish_time=second.finish_time),
        replace(second, finish_time=first.finish_time),
        *others,
    )
    return replace(stored.result, entrants=swapped)


async def _other_rooms(database: Path, world: World) -> list[tuple[str, str]]:
    """Return how long settles in other rooms take: alone, and while an old result changes."""
    thread = LedgerThread()
    ledger = await thread.run(Ledger.open, database)
    settler = Settler(ledger, plans())
    calls = LedgerCalls(thread)
    calls.prepare_for(settler)
    (board,) = await thread.run(ledger.leaderboards)
    numbers = count(await thread.run(ledger.rated_count, board))

    async def settle(result: RaceResult) -> float:
        begin = time.perf_counter()
        await calls.run(settler.settle, result, lambda _: (), utc_now())
        return time.perf_counter() - begin

    alone = [await settle(world.result(next(numbers))) for _ in range(50)]
    changed = await thread.run(_with_winner_swapped, settler, world, 1000)
    changing = asyncio.create_task(settle(changed))
    during = []
    while not changing.done():
        during.append(await settle(world.result(next(numbers))))
        await asyncio.sleep(1.0)
    await thread.run(ledger.close)
    thread.close()

    def told(taken: list[float]) -> str:
        return f"median {_duration(statistics.median(taken))}, longest {_duration(max(taken))}"

    return [
        ("settling in other rooms, alone", told(alone)),
        ("… while a result 1000 races back changes", told(during)),
        ("… until that result is changed", _duration(await changing)),
    ]


def _chat(
    settler: Settler, board: Leaderboard, coming: RaceResult, world: World
) -> Iterator[tuple[str, str]]:
    answers = Answers(settler, DEFAULT_TEXTS, CommandNames(), lambda _: LISTING)
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
    busy, other = (settler.ledger.standing(board, player) for player in world.names[:2])
    assert busy is not None and other is not None
    asker = Person(busy.player, busy.name)
    lines = [
        ("!rating", Command.RATING, ""),
        ("!rating NAME", Command.RATING, f"racer {world.names[-1].removeprefix('player-')}"),
        ("!rating of nobody, with names like it", Command.RATING, "acer 1"),
        ("!rating of nobody, with no name like it", Command.RATING, "nobody at all"),
        ("!why", Command.WHY, ""),
        ("!leaderboard", Command.LEADERBOARD, ""),
        ("!vs NAME, between two who met often", Command.VERSUS, other.name),
        ("!odds of 20", Command.ODDS, ""),
    ]
    for line, command, argument in lines:
        parsed = ParsedCommand(command, argument)

        def answer(parsed: ParsedCommand = parsed) -> str:
            return answers.draft(parsed, room, asker, moderator=False)()

        yield f"answering {line}", timed(answer, 100)


def _reports(ledger: Ledger, board: Leaderboard, world: World, name: str) -> Iterator[tuple[str, str]]:

    def report(player: str) -> Callable[[], object]:
        return lambda: queries.player_report(ledger, player, lambda _: LISTING)

    middling = world.names[len(world.names) // 2]
    yield "leaderboard, whole, as data", timed(lambda: queries.leaderboard_report(ledger, board, LISTING), 3)
    yield "leaderboard, first 10", timed(lambda: queries.top_players(ledger, board, LISTING, 10), 100)
    yield (
        "player, with the last 20 races",
        timed(report(middling), 100),
    )
    yield (
        "the busiest player likewise",
        timed(report(world.names[0]), 100),
    )
    yield "race, explained", timed(lambda: queries.race_report(ledger, name), 20)
    yield "race by its slug alone", timed(lambda: ledger.find_race(name.partition("/")[2]), 20)
    yield "biggest movers of four weeks", timed(lambda: queries.biggest_movers(ledger, board), 3)


# As commands


@contextmanager
def sandbox() -> Iterator[str]:
    """Run a sandbox in a separate process, and yield its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "racebot", "sandbox", "--port", "0", "--category", CATEGORY],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().partition(f"/{CATEGORY} ")[0]
    finally:
        process.terminate()
        process.wait()


def commands(database: Path, site: str, world: World, name: str) -> Iterator[tuple[str, str]]:
    """Yield timings of the operator's commands, and of the worker's start."""
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("RACEBOT_")},
        "RACEBOT_SITE": site,
        "RACEBOT_CATEGORY": CATEGORY,
        "RACEBOT_CLIENT_ID": CLIENT_ID,
        "RACEBOT_CLIENT_SECRET": CLIENT_SECRET,
        "RACEBOT_DATABASE": str(database),
        "RACEBOT_LOG_LEVEL": "warning",
    }
    player = f"racer {world.names[0].removeprefix('player-')}"
    yield "racebot run, until it watches", _started(database, environment)
    for arguments in (
        ["--version"],
        ["leaderboard", "--limit", "10"],
        ["leaderboard", "--json"],
        ["player", player],
        ["race", name],
        ["status"],
        ["doctor"],
        ["backup"],
        ["verify"],
        ["rebuild"],
    ):
        told = " ".join({player: "NAME", name: "NAME"}.get(word, word) for word in arguments)
        yield f"racebot {told}", _run(arguments, database, environment)


def _run(arguments: list[str], database: Path, environment: dict[str, str]) -> str:
    begin = time.perf_counter()
    with (database.parent / "command.out").open("w") as output:
        process = _racebot(arguments, database, environment, output)
        most = 0.0
        while process.poll() is None:
            most = max(most, peak_mib(process.pid))
            time.sleep(0.005)
    taken = time.perf_counter() - begin
    assert process.returncode == 0, (database.parent / "command.out").read_text()[-2000:]
    return f"{_duration(taken)}, {most:.0f} MiB"


def _started(database: Path, environment: dict[str, str]) -> str:
    before = last_seen(database)
    begin = time.perf_counter()
    process = _racebot(["run"], database, environment, None)
    while last_seen(database) == before:
        assert process.poll() is None
        time.sleep(0.005)
    taken, most = time.perf_counter() - begin, peak_mib(process.pid)
    process.terminate()
    process.wait()
    return f"{_duration(taken)}, {most:.0f} MiB"


def _racebot(
    arguments: list[str], database: Path, environment: dict[str, str], output: Any
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "racebot", *arguments],
        cwd=database.parent,
        env=environment,
        stdout=output,
        stderr=output,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--changes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--no-commands", action="store_true", help="skip the commands")
    given = parser.parse_args()
    table: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory() as folder, sandbox() as site:
        for changes in given.changes:
            database = (given.folder or Path(folder)) / f"ledger-{changes}.db"
            world = World(changes)
            if not database.exists():
                note(table, "building, rated in batches", changes, _duration(build(database, world)))
            for what, figure in within(database, world):
                note(table, what, changes, figure)
            with closing(Ledger.open(database)) as ledger:
                (board,) = ledger.leaderboards()
                last = ledger.rated_count(board) - 1
            note(table, "size of the database", changes, f"{database.stat().st_size / 1e6:.0f} MB")
            if not given.no_commands:
                for what, figure in commands(database, site, world, f"{CATEGORY}/race-{last:06d}"):
                    note(table, what, changes, figure)
    print(f"\nload average at the end {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    print("| | " + " | ".join(f"{changes:,} changes" for changes in given.changes) + " |")
    print("|---|" + "---|" * len(given.changes))
    for what, figures in table.items():
        print(f"| {what} | " + " | ".join(figures.get(str(c), "") for c in given.changes) + " |")


def note(table: dict[str, Figures], what: str, changes: int, figure: str) -> None:
    """Store a figure for the table, and print it immediately."""
    table.setdefault(what, {})[str(changes)] = figure
    print(f"{changes:>9,}  {what:55} {figure}", flush=True)


if __name__ == "__main__":
    main()
