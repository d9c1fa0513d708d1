"""Check the image, the services and what is installed: the user owns state/ and nothing else, no secret gets
in, and every dependency is pinned. pip itself checks hashes.
"""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from racebot.settings.model import PREFIX, Settings
from racebot.settings.sources import load

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
COMPOSE = (ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8")


DOCKERFILE = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
LAST_STAGE = DOCKERFILE.replace("\\\n", " ").rpartition("\nFROM ")[2].splitlines()[1:]
"""The instructions of the final stage."""


def arguments(word: str) -> list[str]:
    return [line.split(maxsplit=1)[1] for line in LAST_STAGE if line.startswith(f"{word} ")]


def test_user_cannot_gain_privileges_and_owns_only_the_state() -> None:
    assert arguments("USER") == ["10001:10001"]
    words = [line.partition(" ")[0] for line in LAST_STAGE]
    assert not {"RUN", "COPY", "ADD"} & set(words[words.index("USER") :])
    (made,) = arguments("RUN")
    assert not re.search(r"sudo|setuid|chmod|usermod", made)
    owned = [command for command in made.split("&&") if re.search(r"--owner|chown|--group=", command)]
    assert [command.split()[-1] for command in owned] == ["/srv/racebot/state"]
    assert arguments("VOLUME") == ['["/srv/racebot/state"]']


def test_image_holds_no_secret() -> None:
    variables = " ".join(arguments("ENV") + arguments("ARG"))
    assert not re.search(r"RACEBOT_|SECRET|TOKEN|PASSWORD", variables, re.IGNORECASE)
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    code = {"pyproject.toml", "README.md", "LICENSE", "racebot", "deploy/requirements.txt"}
    assert "*" in allowed
    assert {line[1:] for line in allowed if line[0] == "!"} == code | {"deploy/build-requirements.txt"}


def test_compose_drops_every_privilege() -> None:
    services = COMPOSE.count("\n    build: ..\n")
    assert services >= 1
    for line in ("read_only: true", "cap_drop: [ALL]", 'security_opt: ["no-new-privileges:true"]'):
        assert COMPOSE.count(f"\n    {line}\n") == services, line
    assert "privileged: true" not in COMPOSE
    ports = re.findall(r"ports: *(.*)", COMPOSE)
    assert all(published.startswith('["127.0.0.1:') for published in ports)


def test_page_server_gets_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    emptied = set(re.findall(r'^      (RACEBOT_\w+): ""$', COMPOSE.split("\n  web:\n")[1], re.MULTILINE))
    secret = {name for name, field in Settings.model_fields.items() if "Secret" in str(field.annotation)}
    # The tables of `categories` hold secrets, too.
    assert emptied >= {f"{PREFIX}{name.upper()}" for name in secret | {"categories"}}
    written = {"CATEGORY": "smr", "CLIENT_ID": "id", "CLIENT_SECRET": "hidden", "MINIMUM_FINISHES": "3"}
    container = {PREFIX + name: value for name, value in written.items()} | dict.fromkeys(emptied, "")
    for name, value in container.items():
        monkeypatch.setenv(name, value)
    settings = load(tmp_path)
    assert settings.client_secret is None
    assert settings.minimum_finishes == 3


def pinned(name: str) -> dict[str, list[str]]:
    """Return the versions of each package in a lock file, which names no index."""
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not re.search(r"://|--(?:extra-)?index|--find-links|--trusted-host|^[./]| @ ", text, re.MULTILINE)
    found: dict[str, list[str]] = {}
    for package, version in re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE):
        found.setdefault(canonicalize_name(package), []).append(version)
    return found


def test_each_dependency_is_pinned_and_the_image_has_the_versions_of_ci() -> None:
    image, ci = pinned("deploy/requirements.txt"), pinned("constraints.txt")
    for text in [*PROJECT["dependencies"], *(each for extra in EXTRAS.values() for each in extra)]:
        wanted = Requirement(text)
        name = canonicalize_name(wanted.name)
        if name != "racebot":
            assert ci.get(name), f"{wanted}: run `bash .ci/lock`"
            assert all(version in wanted.specifier for version in ci[name]), f"{wanted}: run `bash .ci/lock`"
        if text in [*PROJECT["dependencies"], *EXTRAS["web"]]:
            assert image[name] == ci[name]


ANALYZE = shutil.which("systemd-analyze") or ""


@pytest.mark.skipif(not ANALYZE, reason="needs systemd")
@pytest.mark.parametrize("unit", ["racebot", "racebot-web"])
def test_systemd_rates_the_unit_as_secure(tmp_path: Path, unit: str) -> None:
    text = (ROOT / "deploy" / f"{unit}.service").read_text(encoding="utf-8")
    written = tmp_path / f"{unit}.service"
    written.write_text(
        text.replace("User=racebot", "User=root").replace("/opt/racebot/.venv/bin/racebot", "/bin/true")
    )
    for command in (["verify"], ["security", "--offline=true", "--threshold=15"]):
        done = subprocess.run([ANALYZE, *command, written], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
