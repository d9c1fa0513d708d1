"""HTTP client for the site: tokens, categories, races and the list of past races.

Transient failures (5xx, 429, timeouts, HTML instead of JSON) are retried with growing pauses, or after the
time in `Retry-After`. A refusal is raised at once.
"""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from pydantic import SecretStr

from racebot.errors import CredentialsError, NotFoundError, PayloadError, SiteError, in_words
from racebot.logs import FailureLog
from racebot.races.result import Entrant, EntrantStatus
from racebot.racetime import documents
from racebot.racetime.documents import time_or_none
from racebot.racetime.http import Http, Response, Transient, Transport
from racebot.racetime.payload import Category, Race, RacePage, parse_category, parse_race, parse_race_page
from racebot.text.parse import read_json

log = logging.getLogger(__name__)

LONGEST_PAUSE = 300.0  # longest pause, in seconds, that the site may ask for
LONGEST_BACKOFF = 60.0  # longest pause, in seconds, before a retry if the site asks for none
LARGEST_ANSWER = 16 * 1024 * 1024
"""Most bytes in a decoded answer. A page of 100 races with 200 entrants each is about 10 MB."""
MOST_PAGES = 2_000  # most pages of past races to read at once, whatever page count the site claims
MOST_FAILURES = 5  # failures in a row after which not the pages are bad, but the site is down
ANSWER_WITHIN = 120.0
"""Seconds for a complete response. A site that trickles bytes must not block other requests."""

RENEW_BEFORE = 600.0  # seconds before its expiry when a token is renewed


class Gate:
    """Limits how many rooms of a site are joined at a time, and holds what their sockets share."""

    def __init__(self, handshakes: int = 20) -> None:
        self.handshakes = asyncio.Semaphore(handshakes)
        self.existence_check = asyncio.Lock()
        """Held by the one room that asks the site whether it still exists. All at once would block others."""


class Site(AbstractAsyncContextManager["Site"]):
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
        transport: Transport | None = None,
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
        self._http = Http(self.url, self.url, transport=transport)

    async def __aexit__(self, *exc: object) -> None:
        await self._http.__aexit__(*exc)

    def set_clock(self, shown: datetime) -> None:
        """Take in the time that the site shows now."""
        at = time.monotonic()
        self.clock = lambda: shown + timedelta(seconds=time.monotonic() - at)

    async def token(self, client_id: str, client_secret: SecretStr) -> tuple[str, float]:
        """Return a bot's new access token and its lifetime in seconds, or raise `CredentialsError`."""
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
        """Fetch a category, for its bot with unlisted rooms. A wrong token is a `CredentialsError`."""
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

    async def accounts(self, text: str) -> list[Entrant]:
        """Return the accounts with an id, or with a name (or `name#1234`) that begins with a text."""
        found: object = []
        if len(text) == 16 and text.isalnum():
            with suppress(NotFoundError):
                found = [(await self._request("GET", f"/user/{text}/data"))[0]]
        answer: object = {"results": found}
        if not found:
            answer, _ = await self._request("GET", "/user/search", params={"term": text})
        users = documents.read(documents.AccountsDocument, answer, "the site's accounts").results
        racing = EntrantStatus.RACING
        return [Entrant(u.id, u.name, racing, discriminator=u.discriminator) for u in users if u.id]

    async def past_races(self, category: str, page: int) -> RacePage:
        """Fetch one page of finished races with their entrants, newest first."""
        params = {"show_entrants": "true", "per_page": 100, "page": page}
        return parse_race_page((await self._request("GET", f"/{category}/races/data", params=params))[0])

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
                self._failures.failed(path, str(error))
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
        async with self._turn:
            await self._sleep(max(0.0, self._last_start + self._interval - time.monotonic()))
            self._last_start = sent_at = time.monotonic()
            answer = await self._http.ask(
                method,
                path,
                where=where,
                most=LARGEST_ANSWER,
                within=ANSWER_WITHIN,
                reads=lambda answer: answer.status == 200,
                **kwargs,
            )
        if (shown := time_or_none(answer.headers.get("x-date-exact"))) is not None:
            self.set_clock(shown)
        status = answer.status
        # Elsewhere, a front proxy refuses. The site answers 401 to a wrong secret, and 403 to a bad token.
        if path.startswith("/o/") and status in ({401} if path == "/o/token" else {401, 403}):
            raise CredentialsError(f"{where} refuses the credentials ({status})")
        if status == 404:
            raise NotFoundError(f"{where} does not exist")
        if status == 429 or status >= 500:
            raise Transient(f"{where} answered {status}", _retry_after(answer))
        if status in range(300, 400) and "location" in answer.headers:
            # The target may repeat what was sent, so it is not shown.
            raise SiteError(f"{where} redirects ({status}): check RACEBOT_SITE")
        if status != 200:
            raise SiteError(f"{where} answered {status}")
        try:
            # In a thread: decoding the largest answer takes seconds.
            return await asyncio.to_thread(read_json, answer.body), sent_at
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


def _retry_after(answer: Response) -> float | None:
    text = answer.headers.get("retry-after", "")
    if text.isdecimal():
        return min(float(text), LONGEST_PAUSE)
    try:
        delay = parsedate_to_datetime(text).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return min(max(delay, 0.0), LONGEST_PAUSE)
