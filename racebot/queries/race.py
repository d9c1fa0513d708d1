"""Races: the result, each change of a rating with its reasons, and what moderators edited; and events."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated

import numpy as np
from pydantic import Field

from racebot.ledger.outbox import ChatBody, Edit, MetaBody
from racebot.ledger.rows import Change, Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries import (
    FinishChance,
    FinishTime,
    Label,
    OptionalId,
    Parts,
    Penalty,
    Place,
    ShownId,
    WinChance,
)
from racebot.queries.explain import Reason, explain_race, in_words
from racebot.races.events import ANNULLED, LATE, SECOND_ATTEMPT, Attempt, Event, EventSource, by_result
from racebot.races.outcome import TeamPolicy, places
from racebot.races.result import (
    HIDDEN_NAME,
    NO_NAME,
    Entrant,
    EntrantStatus,
    RaceResult,
    result_label,
    shown_names,
)
from racebot.racetime.payload import Race
from racebot.ratings import registry
from racebot.ratings.forecast import win_chances

JUST_EDITED = timedelta(seconds=75)
"""Age of an edit up to which the changes before it are shown. Pages are drawn again each minute."""
Facts = tuple[str, float | None]  # of an entrant: the status and the finish time
WORDS = {"dq": "disqualified", "dnf": "did not finish", "done": "finished", "time": "has another time"}
"""What an edit says about a racer, by its kind."""


@dataclass(frozen=True, slots=True)
class ResultEdit:
    """An edit of one entrant's result."""

    at: datetime
    id: OptionalId
    name: str
    edit: Annotated[str, Field(description="`dq`, `dnf` or `done`, or `time` if only the time changed")]

    @property
    def words(self) -> str:
        return WORDS[self.edit]


@dataclass(frozen=True, slots=True)
class EventReport:
    """An event with hidden names masked. `results` are those that count first; none while they are sealed."""

    event: Event
    sources: tuple[EventSource, ...]
    finished: int
    results: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True)
class RacedEntrant:
    """One entrant of a race's result."""

    id: OptionalId
    name: str
    place: Place
    standing: Label
    team: str | None
    finish_time: FinishTime
    penalty: Penalty
    penalty_reason: str | None


@dataclass(frozen=True, slots=True)
class RatedEntrant:
    """One entrant's change of rating in a race, with its reasons. `reasons` are in English."""

    place: Place
    standing: Label
    finish_time: FinishTime
    id: ShownId
    name: str
    before: int
    after: int
    change: int
    first_race: bool
    parts: Parts
    expected: Annotated[
        float,
        Field(
            description="Place expected from the ratings, among all rated entrants; "
            "for finishers among the finishers, if the model rates finishing on its own"
        ),
    ]
    actual: Annotated[float, Field(description="Place among the same entrants; ties share the mean place")]
    win_chance: WinChance
    finish_chance: FinishChance
    reasons: Sequence[str]
    why: Annotated[Sequence[Reason], Field(description="The same explanation as data, in the same order")]


@dataclass(frozen=True, slots=True)
class RaceOnBoard:
    """The changes that a race made on one leaderboard. `note` says why no rating changed, if none did."""

    leaderboard: str
    model: str
    sequence: int
    note: str | None
    entrants: Annotated[
        Sequence[RatedEntrant], Field(description="By place, then by points; empty if no rating changed")
    ]
    unrated: Annotated[
        Sequence[RacedEntrant],
        Field(description="The others: their accounts were deleted; empty if no rating changed"),
    ]

    @property
    def placed(self) -> list[RatedEntrant | RacedEntrant]:
        """All entrants by place, rated or not."""
        return sorted([*self.entrants, *self.unrated], key=_order)


@dataclass(frozen=True, slots=True)
class RaceReport:
    """A race with its result and its changes on every leaderboard that it counts on."""

    race: str
    category: str
    goal: str
    ended_at: datetime
    source: Annotated[str, Field(description="`live`, `backfill` or `import`")]
    corrected_at: Annotated[
        datetime | None, Field(description="When its stored result last changed; null if it never did")
    ]
    result: Sequence[RacedEntrant]
    leaderboards: Sequence[RaceOnBoard]


def race_report(ledger: Ledger, name: str) -> RaceReport:
    """Read a race by its name, with or without its category, and explain each change of a rating.

    If the ledger has no recorded race of that name, raise `NoSuchEntryError`.
    """
    stored, withheld = ledger.races.find(name), ledger.people.withheld()
    result = ledger.people.masked(stored.result) if withheld else stored.result
    return RaceReport(
        race=result.name,
        category=result.category,
        goal=result.goal,
        ended_at=result.ended_at,
        source=stored.source,
        corrected_at=stored.corrected_at,
        result=_result(result, withheld),
        leaderboards=[
            race_on_board(board, result, row.changes, row.note, row.sequence, withheld)
            for board, row in ledger.ratings.of_race(result.name)
        ],
    )


def named_edits(edits: Iterable[Edit], names: Mapping[str, str], at: datetime) -> list[ResultEdit]:
    """Return the edits of the players in `names`, by their ids: hidden players are left out."""
    return [
        ResultEdit(at, each.player, names[each.player], each.edit)
        for each in edits
        if each.player in names and each.edit in WORDS
    ]


def facts_of(result: RaceResult | Race) -> dict[str, tuple[str, int | None]]:
    """Return each entrant's status and finish time, by user id."""
    return {e.user_id: (e.status.value, e.finish_time) for e in result.entrants if e.user_id is not None}


def edits_between(before: Mapping[str, Facts], after: Mapping[str, Facts]) -> list[Edit]:
    """List the edits that lead from the facts of a result to later ones."""
    found = ((player, before.get(player, now), now) for player, now in after.items())
    return [Edit(player, "time" if was[0] == now[0] else now[0]) for player, was, now in found if was != now]


def changes_before(ledger: Ledger, race: str, now: datetime) -> Mapping[str, Mapping[str, int]]:
    """Return the changes that a correction after the record replaced a moment ago, by leaderboard."""
    rows = ledger.messages.of(race)
    told = [(row.created_at, body) for row in rows if isinstance(body := row.message.body, MetaBody)]
    former = told[-2][1].leaderboards if len(told) > 1 and now - told[-1][0] < JUST_EDITED else ()
    return {e.leaderboard: {p: new - old for p, (old, new) in e.changes.items()} for e in former}


def edits_of(
    ledger: Ledger, race: str, names: Mapping[str, str], seen: Iterable[ResultEdit] = ()
) -> list[ResultEdit]:
    """Return the edits `seen` in the room, those that chat was told, and those with or after the record.

    Several messages can tell the same edit.
    """
    shown = [replace(each, name=names[each.id]) for each in seen if each.id and each.id in names]
    known = {(each.id, each.edit) for each in shown}
    found: dict[tuple[int, str | None, str], ResultEdit] = {}
    told: Mapping[str, Facts] = {}
    settled_at = None
    for row in ledger.messages.of(race):
        match row.message.body:
            case ChatBody() as body:
                for edit in named_edits(body.edits, names, row.created_at):
                    found.setdefault((body.correction, edit.id, edit.edit), edit)
                told, settled_at = (body.told, None) if body.told else (told, settled_at)
            case MetaBody():
                settled_at = settled_at or row.created_at
    if (stored := ledger.races.get(race)) is None:
        return [*shown, *found.values()]
    at = stored.corrected_at or settled_at or stored.counted_at
    found_later = named_edits(edits_between(told, facts_of(stored.result)), names, at)
    return [*shown, *(e for e in (*found.values(), *found_later) if (e.id, e.edit) not in known)]


def event_reports(ledger: Ledger, name: str | None = None) -> list[EventReport]:
    """Return all events, the newest first, or the one with the name of its race."""
    hidden, reports = ledger.people.hidden(), []
    for event in ledger.events.all():
        if name not in {None, event.name}:
            continue
        found = ledger.events.attempts(event)
        finished = sum(each.note is None and each.entrant.finished for each in found)
        masked = (_masked(each) if each.entrant.user_id in hidden else each for each in by_result(found))
        results = tuple(masked) if event.closed_at else ()
        reports.append(EventReport(event, tuple(ledger.events.sources(event.name)), finished, results))
    return reports


def _masked(attempt: Attempt) -> Attempt:
    name = attempt.entrant.name if attempt.entrant.name == NO_NAME else HIDDEN_NAME
    hidden = replace(attempt.entrant, user_id=None, name=name, discriminator=None, penalty_reason=None)
    # The reason of an annulment may name them.
    note = attempt.note if attempt.note in {None, LATE, SECOND_ATTEMPT} else ANNULLED
    return replace(attempt, entrant=hidden, proof="", comment="", note=note)


def _order(entrant: RacedEntrant | RatedEntrant) -> tuple[int, int]:
    """Return the sort key of an entrant: finishers by place, then those who did not finish, then the rest."""
    return 0 if entrant.place else 2 if entrant.standing == "DQ" else 1, entrant.place or 0


def _result(result: RaceResult, withheld: Collection[str]) -> list[RacedEntrant]:
    place_of, shown = places(result), shown_names(result.entrants)
    entrants = [_raced_entrant(entrant, shown[entrant], place_of, withheld) for entrant in result.entrants]
    return sorted(entrants, key=lambda each: (*_order(each), each.name))


def _raced_entrant(
    entrant: Entrant, name: str, place_of: Mapping[Entrant, int | None], withheld: Collection[str] = ()
) -> RacedEntrant:
    place = place_of.get(entrant)
    return RacedEntrant(
        id=None if entrant.user_id in withheld else entrant.user_id,
        name=name,
        place=place,
        standing="" if entrant.finished and not place_of else result_label(entrant.status, place),
        team=entrant.team_name or entrant.team,
        finish_time=entrant.seconds,
        penalty=entrant.penalty and entrant.penalty / 1e6,
        penalty_reason=entrant.penalty_reason,
    )


def race_on_board(
    board: Leaderboard,
    result: RaceResult,
    rated: Sequence[Change],
    note: str | None,
    sequence: int = 0,
    withheld: Collection[str] = (),
) -> RaceOnBoard:
    """Explain what a race changes on a leaderboard, given the changes of all rated entrants.

    `sequence` is 0 before the race's record. The ids of `withheld` players are left out.
    """
    if not rated:
        return RaceOnBoard(board.name, board.model, sequence, note, [], [])
    model, teams = registry.create(board.model, board.parameters), TeamPolicy(board.teams)
    explained = explain_race(model, teams, result, rated)
    shown = shown_names(result.entrants)
    names: dict[str | None, str] = {player: shown[entrant] for player, (entrant, _) in explained.items()}
    chances = win_chances(model, np.array([change.before for change in rated])).tolist()
    chance_of = {change.player: chance for change, chance in zip(rated, chances, strict=True)}
    entrants = []

    def order(change: Change) -> tuple[int, int, str, int, str]:
        entrant, _ = explained[change.player]
        rank = 0 if change.place else 2 if entrant.status is EntrantStatus.DQ else 1
        return rank, change.place or 0, entrant.team or "", -change.points_after, shown[entrant].casefold()

    for change in sorted(rated, key=order):
        entrant, explanation = explained[change.player]
        words = [in_words(reason, names) for reason in explanation.reasons()]
        explanation = explanation.without(withheld)
        entrants.append(
            RatedEntrant(
                place=change.place,
                standing=result_label(entrant.status, change.place),
                finish_time=entrant.seconds,
                id=None if change.player in withheld else change.player,
                name=names[change.player],
                before=change.points_before,
                after=change.points_after,
                change=change.points_change,
                first_race=change.races_before == 0,
                parts=dict(change.parts),
                expected=round(explanation.expected, 2),
                actual=explanation.actual,
                win_chance=chance_of[change.player],
                finish_chance=explanation.finish_chance,
                reasons=words,
                why=explanation.reasons(),
            )
        )
    deleted = [entrant for entrant in result.entrants if entrant.user_id is None]
    place_of = places(result, teams) if deleted else {}
    unrated = [_raced_entrant(entrant, shown[entrant], place_of) for entrant in deleted]
    return RaceOnBoard(board.name, board.model, sequence, note, entrants, unrated)
