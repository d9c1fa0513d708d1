"""Summaries on Discord: of a week, and of a season once it is final. Only their keys are stored."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from racebot.bot.discord_embed import Embed, names_line, upset_line
from racebot.bot.links import board_page
from racebot.chat.format import ordinal
from racebot.chat.wording import Texts
from racebot.ledger.discord import Post
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries.movement import WEEK, Week, week
from racebot.queries.recap import Recap, recap
from racebot.queries.records import Upset
from racebot.queries.seasons import final_since
from racebot.settings.model import Settings
from racebot.text.format import integer, signed
from racebot.text.safe import plain


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
    texts, settled, embeds = settings.texts, settings.provisional_races, []
    for board in ledger.leaderboards.all():
        name, listing, lines = plain(board.name), settings.listing(board), list[str]()
        if settings.webhook_of(board) != post.webhook:
            continue
        if post.race == _season_key(board):
            title = texts.discord_season.format(leaderboard=name)
            lines = _season(recap(ledger, board, listing, settled=settled), texts)
        elif post.race.startswith("week "):
            end = datetime.fromisoformat(post.race.removeprefix("week ")).replace(tzinfo=UTC)
            title = texts.discord_week.format(leaderboard=name, date=(end - WEEK / 7).date())
            found = week(ledger, board, listing, end, settled=settled)
            lines = _week(ledger, found, texts) if found else []
        if lines:
            url = board_page(settings, ledger, board)
            embeds.append(Embed(title=title, url=url, board=board.name, entries=lines))
    return embeds


def _season_key(board: Leaderboard) -> str:
    return f"season {board.category} {board.name}"


def _week(ledger: Ledger, found: Week, texts: Texts) -> list[str]:
    names = ledger.players.names([*found.climbers, *found.most_races])
    lines = [
        texts.discord_climber.format(
            ordinal=ordinal(place, texts), place=place, name=names_line([names[player]], texts)
        )
        for player, place in found.climbers.items()
    ]
    most = [names[player] for player in found.most_races]
    return lines + _notes(found.upsets, most, max(found.most_races.values(), default=0), texts)


def _season(found: Recap, texts: Texts) -> list[str]:
    lines = []
    for each in found.podium:
        total = f"{each.total:.1f}" if each.wins is None else integer(round(each.total))
        name = names_line([each.player.name], texts)
        lines.append(texts.discord_podium.format(place=each.place, name=name, total=total))
    if found.improved:
        improved = names_line([each.player.name for each in found.improved], texts)
        change = signed(round(found.improved[0].number))
        lines.append(texts.discord_improved.format(name=improved, change=change))
    most = [each.player.name for each in found.most_races]
    return lines + _notes(
        found.upsets, most, max((each.number for each in found.most_races), default=0), texts
    )


def _notes(upsets: Sequence[Upset], most: Sequence[str], races: float, texts: Texts) -> list[str]:
    """Return the lines about upsets and about the players with most races."""
    lines = [upset_line(each.player.name, each.chance, texts) for each in upsets]
    return lines + ([texts.discord_most.format(name=names_line(most, texts), count=races)] if most else [])
