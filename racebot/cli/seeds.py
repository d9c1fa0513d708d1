"""The command that seeds a bracket from a leaderboard."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from racebot.cli import common, tables
from racebot.cli.commands import app
from racebot.cli.common import AsJson, Database, console, notices, open_ledger, print_json, tell
from racebot.errors import PayloadError
from racebot.queries.seeds import seed_list
from racebot.text.format import integer


@app.command("seeds")
def show_seeds(
    name: Annotated[str, typer.Argument(help="A leaderboard's name.")],
    entrants: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Seed only these: names or ids, one a line.")
    ] = None,
    database: Database = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV instead of a table.")] = False,
    as_json: AsJson = False,
) -> None:
    """Seed a bracket from a leaderboard, with the reason for each seed.

    Example: racebot seeds "SGL 2026" --entrants bracket.txt --csv > seeds.csv
    """
    lines = None if entrants is None else _lines(entrants)
    with open_ledger(database, only_reads=True) as (settings, ledger):
        board = common.one_board(ledger, name)
        found = seed_list(ledger, board, settings.listing(board), lines)
    if as_json:
        print_json(found)
        return
    for each in found.missing:
        nearest = f". Nearest: {each.nearest}" if each.nearest else ""
        tell(f"no seed for {each.entrant!r}: {each.reason}{nearest}", to=notices)
    if as_csv:
        from racebot.web.api.csv_files import seeds_csv

        sys.stdout.write(b"".join(seeds_csv(found)).decode().replace("\r\n", "\n"))
        return
    made = tables.table(found.leaderboard, ">Seed", "Player", "Twitch", ">Points", "Why")
    for seed in found.seeds:
        points = "" if seed.points is None else integer(seed.points)
        made.add_row(str(seed.seed), tables.safe(seed.name), tables.safe(seed.twitch), points, seed.note)
    console.print(made)


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise PayloadError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PayloadError(f"{file}: not UTF-8 text: save it as UTF-8") from None
