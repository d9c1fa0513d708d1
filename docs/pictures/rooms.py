"""Make the pictures of the documentation: the real worker beside a sandbox, seen in Chromium.

    python docs/pictures/rooms.py [NAME …]

NAME is a key of `PICTURES`; without one, all pictures are made, in docs/images. They need
`pip install -e '.[dev]'` and Chromium, whose path is in CHROMIUM (by default /usr/bin/chromium).
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import os
import random
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from PIL import Image
from playwright.async_api import Browser, async_playwright

from racebot.bot.worker import Worker
from racebot.cli.demo import ranked, rate_past_races, sandbox_settings
from racebot.sandbox import scenario
from racebot.sandbox.race_state import User
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.scenario import Racer, recruit
from racebot.sandbox.server import serve
from racebot.sandbox.site import FakeSite

IMAGES = Path(__file__).parents[1] / "images"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
GOAL = "Any%"
NAMES = (
    "Ann", "Bo", "quickthorn", "Мира", "dr.dashwood", "Ólöf", "Jeanne", "Comet", "σίγμα", "Zed", "Fern",
    "n0_spaces", "Mr. T. Potts", "¡Olé!", "Bjørnar", "seven77", "Kestrel", "hexed", "Wanda", "Tolo",
    "ibex", "Pim", "Łukasz", "Sable", "okapi", "Greta", "Vireo", "moss", "Dune", "Halcyon", "rook",
    "Yara", "Brisk", "Oddny", "Fable", "crisp", "Juno", "Marlow", "tern", "Quill", "Basalt", "Cove",
    "dapple", "Esker", "Finch", "gust", "Heron", "Inlet", "jib", "Krill", "Lark", "mica", "Nori", "Onyx",
    "Plume", "Quartz", "reed", "Skua", "Thistle", "Umber",
)  # fmt: skip
HARD_NAMES = ("the-longest-name-of-all", "ליאור", "👩‍👩‍👧 fam", "سلمى", "雪の介", "Þórdís ÆØÅ")
"""Long names, emoji, and scripts that run from right to left."""
SEED = 11
PAST_RACES = 400
FONTS = (
    ("justmytype_intl_cjk", "fonts/ofl/notosansjp/NotoSansJP[wght].ttf"),
    ("justmytype_intl_cjk", "fonts/ofl/notosanskr/NotoSansKR[wght].ttf"),
    ("fontpkg_noto_sans_arabic", "files/NotoSansArabic[wdth,wght].ttf"),
)
"""Fonts for names in scripts that the machine may lack, by package."""
PATIENCE = 30.0
"""Seconds to wait for the bot."""
SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
LARGEST = 200_000
"""Bytes of a picture."""

_LAST_LINES = """count => {
  const lines = [...document.querySelectorAll(".log p")];
  lines.slice(0, -count).forEach(line => line.remove());
  Object.assign(document.querySelector(".log").style, {maxHeight: "none", padding: "8px"});
  document.querySelector("form").remove();
}"""


@dataclass(frozen=True)
class Stage:
    """A sandbox with a settled leaderboard, the worker, and a browser.

    Attributes:
        site: the sandbox's state.
        address: its address.
        racers: settled racers, the best first.
        browser: takes the pictures.
        database: the worker's ledger.
    """

    site: FakeSite
    address: str
    racers: Sequence[Racer]
    browser: Browser
    database: Path

    async def race(self, users: Sequence[User], dnf: int = 0) -> FakeRoom:
        """Run a race that users finish in this order; the last `dnf` of them forfeit."""
        room = self.site.open_race()
        for user in users:
            room.enter(user)
            room.ready(user)
        await _until(lambda: bool(room.listeners))
        room.count_down()
        times = [timedelta(minutes=80, seconds=37 * n + 11) for n in range(len(users) - dnf)]
        room.start(ago=times[-1])
        for user in users[len(times) :]:
            room.forfeit(user)
        for user, time in zip(users, times, strict=False):
            room.finish(user, time)
        await self.spoken(room, "Ratings if recorded")
        return room

    async def spoken(self, room: FakeRoom, opening: str) -> None:
        """Wait until the bot has written a message with this opening, and nothing more for a moment."""
        await _until(lambda: any(line.bot and line.text.startswith(opening) for line in room.chat))
        await asyncio.sleep(0.5)

    async def ask(self, room: FakeRoom, user: User, line: str) -> None:
        """Let a racer ask, and wait for the bot's answer."""
        room.say(user, line)
        await _until(lambda: room.chat[-1].bot is not None)

    async def chat(self, room: FakeRoom, path: Path, *, lines: int) -> None:
        """Take pictures of the last lines of a room's chat column: PATH-light.png and PATH-dark.png."""
        for scheme in SCHEMES:
            page = await self.browser.new_page(
                viewport={"width": 1000, "height": 900}, color_scheme=scheme, device_scale_factor=2
            )
            await page.goto(f"{self.address}/{room.name}")
            await page.evaluate(_LAST_LINES, lines)
            file = path.with_name(f"{path.name}-{scheme}.png")
            shot = Image.open(io.BytesIO(await page.locator(".log").screenshot()))
            await page.close()
            save(shot, file, colors=64)


async def duel(stage: Stage, path: Path) -> None:
    """Draw a race of three, and a question about it."""
    users = [stage.racers[n].user for n in (9, 2, 5)]
    room = await stage.race(users)
    await stage.ask(room, users[1], "!why")
    await stage.chat(room, path, lines=4)


async def usual(stage: Stage, path: Path) -> None:
    """Draw a race of 12: a favorite who finishes fifth, an outsider who wins, and a DNF."""
    best, second, third, *rest = stage.racers[:12]
    order = [rest[4], second, third, rest[0], best, *rest[1:4], *rest[5:]]
    room = await stage.race([racer.user for racer in order], dnf=1)
    await stage.chat(room, path, lines=3)


async def hard_names(stage: Stage, path: Path) -> None:
    """Draw a race of 25, the first of whom have names that are hard to set."""
    users = [racer.user for racer in stage.racers[5:30]]
    for user, name in zip(users, HARD_NAMES, strict=False):
        stage.site.rename_user(user, name)
    room = await stage.race(users, dnf=3)
    await stage.chat(room, path, lines=2)


async def large(stage: Stage, path: Path) -> None:
    """Draw a race of everybody."""
    room = await stage.race([racer.user for racer in stage.racers], dnf=9)
    messages = sum(line.bot is not None for line in room.chat)
    await stage.chat(room, path, lines=messages + 1)


PICTURES: dict[str, Callable[[Stage, Path], Awaitable[None]]] = {
    "chat-3": duel,
    "chat-12": usual,
    "chat-25": hard_names,
    "chat-60": large,
}
"""By name; each is taken in both color schemes."""


@contextlib.asynccontextmanager
async def staged(names: Sequence[str] = NAMES) -> AsyncIterator[Stage]:
    """Set up a stage with racers of these names."""
    site = FakeSite(goals=[GOAL], rng=random.Random(SEED))  # noqa: S311 - nothing to keep secret
    rng = random.Random(f"races {SEED}")  # noqa: S311
    racers = recruit(site, len(names), rng)
    for racer, name in zip(racers, names, strict=True):
        site.rename_user(racer.user, name)
    scenario.play_past_races(site, racers, PAST_RACES, rng)
    with tempfile.TemporaryDirectory() as folder:
        async with serve(site, list_cache=0.0, race_cache=0.0) as address, async_playwright() as playwright:
            database = Path(folder) / "racebot.db"
            settings = sandbox_settings(address, database)
            await rate_past_races(settings)
            worker = Worker(settings)
            working = asyncio.create_task(worker.run())
            browser = await playwright.chromium.launch(**browser_options(Path(folder)))
            try:
                yield Stage(site, address, ranked(database, racers), browser, database)
            finally:
                await browser.close()
                worker.stop()
                await working


def save(picture: Image.Image, path: Path, colors: int | None = 256) -> None:
    """Save a picture in few colors, or in all for None, and stop if it is too large for the documentation."""
    shown = picture.convert("RGB")
    if colors is not None:
        shown = shown.quantize(colors, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    shown.save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path}: {size:,} bytes")
    if size > LARGEST:
        raise SystemExit(f"{path} is larger than {LARGEST:,} bytes")


def browser_options(folder: Path) -> dict[str, Any]:
    """Return the options for starting Chromium with `FONTS`, which it finds by links in a new folder."""
    fonts = folder / "fonts"
    fonts.mkdir()
    for package, name in FONTS:
        with resources.as_file(resources.files(package) / name) as path:
            (fonts / path.name).symlink_to(path)
    environment = {**os.environ, "XDG_DATA_HOME": str(folder)}
    return {"executable_path": CHROMIUM, "args": ["--no-sandbox"], "env": environment}


async def _until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not happened():  # noqa: ASYNC110 - the worker makes it true
            await asyncio.sleep(0.02)


async def main(names: Sequence[str]) -> None:
    logging.getLogger("apscheduler").setLevel(logging.ERROR)
    for name in names or PICTURES:
        async with staged() as stage:
            await PICTURES[name](stage, IMAGES / name)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
