"""Reads the settings from the environment, `.env` and `racebot.toml`, and reports every problem at once."""

import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dotenv import dotenv_values
from dotenv.parser import parse_stream
from pydantic import BaseModel, ValidationError
from pydantic_settings import SettingsError as UnreadableSource

from racebot.errors import ModelError, SettingsError, reason
from racebot.races.outcome import TeamPolicy
from racebot.ratings import registry
from racebot.ratings.model import Carries
from racebot.settings.model import PREFIX, Settings
from racebot.settings.tables import CategorySettings, LeaderboardSettings
from racebot.settings.texts import Texts
from racebot.text.parse import did_you_mean

KEPT_IN_FILES = ("client_id", "client_secret", "discord_webhook")
"""Settings that can be in a separate file, named by a variable such as RACEBOT_CLIENT_SECRET_FILE."""
CORRECT = "correct the name, or remove the setting if CHANGELOG.md says that there is none any more"
"""Advice on a name that belongs to no setting."""
LONGEST_FILE = 1_000_000
"""Characters in a file. A list of 10,000 rooms has a third of them."""


def load(directory: Path | None = None, **overrides: Any) -> Settings:
    """Read the settings from the environment, `.env` and `racebot.toml`, in that order of precedence.

    Args:
        directory: the folder of `.env` and `racebot.toml`; the current one by default.
        overrides: values from the command line, which take precedence; None means not given.

    Raises:
        SettingsError: one line for each problem.
    """
    directory = Path() if directory is None else directory
    in_file, in_environment = _written(directory / ".env")
    written = in_file | {name: text for name, text in in_environment.items() if text}
    secrets, problems = _from_files(directory, in_environment, in_file)
    given = secrets | {name: value for name, value in overrides.items() if value is not None}
    problems += _unknown(in_file | in_environment)
    chosen = str(overrides.get("config") or written.get(f"{PREFIX}CONFIG") or "")
    path = directory / (chosen or "racebot.toml")
    values, unreadable = _document(path, chosen=bool(chosen))
    problems += unreadable
    origins = _Origins(given, written, path, frozenset(secrets))
    others = {name: value for name, value in values.items() if not written.get(PREFIX + name.upper())}
    try:
        settings = Settings(_env_file=directory / ".env", **(others | given))
    except ValidationError as error:
        raise SettingsError(*problems, *(origins.problem(each) for each in error.errors())) from None
    except (UnreadableSource, RecursionError) as error:
        field = re.search(r'field "(\w+)"', str(error))
        variable = f"{PREFIX}{field[1].upper()}" if field else f"{PREFIX}CATEGORIES or {PREFIX}LEADERBOARDS"
        remedy = "not JSON: write it as JSON, or use racebot.toml"
        raise SettingsError(*problems, f"{variable}: {remedy}") from None
    problems += [*_model_problems(settings, origins), *_clashes(settings, path)]
    if problems := problems or list(_carry_problems(settings, path)):
        raise SettingsError(*problems)
    return settings


def _document(path: Path, *, chosen: bool) -> tuple[dict[str, Any], list[str]]:
    """Return the content of racebot.toml, and problems. The file may be missing unless it was chosen."""
    try:
        values = tomllib.loads(small_text(path)) if chosen or path.exists() else {}
        return values, list(_read_files(values.get("leaderboards"), path))
    except RecursionError:
        why = "nested too deeply"
    except (OSError, ValueError) as error:
        why = reason(error)
    return {}, [f"{path}: {why}: correct the file or {PREFIX}CONFIG"]


def _read_files(tables: object, path: Path) -> Iterator[str]:
    """Put each leaderboard's rooms and webhook in the place of the files that hold them; yield problems."""
    for table in tables if isinstance(tables, list) else ():
        for name, prefix in (("rooms", ""), ("discord", "file:")):
            given = table.get(name) if isinstance(table, dict) else None
            if isinstance(given, str) and given.startswith(prefix):
                lines: list[str] = []
                try:
                    lines = small_text(path.parent / given.removeprefix("file:")).splitlines()
                except (OSError, ValueError) as error:
                    yield f"{path}: {name}={given!r}: {reason(error)}: correct the path or the file"
                found = [line for line in map(str.strip, lines) if line and not line.startswith("#")]
                table[name] = found if name == "rooms" else next(iter(found), None)


def small_text(file: Path) -> str:
    """Read a small text file of a person.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not UTF-8, or has more than `LONGEST_FILE` characters.
    """
    with file.open(encoding="utf-8-sig") as opened:
        text = opened.read(LONGEST_FILE + 1)
    if len(text) > LONGEST_FILE:
        raise ValueError(f"longer than {LONGEST_FILE:,} characters")
    return text


def secret_files(directory: Path) -> list[Path]:
    """Return the files that the settings in a folder name for secrets. A bad `.env` is a `SettingsError`."""
    in_file, in_environment = _written(directory / ".env")
    written = in_file | in_environment
    named = (written.get(f"{PREFIX}{setting.upper()}_FILE") for setting in KEPT_IN_FILES)
    files = [directory / path for path in named if path]
    config = directory / (written.get(f"{PREFIX}CONFIG") or "racebot.toml")
    with suppress(OSError, ValueError):
        webhook = re.compile(r"""^\s*discord\s*=\s*["']file:([^"'\n]+)""", re.MULTILINE)
        files += [config.parent / path for path in webhook.findall(config.read_text(encoding="utf-8"))]
    return files


def _written(env_file: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the variables of `.env`, and those of the environment, each by upper-case name.

    Raise `SettingsError` if `.env` or a variable is not UTF-8, or a line of `.env` is not an assignment.
    """
    values: dict[str, str] = {}
    try:
        with env_file.open(encoding="utf-8") as file:
            # pydantic-settings leaves out such lines without an error.
            unread = [binding.original.line for binding in parse_stream(file) if binding.error]
        if unread:
            line = f"{env_file}, line {{}}: not of the form NAME=value: correct it"
            raise SettingsError(*map(line.format, unread))
        read = dotenv_values(env_file, encoding="utf-8")
        values = {name.upper(): text or "" for name, text in read.items()}
    except FileNotFoundError:
        pass
    except UnicodeDecodeError:
        raise SettingsError(f"{env_file}: not UTF-8 text: save it as UTF-8") from None
    except OSError as error:
        raise SettingsError(f"{env_file}: cannot be read ({error.strerror})") from None
    environment = {name.upper(): text for name, text in os.environ.items()}
    # Python decodes bytes that are not UTF-8 as lone surrogates.
    ours = [(name, text) for name, text in (values | environment).items() if name.startswith(PREFIX)]
    if broken := [name for name, text in ours if re.search("[\ud800-\udfff]", name + text)]:
        raise SettingsError(*(f"{name}: not UTF-8 text: correct the value" for name in broken))
    return values, environment


def _from_files(directory: Path, *sources: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Read the settings that are in separate files, named by variables such as RACEBOT_CLIENT_SECRET_FILE.

    Earlier sources take precedence. Return the values by setting, and one line for each problem.
    """
    values: dict[str, str] = {}
    problems: list[str] = []
    for setting in KEPT_IN_FILES:
        name = PREFIX + setting.upper()
        source = next((each for each in sources if each.get(name) or each.get(f"{name}_FILE")), {})
        path = source.get(f"{name}_FILE")
        if path and source.get(name):
            problems.append(f"{name} and {name}_FILE are both set: keep one of them")
        elif path:
            try:
                values[setting] = small_text(directory / path).strip()
            except (OSError, ValueError) as error:
                problems.append(f"{name}_FILE={path!r}: {reason(error)}: correct the path or the file")
    return values, problems


def _unknown(written: Iterable[str]) -> Iterator[str]:
    """Yield a problem for each variable with our prefix that is not a setting, naming the nearest setting."""
    known = {name.upper() for name in Settings.model_fields}
    known |= {f"{name.upper()}_FILE" for name in KEPT_IN_FILES}
    for name in written:
        word = name.removeprefix(PREFIX)
        if name.startswith(PREFIX) and word not in known:
            yield f"{name} is not a setting of racebot{did_you_mean(word, known, prefix=PREFIX)}: {CORRECT}"


@dataclass(frozen=True, slots=True)
class _Origins:
    """Remembers where each value came from, so that a message can name the place to correct."""

    given: Mapping[str, Any]
    written: Mapping[str, str]
    path: Path
    in_files: frozenset[str]

    def place(self, name: str) -> str:
        """Return the place where a setting was set, with its name there."""
        variable = PREFIX + name.upper()
        if name in self.in_files:
            return f"{variable}_FILE"
        if name in self.given:
            return f"--{name}"
        return variable if self.written.get(variable) else f"{self.path}: {name}"

    def problem(self, error: Any) -> str:
        """Return one line for one of pydantic's errors, without values that may hold a secret."""
        text = str(error["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")
        if not error["loc"]:
            return text
        name, *inner = map(str, error["loc"])
        if name not in Settings.model_fields:
            hint = did_you_mean(name.lower().removeprefix(PREFIX.lower()), Settings.model_fields)
            shown = f"{self.path}: {name!r}"
            return f"{shown} is not a setting of racebot{hint}: {CORRECT}"
        parts = [f"number {int(part) + 1}" if part.isdecimal() else part for part in inner]
        where = ", ".join([self.place(name), *parts])
        if error["type"] == "extra_forbidden":
            hint = did_you_mean(inner[-1], _TABLES[name].model_fields)
            return f"{where} is not a setting of these tables{hint}: correct the name or remove it"
        raw = "" if name in self.given else self.written.get(PREFIX + name.upper(), "")
        value = raw or error["input"]
        secret = name in {*KEPT_IN_FILES, "categories"} or "discord" in inner or (raw and name in _TABLES)
        shown = "" if secret or isinstance(value, dict | list) or len(repr(value)) > 60 else f"={value!r}"
        if name in _TABLES:
            return f"{where}{shown}: {text}: correct it"
        # pydantic's own texts quote patterns and types. The description alone says what is allowed.
        reason = f"{text}: " if error["type"] == "value_error" else ""
        return f"{where}{shown}: {reason}set it to {Settings.model_fields[name].description}"


_TABLES: dict[str, type[BaseModel]] = {
    "texts": Texts,
    "categories": CategorySettings,
    "leaderboards": LeaderboardSettings,
}


def _model_problems(settings: Settings, origins: _Origins) -> Iterator[str]:
    """Yield a problem for each unknown parameter, and for team races that the model cannot rate."""
    ratings = [("", (settings.model, settings.parameters, settings.team_races))]
    ratings += [
        (f"{origins.path}: leaderboard {board.name!r}", settings.rating_of(board))
        for board in settings.leaderboards
    ]
    for where, (key, parameters, teams) in ratings:
        try:
            model = registry.create(key, parameters)
        except ModelError as error:
            yield f"{where or origins.place('parameters')}: {error}"
            continue
        if teams is TeamPolicy.TEAM and not model.rates_teams:
            setting = f"{where}: team_races" if where else origins.place("team_races")
            yield (
                f"{setting}={teams.value!r}: {key} does not rate teams: "
                f"choose a model that does ({registry.rating_teams()}), or set it to ignore or individual"
            )


def _carry_problems(settings: Settings, path: Path) -> Iterator[str]:
    """Yield a problem for each leaderboard that carries over from itself, or by a model that cannot.

    A source without a table counts as a goal's leaderboard, whose name is checked when the goals are known.
    """
    for board in settings.leaderboards:
        if board.carry_over is None:
            continue
        chain = [board]
        while (source := _source_of(settings, chain[-1])) is not None and source not in chain:
            chain.append(source)
        theirs = settings.rating_of(chain[1])[0] if len(chain) > 1 else settings.model
        own, parameters, _ = settings.rating_of(board)
        if not (board.model or "model" in settings.model_fields_set or parameters):
            own = theirs
        problem = None
        if source is not None:
            problem = f"it would carry over from itself, through {source.name!r}"
        elif not all(isinstance(registry.create(key), Carries) for key in (own, theirs)) or (
            len(chain) > 1 and own != theirs
        ):
            names = f"{board.carry_over.source!r} is rated by {theirs} and this one by {own}"
            problem = f"{names}: use one model that can carry over for both"
        if problem:
            yield f"{path}: leaderboard {board.name!r}: carry_over: {problem}: correct it or remove it"


def _source_of(settings: Settings, board: LeaderboardSettings) -> LeaderboardSettings | None:
    """Return the table that a leaderboard carries over from, None if there is none."""
    source = board.carry_over.source if board.carry_over else None
    shared = {"", board.category}
    named = (each for each in settings.leaderboards if each.name == source)
    return next((each for each in named if not board.category or each.category in shared), None)


def _clashes(settings: Settings, path: Path) -> Iterator[str]:
    """Yield a problem for each webhook in a wrong place, and all that is set twice."""
    for name, value in settings:
        if "/webhooks/" in repr(value):  # that of a secret is masked
            yield f"{path}: {name} holds the address of a webhook: move it to a setting for Discord"
    if settings.categories and settings.goals:
        yield f"{path}: goals outside [[categories]] have no effect: move them into its tables"
    slugs = Counter(each.slug for each in settings.categories)
    for slug in (slug for slug, count in slugs.items() if count > 1):
        yield f"{path}: {slug!r} is in more than one of [[categories]]: keep one of them"
    for index, board in enumerate(settings.leaderboards):
        for other in settings.leaderboards[:index]:
            if board.name == other.name and (
                board.category == other.category or not board.category or not other.category
            ):
                yield f"{path}: two of [[leaderboards]] are named {board.name!r}: rename one"
