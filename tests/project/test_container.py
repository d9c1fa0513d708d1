"""Check the Dockerfile and the Compose file: the user owns state/ and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from racebot.settings.model import PREFIX, Settings
from racebot.settings.sources import load

ROOT = Path(__file__).parents[2]


def last_stage() -> list[tuple[str, str]]:
    """Return the instructions of the final stage, each with its arguments."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    lines = [
        (word.upper(), " ".join(rest.split()))
        for word, _, rest in (line.partition(" ") for line in text.splitlines())
        if word
    ]
    start = max(index for index, (word, _) in enumerate(lines) if word == "FROM")
    return lines[start:]


def of(word: str) -> list[str]:
    return [rest for each, rest in last_stage() if each == word]


def test_user_cannot_gain_privileges() -> None:
    assert of("USER") == ["10001:10001"]
    words = [word for word, _ in last_stage()]
    assert "RUN" not in words[words.index("USER") :]
    assert "COPY" not in words[words.index("USER") :]
    (made,) = of("RUN")
    assert "useradd --uid 10001" in made
    assert "/usr/sbin/nologin" in made
    assert not re.search(r"sudo|setuid|chmod|usermod", made)


def test_user_owns_only_the_state() -> None:
    (made,) = of("RUN")
    owned = [command for command in made.split("&&") if re.search(r"--owner|chown|--group=", command)]
    assert [command.split()[-1] for command in owned] == ["/srv/racebot/state"]
    assert of("VOLUME") == ['["/srv/racebot/state"]']
    assert of("COPY") == ["--from=build /opt/racebot /opt/racebot"]
    assert not of("ADD")


def test_image_holds_no_secret() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert not re.search(r"RACEBOT_|SECRET|TOKEN|PASSWORD", " ".join(of("ENV") + of("ARG")), re.IGNORECASE)
    assert not re.search(r"^\s*(COPY|ADD)\s+\.\s", text, re.MULTILINE)
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in allowed
    assert [line for line in allowed if line.startswith("!")] == [
        "!pyproject.toml",
        "!README.md",
        "!LICENSE",
        "!deploy/requirements.txt",
        "!racebot",
    ]


def test_compose_drops_every_privilege() -> None:
    text = (ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8")
    services = text.count("\n    build: ..\n")
    assert services >= 1
    for line in ("read_only: true", "cap_drop: [ALL]", 'security_opt: ["no-new-privileges:true"]'):
        assert text.count(f"\n    {line}\n") == services, line
    assert "privileged: true" not in text
    assert all(ports.startswith('"127.0.0.1:') for ports in re.findall(r"ports: \[(.*)\]", text))
    assert not re.search(r"ports:\s*\n", text)


def test_page_server_gets_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    web = (ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8").split("\n  web:\n")[1]
    emptied = set(re.findall(r'^      (RACEBOT_\w+): ""$', web, re.MULTILINE))
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
