"""Follow the operator's guide from top to bottom: its commands in a shell, its chat in a room.

Comments in the guide, which its readers do not see, mark what is not simply a command to run:

- `<!-- elsewhere -->` before commands that need root, Docker or the network. The test does not run them, but
  starts and stops the bot as `systemctl` would.
- `<!-- keeps running -->` before a command that runs until it is stopped.
- `<!-- fails -->` before a command that ends with exit code 2.
- `<!-- chat -->` before an exchange in the room: racers say their lines, and racebot must say its own.
- `<!-- info box -->` before what racebot writes above a race's results.
- `<!-- follow PAGE -->` where the operator reads another page.
- A comment that names one of `SCENES` makes it happen.
- COPY in a command is the copy of the database that the previous command named.

A `text` block is the output of the command before it. Numbers and dates may differ, and a line `…` stands for
any lines. A command that keeps running may log other lines in between. `ini` blocks are lines of `.env`, and
`toml` blocks are appended to `racebot.toml`.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import shlex
import shutil
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path

import httpx
import pytest
from past_season import PEOPLE, past_season
from worker_support import PATIENCE, WorkerProcess, reserved_port, said, start, until

from racebot.sandbox import history
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.server import serve
from racebot.sandbox.site import FakeSite

ROOT = Path(__file__).parents[2]
GUIDE = "operating.md"
GOAL, NEXT_GOAL = "Map Rando S4", "Map Rando S5"
PAGES_PORT, MONITOR_PORT = 8080, 9100
MARKS = {"elsewhere", "keeps running", "fails", "chat", "info box"}


@dataclass(frozen=True, slots=True)
class Step:
    """A block or scene of the guide. `kind` is the block's language, or `scene`."""

    page: str
    line: int
    kind: str
    body: str
    mark: str = ""


def steps(page: str) -> Iterator[Step]:
    """Yield the blocks and scenes of a page and of the pages that it sends the reader to, in order."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    mark = ""
    for found in re.finditer(r"^<!-- (.*?) -->$|^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        line = text.count("\n", 0, found.start()) + 1
        note, kind, body = found.groups()
        if note is None:
            yield Step(page, line, kind, body, mark)
            mark = ""
        elif note in MARKS:
            mark = note
        elif note.startswith("follow "):
            yield from steps(note.removeprefix("follow "))
        else:
            assert note in SCENES, f"{page}, line {line}: neither a mark nor a scene: {note}"
            yield Step(page, line, "scene", note)


# Output


def normal(text: str) -> str:
    """Replace everything in an output that differs from run to run."""
    text = re.sub(r"https?://127\.0\.0\.1:\d+", "https://racetime.gg", text)
    text = re.sub(r"\d[\d.,:]*\d|\d", "#", text)
    text = text.replace("# second ", "# seconds ")
    text = re.sub(r"─+", "─", text)
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "".join(f"{line}\n" for line in lines if line)


def pattern(shown: str) -> re.Pattern[str]:
    """Return an expression that matches the `normal` form of an output that the guide shows."""
    lines = normal(shown).splitlines()
    return re.compile("".join("(?:.*\n)*?" if line == "…" else re.escape(line) + "\n" for line in lines))


# The operator


@dataclass
class Operator:
    """Follows the guide with a shell in a folder and a race room on the site."""

    folder: Path
    site: FakeSite
    environment: dict[str, str]
    printed: str | None = ""
    """Output of the last command; None while it keeps running."""
    running: WorkerProcess | None = None
    service: WorkerProcess | None = None
    room: FakeRoom | None = None
    read: int = 0
    """Number of racebot's messages in the room that were compared with the guide."""
    ports: dict[int, int] = field(default_factory=dict)
    in_force: list[str] = field(default_factory=list)
    """Settings that the service was started with."""

    async def follow(self, step: Step) -> None:
        if step.kind == "scene":
            await SCENES[step.body](self)
            return
        deeds: dict[tuple[str, str], Callable[[str], Awaitable[None]]] = {
            ("sh", ""): self.run,
            ("sh", "fails"): partial(self.run, code=2),
            ("sh", "keeps running"): self.run_on,
            ("sh", "elsewhere"): self.look_at,
            ("ini", ""): self.set,
            ("toml", ""): self.configure,
            ("text", ""): self.compare,
            ("text", "chat"): self.talk,
            ("text", "info box"): self.compare_info,
        }
        body = step.body
        for written, port in self.ports.items():
            body = body.replace(f" {written}", f" {port}").replace(f"={written}", f"={port}")
        await deeds[step.kind, step.mark](body)

    async def run(self, block: str, *, code: int = 0) -> None:
        process = await asyncio.create_subprocess_exec(
            "bash",
            *("-euo", "pipefail", "-c", block.replace("COPY", self.copied())),
            cwd=self.folder,
            env=self.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
        self.printed = output.decode()
        assert process.returncode == code, self.printed

    def copied(self) -> str:
        """Return the copy that the last command named."""
        return next(iter(re.findall(r"^\S+Z\.db$", self.printed or "", re.MULTILINE)), "no-copy-yet")

    async def run_on(self, block: str) -> None:
        assert self.running is None, "another command is still running"
        self.running = self.start(block)
        self.printed = None

    def start(self, block: str) -> WorkerProcess:
        return start(shlex.split(block)[1:], self.environment, self.folder, self.folder / "running.log")

    async def look_at(self, block: str) -> None:
        """Leave the commands of a block to the reader, but obey those to the service."""
        for verb in re.findall(r"systemctl (\w+)(?: --now)? racebot$", block, re.MULTILINE):
            await self.obey(verb)

    async def obey(self, verb: str) -> None:
        """Start or stop the bot as systemd would. Skip a restart if no setting has changed."""
        files = [self.folder / ".env", self.folder / "racebot.toml"]
        settings = [path.read_text(encoding="utf-8") for path in files if path.exists()]
        if verb == "restart" and self.service is not None and settings == self.in_force:
            return
        if verb in {"stop", "restart", "disable"} and self.service is not None:
            assert await self.service.terminate() == 0
            self.service = None
        if verb in {"start", "restart", "enable"}:
            assert self.service is None
            self.in_force = settings
            self.service = service = self.start("racebot run")
            await until(lambda: "watching" in service.output or not service.running)
            assert service.running, service.output
            room = self.room
            await until(lambda: room is None or room.recorded or room.listeners)

    async def set(self, block: str) -> None:
        path = self.folder / ".env"
        text = path.read_text(encoding="utf-8")
        for line in block.splitlines():
            name = line.partition("=")[0]
            text, done = re.subn(rf"^(?:# )?{name}=.*$", line, text, flags=re.MULTILINE)
            assert done == 1, f".env.example has no {name}"
        path.write_text(text, encoding="utf-8")

    async def configure(self, block: str) -> None:
        with (self.folder / "racebot.toml").open("a", encoding="utf-8") as file:
            file.write(block)

    async def compare(self, shown: str) -> None:
        if self.printed is not None:
            assert pattern(shown).fullmatch(normal(self.printed)), normal(self.printed)
            return
        assert self.running is not None
        running = self.running
        # It may log other lines in between.
        wanted = pattern(shown.replace("\n", "\n…\n"))

        def is_there() -> object:
            log = re.sub(r"^\d{4}-\d\d-\d\d [\d:,]+ ", "", running.output, flags=re.MULTILINE)
            return wanted.search(normal(log))

        await until(lambda: is_there() or not running.running)
        assert is_there(), normal(running.output)

    async def talk(self, exchange: str) -> None:
        """Say the racers' lines, and compare racebot's: points and odds, too, since the season is fixed."""
        room = self.room
        assert room is not None
        for line in re.sub(r"\n +", " ", exchange).splitlines():
            speaker, _, text = line.partition(": ")
            if speaker == "Racebot":
                await until(lambda: len(said(room)) > self.read)
                assert said(room)[self.read].split() == text.split()
                self.read += 1
            else:
                room.say(self.user(speaker), text)

    async def compare_info(self, shown: str) -> None:
        assert self.room is not None
        assert (self.room.info_bot or "").split() == shown.split()

    def user(self, name: str) -> str:
        (found,) = [user.id for user in self.site.users.values() if user.name == name]
        return found

    # Scenes

    async def press_ctrl_c(self) -> None:
        assert self.running is not None
        os.kill(self.running.pid, signal.SIGINT)
        assert await self.running.ended() in {0, -signal.SIGINT, 130}, self.running.output
        self.running = None

    async def open_race(self) -> None:
        self.room = room = self.site.open_race(GOAL, slug="curious-midfast-0534")
        self.read = 0
        self.site.add_user("Kim")
        for name in ("Ann", "Bo", "Dov", "Kim"):
            room.enter(self.user(name))
        await until(lambda: room.listeners)

    async def finish_race(self) -> None:
        assert self.room is not None
        for entrant in self.room.entrants:
            self.room.ready(entrant.user)
        self.room.count_down()
        self.room.start(ago=timedelta(hours=2))
        self.room.finish(self.user("Bo"), timedelta(minutes=81, seconds=12))
        self.room.finish(self.user("Ann"), timedelta(minutes=82))
        self.room.finish(self.user("Kim"), timedelta(minutes=95))
        self.room.forfeit(self.user("Dov"))

    async def disqualify(self) -> None:
        assert self.room is not None
        self.room.disqualify(self.user("Kim"))

    async def record(self) -> None:
        assert self.room is not None
        self.room.record()
        room = self.room
        await until(lambda: room.bot_meta and room.info_bot)

    async def start_season(self) -> None:
        self.site.category.goals.append(NEXT_GOAL)
        self.room = room = self.site.open_race(NEXT_GOAL, slug="brave-start-0001")
        for name in PEOPLE[:4]:
            room.enter(self.user(name))
        await until(lambda: room.listeners)
        room.count_down()
        room.start(ago=timedelta(hours=2))
        for minutes, name in enumerate(PEOPLE[:4], start=80):
            room.finish(self.user(name), timedelta(minutes=minutes))
        await until(lambda: said(room))
        await self.record()

    async def ask_the_monitor(self) -> None:
        address = f"http://127.0.0.1:{self.ports[MONITOR_PORT]}"
        async with httpx.AsyncClient(timeout=PATIENCE) as client, asyncio.timeout(PATIENCE):
            while (await client.get(f"{address}/healthz")).status_code != 200:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            assert "racebot_races_settled_total" in (await client.get(f"{address}/metrics")).text

    async def open_pages(self) -> None:
        async with httpx.AsyncClient(timeout=PATIENCE) as client:
            answer = await client.get(f"http://127.0.0.1:{self.ports[PAGES_PORT]}/")
        assert GOAL in answer.text

    async def lose_everything(self) -> None:
        """Lose the server. Only the copies on another machine are left."""
        assert self.service is not None
        await self.service.kill()
        self.service = None
        (self.folder / "state/copies").rename(self.folder / "copies")
        shutil.rmtree(self.folder / "state")
        (self.folder / "state").mkdir()


SCENES: dict[str, Callable[[Operator], Awaitable[None]]] = {
    "Ctrl-C": Operator.press_ctrl_c,
    "a race opens": Operator.open_race,
    "the race finishes": Operator.finish_race,
    "somebody is disqualified": Operator.disqualify,
    "the race is recorded": Operator.record,
    "the new season's first race is recorded": Operator.start_season,
    "the pages are opened": Operator.open_pages,
    "the monitor answers": Operator.ask_the_monitor,
    "the server is lost": Operator.lose_everything,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the files of a clone that the guide needs, and put `racebot` on the path."""
    clone = tmp_path / "clone"
    (clone / "state").mkdir(parents=True)
    shutil.copy(ROOT / ".env.example", clone)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "racebot").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m racebot "$@"\n')
    (programs / "racebot").chmod(0o755)
    return clone


@pytest.fixture
def environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{folder.parent / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "100",
        "RACEBOT_QUIET_SECONDS": "0.05",
        "RACEBOT_ROOMS_EVERY": "0.2",
        "RACEBOT_LIST_EVERY": "0.5",
        "RACEBOT_REQUEST_INTERVAL": "0",
    }


@pytest.fixture
def ports() -> Iterator[dict[int, int]]:
    """Return free ports for the ports of the guide."""
    with reserved_port() as pages, reserved_port() as monitor:
        yield {PAGES_PORT: pages, MONITOR_PORT: monitor}


async def test_guide_works_from_top_to_bottom(
    folder: Path, environment: dict[str, str], ports: dict[int, int]
) -> None:
    site = FakeSite(category="smr", goals=(GOAL,), rng=random.Random(7))
    site.category.name = "Super Metroid Randomizer"
    site.add_bot("Racebot", "your-client-id", "your-client-secret")
    season = folder.parent / "season.json"
    season.write_text(json.dumps(past_season(GOAL, 40)))
    history.load(site, season)
    async with serve(site, list_cache=0.0) as address:
        variables = {**environment, "RACEBOT_SITE": address}
        operator = Operator(folder, site, variables, ports=ports)
        try:
            for step in steps(GUIDE):
                try:
                    await operator.follow(step)
                except Exception as error:
                    raise AssertionError(f"{step.page}, line {step.line}: {error}") from error
        finally:
            for process in (operator.running, operator.service):
                if process is not None:
                    await process.kill()


def test_output_may_differ_from_the_guide_only_in_numbers() -> None:
    shown = "60 new races\n…\n 1   2402  Ann\n"
    assert pattern(shown).fullmatch(normal("7 new races\nLeaderboard\n\n  1 99 Ann  \n"))
    assert not pattern(shown).fullmatch(normal("7 new races\n  1 99 Bo\n"))
    assert not pattern(shown).fullmatch(normal("7 new races\n  1 99 Ann\nmore\n"))
