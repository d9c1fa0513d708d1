"""Set up a bot by questions, and print the systemd unit that keeps it running."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from string import Template
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

import typer
from pydantic import SecretStr
from rich.text import Text

from racebot.cli.commands import app
from racebot.cli.common import ask_site, console, create_ledger, load_settings
from racebot.errors import NotFoundError, RacebotError, SettingsError
from racebot.ledger.lock import running
from racebot.ledger.store import Ledger
from racebot.racetime.client import Site
from racebot.racetime.payload import Category
from racebot.settings.model import PREFIX, Settings
from racebot.settings.sources import load
from racebot.settings.write import add_table, edit_leaderboards, write_env
from racebot.standings.backfill import Selection
from racebot.telemetry import logs
from racebot.text.format import counted
from racebot.text.safe import printable

T = TypeVar("T")

TEMPLATE = Path(__file__).with_name("racebot.service")


@app.command()
def setup(
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Use no bot: read what is public, and say nothing in chat.")
    ] = False,
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
    logs.to_stderr("error", before.log_format)
    try:
        answers = {"site": address} | _asked(before, address, read_only=read_only)
    except (KeyboardInterrupt, typer.Abort):
        say("\nStopped. Nothing was saved.")
        raise KeyboardInterrupt from None
    settings = _save(before, answers)
    confirm(f"saved in {Path('.env').absolute()}, which only you can read")
    say("\n3 of 3  Past races", style="bold")
    try:
        _rate_past_races(settings)
    except KeyboardInterrupt:
        say("\nStopped. Your settings are saved; `racebot setup` or `racebot backfill` resumes.")
        raise
    if running(settings.database):
        say("\nThe bot is running. Restart it to use the new settings.", style="bold")
        return
    words = " ".join(program())
    say("\nEverything is set up. Start the bot with", style="bold")
    say(f"\n    {words} run\n")
    say("It joins every race room of the category. Ctrl-C stops it. docs/operating.md has the rest.")
    say(f"`{words} service` says how to keep it running after you log out.")


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
    confirm(f"{name} is a leaderboard of {settings.config}: its rooms count an hour after they finish")
    _rate_past_races(load())
    words = " ".join(program())
    say(f'`{words} rooms "{name}"` shows which rooms count, `{words} web` the pages.')
    say(f"`{words} run` follows new rooms; or repeat `{words} backfill`.")


def _asked(before: Settings, site: str, *, read_only: bool) -> dict[str, Any]:
    say("Set up racebot", style="bold")
    say(
        "This asks for your category and its bot, then rates the past races. It takes a few minutes. "
        "Ctrl-C stops it; nothing is saved before step 3."
    )
    if before.category:
        say("Press Enter to keep an answer in brackets.")
    if not (read_only or before.client_id):
        read_only = not typer.confirm("Do you own the category?", default=before.category is None)
    say("\n1 of 3  Category", style="bold")
    stored = before.category or ""
    if not stored:
        say(f"The category's short name is the end of its address: smr for {site}/smr.")
    category = ask("Category", lambda answer: find_category(site, answer), default=stored)
    confirm(f"{category.name}, with {counted(len(category.goals), 'goal')}. RACEBOT_GOALS can limit them.")
    answers: dict[str, Any] = {"category": category.slug, "client_id": None, "client_secret": None}
    say("\n2 of 3  The bot's credentials", style="bold")
    if read_only:
        say("None: racebot reads what is public, and says nothing in chat. An owner can add a bot later.")
    else:
        answers["client_id"], answers["client_secret"] = _ask_credentials(before, site, category.slug)
    return answers if category.slug == stored else answers | {"goals": None}


def _ask_credentials(before: Settings, site: str, slug: str) -> tuple[str, str]:
    stored_id, stored_secret = before.client_id or "", _text(before.client_secret)
    if not stored_secret:
        say(
            "An owner of the category creates the bot on the site: Manage, then Bots. Copy its client id and "
            "client secret from there. The secret stays hidden while you type or paste it."
        )
    while True:
        client_id = ask("Client id", str, default=stored_id)
        keep = stored_secret if client_id == stored_id else ""
        secret = ask("Client secret", str, default=keep, shown="the stored one", hidden=True)
        try:
            check_bot(site, slug, client_id, secret)
        except RacebotError as error:
            say(f"    {error}", style="red")
        else:
            confirm(f"the site accepts them; the bot belongs to {slug}")
            return client_id, secret


def _save(before: Settings, answers: Mapping[str, Any]) -> Settings:
    """Write the answers that are new to `.env`, and return the settings that hold now."""
    env = Path(".env")
    values: dict[str, str | None] = {}
    for name, answer in answers.items():
        variable = PREFIX + name.upper()
        changed, in_environment = _text(answer) != _text(getattr(before, name)), os.environ.get(variable)
        if changed and in_environment:
            raise SettingsError(
                f"{variable} is set in the environment and overrides {env.absolute()}: unset it first"
            )
        if changed or in_environment:
            values[variable] = _text(answer)
    values |= {f"{name}_FILE": None for name in values}  # the value is in .env now
    # Without values, this still closes the file to others.
    write_env(env, values)
    return load()


def _text(value: Any) -> str:
    """Return a setting's value as it is written in `.env`."""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    return str(value or "")


def _rate_past_races(settings: Settings) -> None:
    from racebot.cli.past_races import rate_from_site

    say("Fetching takes about a second for each hundred races. The bot stays silent.")
    create_ledger(settings)
    with Ledger.open(settings.database) as ledger:
        rate_from_site(settings, ledger, settings.slugs(), Selection())
        if not ledger.leaderboards.all():
            why = "`racebot rooms` says why" if settings.leaderboards else "Does nobody record your races?"
            say(f"No past race counts yet. {why}; docs/leagues.md says how to choose races.")
            return
        say("`racebot evaluate` compares the rating models on your races.")


def say(text: str = "", *, style: str = "") -> None:
    """Print a paragraph, wrapped at the width of the terminal."""
    console.print(Text("\n".join(map(printable, text.split("\n"))), style))


def confirm(text: str) -> None:
    """Say that an answer is right."""
    console.print(Text.assemble(("ok  ", "green"), printable(text)))


def ask(
    question: str, check: Callable[[str], T], *, default: str = "", shown: str = "", hidden: bool = False
) -> T:
    """Ask until `check` accepts the answer, and return the value that it makes of the answer.

    Args:
        check: turns the answer into a value, or raises a RacebotError that says what is wrong.
        default: the answer of a user who just presses Enter, shown as it is or as `shown`.
        hidden: whether to hide what the user types.
    """
    prompt = f"{question} [{shown or default}]" if default else question
    while True:
        try:
            return check(typer.prompt(prompt, default or None, hidden, show_default=False).strip())
        except RacebotError as error:
            say(f"    {error}", style="red")


def find_category(site_url: str, answer: str) -> Category:
    """Return the category with this slug or address."""
    slug = urlsplit(answer).path.strip("/").partition("/")[0] if "://" in answer else answer.strip("/")
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", slug := slug.lower()):
        raise RacebotError(f"Type the end of the category's address, such as smr for {site_url}/smr.")
    try:
        return ask_site(site_url, lambda site: site.category(slug), attempts=2)
    except NotFoundError:
        raise RacebotError(f"{site_url} has no category {slug!r}. Check the spelling.") from None


def check_bot(site_url: str, slug: str, client_id: str, client_secret: str) -> None:
    """Check that these are the credentials of a bot of this category."""

    async def check(site: Site) -> None:
        token, _ = await site.token(client_id, SecretStr(client_secret))
        await site.category(slug, token)

    ask_site(site_url, check, attempts=2)


@app.command()
def service(
    account: Annotated[
        str | None,
        typer.Option(help="The service's account. Default: the folder's owner; if that is root, `racebot`."),
    ] = None,
) -> None:
    """Print a systemd unit that keeps the bot of this folder running, and the two commands that install it.

    The unit may write into the bot's own folders only.

    Example: racebot service
    """
    if sys.platform != "linux":
        raise SettingsError("only Linux has systemd: use launchd on macOS, or Task Scheduler on Windows")
    settings = load_settings()
    settings.required_categories()
    folder, words = Path.cwd(), program()
    if not (folder / ".env").exists() and not settings.config.exists():
        raise SettingsError(f"{folder} has neither .env nor racebot.toml: run this in the bot's folder")
    owner = folder.owner()
    writable = [settings.database.parent, *([settings.pages_dir] if settings.pages_dir else [])]
    homes = any(str(path).startswith(("/home/", "/root")) for path in (folder, Path(words[0]).resolve()))
    unit = Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        account=account or ("racebot" if owner == "root" else owner),
        folder=_escaped(str(folder)),
        command=shlex.join(words),
        program=" ".join(map(_word, words)),
        writable=" ".join(_word(str(folder / path)) for path in writable),
        home="read-only" if homes else "yes",
    )
    sys.stdout.write(unit)


def program() -> tuple[str, ...]:
    """Return the words that start racebot, with an absolute path."""
    path = Path(shutil.which(sys.argv[0]) or sys.argv[0]).absolute()
    return (sys.executable, "-m", "racebot") if path.suffix == ".py" else (str(path),)


def _escaped(text: str) -> str:
    """Escape systemd's specifiers. https://www.freedesktop.org/software/systemd/man/systemd.unit.html."""
    return text.replace("%", "%%")


def _word(text: str) -> str:
    """Quote a word of a list, such as a command line."""
    text = _escaped(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"' if any(sign in text for sign in " \t\"'\\$;") else text
