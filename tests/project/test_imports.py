"""Check which modules racebot loads. import-linter checks the layers (`pyproject.toml`)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from racebot.cli.commands import COMMANDS, app, load_command

EXTRAS = ("distributed", "jinja2", "matplotlib", "numba", "starlette", "uvicorn")
DATABASE = ("sqlite3", "sqlite_utils")
NETWORK = ("apscheduler", "httpx", "prometheus_client", "websockets")
HEAVY = (*NETWORK, *EXTRAS, "joblib", "scipy.optimize", "scipy.special", "scipy.stats")


def run(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_by(code: str, modules: tuple[str, ...]) -> list[str]:
    return run(f"import sys; {code}; print(*(name for name in {modules!r} if name in sys.modules))").split()


def test_commands_load_without_any_extra() -> None:
    run(
        f"import sys; sys.modules.update(dict.fromkeys({EXTRAS!r}))\n"
        "from racebot.cli.commands import COMMANDS, load_command\n"
        "for name in COMMANDS: load_command(name)"
    )


def test_rating_library_loads_neither_network_nor_database() -> None:
    packages = "racebot.races.csv_file, racebot.ratings.registry, racebot.study.evaluate"
    ours = ("racebot.bot", "racebot.ledger", "racebot.racetime", "racebot.settings")
    assert loaded_by(f"import {packages}", (*NETWORK, *DATABASE, *ours)) == []


def test_help_loads_no_rating_library() -> None:
    assert loaded_by("from racebot.cli import app", (*HEAVY, *DATABASE, "numpy", "pydantic_settings")) == []


def test_main_module_loads_no_program() -> None:
    """A process that helps to export imports the main module again."""
    assert loaded_by("import racebot.__main__", ("typer", "racebot.cli")) == []


def test_commands_that_only_read_the_ledger_load_nothing_heavy() -> None:
    commands = ("leaderboard", "player", "race", "status", "health", "audit", "backup")
    code = f"from racebot.cli.commands import load_command; [load_command(name) for name in {commands}]"
    assert loaded_by(code, HEAVY) == []


def test_worker_loads_no_part_that_only_studies_and_pages_need() -> None:
    code = "from racebot.cli.commands import load_command; load_command('run')"
    assert loaded_by(code, (*EXTRAS, "joblib", "scipy.optimize", "scipy.stats")) == []


def test_settings_of_the_default_model_load_nothing_heavy(tmp_path: Path) -> None:
    code = f"import pathlib, racebot.settings.sources as s; s.load(pathlib.Path({str(tmp_path)!r}))"
    assert loaded_by(code, HEAVY) == []


def test_table_of_commands_is_complete() -> None:
    for name in COMMANDS:
        load_command(name)
    registered = [each.name or getattr(each.callback, "__name__", "") for each in app.registered_commands]
    assert sorted(registered) == sorted(COMMANDS)
