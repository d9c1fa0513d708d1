"""Writes a model and its parameters into `.env` or `racebot.toml`, leaving everything else as it is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit
from dotenv import dotenv_values, set_key
from tomlkit.exceptions import TOMLKitError

from racebot.errors import SettingsError
from racebot.settings.model import PREFIX

MODEL, PARAMETERS = f"{PREFIX}MODEL", f"{PREFIX}PARAMETERS"


def write_model(
    directory: Path, toml: Path, model: str, parameters: Mapping[str, Any], leaderboard: str | None = None
) -> Path:
    """Write a model and its parameters where the settings are read from.

    If racebot.toml describes the leaderboard in a table of its own, they go there. Otherwise they go into
    `.env`, unless only racebot.toml exists.

    Args:
        directory: the folder of `.env`.
        toml: the path of racebot.toml.
        model: key of the model.
        parameters: those that differ from the model's defaults.
        leaderboard: the leaderboard's name, if the parameters are for one alone.

    Returns:
        The file that was written.

    Raises:
        SettingsError: a file cannot be read or written, or a variable of the environment would override it.
    """
    env = directory / ".env"
    document = _read(toml)
    table = document and _table(document, leaderboard)
    if table is None:
        for name in (MODEL, PARAMETERS):
            if os.environ.get(name):
                raise SettingsError(f"{name} is set in the environment, which beats {env}: unset it first")
    if document is not None and (table is not None or _prefers_toml(env)):
        target = document if table is None else table
        target["model"] = model
        inline = tomlkit.inline_table()
        inline.update({name: "none" if value is None else value for name, value in parameters.items()})
        target["parameters"] = inline
        try:
            toml.write_text(tomlkit.dumps(document), encoding="utf-8")
        except OSError as error:
            raise SettingsError(f"{toml}: {error.strerror}: make it writable") from None
        return toml
    try:
        set_key(env, MODEL, model, quote_mode="never")
        set_key(env, PARAMETERS, as_text(parameters), quote_mode="always")
    except OSError as error:
        raise SettingsError(f"{env}: {error.strerror}: make it writable") from None
    return env


def as_text(parameters: Mapping[str, Any]) -> str:
    """Return parameters as RACEBOT_PARAMETERS takes them: `name=value; name=value`."""
    return "; ".join(f"{name}={_word(value)}" for name, value in parameters.items())


def _word(value: Any) -> str:
    if value is None:
        return "none"
    return " ".join(f"{number:g}" for number in value) if isinstance(value, list) else str(value)


def _read(toml: Path) -> tomlkit.TOMLDocument | None:
    try:
        return tomlkit.parse(toml.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, TOMLKitError) as error:
        raise SettingsError(f"{toml}: {error}: correct the file") from None


def _table(document: tomlkit.TOMLDocument, leaderboard: str | None) -> Any:
    """The leaderboard's own table, or None."""
    tables = document.get("leaderboards", [])
    return next(
        (table for table in tables if leaderboard is not None and table.get("name") == leaderboard), None
    )


def _prefers_toml(env: Path) -> bool:
    """Whether racebot.toml takes effect: `.env` is absent, or sets neither model nor parameters."""
    written = {name.upper() for name in dotenv_values(env)} if env.exists() else set()
    return not written & {MODEL, PARAMETERS}
