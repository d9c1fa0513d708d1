"""The counted results of a leaderboard, as files that `racebot import` reads back to the same ratings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.races.result import HIDDEN_NAME, Entrant, RaceResult
from racebot.text.csv_rows import csv_chunks
from racebot.text.format import exact_time, iso_duration

CSV_COLUMNS = ("race", "ended_at", "player", "name", "finish_time", "place", "team")


def counted_results(ledger: Ledger, board: Leaderboard, *, with_hidden: bool = False) -> Iterator[RaceResult]:
    """Yield the results that count on a leaderboard, in the order in which they count.

    A race that was recorded after a later one ends just after it here, since imported races count by their
    end. Hidden and forgotten players are `hidden-1` and so on, unless they are wanted. The pattern that an
    opener's name matches stands for the name, which may be a forgotten one. Each says on which leaderboard it
    counts.

    Raises:
        DamagedRaceError: a stored result does not match its fingerprint.
    """
    hidden = set[str]() if with_hidden else ledger.people.hidden()
    aliases = dict[str, str]()

    def masked(entrant: Entrant) -> Entrant:
        if entrant.user_id is None or entrant.user_id not in hidden:
            return entrant
        alias = aliases.setdefault(entrant.user_id, f"hidden-{len(aliases) + 1}")
        return replace(entrant, user_id=alias, name=HIDDEN_NAME, discriminator=None, penalty_reason=None)

    last = None
    for stored in ledger.races.counted(board):
        stored.require_intact()
        result = stored.result
        if last is not None and (result.ended_at, result.name) <= (last.ended_at, last.name):
            result = replace(result, ended_at=last.ended_at + timedelta(microseconds=1))
        last = result
        opener = board.rule.opener_pattern(result.opened_by)
        info = result.info if board.rule.info else None
        entrants = tuple(map(masked, result.entrants))
        yield replace(result, entrants=entrants, info=info, opened_by=opener, leaderboard=board.name)


def json_text(results: Iterable[RaceResult]) -> str:
    """Return a JSON list of races in the site's format, with one race per line."""
    return "[\n" + ",\n".join(json.dumps(_document(each), ensure_ascii=False) for each in results) + "\n]\n"


def csv_text(results: Iterable[RaceResult]) -> str:
    """Return a table with one row per entrant. `player` is an id, empty for deleted accounts."""
    return "".join(csv_chunks(CSV_COLUMNS, _rows(results)))


def _rows(results: Iterable[RaceResult]) -> Iterator[tuple[Any, ...]]:
    for result in results:
        race, ended_at = result.name.partition("/")[2] or result.name, exact_time(result.ended_at)
        for each in result.entrants:
            time = "" if each.finish_time is None or not each.finished else iso_duration(each.finish_time)
            place = (each.place or "") if each.finished and not time else ""
            outcome = place if each.finished else each.status.value.upper()
            yield race, ended_at, each.user_id or "", each.name, time, outcome, each.team or ""


def _document(result: RaceResult) -> dict[str, Any]:
    """Return a race as the site writes it. A fact that is unknown is left out."""
    document: dict[str, Any] = {
        "name": result.name,
        "status": {"value": "finished"},
        "goal": {"name": result.goal, "custom": result.custom_goal},
        "info": result.info,
        "opened_by_bot": result.opened_by_bot,
        "started_at": result.started_at and exact_time(result.started_at),
        "ended_at": exact_time(result.ended_at),
        "recordable": result.recordable,
        "recorded": result.recorded,
        "leaderboard": result.leaderboard,
        "entrants": [
            {
                "user": each.user_id
                and {"id": each.user_id, "name": each.name, "discriminator": each.discriminator},
                "status": {"value": each.status.value},
                "finish_time": None if each.finish_time is None else iso_duration(each.finish_time),
                "place": each.place,
                "team": each.team and {"slug": each.team, "name": each.team_name or ""},
                "penalty": each.penalty and iso_duration(each.penalty),
                "penalty_reason": each.penalty_reason,
            }
            for each in result.entrants
        ],
    }
    if result.opened_by is not None:
        document["opened_by"] = {"name": result.opened_by} if result.opened_by else None
    return document
