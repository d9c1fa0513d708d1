"""Writes the live file: open rooms with their odds, finished rooms with the changes to come.

Reading, rating and writing run on other threads than the ledger's. No failure reaches the worker.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from operator import attrgetter

from racebot.addresses import address_among
from racebot.bot.failures import Backoff
from racebot.ledger.connection import RunOnLedger
from racebot.ledger.outbox import MESSAGES_KEPT
from racebot.ledger.rows import Change, Leaderboard
from racebot.ledger.store import Ledger
from racebot.live_file import LiveBoard, LiveEntrant, LiveReport, LiveRoom, live_path, read_live, write_live
from racebot.queries.leaderboard import new_places
from racebot.queries.odds import finishing_habits, forecasts
from racebot.queries.race import facts_of, race_on_board
from racebot.queries.scores import coming_scores
from racebot.queries.standings import listed_now, listing_of, place_of
from racebot.races.outcome import TeamPolicy
from racebot.races.result import Entrant, EntrantStatus, shown_names
from racebot.racetime.payload import Race
from racebot.settings.model import Settings
from racebot.standings.rater import current_states
from racebot.standings.settle import Settler

WRITE_EVERY = 10.0  # seconds between two writes when nothing changes, so that readers can tell a dead worker
GATHER = 0.3  # seconds to wait after a change, since changes come in groups
FORGET_UNSEEN = timedelta(minutes=15)
"""Age at which an unfinished room is dropped. The bot asks a silent room for its race every five minutes."""
FORGET_FINISHED = timedelta(days=2)
"""Time after its end at which a race that nobody records or that changes no rating is dropped."""
JOIN_WITHIN = 5.0
"""Seconds after the start in which the bot joins its rooms. Until then, the file of the last run stays."""
_SOURCE = "live rooms"


@dataclass(slots=True)
class _OpenRoom:
    race: Race
    seen_at: datetime
    described: LiveRoom | None = None
    changed: bool = True


@dataclass
class LiveWriter:
    """Keeps the live file of one worker up to date."""

    settler: Settler
    settings: Settings
    call: RunOnLedger
    clock: Callable[[], datetime]
    backoff: Backoff
    _open: dict[str, _OpenRoom] = field(default_factory=dict)
    _former: dict[str, LiveRoom] = field(default_factory=dict)
    """Rooms of the last run that were not seen since, and the last states of rooms that change no rating."""
    _edited: dict[str, LiveRoom] = field(default_factory=dict)
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _revision: tuple[int, ...] = ()
    _writing: asyncio.Future[None] | None = None

    def __post_init__(self) -> None:
        self._ledger = self.settler.ledger
        self._path = live_path(self._ledger.path)
        if (report := read_live(self._path)) is not None:
            self._former = {room.race: room for room in report.rooms if room.race not in report.unlisted}
            self._edited = {room.race: room for room in report.edited}

    def update(self, race: Race) -> None:
        """Receive a race as its room shows it now. Return at once."""
        known, former = self._open.pop(race.name, None), self._former.pop(race.name, None)
        described = known.described if known else former
        refused = self._refusal(race)
        keeps_state = refused and not (race.recorded or race.unlisted)
        was_finished = described is not None and described.finished
        if keeps_state and described is not None:
            self._former[race.name] = _last_state(described, race, refused, self.clock())
        elif keeps_state or (not refused and (was_finished or not race.recorded)):
            self._open[race.name] = _OpenRoom(race, self.clock(), described)
        elif described is None and known is None:
            return
        self._woken.set()

    def _refusal(self, race: Race) -> str:
        """Return why a race changes no rating, an empty text while it may."""
        if race.status != "cancelled" and self.settler.rules.needs_no_record(race):
            return ""
        if race.over and race.status != "finished":
            return race.status
        return "custom goal" if race.custom_goal else "" if race.recordable else "not recorded"

    async def run(self) -> None:
        """Write the file until cancelled. It stays, so that pages show the rooms during a restart."""
        try:
            if self._path.exists():
                await asyncio.sleep(JOIN_WITHIN)
            while True:
                with self.backoff.trying(_SOURCE):
                    await self._write_once()
                try:
                    async with asyncio.timeout(WRITE_EVERY):
                        await self._woken.wait()
                except TimeoutError:
                    continue
                await asyncio.sleep(GATHER)
        finally:
            if self._writing is not None:
                await asyncio.wait({self._writing})  # a cancelled write still runs in its thread

    async def _write_once(self) -> None:
        self._woken.clear()
        now = self.clock()
        self._open = {name: room for name, room in self._open.items() if not self._is_old(room, now)}
        revision = await self.call(self._ledger.revision)
        for name, room in list(self._open.items()):
            item = f"{name} among the {_SOURCE}"
            if self.backoff.rests(item) or not (room.changed or revision != self._revision):
                continue
            with self.backoff.trying(item):
                room.changed = True  # until this worked
                if room.race.recorded and room.described is not None:
                    await self._keep_edits(room.race, room.described)
                fresh = await self._described(room)
                room.described = fresh and _with_edits_of(room.described, fresh, self.clock())
                refused = self._refusal(room.race)
                if (room.described is None or refused) and self._open.get(name) is room:
                    del self._open[name]
                    if room.described is not None:
                        self._former[name] = _last_state(room.described, room.race, refused, now)
        self._revision = revision
        shown = [(room, room.described) for room in self._open.values() if room.described is not None]
        unlisted = frozenset(described.race for room, described in shown if room.race.unlisted)
        self._former = {
            name: room
            for name, room in self._former.items()
            if room.ended_at is not None and room.ended_at > now - FORGET_FINISHED
        }
        kept = self._edited.items()
        self._edited = {name: room for name, room in kept if room.edits[-1].at > now - MESSAGES_KEPT}
        rooms = (*(described for _, described in shown), *self._former.values())
        report = LiveReport(self.clock(), rooms, unlisted, tuple(self._edited.values()))
        self._writing = asyncio.ensure_future(asyncio.to_thread(write_live, self._path, report))
        await asyncio.shield(self._writing)

    def _is_old(self, room: _OpenRoom, now: datetime) -> bool:
        ended_at = room.race.result.ended_at if room.race.result else None
        return (ended_at or room.seen_at) < now - (FORGET_FINISHED if ended_at else FORGET_UNSEEN)

    async def _keep_edits(self, race: Race, room: LiveRoom) -> None:
        """Keep the edits of a race that is recorded now: chat may never be told the last ones."""
        last = room.edited(facts_of(await self.call(self._ledger.people.amended, race)), self.clock())
        if last.edits:
            boards = (replace(each, entrants=(), outcome=None, scores=()) for each in last.leaderboards)
            self._edited[race.name] = replace(last, leaderboards=tuple(boards))

    async def _described(self, room: _OpenRoom) -> LiveRoom | None:
        """Return a room for the file, None if no leaderboard rates it or its race is recorded or settled."""
        race = room.race
        # In the order of the ledger, and so of the pages of recorded races.
        planned = sorted(self.settler.rules.leaderboards(race), key=attrgetter("name"))
        if not planned or race.recorded or await self.call(self._ledger.races.has, race.name):
            return None
        boards = list[LiveBoard]()
        for board in planned:
            item = f"{race.name} on {board.name}"
            if not self.backoff.rests(item):
                with self.backoff.trying(item):
                    boards.append(await asyncio.to_thread(self._on_board, race, board))
        room.changed = len(boards) < len(planned)  # then it is tried again
        return LiveRoom(
            race=race.name,
            category=race.category,
            goal=race.goal,
            status=race.status,
            opened_at=race.opened_at,
            started_at=race.started_at,
            ended_at=race.result.ended_at if race.result else None,
            updated_at=room.seen_at,
            leaderboards=tuple(boards),
        )

    def _on_board(self, race: Race, planned: Leaderboard) -> LiveBoard:
        """Describe a room on one leaderboard, with what its result would change."""
        with self.settler.reading() as settler:
            ledger, result = settler.ledger, race.result
            board = ledger.leaderboards.get(planned.category, planned.name) or planned
            found_at = address_among(ledger.leaderboards.all(), board)
            address = None if found_at is None else found_at.stem
            live = LiveBoard(address, board.name, (), needs_record=not board.rule.finished)
            entrants = [each for each in ledger.people.amended(race).entrants if each.user_id is not None]
            if race.hidden or not entrants:
                return live
            listing, hidden = listing_of(self.settings, board), ledger.people.hidden()
            is_final = result is not None and result.final and settler.rules.counts(result)
            found = settler.preview(result, board.name) if result is not None and is_final else []
            if not found:
                now = place_of(listed_now(ledger, board, listing))
                places = {player: (place, None) for player, place in now.items()}
                shown = _entrants(ledger, board, entrants, {}, places)
            for rated in found:
                masked = ledger.people.masked(rated.result)
                outcome = race_on_board(board, masked, rated.changes, rated.note, withheld=hidden)
                live = replace(live, outcome=outcome)
                if listing.scoring:
                    par, scores = coming_scores(ledger, board, listing.scoring, rated.result)
                    live = replace(live, par=par, scores=tuple(scores))
                ranks = new_places(ledger, board, listing, rated.result.ended_at, rated.changes)
                changes = {change.player: change for change in rated.changes}
                shown = _entrants(ledger, board, entrants, changes, ranks)
            visible = sorted((each for each in shown if each.id not in hidden), key=_position)
            return replace(live, entrants=tuple(visible))


def _entrants(
    ledger: Ledger,
    board: Leaderboard,
    entrants: Sequence[Entrant],
    changes: Mapping[str, Change],
    places: Mapping[str, tuple[int | None, int | None]],
) -> Iterator[LiveEntrant]:
    """Yield the entrants with their chances, their `changes`, and their `places` before and after."""
    players = [str(entrant.user_id) for entrant in entrants]
    by_team = board.teams != TeamPolicy.INDIVIDUAL and any(e.team for e in entrants)
    states = current_states(ledger, board, players)
    found = forecasts(board, [state for state, _ in states], finishing_habits(ledger, board, players))
    has_odds = not by_team and len(found) > 1
    names = shown_names(entrants)
    for player, entrant, (_, raced), forecast in zip(players, entrants, states, found, strict=True):
        change = changes.get(player)
        before, after = places.get(player, (None, None))
        yield LiveEntrant(
            id=player,
            name=names[entrant],
            status=entrant.status,
            place=change.place if change else entrant.place,
            finish_time=None if entrant.finish_time is None else entrant.finish_time / 1_000_000,
            points=forecast.points,
            new=not raced,
            win_chance=forecast.win_chance if has_odds else None,
            finish_chance=forecast.finish_chance,
            after=change.points_after if change else None,
            change=change.points_change if change else None,
            rank_before=before,
            rank_after=after,
            finish_by_rating=forecast.finish_by_rating,
            stream=entrant.profile.twitch if entrant.profile and entrant.profile.live else "",
        )


def _with_edits_of(before: LiveRoom | None, fresh: LiveRoom, now: datetime) -> LiveRoom:
    """Return a room with the edits of its result, given the room as it was described before."""
    if before is None:
        return fresh
    kept = before.edited(fresh.facts, now)
    former = {each.leaderboard: each.changes_before for each in kept.leaderboards}
    boards = (replace(each, changes_before=former.get(each.leaderboard, {})) for each in fresh.leaderboards)
    return replace(fresh, leaderboards=tuple(boards), edits=kept.edits)


def _last_state(room: LiveRoom, race: Race, refused: str, now: datetime) -> LiveRoom:
    """Return the result of a race that changes no rating, as its room last showed it."""
    boards = []
    for board in room.leaderboards:
        entrants = (replace(each, after=None, change=None, rank_after=None) for each in board.entrants)
        boards.append(replace(board, entrants=tuple(entrants), outcome=None, changes_before={}))
    ended_at = room.ended_at or race.ended_at or race.cancelled_at or now
    return replace(room, status=race.status, ended_at=ended_at, leaderboards=tuple(boards), refused=refused)


def _position(entrant: LiveEntrant) -> tuple[int, bool, int, float, str]:
    """Return the sort key of an entrant: finishers by place, racers, forfeits, the disqualified."""
    last = {EntrantStatus.DNF: 1, EntrantStatus.DQ: 2}.get(entrant.status, 0)
    place = entrant.place
    return last, place is None, place or 0, -(entrant.win_chance or 0.0), entrant.name
