from __future__ import annotations

import json
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from worker_support import Bench, finish, said, until

from racebot import __version__
from racebot.sandbox.site import CLIENT_SECRET

from .conftest import Racebot

PARTS = {"versions.txt", "settings.txt", "status.json", "doctor.txt", "integrity.txt", "log.txt"}


def bundle(path: Path) -> dict[str, str]:
    with zipfile.ZipFile(path) as opened:
        return {name: opened.read(name).decode() for name in opened.namelist()}


async def test_bundle_of_a_running_bot_has_no_secret(sandbox: Bench) -> None:
    sandbox.extra["RACEBOT_LOG_LEVEL"] = "debug"
    async with sandbox.worker() as worker:
        room = sandbox.open_race(2)
        finish(room, 60, 61)
        await until(lambda: said(room))
        log = sandbox.database.parent / "bot.log"
        address = f"{sandbox.address}/smr/data"
        tokens = "".join(f"GET {address}?token={token}\n{token}\n" for token in sandbox.site.issued_tokens)
        log.write_text(worker.output + tokens + f"secret {CLIENT_SECRET}!\n")
        done = await sandbox.racebot("report", "--log", str(log), "--output", "report.zip")
        assert done.returncode == 0, done.stderr
    path = sandbox.database.parent / "report.zip"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    found = bundle(path)
    assert set(found) == PARTS
    assert f"racebot {__version__}" in found["versions.txt"]
    assert json.loads(found["status.json"])["worker"]["running"] is True
    assert "INFO" in found["log.txt"]
    assert "credentials: accepted" in found["doctor.txt"]
    assert len(sandbox.site.issued_tokens) > 0
    for secret in (CLIENT_SECRET, *sandbox.site.issued_tokens):
        assert not [name for name, text in found.items() if secret in text], secret


Report = Callable[..., dict[str, str]]


@pytest.fixture
def report(racebot: Racebot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    """Run `racebot report` without a network and a journal."""
    monkeypatch.setenv("PATH", "")

    def run(*options: str) -> dict[str, str]:
        done = racebot("report", "--offline", "--output", "report.zip", *options)
        assert done.code == 0, done.err
        return bundle(tmp_path / "report.zip")

    return run


SECRET = "hush-HUSH-1234"


@pytest.mark.parametrize(
    ("files", "variables"),
    [
        ({".env": f"RACEBOT_CLIENT_SECRET={SECRET}\nRACEBOT_CLIENT_SECRTE={SECRET}\n"}, {}),
        ({".env": f"RACEBOT_CLIENT_SECRET={SECRET}\nnot an assignment {SECRET}\n"}, {}),
        ({".env": "RACEBOT_CLIENT_SECRET_FILE=kept\nRACEBOT_MODEL=hush-HUSH-1234\n", "kept": SECRET}, {}),
        ({"racebot.toml": f'pages_url = "{SECRET}"\n[[categories]]\nclient_secret = "{SECRET}"\n'}, {}),
        ({"racebot.toml": f'[[categories]\nclient_secret = "{SECRET}"\n'}, {}),
        ({}, {"RACEBOT_CATEGORIES": f'[{{"slug": "smr", "client_secret": "{SECRET}"}}]'}),
        ({}, {"RACEBOT_CLIENT_SECRET": SECRET, "RACEBOT_PAGES_URL": f"https://example.org/{SECRET}"}),
    ],
)
def test_bundle_of_broken_settings_has_no_secret(
    report: Report,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str],
    variables: dict[str, str],
) -> None:
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found = report()
    assert {"versions.txt", "settings.txt", "log.txt"} <= set(found)
    assert found["settings.txt"]
    assert not [name for name, text in found.items() if SECRET in text]


def test_secret_at_the_edge_of_a_truncated_log_is_removed(report: Report, tmp_path: Path) -> None:
    secret = "hush-hush, this is long"
    half = " " * 1990 + secret
    log = tmp_path / "bot.log"
    log.write_text(f"{secret}{'.' * 999_970}\n{half}\n")
    (tmp_path / ".env").write_text(f"RACEBOT_CLIENT_SECRET='{secret}'\n")
    found = report("--log", str(log))
    assert "hush" not in found["log.txt"]
    assert "long" not in found["log.txt"]


def test_bundle_says_what_could_not_be_made(report: Report) -> None:
    found = report()
    assert found["status.json"].startswith("could not be made: ")
    assert found["log.txt"].startswith("could not be made: ")
