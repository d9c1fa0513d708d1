"""The command that scores the races of a file by par."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from racebot.cli import common, tables
from racebot.cli.commands import app
from racebot.cli.common import AsJson, Columns, console, print_json
from racebot.errors import PayloadError
from racebot.queries.scores import document
from racebot.races.outcome import TeamPolicy
from racebot.scoring.rules import NAMED, rules_of
from racebot.scoring.table import score_race, standings
from racebot.text.format import counted, timer


@app.command("scores")
def show_scores(
    file: Annotated[Path, typer.Argument(help="JSON saved from the site, or a table of races with times.")],
    scoring: Annotated[
        str, typer.Option(metavar="RULES", help=f"A set of rules: {', '.join(NAMED)}.")
    ] = "sgl-2025",
    param: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A part of the rules, such as first=5.")
    ] = None,
    cut: Annotated[int | None, typer.Option(help="How many racers qualify.")] = None,
    races: Annotated[int | None, typer.Option(help="How many races the league has. Default: open.")] = None,
    goal: Annotated[str | None, typer.Option(help="Only this goal's races.")] = None,
    columns: Columns = None,
    teams: Annotated[TeamPolicy, typer.Option(help="How to score team races.")] = TeamPolicy.TEAM,
    as_json: AsJson = False,
) -> None:
    """Score the races of a file by par, and print the league's standings. Nothing is stored.

    Example: racebot scores qualifiers.csv --scoring sgl-2025 --cut 64 --races 8
    """
    parts = {name: _value(text) for name, _, text in (each.partition("=") for each in param or [])}
    rules = rules_of({"rules": scoring, **parts}, cut=cut, races=races)
    results = common.read_file(file, columns, goal=goal)
    results = sorted((each for each in results if each.final), key=lambda each: (each.ended_at, each.name))
    scored = [race for each in results if (race := score_race(each, rules, teams)) is not None]
    if not scored:
        raise PayloadError(f"{file}: no race to score")
    found = document(standings(scored, rules))
    if as_json:
        print_json(found)
        return
    made = tables.table(
        f"{scoring}, {counted(len(scored), 'race')}", ">", "Player", ">Score", "Races (dropped)", ""
    )
    for row in found.racers:
        marks = [f"{s['score']:.1f}" if s["counted"] else f"({s['score']:.1f})" for s in row.scores if s]
        need = row.outlook
        outlook = "" if need is None else need.chance if need.time is None else f"needs {timer(need.time)}"
        made.add_row(str(row.place), tables.safe(row.name), f"{row.score:.3f}", " ".join(marks), outlook)
        if row.place == cut:
            made.add_section()
    console.print(made)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
