"""What the commands of studies share: the races to study, the models, and where the answer goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from racebot import plots
from racebot.cli import common
from racebot.cli.commands import loaded
from racebot.cli.common import AsJson, Database, load_settings, notices, tell
from racebot.errors import ModelError, NoSuchEntryError, PayloadError, SettingsError
from racebot.files.options import ReadOptions, options_of
from racebot.files.read import RaceFiles
from racebot.files.rows import FILE_SUFFIXES
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.races.outcome import TeamPolicy
from racebot.ratings import registry
from racebot.ratings.parameters import ParameterValue, declared
from racebot.settings.model import Settings
from racebot.standings.improve import rated_history
from racebot.study.evaluate import Entry
from racebot.study.history import OF_TEAMS, History
from racebot.text.format import counted
from racebot.text.parse import did_you_mean

Files = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[FILE]...", help="Tables (.csv, .xlsx), JSON, or folders. Default: the ledger."),
]
ParamOption = Annotated[
    list[str] | None,
    typer.Option(
        "--param", metavar="NAME=VALUE", help="Of all models that have it; LABEL:name=value for one."
    ),
]
OneModel = Annotated[
    str | None, typer.Option("--model", metavar="MODEL", help="A model's key. Default: yours.")
]
_HELP_PLOT = f"Draw a picture, too: a file that ends in {', '.join(plots.FORMATS)}. Default: open it."
ANSWER: dict[str, Any] = {"plot": common.option(Path | None, _HELP_PLOT, metavar="[FILE]"), "as_json": AsJson}
"""The options that say where an answer goes."""
_HELP_TEAMS = "How to rate a file's team races. Default: RACEBOT_TEAM_RACES, or by team."
SOURCE: dict[str, Any] = {
    "leaderboard": common.option(str | None, "Which leaderboard to study, if the ledger has several."),
    "goal": common.option(str | None, "Only this goal's races, for a file of several."),
    "teams": common.option(TeamPolicy | None, _HELP_TEAMS),
    "unrecorded": common.option(bool, "Count the site's unrecorded rooms, too.", "--unrecorded"),
    "database": Database,
}


class _Command(TyperCommand):
    """A command whose option --plot may stand without a name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = [at for at, text in enumerate(args) if text == "--plot"]
        for at in reversed(named):
            following = "".join(args[at + 1 : at + 2]).lower()
            if not following or following.startswith("-") or following.endswith(FILE_SUFFIXES):
                args.insert(at + 1, plots.OPENED)
        return super().parse_args(ctx, args)


@dataclass(frozen=True, slots=True)
class Answer:
    """Where the answer of a study goes."""

    plot: Path | None
    as_json: bool

    def give(self, document: Callable[[], Any], table: Callable[[], None], draw: Callable[[], Any]) -> None:
        """Draw the answer if wanted, and print it as JSON or as a table."""
        if self.plot is not None and (unopened := plots.save(draw(), self.plot)):
            common.tell(f"no browser opened the picture: it is {unopened}", to=common.notices)
        common.print_json(document()) if self.as_json else table()


@dataclass(frozen=True, slots=True)
class Source(Answer):
    """Where the races to study are: in files, or on a leaderboard of the ledger."""

    settings: Settings
    leaderboard: str | None
    teams: TeamPolicy | None
    reading: ReadOptions

    @classmethod
    def of(cls, *, database: Path | None, teams: TeamPolicy | None, **given: Any) -> Source:
        own = {name: given.pop(name) for name in ("leaderboard", *ANSWER)}
        reading = options_of(teams=teams is TeamPolicy.TEAM, **given)
        return cls(settings=load_settings(database=database), teams=teams, reading=reading, **own)

    @contextmanager
    def board(self) -> Iterator[tuple[Ledger, Leaderboard]]:
        """Open the ledger, and give the leaderboard to study."""
        if self.teams is not None:
            raise SettingsError("--teams is for files: a leaderboard has its own rule for team races")
        with Ledger.open(self.settings.database, create=False) as ledger:
            boards = ledger.leaderboards.all()
            if not boards:
                fix = "name a file, or run `racebot backfill` first"
                raise NoSuchEntryError(f"{ledger.path} has no races yet: {fix}")
            yield ledger, common.one_board(boards, self.leaderboard)

    def usual(self, files: Sequence[Path] | None) -> tuple[str, Mapping[str, ParameterValue]]:
        """Return the model and parameters to start from: of the leaderboard, or of the settings for files."""
        if files:
            return self.settings.model, self.settings.parameters
        with self.board() as (_, board):
            return board.model, board.parameters

    def entry(self, files: Sequence[Path] | None, model: str | None, assignments: list[str] | None) -> Entry:
        """Return one model with its parameters, by default the usual one."""
        usual = self.usual(files)
        return entries(usual, [model or usual[0]], assignments or [])[0]

    def history(
        self, files: Sequence[Path] | None, models: Iterable[str], read: RaceFiles | None = None
    ) -> History:
        """Return the races to study, of files or what was `read` of them, and say what was understood.

        Teams of a file are rated by default if all the models can, as on a leaderboard.
        """
        if files:
            if self.leaderboard is not None:
                raise SettingsError("--leaderboard chooses from the ledger, not from a file: use --goal")
            read = read or common.read_files(files, self.reading)
            able = all(key in registry.MODELS and registry.MODELS[key].rates_teams for key in models)
            teams = self.teams or self.settings.team_races or (TeamPolicy.TEAM if able else TeamPolicy.IGNORE)
            history = History.of(read.results, teams, read.left_out)
            if len(history):
                tell(history.understood, to=notices)
        else:
            with self.board() as (ledger, board):
                history = rated_history(ledger, board)
        where = ", ".join(map(str, files)) if files else str(self.settings.database)
        if left_out := history.left_out[OF_TEAMS]:
            remedy = "--teams {}" if files else "RACEBOT_TEAM_RACES={}"
            by_team = f"{remedy.format('team')} with a model that rates teams ({registry.rating_teams()})"
            fix = f"use {remedy.format('individual')}, or {by_team}"
            hint = f"{counted(left_out, 'race')} of teams left out: {fix}"
            if not len(history):
                raise PayloadError(f"{where}: {hint}")
            tell(hint, to=notices)
        if not len(history):
            raise PayloadError(f"{where}: {history.understood}")
        return history


Register = Callable[[Callable[..., None]], Callable[..., None]]


def study(argument: str, options: Mapping[str, Any], make: Callable[..., Any], name: str = "") -> Register:
    """Return a decorator that registers a command with options, which `make` turns into its one argument."""
    given = common.takes(argument, options, make)
    return lambda function: loaded.command(name or None, cls=_Command)(given(function))


def studies(name: str = "") -> Register:
    """Register a command with the options that choose and read races, as its argument `source`."""
    return study("source", SOURCE | common.READING | ANSWER, Source.of, name)


def entries(
    usual: tuple[str, Mapping[str, ParameterValue]],
    models: Iterable[str],
    assignments: Iterable[str],
    taken: Iterable[str] = (),
) -> list[Entry]:
    """Parse --model and --param options into models with parameters.

    The usual model starts from its usual parameters. Labels in `taken` cannot be used again.
    """
    keys: dict[str, str] = {}
    for model in models:
        label, _, key = model.rpartition("=")
        label = label or (f"{key} (model)" if key in taken else key)
        if label in keys or label in taken:
            raise ModelError(f"--model {model}: the label {label!r} is taken: add one, as in tie={key}")
        registry.create(key)
        keys[label] = key
    parameters = {label: dict(usual[1]) if key == usual[0] else {} for label, key in keys.items()}
    names = {label: [f.name for f in declared(registry.MODELS[key])] for label, key in keys.items()}
    for assignment in assignments:
        name, sign, value = assignment.partition("=")
        only, _, name = name.rpartition(":")
        if not sign or not name:
            raise ModelError(f"--param {assignment!r} is not of the form name=value or LABEL:name=value")
        takers = [label for label in keys if only in {"", label} and name in names[label]]
        if not takers:
            known = dict.fromkeys(each for label in keys for each in names[label])
            problem = f"none of {', '.join(keys)} has it{did_you_mean(name, known)}"
            raise ModelError(f"--param {assignment!r}: {problem}; they have: {', '.join(known)}")
        for label in takers:
            parameters[label][name] = value
    for label, given in parameters.items():
        registry.create(keys[label], given)
    return [Entry(label, keys[label], given) for label, given in parameters.items()]
