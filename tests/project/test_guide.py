"""Follow the operator's guide from top to bottom: its commands in a shell, its chat in a room.

Comments in the guide, which its readers do not see, mark what is not simply a command to run:

- `elsewhere` is not followed here: it needs root, Docker, the network or another machine.
- `keeps running` starts the bot, which runs until the guide's end. `fails` is for exit code 2.
- Below `chat`, racers say their lines, and racebot must say its own. `info box` is the race's information.
- `follow PAGE` sends the operator to another page. A name of `SCENES` makes it happen.

A `text` block is the output of the command before it. Numbers and dates may differ, and `…` stands for any
lines. COPY is the copy that the command before named. `ini` and `toml` blocks are settings.
"""

import asyncio
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT
from typing import NamedTuple

from past_season import add_races, past_season
from worker_support import PATIENCE, RACE_CACHE, WorkerProcess, said, start, until

from racebot.sandbox.room import FakeRoom
from racebot.sandbox.server import serve
from racebot.sandbox.site import FakeSite

ROOT = Path(__file__).parents[2]
GOAL = "Map Rando S4"
MARKS = {"elsewhere", "keeps running", "fails", "chat", "info box"}
SCENES = ("a race opens", "the race finishes", "somebody is disqualified", "the race is recorded")


class Step(NamedTuple):
    """A block or scene of the guide. `kind` is the block's language, or `scene`."""

    place: str
    kind: str
    body: str
    mark: str


def steps(page: str) -> Iterator[Step]:
    """Yield the blocks and scenes of a page and of the pages that it sends the reader to, in order."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    mark = ""
    for found in re.finditer(r"^<!-- (.*?) -->$|^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        place = f"{page}, line {text.count(chr(10), 0, found.start()) + 1}"
        note, kind, body = found.groups()
        if note is None:
            yield Step(place, kind, body, mark)
            mark = ""
        elif note in MARKS:
            mark = note
        elif note.startswith("follow "):
            yield from steps(note.removeprefix("follow "))
        else:
            assert note in SCENES, f"{place}: neither a mark nor a scene: {note}"
            yield Step(place, "scene", note, "")


def normal(text: str) -> str:
    """Replace everything in an output that differs from run to run."""
    text = re.sub(r"https?://127\.0\.0\.1:\d+", "https://racetime.gg", text)
    text = re.sub(r"\d[\d.,:]*\d|\d", "#", text)
    text = re.sub(r"─+", "─", text.replace("# second ", "# seconds "))
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "".join(f"{line}\n" for line in lines if line)


def pattern(shown: str) -> re.Pattern[str]:
    """Return an expression that matches the `normal` form of an output that the guide shows."""
    lines = normal(shown).splitlines()
    return re.compile("".join("(?:.*\n)*?" if line == "…" else re.escape(line) + "\n" for line in lines))


@dataclass
class Operator:
    """Follows the guide with a shell in a folder and a race room on the site."""

    folder: Path
    site: FakeSite
    environment: dict[str, str]
    printed: str = ""
    bot: WorkerProcess | None = None
    room: FakeRoom | None = None
    read: int = 0
    """Number of racebot's messages in the room that were compared with the guide."""

    async def follow(self, step: Step) -> None:
        match step.kind, step.mark:
            case _, "elsewhere":
                pass
            case "scene", _:
                await self.play(step.body)
            case "sh", "keeps running":
                log = self.folder / "running.log"
                self.bot = bot = start(shlex.split(step.body)[1:], self.environment, self.folder, log)
                await until(lambda: "watching" in bot.output or not bot.running)
                self.printed = re.sub(r"^\S+ [\d:,]+ ", "", bot.output, flags=re.MULTILINE)
            case "sh", mark:
                await self.run(step.body, code=2 if mark == "fails" else 0)
            case "text", "chat":
                await self.talk(step.body)
            case "text", "info box":
                assert ((self.room and self.room.info_bot) or "").split() == step.body.split()
            case "text", _:
                assert pattern(step.body).fullmatch(normal(self.printed)), normal(self.printed)
            case "ini", _:
                path = self.folder / ".env"
                text = path.read_text(encoding="utf-8")
                for line in step.body.splitlines():
                    name = line.partition("=")[0]
                    text, done = re.subn(rf"^(?:# )?{name}=.*$", line, text, flags=re.MULTILINE)
                    assert done == 1, f".env.example has no {name}"
                path.write_text(text, encoding="utf-8")
            case kind, _:
                assert kind == "toml"
                (self.folder / "racebot.toml").write_text(step.body, encoding="utf-8")

    async def run(self, block: str, code: int) -> None:
        if copied := re.findall(r"^\S+Z\.db$", self.printed, re.MULTILINE):
            block = block.replace("COPY", copied[0])
        commands = [shlex.split(line, comments=True) for line in block.splitlines()]
        if re.search(r"[$&*<>\\`|]", block) or any(command[0] != "racebot" for command in commands):
            run = partial(subprocess.run, cwd=self.folder, env=self.environment, timeout=PATIENCE)
            command = ["bash", "-euo", "pipefail", "-c", block]
            done = await asyncio.to_thread(run, command, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, text=True)
            self.printed, returned = done.stdout, done.returncode
        else:  # without a shell, where each command would load the libraries again
            self.printed, returned = "", 0
            while commands and not returned:
                _, *arguments = commands.pop(0)
                process = start(arguments, self.environment, self.folder, self.folder / "commands.log")
                returned = await process.ended()
                self.printed += process.output
        assert returned == code, self.printed

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

    def user(self, name: str) -> str:
        (found,) = [user.id for user in self.site.users.values() if user.name == name]
        return found

    async def play(self, scene: str) -> None:
        if scene == SCENES[0]:
            self.room = self.site.open_race(GOAL, slug="curious-midfast-0534")
            self.site.add_user("Kim")
        room = self.room
        assert room is not None
        match scene:
            case "a race opens":
                for name in ("Ann", "Bo", "Dov", "Kim"):
                    room.enter(self.user(name))
                await until(lambda: room.listeners)
            case "the race finishes":
                room.count_down()
                room.start(ago=timedelta(hours=2))
                for name, minutes in {"Bo": 81.2, "Ann": 82, "Kim": 95}.items():
                    room.finish(self.user(name), timedelta(minutes=minutes))
                room.forfeit(self.user("Dov"))
            case "somebody is disqualified":
                room.disqualify(self.user("Kim"))
            case "the race is recorded":
                room.record()
                await until(lambda: room.bot_meta and room.info_bot)


async def test_guide_works_from_top_to_bottom(tmp_path: Path) -> None:
    folder, programs, season = tmp_path / "clone", tmp_path / "bin", tmp_path / "season.json"
    (folder / "state").mkdir(parents=True)
    shutil.copy(ROOT / ".env.example", folder)
    programs.mkdir()
    (programs / "racebot").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m racebot "$@"\n')
    (programs / "racebot").chmod(0o755)
    site = FakeSite(category="smr", goals=(GOAL,), rng=random.Random(7))
    site.category.name = "Super Metroid Randomizer"
    site.add_bot("Racebot", "your-client-id", "your-client-secret")
    past = past_season(GOAL, 40)
    season.write_text(json.dumps(past))
    add_races(site, past["races"], GOAL)
    path = {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    fast = {"QUIET_SECONDS": "0.05", "ROOMS_EVERY": "0.2", "LIST_EVERY": "0.5", "REQUEST_INTERVAL": "0"}
    async with serve(site, list_cache=0.0, race_cache=RACE_CACHE) as address:
        settings = {f"RACEBOT_{name}": value for name, value in {**fast, "SITE": address}.items()}
        operator = Operator(folder, site, {**os.environ, **path, **settings})
        try:
            for step in steps("operating.md"):
                try:
                    await operator.follow(step)
                except Exception as error:
                    raise AssertionError(f"{step.place}: {error}") from error
        finally:
            if operator.bot is not None:
                await operator.bot.kill()
