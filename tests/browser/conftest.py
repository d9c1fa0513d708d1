"""Pages of an invented season in Chromium, driven by Playwright."""

import random
import shutil
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal

import pytest
import uvicorn
from builders import NOON, SECOND, entrant, live_room, racer, result

pytest.importorskip("playwright", reason="browser tests need the extra racebot[dev]")
from playwright.sync_api import Browser, BrowserContext, Error, Page, expect, sync_playwright
from worker_support import PATIENCE

from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.live_file import LiveReport, live_path, write_live
from racebot.queries.standings import Listing
from racebot.races.result import EntrantStatus, RaceResult
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.settle import Settler
from racebot.web.export import export
from racebot.web.http.server import application
from racebot.web.site.ledger_view import Publication

ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--lang=en-US"]
BOARD = "leaderboards/orb/any-orb"
PLAYER = "players/id-r00/orb/any-orb.html"
RACE = "races/orb/race-59.html"
NAMES = (
    "Ann Orbit",
    "雪の介",
    "Мира Лесная",
    "ليلى",
    "W" * 60,
    '<img src="//x.invalid" onerror="alert(1)">',
    "👩‍👩‍👧‍👦🏳️‍🌈 team 👩🏽‍🚀",
    '\u202egnikcehc\u2066 & "quotes"',
    "a-name-with-hyphens-and-no-end-" * 3,
)

Open = Callable[..., Page]
Visit = Callable[..., Page]


def season(players: int = 30, races: int = 60) -> list[RaceResult]:
    """Return daily races of eight entrants; up to two of them do not finish."""
    rng = random.Random(2)
    names = {f"r{number:02d}": f"Racer {number}" for number in range(players)}
    names.update(zip(names, NAMES, strict=False))
    found = []
    for number in range(races):
        field = ["r00", *rng.sample([name for name in names if name != "r00"], 7)]
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


def rated(path: Path, races: list[RaceResult], *named: LeaderboardConfig) -> Path:
    with Ledger.open(path) as ledger:
        rules = RatingRules(LeaderboardConfig("thurstone-hurdle"), named)
        Settler(ledger, rules).add_past_races(races, "import")
    return path


expect.set_options(timeout=1000 * PATIENCE)


@contextmanager
def serving(
    database: Path,
    pictures: Path | None = None,
    listing: Callable[[Leaderboard], Listing] = lambda _: Listing(),
    **texts: str,
) -> Iterator[str]:
    """Serve a ledger's pages as `racebot web` does, and yield their address."""
    server: uvicorn.Server | None = None
    publication = Publication(listing, pictures=pictures, **texts)  # type: ignore[arg-type]
    app = application(database, publication, lambda: server is not None and server.should_exit)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
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


@pytest.fixture(scope="module")
def served(database: Path) -> Iterator[str]:
    """Return the address of the pages as `racebot web` serves them."""
    with serving(database) as address:
        yield address


@pytest.fixture(scope="module")
def exported(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the pages as files."""
    return written(database, tmp_path_factory.mktemp("exported"))


def written(database: Path, folder: Path, url: str = "") -> Path:
    """Export the pages of a ledger to a folder, which readers find at `url`."""
    with Ledger.open_to_read(database) as ledger:
        export(ledger, Publication(url=url), folder)
    return folder


def write_rooms(database: Path, *statuses: str, backwards: bool = False, boards: int = 1) -> None:
    """Write a live file with a room of each status beside a ledger, its entrants perhaps backwards."""
    now = datetime.now(UTC)
    rooms = []
    for number, status in enumerate(statuses, 1):
        finished = status == "finished"
        entrants = tuple(
            racer(
                f"r{place:02d}",
                name=name,
                status=EntrantStatus.DONE if finished else EntrantStatus.RACING,
                place=place + 1 if finished else None,
                finish_time=3600.0 + place if finished else None,
                points=1500 - place,
                new=place == 1,
                win_chance=1 / len(NAMES),
                after=1510 - 2 * place if finished else None,
                change=10 - place if finished else None,
            )
            for place, name in enumerate(NAMES)
        )
        started_at = now - timedelta(hours=1) if status == "in_progress" else None
        room = live_room(*entrants[:: -1 if backwards else 1], race=f"orb/live-{number}", status=status)
        both = (*room.leaderboards, replace(room.leaderboards[0], board="orb/second"))
        rooms.append(replace(room, started_at=started_at, leaderboards=both[:boards]))
    write_live(live_path(database), LiveReport(now, tuple(rooms)))


@contextmanager
def hosted(folder: Path) -> Iterator[str]:
    """Serve a folder from a host that only sends files, and yield its address.

    As GitHub Pages does, it sends the `404.html` of a folder for missing files anywhere below it.
    """

    class Host(SimpleHTTPRequestHandler):
        def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
            pages = (parent / "404.html" for parent in Path(self.translate_path(self.path)).parents)
            page = next((page for page in pages if page.exists()), None)
            if page is None:
                return super().send_error(code, message, explain)
            self.send_response(code)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.read_bytes())
            return None

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called there
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Host, directory=folder)) as server:
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
        chromium = playwright.chromium
        names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
        path = next(filter(None, map(shutil.which, names)), chromium.executable_path)
        if not Path(path).exists():
            pytest.skip("there is no Chromium: install your system's, or run `playwright install chromium`")
        try:
            browser = chromium.launch(executable_path=path, args=ARGUMENTS, timeout=1000 * PATIENCE)
        except Error as error:
            pytest.skip(f"Chromium does not start: {error.message.splitlines()[0]}")
        yield browser
        browser.close()


@contextmanager
def context_of(browser: Browser, **options: object) -> Iterator[BrowserContext]:
    """Open a context as Playwright does, 1100 pixels wide and in UTC unless the options say otherwise."""
    usual = {"viewport": {"width": 1100, "height": 800}, "timezone_id": "UTC"}
    with browser.new_context(**usual | options) as context:  # type: ignore[arg-type]
        context.set_default_timeout(1000 * PATIENCE)
        yield context


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    """Open a tab in a context of its own, for tests that change more than `visit` can."""
    with ExitStack() as contexts:
        yield lambda **options: contexts.enter_context(context_of(browser, **options)).new_page()


@pytest.fixture(scope="module")
def tabs(browser: Browser) -> Iterator[Mapping[bool, Page]]:
    """Return a tab with scripts and one without, for all tests, since a new one takes longer than a page."""
    with context_of(browser) as usual, context_of(browser, java_script_enabled=False) as plain:
        yield {True: usual.new_page(), False: plain.new_page()}


@pytest.fixture
def visit(tabs: Mapping[bool, Page]) -> Iterator[Visit]:
    """Open an address in a tab of the module, with a color scheme and a width, with or without scripts."""

    def visited(
        address: str = "about:blank",
        scheme: Literal["light", "dark"] = "light",
        width: int = 1100,
        *,
        scripts: bool = True,
    ) -> Page:
        page = tabs[scripts]
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme, forced_colors="none")
        page.goto(address)
        return page

    yield visited
    for page in tabs.values():
        page.unroute_all()
        page.mouse.move(0, 0)
        if page.url != "about:blank":
            page.evaluate("localStorage.clear()")
        page.goto("about:blank")
