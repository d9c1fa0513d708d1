"""The counted results of a leaderboard, as files that `racebot import` reads back to the same ratings."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Any

from racebot.files.documents import EXPORTED, documents_of
from racebot.ledger.orders import OrderKind
from racebot.ledger.races import SKIPPED
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.races.result import HIDDEN_ID, HIDDEN_NAME, Entrant, Profile, RaceResult
from racebot.text.format import counted, exact_time, iso_duration, rows_as_csv


def counted_results(ledger: Ledger, board: Leaderboard) -> Iterator[RaceResult]:
    """Yield the results that count on a leaderboard, in the order in which they count.

    A race that was recorded after a later one ends just after it here, since imported races count by their
    end. Players have the names that the ledger shows now. Hidden and forgotten ones are `hidden-7`, by the
    number of the first order that hid them; imported ones stay that. The pattern that an opener's name
    matches stands for the name, which may be a forgotten one. Each says on which leaderboard it counts. A
    stored result that does not match its fingerprint is a `DamagedRaceError`.
    """
    hidden, profiles = ledger.people.hidden(), ledger.profiles.all()
    player, given = cache(ledger.players.get), enumerate(ledger.orders.all(), start=1)
    numbers = {o.subject: n for n, o in reversed([*given]) if o.kind in {OrderKind.HIDE, OrderKind.FORGET}}

    def masked(entrant: Entrant) -> Entrant:
        if entrant.user_id is None or (known := player(entrant.user_id)) is None:
            return entrant
        if entrant.user_id not in hidden:
            profile = replace(profiles.get(known.id, Profile()), numbered=known.shown != known.name)
            number = known.discriminator or None
            return replace(entrant, name=known.name, discriminator=number, profile=profile)
        alias, order = entrant.user_id.removesuffix(own := f" of {board.name}"), numbers[entrant.user_id]
        if not alias.startswith(HIDDEN_ID):
            while player(f"{HIDDEN_ID}{order}{own}"):  # is another one, of an imported file
                order += len(numbers)
            alias = f"{HIDDEN_ID}{order}"
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


def left_out(ledger: Ledger, board: Leaderboard) -> str:
    """Say which stored results are not in the files, and why; empty if all are."""
    found = Counter(("race", stored.note) for stored in ledger.races.of(board) if stored.note)
    for room in ledger.orders.under(OrderKind.SKIP) if board.rule.finished else ():
        if room.startswith(f"{board.category}/") and not ledger.races.has(room):
            found["race", f"{SKIPPED} before it counted"] += 1
    for event in ledger.events.all():
        if event.closed_at and (event.category, event.leaderboard) == (board.category, board.name):
            notes = (each.note for each in ledger.events.attempts(event) if each.note)
            found.update(("result", f"of {event.title}: {note}") for note in notes)
    return ", ".join(f"{counted(count, what)} {why}" for (what, why), count in found.items())


def json_text(results: Iterable[RaceResult]) -> str:
    """Return a JSON list of races in the site's format, with one race per line."""
    documents = documents_of(row for each in results for row in _rows(each))
    return "[\n" + ",\n".join(json.dumps(each, ensure_ascii=False) for each in documents) + "\n]\n"


def csv_text(results: Iterable[RaceResult]) -> str:
    """Return the same as a table with one row per entrant. `player` is an id, empty for deleted accounts."""
    rows = (row for each in results for row in _rows(each))
    return rows_as_csv([*EXPORTED], ([row[column] for column in EXPORTED] for row in rows))


def _rows(result: RaceResult) -> Iterator[dict[str, Any]]:
    times = {"ended_at": exact_time(result.ended_at)}
    if result.started_at is not None:
        times["started_at"] = exact_time(result.started_at)
    for each in result.entrants:
        own = {column: getattr(each, column, getattr(result, column, None)) for column in EXPORTED}
        names: dict[str, Any] = {"race": result.name, "player": each.user_id}
        names["name"] = each.user_id and each.name
        names["discriminator"] = each.user_id and each.discriminator
        names["twitch_name"] = each.profile.twitch if each.profile else None
        names["numbered"] = (each.profile and each.profile.numbered) or None
        durations = {"finish_time": each.finish_time, "penalty": each.penalty}
        iso = {key: None if length is None else iso_duration(length) for key, length in durations.items()}
        yield own | times | names | iso | {"status": each.status.value}
