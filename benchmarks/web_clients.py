"""Readers of `racebot web`, simulated by HTTP requests or by a browser. `pages.py` uses them."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from playwright.sync_api import sync_playwright

PAUSE = 2.0
"""Mean number of seconds between two clicks of a reader."""
PHONE = {"width": 390, "height": 844}
_SHIFT = """() => new Promise(done => {
  let sum = 0;
  new PerformanceObserver(list => list.getEntries().forEach(each => { sum += each.value; }))
    .observe({type: 'layout-shift', buffered: true});
  setTimeout(() => done(sum), 300);
})"""
_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"


@contextlib.contextmanager
def served(database: Path) -> Iterator[str]:
    """Serve a ledger in a process of its own, and return its address."""
    command = [sys.executable, "-m", "racebot", "web", "--port", "0", "--database", str(database)]
    with subprocess.Popen(
        command, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True, cwd=database.parent
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found is not None, line
        yield found[0].rstrip("/")
        process.terminate()


async def crowd(
    address: str, readers: int, seconds: float, popular: Sequence[str], others: Sequence[str]
) -> None:
    """Print how long readers wait for their pages.

    Args:
        address: of the server.
        readers: number of readers, who click independently of each other.
        seconds: how long they read.
        popular: pages that half of the clicks open.
        others: pages of which the other half opens any.
    """
    times: list[float] = []
    limits = httpx.Limits(max_connections=readers)
    async with httpx.AsyncClient(base_url=address, timeout=30, limits=limits) as client:
        for path in popular:
            (await client.get(path)).raise_for_status()

        async def read(number: int) -> None:
            rng = random.Random(number)
            await asyncio.sleep(PAUSE * rng.random())
            until = time.perf_counter() + seconds
            while time.perf_counter() < until:
                path = rng.choice(popular if rng.random() < 0.5 else others)
                start = time.perf_counter()
                answer = await client.get(path, headers={"Accept-Encoding": "gzip"})
                times.append(time.perf_counter() - start)
                assert answer.status_code == 200, path
                await asyncio.sleep(PAUSE * rng.uniform(0.5, 1.5))

        await asyncio.gather(*(read(number) for number in range(readers)))
    p50, p95, worst = 1000 * np.percentile(times, [50, 95, 100])
    print(
        f"{readers} readers opened {len(times)} pages: half within {p50:.0f} ms, 95 % within {p95:.0f} ms, "
        f"all within {worst:.0f} ms"
    )


def visits(address: str, pages: Mapping[str, str]) -> None:
    """Print what a first visit on a phone costs: bytes, requests, first paint and layout shift.

    Args:
        address: of the server.
        pages: their paths, by name.
    """
    print(f"{'':22} {'transferred':>12} {'requests':>9} {'first paint':>12} {'shift':>7}")
    with sync_playwright() as playwright:
        own = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=own, args=["--headless", "--no-sandbox"])
        for name, path in pages.items():
            context = browser.new_context(viewport=PHONE)  # type: ignore[arg-type]
            page, sizes = context.new_page(), list[float]()
            client = context.new_cdp_session(page)
            client.send("Network.enable")
            client.on("Network.loadingFinished", partial(_note_size, sizes))
            page.goto(f"{address}{path}", wait_until="load")
            shift, paint = page.evaluate(_SHIFT), page.evaluate(_PAINT)
            print(f"{name:22} {sum(sizes) / 1000:9.1f} kB {len(sizes):9} {paint:9.0f} ms {shift:7.3f}")
            context.close()
        browser.close()


def _note_size(sizes: list[float], event: Mapping[str, Any]) -> None:
    sizes.append(event["encodedDataLength"])
