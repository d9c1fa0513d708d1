"""The command `racebot setup`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from pydantic import SecretStr

from racebot.chat.info_box import InfoPolicy
from racebot.cli.commands import app
from racebot.cli.setup import changes, next_steps, past
from racebot.cli.setup.changes import Choices
from racebot.cli.setup.questions import agree, ask, confirmed, heading, listed, pick, say
from racebot.cli.setup.site import check_bot, find_category
from racebot.errors import RacebotError, SettingsError
from racebot.races.outcome import TeamPolicy
from racebot.racetime.payload import Category
from racebot.ratings import registry
from racebot.settings.model import Settings
from racebot.settings.sources import load
from racebot.telemetry import logs
from racebot.text.format import counted

STEPS = 5


@app.command()
def setup(
    category: Annotated[
        str | None, typer.Option(help="The category's slug or address.", show_default=False)
    ] = None,
    client_id: Annotated[str | None, typer.Option(help="The bot's client id.", show_default=False)] = None,
    secret_file: Annotated[
        Path | None,
        typer.Option(help="File with the bot's client secret; - reads standard input.", show_default=False),
    ] = None,
    goal: Annotated[
        list[str] | None, typer.Option(help="Rate this goal only. Repeatable. Default: all goals.")
    ] = None,
    team_races: Annotated[
        TeamPolicy | None, typer.Option(help="What a team race does.", show_default=False)
    ] = None,
    info_block: Annotated[
        InfoPolicy | None, typer.Option(help="Whether to write into info boxes.", show_default=False)
    ] = None,
    model: Annotated[str | None, typer.Option(help="The rating model's key.", show_default=False)] = None,
    fit: Annotated[bool, typer.Option("--fit", help="With --no-input: fit the model to the races.")] = False,
    backfill: Annotated[bool, typer.Option(help="Fetch and rate the past races.")] = True,
    no_input: Annotated[bool, typer.Option("--no-input", help="Ask nothing; for scripts.")] = False,
    site: Annotated[
        str | None,
        typer.Option(help="The site's address; only a test site needs this.", show_default=False),
    ] = None,
) -> None:
    """Set up a bot for a category, question by question. Run it again to change an answer.

    Nothing is saved before it fetches past races. For scripts, --no-input takes every answer from options,
    from the environment and from the settings so far.

    Example: racebot setup
    """
    before = _settings_so_far(site)
    interactive = not no_input
    if interactive and not sys.stdin.isatty():
        raise SettingsError("setup asks questions in a terminal: run it in one, or give --no-input")
    if model is not None:
        registry.create(model)
    logs.to_stderr("error", before.log_format)
    if interactive:
        _welcome(before)
    address = before.site if site is None else site.rstrip("/")
    found = _category(address, category, before, interactive=interactive)
    given = _read_secret(secret_file)
    bot_id, secret = _bot(found, address, client_id, given, before, interactive=interactive)
    goals = _goals(found, goal, before, interactive=interactive)
    teams, info = _policies(team_races, info_block, before, interactive=interactive)
    answers = Choices(
        address, found.slug, bot_id, secret, goals, teams, info, before.model if model is None else model
    )
    settings = changes.save(Path(), before, answers)
    say()
    confirmed(f"saved in {Path('.env').absolute()}, which only you can read")
    if backfill:
        if interactive:
            heading(5, STEPS, "Past races")
        try:
            past.rate(settings, interactive=interactive, fit=fit)
        except (KeyboardInterrupt, typer.Abort):
            say()
            say("Stopped. Your settings are saved; `racebot setup` or `racebot backfill` resumes.")
            raise KeyboardInterrupt from None
    next_steps.show(settings, interactive=interactive)


def _settings_so_far(site: str | None) -> Settings:
    """Return the settings so far.

    Raises:
        SettingsError: they have a mistake, or several categories.
    """
    load(site=site)  # checks the option
    before = load()
    if before.categories:
        raise SettingsError(
            f"{before.config}: has [[categories]]: setup is for one category; edit the file, then run "
            "`racebot doctor`"
        )
    return before


def _welcome(before: Settings) -> None:
    say("Set up racebot", style="bold")
    say(
        "This asks for your category and its bot, then rates the past races. It takes a few minutes. "
        "Ctrl-C stops it; nothing is saved before step 5."
    )
    if before.category:
        say("Press Enter to keep an answer in brackets.")


def _category(address: str, given: str | None, before: Settings, *, interactive: bool) -> Category:
    if interactive:
        heading(1, STEPS, "Category")
        if given is None and not before.category:
            say(f"The category's short name is the end of its address: smr for {address}/smr.")
    if not interactive and not (given or before.category):
        raise SettingsError("no category: give it with --category, or set RACEBOT_CATEGORY")
    found = ask(
        "Category",
        lambda answer: find_category(address, answer),
        given=given,
        default=before.category or "",
        interactive=interactive,
    )
    confirmed(f"{found.name}, with {counted(len(found.goals), 'goal')}")
    return found


def _bot(
    category: Category,
    address: str,
    given_id: str | None,
    given_secret: str | None,
    before: Settings,
    *,
    interactive: bool,
) -> tuple[str, SecretStr]:
    """Ask for id and secret until the site accepts both."""
    if interactive:
        heading(2, STEPS, "The bot's credentials")
        if not before.client_secret and given_id is None:
            say(
                "An owner of the category creates the bot on the site: Manage, then Bots. Copy its client id "
                "and client secret from there. The secret stays hidden while you type or paste it."
            )
    known_id = given_id or before.client_id or ""
    stored = before.client_secret.get_secret_value() if before.client_secret else ""
    while True:
        client_id = ask("Client id", _something, default=known_id, given=given_id, interactive=interactive)
        keep = stored if client_id == before.client_id else ""
        secret = SecretStr(
            ask(
                "Client secret",
                _something,
                given=given_secret,
                default=keep,
                shown="the stored one" if keep else None,
                hidden=True,
                interactive=interactive,
            )
        )
        try:
            check_bot(address, category.slug, client_id, secret)
        except RacebotError as error:
            if not interactive:
                raise
            say(f"    {error}", style="red")
            known_id, given_id, given_secret = client_id, None, None
            continue
        confirmed(f"the site accepts them; the bot belongs to {category.slug}")
        return client_id, secret


def _goals(
    category: Category, given: list[str] | None, before: Settings, *, interactive: bool
) -> tuple[str, ...]:
    """Ask which goals to rate. An empty answer rates all of them, including those of later seasons."""
    stored = tuple(before.goals) if category.slug == before.category else ()
    if given is not None:
        return tuple(given)
    if not interactive:
        return stored
    names = [*category.goals, *(goal for goal in stored if goal not in category.goals)]
    heading(3, STEPS, "Goals")
    listed(names)
    if stored:
        say(f"Rated so far: {', '.join(stored)}.")
        if agree("Keep these?", default=True):
            return stored
    say("Each goal gets its own leaderboard. If you choose all, new goals are rated, too.")
    return tuple(names[number - 1] for number in pick("Numbers of the goals to rate", len(names)))


def _policies(
    teams: TeamPolicy | None, info: InfoPolicy | None, before: Settings, *, interactive: bool
) -> tuple[TeamPolicy, InfoPolicy]:
    if interactive:
        heading(4, STEPS, "Two choices")
        if teams is None and before.team_races is not TeamPolicy.TEAM:
            members = agree(
                "Do team races count, each racer by their own time?",
                default=before.team_races is TeamPolicy.INDIVIDUAL,
            )
            teams = TeamPolicy.INDIVIDUAL if members else TeamPolicy.IGNORE
        if info is None and before.info_block is not InfoPolicy.NEVER:
            say("All bots share the info box above a race's results. The final changes go there.")
            below = agree(
                "May they stand below another bot's lines in the info box?",
                default=before.info_block is InfoPolicy.APPEND,
            )
            info = InfoPolicy.APPEND if below else InfoPolicy.WHEN_EMPTY
    return teams or before.team_races, info or before.info_block


def _something(answer: str) -> str:
    if not answer:
        raise RacebotError("This cannot be empty.")
    return answer


def _read_secret(path: Path | None) -> str | None:
    """Read the secret from a file or from standard input.

    Raises:
        SettingsError: the file cannot be read.
    """
    if path is None:
        return None
    try:
        return sys.stdin.readline() if str(path) == "-" else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"--secret-file {path}: {error}: correct the path") from None
