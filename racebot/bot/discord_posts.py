"""Draws what Discord shows of races, weeks and seasons, as the ledger has them now, within Discord's limits.

Names are escaped, hidden players are masked, and nobody is mentioned.
Source: https://docs.discord.com/developers/resources/message#embed-object-embed-limits
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any
from urllib.parse import urljoin

from racebot.addresses import RACE_CARD, room_address
from racebot.bot.room.announcements import shown_race
from racebot.chat.format import NO_BREAK, chat_names, ordinal, percent
from racebot.chat.links import board_page, race_page
from racebot.chat.rating_message import opening, players, score_lines
from racebot.ledger.outbox import Post
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries.odds import winner_of
from racebot.queries.recap import WEEK, PodiumPlace, Recap, Week, final_since, recap, week
from racebot.queries.records import UPSET, Record
from racebot.queries.scores import league, scored
from racebot.queries.standings import listing_of
from racebot.scoring.table import ScoreTable
from racebot.settings.model import Settings
from racebot.settings.texts import Texts
from racebot.standings.settle import RatedRace
from racebot.text.format import Count, exact_time, integer, timer
from racebot.text.safe import in_markdown, plain

MOST_ENTRIES, MOST_NAMES = 10, 5
"""Entries that an embed lists, and names in one line."""
TITLE_LIMIT, DESCRIPTION_LIMIT, TOTAL_LIMIT, MOST_EMBEDS = 100, 4096, 6000, 10
COLORS = (0x2C4BB8, 0x0F766E, 0x7C3AED, 0xB45309, 0xBE185D, 0x4D7C0F)


@dataclass(frozen=True, slots=True, kw_only=True)
class Embed:
    """One leaderboard's part of a message, in lines of Markdown. `board` chooses its color.

    The last `entries` may be left out; then a line links to the `page` with all, or else to `url`.
    `pictures` have Discord's names. `players` are the ids of those whom a summary names.
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
    players: frozenset[str] = frozenset()


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
    """Join names that are Markdown, and count those that are too many for a line."""
    more = [texts.more.format(count=len(names) - MOST_NAMES)] if len(names) > MOST_NAMES else []
    return ", ".join([*names[:MOST_NAMES], *more])


def upset_line(name: str, chance: float, texts: Texts) -> str:
    """Return a line about a win, empty if it was no upset."""
    text = texts.discord_upset.format(name=name, chance=percent(chance, texts))
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


# Races


def race_embed(ledger: Ledger, settings: Settings, post: Post, rated: RatedRace, *, settled: bool) -> Embed:
    """Return a leaderboard's part of what a post shows of its race, which is `settled` if it counts."""
    texts, board = settings.texts, rated.leaderboard
    here = shown_race(ledger, settings, rated, settled=settled)
    names = chat_names(here.result.entrants, texts)
    names = {player: in_markdown(name) for player, name in names.items()}
    lines, goal = [] if settled else [opening([rated], texts)], plain(board.name)
    rules = listing_of(settings, board).ordering
    table = None
    if rules and scored(board, here.result, rules, rated.note):
        table = league(ledger, board, rules, here.result, before=post.race)
    winner, chance = winner_of(board, rated.changes, ledger.people.hidden())
    if table:
        lines.append(texts.scores.format(leaderboard=goal, number=len(table.races)))
        entries = _scores(table, names, texts)
    else:
        lines += [texts.info.format(goal=goal)] if settled else []
        here = replace(here, moves=post.moves.get(here.result.fingerprint(), {}).get(board.name, {}))
        own = texts.model_copy(update={"player": texts.discord_player})
        entries = [*players(here, own, escape=in_markdown).values()] or [texts.no_changes]
    is_upset = winner is not None and winner.races_before >= settings.provisional_races
    upset = upset_line(names[winner.player], chance, texts) if winner and is_upset else ""
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
            time, total = race.scores[each.id].time, f"{each.total.score:.1f}"
            more[each.id] = {
                "time": f" · {timer(time)}" if time else "",
                "ordinal": ordinal(each.place, texts),
                "total": total,
            }
    shown = {player: names[player] for player in more}
    return [*score_lines(race, shown, texts.discord_score, more).values()]


# Weeks and seasons: only their keys are stored


def queue_digests(ledger: Ledger, settings: Settings, now: datetime) -> None:
    """Queue the summaries of the last week that were not queued yet."""
    monday = now.astimezone(UTC).date() - timedelta(days=now.astimezone(UTC).weekday())
    for board in ledger.leaderboards.all():
        webhook, final = settings.webhook_of(board), final_since(board, now)
        if webhook and settings.discord_weekly:
            ledger.posts.put_digest(f"week {monday}", webhook)
        if webhook and final is not None and now - final < WEEK:
            ledger.posts.put_digest(_season_key(board), webhook)


def digest_embeds(ledger: Ledger, settings: Settings, post: Post) -> list[Embed]:
    """Return what a summary shows, as the ledger has it now: a part for each leaderboard of the channel."""
    texts, embeds = settings.texts, list[Embed]()
    for board in ledger.leaderboards.all():
        name, listing, lines = plain(board.name), listing_of(settings, board), list[str]()
        if settings.webhook_of(board) != post.webhook:
            continue
        if post.race == _season_key(board):
            title = texts.discord_title.format(leaderboard=name, season=Count(True), date="")
            lines, players = _season(recap(ledger, board, listing), texts)
        elif post.race.startswith("week "):
            end = datetime.fromisoformat(post.race.removeprefix("week ")).replace(tzinfo=UTC)
            date = (end - WEEK / 7).date()
            title = texts.discord_title.format(leaderboard=name, season=Count(False), date=date)
            found = week(ledger, board, listing, end)
            lines, players = _week(ledger, found, texts) if found else ([], frozenset())
        if lines:
            url = board_page(settings, ledger, board)
            embeds.append(Embed(title=title, url=url, board=board.name, entries=lines, players=players))
    return embeds


def _season_key(board: Leaderboard) -> str:
    return f"season {board.category} {board.name}"


def _markdown(name: str) -> str:
    return in_markdown(plain(name))


def _week(ledger: Ledger, found: Week, texts: Texts) -> tuple[list[str], frozenset[str]]:
    """Return the lines about a week, and the ids of its players."""
    named = ledger.people.names([*found.climbers, *found.most_races])
    names = {player: _markdown(name) for player, name in named.items()}
    lines = [
        texts.discord_climber.format(ordinal=ordinal(place, texts), place=place, name=names[player])
        for player, place in found.climbers.items()
    ]
    most, races = [names[player] for player in found.most_races], max(found.most_races.values(), default=0)
    players = {*names, *(each.player.id for each in found.upsets)}
    return lines + _digest_notes(found.upsets, most, races, texts), frozenset(players)


def _season(found: Recap, texts: Texts) -> tuple[list[str], frozenset[str]]:
    """Return the lines about a season, and the ids of its players."""
    lines = []
    for each in found.podium:
        total = f"{each.total:.1f}" if each.wins is None else integer(round(each.total))
        name = _markdown(each.player.name)
        lines.append(texts.discord_podium.format(place=each.place, name=name, total=total))
    most, races = found.most_races, max((each.number for each in found.most_races), default=0)
    lines += _digest_notes(found.upsets, [_markdown(each.player.name) for each in most], races, texts)
    named = chain[PodiumPlace | Record](found.podium, most, found.upsets)
    return lines, frozenset(each.player.id for each in named)


def _digest_notes(upsets: Sequence[Record], most: Sequence[str], races: float, texts: Texts) -> list[str]:
    """Return the lines about upsets and about the players with most races."""
    lines = [upset_line(_markdown(each.player.name), each.number, texts) for each in upsets]
    return lines + ([texts.discord_most.format(name=names_line(most, texts), count=races)] if most else [])
