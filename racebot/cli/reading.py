"""What commands that read files share: the options that say how, and the notes about what was understood."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from racebot.cli.common import notices, tell
from racebot.files.options import Layout, ReadOptions, Twice, options_of
from racebot.races.outcome import TeamPolicy

if TYPE_CHECKING:
    from racebot.files.read import RaceFiles

READING: dict[str, Any] = {
    "columns": Annotated[
        str | None,
        typer.Option(
            metavar="OURS=YOURS,...",
            help="Your names of a file's columns, such as race=Season+Round,place=Pos; time= leaves one out.",
        ),
    ],
    "layout": Annotated[
        Layout | None, typer.Option(help="What a line of a table is: an entrant, a race or a player.")
    ],
    "words": Annotated[
        str | None,
        typer.Option(metavar="DNF=WORD|WORD,...", help="What words mean: dnf, dns, dq or done."),
    ],
    "where": Annotated[
        str | None, typer.Option(metavar="COLUMN=TEXT,...", help="Only lines with this text in a column.")
    ],
    "twice": Annotated[
        Twice | None, typer.Option(help="Which of two results of a player in one race counts.")
    ],
    "sheet": Annotated[
        str | None, typer.Option(help="A workbook's sheet. Default: the first with the columns.")
    ],
    "exact_names": Annotated[
        bool, typer.Option("--exact-names", help="Tell apart names that differ in case, spaces or accents.")
    ],
    "day_first": Annotated[bool, typer.Option("--day-first", help="Dates such as 9/8/2019 are in August.")],
    "lowest_wins": Annotated[bool, typer.Option("--lowest-wins", help="The lowest score wins.")],
}
"""The options that say how to read a file."""


def takes(argument: str, options: Mapping[str, Any], make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a decorator that gives a command options, which `make` turns into its one argument."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_options(**given: Any) -> None:
            made = make(**{name: given.pop(name) for name in options})
            command(**given, **{argument: made})

        own = inspect.signature(command, eval_str=True).parameters.values()
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [each.replace(kind=keyword) for each in own if each.name != argument]
        for name, option in options.items():
            default = False if get_args(option)[0] is bool else None
            parameters.append(inspect.Parameter(name, keyword, default=default, annotation=option))
        with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        with_options.__annotations__ = {each.name: each.annotation for each in parameters}
        return with_options

    return decorate


reads_files = takes("reading", READING, options_of)
"""Gives a command the options that say how to read a file, as its argument `reading`."""


def read_files(
    files: Sequence[Path], reading: ReadOptions, *, quiet: bool = False, summary: bool = False, **given: Any
) -> RaceFiles:
    """Read the races of files, and print how they were read and, if wanted, a summary."""
    from racebot.files.read import read_races
    from racebot.study.history import understood

    found = read_races(*files, options=reading, **given)
    for note in () if quiet else found.notes:
        tell(note, to=notices)
    if summary:
        tell(understood(found.results, TeamPolicy.TEAM, found.left_out), to=notices)
    return found
