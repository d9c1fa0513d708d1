"""Set up a bot by questions, and check the setup."""

import asyncio
import json
import os
import platform
import re
import sqlite3
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from importlib.metadata import requires, version
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from pydantic import SecretStr
from rich.text import Text

from racebot import __version__, logs
from racebot.bot import discord
from racebot.cli.commands import loaded
from racebot.cli.common import ask_site, console, create_ledger, load_settings, print_json, tell
from racebot.errors import LedgerError, NotFoundError, RacebotError, SettingsError, SiteError
from racebot.ledger.lock import running
from racebot.ledger.store import Ledger
from racebot.racetime.client import Site
from racebot.racetime.payload import Category
from racebot.settings.model import NO_GOAL, PREFIX, Settings
from racebot.settings.sources import load, secret_files
from racebot.settings.tables import CategorySettings
from racebot.settings.write import add_table, edit_leaderboards, write_env
from racebot.text.format import counted
from racebot.text.parse import did_you_mean
from racebot.text.safe import printable

COLORS = {"ok": "green", "note": "yellow", "wrong": "red"}
NONE = "none"  # the answer of people who have no bot


@loaded.command()
def setup(
    site: Annotated[str | None, typer.Option(help="The site's address; only a test site needs this.")] = None,
    league: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN",
            help="Set up a league of rooms with custom goals like 'SGL 2026*'. Asks nothing.",
        ),
    ] = None,
    category: Annotated[str, typer.Option(help="For `--league`: the category's slug.")] = "",
) -> None:
    """Set up a bot for a category, question by question. Run it again to change an answer.

    Nothing is saved before it fetches past races. Scripts write `.env` and run `racebot backfill` instead.

    Example: racebot setup --league "SGL 2026*" --category ootr
    """
    before = load()
    if league is not None:
        _set_up_league(league, category, site)
        return
    if before.categories:
        raise SettingsError(
            f"{before.config}: has [[categories]]: setup is for one category; edit the file, then run "
            "`racebot doctor`"
        )
    address = load(site=site).site
    if not sys.stdin.isatty():
        raise SettingsError("setup asks questions in a terminal: run it in one, or write .env by hand")
    logs.to_stderr("error")
    try:
        answers = {"site": address} | _asked(before, address)
    except (KeyboardInterrupt, typer.Abort):
        say("\nStopped. Nothing was saved.")
        raise KeyboardInterrupt from None
    settings = _save(before, answers)
    say(f"ok  saved in {Path('.env').absolute()}, which only you can read")
    say("\n3 of 3  Past races", style="bold")
    try:
        _rate_past_races(settings)
    except KeyboardInterrupt:
        say("\nStopped. Your settings are saved; `racebot setup` or `racebot backfill` resumes.")
        raise
    if running(settings.database):
        say("\nThe bot is running. Restart it to use the new settings.", style="bold")
        return
    say("\nEverything is set up. Start the bot with", style="bold")
    say(f"\n    {sys.argv[0]} run\n")
    say("It joins every race room of the category. Ctrl-C stops it. docs/operating.md has the rest.")


def _set_up_league(pattern: str, slug: str, site: str | None) -> None:
    settings, name = load(site=site), " ".join(re.sub(r"[][*?]", " ", pattern).split())
    if not (slug and name):
        missing = "a name before the *" if slug else "--category, the end of the category's address"
        raise SettingsError(f"racebot setup --league {pattern!r}: add {missing}")
    category = find_category(settings.site, slug)
    official = [goal for goal in category.goals if fnmatchcase(goal.casefold(), pattern.casefold())]
    rooms = ({"goals": official} if official else {}) | {"custom_goals": [pattern]}
    league = {"name": name, "category": category.slug, **rooms, "counts": "finished", "grace": "1 h"}

    def change(tables: Any) -> None:
        if any(name == each.get("name") for each in tables):
            raise SettingsError(f"{settings.config}: there is a leaderboard {name!r} already: edit it there")
        add_table(tables, league)

    edit_leaderboards(settings.config, change, lambda draft: load(config=draft))
    if site:
        write_env(Path(".env"), {f"{PREFIX}SITE": settings.site})
    say(f"ok  {name} is a leaderboard of {settings.config}: its rooms count an hour after they finish")
    _rate_past_races(load())
    say(f'`racebot rooms "{name}"` shows which rooms count, `racebot web` the pages.')
    say("`racebot run` follows new rooms; or repeat `racebot backfill`.")


def _asked(before: Settings, site: str) -> dict[str, Any]:
    say("Set up racebot", style="bold")
    say(
        "This asks for your category and its bot, then rates the past races. It takes a few minutes. "
        "Ctrl-C stops it; nothing is saved before step 3."
    )
    if before.category:
        say("Press Enter to keep an answer in brackets.")
    say("\n1 of 3  Category", style="bold")
    if not before.category:
        say(f"The category's short name is the end of its address: smr for {site}/smr.")
    category: Category = typer.prompt("Category", before.category, value_proc=partial(_known_category, site))
    say(f"ok  {category.name}, with {counted(len(category.goals), 'goal')}. RACEBOT_GOALS can limit them.")
    answers: dict[str, Any] = {"category": category.slug, "client_id": None, "client_secret": None}
    say("\n2 of 3  The bot's credentials", style="bold")
    say(
        "An owner of the category creates the bot on the site: Manage, then Bots. Copy its client id and "
        f"client secret from there. With {NONE}, racebot reads what is public, and says nothing in chat."
    )
    while (client_id := typer.prompt("Client id", before.client_id or NONE).strip()) != NONE:
        kept = _text(before.client_secret) if client_id == before.client_id else ""
        question = "Client secret [the stored one]" if kept else "Client secret"
        secret = typer.prompt(question, kept or None, hide_input=True, show_default=False).strip()
        try:
            check_bot(site, category.slug, client_id, secret)
        except RacebotError as error:
            say(f"    {error}", style="red")
        else:
            say(f"ok  the site accepts them; the bot belongs to {category.slug}")
            answers |= {"client_id": client_id, "client_secret": secret}
            break
    return answers if category.slug == before.category else answers | {"goals": None}


def _save(before: Settings, answers: Mapping[str, Any]) -> Settings:
    """Write the answers that are new to `.env`, and return the settings that hold now."""
    env = Path(".env")
    values: dict[str, str | None] = {}
    for name, answer in answers.items():
        if (text := _text(answer)) != _text(getattr(before, name)):
            variable = PREFIX + name.upper()
            if os.environ.get(variable):
                problem = "is set in the environment, which overrides .env: unset it first"
                raise SettingsError(f"{variable} {problem}")
            values |= {variable: text, f"{variable}_FILE": None}
    # Without values, this still closes the file to others.
    write_env(env, values)
    return load()


def _text(value: Any) -> str:
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value or "")


def _rate_past_races(settings: Settings) -> None:
    from racebot.cli.races import rate_from_site

    say("Fetching takes about a second for each hundred races. The bot stays silent.")
    create_ledger(settings)
    with Ledger.open(settings.database) as ledger:
        rate_from_site(settings, ledger, settings.slugs())
        if not ledger.leaderboards.all():
            of_league = "`racebot rooms` says which will"
            why = of_league if settings.leaderboards else "Does nobody record your races?"
            say(f"No past race counts yet. {why}; docs/leagues.md says how to choose races.")
            return
        say("`racebot evaluate` compares the rating models on your races.")


def say(text: str = "", *, style: str = "") -> None:
    """Print a paragraph, wrapped at the width of the terminal."""
    console.print(Text("\n".join(map(printable, text.split("\n"))), style))


def find_category(site_url: str, answer: str) -> Category:
    """Return the category with this slug or address."""
    slug = urlsplit(answer).path.strip("/").partition("/")[0] if "://" in answer else answer.strip("/")
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", slug := slug.lower()):
        raise RacebotError(f"Type the end of the category's address, such as smr for {site_url}/smr.")
    try:
        return ask_site(site_url, lambda site: site.category(slug), attempts=2)
    except NotFoundError:
        raise RacebotError(f"{site_url} has no category {slug!r}. Check the spelling.") from None


def _known_category(site_url: str, answer: str) -> Category:
    try:
        return find_category(site_url, answer.strip())
    except RacebotError as error:
        raise typer.BadParameter(str(error)) from None  # the question is repeated


def check_bot(site_url: str, slug: str, client_id: str, client_secret: str) -> None:
    """Check that these are the credentials of a bot of this category."""

    async def check(site: Site) -> None:
        token, _ = await site.token(client_id, SecretStr(client_secret))
        await site.category(slug, token)

    ask_site(site_url, check, attempts=2)


@loaded.command()
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
        needed = [re.split(r"[^\w.-]", each)[0] for each in requires("racebot") or () if ";" not in each]
        versions = {
            "racebot": __version__,
            "python": platform.python_version(),
            "system": platform.platform(),
            "sqlite": sqlite3.sqlite_version,
            **{name: version(name) for name in needed},
        }
        shown = settings and _without_secrets(settings)
        found = [{"good": each.good, "text": each.text} for each in findings]
        print_json({"versions": versions, "settings": shown, "findings": found})
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
QUOTED = re.compile(r"""(['"]).*?\1""")  # what a problem quotes: a value may be a secret in the wrong place
IDS: Any = {"client_id": True, "categories": {"__all__": {"client_id"}}}
IN_DOCKER = Path("/.dockerenv").exists()
LARGEST_CLOCK_ERROR = 30  # most seconds between this machine's clock and the site's


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
    yield _database(settings.database)
    if settings.pages_url and IN_DOCKER and not os.environ.get("FORWARDED_ALLOW_IPS"):
        yield _note("pages: in Docker, all readers count as one: set FORWARDED_ALLOW_IPS to the proxy or *")
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


def _database(path: Path) -> Finding:
    with suppress(OSError):  # opening the file reports the error
        if not path.exists():
            return _right(f"database {path}: does not exist yet; it is created when needed")
    try:
        with Ledger.open(path) as ledger:
            problems, boards = ledger.check(), ledger.leaderboards.all()
    except LedgerError as error:
        return _wrong(str(error))
    if problems:
        return _wrong(f"database {path}: {problems[0]}: restore a backup")
    return _right(f"database {path}: intact, {counted(len(boards), 'leaderboard')}")


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
    boards = [board for board in whole.leaderboards if board.category in {"", slug}]
    wanted = {*settings.goals, *(goal for board in boards for goal in board.goals)} - {NO_GOAL}
    for goal in sorted(wanted.difference(public.goals)):
        yield _note(
            f"goal {goal!r}: category {slug} has no goal of this name{did_you_mean(goal, public.goals)}. "
            "That is fine for a past season; otherwise correct RACEBOT_GOALS or racebot.toml"
        )
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
