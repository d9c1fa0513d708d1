"""Make the pictures of what streamers and chat programs show: `python docs/pictures/sharing.py`.

The overlays follow two races of a sandbox: one that is about to start and one that waits to be recorded. They
lie over an invented game. The live page also shows a race in progress. The script needs the extra `dev`, and
Chromium.
"""

from __future__ import annotations

import asyncio
import io
import logging
import random
import re
from datetime import timedelta

import httpx
from PIL import Image, ImageDraw
from readme import fetch_pictures, served
from rooms import IMAGES, Stage, save, staged

from racebot.ledger.store import Ledger
from racebot.sandbox.room import FakeRoom

SIZE = (960, 540)
ROOM, PLAYER = (330, 190), (290, 90)
"""Sizes of the overlays in pixels."""
MARGIN = 24
OPTIONS = "background=0c1020b0&rows=6"


async def overlays(stage: Stage, pages: str) -> Image.Image:
    """Draw a game with three overlays: odds, coming changes, and a player."""
    finished = await stage.race([stage.racers[n].user for n in (4, 1, 3, 8, 12, 9, 15, 20)], dnf=2)
    opened = stage.site.open_race()
    for racer in stage.racers[:6]:
        opened.enter(racer.user)
    game = background()
    width, height = SIZE
    best = stage.racers[0].user
    for address, size, corner in (
        (room(opened), ROOM, (MARGIN, MARGIN)),
        (room(finished), ROOM, (width - ROOM[0] - MARGIN, MARGIN)),
        (f"overlay/player/{best.id}", PLAYER, (MARGIN, height - PLAYER[1] - MARGIN)),
    ):
        layer = await photograph(stage, f"{pages}{address}?{OPTIONS}", size)
        game.paste(layer, corner, layer)
    return game


def room(race: FakeRoom) -> str:
    return f"overlay/room/{race.name}"


async def photograph(stage: Stage, address: str, size: tuple[int, int]) -> Image.Image:
    """Return an overlay with its transparent background, once it shows something."""
    page = await stage.browser.new_page(viewport={"width": size[0], "height": size[1]})
    for _ in range(100):
        await page.goto(address)
        if (await page.locator("body").inner_text()).strip():
            break
        await asyncio.sleep(0.2)
    picture = await page.screenshot(omit_background=True)
    await page.close()
    return Image.open(io.BytesIO(picture)).convert("RGBA")


def background() -> Image.Image:
    """Draw a platform game at night."""
    width, height = SIZE
    image = Image.new("RGB", SIZE)
    draw = ImageDraw.Draw(image)
    for y in range(height):
        share = y / height
        draw.line((0, y, width, y), fill=(int(18 + 110 * share), int(24 + 40 * share), int(62 + 50 * share)))
    stars = random.Random(3)  # noqa: S311 - a picture
    for _ in range(70):
        x, y = stars.randrange(width), stars.randrange(height // 2)
        draw.rectangle((x, y, x + 1, y + 1), fill="#f5f0ff")
    draw.ellipse((630, 230, 770, 370), fill="#f2dca6")
    for peak, base in (((150, 290), 260), ((420, 330), 240), ((760, 300), 300)):
        x, y = peak
        draw.polygon(((x - base, height), (x, y), (x + base, height)), fill="#2b2547")
    for left, top, right in ((0, 500, 420), (470, 430, 620), (690, 470, 960)):
        draw.rectangle((left, top, right, height if top == 500 else top + 26), fill="#6b4a34")
        draw.rectangle((left, top, right, top + 8), fill="#4f9d57")
    draw.rectangle((530, 392, 552, 430), fill="#b6424c")
    draw.rectangle((533, 374, 551, 392), fill="#f0d2a8")
    return image


async def live(stage: Stage, pages: str) -> Image.Image:
    """Return the live page with a finished race, one in progress, and an open room."""
    await stage.race([stage.racers[n].user for n in (4, 1, 3, 8, 12)], dnf=1)
    running = stage.site.open_race()
    users = [stage.racers[n].user for n in (0, 6, 2, 9)]
    for user in users:
        running.enter(user)
        running.ready(user)
    running.count_down()
    running.start(ago=timedelta(minutes=72, seconds=8))
    running.finish(users[1], timedelta(minutes=71, seconds=40))
    opened = stage.site.open_race()
    for number in (5, 7, 10, 14):
        opened.enter(stage.racers[number].user)
    with Ledger.open_to_read(stage.database) as ledger:
        await fetch_pictures(stage.address, ledger)
    page = await stage.browser.new_page(viewport={"width": 1180, "height": 1040}, device_scale_factor=2)
    await page.goto(f"{pages}live")
    await page.locator(".room tbody tr").nth(12).wait_for()
    await page.locator(".room .gain").first.wait_for()
    picture = await page.screenshot()
    await page.close()
    return Image.open(io.BytesIO(picture))


async def card(stage: Stage, pages: str) -> Image.Image:
    """Return the card of the last past race."""
    async with httpx.AsyncClient(base_url=pages) as client:
        page = (await client.get("leaderboards/sandbox/any/races", follow_redirects=True)).raise_for_status()
        race = re.findall(r"races/(sandbox/[a-z0-9-]+)", page.text)[0]
        picture = (await client.get(f"cards/races/{race}.png")).raise_for_status()
    return Image.open(io.BytesIO(picture.content))


PICTURES = {"overlay": overlays, "page-live": live, "card": card}


async def main() -> None:
    logging.disable(logging.WARNING)
    for name, make in PICTURES.items():
        async with staged() as stage:
            with served(stage.database) as pages:
                # The overlays' colors would be lost among those of the game.
                save(await make(stage, pages), IMAGES / f"{name}.png", None if name == "overlay" else 256)


if __name__ == "__main__":
    asyncio.run(main())
