"""Events: one race of all entrants, made of several sources."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from pydantic import AwareDatetime

from racebot.races.result import Entrant, RaceResult, shown_names

SECOND_ATTEMPT = "second attempt"
LATE = "started after the event's end"
ANNULLED = "annulled"
"""Notes of results that do not count. The last one stands for a reason that must not be shown."""


def is_event(race: str) -> bool:
    """Return whether a race's name is that of an event, which has no room."""
    return "/event-" in race


class SourceKind(StrEnum):
    """Where results of an event come from: a race room of the site, or a table."""

    ROOM = "room"
    SHEET = "sheet"


@dataclass(frozen=True, slots=True)
class EventSource:
    """A room or a sheet of an event.

    `result` has all attempts, and is None while a room has no final result. `remarks` has the proof, a web
    address or empty, and the comment of each of a sheet's results.
    """

    event: str
    kind: SourceKind
    name: str
    result: RaceResult | None
    remarks: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Event:
    """An event, whose results are sealed until it closes. `name` is that of its race."""

    name: str
    title: str
    category: str
    leaderboard: str
    until: AwareDatetime
    created_at: AwareDatetime
    closed_at: AwareDatetime | None = None

    @property
    def ended_at(self) -> datetime:
        """When its race ends, or ended."""
        return min(self.until, self.closed_at or self.until)

    def is_named(self, text: str) -> bool:
        """Return whether a text is its title in any letter case, or its name with or without the category."""
        return text.strip().casefold() in {self.title.casefold(), self.name, self.name.partition("/")[2]}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One result of an event. `note` says why it does not count, None if it does."""

    entrant: Entrant
    source: str
    proof: str
    comment: str
    note: str | None


def attempts(event: Event, sources: Iterable[EventSource], annulled: Mapping[str, str]) -> list[Attempt]:
    """Return all results of an event, earliest first. A racer's first attempt that is not late counts.

    Sources are in the order in which they ended; a sheet ends when it is added. `annulled` has the reason for
    each player whose results are annulled.
    """
    found: list[Attempt] = []
    seen: set[str | None] = set()
    ended = [(source.result, source) for source in sources if source.result]
    for result, source in sorted(ended, key=lambda each: (each[0].ended_at, each[1].name)):
        late = LATE if result.started_at is not None and result.started_at > event.until else None
        remarks = source.remarks or (("", ""),) * len(result.entrants)
        for entrant, remark in zip(result.entrants, remarks, strict=True):
            player = entrant.user_id
            note = annulled.get(player or "") or late or (SECOND_ATTEMPT if player in seen else None)
            seen |= {player} if player and not late else set()
            found.append(Attempt(entrant, source.name, *remark, note))
    return found


def by_result(found: Sequence[Attempt]) -> list[Attempt]:
    """Return results in the order in which to list them: those that count first, the fastest on top.

    Racers are called `name#1234` where two share a name.
    """
    racers = {each.entrant.user_id: each.entrant for each in found}
    shown = shown_names(racers.values())
    named = [(each, shown[racers[each.entrant.user_id]]) for each in found]
    return sorted(
        (replace(each, entrant=replace(each.entrant, name=name)) for each, name in named),
        key=lambda each: (
            bool(each.note),
            not each.entrant.finished,
            each.entrant.finish_time or each.entrant.place or 0,
        ),
    )
