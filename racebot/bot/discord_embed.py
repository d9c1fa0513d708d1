"""Draws messages on Discord, within its limits. Names are escaped, and nobody is mentioned.

Source: https://docs.discord.com/developers/resources/message#embed-object-embed-limits
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from racebot.bot.discord_facts import RaceFacts
from racebot.chat.format import chat_names, ordinal, percent
from racebot.chat.rating_message import opening, players
from racebot.chat.scores import score_lines
from racebot.chat.wording import Texts
from racebot.ledger.discord import Post
from racebot.queries.records import UPSET
from racebot.scoring.table import Table
from racebot.settings.model import Settings
from racebot.text.format import exact_time, timer
from racebot.text.safe import in_markdown, plain

SHOWN = 10
"""Entrants that a message lists."""
TITLE_LIMIT, DESCRIPTION_LIMIT, TOTAL_LIMIT, MOST_EMBEDS = 100, 4096, 6000, 10
COLORS = (0x2C4BB8, 0x0F766E, 0x7C3AED, 0xB45309, 0xBE185D, 0x4D7C0F)


def race(found: Sequence[RaceFacts], settings: Settings, post: Post) -> dict[str, Any] | None:
    """Return the body of the request that shows a race, None for nothing."""
    url, embeds = f"{settings.site}/{post.race}", []
    if found:
        embeds = [_embed(each, settings, url, _limit(len(found))) for each in found[:MOST_EMBEDS]]
    elif post.message:
        withdrawn = settings.texts.not_counted
        embeds = [{"title": in_markdown(post.race), "url": url, "description": withdrawn}]
    return {"embeds": embeds, "allowed_mentions": {"parse": []}} if embeds else None


def _embed(facts: RaceFacts, settings: Settings, url: str, limit: int) -> dict[str, Any]:
    """Return what a message shows of one leaderboard, in a description of up to `limit` characters."""
    rated, result, board, texts = facts.rated, facts.rated.result, facts.rated.leaderboard, settings.texts
    names = {player: in_markdown(name) for player, name in chat_names(result.entrants, texts).items()}
    first_line = texts.info.format(goal=plain(board.name)) if facts.settled else opening([rated], texts)
    if facts.table is None:
        own = texts.model_copy(update={"player": texts.discord_player})
        entries = players(result, rated.changes, own, facts.ranks, by_team=rated.by_team, escape=in_markdown)
    else:
        first_line = texts.scores.format(leaderboard=plain(board.name), number=len(facts.table.races))
        entries = _scores(facts.table, names, texts)
    notes = [
        texts.discord_upset.format(name=names[facts.winner], chance=percent(facts.chance, texts))
        if facts.chance < UPSET
        else "",
        texts.discord_best.format(names=", ".join(names[each] for each in facts.bests))
        if facts.bests
        else "",
    ]
    links = {texts.button_leaderboard: facts.board_page, texts.button_why: facts.race_page}
    lines = [
        in_markdown(first_line.strip(" :"), TITLE_LIMIT),
        *([*entries.values()][:SHOWN] or [texts.no_changes]),
        f"[{texts.more.format(count=len(entries) - SHOWN)}]({facts.race_page or url})"
        if len(entries) > SHOWN
        else "",
        " · ".join(filter(None, notes)),
        " · ".join(f"[{in_markdown(label)}]({to})" for label, to in links.items() if label and to),
    ]
    shown = {
        "title": in_markdown(f"{plain(board.name)} · {result.name.rpartition('/')[2]}", TITLE_LIMIT),
        "url": url,
        "description": _fitted(lines, limit),
        "color": _color(board.name),
        "timestamp": exact_time(result.ended_at),
        "thumbnail": facts.avatar and {"url": facts.avatar},
        "image": facts.card and {"url": facts.card},
    }
    return {name: value for name, value in shown.items() if value is not None}


def digest(post: Post, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the body of the request that shows a summary, with the names of its players."""
    parts, embeds = post.digest[:MOST_EMBEDS], []
    for part in parts:
        lines = (
            text.replace("{name}", ", ".join(names[each] for each in ids)) for text, *ids in part["lines"]
        )
        shown = {
            "title": in_markdown(part["title"], TITLE_LIMIT),
            "description": _fitted(list(lines), _limit(len(parts))),
            "color": _color(part["board"]),
        }
        embeds.append(shown | ({"url": part["url"]} if part["url"] else {}))
    return {"embeds": embeds, "allowed_mentions": {"parse": []}}


def _limit(embeds: int) -> int:
    """Return how long the description of each of several embeds may be."""
    return min(DESCRIPTION_LIMIT, TOTAL_LIMIT // embeds - 2 * TITLE_LIMIT)


def _fitted(lines: list[str], limit: int) -> str:
    while len("\n".join(filter(None, lines))) > limit:
        del lines[len(lines) // 2]
    return "\n".join(filter(None, lines))


def _color(board: str) -> int:
    return COLORS[zlib.crc32(board.encode()) % len(COLORS)]


def _scores(table: Table, names: Mapping[str | None, str], texts: Texts) -> dict[str, str]:
    """Return a line for each racer of a league's last race with the score, the place and the total."""
    scored = table.races[-1]
    more = {
        each.player: {
            "time": f" · {timer(own.time)}" if (own := scored.scores[each.player]).time else "",
            "ordinal": ordinal(each.place, texts),
            "total": f"{each.total.score:.1f}",
        }
        for each in table.standings
        if each.player in scored.scores
    }
    return score_lines(scored, {player: names[player] for player in more}, texts.discord_score, more)
