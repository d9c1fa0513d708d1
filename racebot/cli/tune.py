"""`racebot tune`: search a model's parameters, and compare tuned models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from racebot.cli import study_json, study_tables
from racebot.cli.commands import app
from racebot.cli.common import AsJson, console, load_settings, notices, print_json, tell
from racebot.cli.options import Database
from racebot.cli.progress import progress_bars
from racebot.cli.study_input import (
    BoardName,
    DaskAddress,
    FieldSize,
    File,
    Goal,
    Jobs,
    ParamOption,
    entries_of,
    history_of,
    workers,
)
from racebot.errors import SettingsError
from racebot.ratings import registry
from racebot.ratings.parameters import Parameters, defaults
from racebot.settings.write import write_model
from racebot.study.evaluate import Entry
from racebot.study.history import History
from racebot.study.objective import Objective
from racebot.study.search import Effort
from racebot.study.tuning import Tuned, ranked, tune as search


@app.command()
def tune(
    model: Annotated[str, typer.Argument(help="The rating model's key.")],
    file: File = None,
    param: ParamOption = None,
    only: Annotated[list[str] | None, typer.Option(help="Search only this parameter. Repeatable.")] = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(help="Also tune this model, and compare. Repeatable."),
    ] = None,
    objective: Annotated[Objective, typer.Option(help="The figure to minimize.")] = Objective.JOINT,
    share: Annotated[
        float,
        typer.Option(min=0.1, max=0.9, help="Share of the races to search on. The rest judge the result."),
    ] = 0.5,
    candidates: Annotated[int, typer.Option(min=8, max=4096, help="Parameter sets replayed at once.")] = 256,
    generations: Annotated[int, typer.Option(min=1, max=1000, help="Limit on generations.")] = 40,
    seed: Annotated[int, typer.Option(help="The same seed finds the same parameters.")] = 1,
    write: Annotated[
        bool,
        typer.Option("--write", help="Write recommended parameters into .env or racebot.toml."),
    ] = False,
    leaderboard: BoardName = None,
    goal: Goal = None,
    field: FieldSize = None,
    jobs: Jobs = -1,
    dask: DaskAddress = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Search a model's parameters on earlier races, and judge them on later ones.

    Example: racebot tune thurstone-hurdle season-1.json --compare trueskill
    """
    settings = load_settings(database=database)
    if only and compare:
        raise SettingsError(
            "--only cannot be combined with --compare, since models have different parameters"
        )
    entries = entries_of(settings, [model, *(compare or [])], param or [])
    history = history_of(settings, file, leaderboard, goal, size=field)
    effort = Effort(candidates, generations, seed)
    with workers(jobs, dask):
        found = [_search(history, entry, only, objective, share, effort) for entry in entries]
    order = ranked(found) if compare else []
    if as_json:
        documents = [study_json.tuned(each) for each in found]
        print_json({"models": documents, "ranking": study_json.ranked(order)} if compare else documents[0])
    else:
        for each in found:
            study_tables.tuned(console, each, _differing(each))
        if compare:
            study_tables.ranking(console, order)
    best = order[0].tuned if compare else found[0]
    if write and not best.recommended:
        tell("Nothing written, since the search recommends no parameters.", to=notices)
    elif write:
        path = write_model(Path(), settings.config, best.model, _differing(best))
        tell(f"{path}: {best.model} and its parameters written; restart the bot to use them", to=notices)


def _search(
    history: History, entry: Entry, only: list[str] | None, objective: Objective, share: float, effort: Effort
) -> Tuned:
    with progress_bars() as advance:
        what = f"{entry.label}, generation"
        advance(what, 0, effort.generations)
        return search(
            history,
            entry.model,
            entry.parameters,
            search=only,
            objective=objective,
            share=share,
            effort=effort,
            progress=lambda now: advance(what, now.generation, effort.generations, f"best {now.best:.4f}"),
        )


def _differing(tuned: Tuned) -> Parameters:
    usual = defaults(registry.MODELS[tuned.model])
    return {name: value for name, value in tuned.parameters.items() if value != usual.get(name)}
