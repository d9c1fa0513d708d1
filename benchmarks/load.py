"""Load-test the worker: races that finish and are recorded together, and idle rooms.

    python benchmarks/load.py finish [--rooms 200]
    python benchmarks/load.py idle [--rooms 1000] [--seconds 120]

`racebot run`, with default settings, and the sandbox run in separate processes. `finish` lets all 20 entrants
of all rooms finish within ten seconds, and measures the time from a race's last finish to the bot's chat
message, less the quiet time. It then records all races as quickly, and measures the time until the final
message on the race page. `idle` joins the rooms, waits, and then breaks all sockets at once.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import certifi
import numpy as np
import trustme
from large_ledger import CATEGORY, GOAL, cpu_seconds, environment, peak_mib, people
from starlette.types import ASGIApp, Receive, Scope, Send

from racebot.sandbox.room import FakeRoom, Frame
from racebot.sandbox.server import serve
from racebot.sandbox.site import FakeSite

CERTIFICATE, TRUSTED = "certificate.pem", "trusted.pem"
ENTRANTS, QUIET, GIVEN_UP = 20, 10.0, 120.0
"""Entrants of a room, the seconds that a result must stand, and those until an expected event is missing."""


class Stage:
    """The sandbox and its rooms, controlled by orders from the measuring process."""

    def __init__(self) -> None:
        self._rng = random.Random(1)
        self._site = FakeSite(category=CATEGORY, goals=(GOAL,), rng=self._rng)
        self._sockets: set[asyncio.Task[None]] = set()
        self._rooms: list[FakeRoom] = []

    async def serve(self, pipe: Connection, certificate: Path) -> None:
        """Carry out orders until the pipe is closed."""
        async with serve(self._site, wrap=self._noted, list_cache=0.0, certificate=certificate) as address:
            pipe.send(address)
            with contextlib.suppress(EOFError):
                while True:
                    name, arguments = await asyncio.to_thread(pipe.recv)
                    pipe.send(await getattr(self, name)(*arguments))

    def _noted(self, app: ASGIApp) -> ASGIApp:
        """Return an application that serves each socket in a task, which `drop` can end."""

        async def noted(scope: Scope, receive: Receive, send: Send) -> None:
            task = asyncio.ensure_future(app(scope, receive, send))
            if scope["type"] == "websocket":
                self._sockets.add(task)
                task.add_done_callback(self._sockets.discard)
            await asyncio.wait({task})

        return noted

    async def open(self, rooms: int) -> None:
        """Open and start `rooms` races, each with separate entrants."""
        ids = people(rooms * ENTRANTS, self._rng)
        users = iter([self._site.add_user(f"Racer {p.removeprefix('player-')}", id=p) for p in ids])
        for _ in range(rooms):
            room = self._site.open_race()
            for _ in range(ENTRANTS):
                room.enter(next(users))
            room.start(ago=timedelta(hours=2))
            self._rooms.append(room)

    async def joined(self) -> int:
        return len(self._sockets)

    async def each(self, act: str, window: float) -> list[float]:
        """Let all races `finish` or `record`. Return the seconds that the bot took after each."""
        return await asyncio.gather(*(getattr(self, act)(room, window) for room in self._rooms))

    async def finish(self, room: FakeRoom, window: float) -> float:
        """Finish a race. Return seconds from the last finish to the bot's message, less the quiet."""
        moments = sorted(self._rng.uniform(0, window) for _ in room.entrants)
        begin = time.monotonic()
        heard = _heard(room, lambda frame: bool(frame.get("message", {}).get("bot")))
        for minutes, (entrant, moment) in enumerate(zip(list(room.entrants), moments, strict=True)):
            await asyncio.sleep(begin + moment - time.monotonic())
            room.finish(entrant.user, timedelta(minutes=60 + minutes, seconds=room.entrants.index(entrant)))
        finished = time.monotonic()
        return await heard - finished - QUIET

    async def record(self, room: FakeRoom, window: float) -> float:
        """Record a race. Return seconds from the record to the final message on its page."""
        await asyncio.sleep(self._rng.uniform(0, window))
        heard = _heard(room, lambda frame: bool(frame.get("race", {}).get("info_bot")))
        room.record()
        recorded = time.monotonic()
        return await heard - recorded

    async def drop(self) -> None:
        for socket in list(self._sockets):
            socket.cancel()


def _heard(room: FakeRoom, wanted: Callable[[Frame], bool]) -> asyncio.Future[float]:
    """Return a future with the time of the first wanted frame, or infinity if there is none."""
    loop = asyncio.get_running_loop()
    heard: asyncio.Future[float] = loop.create_future()

    def end(moment: float) -> None:
        if not heard.done():
            heard.set_result(moment)

    room.listen(lambda frame: end(time.monotonic()) if wanted(frame) else None)
    loop.call_later(GIVEN_UP, end, float("inf"))
    return heard


def _stage(pipe: Connection, certificate: Path) -> None:
    asyncio.run(Stage().serve(pipe, certificate))


class Worker:
    """A `racebot run` process, and its resource usage per stage."""

    def __init__(self, folder: Path, address: str, extra: Mapping[str, str]) -> None:
        self._log = folder / "worker.log"
        variables = environment(address, folder / "racebot.db", **extra)
        command = [sys.executable, "-m", "racebot", "run"]
        with self._log.open("wb") as out:
            self.process = subprocess.Popen(command, cwd=folder, env=variables, stdout=out, stderr=out)
        self._begin, self._used = time.monotonic(), 0.0

    def tell(self, what: str, more: str = "") -> None:
        """Print the worker's resource usage in the stage that ends now."""
        now, used = time.monotonic(), cpu_seconds(self.process.pid)
        took = f"{now - self._begin:6.1f} s, processor {used - self._used:6.2f} s"
        print(f"{what:28} {took}, at most {peak_mib(self.process.pid):4.0f} MiB{more and '; '}{more}")
        self._begin, self._used = now, used

    def stop(self) -> None:
        self.process.terminate()
        assert self.process.wait() == 0, self._log.read_text()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["finish", "idle"])
    parser.add_argument("--rooms", type=int)
    parser.add_argument("--seconds", type=float, default=120.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        certificate = _certificate(Path(folder))
        spawn = multiprocessing.get_context("spawn")
        pipe, theirs = spawn.Pipe()
        sandbox = spawn.Process(target=_stage, args=(theirs, certificate), daemon=True)
        sandbox.start()
        with pipe:
            _measure(given, Path(folder), pipe)


def _measure(given: argparse.Namespace, folder: Path, pipe: Connection) -> None:
    rooms = given.rooms or {"finish": 200, "idle": 1000}[given.what]

    def order(name: str, *arguments: Any) -> Any:
        pipe.send((name, arguments))
        return pipe.recv()

    def all_joined() -> None:
        while order("joined") < rooms:
            assert worker.process.poll() is None
            time.sleep(0.05)

    address = pipe.recv()
    order("open", rooms)
    print(f"{rooms} rooms of {ENTRANTS} at {address}; load average before {os.getloadavg()[0]:.1f}")
    extra = {"RACEBOT_QUIET_SECONDS": str(QUIET), "SSL_CERT_FILE": str(folder / TRUSTED)}
    worker = Worker(folder, address, extra)
    try:
        all_joined()
        worker.tell("started, all rooms joined")
        time.sleep(5)
        worker.tell("settled down")
        if given.what == "finish":
            delays = order("each", "finish", 10.0)
            worker.tell("finished and announced", f"finish to chat {_spread(delays)}")
            delays = order("each", "record", 10.0)
            worker.tell("recorded and settled", f"record to page {_spread(delays)}")
        else:
            time.sleep(given.seconds)
            worker.tell("nothing happened")
            order("drop")
            time.sleep(0.2)
            all_joined()
            worker.tell("all sockets broken, joined")
    finally:
        worker.stop()


def _certificate(folder: Path) -> Path:
    """Create a certificate with its key for this machine, and a CA file for the worker next to it."""
    authority, made = trustme.CA(), folder / CERTIFICATE
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(made))
    usual = Path(certifi.where()).read_bytes()
    (folder / TRUSTED).write_bytes(usual + authority.cert_pem.bytes())
    return made


def _spread(delays: list[float]) -> str:
    middle, late = np.percentile(delays, [50, 99])
    return f"p50 {middle:.3f} s, p99 {late:.3f} s, most {max(delays):.3f} s"


if __name__ == "__main__":
    main()
