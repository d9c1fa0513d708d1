"""Commands that compare and tune models on past races, and score the races of a file by par."""

import itertools
import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from racebot import analysis, plots
from racebot.analysis import require_different
from racebot.cli import common, studies_source, studies_tables, tables
from racebot.cli.common import console, notices, read_files, reads_files, tell
from racebot.cli.studies_source import Answer, Files, OneModel, ParamOption, Source, entries, studies, study
from racebot.errors import ModelError, PayloadError, SettingsError
from racebot.files.options import DEFAULT, ReadOptions
from racebot.files.rows import FILE_SUFFIXES
from racebot.queries.scores import document
from racebot.races.outcome import TeamPolicy
from racebot.ratings import registry
from racebot.ratings.model import Carries
from racebot.ratings.parameters import from_mapping
from racebot.scoring.rules import NAMED, rules_of
from racebot.scoring.table import score_race, standings
from racebot.standings.improve import earlier_races
from racebot.standings.rater import current_states
from racebot.study import iterated
from racebot.study.cores import cores
from racebot.study.evaluate import PRESETS, Entry, Preset, evaluate as judge
from racebot.study.history import History, final_ratings, forecast_race, newcomers
from racebot.study.tuning import Effort, tune as search
from racebot.text.format import counted
from racebot.text.parse import did_you_mean

ALL_PRESETS = "published"
EVERY_MODEL = "all"


@studies()
def evaluate(
    files: Files = None,
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
        typer.Option(metavar="NAME", help="A row of the published figures by name, or `published` for all."),
    ] = None,
    since: Annotated[
        datetime | None,
        common.date_option("Judge races that ended that day (UTC) or later; earlier ones only train."),
    ] = None,
    each: Annotated[bool, typer.Option("--each", help="Judge each file on its own, not all as one.")] = False,
    cluster: common.Cluster = None,
    full: Annotated[bool, typer.Option("--full", help="Print all figures.")] = False,
    *,
    source: Source,
) -> None:
    """Compare models on past races. Each race is predicted before it is rated.

    Example: racebot evaluate season-1.json --model plackett-luce --model trueskill
    """
    presets = _presets(preset or [])
    chosen = [Entry(name, each.model, each.parameters) for name, each in presets.items()]
    usual = source.usual(files)
    keys = model or ([] if presets else list(dict.fromkeys([usual[0], "trueskill"])))
    wanted = (key.rpartition("=")[2] for key in keys if key != EVERY_MODEL)
    models = [*(entry.model for entry in chosen), *wanted]
    parts: list[list[Path] | None] = [[file] for file in files] if each and files else [files]
    histories = [source.history(part, models) for part in parts]
    if EVERY_MODEL in keys:
        keys = [key for key in keys if key != EVERY_MODEL and key not in registry.MODELS] + _able(histories)
    chosen += entries(usual, keys, param or [], taken=presets)
    season = None
    if not files:
        with source.board() as (ledger, board):
            season = earlier_races(ledger, board)
    chosen = chosen if season is None else _carrying(chosen)
    with common.progress_bars() as advance, cores(cluster or source.settings.cluster):
        reports = judge(histories, chosen, since=since, earlier=season, progress=partial(advance, "models"))
    if not all(report.races for report in reports):
        raise PayloadError("no race is left to judge: choose an earlier --since")
    names = [str(part[0]) if each and part else "" for part in parts]
    named = list(zip(names, reports, strict=True))
    source.give(
        lambda: studies_tables.evaluation_json(named, presets),
        lambda: studies_tables.evaluations(console, named, full=full),
        lambda: plots.evaluation(named),
    )


@studies("rate")
def rate_file(
    files: Files = None,
    model: OneModel = None,
    param: ParamOption = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Number of players to show.")] = None,
    *,
    source: Source,
) -> None:
    """Rate the races of a file, and print the table. Nothing is stored.

    Example: racebot rate season.csv --limit 20
    """
    entry = source.entry(files, model, param)
    history = source.history(files, [entry.model])
    made = registry.create(entry.model, entry.parameters)
    states = None
    if not (files or model or param):
        with source.board() as (ledger, board):
            states = np.array([state for state, _ in current_states(ledger, board, history.players)])
    found = final_ratings(history, made, states)
    source.give(
        lambda: [each._asdict() for each in found[:limit]],
        lambda: studies_tables.ratings(console, entry.label, len(history), found[:limit]),
        lambda: plots.ratings(history, made, found),
    )


@study("answer", studies_source.ANSWER, Answer, "scores")
@reads_files
def show_scores(
    files: Annotated[list[Path], typer.Argument(help="JSON of the site, or a table of races with times.")],
    scoring: Annotated[str, typer.Option(metavar="RULES", help=f"Rules: {', '.join(NAMED)}.")] = "sgl-2025",
    param: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A part of them, such as first=5.")
    ] = None,
    cut: Annotated[int | None, typer.Option(help="How many racers qualify.")] = None,
    races: Annotated[int | None, typer.Option(help="How many races the league has. Default: open.")] = None,
    goal: Annotated[str | None, typer.Option(help="Only this goal's races.")] = None,
    teams: Annotated[TeamPolicy, typer.Option(help="How to score team races.")] = TeamPolicy.TEAM,
    reading: ReadOptions = DEFAULT,
    *,
    answer: Answer,
) -> None:
    """Score the races of a file by par, and print the league's standings. Nothing is stored.

    Example: racebot scores qualifiers.csv --scoring sgl-2025 --cut 64 --races 8
    """
    parts = {name: _value(text) for name, _, text in (each.partition("=") for each in param or [])}
    rules = rules_of({"rules": scoring, **parts}, cut=cut, races=races)
    options = replace(reading, by_time=True, teams=True, goal=goal)
    found = [each for each in read_files(files, options, summary=True).results if each.final]
    results = sorted(found, key=lambda each: (each.ended_at, each.name))
    scored = [race for each in results if (race := score_race(each, rules, teams)) is not None]
    if not scored:
        raise PayloadError(f"{files[0]}: no race to score")
    table = document(standings(scored, rules))
    answer.give(
        lambda: table,
        lambda: tables.print_scores(console, f"{scoring}, {counted(len(scored), 'race')}", rules, table),
        lambda: plots.scores(table.racers),
    )


@studies("odds")
def show_odds(
    names: Annotated[
        list[str], typer.Argument(metavar="[FILE]... NAME NAME...", help="Files of races, and players.")
    ],
    model: OneModel = None,
    param: ParamOption = None,
    *,
    source: Source,
) -> None:
    """Forecast a race between players of a file, or of a leaderboard.

    Example: racebot odds season.csv Ann Bo Cy
    """
    files = [Path(name) for name in itertools.takewhile(_is_file, names)]
    players = names[len(files) :]
    if len(players) < 2:
        raise SettingsError("odds need two players: name them, as in racebot odds season.csv Ann Bo")
    if files:
        entry = source.entry(files, model, param)
        history = source.history(files, [entry.model])
        found = list(analysis.odds(history, players, entry.model, entry.parameters))
    elif model or param:
        raise SettingsError("--model and --param are for files: a leaderboard has its own model")
    else:
        with source.board() as (ledger, board):
            known = [ledger.players.find(name) for name in players]
            require_different(players, [each.id for each in known])
            states = [state for state, _ in current_states(ledger, board, [each.id for each in known])]
        rating_model = registry.create(board.model, board.parameters)
        found = forecast_race(rating_model, [each.shown for each in known], np.array(states))
    source.give(
        lambda: [each._asdict() for each in found],
        lambda: studies_tables.odds(console, found),
        lambda: plots.odds(found),
    )


@studies()
def tune(
    model: Annotated[str, typer.Argument(help="The rating model's key.")],
    files: Files = None,
    param: ParamOption = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Search only this one. Repeatable.")
    ] = None,
    candidates: Annotated[int, typer.Option(min=8, max=4096, help="Parameter sets replayed at once.")] = 256,
    generations: Annotated[int, typer.Option(min=1, max=1000, help="Limit on generations.")] = 40,
    cluster: common.Cluster = None,
    *,
    source: Source,
) -> None:
    """Search a model's parameters on the first half of the races, and judge them on the second.

    Example: racebot tune thurstone-hurdle season-1.json
    """
    entry = source.entry(files, model, param)
    history = source.history(files, [entry.model])
    with cores(cluster or source.settings.cluster):
        with common.progress_bars() as advance:

            def told(generation: int, best: float) -> None:
                advance(f"{entry.label}, generation", generation, generations, f"best {best:.4f}")

            effort = Effort(candidates, generations)
            found = search(history, entry.model, entry.parameters, search=only, effort=effort, progress=told)
        source.give(
            lambda: studies_tables.tuned_json(found),
            lambda: studies_tables.tuned(console, found),
            lambda: plots.tuned(history, found),
        )


@studies()
def iterate(files: Files = None, param: ParamOption = None, *, source: Source) -> None:
    """Rate a whole history in several passes with iterated-elo, using the factors of a table.

    Example: racebot iterate games.csv --param passes=3
    """
    given = dict(assignment.partition("=")[::2] for assignment in param or [])
    model = iterated.IteratedElo(**from_mapping(iterated.IteratedElo, given))
    read = read_files(files, source.reading) if files else None
    history = source.history(files, [model.key], read=read)
    found = iterated.iterate(history, model, read.factors if read else {})
    source.give(lambda: found, lambda: studies_tables.iterated(console, found), lambda: plots.iterated(found))


def _is_file(name: str) -> bool:
    return name == "-" or Path(name).exists() or Path(name).suffix.lower() in FILE_SUFFIXES


def _able(histories: Iterable[History]) -> list[str]:
    """Return the models that can rate the largest races, and tell the user about the others."""
    found = []
    for key in registry.MODELS:
        made = registry.create(key)
        try:
            for history in histories:
                largest = max(history.races, key=lambda race: race.outcome.size)
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
        raise ModelError("none of these models can carry ratings over")
    return kept


def _presets(names: Iterable[str]) -> dict[str, Preset]:
    chosen: dict[str, Preset] = {}
    known = {ALL_PRESETS: PRESETS, **{name: {name: preset} for name, preset in PRESETS.items()}}
    for name in names:
        if name not in known:
            raise ModelError(f"no preset {name!r}{did_you_mean(name, known)}; there are: {', '.join(known)}")
        chosen |= known[name]
    return chosen


def _value(text: str) -> Any:
    with suppress(ValueError):
        return json.loads(text)
    return text
