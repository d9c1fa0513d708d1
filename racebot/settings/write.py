"""Write settings into `.env` or `racebot.toml`. Everything else in the file stays as it is.

A file is replaced in one step, so that an interruption leaves either the old or the new file.
"""

import os
import stat
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import tomlkit
from dotenv import dotenv_values, set_key, unset_key
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Whitespace

from racebot.errors import SettingsError, reason
from racebot.ratings.parameters import Parameters

ENV_HEADING = """\
# Settings of racebot. docs/settings.md lists all of them. `racebot doctor` checks them.
# It may hold secrets: keep it private.
"""
"""The first lines of a new `.env`."""


def write_env(env: Path, values: Mapping[str, str | None]) -> None:
    """Set variables in `.env`, and keep its other lines. None removes a variable.

    A new file is readable by its owner only. One that cannot be read or written, or cannot hold one of the
    values, is a `SettingsError`.
    """
    env = env.resolve()  # a link stays a link
    try:
        text = env.read_text(encoding="utf-8") if env.exists() else ENV_HEADING
        with tempfile.TemporaryDirectory(dir=env.parent, prefix=".racebot-") as folder:
            draft = Path(folder) / "env"
            draft.write_text(text, encoding="utf-8")
            for name, value in values.items():
                if value is not None:
                    set_key(draft, name, value, quote_mode="auto", encoding="utf-8")
                elif name in dotenv_values(draft, encoding="utf-8"):
                    unset_key(draft, name, encoding="utf-8")
            read_back = dotenv_values(draft, encoding="utf-8")
            for name, value in values.items():
                if read_back.get(name) != value:
                    raise SettingsError(
                        f"{env}: {name} has characters that this file cannot hold: "
                        "put the value into the environment instead"
                    )
            replace_file(env, draft.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise SettingsError(f"{env}: {error}: save it as UTF-8 text") from None
    except OSError as error:
        raise SettingsError(f"{env}: {error.strerror}: make it and its folder writable") from None


def replace_file(
    path: Path, text: str, *, hidden: int = 0o077, check: Callable[[Path], object] = lambda _: None
) -> None:
    """Replace a file in one step. Its owner, group and mode stay, except for the bits of `hidden`.

    By default, only the owner can read it. `check` gets the draft first, and may raise an error. If the
    file or its folder cannot be written, raise `OSError`.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    draft = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            old = path.stat()
            if hasattr(os, "chown"):  # not on Windows
                os.chown(draft, old.st_uid, old.st_gid)
            draft.chmod(stat.S_IMODE(old.st_mode) & ~hidden)
        check(draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_leaderboard(
    toml: Path, name: str, category: str, goals: Sequence[str], model: str, parameters: Parameters
) -> None:
    """Write the model and parameters of one leaderboard into its table of racebot.toml.

    A missing file or table is added, with the leaderboard's name, category and goals. Raises as
    `edit_leaderboards` does.
    """
    written = {name: "none" if value is None else value for name, value in parameters.items()}

    def change(tables: Any) -> None:
        named = (t for t in tables if t.get("name") == name and t.get("category", "") in {"", category})
        if (table := next(named, None)) is None:
            table = add_table(tables, {"name": name, "category": category, "goals": list(goals)})
        table.update({"model": model, "parameters": _inline(written)})

    edit_leaderboards(toml, change)


def edit_leaderboards(
    toml: Path, change: Callable[[Any], object], check: Callable[[Path], object] = lambda _: None
) -> None:
    """Let `change` edit the leaderboards' tables of racebot.toml, and `check` a draft of the file.

    Raise `SettingsError` if the file cannot be read or written.
    """
    try:
        document = tomlkit.parse(toml.read_text(encoding="utf-8"))
    except FileNotFoundError:
        document = tomlkit.document()
    except (OSError, UnicodeDecodeError, TOMLKitError) as error:
        raise SettingsError(f"{toml}: {reason(error)}: correct the file") from None
    tables = document.setdefault("leaderboards", tomlkit.aot())
    if not isinstance(tables, AoT):
        raise SettingsError(f"{toml}: leaderboards is one list: write each as a table [[leaderboards]]")
    change(tables)
    try:
        replace_file(toml.resolve(), tomlkit.dumps(document), hidden=0o007, check=check)
    except OSError as error:
        raise SettingsError(f"{toml}: {error.strerror}: make it and its folder writable") from None


def add_table(tables: Any, values: Mapping[str, Any]) -> Any:
    """Add a table to a list of tables, and return it."""
    table = tomlkit.table()
    for name, value in values.items():
        table[name] = _inline(value) if isinstance(value, Mapping) else value
    following = _take_following(tables[-1]) if tables else []
    if tables:
        tables[-1].add(tomlkit.nl())
    tables.append(table)
    for item in following:
        tables[-1].add(item)
    return tables[-1]


def set_value(table: Any, name: str, value: Any) -> None:
    """Set a value of a table, above the comments that belong to the next one."""
    following = _take_following(table)
    table[name] = value
    for item in following:
        table.add(item)


def _take_following(table: Any) -> list[Any]:
    """Remove and return what follows a table's values after a blank line: it belongs to the next one."""
    body = table.value.body
    last = max(at for at, (key, _) in enumerate(body) if key is not None)
    while last < len(body) and not isinstance(body[last][1], Whitespace):
        last += 1
    following = [item for _, item in body[last:]]
    del body[last:]
    return following


def _inline(values: Mapping[str, Any]) -> Any:
    table = tomlkit.inline_table()
    table.update(values)
    return table
