"""Check the setup. As JSON, to attach to an issue: no secret is in it."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import re
import sqlite3
import sys
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import distributions
from pathlib import Path
from typing import Annotated, Any

import typer

from racebot import __version__
from racebot.bot import discord
from racebot.cli.commands import app
from racebot.cli.common import console, load_settings, print_json, tell
from racebot.errors import (
    LedgerError,
    NotFoundError,
    SettingsError,
    SiteError,
    missing_pages,
)
from racebot.ledger.store import Ledger
from racebot.racetime.client import Site
from racebot.settings.model import NO_GOAL, Settings
from racebot.settings.sources import secret_files
from racebot.settings.tables import CategorySettings
from racebot.standings.carry_over import unknown_sources
from racebot.standings.counting import rating_rules
from racebot.standings.follow_settings import proposals
from racebot.text.format import counted
from racebot.text.parse import did_you_mean

COLORS = {"ok": "green", "note": "yellow", "wrong": "red"}


@app.command()
def doctor(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print versions and settings, too, as JSON to attach to an issue.")
    ] = False,
) -> None:
    """Check settings, credentials, category, goals and database, and say how to fix any problem.

    JSON has no secrets, and no values of settings that are wrong. Look through it before you attach it.

    Example: racebot doctor
    """
    settings: Settings | None = None
    findings: list[Finding] = []

    async def show(settings: Settings) -> None:
        async for finding in examine(settings):
            findings.append(finding)
            if not as_json:
                mark = "wrong" if not finding.good else "note" if finding.note else "ok"
                console.print(f"{mark:5}", style=COLORS[mark], end=" ")
                tell(finding.text)

    try:
        settings = load_settings()
    except SettingsError as error:
        if not as_json:
            raise
        findings += [Finding(False, QUOTED.sub("'…'", problem)) for problem in error.problems]
    else:
        asyncio.run(show(settings))
    if as_json:
        print_json(
            {
                "versions": {
                    "racebot": __version__,
                    "python": platform.python_version(),
                    "system": platform.platform(),
                    "sqlite": sqlite3.sqlite_version,
                    "packages": {each.name: each.version for each in distributions()},
                },
                "settings": settings and _without_secrets(settings),
                "findings": [{"good": each.good, "text": each.text} for each in findings],
            }
        )
    if not all(finding.good for finding in findings):
        raise typer.Exit(2)


def _without_secrets(settings: Settings) -> Any:
    text = settings.model_dump_json(exclude_unset=True, exclude=IDS)
    known = [settings.client_secret, *settings.webhooks().values()]
    for secret in (*known, *(each.client_secret for each in settings.categories)):
        if secret is not None:  # it may stand in another setting, too
            text = text.replace(json.dumps(secret.get_secret_value(), ensure_ascii=False)[1:-1], "[removed]")
    return json.loads(text)


_SECRETS = re.compile("client_secret|/webhooks/")
QUOTED = re.compile(r"""(['"]).*?\1""")
"""What a problem quotes: a value may be a secret in the wrong place."""
IDS: Any = {"client_id": True, "categories": {"__all__": {"client_id"}}}
IN_DOCKER = Path("/.dockerenv").exists()
LARGEST_CLOCK_ERROR = 30
"""Most seconds between this machine's clock and the site's."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check. A note is good, and worth a look."""

    good: bool
    text: str
    note: bool = False


_wrong, _right, _note = partial(Finding, False), partial(Finding, True), partial(Finding, True, note=True)


async def examine(settings: Settings) -> AsyncIterator[Finding]:
    """Check settings, files, database, site, credentials, categories and goals."""
    yield _right(f"settings: valid; model {settings.model}")
    for path in (Path(".env"), settings.config, settings.database, *secret_files(Path())):
        if open_to_all(path) and (path != settings.config or _SECRETS.search(path.read_text("utf-8"))):
            yield _wrong(f"{path}: every user of this machine can read it: run `chmod o= {path}`")
    yield _database(settings)
    if settings.pages_dir is not None:
        yield _pages(settings.pages_dir)
    if settings.pages_url and IN_DOCKER and not os.environ.get("FORWARDED_ALLOW_IPS"):
        yield _note(
            "pages: in Docker, all readers count as one: set FORWARDED_ALLOW_IPS to the proxy, or to *"
        )
    for number, webhook in settings.webhooks().items():
        problem = await discord.check(webhook)
        yield Finding(problem is None, f"Discord webhook {number}: {problem or 'exists'}")
    try:
        categories = settings.required_categories()
    except SettingsError as error:
        yield _wrong(str(error))
        return
    async with Site(settings.site, interval=settings.request_interval, attempts=2) as site:
        for category in categories:
            async for finding in _category(site, category, settings):
                yield finding
        ahead = (datetime.now(UTC) - site.clock()).total_seconds()
        if abs(ahead) > LARGEST_CLOCK_ERROR:
            yield _wrong(
                f"clock: this machine is {abs(ahead):.0f} seconds {'ahead of' if ahead > 0 else 'behind'} "
                f"{site.url}: synchronize it, as with `timedatectl set-ntp true`"
            )


def open_to_all(path: Path) -> bool:
    with suppress(OSError):  # on Windows, the mode says nothing about access
        return sys.platform != "win32" and bool(path.stat().st_mode & 0o007)
    return False


def _database(settings: Settings) -> Finding:
    path = settings.database
    with suppress(OSError):  # opening the file reports the error
        if not path.exists():
            return _right(f"database {path}: does not exist yet; it is created when needed")
    try:
        with Ledger.open(path) as ledger:
            problems = ledger.check()
            boards = ledger.leaderboards.all()
    except LedgerError as error:
        return _wrong(str(error))
    if problems:
        return _wrong(f"database {path}: {problems[0]}: restore a backup")
    for problem in unknown_sources(rating_rules(settings), boards):
        return _wrong(problem)
    text = f"database {path}: intact, {counted(len(boards), 'leaderboard')}"
    for each in proposals(rating_rules(settings), boards):
        text += f"; {each.stored.name}: {each.reason}: preview it with `racebot improve`"
    return _right(text)


def _pages(folder: Path) -> Finding:
    if (problem := missing_pages()) is not None:
        return _wrong(problem)
    place = next((each for each in (folder, *folder.absolute().parents) if each.exists()), folder)
    if not place.is_dir() or not os.access(place, os.W_OK):
        return _wrong(
            f"pages: {folder} is not writable: give it to the bot's user, or correct RACEBOT_PAGES_DIR"
        )
    return _right(f"pages: written into {folder} after each race")


async def _category(site: Site, settings: CategorySettings, whole: Settings) -> AsyncIterator[Finding]:
    slug = settings.slug
    try:
        public = await site.category(slug)
        yield _right(f"category {slug}: {public.name}, goals: {', '.join(public.goals)}")
    except NotFoundError:
        yield _wrong(f"category {slug}: {site.url} has no such category: correct RACEBOT_CATEGORY")
        return
    except SiteError as error:
        yield _wrong(f"site: {error}: check RACEBOT_SITE and the network")
        return
    for finding in _goals(settings, whole, public.goals):
        yield finding
    if settings.client_id is None or settings.client_secret is None:
        yield _right(f"bot: none for {slug}, so racebot reads what is public and says nothing in chat")
        return
    try:
        token, lifetime = await site.token(settings.client_id, settings.client_secret)
        yield _right(f"credentials: accepted, token good for {lifetime / 3600:.0f} h")
        await site.category(slug, token)
        yield _right(f"bot: can see the unlisted rooms of {slug}")
    except SiteError as error:
        yield _wrong(f"credentials: {error}")


def _goals(settings: CategorySettings, whole: Settings, public: Collection[str]) -> Iterator[Finding]:
    """Check that the goals to rate exist on the site, or existed when the ledger's races were raced."""
    known = set(public)
    with suppress(LedgerError), Ledger.open_to_read(whole.database) as ledger:
        known |= {goal for category, goal in ledger.races.goals() if category == settings.slug}
        known |= ledger.races.renamed_goals().get(settings.slug, {}).keys()
    boards = [board for board in whole.leaderboards if board.category in {"", settings.slug}]
    limit = [goal for goal in settings.goals if settings.goals != [NO_GOAL]]
    wanted = dict.fromkeys([*limit, *(goal for board in boards for goal in board.goals)])
    for goal in (each for each in wanted if each not in known):
        yield _note(
            f"goal {goal!r}: category {settings.slug} has no goal of this name{did_you_mean(goal, public)}. "
            "That is fine for a past season; otherwise correct RACEBOT_GOALS or racebot.toml"
        )
    by_goals = all(board.rule().by_goals_alone for board in boards)
    if by_goals and wanted and not wanted.keys() & known:
        yield _wrong(
            f"goals: no race of {settings.slug} will be rated: correct RACEBOT_GOALS or racebot.toml"
        )
