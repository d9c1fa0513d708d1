"""Check the Dockerfile and the Compose file: the user owns state/ and nothing else, and no secret gets in."""

import re
from pathlib import Path

import pytest

from racebot.settings.model import PREFIX, Settings
from racebot.settings.sources import load

ROOT = Path(__file__).parents[2]
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
