"""`racebot doctor`: what it checks, and its JSON, which people attach to issues."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from worker_support import Sandbox, finish, said, until

from racebot import __version__
from racebot.cli.setup import Finding, examine
from racebot.sandbox.server import serve
from racebot.sandbox.site import CATEGORY, CLIENT_ID, CLIENT_SECRET, FakeSite
from racebot.settings.model import Settings

from .conftest import Racebot


async def test_report_of_a_running_bot_has_no_secret(sandbox: Sandbox) -> None:
    sandbox.extra["RACEBOT_LOG_LEVEL"] = "debug"
    async with sandbox.worker():
        room = sandbox.open_race(2)
        finish(room, 60, 61)
        await until(lambda: said(room))
        done = await sandbox.racebot("doctor", "--json")
        assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["versions"]["racebot"], "numpy" in found["versions"]) == (__version__, True)
    assert found["settings"]["quiet_seconds"] < 60
    assert any("credentials: accepted" in each["text"] for each in found["findings"])
    assert len(sandbox.site.issued_tokens) > 0
    for secret in (CLIENT_SECRET, *sandbox.site.issued_tokens):
        assert secret not in done.stdout


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
def test_report_of_broken_settings_has_no_secret(
    racebot: Racebot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str],
    variables: dict[str, str],
) -> None:
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = racebot("doctor", "--json")
    assert done.code == 2
    assert any(not each["good"] for each in json.loads(done.out)["findings"])
    assert SECRET not in done.out + done.err


@pytest.mark.parametrize("name", [".env", "racebot.toml", "racebot.db", "client-secret", "webhook"])
@pytest.mark.parametrize(("mode", "found"), [(0o640, False), (0o604, True)])
async def test_doctor_names_world_readable_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, mode: int, found: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RACEBOT_CLIENT_SECRET_FILE", "client-secret")
    Path(name).touch(mode=0o600)
    if name == "racebot.toml":
        Path(name).write_text('client_secret = "hush"')
    if name == "webhook":
        Path("racebot.toml").write_text('[[leaderboards]]\ndiscord = "file:webhook"\n')
    Path(name).chmod(mode)
    wrong = [each.text async for each in examine(Settings(database=Path("racebot.db"))) if not each.good]
    assert any(text.startswith(f"{name}: ") and f"chmod o= {name}" in text for text in wrong) is found


async def test_settings_without_a_secret_may_be_readable(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("racebot.toml").write_text('[[leaderboards]]\nname = "S1"\ndiscord = "file:webhook"\n')
    Path("racebot.toml").chmod(0o644)
    found = [each.text async for each in examine(Settings(database=Path("racebot.db")))]
    assert not [text for text in found if text.startswith("racebot.toml")]


async def findings(site: FakeSite, folder: Path, *goals: str, **options: Any) -> list[Finding]:
    async with serve(site) as address:
        settings = Settings(
            site=address,
            category=CATEGORY,
            client_id=CLIENT_ID,
            client_secret=SecretStr(CLIENT_SECRET),
            database=folder / "racebot.db",
            request_interval=0.0,
            goals=list(goals),
            **options,
        )
        return [each async for each in examine(settings)]


@pytest.mark.parametrize(("skew", "word"), [(-3600, "ahead of"), (3600, "behind"), (5, None), (-5, None)])
async def test_doctor_compares_the_clock_with_the_site(tmp_path: Path, skew: int, word: str | None) -> None:
    site = FakeSite()
    site.skew = timedelta(seconds=skew)
    clocks = [each for each in await findings(site, tmp_path) if each.text.startswith("clock")]
    assert [(each.good, word in each.text) for each in clocks if word] == ([(False, True)] if word else [])
    assert len(clocks) == (word is not None)


async def test_a_goal_that_the_category_does_not_have_is_a_note(tmp_path: Path) -> None:
    found = await findings(FakeSite(goals=("Any%", "100%")), tmp_path, "Any%", "Nope")
    assert ["Nope" in each.text for each in found if each.note] == [True]


@pytest.mark.parametrize(("trusted", "notes"), [("", 1), ("*", 0)])
async def test_doctor_names_pages_that_take_all_readers_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: str, notes: int
) -> None:
    monkeypatch.setattr("racebot.cli.setup.IN_DOCKER", True)
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", trusted)
    settings = Settings(database=tmp_path / "racebot.db", pages_url="https://ratings.example.org")
    assert len([each async for each in examine(settings) if "FORWARDED_ALLOW_IPS" in each.text]) == notes
