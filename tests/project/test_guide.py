"""Follow the operator's guide from top to bottom: its commands in a shell, its chat in a room.

Comments in the guide, which its readers do not see, mark what is not simply a command to run:

- `<!-- elsewhere -->` before commands that need root, Docker or the network. The test compares them with this
  repository, and starts and stops the bot as `systemctl` would.
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
from pathlib import Path

import httpx
import pytest
from past_season import PEOPLE, past_season
from worker_support import PATIENCE, WorkerProcess, reserved_port, said, start, until

from racebot.cli.commands import COMMANDS, load_command
from racebot.sandbox import history
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.server import serve
from racebot.sandbox.site import FakeSite

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GUIDE = "operating.md"
GOAL, NEXT_GOAL = "Map Rando S4", "Map Rando S5"
PAGES_PORT, MONITOR_PORT = 8080, 9100

MARKS = {"elsewhere", "keeps running", "fails", "chat", "info box"}
PROGRAMS = {
    ".venv/bin/pip", "cd", "chmod", "chown", "cp", "docker", "git", "journalctl", "litestream", "python3",
    "rsync", "systemctl", "tee", "useradd",
}  # fmt: skip


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
    text = (DOCS / page).read_text(encoding="utf-8")
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


def turns(exchange: str) -> Iterator[tuple[str, str]]:
    """Yield each speaker and line of an exchange. An indented line continues the one above."""
    for line in re.sub(r"\n +", " ", exchange).splitlines():
        speaker, _, text = line.partition(": ")
        yield speaker, text


# Commands that cannot run here


def commands(block: str) -> Iterator[list[str]]:
    """Yield the words of each command of a block, without `sudo` and its user."""
    for line in re.sub(r"\\\n", " ", block).splitlines():
        words: list[str] = []
        for word in [*shlex.split(line, comments=True), "&&"]:
            if word not in {"&&", "|"}:
                words.append(word)
                continue
            if words[:1] == ["sudo"]:
                words = words[3:] if words[1] == "-u" else words[1:]
            if words:
                yield words
            words = []


def check_elsewhere(block: str) -> None:
    """Check that the commands of a block use only files, services and options that exist."""
    for program, *rest in commands(block):
        check_command(program, rest)


def check_command(program: str, rest: list[str]) -> None:
    for word in rest:
        if word.startswith((".env", "deploy/")):
            assert word == ".env" or (ROOT / word).exists(), f"there is no {word}"
    if program == "docker":
        bare = any(word.startswith("--entrypoint=") for word in rest)
        service, *rest = compose_service(rest)
        assert f"\n  {service}:\n" in (ROOT / "deploy/compose.yaml").read_text(encoding="utf-8"), service
        program, rest = (rest[0], rest[1:]) if rest[:1] == ["racebot"] else ("racebot", rest)
        if bare or not rest:
            return
    if program in {"racebot", ".venv/bin/racebot"}:
        check_racebot(rest)
        return
    assert program in PROGRAMS, f"an unknown program: {program}"
    if program in {"systemctl", "journalctl"}:
        units = [word for word in rest if word.startswith("racebot")]
        assert units, rest
        for unit in units:
            assert any((ROOT / place / f"{unit}.service").exists() for place in ("deploy", "racebot/cli")), (
                unit
            )
    if program == ".venv/bin/pip":
        for extra in re.findall(r"\.\[(\w+)\]", " ".join(rest)):
            assert f"\n{extra} = [" in (ROOT / "pyproject.toml").read_text(encoding="utf-8"), extra


def compose_service(words: list[str]) -> list[str]:
    """Return the service of a `docker compose` command, and the command that runs in it."""
    assert words[:3] == ["compose", "-f", "deploy/compose.yaml"], words
    words = words[3:]
    if words[0] == "--profile":
        words = words[2:]
    verb, *rest = words
    assert verb in {"run", "exec", "up", "stop", "restart", "logs", "down", "cp"}, verb
    if verb == "cp":
        return [next(word for word in rest if ":" in word).partition(":")[0]]
    plain = [word for word in rest if not word.startswith("--")]
    return plain if verb in {"run", "exec"} else plain or ["racebot"]


def check_racebot(words: list[str]) -> None:
    """Check the name and options of a racebot command."""
    name, *rest = words
    assert name in COMMANDS, f"there is no racebot {name}"
    known = {option for parameter in load_command(name).params for option in parameter.opts}
    for word in rest:
        if word.startswith("--"):
            assert word.partition("=")[0] in known, f"racebot {name} has no {word}"


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
            ("sh", "fails"): self.run_in_vain,
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

    async def run_in_vain(self, block: str) -> None:
        await self.run(block, code=2)

    async def run_on(self, block: str) -> None:
        assert self.running is None, "another command is still running"
        self.running = self.start(block)
        self.printed = None

    def start(self, block: str) -> WorkerProcess:
        (words,) = commands(block)
        assert words[0] == "racebot"
        return start(words[1:], self.environment, self.folder, self.folder / "running.log")

    async def look_at(self, block: str) -> None:
        check_elsewhere(block)
        for words in commands(block):
            if words[0] == "systemctl" and words[-1] == "racebot":
                await self.obey(words[1])

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
            return wanted.search(normal(without_dates(running.output)))

        await until(lambda: is_there() or not running.running)
        assert is_there(), normal(running.output)

    async def talk(self, exchange: str) -> None:
        assert self.room is not None
        for speaker, text in turns(exchange):
            if speaker == "Racebot":
                await self.hear(self.room, text)
            else:
                self.room.say(self.user(speaker), text)

    async def hear(self, room: FakeRoom, text: str) -> None:
        await until(lambda: len(said(room)) > self.read)
        # Points and odds, too: the season is the same in each run.
        assert said(room)[self.read].split() == text.split()
        self.read += 1

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


def without_dates(log: str) -> str:
    """Remove the time at the start of each line of a log."""
    return re.sub(r"^\d{4}-\d\d-\d\d [\d:,]+ ", "", log, flags=re.MULTILINE)


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


@pytest.mark.parametrize(
    "block",
    [
        "sudo -u racebot .venv/bin/racebot restore",
        "sudo -u racebot .venv/bin/racebot backup --to copies",
        "sudo cp deploy/racebot.timer /etc/systemd/system/",
        "sudo systemctl restart racebot-pages",
        "docker compose -f deploy/compose.yaml exec bot racebot status",
        "docker compose -f deploy/compose.yaml exec racebot racebot state",
        "sudo .venv/bin/pip install -q -e '.[pages]'",
        "reboot",
    ],
)
def test_commands_that_are_not_run_are_checked_against_the_repository(block: str) -> None:
    with pytest.raises(AssertionError):
        check_elsewhere(block)


def test_output_may_differ_from_the_guide_only_in_numbers() -> None:
    shown = "60 new races\n…\n 1   2402  Ann\n"
    assert pattern(shown).fullmatch(normal("7 new races\nLeaderboard\n\n  1 99 Ann  \n"))
    assert not pattern(shown).fullmatch(normal("7 new races\n  1 99 Bo\n"))
    assert not pattern(shown).fullmatch(normal("7 new races\n  1 99 Ann\nmore\n"))
