"""The types that the data API returns as JSON. Their texts become the OpenAPI description."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Generic

from pydantic import Field

from racebot.live_file import LiveRoom
from racebot.queries import AnyRecord, Beside, FinishChance, FinishTime, Listed, OptionalId, Penalty
from racebot.queries.leaderboard import LeaderboardReport, ListedPlayer
from racebot.queries.odds import PlayerOdds
from racebot.queries.player import PlayedRace, PlayerStanding, Rival
from racebot.queries.race import RaceOnBoard, RaceReport
from racebot.queries.races import RaceRow, RatingChange
from racebot.races.events import Event
from racebot.races.result import EntrantStatus
from racebot.web.site.live_rooms import LiveRooms

BoardId = Annotated[
    str, Field(description="The leaderboard's id: its category and name as written in addresses")
]
FinalSince = Annotated[
    datetime | None, Field(description="Since when the season is final; null while it is under way")
]
PartNumber = Annotated[int, Field(description="Number of this part of the list, from 1")]
Page = Annotated[
    str, Field(description="Address of the page; without RACEBOT_PAGES_URL, relative to the front page")
]
Room = Annotated[str, Field(description="Address of the race's room on racetime.gg")]


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list: `page` of `pages`, with `per_page` items each and `total` items overall."""

    page: PartNumber
    per_page: int
    pages: int
    total: int

    @property
    def offset(self) -> int:
        return (self.page - 1) * self.per_page


@dataclass(frozen=True, slots=True)
class BoardSummary:
    """A summary of a leaderboard."""

    id: BoardId
    leaderboard: str
    category: str
    goals: Sequence[str]
    model: str
    races: int
    last_race_at: datetime | None
    final_since: FinalSince
    listed: Listed
    page: Page


@dataclass(frozen=True, slots=True)
class LeaderboardsAnswer:
    """Every leaderboard."""

    leaderboards: Sequence[BoardSummary]


@dataclass(frozen=True, slots=True)
class LeaderboardPart:
    """A leaderboard with one page of its listed players."""

    report: Beside[LeaderboardReport]
    part: Beside[ListPage]
    id: BoardId
    address: Annotated[str, Field(description="Address of the leaderboard's page, like every `page`")]
    final_since: FinalSince
    players: Sequence[ListedPlayer]


@dataclass(slots=True)  # as `PlayedRace`
class Addressed(Generic[AnyRecord]):
    """A race with its addresses. A room has its page once the race is recorded."""

    of: Beside[AnyRecord]
    room: Room
    page: Page


@dataclass(frozen=True, slots=True)
class RacesPart:
    """One page of a leaderboard's races, newest first."""

    part: Beside[ListPage]
    board: BoardId
    races: Sequence[Addressed[RaceRow]]


@dataclass(frozen=True, slots=True)
class Changes:
    """Rating changes, oldest first. To read on, repeat the request with `after` set to `next`."""

    board: BoardId
    after: int
    next: Annotated[int, Field(description="The last race's sequence number, or `after` without new races")]
    changes: Sequence[RatingChange]


@dataclass(frozen=True, slots=True)
class StandingOnBoard:
    """A player's standing on one leaderboard."""

    standing: Beside[PlayerStanding]
    board: BoardId
    page: Page
    finish_chance: FinishChance


@dataclass(frozen=True, slots=True)
class PlayerOnBoard:
    """A player's standing on one leaderboard, with the races, oldest first, and the opponents."""

    standing: Beside[StandingOnBoard]
    history: Annotated[
        Sequence[Addressed[PlayedRace]],
        Field(description="All, or the last `limit`. For more, set `before` to the first `sequence`"),
    ]
    opponents: Annotated[
        Sequence[Rival], Field(description="All, or the `limit` met most; most frequent first")
    ]


@dataclass(frozen=True, slots=True)
class PlayerAnswer:
    """A player's standing on every leaderboard, the most recently raced first."""

    id: str
    name: str
    pronouns: str
    twitch: str
    avatar: Annotated[
        str | None,
        Field(description="Address of the avatar, like that of the page; null before the bot has it"),
    ]
    profile: Annotated[str, Field(description="Address of the player's profile on racetime.gg")]
    page: Page
    leaderboards: Sequence[StandingOnBoard]


@dataclass(frozen=True, slots=True)
class FoundPlayers:
    """Players whose name contains a text, the shortest names first."""

    players: Annotated[Sequence[PlayerAnswer], Field(description="At most 50")]
    total: int


@dataclass(frozen=True, slots=True)
class RatedOnBoard:
    """The rating changes of a race on one leaderboard. `note` says why, if no rating changed."""

    part: Beside[RaceOnBoard]
    board: BoardId


@dataclass(frozen=True, slots=True)
class RaceAnswer:
    """A race with its result and its rating changes on every leaderboard that it counts on."""

    race: Beside[Addressed[RaceReport]]
    leaderboards: Sequence[RatedOnBoard]


@dataclass(frozen=True, slots=True)
class EventSummary:
    """An event, which counts several rooms and files as one race."""

    event: Beside[Event]
    finished: int
    page: Page


@dataclass(frozen=True, slots=True)
class EventsAnswer:
    """Every event, the newest first."""

    events: Sequence[EventSummary]


@dataclass(frozen=True, slots=True)
class EventResult:
    """One result of an event. A player may have several, of which one counts."""

    id: OptionalId
    name: str
    status: EntrantStatus
    finish_time: FinishTime
    source: str
    proof: str
    comment: str
    penalty: Penalty
    penalty_reason: str | None
    note: Annotated[str | None, Field(description="Why it does not count; null if it does")]


@dataclass(frozen=True, slots=True)
class EventAnswer:
    """An event with its sources, and its results unless they are sealed."""

    summary: Beside[EventSummary]
    sources: Annotated[Sequence[str], Field(description="Rooms and files, in the order they were added")]
    results: Annotated[Sequence[EventResult], Field(description="Those that count first; none while sealed")]


@dataclass(frozen=True, slots=True)
class OddsAnswer:
    """The odds of a race between any players, in the order of the query. Unknown players are newcomers."""

    board: BoardId
    entrants: Sequence[PlayerOdds]


@dataclass(frozen=True, slots=True)
class LiveAnswer:
    """Listed rooms that are open, in progress, or finished and not recorded yet. The newest comes first."""

    live: Beside[LiveRooms]
    rooms: Sequence[Addressed[LiveRoom]]


@dataclass(frozen=True, slots=True)
class ProblemDetails:
    """An error, in the format of RFC 9457: https://www.rfc-editor.org/rfc/rfc9457."""

    title: str
    status: int
    detail: str = ""
    type: str = "about:blank"
