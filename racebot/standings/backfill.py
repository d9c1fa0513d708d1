"""Reads past races into the ledger, page by page from the site.

Nothing is announced in any room.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from racebot.errors import NotFoundError, PayloadError, in_words
from racebot.races.result import RaceResult
from racebot.standings.follow_settings import follow_renames
from racebot.standings.settle import PastRacesReport, Settler

if TYPE_CHECKING:
    from racebot.racetime.client import Site  # reading a file needs no HTTP client

MOST_FAILURES = 5  # rooms in a row that the site fails to show, after which it counts as down
EDITED_WITHIN = timedelta(days=8)
"""Age up to which a room that is known is read again. Later, nobody edits its result."""


async def backfill(
    site: Site,
    category: str,
    settler: Settler,
    clock: Callable[[], datetime],
    progress: Callable[[int, int, int], None],
    note: Callable[[str], object] = lambda _: None,
    before_commit: Callable[[Settler], object] | None = None,
    *,
    since: datetime | None = None,
) -> PastRacesReport:
    """Fetch a category's past races, all or since a time, and rate those that count, in one transaction.

    Pages are read newest first: a new race pushes others to later pages, so a race may be read twice but is
    never missed.

    `progress` is called with each page's number, the number of pages, and the races found so far; `note` with
    what is wrong with each page, race and room that is left out since it cannot be read; `before_commit` at
    the end of the transaction that rates the races. If that fails, nothing is rated. Raise `SiteError` if the
    site stays unreachable or keeps failing.
    """
    found: dict[str, RaceResult] = {}
    if settler.rules.needs_list(category):
        async for page, listed in site.past_race_pages(category, since=since):
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
            settler.ledger.profiles.save(settler.ledger.people.amended(result).entrants, current=True)
        # Once its races are stored under a new name, a renamed goal looks like another one.
        follow_renames(settler, found.values(), {r.goal for r in found.values() if not r.custom_goal})
        wanted = (race for race in found.values() if since is None or race.ended_at >= since)
        report = settler.add_past_races(wanted, "backfill")
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
