"""Make the pictures of README.md, and its chat: `python docs/pictures/readme.py`.

A sandbox with simulated racers plays a season and a live race; nobody in the pictures exists. The script
needs the extra `dev`, and Chromium. The same seed gives the same season and the same chat.

- `images/pages-light.png`, `images/pages-dark.png`: a leaderboard and a player, as `racebot web` serves them.
- `images/chat-light.svg`, `images/chat-dark.svg`: the chat of a race, and the same as text in README.md.

`--chat` makes the chat only, which needs no browser.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import io
import logging
import random
import re
import socket
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from textwrap import TextWrapper

import uvicorn
from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from rich.console import Console
from rooms import IMAGES, browser_options, save

from racebot.bot.picture_fetcher import PictureFetcher
from racebot.cli.demo import PAST_RACES, RACERS, demo, rate_past_races
from racebot.ledger.pictures import Pictures, folder_beside
from racebot.ledger.rows import CategoryProfile
from racebot.ledger.store import Ledger
from racebot.racetime.client import Gate, Site
from racebot.sandbox import scenario
from racebot.sandbox.scenario import recruit
from racebot.sandbox.server import serve
from racebot.sandbox.site import CATEGORY, FakeSite
from racebot.settings.model import Settings
from racebot.web.http.server import application
from racebot.web.site.ledger_view import Publication

SEED = 1
SPEED = 20.0
NOW = datetime(2026, 3, 1, 20, 0, tzinfo=UTC)
"""The last past race ends shortly before this."""

README = Path(__file__).parents[2] / "README.md"
BEGIN, END = "<!-- chat, by docs/make_pictures.py -->\n", "<!-- end of chat -->"

SCHEMES = ("light", "dark")

# ── chat ──

TEXT_COLUMNS = 104
"""Columns of the chat as text."""
PICTURE_COLUMNS = 78
"""Columns of the chat as a picture."""
FONT_SIZE, LINE_HEIGHT, MARGIN = 14, 21, 16
ADVANCE = 0.602
"""Width of a character of the usual monospace fonts, in units of their size."""
COLORS = {
    "light": {"back": "#ffffff", "line": "#d0d7de", "text": "#1f2328", "soft": "#59636e", "bot": "#0550ae"},
    "dark": {"back": "#0d1117", "line": "#30363d", "text": "#e6edf3", "soft": "#9198a1", "bot": "#79c0ff"},
}


async def play_chat(database: Path) -> str:
    """Play the demo and return everything that it prints."""
    out = io.StringIO()
    await demo(database, seed=SEED, speed=SPEED, console=Console(file=out, width=100, emoji=False))
    return out.getvalue()


def story(printed: str) -> list[str]:
    """Return the lines of the demo's first race, from its end to the correction.

    The race ends by the clock of this machine, so its time is replaced by that of the last finisher.

    Args:
        printed: the output of `racebot demo`, in which an indented line continues the one above.
    """
    lines = re.sub(r"\n {4}", " ", printed).splitlines()
    (begin, *_) = (index for index, line in enumerate(lines) if line.startswith("  Race finished"))
    (end, *_) = (index for index, line in enumerate(lines) if "Racebot: Correction" in line)
    (*_, time) = re.findall(r"with a time of ([\d:.]+)!", "\n".join(lines[:begin]))
    return [f"Race finished in {time}", *(line.strip() for line in lines[begin + 1 : end + 1])]


def wrapped(line: str, columns: int) -> list[str]:
    """Break a chat line at ordinary spaces; the bot joins the words of an entry with no-break spaces."""
    wrapper = TextWrapper(columns, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return wrapper.wrap(line)


def as_text(lines: Sequence[str]) -> str:
    """Return the chat as README.md shows it."""
    rows = "\n".join(row for line in lines for row in wrapped(line, TEXT_COLUMNS))
    return f"<details><summary>The same as text</summary>\n\n```text\n{rows}\n```\n\n</details>\n"


def as_picture(lines: Sequence[str], scheme: str) -> str:
    """Return the chat as an SVG image; its text is the chat, unchanged."""
    color = COLORS[scheme]
    rows: list[str] = []
    top = MARGIN + FONT_SIZE
    for line in lines:
        name, sign, _ = line.partition(": ")
        speaker = name if sign else ""
        kind = "bot" if speaker == "Racebot" else "text" if speaker else "soft"
        for number, row in enumerate(wrapped(line, PICTURE_COLUMNS)):
            text = escape(row.lstrip())
            if number == 0 and speaker:
                text = f'<tspan font-weight="bold" fill="{color[kind]}">{escape(speaker)}:</tspan>' + (
                    text.removeprefix(f"{escape(speaker)}:")
                )
            left = MARGIN + (2 * ADVANCE * FONT_SIZE if number else 0)
            fill = color["soft"] if kind == "soft" else color["text"]
            rows.append(f'<text x="{left:.0f}" y="{top}" fill="{fill}">{text}</text>')
            top += LINE_HEIGHT
        top += LINE_HEIGHT // 3
    width = round(2 * MARGIN + PICTURE_COLUMNS * ADVANCE * FONT_SIZE)
    height = top - FONT_SIZE
    body = "\n".join(rows)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}"'
        f" font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\""
        f' font-size="{FONT_SIZE}">\n'
        f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8" fill="{color["back"]}"'
        f' stroke="{color["line"]}"/>\n{body}\n</svg>\n'
    )


def write_chat(lines: Sequence[str]) -> None:
    """Write the chat's pictures, and its text into README.md."""
    for scheme in SCHEMES:
        (IMAGES / f"chat-{scheme}.svg").write_text(as_picture(lines, scheme), encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{README}: the marks of the chat are missing")
    README.write_text(before + begin + as_text(lines) + end + after, encoding="utf-8")


# ── pages ──

WIDTH, HEIGHT, GAP = 700, 860, 20
"""Size of each of the two pages, in CSS pixels, and the gap between them."""
SCALE = 1.5


async def rate_season(database: Path) -> None:
    """Let the racers of the demo run a season that ends at `NOW`, and rate it."""
    site = FakeSite(rng=random.Random(SEED), clock=lambda: NOW)  # noqa: S311 - nothing to keep secret
    rng = random.Random(f"races {SEED}")  # noqa: S311
    racers = recruit(site, RACERS, rng)
    scenario.play_past_races(site, racers, PAST_RACES, rng)
    async with serve(site, list_cache=0.0, race_cache=0.0) as address:
        settings = Settings(site=address, category=CATEGORY, database=database)
        await rate_past_races(settings, lambda: NOW)
        async with Site(address, interval=0.0) as client:
            category = await client.category(CATEGORY)
        with Ledger.open(database) as ledger:
            ledger.profiles.save_category(CATEGORY, CategoryProfile(category.name, category.image))
            await fetch_pictures(address, ledger)


async def fetch_pictures(address: str, ledger: Ledger) -> None:
    """Fetch all avatars and pictures of a sandbox at once."""

    async def wanted() -> list[str]:
        return ledger.profiles.pictures()

    pictures = Pictures(folder_beside(ledger.path))
    await PictureFetcher(address, pictures, wanted, Gate(), pause=0.0).fetch()


@contextmanager
def served(database: Path) -> Iterator[str]:
    """Serve the pages as `racebot web` does, and yield their address."""
    settings = Settings(database=database)
    publication = Publication(settings.listing, settings.provisional_races, pictures=folder_beside(database))
    server = uvicorn.Server(uvicorn.Config(application(database, publication), log_level="warning"))
    with socket.create_server(("127.0.0.1", 0)) as bound:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{bound.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join()


def photograph(browser: Browser, address: str, scheme: str) -> bytes:
    """Return a PNG image of the leaderboard, and beside it the graph of its second player."""
    context = browser.new_context(
        color_scheme="dark" if scheme == "dark" else "light",
        viewport={"width": WIDTH, "height": HEIGHT},
        device_scale_factor=SCALE,
        reduced_motion="reduce",
    )
    context.clock.set_fixed_time(NOW)  # pages say how long ago the last race was
    page = context.new_page()
    page.goto(address)
    page.goto(f"{address}leaderboards/sandbox/sandbox-100")
    page.locator(".tabs").scroll_into_view_if_needed()
    shots = [page.screenshot()]
    page.goto(page.locator("table a[href*='players/']").nth(1).evaluate("link => link.href"))
    shots.append(page.screenshot())
    page = context.new_page()  # without the content security policy of the pages
    page.set_viewport_size({"width": 2 * WIDTH + GAP, "height": HEIGHT})
    images = "".join(
        f'<img src="data:image/png;base64,{base64.b64encode(shot).decode()}" width="{WIDTH}"'
        f' height="{HEIGHT}" style="border: 1px solid {COLORS[scheme]["line"]}; border-radius: 10px;'
        f' box-sizing: border-box">'
        for shot in shots
    )
    page.set_content(
        f'<body style="margin: 0; display: flex; gap: {GAP}px; background: {COLORS[scheme]["back"]}">'
        f"{images}</body>"
    )
    picture = page.screenshot()
    context.close()
    return picture


@contextmanager
def season() -> Iterator[tuple[Browser, str]]:
    """Rate the season, and yield a browser and the address of the pages."""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "season.db"
        asyncio.run(rate_season(database))
        with sync_playwright() as playwright, served(database) as address:
            browser = playwright.chromium.launch(**browser_options(Path(folder)))
            yield browser, address
            browser.close()


def write_pages() -> None:
    """Write the pictures of the pages, light and dark."""
    with season() as (browser, address):
        for scheme in SCHEMES:
            with Image.open(io.BytesIO(photograph(browser, address, scheme))) as picture:
                save(picture, IMAGES / f"pages-{scheme}.png")


def main() -> None:
    """Make the pictures."""
    parser = argparse.ArgumentParser(description="Make the pictures of README.md.")
    parser.add_argument("--chat", action="store_true", help="make the chat only, without a browser")
    only_chat = parser.parse_args().chat
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        write_chat(story(asyncio.run(play_chat(Path(folder) / "chat.db"))))
    if not only_chat:
        write_pages()


if __name__ == "__main__":
    main()
