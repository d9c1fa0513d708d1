"""Draws messages on Discord, within its limits. Names are escaped, and nobody is mentioned.

Source: https://docs.discord.com/developers/resources/message#embed-object-embed-limits
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from racebot.chat.format import NO_BREAK, percent
from racebot.chat.wording import Texts
from racebot.queries.records import UPSET
from racebot.text.safe import in_markdown, plain

MOST_ENTRIES, MOST_NAMES = 10, 5
"""Entries that an embed lists, and names in one line."""
TITLE_LIMIT, DESCRIPTION_LIMIT, TOTAL_LIMIT, MOST_EMBEDS = 100, 4096, 6000, 10
COLORS = (0x2C4BB8, 0x0F766E, 0x7C3AED, 0xB45309, 0xBE185D, 0x4D7C0F)


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


def body(embeds: Sequence[Embed], texts: Texts) -> dict[str, Any]:
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


def names_line(names: Sequence[str], texts: Texts) -> str:
    """Join names in Markdown, and count those that are too many for a line."""
    more = [texts.more.format(count=len(names) - MOST_NAMES)] if len(names) > MOST_NAMES else []
    return ", ".join([in_markdown(plain(name)) for name in names[:MOST_NAMES]] + more)


def upset_line(name: str, chance: float, texts: Texts) -> str:
    """Return a line about a win, empty if it was no upset."""
    text = texts.discord_upset.format(name=in_markdown(plain(name)), chance=percent(chance, texts))
    return text if chance < UPSET else ""


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
