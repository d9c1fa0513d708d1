"""A snapshot of the ledger for the pages, with cached queries; the request for a document, and documents."""

import hashlib
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from racebot.addresses import PICTURE, SMALL_PICTURE, BoardAddress, board_addresses
from racebot.ledger.pictures import Pictures, name_of
from racebot.ledger.rows import CategoryProfile, Leaderboard, NamedPlayer
from racebot.ledger.store import Ledger
from racebot.live_file import LiveBoard, LiveRoom
from racebot.queries.activity import CategoryActivity, category_activity
from racebot.queries.leaderboard import (
    BoardTotals,
    LeaderboardReport,
    board_totals,
    leaderboard_report,
    listed_ratings,
)
from racebot.queries.player import (
    PlayedRace,
    PlayerRecord,
    PlayerStanding,
    played_races,
    player_standing,
    rated_players,
)
from racebot.queries.race import EventReport, RaceReport, event_reports, facts_of, race_report
from racebot.queries.races import RaceRow, latest_races
from racebot.queries.records import Recap, final_since, recap
from racebot.queries.scores import ComingScore, league
from racebot.queries.seeds import SeedList, seed_list
from racebot.queries.standings import Listing
from racebot.scoring.table import LeagueStanding, ScoreTable
from racebot.text.safe import initials
from racebot.web.site.live_rooms import NOTHING, LiveReader, LiveRooms

HTML = "text/html; charset=utf-8"
JSON = "application/json"
CSV = "text/csv; charset=utf-8"
PNG = "image/png"
SVG = "image/svg+xml"
ICO = "image/x-icon"
ATOM = "application/atom+xml; charset=utf-8"
CSS = "text/css; charset=utf-8"

FACE_COLORS = 8  # number of colors of the circles with initials, as in the style sheet
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_STANDINGS = 2**13  # standings to cache: they are small, and an export needs each one twice
_REMEMBERED = 128
"""Number of races and players to cache, since a page and its data are often requested together."""


@dataclass(frozen=True)
class Document:
    """The content at one address."""

    body: bytes
    media_type: str = HTML

    @cached_property
    def tag(self) -> str:
        """The entity tag: https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3."""
        return f'W/"{hashlib.sha256(self.body).hexdigest()[:20]}"'


class RaceScore(NamedTuple):
    """A racer's score in a race, or in all, and the racer's place in the table now."""

    score: float
    place: int


class Moved(NamedTuple):
    """The path that an address has moved to. The query stays."""

    path: str


Content = Document | Moved | None  # the content at an address, or None if there is none


def theme_beside(database: Path) -> bytes:
    """Return the operator's style sheet, or an empty one."""
    path = database.parent / "theme.css"
    return path.read_bytes() if path.is_file() else b""


@dataclass(frozen=True, slots=True)
class Publication:
    """The operator's settings for pages.

    Attributes:
        site: address of the site; empty if it has no race rooms and users.
        url: public address of the pages, without a slash at the end; empty if unknown.
        export_cards: whether an export has cards of every player and race.
        theme: style sheet that every page loads after its own.
        pictures: folder with the pictures that the bot fetched.
        command_prefix: what the bot's chat commands begin with, None if it answers none.
        planned: the leaderboards of the settings, of which some may have no race yet.
        rooms_every: seconds between two looks for new rooms.
    """

    listing: Callable[[Leaderboard], Listing] = lambda _: Listing(provisional_races=5)
    site: str = "https://racetime.gg"
    url: str = ""
    export_cards: bool = False
    title: str = "Race ratings"
    footer: str = ""
    theme: bytes = b""
    pictures: Path | None = None
    command_prefix: str | None = None
    planned: Sequence[Leaderboard] = ()
    rooms_every: float = 30.0


@dataclass(frozen=True, eq=False)
class Board:
    """A stored leaderboard. `is_outdated`: it is being rated again. `final_since`: the end of its season."""

    stored: Leaderboard
    address: BoardAddress
    listing: Listing
    is_outdated: bool
    final_since: datetime | None = None

    @property
    def key(self) -> int:
        return self.stored.key

    @property
    def name(self) -> str:
        return self.stored.name

    @property
    def category(self) -> str:
        return self.stored.category


class Face(NamedTuple):
    """A player's avatar, large and in the size of lists, or initials on a circle of a color."""

    picture: str | None
    small: str | None
    initials: str
    color: int


class CategoryFace(NamedTuple):
    """A category's name, and the address of its picture, None without one."""

    name: str
    picture: str | None


class LedgerView:
    """A snapshot of the ledger. Create a new one when the ledger has changed."""

    def __init__(
        self,
        ledger: Ledger,
        publication: Publication,
        live: LiveReader | None = None,
        now: datetime | None = None,
    ) -> None:
        self.ledger = ledger
        self.now = now or datetime.now(UTC)
        self._live = live
        self.publication = publication
        of_boards = (self.category_face, self.report, self.league, self.events, self.recap, self.totals)
        more = (self.activity, self.seeds, self.last_race, self.ratings)
        for kept in (*of_boards, *more, self.standing, self.player, self.race):
            most = _STANDINGS if kept == self.standing else _REMEMBERED
            setattr(self, kept.__name__, lru_cache(most)(kept))

    @cached_property
    def pictures(self) -> dict[str, str]:
        """The name of each player's picture, by player, if the bot has fetched it."""
        names = self.picture_names
        profiles = self.ledger.profiles.all().items() if names else ()
        shown = ((player, name_of(each.avatar)) for player, each in profiles if each.avatar)
        return {player: name for player, name in shown if name in names}

    @cached_property
    def pictures_shown(self) -> set[str]:
        categories = (self.ledger.profiles.category(board.category) for board in self.boards)
        images = {name_of(each.image) for each in categories if each is not None and each.image}
        return set(self.pictures.values()) | (images & self.picture_names)

    def live_rooms(self) -> LiveRooms:
        """Return the open rooms that the site lists, without hidden players and races of the ledger."""
        if self._live is None:
            return NOTHING
        live, position = self._live.rooms(self.hidden), self.ledger.races.position
        return replace(live, rooms=[room for room in live.rooms if position(room.race) is None])

    def live_room(self, race: str, *, listed: bool = False) -> LiveRoom | None:
        """Return a room; if it must be `listed`, one that the site lists or that changes no rating."""
        return None if self._live is None else self._live.room(race, self.hidden, listed=listed)

    def before_record(self, race: str) -> LiveRoom | None:
        """Return the last state of a recorded race's room with all edits, if the result was edited before."""
        room = self._live and self._live.before_record(race)
        stored = self.ledger.races.get(race) if room else None
        return room.edited(facts_of(stored.result), self.now) if room and stored else None

    def is_awaited(self, race: str) -> bool:
        """Return whether a race that the bot does not know may still appear."""
        return self._live is not None and self._live.is_awaited(race)

    def picture(self, name: str) -> bytes | None:
        folder = self.publication.pictures
        return Pictures(folder).read(name) if folder and name in self.pictures_shown else None

    def face(self, player: str | None, name: str) -> Face:
        """Return the picture or initials to show beside a player's name."""
        picture = self.pictures.get(player or "")
        color = zlib.crc32((player or "").encode(errors="replace")) % FACE_COLORS
        if picture is None:
            return Face(None, None, initials(name), color)
        large, small = (route.path(picture=picture) for route in (PICTURE, SMALL_PICTURE))
        return Face(large, small, initials(name), color)

    def category_face(self, slug: str) -> CategoryFace:
        """Return a category's name and picture. Before the site has shown its name, that is the slug."""
        profile = self.ledger.profiles.category(slug) or CategoryProfile(slug)
        name = name_of(profile.image) if profile.image else None
        picture = PICTURE.path(picture=name) if name in self.picture_names else None
        return CategoryFace(profile.name, picture)

    def activity(self, category: str) -> CategoryActivity | None:
        return category_activity(self.ledger, category)

    def seeds(self, board: Board) -> SeedList:
        return seed_list(self.ledger, board.stored, board.listing)

    @cached_property
    def picture_names(self) -> frozenset[str]:
        folder = self.publication.pictures
        return frozenset() if folder is None else Pictures(folder).names()

    @cached_property
    def boards(self) -> list[Board]:
        stored = self.ledger.leaderboards.all()
        addresses = board_addresses(stored)
        return [
            Board(
                board,
                address,
                self.publication.listing(board),
                self.ledger.rebuilds.of(board) is not None,
                final_since(board, self.now),
            )
            for board, address in zip(stored, addresses, strict=True)
        ]

    def board(self, stem: str) -> Board | None:
        return next((board for board in self.boards if board.address.stem == stem), None)

    def planned(self) -> list[Board]:
        stored = self.ledger.leaderboards.all()
        known = {(each.category, each.name) for each in stored}
        new = [each for each in self.publication.planned if (each.category, each.name) not in known]
        found = zip(new, board_addresses([*stored, *new])[len(stored) :], strict=True)
        return [Board(each, address, self.publication.listing(each), False) for each, address in found]

    def siblings(self, board: Board) -> list[Board]:
        return [each for each in self.boards if each.category == board.category]

    def by_last_race(self, boards: Iterable[Board]) -> list[Board]:
        return sorted(boards, key=self.last_race, reverse=True)

    def last_race(self, board: Board) -> datetime:
        """Return when a leaderboard's last race ended, long ago if there is none."""
        return self.ledger.standings.latest_race(board.stored) or _LONG_AGO

    def latest_races(self, limit: int) -> list[tuple[Board, RaceRow]]:
        """Return the last races of all leaderboards, the newest first, each race once."""
        last = {
            race.race: (board, race)
            for board in reversed(self.boards)  # of several, a race names the first, as its page does
            for race in latest_races(self.ledger, board.key, limit)
        }
        return sorted(last.values(), key=lambda found: found[1].ended_at, reverse=True)[:limit]

    @cached_property
    def hidden(self) -> frozenset[str]:
        """The players who are named nowhere. They have no pages, and their ids are on nobody else's."""
        return frozenset(self.ledger.people.hidden())

    @cached_property
    def merged(self) -> dict[str, str]:
        """The account under which the races of each merged account are rated."""
        return self.ledger.people.merged()

    @cached_property
    def rated_players(self) -> dict[str, NamedPlayer]:
        """Every player with a rating who is not hidden, by id."""
        return {player.id: player for player in rated_players(self.ledger)}

    def report(self, board: Board, at: datetime | None = None) -> LeaderboardReport:
        """Return a leaderboard with its listed players, perhaps as it was at an earlier time."""
        return leaderboard_report(self.ledger, board.stored, board.listing, at=at)

    def league(self, board: Board) -> ScoreTable | None:
        rules = board.listing.scoring
        return None if rules is None else league(self.ledger, board.stored, rules)

    def ordering_league(self, board: Board) -> ScoreTable | None:
        return None if board.listing.by_rating else self.league(board)

    def racer(self, board: Board, player: str) -> LeagueStanding | None:
        table = self.ordering_league(board)
        return next((each for each in table.standings if each.id == player), None) if table else None

    def race_scores(self, board: Board, race: str = "") -> dict[str, RaceScore]:
        """Return the scores of a race by player, or without one the totals; none unless they order it."""
        table = self.ordering_league(board)
        at = [n for n, each in enumerate(table.races) if each.result.name == race] if table else []
        rows = table.standings if table and (at or not race) else ()
        scored = ((each, each.scores[at[0]] if race else each.total) for each in rows)
        return {each.id: RaceScore(own.score, each.place) for each, own in scored if own}

    def coming_scores(self, live: LiveBoard) -> dict[str, ComingScore]:
        """Return the same for a race that is not recorded yet, with the place that its record makes."""
        board = self.board(live.board or "")
        return {} if board and board.listing.by_rating else {each.id: each for each in live.scores}

    def events(self, board: Board) -> list[EventReport]:
        """Return the events of a leaderboard that have not closed."""
        named = (each for each in self.ledger.events.all() if each.leaderboard == board.name)
        own = [each.name for each in named if each.category == board.category and not each.closed_at]
        return [report for name in own for report in event_reports(self.ledger, name)]

    def recap(self, board: Board) -> Recap | None:
        return recap(self.ledger, board.stored, board.listing) if board.final_since else None

    def totals(self, board: Board) -> BoardTotals:
        """Return the size of a leaderboard. If scores order it, everybody with a score is listed."""
        totals = board_totals(self.ledger, board.stored, board.listing)
        table = self.ordering_league(board)
        return totals if table is None else replace(totals, listed=len(table.standings))

    def players_named(self, text: str, *, typos: bool = False) -> list[NamedPlayer]:
        """Return the rated players whose names contain a text, or may be meant by it, the best first."""
        known, rated = self.ledger.players, self.rated_players
        ids = [each.id for each in known.like(text, len(rated))] if typos else known.containing(text)
        return [rated[each] for each in ids if each in rated]

    def player_meant(self, text: str) -> NamedPlayer | None:
        """Return the rated player with an id, or the first one whose name contains a text."""
        text = text.strip()[:100]
        known = self.rated_players.get(self.merged.get(text, text)) if text else None
        return known or next(iter(self.players_named(text) if text else ()), None)

    def standing(self, board: Board, player: str) -> PlayerStanding | None:
        """Return a player's standing on a leaderboard. None if they have not raced there or are hidden."""
        if player in self.hidden:
            return None
        return player_standing(self.ledger, board.stored, board.listing, player, self.ratings(board))

    def ratings(self, board: Board) -> list[float]:
        """Return the ratings of a leaderboard's listed players, in ascending order."""
        return listed_ratings(self.ledger, board.stored, board.listing)

    def standings(self, player: str) -> list[tuple[Board, PlayerStanding]]:
        """Return a player's standing on each of their leaderboards, the most recently raced first."""
        found = ((board, self.standing(board, player)) for board in self.boards)
        raced = [(board, standing) for board, standing in found if standing is not None]
        return sorted(raced, key=lambda pair: pair[1].last_race_at, reverse=True)

    def main_standing(self, player: str, among: Set[str | None]) -> tuple[Board, PlayerStanding] | None:
        """Return a player's standing on one of some leaderboards, or one that lists them, or the last one."""

        def preference(pair: tuple[Board, PlayerStanding]) -> tuple[bool, bool]:
            return pair[0].address.stem in among, pair[1].place is not None

        return max(self.standings(player), key=preference, default=None)  # of equals, the last raced

    def player(self, board: Board, player: str) -> PlayerRecord | None:
        """Return a player's standing and races on a leaderboard, None as `standing` does."""
        standing = self.standing(board, player)
        if standing is None:
            return None
        history = played_races(self.ledger, board.key, standing.id)[::-1]
        return PlayerRecord(self.ledger, board.stored, standing, history)

    def history(self, board: Board, player: str) -> Sequence[PlayedRace]:
        found = self.player(board, player)
        return () if found is None else found.history

    def race(self, name: str) -> RaceReport | None:
        """Return a race by its full name, or None if it counts on no leaderboard."""
        if self.ledger.races.position(name) is None:  # to find one by its slug alone, it looks at all
            return None
        report = race_report(self.ledger, name)
        return report if report.leaderboards else None

    def boards_of(self, report: RaceReport) -> list[Board]:
        by_name = {(board.category, board.name): board for board in self.boards}
        return [by_name[report.category, part.leaderboard] for part in report.leaderboards]


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request for a document. `query` has the parameters that the address accepts, none in an export."""

    view: LedgerView
    path: str
    query: Mapping[str, str]
    served: bool
