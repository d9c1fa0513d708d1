"""HTTP client for the site: tokens, categories, races and the list of past races.

Transient failures (5xx, 429, timeouts, HTML instead of JSON) are retried with growing pauses, or after the
time in `Retry-After`. A refusal is raised at once.
"""

from __future__ import annotations

import asyncio
import logging
import random
import ssl
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any, Self

import httpx
from pydantic import SecretStr

from racebot import __version__
from racebot.errors import CredentialsError, NotFoundError, PayloadError, SiteError, in_words, reason
from racebot.racetime import documents
from racebot.racetime.documents import time_or_none
from racebot.racetime.payload import Category, Race, RacePage, parse_category, parse_race, parse_race_page
from racebot.telemetry.logs import FailureLog
from racebot.text.parse import read_json

log = logging.getLogger(__name__)

USER_AGENT = f"racebot/{__version__} (httpx)"
LONGEST_PAUSE = 300.0
"""Longest pause, in seconds, that the site may ask for."""
LONGEST_BACKOFF = 60.0
"""Longest pause, in seconds, before a retry if the site asks for none."""
LARGEST_ANSWER = 16 * 1024 * 1024
"""Most bytes in a decoded answer. A page of 100 races with 200 entrants each is about 10 MB."""
MOST_PAGES = 2_000
"""Most pages of past races to read at once, whatever page count the site claims."""
MOST_FAILURES = 5
"""Failures in a row after which not the pages are bad, but the site is down."""
ANSWER_WITHIN = 120.0
"""Seconds for a complete response. A site that trickles bytes must not block other requests."""

RENEW_BEFORE = 600.0
"""Seconds before its expiry when a token is renewed."""


class Transient(SiteError):  # noqa: N818 - a reason to retry
    """The site cannot answer at the moment."""

    def __init__(self, text: str, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class Gate:
    """Limits how many rooms of a site are joined at a time, and holds what their sockets share."""

    def __init__(self, handshakes: int = 20) -> None:
        self.handshakes = asyncio.Semaphore(handshakes)
        self.existence_check = asyncio.Lock()
        """Held by the one room that asks the site whether it still exists. All at once would block others."""

    @cached_property
    def tls(self) -> ssl.SSLContext:
        """Shared TLS context. Loading the CA store takes 20 to 65 ms and 1 MiB."""
        return httpx.create_ssl_context()


class Site:
    """Client of one site, which returns its JSON as typed values.

    Args:
        url: the site's address, for example `https://racetime.gg`.
        interval: minimum seconds between the starts of two requests. Requests never overlap.
        attempts: number of attempts before a request's error is raised.
        clock: returns the current time, with its offset, until the site shows its own. The attribute follows
            the time in the site's answers and frames.
        transport, sleep: replace the network and all pauses in tests.

    Raises (all requests):
        SiteError: the site is unreachable or failing, after all attempts.
        NotFoundError: the page does not exist.
        PayloadError: the answer has the wrong shape.
    """

    def __init__(
        self,
        url: str,
        *,
        interval: float = 1.0,
        attempts: int = 5,
        failures: FailureLog | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.url = url.rstrip("/")
        self.gate = Gate()
        self.clock = clock
        self._interval = interval
        self._attempts = attempts
        self._failures = failures or FailureLog()
        self._sleep = sleep
        self._turn = asyncio.Lock()
        self._last_start = float("-inf")
        self._client = httpx.AsyncClient(
            base_url=self.url,
            headers={"User-Agent": USER_AGENT, "Accept": "application/json", "Accept-Encoding": "gzip"},
            timeout=httpx.Timeout(20.0),
            follow_redirects=False,
            verify=self.gate.tls if transport is None else True,
            transport=transport,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._client.aclose()

    def set_clock(self, shown: datetime) -> None:
        """Take in the time that the site shows now."""
        at = time.monotonic()
        self.clock = lambda: shown + timedelta(seconds=time.monotonic() - at)

    async def token(self, client_id: str, client_secret: SecretStr) -> tuple[str, float]:
        """Request a bot's OAuth2 access token and return it with its lifetime in seconds.

        Raises:
            CredentialsError: the site refuses this id and secret.
        """
        form = {
            "client_id": client_id,
            "client_secret": client_secret.get_secret_value(),
            "grant_type": "client_credentials",
        }
        try:
            answer, _ = await self._request("POST", "/o/token", data=form)
        except CredentialsError:
            raise CredentialsError(
                f"{self.url} refuses client id {client_id!r} with its secret: "
                "check RACEBOT_CLIENT_ID and RACEBOT_CLIENT_SECRET"
            ) from None
        given = documents.read(documents.TokenDocument, answer, "the site's token answer")
        return given.access_token, given.expires_in

    async def category(self, slug: str, token: str | None = None) -> Category:
        """Fetch a category, including its unlisted rooms if its bot's token is given.

        Raises:
            CredentialsError: the token does not belong to a bot of this category.
        """
        path = f"/o/{slug}/data" if token else f"/{slug}/data"
        try:
            return parse_category((await self._request("GET", path, token=token))[0])
        except NotFoundError:
            raise NotFoundError(
                f"{self.url} has no category {slug!r}: check RACEBOT_CATEGORY "
                "(the part of the category's address after the site's name)"
            ) from None
        except CredentialsError:
            raise CredentialsError(
                f"{self.url} does not let this bot into category {slug!r}: "
                "the client id must belong to a bot that the category's owner created for it"
            ) from None

    async def race(self, name: str) -> tuple[Race, float]:
        """Fetch a race. Return it with the time when the request was sent, in monotonic seconds."""
        document, sent_at = await self._request("GET", f"/{name}/data")
        race = parse_race(document)
        if race.name != name:
            raise PayloadError(f"{self.url}/{name}/data holds another race, {race.name}")
        return race, sent_at

    async def past_races(self, category: str, page: int) -> RacePage:
        """Fetch one page of finished races with their entrants, newest first."""
        params = {"show_entrants": "true", "per_page": 100, "page": page}
        try:
            return parse_race_page((await self._request("GET", f"/{category}/races/data", params=params))[0])
        except NotFoundError:
            message = f"{self.url} has no category {category!r}: correct RACEBOT_CATEGORY"
            raise NotFoundError(message) from None

    async def past_race_pages(
        self, category: str, *, since: datetime | None = None
    ) -> AsyncIterator[tuple[int, RacePage]]:
        """Yield the pages of past races with their numbers, newest races first, at most `MOST_PAGES`.

        The page with the first race that ended before `since` is the last. A page that cannot be read is left
        out, and its problem yielded, unless it is the first, or one of many in a row.
        """
        failed, pages = 0, 0
        for number in range(1, MOST_PAGES + 1):
            try:
                page = await self.past_races(category, number)
                failed, pages = 0, page.pages
            except Exception as error:
                failed += 1
                if number == 1 or failed == MOST_FAILURES:
                    raise
                problem = f"page {number} of the past races of {category}: {in_words(error)}"
                page = RacePage((), pages, (problem,))
            yield number, page
            is_old = since and any(race.result and race.result.ended_at < since for race in page.races)
            if is_old or number >= page.pages or not (page.races or page.problems):
                return
        log.warning("%s: stopped reading past races after %d pages", category, MOST_PAGES)

    async def _request(
        self, method: str, path: str, *, token: str | None = None, **kwargs: Any
    ) -> tuple[Any, float]:
        """Return the site's answer, and when the request was sent, in monotonic seconds."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        attempt = 0
        while True:
            attempt += 1
            try:
                answer = await self._once(method, path, headers=headers, **kwargs)
            except Transient as error:
                wait = error.retry_after
                remedy = "trying again" if wait is None else f"trying again in {wait:.0f} s, as it asks"
                self._failures.failed(path, str(error), remedy)
                if attempt == self._attempts:
                    raise
                # A random part keeps several bots from asking again at the same time.
                pause = min(2.0 ** (attempt - 1) + random.random(), LONGEST_BACKOFF)  # noqa: S311
                await self._sleep(pause if wait is None else wait)
            except SiteError:
                self._failures.recovered(path)
                raise
            else:
                self._failures.recovered(path)
                return answer

    async def _once(self, method: str, path: str, **kwargs: Any) -> tuple[Any, float]:
        where = f"{self.url}{path}"
        try:
            async with self._turn:
                await self._sleep(max(0.0, self._last_start + self._interval - time.monotonic()))
                self._last_start = sent_at = time.monotonic()
                async with (
                    asyncio.timeout(ANSWER_WITHIN),
                    self._client.stream(method, path, **kwargs) as answer,
                ):
                    good = answer.status_code == 200
                    body = await read_body(answer, where, LARGEST_ANSWER) if good else b""
        except httpx.RequestError as error:
            if (distrust := certificate_problem(error)) is not None:
                raise SiteError(f"{self.url} is not trusted: {distrust}") from error
            # Other errors may quote a header, and so a token.
            why = reason(error) if isinstance(error, httpx.ConnectError) else type(error).__name__
            raise Transient(f"{self.url} cannot be reached ({why})") from error
        except TimeoutError:
            raise Transient(f"{where} took longer than {ANSWER_WITHIN:.0f} s to answer") from None
        if (shown := time_or_none(answer.headers.get("X-Date-Exact"))) is not None:
            self.set_clock(shown)
        status = answer.status_code
        # Elsewhere, a front proxy refuses. The site answers 401 to a wrong secret, and 403 to a bad token.
        if path.startswith("/o/") and status in ({401} if path == "/o/token" else {401, 403}):
            raise CredentialsError(f"{where} refuses the credentials ({status})")
        if status == 404:
            raise NotFoundError(f"{where} does not exist")
        if status == 429 or status >= 500:
            raise Transient(f"{where} answered {status}", _retry_after(answer))
        if answer.has_redirect_location:
            # The target may repeat what was sent, so it is not shown.
            raise SiteError(f"{where} redirects ({status}): check RACEBOT_SITE")
        if status != 200:
            raise SiteError(f"{where} answered {status}")
        try:
            # In a thread: decoding the largest answer takes seconds.
            return await asyncio.to_thread(read_json, body), sent_at
        except PayloadError as error:
            raise Transient(f"{where} answered something other than JSON") from error


@dataclass
class TokenSource:
    """A bot's access token: requested when first needed, renewed before it expires or when refused."""

    site: Site
    client_id: str
    client_secret: SecretStr
    clock: Callable[[], float] = time.monotonic
    _token: str | None = None
    _renew_at: float = 0.0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def get(self) -> str:
        """Return the current token, or request a new one. Raises as `Site.token` does."""
        async with self._lock:
            if self._token is None or self.clock() >= self._renew_at:
                self._token, lifetime = await self.site.token(self.client_id, self.client_secret)
                self._renew_at = self.clock() + max(lifetime - RENEW_BEFORE, lifetime / 2)
                log.debug("new access token, good for %.0f s", lifetime)
            return self._token

    def refuse(self, token: str) -> None:
        """Discard a token that the site refused, so that the next `get` requests a new one."""
        if token == self._token:
            self._token = None


async def read_body(answer: httpx.Response, where: str, most: int) -> bytes:
    """Read and decode a streamed response body, never holding more than `most` bytes of it.

    httpx would undo any number of nested encodings, each without a limit on its output.

    Raises:
        SiteError: the body is larger, damaged, or in an encoding other than gzip.
    """
    encoding = answer.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in {"identity", "gzip"}:
        raise SiteError(f"{where} answered with the unsupported Content-Encoding {encoding!r}")
    decoder = zlib.decompressobj(zlib.MAX_WBITS | 16) if encoding == "gzip" else None
    body = bytearray()
    try:
        async for part in answer.aiter_raw():
            body += part if decoder is None else decoder.decompress(part, most + 1 - len(body))
            if len(body) > most:
                raise SiteError(f"{where} answered more than {most // 1024**2} MiB")
    except zlib.error as error:
        raise Transient(f"{where} answered with damaged gzip data") from error
    if decoder is not None and not decoder.eof:
        raise Transient(f"{where} answered with truncated gzip data")
    return bytes(body)


def certificate_problem(error: BaseException | None) -> str | None:
    """Return why a certificate was refused, or None if the error has another cause."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"its TLS certificate was refused ({error.verify_message})"
        error = error.__cause__ or error.__context__
    return None


def _retry_after(response: httpx.Response) -> float | None:
    text = response.headers.get("Retry-After", "")
    if text.isdecimal():
        return min(float(text), LONGEST_PAUSE)
    try:
        delay = parsedate_to_datetime(text).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return min(max(delay, 0.0), LONGEST_PAUSE)
