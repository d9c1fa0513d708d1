"""`racebot doctor --json`, which people attach to issues."""

import json
from pathlib import Path

import pytest
from worker_support import Sandbox, finish, said, until

from racebot import __version__
from racebot.sandbox.site import CLIENT_SECRET

from .conftest import Racebot


async def test_report_of_a_running_bot_has_no_secret(sandbox: Sandbox) -> None:
    sandbox.extra["RACEBOT_LOG_LEVEL"] = "debug"
    async with sandbox.worker() as worker:
        room = sandbox.open_race(2)
        finish(room, 60, 61)
        await until(lambda: said(room))
        log = sandbox.database.parent / "bot.log"
        address = f"{sandbox.address}/smr/data"
        tokens = "".join(f"GET {address}?token={token}\n{token}\n" for token in sandbox.site.issued_tokens)
        log.write_text(worker.output + tokens + f"secret {CLIENT_SECRET}!\n")
        done = await sandbox.racebot("doctor", "--json", "--log", str(log))
        assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["versions"]["racebot"] == __version__
    assert found["settings"]["quiet_seconds"] < 60
    assert any("INFO" in line for line in found["log"])
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
