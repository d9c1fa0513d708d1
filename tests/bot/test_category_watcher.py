"""One category: the rooms it joins, and the handling of races from each source."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from builders import (
    CATEGORY,
    GOAL,
    NOON,
    Clock,
    Streamed,
    at_once,
    entrant_document,
    listed_document,
    race_document,
    result,
    seen,
)
from pydantic import SecretStr
from room_support import Follower

from racebot.bot import category_watcher
from racebot.bot.category_watcher import LOOK_BACK, CategoryWorker, WorkerContext
from racebot.bot.room import case as cases
from racebot.bot.room.case import Signal
from racebot.errors import SiteError
from racebot.ledger.cases import CaseRow
from racebot.ledger.outbox import Delivery
from racebot.ledger.store import Ledger
from racebot.racetime.client import Site
from racebot.racetime.payload import parse_race
from racebot.settings.model import CategorySettings, Settings
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.settle import Settler
from racebot.telemetry.failure_log import FailureLog

ANN_BO = [
    entrant_document("ann", "done", "P0DT01H00M00S", 1),
    entrant_document("bo", "done", "P0DT01H01M00S", 2),
]
BO_ANN = [
    entrant_document("bo", "done", "P0DT00H59M00S", 1),
    entrant_document("ann", "done", "P0DT01H00M00S", 2),
]


class Watch:
    """A room watch that runs until cancelled, and records its calls."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.events: list[cases.Event] = []

    async def run(self) -> None:
        await asyncio.Event().wait()

    def put(self, *events: cases.Event) -> None:
        self.events += events

    def nudge(self) -> None:
        pass


@dataclass
class Scene:
    """A category on a site that serves fixed pages by path."""

    category: CategoryWorker
    follower: Follower
    ledger: Ledger
    clock: Clock
    pages: dict[str, Any]
    watches: dict[str, Watch] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)

    def list_races(self, *races: dict[str, Any]) -> None:
        self.pages[f"/{CATEGORY}/races/data"] = {"races": list(races), "num_pages": 1, "count": len(races)}


@pytest.fixture
async def scene(ledger: Ledger, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    clock.advance(seconds=10)
    pages: dict[str, Any] = {
        "/o/token": {"access_token": "x", "expires_in": 3600},
        f"/o/{CATEGORY}/data": {"slug": CATEGORY, "name": "Orb", "goals": [], "current_races": []},
    }

    def answer(request: httpx.Request) -> httpx.Response:
        made.requests.append(request.url.path)
        page = pages.get(request.url.path)
        return httpx.Response(404) if page is None else httpx.Response(200, json=page)

    def watch(name: str, _: object) -> Watch:
        return made.watches.setdefault(name, Watch(name))

    def fail(_: str, error: BaseException) -> None:
        raise error

    monkeypatch.setattr(category_watcher, "RoomWatch", watch)
    settler = Settler(ledger, RatingRules(LeaderboardConfig("elo-ffa")))
    async with Site("http://site", interval=0, clock=clock, transport=Streamed(answer)) as site:
        category = CategoryWorker(
            CategorySettings(slug=CATEGORY, client_id="id", client_secret=SecretStr("secret")),
            WorkerContext(Settings(commands=False), site, settler, at_once, clock, FailureLog(), fail),
            alive=lambda slug: None,
        )
        made = Scene(category, Follower(settler, clock), ledger, clock, pages)
        yield made
        await category.close()


async def test_a_race_of_another_category_in_the_list_is_ignored(scene: Scene) -> None:
    scene.list_races(
        listed_document("r", ANN_BO, recorded=True, name="other/r"),
        listed_document("s", ANN_BO, recorded=True),
    )
    await scene.category.past_races()
    assert scene.ledger.races.get("other/r") is None
    assert scene.ledger.races.get(f"{CATEGORY}/s") is not None


async def test_a_room_that_is_not_found_is_left_alone_until_its_next_look(scene: Scene) -> None:
    pending = CaseRow(f"{CATEGORY}/r", CATEGORY, NOON, scene.clock())
    scene.ledger.cases.save(pending)
    for _ in range(2 * 60 * 6):
        await scene.category.pending()
        scene.clock.advance(seconds=30)
    assert len(scene.requests) <= 15, "one look every 30 s for six hours"
    await scene.category.rooms()
    assert scene.watches == {}
    scene.ledger.cases.save(replace(pending, ended_at=scene.clock()))
    await scene.category.rooms()
    assert list(scene.watches) == [pending.race]


async def test_data_from_other_sources_reaches_a_watched_room(scene: Scene) -> None:
    name = f"{CATEGORY}/r"
    scene.ledger.cases.save(CaseRow(name, CATEGORY, NOON, scene.clock()))
    await scene.category.rooms()
    scene.pages[f"/{name}/data"] = race_document("r", BO_ANN, version=21)
    await scene.category.pending()
    (read, looked) = scene.watches[name].events
    assert isinstance(read, cases.Read)
    assert read.race.version == 21
    assert looked == Signal.LOOKED
    scene.list_races(listed_document("r", BO_ANN))
    await scene.category.past_races()
    assert isinstance(scene.watches[name].events[-1], cases.Listed)


async def test_a_room_whose_announcement_is_outdated_is_joined_however_late(scene: Scene) -> None:
    name = f"{CATEGORY}/r"
    scene.list_races(listed_document("r", ANN_BO))
    await scene.category.past_races()
    announced = scene.ledger.cases.get(name)
    assert announced is not None
    shown = parse_race(listed_document("r", ANN_BO)).result
    assert shown is not None
    scene.follower.show_final(shown)
    for row in scene.ledger.messages.open_for(name):
        scene.ledger.messages.mark(row, Delivery.DELIVERED, NOON)
    scene.clock.advance(hours=30)
    await scene.category.past_races()
    assert scene.watches == {}
    scene.list_races(listed_document("r", BO_ANN))
    await scene.category.past_races()
    assert list(scene.watches) == [name]


async def test_a_race_that_is_over_is_watched_for_an_hour(scene: Scene) -> None:
    over = CaseRow(f"{CATEGORY}/r", CATEGORY, NOON, NOON + timedelta(days=1), over=True)
    scene.ledger.cases.save(over)
    scene.clock.now = NOON + timedelta(minutes=61)
    await scene.category.rooms()
    assert scene.watches == {}
    scene.clock.now = NOON + timedelta(minutes=59)
    await scene.category.rooms()
    assert list(scene.watches) == [over.race]


async def test_the_weekly_read_finds_deleted_accounts_and_rates_no_old_race(scene: Scene) -> None:
    scene.list_races(listed_document("old", ANN_BO, recorded=True))
    await scene.category.past_races()
    scene.clock.advance(days=LOOK_BACK.days * 3)
    deleted = [{**ANN_BO[0], "user": None}, ANN_BO[1]]
    scene.list_races(
        listed_document("old", deleted, recorded=True), listed_document("unknown", ANN_BO, recorded=True)
    )
    await scene.category.all_past_races()
    assert [order.subject for order in scene.ledger.orders.all()] == ["id-ann"]
    assert not scene.ledger.races.has(f"{CATEGORY}/unknown")


async def test_a_missed_weekly_read_is_overdue_until_all_pages_were_read(scene: Scene) -> None:
    scene.list_races()
    overdue = []
    for days in (0, 6, 2):
        scene.clock.advance(days=days)
        overdue.append(await scene.category.is_full_read_overdue())
    assert overdue == [False, False, True], "a new ledger has no player to forget"
    await scene.category.all_past_races()
    assert not await scene.category.is_full_read_overdue()


@pytest.mark.parametrize("has_lost_a_goal", [False, True])
async def test_a_goal_waits_for_the_list_of_past_races_only_if_it_may_be_an_old_one(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, *, has_lost_a_goal: bool
) -> None:
    """The list cannot be read. A goal that the site no longer has may have another name now."""
    scene.follower.read(seen(result("past", "ann bo")))
    scene.category.goals = ["New goal"] if has_lost_a_goal else [GOAL, "New goal"]
    race = seen(result("r", "ann bo", goal="New goal"))
    if has_lost_a_goal:
        with pytest.raises(SiteError):
            await scene.category.follow_goal(race)
        monkeypatch.setattr(category_watcher, "LONGEST_WAIT", 0.0)
    await scene.category.follow_goal(race)
    requests = len(scene.requests)
    await scene.category.follow_goal(race)
    assert len(scene.requests) == requests, "the list is not asked for again"
