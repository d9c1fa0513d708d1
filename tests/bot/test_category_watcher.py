"""One category: the rooms it joins, and the handling of races from each source."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import httpx
import pytest
from builders import (
    CATEGORY,
    GOAL,
    NOON,
    Clock,
    Streamed,
    at_once,
    chat_body,
    entrant_document,
    existing,
    listed_document,
    race_document,
    result,
    seen,
    settler_of,
)
from pydantic import SecretStr
from room_support import Follower

from racebot.bot import category_watcher, failures
from racebot.bot.category_watcher import LOOK_BACK, CategoryWorker
from racebot.bot.failures import Backoff
from racebot.bot.room import events as cases
from racebot.bot.room.events import Signal
from racebot.bot.room.inbox import WorkerContext
from racebot.errors import DamagedRaceError, LedgerUnavailable, SiteError
from racebot.ledger.outbox import CaseRow, ChatBody, InfoBody, Message, MetaBody
from racebot.ledger.store import Ledger
from racebot.logs import FailureLog
from racebot.racetime.client import Site
from racebot.racetime.payload import Category, parse_race
from racebot.settings.model import Settings
from racebot.settings.tables import CategorySettings
from racebot.standings import orders, rebuild

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
        self.events: list[cases.CaseEvent] = []

    async def run(self) -> None:
        await asyncio.Event().wait()

    def put(self, *events: cases.CaseEvent) -> None:
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
    failed: dict[str, Exception]
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

    failed: dict[str, Exception] = {}
    monkeypatch.setattr(category_watcher, "RoomWatch", watch)
    monkeypatch.setattr(failures, "FIRST_PAUSE", 0.0)
    settler = settler_of(ledger, "elo-ffa")
    async with Site("http://site", interval=0, clock=clock, transport=Streamed(answer)) as site:
        category = CategoryWorker(
            CategorySettings(slug=CATEGORY, client_id="id", client_secret=SecretStr("secret")),
            WorkerContext(
                Settings(commands=False),
                site,
                settler,
                at_once,
                clock,
                FailureLog(),
                Backoff(failed.__setitem__, lambda item: failed.pop(item, None)),
                lambda *_: None,
            ),
        )
        made = Scene(category, Follower(settler, clock), ledger, clock, pages, failed)
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
    for _ in range(2):
        await scene.category.pending()
    assert scene.requests == [f"/{pending.race}/data"]
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
    assert scene.ledger.cases.get(name) is not None
    scene.follower.show_final(existing(parse_race(listed_document("r", ANN_BO)).result))
    scene.follower.deliver(name)
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
    await scene.category.all_past_races()
    scene.clock.advance(days=LOOK_BACK.days * 3)
    deleted = [{**ANN_BO[0], "user": None}, ANN_BO[1]]
    scene.list_races(
        listed_document("old", deleted, recorded=True), listed_document("unknown", ANN_BO, recorded=True)
    )
    await scene.category.all_past_races()
    assert [order.subject for order in scene.ledger.orders.all()] == ["id-ann"]
    assert not scene.ledger.races.has(f"{CATEGORY}/unknown")


async def test_an_account_that_cannot_be_erased_rests(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def fails(*_: object) -> None:
        tried.append(1)
        raise DamagedRaceError("race orb/old: damaged")

    monkeypatch.setattr(orders, "forget_deleted", fails)
    monkeypatch.setattr(failures, "FIRST_PAUSE", 60.0)
    scene.list_races(listed_document("old", [{**ANN_BO[0], "user": None}, ANN_BO[1]], recorded=True))
    await scene.category.past_races()
    await scene.category.past_races()
    assert len(tried) == 1


async def test_all_past_races_are_read_once_a_week(scene: Scene) -> None:
    scene.list_races()
    reads = []
    for days in (0, 6, 1, 6, 8):
        scene.clock.advance(days=days)
        before = len(scene.requests)
        await scene.category.all_past_races()
        reads.append(len(scene.requests) - before)
    assert reads == [0, 0, 1, 0, 1], "a new ledger has no player to forget"


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


async def test_the_list_is_read_for_a_new_goal_although_the_look_that_showed_it_failed(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = scene.pages[f"/o/{CATEGORY}/data"]
    scene.list_races()
    page["goals"] = [GOAL]
    await scene.category.check()
    page["goals"] = ["New goal"]
    with monkeypatch.context() as patch:
        patch.setattr(scene.ledger.profiles, "save_category", Mock(side_effect=LedgerUnavailable("busy")))
        with pytest.raises(LedgerUnavailable):
            await scene.category.rooms()
    assert f"/{CATEGORY}/races/data" not in scene.requests
    await scene.category.rooms()
    assert f"/{CATEGORY}/races/data" in scene.requests


async def test_a_rename_seen_late_corrects_what_was_said_of_races_meanwhile(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of past races cannot be read for longer than a renamed goal waits for it."""
    past, told, recorded = f"{CATEGORY}/past", f"{CATEGORY}/told", f"{CATEGORY}/r"
    category, messages = scene.pages[f"/o/{CATEGORY}/data"], scene.ledger.messages
    scene.list_races(listed_document("past", ANN_BO, recorded=True))
    category["goals"] = [GOAL]
    await scene.category.check()
    await scene.category.past_races()

    renamed: dict[str, Any] = {"goal": {"name": "New goal", "custom": False}}
    category["goals"] = ["New goal"]
    del scene.pages[f"/{CATEGORY}/races/data"]
    with pytest.raises(SiteError):
        await scene.category.rooms()
    scene.pages[f"/{recorded}/data"] = race_document("r", ANN_BO, recorded=True, **renamed)
    scene.ledger.cases.save(CaseRow(recorded, CATEGORY, NOON, NOON))
    await scene.category.pending()
    assert isinstance(scene.failed.pop(f"{recorded} poll"), SiteError)
    assert not scene.ledger.races.has(recorded), "it waits for the list"

    monkeypatch.setattr(category_watcher, "LONGEST_WAIT", 0.0)
    scene.clock.advance(seconds=90)
    await scene.category.pending()
    shown = existing(parse_race(listed_document("told", BO_ANN, **renamed)).result)
    scene.follower.show_final(shown)
    assert len(scene.ledger.leaderboards.all()) == 2, "its goal is taken for a new one"
    for name in (recorded, told):
        scene.follower.deliver(name)

    scene.list_races(
        listed_document("past", ANN_BO, recorded=True, **renamed),
        listed_document("r", ANN_BO, recorded=True, **renamed),
        listed_document("told", BO_ANN, **renamed),
    )
    await scene.category.rooms()
    (board,) = scene.ledger.leaderboards.all()
    row = existing(scene.ledger.ratings.get(board, recorded))
    assert {change.races_before for change in row.changes} == {1}
    meta, info = (each.message.body for each in messages.open_for(recorded))
    assert isinstance(meta, MetaBody)
    (entry,) = meta.leaderboards
    assert entry.changes == {c.player: (c.points_before, c.points_after) for c in row.changes}
    assert isinstance(info, InfoBody)
    assert all(str(c.points_after) in info.blocks[0] for c in row.changes)
    (again,) = messages.open_for(told)
    assert chat_body(again).correction == 1
    entries = chat_body(again).entries[board.name]
    (preview,) = scene.follower.settler.preview(shown)
    assert {change.races_before for change in preview.changes} == {2}
    assert all(str(c.points_after) in entries[c.player] for c in preview.changes)
    for name in (recorded, told):
        scene.follower.deliver(name)
    await scene.category.past_races()
    assert not messages.open_in(CATEGORY), "each is said once"
    assert scene.ledger.races.goal_of(past) == "New goal"


async def test_a_room_whose_messages_were_delivered_meanwhile_is_not_joined(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, category = f"{CATEGORY}/r", Site.category
    scene.ledger.messages.put(Message(name, CATEGORY, "g", ChatBody("late")), NOON)

    async def read(*arguments: Any) -> Category:
        scene.follower.deliver(name)
        return await category(*arguments)

    monkeypatch.setattr(Site, "category", read)
    await scene.category.rooms()
    assert scene.watches == {}


async def test_what_happened_to_races_while_the_bot_was_down_is_published_at_its_start(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    settler, messages, posts = scene.follower.settler, scene.ledger.messages, scene.ledger.posts
    for name in ("one", "two", "excluded", "same"):
        scene.follower.frame(seen(result(name, "ann bo")))
        scene.follower.deliver(f"{CATEGORY}/{name}")
    scene.clock.advance(hours=1)
    excluded, same = (existing(scene.ledger.races.get(f"{CATEGORY}/{name}")) for name in ("excluded", "same"))
    orders.exclude(settler, excluded, "asked", scene.clock())
    for undo in (False, True):
        orders.exclude(settler, same, "asked", scene.clock(), undo=undo)
    posts.put(same.result, ["1"], None)
    posts.note(posts.get(same.result.name, "1"), "message", None)
    orders.hide(settler, existing(scene.ledger.players.get("id-ann")), "asked", scene.clock())
    with monkeypatch.context() as patch:
        patch.setattr(rebuild, "fits", lambda board, races: False)
        for name in ("one", "two"):
            settler.settle(result(name, "bo ann"), scene.clock())
    scene.clock.advance(seconds=10)
    await scene.category.rooms()
    meta, info = (row.message.body for row in messages.open_for(excluded.result.name))
    assert (meta, info) == (MetaBody(), InfoBody((Settings().texts.not_counted,)))
    assert posts.waiting("1") == [same.result.name], "Ann is still to be hidden"
    rebuild.carry_out_rebuilds(scene.ledger)
    await scene.category.rooms()
    told = {row.message.race.partition("/")[2] for row in messages.open_in(CATEGORY)}
    assert told == {"one", "two", "excluded", "same"}
    assert scene.ledger.orders.unpublished() == []
