"""Commands that compare and tune models on past races, and score the races of a file by par."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from racebot import analysis, plots
from racebot.cli import common, studies_tables, tables
from racebot.cli.commands import app
from racebot.cli.common import AsJson, Database, console, load_settings, notices, print_json, tell
from racebot.cli.reading import READING, read_files, reads_files, takes
from racebot.errors import ModelError, NoSuchEntryError, PayloadError, SettingsError
from racebot.files.options import DEFAULT, ReadOptions
from racebot.files.rows import FILE_SUFFIXES
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries.scores import document
from racebot.races.outcome import TeamPolicy
from racebot.ratings import registry
from racebot.ratings.model import Carries
from racebot.ratings.parameters import ParameterValue, declared, from_mapping
from racebot.scoring.rules import NAMED, rules_of
from racebot.scoring.table import score_race, standings
from racebot.settings.model import Settings
from racebot.standings.fitted_odds import rated_history
from racebot.standings.rater import current_states
from racebot.study import iterated, paired, predictions as forecasts
from racebot.study.cores import cores
from racebot.study.evaluate import Entry, evaluate as judge
from racebot.study.history import OF_TEAMS, Earlier, History, newcomers
from racebot.study.paired import Objective
from racebot.study.presets import PRESETS, Preset
from racebot.study.tuning import Effort, tune as search
from racebot.text.format import counted
from racebot.text.parse import did_you_mean

ALL_PRESETS = "published"
EVERY_MODEL = "all"

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[FILE]...",
        help="Tables (.csv, .xlsx, .parquet), JSON, archives, or folders of them. Default: the ledger.",
    ),
]
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
Plot = Annotated[
    Path | None,
    typer.Option(help="Draw a picture, too: a file that ends in .svg, .png, .pdf or .html, which is shown."),
]
FieldSize = Annotated[
    str | None,
    typer.Option(
        "--field", help="Only races with this many rated entrants, such as 2, or a range such as 2-5."
    ),
]


SOURCE: dict[str, Any] = {
    "leaderboard": Annotated[
        str | None,
        typer.Option("--leaderboard", help="Which leaderboard to study, if the ledger has several."),
    ],
    "goal": Annotated[
        str | None, typer.Option(help="Only this goal's races, for a file with several goals.")
    ],
    "teams": Annotated[
        TeamPolicy | None,
        typer.Option(
            help="How to rate a file's team races. Default: RACEBOT_TEAM_RACES, or by team if the models can."
        ),
    ],
    "unrecorded": Annotated[
        bool, typer.Option("--unrecorded", help="Count the site's rooms that nobody recorded, too.")
    ],
    "database": Database,
}


@dataclass(frozen=True, slots=True)
class Source:
    """Where the races to study are: in files, or on a leaderboard of the ledger."""

    settings: Settings
    leaderboard: str | None
    goal: str | None
    teams: TeamPolicy | None
    reading: ReadOptions

    @classmethod
    def of(
        cls,
        *,
        leaderboard: str | None,
        goal: str | None,
        teams: TeamPolicy | None,
        database: Path | None,
        **reading: Any,
    ) -> Source:
        from racebot.files.options import options_of

        options = replace(options_of(**reading), teams=teams is TeamPolicy.TEAM)
        return cls(load_settings(database=database), leaderboard, goal, teams, options)

    @contextmanager
    def board(self) -> Iterator[tuple[Ledger, Leaderboard]]:
        """Open the ledger, and give the leaderboard to study."""
        if self.teams is not None:
            raise SettingsError("--teams is for files: a leaderboard has its own rule for team races")
        with Ledger.open(self.settings.database, create=False) as ledger:
            yield ledger, _board(ledger, self.leaderboard)

    def usual(self, files: Sequence[Path] | None) -> tuple[str, Mapping[str, ParameterValue]]:
        """Return the model and parameters to start from: of the leaderboard, or of the settings for files."""
        if files:
            return self.settings.model, self.settings.parameters
        with self.board() as (_, board):
            return board.model, board.parameters

    def history(
        self,
        files: Sequence[Path] | None,
        models: Iterable[str],
        *,
        until: datetime | None = None,
        size: str | None = None,
    ) -> History:
        """Return the races to study, and say what was understood of files.

        Teams of a file are rated by default if all the models can, as on a leaderboard.
        """
        if files:
            if self.leaderboard is not None:
                raise SettingsError("--leaderboard chooses from the ledger, not from a file: use --goal")
            read = read_files(files, self.reading, goal=self.goal)
            able = all(key in registry.MODELS and registry.MODELS[key].rates_teams for key in models)
            teams = self.teams or self.settings.team_races or (TeamPolicy.TEAM if able else TeamPolicy.IGNORE)
            history = History.of(
                (each for each in read.results if until is None or each.ended_at < until),
                teams,
                read.left_out,
            )
            if len(history):
                tell(history.understood, to=notices)
        else:
            with self.board() as (ledger, board):
                teams, history = TeamPolicy(board.teams), rated_history(ledger, board, until)
        where = ", ".join(map(str, files)) if files else str(self.settings.database)
        if left_out := history.left_out[OF_TEAMS]:
            remedy = "--teams {}" if files else "RACEBOT_TEAM_RACES={}"
            hint = (
                f"{counted(left_out, 'race')} of teams left out: use {remedy.format('individual')}, "
                f"or {remedy.format('team')} with a model that rates teams ({registry.rating_teams()})"
            )
            if not len(history):
                raise PayloadError(f"{where}: {hint}")
            tell(hint, to=notices)
        if not len(history):
            raise PayloadError(f"{where}: {history.understood}")
        if size is not None:
            history = history.of_sizes(*_sizes(size))
            if not len(history):
                raise PayloadError(f"{where}: no race can be rated with --field {size}")
        return history


studies = takes("source", SOURCE | READING, Source.of)
"""Gives a command the options that choose and read the races to study, as its argument `source`."""


@app.command()
@studies
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
        typer.Option(
            metavar="NAME", help="A row of the published figures by name, or `published` for all of them."
        ),
    ] = None,
    since: Annotated[
        datetime | None,
        common.date_option("Judge races that ended that day (UTC) or later; earlier ones only train."),
    ] = None,
    until: common.Until = None,
    earlier: Annotated[
        Path | None, typer.Option(help="File of an earlier season. Its final ratings carry over.")
    ] = None,
    carry: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Share of the lead over newcomers that --earlier keeps. Default: 0.9."
        ),
    ] = None,
    field: FieldSize = None,
    full: Annotated[bool, typer.Option("--full", help="Print all figures.")] = False,
    plot: Plot = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Compare one model's order with that by mean score by par.")
    ] = False,
    as_json: AsJson = False,
    *,
    source: Source,
) -> None:
    """Compare models on past races. Each race is predicted before it is rated.

    Example: racebot evaluate season-1.json --model plackett-luce --model trueskill
    """
    if earlier is None and carry is not None:
        raise SettingsError("--carry needs an earlier season: give it with --earlier")
    presets = _presets(preset or [])
    entries = [Entry(name, each.model, each.parameters) for name, each in presets.items()]
    usual = source.usual(files)
    keys = model or ([] if presets else list(dict.fromkeys([usual[0], "trueskill"])))
    models = [entry.model for entry in entries] + [
        key.rpartition("=")[2] for key in keys if key != EVERY_MODEL
    ]
    history = source.history(files, models, until=until, size=field)
    if scores:
        if not files:
            raise SettingsError(
                "--scores needs times: name a file, as in racebot evaluate season.csv --scores"
            )
        made = registry.create(keys[0], usual[1] if keys[0] == usual[0] else {})
        results = read_files(
            files, replace(source.reading, by_time=True), goal=source.goal, quiet=True
        ).results
        by_rating, by_score = paired.compare(history, results, made, rules_of("sgl-2025"))
        studies_tables.scores(console, keys[0], by_rating, by_score)
        return
    if EVERY_MODEL in keys:
        keys = [key for key in keys if key != EVERY_MODEL and key not in registry.MODELS] + _able(history)
    entries += _entries(usual, keys, param or [], taken=presets)
    season = None
    if earlier is not None:
        before = source.history([earlier], models)
        season = Earlier(before, 0.9 if carry is None else carry)
        entries = _carrying(entries)
    with common.progress_bars() as advance, cores():
        report = judge(
            history,
            entries,
            since=since,
            earlier=season,
            progress=lambda label: advance(label, len(history), len(history)),
        )
    if not report.races:
        raise PayloadError("no race is left to judge: choose an earlier --since")
    if plot is not None:
        plots.save(plots.evaluation(report), plot)
    if as_json:
        print_json(studies_tables.evaluation_json(report, presets))
    else:
        studies_tables.evaluation(console, report, presets, full=full)


@app.command("rate")
@studies
def rate_file(
    files: Files = None,
    model: OneModel = None,
    param: ParamOption = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Number of players to show.")] = None,
    plot: Plot = None,
    as_json: AsJson = False,
    *,
    source: Source,
) -> None:
    """Rate the races of a file, and print the table. Nothing is stored.

    Example: racebot rate season.csv --limit 20
    """
    usual = source.usual(files)
    (entry,) = _entries(usual, [model or usual[0]], param or [])
    history = source.history(files, [entry.model])
    if files or model or param:
        found: Sequence[forecasts.RatedPlayer] = analysis.rate(history, entry.model, entry.parameters)
    else:
        with source.board() as (ledger, board):
            states = np.array([state for state, _ in current_states(ledger, board, history.players)])
        races = history.races_of_players().tolist()
        found = forecasts.rated_players(registry.create(*usual), history.names, states, races)
    if plot is not None:
        plots.save(plots.ratings(history, registry.create(entry.model, entry.parameters), found), plot)
    if as_json:
        print_json([each._asdict() for each in found[:limit]])
    else:
        studies_tables.ratings(console, entry.label, len(history), found[:limit])


@app.command("scores")
@reads_files
def show_scores(
    files: Annotated[
        list[Path],
        typer.Argument(help="JSON saved from the site, or a table of races with times."),
    ],
    scoring: Annotated[
        str, typer.Option(metavar="RULES", help=f"A set of rules: {', '.join(NAMED)}.")
    ] = "sgl-2025",
    param: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A part of the rules, such as first=5.")
    ] = None,
    cut: Annotated[int | None, typer.Option(help="How many racers qualify.")] = None,
    races: Annotated[int | None, typer.Option(help="How many races the league has. Default: open.")] = None,
    goal: Annotated[str | None, typer.Option(help="Only this goal's races.")] = None,
    teams: Annotated[TeamPolicy, typer.Option(help="How to score team races.")] = TeamPolicy.TEAM,
    as_json: AsJson = False,
    reading: ReadOptions = DEFAULT,
) -> None:
    """Score the races of a file by par, and print the league's standings. Nothing is stored.

    Example: racebot scores qualifiers.csv --scoring sgl-2025 --cut 64 --races 8
    """
    parts = {name: _value(text) for name, _, text in (each.partition("=") for each in param or [])}
    rules = rules_of({"rules": scoring, **parts}, cut=cut, races=races)
    options = replace(reading, by_time=True, teams=True)
    found = [each for each in read_files(files, options, goal=goal, summary=True).results if each.final]
    results = sorted(found, key=lambda each: (each.ended_at, each.name))
    scored = [race for each in results if (race := score_race(each, rules, teams)) is not None]
    if not scored:
        raise PayloadError(f"{files[0]}: no race to score")
    table = document(standings(scored, rules))
    if as_json:
        print_json(table)
        return
    tables.print_scores(console, f"{scoring}, {counted(len(scored), 'race')}", rules, table)


@app.command("odds")
@studies
def show_odds(
    names: Annotated[
        list[str], typer.Argument(metavar="[FILE]... NAME NAME...", help="Files of races, and their players.")
    ],
    model: OneModel = None,
    param: ParamOption = None,
    plot: Plot = None,
    as_json: AsJson = False,
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
        usual = source.usual(files)
        (entry,) = _entries(usual, [model or usual[0]], param or [])
        history = source.history(files, [entry.model])
        found = list(analysis.odds(history, players, entry.model, entry.parameters))
    elif model or param:
        raise SettingsError("--model and --param are for files: a leaderboard has its own model")
    else:
        with source.board() as (ledger, board):
            known = [ledger.players.find(name) for name in players]
            states = [state for state, _ in current_states(ledger, board, [each.id for each in known])]
        rating_model = registry.create(board.model, board.parameters)
        found = forecasts.odds(rating_model, [each.shown for each in known], np.array(states))
    if plot is not None:
        plots.save(plots.odds(found), plot)
    if as_json:
        print_json([each._asdict() for each in found])
    else:
        studies_tables.odds(console, found)


@app.command()
@studies
def tune(
    model: Annotated[str, typer.Argument(help="The rating model's key.")],
    files: Files = None,
    param: ParamOption = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Search only this parameter. Repeatable.")
    ] = None,
    objective: Annotated[Objective, typer.Option(help="The figure to minimize.")] = Objective.JOINT,
    candidates: Annotated[int, typer.Option(min=8, max=4096, help="Parameter sets replayed at once.")] = 256,
    generations: Annotated[int, typer.Option(min=1, max=1000, help="Limit on generations.")] = 40,
    field: FieldSize = None,
    as_json: AsJson = False,
    *,
    source: Source,
) -> None:
    """Search a model's parameters on the first half of the races, and judge them on the second.

    Example: racebot tune thurstone-hurdle season-1.json
    """
    (entry,) = _entries(source.usual(files), [model], param or [])
    history = source.history(files, [entry.model], size=field)
    with cores(), common.progress_bars() as advance:
        found = search(
            history,
            entry.model,
            entry.parameters,
            search=only,
            objective=objective,
            effort=Effort(candidates, generations),
            progress=lambda generation, best: advance(
                f"{entry.label}, generation", generation, generations, f"best {best:.4f}"
            ),
        )
    if as_json:
        print_json(studies_tables.tuned_json(found))
    else:
        studies_tables.tuned(console, found)


@app.command()
@studies
def iterate(
    files: Files = None,
    param: ParamOption = None,
    share: Annotated[
        float, typer.Option(min=0.1, max=1, help="Share of the races to rate; the rest judge the ratings.")
    ] = 1.0,
    field: FieldSize = None,
    as_json: AsJson = False,
    *,
    source: Source,
) -> None:
    """Rate a whole history in several passes with iterated-elo, using the factors of a table.

    Example: racebot iterate games.csv --param passes=3
    """
    given = dict(assignment.partition("=")[::2] for assignment in param or [])
    model = iterated.IteratedElo(**from_mapping(iterated.IteratedElo, given))
    history = source.history(files, [model.key], size=field)
    factors = read_files(files, source.reading, goal=source.goal, quiet=True).factors if files else {}
    found = iterated.iterate(history, model, factors, share)
    if as_json:
        print_json(found)
    else:
        studies_tables.iterated(console, found)


def _is_file(name: str) -> bool:
    path = Path(name)
    return name == "-" or path.exists() or path.suffix.lower() in FILE_SUFFIXES


def _entries(
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
            raise ModelError(
                f"--model {model}: the label {label!r} is taken: add one, as in --model tie={key}"
            )
        registry.create(key)
        keys[label] = key
    parameters: dict[str, dict[str, ParameterValue]] = {
        label: dict(usual[1]) if key == usual[0] else {} for label, key in keys.items()
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


def _board(ledger: Ledger, name: str | None) -> Leaderboard:
    """Return the leaderboard with a name, or the only one for None."""
    boards = ledger.leaderboards.all()
    if not boards:
        raise NoSuchEntryError(
            f"{ledger.path} has no races yet: name a file, or run `racebot backfill` first"
        )
    return common.one_board(boards, name)


def _sizes(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    least, most = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 2 <= least <= most:
        raise SettingsError(f"--field {text}: must be a number such as 2, or a range such as 2-5")
    return least, most


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


def _presets(names: Iterable[str]) -> dict[str, Preset]:
    chosen: dict[str, Preset] = {}
    for name in names:
        known = {ALL_PRESETS: PRESETS, **{each: {each: PRESETS[each]} for each in PRESETS}}
        if name not in known:
            raise ModelError(f"no preset {name!r}{did_you_mean(name, known)}; there are: {', '.join(known)}")
        chosen |= known[name]
    return chosen


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
