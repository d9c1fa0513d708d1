"""Races on Discord: each in one message, whatever Discord answers, and within its limits."""

import asyncio
import json
import logging
import re
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import httpx
import pytest
from builders import Clock, at_once, entrant, existing, result, seen
from pydantic import SecretStr, ValidationError
from room_support import NAME, Follower
from worker_support import Sandbox, spaced, until

from racebot.bot.discord import LONGEST_PAUSE, DiscordSender, Embed, check
from racebot.bot.failures import Backoff, Health
from racebot.bot.status import status
from racebot.bot.worker import Jobs
from racebot.errors import SettingsError
from racebot.ledger.outbox import Post
from racebot.ledger.rows import RATED_LATER
from racebot.ledger.store import Ledger
from racebot.logs import FailureLog
from racebot.races.result import Profile, RaceResult
from racebot.settings.model import Settings
from racebot.settings.sources import load
from racebot.standings import orders
from racebot.standings.counting import rating_rules
from racebot.standings.settle import Settler

FINISHED = result("r", "ann bo", dnf="cy", recorded=False)
RECORDED = replace(FINISHED, recorded=True)
SWAPPED = result("r", "bo ann", dnf="cy", recorded=False)
LIMITED = json.dumps({"message": "You are being rate limited.", "retry_after": 0.01, "global": False})


class Channel:
    """A channel of the sandbox, and the bot whose races are shown there."""

    def __init__(self, sandbox: Sandbox, ledger: Ledger, clock: Clock, **given: Any) -> None:
        self.site, self.faults, self.ledger, self.clock = sandbox.site, sandbox.misbehaviour, ledger, clock
        webhook = SecretStr(f"{sandbox.address}/api/webhooks/1/hush-hush")
        given = {"discord_webhook": webhook, "site": sandbox.address, **given}
        given = {"database": ledger.path, **given}
        self.settler = Settler(ledger, rating_rules(Settings(**given)))
        self.follower = Follower(self.settler, clock, **given)
        self.settings = self.follower.settings
        self.start()

    def start(self) -> None:
        """Start the sender, as a new process does."""
        failures = FailureLog()
        health = Health(self.ledger.path, [], failures, self.clock)
        self.backoff = Backoff(health.is_fatal, failures.recovered)
        self.sender = DiscordSender(self.settings, self.ledger, at_once, self.backoff)

    def record(self, race: RaceResult = RECORDED) -> None:
        self.follower.frame(seen(race))

    def requests(self) -> int:
        return sum(visit.path.startswith("/api/") for visit in self.site.requests)

    async def shown(self) -> list[str]:
        """Send what waits, and return the text of each message."""
        async with asyncio.timeout(60):
            while self.ledger.posts.delayed():
                await self.sender.send()
                await asyncio.sleep(0.01)
        return [spaced(message["embeds"][0]["description"]) for message in self.site.discord.values()]


Make = Callable[..., Channel]


@pytest.fixture
def made(sandbox: Sandbox, ledger: Ledger, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Return a function that opens the channel with these settings."""
    monkeypatch.setattr("racebot.bot.failures.retry_pauses", lambda: repeat(0.01))
    sandbox.site.webhook_rate = (5, 0.01)
    return partial(Channel, sandbox, ledger, clock)


@pytest.fixture
def channel(made: Make) -> Channel:
    return made()


async def test_one_message_follows_a_race_to_its_record(channel: Channel) -> None:
    for result_shown, opening, first in (
        (FINISHED, "Ratings if recorded (Any Orb)", "**1** Ann · 1:00:00"),
        (SWAPPED, "Ratings if recorded (Any Orb)", "**1** Bo · 1:00:00"),
        (replace(SWAPPED, recorded=True), "Ratings by racebot (Any Orb)", "**1** Bo · 1:00:00"),
    ):
        channel.follower.show_final(result_shown)
        channel.follower.deliver()
        (text,) = await channel.shown()
        lines = text.replace("\\", "").splitlines()
        assert (lines[0], lines[1].rpartition(" · ")[0]) == (opening, first)
    assert channel.site.posts == 1
    (message,) = channel.site.discord.values()
    assert message["allowed_mentions"] == {"parse": []}
    assert message["embeds"][0]["url"] == f"{channel.settings.site}/{NAME}"
    assert "\N{NO-BREAK SPACE}" not in message["embeds"][0]["description"], "narrow screens break words"


async def test_withdrawn_race_says_so_and_may_come_back(channel: Channel) -> None:
    channel.follower.announce(FINISHED)
    await channel.shown()
    channel.follower.frame(seen(replace(FINISHED, recordable=False)))
    assert await channel.shown() == [channel.settings.texts.not_counted]
    channel.record()
    assert "Ann" in (await channel.shown())[0]
    assert channel.site.posts == 1


async def test_race_that_was_never_posted_is_not_withdrawn(channel: Channel) -> None:
    channel.follower.announce(FINISHED)
    channel.follower.frame(seen(replace(FINISHED, recordable=False)))
    assert await channel.shown() == []
    assert channel.requests() == 0


@pytest.mark.parametrize(
    "fault", [{"status": 429, "body": LIMITED}, {"status": 429, "retry_after": "0.01"}, {"status": 502}]
)
async def test_refused_requests_are_repeated_after_a_pause(channel: Channel, fault: dict[str, Any]) -> None:
    channel.faults.fail_http(2, path="/api/", **fault)
    channel.record()
    assert len(await channel.shown()) == 1
    assert (channel.requests(), channel.site.posts) == (3, 1)


async def test_pauses_grow_where_discord_names_none(channel: Channel, monkeypatch) -> None:
    pauses = iter((0.01, 0.02, 0.03))
    monkeypatch.setattr("racebot.bot.failures.retry_pauses", lambda: pauses)
    channel.faults.fail_http(3, path="/api/")
    channel.record()
    assert (len(await channel.shown()), list(pauses)) == (1, [])


async def test_race_that_cannot_be_drawn_keeps_no_other_waiting(channel: Channel, monkeypatch) -> None:
    def embeds(ledger: Ledger, settings: Settings, post: Post, rated: object) -> list[Embed]:
        assert post.race != NAME
        return [Embed(title=post.race, url=None, board="Any Orb")]

    monkeypatch.setattr("racebot.bot.discord.race_embeds", embeds)
    for race in RECORDED, result("q", "ann bo"):
        channel.ledger.posts.put(race, ["1"], None)
    await channel.sender.send()
    assert [message["embeds"][0]["title"] for message in channel.site.discord.values()] == ["orb\\/q"]


async def test_channel_keeps_the_messages_of_a_leaderboard_that_moved(channel: Channel) -> None:
    channel.follower.show_final(FINISHED)
    before = await channel.shown()
    elsewhere = {"name": "Any Orb", "goals": ["Any Orb"], "discord": "https://discord.com/api/webhooks/2/x"}
    channel.settings = channel.settings.model_validate(
        {**dict(channel.settings), "leaderboards": [elsewhere]}
    )
    channel.start()
    channel.record(replace(SWAPPED, recorded=True))
    assert await channel.shown() == before


async def test_deleted_webhook_is_not_asked_again(channel: Channel, caplog: pytest.LogCaptureFixture) -> None:
    channel.site.deleted_webhooks.add("1")
    channel.record()
    for _ in range(3):
        await channel.sender.send()
    assert channel.requests() == 1
    ((webhook, count, problem),) = channel.ledger.posts.delayed()
    assert (webhook, count, "deleted" in str(problem)) == ("1", 1, True)
    reports = [status(channel.ledger, each, channel.clock()) for each in (channel.settings, Settings())]
    assert [len(each.discord) for each in reports] == [1, 0]
    assert len([each for each in caplog.records if each.levelno == logging.ERROR]) == 1
    assert "hush-hush" not in caplog.text
    channel.site.deleted_webhooks.clear()
    channel.start()
    assert len(await channel.shown()) == 1


async def test_refused_message_is_given_up_with_its_reason(channel: Channel, caplog) -> None:
    channel.faults.fail_http(1, 400, body='{"code": 50035, "errors": {"embeds": "too long"}}', path="/api/")
    channel.record()
    assert await channel.shown() == []
    assert "too long" in caplog.text
    assert channel.requests() == 1


def test_forgotten_name_is_not_stored_with_the_message_of_an_unrecorded_race(channel: Channel) -> None:
    def stored() -> str:
        return str(channel.ledger.connection.value("SELECT result FROM discord"))

    channel.settler.add_past_races([result("early", "ann bo", after=-9)], "import")
    channel.follower.show_final(FINISHED)
    assert "Ann" in stored()
    orders.forget(channel.settler, channel.ledger.people.subject("id-ann"), "", channel.clock())
    assert ("Ann" in stored(), "id-ann" in stored()) == (False, True)
    channel.follower.show_final(SWAPPED)
    assert ("Ann" in stored(), "id-ann" in stored()) == (False, True)


async def test_forgotten_player_disappears_from_old_messages(channel: Channel) -> None:
    channel.record()
    assert "Ann" in (await channel.shown())[0]
    player = channel.ledger.people.subject("id-ann")
    orders.forget(channel.settler, player, "", channel.clock())
    (text,) = await channel.shown()
    assert "Ann" not in text
    assert channel.site.posts == 1


async def test_large_race_of_difficult_names_fits(channel: Channel) -> None:
    """The sandbox refuses what exceeds Discord's limits."""
    for number in range(4):
        entrants = [entrant(f"p{n:03}", time=10**9 * (9 - number) + n) for n in range(300)]
        evil = [replace(each, name="@everyone *_`|<@1>[x](http://y)~" * 3) for each in entrants[:12]]
        entrants = [*evil, *entrants[12:]]
        channel.record(result(f"r{number}", after=number, entrants=tuple(entrants)))
    text = (await channel.shown())[-1]
    listed = len(re.findall(r"^\*\*\d+\*\* ", text, re.MULTILINE))
    assert listed == 10
    assert f"and {300 - listed} more" in text
    assert not [mark for mark in ("@everyone", "](http://y", " <@", "_`") if mark in text]


async def test_upsets_and_avatar_are_shown(channel: Channel) -> None:
    profile = Profile("/media/ann.png")
    for number in range(12):
        channel.record(result(f"r{number}", "bo cy ann", after=number))
    faster = tuple(
        replace(each, finish_time=(each.finish_time or 0) - 10**9, profile=profile)
        for each in result("r", "ann bo cy").entrants
    )
    channel.record(result("last", after=20, entrants=faster))
    text = (await channel.shown())[-1].replace("\\", "")
    assert "Upset: Ann won" in text
    embed = [*channel.site.discord.values()][-1]["embeds"][0]
    assert embed["thumbnail"]["url"] == f"{channel.settings.site}/media/ann.png"


async def test_scores_stand_in_place_of_points_where_they_order_the_leaderboard(made: Make) -> None:
    own = {"name": "Any Orb", "goals": ["Any Orb"], "scoring": "sgl-2025"}
    channel = made(leaderboards=[own])
    channel.record(result("r", "ann bo cy", dnf="di"))
    channel.record(result("last", "bo ann cy", after=1))
    first, last = await channel.shown()
    assert first.replace("\\", "").splitlines() == [  # 100 · (2 - 60/61), and so on; totals are thirds
        "Scores (Any Orb, race 1)",
        "**1** Ann · 1:00:00 · 101.6 (1st with 33.9)",
        "**2** Bo · 1:01:00 · 100.0 (2nd with 33.3)",
        "**3** Cy · 1:02:00 · 98.4 (3rd with 32.8)",
        "**4** Di · 0.0 (4th with 0.0)",
    ]
    assert "**2** Ann · 1:01:00 · 100.0 (1st with 67.2)" in last.replace("\\", "")


async def test_win_of_a_newcomer_is_no_upset(channel: Channel) -> None:
    for number in range(12):
        channel.record(result(f"r{number}", "bo cy", after=number))
    channel.record(result("last", "ann cy bo", after=20))
    assert "Upset" not in (await channel.shown())[-1]


@pytest.mark.parametrize("stalls", [0.9, 60.0])
async def test_stop_waits_a_second_for_the_id_of_a_posted_message(channel: Channel, stalls: float) -> None:
    jobs = Jobs(channel.backoff.failed, channel.backoff.works)
    jobs.every(0.01, channel.sender.send, "Discord")
    channel.record()
    channel.faults.stall(stalls)
    jobs.start()
    await until(lambda: channel.site.requests)
    began = time.monotonic()
    await jobs.stop()
    assert time.monotonic() - began < 1.9
    assert bool(channel.ledger.posts.delayed()) is (stalls > 1)
    channel.faults.clear()
    channel.start()
    assert len(await channel.shown()) == channel.site.posts == 1


async def test_order_edits_what_names_its_player_after_new_races_and_newest_first(channel: Channel) -> None:
    for number, names in enumerate(("ann bo", "bo cy", "ann cy")):
        channel.record(result(f"r{number}", names, after=number))
    await channel.shown()
    orders.hide(channel.settler, existing(channel.ledger.players.get("id-ann")), "", channel.clock())
    channel.ledger.posts.put(replace(RECORDED, name="orb/new"), ["1"], None)
    assert channel.ledger.posts.waiting("1") == ["orb/new", "orb/r2", "orb/r0"]


async def test_limit_of_discord_as_a_whole_holds_for_every_webhook(made: Make, sandbox: Sandbox) -> None:
    own = {"name": "B", "goals": ["B"], "discord": f"{sandbox.address}/api/webhooks/2/x"}
    channel = made(leaderboards=[own])
    everywhere = json.dumps({"message": "slow down", "retry_after": 1e9, "global": True})
    channel.faults.fail_http(1, 429, body=everywhere, path="/api/")
    for race in RECORDED, result("q", "ann bo", goal="B"):
        channel.record(race)
    assert {webhook for webhook, _, _ in channel.ledger.posts.delayed()} == {"1", "2"}
    for _ in range(3):
        await channel.sender.send()
    assert channel.requests() == 1
    channel.backoff.clock = lambda: time.monotonic() + LONGEST_PAUSE
    assert len(await channel.shown()) == 2


async def test_backfilled_races_are_not_posted(channel: Channel) -> None:
    channel.clock.advance(days=40)
    channel.follower.read(seen(RECORDED))
    assert channel.ledger.races.has(NAME)
    assert await channel.shown() == []
    assert channel.requests() == 0


async def test_race_that_is_being_rated_again_waits(channel: Channel) -> None:
    channel.record()
    await channel.shown()
    channel.ledger.connection.write("UPDATE rated SET note = ?", RATED_LATER)
    channel.ledger.posts.refresh(NAME)
    await channel.sender.send()
    assert channel.requests() == 1
    assert len(channel.ledger.posts.waiting("1")) == 1


async def test_new_places_stay_after_the_record(channel: Channel) -> None:
    for number, order in enumerate(("bo ann", "ann bo") * 2 + ("bo ann",)):
        channel.record(result(f"r{number}", order, after=number))
    last = [result("last", "ann bo", after=20, recorded=recorded) for recorded in (False, True)]
    for race in last:
        channel.follower.show_final(race)
    assert "▲ 1st" in (await channel.shown())[-1]


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"content": "x" * 2001}, "content"),
        ({"embeds": [{"title": "x"}] * 11}, "embeds"),
        ({"embeds": [{"title": "x"}, {"title": "x" * 257}]}, "embeds 1 title"),
        ({"embeds": [{"description": "x" * 4096}, {"description": "x" * 1905}]}, "embeds"),
    ],
)
async def test_sandbox_refuses_what_discord_refuses(channel: Channel, body: object, where: str) -> None:
    """The limits: https://docs.discord.com/developers/resources/message#embed-object-embed-limits"""
    webhook = existing(channel.settings.discord_webhook)
    async with httpx.AsyncClient() as client:
        answer = await client.post(webhook.get_secret_value(), json=body, params={"wait": "true"})
    found = answer.json()
    assert (answer.status_code, found["code"], list(found["errors"])) == (
        400,
        50035,
        [where.replace(" ", ".")],
    )


@pytest.mark.parametrize(
    "address",
    ["http://discord.com/api/webhooks/1/x", "https://evil.org/api/webhooks/1/x", "https://discord.com/1/x"],
)
def test_only_addresses_of_webhooks_are_accepted(address: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        Settings(discord_webhook=SecretStr(address))
    assert address not in str(refusal.value)


def test_a_leaderboard_may_have_its_own_webhook(channel: Channel) -> None:
    own = {"name": "Any Orb", "goals": ["Any Orb"], "discord": "https://discord.com/api/webhooks/2/x"}
    settings = Settings(discord_webhook=channel.settings.discord_webhook, leaderboards=[own])
    (board,) = [each.leaderboard for each in channel.settler.preview(RECORDED)]
    assert settings.webhook_of(board) == "2"
    assert settings.webhook_of(replace(board, name="Other")) == "1"
    assert set(settings.webhooks()) == {"1", "2"}


def test_address_of_a_table_may_be_in_a_file(tmp_path: Path) -> None:
    table = '[[leaderboards]]\nname = "A"\ngoals = ["A"]\ndiscord = "file:hook"\n'
    (tmp_path / "racebot.toml").write_text(table)
    with pytest.raises(SettingsError, match=r"discord='file:hook': No such file"):
        load(tmp_path)
    (tmp_path / "hook").write_text("https://discord.com/api/webhooks/2/x\n")
    assert list(load(tmp_path).webhooks()) == ["2"]


async def test_doctor_tries_the_webhook_and_names_what_is_wrong(sandbox: Sandbox) -> None:
    address = f"{sandbox.address}/api/webhooks/1/hush-hush"
    sandbox.extra["RACEBOT_DISCORD_WEBHOOK"] = address
    assert await check(SecretStr(address)) is None
    sandbox.site.deleted_webhooks.add("1")
    sandbox.misbehaviour.fail_http(1, 500, path="/api/")
    failing, deleted = [await check(SecretStr(address)) for _ in range(2)]
    assert ("deleted" in str(failing), "deleted" in str(deleted)) == (False, True)
    done = await sandbox.racebot("doctor")
    assert done.returncode == 2
    assert "deleted" in done.stdout
    assert "hush-hush" not in done.stdout + done.stderr
