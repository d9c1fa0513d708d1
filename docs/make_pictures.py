"""Make the pictures of README.md and docs/, and the chat of docs/chat.md: `python docs/make_pictures.py`.

Plays `racebot demo`, whose racers do not exist, and photographs it in Chromium: its live page and overlays
while it runs, its other pages afterwards, and its chat line by line. Draws the plots of docs/study.md, too.
Needs the extra `dev`, Chromium, whose path is in CHROMIUM (by default /usr/bin/chromium), and a font for
Chinese, Japanese and Korean names.
"""

from __future__ import annotations

import contextlib
import html
import io
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
BEGIN, END = "<!-- chat, by docs/make_pictures.py -->\n", "<!-- end of chat -->"
BOARD = "leaderboards/sandbox/sandbox-100"
SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
NIGHT = [base + reach * n // 255 for base, reach in ((18, 110), (24, 40), (62, 50)) for n in range(256)]
"""The colors behind the overlays, for each level of gray."""
PATIENCE = 15_000
"""Milliseconds to wait for what a page shall show."""

CHAT = """
<meta charset="utf-8"><style>
:root { --back: #fff; --line: #d0d7de; --text: #1f2328; --soft: #59636e; --bot: #0550ae; --tint: #f3f6fa; }
@media (prefers-color-scheme: dark) { :root {
  --back: #0d1117; --line: #30363d; --text: #e6edf3; --soft: #9198a1; --bot: #79c0ff; --tint: #161b22; } }
body { margin: 0; background: var(--back); color: var(--text); font: 16px/1.45 "DejaVu Sans", sans-serif; }
main { box-sizing: border-box; width: 720px; height: 376px; padding: 8px 14px; overflow: hidden;
  border: 1px solid var(--line); border-radius: 8px; }
p { margin: 3px 0; padding: 2px 6px; border-radius: 6px; overflow-wrap: anywhere; }
.system { color: var(--soft); font-size: 14.5px; }
.bot { background: var(--tint); border-left: 3px solid var(--bot); }
.bot b { color: var(--bot); }
</style><main></main>"""


# Chat


def story(shown: str) -> list[str]:
    """Return the lines of chat of the demo's first race, from its end to the correction."""
    lines = [line.strip() for line in re.sub(r"\n {4}", " ", shown).splitlines()]
    begin = next(number for number, line in enumerate(lines) if line.startswith("Race finished"))
    end = next(number for number, line in enumerate(lines) if line.startswith("Racebot: Correction"))
    # The line of the end itself has the time of this machine.
    (time,) = re.findall(r"with a time of ([\d:]+)!", lines[begin - 1])
    return [f"Race finished in {time}", *lines[begin + 1 : end + 1]]


def animate(browser: Browser, lines: Sequence[str]) -> None:
    """Write the chat as it grows, and its end as a still picture, in both color schemes."""
    for scheme in SCHEMES:
        page = opened(browser, (720, 376), scheme, scale=1.25)
        page.set_content(CHAT)
        frames = []
        for line in lines:
            name, colon, text = line.partition(": ")
            kind = "system" if not colon else "bot" if name == "Racebot" else "racer"
            shown = f"<b>{html.escape(name)}</b> {html.escape(text)}" if colon else html.escape(line)
            page.evaluate(
                "([kind, line]) => document.querySelector('main').insertAdjacentHTML('beforeend',"
                ' `<p class="${kind}">${line}</p>`)',
                [kind, shown],
            )
            frames.append(shot(page))
        save(frames[-1], f"chat-{scheme}.png")
        palette = frames[-1].quantize(48, dither=Image.Dither.NONE)
        first, *others = (frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames)
        target = IMAGES / f"demo-{scheme}.gif"
        durations = [1200 + 16 * len(line) for line in lines]  # in milliseconds, as long as a reader needs
        durations[-1] += 3000
        first.save(target, save_all=True, append_images=others, duration=durations, loop=0, optimize=True)


def write_chat(lines: Sequence[str]) -> None:
    """Write the chat as text into docs/chat.md."""
    page = DOCS / "chat.md"
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{page}: the marks of the chat are missing")
    wrapper = textwrap.TextWrapper(
        110, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    rows = "\n".join(row for line in lines for row in wrapper.wrap(line))
    page.write_text(f"{before}{begin}```text\n{rows}\n```\n{end}{after}", encoding="utf-8")


# Pages


def opened(
    browser: Browser, size: tuple[int, int], scheme: Literal["light", "dark"], scale: float = 2
) -> Page:
    """Return an empty page of this size in CSS pixels."""
    width, height = size
    return browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        device_scale_factor=scale,
        reduced_motion="reduce",
    )


def shot(page: Page, **options: Any) -> Image.Image:
    page.wait_for_timeout(300)
    faces = "[...document.querySelectorAll('.face.seen img')]"
    page.evaluate(f"Promise.all({faces}.map(each => each.decode().catch(() => {{}})))")
    return Image.open(io.BytesIO(page.screenshot(**options)))


def save(picture: Image.Image, name: str, colors: int | None = 256) -> None:
    """Save a picture in few colors, or in all for None."""
    shown = picture.convert("RGB")
    if colors is not None:
        shown = shown.quantize(colors, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    shown.save(IMAGES / name, optimize=True)


def during(browser: Browser, address: str, shown: Iterator[str]) -> None:
    """Photograph the live page during the first race, and overlays after it."""
    page = opened(browser, (1180, 600), "light")
    page.goto(f"{address}/live")
    next(line for line in shown if "in 1st place" in line)
    expect(page.get_by_role("cell", name="1:15:07")).to_be_visible(timeout=PATIENCE)
    expect(page.locator("time[data-clock]")).to_be_visible(timeout=1)  # or else the machine is too slow
    save(shot(page), "page-live.png")
    next(line for line in shown if "Ratings if recorded" in line)
    game = Image.linear_gradient("L").resize((660, 330)).convert("RGB").point(NIGHT)
    for path, size, corner in (
        ("overlay/room/sandbox?background=0c1020b0", (360, 400), (20, 16)),
        (f"overlay/player/{player_id(browser, address)}?background=0c1020b0", (330, 90), (440, 230)),
    ):
        page = opened(browser, size, "dark", scale=1)
        page.goto(f"{address}/{path}")
        expect(page.locator(".gain, .loss").first).to_be_visible(timeout=PATIENCE)
        layer = shot(page, omit_background=True).convert("RGBA")
        game.paste(layer, corner, layer)
    save(game, "overlay.png", None)


def player_id(browser: Browser, address: str) -> str:
    """Return the id of the leader."""
    page = browser.new_page()
    page.goto(f"{address}/{BOARD}")
    link = page.locator("table a[href*='players/']").first.evaluate("link => link.href")
    return str(link).split("/players/")[1].split("/")[0]


def after(browser: Browser, address: str) -> None:
    """Photograph the pages."""
    page = opened(browser, (1180, 811), "dark")
    page.goto(f"{address}/{BOARD}")
    save(shot(page), "page-leaderboard.png")

    page = opened(browser, (1180, 968), "light")
    page.goto(f"{address}/{BOARD}")
    page.locator("table a[href*='players/']").nth(1).click()
    graph = page.get_by_role("slider").first.bounding_box()
    if graph is None:
        raise SystemExit("the player's page has no graph")
    page.mouse.move(graph["x"] + graph["width"] * 0.7, graph["y"] + 60)
    save(shot(page), "page-player.png")
    page.set_viewport_size({"width": 1180, "height": 1056})
    page.locator("a.button[href*='vs=']").first.click()
    page.get_by_role("slider").first.wait_for()
    save(shot(page), "page-comparison.png")

    phones = []
    for number, scheme in enumerate(("light", "dark", "light")):
        page = opened(browser, (390, 820), "dark" if scheme == "dark" else "light")
        page.goto(f"{address}/{BOARD}{'/races' if number == 2 else ''}")
        if number:
            page.locator(f"table a[href*='{'players' if number == 1 else 'races'}/']").first.click()
            page.locator("h1").wait_for()
        phones.append(shot(page))
    race = page.url.partition("/races/")[2].removesuffix(".html")
    width, height = phones[0].size
    wall = Image.new("RGB", (3 * width + 2 * 48, height), "white")
    for number, phone in enumerate(phones):
        wall.paste(phone, (number * (width + 48), 0))
    save(wall, "page-phones.png")

    answer = page.request.get(f"{address}/cards/races/{race}.png")
    save(Image.open(io.BytesIO(answer.body())), "card.png")


def league(browser: Browser, folder: Path) -> None:
    """Photograph the page of a league that scores the first five races of examples/league.csv."""
    table = '[[leaderboards]]\nname = "SGL 2026"\ncategory = "ootr"\ngoals = ["SGL 2026"]\n'
    scoring = 'minimum_finishes = 1\nscoring = { rules = "sgl-2025", races = 8 }\ncut = 4\n'
    (folder / "racebot.toml").write_text(table + scoring, encoding="utf-8")
    file = str(DOCS.parent / "examples" / "league.csv")
    first = "race=" + "|".join(f"Qualifier {number}" for number in range(1, 6))
    given = file, "--goal", "SGL 2026", "--where", first
    with running(folder, "import", *given, "--database", "league.db") as output:
        print(*output)
    with running(folder, "web", "--port", "0", "--database", "league.db") as web:
        (address,) = re.findall(r"http://[\w.:]+", next(web))
        page = opened(browser, (1180, 811), "light")
        page.goto(f"{address}/leaderboards/ootr/sgl-2026")
        save(shot(page), "page-league.png")


@contextlib.contextmanager
def running(folder: Path, *arguments: str) -> Iterator[Iterator[str]]:
    """Run a command of racebot, and yield the lines that it prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RACEBOT_")}
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-m", "racebot", *arguments],
        cwd=folder,
        env={**environment, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield iter(process.stdout or ())
        finally:
            process.terminate()


def recorded(lines: Iterator[str], printed: list[str]) -> Iterator[str]:
    """Yield lines, and append them to a list."""
    for line in lines:
        printed.append(line)
        yield line


def studies() -> None:
    """Run the commands of docs/study.md that draw pictures."""
    text = (DOCS / "study.md").read_text(encoding="utf-8")
    for command in re.findall(r"^racebot (.* --plot docs/images/.*)$", text, re.MULTILINE):
        with running(DOCS.parent, *command.split()) as output:
            print(*output)


def main() -> None:
    studies()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        league(browser, folder)
        (folder / "racebot.toml").unlink()  # the demo has its own league
        printed: list[str] = []
        with running(folder, "demo", "--speed", "0.15", "--database", "demo.db") as output:
            demo = recorded(output, printed)
            next(line for line in demo if "rated in" in line)
            with running(folder, "web", "--port", "0", "--database", "demo.db") as web:
                (address,) = re.findall(r"http://[\w.:]+", next(web))
                during(browser, address, demo)
                for _ in demo:
                    pass  # until its end
                after(browser, address)
        lines = story("".join(printed))
        animate(browser, lines)
        write_chat(lines)
        browser.close()


if __name__ == "__main__":
    main()
