from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from racebot import __version__
from racebot.telemetry import installation
from racebot.telemetry.installation import install_command, origin

GIT = "https://git.example/racebot.git"


class Installed:
    """A distribution whose installer recorded its origin."""

    requires = ("jinja2>=3; extra == 'web'", "no-such-package; extra == 'fast'", "pytest; extra == 'dev'")

    def __init__(self, direct_url: dict[str, object] | None) -> None:
        self._direct_url = direct_url

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self._direct_url is None else json.dumps(self._direct_url)


Install = Callable[[dict[str, object] | None], None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Pretend that this copy was installed from the place that `direct_url.json` names."""

    def pretend(direct_url: dict[str, object] | None) -> None:
        monkeypatch.setattr(installation, "_distribution", lambda: Installed(direct_url))

    return pretend


PIP = f"{shlex.quote(sys.executable)} -m pip install"


@pytest.mark.parametrize(
    ("direct_url", "command"),
    [
        (
            {"url": "file:///srv/race%20bot", "dir_info": {"editable": True}},
            f"{PIP} --editable '/srv/race bot[plots]'",
        ),
        (
            {"url": "file:///srv/racebot", "dir_info": {}},
            f"{PIP} 'racebot[plots] @ file:///srv/racebot'",
        ),
        (
            {"url": GIT, "vcs_info": {"vcs": "git", "commit_id": "a" * 40, "requested_revision": "v1.2.0"}},
            f"{PIP} 'racebot[plots] @ git+{GIT}@v1.2.0'",
        ),
        (
            {"url": GIT, "vcs_info": {"vcs": "git", "commit_id": "a" * 40}},
            f"{PIP} 'racebot[plots] @ git+{GIT}'",
        ),
        (None, f"{PIP} 'racebot[plots]=={__version__}'"),
    ],
)
def test_command_names_the_place_this_copy_came_from(
    install: Install, direct_url: dict[str, object] | None, command: str
) -> None:
    install(direct_url)
    assert install_command("plots") == command


def test_command_in_the_source_folder_is_short(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(__file__).parents[2]
    monkeypatch.chdir(folder)
    install({"url": folder.as_uri(), "dir_info": {"editable": True}})
    assert install_command("plots") == f"{PIP} --editable '.[plots]'"


@pytest.mark.parametrize(
    ("receipt", "program"),
    [("pipx_metadata.json", "pipx install"), ("uv-receipt.toml", "uv tool install")],
)
def test_tool_is_installed_again_with_its_other_extras(
    install: Install, tmp_path: Path, receipt: str, program: str
) -> None:
    (tmp_path / receipt).touch()
    install({"url": GIT, "vcs_info": {"vcs": "git", "commit_id": "a" * 40}})
    assert install_command("plots", prefix=tmp_path) == (
        f"{program} --force 'racebot[plots,web] @ git+{GIT}'"
    )


def test_environment_without_pip_is_changed_by_uv(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "find_spec", lambda name: None)
    install(None)
    assert install_command("plots").startswith(f"uv pip install --python {shlex.quote(sys.executable)} ")


def test_commit_of_a_git_installation_is_known(install: Install) -> None:
    install({"url": GIT, "vcs_info": {"vcs": "git", "commit_id": "a" * 40}})
    assert origin().commit == "a" * 40
