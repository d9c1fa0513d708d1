import asyncio
import html
import re
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import httpx
import pytest
import uvicorn
from builders import result
from uvicorn.server import ServerState
from worker_support import PATIENCE, until

from racebot.ledger.store import Ledger
from racebot.web.http import cache, server as server_module
from racebot.web.http.cache import CachedPages
from racebot.web.http.server import application, configuration
from racebot.web.routes import NO_RACE, MatchedRoute, Pages
from racebot.web.site.ledger_view import Content, Publication

from .conftest import RACES, at, listening, rate

BOARD = "/leaderboards/orb/any-orb.html"
GET_FRONT = b"GET / HTTP/1.1\r\nHost: x\r\n"

Get = Callable[..., httpx.Response]


@pytest.fixture
def get(ledger: Ledger) -> Iterator[Get]:
    """Ask the pages of a ledger with a few races."""
    rate(ledger, *RACES)
    app = application(ledger.path, Publication())
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)

    async def answer(path: str, method: str = "GET", **facts: Any) -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://pages") as client:
            return await client.request(method, path, **facts)

    async def close() -> None:
        async with app.router.lifespan_context(app):
            pass

    yield lambda *args, **facts: asyncio.run(answer(*args, **facts))
    asyncio.run(close())


def test_pages_load_nothing_from_other_hosts(get: Get) -> None:
    for path in ("/", BOARD, "/nothing"):
        policy = get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "http" not in policy
    assert "frame-ancestors 'self'" in get("/overlay/player/id-ann").headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/index", BOARD[:-5], "/players/id-ann/orb/any-orb", "/races/orb/a"])
def test_addresses_work_with_and_without_their_ending(get: Get, path: str) -> None:
    short, long = get(path), get(f"{path}.html")
    assert short.status_code == long.status_code == 200
    assert short.content == long.content
    slash = get(f"{path}/")
    assert slash.status_code == 308
    assert str(slash.url.join(slash.headers["location"])) == f"http://pages{path}"
    asked = get(f"{path}/?page=2&q=a%26b")
    assert str(asked.url.join(asked.headers["location"])) == f"http://pages{path}?page=2&q=a%26b"


@pytest.mark.parametrize(
    "accept", ["text/html,application/xml;q=0.9,*/*;q=0.8", "", "*/*", "application/json"]
)
def test_api_index_is_a_page_for_browsers_and_json_for_programs(get: Get, accept: str) -> None:
    answer, short = (get(path, headers={"Accept": accept}) for path in ("/api/", "/api"))
    is_page = accept.startswith("text/html")
    assert answer.headers["content-type"].startswith("text/html" if is_page else "application/json")
    assert "Accept" in answer.headers["vary"]
    assert "leaderboards/{category}/{board}" in answer.text.replace("<wbr>", "")
    assert short.headers["location"] == "api/" if is_page else "paths" in short.json()


@pytest.mark.parametrize(
    ("path", "status", "shown"),
    [
        ("/players/../nobody/x.html", 404, "Page not found"),
        ("/races/elsewhere/not-recorded-1.html", 404, NO_RACE),
        ("/leaderboards/orb/any-orb/page-2.html", 404, "Page not found"),
        ("/leaderboards/orb/any-orb/page-0.html", 404, "Page not found"),
        (f"{BOARD}?at=31.3.2026", 400, "at: must be a date, such as 2026-03-31"),
        (f"{BOARD}?sort=bogus", 400, "sort: must be one of place, player"),
        (f"{BOARD}?order=bogus", 400, "order: must be up or down"),
        (f"{BOARD}?page=x", 400, "page: must be a number"),
        (f"{BOARD}?page=9", 404, "Page not found"),
        ("/leaderboards/orb/any-orb/races?page=9", 404, "Page not found"),
        ("/players/id-ann/orb/any-orb/opponents?page=9", 404, "Page not found"),
        (f"{BOARD}?q=a&page=9", 404, "Page not found"),
        ("/players/id-ann/orb/any-orb/races-9", 404, "Page not found"),
        (f"{BOARD}?page=0", 400, "page: must be a number"),
    ],
)
def test_error_pages_name_the_problem(get: Get, path: str, status: int, shown: str) -> None:
    answer = get(path)
    assert answer.status_code == status
    assert shown in html.unescape(answer.text)


def test_unchanged_document_is_not_sent_again(get: Get) -> None:
    tag = get(BOARD).headers["etag"]
    for known in (tag, tag.removeprefix("W/"), f'"other", {tag}', "*"):  # a proxy may have made it strong
        again = get(BOARD, headers={"If-None-Match": known})
        assert (again.status_code, again.content) == (304, b""), known
    for other in ('"other"', tag[:-4] + '"'):
        assert get(BOARD, headers={"If-None-Match": other}).status_code == 200, other


def test_replaced_database_is_read(get: Get, ledger: Ledger, tmp_path: Path) -> None:
    assert "Ann" in get(BOARD).text
    other = tmp_path / "other.db"
    with Ledger.open(other) as restored:
        rate(restored, result("z", "zoe yan"))
        restored.connection.db.execute("PRAGMA journal_mode = DELETE")
    ledger.close()
    for left in ("-wal", "-shm"):
        ledger.path.with_name(ledger.path.name + left).unlink(missing_ok=True)
    other.replace(ledger.path)
    assert "Zoe" in get(BOARD).text


def test_error_about_the_database_hides_its_path(get: Get, ledger: Ledger) -> None:
    ledger.path.rename(ledger.path.with_name("moved.db"))
    answer = get("/")
    assert answer.status_code == 503
    assert str(ledger.path) not in answer.text


def test_search_and_order_work_without_scripts(get: Get) -> None:
    def names(**query: str) -> list[str]:
        return re.findall("<bdi>(.*?)</bdi>", get(BOARD, params=query).text.split("<tbody>")[1])

    assert names() == ["Cy", "Ann", "Di", "Bo", "Ed"]
    assert names(q=" AN") == ["Ann"]
    assert names(sort="player", order="down")[0] == "Ed"
    assert names(sort="races")[:2] == ["Ann", "Bo"]
    assert names(sort="", page="")[0] == "Cy"


def test_any_site_may_read_data(get: Get) -> None:
    answer = get("/api/leaderboards", headers={"Origin": "https://community.example"})
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.json()["leaderboards"][0]["id"] == "orb/any-orb"
    asked = {"Origin": "https://community.example", "Access-Control-Request-Method": "GET"}
    asked["Access-Control-Request-Headers"] = "Cache-Control, X-Requested-With"
    preflight = get("/api/leaderboards", method="OPTIONS", headers=asked)
    assert preflight.status_code == 200
    assert "GET" in preflight.headers["access-control-allow-methods"]


@pytest.mark.parametrize(
    ("path", "status", "named"),
    [
        ("/api/players/nobody", 404, "Unknown address or id"),
        ("/api/leaderboards/%0A/orb", 404, "Unknown address or id"),
        ("/api/nothing", 404, "Unknown address or id"),
        ("/events/api/nothing", 404, "Unknown address or id"),
        ("/api/leaderboards/orb/any-orb?page=x", 400, "page"),
        (f"/api/players?name={'x' * 8001}", 400, "name"),
        (f"/api/players/{'x' * 1001}", 404, "Unknown address or id"),
    ],
)
def test_api_errors_name_the_problem_in_its_details(get: Get, path: str, status: int, named: str) -> None:
    answer = get(path)
    assert answer.status_code == answer.json()["status"] == status
    assert answer.headers["content-type"] == "application/problem+json"
    what, _, fix = answer.json()["detail"].partition(":")
    assert what == named and fix
    assert answer.headers["cache-control"] == "no-store"


def test_long_addresses_are_not_repeated(get: Get) -> None:
    answer = get(f"/players/{'x' * 5000}")
    assert answer.status_code == 404 and "xxx" not in answer.text


def test_cards_may_be_cached_for_some_minutes_and_pages_only_if_unchanged(get: Get) -> None:
    assert get("/cards/index.png").headers["cache-control"] == "public, max-age=300"
    for path in ("/", "/players/id-ann", "/api/leaderboards"):
        assert get(path).headers["cache-control"] == "public, max-age=0, must-revalidate"


def test_nothing_can_be_written(get: Get) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        answer = get("/api", method=method)
        assert answer.status_code == answer.json()["status"] == 405
        assert "GET" in answer.headers["allow"]


def test_internal_errors_hide_their_details(get: Get, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("hush-hush")

    monkeypatch.setattr(Pages, "content", broken)
    answer = get("/")
    assert answer.status_code == 500
    assert "hush-hush" not in answer.text
    assert "content-security-policy" in answer.headers
    assert answer.headers["access-control-allow-origin"] == "*"  # scripts on other sites may read errors, too


# Limits


def test_cache_is_bounded_and_keys_have_known_parameters_only(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "MOST", 3)
    rate(ledger, *RACES)
    with closing(CachedPages(ledger.path, Publication())) as library:
        for number in range(8):
            library.document(at(BOARD[1:-5]), {"utm_source": "mail", "sort": "won", "q": f"a{number}"})
            assert list(library.cache)[-1] == (BOARD[1:], (("q", f"a{number}"), ("sort", "won")), "")
            assert len(library.cache) <= 3
        monkeypatch.setattr(cache, "MOST", 100)
        of_one = len(next(iter(library.cache.values())).body)
        monkeypatch.setattr(cache, "MOST_BYTES", 20 * of_one)
        for number in range(30):
            library.document(at(BOARD[1:-5]), {"q": f"b{number}"})
            assert sum(len(each.body) for each in library.cache.values()) <= 20 * of_one
        monkeypatch.setattr(cache, "MOST_BYTES", 1000)
        library.document(at(""), {})
        assert not any(path == "index.html" for path, *_ in library.cache)


def test_documents_are_compressed_for_clients_that_accept_gzip(get: Get) -> None:
    plain = get("/", headers={"Accept-Encoding": "identity"})
    packed = get("/", headers={"Accept-Encoding": "gzip, br"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.content == plain.content
    assert "Accept-Encoding" in packed.headers["vary"]


@pytest.mark.parametrize(
    "slow_paths", [["index.html"], [f"cards/races/orb/r{n}.png" for n in range(server_module.THREADS + 1)]]
)
async def test_slow_page_and_many_cards_do_not_delay_other_pages(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, slow_paths: list[str]
) -> None:
    rate(ledger, *RACES)
    release = threading.Event()
    render = Pages.content

    def slow(self: Pages, match: MatchedRoute, query: Mapping[str, str]) -> Content:
        if match.path in slow_paths:
            assert release.wait(PATIENCE)
        return render(self, match, query)

    monkeypatch.setattr(Pages, "content", slow)

    transport = httpx.ASGITransport(application(ledger.path, Publication()))
    async with (
        asyncio.timeout(PATIENCE),
        httpx.AsyncClient(transport=transport, base_url="http://pages") as client,
    ):
        waiting = asyncio.gather(*(client.get(path) for path in slow_paths))
        assert (await client.get(BOARD)).status_code == 200
        assert not waiting.done()
        release.set()
        await waiting


@asynccontextmanager
async def running(ledger: Ledger) -> AsyncGenerator[int]:
    """Serve the pages with our limits, and yield the port."""
    async with listening(uvicorn.Server(configuration(application(ledger.path, Publication())))) as port:
        yield port


@pytest.mark.parametrize("trickled", [b"", b"a: b\r\n"])
@pytest.mark.parametrize("sent", [b"", GET_FRONT + b"X: ", GET_FRONT + b"\r\nGET "])
async def test_connections_with_unfinished_headers_are_closed(
    ledger: Ledger, sent: bytes, trickled: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Headers that arrive bit by bit do not extend the deadline."""
    monkeypatch.setattr(server_module, "REQUEST_TIMEOUT", 0.2)
    monkeypatch.setattr(server_module, "KEEP_ALIVE", 1)
    async with running(ledger) as port, asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        with suppress(ConnectionError):
            while not reader.at_eof() and reader.exception() is None:
                writer.write(trickled)
                await writer.drain()
                with suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(65536), 0.02)
        writer.close()


async def test_clients_that_stop_reading_are_disconnected(ledger: Ledger, monkeypatch) -> None:
    monkeypatch.setattr(server_module, "REQUEST_TIMEOUT", 2 * PATIENCE)  # it would abort the connection, too
    configured = uvicorn.Config(application(ledger.path, Publication()))

    def connected() -> tuple[server_module.ImpatientProtocol, MagicMock]:
        instance = server_module.ImpatientProtocol(configured, ServerState(), {})
        transport = MagicMock(spec=asyncio.Transport)
        transport.get_extra_info.return_value = None
        instance.connection_made(transport)
        return instance, transport

    (reading, read), (stopped, unread) = connected(), connected()
    monkeypatch.setattr(server_module, "WRITE_TIMEOUT", 0.1)
    reading.pause_writing()
    reading.resume_writing()
    monkeypatch.setattr(server_module, "WRITE_TIMEOUT", 0.2)
    stopped.pause_writing()
    await until(lambda: unread.abort.called)  # after the time at which the first would have been
    read.abort.assert_not_called()
    for instance in (reading, stopped):
        instance.connection_lost(None)


async def test_too_many_connections_are_refused(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "CONNECTIONS", 3)
    monkeypatch.setattr(server_module, "REQUEST_TIMEOUT", PATIENCE)  # the others stay open
    async with running(ledger) as port, asyncio.timeout(PATIENCE):
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(4)]
        reader, writer = held[-1]
        writer.write(GET_FRONT + b"\r\n")
        assert b" 503 " in await reader.readline()
        for _, each in held:
            each.close()
