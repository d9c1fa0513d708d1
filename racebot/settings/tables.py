"""Declares the tables of `racebot.toml`: categories, and leaderboards."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)

from racebot.errors import ModelError, SettingsError
from racebot.races.outcome import TeamPolicy
from racebot.races.rooms import BY_GOALS, Carry, RoomRule, room_named
from racebot.ratings import registry
from racebot.scoring.rules import Rules, rules_of

LONGEST_SPAN = 36_500
"""Days. A longer span would exceed the years that `datetime` supports."""
Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]

_WEBHOOK = re.compile(
    r"(https://((ptb|canary)\.)?discord(app)?\.com|http://(127\.0\.0\.1|localhost)(:\d{1,5})?)"
    r"/api(/v\d+)?/webhooks/\d+/[\w-]+"
)


def checked_webhook(secret: SecretStr | None) -> SecretStr | None:
    """Return the address of a Discord webhook. Raise `ValueError` if it is none."""
    if secret is not None and not _WEBHOOK.fullmatch(secret.get_secret_value()):
        raise ValueError("not the address of a Discord webhook")
    return secret


def model_key(value: str | None) -> str | None:
    """Check that the registry has a model with this key."""
    if value is not None and value not in registry.MODELS:
        try:
            registry.create(value)
        except ModelError as error:
            raise ValueError(str(error)) from None
    return value


def _scoring(value: Any) -> Rules:
    """Read the name of a set of rules, or a table of their parts."""
    try:
        return rules_of(value if isinstance(value, str) else dict(value))
    except (SettingsError, TypeError) as error:
        raise ValueError(str(error)) from None


class CategorySettings(BaseModel):
    """A category and the credentials of its bot. Without them, racebot only reads what is public."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    slug: Slug
    client_id: str | None = Field(None, min_length=1)
    client_secret: SecretStr | None = Field(None, min_length=1)
    goals: list[str] = []

    @model_validator(mode="after")
    def _both(self) -> Self:
        if (self.client_id is None) != (self.client_secret is None):
            raise ValueError("give both client_id and client_secret, or neither to read only")
        return self


_SPANS = {"s": "seconds", "min": "minutes", "h": "hours", "d": "days"}
_SPAN = re.compile(rf"(\d{{1,5}}) ?({'|'.join(_SPANS)})")


def _span(value: object) -> object:
    if isinstance(value, timedelta):
        return value
    match = _SPAN.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError("must be a time such as '1 h' or '30 min'")
    return timedelta(**{_SPANS[match[2]]: int(match[1])})


_Patterns = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...],
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
]
_in_utc = AfterValidator(lambda moment: moment if moment.tzinfo else moment.replace(tzinfo=UTC))
_Moment = Annotated[datetime, _in_utc] | None


class LeaderboardSettings(BaseModel):
    """A leaderboard of `racebot.toml`: which rooms it chooses and how it is rated."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1)
    goals: list[str] = []
    custom_goals: _Patterns = ()
    info: _Patterns = ()
    opened_by: _Patterns = ()
    opened_by_bot: _Patterns = ()
    since: _Moment = Field(default=None, alias="from")
    until: _Moment = None
    rooms: list[str] = []
    counts: Literal["recorded", "finished"] = "recorded"
    grace: Annotated[timedelta, BeforeValidator(_span)] = timedelta(hours=1)
    category: str = Field("", pattern=r"^([a-z0-9][a-z0-9-]*)?$")
    model: str | None = None
    parameters: dict[str, Any] = {}
    team_races: TeamPolicy | None = None
    minimum_finishes: int | None = Field(default=None, ge=0)
    inactive_days: int | None = Field(default=None, ge=0, le=LONGEST_SPAN)
    carry_over: Carry | None = None
    discord: SecretStr | None = None
    scoring: Annotated[Rules, BeforeValidator(_scoring)] | None = None
    cut: int | None = Field(default=None, ge=1)
    order_by: Literal["score", "rating"] = "score"

    _check_model = field_validator("model")(model_key)
    _check_discord = field_validator("discord")(checked_webhook)

    @field_validator("rooms")
    @classmethod
    def _named(cls, rooms: list[str]) -> list[str]:
        return list(dict.fromkeys(map(room_named, rooms)))

    @model_validator(mode="after")
    def _chooses(self) -> Self:
        if not self.goals and "rooms" not in self.model_fields_set and self.rule().by_goals_alone:
            raise ValueError("no room is chosen: add goals, custom_goals, rooms or another condition")
        if self.since and self.until and self.until <= self.since:
            raise ValueError("until must be later than from")
        if self.custom_goals and self.counts == "recorded":
            raise ValueError('the site never records races with custom goals: add counts = "finished"')
        return self

    def rule(self) -> RoomRule:
        """Return which rooms it chooses besides its goals."""
        return RoomRule(
            custom_goals=self.custom_goals,
            info=self.info,
            opened_by=self.opened_by,
            opened_by_bot=self.opened_by_bot,
            since=self.since,
            until=self.until,
            rooms=tuple(self.rooms),
            finished=self.counts == "finished",
            grace=self.grace if self.counts == "finished" else BY_GOALS.grace,
        )
