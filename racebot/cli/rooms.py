"""Shows which race rooms count on which leaderboard, and reads a room that an order lets count."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from racebot.bot.heartbeat import utc_now
from racebot.cli import common
from racebot.cli.commands import app
from racebot.cli.common import AsJson, Database, console
from racebot.cli.tables import safe, table
from racebot.errors import NotFoundError, OrderError
from racebot.races.result import RaceResult
from racebot.races.rooms import Reason, Room, Verdict
from racebot.racetime.client import Site
from racebot.settings.model import Settings
from racebot.standings.counting import LeaderboardConfig, RatingRules

USUAL_DAYS = 30


@app.command("rooms")
def show_rooms(
    name: Annotated[str, typer.Argument(help="A category's slug, or a leaderboard of racebot.toml.")],
    since: Annotated[
        datetime | None, common.date_option("Show races that ended that day (UTC) or later.")
    ] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show open and past rooms of 30 days, and why each counts on a leaderboard or does not.

    Example: racebot rooms "SGL 2026" --since 2026-09-01
    """
    settings = common.load_settings(database=database)
    rules = settings.rules()
    slugs = [slug for slug in settings.slugs() if slug == name]
    chosen = [config for config in rules.named if slugs or config.name.casefold() == name.casefold()]
    if not (slugs or chosen):
        known = [*settings.slugs(), *(config.name for config in rules.named)]
        raise common.no_leaderboard(name, known, "category or leaderboard of the settings")
    if not slugs:
        slugs = [s for s in settings.slugs() if any(config.category in {"", s} for config in chosen)]
    oldest = since or utc_now() - timedelta(days=USUAL_DAYS)

    async def rows(site: Site) -> list[dict[str, Any]]:
        return [
            row
            for slug in slugs
            async for room in rooms_of(site, slug, rules, oldest)
            for row in _rows(room, rules, chosen, everything=name in settings.slugs())
        ]

    found = common.ask_site(settings.site, rows, interval=settings.request_interval)
    if as_json:
        common.print_json(found)
        return
    made = table(None, "Room", "Goal", "Leaderboard", "Counts", "Why")
    made.columns[0].no_wrap = True  # so that names can be copied
    for row in found:
        cells = (row["room"], row["goal"], row["leaderboard"], "yes" if row["counts"] else "no", row["why"])
        made.add_row(*map(safe, cells))
    console.print(made if found else "no rooms")


async def rooms_of(site: Site, slug: str, rules: RatingRules, oldest: datetime) -> AsyncIterator[Room]:
    """Yield a category's open rooms, its past races since `oldest`, and the rooms listed by name.

    A race's own data is read where the lists do not show the room, or what a leaderboard needs to know.
    """
    listed = set(rules.listed_rooms(slug))
    shown: dict[str, Room] = dict((await site.category(slug)).rooms)
    async for _, page in site.past_race_pages(slug, since=oldest):
        shown.update({race.name: race for race in page.races})
    for name in sorted(listed - shown.keys()):
        try:
            yield (await site.race(name))[0]
        except NotFoundError:
            common.tell(f"{name}: the site has no such room", to=common.notices)
    for room in shown.values():
        if room.ended_at is None or room.ended_at >= oldest or room.name in listed:
            yield (await site.race(room.name))[0] if rules.lacks_opener(room) else room


def in_words(verdict: Verdict) -> str:
    """Return the reason of a verdict as text."""
    text = verdict.reason.value.format(value=verdict.value)
    return f"{text}; nearest: {verdict.nearest!r}" if verdict.nearest else text


def unrecorded_result(settings: Settings, rules: RatingRules, name: str) -> RaceResult:
    """Return the result of a race that counts without a record, as the site shows it now.

    Raises:
        OrderError: the race is not over, or counts on no leaderboard without a record.
    """
    race, _ = common.ask_site(settings.site, lambda site: site.race(name), interval=settings.request_interval)
    result = race.result
    if result is None or not result.final:
        raise OrderError(f"{name} is not finished: repeat this afterwards")
    if rules.grace(result) is None:
        raise OrderError(f"{name} counts on no leaderboard with counts = 'finished'")
    return result


def _rows(
    room: Room, rules: RatingRules, chosen: list[LeaderboardConfig], *, everything: bool
) -> list[dict[str, Any]]:
    own = [c for c in rules.configs_for(room) if everything and c.name not in {x.name for x in rules.named}]
    current = [c for c in rules.named_in(room.category) if c.name in {each.name for each in chosen}]
    verdicts = [(c, c.rule.judge(room, c.goals)) for c in current]
    verdicts += [(config, Verdict(Reason.MATCHES)) for config in own]
    return [
        {
            "room": room.name,
            "started_at": room.started_at,
            "goal": room.goal,
            "custom_goal": room.custom_goal,
            "leaderboard": config.name,
            "counts": verdict.counts,
            "reason": verdict.reason.name.lower(),
            "why": in_words(verdict)
            + (", if recorded" if verdict.counts and not config.rule.finished else ""),
            "nearest": verdict.nearest,
        }
        for config, verdict in verdicts
    ]
