"""Posts and edits the messages of races on Discord. Chat never waits for it.

Webhooks have no idempotency key: a message whose id is lost in a crash or timeout is posted again.
Source: https://docs.discord.com/developers/resources/webhook
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

import httpx
from pydantic import SecretStr

from racebot.bot.discord_posts import body as body_of, digest_embeds, queue_digests, race_embeds
from racebot.bot.heartbeat import utc_now
from racebot.bot.retry import retry_pauses
from racebot.errors import RacebotError
from racebot.ledger.connection import RunOnLedger
from racebot.ledger.discord import Post
from racebot.ledger.store import Ledger
from racebot.settings.model import Settings
from racebot.telemetry.logs import FailureLog
from racebot.text.safe import printable

log = logging.getLogger(__name__)

SEND_EVERY = 1.0
"""Seconds between looks for messages to post or edit."""
TIMEOUT, LONGEST_PAUSE, MOST_POSTS = 30.0, 3600.0, 2
REFUSALS = {401, 403, 404}
UNKNOWN_MESSAGE = 10008  # https://docs.discord.com/developers/topics/opcodes-and-status-codes#json
GONE = "Discord refuses the webhook: it was deleted, or its address is wrong"


async def ask(
    client: httpx.AsyncClient, webhook: SecretStr, method: str, message: str = "", body: object = None
) -> tuple[int, dict[str, Any], float]:
    """Ask a webhook about itself, or post, edit or delete its message with this id.

    Return the status, the document, and for how many seconds Discord wants no more requests.
    """
    url = webhook.get_secret_value() + (message and f"/messages/{message}")
    wait = {"wait": "true"} if method == "POST" else None
    answer = await client.request(method, url, json=body, params=wait)
    document, pause, headers = dict[str, Any](), 0.0, answer.headers
    with suppress(TypeError, ValueError):
        document = dict(answer.json())
    with suppress(TypeError, ValueError):
        spent = headers.get("X-RateLimit-Remaining") == "0" and headers.get("X-RateLimit-Reset-After")
        pause = float(document.get("retry_after") or headers.get("Retry-After") or spent)
    return answer.status_code, document, min(pause, LONGEST_PAUSE)


async def check(webhook: SecretStr, *, post: bool = False) -> str | None:
    """Ask for a webhook, or `post` a sample and delete it again. Return what is wrong."""
    sample = {"content": "A sample of racebot, which is deleted at once."} if post else None
    try:
        async with httpx.AsyncClient(timeout=TIMEOUT) as client:
            status, found, _ = await ask(client, webhook, "POST" if sample else "GET", "", sample)
            if sample and status in range(200, 300):
                status, found, _ = await ask(client, webhook, "DELETE", str(found.get("id")))
    except httpx.HTTPError as error:
        return f"Discord does not answer ({type(error).__name__}): check the network"
    if status in range(200, 300):
        return None
    return f"{GONE if status in REFUSALS else 'Discord fails'}: {_problem(status, found)}"


def _problem(status: int, found: dict[str, Any]) -> str:
    return printable(f"{status}: {found.get('errors') or found.get('message')}")[:300]


@dataclass
class DiscordSender:
    """Shows each race in one message."""

    settings: Settings
    ledger: Ledger
    call: RunOnLedger
    failures: FailureLog
    tls: ssl.SSLContext
    clock: Callable[[], datetime] = utc_now
    _resume: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """When to use a webhook again, any of them (`""`), or to show a race, on the monotonic clock."""
    _pauses: dict[str, Iterator[float]] = field(default_factory=lambda: defaultdict(retry_pauses))
    """The pauses of webhooks and races that failed, where Discord does not say how long."""

    async def send(self) -> None:
        """Post and edit what waits, apart from webhooks that pause. If cancelled, finish the request."""
        sending = asyncio.create_task(self._send_all())
        try:
            await asyncio.shield(sending)
        except asyncio.CancelledError:
            self._resume[""] = float("inf")
            await sending
            raise

    async def summarize(self) -> None:
        """Queue the summaries that are due."""
        await self.call(queue_digests, self.ledger, self.settings, self.clock())

    async def _send_all(self) -> None:
        for webhook, address in self.settings.webhooks().items():
            if posts := await self.call(self.ledger.posts.waiting, webhook):
                async with httpx.AsyncClient(timeout=TIMEOUT, verify=self.tls) as http:
                    for post in posts:
                        if time.monotonic() >= max(self._resume[key] for key in ("", webhook, post.race)):
                            await self._send(post, http, address)

    async def _send(self, post: Post, http: httpx.AsyncClient, address: SecretStr) -> None:
        source, note = f"Discord webhook {post.webhook}", partial(self.ledger.posts.note, post)
        try:
            body = await asyncio.to_thread(self._body, post)
            if body is None:
                await self.call(note, post.message)
                return
            method, message = ("PATCH", post.message) if post.message else ("POST", "")
            status, found, pause = await ask(http, address, method, message, body)
            if found.get("code") == UNKNOWN_MESSAGE and post.posts < MOST_POSTS:  # somebody deleted it
                status, found, pause = await ask(http, address, "POST", "", body)
        except RacebotError as error:
            self._fail(post.race, source, str(error))
            return
        except httpx.HTTPError as error:
            self._fail(post.webhook, source, str(error) or type(error).__name__)
            return
        except Exception as error:  # it must not keep other races waiting
            self._fail(post.race, source, f"{post.race}: unexpected error: {error!r}", error)
            return
        problem, is_answer = _problem(status, found), "code" in found
        if status in range(200, 300) and "id" in found:
            self.failures.recovered(source)
            self._pauses.pop(post.webhook, None)
            self._pauses.pop(post.race, None)
            await self.call(note, str(found["id"]))
        elif is_answer and status in REFUSALS and found["code"] != UNKNOWN_MESSAGE:
            pause = float("inf")
            log.error("%s: %s (%s); nothing is sent until the next start", source, GONE, problem)
            await self.call(note, post.message, GONE, waits=True)
        elif is_answer and status in range(400, 429):
            log.error("%s: %s is not shown: %s", source, post.race, problem)
            await self.call(note, post.message, problem)
        elif not pause:
            self._fail(post.webhook, source, problem)
            return
        self._resume["" if found.get("global") else post.webhook] = time.monotonic() + pause

    def _fail(self, key: str, source: str, problem: str, unexpected: Exception | None = None) -> None:
        """Report a failure, and leave a webhook or race alone for a while."""
        self.failures.failed(source, f"{source}: {problem}", error=unexpected)
        self._resume[key] = time.monotonic() + next(self._pauses[key])

    def _body(self, post: Post) -> dict[str, Any] | None:
        """Return what a post should show now, None if it stays as it is."""
        with Ledger.open_to_read(self.ledger.path) as ledger:
            draw = digest_embeds if post.is_digest else race_embeds
            embeds = draw(ledger, self.settings, post)
            return body_of(embeds, self.settings.texts) if embeds else None
