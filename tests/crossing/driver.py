"""Carries out random steps on a live ledger and on the truth, and compares all answers after them.

`Product` is the only part that knows how the code under test stores and rates again. A step is chosen by its
number and the sequence's seed alone, so that a sequence can be shortened and still mean the same.
"""

import re
import tempfile
import zlib
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import pytest
from builders import CATEGORY, HOUR, NOON, SECOND

from racebot.errors import NoSuchEntryError, OrderError, PayloadError
from racebot.files.options import ReadOptions
from racebot.ledger.rows import Leaderboard, Player
from racebot.ledger.store import Ledger
from racebot.races.result import NO_NAME, Entrant, EntrantStatus, RaceResult
from racebot.settings.model import Settings
from racebot.standings import improve, orders, rebuild
from racebot.standings.counting import rating_rules
from racebot.standings.events import EventSteps
from racebot.standings.follow_settings import apply_settings, follow_renames
from racebot.standings.rebuild import carry_out_rebuilds
from racebot.standings.settle import Settler
from racebot.standings.verify import verify

from .answers import answers, first_difference, live_side, new_side, settings_of
from .truth import JOINED, LEAGUE, PEOPLE, START, TAG, WEEK, Event, Plan, Season, Source, Truth, account

T = TypeVar("T")
LENGTH, EVERY = 400, 10
"""Steps of a sequence, and steps between two comparisons."""
SHOWN = {"export", "info box", "discord", "chat"}
"""Answers for everybody."""
PUBLISHED = {"places", "scores", "seeds", "records", "recap", "race", "player"}
"""Answers for pages, which read a ledger without hidden names."""
FITTED = "odds_scale"
"""A parameter that is fitted, and moves no rating."""
KINDS = (
    *(["race"] * 12 + ["late race"] * 2 + ["edit"] * 6 + ["record"] * 2 + ["read all", "import"]),
    *(["exclude", "include", "skip", "count"] * 2 + ["merge", "merge", "hide", "unhide", "forget", "delete"]),
    *("create", "create", "add room", "add room", "add room", "add sheet", "add sheet", "add sheet"),
    *("close", "close", "close", "reopen", "remove", "annul", "restore", "penalty", "penalty"),
    *(
        "rename",
        "rename",
        "notice rename",
        "notice rename",
        "reuse name",
        "join",
        "league",
        "parameters",
        "model",
    ),
    *("season", "restart", "rate again", "rate again", "fit odds"),
)
"""The kinds of steps, as often as they are drawn."""
ALONE = {"rate again", "fit odds", "restart"}
"""Steps that do not happen while another one of these is under way."""


class Product:
    """The ledger under test, as the worker and the commands use it."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self.path = path
        self.ledger = Ledger.open(path)
        self.set(settings)

    def set(self, settings: Settings) -> None:
        self.settings = settings
        self.settler = Settler(self.ledger, rating_rules(settings))
        apply_settings(self.settler)

    def restart(self) -> None:
        self.ledger.close()
        self.ledger = Ledger.open(self.path)
        self.set(self.settings)

    def rate_again(self, meanwhile: Callable[[], None] = lambda: None) -> dict[str, str]:
        """Rate what is left to be rated again, as another process does. Return the errors."""
        with Ledger.open(self.path) as ledger:
            errors = carry_out_rebuilds(ledger, lambda *_: meanwhile())
        return {name: str(error).partition(": ")[2] for name, error in errors.items()}

    def fit_odds(self, board: Leaderboard, fitted: float, meanwhile: Callable[[], object]) -> None:
        """Fit a leaderboard's odds, as another process does; something happens during the fit."""

        def fit(*_: object) -> dict[str, Any]:
            meanwhile()
            return {**board.parameters, FITTED: fitted}

        with pytest.MonkeyPatch.context() as patch, Ledger.open(self.path) as ledger:
            patch.setattr(improve, "fit_odds", fit)
            settler = Settler(ledger, rating_rules(self.settings))
            improve.with_fitted_odds(settler, board, NOON)


@contextmanager
def rated_at_once(races: int) -> Iterator[None]:
    """Rate leaderboards inside a transaction only up to this many races."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rebuild, "fits", lambda _, left: left <= races)
        yield


class NoStepError(Exception):
    """Nothing is there that the step could be about."""


class DifferenceError(AssertionError):
    """An answer of the live ledger differs."""


@dataclass(frozen=True)
class Step:
    """One step of a sequence. Its number is its time in hours, too."""

    number: int
    kind: str

    @property
    def now(self) -> datetime:
        return START + timedelta(hours=self.number)


@dataclass(frozen=True)
class Dice:
    """Chooses by the texts of the candidates, so that a choice rarely depends on earlier steps."""

    seed: str

    def roll(self, what: object) -> int:
        return zlib.crc32(f"{self.seed} {what}".encode())

    def below(self, number: int, what: str) -> int:
        return self.roll(what) // 7 % number

    def one(self, candidates: Iterable[T], what: str = "") -> T:
        """Choose a candidate. Without any, the step is not carried out."""
        if chosen := self.some(candidates, 1, what):
            return chosen[0]
        raise NoStepError

    def some(self, candidates: Iterable[T], number: int, what: str = "") -> list[T]:
        return sorted(candidates, key=lambda each: self.roll(f"{what} {each}"))[:number]


def sequence(seed: int, length: int = LENGTH) -> list[Step]:
    """Return the steps of a seed. The first ones are races, so that orders have something to be about."""
    kinds = [KINDS[Dice(f"{seed} {n}").below(len(KINDS), "kind")] for n in range(length)]
    return [Step(n, "race" if n < EVERY else kind) for n, kind in enumerate(kinds)]


@dataclass
class Driver:
    """One live ledger, the truth about it, and the site's rooms, told or not."""

    seed: int
    product: Product
    truth: Truth = field(default_factory=Truth)
    rooms: dict[str, tuple[RaceResult, int | None]] = field(default_factory=dict)
    fitted: dict[str, float] = field(default_factory=dict)

    def run(self, steps: Sequence[Step]) -> None:
        """Carry out steps, and compare all answers after each ten and at the end."""
        left, last = deque(steps), steps[-1].number
        while left:
            step = left.popleft()
            self.carry_out(step, left)
            if step.number // EVERY != (left[0].number // EVERY if left else -1):
                self.compare(step.now, everything=step.number == last)

    def carry_out(self, step: Step, following: deque[Step]) -> None:
        """Carry out one step. While ratings or odds are computed, some of the following ones are."""
        dice, problems = Dice(f"{self.seed} {step.number}"), list[Exception]()

        def meanwhile() -> None:
            if not problems and following and following[0].kind not in ALONE and following[0].number % EVERY:
                try:
                    self.carry_out(following.popleft(), deque())
                except Exception as error:  # the code under test would take it for one of its own
                    problems.append(error)

        with suppress(NoStepError, OrderError, NoSuchEntryError, PayloadError):
            if step.kind == "rate again":
                self.product.rate_again(meanwhile)
            elif step.kind == "fit odds":
                self._fit_odds(dice, meanwhile)
            else:
                getattr(self, "_" + step.kind.replace(" ", "_"))(dice, step)
        if problems:
            raise problems[0]

    # Rooms

    def _shown(self, name: str) -> RaceResult:
        """Return a room as the site shows it now: an old room has today's name of its goal."""
        result, goal = self.rooms[name]
        return result if goal is None else replace(result, goal=self.truth.goals[goal])

    def _open(self, dice: Dice, step: Step, ended_at: datetime) -> str:
        name = f"{CATEGORY}/r{step.number}"
        goal = dice.below(len(self.truth.goals) + 1, "goal")
        custom = goal == len(self.truth.goals)
        info = TAG if custom or not dice.below(3, "info") else ""
        people = [account(p) for p in dice.some(PEOPLE, 2 + dice.below(4, "size"), "people")]
        result = RaceResult(
            name,
            CATEGORY,
            WEEK,
            ended_at,
            tuple(_entrant(dice, player) for player in people),
            recorded=not custom,
            custom_goal=custom,
            info=info,
            started_at=ended_at - timedelta(hours=1 + dice.below(30, "start") / 60),
        )
        self.rooms[name] = result, None if custom else goal
        return name

    def _tell(self, name: str, now: datetime) -> None:
        """Settle a room's result as it stands, or take it back if it counts nowhere any more."""
        result, goal = self._shown(name), self.rooms[name][1]
        boards, event = self.truth.boards_of(result, goal), self.truth.event_of(name)
        if event is None and not boards:
            if name not in self.truth.known:
                return
            self.product.settler.withdraw(name)
            del self.truth.known[name]
            return
        self.product.settler.settle(result, now)
        if event is not None:
            if event.counted_at is None:
                event.sources[name].result = result
            return
        is_new = name not in self.truth.known
        self.truth.tell(result, goal, self.truth.next_moment(boards, min(result.ended_at, now)))
        if is_new:
            self._take_position(name, self.truth.known[name])

    def _take_position(self, name: str, noted: Any) -> None:
        """Compare when a new race counts. While a new name of a goal is unnoticed, the ledger decides."""
        position = self.product.ledger.races.position(name)
        if position is None:
            self._differs("position", f"{name} is not stored")
        if position.counted_at != noted.counted_at and not self._unnoticed():
            text = f"{name} counts at {position.counted_at}, not at {noted.counted_at}"
            self._differs("position", text)
        noted.counted_at = position.counted_at

    def _race(self, dice: Dice, step: Step) -> None:
        delay = timedelta(minutes=dice.below(50, "delay") * (1 if dice.below(4, "late") else 6))
        self._tell(self._open(dice, step, step.now - delay), step.now)

    def _late_race(self, dice: Dice, step: Step) -> None:
        """A room that the bot does not see until it reads the whole list."""
        self._open(dice, step, step.now - timedelta(minutes=20))

    def _edit(self, dice: Dice, step: Step) -> None:
        name = dice.one(self.rooms, "room")
        result, goal = self.rooms[name]
        edited = dice.one(result.entrants, "entrant")
        entrants = tuple(
            _entrant(dice, str(each.user_id)) if each is edited else each for each in result.entrants
        )
        self.rooms[name] = replace(result, entrants=entrants), goal
        self._tell(name, step.now)

    def _record(self, dice: Dice, step: Step) -> None:
        """A moderator takes a record back, or records the race again."""
        name = dice.one((n for n, (result, _) in self.rooms.items() if not result.custom_goal), "room")
        if self._unnoticed():
            return
        result, goal = self.rooms[name]
        self.rooms[name] = replace(result, recorded=not result.recorded), goal
        self._tell(name, step.now)

    def _read_all(self, dice: Dice, step: Step) -> None:
        self._notice_rename(dice, step)  # as a backfill does
        self._add({name: self._shown(name) for name in self.rooms}, "backfill", step.now)

    def _import(self, dice: Dice, step: Step) -> None:
        """A file of old rooms, perhaps with a name that the goal had before."""
        days = timedelta(hours=dice.below(step.number + 1, "days"))
        name = self._open(dice, step, step.now - days - timedelta(minutes=dice.below(60, "minutes")))
        shown = self._shown(name)
        earlier = [old for old, now in self.truth.earlier.items() if now == shown.goal]
        shown = replace(shown, goal=dice.one(earlier)) if earlier and not self._unnoticed() else shown
        self._add({name: shown}, "import", step.now)

    def _add(self, results: dict[str, RaceResult], source: str, now: datetime) -> None:
        self.product.settler.add_past_races(results.values(), source, now)
        for name, result in results.items():
            goal = self.rooms[name][1]
            shown = self._shown(name)
            if self.truth.boards_of(shown, goal) and self.truth.event_of(name) is None:
                self.truth.tell(result, goal, min(result.ended_at, now))

    # Orders

    def _about_race(self, dice: Dice, *, excluded: bool) -> str:
        closed = [event.name for event in self.truth.events.values() if event.counted_at]
        names = [*self.truth.known, *closed]
        return dice.one((n for n in names if (n in self.truth.excluded) == excluded), "race")

    def _exclude(self, dice: Dice, step: Step) -> None:
        name = self._about_race(dice, excluded=False)
        orders.exclude(self.product.settler, self.product.ledger.races.find(name), "wrong seed", step.now)
        self.truth.excluded.add(name)

    def _include(self, dice: Dice, step: Step) -> None:
        name = self._about_race(dice, excluded=True)
        stored = self.product.ledger.races.find(name)
        orders.exclude(self.product.settler, stored, "", step.now, undo=True)
        self.truth.excluded.remove(name)

    def _skip(self, dice: Dice, step: Step) -> None:
        tagged = [name for name, (result, _) in self.rooms.items() if result.info]
        name = dice.one(tagged, "room")
        orders.skip(self.product.settler, name, "a test", step.now)
        self.truth.skipped.add(name)

    def _count(self, dice: Dice, step: Step) -> None:
        name = dice.one(self.truth.skipped, "room")
        orders.skip(self.product.settler, name, "", step.now, undo=True)
        self.truth.skipped.discard(name)
        self._tell(name, step.now)

    def _player(self, player: str) -> Player:
        return self.product.ledger.people.subject(player)

    def _merge(self, dice: Dice, step: Step) -> None:
        old, kept = (account(p) for p in dice.some(PEOPLE, 2, "people"))
        settler, reason = self.product.settler, "one person"
        orders.merge_accounts(settler, self._player(old), self._player(kept), reason, step.now)
        self.truth.merge(old, kept)

    def _hide(self, dice: Dice, step: Step) -> None:
        player = account(dice.some(PEOPLE, 1)[0])
        orders.hide(self.product.settler, self._player(player), "", step.now)
        self.truth.hidden.add(player)

    def _unhide(self, dice: Dice, step: Step) -> None:
        player = dice.one(self.truth.hidden)
        orders.unhide(self.product.settler, self._player(player), "", step.now)
        self.truth.hidden.discard(player)

    def _forget(self, dice: Dice, step: Step) -> None:
        if len(self.truth.forgotten) == 2:
            return
        player = account(dice.some(PEOPLE, 1)[0])
        orders.forget(self.product.settler, self._player(player), "", step.now)
        self.truth.forgotten.add(player)

    def _delete(self, dice: Dice, step: Step) -> None:
        """The site shows that a racer's account was deleted. Of merged ones, it may be any that raced."""
        player = dice.one([*self.truth.merged, *map(account, dice.some(PEOPLE, 2))])
        known = self.truth.known.values()
        if len(self.truth.forgotten) == 2:
            return
        raced = {e.user_id for each in known for e in self.truth.as_one(each.result.entrants)}
        kept = set(map(self.truth.kept, self.truth.merged))
        shown = [replace(each.result, entrants=_without(player, each.result.entrants)) for each in known]
        expected = {player} & raced - kept - self.truth.forgotten
        found = orders.forget_deleted(self.product.settler, shown, step.now)
        if set(found) != expected:
            self._differs("deleted", f"forgets {found}, not {expected}")
        self.truth.forgotten |= expected
        for event in self.truth.events.values():  # which keep the results
            for source in [source for name, source in event.sources.items() if name in self.rooms]:
                room = replace(source.result, entrants=_without(player, source.result.entrants))
                self.product.settler.settle(room, step.now)

    # Events

    def _steps(self, step: Step) -> EventSteps:
        return EventSteps(self.product.settler, step.now, "a moderator")

    def _event(self, dice: Dice, *, closed: bool) -> Event:
        return dice.one((e for e in self.truth.events.values() if bool(e.counted_at) == closed), "event")

    def _create(self, dice: Dice, step: Step) -> None:
        goals = [g for g in range(len(self.truth.goals)) if self.truth.goal_boards(g)[0] != LEAGUE]
        goal = goals[dice.below(len(goals), "goal")]
        found = self.product.ledger.leaderboards.get(CATEGORY, self.truth.goal_boards(goal)[0])
        if found is None or self._unnoticed():
            return
        until = step.now + timedelta(hours=10 + dice.below(40, "until"))
        made = self._steps(step).create(f"Cup {step.number % 9}", found, until)
        self.truth.events[made.name] = Event(made.name, found.name, goal, until)

    def _add_room(self, dice: Dice, step: Step) -> None:
        event = self._event(dice, closed=False)
        free = [name for name in self.rooms if self.truth.event_of(name) is None]
        name = dice.one(sorted(free, key=lambda n: self.rooms[n][0].ended_at)[-20:], "room")
        if self._unnoticed():
            return
        result = self._shown(name)
        self._steps(step).add_room(self.product.ledger.events.find(event.name), name, result)
        self.truth.known.pop(name, None)
        event.sources[name] = Source(result, self.rooms[name][1])

    def _add_sheet(self, dice: Dice, step: Step) -> None:
        event = self._event(dice, closed=False)
        people = dice.some(PEOPLE, 3, "people")
        owners = [self.truth.kept(account(p)) for p in people]
        people = [p for p, owner in zip(people, owners, strict=True) if owners.count(owner) == 1]
        raced = {e.user_id for result, _ in self.rooms.values() for e in result.entrants}
        raced &= {p.id for p in map(self.product.ledger.players.get, map(account, PEOPLE)) if p} | {
            *self.truth.merged
        }
        people = [p for p in people if account(p) in raced]  # a stranger who did not finish has no name
        entrants = tuple(_entrant(dice, account(p)) for p in people)
        gone = self.truth.forgotten | {a for a in self.truth.merged if not self.product.ledger.players.get(a)}
        nameless = {p for p in people if {account(p), self.truth.kept(account(p))} & gone}
        named = [account(p) if p in nameless or dice.below(2, f"by id {p}") else p for p in people]
        name = f"sheet{dice.below(3, 'sheet')}.csv"
        times = [e.seconds and str(timedelta(seconds=e.seconds)) for e in entrants]
        lines = [f"{who},{time or 'DNF'}" for who, time in zip(named, times, strict=True)]
        path = self.product.path.with_name(name)
        path.write_text("\n".join(["player,time", *lines, ""]))
        steps, found = self._steps(step), self.product.ledger.events.find(event.name)
        given, _ = steps.read_sheet(found, path, ReadOptions(), new=True)
        steps.add_sheet(found, given)
        entrants = tuple(
            e if e.finished else replace(e, status=EntrantStatus.DNF, finish_time=None) for e in entrants
        )
        result = RaceResult(f"{CATEGORY}/{name}", CATEGORY, "", step.now, entrants)
        event.sources[name] = Source(result, None)

    def _close(self, dice: Dice, step: Step) -> None:
        event = self._event(dice, closed=False)
        if self.product.ledger.leaderboards.get(CATEGORY, event.board) is None:
            return
        self._steps(step).close(self.product.ledger.events.find(event.name))
        planned = {table["name"]: table.get("goals") for table in self.truth.plan.boards()}
        if goals := planned.get(event.board):  # the page shows its first goal
            event.goal = self.truth.goals.index(self.truth.current(goals[0]))
        event.ended_at = min(event.until, step.now)
        event.counted_at = self.truth.next_moment([event.board], event.ended_at)
        self._take_position(event.name, event)

    def _reopen(self, dice: Dice, step: Step) -> None:
        event = self._event(dice, closed=True)
        self._steps(step).reopen(self.product.ledger.events.find(event.name))
        event.counted_at = None

    def _remove(self, dice: Dice, step: Step) -> None:
        """Take a source out of an event, or remove the whole event."""
        event = self._event(dice, closed=not dice.below(3, "closed"))
        whole = event.counted_at is not None or not dice.below(3, "whole")
        names = [] if whole else dice.some(event.sources, 1, "source")
        self._steps(step).remove(self.product.ledger.events.find(event.name), names)
        for name in names or list(event.sources):
            source = event.sources.pop(name)
            if name in self.rooms and self.truth.boards_of(source.result, source.goal):
                self.truth.tell(source.result, source.goal, min(source.result.ended_at, step.now))
        if whole:  # a later event may have the name
            del self.truth.events[event.name]
            self.truth.excluded.discard(event.name)
            for key in [key for key in self.truth.penalties if key[0] == event.name]:
                del self.truth.penalties[key]

    def _annul(self, dice: Dice, step: Step, *, undo: bool = False) -> None:
        event = self._event(dice, closed=bool(dice.below(2, "closed")))
        results = [source.result for source in event.sources.values()]
        players = {self.truth.kept(e.user_id or "") for result in results for e in result.entrants}
        player = dice.one(players, "player")
        found = self.product.ledger.events.find(event.name)
        self._steps(step).annul(found, self._player(player), "no proof", undo=undo)
        event.decisions.append((player, not undo))

    def _restore(self, dice: Dice, step: Step) -> None:
        self._annul(dice, step, undo=True)

    def _penalty(self, dice: Dice, step: Step) -> None:
        """Add a time to a result of an event or a race, or take it back."""
        free = [name for name in self.truth.known if self.truth.event_of(name) is None]
        name = dice.one([*self.truth.events, *free[-15:]], "race")
        player = dice.one(PEOPLE, "player")
        key, amount = self.truth.kept(account(player)), dice.below(3, "amount") * 90 * SECOND
        orders.penalize(self.product.settler, name, self._player(key), amount, "warped", step.now)
        self.truth.penalties.pop((name, key), None)
        self.truth.penalties[name, key] = amount

    # Goals and settings

    def _unnoticed(self) -> bool:
        """Return whether the ledger has not noticed yet what the site's goals are called."""
        return self.product.ledger.races.renamed_goals().get(CATEGORY, {}) != self.truth.earlier

    def _rename(self, dice: Dice, step: Step) -> None:
        """The site renames a goal. Nothing of it is in the settings or the ledger yet."""
        goal = dice.below(len(self.truth.goals), "goal")
        if self._unnoticed() or goal not in {known.goal for known in self.truth.known.values()}:
            return
        self.truth.rename(goal, f"Goal {step.number}")
        if dice.below(3, "at once"):
            self._notice_rename(dice, step)

    def _reuse_name(self, dice: Dice, step: Step) -> None:
        """The site gives a new goal the earlier name of another one, as its races show at once."""
        if not self._unnoticed():
            self.truth.reuse(dice.one(self.truth.earlier, "name"))
            self._notice_rename(dice, step)

    def _notice_rename(self, _: Dice, step: Step) -> None:
        follow_renames(self.product.settler, map(self._shown, self.rooms), self.truth.goals)

    def _set(self, **facts: Any) -> None:
        self.truth.plan = replace(self.truth.plan, **facts)
        self.product.set(settings_of(self.truth.plan))

    def _join(self, *_: object) -> None:
        """Join two goals, leave one of them out, or both."""
        count = len(self.truth.plan.joined)
        self._set(joined=() if count == 1 else tuple(self.truth.goals[1 if count else 0 : 2]))

    def _league(self, *_: object) -> None:
        self._set(league=not self.truth.plan.league)

    def _parameters(self, *_: object) -> None:
        self._set(variant=1 - self.truth.plan.variant)

    def _model(self, *_: object) -> None:
        models = {"thurstone-hurdle": "plackett-luce", "plackett-luce": "thurstone-hurdle"}
        self._set(model=models[self.truth.plan.model])

    def _season(self, *_: object) -> None:
        seasons = self.truth.plan.seasons
        if len(seasons) == 2:
            return
        source = seasons[-1].name if seasons else self.truth.goals[0]
        goal = self.truth.goals[2 + len(seasons)]
        self._set(seasons=(*seasons, Season(f"League year {len(seasons) + 1}", goal, source)))

    def _restart(self, *_: object) -> None:
        self.product.restart()

    def _fit_odds(self, dice: Dice, meanwhile: Callable[[], object]) -> None:
        boards = {board.name: board for board in self.product.ledger.leaderboards.all()}
        name = dice.one(boards)
        if FITTED in boards[name].parameters:
            self.product.fit_odds(boards[name], 1.0 + dice.below(9, "odds") / 100, meanwhile)

    # Comparisons

    def _differs(self, check: str, text: str) -> NoReturn:
        """Fail. `check` names the kind of answer."""
        raise DifferenceError(f"{check}: {text}")

    def _names_nobody_hidden(self, public: Container[str], check: str, about: str, answer: Any) -> None:
        hidden = {each.rstrip("0") for each in self.truth.hidden}
        named = hidden.intersection(re.findall(r"\w+", str(answer)))
        if check in public and about not in self.truth.hidden and named:
            self._differs(check, f"{about}: names {named}, who are hidden")

    def compare(self, now: datetime, *, everything: bool = False) -> None:
        """Compare all answers of the live ledger with those of a new one that is built from the truth."""
        follow_renames(self.product.settler, map(self._shown, self.rooms), self.truth.goals)
        if errors := self.product.rate_again():
            self._differs("rating again", repr(errors))
        live, stored = self.product, self.truth.counted(all_stored=True)
        boards = {board.name: board for board in live.ledger.leaderboards.all()}
        known = {*stored, *self.truth.goals, LEAGUE, JOINED, *(s.name for s in self.truth.plan.seasons)}
        if not stored.keys() <= boards.keys() <= known:
            self._differs("leaderboards", f"there are {sorted(boards)}, not {sorted(stored)}")
        for board in boards.values():
            if problems := verify(live.ledger, board):
                self._differs("verify", f"{board.name}: {problems[0]}")
        counted = {name: races for name, races in self.truth.counted().items() if races}
        for name in stored.keys() - counted.keys():
            if found := live.ledger.standings.all(boards[name]):
                self._differs("ratings", f"{name} has no race that counts, and {len(found)} standings")
        odds = {
            name: {FITTED: board.parameters[FITTED]} if FITTED in board.parameters else {}
            for name, board in boards.items()
        }
        side = live_side(live.ledger, live.settings, self.truth)
        with rated_at_once(1_000_000), new_side(self.truth, counted, odds, now) as new:
            for number, (name, races) in enumerate(sorted(counted.items())):
                names = [race.name for race, _ in races[-12 if everything else -2 :]]
                raced = {str(e.user_id) for race, _ in races for e in race.entrants}
                people = sorted(raced - self.truth.merged.keys())  # who asks is known as the kept account
                if not everything:  # ask about two players, and each time in detail about another leaderboard
                    people = people[now.day % 5 :: 5][:2]
                    if number != now.timetuple().tm_yday % len(counted):
                        names, people = [], []
                both = (answers(each, name, names, people) for each in (side, new))
                for (check, about, found), (*others, expected) in zip(*both, strict=True):
                    if [check, about] != others:
                        self._differs(check, f"{name}: there is no {others} before {[check, about]}")
                    if found != expected:
                        self._differs(check, f"{name} {about}: {first_difference(found, expected)}")
                    self._names_nobody_hidden(SHOWN, check, about, found)
                if names:
                    with Ledger.open_to_publish(live.path) as published:
                        for answer in answers(replace(side, ledger=published), name, names, people):
                            self._names_nobody_hidden(PUBLISHED, *answer)


@contextmanager
def driver(seed: int) -> Iterator[Driver]:
    """Open a driver with a new ledger, whose leaderboards of more than a few races are rated later."""
    at_once = (1, 3, 10, 200)[seed % 4]
    with tempfile.TemporaryDirectory() as folder, rated_at_once(at_once):
        product = Product(Path(folder) / "live.db", settings_of(Plan()))
        try:
            yield Driver(seed, product)
        finally:
            product.ledger.close()


def failure(seed: int, steps: Sequence[Step]) -> str | None:
    """Carry out steps and return what is wrong then, None if nothing is."""
    with driver(seed) as made:
        try:
            made.run(steps)
        except Exception as error:  # an error of the code under test is a fault, too
            return f"{type(error).__name__}: {error}"
    return None


def shrunk(steps: Sequence[Step], fails: Callable[[Sequence[Step]], bool]) -> list[Step]:
    """Return few of the steps that still fail: delta debugging, with ever smaller chunks left out.

    Source: Zeller and Hildebrandt 2002, https://doi.org/10.1109/32.988498
    """
    left, size = list(steps), max(1, len(steps) // 2)
    while size:
        start = 0
        while start < len(left):
            shorter = left[:start] + left[start + size :]
            if shorter and fails(shorter):
                left = shorter
            else:
                start += size
        size //= 2
    return left


def _without(player: str, entrants: Iterable[Entrant]) -> tuple[Entrant, ...]:
    return tuple(replace(e, user_id=None, name=NO_NAME) if e.user_id == player else e for e in entrants)


def _entrant(dice: Dice, player: str) -> Entrant:
    """Return a result of a player: a time, a DNF, or a disqualification."""
    status = dice.below(6, f"status {player}")
    if status == 0:
        return Entrant(player, player.rstrip("0"), EntrantStatus.DNF)
    time = HOUR + dice.below(40, f"time {player}") * 30 * SECOND
    kind = EntrantStatus.DQ if status == 1 and not dice.below(3, f"dq {player}") else EntrantStatus.DONE
    return Entrant(player, player.rstrip("0"), kind, time)
