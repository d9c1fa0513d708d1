"""Snapshot of the worker's state, read from its database by another process."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime

from racebot.ledger import lock
from racebot.ledger.lock import backups, folder_of, health_timeout, read_heartbeat
from racebot.ledger.store import Ledger
from racebot.settings.model import Settings
from racebot.standings.counting import planned_boards
from racebot.standings.orders import is_skipped
from racebot.text.format import counted, minute, span


@dataclass(frozen=True, slots=True)
class Status:
    """The worker, its database and leaderboards, and the remaining work, in a line each.

    `seconds_since` is the age of `last_seen`, the worker's last look at its category. `suspended` has the
    categories that the site refuses, with the reasons, and `read_only` those without credentials, in which
    the bot says nothing. `rooms` are races in progress, and `pending` finished races that do not count yet.
    `failures` name what fails at the moment, such as a race or a picture.
    """

    running: bool
    last_seen: datetime | None
    seconds_since: float | None
    healthy: bool
    suspended: Mapping[str, str]
    read_only: Sequence[str]
    database: str
    last_backup: datetime | None
    leaderboards: Sequence[str]
    rooms: Sequence[str]
    pending: Sequence[str]
    outbox: Sequence[str]
    rebuilds: Sequence[str]
    discord: Sequence[str]
    failures: Sequence[str]

    def numbers(self) -> Iterator[tuple[str, float]]:
        """Yield gauges for a monitoring system: 0 or 1, ages and times in seconds, and how long lists are."""
        for each in fields(self):
            match getattr(self, each.name):
                case datetime() as moment:
                    yield f"{each.name}_timestamp_seconds", moment.timestamp()
                case int() | float() as number:
                    yield each.name, float(number)
                case Mapping() | list() | tuple() as listed:
                    yield each.name, float(len(listed))


def status(ledger: Ledger, settings: Settings, now: datetime) -> Status:
    """Read the state of the worker on a ledger. Raise `LedgerError` if the database cannot be read."""
    boards = ledger.leaderboards.all()
    planned = planned_boards(settings)
    slugs = sorted({*settings.slugs(), *(board.category for board in boards)})
    beat = read_heartbeat(ledger.path)
    age = None if beat.seen_at is None else now - beat.seen_at
    copies = backups(folder_of(ledger.path), ledger.path.stem)
    written_at = max((copy.stat().st_mtime for copy in copies), default=None)
    return Status(
        running=lock.running(ledger.path),
        last_seen=beat.seen_at,
        seconds_since=None if age is None else round(age.total_seconds(), 1),
        healthy=not beat.suspended and age is not None and age <= health_timeout(settings.rooms_every),
        suspended=beat.suspended,
        read_only=settings.read_only(),
        database=str(ledger.path),
        last_backup=None if written_at is None else datetime.fromtimestamp(int(written_at), UTC),
        leaderboards=[
            f"{board.name}: {counted(ledger.ratings.counting(board), 'race')}, {board.model}"
            for board in boards
        ],
        rooms=[row.race for slug in slugs for row in ledger.cases.unfinished(slug)],
        pending=[
            f"{row.race}, waits until {minute(counts_at[row.race])} UTC (it needs no record)"
            if row.race in counts_at
            else f"{row.race}, finished {minute(row.ended_at)} UTC, not recorded yet"
            for slug in slugs
            for counts_at in [ledger.cases.standing(slug, planned)]
            for row in ledger.cases.polled(slug)
            if not row.over and row.ended_at is not None
            # A race that counts, or was skipped, is followed, too.
            if row.standing is None or not (ledger.races.has(row.race) or is_skipped(ledger, row.race))
        ],
        outbox=[
            f"{row.message.race}: {row.message.kind}, {row.state.value} since {span(seconds)} ago"
            for slug in slugs
            for row in ledger.messages.open_in(slug)
            for seconds in [(now - row.created_at).total_seconds()]
        ],
        rebuilds=[
            f"{each.board.name}: {races} races wait to be rated again ({each.reason})"
            + (f"; failed, to be tried again: {each.error}" if each.error else "")
            for each in ledger.rebuilds.all()
            for _, before in [ledger.ratings.sequence_at(each.board, each.start)]
            for races in [ledger.races.count(each.board, before)]
        ],
        discord=[
            f"{number} for webhook {webhook}: {problem or 'waiting'}"
            for webhook, number, problem in ledger.posts.delayed()
            if webhook in settings.webhooks()
        ],
        failures=beat.failures,
    )
