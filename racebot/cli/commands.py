"""The Typer application and its table of commands.

Importing all commands takes longer than most of them run, so a command's module is imported when the command
is chosen.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.main import get_command

from racebot import __version__


class CommandEntry(NamedTuple):
    """A command's module in this package and its line in `racebot --help`."""

    module: str
    summary: str


SECTIONS = {
    "Set up and run": {
        "setup": CommandEntry("setup.command", "Set up a bot, question by question"),
        "doctor": CommandEntry("operate", "Check that everything is set up, and say how to fix it"),
        "run": CommandEntry("operate", "Watch race rooms and update the ratings, until stopped"),
        "service": CommandEntry("service", "Keep the bot running with systemd"),
        "report": CommandEntry("report", "Write a bundle without secrets to attach to an issue"),
        "status": CommandEntry("state", "Show what the bot is doing"),
        "health": CommandEntry("state", "Succeed if the bot has seen its category lately"),
    },
    "Races and ratings": {
        "backfill": CommandEntry("past", "Fetch the category's past races and rate them"),
        "import": CommandEntry("past", "Rate the races of a file"),
        "leaderboard": CommandEntry("read", "Show the leaderboards"),
        "player": CommandEntry("read", "Show a player's standing and last races"),
        "race": CommandEntry("read", "Show how a race changed each rating, and why"),
    },
    "Pages": {
        "web": CommandEntry("web", "Serve leaderboards, players and races as pages and JSON"),
        "export-site": CommandEntry("export_site", "Export the pages as files for a static host"),
    },
    "Maintenance": {
        "verify": CommandEntry("maintain", "Compare the stored ratings with a replay of all races"),
        "rebuild": CommandEntry("maintain", "Rate the stored races again with the current settings"),
        "backup": CommandEntry("maintain", "Copy the database, even while the bot runs"),
        "refit": CommandEntry("refit", "Rate a leaderboard with racebot's current defaults"),
        "fit": CommandEntry("refit", "Fit a leaderboard's model to its races"),
    },
    "Corrections": {
        "hide": CommandEntry("orders", "Hide a player in chat and on pages"),
        "unhide": CommandEntry("orders", "Show a hidden player again"),
        "forget": CommandEntry("orders", "Erase a player's name permanently"),
        "merge": CommandEntry("orders", "Merge two accounts of the same person"),
        "exclude": CommandEntry("orders", "Exclude a race from the ratings"),
        "include": CommandEntry("orders", "Include an excluded race again"),
        "audit": CommandEntry("orders", "List all orders with date and reason"),
    },
    "Studies": {
        "evaluate": CommandEntry("study", "Compare models on past races"),
        "tune": CommandEntry("tune", "Search for a model's best parameters"),
        "iterate": CommandEntry("study", "Rate a whole history at once with iterated-elo"),
    },
    "Try it": {
        "demo": CommandEntry("sandbox", "Show the bot at work for half a minute"),
        "sandbox": CommandEntry("sandbox", "Serve a local imitation of racetime.gg"),
    },
}
"""All commands under the headings of `racebot --help`."""
COMMANDS = {name: entry for section in SECTIONS.values() for name, entry in section.items()}


class PlainCommand(TyperCommand):
    """A command whose help names types as TEXT, INTEGER, NUMBER, DATE and FILE, in every version of Typer."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        for parameter in self.params:
            if isinstance(parameter, TyperArgument):  # errors show it, too
                parameter.metavar = (parameter.metavar or str(parameter.name)).upper()

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words after the command's name."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the options with their help."""
        for title, records in self.records(ctx).items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def records(self, ctx: Any) -> dict[str, list[tuple[str, str]]]:
        """Return arguments and options, each with its type and its help."""
        found: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            name, text = record
            if parameter.param_type_name == "argument":
                word, sign, kind = name.partition(" <")
                choices = sign + kind if "|" in kind else ""
                found["Arguments"].append((word.strip("[]") + choices, text))
            else:
                name = _TYPE.sub(lambda match: TYPES[match["type"].lower()], name)
                found["Options"].append((name, text))
        return found


TYPES = {
    "datetime": "DATE",
    "float": "NUMBER",
    "int": "INTEGER",
    "integer": "INTEGER",
    "path": "FILE",
    "str": "TEXT",
    "text": "TEXT",
}
"""Names of types in help, by Typer's names for them."""
_TYPE = re.compile(rf"<?(?:list\[)?\b(?P<type>{'|'.join(TYPES)})(?: range)?\]?>?$", re.IGNORECASE)


class _Unloaded(TyperCommand):
    """A placeholder for a command that is not imported yet."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Load the command and return its context."""
        return load_command(self.name or "").make_context(info_name, args, parent, **extra)


class _Commands(TyperGroup):
    """A group of all the commands in `COMMANDS`, loaded or not."""

    def __init__(self, *, commands: Any = None, **settings: Any) -> None:
        loaded = dict(commands or {})
        for name, entry in COMMANDS.items():
            command = loaded.get(name) or _Unloaded(name, rich_markup_mode=None)
            command.short_help = entry.summary
            loaded[name] = command
        super().__init__(commands={name: loaded[name] for name in COMMANDS}, **settings)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under their headings."""
        del ctx
        width = max(map(len, COMMANDS))
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), entry.summary) for name, entry in section.items()])


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Rate the races of a racetime.gg category, and explain each change to the racers in chat.",
)


def load_command(name: str) -> PlainCommand:
    """Import a command's module and return the command.

    Raises:
        KeyError: there is no such command.
    """
    import_module(f"racebot.cli.{COMMANDS[name].module}")
    for registered in app.registered_commands:
        registered.cls = PlainCommand
    group = get_command(app)
    assert isinstance(group, TyperGroup)  # noqa: S101 - the application has a callback
    command = group.commands[name]
    assert isinstance(command, PlainCommand)  # noqa: S101
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
