"""Measure the time from a race's last finish to the bot's chat message, and the worker's memory.

    python benchmarks/chat_latency.py [--races 20]

Runs `racebot run` in a separate process and the sandbox in this one. The quiet time that the bot waits for a
stable result is subtracted, which leaves the worker's work and two trips over loopback.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from datetime import timedelta
from functools import partial
from pathlib import Path

from process import resident_mib

from racebot.sandbox.room import FakeRoom
from racebot.sandbox.server import serve
from racebot.sandbox.site import CATEGORY, CLIENT_ID, CLIENT_SECRET, FakeSite

QUIET = 1.0


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--races", type=int, default=20)
    parser.add_argument("--entrants", type=int, default=12)
    arguments = parser.parse_args()
    site = FakeSite(rng=random.Random(1))
    users = [site.add_user(f"Racer {number}") for number in range(arguments.entrants)]
    with tempfile.TemporaryDirectory() as folder:
        async with serve(site, list_cache=0.0) as address:
            worker = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "racebot",
                "run",
                cwd=folder,
                env={
                    **os.environ,
                    "RACEBOT_SITE": address,
                    "RACEBOT_CATEGORY": CATEGORY,
                    "RACEBOT_CLIENT_ID": CLIENT_ID,
                    "RACEBOT_CLIENT_SECRET": CLIENT_SECRET,
                    "RACEBOT_DATABASE": str(Path(folder) / "racebot.db"),
                    "RACEBOT_QUIET_SECONDS": str(QUIET),
                    "RACEBOT_ROOMS_EVERY": "0.2",
                    "RACEBOT_REQUEST_INTERVAL": "0",
                    "RACEBOT_LOG_LEVEL": "warning",
                },
            )
            delays = []
            for _ in range(arguments.races):
                room = site.open_race()
                for user in users:
                    room.enter(user)
                    room.ready(user)
                room.count_down()
                room.start(ago=timedelta(hours=2))
                while f"/ws/o/bot/{room.slug}" not in site.counts():  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
                await asyncio.sleep(0.2)
                heard = asyncio.get_running_loop().create_future()
                stop = room.listen(partial(_hear, heard=heard))
                finished = _finish(room)
                delays.append(await asyncio.wait_for(heard, 30) - finished - QUIET)
                stop()
                room.record()
                await asyncio.sleep(0.3)
            resident = resident_mib(worker.pid)
            worker.terminate()
            await worker.wait()
    delays.sort()
    print(
        f"{len(delays)} races of {arguments.entrants}: finish to chat, less the quiet time: "
        f"median {statistics.median(delays) * 1000:.1f} ms, most {delays[-1] * 1000:.1f} ms; "
        f"resident memory of the worker {resident:.0f} MiB"
    )


def _finish(room: FakeRoom) -> float:
    for minutes, entrant in enumerate(list(room.entrants), start=60):
        room.finish(entrant.user, timedelta(minutes=minutes))
    return time.monotonic()


def _hear(frame: dict[str, object], heard: asyncio.Future[float]) -> None:
    message = frame.get("message")
    if isinstance(message, dict) and message.get("bot") and not heard.done():
        heard.set_result(time.monotonic())


if __name__ == "__main__":
    asyncio.run(main())
