"""Pydantic models of the site's JSON, with limits and error messages."""

import logging
import re
import reprlib
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from racebot.errors import PayloadError
from racebot.races.result import MOST_ENTRANTS
from racebot.text.parse import parse_duration, parse_time
from racebot.text.safe import printable

log = logging.getLogger(__name__)

LONGEST_TEXT = 1_000  # most characters in a name, id or word; the site's longest is a goal of 255
LONGEST_MESSAGE = 20_000
"""Most characters in a chat message. Users can write 1,000; the site's own messages are slightly longer."""
MOST_ENTRIES = 1_000
"""Most entries to read from one list. The site sends at most 100 past races or chat messages."""
RACE_NAME = re.compile(r"[\w-]{1,100}/[\w-]{1,100}", re.ASCII)


def _if(accept: Any) -> Any:
    """Replace an unacceptable value with None."""
    return BeforeValidator(lambda value: value if accept(value) else None)


_DIGITS = re.compile(r"\d{1,10}", re.ASCII)
_IMAGE = re.compile(r"(?:https?://[A-Za-z0-9.:-]{1,200})?/[!#-;=?-~]{1,500}")
"""The address of a picture, absolute or a path on the site."""
_TWITCH_NAME = re.compile(r"\w{1,40}", re.ASCII)
LONGEST_PRONOUNS = 40


def _race_name(value: object) -> object:
    if isinstance(value, str) and not RACE_NAME.fullmatch(value):
        raise ValueError(f"{reprlib.repr(value)} is not of the form category/race")
    return value


def _matches(pattern: re.Pattern[str]) -> Any:
    return _if(lambda value: isinstance(value, str) and pattern.fullmatch(value))


def _bounded(value: object) -> object:
    """Keep the last entries of a list: the newest chat messages."""
    return value[-MOST_ENTRIES:] if isinstance(value, list) else value


def time_or_none(value: object) -> datetime | None:
    try:
        return parse_time(value)
    except ValueError:
        return None


def _pronouns(value: object) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_PRONOUNS:
        return ""
    return " ".join(printable(value).split())


_or_empty = BeforeValidator(lambda value: "" if value is None else value)
_Text = Annotated[str, Field(max_length=LONGEST_TEXT), _or_empty]
_RequiredText = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]
_RaceName = Annotated[str, BeforeValidator(_race_name)]
_Time = Annotated[datetime, BeforeValidator(parse_time)]
_TimeOrNone = Annotated[datetime | None, BeforeValidator(time_or_none)]
_Duration = Annotated[
    int | None, BeforeValidator(lambda value: None if value is None else parse_duration(value))
]
_Truthy = Annotated[bool, BeforeValidator(bool)]
_IsTrue = Annotated[bool, BeforeValidator(lambda value: value is True)]
_Integer = Annotated[int | None, _if(lambda value: type(value) is int)]


class SiteDocument(BaseModel):
    """A JSON object from the site. Unused fields are ignored."""

    model_config = ConfigDict(strict=True)


Document = TypeVar("Document", bound=SiteDocument)
T = TypeVar("T")


class UserDocument(SiteDocument):
    id: _Text = ""
    name: _Text = ""
    discriminator: Annotated[str | None, _matches(_DIGITS)] = None
    can_moderate: _IsTrue = False
    avatar: Annotated[str | None, _matches(_IMAGE)] = None
    pronouns: Annotated[str, BeforeValidator(_pronouns)] = ""
    twitch_name: Annotated[str | None, _matches(_TWITCH_NAME)] = None


class StatusDocument(SiteDocument):
    value: _RequiredText


class AnyStatusDocument(SiteDocument):
    value: Annotated[str, BeforeValidator(lambda v: v if isinstance(v, str) else reprlib.repr(v))] = ""


class GoalDocument(SiteDocument):
    name: _Text = ""
    custom: _Truthy = False


class TeamDocument(SiteDocument):
    name: _Text = ""
    slug: _Text = ""

    @model_validator(mode="after")
    def _has_identity(self) -> Self:
        if not (self.name or self.slug):
            raise ValueError("has neither name nor slug")
        return self


class EntrantDocument(SiteDocument):
    status: AnyStatusDocument
    user: UserDocument | None = None
    finish_time: _Duration | None = None
    place: _Integer = None
    stream_live: _IsTrue = False
    team: Annotated[TeamDocument | None, _if(lambda value: isinstance(value, Mapping))] = None


class EntrantsDocument(SiteDocument):
    entrants: Annotated[list[EntrantDocument], Field(max_length=MOST_ENTRANTS)]


_Info = Annotated[str | None, BeforeValidator(lambda v: v[:LONGEST_TEXT] if isinstance(v, str) else None)]


class RaceDocument(SiteDocument):
    name: _RaceName
    status: StatusDocument
    goal: GoalDocument
    info: _Info = None
    opened_by_bot: _Info = None
    started_at: _TimeOrNone = None
    opened_by: Annotated[UserDocument | None, _if(lambda value: isinstance(value, Mapping))] = None
    version: _Integer = None
    recordable: _Truthy = True
    recorded: _Truthy = False
    info_bot: Annotated[str | None, _if(lambda value: isinstance(value, str))] = None
    bot_meta: Annotated[dict[str, Any] | None, _if(lambda value: isinstance(value, dict))] = None
    unlisted: _Truthy = False
    opened_at: _TimeOrNone = None
    ended_at: _TimeOrNone = None
    cancelled_at: _TimeOrNone = None
    entrants: Any = None


class CategoryDocument(SiteDocument):
    slug: _RequiredText
    name: _Text = ""
    image: Annotated[str | None, _matches(_IMAGE)] = None
    goals: Annotated[list[_Text], BeforeValidator(_bounded)]
    current_races: Annotated[list[Any], BeforeValidator(_bounded)]


class RacePageDocument(SiteDocument):
    races: list[Any]
    num_pages: int


class AccountsDocument(SiteDocument):
    results: Annotated[list[UserDocument], BeforeValidator(_bounded)]


class TokenDocument(SiteDocument):
    access_token: Annotated[str, Field(pattern=r"^[!-~]{1,4096}$")]
    expires_in: Annotated[float, Field(gt=0)]


class ChatMessageDocument(SiteDocument):
    id: _Text = ""
    message: Annotated[str, Field(max_length=LONGEST_MESSAGE), _or_empty] = ""
    posted_at: _Time
    user: Annotated[UserDocument | None, _if(lambda value: isinstance(value, Mapping))] = None
    bot: _Text = ""
    is_system: _IsTrue = False
    is_monitor: _IsTrue = False


class ChatHistoryDocument(SiteDocument):
    date: _TimeOrNone = None
    messages: Annotated[list[Any], BeforeValidator(_bounded)]


_REASONS = {
    "missing": "is missing",
    "model_type": "is not an object",
    "list_type": "is not a list",
    "string_type": "is not text",
}


def read(kind: type[Document], value: object, where: str) -> Document:
    """Read a JSON object, or raise a `PayloadError` that names its first problem and the place."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"]))
    named = f"{where}: {place}" if place else where
    if first["type"] in _REASONS:
        raise PayloadError(f"{named} {_REASONS[first['type']]}")
    raise PayloadError(f"{named}: {first['msg'].removeprefix('Value error, ')}")


def read_each(parse: Callable[[Any], T], entries: list[Any]) -> tuple[list[T], tuple[str, ...]]:
    """Read the entries of a list, and return them with what is wrong with those that are left out.

    At most `MOST_ENTRIES` are read.
    """
    found: list[T] = []
    problems: dict[str, None] = {}
    for entry in entries[:MOST_ENTRIES]:
        try:
            found.append(parse(entry))
        except PayloadError as error:
            problems[str(error)] = None
    if (more := len(entries) - MOST_ENTRIES) > 0:
        problems[f"{more} entries of a list are more than {MOST_ENTRIES}"] = None
    return found, tuple(problems)


@lru_cache(maxsize=256)
def warn_once(text: str, *values: object) -> None:
    """Log a warning the first time that it has these values."""
    log.warning(f"{text} (logged once)", *values)
