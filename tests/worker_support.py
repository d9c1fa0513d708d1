"""A sandbox and real workers, each worker in its own process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from forks import PACE, fork
from spoiler import SpoiledSocket, Spoiler

from racebot.ledger.store import Ledger
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.server import RACE_CACHE_SECONDS, serve
from racebot.sandbox.site import CATEGORY, FakeSite

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess

T = TypeVar("T")

QUIET = 0.05
RACE_CACHE = RACE_CACHE_SECONDS / PACE
PATIENCE = 300.0
"""Seconds to wait for anything that must happen; the machine may be busy."""


def requested(site: FakeSite) -> Counter[str]:
    """Count the requests to a site by path, ignoring the query."""
    return Counter(request.path for request in site.requests)


@dataclass
class Sandbox:
    """One sandbox, its address, and the database of the workers that are started on it."""

    site: FakeSite
    address: str
    database: Path
    misbehaviour: Spoiler
    extra: dict[str, str] = field(default_factory=dict)
    script: Path | None = None
    log_folder: Path | None = None

    @property
    def log(self) -> Path:
        """The output of all workers, in order."""
        return (self.log_folder or self.database.parent) / "worker.log"

    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "RACEBOT_SITE": self.address,
            "RACEBOT_CATEGORY": CATEGORY,
            "RACEBOT_CLIENT_ID": self.site.bot.client_id,
            "RACEBOT_CLIENT_SECRET": self.site.bot.client_secret,
            "RACEBOT_DATABASE": str(self.database),
            "RACEBOT_QUIET_SECONDS": str(QUIET),
            "RACEBOT_ROOMS_EVERY": "0.2",
            "RACEBOT_LIST_EVERY": "0.5",
            "RACEBOT_REQUEST_INTERVAL": "0",
            **self.extra,
        }

    @contextlib.asynccontextmanager
    async def worker(self) -> AsyncIterator[WorkerProcess]:
        """Start `racebot run` as a process, and kill it at the end if it still runs."""
        worker = await self.start()
        try:
            yield worker
        finally:
            await worker.kill()

    async def start(self, command: str = "run") -> WorkerProcess:
        """Start a command as a process that the caller ends. Its output goes to `log`."""
        return start([command], self.environment(), self.database.parent, self.log, self.script)

    def ledger(self) -> Ledger:
        return Ledger.open(self.database, create=False)

    async def look(self, times: int = 3) -> None:
        """Wait until the worker has read its category a few times more, so it had time for other work."""
        path = f"/o/{CATEGORY}/data"
        before = requested(self.site)[path]
        await until(lambda: requested(self.site)[path] >= before + times)

    def rated(self) -> dict[str, int]:
        """Return the number of rated races by leaderboard."""
        with self.ledger() as ledger:
            return {board.name: ledger.ratings.count(board) for board in ledger.leaderboards.all()}

    async def racebot(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of racebot, which may ask the sandbox, and wait for its end."""
        with tempfile.TemporaryDirectory() as folder:
            output, errors = Path(folder, "output"), Path(folder, "errors")
            process = fork(arguments, self.environment(), self.database.parent, output, errors)
            await until(lambda: process.exitcode is not None)
            stdout, stderr = output.read_text(encoding="utf-8"), errors.read_text(encoding="utf-8")
        return subprocess.CompletedProcess(arguments, process.exitcode or 0, stdout, stderr)

    def open_race(self, count: int = 3, **options: Any) -> FakeRoom:
        """Open and start a race with `count` entrants."""
        room = self.site.open_race(**options)
        known = [user for user in self.site.users.values() if user is not self.site.moderator]
        users = known[:count] + [
            self.site.add_user(f"Racer {len(known) + n}") for n in range(count - len(known))
        ]
        for user in users:
            room.enter(user)
            room.ready(user)
        room.count_down()
        room.start(ago=timedelta(hours=1, minutes=30))
        return room


class WorkerProcess:
    """A running `racebot run`."""

    def __init__(self, process: ForkServerProcess, log: Path, begin: int) -> None:
        self._process = process
        self._log = log
        self._begin = begin

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        return self.returncode is None

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    @property
    def output(self) -> str:
        """Return its output so far."""
        return self._log.read_bytes()[self._begin :].decode()

    def strike(self) -> None:
        """Send SIGKILL, which stops the process as a power failure would."""
        self._process.kill()

    async def kill(self) -> None:
        """Send SIGKILL and wait for the end."""
        self.strike()
        await self.ended()

    async def terminate(self) -> int:
        """Send SIGTERM and return the exit code."""
        self._process.terminate()
        return await self.ended()

    async def ended(self) -> int:
        await until(lambda: not self.running)
        return self.returncode or 0


def start(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    log: Path,
    script: Path | None = None,
) -> WorkerProcess:
    """Start racebot, or a script in its place, with its output appended to a log."""
    begin = log.stat().st_size if log.exists() else 0
    return WorkerProcess(fork(arguments, environment, folder, log, log, script), log, begin)


@contextlib.asynccontextmanager
async def open_sandbox(folder: Path, *, seed: int = 7) -> AsyncIterator[Sandbox]:
    """Serve a sandbox, with an empty database beside it."""
    site = FakeSite(rng=random.Random(seed))
    faults = Spoiler()
    async with served(site, faults) as address:
        yield Sandbox(site, address, folder / "racebot.db", faults)


def served(site: FakeSite, faults: Spoiler, port: int = 0) -> contextlib.AbstractAsyncContextManager[str]:
    """Serve a site with faults, and with the short caches of tests."""
    return serve(
        site, port=port, list_cache=0.0, race_cache=RACE_CACHE, wrap=faults.serving, ws=SpoiledSocket
    )


def finish(room: FakeRoom, *minutes: int) -> None:
    """Finish entrants in the order in which they joined, after these minutes. The others forfeit."""
    for entrant, after in zip(list(room.entrants), minutes, strict=False):
        room.finish(entrant.user, timedelta(minutes=after))
    for entrant in list(room.entrants)[len(minutes) :]:
        room.forfeit(entrant.user)


def said(room: FakeRoom) -> list[str]:
    """Return what bots said in a room's chat, with ordinary spaces."""
    return [spaced(message.text) for message in room.chat if message.bot is not None]


def spaced(text: str) -> str:
    """Replace the no-break spaces inside entries."""
    return text.replace("\N{NO-BREAK SPACE}", " ")


def settled(sandbox: Sandbox, room: FakeRoom) -> bool:
    """Return whether a room's race is in the ledger and all its messages are sent."""
    if not sandbox.database.exists():
        return False
    with sandbox.ledger() as ledger:
        return ledger.races.get(room.name) is not None and not ledger.messages.open_for(room.name)


@contextlib.contextmanager
def reserved_port() -> Iterator[int]:
    """Hold a free port on which a server of a test may listen, but which no other program is given."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
        if sys.platform != "linux":  # elsewhere, nobody else may listen on a port that is bound
            holder.close()
        yield port


async def until(condition: Callable[[], T]) -> T:
    """Wait until a condition is true, and return what made it true."""
    async with asyncio.timeout(PATIENCE):
        while not (found := condition()):  # noqa: ASYNC110 - it is other programs that make it true
            await asyncio.sleep(0.02)
    return found
