"""Posts and edits the messages of races on Discord. Chat never waits for it.

Webhooks have no idempotency key: a message whose id is lost in a crash or timeout is posted again.
Source: https://docs.discord.com/developers/resources/webhook
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from pydantic import SecretStr

from racebot.addresses import room_address
from racebot.bot.discord_posts import (
    Embed,
    body as body_of,
    digest_embeds,
    queue_digests,
    race_embed,
)
from racebot.bot.failures import Backoff
from racebot.errors import PayloadError, RacebotError, SiteError
from racebot.ledger.connection import RunOnLedger
from racebot.ledger.lock import utc_now
from racebot.ledger.outbox import Post
from racebot.ledger.rows import RATED_LATER
from racebot.ledger.store import Ledger
from racebot.racetime.http import Http, Response
from racebot.settings.model import Settings
from racebot.standings.counting import rating_rules
from racebot.standings.settle import RatedRace, Settler
from racebot.text.parse import read_json
from racebot.text.safe import printable

log = logging.getLogger(__name__)

SEND_EVERY = 1.0
"""Seconds between looks for messages to post or edit."""
AT_ONCE = 5
"""Most messages to send in one look, so that a new race does not wait for many old ones."""
TIMEOUT, LONGEST_PAUSE, MOST_POSTS = 30.0, 3600.0, 2
POST_WITHIN = 1.0
"""Seconds that a bot that stops waits for the id of a message which it just posted."""
LARGEST_ANSWER = 2**20
REFUSALS = {401, 403, 404}
UNKNOWN_MESSAGE = 10008  # https://docs.discord.com/developers/topics/opcodes-and-status-codes#json
GONE = "Discord refuses the webhook: it was deleted, or its address is wrong"
ALL = "Discord"
"""The name of all webhooks, where one limit holds for them."""


@dataclass(frozen=True, slots=True)
class Posted:
    """What Discord answered: the id of the message if there is one, and how long it wants no more requests.

    `code` is Discord's own, None if something before it answered. A pause may be for all webhooks.
    """

    status: int
    code: object
    message: str | None
    pause: float
    problem: str
    is_global: bool = False

    @property
    def good(self) -> bool:
        return self.status in range(200, 300)


def client() -> Http:
    return Http("Discord", timeout=TIMEOUT)


async def ask(http: Http, webhook: SecretStr, method: str, message: str = "", body: object = None) -> Posted:
    """Ask a webhook about itself, or post, edit or delete its message with this id."""
    address = webhook.get_secret_value()
    answer = await http.ask(
        method,
        address + (message and f"/messages/{message}"),
        where="Discord",
        most=LARGEST_ANSWER,
        within=TIMEOUT,
        json=body,
        params={"wait": "true"} if method == "POST" else None,
    )
    found: dict[str, Any] = {}
    with suppress(PayloadError, TypeError, ValueError):
        found = dict(read_json(answer.body))
    known, said = found.get("id"), f"{answer.status}: {found.get('errors') or found.get('message')}"
    is_id = isinstance(known, str) and known.isascii() and known.isdecimal() and len(known) <= 20
    said = printable(said[: 2**14]).replace(address.rpartition("/")[2], "[removed]")  # it may echo the token
    return Posted(
        answer.status,
        found.get("code"),
        known if is_id else None,
        _pause(found, answer),
        said[:300],
        bool(found.get("global")),
    )


def _pause(found: dict[str, Any], answer: Response) -> float:
    """Return for how many seconds Discord wants no more requests, 0 if it does not say so in earnest."""
    headers = answer.headers
    spent = headers.get("x-ratelimit-remaining") == "0" and headers.get("x-ratelimit-reset-after")
    for value in (found.get("retry_after"), headers.get("retry-after"), spent):
        with suppress(TypeError, ValueError, OverflowError):
            if (seconds := float(value or 0)) > 0:  # not NaN
                return min(seconds, LONGEST_PAUSE)
    return 0.0


async def check(webhook: SecretStr, *, post: bool = False) -> str | None:
    """Ask for a webhook, or `post` a sample and delete it again. Return what is wrong."""
    sample = {"content": "A sample of racebot, which is deleted at once."} if post else None
    try:
        async with client() as http:
            reply = await ask(http, webhook, "POST" if sample else "GET", "", sample)
            if sample and reply.good:
                if reply.message is None:
                    return "Discord fails: its answer has no message id"
                reply = await ask(http, webhook, "DELETE", reply.message)
    except RacebotError as error:
        return f"{error}: check the network"
    if reply.good:
        return None
    return f"{GONE if reply.status in REFUSALS else 'Discord fails'}: {reply.problem}"


@dataclass
class DiscordSender:
    """Shows each race in one message. `backoff` names webhooks and races that fail."""

    settings: Settings
    ledger: Ledger
    call: RunOnLedger
    backoff: Backoff
    clock: Callable[[], datetime] = utc_now
    _is_posting: bool = False

    async def send(self) -> None:
        """Post and edit what waits, apart from webhooks that pause.

        If cancelled, wait for the id of a message that is being posted: the next start would post it again.
        """
        sending = asyncio.create_task(self._send_all())
        try:
            await asyncio.shield(sending)
        except asyncio.CancelledError:
            self.backoff.rest(ALL, float("inf"))
            await asyncio.wait({sending}, timeout=POST_WITHIN if self._is_posting else 0)
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            raise

    async def summarize(self) -> None:
        """Queue the summaries that are due."""
        await self.call(queue_digests, self.ledger, self.settings, self.clock())

    async def _send_all(self) -> None:
        for webhook, address in self.settings.webhooks().items():
            if not (races := await self.call(self.ledger.posts.waiting, webhook)):
                continue
            source, left = f"Discord webhook {webhook}", AT_ONCE
            async with client() as http:
                for race in races:
                    if left and not self.backoff.rests(ALL, source, f"{race} on Discord"):
                        await self._send(race, webhook, http, address)
                        left -= 1

    async def _send(self, race: str, webhook: str, http: Http, address: SecretStr) -> None:
        item, source = f"{race} on Discord", f"Discord webhook {webhook}"
        try:
            post = await self.call(self.ledger.posts.get, race, webhook)
            note = partial(self.ledger.posts.note, post)
            body, players = await asyncio.to_thread(self._body, post)
            if body is None:
                await self.call(note, post.message)
                return
        except Exception as error:  # it must not keep other races waiting
            self.backoff.note(item, error)
            return
        try:
            reply = await self._show(post, http, address, body)
            problem, is_answer = reply.problem, reply.code is not None
            if reply.good and (message := reply.message or post.message):
                self.backoff.worked(source)
                self.backoff.worked(item)
                await self.call(note, message, players=players)
            elif is_answer and reply.status in REFUSALS and reply.code != UNKNOWN_MESSAGE:
                log.error("%s: %s (%s); nothing is sent until the next start", source, GONE, problem)
                self.backoff.rest(source, float("inf"))
                await self.call(note, post.message, GONE, waits=True)
            elif is_answer and reply.status in range(400, 429):
                log.error("%s: %s is not shown: %s", source, post.race, problem)
                await self.call(note, post.message, problem)
            elif reply.good or not reply.pause:
                raise SiteError(
                    "Discord answers without a message id" if reply.good else f"Discord: {problem}"
                )
            if reply.pause:
                self.backoff.rest(ALL if reply.is_global else source, reply.pause)
        except Exception as error:
            self.backoff.note(source, error)
        finally:
            self._is_posting = False

    async def _show(self, post: Post, http: Http, address: SecretStr, body: object) -> Posted:
        """Edit the message of a post, or post it if it has none or somebody deleted it."""
        if post.message:
            reply = await ask(http, address, "PATCH", post.message, body)
            if reply.code != UNKNOWN_MESSAGE or post.posts >= MOST_POSTS:
                return reply
        self._is_posting = True
        return await ask(http, address, "POST", "", body)

    def _body(self, post: Post) -> tuple[dict[str, Any] | None, frozenset[str]]:
        """Return what a post should show now, None if it stays as it is, and the players of a summary."""
        with Ledger.open_to_read(self.ledger.path) as ledger:
            draw = digest_embeds if post.is_digest else race_embeds
            embeds = draw(ledger, self.settings, post)
            players = frozenset[str]().union(*(each.players for each in embeds))
            return body_of(embeds, self.settings.texts) if embeds else None, players


def race_embeds(ledger: Ledger, settings: Settings, post: Post) -> list[Embed]:
    """Return what a post shows of its race: a part for each leaderboard of the channel, or its withdrawal.

    Nothing changes in a channel whose leaderboards all moved to others.

    Raises:
        RacebotError: the race is being rated again.
    """
    stored, rated = ledger.races.get(post.race), list[RatedRace]()
    if stored is not None:
        rows = [(board, ledger.ratings.get(board, post.race)) for board in ledger.leaderboards.all()]
        rated = [RatedRace(board, stored.result, row.changes, row.note) for board, row in rows if row]
    elif post.result is not None:
        rated = Settler(ledger, rating_rules(settings)).preview(post.result)
    if any(each.note == RATED_LATER for each in rated):
        raise RacebotError(f"{post.race}: {RATED_LATER}")
    here = (each for each in rated if settings.webhook_of(each.leaderboard) == post.webhook)
    if rated or not post.message:
        return [race_embed(ledger, settings, post, each, settled=stored is not None) for each in here]
    url = room_address(settings.site, post.race) or None
    return [Embed(title=post.race, url=url, opening=[settings.texts.not_counted])]
