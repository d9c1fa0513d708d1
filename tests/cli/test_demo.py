"""The demo, played once at high speed in a separate process."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.cells import cell_len

from racebot.cli.run import publication_of
from racebot.ledger.store import Ledger
from racebot.settings.model import Settings
from racebot.web.routes import Pages
from racebot.web.site.ledger_view import Document, LedgerView

PAST, LIVE = 200, 2
WIDTH = 90
CHAT = Path(__file__).parents[2] / "docs" / "chat.md"


@dataclass(frozen=True)
class Shown:
    out: str
    err: str
    database: Path


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    folder = tmp_path_factory.mktemp("demo")
    database = folder / "demo.db"
    command = [sys.executable, "-m", "racebot", "demo", "--speed", "20", "--database", str(database)]
    wide = {**os.environ, "COLUMNS": str(WIDTH)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder, env=wide)
    return Shown(done.stdout, done.stderr, database)


def test_the_demo_rates_past_races_and_the_live_ones(shown: Shown) -> None:
    with Ledger.open_to_read(shown.database) as ledger:
        counts = {board.name: ledger.ratings.count(board) for board in ledger.leaderboards.all()}
        assert counts == {"Orb League": 1, "Sandbox 100%": PAST + LIVE}
    assert "Ratings (Orb League), final in" in shown.out
    assert shown.err == ""
    assert f"{PAST + LIVE} races" in shown.out
    assert shown.out.rstrip().endswith(f"web --database {shown.database}")


def test_demo_races_change_ratings_by_tens_of_points(shown: Shown) -> None:
    with Ledger.open_to_read(shown.database) as ledger:
        board = next(each for each in ledger.leaderboards.all() if each.goals)
        names = re.findall(r"^(sandbox/\S+)  Sandbox 100%", shown.out, re.MULTILINE)
        assert len(names) == LIVE
        for name in names:
            row = ledger.ratings.get(board, name)
            assert row is not None
            assert 10 <= max(abs(change.points_change) for change in row.changes) < 100


def test_pages_of_the_demo_link_to_no_room(shown: Shown) -> None:
    with Ledger.open_to_read(shown.database) as ledger:
        view = LedgerView(ledger, publication_of(Settings(database=shown.database), ledger))
        (name, *_) = re.findall(r"^sandbox/(\S+)  Sandbox 100%", shown.out, re.MULTILINE)
        page = Pages(view, served=True).document(f"races/sandbox/{name}.html", {})
    assert isinstance(page, Document) and name in page.body.decode()
    assert "racetime.gg" not in page.body.decode()


def test_every_chat_command_in_the_demo_is_answered(shown: Shown) -> None:
    lines = [line for line in shown.out.splitlines() if re.match(r"  \S", line)]
    asked = [number for number, line in enumerate(lines) if re.search(r": !\w+", line)]
    commands = {lines[number].partition(": !")[2].split()[0] for number in asked}
    assert commands == {"odds", "why", "vs", "leaderboard"}
    assert all(lines[number + 1].startswith("  Racebot: ") for number in asked)


def test_the_page_about_chat_shows_what_the_demo_says(shown: Shown) -> None:
    """If this fails, run `python docs/make_pictures.py` and look at the pictures."""
    (block,) = re.findall(r"```text\n(Race finished.*?)```", CHAT.read_text(encoding="utf-8"), re.DOTALL)
    said = {" ".join(line.split()) for line in re.sub(r"\n {4}", " ", shown.out).splitlines()}
    first, *others = re.sub(r"\n +", " ", block).splitlines()
    # The demo's own time of the race depends on the machine.
    assert f"with a time of {first.removeprefix('Race finished in ')}!" in shown.out
    for line in others:
        assert " ".join(line.split()) in said


def test_chat_fits_the_terminal(shown: Shown) -> None:
    chat = shown.out.partition("(thurstone-hurdle)")[0]
    assert all(cell_len(line) <= WIDTH for line in chat.splitlines())
