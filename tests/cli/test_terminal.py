"""Output in a terminal: widths, colors, help and completion."""

import io
import re

import pytest
from builders import result, settler_of
from rich.console import Console
from typer.testing import CliRunner

from racebot.cli import tables
from racebot.cli.commands import COMMANDS, SECTIONS, app
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import leaderboard_report
from racebot.queries.player import PlayerReport, player_report
from racebot.queries.race import RaceReport, race_report
from racebot.queries.standings import Listing

from .conftest import Racebot

pytestmark = pytest.mark.usefixtures("restored_logging")

RACE = "orb/incomprehensible-mothmanmoon-1234"
EVERYBODY = Listing(0, 0)


@pytest.fixture
def reports(ledger: Ledger) -> tuple[PlayerReport, RaceReport]:
    """Return the reports of a player and of a race that has a long name, gains and losses."""
    races = [
        result("first", "ann bo cy di", after=0),
        result(RACE.partition("/")[2], "di cy bo ann", after=1),
    ]
    settler_of(ledger, "thurstone-hurdle").add_past_races(races, "import")
    return player_report(ledger, "ann", lambda _: EVERYBODY), race_report(ledger, RACE)


def terminal(width: int, *, colors: bool = True) -> Console:
    return Console(
        file=io.StringIO(),
        width=width,
        force_terminal=True,
        color_system="standard" if colors else None,
        highlight=False,
        legacy_windows=False,
    )


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_race_name_is_neither_wrapped_nor_cut(reports: tuple[PlayerReport, RaceReport], width: int) -> None:
    console = terminal(width)
    tables.print_player(console, reports[0])
    tables.print_race(console, reports[1])
    text = plain(shown(console))
    assert "…" not in text
    assert text.count(RACE.partition("/")[2]) == (2 if width > 60 else 1)
    assert all(len(line) <= width for line in text.splitlines())


def test_reasons_are_below_the_figures(reports: tuple[PlayerReport, RaceReport]) -> None:
    console = terminal(80)
    tables.print_race(console, reports[1])
    lines = plain(shown(console)).splitlines()
    figures = [line for line in lines if re.search(r"\d+→\d+", line)]
    reasons = [line for line in lines if re.search(r"finishing [+−]", line)]
    assert (len(figures), len(reasons)) == (4, 4)
    assert not set(figures) & set(reasons)


def test_gains_are_green_losses_red_and_other_figures_plain(reports: tuple[PlayerReport, RaceReport]) -> None:
    console = terminal(80)
    tables.print_player(console, reports[0])
    tables.print_race(console, reports[1])
    colored = re.findall(r"\x1b\[(3[0-7])m([^\x1b]*)", shown(console))
    assert {color for color, text in colored if text.startswith("+")} == {"32"}
    assert {color for color, text in colored if text.startswith("−")} == {"31"}
    assert all(text[0] in "+−" for _, text in colored)


def test_empty_leaderboard_says_so(ledger: Ledger) -> None:
    races = [result("first", "ann bo", after=0)]
    settler_of(ledger, "elo-ffa").add_past_races(races, "import")
    (board,) = ledger.leaderboards.all()
    console = terminal(80)
    tables.print_leaderboard(console, leaderboard_report(ledger, board, Listing(5, 0)))
    assert "no player listed" in shown(console)
    assert "─" not in shown(console)


@pytest.mark.parametrize("command", ["leaderboard", "rebuild", "improve"])
def test_ledger_without_leaderboards_says_so(ledger: Ledger, racebot: Racebot, command: str) -> None:
    done = racebot(command, "--database", str(ledger.path))
    assert (done.code, tables.NO_BOARDS in done.out.splitlines()) == (0, True)


def test_each_command_has_one_line_under_a_heading() -> None:
    text = CliRunner().invoke(app, ["-h"], terminal_width=80).stdout
    first, *_ = SECTIONS
    headings = [line[:-1] for line in text.splitlines() if re.fullmatch(r"[A-Z][^:]*:", line)]
    assert headings == ["Options", *SECTIONS]
    listed = [line for line in text.partition(f"{first}:\n")[2].splitlines() if line.startswith("  ")]
    assert [line.split()[0] for line in listed] == list(COMMANDS)
    assert all(line.endswith(COMMANDS[line.split()[0]]) for line in listed)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help(command: str) -> None:
    done = CliRunner().invoke(app, [command, "-h"], terminal_width=80)
    assert done.exit_code == 0
    assert f"Usage: root {command}" in done.stdout
    assert f"Example: racebot {command}" in done.stdout
    assert not [line for line in done.stdout.splitlines() if re.match(r"\s*--.*list\[", line)]


def test_a_misspelt_command_is_told_the_right_one() -> None:
    done = CliRunner().invoke(app, ["stauts"])
    assert (done.exit_code, "'status'" in done.stderr) == (2, True)
