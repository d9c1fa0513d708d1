"""Commands as an operator types them, in this process."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from racebot.cli import common, main


class Done(NamedTuple):
    """A command's exit code and output."""

    code: int
    out: str
    err: str

    @property
    def complaints(self) -> list[str]:
        """Return the lines of standard error. Each must begin with `racebot: `."""
        lines = self.err.splitlines()
        assert all(line.startswith("racebot: ") for line in lines), self.err
        return [line.removeprefix("racebot: ") for line in lines]


Racebot = Callable[..., Done]


@pytest.fixture
def racebot(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    restored_logging: None,
) -> Racebot:
    """Run a command in an empty folder and a wide terminal without colors. Only exits may end it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    # The consoles read the width when they are made, which is before a test can set it.
    for console in (common.console, common.notices):
        monkeypatch.setattr(console, "_width", 140)

    def run(*words: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["racebot", *words])
        capsys.readouterr()
        code: Any = 0
        try:
            main()
        except SystemExit as left:
            code = left.code or 0
        return Done(int(code), *capsys.readouterr())

    return run
