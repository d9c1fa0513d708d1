"""The long-running worker: watches categories, settles races, keeps its promises, and stops in order."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import sys
import time
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from websockets.client import backoff

from racebot import backup, retention
from racebot.answers import Answers
from racebot.commands import Limiter
from racebot.conversation import Conversation
from racebot.errors import (
    CredentialsError,
    LedgerError,
    LedgerUnavailable,
    NotFoundError,
    PayloadError,
    RacebotError,
    SiteError,
)
from racebot.jobs import Job, nightly, repeat
from racebot.ledger.store import Leaderboard, Ledger
from racebot.lifecycle import Lifecycle
from racebot.racetime.api import Credentials, Site, TokenSource
from racebot.refresh import Refresher
from racebot.settings import CategorySettings, Settings
from racebot.settle import Settler
from racebot.watch import STAY_AFTER_FINISH, RoomWatch
from racebot.web.addresses import board_addresses

log = logging.getLogger(__name__)

LOOK_BACK = timedelta(days=14)
"""How far back the list of past races is read, to see races that are recorded late."""
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
BACKUP_HOUR = 4
"""Of the night, UTC."""


ALIVE_WITHIN = timedelta(minutes=5)
"""A worker that has not seen its categories for longer, or for two turns of looking, is not well."""


def utc_now() -> datetime:
    return datetime.now(UTC)


def heartbeat(database: Path) -> Path:
    """The file whose time says when the worker beside a database last saw its category."""
    return database.with_name(database.name + ".alive")


class CategoryWorker:
    """Watches one category with one bot's credentials."""

    def __init__(
        self,
        settings: CategorySettings,
        *,
        site: Site,
        lifecycle: Lifecycle,
        call: Callable[..., Awaitable[Any]],
        clock: Callable[[], datetime],
        common: Settings,
        failed: Callable[[BaseException], None],
        alive: Callable[[str], None],
    ) -> None:
        self.slug = settings.slug
        self._site = site
        self._tokens = TokenSource(site, Credentials(settings.client_id, settings.client_secret))
        self._lifecycle = lifecycle
        self._plans = lifecycle.settler.plans
        self._ledger = lifecycle.settler.ledger
        self._call = call
        self._clock = clock
        self._common = common
        self._conversation = _conversation(common, lifecycle)
        self._failed = failed
        self._alive = alive
        self._watches: dict[str, tuple[RoomWatch, asyncio.Task[None]]] = {}
        self._token: str | None = None

    async def check(self) -> None:
        """See that the credentials are good and the category is there.

        Raises:
            CredentialsError: a wrong id or secret, or a bot of another category.
            NotFoundError: no such category.
        """
        try:
            category = await self._site.category(self.slug, await self._tokens.get())
        except NotFoundError:
            raise NotFoundError(
                f"{self._site.url} has no category {self.slug!r}: check RACEBOT_CATEGORY "
                "(the part of the category's address after the site's name)"
            ) from None
        log.info("category %s: goals %s", category.slug, ", ".join(category.goals))

    async def rooms(self) -> None:
        """Watch the rooms that are open, just finished, or in which something is still to be said."""
        token = await self._tokens.get()
        try:
            category = await self._site.category(self.slug, token)
        except CredentialsError as error:
            # It was let in when the worker started: a front proxy may refuse, or the token be revoked.
            self._tokens.refuse(token)
            raise SiteError(str(error)) from None
        for room in category.rooms:
            if self._plans.leaderboards(self.slug, room.goal) and room.name.startswith(f"{self.slug}/"):
                self._watch(room.name)
        for pending in await self._call(self._ledger.pending.all, self.slug):
            if self._clock() - pending.ended_at < STAY_AFTER_FINISH:
                self._watch(pending.race)
        for kept in (self._ledger.pending.joined, self._ledger.outbox.rooms):
            for name in await self._call(kept, self.slug):
                self._watch(name)
        self._alive(self.slug)

    async def pending(self) -> None:
        """Look after finished races that are not settled yet, where no socket does."""
        for pending in await self._call(self._ledger.pending.due, self.slug, self._clock()):
            name = pending.race
            try:
                if name not in self._watches:
                    race = await self._site.race(name)
                    await self._call(self._lifecycle.observe, race)
                    if race.status == "in_progress":
                        self._watch(name)
            except NotFoundError:
                await self._call(self._lifecycle.vanished, name)
            except Exception as error:
                self._failed(error)
            finally:
                await self._call(self._lifecycle.looked_at, name)

    async def past_races(self) -> None:
        """Read the list of past races far enough back to see late recordings, oldest settled first."""
        oldest = self._clock() - LOOK_BACK
        seen = {}
        page = 1
        while True:
            listed = await self._site.past_races(self.slug, page)
            seen.update({race.name: race for race in listed.races})
            ends = [race.result.ended_at for race in listed.races if race.result]
            page += 1
            if page > listed.pages or not listed.races or (ends and min(ends) < oldest):
                break
        ended = [race for race in seen.values() if race.result and race.result.ended_at >= oldest]
        for race in sorted(ended, key=lambda race: race.result.ended_at if race.result else oldest):
            try:
                if race.name not in self._watches:
                    await self._call(self._lifecycle.observe, race)
                elif race.recorded or race.over:
                    await self._watches[race.name][0].inform(race)
            except Exception as error:
                self._failed(error)

    async def token(self) -> None:
        """Renew the token ahead of time; open sockets connect again with the new one."""
        current = await self._tokens.get()
        if self._token is not None and current != self._token:
            for watch, _ in self._watches.values():
                watch.renew()
        self._token = current

    async def close(self) -> None:
        """Leave all rooms."""
        tasks = [task for _, task in self._watches.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _watch(self, name: str) -> None:
        if name in self._watches:
            self._watches[name][0].nudge()
            return
        watch = RoomWatch(
            name,
            site=self._site,
            tokens=self._tokens,
            lifecycle=self._lifecycle,
            call=self._call,
            clock=self._clock,
            quiet=self._common.quiet_seconds,
            info=self._common.info_block,
            texts=self._common.texts,
            conversation=self._conversation,
        )
        task = asyncio.create_task(watch.run(), name=f"room {name}")
        self._watches[name] = (watch, task)
        task.add_done_callback(partial(self._left, name))

    def _left(self, name: str, task: asyncio.Task[None]) -> None:
        self._watches.pop(name, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(error)


class Worker:
    """All categories of one process, on one ledger."""

    def __init__(self, settings: Settings, clock: Callable[[], datetime] = utc_now) -> None:
        self._settings = settings
        self._clock = clock
        self._stop = asyncio.Event()
        self._fatal: BaseException | None = None
        self._seen: dict[str, tuple[datetime, float]] = {}
        """When each category was last seen, by the time of day and by the monotonic clock."""
        self._ledger_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ledger")

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
        with locked(settings.database):
            ledger = await self._call(Ledger.open, settings.database)
            settler = Settler(ledger, settings.plans())
            jobs: list[asyncio.Task[None]] = []
            categories: list[CategoryWorker] = []
            try:
                async with Site(settings.site, interval=settings.request_interval) as site:
                    for each in settings.required_categories():
                        lifecycle = Lifecycle(
                            settler,
                            self._clock,
                            announce=settings.announce,
                            texts=settings.texts,
                            buttons=lambda board: settings.buttons(_page(settings, ledger, board)),
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
                    jobs += await self._start(settler, categories)
                    await self._stop.wait()
                    log.info("stopping")
                    await self._shut(categories, jobs)
            finally:
                await self._call(ledger.close)
                self._ledger_thread.shutdown()
        if self._fatal is not None:
            raise self._fatal

    async def _start(self, settler: Settler, categories: list[CategoryWorker]) -> list[asyncio.Task[None]]:
        """Check every category, then begin its jobs, the first run of each at once."""
        await self._call(settler.apply_plans)
        settings = self._settings
        jobs: list[tuple[str, Job, float]] = []
        for category in categories:
            if not await self._patiently(category.check):
                return []
            jobs += [
                (f"{category.slug} rooms", category.rooms, settings.rooms_every),
                (f"{category.slug} past races", category.past_races, settings.list_every),
                (f"{category.slug} pending", category.pending, settings.rooms_every),
                (f"{category.slug} token", category.token, TOKEN_EVERY),
            ]
        jobs.append(("retention", partial(self._clear_away, settler.ledger), CLEAR_AWAY_EVERY))
        if settings.pages_dir is not None:
            command = [sys.executable, "-m", "racebot", "export-site", str(settings.pages_dir)]
            command += ["--database", str(settings.database)]
            refresher = Refresher(command, partial(self._call, settler.ledger.revision), self._clock)
            jobs.append(("pages", refresher.refresh, PAGES_EVERY))
        tasks = [
            asyncio.create_task(repeat(partial(self._guarded, job), seconds), name=name)
            for name, job, seconds in jobs
        ]
        if settings.backups:
            back_up = partial(self._guarded, partial(self._back_up, settler.ledger))
            tasks.append(asyncio.create_task(nightly(back_up, BACKUP_HOUR, self._clock), name="backup"))
        log.info("watching %s on %s", ", ".join(c.slug for c in categories), settings.site)
        return tasks

    async def _patiently(self, check: Callable[[], Awaitable[None]]) -> bool:
        """Run the first check of a category; a site that is away is waited for. False when stopped.

        What looks like a wrong setting is asked again a few times before it is believed.
        """
        doubts = 0
        for delay in backoff(initial_delay=1.0, min_delay=1.0, max_delay=300.0):
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

    async def _guarded(self, job: Callable[[], Awaitable[None]]) -> None:
        """Run a job so that its failure is told and the next run happens, unless nothing can help."""
        try:
            await job()
        except Exception as error:
            self._failed(error)

    def _failed(self, error: BaseException) -> None:
        """Tell of a failure, and stop for one that only the operator can mend."""
        match error:
            case LedgerUnavailable():
                log.error("%s; trying again", error)
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
        if len(self._seen) == len(self._settings.required_categories()):
            oldest = min(moment for moment, _ in self._seen.values()).timestamp()
            beat = heartbeat(self._settings.database)
            try:
                beat.touch(mode=0o600)
                os.utime(beat, (oldest, oldest))
            except OSError as error:
                raise LedgerUnavailable(f"cannot write {beat}: {error.strerror}") from None

    def _refused_for_long(self) -> bool:
        """Whether the credentials that were good at the start have been refused for a while now."""
        seen = [at for _, at in self._seen.values()]
        return bool(seen) and time.monotonic() - min(seen) > REFUSED_FOR_LONG

    async def _back_up(self, ledger: Ledger) -> None:
        folder = backup.folder_of(ledger.path)
        work = partial(backup.back_up, ledger, folder, keep=self._settings.backups, now=self._clock())
        log.info("backed up to %s", await self._call(work))

    async def _clear_away(self, ledger: Ledger) -> None:
        keep = timedelta(days=self._settings.keep_days)
        work = partial(retention.clear_away, ledger, keep=keep, now=self._clock())
        if cleared := await self._call(work):
            log.info("forgot %d old messages, %d abandoned backfills", cleared.messages, cleared.backfills)

    async def _shut(self, categories: list[CategoryWorker], jobs: list[asyncio.Task[None]]) -> None:
        for job in jobs:
            job.cancel()
        try:
            async with asyncio.timeout(SHUTDOWN_WITHIN):
                await asyncio.gather(*jobs, return_exceptions=True)
                await asyncio.gather(*(category.close() for category in categories))
        except TimeoutError:
            log.warning("some rooms did not close in time")

    async def _call(self, work: Callable[..., Any], *args: Any) -> Any:
        """Run ledger work on the one thread that writes."""
        return await asyncio.get_running_loop().run_in_executor(self._ledger_thread, partial(work, *args))


def _page(settings: Settings, ledger: Ledger, board: Leaderboard) -> str | None:
    """The address of a leaderboard's published page, None where there is none."""
    boards = ledger.leaderboards()
    if settings.pages_url is None or board not in boards:
        return None
    address = board_addresses(boards)[boards.index(board)]
    return f"{settings.pages_url}/{address.page()}"


def _conversation(settings: Settings, lifecycle: Lifecycle) -> Conversation | None:
    if not (settings.announce and settings.commands):
        return None
    words = settings.words()
    page = partial(_page, settings, lifecycle.settler.ledger)
    answers = Answers(lifecycle.settler, settings.texts, words, settings.listing, page)
    limiter = Limiter(settings.answers_per_person, settings.answers_per_room)
    return Conversation(lifecycle, answers, settings.texts, words, limiter, private=settings.private_answers)


@contextmanager
def locked(database: Path) -> Generator[None]:
    """Hold the database for one worker alone.

    Raises:
        LedgerError: another worker holds it.
    """
    path = database.with_name(database.name + ".lock")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise LedgerError(f"cannot write beside the database {database}: {error.strerror}") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LedgerError(f"another racebot worker uses {database}: stop it first") from None
        yield
    finally:
        os.close(handle)
