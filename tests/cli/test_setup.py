"""`racebot setup`, driven through a pseudo-terminal beside a sandbox."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pexpect
import pytest
from forks import fork
from past_season import add_races, past_season
from pexpect.fdpexpect import fdspawn
from spoiler import Spoiler
from worker_support import PATIENCE, finish, said, served, start, until

from racebot.ledger.lock import locked
from racebot.ledger.store import Ledger
from racebot.sandbox.site import CLIENT_ID, CLIENT_SECRET, FakeSite
from racebot.settings.sources import load

from .conftest import Racebot

if sys.platform != "win32":
    import termios
    from multiprocessing.context import ForkServerProcess

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")

GOALS = ("Map Rando S4", "Any%")
QUESTIONS = (
    ("Category", "smr"),
    ("Client id", CLIENT_ID),
    ("Client secret", CLIENT_SECRET),
)
"""The questions before anything is saved, each with an answer that is accepted."""


@dataclass
class SetupRun:
    """A sandbox with past races, and an empty folder for the bot."""

    site: FakeSite
    address: str
    misbehaviour: Spoiler
    folder: Path
    terminals: list[Terminal] = field(default_factory=list)

    def environment(self, **extra: str) -> dict[str, str]:
        """Return an environment without programs or colors."""
        # Compiling the models' kernels would take longer than the few races here.
        fixed = {"NUMBA_DISABLE_JIT": "1", "TERM": "dumb", "COLUMNS": "80", "RACEBOT_REQUEST_INTERVAL": "0"}
        return {**os.environ, **fixed, "PATH": str(self.folder / "no-programs"), **extra}

    def start(self, *options: str) -> Terminal:
        """Start setup in a terminal of 80 columns."""
        own, given = os.openpty()
        termios.tcsetwinsize(given, (40, 80))
        arguments = ["setup", "--site", self.address, *options]
        terminal = Path(os.ttyname(given))
        process = fork(arguments, self.environment(), self.folder, terminal, terminal)
        os.close(given)
        self.terminals.append(Terminal(own, process))
        return self.terminals[-1]


class Terminal(fdspawn):  # type: ignore[misc]
    """A terminal in which a process runs."""

    def __init__(self, descriptor: int, process: ForkServerProcess) -> None:
        super().__init__(descriptor, timeout=PATIENCE, encoding="utf-8")
        self._process = process

    def expect_question(self, question: str) -> None:
        """Wait for a question, and for the echo to be off if the answer is a secret."""
        self.expect(rf"{question}[^\r\n]*:\s$")
        # Turning the echo off discards everything typed before.
        while "secret" in question and termios.tcgetattr(self.child_fd)[3] & termios.ECHO:
            time.sleep(0.01)

    def interrupt(self) -> str:
        """Press Ctrl-C, and return the output until the process ends.

        Python misses an interrupt that comes just before it starts to read from the terminal: the signal's
        handler only sets a flag, and the read then waits. So wait until the process sleeps, where the system
        tells, and press the keys again otherwise, as people do.
        """
        state = Path(f"/proc/{self._process.pid}/stat")
        while state.exists() and state.read_text().rpartition(")")[2].split()[0] not in {"S", "Z"}:
            time.sleep(0.01)
        for _ in range(10):
            self.send("\x03")
            if self.expect([pexpect.EOF, pexpect.TIMEOUT], timeout=PATIENCE / 10) == 0:
                break
        return self._ended(130)

    def rest(self, code: int) -> str:
        """Return the output until the process ends, with an exit code."""
        self.expect(pexpect.EOF)
        return self._ended(code)

    def _ended(self, code: int) -> str:
        self._process.join(PATIENCE)
        assert self._process.exitcode == code, self.before
        return str(self.before)

    def leave(self) -> None:
        """Close the terminal, and kill a process that still runs."""
        self._process.kill()
        self.close()


@asynccontextmanager
async def setup_sandbox(folder: Path, races: int) -> AsyncIterator[SetupRun]:
    site, misbehaviour = FakeSite(category="smr", goals=GOALS), Spoiler()
    add_races(site, past_season(GOALS[0], races)["races"], GOALS[0])
    (folder / "bot").mkdir()
    async with served(site, misbehaviour) as address:
        made = SetupRun(site, address, misbehaviour, folder / "bot")
        try:
            yield made
        finally:
            for terminal in made.terminals:
                terminal.leave()


@pytest.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[SetupRun]:
    async with setup_sandbox(tmp_path, 5) as made:
        yield made


def answer(terminal: Terminal, *exchanges: tuple[str, str]) -> str:
    """Answer questions in turn, and return everything shown up to the last one."""
    shown = ""
    for question, text in exchanges:
        terminal.expect_question(question)
        shown += str(terminal.before) + str(terminal.after)
        terminal.sendline(text)
    return shown


async def talk(sandbox: SetupRun, *exchanges: tuple[str, str], until: str = "", code: int = 0) -> str:
    """Answer questions in turn, and return everything shown to the end, or to Ctrl-C at a text."""

    def talked() -> str:
        terminal = sandbox.start()
        shown = answer(terminal, *exchanges)
        if until:
            terminal.expect(until)
            shown += str(terminal.before) + terminal.interrupt()
            assert "Traceback" not in shown
            return shown
        return shown + terminal.rest(code)

    return await asyncio.to_thread(talked)


async def test_owner_gets_from_an_empty_folder_to_a_rating_message(tmp_path: Path) -> None:
    async with setup_sandbox(tmp_path, 120) as sandbox:
        shown = await talk(sandbox, *QUESTIONS)
        assert CLIENT_SECRET not in shown
        assert "Start the bot" in shown
        assert all(len(line) <= 80 for line in shown.splitlines() if "━" not in line)
        settings = load(sandbox.folder)
        assert settings.category == "smr"
        assert stat.S_IMODE((sandbox.folder / ".env").stat().st_mode) == 0o600
        with Ledger.open_to_read(sandbox.folder / "state" / "racebot.db") as ledger:
            (board,) = ledger.leaderboards.all()
            assert ledger.ratings.count(board) == 120
        fast = {"RACEBOT_QUIET_SECONDS": "0.1", "RACEBOT_ROOMS_EVERY": "0.2"}
        worker = start(["run"], sandbox.environment(**fast), sandbox.folder, tmp_path / "log")
        try:
            room = sandbox.site.open_race(GOALS[0])
            for name in ("Ann", "Bo"):
                room.enter(name)
                room.ready(name)
            room.count_down()
            room.start(ago=timedelta(hours=1))
            finish(room, 50, 51)
            await until(lambda: any("Ann" in text for text in said(room)))
        finally:
            await worker.kill()


@pytest.mark.parametrize("question", range(len(QUESTIONS)))
async def test_ctrl_c_and_ctrl_d_at_a_question_leave_nothing(sandbox: SetupRun, question: int) -> None:
    def end() -> str:
        terminal = sandbox.start()
        answer(terminal, *QUESTIONS[:question])
        terminal.expect_question(QUESTIONS[question][0])
        if question:
            return terminal.interrupt()
        terminal.send("\x04")  # Ctrl-D
        return terminal.rest(130)

    shown = await asyncio.to_thread(end)
    assert "Traceback" not in shown
    assert "Nothing was saved" in shown
    assert not list(sandbox.folder.iterdir())


async def test_ctrl_c_while_fetching_keeps_the_settings(sandbox: SetupRun) -> None:
    sandbox.misbehaviour.fail_http(50, 503, retry_after="3600", path="/races/data")
    assert "saved" in await talk(sandbox, *QUESTIONS, until="Fetching")
    assert load(sandbox.folder).category == "smr"


async def test_questions_are_repeated_after_wrong_answers(sandbox: SetupRun) -> None:
    categories = [("Category", text) for text in ("S M R", "smrr", f"{sandbox.address}/smr")]
    refused = ("Client id", CLIENT_ID), ("Client secret", "wrong")
    shown = await talk(sandbox, *categories, *refused, *QUESTIONS[1:])
    assert "no category 'smrr'" in shown
    assert CLIENT_SECRET not in shown
    assert load(sandbox.folder).category == "smr"


async def test_a_category_of_others_needs_no_secret(sandbox: SetupRun) -> None:
    await talk(sandbox, ("Category", "smr"), ("Client id", ""))
    (category,) = load(sandbox.folder).required_categories()
    assert (category.slug, category.client_id, category.client_secret) == ("smr", None, None)


async def test_question_is_repeated_while_the_site_is_unavailable_or_refuses(sandbox: SetupRun) -> None:
    sandbox.misbehaviour.fail_http(2, 503, path="/smr/data")

    def set_up() -> str:
        terminal = sandbox.start()
        shown = answer(terminal, *QUESTIONS[:1], *QUESTIONS[:2])
        sandbox.misbehaviour.fail_http(1, 403, path="/smr/data")
        answer(terminal, QUESTIONS[2])
        terminal.expect_question("Client id")
        shown += str(terminal.before)
        terminal.interrupt()
        return shown

    shown = await asyncio.to_thread(set_up)
    assert "503" in shown
    assert "must belong to a bot" in " ".join(shown.split())
    assert not list(sandbox.folder.iterdir())


async def test_setup_offers_the_saved_answers(sandbox: SetupRun) -> None:
    (sandbox.folder / ".env").write_text(
        f"# ours\nRACEBOT_CATEGORY=smr\nRACEBOT_CLIENT_ID={CLIENT_ID}\n"
        f"RACEBOT_CLIENT_SECRET={CLIENT_SECRET}\n"
        "RACEBOT_GOALS=Any%\nRACEBOT_MINIMUM_FINISHES=3 # lower\n"
    )

    kept = [(question, "") for question in ("Category", "Client id", "Client secret")]
    assert CLIENT_SECRET not in await talk(sandbox, *kept)
    text = (sandbox.folder / ".env").read_text()
    assert text.startswith("# ours\nRACEBOT_CATEGORY=smr\n")
    assert "RACEBOT_MINIMUM_FINISHES=3 # lower\n" in text
    assert load(sandbox.folder).goals == ["Any%"]


async def test_new_secret_takes_the_place_of_its_file(sandbox: SetupRun) -> None:
    (sandbox.folder / "secret").write_text("an old one\n")
    (sandbox.folder / ".env").write_text(
        f"RACEBOT_CATEGORY=smr\nRACEBOT_CLIENT_ID={CLIENT_ID}\nRACEBOT_CLIENT_SECRET_FILE=secret\n"
    )
    await talk(sandbox, ("Category", ""), ("Client id", ""), *QUESTIONS[2:])
    (category,) = load(sandbox.folder).required_categories()
    assert category.client_secret and category.client_secret.get_secret_value() == CLIENT_SECRET


async def test_setup_asks_to_restart_a_running_bot(sandbox: SetupRun) -> None:
    with locked(sandbox.folder / "state" / "racebot.db"):
        assert "Restart it" in await talk(sandbox, *QUESTIONS)


async def test_variable_over_an_answer_is_named(sandbox: SetupRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RACEBOT_CATEGORY", "other")
    shown = await talk(sandbox, *QUESTIONS, code=2)
    assert "RACEBOT_CATEGORY is set in the environment" in shown
    assert not list(sandbox.folder.iterdir())


def test_setup_needs_a_terminal_and_one_category(racebot: Racebot, tmp_path: Path) -> None:
    assert "terminal" in racebot("setup").complaints[0]
    (tmp_path / "racebot.toml").write_text('[[categories]]\nslug = "smr"\n')
    assert "[[categories]]" in racebot("setup").complaints[0]
    assert racebot("setup").code == 2
