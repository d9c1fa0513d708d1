"""Make the pictures of docs/pages.md: `python docs/pictures/website.py`.

A sandbox with simulated racers plays a season, as for README.md; nobody in the pictures exists. The script
needs the extra `dev`, and Chromium.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Callable

from PIL import Image
from playwright.sync_api import Browser, Page
from readme import NOW, season
from rooms import IMAGES, save

BOARD = "leaderboards/sandbox/sandbox-100"
DESKTOP, PHONE = (1180, 820), (390, 820)
PLAYER = (1180, 1010)
"""Down to the line below the graph, which describes the race at the crosshair."""
SCALE = 2
GAP = 24 * SCALE
"""Pixels between two phones."""


def opened(browser: Browser, size: tuple[int, int], scheme: str) -> Page:
    """Return an empty page of a size and color scheme."""
    width, height = size
    context = browser.new_context(
        color_scheme="dark" if scheme == "dark" else "light",
        viewport={"width": width, "height": height},
        device_scale_factor=SCALE,
    )
    context.clock.set_fixed_time(NOW)  # pages say how long ago the last race was
    return context.new_page()


def player_of(page: Page, address: str, number: int) -> str:
    """Return the address of a leaderboard's player by place, from 0."""
    page.goto(f"{address}{BOARD}")
    return str(page.locator("table a[href*='players/']").nth(number).evaluate("link => link.href"))


def leaderboard(browser: Browser, address: str) -> Image.Image:
    page = opened(browser, DESKTOP, "dark")
    page.goto(f"{address}{BOARD}")
    return shot(page)


def player(browser: Browser, address: str) -> Image.Image:
    page = opened(browser, PLAYER, "light")
    page.goto(player_of(page, address, 1))
    graph = page.get_by_role("slider").bounding_box()
    assert graph is not None  # noqa: S101 - each player of the season has a graph
    page.mouse.move(graph["x"] + graph["width"] * 0.7, graph["y"] + 60)
    return shot(page)


def comparison(browser: Browser, address: str) -> Image.Image:
    page = opened(browser, DESKTOP, "light")
    rival = player_of(page, address, 2).split("/players/")[1].split("/")[0]
    page.goto(player_of(page, address, 1))
    page.locator(f"table a.button[href*='{rival}']").click()
    page.get_by_role("slider").wait_for()
    return shot(page)


def phones(browser: Browser, address: str) -> Image.Image:
    """Return a leaderboard, a player and a race on phones, side by side."""
    shots: list[Image.Image] = []
    for scheme in ("light", "dark", "light"):
        page = opened(browser, PHONE, scheme)
        target = player_of(page, address, 2)
        if len(shots) == 1:
            page.goto(target)
        if len(shots) == 2:
            page.goto(f"{address}{BOARD}/races")
            page.locator("table a[href*='races/']").first.click()
            page.locator("table.race").wait_for()
        shots.append(shot(page))
    width, height = shots[0].size
    wall = Image.new("RGB", (len(shots) * (width + GAP) - GAP, height), "white")
    for number, each in enumerate(shots):
        wall.paste(each, (number * (width + GAP), 0))
    return wall


def shot(page: Page) -> Image.Image:
    page.wait_for_timeout(300)
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


PICTURES: dict[str, Callable[[Browser, str], Image.Image]] = {
    "page-leaderboard": leaderboard,
    "page-player": player,
    "page-comparison": comparison,
    "page-phones": phones,
}


def main() -> None:
    logging.disable(logging.WARNING)
    with season() as (browser, address):
        for name, take in PICTURES.items():
            save(take(browser, address), IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
