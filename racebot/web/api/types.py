"""The types that the data API returns as JSON. Their texts become the OpenAPI description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from racebot.queries.leaderboard import LeaderboardReport
from racebot.queries.live import LiveRoom
from racebot.queries.odds import PlayerOdds
from racebot.queries.player import Comparison, Meeting, PlayedRace, PlayerStanding, Rival
from racebot.queries.race import RaceOnBoard, RaceReport
from racebot.queries.races import RaceRow, RatingChange
from racebot.races.events import Event
from racebot.races.result import EntrantStatus
from racebot.web.site.live_rooms import LiveRooms


@dataclass(frozen=True, slots=True)
class ApiAddress:
    """An address of the API, relative to `api/`, with its query parameters."""

    address: str
    summary: str
    query: Sequence[str]


@dataclass(frozen=True, slots=True)
class ApiIndex:
    """Every address of the API."""

    openapi: str
    addresses: Sequence[ApiAddress]


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

    id: str
    leaderboard: str
    category: str
    goals: Sequence[str]
    model: str
    races: int
    last_race_at: datetime | None
    final_since: datetime | None
    listed: int
    page: str


@dataclass(frozen=True, slots=True)
class LeaderboardsAnswer:
    """Every leaderboard."""

    leaderboards: Sequence[BoardSummary]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardPart(LeaderboardReport):
    """A leaderboard with one page of its listed players."""

    id: str
    address: str
    final_since: datetime | None
    page: int
    per_page: int
    pages: int
    total: int


@dataclass(frozen=True, slots=True)
class ListedRace(RaceRow):
    """A rated race in a list, with its addresses."""

    room: str
    page: str


Addressed = TypeVar("Addressed", "ListedRace", "PlayerRace", "SharedRace", "OpenRoom")


@dataclass(frozen=True, slots=True)
class RacesPart(ListPage):
    """One page of a leaderboard's races, newest first."""

    board: str
    races: Sequence[ListedRace]


@dataclass(frozen=True, slots=True)
class Changes:
    """Rating changes, oldest first. To read on, repeat the request with `after` set to `next`."""

    board: str
    after: int
    next: int
    changes: Sequence[RatingChange]


@dataclass(frozen=True, slots=True)
class StandingOnBoard(PlayerStanding):
    """A player's standing on one leaderboard."""

    board: str
    page: str
    finish_chance: float | None


@dataclass(frozen=True, slots=True)
class PlayerRace(PlayedRace):
    """One rated race of a player, with its addresses."""

    room: str
    page: str


@dataclass(frozen=True, slots=True)
class PlayerOnBoard(StandingOnBoard):
    """A player's standing on one leaderboard, with the races, oldest first, and the opponents."""

    history: Sequence[PlayerRace]
    opponents: Sequence[Rival]


@dataclass(frozen=True, slots=True)
class PlayerAnswer:
    """A player's standing on every leaderboard, the most recently raced first."""

    id: str
    name: str
    pronouns: str
    twitch: str
    avatar: str | None
    profile: str
    page: str
    leaderboards: Sequence[StandingOnBoard]


@dataclass(frozen=True, slots=True)
class FoundPlayers:
    """Players whose name contains a text, the shortest names first."""

    players: Sequence[PlayerAnswer]
    total: int


@dataclass(frozen=True, slots=True)
class RatedOnBoard(RaceOnBoard):
    """The rating changes of a race on one leaderboard. `note` says why, if no rating changed."""

    board: str


@dataclass(frozen=True, slots=True)
class RaceAnswer(RaceReport):
    """A race with its result and its rating changes on every leaderboard that it counts on."""

    room: str
    page: str
    leaderboards: Sequence[RatedOnBoard]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSummary(Event):
    """An event, which counts several rooms and files as one race."""

    finished: int
    page: str


@dataclass(frozen=True, slots=True)
class EventsAnswer:
    """Every event, the newest first."""

    events: Sequence[EventSummary]


@dataclass(frozen=True, slots=True)
class EventResult:
    """One result of an event. A player may have several, of which one counts."""

    id: str | None
    name: str
    status: EntrantStatus
    finish_time: float | None
    source: str
    proof: str
    comment: str
    note: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventAnswer(EventSummary):
    """An event with its sources, and its results unless they are sealed."""

    sources: Sequence[str]
    results: Sequence[EventResult]


@dataclass(frozen=True, slots=True)
class OddsAnswer:
    """The odds of a race between any players, in the order of the query. Unknown players are newcomers."""

    board: str
    entrants: Sequence[PlayerOdds]


@dataclass(frozen=True, slots=True)
class SharedRace(Meeting):
    """A race that two players both entered, with its addresses."""

    room: str
    page: str


@dataclass(frozen=True, slots=True)
class HeadToHead(Comparison):
    """Two players against each other: their record, all their races, and the chance next time."""

    meetings: Sequence[SharedRace]
    board: str
    a: StandingOnBoard
    b: StandingOnBoard


@dataclass(frozen=True, slots=True)
class OpenRoom(LiveRoom):
    """A race room that is open, in progress, or finished and not recorded yet, with its addresses."""

    room: str
    page: str


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


HIDDEN_IDS = frozenset({"Opponent.player", "RatedEntrant.id", "RatingChange.player", "Rival.id"})
"""Ids that the API replaces by null if their player is hidden."""

FIELDS: Mapping[str, str] = {
    **dict.fromkeys(HIDDEN_IDS, "null for a hidden player"),
    **dict.fromkeys(
        ("board", "BoardSummary.id", "LeaderboardPart.id"),
        "The leaderboard's id: its category and name as written in addresses",
    ),
    "final_since": "Since when the season is final; null while it is under way",
    "finish_chance": "Chance to finish; null if the model has none",
    "finish_time": "Seconds; null if the player did not finish",
    "listed": "Number of listed players",
    "new": "True before the player's first race on this leaderboard",
    "page": "Address of the page; without RACEBOT_PAGES_URL, relative to the front page",
    "parts": "Points of the change by their cause, such as `finish` and `place`; may be empty",
    "place": "null for a player who is not listed, or did not finish the race",
    "profile": "Address of the player's profile on racetime.gg",
    "rating": "The number that ranks, before rounding to points",
    "room": "Address of the race's room on racetime.gg",
    "standing": "The place, DNF, DQ, or team DNF",
    "state": "Everything the model stores about the player",
    "win_chance": "Chance to win, before the race; null in team races",
    "Changes.next": "The last race's sequence number, or `after` without new races",
    "EventAnswer.results": "Those that count first; none while they are sealed",
    "EventAnswer.sources": "Rooms and files, in the order in which they were added",
    "EventResult.id": "null for a deleted account or a hidden player",
    "EventResult.note": "Why it does not count; null if it does",
    "FoundPlayers.players": "At most 50",
    "HeadToHead.ahead": "Races in which `a` was placed before `b`",
    "HeadToHead.chance": "Chance of `a` to be placed before `b` next time",
    "HeadToHead.meetings": "Newest first; `other_` marks the values of `b`",
    "LeaderboardPart.address": "Address of the leaderboard's page, like every `page`",
    "LeaderboardPart.everybody": "Players with a rating, listed or not",
    "LeaderboardPart.page": "Number of this part of the list, from 1",
    "LeaderboardPart.since": "Start of the time that `moved` covers",
    "ListedPlayer.moved": "Change since `since`; null if the player had not raced by then",
    "ListedRace.note": "Why no rating changed",
    "LiveAnswer.late": "True if the bot has been silent for a minute",
    "LiveAnswer.seen_at": "When the bot last confirmed them; null if it is not running",
    "LiveBoard.board": "The leaderboard's id; null before its first race",
    "LiveBoard.outcome": "What the record of the race changes, with the reasons; null before its end",
    "LiveEntrant.after": "Points once the race is recorded; null before its end",
    "LiveEntrant.change": "Change once the race is recorded; null before its end",
    "LiveEntrant.chance_now": "Chance to finish next while racing; null before the first finish",
    "LiveEntrant.rank_after": "Place on the leaderboard once the race is recorded; null if not listed",
    "LiveEntrant.rank_before": "Place on the leaderboard before; null if not listed",
    "OpenRoom.page": "Address of the page that the race has once it is recorded",
    "OpenRoom.status": "The site's status, such as `open` or `in_progress`",
    "PlayerAnswer.avatar": "Address of the avatar, like that of the page; null before the bot has it",
    "PlayerOdds.expected_place": "Mean place; unfinished entrants share the rest",
    "PlayerOdds.name": "null for an unknown player",
    "PlayerOnBoard.history": "All, or the last `limit`. For more, set `before` to the first `sequence`",
    "PlayerOnBoard.opponents": "All, or the `limit` met most; the most frequent first",
    "RaceAnswer.source": "`live`, `backfill` or `import`",
    "RacedEntrant.id": "null for a deleted account or a hidden player",
    "RacesPart.page": "Number of this part of the list, from 1",
    "RatedEntrant.actual": "Place among the same entrants; tied entrants share their mean place",
    "RatedEntrant.expected": "Place expected from the ratings, among all rated entrants; for finishers among "
    "the finishers, if the model rates finishing on its own",
    "RatedEntrant.opposed": "The opponent that moved it most the other way",
    "RatedEntrant.pushed": "Opponents that moved the rating the way the place did, the largest first; empty "
    "if the place was about as expected",
    "RatedEntrant.why": "The same explanation as data, in the same order",
    "RatedOnBoard.entrants": "By place, then by points; empty if no rating changed",
    "RatedOnBoard.unrated": "The other entrants: their accounts were deleted; empty if no rating changed",
    "Reason.rule": "The rule behind `limit` and `unchanged`",
    "Winner.id": "null for a deleted account or a hidden player",
}
"""What to say about fields, by name, or by type and name where that says more."""
