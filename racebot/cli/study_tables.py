"""Evaluations and tunings as tables for people."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from racebot.study.evaluate import Report
from racebot.study.presets import Preset
from racebot.study.tuning import Tuned

MOST_COMPARED = 6
"""With more models the table of their pairs is left to `--json`."""
MORE_IS_BETTER = {"pair_accuracy", "kendall", "accuracy", "mrr", "ap", "ndcg"}
MAIN = {
    "misordered": "Misordered",
    "log_loss": "Log loss",
    "calibration_error": "Calib. error",
    "pair_accuracy": "Pairs right",
    "sse": "SSE",
}
RANKS = {"kendall": "τ", "accuracy": "Accuracy", "mae": "MAE", "mrr": "MRR", "ap": "AP", "ndcg": "NDCG"}
COMPLAINTS = {
    "unfinished_gains": "DNF gains",
    "last_gains": "Last gains",
    "winner_losses": "Winner loses",
    "unequal_ties": "Unequal",
    "order_dependent": "Order",
}


def evaluation(console: Console, report: Report, presets: Mapping[str, Preset]) -> None:
    """Everything an evaluation found, the best figure of each column marked."""
    document = report.as_json()
    since = f" since {report.since:%Y-%m-%d}" if report.since else ""
    console.print(
        f"{report.races} races judged{since}, {report.players} players; predicted, then rated, in order"
    )
    entries = document["evaluations"]
    rows = {each["label"]: each["views"]["all"] for each in entries}
    if presets:
        _published(console, rows, presets)
    _figures(console, "All players, pairs", rows, MAIN)
    _figures(console, "All players, ranks", rows, RANKS)
    _figures(
        console,
        "What players must never see (counts)",
        {each["label"]: each["complaints"] for each in entries},
        COMPLAINTS,
    )
    console.print(
        "DNF, Last: players who did not finish, or came last, and gained points. Winner: winners who "
        "lost some. Unequal: equal ratings, equal place, different changes. Order: changes that hang on "
        "the listing order."
    )
    views = [name for name in entries[0]["views"] if name != "all"]
    _figures(
        console,
        "Misordered pairs by view",
        {
            each["label"]: {
                "known": each["known"]["all"]["misordered"],
                **{name: each["views"][name]["misordered"] for name in views},
            }
            for each in entries
        },
        {name: name.capitalize() for name in ("known", *views)},
        digits=3,
    )
    console.print(
        "Known: without players in their first race. Best, Frequent: twenty players each. "
        "Bins: fifths of each race by place, the best first."
    )
    if len(entries) <= MOST_COMPARED:
        _comparisons(console, document["comparisons"])


def tuned(console: Console, result: Tuned, differing: Mapping[str, Any]) -> None:
    """What a search found, and lines that put it to use."""
    table = _table(f"{result.model}, {result.objective.value}")
    table.add_column("Races")
    for heading in ("", "Before", "Tuned", "Difference"):
        table.add_column(heading, justify="right")
    table.add_row(
        "earlier, searched",
        str(result.earlier_races),
        f"{result.earlier_start:.4f}",
        f"{result.earlier_tuned:.4f}",
        f"{result.earlier_tuned - result.earlier_start:+.4f}",
    )
    table.add_row(
        "later, judged",
        str(result.later_races),
        f"{result.later_start:.4f}",
        f"{result.later_tuned:.4f}",
        f"{result.difference:+.4f} ± {result.standard_error:.4f}",
    )
    console.print(table, end="\n\n")
    if not result.found_better:
        console.print("The search found nothing better than the parameters it started from: keep them.")
        return
    if result.recommended:
        verdict = "Better on races that the search did not see, by more than one standard error: recommended."
    elif result.difference < 0:
        verdict = (
            "Better on races that the search did not see, but by less than one standard error: "
            "not recommended."
        )
    else:
        verdict = "Not better on races that the search did not see: not recommended."
    console.print(verdict)
    pairs = "; ".join(f"{name}={_assigned(value)}" for name, value in differing.items())
    inline = ", ".join(f"{name} = {_toml(value)}" for name, value in differing.items())
    for title, text in (
        ("For .env:", f"RACEBOT_MODEL={result.model}\nRACEBOT_PARAMETERS={pairs}"),
        ("For racebot.toml:", f'model = "{result.model}"\nparameters = {{ {inline} }}'),
    ):
        console.print(title if result.recommended else f"{title[:-1]}, all the same:")
        console.print(text, markup=False, highlight=False, soft_wrap=True)


def _table(title: str) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=None,
        padding=(0, 1, 0, 0),
        header_style="dim",
    )


def _published(console: Console, rows: Mapping[str, Any], presets: Mapping[str, Preset]) -> None:
    table = _table("Misordered pairs beside the published figures")
    table.add_column("Preset", no_wrap=True)
    table.add_column("Method")
    for heading in ("Here", "Published", "Rerun", "Here − rerun"):
        table.add_column(heading, justify="right")
    for name, preset in presets.items():
        here = rows[name]["misordered"]
        table.add_row(
            name,
            preset.title,
            f"{here:.4f}",
            f"{preset.published:.4f}",
            f"{preset.rerun:.4f}",
            f"{round(here - preset.rerun, 4) + 0.0:+.4f}",
        )
    console.print(table, end="\n\n")
    console.print("The published figures are of Super Metroid Map Rando, season 1.")


def _figures(
    console: Console, title: str, rows: Mapping[str, Any], columns: Mapping[str, str], digits: int = 4
) -> None:
    table = _table(title)
    table.add_column("Model", no_wrap=True)
    for heading in columns.values():
        table.add_column(heading, justify="right", no_wrap=True)
    best = {name: _best(name, [row[name] for row in rows.values()]) for name in columns}
    for label, row in rows.items():
        cells = []
        for name in columns:
            text = _number(row[name], digits)
            marked = len(rows) > 1 and row[name] is not None and row[name] == best[name]
            cells.append(f"[bold green]{text}*[/bold green]" if marked else f"{text} ")
        table.add_row(escape(label), *cells)
    console.print(table, end="\n\n")


def _comparisons(console: Console, comparisons: list[dict[str, Any]]) -> None:
    if not comparisons:
        return
    table = _table("Two at a time")
    table.add_column("First")
    table.add_column("Second")
    for heading in ("Betting", "Split right", "Misordered", "Challenged"):
        table.add_column(heading, justify="right")
    for each in comparisons:
        table.add_row(
            escape(each["first"]),
            escape(each["second"]),
            f"{each['betting']:+.1f}",
            f"{each['first_right']} : {each['second_right']}",
            f"{_number(each['first_misordered'], 3)} : {_number(each['second_misordered'], 3)}",
            f"{_number(each['first_challenged'], 3)} : {_number(each['second_challenged'], 3)}",
        )
    console.print(table, end="\n\n")
    console.print(
        "Betting: points the first wins from the second. Split right: pairs in which they saw different "
        "winners. Challenged: misordered pairs in the fifth of the races that the other finds tightest."
    )


def _best(name: str, values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None and not math.isnan(value)]
    if not known:
        return None
    return max(known) if name in MORE_IS_BETTER else min(known)


def _number(value: float | None, digits: int = 4) -> str:
    if value is None:
        return "–"
    return (
        str(value)
        if isinstance(value, int)
        else f"{value:.1f}"
        if abs(value) >= 100
        else f"{value:.{digits}f}"
    )


def _assigned(value: Any) -> str:
    if value is None:
        return "none"
    return " ".join(f"{number:g}" for number in value) if isinstance(value, list) else str(value)


def _toml(value: Any) -> str:
    return '"none"' if value is None else json.dumps(value)
