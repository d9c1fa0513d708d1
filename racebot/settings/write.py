"""Writes a model and its parameters into `.env` or `racebot.toml`, leaving everything else as it is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomlkit
from dotenv import dotenv_values, set_key
from tomlkit.exceptions import TOMLKitError

from racebot.errors import SettingsError
from racebot.settings.model import PREFIX

MODEL, PARAMETERS = f"{PREFIX}MODEL", f"{PREFIX}PARAMETERS"


def write_model(directory: Path, toml: Path, model: str, parameters: Mapping[str, Any]) -> Path:
    """Write the model and parameters of all leaderboards to `.env` or racebot.toml.

    They go into racebot.toml if it exists and `.env` sets neither; otherwise into `.env`.

    Args:
        directory: the folder of `.env`.
        toml: the path of racebot.toml.
        model: key of the model.
        parameters: the parameters that differ from the model's defaults.

    Returns:
        The file that was written.

    Raises:
        SettingsError: a file cannot be read or written, or a variable of the environment would override it.
    """
    env = directory / ".env"
    for name in (MODEL, PARAMETERS):
        if os.environ.get(name):
            raise SettingsError(f"{name} is set in the environment and overrides {env}: unset it first")
    document = _read(toml)
    if document is not None and _prefers_toml(env):
        _put(document, model, parameters)
        return _save(toml, document)
    try:
        set_key(env, MODEL, model, quote_mode="never")
        set_key(env, PARAMETERS, as_text(parameters), quote_mode="always")
    except OSError as error:
        raise SettingsError(f"{env}: {error.strerror}: make it writable") from None
    return env


def write_leaderboard(
    toml: Path, name: str, category: str, goals: Sequence[str], model: str, parameters: Mapping[str, Any]
) -> Path:
    """Write the model and parameters of one leaderboard into its table of racebot.toml.

    A missing file or table is added, with the leaderboard's name, category and goals.

    Args:
        toml: the path of racebot.toml.
        name: the leaderboard's name.
        category: slug of its category.
        goals: its goals.
        model: key of the model.
        parameters: the parameters that differ from the model's defaults.

    Returns:
        The file that was written.

    Raises:
        SettingsError: the file cannot be read or written.
    """
    found = _read(toml)
    document = tomlkit.document() if found is None else found
    tables = document.get("leaderboards")
    if tables is None:
        tables = tomlkit.aot()
        document["leaderboards"] = tables
    table = next(
        (t for t in tables if t.get("name") == name and t.get("category", "") in {"", category}), None
    )
    if table is None:
        table = tomlkit.table()
        table.update({"name": name, "category": category, "goals": list(goals)})
        _put(table, model, parameters)
        tables.append(table)
    else:
        _put(table, model, parameters)
    return _save(toml, document)


def as_text(parameters: Mapping[str, Any]) -> str:
    """Return parameters in the format of RACEBOT_PARAMETERS: `name=value; name=value`."""
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


def _put(table: Any, model: str, parameters: Mapping[str, Any]) -> None:
    table["model"] = model
    inline = tomlkit.inline_table()
    inline.update({name: "none" if value is None else value for name, value in parameters.items()})
    table["parameters"] = inline


def _save(toml: Path, document: tomlkit.TOMLDocument) -> Path:
    try:
        toml.write_text(tomlkit.dumps(document), encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{toml}: {error.strerror}: make it writable") from None
    return toml


def _prefers_toml(env: Path) -> bool:
    """Return whether to write to racebot.toml: `.env` is missing, or sets neither model nor parameters."""
    written = {name.upper() for name in dotenv_values(env)} if env.exists() else set()
    return not written & {MODEL, PARAMETERS}
