"""A ledger file damaged at random: every command says so in one line, and none ends in a traceback."""

import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from builders import CATEGORY, NOON, result, settler_of
from typer.testing import CliRunner

from racebot.cli.commands import app
from racebot.cli.setup import examine
from racebot.errors import LedgerError, LedgerUnavailable, RacebotError
from racebot.ledger.outbox import CaseRow, ChatBody, Message
from racebot.ledger.store import Ledger
from racebot.settings.model import Settings

pytestmark = pytest.mark.usefixtures("restored_logging")

SEEDS = [seed if seed < 7 else pytest.param(seed, marks=pytest.mark.long) for seed in range(35)]
"""One for each of `WAYS`, and four more in long runs."""
COMMANDS = (["status"], ["verify"], ["doctor"], ["backup"], ["leaderboard"])
PAGE = 4096
GOALS = ("Any Orb", "All Orbs")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A sound ledger file with rated races, a message and a pending race."""
    path = tmp_path_factory.mktemp("whole") / "ledger.db"
    with Ledger.open(path) as ledger:
        races = [
            result(f"r{number:02}", "ann bo cy di", dnf="ed fay", after=number, goal=GOALS[number % 2])
            for number in range(24)
        ]
        settler_of(ledger, "plackett-luce").add_past_races(races, "import")
        ledger.messages.put(Message("orb/r01", CATEGORY, "g", ChatBody("hi")), NOON)
        ledger.cases.save(CaseRow("orb/p", CATEGORY, NOON, NOON))
    return path.read_bytes()


def flipped(content: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice([1, 4, 16, 64])):
        content[rng.randrange(100, len(content))] ^= 1 << rng.randrange(8)


def overwritten(content: bytearray, rng: random.Random) -> None:
    start = rng.randrange(100, len(content) - 64)
    content[start : start + 64] = rng.randbytes(64)


def page_zeroed(content: bytearray, rng: random.Random) -> None:
    start = PAGE * rng.randrange(1, len(content) // PAGE)
    content[start : start + PAGE] = bytes(PAGE)


def pages_swapped(content: bytearray, rng: random.Random) -> None:
    a, b = (PAGE * page for page in rng.sample(range(1, len(content) // PAGE), 2))
    content[a : a + PAGE], content[b : b + PAGE] = content[b : b + PAGE], content[a : a + PAGE]


def cut_off(content: bytearray, rng: random.Random) -> None:
    del content[rng.randrange(PAGE, len(content)) :]


def text_altered(content: bytearray, rng: random.Random) -> None:
    """Digits inside stored text, which SQLite cannot notice."""
    for _ in range(8):
        at = rng.randrange(PAGE, len(content))
        if chr(content[at]) in '0123456789[]{}",:.':
            content[at] = ord(rng.choice("0123456789[]x"))


def name_broken(content: bytearray, rng: random.Random) -> None:
    """A table that SQLite cannot read, with a name that is no UTF-8: nor is SQLite's error message then."""
    content[content.index(b"CREATE TABLE players")] ^= 1
    content[content.index(b"tableplayers") + len("tablep")] = 0xFF


WAYS: list[Callable[[bytearray, random.Random], None]] = [
    flipped,
    overwritten,
    page_zeroed,
    pages_swapped,
    cut_off,
    text_altered,
    name_broken,
]


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RACEBOT_DATABASE", str(tmp_path / "ledger.db"))
    return tmp_path / "ledger.db"


@pytest.mark.parametrize("seed", SEEDS)
def test_damaged_ledger_is_reported_in_one_line(seed: int, whole: bytes, database: Path) -> None:
    content = bytearray(whole)
    WAYS[seed % len(WAYS)](content, random.Random(seed))
    for arguments in COMMANDS:
        database.write_bytes(content)
        error = CliRunner().invoke(app, arguments).exception
        if error is not None and not isinstance(error, SystemExit):
            assert isinstance(error, RacebotError), (arguments, error)
            assert str(error).isprintable()
        for beside in ("-wal", "-shm"):
            database.with_name(database.name + beside).unlink(missing_ok=True)


@pytest.fixture
def inconsistent(whole: bytes, database: Path) -> Path:
    """A ledger that every query can read and that agrees with a replay: only `integrity_check` objects."""
    database.write_bytes(whole)
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA ignore_check_constraints = ON")
    connection.execute("UPDATE outbox SET kind = 'nonsense'")
    connection.commit()
    connection.close()
    return database


def test_verify_runs_the_integrity_check(inconsistent: Path) -> None:
    outcome = CliRunner().invoke(app, ["verify"])
    assert outcome.exit_code == 1
    assert "outbox" in outcome.stderr
    assert "restore a backup" in outcome.stderr


async def test_doctor_runs_the_integrity_check(inconsistent: Path) -> None:
    wrong = [f.text async for f in examine(Settings(database=inconsistent)) if not f.good]
    assert any("outbox" in text for text in wrong)


def test_backup_runs_the_integrity_check(inconsistent: Path) -> None:
    folder = inconsistent.parent / "copies"
    with Ledger.open(inconsistent) as ledger, pytest.raises(LedgerError, match="not intact") as refusal:
        ledger.back_up(folder, keep=1, now=NOON)
    assert list(folder.iterdir()) == []
    assert not isinstance(refusal.value, LedgerUnavailable), "it does not pass by itself"
