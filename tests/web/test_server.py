from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from builders import entrant, result

from racebot.ledger.store import Ledger
from racebot.standings.plan import Plans
from racebot.standings.settle import Settler
from racebot.web.pages import Pages
from racebot.web.server import application
from racebot.web.view import Publication

from .conftest import RACES, SIMPLE

BOARD = "/leaderboards/orb/any-orb.html"


Get = Callable[..., httpx.Response]


@pytest.fixture
def ask(ledger: Ledger) -> Iterator[Get]:
    """Asks the pages of the ledger, whatever is in it."""
    app = application(ledger.path, Publication())

    async def answer(path: str, facts: dict[str, Any]) -> httpx.Response:
        transport = httpx.ASGITransport(app, facts.pop("raise_app_exceptions", True))
        async with httpx.AsyncClient(transport=transport, base_url="http://pages") as client:
            return await client.request(facts.pop("method", "GET"), path, **facts)

    async def close() -> None:
        async with app.router.lifespan_context(app):
            pass

    yield lambda path, **facts: asyncio.run(answer(path, facts))
    asyncio.run(close())


@pytest.fixture
def get(ledger: Ledger, ask: Get) -> Get:
    """Asks the pages of a ledger with a few races."""
    Settler(ledger, Plans(SIMPLE)).merge(RACES, "import")
    return ask


def test_pages_allow_nothing_from_elsewhere(get: Get) -> None:
    for path in ("/", BOARD, "/nothing"):
        policy = get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy and "http" not in policy


def test_what_is_not_there_is_a_page_that_says_so(get: Get) -> None:
    answer = get("/players/../nobody/x.html")
    assert answer.status_code == 404
    assert "no such page" in answer.text


@pytest.mark.parametrize(
    "path", ["/leaderboards/orb/any-orb/page-2.html", "/leaderboards/orb/any-orb/page-0.html"]
)
def test_pages_past_the_last_are_not_there(get: Get, path: str) -> None:
    assert get(path).status_code == 404


def test_a_page_that_is_known_is_not_sent_again(get: Get) -> None:
    first = get(BOARD)
    again = get(BOARD, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_page_is_known_by_its_tag_however_it_is_sent_back(get: Get) -> None:
    tag = get(BOARD).headers["etag"]
    for sent, status in (
        (tag.removeprefix("W/"), 304),  # as a proxy in between may have made it
        (f'"other", {tag}', 304),
        ("*", 304),
        ('"other"', 200),
        (tag[:-4] + '"', 200),
    ):
        assert get(BOARD, headers={"If-None-Match": sent}).status_code == status, sent


def test_a_race_shows_as_soon_as_it_is_settled(get: Get, ledger: Ledger) -> None:
    first = get(BOARD)
    assert "Gus" not in first.text
    Settler(ledger, Plans(SIMPLE)).merge([result("d", "gus hal", after=250)], "import")
    second = get(BOARD, headers={"If-None-Match": first.headers["etag"]})
    assert second.status_code == 200
    assert "Gus" in second.text


def test_another_database_in_the_same_place_is_read(get: Get, ledger: Ledger, tmp_path: Path) -> None:
    assert "Ann" in get(BOARD).text
    other = tmp_path / "other.db"
    with Ledger.open(other) as restored:
        Settler(restored, Plans(SIMPLE)).merge([result("z", "zoe yan")], "import")
        restored.db.execute("PRAGMA journal_mode = DELETE")
    ledger.close()
    for left in ("-wal", "-shm"):
        ledger.path.with_name(ledger.path.name + left).unlink(missing_ok=True)
    other.replace(ledger.path)
    assert "Zoe" in get(BOARD).text


def test_a_database_that_cannot_be_read_is_told_without_its_path(get: Get, ledger: Ledger) -> None:
    ledger.path.rename(ledger.path.with_name("moved.db"))
    answer = get("/")
    assert answer.status_code == 503
    assert str(ledger.path) not in answer.text


def names(text: str) -> list[str]:
    body = text.split("<tbody>")[1]
    return [part.split("</bdi>")[0] for part in body.split("<bdi>")[1:]]


def test_search_and_order_work_without_scripts(get: Get) -> None:
    assert names(get(BOARD).text) == ["Cy", "Ann", "Di", "Bo", "Ed"]
    assert names(get(BOARD, params={"q": " AN"}).text) == ["Ann"]
    assert names(get(BOARD, params={"sort": "player", "order": "down"}).text)[0] == "Ed"
    assert names(get(BOARD, params={"sort": "races"}).text)[:2] == ["Ann", "Bo"]
    assert names(get(BOARD, params={"sort": "nonsense", "page": "x"}).text)[0] == "Cy"
    assert get(BOARD, params={"q": "a", "page": "9"}).status_code == 404


NASTY = [
    "<script>alert(1)</script>",
    "\u202egnp.exe",
    "W" * 300,
    '"><img src=x onerror=alert(1)>',
    "{{ 7*7 }}",
    "\u200b",
]


def test_names_are_data(ledger: Ledger, ask: Get) -> None:
    field = [entrant(f"n{i}", time=i) for i in range(len(NASTY))]
    named = tuple(
        type(e)(e.user_id, name, e.status, e.finish_time) for e, name in zip(field, NASTY, strict=True)
    )
    Settler(ledger, Plans(SIMPLE)).merge([result("a", entrants=named)], "import")
    for path in ("/", BOARD, f"{BOARD}?q=%3Cscript%3E%22"):
        text = ask(path).text
        assert "<script>alert" not in text and "<img" not in text
        assert "\u202e" not in text and "\u200b" not in text
        assert "W" * 61 not in text
    text = ask(BOARD).text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "{{ 7*7 }}" in text


def test_data_may_be_read_by_any_site(get: Get) -> None:
    answer = get("/api/leaderboards", headers={"Origin": "https://community.example"})
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.json()["leaderboards"][0]["id"] == "orb/any-orb"
    asked = {"Origin": "https://community.example", "Access-Control-Request-Method": "GET"}
    preflight = get("/api/leaderboards", method="OPTIONS", headers=asked)
    assert preflight.status_code == 200
    assert "GET" in preflight.headers["access-control-allow-methods"]


def test_errors_of_data_are_problems(get: Get) -> None:
    for path, status in (
        ("/api/players/nobody", 404),
        ("/api/leaderboards/orb/%0A", 404),
        ("/api/leaderboards/orb/any-orb?page=x", 400),
    ):
        answer = get(path)
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == status


def test_nothing_can_be_written(get: Get) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        answer = get("/api/leaderboards", method=method)
        assert answer.status_code == answer.json()["status"] == 405
        assert "GET" in answer.headers["allow"]


def test_a_fault_is_told_without_what_it_was(get: Get, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("hush-hush")

    monkeypatch.setattr(Pages, "document", broken)
    answer = get("/", raise_app_exceptions=False)
    assert answer.status_code == 500
    assert "hush-hush" not in answer.text
    assert "content-security-policy" in answer.headers
