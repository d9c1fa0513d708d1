"""The client against a fake site behind httpx's transport interface."""

import asyncio
import gzip
import json
import logging
import time
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest
from builders import Streamed, entrant_document, listed_document, no_pause, race_document
from pydantic import SecretStr

from racebot.errors import CredentialsError, NotFoundError, PayloadError, SiteError
from racebot.racetime import client
from racebot.racetime.client import LARGEST_ANSWER, Site, TokenSource

URL = "https://orbs.example"
SECRET = "hush-hush-1234"
TOKEN = "token-of-the-bot-1"
CREDENTIALS = "orb-bot", SecretStr(SECRET)
HTML = "<!DOCTYPE html><title>oops</title>"


class FakeSite:
    """Answers like the site. Answers in `failures` come first, one for each request."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.failures: list[httpx.Response | Exception] = []
        self.pages: dict[str, Any] = {
            "/orb/data": {"slug": "orb", "name": "Orb", "goals": ["Any Orb"], "current_races": []},
            "/orb/first/data": race_document("first", [entrant_document("ann", "done", "PT1H", 1)]),
        }
        self.tokens = 0
        self.answering: Callable[[], Awaitable[None]] | None = None

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if self.answering is not None:
            await self.answering()
        if self.failures:
            failure = self.failures.pop(0)
            if isinstance(failure, Exception):
                raise failure
            return failure
        path = request.url.path
        if path == "/o/token":
            return self._token(request)
        if path == "/o/orb/data":
            if request.headers.get("Authorization") != f"Bearer {TOKEN}":
                return httpx.Response(403, html="")
            return httpx.Response(200, json={**self.pages["/orb/data"], "name": "Orb, unlisted too"})
        if path == "/orb/races/data":
            entrants = [entrant_document("ann", "done", "PT1H", 1)]
            races = [listed_document(slug, entrants) for slug in ("c", "b", "a")]
            return httpx.Response(200, json={"count": 3, "num_pages": 1, "races": races})
        if path in self.pages:
            return httpx.Response(200, json=self.pages[path])
        return httpx.Response(404, html=HTML)

    def _token(self, request: httpx.Request) -> httpx.Response:
        form = parse_qs(request.content.decode())
        good = {"client_id": ["orb-bot"], "client_secret": [SECRET], "grant_type": ["client_credentials"]}
        if request.method != "POST" or form != good:
            return httpx.Response(401, json={"error": "invalid_client"})
        self.tokens += 1
        token = {"access_token": TOKEN[:-1] + str(self.tokens), "expires_in": 36000, "token_type": "Bearer"}
        return httpx.Response(200, json=token)

    @property
    def paths(self) -> list[str]:
        return [request.url.path for request in self.requests]


@pytest.fixture
def fake() -> FakeSite:
    return FakeSite()


@pytest.fixture
def pauses() -> list[float]:
    """The pauses before retries, which a test need not wait for."""
    return []


@pytest.fixture
async def site(fake: FakeSite, pauses: list[float]) -> AsyncIterator[Site]:
    async def note(seconds: float) -> None:
        pauses.extend([seconds] if seconds else [])

    async with Site(URL, interval=0, transport=Streamed(fake), sleep=note) as site:
        yield site


# Requests and their answers


async def test_each_page_of_the_site_is_asked_for_as_its_software_expects(site: Site, fake: FakeSite) -> None:
    assert (await site.category("orb")).name == "Orb"
    assert (await site.category("orb", TOKEN)).name == "Orb, unlisted too"
    race, _ = await site.race("orb/first")
    assert [entrant.name for entrant in race.entrants] == ["Ann"]
    page = await site.past_races("orb", 1)
    assert [race.name for race in page.races] == ["orb/c", "orb/b", "orb/a"]
    assert page.pages == 1
    assert [entrant.user_id for entrant in page.races[0].entrants] == ["id-ann"]
    assert fake.paths == ["/orb/data", "/o/orb/data", "/orb/first/data", "/orb/races/data"]
    assert "Authorization" not in fake.requests[0].headers
    assert fake.requests[0].headers["User-Agent"].startswith("racebot/")
    assert dict(fake.requests[3].url.params) == {"show_entrants": "true", "per_page": "100", "page": "1"}


async def test_paging_stops_at_an_empty_page(site: Site, fake: FakeSite) -> None:
    lists: list[list[object]] = [[{}], []]
    pages = [{"count": 9, "num_pages": 10**9, "races": races} for races in lists]
    fake.failures = [httpx.Response(200, json=page) for page in pages]
    assert [number async for number, _ in site.past_race_pages("orb")] == [1, 2]


async def test_paging_stops_at_a_cap(site: Site, fake: FakeSite, monkeypatch, caplog) -> None:
    """A site may repeat one page forever."""
    monkeypatch.setattr(client, "MOST_PAGES", 4)
    page = {"count": 9, "num_pages": 10**9, "races": [{}]}
    fake.failures = [httpx.Response(200, json=page) for _ in range(9)]
    assert [number async for number, _ in site.past_race_pages("orb")] == [1, 2, 3, 4]
    assert "stopped" in caplog.text


# Refusals: raised at once

OTHER, LIST = (httpx.Response(200, json=shown) for shown in (race_document("a"), ["orb"]))
Ask = Callable[[Site], Awaitable[object]]
WRONG = "orb-bot", SecretStr("not-" + SECRET)
REFUSALS: dict[str, tuple[Ask, httpx.Response | None, type[Exception], str]] = {
    "a wrong secret": (lambda s: s.token(*WRONG), None, CredentialsError, f"{URL} .*client id 'orb-bot'"),
    "a token of another category": (lambda s: s.category("orb", "x"), None, CredentialsError, "'orb'"),
    "no such category": (lambda s: s.category("no"), None, NotFoundError, "no category 'no'"),
    "no such race": (lambda s: s.race("orb/no"), None, NotFoundError, f"{URL}/orb/no/data does not exist"),
    "no such list": (
        lambda s: s.past_races("no", 1),
        httpx.Response(404),
        NotFoundError,
        "/no/races/data does",
    ),
    "a bad request": (lambda s: s.token(*CREDENTIALS), httpx.Response(400, json={}), SiteError, "400"),
    "a front proxy's token": (lambda s: s.token(*WRONG), httpx.Response(403), SiteError, "answered 403"),
    "a front proxy": (lambda s: s.past_races("orb", 1), httpx.Response(403), SiteError, "403"),
    "another race": (lambda s: s.race("orb/no"), OTHER, PayloadError, "orb/a"),
    "the wrong shape": (lambda s: s.category("orb"), LIST, PayloadError, "category is not an object"),
}


@pytest.mark.parametrize("transient", [0, 1])
@pytest.mark.parametrize(("ask", "answer", "error", "told"), REFUSALS.values(), ids=REFUSALS)
async def test_a_refusal_is_raised_at_once(
    site: Site,
    fake: FakeSite,
    ask: Ask,
    answer: httpx.Response | None,
    error: type[Exception],
    told: str,
    transient: int,
) -> None:
    """Or as soon as the site answers."""
    fake.failures = [*[httpx.Response(503)] * transient, *([answer] if answer else [])]
    with pytest.raises(error, match=told) as refused:
        await ask(site)
    assert type(refused.value) is error
    assert len(fake.requests) == 1 + transient


@pytest.mark.parametrize(
    "answer",
    [
        "[]",
        "{}",
        '{"access_token": 5, "expires_in": 9}',
        '{"access_token": "x", "expires_in": "9"}',
        '{"access_token": "x", "expires_in": -36000}',
        '{"access_token": "", "expires_in": 36000}',
        '{"access_token": "x\\r\\nHost: elsewhere.example", "expires_in": 36000}',
        '{"access_token": "☃", "expires_in": 36000}',
        f'{{"access_token": "{"x" * 5000}", "expires_in": 36000}}',
    ],
)
async def test_a_token_answer_of_the_wrong_shape_is_refused(site: Site, fake: FakeSite, answer: str) -> None:
    fake.failures = [httpx.Response(200, text=answer)]
    with pytest.raises(PayloadError, match="token"):
        await site.token(*CREDENTIALS)


async def test_decoding_stops_at_the_largest_answer(site: Site, fake: FakeSite) -> None:
    packed = gzip.compress(b" " * 6 * LARGEST_ANSWER)
    assert len(packed) < LARGEST_ANSWER / 30
    fake.failures = [httpx.Response(200, stream=Packed(packed), headers={"Content-Encoding": "gzip"})]
    tracemalloc.start()
    try:
        with pytest.raises(SiteError, match="/orb/data answered more than"):
            await site.category("orb")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * LARGEST_ANSWER
    assert len(fake.requests) == 1


class Packed(httpx.AsyncByteStream):
    """A body that arrives in one piece."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body


async def test_a_gzip_answer_is_decoded(site: Site, fake: FakeSite) -> None:
    body = gzip.compress(json.dumps(fake.pages["/orb/data"]).encode())
    fake.failures = [httpx.Response(200, stream=Packed(body), headers={"Content-Encoding": "GZIP"})]
    assert (await site.category("orb")).slug == "orb"
    assert fake.requests[0].headers["Accept-Encoding"] == "gzip"


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "deflate", "zstd"])
async def test_only_one_gzip_encoding_is_accepted(site: Site, fake: FakeSite, encoding: str) -> None:
    """Three kilobytes in three layers of gzip hold gigabytes."""
    body = gzip.compress(gzip.compress(b"{}"))
    fake.failures = [httpx.Response(200, stream=Packed(body), headers={"Content-Encoding": encoding})]
    with pytest.raises(SiteError, match="Content-Encoding"):
        await site.category("orb")
    assert len(fake.requests) == 1


async def test_an_endless_answer_times_out(site: Site, fake: FakeSite, monkeypatch) -> None:
    async def drip() -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(0.001)

    monkeypatch.setattr(client, "ANSWER_WITHIN", 0.05)
    fake.failures = [httpx.Response(200, content=drip())]
    assert (await site.category("orb")).slug == "orb"
    assert len(fake.requests) == 2


# Failures: tried again

TRANSIENT: list[httpx.Response | Exception] = [
    httpx.Response(500),
    httpx.Response(502, html=HTML),
    httpx.Response(429),
    httpx.Response(200, html=HTML),
    httpx.Response(200, text=""),
    httpx.Response(200, content=b'{"slug": "o'),
    httpx.Response(200, content=b"[" * 100_000),
    httpx.Response(200, content=b"\xff\xfe\x00"),
    *(
        httpx.Response(200, stream=Packed(body), headers={"Content-Encoding": "gzip"})
        for body in (b"not gzip at all", gzip.compress(b"{}" * 1000)[:-9])
    ),
    httpx.ConnectError("refused"),
    httpx.ReadTimeout("slow"),
    httpx.RemoteProtocolError("closed"),
    httpx.DecodingError("not gzip"),
]


@pytest.mark.parametrize("failure", TRANSIENT, ids=repr)
async def test_a_transient_failure_is_retried(
    site: Site, fake: FakeSite, failure: httpx.Response | Exception
) -> None:
    fake.failures = [failure, failure]
    assert (await site.category("orb")).slug == "orb"
    assert len(fake.requests) == 3


@pytest.mark.parametrize(
    ("failure", "reason"),
    [(httpx.ConnectError("[Errno -2] not known"), "not known"), (httpx.ReadTimeout("slow"), "ReadTimeout")],
)
async def test_site_that_cannot_be_reached_is_named_with_the_reason(
    site: Site, fake: FakeSite, failure: Exception, reason: str
) -> None:
    fake.failures = [failure] * 10
    with pytest.raises(SiteError) as refused:
        await site.category("orb")
    assert str(refused.value).endswith(f" cannot be reached ({reason})")


@pytest.mark.parametrize("failure", [httpx.Response(502, html=HTML), httpx.ReadTimeout("slow")], ids=str)
async def test_retries_end_after_the_last_attempt(
    fake: FakeSite, failure: httpx.Response | Exception, caplog: pytest.LogCaptureFixture
) -> None:
    fake.failures = [failure] * 10
    async with Site(URL, interval=0, attempts=4, transport=Streamed(fake), sleep=no_pause) as site:
        with pytest.raises(SiteError, match=r"https://orbs\.example"):
            await site.category("orb")
    assert len(fake.requests) == 4
    assert sum("trying again" in line for line in caplog.messages) == 1


PAST = "Sun, 06 Nov 1994 08:49:37 GMT"
HUGE_YEAR = "Sun, 06 Nov 99999999999999999999 08:49:37 GMT"
NORMAL = (0.5, 10)
"""Bounds of a first pause if the site asks for none, in seconds."""


async def test_retry_after_as_a_date_is_obeyed(site: Site, fake: FakeSite, pauses: list[float]) -> None:
    at = datetime.now(UTC) + timedelta(seconds=290)
    fake.failures = [httpx.Response(503, headers={"Retry-After": f"{at:%a, %d %b %Y %H:%M:%S} GMT"})]
    await site.category("orb")
    assert 60 < pauses[0] <= 290


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("retry_after", "least", "most"),
    [
        (None, *NORMAL),
        ("7", 7, 7),
        ("120", 120, 120),
        ("0", 0, 0),
        (PAST, 0, 0),
        ("86400", 60, 86400),
        ("9" * 400, 60, 86400),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 60, 86400),
        *(
            (unreadable, *NORMAL)
            for unreadable in ("", "soon", "-5", "1.5", "²", "Sun, 99 Nov 2026", HUGE_YEAR)
        ),
    ],
)
async def test_retry_after_is_obeyed_within_limits(
    site: Site,
    fake: FakeSite,
    pauses: list[float],
    status: int,
    retry_after: str | None,
    least: float,
    most: float,
) -> None:
    headers = [] if retry_after is None else [(b"Retry-After", retry_after.encode("latin-1"))]
    fake.failures = [httpx.Response(status, headers=headers)]
    await site.category("orb")
    assert least <= sum(pauses) <= most


async def test_pauses_grow_up_to_a_limit(fake: FakeSite) -> None:
    pauses: list[float] = []

    async def note(seconds: float) -> None:
        pauses.append(seconds)

    fake.failures = [httpx.Response(500)] * 12
    async with Site(URL, attempts=13, transport=Streamed(fake), interval=0, sleep=note) as site:
        await site.category("orb")
    grown = [seconds for seconds in pauses if seconds]
    assert grown == sorted(grown)
    assert (1 <= grown[0] <= 2, grown[-1]) == (True, 60.0)


# Politeness


async def test_requests_do_not_overlap_and_keep_their_interval(fake: FakeSite) -> None:
    waits: list[float] = []
    running = 0

    async def answering() -> None:
        nonlocal running
        running += 1
        assert running == 1
        waits.append(time.monotonic() - began)
        await asyncio.sleep(0.01)
        running -= 1

    fake.answering = answering
    async with Site(URL, interval=0.05, transport=Streamed(fake)) as site:
        began = time.monotonic()
        await asyncio.gather(*(site.category("orb") for _ in range(4)))
    # A busy machine delays requests, so only the least wait since the beginning is certain.
    assert all(wait >= number * 0.045 for number, wait in enumerate(waits))


async def test_a_request_is_dated_when_it_is_sent_and_not_when_it_begins_to_wait(fake: FakeSite) -> None:
    async with Site(URL, interval=0.05, transport=Streamed(fake)) as site:
        (_, first), (_, second) = await asyncio.gather(site.race("orb/first"), site.race("orb/first"))
    assert second - first >= 0.045


async def test_the_clock_follows_the_date_of_the_sites_answers(site: Site, fake: FakeSite) -> None:
    dated = {"X-Date-Exact": "2031-05-06T07:08:09Z"}
    fake.failures = [httpx.Response(200, json=fake.pages["/orb/data"], headers=dated)]
    await site.category("orb")
    assert abs(site.clock() - datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)) < timedelta(minutes=1)


# Tokens


@pytest.fixture
def hands() -> SimpleNamespace:
    """A monotonic clock that a test sets."""
    return SimpleNamespace(now=1000.0)


@pytest.fixture
def tokens(site: Site, hands: SimpleNamespace) -> TokenSource:
    return TokenSource(site, *CREDENTIALS, lambda: float(hands.now))


async def test_a_token_is_reused_and_renewed_before_it_expires(
    tokens: TokenSource, fake: FakeSite, hands: SimpleNamespace
) -> None:
    first = await tokens.get()
    hands.now += 36000 - 600 - 1
    assert await tokens.get() == first
    hands.now += 1
    assert await tokens.get() == TOKEN[:-1] + "2"
    assert fake.tokens == 2


async def test_a_short_lived_token_is_reused_too(
    tokens: TokenSource, fake: FakeSite, hands: SimpleNamespace
) -> None:
    fake.failures = [httpx.Response(200, json={"access_token": "brief", "expires_in": 60})]
    assert [await tokens.get() for _ in range(3)] == ["brief"] * 3
    hands.now += 29
    assert await tokens.get() == "brief"
    hands.now += 1
    assert await tokens.get() == TOKEN


async def test_a_refused_token_is_replaced_once(tokens: TokenSource, fake: FakeSite) -> None:
    old = await tokens.get()
    tokens.refuse(old)
    new = await tokens.get()
    tokens.refuse(old)
    assert await tokens.get() == new == TOKEN[:-1] + "2"
    assert fake.tokens == 2


async def test_concurrent_callers_share_one_token_request(tokens: TokenSource, fake: FakeSite) -> None:
    assert set(await asyncio.gather(*(tokens.get() for _ in range(5)))) == {TOKEN}
    assert fake.tokens == 1


# Secrets


@pytest.mark.parametrize(
    "failure",
    [
        httpx.Response(401, json={"error": "invalid_client", "hint": SECRET}),
        httpx.Response(400, text=SECRET),
        httpx.Response(200, html=f"<p>{SECRET} {TOKEN}</p>"),
        httpx.Response(200, json={"access_token": [TOKEN], "expires_in": SECRET}),
        httpx.Response(301, headers={"Location": f"/?{SECRET}"}),
        httpx.Response(503, headers={"Retry-After": "1"}),
        httpx.ReadTimeout(f"while sending {SECRET}"),
    ],
    ids=repr,
)
async def test_no_error_or_log_line_shows_a_secret_or_token(
    site: Site, fake: FakeSite, failure: httpx.Response | Exception, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    fake.failures = [failure] * 10
    for ask in (lambda: site.token(*CREDENTIALS), lambda: site.category("orb", TOKEN)):
        fake.failures = [failure] * 10
        with pytest.raises(Exception) as raised:  # noqa: PT011 - whatever it is, it must keep the secret
            await ask()
        told = f"{raised.value} {raised.value!r} {caplog.text}"
        assert SECRET not in told
        assert TOKEN not in told
        assert "\n" not in str(raised.value)
