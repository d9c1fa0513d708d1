"""Declares all settings. `racebot.settings.sources` reads them.

Secrets are `SecretStr` and are never part of a message.
"""

import ipaddress
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, Self

from pydantic import AnyHttpUrl, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from racebot.errors import PayloadError, SettingsError
from racebot.races.outcome import TeamPolicy
from racebot.ratings import registry
from racebot.settings.tables import (
    LONGEST_SPAN,
    CategorySettings,
    LeaderboardSettings,
    Slug,
    checked_webhook,
    model_key,
)
from racebot.settings.texts import Texts
from racebot.text.parse import read_json

PREFIX = "RACEBOT_"
NO_GOAL = "none"  # in place of the goals to rate: only leaderboards of `racebot.toml` are rated
LogLevel = Literal["debug", "info", "warning", "error"]


def _pairs(value: object) -> object:
    """Read `name=value; name=value`, or a JSON object, as a mapping."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text.startswith("{"):
        return _decoded(text)
    pairs = [part.partition("=") for part in text.split(";") if part.strip()]
    if any(not sign for _, sign, _ in pairs):
        raise ValueError("a part has no =")
    return {name.strip(): word.strip() for name, _, word in pairs}


def _names(value: object) -> object:
    """Read `name; name`, or a JSON list, as a list."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text.startswith("["):
        return _decoded(text)
    return [name.strip() for name in text.split(";") if name.strip()]


def _decoded(text: str) -> object:
    try:
        return read_json(text)
    except PayloadError as error:
        raise ValueError(str(error)) from None


def _trustworthy(address: str) -> str:
    """Check that a secret can be sent to this address safely."""
    try:
        host = (AnyHttpUrl(address).host or "").strip("[]")
    except ValidationError:
        raise ValueError("not an address") from None
    here = host.split(".")[-1] == "localhost"
    with suppress(ValueError):
        here = here or ipaddress.ip_address(host).is_loopback
    if not (here or address.startswith("https:")):
        raise ValueError("without https, others on the network can read the bot's secret")
    return address


class Named(Protocol):
    """A leaderboard as tables name it."""

    @property
    def category(self) -> str: ...

    @property
    def name(self) -> str: ...


class Settings(BaseSettings):
    """All settings. Error messages quote the descriptions, so each one names a valid value."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        dotenv_filtering="only_existing",  # leave out the variables of other programs
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
    )

    site: str = Field(
        "https://racetime.gg",
        pattern=r"^https?://([A-Za-z0-9.-]+|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?$",
        description="the site's address, such as https://racetime.gg",
    )
    category: Slug | None = Field(
        None, description="the end of the category's address, such as smr for https://racetime.gg/smr"
    )
    client_id: str | None = Field(None, min_length=1, description="the bot's client id, from an owner")
    client_secret: SecretStr | None = Field(None, min_length=1, description="the bot's client secret")
    goals: Annotated[list[str], NoDecode] = Field(
        [],
        description="the goals to rate, separated by semicolons; leave it out to rate them all, or set it to "
        "none to rate only the leaderboards of racebot.toml",
    )
    cluster: str | None = Field(None, description="a Dask scheduler's address, such as tcp://10.0.0.1:8786")
    database: Path = Field(Path("state/racebot.db"), description="the path of the SQLite database")
    model: str = Field(registry.DEFAULT_MODEL, description="a rating model's key")
    parameters: Annotated[dict[str, Any], NoDecode] = Field(
        {}, description="parameters that differ from the model's defaults: `name=value; name=value`"
    )
    team_races: TeamPolicy | None = Field(None, description="ignore, individual or team")
    announce: bool = Field(True, description="true or false")
    info_block: Literal["append", "when-empty"] = Field("append", description="append or when-empty")
    commands: bool = Field(True, description="true or false")
    command_prefix: str = Field(
        "!", pattern=r"^[^\s\w@/]{1,3}$", description="one to three punctuation marks, for example !"
    )
    quiet_seconds: float = Field(10.0, ge=0, le=600, description="a number of seconds from 0 to 600")
    rooms_every: float = Field(30.0, ge=0.1, le=600, description="a number of seconds from 0.1 to 600")
    list_every: float = Field(300.0, ge=0.1, le=86400, description="a number of seconds from 0.1 to 86400")
    request_interval: float = Field(1.0, ge=0, le=60, description="a number of seconds from 0 to 60")
    minimum_finishes: int = Field(5, ge=0, description="a number of finishes, 0 to list all players")
    inactive_days: int = Field(
        0,
        ge=0,
        le=LONGEST_SPAN,
        description=f"a number of days up to {LONGEST_SPAN}, 0 to keep inactive players listed",
    )
    backups: int = Field(7, ge=0, le=1000, description="how many nightly backups to keep, 0 for none")
    provisional_races: int = Field(
        5, ge=0, description="a number of races below which a rating is marked as provisional, 0 to mark none"
    )
    pages_dir: Path | None = Field(None, description="the path of a folder for the pages")
    pages_url: str | None = Field(
        None,
        pattern=r"^https?://[^\s/?#]+(/[^\s?#]*)?$",
        description="the address of the pages, such as https://ratings.example.org",
    )
    pages_cards: bool = Field(False, description="true or false")
    pages_title: str = Field(
        "Race ratings", pattern=r"\S", max_length=60, description="the pages' title, up to 60 characters"
    )
    pages_footer: str = Field("", max_length=300, description="a text below each page, up to 300 characters")
    avatars: bool = Field(True, description="true or false")
    discord_webhook: SecretStr | None = Field(
        None, description="a webhook's address, such as https://discord.com/api/webhooks/ID/TOKEN"
    )
    log_level: LogLevel = Field("info", description="debug, info, warning or error")
    config: Path = Field(Path("racebot.toml"), description="the path of a racebot.toml")
    categories: list[CategorySettings] = Field([], description="tables [[categories]] in racebot.toml")
    leaderboards: list[LeaderboardSettings] = Field([], description="tables [[leaderboards]] in racebot.toml")
    texts: Texts = Field(Texts(), description="the table [texts] in racebot.toml")

    _check_site = field_validator("site")(_trustworthy)
    _check_discord = field_validator("discord_webhook")(checked_webhook)
    _check_model = field_validator("model")(model_key)
    _decode_goals = field_validator("goals", mode="before")(_names)
    _decode_parameters = field_validator("parameters", mode="before")(_pairs)

    @field_validator("site", "pages_url", mode="before")
    @classmethod
    def _bare(cls, value: object) -> object:
        return value.rstrip("/") if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.categories and self.category is not None:
            raise ValueError("RACEBOT_CATEGORY and [[categories]] are both set: keep one of them")
        return self

    def webhooks(self) -> dict[str, SecretStr]:
        """Return all Discord webhooks by their ids, which are no secrets."""
        found = [self.discord_webhook, *(own.discord for own in self.leaderboards)]
        return {each.get_secret_value().split("/")[-2]: each for each in found if each}

    def webhook_of(self, board: Named) -> str | None:
        """Return the id of a leaderboard's Discord webhook, or None."""
        address = next((each.discord for each in self.tables_of(board) if each.discord), self.discord_webhook)
        return next((number for number, each in self.webhooks().items() if each == address), None)

    def tables_of(self, board: Named) -> list[LeaderboardSettings]:
        """Return the tables of a leaderboard."""
        boards = (each for each in self.leaderboards if each.category in {"", board.category})
        return [each for each in boards if each.name == board.name]

    def slugs(self) -> list[str]:
        """Return the slugs of all categories in the settings."""
        return [each.slug for each in self.all_categories()]

    def read_only(self) -> list[str]:
        """Return the slugs of the categories without a bot."""
        return [each.slug for each in self.all_categories() if each.client_id is None]

    def all_categories(self) -> list[CategorySettings]:
        """Return the tables, or the one category that is set without them.

        Categories that only leaderboards name are read, without a bot, and none of their goals is rated.
        """
        facts = self.model_dump(include={"client_id", "client_secret", "goals"})
        own = [CategorySettings.model_construct(slug=self.category, **facts)] if self.category else []
        own += self.categories
        named = dict.fromkeys(board.category for board in self.leaderboards if board.category)
        known = {each.slug for each in own}
        return own + [CategorySettings(slug=slug, goals=[NO_GOAL]) for slug in named if slug not in known]

    def required_categories(self) -> list[CategorySettings]:
        """Return the categories to watch. None, or half of the credentials, is a `SettingsError`."""
        found = self.all_categories()
        if not found:
            raise SettingsError(f"no category is set up: run `racebot setup`, or set {PREFIX}CATEGORY")
        missing = [name for name in ("client_id", "client_secret") if getattr(self, name) is None]
        if not self.categories and len(missing) == 1:
            raise SettingsError(f"{PREFIX}{missing[0].upper()} is not set: set both, or neither to read only")
        return found

    def rating_of(self, board: LeaderboardSettings) -> tuple[str, dict[str, Any], TeamPolicy | None]:
        """Return a table's model, parameters and team policy, which it may leave to the other settings."""
        parameters = board.parameters if board.model else {**self.parameters, **board.parameters}
        return board.model or self.model, parameters, board.team_races or self.team_races
