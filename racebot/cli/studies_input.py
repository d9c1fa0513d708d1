"""Options of the study commands, and the races and models that they name."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from racebot.cli.common import columns_of, notices, tell
from racebot.errors import ModelError, NoSuchEntryError, PayloadError, SettingsError
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.races.outcome import TeamPolicy
from racebot.ratings import registry
from racebot.ratings.parameters import ParameterValue, declared
from racebot.settings.model import Settings
from racebot.standings import backfill as past
from racebot.study.evaluate import Entry
from racebot.study.history import History
from racebot.text.parse import did_you_mean

File = Annotated[
    Path | None,
    typer.Argument(help="An archive, JSON saved from the site, or a .csv file. Default: the ledger."),
]
BoardName = Annotated[
    str | None, typer.Option("--leaderboard", help="Which leaderboard to study, if the ledger has several.")
]
Goal = Annotated[str | None, typer.Option(help="Only this goal's races, for a file with several goals.")]
ParamOption = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        metavar="NAME=VALUE",
        help="name=value, for every model that has it; or LABEL:name=value for one.",
    ),
]
OneModel = Annotated[
    str | None, typer.Option("--model", metavar="MODEL", help="A rating model's key. Default: yours.")
]
FieldSize = Annotated[
    str | None,
    typer.Option(
        "--field", help="Only races with this many rated entrants, such as 2, or a range such as 2-5."
    ),
]
Jobs = Annotated[
    int, typer.Option(min=-1, help="Processes to use; -1 for one per core.", show_default="one per core")
]


def entries_of(
    settings: Settings, models: Iterable[str], assignments: Iterable[str], taken: Iterable[str] = ()
) -> list[Entry]:
    """Parse --model and --param options into models with parameters.

    The configured model starts from its configured parameters. Labels in `taken` cannot be used again.
    """
    keys: dict[str, str] = {}
    for model in models:
        label, _, key = model.rpartition("=")
        label = label or (f"{key} (model)" if key in taken else key)
        if label in keys or label in taken:
            raise ModelError(
                f"--model {model}: the label {label!r} is taken: add one, as in --model tie={key}"
            )
        registry.create(key)
        keys[label] = key
    parameters: dict[str, dict[str, ParameterValue]] = {
        label: dict(settings.parameters) if key == settings.model else {} for label, key in keys.items()
    }
    names = {label: [f.name for f in declared(registry.MODELS[key])] for label, key in keys.items()}
    for assignment in assignments:
        name, sign, value = assignment.partition("=")
        only, _, name = name.rpartition(":")
        if not sign or not name:
            raise ModelError(f"--param {assignment!r} is not of the form name=value or LABEL:name=value")
        takers = [label for label in keys if only in {"", label} and name in names[label]]
        if not takers:
            known = dict.fromkeys(each for label in keys for each in names[label])
            raise ModelError(
                f"--param {assignment!r}: none of {', '.join(keys)} has it{did_you_mean(name, known)}; "
                f"they have: {', '.join(known)}"
            )
        for label in takers:
            parameters[label][name] = value
    for label, given in parameters.items():
        registry.create(keys[label], given)
    return [Entry(label, keys[label], given) for label, given in parameters.items()]


def history_of(
    settings: Settings,
    file: Path | None,
    leaderboard: str | None,
    goal: str | None,
    columns: str | None = None,
    *,
    until: datetime | None = None,
    size: str | None = None,
) -> History:
    """Return the recorded races to study, from a file or from the ledger."""
    if file is not None:
        if leaderboard is not None:
            raise SettingsError("--leaderboard chooses from the ledger, not from a file: use --goal")
        results = past.read_races(
            file,
            category="",
            goal=goal,
            columns=columns_of(columns),
            note=lambda text: tell(text, to=notices),
        )
        teams = settings.team_races
    else:
        with Ledger.open(settings.database, create=False) as ledger:
            board = only_board(settings, ledger, leaderboard)
            results = [stored.result for stored in ledger.races.of(board)]
            teams = TeamPolicy(board.teams)
    history = History.of((r for r in results if until is None or r.ended_at < until), teams)
    if size is not None:
        history = history.of_sizes(*_sizes(size))
    if not len(history):
        field = f" with --field {size}" if size is not None else ""
        raise PayloadError(
            f"{file or settings.database}: no recorded race can be rated{field}: "
            "a race needs two players with different results"
        )
    return history


def only_board(settings: Settings, ledger: Ledger, name: str | None) -> Leaderboard:
    """Return the leaderboard with a name, or the only one for None.

    Raises:
        NoSuchEntryError: the ledger does not have exactly one matching leaderboard.
    """
    boards = [board for board in ledger.leaderboards.all() if name in {None, board.name}]
    if len(boards) != 1:
        names = ", ".join(board.name for board in ledger.leaderboards.all())
        raise NoSuchEntryError(
            f"choose one with --leaderboard; the ledger has: {names}"
            if names
            else f"{settings.database} has no races yet: name a file, or run `racebot backfill` first"
        )
    return boards[0]


def _sizes(text: str) -> tuple[int, int]:
    low, sign, high = text.partition("-")
    try:
        least = int(low)
        most = int(high) if sign else least
    except ValueError:
        least, most = 0, -1
    if not 2 <= least <= most:
        raise SettingsError(f"--field {text}: must be a number such as 2, or a range such as 2-5")
    return least, most
