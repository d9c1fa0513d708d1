"""Commands for the analyst: which model predicts this category best, and with which parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from racebot.cli.common import AsJson, Database, app, console, load_settings, notices, print_json, utc
from racebot.errors import ModelError, NoSuchEntryError, PayloadError, SettingsError
from racebot.ledger.store import Ledger
from racebot.races.outcome import TeamPolicy
from racebot.ratings import registry
from racebot.ratings.parameters import declared, defaults, did_you_mean
from racebot.settings.model import Settings
from racebot.standings import backfill as past
from racebot.study.objective import Objective
from racebot.study.presets import PRESETS, Preset

# What needs scipy's optimisation and statistics is imported where it is used: the worker, which shares this
# command line, would be half as large again.
if TYPE_CHECKING:
    from racebot.study.evaluate import Entry, Evaluation, Report
    from racebot.study.history import History
    from racebot.study.replay import Earlier
    from racebot.study.tuning import Progress as Generation, Tuned

ALL_PRESETS = "published"

File = Annotated[
    Path | None,
    typer.Argument(
        help="An archive or JSON saved from the site; the ledger is read if left out.", show_default=False
    ),
]
BoardName = Annotated[
    str | None,
    typer.Option("--leaderboard", help="The leaderboard of the ledger to study, if it has several."),
]
Goal = Annotated[str | None, typer.Option(help="Only this goal's races, of a file that holds several goals.")]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--param", help="name=value, for every model that has it; or LABEL:name=value for one."),
]


@app.command()
def evaluate(
    file: File = None,
    model: Annotated[
        list[str] | None, typer.Option(help="A rating model's key, or LABEL=KEY; may be given several times.")
    ] = None,
    param: Parameters = None,
    preset: Annotated[
        list[str] | None,
        typer.Option(help="A row of the published figures by name, or `published` for all of them."),
    ] = None,
    leaderboard: BoardName = None,
    goal: Goal = None,
    since: Annotated[
        datetime | None, typer.Option(help="Judge only races that ended on this day (UTC) or later.")
    ] = None,
    until: Annotated[
        datetime | None, typer.Option(help="Leave out races that ended on this day (UTC) or later.")
    ] = None,
    earlier: Annotated[
        Path | None,
        typer.Option(help="A file of an earlier season, whose ratings the models carry over."),
    ] = None,
    carry: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="How much of an earlier rating's distance to a newcomer's is kept; 0.9 if left out.",
        ),
    ] = None,
    carry_races: Annotated[
        float | None, typer.Option(min=0, help="The most earlier races still counted; all if left out.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Write plots beside this name: ratings and misordered pairs over time, and reliability."
        ),
    ] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Replay models over past races, predicting each race before rating it, and compare them.

    Races before --since train the models without being judged.

    Example: racebot evaluate season-1.json --model plackett-luce --model trueskill
    """
    from racebot.cli import study_tables  # noqa: PLC0415
    from racebot.study.evaluate import Entry, evaluate as judge  # noqa: PLC0415
    from racebot.study.replay import Earlier  # noqa: PLC0415

    settings = load_settings(database=database)
    _check_plot(plot)
    presets = _presets(preset or [])
    entries = [Entry(name, each.model, each.parameters) for name, each in presets.items()]
    keys = model or ([] if presets else list(dict.fromkeys([settings.model, "trueskill"])))
    entries += _entries(settings, keys, param or [], taken=presets)
    history = _history(settings, file, leaderboard, goal, utc(until))
    if earlier is None and (carry is not None or carry_races is not None):
        raise SettingsError("--carry and --carry-races are for an earlier season: give it by --earlier")
    before = None if earlier is None else _history(settings, earlier, None, goal, None)
    season = None if before is None else Earlier(before, 0.9 if carry is None else carry, carry_races)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=notices,
    ) as progress:
        tasks = {entry.label: progress.add_task(entry.label, total=len(history)) for entry in entries}
        report = judge(
            history,
            entries,
            since=utc(since),
            earlier=season,
            progress=lambda label, races: progress.update(tasks[label], completed=races),
        )
    if not report.races:
        raise PayloadError("no race left to judge: choose an earlier --since")
    if as_json:
        print_json([_entry_json(each, report, presets.get(each.label)) for each in report.evaluations])
    else:
        study_tables.evaluation(console, report, presets)
    if plot is not None:
        for path in _draw(history, report, season, plot):
            notices.print(f"written: {path}", markup=False)


@app.command()
def tune(
    model: Annotated[str, typer.Argument(help="The rating model's key.")],
    file: File = None,
    param: Parameters = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Search only this parameter; may be given several times.")
    ] = None,
    objective: Annotated[Objective, typer.Option(help="What to make small.")] = Objective.LOG_LOSS,
    share: Annotated[
        float, typer.Option(min=0.1, max=0.9, help="Share of the races that the search sees; the rest judge.")
    ] = 0.7,
    candidates: Annotated[int, typer.Option(min=8, max=4096, help="Parameter sets replayed at once.")] = 256,
    generations: Annotated[int, typer.Option(min=1, max=1000, help="Generations at most.")] = 40,
    seed: Annotated[int, typer.Option(help="The same seed finds the same.")] = 1,
    leaderboard: BoardName = None,
    goal: Goal = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Search a model's parameters on earlier races, and judge them on later ones.

    Example: racebot tune trueskill season-1.json
    """
    import numpy as np  # noqa: PLC0415

    from racebot.cli import study_tables  # noqa: PLC0415
    from racebot.study.tuning import tune as search  # noqa: PLC0415

    settings = load_settings(database=database)
    (entry,) = _entries(settings, [model], param or [])
    history = _history(settings, file, leaderboard, goal, None)
    with Progress(
        TextColumn("generation"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("best {task.fields[best]}"),
        TimeElapsedColumn(),
        console=notices,
    ) as progress:
        task = progress.add_task("search", total=generations, best="…")

        def advance(generation: Generation) -> None:
            progress.update(task, completed=generation.generation, best=f"{generation.best:.4f}")

        tuned = search(
            history,
            entry.model,
            entry.parameters,
            search=only,
            objective=objective,
            share=share,
            candidates=candidates,
            generations=generations,
            rng=np.random.default_rng(seed),
            progress=advance,
        )
    if as_json:
        print_json(_tuned_json(tuned))
    else:
        study_tables.tuned(console, tuned, _differing(tuned))


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


def _entries(
    settings: Settings, models: Iterable[str], assignments: Iterable[str], taken: Iterable[str] = ()
) -> list[Entry]:
    """Models with the parameters that were given for them; the configured one starts from its own.

    Args:
        settings: for the configured model's parameters.
        models: each a model's key, or LABEL=KEY.
        assignments: name=value for every model that has it, LABEL:name=value for one.
        taken: labels that are not free.

    Raises:
        ModelError: an unknown model, a label twice, an assignment that is none, or one that no model takes.
    """
    from racebot.study.evaluate import Entry  # noqa: PLC0415

    keys: dict[str, str] = {}
    for model in models:
        label, _, key = model.rpartition("=")
        label = label or (f"{key} (model)" if key in taken else key)
        if label in keys or label in taken:
            raise ModelError(
                f"--model {model}: there is a {label!r} already: name it, as in --model tie={key}"
            )
        registry.create(key)
        keys[label] = key
    parameters = {
        label: dict(settings.parameters) if key == settings.model else {} for label, key in keys.items()
    }
    names = {label: [f.name for f in declared(registry.MODELS[key])] for label, key in keys.items()}
    for assignment in assignments:
        name, sign, value = assignment.partition("=")
        only, _, name = name.rpartition(":")
        if not sign or not name:
            raise ModelError(f"--param {assignment!r} is not of the form name=value or MODEL:name=value")
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


def _check_plot(path: Path | None) -> None:
    """See before the work that the plots can be written."""
    if path is None:
        return
    if not path.parent.is_dir():
        raise SettingsError(f"--plot {path}: there is no folder {path.parent}")
    if path.suffix.lower() not in {"", ".png", ".svg", ".pdf"}:
        raise SettingsError(f"--plot {path}: name a .png, .svg or .pdf file")


def _history(
    settings: Settings, file: Path | None, leaderboard: str | None, goal: str | None, until: datetime | None
) -> History:
    """The recorded races to study, from a file or from the ledger."""
    from racebot.study.history import History  # noqa: PLC0415

    if file is not None:
        if leaderboard is not None:
            raise SettingsError("--leaderboard chooses from the ledger, not from a file: use --goal")
        results = past.read_races(file, category="", goal=goal)
        teams = settings.team_races
    else:
        with Ledger.open(settings.database, create=False) as ledger:
            boards = [b for b in ledger.leaderboards() if leaderboard in {None, b.name}]
            if len(boards) != 1:
                names = ", ".join(board.name for board in ledger.leaderboards()) or "none"
                raise NoSuchEntryError(f"say which leaderboard with --leaderboard; the ledger has: {names}")
            results = [stored.result for stored in ledger.races_of(boards[0])]
            teams = TeamPolicy(boards[0].teams)
    history = History.of((r for r in results if until is None or r.ended_at < until), teams)
    if not len(history):
        raise PayloadError(f"{file or settings.database}: no recorded race that can be rated")
    return history


def _entry_json(evaluation: Evaluation, report: Report, preset: Preset | None) -> dict[str, Any]:
    whole = next(e for e in report.as_json()["evaluations"] if e["label"] == evaluation.label)
    figures = whole["views"]["all"]
    return {
        "label": evaluation.label,
        "model": evaluation.model,
        "parameters": whole["parameters"],
        **figures,
        **whole["complaints"],
        **({"published": preset.published, "rerun": preset.rerun} if preset else {}),
        "views": {name: view for name, view in whole["views"].items() if name != "all"},
        "known": whole["known"],
        "reliability": whole["reliability"],
        "comparisons": [
            each
            for each in report.as_json()["comparisons"]
            if evaluation.label in {each["first"], each["second"]}
        ],
    }


def _tuned_json(tuned: Tuned) -> dict[str, Any]:
    return {
        "model": tuned.model,
        "objective": tuned.objective.value,
        "parameters": dict(tuned.parameters),
        "earlier": {"races": tuned.earlier_races, "start": tuned.earlier_start, "tuned": tuned.earlier_tuned},
        "later": {
            "races": tuned.later_races,
            "start": tuned.later_start,
            "tuned": tuned.later_tuned,
            "difference": tuned.difference,
            "standard_error": tuned.standard_error,
            "recommended": tuned.recommended,
        },
        "evaluations": tuned.evaluations,
    }


def _differing(tuned: Tuned) -> Mapping[str, Any]:
    usual = defaults(registry.MODELS[tuned.model])
    return {name: value for name, value in tuned.parameters.items() if value != usual.get(name)}


def _draw(history: History, report: Report, earlier: Earlier | None, path: Path) -> list[Path]:
    """Ratings over time for each entry; misordered pairs and reliability of all; named after `path`."""
    from racebot.study import plots  # noqa: PLC0415 - needs matplotlib, an extra of the package

    models = [(e.label, registry.create(e.model, e.parameters)) for e in report.evaluations]
    figures = [
        (label, plots.draw_trajectories(history, model, title=f"Ratings over time: {label}", earlier=earlier))
        for label, model in models
    ]
    figures.append(("misordered", plots.draw_misordered(history, models, earlier=earlier)))
    reliability = [(e.label, e.reliability) for e in report.evaluations]
    figures.append(("reliability", plots.draw_reliability(reliability)))
    written = []
    for name, figure in figures:
        written.append(path.with_name(f"{path.stem}-{name}{path.suffix or '.png'}"))
        figure.savefig(written[-1])
    return written
