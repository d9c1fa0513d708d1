"""Snapshot of the worker's state, read from its database by another process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from racebot.ledger import lock
from racebot.ledger.backup import backups, folder_of
from racebot.ledger.lock import health_timeout, read_heartbeat
from racebot.ledger.rows import START
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import board_totals
from racebot.queries.standings import Listing
from racebot.settings.model import Settings
from racebot.standings.counting import rating_rules, standing_races


@dataclass(frozen=True, slots=True)
class WorkerState:
    """The worker process. `seconds_since` is the age of `last_seen`, its last look at its category.

    `suspended` has the categories that the site refuses, with the reasons, and `read_only` those without
    credentials, in which the bot says nothing.
    """

    running: bool
    last_seen: datetime | None
    seconds_since: float | None
    healthy: bool
    suspended: Mapping[str, str]
    read_only: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """The database file and its backups. `bytes` includes the write-ahead log."""

    path: str
    bytes: int
    last_backup: datetime | None
    backups: int


@dataclass(frozen=True, slots=True)
class LeaderboardState:
    """Summary of a leaderboard."""

    leaderboard: str
    category: str
    model: str
    races: int
    players: int
    last_race: datetime | None


@dataclass(frozen=True, slots=True)
class WaitingRace:
    """A finished race that is not recorded yet, or counts without a record from `counts_at` on."""

    race: str
    ended_at: datetime
    counts_at: datetime | None


@dataclass(frozen=True, slots=True)
class WaitingMessage:
    """A message that is not delivered yet. `seconds` is its age."""

    race: str
    kind: str
    state: str
    seconds: float


@dataclass(frozen=True, slots=True)
class WaitingRebuild:
    """A leaderboard with `races` that waits to be rated again. `error` says why the last try failed."""

    leaderboard: str
    category: str
    races: int
    reason: str
    error: str | None


@dataclass(frozen=True, slots=True)
class Status:
    """The worker, its database and leaderboards, and the remaining work.

    `rooms` are races in progress. `failures` name what fails at the moment, such as a race or a picture.
    """

    worker: WorkerState
    database: DatabaseState
    leaderboards: Sequence[LeaderboardState]
    rooms: Sequence[str]
    pending: Sequence[WaitingRace]
    outbox: Sequence[WaitingMessage]
    rebuilds: Sequence[WaitingRebuild]
    discord: Sequence[str]
    failures: Sequence[str] = ()


def status(ledger: Ledger, settings: Settings, now: datetime) -> Status:
    """Read the state of the worker on a ledger.

    Raises:
        LedgerError: the database cannot be read.
    """
    boards = ledger.leaderboards.all()
    rules = rating_rules(settings)
    slugs = sorted({*settings.slugs(), *(board.category for board in boards)})
    beat = read_heartbeat(ledger.path)
    age = None if beat.seen_at is None else now - beat.seen_at
    copies = backups(folder_of(ledger.path), ledger.path.stem)
    written_at = max((copy.stat().st_mtime for copy in copies), default=None)
    write_ahead_log = ledger.path.with_name(ledger.path.name + "-wal")
    return Status(
        worker=WorkerState(
            running=lock.running(ledger.path),
            last_seen=beat.seen_at,
            seconds_since=None if age is None else round(age.total_seconds(), 1),
            healthy=not beat.suspended and age is not None and age <= health_timeout(settings.rooms_every),
            suspended=beat.suspended,
            read_only=settings.read_only(),
        ),
        database=DatabaseState(
            path=str(ledger.path),
            bytes=sum(part.stat().st_size for part in (ledger.path, write_ahead_log) if part.exists()),
            last_backup=None if written_at is None else datetime.fromtimestamp(int(written_at), UTC),
            backups=len(copies),
        ),
        leaderboards=[
            LeaderboardState(
                leaderboard=board.name,
                category=board.category,
                model=board.model,
                races=ledger.ratings.count(board),
                players=board_totals(ledger, board, Listing()).listed,
                last_race=ledger.standings.latest_race(board),
            )
            for board in boards
        ],
        rooms=[row.race for slug in slugs for row in ledger.cases.unfinished(slug)],
        pending=[
            WaitingRace(row.race, row.ended_at, counts_at.get(row.race))
            for slug in slugs
            for counts_at in [standing_races(ledger, rules, slug)]
            for row in ledger.cases.polled(slug)
            if not row.over and row.ended_at is not None
            if row.standing is None or not ledger.races.has(row.race)  # a race that counts is followed, too
        ],
        outbox=[
            WaitingMessage(row.message.race, row.message.kind, row.state.value, seconds)
            for slug in slugs
            for row in ledger.messages.open_in(slug)
            for seconds in [round((now - row.created_at).total_seconds(), 1)]
        ],
        rebuilds=[
            WaitingRebuild(each.board.name, each.board.category, races, each.reason, each.error)
            for each in ledger.rebuilds.all()
            for races in [ledger.races.count_between(each.board, START)]
        ],
        discord=[
            f"{number} for webhook {webhook}: {problem or 'waiting'}"
            for webhook, number, problem in ledger.posts.delayed()
            if webhook in settings.webhooks()
        ],
        failures=beat.failures,
    )
