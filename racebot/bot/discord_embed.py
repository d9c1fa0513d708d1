"""A race as a message on Discord, within Discord's limits. Names are escaped, and nobody is mentioned.

Source: https://docs.discord.com/developers/resources/message#embed-object-embed-limits
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import numpy as np

from racebot.bot.links import board_page, race_page
from racebot.bot.room.announcements import masked, rank_changes
from racebot.chat.format import chat_names, percent
from racebot.chat.rating_message import opening, players
from racebot.errors import RacebotError
from racebot.ledger.discord import Post
from racebot.ledger.rows import RATED_LATER
from racebot.ledger.store import Ledger
from racebot.queries.records import UPSET
from racebot.ratings import registry
from racebot.ratings.forecast import win_chances
from racebot.settings.model import Settings
from racebot.standings.settle import RatedRace, Settler
from racebot.text.format import exact_time
from racebot.text.safe import in_markdown, plain
from racebot.web.site.addresses import RACE_CARD

SHOWN = 10
"""Entrants that a message lists."""
TITLE_LIMIT, DESCRIPTION_LIMIT, TOTAL_LIMIT, MOST_EMBEDS = 100, 4096, 6000, 10
COLORS = (0x2C4BB8, 0x0F766E, 0x7C3AED, 0xB45309, 0xBE185D, 0x4D7C0F)


def message(*embeds: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a request that posts or edits a message."""
    return {"embeds": embeds[:MOST_EMBEDS], "allowed_mentions": {"parse": []}}


def body(path: Path, settings: Settings, post: Post) -> dict[str, Any] | None:
    """Return what a post should show, None for nothing. Raise `RacebotError` if the race is rated again."""
    with Ledger.open_to_read(path) as ledger:
        texts, stored = settings.texts, ledger.races.get(post.race)
        boards = ((board, ledger.ratings.get(board, post.race)) for board in ledger.leaderboards.all())
        rated = [RatedRace(b, stored.result, row.changes, row.note) for b, row in boards if row and stored]
        if stored is None and post.result is not None:
            rated = Settler(ledger, settings.rules()).preview(post.result)
        if any(each.note == RATED_LATER for each in rated):
            raise RacebotError(f"{post.race}: {RATED_LATER}")
        shown = [each for each in rated if settings.webhook_of(each.leaderboard) == post.webhook]
        url = f"{settings.site}/{post.race}"
        if shown:
            limit = min(DESCRIPTION_LIMIT, TOTAL_LIMIT // len(shown) - 2 * TITLE_LIMIT)
            return message(*(embed(ledger, settings, post, each, limit) for each in shown))
        withdrawn = {"title": in_markdown(post.race), "url": url, "description": texts.not_counted}
        return message(withdrawn) if post.message else None


def embed(ledger: Ledger, settings: Settings, post: Post, rated: RatedRace, limit: int) -> dict[str, Any]:
    """Return what a post shows of one leaderboard, in a description of up to `limit` characters."""
    texts, board = settings.texts, rated.leaderboard
    model, states = registry.create(board.model, board.parameters), [each.before for each in rated.changes]
    chances = win_chances(model, np.array(states)).tolist() if states else []
    won = [chance for each, chance in zip(rated.changes, chances, strict=True) if each.place == 1]
    rated, settled = masked(ledger, rated, texts), ledger.races.has(post.race)
    result = rated.result
    ranks = rank_changes(ledger, rated, settings.listing(board), settled=settled)
    ranks = replace(ranks, moves=post.moves.get(result.fingerprint(), {}).get(board.name, {}))
    first_line = texts.info.format(goal=plain(board.name)) if settled else opening([rated], texts)
    own = texts.model_copy(update={"player": texts.discord_player})
    entries = players(result, rated.changes, own, ranks, by_team=rated.by_team, escape=in_markdown)
    names = {player: in_markdown(name) for player, name in chat_names(result.entrants, texts).items()}
    url, page = f"{settings.site}/{post.race}", race_page(settings, post.race) if settled else None
    links = {texts.button_leaderboard: board_page(settings, ledger, board), texts.button_why: page}
    winner = next((each.player for each in rated.changes if each.place == 1), None)
    is_upset = winner is not None and won[0] < UPSET
    lines = [
        in_markdown(first_line.strip(" :"), TITLE_LIMIT),
        *([*entries.values()][:SHOWN] or [texts.no_changes]),
        f"[{texts.more.format(count=len(entries) - SHOWN)}]({page or url})" if len(entries) > SHOWN else "",
        texts.discord_upset.format(name=names[winner], chance=percent(won[0], texts)) if is_upset else "",
        " · ".join(f"[{in_markdown(label)}]({to})" for label, to in links.items() if label and to),
    ]
    while len("\n".join(filter(None, lines))) > limit:
        del lines[len(lines) // 2]
    shown: dict[str, Any] = {
        "title": in_markdown(f"{plain(board.name)} · {result.name.rpartition('/')[2]}", TITLE_LIMIT),
        "url": url,
        "description": "\n".join(filter(None, lines)),
        "color": COLORS[zlib.crc32(board.name.encode()) % len(COLORS)],
        "timestamp": exact_time(result.ended_at),
    }
    if winner is not None and (avatar := ledger.profiles.get(winner).avatar):
        shown["thumbnail"] = {"url": urljoin(settings.site, avatar)}
    if page and settings.pages_cards:
        shown["image"] = {"url": race_page(settings, post.race, RACE_CARD)}
    return shown
