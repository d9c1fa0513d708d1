"""A tournament in one table: its standings, races with pars, results, and the orders that changed it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from racebot.errors import PayloadError
from racebot.ledger.orders import OrderKind
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries.scores import scored
from racebot.queries.seeds import seed_list
from racebot.queries.standings import Listing
from racebot.races.outcome import TeamPolicy, places
from racebot.races.result import result_label, shown_names
from racebot.text.format import gap, timer

OF_PLAYERS = {OrderKind.ANNUL, OrderKind.RESTORE, OrderKind.PENALTY}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """A standing, race, result or order, as `kind` says. A race's `time` is its par, if it has one."""

    kind: str
    place: int | None = None
    player: str = ""
    race: str = ""
    at: datetime | None = None
    time: str = ""
    score: float | None = None
    points: int | None = None
    note: str = ""


def tournament_report(ledger: Ledger, board: Leaderboard, listing: Listing) -> Iterator[ReportRow]:
    """Yield the rows of a leaderboard's report. Hidden names are masked, with the reasons beside them."""
    for seed in seed_list(ledger, board, listing).seeds:
        numbers: dict[str, Any] = {"place": seed.place, "score": seed.score, "points": seed.points}
        yield ReportRow(kind="standing", player=seed.name, note=seed.note, **numbers)
    about = {e.name for e in ledger.events.all() if e.leaderboard == board.name and (e.closed_at or e.shown)}
    for stored in ledger.races.of(board):
        result, ended_at = ledger.people.masked(stored.result), stored.result.ended_at
        about.add(result.name)
        race = scored(board, stored.result, listing.scoring, stored.note)
        par = None if race is None else race.par
        until = f"preliminary until {par.preliminary_until} finish" if par and par.preliminary_until else ""
        note, time = stored.note or until, timer(par.time) if par else ""
        yield ReportRow(kind="race", race=result.name, at=ended_at, time=time, note=note)
        try:
            place_of = places(result, TeamPolicy(board.teams))
        except PayloadError:
            place_of = {}
        for each, name in shown_names(sorted(result.entrants, key=lambda e: place_of.get(e) or 9999)).items():
            own = race and race.scores.get(each.user_id or "")
            reason = f"{gap(each.penalty / 1e6)}: {each.penalty_reason or ''}" if each.penalty else ""
            yield ReportRow(
                kind="result",
                place=place_of.get(each),
                player=name,
                race=result.name,
                time="" if each.seconds is None else timer(each.seconds),
                score=own.score if own else None,
                note=reason or ("" if each.finished else result_label(each.status, None)),
            )
    orders = [each for each in ledger.orders.all() if each.subject in about]
    names, hidden = ledger.people.names(each.target or "" for each in orders), ledger.people.hidden()
    for order in orders:
        is_player, target = order.kind in OF_PLAYERS, order.target or ""
        what = gap(order.amount / 1e6) if order.amount is not None else "" if is_player else target
        words = [f"{order.kind} {what}".strip(), "" if target in hidden else order.reason]
        player = names[target] if is_player else ""
        note = ": ".join(filter(None, words))
        yield ReportRow(kind="order", player=player, race=order.subject, at=order.given_at, note=note)
