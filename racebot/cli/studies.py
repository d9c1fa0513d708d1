"""Commands that compare and tune models on past races."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from racebot.cli import studies_tables
from racebot.cli.commands import app
from racebot.cli.common import (
    AsJson,
    Columns,
    Database,
    columns_of,
    console,
    date_option,
    load_settings,
    notices,
    print_json,
    progress_bars,
    tell,
)
from racebot.cli.studies_input import (
    BoardName,
    FieldSize,
    File,
    Goal,
    Jobs,
    OneModel,
    ParamOption,
    entries_of,
    history_of,
    only_board,
)
from racebot.errors import ModelError, PayloadError, SettingsError
from racebot.ledger.store import Ledger
from racebot.races.csv_file import CSV_SUFFIXES, read_csv
from racebot.ratings import registry
from racebot.ratings.model import Carries
from racebot.ratings.models.iterated_elo import IteratedElo
from racebot.ratings.parameters import Parameters, defaults, from_mapping
from racebot.settings.write import write_model
from racebot.standings.rater import current_states
from racebot.study.cores import cores
from racebot.study.evaluate import Entry, Report, evaluate as judge
from racebot.study.history import Earlier, History, final_states, newcomers
from racebot.study.iterated import iterate as rate
from racebot.study.paired import Objective
from racebot.study.predictions import (
    ENTRANT_COLUMNS,
    PAIR_COLUMNS,
    final_ratings,
    find_player,
    forecast_rows,
    odds,
)
from racebot.study.presets import PRESETS, Preset
from racebot.study.search import Effort
from racebot.study.tuning import Tuned, ranked, tune as search
from racebot.text.parse import did_you_mean

ALL_PRESETS = "published"
EVERY_MODEL = "all"


@app.command()
def evaluate(
    file: File = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            help="A rating model's key, LABEL=KEY, or `all`. Repeatable. Default: yours and trueskill.",
        ),
    ] = None,
    param: ParamOption = None,
    preset: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A row of the published figures by name, or `published` for all of them."
        ),
    ] = None,
    leaderboard: BoardName = None,
    goal: Goal = None,
    columns: Columns = None,
    since: Annotated[datetime | None, date_option("Judge races that ended that day (UTC) or later.")] = None,
    until: Annotated[datetime | None, date_option("Leave out races that ended that day or later.")] = None,
    earlier: Annotated[
        Path | None, typer.Option(help="File of an earlier season. Its final ratings carry over.")
    ] = None,
    carry: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Share of the distance from a newcomer's rating to keep when carrying over. Default: 0.9.",
        ),
    ] = None,
    carry_races: Annotated[
        float | None, typer.Option(min=0, help="Most earlier races to count per player. Default: all.")
    ] = None,
    field: FieldSize = None,
    predictions: Annotated[
        Path | None, typer.Option(help="Write every forecast as CSV: NAME-pairs.csv and NAME-entrants.csv.")
    ] = None,
    jobs: Jobs = -1,
    full: Annotated[bool, typer.Option("--full", help="Print all figures.")] = False,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Compare models on past races. Each race is predicted before it is rated.

    Races before --since only train the models.

    Example: racebot evaluate season-1.json --model plackett-luce --model trueskill
    """
    settings = load_settings(database=database)
    _check_folder("--predictions", predictions)
    presets = _presets(preset or [])
    entries = [Entry(name, each.model, each.parameters) for name, each in presets.items()]
    keys = model or ([] if presets else list(dict.fromkeys([settings.model, "trueskill"])))
    history = history_of(settings, file, leaderboard, goal, columns, until=until, size=field)
    if EVERY_MODEL in keys:
        keys = [key for key in keys if key != EVERY_MODEL and key not in registry.MODELS] + _able(history)
    entries += entries_of(settings, keys, param or [], taken=presets)
    if earlier is None and (carry is not None or carry_races is not None):
        raise SettingsError("--carry and --carry-races need an earlier season: give it with --earlier")
    season = None
    if earlier is not None:
        before = history_of(settings, earlier, None, goal, columns)
        season = Earlier(before, 0.9 if carry is None else carry, carry_races)
        entries = _carrying(entries)
    with progress_bars() as advance, cores(jobs or 1):
        report = judge(
            history,
            entries,
            since=since,
            earlier=season,
            progress=lambda label: advance(label, len(history), len(history)),
        )
    if not report.races:
        raise PayloadError("no race is left to judge: choose an earlier --since")
    if as_json:
        print_json(studies_tables.evaluation_json(report, presets))
    else:
        studies_tables.evaluation(console, report, presets, full=full)
    if predictions is not None:
        for path in _write_predictions(history, report, season, predictions):
            tell(f"written: {path}", to=notices)


@app.command("rate")
def rate_file(
    file: File = None,
    model: OneModel = None,
    param: ParamOption = None,
    leaderboard: BoardName = None,
    goal: Goal = None,
    columns: Columns = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Number of players to show.")] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Rate the races of a file, and print the table. Nothing is stored.

    Example: racebot rate season.csv --limit 20
    """
    settings = load_settings(database=database)
    (entry,) = entries_of(settings, [model or settings.model], param or [])
    history = history_of(settings, file, leaderboard, goal, columns)
    found = final_ratings(history, registry.create(entry.model, entry.parameters))[:limit]
    if as_json:
        print_json([each._asdict() for each in found])
    else:
        studies_tables.ratings(console, entry.label, len(history), found)


@app.command("odds")
def show_odds(
    names: Annotated[
        list[str], typer.Argument(metavar="[FILE] NAME NAME...", help="A file of races, and its players.")
    ],
    model: OneModel = None,
    param: ParamOption = None,
    leaderboard: BoardName = None,
    goal: Goal = None,
    columns: Columns = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Forecast a race between players of a file, or of a leaderboard.

    Example: racebot odds season.csv Ann Bo Cy
    """
    settings = load_settings(database=database)
    file = Path(names[0])
    of_file = file.is_file() or file.suffix.lower() in {".json", *CSV_SUFFIXES}
    asked = names[1:] if of_file else names
    if len(asked) < 2:
        raise SettingsError("odds need two players: name them, as in racebot odds season.csv Ann Bo")
    if of_file:
        (entry,) = entries_of(settings, [model or settings.model], param or [])
        history = history_of(settings, file, leaderboard, goal, columns)
        rating_model = registry.create(entry.model, entry.parameters)
        rows = [find_player(history, name) for name in asked]
        found = odds(
            rating_model, [history.names[row] for row in rows], final_states(rating_model, history)[rows]
        )
    elif model or param:
        raise SettingsError("--model and --param are for files: a leaderboard has its own model")
    else:
        with Ledger.open(settings.database, create=False) as ledger:
            board = only_board(settings, ledger, leaderboard)
            players = [ledger.players.find(name) for name in asked]
            current = current_states(ledger, board, [each.id for each in players])
            rating_model = registry.create(board.model, board.parameters)
            states = np.array([state for state, _ in current])
            found = odds(rating_model, [each.shown for each in players], states)
    if as_json:
        print_json([each._asdict() for each in found])
    else:
        studies_tables.odds(console, found)


@app.command()
def tune(
    model: Annotated[str, typer.Argument(help="The rating model's key.")],
    file: File = None,
    param: ParamOption = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Search only this parameter. Repeatable.")
    ] = None,
    compare: Annotated[
        list[str] | None, typer.Option(metavar="MODEL", help="Also tune this model, and compare. Repeatable.")
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
        bool, typer.Option("--write", help="Write recommended parameters into .env or racebot.toml.")
    ] = False,
    leaderboard: BoardName = None,
    goal: Goal = None,
    columns: Columns = None,
    field: FieldSize = None,
    jobs: Jobs = -1,
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
    history = history_of(settings, file, leaderboard, goal, columns, size=field)
    effort = Effort(candidates, generations, seed)
    with cores(jobs or 1):
        found = [_search(history, entry, only, objective, share, effort) for entry in entries]
    order = ranked(found) if compare else []
    if as_json:
        documents = [studies_tables.tuned_json(each) for each in found]
        print_json(
            {"models": documents, "ranking": studies_tables.ranking_json(order)} if compare else documents[0]
        )
    else:
        for each in found:
            studies_tables.tuned(console, each, _differing(each))
        if compare:
            studies_tables.ranking(console, order)
    best = order[0].tuned if compare else found[0]
    if write and not best.recommended:
        tell("Nothing written, since the search recommends no parameters.", to=notices)
    elif write:
        path = write_model(Path(), settings.config, best.model, _differing(best))
        tell(f"{path}: {best.model} and its parameters written; restart the bot to use them", to=notices)


@app.command()
def iterate(
    file: File = None,
    param: ParamOption = None,
    share: Annotated[
        float, typer.Option(min=0.1, max=1, help="Share of the races to rate; the rest judge the ratings.")
    ] = 1.0,
    leaderboard: BoardName = None,
    goal: Goal = None,
    columns: Columns = None,
    field: FieldSize = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Rate a whole history in several passes with iterated-elo, using the factors of a CSV file.

    Example: racebot iterate games.csv --param passes=3
    """
    settings = load_settings(database=database)
    given = dict(assignment.partition("=")[::2] for assignment in param or [])
    model = IteratedElo(**from_mapping(IteratedElo, given))
    history = history_of(settings, file, leaderboard, goal, columns, size=field)
    found = rate(history, model, _factors(file, columns), share)
    if as_json:
        print_json(found)
    else:
        studies_tables.iterated(console, found)


def _factors(file: Path | None, columns: str | None) -> Mapping[tuple[str, str], str]:
    if file is None or file.suffix.lower() not in CSV_SUFFIXES:
        return {}
    return read_csv(file, category="", goal=file.stem, columns=columns_of(columns)).factors


def _able(history: History) -> list[str]:
    """Return the models that can rate the largest race, and tell the user about the others."""
    largest = max(history.races, key=lambda race: race.outcome.size)
    found = []
    for key in registry.MODELS:
        made = registry.create(key)
        try:
            made.rate(newcomers(made, history)[largest.players], largest.outcome)
            found.append(key)
        except ModelError as error:
            tell(f"{key}: skipped: {error}", to=notices)
    for key, reason in registry.OFFLINE.items():
        tell(f"{key}: skipped: it {reason}", to=notices)
    return found


def _carrying(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries whose model can carry ratings over, and tell the user about the others."""
    kept = []
    for entry in entries:
        if isinstance(registry.create(entry.model, entry.parameters), Carries):
            kept.append(entry)
        else:
            tell(f"{entry.label}: skipped, because {entry.model} cannot carry ratings over", to=notices)
    if not kept:
        raise ModelError("--earlier: none of these models can carry ratings over")
    return kept


def _write_predictions(
    history: History, report: Report, earlier: Earlier | None, path: Path
) -> tuple[Path, Path]:
    """Write the forecasts of pairs and of entrants to two files, and return their paths."""
    models = [(e.label, registry.create(e.model, e.parameters)) for e in report.evaluations]
    pairs, entrants = (path.with_name(f"{path.stem}-{kind}.csv") for kind in ("pairs", "entrants"))
    with (
        pairs.open("w", encoding="utf-8", newline="") as pair_file,
        entrants.open("w", encoding="utf-8", newline="") as entrant_file,
    ):
        pair_rows, entrant_rows = csv.writer(pair_file), csv.writer(entrant_file)
        pair_rows.writerow(PAIR_COLUMNS)
        entrant_rows.writerow(ENTRANT_COLUMNS)
        for of_pairs, of_entrants in forecast_rows(history, models, report.since, earlier):
            pair_rows.writerows(of_pairs)
            entrant_rows.writerows(of_entrants)
    return pairs, entrants


def _presets(names: Iterable[str]) -> dict[str, Preset]:
    chosen: dict[str, Preset] = {}
    for name in names:
        if name == ALL_PRESETS:
            chosen |= PRESETS
        elif name in PRESETS:
            chosen[name] = PRESETS[name]
        else:
            known = [ALL_PRESETS, *PRESETS]
            raise ModelError(f"no preset {name!r}{did_you_mean(name, known)}; there are: {', '.join(known)}")
    return chosen


def _check_folder(option: str, path: Path | None) -> None:
    """Fail early if the folder of an output file does not exist."""
    if path is not None and not path.parent.is_dir():
        raise SettingsError(f"{option} {path}: folder {path.parent} does not exist: create it")


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
