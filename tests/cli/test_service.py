"""`racebot service`: the systemd unit that it prints."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Racebot

ROOT = Path(__file__).parents[2]
SECRET = "hush-hush"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs POSIX accounts")


@pytest.fixture
def folder(racebot: Racebot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a bot's folder, with the secret in a separate file."""
    folder = tmp_path / "our bot 100%"
    folder.mkdir()
    (folder / ".env").write_text(
        "RACEBOT_CATEGORY=smr\nRACEBOT_CLIENT_ID=abc\nRACEBOT_CLIENT_SECRET_FILE=secret\n"
        "RACEBOT_PAGES_DIR=public\n"
    )
    (folder / "secret").write_text(SECRET)
    program = tmp_path / "programs" / "racebot"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    monkeypatch.chdir(folder)
    return folder


def printed(racebot: Racebot, *options: str) -> list[str]:
    done = racebot("service", *options)
    assert done.code == 0, done.err
    assert SECRET not in done.out
    assert "$" not in done.out
    return done.out.splitlines()


def test_unit_has_the_folder_the_account_and_the_paths_quoted(racebot: Racebot, folder: Path) -> None:
    lines = printed(racebot, "--account", "bot")
    escaped = str(folder).replace("%", "%%")
    assert "User=bot" in lines
    assert f"WorkingDirectory={escaped}" in lines
    assert f'ReadWritePaths="{escaped}/state" "{escaped}/public"' in lines
    assert f"ExecStart={folder.parent}/programs/racebot run" in lines
    commands = [line.split() for line in lines if line.startswith("#     ")]
    assert [words[-1] for words in commands] == ["/etc/systemd/system/racebot.service", "racebot"]


def test_unit_without_settings_is_refused(racebot: Racebot, folder: Path) -> None:
    (folder / ".env").unlink()
    assert racebot("service").code == 2


ANALYZE = shutil.which("systemd-analyze") or ""


@pytest.mark.skipif(not ANALYZE, reason="needs systemd")
def test_systemd_rates_the_system_unit_as_secure(racebot: Racebot, folder: Path, tmp_path: Path) -> None:
    written = tmp_path / "racebot.service"
    written.write_text("\n".join(printed(racebot, "--account", "root")))
    for command in (["verify"], ["security", "--offline=true", "--threshold=15"]):
        done = subprocess.run([ANALYZE, *command, written], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_unit_of_the_pages_is_as_hardened(racebot: Racebot, folder: Path) -> None:
    lines = printed(racebot)
    hardening = lines[lines.index("ProtectSystem=strict") : lines.index("[Install]")]
    kept = (ROOT / "deploy" / "racebot-web.service").read_text(encoding="utf-8").splitlines()
    assert set(hardening) - {""} <= set(kept)
