"""The long-running worker: connects the categories of one process to one ledger and runs their jobs."""

import asyncio
import logging
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from apscheduler.triggers.cron import CronTrigger

from racebot.bot.category_watcher import CategoryWorker
from racebot.bot.child_processes import ChildProcess
from racebot.bot.discord import SEND_EVERY, DiscordSender
from racebot.bot.failures import Backoff, Health, first_of, retry_pauses
from racebot.bot.live_writer import LiveWriter
from racebot.bot.picture_fetcher import PictureFetcher
from racebot.bot.room.inbox import WorkerContext
from racebot.errors import CredentialsError, LedgerError, NotFoundError, PayloadError, SiteError
from racebot.ledger import lock
from racebot.ledger.connection import LedgerThread
from racebot.ledger.lock import locked, utc_now
from racebot.ledger.outbox import MESSAGES_KEPT
from racebot.ledger.pictures import Pictures, folder_beside
from racebot.ledger.store import Ledger
from racebot.logs import FailureLog
from racebot.racetime.client import Site
from racebot.settings.model import Settings
from racebot.standings.counting import rating_rules
from racebot.standings.follow_settings import apply_settings
from racebot.standings.settle import Settler

log = logging.getLogger(__name__)

SHUTDOWN_WITHIN = 8.0  # seconds to wait for the rooms to close
RETENTION_EVERY = 86_400.0
REBUILDS_EVERY = 1.0  # seconds between checks for leaderboards that must be rated again
ODDS_EVERY = 60.0  # seconds between checks for leaderboards whose odds are out of date
PAGES_EVERY = 2.0  # seconds between checks whether the exported pages are out of date
PAGES_REST = 4.0
"""Pause after an export, as a multiple of its duration, so that exports leave time for other programs."""
PICTURES_EVERY = 600.0  # seconds between looks for new avatars
BELIEVED_AFTER = 3
"""How many times the site must refuse a category before we believe it: a proxy before it may have erred."""
BACKUP_HOUR, PAST_RACES_HOUR = 4, 5  # UTC
CHECK_CLOCK_EVERY = 5.0  # seconds between two looks at the wall clock
STOP_WITHIN = 1.5
"""Seconds that cancelled jobs have to end. A message that is being posted takes one."""

Job = Callable[[], Awaitable[bool | None]]
"""A job that returns False has not worked: it waits after a failure."""


@dataclass
class Jobs:
    """Runs jobs between `start` and `stop`. A job never overlaps itself. One run makes up for all missed.

    `failed` is called with the name of a job that failed and its error, `works` with one that worked.
    """

    failed: Callable[[str, Exception], object]
    works: Callable[[str], object]
    clock: Callable[[], datetime] = utc_now
    _loops: dict[str, Callable[[], Coroutine[None, None, None]]] = field(default_factory=dict)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def every(self, seconds: float, job: Job, name: str) -> None:
        """Run a job at the start and then periodically."""
        self._loops[name] = partial(self._repeat, seconds, job, name)

    def nightly(self, hour: int, job: Job, name: str, *, at_once: bool = False) -> None:
        """Run a job every day at an hour, UTC. With `at_once`, run it at the start as well."""
        trigger = CronTrigger(hour=hour, timezone=UTC)
        due = self.clock() if at_once else trigger.get_next_fire_time(None, self.clock())

        async def run_if_due() -> bool | None:
            nonlocal due
            try:
                return await job() if self.clock() >= due else False
            finally:
                # At every look, because a clock that was set back moves the next run forward.
                due = trigger.get_next_fire_time(None, self.clock() + timedelta(microseconds=1))

        self.every(CHECK_CLOCK_EVERY, run_if_due, name)

    def start(self) -> None:
        self._tasks = [asyncio.create_task(loop(), name=name) for name, loop in self._loops.items()]

    async def stop(self) -> None:
        """Cancel running jobs and start no more."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STOP_WITHIN)

    async def _repeat(self, seconds: float, job: Job, name: str) -> None:
        while True:
            start = time.monotonic()
            try:
                if await job() is not False:
                    self.works(name)
            except Exception as error:
                self.failed(name, error)
            # A run that takes longer than the interval skips the runs that it missed.
            await asyncio.sleep(seconds - (time.monotonic() - start) % seconds)


class Worker:
    """Runs all categories of one process on one ledger."""

    def __init__(self, settings: Settings, clock: Callable[[], datetime] = utc_now) -> None:
        self._settings = settings
        self._clock = clock
        self._stop = asyncio.Event()
        self._fatal: BaseException | None = None
        self._failures = FailureLog()
        self._health = Health(settings.database, settings.slugs(), self._failures, clock)
        self._backoff = Backoff(self._failed, self._failures.recovered)
        self._harmless = Backoff(self._failures.raised, self._failures.recovered)
        """For items that never stop the worker, even if the ledger holds one that cannot be read."""
        self._ledger_thread = LedgerThread()
        self._call = self._ledger_thread.run

    def stop(self) -> None:
        """Ask the worker to finish its current work and stop."""
        self._stop.set()

    async def run(self) -> None:
        """Run until stopped.

        Raises:
            CredentialsError, NotFoundError: a category's settings are wrong.
            SettingsError: a leaderboard carries over from one that does not exist.
            LedgerError: the database cannot be used, or another worker uses it.
        """
        settings = self._settings
        with locked(settings.database):
            ledger = await self._call(Ledger.open, settings.database, holds_lock=True)
            settler = Settler(ledger, rating_rules(settings))
            jobs = Jobs(self._failed, self._failures.recovered)
            live = LiveWriter(settler, settings, self._call, self._clock, self._harmless)
            writing = asyncio.create_task(live.run(), name="live rooms")
            try:
                interval, failures, clock = settings.request_interval, self._failures, self._clock
                async with Site(settings.site, interval=interval, failures=failures, clock=clock) as site:
                    context = WorkerContext(
                        settings=settings,
                        site=site,
                        settler=settler,
                        call=self._call,
                        clock=clock,
                        failures=failures,
                        backoff=self._backoff,
                        alive=self._health.category_seen,
                        on_race=live.update,
                    )
                    categories = [CategoryWorker(each, context) for each in settings.required_categories()]
                    await first_of(self._start(settler, site, categories, jobs), self._stop.wait())
                    await self._stop.wait()
                    log.info("stopping")
                    try:
                        async with asyncio.timeout(SHUTDOWN_WITHIN):
                            await asyncio.gather(jobs.stop(), *(category.close() for category in categories))
                    except TimeoutError:
                        log.warning("some rooms did not close in time")
            finally:
                writing.cancel()
                await asyncio.gather(writing, return_exceptions=True)
                await self._call(ledger.close)
                self._ledger_thread.close()
        if self._fatal is not None:
            raise self._fatal
        log.info("stopped")

    async def _start(
        self, settler: Settler, site: Site, categories: list[CategoryWorker], jobs: Jobs
    ) -> None:
        """Check every category, then start all jobs. One that fails is suspended while another works."""
        await self._call(partial(settler.ledger.belong_to, site.url, learn=False))
        refused = await check_categories(categories, self._failures)
        await self._call(settler.ledger.belong_to, site.url)
        for category, error in refused.items():
            self._health.suspend(category.slug, error)
            log.error("category %s is suspended: %s", category.slug, error)
        for category in categories:
            self._add_category_jobs(category, jobs)
        goals = [goal for each in categories for goal in each.goals]
        # The goals of a suspended category are unknown, and may be the ones to carry over from.
        await self._call(partial(apply_settings, goals=None if refused else goals), settler)
        self._add_ledger_jobs(settler.ledger, jobs)
        jobs.start()
        log.info("watching %s on %s", ", ".join(c.slug for c in categories), self._settings.site)

    def _add_category_jobs(self, category: CategoryWorker, jobs: Jobs) -> None:
        settings = self._settings
        for name, job, seconds in (
            ("rooms", category.rooms, settings.rooms_every),
            ("past races", category.past_races, settings.list_every),
            ("pending", category.pending, settings.rooms_every),
        ):
            jobs.every(seconds, partial(self._run, category, job), f"{category.slug} {name}")
        read = partial(self._run, category, category.all_past_races)
        jobs.nightly(PAST_RACES_HOUR, read, f"{category.slug} all past races", at_once=True)

    async def _run(self, category: CategoryWorker, job: Job) -> bool | None:
        return False if self._health.is_suspended(category.slug) else await job()

    def _add_ledger_jobs(self, ledger: Ledger, jobs: Jobs) -> None:
        settings = self._settings
        jobs.every(RETENTION_EVERY, partial(self._clear_away, ledger), "retention")
        racebot, database = (sys.executable, "-m", "racebot"), ("--database", str(settings.database))

        async def rebuilds() -> tuple[tuple[int, int], ...]:
            return tuple((each.board.key, each.revision) for each in await self._call(ledger.rebuilds.all))

        async def old_odds() -> tuple[int, ...]:
            return tuple(board.key for board in await self._call(ledger.leaderboards.with_old_odds))

        for name, task, work, seconds in (
            ("rating leaderboards again", "rebuild", rebuilds, REBUILDS_EVERY),
            ("fitting odds", "improve", old_odds, ODDS_EVERY),
        ):
            command = [*racebot, task, "--for-worker", *database]
            jobs.every(seconds, ChildProcess(name, command, work, self._harmless).run_if_waiting, name)
        pictures = Pictures(folder_beside(settings.database))
        if settings.avatars and find_spec("PIL"):  # which resizes them
            wanted = partial(self._call, ledger.profiles.pictures)
            fetcher = PictureFetcher(settings.site, pictures, wanted, self._backoff)
            jobs.every(PICTURES_EVERY, fetcher.fetch, "pictures")
        if settings.webhooks():
            sender = DiscordSender(settings, ledger, self._call, self._harmless)
            jobs.every(SEND_EVERY, sender.send, "Discord")
        if settings.pages_dir is not None:
            command = [*racebot, "export-site", str(settings.pages_dir), *database]

            async def revision() -> tuple[object, ...]:
                day = self._clock().date()  # seasons become final at midnight
                return *await self._call(ledger.revision), pictures.version(), day

            exporter = ChildProcess("pages", command, revision, self._harmless, PAGES_REST)
            jobs.every(PAGES_EVERY, exporter.run_if_waiting, "pages")
        if settings.backups:
            is_overdue = lock.overdue(settings.database, self._clock())
            jobs.nightly(BACKUP_HOUR, partial(self._back_up, ledger), "backup", at_once=is_overdue)

    def _failed(self, source: str, error: Exception) -> None:
        """Log a failure, and stop the worker with it if only the operator can fix it."""
        if self._health.is_fatal(source, error):
            self._fatal = self._fatal or error
            self._stop.set()

    async def _back_up(self, ledger: Ledger) -> None:
        """Back up the ledger over a separate connection, so that ledger work does not wait."""

        def work() -> Path:
            keep, now = self._settings.backups, self._clock()
            with Ledger.open_to_read(ledger.path) as source:
                return source.back_up(lock.folder_of(ledger.path), keep=keep, now=now)

        log.info("backed up to %s", await asyncio.to_thread(work))

    async def _clear_away(self, ledger: Ledger) -> None:
        if cleared := await self._call(ledger.messages.clear, self._clock() - MESSAGES_KEPT):
            log.info("deleted %d old messages", cleared)


async def check_categories(
    categories: Sequence[CategoryWorker], failures: FailureLog
) -> dict[CategoryWorker, Exception]:
    """Check the categories until one is accepted, and return the others with their errors.

    Try again whatever else fails. Raise the error of the first one if the site refuses all.
    """
    wrong: dict[CategoryWorker, Exception] = dict.fromkeys(categories, SiteError("not asked yet"))
    doubts = 0
    for tries, pause in enumerate(retry_pauses(), start=1):
        for category in list(wrong):
            try:
                await category.check()
                del wrong[category]
            except LedgerError:
                raise
            except Exception as problem:
                wrong[category] = problem
        refusals = (CredentialsError, NotFoundError, PayloadError)
        doubts += all(isinstance(error, refusals) for error in wrong.values())
        if not wrong or (tries >= BELIEVED_AFTER and len(wrong) < len(categories)):
            break
        if doubts == BELIEVED_AFTER:
            raise next(iter(wrong.values()))
        for category, error in wrong.items():
            if not isinstance(error, refusals):
                failures.raised(f"start of {category.slug}", error)
        await asyncio.sleep(pause)
    for category in categories:
        failures.recovered(f"start of {category.slug}")
    return wrong
