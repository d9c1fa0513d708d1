"""The long-running worker: watches categories, settles races, keeps its promises, and stops in order."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from racebot.bot.category_watcher import CategoryWorker, page
from racebot.bot.heartbeat import health_timeout, utc_now, write_heartbeat
from racebot.bot.periodic import Job, Jobs
from racebot.bot.race_lifecycle import Lifecycle
from racebot.bot.retry import retry_pauses
from racebot.bot.site_exporter import Refresher
from racebot.errors import (
    CredentialsError,
    DamagedRaceError,
    LedgerError,
    LedgerUnavailable,
    NotFoundError,
    PayloadError,
    RacebotError,
    SiteError,
)
from racebot.ledger import backup, retention
from racebot.ledger.lock import locked
from racebot.ledger.store import Ledger
from racebot.ledger.thread import LedgerThread
from racebot.observe import metrics
from racebot.observe.http import Monitor
from racebot.racetime.client import Site
from racebot.settings.model import Settings
from racebot.standings.plan import unknown_sources
from racebot.standings.settle import Settler

log = logging.getLogger(__name__)

SHUTDOWN_WITHIN = 8.0
REFUSED_FOR_LONG = 600.0
"""Seconds without a look at a category after which credentials that were good are believed no more."""
BELIEVED_AFTER = 3
"""Times that the site must say at the start that there is no such category."""
TOKEN_EVERY = 300.0
"""Seconds between two looks at whether the token is to be renewed."""
CLEAR_AWAY_EVERY = 86_400.0
PAGES_EVERY = 2.0
"""Seconds between two looks at whether the pages are to be written anew."""
PAST_RACES_DAY, PAST_RACES_HOUR = "mon", 5
"""When the whole list of past races is read, UTC."""
BACKUP_HOUR = 4
"""Of the night, UTC."""


class Worker:
    """All categories of one process, on one ledger."""

    def __init__(self, settings: Settings, clock: Callable[[], datetime] = utc_now) -> None:
        self._settings = settings
        self._clock = clock
        self._stop = asyncio.Event()
        self._fatal: BaseException | None = None
        self._seen: dict[str, tuple[datetime, float]] = {}
        """When each category was last seen, by the time of day and by the monotonic clock."""
        self._ledger_thread = LedgerThread()
        self._call = self._ledger_thread.run

    def stop(self) -> None:
        """Ask the worker to finish what is at hand and end."""
        self._stop.set()

    async def run(self) -> None:
        """Work until stopped.

        Raises:
            CredentialsError, NotFoundError: a category's settings are wrong.
            LedgerError: the database cannot be used, or another worker uses it.
        """
        settings = self._settings
        with locked(settings.database), self._monitor():
            ledger = await self._call(Ledger.open, settings.database)
            settler = Settler(ledger, settings.plans())
            jobs = Jobs()
            categories: list[CategoryWorker] = []
            try:
                async with Site(settings.site, interval=settings.request_interval) as site:
                    for each in settings.required_categories():
                        lifecycle = Lifecycle(
                            settler,
                            self._clock,
                            announce=settings.announce,
                            texts=settings.texts,
                            buttons=lambda board: settings.buttons(page(settings, ledger, board)),
                        )
                        categories.append(
                            CategoryWorker(
                                each,
                                site=site,
                                lifecycle=lifecycle,
                                call=self._call,
                                clock=self._clock,
                                common=settings,
                                failed=self._failed,
                                alive=self._alive,
                            )
                        )
                    await self._start(settler, categories, jobs)
                    await self._stop.wait()
                    log.info("stopping")
                    await self._shut(categories, jobs)
            finally:
                await self._call(ledger.close)
                self._ledger_thread.close()
        if self._fatal is not None:
            raise self._fatal

    @contextmanager
    def _monitor(self) -> Generator[None]:
        settings = self._settings
        if settings.monitor_port is None:
            yield
            return
        within = health_timeout(settings.rooms_every).total_seconds()
        with Monitor(settings.monitor_host, settings.monitor_port, ages=self._ages, health_timeout=within):
            yield

    async def _start(self, settler: Settler, categories: list[CategoryWorker], jobs: Jobs) -> None:
        """Check every category, then begin its jobs."""
        await self._call(settler.apply_plans)
        for each in unknown_sources(settler.plans, await self._call(settler.ledger.leaderboards)):
            log.warning("leaderboard %r: carry_over: %s", each.leaderboard, each.reason)
        settings = self._settings
        for category in categories:
            if not await self._patiently(category.check):
                return
            for name, job, seconds in (
                ("rooms", category.rooms, settings.rooms_every),
                ("past races", category.past_races, settings.list_every),
                ("pending", category.pending, settings.rooms_every),
                ("token", category.token, TOKEN_EVERY),
            ):
                jobs.every(seconds, self._guarded(job), f"{category.slug} {name}")
            whole = f"{category.slug} all past races"
            jobs.nightly(PAST_RACES_HOUR, self._guarded(category.all_past_races), whole, day=PAST_RACES_DAY)
        jobs.every(CLEAR_AWAY_EVERY, self._guarded(partial(self._clear_away, settler.ledger)), "retention")
        if settings.pages_dir is not None:
            command = [sys.executable, "-m", "racebot", "export-site", str(settings.pages_dir)]
            command += ["--database", str(settings.database)]
            refresher = Refresher(command, partial(self._call, settler.ledger.revision), self._clock)
            jobs.every(PAGES_EVERY, self._guarded(refresher.refresh), "pages")
        if settings.backups:
            back_up = self._guarded(partial(self._back_up, settler.ledger))
            missed = backup.overdue(settings.database, self._clock())
            jobs.nightly(BACKUP_HOUR, back_up, "backup", at_once=missed)
        jobs.start()
        log.info("watching %s on %s", ", ".join(c.slug for c in categories), settings.site)

    async def _patiently(self, check: Callable[[], Awaitable[None]]) -> bool:
        """Run the first check of a category; a site that is away is waited for. False when stopped.

        What looks like a wrong setting is asked again a few times before it is believed.
        """
        doubts = 0
        for delay in retry_pauses():
            try:
                if not await self._unless_stopped(check()):
                    return False
            except CredentialsError:
                raise
            except (NotFoundError, PayloadError):
                doubts += 1
                if doubts == BELIEVED_AFTER:
                    raise
            except SiteError as error:
                log.warning("%s; waiting for the site", error)
            else:
                return True
            if not await self._unless_stopped(asyncio.sleep(delay)):
                return False
        raise AssertionError("unreachable")

    async def _unless_stopped(self, work: Awaitable[None]) -> bool:
        """Do something unless and until the worker is to stop; whether it was done."""
        doing = asyncio.ensure_future(work)
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({doing, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                return False
            await doing
            return True
        finally:
            doing.cancel()
            stopping.cancel()
            await asyncio.gather(doing, stopping, return_exceptions=True)

    def _guarded(self, job: Job) -> Job:
        """The job so that its failure is told and the next run happens, unless nothing can help."""

        async def guarded() -> None:
            try:
                await job()
            except Exception as error:
                self._failed(error)

        return guarded

    def _failed(self, error: BaseException) -> None:
        """Tell of a failure, and stop for one that only the operator can mend."""
        metrics.ERRORS.labels(type(error).__name__).inc()
        match error:
            case LedgerUnavailable():
                log.error("%s; trying again", error)
            case DamagedRaceError():
                log.error("%s", error)  # other races can still be settled
            case CredentialsError() if not self._refused_for_long():
                log.error("%s; trying again", error)
            case CredentialsError() | LedgerError():
                self._fatal = self._fatal or error
                self._stop.set()
            case RacebotError():
                log.warning("%s", error)
            case _:
                log.error("an unexpected error; going on", exc_info=error)

    def _alive(self, slug: str) -> None:
        """Note that a category was seen; the heartbeat is as old as the category seen longest ago."""
        self._seen[slug] = (self._clock(), time.monotonic())
        oldest = min(moment for moment, _ in self._seen.values())
        metrics.LAST_POLL.labels(slug).set(self._clock().timestamp())
        if len(self._seen) == len(self._settings.required_categories()):
            write_heartbeat(self._settings.database, oldest)

    def _ages(self) -> dict[str, float | None]:
        """Seconds since each category was last seen."""
        now = time.monotonic()
        ages: dict[str, float | None] = {c.slug: None for c in self._settings.required_categories()}
        return ages | {slug: now - seen for slug, (_, seen) in self._seen.items()}

    def _refused_for_long(self) -> bool:
        """Whether the credentials that were good at the start have been refused for a while now."""
        seen = [at for _, at in self._seen.values()]
        return bool(seen) and time.monotonic() - min(seen) > REFUSED_FOR_LONG

    async def _back_up(self, ledger: Ledger) -> None:
        """Copy the ledger by a connection of its own, so that nothing waits for it."""

        def work() -> Path:
            keep, now = self._settings.backups, self._clock()
            with Ledger.open_to_read(ledger.path) as source:
                return backup.back_up(source, backup.folder_of(ledger.path), keep=keep, now=now)

        log.info("backed up to %s", await asyncio.to_thread(work))

    async def _clear_away(self, ledger: Ledger) -> None:
        keep = timedelta(days=self._settings.keep_days)
        work = partial(retention.clear_away, ledger, keep=keep, now=self._clock())
        if cleared := await self._call(work):
            log.info("forgot %d old messages, %d abandoned backfills", cleared.messages, cleared.backfills)

    async def _shut(self, categories: list[CategoryWorker], jobs: Jobs) -> None:
        jobs.stop()
        try:
            async with asyncio.timeout(SHUTDOWN_WITHIN):
                await asyncio.gather(*(category.close() for category in categories))
        except TimeoutError:
            log.warning("some rooms did not close in time")
