"""Accounts that are deleted on the site, and operators' orders, while the worker runs."""

from dataclasses import replace

from builders import Clock, chat_body, info_blocks, result, seen, settler_of
from room_support import Follower
from worker_support import Sandbox, finish, said, until

from racebot.ledger.rows import Standing
from racebot.ledger.store import Ledger
from racebot.races.result import NO_NAME, RaceResult
from racebot.sandbox.room import FakeRoom
from racebot.standings import orders


def standings(sandbox: Sandbox) -> dict[str, Standing]:
    with sandbox.ledger() as ledger:
        (board,) = ledger.leaderboards.all()
        return {standing.player: standing for standing in ledger.standings.all(board)}


async def recorded(sandbox: Sandbox) -> FakeRoom:
    """A race of three, stored in the ledger."""
    room = sandbox.open_race(3)
    finish(room, 60, 61, 62)
    await until(lambda: len(said(room)) == 1)
    room.record()
    await until(lambda: room.bot_meta)
    return room


async def test_a_running_worker_obeys_orders_at_once(sandbox: Sandbox) -> None:
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
    settler = settler_of(ledger, "elo-ffa")
    settler.add_past_races([result("a", "old bo"), result("b", "cy bo", after=1)], "import")
    old, kept = ledger.people.subject("id-old"), ledger.people.subject("id-cy")
    clock = Clock()
    orders.merge_accounts(settler, old, kept, "", clock())
    follower = Follower(settler, clock)
    race = result("c", "old bo")
    follower.show_final(replace(race, recorded=False))
    follower.frame(seen(race))
    rows = ledger.messages.of(race.name)
    assert [row.message.kind for row in rows] == ["chat", "meta", "info"]
    assert chat_body(rows[0]).text.split("): ")[1].split()[:2] == ["1", "Cy"]
    assert info_blocks(rows[2])[0].split("): ")[1].split()[:2] == ["1", "Cy"]
    assert "id-old" not in str(rows[1].message.body)


def without_account(race: RaceResult) -> RaceResult:
    winner, *others = race.entrants
    return replace(race, entrants=(replace(winner, user_id=None, name=NO_NAME), *others))


def test_an_order_of_the_worker_itself_changes_the_revision(ledger: Ledger) -> None:
    """Otherwise exported pages would show a deleted name until the next race."""
    before = ledger.revision()
    settler = settler_of(ledger, "elo-ffa")
    settler.add_past_races([result("old", "ann bo")], "import")
    between = ledger.revision()
    orders.forget_deleted(settler, [without_account(result("old", "ann bo"))], Clock()())
    assert len({before, between, ledger.revision()}) == 3
