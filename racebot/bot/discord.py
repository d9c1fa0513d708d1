"""Posts and edits the messages of races on Discord, as the ledger has them now. Chat never waits for it.

Webhooks have no idempotency key: a message whose id is lost in a crash or timeout is posted again. Names are
escaped, hidden players are masked, and no message mentions users.
Sources: https://docs.discord.com/developers/resources/webhook and
https://docs.discord.com/developers/resources/message#embed-object-embed-limits
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from urllib.parse import urljoin

from pydantic import SecretStr

from racebot.addresses import RACE_CARD, room_address
from racebot.bot.failures import Backoff
from racebot.bot.room.announcements import shown_race
from racebot.chat.format import NO_BREAK, chat_names, ordinal, percent
from racebot.chat.links import board_page, race_page
from racebot.chat.rating_message import opening, players, score_lines
from racebot.errors import PayloadError, RacebotError, SiteError
from racebot.ledger.connection import RunOnLedger
from racebot.ledger.outbox import Post
from racebot.ledger.rows import RATED_LATER
from racebot.ledger.store import Ledger
from racebot.queries.odds import winner_of
from racebot.queries.records import UPSET
from racebot.queries.scores import league, scored
from racebot.queries.standings import listing_of
from racebot.racetime.http import Http, Response
from racebot.scoring.table import ScoreTable
from racebot.settings.model import Settings
from racebot.settings.texts import Texts
from racebot.standings.counting import rating_rules
from racebot.standings.settle import RatedRace, Settler
from racebot.text.format import exact_time, timer
from racebot.text.parse import read_json
from racebot.text.safe import in_markdown, plain, printable

log = logging.getLogger(__name__)

SEND_EVERY = 1.0  # seconds between looks for messages to post or edit
AT_ONCE = 5  # most messages to send in one look, so that a new race does not wait for many old ones
TIMEOUT, LONGEST_PAUSE = 30.0, 3600.0
POST_WITHIN = 1.0  # seconds that a bot that stops waits for the id of a message which it just posted
LARGEST_ANSWER = 2**20
REFUSALS = {401, 403, 404}
UNKNOWN_MESSAGE = 10008  # https://docs.discord.com/developers/topics/opcodes-and-status-codes#json
GONE = "Discord refuses the webhook: it was deleted, or its address is wrong"
ALL = "Discord"  # the name of all webhooks, where one limit holds for them
MOST_ENTRIES = 10  # most entries that an embed lists
TITLE_LIMIT, DESCRIPTION_LIMIT, TOTAL_LIMIT, MOST_EMBEDS = 100, 4096, 6000, 10
COLORS = (0x2C4BB8, 0x0F766E, 0x7C3AED, 0xB45309, 0xBE185D, 0x4D7C0F)


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


async def check(webhook: SecretStr) -> str | None:
    """Ask for a webhook. Return what is wrong."""
    try:
        async with client() as http:
            reply = await ask(http, webhook, "GET")
    except RacebotError as error:
        return f"{error}: check the network"
    if reply.good and reply.message:  # the webhook's own id
        return None
    return f"{GONE if reply.status in REFUSALS else 'Discord fails'}: {reply.problem}"


@dataclass
class DiscordSender:
    """Shows each race in one message. `backoff` names webhooks and races that fail."""

    settings: Settings
    ledger: Ledger
    call: RunOnLedger
    backoff: Backoff
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
            body = await asyncio.to_thread(self._body, post)
            if body is None:
                await self.call(note, post.message)
                return
        except Exception as error:  # it must not keep other races waiting
            self.backoff.note(item, error)
            return
        try:
            self._is_posting = post.message is None
            method = "POST" if self._is_posting else "PATCH"
            reply = await ask(http, address, method, post.message or "", body)
            problem, is_answer = reply.problem, reply.code is not None
            if reply.good and (message := reply.message or post.message):
                self.backoff.worked(source)
                self.backoff.worked(item)
                await self.call(note, message)
            elif is_answer and reply.status in REFUSALS and reply.code != UNKNOWN_MESSAGE:
                log.error("%s: %s (%s); nothing is sent until the next start", source, GONE, problem)
                self.backoff.rest(source, float("inf"))
                await self.call(note, post.message, GONE, waits=True)
            elif is_answer and reply.status in range(400, 429):
                log.error("%s: %s is not shown: %s", source, post.race, problem)
                await self.call(note, post.message, problem)
            elif reply.good or not reply.pause:
                raise SiteError("Discord sent no message id" if reply.good else f"Discord: {problem}")
            if reply.pause:
                self.backoff.rest(ALL if reply.is_global else source, reply.pause)
        except Exception as error:
            self.backoff.note(source, error)
        finally:
            self._is_posting = False

    def _body(self, post: Post) -> dict[str, Any] | None:
        """Return what a post should show now, None if it stays as it is."""
        with Ledger.open_to_read(self.ledger.path) as ledger:
            rated = Settler(ledger, rating_rules(self.settings)).rated(post.race, post.result)
            embeds = race_embeds(ledger, self.settings, post, rated)
            return body_of(embeds, self.settings.texts) if embeds else None


def race_embeds(ledger: Ledger, settings: Settings, post: Post, rated: Sequence[RatedRace]) -> list[Embed]:
    """Return what a post shows of its race: a part for each leaderboard of the channel, or its withdrawal.

    Nothing changes in a channel whose leaderboards all moved to others. A race that is being rated again is
    a `RacebotError`.
    """
    if any(each.note == RATED_LATER for each in rated):
        raise RacebotError(f"{post.race}: {RATED_LATER}")
    here = (each for each in rated if settings.webhook_of(each.leaderboard) == post.webhook)
    if rated or not post.message:
        settled = ledger.races.has(post.race)
        return [race_embed(ledger, settings, post, each, settled=settled) for each in here]
    url = room_address(settings.site, post.race) or None
    return [Embed(title=post.race, url=url, opening=[settings.texts.not_counted])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Embed:
    """One leaderboard's part of a message, in lines of Markdown. `board` chooses its color.

    The last `entries` may be left out; then a line links to the `page` with all, or else to `url`.
    `pictures` have Discord's names.
    """

    title: str
    url: str | None
    page: str | None = None
    board: str = ""
    opening: Sequence[str] = ()
    entries: Sequence[str] = ()
    closing: Sequence[str] = ()
    timestamp: str | None = None
    pictures: Mapping[str, str | None] = field(default_factory=dict)


def body_of(embeds: Sequence[Embed], texts: Texts) -> dict[str, Any]:
    """Return the body of the request that posts or edits a message."""
    shown, embeds = [], embeds[:MOST_EMBEDS]
    limit = min(DESCRIPTION_LIMIT, TOTAL_LIMIT // len(embeds) - 2 * TITLE_LIMIT)  # titles may be escaped
    for each in embeds:
        fields = {
            "title": in_markdown(each.title, TITLE_LIMIT),
            "url": each.url,
            "description": _description(each, texts, limit),
            "color": COLORS[zlib.crc32(each.board.encode()) % len(COLORS)],
            "timestamp": each.timestamp,
            **{kind: url and {"url": url} for kind, url in each.pictures.items()},
        }
        shown.append({name: value for name, value in fields.items() if value})
    return {"embeds": shown, "allowed_mentions": {"parse": []}}


def _description(embed: Embed, texts: Texts, limit: int) -> str:
    """Join the lines of an embed, with as many entries as fit."""
    text, page = "", embed.page or embed.url
    for shown in range(min(MOST_ENTRIES, len(embed.entries)), -1, -1):
        rest = len(embed.entries) - shown
        more = texts.more.format(count=rest) if rest else ""
        link = f"[{more}]({page})" if more and page else more
        lines = [*embed.opening, *embed.entries[:shown], link, *embed.closing]
        text = "\n".join(filter(None, lines)).replace(NO_BREAK, " ")  # narrow screens would break in words
        if len(text) <= limit:
            break
    return text[:limit]


def race_embed(ledger: Ledger, settings: Settings, post: Post, rated: RatedRace, *, settled: bool) -> Embed:
    """Return a leaderboard's part of what a post shows of its race, which is `settled` if it counts."""
    texts, board = settings.texts, rated.leaderboard
    here = shown_race(ledger, settings, rated, settled=settled)
    rules, table = listing_of(settings, board).ordering, None
    if rules and scored(board, here.result, rules, rated.note):
        table = league(ledger, board, rules, here.result, before=post.race)
    winner, chance = winner_of(board, rated.changes, here.changes)
    names = chat_names(here.result.entrants, texts)
    names = {player: in_markdown(name) for player, name in names.items()}
    lines, goal = [] if settled else [opening([rated], texts)], plain(board.name)
    if table:
        lines.append(texts.scores.format(leaderboard=goal, number=len(table.races)))
        entries = _scores(table, names, texts)
    else:
        lines += [texts.info.format(goal=goal)] if settled else []
        here = replace(here, moves=post.moves.get(here.result.fingerprint(), {}).get(board.name, {}))
        own = texts.model_copy(update={"player": texts.discord_player})
        entries = [*players(here, own, escape=in_markdown).values()] or [texts.no_changes]
    upset = ""
    if winner is not None and winner.races_before >= settings.provisional_races and chance < UPSET:
        upset = texts.discord_upset.format(name=names[winner.player], chance=percent(chance, texts))
    avatar = ledger.profiles.get(winner.player if winner else "").avatar
    page = race_page(settings, post.race) if settled else None
    links = {texts.button_leaderboard: board_page(settings, ledger, board), texts.button_why: page}
    return Embed(
        title=f"{goal} · {post.race.rpartition('/')[2]}",
        url=room_address(settings.site, post.race) or page,
        page=page,
        board=board.name,
        opening=[in_markdown(line.strip(" :"), TITLE_LIMIT) for line in lines],
        entries=entries,
        closing=[
            upset,
            " · ".join(f"[{in_markdown(label)}]({to})" for label, to in links.items() if label and to),
        ],
        timestamp=exact_time(here.result.ended_at),
        pictures={
            "thumbnail": avatar and urljoin(settings.site, avatar),
            "image": race_page(settings, post.race, RACE_CARD) if page and settings.pages_cards else None,
        },
    )


def _scores(table: ScoreTable, names: Mapping[str | None, str], texts: Texts) -> list[str]:
    """Return a line for each racer of a league's last race with the score, the place and the total."""
    race, more = table.races[-1], dict[str, dict[str, str]]()
    for each in table.standings:
        if each.id in race.scores:
            time = race.scores[each.id].time
            facts = {"ordinal": ordinal(each.place, texts), "total": f"{each.total.score:.1f}"}
            more[each.id] = {**facts, "time": f" · {timer(time)}" if time else ""}
    shown = {player: names[player] for player in more}
    return [*score_lines(race, shown, texts.discord_score, more).values()]
