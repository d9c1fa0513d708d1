"""Watch one category: its rooms, its pending races and its list of past races."""

import asyncio
import logging
import time
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import timedelta
from functools import partial

from racebot.bot.room import events
from racebot.bot.room.answers import CommandHandler
from racebot.bot.room.case import step
from racebot.bot.room.connection import RoomWatch
from racebot.bot.room.events import STAY_AFTER_FINISH, STAY_AFTER_OVER, Signal
from racebot.bot.room.inbox import RoomContext, WorkerContext
from racebot.bot.room.ledger_work import LedgerWork
from racebot.errors import CredentialsError, NotFoundError, PayloadError, SiteError
from racebot.ledger.outbox import Delivery
from racebot.ledger.rows import CategoryProfile
from racebot.logs import about
from racebot.racetime.client import TokenSource
from racebot.racetime.payload import Category, Race
from racebot.settings.tables import CategorySettings
from racebot.standings import orders

log = logging.getLogger(__name__)

LOOK_BACK = timedelta(days=14)
"""How far back to read the list of past races, to find races that are recorded late."""
FULL_READ_AFTER = timedelta(days=6.5)
"""Age at which the nightly look reads the whole list of past races again: once a week."""
LONGEST_WAIT = 600.0  # seconds for which a goal that may be an old one waits for the list of past races


class CategoryWorker:
    """Watches one category with one bot's credentials, or only reads what is public."""

    def __init__(self, settings: CategorySettings, worker: WorkerContext) -> None:
        self.slug = settings.slug
        self._worker, self._call, self._ledger = worker, worker.call, worker.settler.ledger
        bot, secret = settings.client_id, settings.client_secret
        self._tokens = TokenSource(worker.site, bot, secret) if bot and secret else None
        work = LedgerWork(worker.settler, worker.clock, worker.settings, bot if self._tokens else None)
        listens = worker.settings.announce and worker.settings.commands
        commands = CommandHandler(work, worker.settings, silent=not self._tokens) if listens else None
        self._context = RoomContext(worker, self._tokens, work, self.follow_goal, commands)
        self.goals: Collection[str] = ()
        """The goals that the category has now, known after `check`."""
        self._followed: set[str] = set()
        """Goals for which the list of past races has been read: none of them is an old one renamed since."""
        self._following = asyncio.Lock()
        self._orders_followed: int | None = None
        """The number of the last order whose races show what they do after it; None before the first look."""
        self._to_follow: set[str] = set()
        self._seen_rooms: set[str] = set()
        """Rooms that ended, as the site has shown."""
        self._openers: dict[str, str] = {}
        self._waits_since: dict[str, float] = {}
        """Since when goals wait for the list of past races to be read: it shows whether they are old ones."""
        self._watches: dict[str, RoomWatch] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def check(self) -> None:
        """Check the credentials and that the category exists. Raise as `Site.category` does."""
        category = await self._worker.site.category(self.slug, await self._own_token())
        await self._take_in(category)
        log.info("category %s: goals %s", category.slug, ", ".join(category.goals))
        if self._tokens is None:
            log.info("category %s: no client id and secret, so racebot says nothing there", category.slug)
            await self._call(self._drop_messages)

    async def rooms(self) -> None:
        """Watch rooms that are open, ended recently, or have messages to deliver."""
        token = await self._own_token()
        try:
            category = await self._worker.site.category(self.slug, token)
        except CredentialsError as error:
            # The site accepted the bot at the start, so a front proxy refuses or the token was revoked.
            if self._tokens and token:
                self._tokens.refuse(token)
            raise SiteError(str(error)) from None
        self._note_problems(category.problems)
        appeared = set(category.goals) - set(self.goals)
        # Before anything is awaited: rooms ask `follow_goal` meanwhile, and the rest of this look may fail.
        self._followed -= appeared
        self._waits_since = dict.fromkeys(appeared, time.monotonic()) | self._waits_since
        await self._take_in(category)
        await self._call(self._worker.settler.boards.refresh)  # the operator may have added rooms to an event
        rules = self._worker.settler.rules
        for name, room in category.rooms.items():
            wanted = rules.configs_for(room) or rules.lacks_opener(room) or name in rules.events
            if self._is_ours(name) and wanted:
                self._watch(name)
        now = self._worker.site.clock()
        missing = set()
        for row in await self._call(self._ledger.cases.polled, self.slug):
            stay = STAY_AFTER_OVER if row.over or row.standing is not None else STAY_AFTER_FINISH
            if row.misses and row.next_look is not None and row.next_look > now:
                missing.add(row.race)
            elif row.ended_at is not None and now - row.ended_at < stay:
                self._watch(row.race)
        unfinished = [row.race for row in await self._call(self._ledger.cases.unfinished, self.slug)]
        waiting = await self._call(self._ledger.messages.open_in, self.slug)
        for name in [*unfinished, *dict.fromkeys(row.message.race for row in waiting)]:
            if name not in missing:
                self._watch(name)
        for name in [each for each in self._watches if not self._worker.backoff.rests(f"{each} event")]:
            with self._worker.backoff.trying(f"{name} event"):
                await self._call(self._context.work.tell_of_event, name)
        await self._follow_orders()
        for watch in self._watches.values():
            watch.nudge()  # so that it checks whether it can leave
        self._worker.alive(self.slug)
        if self._waits_since:
            await self.past_races()

    async def _follow_orders(self) -> None:
        """Let races show what they do after orders from the shell, and after an edit that a rebuild rates."""
        last, given = await self._call(self._ledger.orders.last), self._orders_followed
        orders = self._ledger.orders
        ordered = await (
            self._call(orders.unpublished) if given is None else self._call(orders.races_since, given)
        )
        self._to_follow.update(filter(self._is_ours, ordered))
        self._orders_followed = last
        self._to_follow |= self._context.work.rated_later
        self._context.work.rated_later.clear()
        for race in sorted(
            each for each in self._to_follow if not self._worker.backoff.rests(f"{each} order")
        ):
            with self._worker.backoff.trying(f"{race} order"):
                if await self._call(self._context.work.follow_order, race):
                    self._to_follow.remove(race)

    async def _take_in(self, category: Category) -> None:
        self.goals = category.goals
        profile = CategoryProfile(category.name, category.image)
        await self._call(self._ledger.profiles.save_category, self.slug, profile)

    async def pending(self) -> None:
        """Read the pending races whose next look is due."""
        for row in await self._call(self._ledger.cases.due, self.slug, self._worker.site.clock()):
            if not self._worker.backoff.rests(f"{row.race} poll"):
                with about(row.race), self._worker.backoff.trying(f"{row.race} poll"):
                    await self._look_at(row.race)

    async def past_races(self) -> None:
        """Read the list of past races far enough back to see late recordings, oldest settled first."""
        async with self._following:
            await self._read_past_races()
        await self._find_listed_rooms()

    async def _find_listed_rooms(self) -> None:
        """Read rooms that leaderboards list by name and no list of the site has shown, each until it ends."""
        for name in self._worker.settler.rules.listed_rooms(self.slug):
            source = f"{name} listed in the settings"
            if name in self._seen_rooms or self._worker.backoff.rests(source):
                continue
            with about(name), self._worker.backoff.trying(source):
                if await self._call(self._ledger.races.has, name):
                    continue
                race, sent_at = await self._worker.site.race(name)
                if (race.result is None and not race.over) or name in self._watches:
                    self._watch(name)  # one that ends now may not see another event
                    continue
                await self._follow_race(name, events.Read(race, sent_at))
                self._seen_rooms.add(name)

    async def _with_opener(self, race: Race) -> Race:
        """Return a listed race with its opener, if a leaderboard depends on that."""
        if not self._worker.settler.rules.lacks_opener(race):
            return race
        if race.name not in self._openers:
            self._openers[race.name] = (await self._worker.site.race(race.name))[0].opened_by or ""
        opener = self._openers[race.name]
        return replace(race, opened_by=opener, result=race.result and replace(race.result, opened_by=opener))

    async def _read_past_races(self) -> None:
        oldest = self._worker.site.clock() - LOOK_BACK
        followed, seen = {*self.goals, *self._waits_since}, {}
        async for _, listed in self._worker.site.past_race_pages(self.slug, since=oldest):
            seen.update({race.name: race for race in listed.races})
            self._note_problems(listed.problems)
        shown = [race.result for race in seen.values() if race.result and self._is_ours(race.name)]
        if self.goals:
            await self._call(self._context.work.follow_renames, shown, self.goals)
        await self._forget_deleted(seen.values())
        ended = [race for race in seen.values() if race.result and race.result.ended_at >= oldest]
        for race in sorted(ended, key=lambda race: race.result.ended_at if race.result else oldest):
            source = f"{race.name} listed"
            if not self._is_ours(race.name):
                self._note_problems([f"{race.name}: listed in category {self.slug}"])
            elif not self._worker.backoff.rests(source):
                with about(race.name), self._worker.backoff.trying(source):
                    await self._follow_race(race.name, events.Listed(await self._with_opener(race)))
                    self._seen_rooms.add(race.name)
        self._followed.update(followed, (race.goal for race in seen.values()))
        self._waits_since = {g: since for g, since in self._waits_since.items() if g not in followed}

    async def all_past_races(self) -> None:
        """Read the whole list of past races once a week, and forget players whose accounts were deleted."""
        now = self._worker.clock()
        read_at = await self._call(self._ledger.full_reads.last, self.slug, now)
        if now - read_at < FULL_READ_AFTER:
            return
        async for _, listed in self._worker.site.past_race_pages(self.slug):
            self._note_problems(listed.problems)
            await self._forget_deleted(listed.races)
        await self._call(self._ledger.full_reads.note, self.slug, self._worker.clock())

    async def _own_token(self) -> str | None:
        return await self._tokens.get() if self._tokens else None

    def _drop_messages(self) -> None:
        """Drop messages of a time when the category had credentials."""
        with self._ledger.transaction():
            for row in self._ledger.messages.open_in(self.slug):
                self._ledger.messages.mark(row, Delivery.DROPPED, self._worker.clock(), "no credentials")

    async def close(self) -> None:
        """Leave all rooms."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def follow_goal(self, race: Race) -> None:
        """Learn whether a race's goal, if it is new, is an old one that the site renamed.

        Only the list of past races shows that. If it cannot be read, a goal that may be an old one waits for
        a while, and is then taken for new: the next look at the list corrects what was said meanwhile.
        """
        if race.custom_goal or not self.goals or race.goal in self._followed:
            return
        async with self._following:
            if race.goal in self._followed:
                return
            stored = {goal for slug, goal in await self._call(self._ledger.races.goals) if slug == self.slug}
            has_changed = race.goal in self._waits_since or race.goal not in self.goals
            if has_changed or not stored.issubset(self.goals):
                waits_since = self._waits_since.setdefault(race.goal, time.monotonic())
                try:
                    await self._read_past_races()
                except (PayloadError, SiteError) as error:
                    if time.monotonic() - waits_since < LONGEST_WAIT:
                        raise SiteError(str(error)) from error
                    log.warning("goal %s is taken for a new one: %s", race.goal, error)
            self._followed.add(race.goal)

    async def _forget_deleted(self, races: Iterable[Race]) -> None:
        for result in (race.result for race in races):
            if result is None or result.hidden or all(each.user_id is not None for each in result.entrants):
                continue
            source = f"{result.name} deleted accounts"
            if self._worker.backoff.rests(source):
                continue
            with self._worker.backoff.trying(source):
                forget = partial(orders.forget_deleted, self._worker.settler, [result], self._worker.clock())
                for account in await self._call(forget):
                    log.info("player %s: the account was deleted on the site; the name is erased", account)

    def _note_problems(self, problems: Iterable[str]) -> None:
        """Name what a list of the site has that cannot be read."""
        for problem in problems:
            self._worker.backoff.failed(f"category {self.slug}", PayloadError(problem))

    async def _look_at(self, name: str) -> None:
        try:
            race, sent_at = await self._worker.site.race(name)
            await self.follow_goal(race)
        except Exception as error:
            is_missing = isinstance(error, NotFoundError)
            await self._follow_race(name, Signal.MISSING if is_missing else Signal.LOOKED)
            raise
        if race.status == "in_progress":
            self._watch(name)
        await self._follow_race(name, events.Read(race, sent_at), Signal.LOOKED)

    async def _follow_race(self, name: str, *happened: events.CaseEvent) -> None:
        if watched := self._watches.get(name):
            watched.put(*happened)
            return
        work = self._context.work
        case = await self._call(work.load, name, *happened, watched=False)
        stored = case.row
        effects: list[events.Effect] = []
        for event in happened:
            case, found = step(case, event, self._context.now())
            effects += found
        if (effects or case.row != stored) and await self._call(work.carry_out, case, stored, effects):
            self._watch(name)
        if case.shown is not None:
            self._worker.on_race(case.shown)

    def _is_ours(self, name: str) -> bool:
        return name.startswith(f"{self.slug}/")

    def _watch(self, name: str) -> None:
        if name in self._watches:
            self._watches[name].nudge()
            return
        self._watches[name] = watch = RoomWatch(name, self._context)
        self._tasks[name] = task = asyncio.create_task(watch.run(), name=f"room {name}")
        task.add_done_callback(partial(self._left, name))

    def _left(self, name: str, task: asyncio.Task[None]) -> None:
        del self._watches[name], self._tasks[name]
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            self._worker.backoff.failed(name, error)
