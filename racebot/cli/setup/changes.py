"""The answers, and the changes that they make to `.env`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dotenv import dotenv_values
from pydantic import SecretStr

from racebot.chat.info_box import InfoPolicy
from racebot.errors import SettingsError
from racebot.races.outcome import TeamPolicy
from racebot.settings.model import PREFIX, Settings
from racebot.settings.sources import KEPT_IN_FILES, load
from racebot.settings.write import replace_file, write_env


@dataclass(frozen=True, slots=True)
class Choices:
    """The operator's choices. `goals` is empty to rate all of them."""

    site: str
    category: str
    client_id: str
    client_secret: SecretStr
    goals: tuple[str, ...]
    team_races: TeamPolicy
    info_block: InfoPolicy
    model: str


def save(folder: Path, before: Settings, answers: Choices) -> Settings:
    """Write the answers to `.env`, in one step, and return the settings that hold now.

    Args:
        folder: the folder of `.env`.
        before: the settings so far. What they already say is not written again.
        answers: the operator's answers.

    Raises:
        SettingsError: a file cannot be written, or the environment overrides an answer.
    """
    env = folder / ".env"
    values: dict[str, str | None] = {}
    for name, text in _texts(answers).items():
        variable = PREFIX + name.upper()
        in_environment = os.environ.get(variable)
        if in_environment and text != _text_of(before, name):
            raise SettingsError(f"{variable} is set in the environment and overrides {env}: unset it first")
        if in_environment or text != _text_of(before, name):
            values[variable] = text
    for name, path in _secret_files(env).items():
        if secret := values.pop(PREFIX + name.upper(), None):
            _write_secret(folder / path, secret)
    # Without values, this still closes the file to others.
    write_env(env, values)
    return load(folder)


def _texts(answers: Choices) -> dict[str, str]:
    """Return the answers as they are written in `.env`, by setting."""
    return {
        "site": answers.site,
        "category": answers.category,
        "client_id": answers.client_id,
        "client_secret": answers.client_secret.get_secret_value(),
        "goals": _goals(answers.goals),
        "team_races": answers.team_races.value,
        "info_block": answers.info_block.value,
        "model": answers.model,
    }


def _text_of(settings: Settings, name: str) -> str:
    value = getattr(settings, name)
    if name == "goals":
        return _goals(value)
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value or "")


def _goals(goals: tuple[str, ...] | list[str]) -> str:
    """Return goals separated by semicolons, or as JSON if a name has one."""
    awkward = any(";" in goal or goal.strip() != goal for goal in goals) or "".join(goals[:1]).startswith("[")
    return json.dumps(list(goals), ensure_ascii=False) if awkward else "; ".join(goals)


def _secret_files(env: Path) -> Mapping[str, str]:
    """Return the paths of secrets that `.env` keeps in separate files, by setting."""
    written = dotenv_values(env, encoding="utf-8")
    paths = {name: written.get(f"{PREFIX}{name.upper()}_FILE") for name in KEPT_IN_FILES}
    return {name: path for name, path in paths.items() if path}


def _write_secret(path: Path, text: str) -> None:
    try:
        replace_file(path, f"{text}\n")
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}: make it and its folder writable") from None
