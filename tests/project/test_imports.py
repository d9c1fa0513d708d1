"""Check which modules racebot loads. import-linter checks the layers (`pyproject.toml`)."""

import subprocess
import sys

import pytest

from racebot.cli.commands import COMMANDS, load_command, loaded

# But for Pillow, without which the sandbox is no command.
EXTRAS = (
    *("distributed", "fontpkg_inter", "jinja2", "matplotlib", "numba", "orjson"),
    *("python_calamine", "starlette", "uvicorn"),
)
DATABASE = ("sqlite3", "sqlite_utils")
NETWORK = ("apscheduler", "httpx", "websockets")
STUDIES = ("joblib", "scipy.optimize", "scipy.stats")
HEAVY = (*NETWORK, *EXTRAS, *STUDIES, "scipy.special")
OURS = ("racebot.bot", "racebot.ledger", "racebot.racetime", "racebot.settings")
READING = ("leaderboard", "player", "race", "status", "health", "audit", "backup")
LOAD = "from racebot.cli.commands import load_command; "


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout


def test_commands_load_without_any_extra() -> None:
    run(
        f"import importlib, pkgutil, sys; sys.modules.update(dict.fromkeys({EXTRAS!r}))\n"
        "import racebot.cli\n"
        "for each in pkgutil.iter_modules(racebot.cli.__path__, 'racebot.cli.'):"
        " importlib.import_module(each.name)"
    )


@pytest.mark.parametrize(
    ("code", "unneeded"),
    [
        ("import racebot.files.table, racebot.ratings.registry", (*NETWORK, *DATABASE, *OURS)),
        ("import racebot.study.evaluate", (*NETWORK, *DATABASE, *OURS)),
        ("from racebot.cli import app", (*HEAVY, *DATABASE, "numpy", "pydantic")),
        ("import racebot.__main__", ("typer", "racebot.cli")),  # processes that help to export do so
        (f"{LOAD}[load_command(name) for name in {READING}]", HEAVY),
        (f"{LOAD}load_command('run')", (*EXTRAS, *STUDIES)),
        ("import pathlib, racebot.settings.sources as s; s.load(pathlib.Path('none'))", HEAVY),
    ],
)
def test_a_program_loads_only_what_it_needs(code: str, unneeded: tuple[str, ...]) -> None:
    loaded = run(f"import sys; {code}; print(*(name for name in {unneeded!r} if name in sys.modules))")
    assert loaded.split() == []


def test_table_of_commands_is_complete() -> None:
    for name in COMMANDS:
        load_command(name)
    registered = [each.name or getattr(each.callback, "__name__", "") for each in loaded.registered_commands]
    assert sorted(registered) == sorted(COMMANDS)
