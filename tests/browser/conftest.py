"""Pages of an invented season in Chromium, driven by Playwright."""

from __future__ import annotations

import random
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import uvicorn
from builders import NOON, SECOND, entrant, result
from playwright.sync_api import Browser, BrowserContext, Error, expect, sync_playwright
from worker_support import PATIENCE

from racebot.ledger.store import Ledger
from racebot.races.result import EntrantStatus, RaceResult
from racebot.standings.counting import LeaderboardPlan, Plans
from racebot.standings.settle import Settler
from racebot.web.export import export
from racebot.web.server import application
from racebot.web.view import Publication

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
BOARD = "leaderboards/orb/any-orb"
PLAYER = "players/id-r00/orb/any-orb.html"
RACE = "races/orb/race-59.html"
PAGES = (
    "index.html",
    f"{BOARD}.html",
    f"{BOARD}/races.html",
    f"{BOARD}/explained.html",
    PLAYER,
    "players/id-r04/orb/any-orb.html",  # of the longest name
    "players/id-r00.html",
    "players/id-r00/orb/any-orb/races.html",
    "players/id-r00/orb/any-orb/opponents.html",
    "compare/id-r00/id-r04.html",
    f"{BOARD}/fame.html",
    f"{BOARD}.html?at=2026-03-20&min=2",
    "search.html?q=racer",
    "search.html?q=nobody",
    "races/orb/unknown",
    RACE,
)
VIEWS = (("light", 1280), ("dark", 390))
"""Schemes and widths in which each page is loaded and checked, and then checked in the other scheme."""
NAMES = (
    "Ann Orbit",
    "雪の介",
    "Мира Лесная",
    "ليلى",
    "W" * 60,
    "<b>bold</b>",
    "👩‍👩‍👧‍👦🏳️‍🌈 team 👩🏽‍🚀",
    '\u202egnikcehc\u2066 & "quotes"',
    "a-name-with-hyphens-and-no-end-" * 3,
)

Open = Callable[..., BrowserContext]


def season(players: int = 30, races: int = 60) -> list[RaceResult]:
    """Return daily races of eight entrants; up to two of them do not finish."""
    rng = random.Random(2)
    names = {f"r{number:02d}": f"Racer {number}" for number in range(players)}
    names.update(zip(names, NAMES, strict=False))
    found = []
    for number in range(races):
        field = {"r00", *rng.sample(list(names), 7)}
        ordered = sorted(field, key=lambda name: int(name[1:]) + rng.gauss(0, 6))
        entrants = [
            replace(entrant(name, time=(3000 + 60 * place) * SECOND), name=names[name])
            for place, name in enumerate(ordered)
        ]
        for unfinished in range(rng.randint(0, 2)):
            last = entrants[-1 - unfinished]
            entrants[-1 - unfinished] = replace(last, status=EntrantStatus.DNF, finish_time=None)
        ended_at = NOON + timedelta(days=number)
        found.append(result(f"race-{number}", entrants=tuple(entrants), ended_at=ended_at))
    return found


def rated(path: Path, races: list[RaceResult]) -> Path:
    with Ledger.open(path) as ledger:
        Settler(ledger, Plans(LeaderboardPlan("thurstone-hurdle"))).merge(races, "import")
    return path


expect.set_options(timeout=1000 * PATIENCE)


@contextmanager
def running(server: uvicorn.Server) -> Iterator[str]:
    """Run a server in a thread, and yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{bound.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rated(tmp_path_factory.mktemp("served") / "ledger.db", season())


@contextmanager
def serving(database: Path) -> Iterator[str]:
    """Serve a ledger's pages as `racebot web` does, and yield their address."""
    app = application(database, Publication())
    with running(uvicorn.Server(uvicorn.Config(app, log_level="warning"))) as address:
        yield address


@pytest.fixture(scope="module")
def served(database: Path) -> Iterator[str]:
    """Return the address of the pages as `racebot web` serves them."""
    with serving(database) as address:
        yield address


@pytest.fixture(scope="module")
def exported(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the pages as files."""
    return written(database, tmp_path_factory.mktemp("exported"))


def written(database: Path, folder: Path) -> Path:
    with Ledger.open_to_read(database) as ledger:
        export(ledger, Publication(), folder)
    return folder


@contextmanager
def hosted(folder: Path) -> Iterator[str]:
    """Serve a folder from a host that only sends files, and return its address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called there
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for one module. No other event loop can run while it is open."""
    with sync_playwright() as playwright:
        installed = [shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")]
        path = next((path for path in installed if path), playwright.chromium.executable_path)
        if not Path(path).exists():
            pytest.skip("there is no Chromium: install your system's, or run `playwright install chromium`")
        try:
            browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        except Error as error:
            pytest.skip(f"Chromium does not start: {error.message.splitlines()[0]}")
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    """Open contexts of the browser, with a color scheme and a width, with scripts or a touch screen."""
    contexts = []

    def made(
        scheme: str = "light", width: int = 1100, *, scripts: bool = True, touch: bool = False
    ) -> BrowserContext:
        context = browser.new_context(
            color_scheme=scheme,  # type: ignore[arg-type]
            viewport={"width": width, "height": 800},
            java_script_enabled=scripts,
            has_touch=touch,
            is_mobile=touch,
        )
        context.set_default_timeout(1000 * PATIENCE)
        contexts.append(context)
        return context

    yield made
    for context in contexts:
        context.close()
