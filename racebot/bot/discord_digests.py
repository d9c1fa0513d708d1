"""Summaries on Discord: of a week, and of a season once it is final. They are written once, as lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from racebot.bot.links import board_page
from racebot.chat.format import ordinal, percent
from racebot.chat.wording import Texts
from racebot.ledger.discord import Digest
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries.movement import WEEK, week
from racebot.queries.recap import recap
from racebot.queries.records import UPSET, Upset
from racebot.queries.seasons import final_since
from racebot.settings.model import Settings
from racebot.text.format import integer, signed
from racebot.text.safe import in_markdown, plain

NAME = "{name}"
"""Stands for the players of a line, whose names are those of the day when it is shown."""

Line = list[str]
"""A text, and the user ids of the players to name."""


def due(path: Path, settings: Settings, now: datetime) -> list[tuple[str, str, Digest]]:
    """Return the key, the webhook's id and the content of each summary that is not stored yet."""
    texts, found = settings.texts, defaultdict[tuple[str, str], list[dict[str, Any]]](list)
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    monday = today - timedelta(days=today.weekday())
    with Ledger.open_to_read(path) as ledger:
        for board in ledger.leaderboards.all():
            webhook, final, name = settings.webhook_of(board), final_since(board, now), plain(board.name)
            wanted: list[tuple[str, str, Callable[[], list[Line]]]] = []
            if settings.discord_weekly:
                title = texts.discord_week.format(leaderboard=name, date=f"{monday - WEEK / 7:%Y-%m-%d}")
                wanted.append(
                    (f"week {monday:%Y-%m-%d}", title, partial(_week, ledger, board, settings, monday))
                )
            if final is not None and now - final < WEEK:
                title = texts.discord_season.format(leaderboard=name)
                key = f"season {board.category} {board.name}"
                wanted.append((key, title, partial(_season, ledger, board, settings)))
            for key, title, written in wanted:
                if webhook and not ledger.posts.has(key, webhook) and (lines := written()):
                    page = board_page(settings, ledger, board)
                    part = {"board": board.name, "title": title, "url": page, "lines": lines}
                    found[key, webhook].append(part)
    return [(*at, parts) for at, parts in found.items()]


def names_of(ledger: Ledger, players: Collection[str], texts: Texts) -> dict[str, str]:
    """Return the names of players in Discord's Markdown."""
    hidden = ledger.orders.hidden()
    names = ledger.players.names(players)
    return {each: in_markdown(texts.hidden_name if each in hidden else plain(names[each])) for each in names}


def _week(ledger: Ledger, board: Leaderboard, settings: Settings, end: datetime) -> list[Line]:
    found = week(ledger, board, settings.listing(board), end, settled=settings.provisional_races)
    if found is None:
        return []
    texts = settings.texts
    climbed = [
        [texts.discord_climber.format(ordinal=ordinal(place, texts), place=place, name=NAME), player]
        for player, place in found.climbers.items()
    ]
    return climbed + _notes(found.upsets, found.most_races, texts)


def _season(ledger: Ledger, board: Leaderboard, settings: Settings) -> list[Line]:
    found = recap(ledger, board, settings.listing(board), settled=settings.provisional_races)
    texts, lines = settings.texts, []
    for place in found.podium:
        total = f"{place.total:.1f}" if place.wins is None else integer(round(place.total))
        lines.append(
            [texts.discord_podium.format(place=place.place, name=NAME, total=total), place.player.id]
        )
    if found.improved:
        text = texts.discord_improved.format(name=NAME, change=signed(found.improved[0].number))
        lines.append([text, *(each.player.id for each in found.improved)])
    return lines + _notes(found.upsets, {each.player.id: each.number for each in found.most_races}, texts)


def _notes(upsets: Sequence[Upset], most_races: Mapping[str, int], texts: Texts) -> list[Line]:
    lines = [
        [texts.discord_upset.format(name=NAME, chance=percent(each.chance, texts)), each.player.id]
        for each in upsets
        if each.chance < UPSET
    ]
    if most_races:
        text = texts.discord_most.format(name=NAME, count=max(most_races.values()))
        lines.append([text, *most_races])
    return lines
