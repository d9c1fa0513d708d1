"""Rate the past races, compare models on them, and offer a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from racebot.cli.common import console
from racebot.cli.past import rate_past_races, show_best
from racebot.cli.progress import progress_bars
from racebot.cli.refit import fit_board, offer_fits
from racebot.cli.setup.questions import ask, say
from racebot.cli.tables import table
from racebot.errors import ModelError, RacebotError
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.races.outcome import TeamPolicy
from racebot.ratings import registry
from racebot.settings.model import DEFAULT_MODEL, Settings
from racebot.settings.sources import load
from racebot.settings.write import write_model
from racebot.standings.backfill import Selection
from racebot.standings.follow_settings import apply_plans
from racebot.standings.settle import Settler
from racebot.study.cores import cores
from racebot.study.evaluate import Entry, Evaluation, Report, evaluate
from racebot.study.history import History

COMPARED = (DEFAULT_MODEL, "plackett-luce", "trueskill")
"""The models that are compared with the one in use."""
ENOUGH_RACES = 100
"""Fewest races of a leaderboard on which to compare models or fit one."""


def rate(settings: Settings, *, interactive: bool, fit: bool) -> None:
    """Fetch and rate the past races, and choose model and parameters.

    Args:
        settings: the settings that setup saved.
        interactive: whether to ask; otherwise the model in the settings stays.
        fit: without questions, whether to fit the model.
    """
    if interactive:
        say("Fetching takes about a second for each hundred races. The bot stays silent.")
    with Ledger.open(settings.database) as ledger:
        rate_past_races(settings, ledger, settings.slugs(), Selection())
        boards = [board for board in ledger.leaderboards() if ledger.rated_count(board) >= ENOUGH_RACES]
        if not boards:
            say(
                "There are too few past races to compare models, so the default stays. Ratings settle as "
                "players race; `racebot evaluate` and `racebot fit` help later."
            )
            return
        if interactive and not settings.leaderboards:
            settings = _choose_model(settings, ledger, max(boards, key=ledger.rated_count))
        if interactive:
            say()
            say(
                "A fit adjusts the model to your own races, and changes all ratings. It is used only if it "
                "predicts clearly better, and you see the changes first."
            )
            offer_fits(settings, ledger, boards)
        elif fit:
            for board in boards:
                fit_board(settings, ledger, board, yes=True)


def _choose_model(settings: Settings, ledger: Ledger, board: Leaderboard) -> Settings:
    """Compare models on a leaderboard's races, and let the operator choose one."""
    report = _compared(ledger, board, list(dict.fromkeys([board.model, *COMPARED])))
    _print(report.evaluations, board)
    say(
        "Pairs right: how often the higher rated of two racers was ahead. Odds off by: how far the odds were "
        "from the results. Unfair results: changes to complain about, such as a winner who loses points."
    )
    say(
        "Differences below one percent mean nothing. Press Enter unless another model is clearly better; "
        "docs/models.md describes them."
    )
    chosen = ask("Model", _known_model, default=board.model)
    if chosen == board.model:
        return settings
    write_model(Path(), settings.config, chosen, {})
    settings = load()
    settler = Settler(ledger, settings.plans())
    apply_plans(settler)
    for each in ledger.leaderboards():
        show_best(ledger, each, settings)
    return settings


def _compared(ledger: Ledger, board: Leaderboard, models: Sequence[str]) -> Report:
    races = (stored.result for stored in ledger.races_of(board))
    history = History.of(races, TeamPolicy(board.teams))
    entries = [Entry(model, model, board.parameters if model == board.model else {}) for model in models]
    with progress_bars(transient=True) as advance, cores():
        return evaluate(
            history,
            entries,
            progress=lambda model, done: advance(f"trying {model}", done, len(history)),
        )


def _print(evaluations: Sequence[Evaluation], board: Leaderboard) -> None:
    headings = ("Model", ">Pairs right", ">Odds off by", ">Unfair results")
    made = table("How well models predict these races", *headings)
    for each in evaluations:
        figures = each.figures
        made.add_row(
            each.label + (" (in use)" if each.model == board.model else ""),
            f"{1 - figures.misordered:.1%}",
            f"{figures.calibration_error:.1%}",
            str(sum(asdict(each.complaints).values())),
        )
    console.print(made)


def _known_model(answer: str) -> str:
    try:
        registry.create(answer)
    except ModelError as error:
        raise RacebotError(str(error)) from None
    return answer
