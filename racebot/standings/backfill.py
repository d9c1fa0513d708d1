"""Reads past races into the ledger, page by page from the site or from a file.

Nothing is announced in any room.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from racebot.errors import NotFoundError, PayloadError, in_words
from racebot.races.archive import is_archive, read_archive
from racebot.races.result import RaceResult
from racebot.races.table_file import read_table
from racebot.races.table_rows import TABLE_SUFFIXES
from racebot.racetime.payload import parse_race
from racebot.standings.settle import PastRacesReport, Settler
from racebot.text.parse import read_json

if TYPE_CHECKING:
    from racebot.racetime.client import Site  # reading a file needs no HTTP client

MOST_FAILURES = 5
"""Rooms in a row that the site fails to show, after which it counts as down."""
LARGEST_FILE = 64 * 2**20
"""Most bytes of a JSON file of races. A page of 100 large races has 10 MB."""
EDITED_WITHIN = timedelta(days=8)
"""Age up to which a room that is known is read again. Later, nobody edits its result."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The past races to read."""

    goals: Collection[str] = ()
    since: datetime | None = None
    until: datetime | None = None

    def wants(self, result: RaceResult) -> bool:
        return (
            (not self.goals or result.goal in self.goals)
            and (self.since is None or result.ended_at >= self.since)
            and (self.until is None or result.ended_at < self.until)
        )


async def backfill(
    site: Site,
    category: str,
    settler: Settler,
    selection: Selection,
    clock: Callable[[], datetime],
    progress: Callable[[int, int, int], None],
    note: Callable[[str], object] = lambda _: None,
    before_commit: Callable[[Settler], object] | None = None,
) -> PastRacesReport:
    """Fetch a category's past races and rate those that count, in one transaction at the end.

    Pages are read newest first: a new race pushes others to later pages, so a race may be read twice but is
    never missed.

    `progress` is called with each page's number, the number of pages, and the races found so far; `note` with
    what is wrong with each page, race and room that is left out since it cannot be read; `before_commit` at
    the end of the transaction that rates the races. If that fails, nothing is rated.

    Raises:
        SiteError: the site stays unreachable or keeps failing.
    """
    found: dict[str, RaceResult] = {}
    if settler.rules.needs_list(category):
        async for page, listed in site.past_race_pages(category, since=selection.since):
            found |= {race.name: race.result for race in listed.races if race.result is not None}
            for problem in listed.problems:
                note(problem)
            progress(page, listed.pages, len(found))

    rooms, failed = _to_read(settler, category, found, clock()), 0
    for number, name in enumerate(rooms, start=1):
        try:
            race, _ = await site.race(name)
        except Exception as error:
            note(f"{name}: {in_words(error)}")
            failed = 0 if isinstance(error, NotFoundError | PayloadError) else failed + 1
            if failed == MOST_FAILURES:
                raise
        else:
            failed = 0
            found |= {name: race.result} if race.result else {}
        progress(number, len(rooms), len(found))

    with settler.ledger.transaction():
        for result in found.values():
            settler.ledger.profiles.save(result.entrants, current=True)
        report = settler.add_past_races(filter(selection.wants, found.values()), "backfill")
        if before_commit is not None:
            before_commit(settler)
    return report


def _to_read(settler: Settler, category: str, found: Mapping[str, RaceResult], now: datetime) -> list[str]:
    """Return the rooms to read one by one: the list of past races lacks them, or their opener."""
    races, rules = settler.ledger.races, settler.rules
    listed = [name for name in rules.listed_rooms(category) if name not in found]
    openers = [name for name, result in found.items() if rules.lacks_opener(result)]

    def is_known(name: str) -> bool:
        stored = races.get(name)
        if stored is None:
            return False
        return stored.result.opened_by is not None and now - stored.result.ended_at > EDITED_WITHIN

    return [name for name in dict.fromkeys(listed + openers) if not is_known(name)]


def read_races(
    path: Path,
    *,
    category: str,
    goal: str | None,
    columns: Mapping[str, str] | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> list[RaceResult]:
    """Read the races of a file: an archive, JSON saved from the site, or a table.

    Args:
        path: a JSON file, or a table whose name ends in one of `TABLE_SUFFIXES`.
        category: slug for the races of an archive or table.
        goal: the goal of an archive's or table's races, by default the file's name without its ending; for
            the site's own JSON, the one goal to keep, by default all.
        columns: a table's own names of columns, by ours.
        note: called with each note on how a table was read.

    Raises:
        PayloadError: the file cannot be read; the message says what is wrong and where.
    """
    if path.suffix.lower() in TABLE_SUFFIXES:
        found = read_table(path, category=category, goal=goal or path.stem, columns=columns)
        for each in found.notes:
            note(f"{path.name}: {each}")
        return list(found.results)
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise PayloadError(f"{path}: {error.strerror}") from None
    if len(content) > LARGEST_FILE:
        raise PayloadError(f"{path}: more than {LARGEST_FILE // 2**20} MiB: split it into several files")
    try:
        document = read_json(content)
        if is_archive(document):
            return read_archive(document, category=category, goal=goal or path.stem)
        results = [race.result for race in map(parse_race, _site_races(document)) if race.result is not None]
    except PayloadError as error:
        raise PayloadError(f"{path}: {error}") from None
    return [result for result in results if goal is None or result.goal == goal]


def _site_races(document: Any) -> list[Any]:
    """Return the races in JSON saved from the site: a list page, several pages, one race, or a list."""
    if isinstance(document, dict):
        return document["races"] if isinstance(document.get("races"), list) else [document]
    if isinstance(document, list):
        parts = (_site_races(item) if isinstance(item, dict) else [item] for item in document)
        return list(itertools.chain.from_iterable(parts))
    raise PayloadError("neither an archive nor races saved from the site")
