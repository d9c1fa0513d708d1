"""Figures of a leaderboard's own races: how ratings move, and how often they were right.

Everything comes from the ledger: each race is compared with the ratings before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from racebot.races.outcome import BoolArray, IntArray
from racebot.ratings import registry
from racebot.ratings.model import FloatArray, PredictsFinish, RatingModel
from racebot.web.view import Board, View

RACES = 1000
"""Only the last races are looked at."""
EXPERIENCE = ((0, 0), (1, 4), (5, 9), (10, 29), (30, None))
"""Groups by number of earlier races, for the size of changes."""
GAPS = ((0, 50), (50, 150), (150, 250), (250, 350), (350, 500), (500, None))
"""Groups of pairs by their difference in points."""
LEAST = 20
"""Smaller groups are left out: chance would say more than they do."""
BAR = 100
"""Points per bar of the distribution."""


@dataclass(frozen=True, slots=True)
class ChangeSizes:
    """Sizes of changes in a player's races number `first` to `last`; `last` is None for all later ones.

    `median` is the size that half of the changes exceed, `large` the one that a tenth exceeds.
    """

    first: int
    last: int | None
    cases: int
    median: int
    large: int


@dataclass(frozen=True, slots=True)
class LeadFigures:
    """How often the higher rated of two racers was ahead, for leads of `low` to `high` points."""

    low: int
    high: int | None
    pairs: int
    predicted: float
    happened: float


@dataclass(frozen=True, slots=True)
class FinishFigures:
    """How often racers finished, for a quarter of all entries by predicted chance.

    `points` is the median rating of the group.
    """

    cases: int
    points: int
    predicted: float
    happened: float


@dataclass(frozen=True, slots=True)
class Distribution:
    """Points of the listed players: quartiles, and the number of players in bars of `width` points."""

    low: int
    median: int
    high: int
    width: int
    bars: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class RaceFigures:
    """Figures of the last `races` races with their `entries`.

    Attributes:
        races: rated races looked at.
        entries: entrants of these races.
        changes: sizes of changes by experience.
        finished: share of entries that finished.
        finishing: predicted and actual finishes, if the model predicts them.
        unfinished: entries that did not finish.
        gained_unfinished: of these, those that gained points.
        winners: winning entries.
        lost_winning: of these, those that lost points.
        pairs: pairs of entrants of which one was ahead.
        higher_ahead: share of pairs in which the higher rated was ahead; None without pairs.
        gaps: the same by lead, of pairs without provisional ratings.
    """

    races: int
    entries: int
    changes: Sequence[ChangeSizes]
    finished: float
    finishing: Sequence[FinishFigures]
    unfinished: int
    gained_unfinished: int
    winners: int
    lost_winning: int
    pairs: int
    higher_ahead: float | None
    gaps: Sequence[LeadFigures]


@dataclass(frozen=True, slots=True)
class BoardFigures:
    """Figures of a leaderboard. `newcomer` is the rating before the first race, in points."""

    newcomer: int
    distribution: Distribution | None
    races: RaceFigures | None


@dataclass(frozen=True, slots=True)
class _Entries:
    """Entrants of the races, in order: arrays of shape [entries], `states` [entries, k].

    `place` is infinite for unfinished entries.
    """

    sequence: IntArray
    place: FloatArray
    states: FloatArray
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    races_before: NDArray[np.int64]

    @property
    def unfinished(self) -> BoolArray:
        return np.isinf(self.place)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Pairs of entrants of which one was ahead: arrays of shape [pairs].

    Attributes:
        gap: lead of the higher rated, in points.
        right: 1 if the higher rated was ahead, 0 if not, ½ if both had equal points.
        chance: the model's probability for the higher rated.
        settled: neither rating was provisional.
    """

    gap: FloatArray
    right: FloatArray
    chance: FloatArray
    settled: BoolArray


def board_figures(view: View, board: Board) -> BoardFigures:
    """Work out the figures of a leaderboard."""
    model = registry.create(board.stored.model, board.stored.parameters)
    return BoardFigures(
        newcomer=int(model.points(model.initial()[np.newaxis, :])[0]),
        distribution=_distribution(view, board),
        races=_race_figures(view, board, model),
    )


def _race_figures(view: View, board: Board, model: RatingModel) -> RaceFigures | None:
    rows = list(view.ledger.pages.entries(board.key, RACES))
    if not rows:
        return None
    entries = _Entries(
        np.array([row.sequence for row in rows]),
        np.array([np.inf if row.place is None else row.place for row in rows]),
        np.array([row.state for row in rows]),
        np.array([row.before for row in rows]),
        np.array([row.after for row in rows]),
        np.array([row.races_before for row in rows]),
    )
    change = entries.after - entries.before
    out = entries.unfinished
    pairs = _pairs(entries, model, view.publication.provisional_races)
    return RaceFigures(
        races=int(np.unique(entries.sequence).size),
        entries=len(rows),
        changes=list(_change_sizes(entries.races_before, np.abs(change))),
        finished=float(1.0 - out.mean()),
        finishing=list(_finishing(entries, model)),
        unfinished=int(out.sum()),
        gained_unfinished=int((change[out] > 0).sum()),
        winners=int((entries.place == 1).sum()),
        lost_winning=int((change[entries.place == 1] < 0).sum()),
        pairs=int(pairs.gap.size),
        higher_ahead=float(pairs.right.mean()) if pairs.gap.size else None,
        gaps=list(_gaps(pairs)),
    )


def _change_sizes(races_before: NDArray[np.int64], size: NDArray[np.int64]) -> Iterator[ChangeSizes]:
    for low, high in EXPERIENCE:
        chosen = (races_before >= low) & (races_before <= (np.inf if high is None else high))
        if chosen.sum() >= LEAST:
            median, large = np.percentile(size[chosen], [50, 90])
            yield ChangeSizes(
                first=low + 1,
                last=None if high is None else high + 1,
                cases=int(chosen.sum()),
                median=round(float(median)),
                large=round(float(large)),
            )


def _finishing(entries: _Entries, model: RatingModel) -> Iterator[FinishFigures]:
    """Compare predicted and actual finishes, from the lowest quarter of chances to the highest."""
    if not isinstance(model, PredictsFinish):
        return
    chance = model.finish_probability(entries.states)
    edges = np.percentile(chance, [25, 50, 75])
    quarter = np.searchsorted(edges, chance, side="right")
    for number in range(4):
        chosen = quarter == number
        if chosen.sum() >= LEAST:
            yield FinishFigures(
                cases=int(chosen.sum()),
                points=int(np.median(entries.before[chosen])),
                predicted=float(chance[chosen].mean()),
                happened=float(1.0 - entries.unfinished[chosen].mean()),
            )


def _pairs(entries: _Entries, model: RatingModel, provisional: int) -> _Pairs:
    starts = np.flatnonzero(np.diff(entries.sequence, prepend=-1))
    ends = np.append(starts[1:], entries.sequence.size)
    ahead, behind = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
    for start, end in zip(starts, ends, strict=True):
        place = entries.place[start:end]
        better, worse = np.nonzero(place[:, np.newaxis] < place)
        ahead.append(better + start)
        behind.append(worse + start)
    first, second = np.concatenate(ahead), np.concatenate(behind)
    lead = entries.before[first] - entries.before[second]
    chance = model.win_probability(entries.states[first], entries.states[second])
    return _Pairs(
        gap=np.abs(lead).astype(np.float64),
        right=(lead > 0) + 0.5 * (lead == 0),
        chance=np.where(lead == 0, 0.5, np.where(lead > 0, chance, 1.0 - chance)),
        settled=np.minimum(entries.races_before[first], entries.races_before[second]) >= provisional,
    )


def _gaps(pairs: _Pairs) -> Iterator[LeadFigures]:
    for low, high in GAPS:
        chosen = pairs.settled & (pairs.gap >= low) & (pairs.gap < (np.inf if high is None else high))
        if chosen.sum() >= LEAST:
            yield LeadFigures(
                low=low,
                high=high,
                pairs=int(chosen.sum()),
                predicted=float(pairs.chance[chosen].mean()),
                happened=float(pairs.right[chosen].mean()),
            )


def _distribution(view: View, board: Board) -> Distribution | None:
    points = np.array([player.points for player in view.report(board).players])
    if not points.size:
        return None
    low, median, high = (round(float(value)) for value in np.percentile(points, [25, 50, 75]))
    bins = points // BAR
    bars = [(int(number * BAR), int((bins == number).sum())) for number in range(bins.min(), bins.max() + 1)]
    return Distribution(low, median, high, BAR, bars)
