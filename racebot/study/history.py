"""A category's past races as arrays, their replay in time order, and the forecast of a next race."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from racebot.errors import ModelError, NoSuchEntryError
from racebot.races.outcome import IntArray, TeamPolicy, outcome_of
from racebot.races.result import EntrantStatus, RaceResult
from racebot.ratings import fast
from racebot.ratings.forecast import expected_places, finish_chances, win_chances
from racebot.ratings.kernel import PastRace
from racebot.ratings.model import Carries, FloatArray, PredictsFinish, RatingModel
from racebot.ratings.registry import rating_teams
from racebot.text.format import counted
from racebot.text.parse import fold_name, nearest

OF_TEAMS = "of teams"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class History:
    """Races in the order they ended, and their players.

    Parts of a history keep all players, so that they can share a table of states.

    Attributes:
        players: user ids. `PastRace.players` holds indices into this tuple.
        names: the players' latest names, in the same order.
        notes: how a file was read where that was a choice, one line each.
        understood: the races and results that count, and those that do not, with reasons, in one line.
        left_out: races that do not count, by reason.
    """

    players: tuple[str, ...]
    names: tuple[str, ...]
    races: tuple[PastRace, ...]
    notes: tuple[str, ...] = ()
    understood: str = ""
    left_out: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(
        cls,
        results: Iterable[RaceResult],
        teams: TeamPolicy = TeamPolicy.IGNORE,
        left_out: Mapping[str, int] | None = None,
    ) -> History:
        """Collect the races that can be rated: recorded ones, and those that count on a leaderboard.

        If a race is given twice, the last one counts. `left_out` counts races without a result, by reason.
        Raise a PayloadError if a result has no comparable times or places.
        """
        given = {result.name: result for result in results}
        reasons = Counter(left_out or {})
        numbers: dict[str, int] = {}
        names: dict[str, str] = {}
        races, used = [], []
        for result in sorted(given.values(), key=lambda result: (result.ended_at, result.name)):
            counts = result.recorded or result.leaderboard is not None
            if not (counts and result.final):
                reasons["not final" if counts else "not recorded (--unrecorded counts them)"] += 1
                continue
            if result.team_race and teams is TeamPolicy.IGNORE:
                reasons[OF_TEAMS] += 1
                continue
            race = outcome_of(result, teams)
            if not race.outcome.rateable:
                finished = any(entrant.finished for entrant in result.entrants)
                reasons["drawn or of one player, so without an order" if finished else "nobody finished"] += 1
                continue
            names.update(zip(race.players, (entrant.name for entrant in race.entrants), strict=True))
            ids = [numbers.setdefault(player, len(numbers)) for player in race.players]
            races.append(PastRace(result.name, result.ended_at, np.array(ids, dtype=np.intp), race.outcome))
            used.append(result)
        latest = tuple(names[player] for player in numbers)
        words = understood(used, teams, reasons)
        return cls(tuple(numbers), latest, tuple(races), understood=words, left_out=reasons)

    def __len__(self) -> int:
        return len(self.races)

    def __repr__(self) -> str:
        first, last = (f"{self.races[i].ended_at:%Y-%m-%d}" if self.races else "–" for i in (0, -1))
        races, players = counted(len(self.races), "race"), counted(len(self.players), "player")
        summary = f"{races} of {players}, {first} to {last}"
        return "\n".join([summary, *filter(None, [self.understood]), *self.notes])

    @property
    def by_team(self) -> bool:
        """Return whether a race is to be rated by teams."""
        return any(race.outcome.team is not None for race in self.races)

    def split(self, share: float) -> tuple[History, History]:
        """Return the first `share` of the races, from 0 to 1, and the rest."""
        cut = round(share * len(self.races))
        return replace(self, races=self.races[:cut]), replace(self, races=self.races[cut:])

    def races_of_players(self) -> IntArray:
        """Count each player's races: shape [players]."""
        entrants = np.concatenate([np.empty(0, dtype=np.intp), *(race.players for race in self.races)])
        return np.bincount(entrants, minlength=len(self.players))


def understood(results: Sequence[RaceResult], teams: TeamPolicy, left_out: Mapping[str, int]) -> str:
    """Say which races and results count, and how many do not, and why."""
    sizes = [len(result.entrants) for result in results]
    parts = [f"{counted(len(results), 'race')} of {_range(sizes)}" if results else "no race can be rated"]
    if teams is TeamPolicy.TEAM:
        sizes_of = (Counter(e.team for e in r.entrants if e.team is not None) for r in results)
        if members := [size for of_race in sizes_of for size in of_race.values()]:
            parts.append(f"teams of {_range(members)}")
    statuses = Counter(entrant.status for result in results for entrant in result.entrants)
    for status, words in ((EntrantStatus.DNF, "not finished"), (EntrantStatus.DQ, "disqualified")):
        if statuses[status]:
            parts.append(f"{statuses[status]} {words}")
    reasons = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
    return ", ".join(parts) + (f"; races left out: {reasons}" if reasons else "")


def _range(numbers: Sequence[int]) -> str:
    return str(min(numbers)) if min(numbers) == max(numbers) else f"{min(numbers)} to {max(numbers)}"


class Step(NamedTuple):
    """A race with its entrants' states before and after: [n, k], or [candidates, n, k] in a sweep."""

    race: PastRace
    before: FloatArray
    after: FloatArray


def newcomers(model: RatingModel, history: History) -> FloatArray:
    """Return a table of newcomers' states: shape [players, k], or [candidates, players, k].

    Raise a ModelError if races are to be rated by team, and the model does not rate teams.
    """
    if history.by_team and not model.rates_teams:
        raise ModelError(
            f"{model.key} does not rate teams: choose a model that does ({rating_teams()}), "
            "or rate members alone: --teams individual, or teams='individual' from Python"
        )
    initial = model.initial()
    shape = (*initial.shape[:-1], len(history.players), initial.shape[-1])
    return np.array(np.broadcast_to(initial[..., np.newaxis, :], shape), order="C")


@dataclass(frozen=True, slots=True, eq=False)
class Earlier:
    """An earlier history from which ratings carry over, and what carried over into it.

    `factor` is the share of the distance from a newcomer's rating to keep; `most_races` are to count.
    """

    history: History
    factor: float = 1.0
    most_races: float | None = None
    earlier: Earlier | None = None


def at_start(model: RatingModel, history: History, earlier: Earlier | None = None) -> FloatArray:
    """Return the table of states at the start of a history, shaped like `newcomers`.

    Raise a ModelError if the model cannot carry ratings over from an earlier history.
    """
    table = newcomers(model, history)
    if earlier is None:
        return table
    if not isinstance(model, Carries):
        raise ModelError(f"{model.key} cannot carry ratings over")
    before = final_states(model, earlier.history, earlier.earlier)
    number = {player: i for i, player in enumerate(earlier.history.players)}
    known = [i for i, player in enumerate(history.players) if player in number]
    if known:
        states = before[..., [number[history.players[i]] for i in known], :]
        table[..., known, :] = model.carried(states, earlier.factor, earlier.most_races)
    return table


def replay(model: RatingModel, history: History, table: FloatArray | None = None) -> Iterator[Step]:
    """Rate a history race by race. A model with arrays of shape [candidates] rates for all of them at once.

    The table has the initial states, shaped like `newcomers`, which are the default. It is updated in place,
    up to a block of races ahead, so that the next replay can continue from it.
    """
    if table is None:
        table = newcomers(model, history)
    for race, (before, after) in zip(history.races, fast.replay(model, history.races, table), strict=True):
        yield Step(race, before, after)


def final_states(model: RatingModel, history: History, earlier: Earlier | None = None) -> FloatArray:
    """Return the players' states after all races, which started as in `at_start`: shape [players, k]."""
    table = at_start(model, history, earlier)
    for _ in replay(model, history, table):
        pass
    return table


class RatedPlayer(NamedTuple):
    """A player's rating after a history."""

    name: str
    points: int
    rating: float
    races: int


class Odds(NamedTuple):
    """A forecast for one entrant of a race; None stands for a finish that the model does not forecast.

    Of the mean place, those who do not finish share the rest. `before` has the probabilities of being placed
    before each entrant, None for the entrant alone.
    """

    name: str
    points: int
    win_chance: float
    finish_chance: float | None
    expected_place: float
    before: tuple[float | None, ...]


def final_ratings(
    history: History, model: RatingModel, states: FloatArray | None = None
) -> list[RatedPlayer]:
    """Return the ratings after all races, best first, or by these states of the players: shape [n, k]."""
    states = final_states(model, history) if states is None else states
    columns = model.points(states), model.rating(states), history.races_of_players()
    each = zip(history.names, *(column.tolist() for column in columns), strict=True)
    return sorted((RatedPlayer(*row) for row in each if row[3]), key=lambda row: (-row.rating, row.name))


def forecast_race(model: RatingModel, names: Sequence[str], states: FloatArray) -> list[Odds]:
    """Forecast a race between players with these states: shape [n, k]."""
    forecasts = isinstance(model, PredictsFinish)
    finishes = finish_chances(model, states).tolist() if forecasts else [None] * len(names)
    before = model.win_probability(states[:, np.newaxis], states[np.newaxis]).tolist()
    pairs = (tuple(None if i == j else p for j, p in enumerate(row)) for i, row in enumerate(before))
    points, wins = model.points(states).tolist(), win_chances(model, states).tolist()
    columns = points, wins, finishes, expected_places(model, states).tolist(), pairs
    return [Odds(*each) for each in zip(names, *columns, strict=True)]


def find_player(history: History, name: str) -> int:
    """Return the index of the one player with a name or id, ignoring case, accents and surplus spaces."""
    both = list(zip(history.players, history.names, strict=True))
    for key in (str, str.casefold, fold_name):
        wanted = key(name)
        found = [i for i, names in enumerate(both) if wanted in map(key, names)]
        if len(found) == 1:
            return found[0]
        if found:
            ids = ", ".join(history.players[i] for i in found)
            raise NoSuchEntryError(f"{len(found)} players are named {name!r}: choose one by id: {ids}")
    known = {fold_name(each): each for each in history.names}
    near = nearest(fold_name(name), known)
    hint = f" (did you mean {known[near]!r}?)" if near else ""
    raise NoSuchEntryError(f"no player {name!r}{hint}")
