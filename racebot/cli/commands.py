"""The Typer application, and which module has which command.

Importing all commands takes longer than most of them run, so a command's module is imported when the command
is chosen.
"""

from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info

from racebot import __version__

SECTIONS = {
    "Setup": {
        "setup": "Set up a bot, question by question",
        "doctor": "Check that everything is set up, and say how to fix it",
    },
    "Run": {
        "run": "Watch race rooms and update the ratings, until stopped",
        "status": "Show what the bot is doing",
        "health": "Succeed if the bot has seen its category lately",
    },
    "Races": {
        "backfill": "Fetch the category's past races and rate them",
        "import": "Rate the races of a file",
        "export-races": "Write a leaderboard's results to a file that `import` reads",
        "report": "Write a tournament's results and orders as one page or table",
        "rooms": "Show which rooms count on a leaderboard, and why",
        "season": "End a season, or start one like an earlier one",
        "leaderboard": "Show the leaderboards",
        "seeds": "Seed a bracket, with the reason for each seed",
        "player": "Show a player's standing and last races",
        "race": "Show how a race changed each rating, and why",
        "event": "Count several rooms and sheets as one race",
    },
    "Pages": {
        "web": "Serve leaderboards, players and races as pages and JSON",
        "export-site": "Export the pages as files for a static host",
    },
    "Maintenance": {
        "verify": "Compare the stored ratings with a replay of all races",
        "rebuild": "Rate the stored races again with the current settings",
        "backup": "Copy the database, even while the bot runs",
        "improve": "Find better parameters, and preview what they change",
    },
    "Corrections": {
        "hide": "Hide a player in chat and on pages",
        "unhide": "Show a hidden player again",
        "forget": "Erase a player's name permanently",
        "merge": "Merge two accounts of the same person",
        "exclude": "Exclude a race from the ratings",
        "include": "Include an excluded race again",
        "skip": "Keep a race off leaderboards that need no record",
        "count": "Let a race count now where no record is needed",
        "annul": "Take a player's results out of an event",
        "penalty": "Add time to a result of an event or an unrecorded race",
        "audit": "List all orders with date and reason",
    },
    "Studies": {
        "evaluate": "Compare models on past races",
        "rate": "Print the ratings that the races of a file lead to",
        "scores": "Score the races of a file by par, as leagues do",
        "odds": "Forecast a race between players of a file or leaderboard",
        "tune": "Search for a model's best parameters",
        "iterate": "Rate a whole history at once with iterated-elo",
    },
    "Try it": {
        "demo": "Show the bot at work for half a minute",
        "sandbox": "Serve a local imitation of racetime.gg",
    },
}
"""The commands and their lines of `racebot --help`, by heading."""
COMMANDS = {name: line for section in SECTIONS.values() for name, line in section.items()}
_MODULES = {name: title.lower().replace(" ", "_") for title, section in SECTIONS.items() for name in section}
_MODULES |= {"web": "run", "export-site": "run"}
_MODULES |= dict.fromkeys(("event", "report", "season", "seeds"), "leagues")
"""The module of each command: that of its section, or its own."""


class _LazyGroup(TyperGroup):
    """Imports a command's module when the command is chosen."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")  # Typer's, of a wrong choice
            raise

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        if cmd_name in COMMANDS:
            return load_command(cmd_name)
        if not ctx.resilient_parsing:
            from racebot.text.parse import did_you_mean  # slow to import

            ctx.fail(f"no command {cmd_name!r}{did_you_mean(cmd_name, COMMANDS)}")
        return None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under their headings."""
        width = max(map(len, COMMANDS))
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), line) for name, line in section.items()])


loaded = typer.Typer()
"""The commands of the modules imported so far: `app` itself would build all of them at each start."""
app = typer.Typer(
    cls=_LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Rate the races of a racetime.gg category, and explain each change to the racers in chat.",
)


@cache
def load_command(name: str) -> TyperCommand:
    """Import a command's module and return the command."""
    import_module(f"racebot.cli.{_MODULES[name]}")
    named = {each.name or getattr(each.callback, "__name__", ""): each for each in loaded.registered_commands}
    command = get_command_from_info(named[name], pretty_exceptions_short=True, rich_markup_mode=None)
    assert isinstance(command, TyperCommand)  # noqa: S101
    return command


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"racebot {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    del version
