"""Measure how the size of the ledger affects settling, chat, commands and the worker's start.

    python benchmarks/ledger_size.py [--changes 10000 100000 1000000] [--folder DIR]

For each number of rating changes, it invents a leaderboard with a tenth as many players, some far more active
than others, rates it through the settler, and times what reads or writes it. It prints medians, and p99 for
repeated operations. --folder keeps the databases for the next run. Commands run in separate processes, so
their time includes Python's start; the second figure is their peak memory.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import numpy as np
from support import CATEGORY, GOAL, RULES, environment, peak_mib, people, race, rate, serving

from racebot.bot.heartbeat import read_heartbeat, utc_now
from racebot.bot.room.events import Settle
from racebot.bot.room.ledger_work import LedgerWork
from racebot.chat.answers.answers import Answers
from racebot.ledger.rows import Leaderboard, NamedPlayer
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import leaderboard_report
from racebot.queries.race import race_report
from racebot.queries.standings import Listing
from racebot.races.result import RaceResult
from racebot.racetime.payload import Race
from racebot.settings.commands import Command, CommandNames, ParsedCommand
from racebot.settings.model import Settings
from racebot.settings.texts import DEFAULT_TEXTS
from racebot.standings.settle import Settler

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
        yield ("settling a race of 20, commit included", timed(lambda: _settle(work, next(waiting)), SETTLED))
        coming = world.result(next_race + SETTLED)
        yield "working out what a finished race will change", timed(lambda: settler.preview(coming), SETTLED)
        yield from _chat(settler, board, coming, world)
        yield "leaderboard, whole, as data", timed(lambda: leaderboard_report(ledger, board, LISTING), 3)
        yield "race, explained", timed(lambda: race_report(ledger, results[-1].name), 20)


def _settle(work: LedgerWork, result: RaceResult) -> None:
    case = work.load(result.name, watched=True)
    work.carry_out(case, case.row, [Settle(result)])


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
    busy, other = (settler.ledger.standings.get(board, player) for player in world.names[:2])
    assert busy is not None and other is not None
    asker = NamedPlayer(busy.player, busy.name)
    lines = [
        ("!rating", Command.RATING, ""),
        ("!rating of an unknown name", Command.RATING, "nobody at all"),
        ("!why", Command.WHY, ""),
        ("!vs NAME, between two who met often", Command.VERSUS, other.name),
    ]

    def answer(command: Command, argument: str) -> str:
        return answers.draft(ParsedCommand(command, argument), room, asker, moderator=False)()

    for line, command, argument in lines:
        yield f"answering {line}", timed(partial(answer, command, argument), 100)


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--changes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    table: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder, serving("sandbox", "--category", CATEGORY) as site:
        for changes in given.changes:
            database = (given.folder or Path(folder)) / f"ledger-{changes}.db"
            world = World(changes)
            if not database.exists():
                rate(database, map(world.result, range(world.races)))
            size = "size of the database", f"{database.stat().st_size / 1e6:.0f} MB"
            for what, figure in (*within(database, world), size, *commands(database, site)):
                table.setdefault(what, []).append(figure)
    print("| | " + " | ".join(f"{changes:,} changes" for changes in given.changes) + " |")
    print("|---|" + "---|" * len(given.changes))
    for what, figures in table.items():
        print(f"| {what} | " + " | ".join(figures) + " |")


if __name__ == "__main__":
    main()
