"""Check which modules importing racebot loads. import-linter checks the layers (`pyproject.toml`)."""

from __future__ import annotations

import subprocess
import sys

EXTRAS = ("distributed", "jinja2", "matplotlib", "numba", "starlette", "uvicorn")
NETWORK = ("httpx", "sqlite3", "sqlite_utils", "websockets")


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_command_line_starts_without_any_extra() -> None:
    run(
        f"import sys; sys.modules.update(dict.fromkeys({EXTRAS!r}))\n"
        "from typer.main import get_command\n"
        "from racebot.cli import app\n"
        "assert get_command(app).commands"
    )


def test_rating_library_loads_neither_network_nor_database() -> None:
    loaded = run(
        "import sys, racebot.races.outcome, racebot.ratings.registry, racebot.study.evaluate\n"
        f"print(*(name for name in {NETWORK!r} if name in sys.modules))"
    )
    assert loaded.split() == []
