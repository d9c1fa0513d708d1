"""The types that the addresses of the data API return as JSON. Their texts become the OpenAPI description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, TypeVar

from pydantic import Field

from racebot.queries.leaderboard import LeaderboardReport
from racebot.queries.live import LiveRoom
from racebot.queries.odds import PlayerOdds
from racebot.queries.pair import Comparison, Meeting, Rival
from racebot.queries.player import NamedPlayer, PlayedRace, PlayerStanding
from racebot.queries.race import RaceOnBoard, RaceReport
from racebot.queries.races import RaceRow, RatingChange
from racebot.web.site.live_rooms import LiveRooms

Page = Annotated[
    str, Field(description="Address of the page; without RACEBOT_PAGES_URL, relative to the front page")
]
Profile = Annotated[str, Field(description="Address of the player's profile on racetime.gg")]
Room = Annotated[str, Field(description="Address of the race's room on racetime.gg")]
Id = Annotated[str, Field(description="The leaderboard's id: its category and name as written in addresses")]


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list: `page` of `pages`, with `per_page` items each and `total` items overall."""

    page: int
    per_page: int
    pages: int
    total: int

    @property
    def offset(self) -> int:
        return (self.page - 1) * self.per_page


@dataclass(frozen=True, slots=True)
class BoardSummary:
    """A summary of a leaderboard."""

    id: Id
    leaderboard: Annotated[str, Field(description="The leaderboard's name")]
    category: Annotated[str, Field(description="The category's slug on racetime.gg")]
    goals: Sequence[str]
    model: str
    races: int
    last_race_at: datetime | None
    listed: Annotated[int, Field(description="Number of listed players")]
    page: Page


@dataclass(frozen=True, slots=True)
class LeaderboardsAnswer:
    """Every leaderboard."""

    leaderboards: Sequence[BoardSummary]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardPart(LeaderboardReport):
    """A leaderboard with one page of its listed players."""

    id: Id
    address: Page
    page: Annotated[int, Field(description="Number of this part of the list, from 1")]
    per_page: int
    pages: int
    total: Annotated[int, Field(description="Number of listed players")]


@dataclass(frozen=True, slots=True)
class ListedRace(RaceRow):
    """A rated race in a list, with its addresses."""

    room: Room
    page: Page


Addressed = TypeVar("Addressed", "ListedRace", "PlayerRace", "SharedRace", "OpenRoom")


@dataclass(frozen=True, slots=True)
class RacesPart(ListPage):
    """One page of a leaderboard's races, newest first."""

    board: Id
    races: Sequence[ListedRace]


@dataclass(frozen=True, slots=True)
class Changes:
    """Rating changes, oldest first. To read on, repeat the request with `after` set to `next`."""

    board: Id
    after: int
    next: Annotated[int, Field(description="The last race's sequence number, or `after` without new races")]
    changes: Sequence[RatingChange]


@dataclass(frozen=True, slots=True)
class StandingOnBoard(PlayerStanding):
    """A player's standing on one leaderboard."""

    board: Id
    page: Page
    finish_chance: Annotated[
        float | None, Field(description="Chance to finish the next race; null if the model has none")
    ]


@dataclass(frozen=True, slots=True)
class PlayerRace(PlayedRace):
    """One rated race of a player, with its addresses."""

    room: Room
    page: Page


@dataclass(frozen=True, slots=True)
class PlayerOnBoard(StandingOnBoard):
    """A player's standing on one leaderboard, with the races, oldest first, and the opponents."""

    history: Annotated[
        Sequence[PlayerRace],
        Field(
            description="All, or the last `limit`. For earlier races, set `before` to the first `sequence`"
        ),
    ]
    opponents: Annotated[
        Sequence[Rival], Field(description="All opponents, or the `limit` met most; the most frequent first")
    ]


@dataclass(frozen=True, slots=True)
class PlayerAnswer:
    """A player's standing on every leaderboard, the most recently raced first."""

    id: str
    name: str
    pronouns: Annotated[str, Field(description="As on racetime.gg; may be empty")]
    twitch: Annotated[str, Field(description="Login name on Twitch; may be empty")]
    avatar: Annotated[
        str | None,
        Field(description="Address of the avatar, as that of the page; null before the bot has it"),
    ]
    profile: Profile
    page: Page
    leaderboards: Sequence[StandingOnBoard]


@dataclass(frozen=True, slots=True)
class FoundStanding:
    """A found player's points on one leaderboard."""

    board: Id
    points: int
    place: Annotated[int | None, Field(description="null if the player is not listed")]


@dataclass(frozen=True, slots=True)
class FoundPlayer(NamedPlayer):
    """A found player, with the points on every leaderboard, the most recently raced first."""

    page: Page
    leaderboards: Sequence[FoundStanding]


@dataclass(frozen=True, slots=True)
class FoundPlayers:
    """Players whose name contains a text, the shortest names first."""

    players: Annotated[Sequence[FoundPlayer], Field(description="At most 50")]
    total: Annotated[int, Field(description="Number of all players found")]


@dataclass(frozen=True, slots=True)
class RatedOnBoard(RaceOnBoard):
    """The rating changes of a race on one leaderboard. `note` says why, if no rating changed."""

    board: Id


@dataclass(frozen=True, slots=True)
class RaceAnswer(RaceReport):
    """A race with its result and its rating changes on every leaderboard that it counts on."""

    room: Room
    page: Page
    leaderboards: Sequence[RatedOnBoard]


@dataclass(frozen=True, slots=True)
class OddsAnswer:
    """The odds of a race between any players, in the order of the query. Unknown players are newcomers."""

    board: Id
    entrants: Sequence[PlayerOdds]


@dataclass(frozen=True, slots=True)
class SharedRace(Meeting):
    """A race that two players both entered, with its addresses."""

    room: Room
    page: Page


@dataclass(frozen=True, slots=True)
class FacingPlayer(NamedPlayer):
    """One of two compared players, with the points on the leaderboard."""

    points: int
    place: Annotated[int | None, Field(description="null if the player is not listed")]
    page: Page


@dataclass(frozen=True, slots=True)
class HeadToHead(Comparison):
    """Two players against each other: their record, all their races, and the chance next time."""

    chance: Annotated[float, Field(description="Chance of `a` to be placed before `b` next time")]
    ahead: Annotated[int, Field(description="Races in which `a` was placed before `b`")]
    behind: Annotated[int, Field(description="Races in which `b` was placed before `a`")]
    meetings: Annotated[
        Sequence[SharedRace], Field(description="Newest first; `other_` marks the values of `b`")
    ]
    board: Id
    a: FacingPlayer
    b: FacingPlayer


@dataclass(frozen=True, slots=True)
class OpenRoom(LiveRoom):
    """A race room that is open, in progress, or finished and not recorded yet, with its addresses."""

    room: Room
    page: Annotated[str, Field(description="Address of the page that the race has once it is recorded")]


@dataclass(frozen=True, slots=True)
class LiveAnswer(LiveRooms):
    """Listed rooms that are open, in progress, or finished and not recorded yet. The newest comes first."""

    rooms: Sequence[OpenRoom]


@dataclass(frozen=True, slots=True)
class ProblemDetails:
    """An error, in the format of RFC 9457: https://www.rfc-editor.org/rfc/rfc9457."""

    title: str
    status: int
    detail: str = ""
    type: str = "about:blank"
