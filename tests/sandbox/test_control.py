"""The control API, which does everything that users do on the site."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from racebot.sandbox import render
from racebot.sandbox.room import Frame
from racebot.sandbox.server import SandboxServer
from racebot.sandbox.session import BotSession
from racebot.sandbox.site import FakeSite

from .conftest import Make, places


class Control:
    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def __call__(self, command: str, **arguments: Any) -> Any:
        answer = await self.client.post(f"/sandbox/control/{command}", json=arguments)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def refused(self, command: str, **arguments: Any) -> tuple[int, str]:
        answer = await self.client.post(f"/sandbox/control/{command}", json=arguments)
        return answer.status_code, answer.json()["error"]


@pytest.fixture
async def control(site: FakeSite) -> AsyncIterator[Control]:
    transport = httpx.ASGITransport(SandboxServer(site))
    async with httpx.AsyncClient(transport=transport, base_url="http://sandbox") as client:
        yield Control(client)


async def test_commands_run_a_whole_race(control: Control, site: FakeSite) -> None:
    race = (await control("open", slug="a-race-1"))["slug"]
    for name in ("Ann", "Bo", "Cy"):
        await control("enter", race=race, user=name)
        await control("ready", race=race, user=name)
    await control("count_down", race=race)
    await control("start", race=race, ago=3600)
    await control("finish", race=race, user="Ann", time="P0DT01H00M03.047053S")
    await control("finish", race=race, user="Bo", time=3700.5)
    assert (await control("finish", race=race, user="Cy"))["status"]["value"] == "finished"
    await control("disqualify", race=race, user="Ann")
    await control("edit_result", race=race, user="Ann", status="done", by="Referee")
    await control("undone", race=race, user="Cy")
    await control("forfeit", race=race, user="Cy")
    await control("edit_result", race=race, user="Bo", time=3500)
    await control("hold", race=race)
    answer = await control("record", race=race)
    assert answer["recorded"]
    assert places(site.room(race)) == {"Ann": 2, "Bo": 1, "Cy": None}


async def test_a_deleted_moderator_is_left_out(control: Control, site: FakeSite) -> None:
    assert (await control("add_user", name="Eve", moderator=True))["can_moderate"]
    about = (await control.client.get("/sandbox/data")).json()
    assert [[each["name"] for each in about[key]] for key in ("owners", "moderators")] == [
        ["Referee"],
        ["Eve"],
    ]
    await control("delete_user", user="Eve")
    assert render.category(site.category, [], unlisted=False)["moderators"] == []


async def test_deletions_and_renames_are_silent(control: Control, site: FakeSite, finished: Make) -> None:
    room = finished()
    shown: list[Frame] = []
    connected = BotSession(site, room, site.issue_token("sandbox", "sandbox-secret"), shown.append)
    before, version = shown[0]["race"], room.version
    shown.clear()
    await control("delete_user", user="Bo")
    await control("rename_goal", goal=site.category.goals[0], name="Season 2")
    assert shown == [], "nothing is broadcast"
    connected.receive('{"action": "getrace"}')
    assert shown[0]["race"] == before, "a connection answers from its own copy"
    served = (await control.client.get(f"/{room.name}/data")).json()
    assert served["version"] == version
    assert [entrant["user"] is None for entrant in served["entrants"]] == [False, True, False]
    assert (served["goal"], site.category.goals) == ({"name": "Season 2", "custom": False}, ["Season 2"])
    await control("say", race=room.slug, user="Ann", text="hello")
    assert [frame["type"] for frame in shown[2:]] == ["chat.message"], "a user's line shows nothing new"
    await control("hold", race=room.slug)
    assert shown[-2]["race"]["entrants"][1]["user"] is None, "the next change does"


async def test_the_commands_are_listed(control: Control) -> None:
    listed = (await control.client.get("/sandbox/control")).json()["commands"]
    assert {"enter race user team", "say race user text", "revoke_tokens"} <= set(listed)


async def test_errors_name_the_problem(control: Control) -> None:
    race = (await control("open"))["slug"]
    assert (await control.refused("nosuch"))[0] == 404
    assert await control.refused("record", race="nosuch-1") == (404, "no race 'nosuch-1'")
    assert await control.refused("enter", race=race, user="Nobody") == (404, "no user 'Nobody'")
    for command, given in (("enter", {}), ("finish", {"time": 3}), ("start", {"color": "red"})):
        status, text = await control.refused(command, race=race, **given)
        assert (status, text.split(": ")[1].split()[:2]) == (400, [command, "race"])
    assert (await control.refused("record", race=race))[0] == 409
    assert (await control.refused("start", race=race, ago="an hour"))[0] == 400
    for line in ("", "x" * 1001):
        assert (await control.refused("say", race=race, user="Ann", text=line))[0] == 409
    for wrong in ({"custom_goal": "SGL 2026"}, {"goal": True}):
        assert (await control.refused("open", **wrong))[0] == 400


async def test_another_sites_page_cannot_send_commands(control: Control) -> None:
    address, plain = "/sandbox/control/open", {"Content-Type": "text/plain"}
    assert (await control.client.post(address, data={"goal": "x"})).status_code == 415
    assert (await control.client.post(address, content="{}", headers=plain)).status_code == 415
    for content in (b"{", b"[1]", b'{"goal": "\xff"}'):
        refused = await control.client.post(
            address, content=content, headers={"Content-Type": "application/json"}
        )
        assert (refused.status_code, refused.json()["error"]) == (400, "the body is not a JSON object")
