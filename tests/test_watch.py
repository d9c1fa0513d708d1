"""A room's watch by itself: what it asks the site, and how long it waits between two tries."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from racebot import watch
from racebot.announcement import InfoPolicy
from racebot.ledger.store import Ledger
from racebot.lifecycle import Lifecycle
from racebot.racetime.api import Credentials, Site, TokenSource
from racebot.settle import LeaderboardPlan, Plans, Settler
from racebot.texts import DEFAULT_TEXTS

NOBODY_LISTENS = "http://127.0.0.1:1"


async def test_rooms_that_are_lost_together_ask_for_themselves_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests go out one at a time: a thousand questions would keep everything else waiting."""
    monkeypatch.setattr(watch, "_delays", lambda: itertools.repeat(0.001))
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/o/token":
            return httpx.Response(200, json={"access_token": "x", "expires_in": 3600})
        asked.append(request.url.path)
        return httpx.Response(404)

    async def call(work: Callable[..., Any], *arguments: Any) -> Any:
        return work(*arguments)

    def now() -> datetime:
        return datetime.now(UTC)

    with Ledger.open(tmp_path / "ledger.db") as ledger:
        async with Site(NOBODY_LISTENS, interval=0, transport=httpx.MockTransport(answer)) as site:
            lifecycle = Lifecycle(Settler(ledger, Plans(LeaderboardPlan("elo-ffa"))), now)
            room = watch.RoomWatch(
                "orb/r",
                site=site,
                tokens=TokenSource(site, Credentials("id", SecretStr("secret"))),
                lifecycle=lifecycle,
                call=call,
                clock=now,
                quiet=1.0,
                info=InfoPolicy.NEVER,
                texts=DEFAULT_TEXTS,
                conversation=None,
            )
            async with site.gate.question:
                running = asyncio.create_task(room.run())
                await asyncio.sleep(0.3)
                assert asked == []
                assert not running.done()
            async with asyncio.timeout(10):
                await running
    assert asked == ["/orb/r/data"]


def test_pauses_grow_to_five_minutes_and_are_never_the_same_for_all() -> None:
    rooms = [list(itertools.islice(watch._delays(), 20)) for _ in range(50)]
    for tries in zip(*rooms, strict=True):
        assert len(set(tries)) == len(rooms)
    assert all(pauses[0] <= 1.5 and 150 <= pauses[-1] <= 450 for pauses in rooms)
