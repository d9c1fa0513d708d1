"""Watch one category: its rooms, its pending races and its list of past races."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta
from functools import partial

from racebot.bot.command_handler import CommandHandler
from racebot.bot.links import board_page, comparison_page
from racebot.bot.race_lifecycle import Lifecycle
from racebot.bot.room_watcher import STAY_AFTER_FINISH, STAY_AFTER_OVER, RoomWatch
from racebot.chat.answers.answers import Answers
from racebot.chat.answers.context import Links
from racebot.chat.rate_limit import Limiter
from racebot.errors import CredentialsError, NotFoundError, SiteError
from racebot.ledger.profiles import CategoryProfile
from racebot.ledger.thread import RunOnLedger
from racebot.racetime.client import Credentials, Site
from racebot.racetime.payload import Category, Race
from racebot.racetime.tokens import TokenSource
from racebot.settings.model import CategorySettings, Settings
from racebot.standings import orders
from racebot.standings.follow_settings import follow_renames
from racebot.telemetry import metrics
from racebot.telemetry.logs import about
from racebot.telemetry.troubles import Troubles

log = logging.getLogger(__name__)

LOOK_BACK = timedelta(days=14)
"""How far back to read the list of past races, to find races that are recorded late."""


class CategoryWorker:
    """Watches one category with one bot's credentials."""

    def __init__(
        self,
        settings: CategorySettings,
        *,
        site: Site,
        lifecycle: Lifecycle,
        call: RunOnLedger,
        clock: Callable[[], datetime],
        common: Settings,
        failed: Callable[[str, BaseException], None],
        troubles: Troubles,
        alive: Callable[[str], None],
        on_race: Callable[[Race], object] = lambda _: None,
    ) -> None:
        self.slug = settings.slug
        self._site = site
        self._tokens = TokenSource(site, Credentials(settings.client_id, settings.client_secret))
        self._lifecycle = lifecycle
        self._goals: Collection[str] = ()
        self._profile: CategoryProfile | None = None
        self._ledger = lifecycle.settler.ledger
        self._call = call
        self._clock = clock
        self._common = common
        answers = _answers(common, lifecycle)
        self._command_handler = _command_handler(common, lifecycle, answers)
        self._greet = (
            partial(lifecycle.greet, compose=answers.greeting) if common.announce and common.greet else None
        )
        self._failed = failed
        self._troubles = troubles
        self._alive = alive
        self._on_race = on_race
        self._watches: dict[str, RoomWatch] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        """The task of each watch."""
        self._token: str | None = None
        for counter in (metrics.CONNECTIONS, metrics.RECONNECTS, metrics.SETTLED):
            # Export 0 from the start, so that a first increase is visible.
            counter.labels(self.slug)
        metrics.ROOMS.labels(self.slug).set_function(lambda: len(self._watches))
        metrics.TOKEN_AGE.labels(self.slug).set_function(lambda: self._tokens.age)

    @property
    def goals(self) -> Collection[str]:
        """The goals that the category has now, known after `check`."""
        return self._goals

    async def check(self) -> None:
        """Check the credentials and that the category exists.

        Raises:
            CredentialsError: the id or secret is wrong, or belongs to another category's bot.
            NotFoundError: the category does not exist.
        """
        try:
            category = await self._site.category(self.slug, await self._tokens.get())
        except NotFoundError:
            raise NotFoundError(
                f"{self._site.url} has no category {self.slug!r}: check RACEBOT_CATEGORY "
                "(the part of the category's address after the site's name)"
            ) from None
        self._goals = category.goals
        await self._store_profile(category)
        log.info("category %s: goals %s", category.slug, ", ".join(category.goals))

    async def rooms(self) -> None:
        """Watch rooms that are open, ended recently, or have messages to deliver."""
        waiting = await self._call(self._ledger.pending.all, self.slug)
        metrics.PENDING.labels(self.slug).set(sum(not pending.over for pending in waiting))
        metrics.OUTBOX.labels(self.slug).set(await self._call(self._ledger.outbox.length, self.slug))
        token = await self._tokens.get()
        try:
            category = await self._site.category(self.slug, token)
        except CredentialsError as error:
            # The site accepted the bot at the start, so a front proxy refuses or the token was revoked.
            self._tokens.refuse(token)
            raise SiteError(str(error)) from None
        self._goals = category.goals
        await self._store_profile(category)
        for room in category.rooms:
            if self._lifecycle.settler.plans.leaderboards(self.slug, room.goal) and self._is_ours(room.name):
                self._watch(room.name)
        now = self._clock()
        missing = set()
        for pending in await self._call(self._ledger.pending.all, self.slug):
            stay = STAY_AFTER_OVER if pending.over else STAY_AFTER_FINISH
            if pending.misses and pending.next_look > now:
                missing.add(pending.race)
            elif now - pending.ended_at < stay:
                self._watch(pending.race)
        for kept in (self._ledger.pending.joined, self._ledger.outbox.rooms):
            for name in await self._call(kept, self.slug):
                if name not in missing:
                    self._watch(name)
        for watch in self._watches.values():
            watch.nudge()  # so that it checks whether it can leave
        self._alive(self.slug)

    async def _store_profile(self, category: Category) -> None:
        """Store the category's name and picture for the pages, if they are new."""
        profile = CategoryProfile(category.name, category.image)
        if profile != self._profile:
            await self._call(self._ledger.profiles.save_category, self.slug, profile)
            self._profile = profile

    async def pending(self) -> None:
        """Read the pending races whose next look is due."""
        for pending in await self._call(self._ledger.pending.due, self.slug, self._clock()):
            with about(pending.race):
                await self._look_at(pending.race)

    async def past_races(self) -> None:
        """Read the list of past races far enough back to see late recordings, oldest settled first."""
        oldest = self._clock() - LOOK_BACK
        seen = {}
        async for _, listed in self._site.past_race_pages(self.slug):
            seen.update({race.name: race for race in listed.races})
            ends = [race.result.ended_at for race in listed.races if race.result]
            if ends and min(ends) < oldest:
                break
        await self._follow_renames(seen.values())
        await self._forget_deleted(seen.values())
        ended = [race for race in seen.values() if race.result and race.result.ended_at >= oldest]
        for race in sorted(ended, key=lambda race: race.result.ended_at if race.result else oldest):
            with about(race.name):
                await self._take_in(race)

    async def all_past_races(self) -> None:
        """Read the whole list of past races, and forget players whose accounts have been deleted."""
        async for _, listed in self._site.past_race_pages(self.slug):
            await self._forget_deleted(listed.races)
        await self._call(self._ledger.backfills.note_full_read, self.slug, self._clock())

    async def is_full_read_overdue(self) -> bool:
        """Return whether the weekly read of all past races was missed, as by a worker that was down."""
        now = self._clock()
        return now - await self._call(self._ledger.backfills.fully_read_at, self.slug, now) > timedelta(
            weeks=1
        )

    async def token(self) -> None:
        """Renew the token before it expires, and reconnect open sockets with the new one."""
        current = await self._tokens.get()
        if self._token is not None and current != self._token:
            for watch in self._watches.values():
                watch.renew()
        self._token = current

    async def close(self) -> None:
        """Leave all rooms."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow_renames(self, races: Iterable[Race]) -> None:
        """Keep the leaderboards of goals that the site renamed."""
        shown = [race.result for race in races if race.result is not None and self._is_ours(race.name)]
        if self._goals:
            await self._call(follow_renames, self._lifecycle.settler, shown, self._goals)

    async def _forget_deleted(self, races: Iterable[Race]) -> None:
        shown = [race.result for race in races if race.result is not None and not race.result.hidden]
        forget = partial(orders.forget_deleted, self._lifecycle.settler, shown, self._clock())
        for account in await self._call(forget):
            log.info("player %s: the account was deleted on the site; the name is erased", account)

    async def _look_at(self, name: str) -> None:
        """Read a pending race over HTTP, and pass it to its room if that is watched."""
        source = f"{name} pending"
        try:
            asked_at = time.monotonic()
            race = await self._site.race(name)
            if watched := self._watches.get(name):
                await watched.on_read(race, asked_at)
            else:
                await self._observe(race)
                if race.status == "in_progress":
                    self._watch(name)
        except NotFoundError:
            await self._call(self._lifecycle.vanished, name)
            self._troubles.over(source)
            return
        except Exception as error:
            self._failed(source, error)
        else:
            self._troubles.over(source)
        await self._call(self._lifecycle.looked_at, name)

    async def _take_in(self, race: Race) -> None:
        """Process a race from the list of past races."""
        source = f"{race.name} listed"
        try:
            if not self._is_ours(race.name):
                self._troubles.failed(source, f"{race.name}: listed in category {self.slug}", "ignored")
                return
            if watched := self._watches.get(race.name):
                await watched.on_listing(race)
            else:
                await self._observe(race)
        except Exception as error:
            self._failed(source, error)
        else:
            self._troubles.over(source)

    async def _observe(self, race: Race) -> None:
        """Process a race whose room is not watched, and join the room if its announcement is outdated."""
        await self._call(self._lifecycle.observe, race)
        self._on_race(race)
        result = race.result
        if result is None or race.recorded or race.over:
            return
        if await self._call(self._lifecycle.needs_room, result):
            self._watch(race.name)

    def _is_ours(self, name: str) -> bool:
        return name.startswith(f"{self.slug}/")

    def _watch(self, name: str) -> None:
        if name in self._watches:
            self._watches[name].nudge()
            return
        self._watches[name] = watch = RoomWatch(
            name,
            site=self._site,
            tokens=self._tokens,
            lifecycle=self._lifecycle,
            call=self._call,
            clock=self._clock,
            quiet=self._common.quiet_seconds,
            info=self._common.info_block,
            texts=self._common.texts,
            commands=self._command_handler,
            greet=self._greet,
            on_race=self._on_race,
            troubles=self._troubles,
        )
        self._tasks[name] = task = asyncio.create_task(watch.run(), name=f"room {name}")
        task.add_done_callback(partial(self._left, name))

    def _left(self, name: str, task: asyncio.Task[None]) -> None:
        del self._watches[name], self._tasks[name]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(name, error)


def _answers(settings: Settings, lifecycle: Lifecycle) -> Answers:
    ledger = lifecycle.settler.ledger
    links = Links(partial(board_page, settings, ledger), partial(comparison_page, settings, ledger))
    return Answers(lifecycle.settler, settings.texts, settings.named_commands(), settings.listing, links)


def _command_handler(settings: Settings, lifecycle: Lifecycle, answers: Answers) -> CommandHandler | None:
    if not (settings.announce and settings.commands):
        return None
    limiter = Limiter(settings.answers_per_person, settings.answers_per_room)
    return CommandHandler(
        lifecycle,
        answers,
        settings.texts,
        settings.named_commands(),
        limiter,
        private=settings.private_answers,
    )
