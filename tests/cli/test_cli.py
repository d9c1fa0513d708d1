"""Commands as an operator types them, in this process unless a separate one matters."""

import json
import logging
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import pytest
from builders import GOAL, entrant_document, listed_document
from forks import fork
from worker_support import PATIENCE

from racebot import logs
from racebot.cli import MAY_PASS
from racebot.cli.common import day, print_json, tell
from racebot.errors import (
    CredentialsError,
    LedgerError,
    LedgerUnavailable,
    NotFoundError,
    RacebotError,
    SettingsError,
    SiteError,
    install_hint,
)
from racebot.ledger.lock import Heartbeat, utc_now, write_heartbeat
from racebot.ledger.store import Ledger

from .conftest import Racebot

SECRET = "hush-hush-1234"
SIMPLE = "initial_rating=1; dummy=none; rates=0.2"
ANN_BO = [entrant_document("ann", "done", "PT1H", 1), entrant_document("bo", "done", "PT2H", 2)]
RACES = [
    listed_document("first", ANN_BO, recorded=True),
    listed_document("open", ANN_BO, recorded=False),
    listed_document("second", ANN_BO[:1], recorded=True, ended_at="2026-03-02T12:00:00Z"),
    listed_document(
        "other",
        ANN_BO,
        recorded=True,
        goal={"name": "All Orbs", "custom": False},
        ended_at="2026-03-03T12:00:00Z",
    ),
]


@pytest.fixture(autouse=True)
def folder(racebot: Racebot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a file of races and settings of a simple model."""
    monkeypatch.setenv("RACEBOT_DATABASE", str(tmp_path / "ledger.db"))
    monkeypatch.setenv("RACEBOT_MODEL", "pairwise-elo")
    monkeypatch.setenv("RACEBOT_PARAMETERS", SIMPLE)
    monkeypatch.setenv("RACEBOT_MINIMUM_FINISHES", "0")
    (tmp_path / "races.json").write_text(json.dumps(RACES), encoding="utf-8")
    return tmp_path


@pytest.fixture
def filled(racebot: Racebot) -> Racebot:
    assert racebot("import", "races.json").code == 0
    return racebot


# A separate process


def process(*words: str) -> tuple[int, str, str]:
    """Run a command in a shell."""
    command = f"{sys.executable} -m racebot {' '.join(words)}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)  # noqa: S602
    return done.returncode, done.stdout, done.stderr


def test_commands_that_only_read_work_on_a_read_only_disk(racebot: Racebot, monkeypatch) -> None:
    Ledger.open(Path("racebot.db")).close()
    connect = sqlite3.connect

    def on_read_only_disk(address: str, **options: Any) -> sqlite3.Connection:
        if "immutable" not in address:
            raise sqlite3.OperationalError("unable to open database file")
        return connect(address, **options)

    monkeypatch.setattr(sqlite3, "connect", on_read_only_disk)
    assert racebot("leaderboard", "--database", "racebot.db").code == 0
    assert racebot("rebuild", "--database", "racebot.db").code == 75
    Path("racebot.db-wal").write_bytes(b"changes that an immutable file would lack")
    assert racebot("leaderboard", "--database", "racebot.db").code == 75


def test_a_process_prints_an_error_in_one_line() -> None:
    code, out, err = process("leaderboard")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("racebot: no database at ")


def test_a_closed_output_pipe_is_not_an_error(filled: Racebot) -> None:
    _, out, err = process("leaderboard", "--json", "| head -c 1")
    assert (out, "Traceback" in err) == ("[", False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
@pytest.mark.parametrize("words", ["leaderboard", "leaderboard --json"])
def test_a_full_disk_under_the_output_is_one_line(filled: Racebot, folder: Path, words: str) -> None:
    errors = folder / "errors"
    process = fork(words.split(), os.environ, folder, Path("/dev/full"), errors)
    process.join()
    err = errors.read_text()
    assert (process.exitcode, err.count("\n"), err.startswith("racebot: ")) == (MAY_PASS, 1, True)


def test_package_missing_after_an_update_is_one_line_with_the_command(racebot: Racebot, monkeypatch) -> None:
    monkeypatch.setattr("racebot.cli.app", Mock(side_effect=ModuleNotFoundError("x", name="orjson")))
    assert racebot() == (2, "", f"racebot: the package orjson is missing: {install_hint('web')}\n")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SiteError("the site cannot be reached"), MAY_PASS),
        (LedgerUnavailable("the database is locked"), MAY_PASS),
        (CredentialsError("the site refuses the secret"), 2),
        (NotFoundError("no such category"), 2),
        (LedgerError("the file is damaged"), 2),
        (SettingsError("RACEBOT_MODEL: unknown model"), 2),
    ],
)
def test_exit_code_says_whether_a_person_must_change_something(
    racebot: Racebot, error: RacebotError, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("racebot.cli.app", Mock(side_effect=error))
    assert racebot().code == code


# Importing and reading


def test_import_rates_new_races_and_shows_the_leaderboards(racebot: Racebot, folder: Path) -> None:
    done = racebot("import", "races.json")
    assert done.code == 0
    assert "3 new races, 1 not counted" in done.out
    assert "Any Orb (pairwise-elo)" in done.out
    assert "All Orbs (pairwise-elo)" in done.out
    assert done.err == f"4 races of 1 to 2\nNew database {folder}/ledger.db\n"
    assert "3 unchanged" in racebot("import", "races.json").out


def test_an_archive_is_filed_under_its_category_and_goal(racebot: Racebot, folder: Path) -> None:
    race = {
        "slug": "a1",
        "ended_at": "2025-06-01T10:00:00Z",
        "recorded": True,
        "entrants": [{"user_id": "x1", "place": 1}, {"user_id": "x2", "place": 9999}],
    }
    (folder / "S1.json").write_text(json.dumps([race]))
    assert racebot("import", "S1.json", "--category", "orb").code == 0
    assert json.loads(racebot("race", "orb/a1", "--json").out)["goal"] == "S1"
    rows = [line.split() for line in racebot("race", "orb/a1").out.splitlines() if "→" in line]
    assert [len(row) for row in rows] == [7, 5], "a DNF has no place to expect or to reach"
    (board,) = json.loads(racebot("leaderboard", "--json").out)
    assert [(p["id"], p["points"]) for p in board["players"]] == [("x1", 1100), ("x2", 900)]


def test_leaderboard_has_places_names_and_points(filled: Racebot) -> None:
    other, first = json.loads(filled("leaderboard", "--json").out)
    assert (other["leaderboard"], first["leaderboard"]) == ("All Orbs", GOAL)
    assert (first["races"], first["category"]) == (2, "orb")
    assert [(p["place"], p["name"], p["points"]) for p in first["players"]] == [
        (1, "Ann", 1100),
        (2, "Bo", 900),
    ]
    (limited,) = json.loads(filled("leaderboard", "any orb", "--json", "--limit", "1").out)
    assert [p["name"] for p in limited["players"]] == ["Ann"]
    assert "1 race, 2 players; the first 1 shown" in filled("leaderboard", "--limit", "1").out


def test_player_and_race_commands_show_points_places_and_reasons(filled: Racebot) -> None:
    report = json.loads(filled("player", "ann", "--json").out)
    assert [(b["leaderboard"], b["points"], b["place"]) for b in report["leaderboards"]] == [
        ("All Orbs", 1100, 1),
        ("Any Orb", 1100, 1),
    ]
    assert "Any Orb: 1100 points, place 1 of 2" in filled("player", "ANN").out
    assert json.loads(filled("race", "first", "--json").out)["race"] == "orb/first"
    assert "gained: Bo (50% to beat)" in filled("race", "orb/first").out


def test_verify_finds_a_changed_standing_and_rebuild_mends_it(filled: Racebot, folder: Path) -> None:
    done = filled("verify")
    assert done.code == 0
    assert "Any Orb: 2 races, 2 players" in done.out
    assert "everything agrees" in done.out
    with closing(sqlite3.connect(folder / "ledger.db")) as connection, connection:
        connection.execute("UPDATE standings SET points = 7 WHERE player = 'id-ann'")
    done = filled("verify")
    assert done.code == 1
    assert "everything agrees" not in done.out
    assert "Any Orb: player Ann: the standing differs from a replay" in done.err
    assert "2 problems: run `racebot rebuild`" in done.err
    assert filled("rebuild", "Any Orb").out == "Any Orb: 2 races rated again\n"
    assert "All Orbs: 1 race rated again" in filled("rebuild").out
    assert filled("verify").code == 0


def test_team_races_that_are_ignored_are_not_called_rated(racebot: Racebot, folder: Path) -> None:
    rows = [
        f"{race},2026-01-0{race},{who},{team},{place}"
        for race in (1, 2)
        for who, team, place in (("Ann", "x", 1), ("Bo", "x", 1), ("Cy", "y", 2), ("Di", "y", 2))
    ]
    (folder / "teams.csv").write_text("\n".join(["race,ended_at,player,team,place", *rows]))
    shown = racebot("import", "teams.csv").out
    assert "races rated" not in shown
    assert "2 races of teams changed no rating: team race, left out unless RACEBOT_TEAM_RACES" in shown
    assert "no race rated yet" in racebot("leaderboard").out


def test_date_is_a_year_a_month_or_a_day(racebot: Racebot) -> None:
    days = [day(text) for text in ("2026", "2026-03", "2026-03-09")]
    assert days == [datetime(2026, *date, tzinfo=UTC) for date in ((1, 1), (3, 1), (3, 9))]
    for text in ("1767225600", "20260301", "yesterday", "2026-13", "2026-03-09T12:00", ""):
        for command in (("backfill", "--since"), ("evaluate", "races.json", "--since")):
            code, _, err = racebot(*command, text)
            assert (code, "2026-03-01" in err) == (2, True)


def test_a_misspelt_folder_of_the_database_is_not_created(racebot: Racebot, folder: Path) -> None:
    done = racebot("import", "races.json", "--database", "staet/ledger.db")
    assert done.code == 2
    assert "racebot: no folder staet" in done.err
    assert not (folder / "staet").exists()


def test_a_wrong_choice_names_the_option_and_the_choices(racebot: Racebot) -> None:
    done = racebot("evaluate", "--teams", "bogus")
    assert done.code == 2
    assert "--teams" in done.err and "individual" in done.err
    assert "Value error" not in done.err


# Errors: one line each, and an exit code


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("player", "Zed"), "no player 'Zed' in the ledger"),
        (("player", "n"), "no player 'n' in the ledger. Did you mean Ann (id-ann)?"),
        (("race", "zed"), "no race 'zed' is known: write category/room"),
        (("leaderboard", "Zed"), "no leaderboard 'Zed'. There are: All Orbs, Any Orb"),
        (("rebuild", "Zed"), "no leaderboard 'Zed'"),
        (("evaluate",), "choose one with --leaderboard: orb/All Orbs, orb/Any Orb"),
    ],
)
def test_an_unknown_name_exits_with_code_2(filled: Racebot, words: tuple[str, ...], told: str) -> None:
    done = filled(*words)
    (complaint,) = done.complaints
    assert complaint.startswith(told)
    assert (done.code, done.out) == (2, "")


def test_health_fails_if_no_bot_ran_and_names_a_damaged_database(filled: Racebot, folder: Path) -> None:
    assert (filled("health").code, filled("health").out) == (1, "")
    write_heartbeat(folder / "ledger.db", Heartbeat(utc_now()))
    assert filled("health").code == 0
    (folder / "ledger.db").write_bytes(b"no database at all")
    (complaint,) = filled("health").complaints
    assert complaint == filled("status").complaints[0]


@pytest.mark.parametrize(
    "words",
    ["leaderboard", "player Ann", "race x", "verify", "rebuild", "web", "export-site public", "status"],
)
def test_missing_database_is_reported_and_not_created(racebot: Racebot, folder: Path, words: str) -> None:
    done = racebot(*words.split())
    (complaint,) = done.complaints
    assert complaint.startswith("no database at ")
    assert done.code == 2
    assert not (folder / "ledger.db").exists()


def test_a_backfill_needs_a_category_and_each_bad_setting_has_its_own_line(
    racebot: Racebot, monkeypatch: pytest.MonkeyPatch
) -> None:
    (complaint,) = racebot("backfill").complaints
    assert "RACEBOT_CATEGORY is not set" in complaint
    monkeypatch.setenv("RACEBOT_SITE", "racetime.gg")
    monkeypatch.setenv("RACEBOT_QUITE_SECONDS", "1")
    done = racebot("leaderboard")
    assert (done.code, len(done.complaints)) == (2, 2)


# What names from elsewhere may do to a terminal

NASTY = "[red]x[/red] \x1b]0;t\x07\x9b31m\u202ey\u2028z"


def test_json_escapes_invisible_characters(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": NASTY, "kept": "雪の介 é – 😀"})
    out = capsys.readouterr().out
    assert all(line.isprintable() for line in out.split("\n"))
    assert "雪の介 é – 😀" in out
    assert json.loads(out)["name"] == NASTY


def test_printed_line_ignores_markup_and_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    tell(f"{NASTY}: 3 races")
    assert capsys.readouterr().out == "[red]x[/red] ]0;t31my z: 3 races\n"


def test_log_entry_is_one_line_without_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    logs.to_stderr("info")
    try:
        raise ValueError(NASTY)
    except ValueError:
        logging.getLogger("racebot").exception("goals %s\nforged", NASTY)
    first, *trace = capsys.readouterr().err.splitlines()
    assert first.endswith(" ERROR goals [red]x[/red] ]0;t31my z forged")
    assert trace[0] == "Traceback (most recent call last):"
    assert all(line.isprintable() for line in trace)


# Pages


def test_exported_pages_follow_the_settings(racebot: Racebot, folder: Path, monkeypatch) -> None:
    racebot("import", "races.json", "--category", "orb")
    monkeypatch.setenv("RACEBOT_MINIMUM_FINISHES", "9")
    monkeypatch.setenv("RACEBOT_SITE", "https://site.example")
    assert racebot("export-site", "public").code == 0
    page = (folder / "public" / "leaderboards" / "orb" / "any-orb.html").read_text(encoding="utf-8")
    assert ">0 players<" in page
    (race,) = (folder / "public" / "races" / "orb").glob("first.html")
    assert "https://site.example/orb/first" in race.read_text(encoding="utf-8")
    with Ledger.open(folder / "ledger.db") as ledger:
        ledger.connection.write("UPDATE races SET result = '{'")
    done = racebot("export-site", "elsewhere")
    assert done.code == 2 and "of the site could not be made" in done.complaints[-1]
    assert (folder / "elsewhere" / "index.html").exists()


@pytest.mark.parametrize("command", ["web", "export-site public", "sandbox"])
def test_missing_extra_is_reported_with_its_command(racebot: Racebot, monkeypatch, command: str) -> None:
    monkeypatch.setattr("racebot.cli.common.find_spec", lambda name: None)
    code, _, err = racebot(*command.split())
    assert (code, install_hint("web") in err) == (2, True)


def test_a_port_in_use_is_reported(racebot: Racebot) -> None:
    racebot("import", "races.json", "--category", "orb")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = racebot("web", "--port", str(port))
    assert done.code == 2
    assert done.complaints == [f"port {port}: another program uses it: choose another with --port"]


def test_pages_are_served_until_stopped(folder: Path, racebot: Racebot) -> None:
    racebot("import", "races.json", "--category", "orb")
    with subprocess.Popen(
        [sys.executable, "-m", "racebot", "web", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().removeprefix("pages: ").strip()
        answer = httpx.get(f"{address}leaderboards/orb/any-orb.html", timeout=PATIENCE)
        process.send_signal(signal.SIGTERM)
        _, problems = process.communicate(timeout=PATIENCE)
    assert answer.status_code == 200
    assert "Ann" in answer.text
    assert problems == ""
