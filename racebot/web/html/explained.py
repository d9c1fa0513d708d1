"""Statistics of a leaderboard's races: how far ratings move, and how often they predicted correctly.

Each race is compared with the stored ratings before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from racebot.chat.commands import Command
from racebot.queries.leaderboard import listed_points
from racebot.queries.races import last_entries
from racebot.races.outcome import BoolArray, IntArray
from racebot.ratings import registry
from racebot.ratings.model import FloatArray, PredictsFinish, RatingModel
from racebot.text.format import integer
from racebot.web.html import templating
from racebot.web.html.model_texts import WORDS
from racebot.web.pictures import charts
from racebot.web.site.ledger_view import Board, LedgerView
from racebot.web.site.request import Content, PageRequest

RACES = 1000
"""Number of recent races that the statistics cover."""
EXPERIENCE = ((0, 0), (1, 4), (5, 9), (10, 29), (30, None))
"""Bounds of the groups by number of earlier races."""
GAPS = ((0, 50), (50, 150), (150, 250), (250, 350), (350, 500), (500, None))
"""Bounds of the groups by difference in points."""
LEAST = 20
"""Groups with fewer cases are left out as too noisy."""
BAR = 100
"""Width of a bar of the distribution, in points."""


@dataclass(frozen=True, slots=True)
class ChangeSizes:
    """How far races number `first` to `last` of a player move the rating, in points.

    `last` is None for the open-ended group. `median` and `large` are the 50th and 90th percentiles.
    """

    first: int
    last: int | None
    cases: int
    median: int
    large: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """Predicted and actual shares of the cases in one group.

    Attributes:
        cases: number of pairs or entries.
        predicted: share that the model predicted.
        happened: share that happened.
        low: least lead of the pairs, in points.
        high: lead from which on the next group begins; None for the last group.
        points: median rating of the entries.
    """

    cases: int
    predicted: float
    happened: float
    low: int = 0
    high: int | None = None
    points: int = 0


@dataclass(frozen=True, slots=True)
class Distribution:
    """The distribution of listed players' points: quartiles, and a histogram with bars of `width` points."""

    low: int
    median: int
    high: int
    width: int
    bars: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class RaceFigures:
    """Statistics of the last `races` races.

    Attributes:
        races: number of rated races covered.
        entries: number of entrants in these races.
        changes: size of rating changes, by experience.
        finished: share of entries that finished.
        finishing: predicted and actual finishes, if the model predicts them.
        unfinished: number of entries that did not finish.
        gained_unfinished: how many of those gained points.
        winners: number of winning entries.
        lost_winning: how many of those lost points.
        pairs: number of pairs in which one entrant finished ahead.
        higher_ahead: share of pairs in which the higher-rated entrant finished ahead; None without pairs.
        gaps: the same share by lead, for pairs without a provisional rating.
    """

    races: int
    entries: int
    changes: Sequence[ChangeSizes]
    finished: float
    finishing: Sequence[Calibration]
    unfinished: int
    gained_unfinished: int
    winners: int
    lost_winning: int
    pairs: int
    higher_ahead: float | None
    gaps: Sequence[Calibration]


@dataclass(frozen=True, slots=True)
class BoardFigures:
    """Statistics of a leaderboard. `newcomer` is the rating before the first race, in points."""

    newcomer: int
    distribution: Distribution | None
    races: RaceFigures | None


@dataclass(frozen=True, slots=True)
class _Entries:
    """The entrants of the races, in order: arrays of shape [entries], except `states` of [entries, k].

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
    """Pairs in which one entrant finished ahead of the other: arrays of shape [pairs].

    Attributes:
        gap: lead of the higher-rated entrant, in points.
        right: 1 if the higher-rated entrant finished ahead, 0 if not, ½ for equal points.
        chance: the model's probability that the higher-rated entrant finishes ahead.
        settled: True if neither rating was provisional.
    """

    gap: FloatArray
    right: FloatArray
    chance: FloatArray
    settled: BoolArray


def explained(request: PageRequest, board: Board) -> Content:
    """Render how a leaderboard rates, and how well that predicted its last races."""
    figures = board_figures(request.view, board)
    bars = figures.distribution
    graph = bars and charts.distribution(
        [(integer(low), count) for low, count in bars.bars], "Number of players by points"
    )
    commands = request.view.publication.commands
    return templating.board_page(
        request,
        "explained.html",
        board,
        listing=board.listing,
        why=commands and commands.line(Command.WHY),
        ratings=commands and commands.line(Command.HELP),
        totals=request.view.totals(board),
        figures=figures,
        recent=RACES,
        words=WORDS.get(board.stored.model, ()),
        graph=graph,
    )


def board_figures(view: LedgerView, board: Board) -> BoardFigures:
    model = registry.create(board.stored.model, board.stored.parameters)
    return BoardFigures(
        newcomer=int(model.points(model.initial()[np.newaxis, :])[0]),
        distribution=_distribution(view, board),
        races=_race_figures(view, board, model),
    )


def _race_figures(view: LedgerView, board: Board, model: RatingModel) -> RaceFigures | None:
    rows = last_entries(view.ledger, board.key, RACES)
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


def _finishing(entries: _Entries, model: RatingModel) -> Iterator[Calibration]:
    """Yield predicted and actual finishes for each quartile of finish probability, lowest first."""
    if not isinstance(model, PredictsFinish):
        return
    chance = model.finish_probability(entries.states)
    edges = np.percentile(chance, [25, 50, 75])
    quarter = np.searchsorted(edges, chance, side="right")
    for number in range(4):
        chosen = quarter == number
        if chosen.sum() >= LEAST:
            yield Calibration(
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


def _gaps(pairs: _Pairs) -> Iterator[Calibration]:
    for low, high in GAPS:
        chosen = pairs.settled & (pairs.gap >= low) & (pairs.gap < (np.inf if high is None else high))
        if chosen.sum() >= LEAST:
            yield Calibration(
                low=low,
                high=high,
                cases=int(chosen.sum()),
                predicted=float(pairs.chance[chosen].mean()),
                happened=float(pairs.right[chosen].mean()),
            )


def _distribution(view: LedgerView, board: Board) -> Distribution | None:
    points = np.array(listed_points(view.ledger, board.stored, board.listing))
    if not points.size:
        return None
    low, median, high = (round(float(value)) for value in np.percentile(points, [25, 50, 75]))
    bins = points // BAR
    bars = [(int(number * BAR), int((bins == number).sum())) for number in range(bins.min(), bins.max() + 1)]
    return Distribution(low, median, high, BAR, bars)
