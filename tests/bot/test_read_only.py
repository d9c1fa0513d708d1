"""A worker without credentials: it rates and obeys, and sends nothing."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from builders import settler_of
from starlette.types import ASGIApp, Receive, Scope, Send
from worker_support import Sandbox, open_sandbox, said, until

from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.sandbox import server
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.server import SandboxServer
from racebot.sandbox.site import FakeSite
from racebot.standings.events import EventSteps
from racebot.standings.verify import verify

LEAGUE = """
[[leaderboards]]
name = "League"
custom_goals = ["SGL*"]
opened_by_bot = ["Cup bot"]
counts = "finished"
grace = "1 h"
"""
READS = {"getrace", "gethistory", "ping"}


def league_race(sandbox: Sandbox, players: int = 3, bot: str = "Cup bot", goal: str = "SGL 26") -> FakeRoom:
    """Race in a room with a custom goal that another bot opened."""
    site = sandbox.site
    room = site.open_race(goal, opened_by_bot=bot)
    for number in range(players):
        name = f"League {number}"
        room.enter(next((u for u in site.users.values() if u.name == name), None) or site.add_user(name))
    room.start(ago=timedelta(hours=1))
    for number, entrant in enumerate(list(room.entrants)):
        room.finish(entrant.user, timedelta(minutes=50 + number))
    return room


def races(sandbox: Sandbox) -> dict[str, list[str]]:
    if not sandbox.database.exists():
        return {}
    with sandbox.ledger() as ledger:
        boards = ledger.leaderboards.all()
        return {board.name: list(ledger.ratings.races(board)) for board in boards}


def winner(sandbox: Sandbox, room: FakeRoom) -> str | None:
    with sandbox.ledger() as ledger:
        (board,) = ledger.leaderboards.all()
        row = ledger.ratings.get(board, room.name)
        return next((change.player for change in row.changes if change.place == 1), None) if row else None


def edit_stands(sandbox: Sandbox, room: FakeRoom) -> bool:
    """Return whether the bot has seen an edit of a race that counted, and waits."""
    with sandbox.ledger() as ledger:
        row, stored = ledger.cases.get(room.name), ledger.races.state(room.name)
    return row is not None and stored is not None and row.standing != stored[0]


def read_only(sandbox: Sandbox, toml: str = LEAGUE) -> Sandbox:
    config = sandbox.database.with_name("league.toml")
    config.write_text(toml)
    config.chmod(0o600)
    names = ("CLIENT_ID", "CLIENT_SECRET")
    extra = {f"RACEBOT_{name}": "" for name in names} | {"RACEBOT_CONFIG": str(config)}
    return replace(sandbox, extra=sandbox.extra | extra)


async def test_a_league_in_a_category_of_others(sandbox: Sandbox) -> None:
    site = sandbox.site
    reader = read_only(sandbox)
    async with reader.worker() as worker:
        counted, skipped, other = (league_race(reader, bot=b) for b in ("Cup bot", "Cup bot", "Other bot"))
        counted.say(site.moderator, "!ratings count")
        await until(lambda: races(reader).get("League") == [counted.name])
        counted.say(counted.entrants[2].user, "!ratings hide me")
        await until(lambda: len(orders(reader)) == 2)
        first = counted.entrants[1].user
        counted.edit_result(first, time=timedelta(minutes=40))
        skipped.say(site.moderator, "!ratings skip")
        await until(lambda: len(orders(reader)) == 3)
        with reader.ledger() as ledger:
            steps = EventSteps(settler_of(ledger, "elo-ffa"), site.clock())
            (league,) = ledger.leaderboards.all()
            until_then = site.clock() + timedelta(days=1)
            event = steps.create("Week 1", league, until_then)
        league_race(reader).say(site.moderator, "!ratings event Week 1")
        await until(lambda: len(orders(reader)) == 5)

        await until(lambda: edit_stands(reader, counted))
        site.skew += timedelta(hours=1, seconds=1)
        await until(lambda: len(races(reader)["League"]) == 2)
        await until(lambda: winner(reader, counted) == first.id)
        assert winner(reader, skipped) is None
        assert await worker.terminate() == 0
    assert other.name not in races(reader)["League"]
    assert [(kind, room) for kind, room in orders(reader)] == [
        ("count", counted.name),
        ("hide", counted.entrants[2].user.id),
        ("skip", skipped.name),
        ("event create", event.name),
        ("event add", event.name),
    ]
    with reader.ledger() as ledger:
        assert [p for b in ledger.leaderboards.all() for p in verify(ledger, b)] == []
        assert [row for room in site.rooms.values() for row in ledger.messages.of(room.name)] == []
    assert [room.name for room in site.rooms.values() if said(room) or room.refused or room.info_bot] == []
    assert {visit.method for visit in site.requests} == {"GET"}
    assert set(site.actions) <= READS
    assert not [visit.path for visit in site.requests if visit.path.startswith(("/o/", "/ws/o/"))]


async def test_the_shell_shows_rooms_and_lets_them_count_or_not(sandbox: Sandbox) -> None:
    reader = read_only(sandbox)
    ours, other = league_race(reader), league_race(reader, bot="Other bot")
    Ledger.open(reader.database).close()
    shown = (await reader.racebot("rooms", "league")).stdout
    assert (f"yes  {ours.name}" in shown, f"no   {other.name}" in shown) == (True, True)
    for order, rates in (("count", True), ("skip", False)):
        assert (await reader.racebot(order, ours.name)).returncode == 0
        assert bool(winner(reader, ours)) is rates
    assert (await reader.racebot("count", other.name)).returncode == 2, "it counts nowhere"


async def test_an_unlisted_room_is_found_by_its_name(sandbox: Sandbox) -> None:
    room = sandbox.site.open_race(unlisted=True)
    reader = read_only(
        sandbox,
        f'''
[[leaderboards]]
name = "League"
rooms = ["{sandbox.address}/{room.name}"]
counts = "finished"
grace = "1 s"
''',
    )
    async with reader.worker():
        for name in ("Ann", "Bo"):
            room.enter(sandbox.site.add_user(name))
        room.start(ago=timedelta(hours=1))
        for entrant in list(room.entrants):
            room.finish(entrant.user)
        await until(lambda: races(reader) == {"League": [room.name]})


async def test_credentials_that_are_added_later_switch_chat_on(sandbox: Sandbox) -> None:
    reader = read_only(sandbox, LEAGUE.replace("1 h", "1 s"))
    async with reader.worker() as worker:
        room = league_race(reader)
        await until(lambda: races(reader).get("League") == [room.name])
        assert await worker.terminate() == 0
    before = board(reader)
    owner = replace(reader, extra={"RACEBOT_CONFIG": reader.extra["RACEBOT_CONFIG"]})
    async with owner.worker():
        later = league_race(owner)
        await until(lambda: bool(later.info_bot) and bool(later.bot_meta))
        assert said(room) == []
    assert board(owner) == before, "no rebuild"


async def test_one_bot_speaks_in_its_own_category_and_is_silent_in_another(tmp_path, monkeypatch) -> None:
    elsewhere = FakeSite(category="elsewhere")

    def app(site: FakeSite, **options: Any) -> ASGIApp:
        """Serve both categories at one address."""
        own, other = (SandboxServer(each, **options) for each in (site, elsewhere))

        async def chosen(scope: Scope, receive: Receive, send: Send) -> None:
            is_other = "/elsewhere/" in scope["path"] or scope["path"].rpartition("/")[2] in elsewhere.rooms
            await (other if is_other else own)(scope, receive, send)

        return chosen

    monkeypatch.setattr(server, "SandboxServer", app)
    async with open_sandbox(tmp_path) as sandbox:
        bot = sandbox.site.bot
        own = f'slug = "sandbox"\nclient_id = "{bot.client_id}"\nclient_secret = "{bot.client_secret}"'
        tables = f'[[categories]]\n{own}\n[[categories]]\nslug = "elsewhere"\n'
        mixed = read_only(sandbox, tables + LEAGUE.replace("1 h", "1 s"))
        mixed.extra["RACEBOT_CATEGORY"] = ""
        async with mixed.worker() as worker:
            spoken, silent = league_race(mixed), league_race(replace(mixed, site=elsewhere))
            await until(lambda: spoken.info_bot and spoken.bot_meta and len(rooms_rated(mixed)) == 2)
            assert await worker.terminate() == 0
        assert rooms_rated(mixed) == {spoken.name, silent.name}
        assert "category elsewhere is only read" in (await mixed.racebot("status")).stdout
    assert not (said(silent) or silent.info_bot or silent.refused or elsewhere.issued_tokens)
    assert set(elsewhere.actions) <= READS
    assert {visit.method for visit in elsewhere.requests} == {"GET"}
    assert not [visit.path for visit in elsewhere.requests if visit.path.startswith(("/o/", "/ws/o/"))]


def rooms_rated(sandbox: Sandbox) -> set[str]:
    with sandbox.ledger() as ledger:
        return {race for board in ledger.leaderboards.all() for race in ledger.ratings.races(board)}


def orders(sandbox: Sandbox) -> list[tuple[str, str]]:
    with sandbox.ledger() as ledger:
        return [(order.kind.value, order.subject) for order in ledger.orders.all()]


def board(sandbox: Sandbox) -> Leaderboard:
    with sandbox.ledger() as ledger:
        (only,) = ledger.leaderboards.all()
        return only
