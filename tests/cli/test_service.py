"""`racebot service`, with fake systemd programs that log their arguments."""

from __future__ import annotations

import getpass
import os
import shutil
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from racebot.cli import accounts, service
from racebot.cli.units import Place, unit
from racebot.errors import SettingsError
from racebot.settings.sources import load

from .conftest import Racebot

ROOT = Path(__file__).parents[2]
SECRET = "hush-hush"
PLACE = Place(Path("/opt/racebot"), ("/opt/racebot/.venv/bin/racebot",), (Path("/opt/racebot/state"),), "bot")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs POSIX accounts")


@pytest.fixture
def folder(racebot: Racebot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a bot's folder, in an environment with fake system programs that log their arguments."""
    programs, folder = tmp_path / "programs", tmp_path / "bot"
    programs.mkdir()
    folder.mkdir()
    for name in ("systemctl", "loginctl", "useradd"):
        program = programs / name
        program.write_text(f'#!/bin/sh\necho "{name} $*" >>{tmp_path}/calls\n')
        program.chmod(0o755)
    (folder / ".env").write_text(
        f"# ours\nRACEBOT_CATEGORY=smr\nRACEBOT_CLIENT_ID=abc\nRACEBOT_CLIENT_SECRET={SECRET}\n"
    )
    (folder / ".env").chmod(0o600)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    monkeypatch.setattr(service, "BOOTED", programs)
    (programs / "racebot").touch(0o755)
    monkeypatch.setattr(sys, "argv", ["racebot", "service"])
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(folder)
    return folder


def calls(folder: Path) -> list[str]:
    log = folder.parent / "calls"
    return log.read_text().splitlines() if log.exists() else []


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_web_server_can_read_the_pages_but_not_the_database(racebot: Racebot, folder: Path) -> None:
    with (folder / ".env").open("a") as file:
        file.write("RACEBOT_PAGES_DIR=public\n")
    assert racebot("service", "install", "--user").code == 0
    done = racebot("service", "install", "--user")  # again, after a change of the settings
    assert done.code == 0, done.err
    assert mode(folder / "public") == 0o755
    assert mode(folder / "state") == 0o700


def test_user_service_is_written_and_started(racebot: Racebot, folder: Path) -> None:
    done = racebot("service", "install", "--user")
    assert done.code == 0, done.err
    written = (folder.parent / "config/systemd/user/racebot.service").read_text()
    assert f"\nWorkingDirectory={folder}\n" in written
    assert "\nUser=" not in written
    assert calls(folder) == [
        "systemctl --user daemon-reload",
        "systemctl --user enable --now racebot",
        f"loginctl enable-linger {getpass.getuser()}",
    ]
    assert SECRET not in done.out + written


def test_secret_moves_to_a_credential(
    racebot: Racebot, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert racebot("service", "install", "--user").code == 0
    kept = folder / "client-secret"
    assert (kept.read_text(), mode(kept)) == (f"{SECRET}\n", 0o600)
    assert SECRET not in (folder / ".env").read_text()
    assert (folder / ".env").read_text().startswith("# ours\n")
    written = (folder.parent / "config/systemd/user/racebot.service").read_text()
    assert f"\nLoadCredential=client_secret:{kept}\n" in written
    # systemd gives the service a copy in its own folder.
    credentials = folder.parent / "credentials"
    credentials.mkdir()
    kept.rename(credentials / "client_secret")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(credentials))
    secret = load(folder).client_secret
    assert secret is not None
    assert secret.get_secret_value() == SECRET


def test_install_can_be_repeated_and_undone(racebot: Racebot, folder: Path) -> None:
    assert [racebot("service", "install", "--user").code for _ in range(2)] == [0, 0]
    assert racebot("service", "uninstall", "--user").code == 0
    assert calls(folder)[-2:] == [
        "systemctl --user disable --now racebot",
        "systemctl --user daemon-reload",
    ]
    assert not list((folder.parent / "config/systemd/user").iterdir())
    assert (folder / ".env").exists()
    assert racebot("service", "uninstall", "--user").code == 2


@pytest.mark.parametrize("arguments", [("--user",), ()])
def test_print_changes_nothing(racebot: Racebot, folder: Path, arguments: tuple[str, ...]) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*")}
    done = racebot("service", "install", "--print", *arguments)
    assert done.code == 0, done.err
    assert "racebot" in done.out
    assert {path: path.read_bytes() for path in folder.rglob("*")} == before
    assert not calls(folder)


def test_system_service_prepares_its_account(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account = getpass.getuser()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(service, "SYSTEM_UNITS", folder.parent / "system")
    service.install(folder, user=False, account=account)
    written = (folder.parent / "system" / "racebot.service").read_text()
    assert f"\nUser={account}\n" in written
    assert f"\nReadWritePaths={folder}/state\n" in written
    assert (folder / "state").is_dir()
    assert calls(folder) == ["systemctl daemon-reload", "systemctl enable --now racebot"]


def test_new_account_is_created(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounts, "exists", lambda account: False)
    given: list[str] = []
    for name in ("give", "let_read"):
        monkeypatch.setattr(accounts, name, lambda path, account, **_: given.append(path.name))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(service, "SYSTEM_UNITS", folder.parent / "system")
    service.install(folder, user=False, account="racebot-test")
    assert calls(folder)[0].startswith("useradd --system ")
    assert given == ["state", ".env", "client-secret"]


def test_program_behind_a_closed_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "closed" / "racebot"
    program.parent.mkdir(mode=0o700)
    program.touch(0o755)

    class Nobody:
        pw_uid = pw_gid = 54321

    monkeypatch.setattr("pwd.getpwnam", lambda name: Nobody)
    monkeypatch.setattr(os, "getgrouplist", lambda name, gid: [gid])
    with pytest.raises(SettingsError, match="closed"):
        accounts.check_reachable(program, "nobody")


def test_unusable_name_is_refused(racebot: Racebot, folder: Path) -> None:
    done = racebot("service", "install", "--user", "--name", "a b")
    assert done.code == 2
    assert "--name" in done.err
    assert not calls(folder)


def test_system_without_running_systemd_is_refused_before_anything_changes(
    racebot: Racebot, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "BOOTED", folder / "missing")
    before = (folder / ".env").read_text()
    done = racebot("service", "install", "--user")
    assert (done.code, done.out) == (2, "")
    assert (folder / ".env").read_text() == before
    assert not calls(folder)


def test_folder_without_settings_is_refused(racebot: Racebot, folder: Path) -> None:
    (folder / ".env").unlink()
    done = racebot("service", "install", "--user")
    assert done.code == 2
    assert not calls(folder)


def test_failure_of_systemd_is_reported(racebot: Racebot, folder: Path) -> None:
    (folder.parent / "programs" / "systemctl").write_text("#!/bin/sh\nexit 1\n")
    done = racebot("service", "install", "--user")
    assert done.code == 2
    assert "systemctl --user daemon-reload" in done.err


# The texts


def test_paths_with_spaces_and_percent_signs_are_quoted() -> None:
    awkward = Path("/opt/our bot 100%")
    text = unit(
        replace(PLACE, folder=awkward, program=(f"{awkward}/racebot",), writable=(awkward / "state",))
    )
    assert "\nWorkingDirectory=/opt/our bot 100%%\n" in text
    assert '\nExecStart="/opt/our bot 100%%/racebot" run\n' in text
    assert '\nReadWritePaths="/opt/our bot 100%%/state"\n' in text


ANALYZE = shutil.which("systemd-analyze") or ""


@pytest.mark.skipif(not ANALYZE, reason="needs systemd")
def test_systemd_rates_the_system_unit_as_secure(tmp_path: Path) -> None:
    program = tmp_path / "racebot"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    written = tmp_path / "racebot.service"
    written.write_text(unit(replace(PLACE, program=(str(program),), secret=tmp_path / "secret")))
    for command in (["verify"], ["security", "--offline=true", "--threshold=15"]):
        done = subprocess.run([ANALYZE, *command, written], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["racebot", "racebot-web"])
def test_units_in_deploy_are_as_hardened_as_the_written_one(name: str) -> None:
    kept = (ROOT / "deploy" / f"{name}.service").read_text(encoding="utf-8").splitlines()
    lines = unit(PLACE).splitlines()
    hardening = lines[lines.index("ProtectSystem=strict") : lines.index("[Install]")]
    assert set(hardening) - {""} <= set(kept)
