"""The data API's CSV files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any

from racebot import __version__
from racebot.queries.races import rating_changes
from racebot.text.csv_rows import csv_chunks
from racebot.text.format import field_names
from racebot.web.site.ledger_view import CSV, Board, Document, PageRequest, Streamed, entity_tag

RACES_IN_A_CHUNK = 500  # number of races to read at once while writing a CSV file of changes


def leaderboard_csv(request: PageRequest, board: Board) -> Document:
    """Return a leaderboard as CSV, with one row per listed player."""
    columns = ("place", "id", "name", "points", "races", "finishes", "wins", "last_race_at", "provisional")
    rows = map(attrgetter(*columns), request.view.report(board).players)
    return _document(columns, rows)


def scores_csv(request: PageRequest, board: Board) -> Document | None:
    """Return a league's scores as CSV, with one row per racer and race entered; None without scores."""
    table = request.view.league(board)
    if table is None:
        return None
    races = [race.result.name for race in table.races]
    of_racer = attrgetter("place", "id", "name", "total.score", "total.entered", "total.finished")
    rows = (
        (*found, race, each.time, each.score, at in racer.counted)
        for racer, found in zip(table.standings, map(of_racer, table.standings), strict=True)
        for at, (race, each) in enumerate(zip(races, racer.scores, strict=True))
        if each
    )
    columns = ("place", "id", "name", "total", "entered", "finished", "race", "time", "score", "counted")
    return _document(columns, rows)


def records_csv(kind: type, records: Iterable[object]) -> Document:
    """Return records of a dataclass as CSV, with one row per record."""
    columns = field_names(kind)
    return _document(columns, map(attrgetter(*columns), records))


def changes_csv(request: PageRequest, board: Board) -> Streamed:
    """Return the rating changes of a leaderboard as CSV, in race order, with a tag found without them."""
    view = request.view
    columns = (
        "sequence", "race", "ended_at", "player", "name", "place", "before", "after", "races_before",
        "change", "finish_time",
    )  # fmt: skip

    def rows() -> Iterator[tuple[Any, ...]]:
        last = 0
        while found := list(rating_changes(view.ledger, board.key, last, RACES_IN_A_CHUNK)):
            yield from map(attrgetter(*columns), found)
            last = found[-1].sequence

    depends_on = (
        __version__,
        view.totals(board),
        view.ledger.ratings.revision_of(board.stored),
        view.rated_players,
        sorted(view.hidden),
    )
    return Streamed(lambda: _csv_rows(columns, rows()), CSV, entity_tag(repr(depends_on).encode()))


def _document(columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> Document:
    return Document(b"".join(_csv_rows(columns, rows)), CSV)


def _csv_rows(columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> Iterator[bytes]:
    return (chunk.encode(errors="replace") for chunk in csv_chunks(columns, rows))
