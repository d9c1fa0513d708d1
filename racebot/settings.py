"""All settings, declared once: environment, `.env`, and `racebot.toml` for what needs tables.

`load` reports every problem at once, each with the variable, its value and the mend. Secrets are
`SecretStr` and are never part of a message.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from dotenv import dotenv_values
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError as UnreadableSource,
    TomlConfigSettingsSource,
)

from racebot.announcement import InfoPolicy
from racebot.errors import ModelError, SettingsError
from racebot.races.outcome import TeamPolicy
from racebot.ratings import registry
from racebot.ratings.parameters import did_you_mean
from racebot.settle import LeaderboardPlan, Plans

PREFIX = "RACEBOT_"
DEFAULT_MODEL = "plackett-luce"
_SECRET = {"client_secret"}

Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]


def _pairs(value: object) -> object:
    """`name=value; name=value`, or a JSON object, as a mapping."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text.startswith("{"):
        return json.loads(text)
    pairs = [part.partition("=") for part in text.split(";") if part.strip()]
    if any(not sign for _, sign, _ in pairs):
        raise ValueError("not of the form name=value; name=value")
    return {name.strip(): word.strip() for name, _, word in pairs}


def _names(value: object) -> object:
    """`name; name`, or a JSON list, as a list."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    return (
        json.loads(text)
        if text.startswith("[")
        else [name.strip() for name in text.split(";") if name.strip()]
    )


class CategorySettings(BaseModel):
    """One category and the bot that watches it."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    slug: Slug
    client_id: str = Field(min_length=1)
    client_secret: SecretStr = Field(min_length=1)
    goals: list[str] = []


class LeaderboardSettings(BaseModel):
    """One leaderboard of `racebot.toml`: which goals it joins and how it is rated."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1)
    goals: list[str] = Field(min_length=1)
    category: str = ""
    model: str | None = None
    parameters: dict[str, Any] = {}
    team_races: TeamPolicy | None = None
    minimum_finishes: int | None = Field(default=None, ge=0)
    inactive_days: int | None = Field(default=None, ge=0)


class Settings(BaseSettings):
    """Everything that an operator can set. Descriptions end up in messages: they say what to write."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="forbid", frozen=True, hide_input_in_errors=True
    )

    site: str = Field(
        "https://racetime.gg",
        pattern=r"^https?://[^/\s]+$",
        description="the site's address, such as https://racetime.gg",
    )
    category: Slug | None = Field(
        None, description="the category's slug: `smr` where its address is https://racetime.gg/smr"
    )
    client_id: str | None = Field(
        None, min_length=1, description="the bot's client id, from the category's owner"
    )
    client_secret: SecretStr | None = Field(
        None, min_length=1, description="the bot's client secret, from the category's owner"
    )
    goals: Annotated[list[str], NoDecode] = Field(
        [], description="the goals to rate, separated by semicolons; leave it out to rate them all"
    )
    database: Path = Field(Path("state/racebot.db"), description="the path of the SQLite database")
    model: str = Field(DEFAULT_MODEL, description="a rating model's key")
    parameters: Annotated[dict[str, Any], NoDecode] = Field(
        {}, description="parameters that differ from the model's defaults, as `name=value; name=value`"
    )
    team_races: TeamPolicy = Field(TeamPolicy.IGNORE, description="ignore, individual or team")
    announce: bool = Field(True, description="true or false: whether to speak in race chat")
    info_block: InfoPolicy = Field(
        InfoPolicy.WHEN_EMPTY,
        description="when-empty, append or never: whether final changes go into the race's info box",
    )
    quiet_seconds: float = Field(10.0, ge=0, le=600, description="a number of seconds from 0 to 600")
    rooms_every: float = Field(30.0, ge=0.1, le=600, description="a number of seconds from 0.1 to 600")
    list_every: float = Field(300.0, ge=0.1, le=86400, description="a number of seconds from 0.1 to 86400")
    request_interval: float = Field(1.0, ge=0, le=60, description="a number of seconds from 0 to 60")
    minimum_finishes: int = Field(0, ge=0, description="a number of finishes, 0 to list everybody")
    inactive_days: int = Field(0, ge=0, description="a number of days, 0 to hide nobody")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="debug, info, warning or error"
    )
    config: Path = Field(Path("racebot.toml"), description="the path of a racebot.toml")
    categories: list[CategorySettings] = Field([], description="tables [[categories]] in racebot.toml")
    leaderboards: list[LeaderboardSettings] = Field([], description="tables [[leaderboards]] in racebot.toml")

    _decode_goals = field_validator("goals", mode="before")(_names)
    _decode_parameters = field_validator("parameters", mode="before")(_pairs)

    @field_validator("site", mode="before")
    @classmethod
    def _bare(cls, value: object) -> object:
        return value.rstrip("/") if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.categories and self.category is not None:
            raise ValueError("RACEBOT_CATEGORY and [[categories]] are both set: keep one of them")
        return self

    def required_categories(self) -> list[CategorySettings]:
        """The categories to watch, with credentials.

        Raises:
            SettingsError: none is set, or its credentials are missing; each missing variable is named.
        """
        if self.categories:
            return self.categories
        problems = [
            f"{PREFIX}{name.upper()} is not set: set it to {type(self).model_fields[name].description}"
            for name in ("category", "client_id", "client_secret")
            if getattr(self, name) is None
        ]
        if problems:
            raise SettingsError(*problems)
        assert self.category and self.client_id and self.client_secret  # noqa: S101 - checked above
        return [
            CategorySettings(
                slug=self.category,
                client_id=self.client_id,
                client_secret=self.client_secret,
                goals=self.goals,
            )
        ]

    def plans(self) -> Plans:
        """What to rate, and how."""
        default = LeaderboardPlan(self.model, self.parameters, self.team_races)
        goals = {c.slug: frozenset(c.goals) for c in self.categories if c.goals}
        if self.category and self.goals:
            goals[self.category] = frozenset(self.goals)
        named = tuple(
            LeaderboardPlan(
                model=board.model or self.model,
                parameters=board.parameters if board.model else {**self.parameters, **board.parameters},
                teams=board.team_races or self.team_races,
                name=board.name,
                category=board.category,
                goals=tuple(board.goals),
            )
            for board in self.leaderboards
        )
        return Plans(default, named, goals)


def load(directory: Path | None = None, **overrides: Any) -> Settings:
    """The settings from the environment, `.env` and `racebot.toml`, in that order of precedence.

    Args:
        directory: where `.env` and `racebot.toml` are looked for, by default the current folder.
        overrides: values given on the command line, which beat everything else; None is not given.

    Raises:
        SettingsError: with one line for each problem.
    """
    directory = Path() if directory is None else directory
    written = {name.upper(): text for name, text in dotenv_values(directory / ".env").items()}
    written |= {name.upper(): text for name, text in os.environ.items()}
    known = {PREFIX + name.upper(): name for name in Settings.model_fields}
    problems = [
        f"{name} is not a setting of racebot{did_you_mean(name, known)}: correct the name or unset it"
        for name in written
        if name.startswith(PREFIX) and name not in known
    ]
    path = directory / (written.get(f"{PREFIX}CONFIG") or "racebot.toml")
    if written.get(f"{PREFIX}CONFIG") and not path.exists():
        problems.append(f"{PREFIX}CONFIG={str(path)!r}: there is no such file: correct the path or unset it")
    try:
        settings = _sourced(directory / ".env", path)(
            **{name: value for name, value in overrides.items() if value is not None}
        )
    except ValidationError as error:
        problems += [
            _problem(each, {known[name] for name in written if name in known}, path)
            for each in error.errors()
        ]
        raise SettingsError(*problems) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise SettingsError(*problems, f"{path}: {error}: correct the file") from None
    except UnreadableSource as error:
        raise SettingsError(*problems, f"{error}: write it as JSON, or use racebot.toml") from None
    problems += _model_problems(settings)
    if problems:
        raise SettingsError(*problems)
    return settings


def _sourced(env_file: Path, toml_file: Path) -> type[Settings]:
    """`Settings` that read these files below the environment."""

    class Sourced(Settings):
        model_config = SettingsConfigDict(env_ignore_empty=True)

        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return (
                init_settings,
                env_settings,
                _PrefixedDotEnv(settings_cls, env_file),
                TomlConfigSettingsSource(settings_cls, toml_file),
            )

    return Sourced


class _PrefixedDotEnv(DotEnvSettingsSource):
    """`.env` without the names that are not racebot's: the file may serve other programs too."""

    def __call__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__call__().items() if name in Settings.model_fields}


def _problem(error: Any, from_environment: set[str], path: Path) -> str:
    """One line from one of pydantic's errors."""
    place = [str(part) for part in error["loc"]]
    text = str(error["msg"]).removeprefix("Value error, ")
    if not place:
        return text
    top = place[0]
    if top not in Settings.model_fields:
        hint = did_you_mean(top, Settings.model_fields)
        return f"{path}: {top!r} is not a setting of racebot{hint}: correct the name or remove it"
    mend = Settings.model_fields[top].description
    shown = "(hidden)" if place[-1] in _SECRET else repr(error["input"])
    if top in from_environment:
        return f"{PREFIX}{top.upper()}={shown}: {text}: set it to {mend}"
    return f"{path}: {'.'.join(place)} = {shown}: {text}: check it against {mend}"


def _model_problems(settings: Settings) -> Iterable[str]:
    candidates = [(f"{PREFIX}MODEL={settings.model!r}", settings.model, settings.parameters)]
    for board in settings.leaderboards:
        plan = next(p for p in settings.plans().named if p.name == board.name)
        candidates.append(
            (f"{settings.config}: leaderboard {board.name!r}", plan.model, dict(plan.parameters))
        )
    for where, model, parameters in candidates:
        try:
            made = registry.create(model, parameters)
        except ModelError as error:
            variable = (
                f"{PREFIX}PARAMETERS" if where.startswith(PREFIX) and model in registry.MODELS else where
            )
            yield f"{variable}: {error}"
            continue
        if settings.team_races is TeamPolicy.TEAM and not made.rates_teams:
            able = ", ".join(key for key, each in registry.MODELS.items() if each.rates_teams)
            yield (
                f"{PREFIX}TEAM_RACES='team': {model} does not rate teams: "
                f"choose a model that does ({able}), or set it to ignore or individual"
            )
