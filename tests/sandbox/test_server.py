"""The sandbox over real connections: paths, headers, refusals, and everything that can go wrong."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import websockets
from spoiler import Spoiler
from worker_support import PATIENCE, requested, served as serve_with, until

from racebot.sandbox.server import serve
from racebot.sandbox.site import CLIENT_ID, CLIENT_SECRET, FakeSite

from .conftest import Make

CREDENTIALS = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "grant_type": "client_credentials"}


@dataclass
class Served:
    """A served site, and its client."""

    site: FakeSite
    faults: Spoiler
    client: httpx.AsyncClient
    address: str

    async def token(self) -> str:
        answer = await self.client.post("/o/token", data=CREDENTIALS)
        return str(answer.json()["access_token"])

    def join(self, race: str, token: str | None = None) -> websockets.connect:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        url = self.address.replace("http", "ws", 1) + f"/ws/o/bot/{race}"
        return websockets.connect(url, additional_headers=headers, open_timeout=PATIENCE)


@pytest.fixture
async def served(site: FakeSite) -> AsyncIterator[Served]:
    faults = Spoiler()
    async with (
        serve_with(site, faults) as address,
        httpx.AsyncClient(base_url=address, timeout=PATIENCE) as client,
    ):
        yield Served(site, faults, client, address)


async def receive(ws: websockets.ClientConnection, count: int = 1) -> list[dict[str, Any]]:
    return [json.loads(await asyncio.wait_for(ws.recv(), PATIENCE)) for _ in range(count)]


# ── HTTP ──


async def test_a_token_is_issued_for_good_credentials_only(served: Served) -> None:
    good = await served.client.post("/o/token", data=CREDENTIALS)
    assert good.status_code == 200
    assert good.headers["cache-control"] == "no-store"
    token = good.json().pop("access_token")
    assert good.json() == {
        "access_token": token,
        "expires_in": 36_000,
        "token_type": "Bearer",
        "scope": "read chat_message race_action create_race",
    }
    for wrong in ({"client_secret": "x"}, {"client_id": "nobody"}):
        bad = await served.client.post("/o/token", data=CREDENTIALS | wrong)
        assert bad.status_code == 401
        assert bad.json() == {"error": "invalid_client"}
        assert bad.headers["www-authenticate"] == 'Bearer error="invalid_client"'


async def test_only_the_categorys_bot_sees_unlisted_rooms(served: Served) -> None:
    room = served.site.open_race(unlisted=True)
    public = await served.client.get("/sandbox/data")
    assert public.headers["cache-control"] == "public, max-age=60, must-revalidate"
    assert public.headers["x-date-exact"] == "2026-03-01T12:00:00.250000+00:00"
    assert public.json()["current_races"] == []
    bearer = {"Authorization": f"Bearer {await served.token()}"}
    private = await served.client.get("/o/sandbox/data", headers=bearer)
    assert [race["name"] for race in private.json()["current_races"]] == [room.name]
    for headers in ({}, {"Authorization": "Bearer nonsense"}):
        refused = await served.client.get("/o/sandbox/data", headers=headers)
        assert (refused.status_code, refused.text) == (403, "")


async def test_a_race_is_cached_for_five_seconds_and_a_category_for_a_minute(
    site: FakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("racebot.sandbox.server.monotonic", lambda: now)
    async with serve(site) as address, httpx.AsyncClient(base_url=address, timeout=PATIENCE) as client:
        room = site.open_race()

        async def stale() -> tuple[bool, bool]:
            race = (await client.get(f"/{room.name}/data")).json()
            category = (await client.get("/sandbox/data")).json()
            return race["version"] == 1, len(category["current_races"]) == 1

        assert await stale() == (True, True)
        answer = await client.get(f"/{room.name}/data")
        assert answer.headers["cache-control"] == "public, max-age=5, must-revalidate"
        room.enter("Ann")
        site.open_race()
        now += 4.9
        assert await stale() == (True, True)
        now += 0.1
        assert await stale() == (False, True)
        now += 55
        assert await stale() == (False, False)


async def test_past_races_come_in_pages(served: Served, finished: Make) -> None:
    rooms = [finished() for _ in range(101)]
    names = [room.name for room in reversed(rooms)]

    async def get(query: str) -> dict[str, Any]:
        answer = await served.client.get(f"/sandbox/races/data?{query}")
        assert (answer.status_code, "cache-control" in answer.headers) == (200, False)
        return dict(answer.json())

    assert [race["name"] for race in (await get(""))["races"]] == names[:10]
    page = await get("show_entrants=Yes&per_page=50&page=3")
    assert [race["name"] for race in page["races"]] == names[100:]
    assert (page["count"], page["num_pages"]) == (101, 3)
    assert len(page["races"][0]["entrants"]) == 3
    assert len((await get("per_page=500"))["races"]) == 100
    assert (await get("page=99"))["races"] == []
    assert requested(served.site)["/sandbox/races/data"] == 4
    for wrong in ("page=x", "page=0", "per_page=0"):
        bad = await served.client.get(f"/sandbox/races/data?{wrong}")
        assert (bad.status_code, bad.text) == (400, "")


async def test_a_missing_page_is_a_404_in_html(served: Served) -> None:
    for path in ("nosuch/data", "nosuch/races/data", "sandbox/x-1/data", "nosuch", "sandbox/x-1", "a/b/c/d"):
        answer = await served.client.get(f"/{path}")
        assert answer.status_code == 404, path
        assert answer.headers["content-type"] == "text/html; charset=utf-8"


# ── misbehaviour ──


async def test_a_stall_holds_up_answers_and_frames_until_it_is_over(served: Served) -> None:
    room = served.site.open_race()
    token = await served.token()
    async with served.join(room.slug, token) as ws:
        await receive(ws, 2)
        served.faults.stall(60)
        await ws.send(json.dumps({"action": "message", "data": {"message": "hello", "guid": "g-1"}}))
        room.say("Ann", "hello?")
        asking = asyncio.create_task(served.client.get("/sandbox/data"))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(ws.recv(), 0.3)
        assert not asking.done()
        served.faults.clear()
        assert (await asking).status_code == 200
        assert [frame["message"]["message"] for frame in await receive(ws, 2)] == ["hello?", "hello"]


@pytest.mark.parametrize(("code", "close_code"), [(None, 1006), (1012, 1012)])
async def test_only_the_sockets_of_one_race_are_dropped(
    served: Served, code: int | None, close_code: int
) -> None:
    rooms = [served.site.open_race() for _ in range(2)]
    async with served.join(rooms[0].slug) as one, served.join(rooms[1].slug) as two:
        for ws in (one, two):
            await receive(ws, 2)
        assert served.faults.open_sockets == 2
        assert served.faults.drop_sockets(rooms[0].slug, code=code) == 1
        with pytest.raises(websockets.ConnectionClosed):
            await receive(one)
        assert one.close_code == close_code
        rooms[1].say("Ann", "still here")
        await receive(two)
    await until(lambda: not served.faults.open_sockets)


# ── serving ──


async def test_run_serves_until_a_signal() -> None:
    words = ("-u", "-m", "racebot", "sandbox", "--port", "0")
    process = await asyncio.create_subprocess_exec(
        sys.executable, *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    ready = (await asyncio.wait_for(process.stdout.readline(), PATIENCE)).decode()
    address = ready.split()[0]
    async with httpx.AsyncClient(timeout=PATIENCE) as client:
        assert (await client.get(f"{address}/races/data")).json()["count"] == 0
    process.send_signal(signal.SIGTERM)
    _, complaints = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert (process.returncode, complaints) == (0, b"")
