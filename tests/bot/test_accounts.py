"""Accounts that are deleted on the site, and operators' orders, while the worker runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import cast

from builders import CATEGORY, Clock, at_once, chat_body, info_blocks, result, seen
from pydantic import SecretStr
from room_support import Follower
from worker_support import Bench, finish, said, until

from racebot.bot.category_watcher import LOOK_BACK, CategoryWorker, WorkerContext
from racebot.ledger.rows import Standing
from racebot.ledger.store import Ledger
from racebot.races.result import NO_NAME, RaceResult
from racebot.racetime.client import Site
from racebot.racetime.payload import RacePage
from racebot.sandbox.room import FakeRoom
from racebot.settings.model import CategorySettings, Settings
from racebot.standings import orders
from racebot.standings.counting import LeaderboardPlan, Plans
from racebot.standings.settle import Settler
from racebot.telemetry.failure_log import FailureLog


def standings(sandbox: Bench) -> dict[str, Standing]:
    with sandbox.ledger() as ledger:
        (board,) = ledger.leaderboards.all()
        return {standing.player: standing for standing in ledger.standings.all(board)}


async def recorded(sandbox: Bench) -> FakeRoom:
    """A race of three, stored in the ledger."""
    room = sandbox.open_race(3)
    finish(room, 60, 61, 62)
    await until(lambda: len(said(room)) == 1)
    room.record()
    await until(lambda: room.bot_meta)
    return room


async def test_deleted_account_loses_its_name_and_no_rating_changes(sandbox: Bench) -> None:
    async with sandbox.worker() as worker:
        room = await recorded(sandbox)
        before = standings(sandbox)
        gone = room.entrants[0].user
        sandbox.site.delete_user(gone)
        await until(lambda: standings(sandbox)[gone.id].name == NO_NAME)
        after = standings(sandbox)
        assert after[gone.id].hidden
        assert {player: standing.state for player, standing in after.items()} == {
            player: standing.state for player, standing in before.items()
        }
        assert await worker.terminate() == 0
    assert gone.name not in (await sandbox.racebot("leaderboard")).stdout
    assert gone.id in (await sandbox.racebot("audit")).stdout
    assert (await sandbox.racebot("verify")).returncode == 0


async def test_a_running_worker_obeys_orders_at_once(sandbox: Bench) -> None:
    sandbox.extra["RACEBOT_MINIMUM_FINISHES"] = "0"
    async with sandbox.worker():
        room = await recorded(sandbox)
        first, second, third = (entrant.user for entrant in room.entrants)
        for words in (("hide", first.id), ("exclude", room.name, "--reason", "wrong seed")):
            done = await sandbox.racebot(*words)
            assert done.returncode == 0, done.stderr
        assert standings(sandbox) == {}
        another = sandbox.open_race(3)
        finish(another, 60, 61, 62)
        await until(lambda: len(said(another)) == 1)
        assert said(another)[0].count(", new)") == 2, "the excluded race no longer counts"
        assert first.name not in said(another)[0]
        done = await sandbox.racebot("include", room.name)
        assert done.returncode == 0, done.stderr
        another.say(second.id, "!leaderboard")
        await until(lambda: len(said(another)) == 2)
        assert first.name not in said(another)[1]
        assert second.name in said(another)[1]
        assert third.name in said(another)[1]


def test_a_race_of_a_merged_account_is_announced_and_settled(ledger: Ledger) -> None:
    settler = Settler(ledger, Plans(LeaderboardPlan("elo-ffa")))
    settler.add_past_races([result("a", "old bo"), result("b", "cy bo", after=1)], "import")
    old, kept = ledger.players.find_exactly("id-old"), ledger.players.find_exactly("id-cy")
    clock = Clock()
    orders.merge_accounts(settler, old, kept, "", clock())
    follower = Follower(settler, clock)
    race = result("c", "old bo")
    follower.stands(replace(race, recorded=False))
    follower.frame(seen(race))
    rows = ledger.messages.of(race.name)
    assert [row.message.kind for row in rows] == ["chat", "meta", "info"]
    assert chat_body(rows[0]).text.split("): ")[1].split()[:2] == ["1", "Cy"]
    assert info_blocks(rows[2])[0].split("): ")[1].split()[:2] == ["1", "Cy"]
    assert "id-old" not in str(rows[1].message.body)


# Once a week


def without_account(race: RaceResult) -> RaceResult:
    winner, *others = race.entrants
    return replace(race, entrants=(replace(winner, user_id=None, name=NO_NAME), *others))


def watcher(ledger: Ledger, pages: list[RacePage]) -> CategoryWorker:
    """A category watcher on a site with these pages of past races. Ledger work runs at once."""

    class OldSite:
        url = "https://example.org"

        async def past_race_pages(self, slug: str) -> AsyncIterator[tuple[int, RacePage]]:
            assert slug == CATEGORY
            for number, page in enumerate(pages, start=1):
                yield number, page

    clock = Clock()
    settler = Settler(ledger, Plans(LeaderboardPlan("elo-ffa")))
    settler.add_past_races([result("old", "ann bo"), result("older", "cy bo", after=-1)], "import")
    clock.advance(days=LOOK_BACK.days * 3)
    return CategoryWorker(
        CategorySettings(slug=CATEGORY, client_id="id", client_secret=SecretStr("secret")),
        WorkerContext(
            Settings(),
            cast(Site, OldSite()),
            settler,
            at_once,
            clock,
            FailureLog(),
            lambda source, error: None,
        ),
        alive=lambda slug: None,
    )


async def test_every_page_is_searched_for_deleted_accounts(ledger: Ledger) -> None:
    pages = [
        RacePage((seen(without_account(result("old", "ann bo"))),), 2, 2),
        RacePage((seen(without_account(result("older", "cy bo", after=-1))),), 2, 2),
    ]
    await watcher(ledger, pages).all_past_races()
    assert [order.subject for order in ledger.orders.all()] == ["id-ann", "id-cy"]


async def test_weekly_read_does_not_rate_old_races(ledger: Ledger) -> None:
    await watcher(ledger, [RacePage((seen(result("unknown", "ann bo", after=-9)),), 1, 1)]).all_past_races()
    assert ledger.races.get(f"{CATEGORY}/unknown") is None


async def test_a_missed_weekly_look_is_overdue_until_all_pages_were_read(ledger: Ledger) -> None:
    category = watcher(ledger, [])
    clock = category._clock
    assert isinstance(clock, Clock)
    assert not await category.is_full_read_overdue(), "a new ledger has no player to forget"
    clock.advance(days=6)
    assert not await category.is_full_read_overdue()
    clock.advance(days=2)
    assert await category.is_full_read_overdue()
    await category.all_past_races()
    assert not await category.is_full_read_overdue()


async def test_a_worker_that_missed_the_weekly_look_makes_up_for_it_at_the_start(sandbox: Bench) -> None:
    slug, ago = sandbox.site.category.slug, datetime.now(UTC) - timedelta(days=8)
    with Ledger.open(sandbox.database) as ledger:
        ledger.backfills.note_full_read(slug, ago)

    def read_at() -> datetime:
        with sandbox.ledger() as ledger:
            return ledger.backfills.fully_read_at(slug, ago)

    async with sandbox.worker():
        await until(lambda: read_at() > ago)


def test_an_order_of_the_worker_itself_changes_the_revision(ledger: Ledger) -> None:
    """Otherwise exported pages would show a deleted name until the next race."""
    before = ledger.revision()
    settler = Settler(ledger, Plans(LeaderboardPlan("elo-ffa")))
    settler.add_past_races([result("old", "ann bo")], "import")
    between = ledger.revision()
    orders.forget_deleted(settler, [without_account(result("old", "ann bo"))], Clock()())
    assert len({before, between, ledger.revision()}) == 3
