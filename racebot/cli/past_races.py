"""Rate past races, show the leaderboards that they make, and offer better parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from racebot.cli import tables
from racebot.cli.common import (
    ask_site,
    carry_out_rebuilds,
    confirmed,
    console,
    notices,
    progress_bars,
    tell,
    tell_waiting,
)
from racebot.errors import ModelError, RacebotError, SettingsError, SiteError
from racebot.ledger.lock import utc_now
from racebot.ledger.rows import TEAM_RACE, Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries.leaderboard import leaderboard_report, races_without_changes
from racebot.queries.standings import listing_of
from racebot.races.result import RaceResult
from racebot.ratings import registry
from racebot.ratings.parameters import defaults
from racebot.settings.model import Settings
from racebot.settings.sources import load
from racebot.settings.write import write_leaderboard
from racebot.standings import backfill
from racebot.standings.backfill import Selection
from racebot.standings.carry_over import unknown_sources
from racebot.standings.counting import MOVE_NO_RATING, rating_rules
from racebot.standings.follow_settings import apply_settings
from racebot.standings.improve import effect_of, rated_history, with_fitted_odds
from racebot.standings.settle import PastRacesReport, Settler
from racebot.study.cores import cores
from racebot.study.fit import RATINGS_FROM, Fit, fit
from racebot.text.format import counted


def rate_from_site(settings: Settings, ledger: Ledger, slugs: Sequence[str], selection: Selection) -> None:
    """Fetch and rate past races with a progress bar, and show the leaderboards."""
    ledger.belong_to(settings.site, learn=False)
    settler = Settler(ledger, rating_rules(settings))
    if not unknown_sources(settler.rules, ledger.leaderboards.all()):
        apply_settings(settler)

    def fetched(slug: str, note: Callable[[str], object]) -> PastRacesReport:
        with progress_bars() as advance:
            advance(slug, 0, None)
            return ask_site(
                settings.site,
                lambda site: backfill.backfill(
                    site,
                    slug,
                    settler,
                    selection,
                    utc_now,
                    lambda page, pages, races: advance(slug, page, max(pages, page), f"pages, {races} races"),
                    note,
                    # A later category may bring the leaderboard that another one carries over from.
                    partial(apply_settings, goals=()) if slug == slugs[-1] else None,
                ),
                interval=settings.request_interval,
                attempts=8,
            )

    failed: list[SiteError] = []
    for slug in slugs:
        problems: list[str] = []
        try:
            _show_merge(fetched(slug, problems.append))
            ledger.belong_to(settings.site)
        except SiteError as error:
            failed.append(error)
        for problem in problems:
            tell(f"left out: {problem}", to=notices)
    carry_out_rebuilds(ledger)
    _show_rated(settings, settler, ledger.leaderboards.all())
    tell_waiting(settings, ledger)
    if failed:
        raise failed[0]


def rate_results(settings: Settings, ledger: Ledger, results: Iterable[RaceResult]) -> None:
    """Rate the results of a file, and show the leaderboards they count on."""
    settler = Settler(ledger, rating_rules(settings))
    with ledger.transaction():
        apply_settings(settler)
        report = settler.add_past_races(results, "import")
        if unknown := unknown_sources(settler.rules, ledger.leaderboards.all()):
            raise SettingsError(*unknown)
    carry_out_rebuilds(ledger)
    _show_merge(report)
    _show_rated(settings, settler, map(settler.current, report.leaderboards))


def tell_fitted_odds(settler: Settler, board: Leaderboard) -> Leaderboard:
    """Fit a leaderboard's odds to its races, and say so if they changed."""
    fitted = with_fitted_odds(settler, board, utc_now())
    if fitted.parameters != board.parameters:
        races = counted(fitted.odds_races, "race")
        tell(f"{board.name}: odds and finish forecast fitted to {races}; no rating changed")
    return fitted


def fit_old_odds(settler: Settler) -> None:
    """Fit the odds of each leaderboard that has many more races than at its last fit, and say so."""
    done, errors = [], []
    for board in settler.ledger.leaderboards.with_old_odds():
        try:
            fitted = with_fitted_odds(settler, board, utc_now())
            done.append(f"{board.name} ({counted(fitted.odds_races, 'race')})")
        except RacebotError as error:  # the other leaderboards' odds are fitted all the same
            errors.append(f"{board.name}: {error}")
    if errors:
        raise RacebotError("; ".join(errors))
    tell(", ".join(done))


def _show_merge(report: PastRacesReport) -> None:
    parts = (
        counted(report.new, "new race"),
        f"{report.changed} changed" if report.changed else "",
        f"{report.known} unchanged" if report.known else "",
        f"{report.waiting} waiting" if report.waiting else "",
        f"{report.skipped} not counted (not recorded, or goal not rated)" if report.skipped else "",
    )
    console.print(", ".join(part for part in parts if part))


def _show_rated(settings: Settings, settler: Settler, boards: Iterable[Leaderboard]) -> None:
    """Fit the odds of leaderboards, and print their first places."""
    ledger, fitted = settler.ledger, [tell_fitted_odds(settler, board) for board in boards]
    for board in fitted:
        report = leaderboard_report(ledger, board, listing_of(settings, board))
        unrated = races_without_changes(ledger, board)
        tables.print_leaderboard(console, report, 10, sum(unrated.values()))
        if report.races >= RATINGS_FROM:
            tell(f'{board.name}: fit the ratings, too: run racebot improve "{board.name}"')
        for reason, races in unrated.items():
            hint = ", left out unless RACEBOT_TEAM_RACES says how to rate it" if reason == TEAM_RACE else ""
            tell(f"{counted(races, 'race')} of {board.name} changed no rating: {reason}{hint}")


def offer_fit(settings: Settings, ledger: Ledger, board: Leaderboard, *, yes: bool) -> None:
    """Fit a leaderboard's model, and use the fit if it is better and the operator agrees, or said `--yes`."""
    board = tell_fitted_odds(Settler(ledger, rating_rules(settings)), board)
    try:
        with progress_bars() as advance, cores(settings.cluster):
            found = fit(
                rated_history(ledger, board),
                board.model,
                board.parameters,
                progress=lambda done, total: advance(f"{board.name}, fits", done, total),
            )
    except ModelError as error:
        tell(f"{board.name}: {error}", to=notices)
        return
    tell(f"{board.name}: {fit_in_words(found, board.model)}")
    new = replace(board, model=found.model, parameters=dict(found.parameters))
    if not found.kept:
        return
    tables.print_proposal(console, board, new, effect_of(ledger, new))
    races = counted(ledger.ratings.count(board), "stored race")
    tell(
        f"This rates {races} of {board.name} again: everybody's points, and what each past race changed, "
        "become those of the new parameters. A backup comes first."
    )
    if not confirmed(settings, ledger, f"Rate {board.name} in this way?", yes=yes):
        return
    usual = defaults(registry.MODELS[found.model])
    moving = {name: value for name, value in found.parameters.items() if name not in MOVE_NO_RATING}
    differing = {name: value for name, value in moving.items() if value != usual[name]}
    toml = settings.config
    write_leaderboard(toml, board.name, board.category, board.goals, found.model, differing)
    settler = Settler(ledger, rating_rules(load(database=settings.database)))
    apply_settings(settler)
    carry_out_rebuilds(ledger)
    tell_fitted_odds(settler, settler.current(board))
    tell(f"{board.name}: rated again; {toml} has its parameters. Restart the bot if it is running.")


def fit_in_words(found: Fit, model: str) -> str:
    """Describe the result of a fit in a few sentences, given the model in use."""
    if not found.kept:
        return f"the ratings stay. A fit to these {found.races} races does not predict clearly better."
    before, after = found.judged.start_misordered, found.judged.tuned_misordered
    better = "gives odds that fit the results better"
    if after < before:
        better = f"predicts the winner of a pair in {1 - after:.1%} of cases instead of {1 - before:.1%}"
    name = "the model" if found.model == model else f"the model {found.model}"
    text = f"fitted to these {found.races} races, {name} {better} (on races that the fit did not see)."
    if found.model != model:
        text += " Its points also depend on the days between a player's races, which nobody sees in a result."
    return text
