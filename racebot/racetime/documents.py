"""Pydantic models of the site's JSON, with limits and error messages."""

from __future__ import annotations

import logging
import re
import reprlib
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from racebot.errors import PayloadError
from racebot.races.result import MOST_ENTRANTS
from racebot.text.parse import parse_duration, parse_time
from racebot.text.safe import printable

log = logging.getLogger(__name__)

LONGEST_TEXT = 1_000
"""Most characters in a name, id or word; the site's longest is a goal of 255."""
LONGEST_MESSAGE = 20_000
"""Most characters in a chat message. Users can write 1,000; the site's own messages are slightly longer."""
MOST_ENTRIES = 1_000
"""Most entries to read from one list. The site sends at most 100 past races or chat messages."""
RACE_NAME = re.compile(r"[\w-]{1,100}/[\w-]{1,100}", re.ASCII)


def _if(accept: Any) -> Any:
    """Replace an unacceptable value with None."""
    return BeforeValidator(lambda value: value if accept(value) else None)


_PATH = re.compile(r"/[\w./-]{1,500}", re.ASCII)
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


_or_empty = BeforeValidator(lambda value: "" if value is None else value)
_Text = Annotated[str, Field(max_length=LONGEST_TEXT), _or_empty]
_RequiredText = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]
_RaceName = Annotated[str, BeforeValidator(_race_name)]
_Time = Annotated[datetime, BeforeValidator(parse_time)]
_Duration = Annotated[
    int | None, BeforeValidator(lambda value: None if value is None else parse_duration(value))
]
_Truthy = Annotated[bool, BeforeValidator(bool)]
_IsTrue = Annotated[bool, BeforeValidator(lambda value: value is True)]
_Integer = Annotated[int | None, _if(lambda value: type(value) is int)]


def _pronouns(value: object) -> object:
    short = isinstance(value, str) and len(value) <= LONGEST_PRONOUNS
    return " ".join(printable(value).split()) if short and isinstance(value, str) else ""


class SiteDocument(BaseModel):
    """A JSON object from the site. Unused fields are ignored."""

    model_config = ConfigDict(strict=True)


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
    team: Annotated[TeamDocument | None, _if(lambda value: isinstance(value, Mapping))] = None


class RaceDocument(SiteDocument):
    name: _RaceName
    status: StatusDocument
    goal: GoalDocument
    version: _Integer = None
    recordable: _Truthy = True
    recorded: _Truthy = False
    websocket_bot_url: Annotated[str | None, _matches(_PATH)] = None
    info_bot: Annotated[str | None, _if(lambda value: isinstance(value, str))] = None
    bot_meta: Annotated[dict[str, Any] | None, _if(lambda value: isinstance(value, dict))] = None
    unlisted: _Truthy = False
    opened_at: Annotated[datetime | None, BeforeValidator(time_or_none)] = None
    started_at: Annotated[datetime | None, BeforeValidator(time_or_none)] = None
    ended_at: Annotated[datetime | None, BeforeValidator(time_or_none)] = None
    cancelled_at: Annotated[datetime | None, BeforeValidator(time_or_none)] = None
    entrants: Any = None


class RoomDocument(SiteDocument):
    name: _RaceName
    goal: GoalDocument


class CategoryDocument(SiteDocument):
    slug: _RequiredText
    name: _Text = ""
    image: Annotated[str | None, _matches(_IMAGE)] = None
    goals: Annotated[list[_Text], BeforeValidator(_bounded)]
    current_races: Annotated[list[RoomDocument], BeforeValidator(_bounded)]


class RacePageDocument(SiteDocument):
    races: list[Any]
    num_pages: int


class ChatMessageDocument(SiteDocument):
    id: _Text = ""
    message: Annotated[str, Field(max_length=LONGEST_MESSAGE), _or_empty] = ""
    posted_at: _Time
    user: Annotated[UserDocument | None, _if(lambda value: isinstance(value, Mapping))] = None
    bot: _Text = ""
    is_system: _IsTrue = False
    is_monitor: _IsTrue = False
    is_pinned: _IsTrue = False


class ChatHistoryDocument(SiteDocument):
    date: Annotated[datetime | None, BeforeValidator(time_or_none)] = None
    messages: Annotated[list[ChatMessageDocument], BeforeValidator(_bounded)]


_REASONS = {
    "missing": "is missing",
    "model_type": "is not an object",
    "list_type": "is not a list",
    "string_type": "is not text",
}


def _reader(kind: Any) -> Callable[[object, str], Any]:
    adapter = TypeAdapter(kind)

    def read(value: object, where: str) -> Any:
        try:
            return adapter.validate_python(value)
        except ValidationError as error:
            raise _problem(error, where) from None

    return read


def _problem(error: ValidationError, where: str) -> PayloadError:
    """Return an error for the first problem in a document, with its location."""
    first = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"]))
    named = f"{where}: {place}" if place else where
    if first["type"] in _REASONS:
        return PayloadError(f"{named} {_REASONS[first['type']]}")
    return PayloadError(f"{named}: {first['msg'].removeprefix('Value error, ')}")


read_race: Callable[[object, str], RaceDocument] = _reader(RaceDocument)
read_entrants: Callable[[object, str], list[EntrantDocument]] = _reader(
    Annotated[list[EntrantDocument], Field(max_length=MOST_ENTRANTS)]
)
read_category: Callable[[object, str], CategoryDocument] = _reader(CategoryDocument)
read_race_page: Callable[[object, str], RacePageDocument] = _reader(RacePageDocument)
read_chat_message: Callable[[object, str], ChatMessageDocument] = _reader(ChatMessageDocument)
read_chat_history: Callable[[object, str], ChatHistoryDocument] = _reader(ChatHistoryDocument)


@lru_cache(maxsize=256)
def log_unknown(what: str, value: str) -> None:
    """Log once that the bot ignores a value of the site that it does not know."""
    log.warning("unknown %s %s from the site: ignored (logged once)", what, value)
