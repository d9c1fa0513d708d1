"""What a leaderboard's own races say about its ratings: how they move, and how often they were right.

All of it comes from the ledger: each race is held against what the model knew before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from racebot.races.outcome import BoolArray, IntArray
from racebot.ratings import registry
from racebot.ratings.model import FloatArray, PredictsFinish, RatingModel
from racebot.web import leaderboards
from racebot.web.view import Board, View

RACES = 1000
"""The last so many races are looked at."""
EXPERIENCE = ((0, 0), (1, 4), (5, 9), (10, 29), (30, None))
"""Groups by number of earlier races, for how far a race moves a rating."""
GAPS = ((0, 50), (50, 150), (150, 250), (250, 350), (350, 500), (500, None))
"""Groups of pairs by how many points lie between them."""
LEAST = 20
"""Groups with fewer cases are not told: chance would say more than they do."""
BAR = 100
"""Points to a bar of the distribution."""


class _Entries(NamedTuple):
    """Entrants of the races, in order: shapes [entries], `states` [entries, k].

    `place` is infinite for who did not finish.
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


class _Pairs(NamedTuple):
    """Pairs of which one was placed before the other: shapes [pairs].

    Attributes:
        gap: points of the higher rated less those of the other.
        right: 1 where the higher rated was placed before the other, ½ where they were level.
        chance: that the model gave to the higher rated.
        settled: whether neither had a provisional rating.
    """

    gap: FloatArray
    right: FloatArray
    chance: FloatArray
    settled: BoolArray


def figures(view: View, board: Board) -> dict[str, Any]:
    """The numbers of a leaderboard that explain its ratings.

    `newcomer` points; `races` looked at; `changes` by experience; `pairs` with how often the higher rated
    was placed before the other, in all and by `gaps` in points between settled players; `finishing`; what
    players should not see, as `gained_unfinished` and `lost_winning`; and the `distribution` of points.
    """
    model = registry.create(board.stored.model, board.stored.parameters)
    found: dict[str, Any] = {
        "newcomer": int(model.points(model.initial()[np.newaxis, :])[0]),
        "distribution": _distribution(view, board),
        "races": 0,
    }
    rows = list(view.ledger.pages.entries(board.key, RACES))
    if not rows:
        return found
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
    return {
        **found,
        "races": int(np.unique(entries.sequence).size),
        "entries": len(rows),
        "changes": list(_changes(entries.races_before, np.abs(change))),
        "finished": float(1.0 - out.mean()),
        "finishing": list(_finishing(entries, model)),
        "unfinished": int(out.sum()),
        "gained_unfinished": int((change[out] > 0).sum()),
        "winners": int((entries.place == 1).sum()),
        "lost_winning": int((change[entries.place == 1] < 0).sum()),
        "pairs": int(pairs.gap.size),
        "higher_ahead": float(pairs.right.mean()) if pairs.gap.size else None,
        "gaps": list(_gaps(pairs)),
    }


def _changes(races_before: NDArray[np.int64], size: NDArray[np.int64]) -> Iterator[dict[str, Any]]:
    for low, high in EXPERIENCE:
        chosen = (races_before >= low) & (races_before <= (np.inf if high is None else high))
        if chosen.sum() >= LEAST:
            median, most = np.percentile(size[chosen], [50, 90])
            yield {
                "first": low + 1,
                "last": None if high is None else high + 1,
                "cases": int(chosen.sum()),
                "median": round(float(median)),
                "most": round(float(most)),
            }


def _finishing(entries: _Entries, model: RatingModel) -> Iterator[dict[str, Any]]:
    """Chances to finish held against what happened, from the lowest quarter of the chances to the highest."""
    if not isinstance(model, PredictsFinish):
        return
    chance = model.finish_probability(entries.states)
    edges = np.percentile(chance, [25, 50, 75])
    quarter = np.searchsorted(edges, chance, side="right")
    for number in range(4):
        chosen = quarter == number
        if chosen.sum() >= LEAST:
            yield {
                "cases": int(chosen.sum()),
                "points": int(np.median(entries.before[chosen])),
                "predicted": float(chance[chosen].mean()),
                "happened": float(1.0 - entries.unfinished[chosen].mean()),
            }


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


def _gaps(pairs: _Pairs) -> Iterator[dict[str, Any]]:
    for low, high in GAPS:
        chosen = pairs.settled & (pairs.gap >= low) & (pairs.gap < (np.inf if high is None else high))
        if chosen.sum() >= LEAST:
            yield {
                "from": low,
                "to": high,
                "pairs": int(chosen.sum()),
                "predicted": float(pairs.chance[chosen].mean()),
                "happened": float(pairs.right[chosen].mean()),
            }


def _distribution(view: View, board: Board) -> dict[str, Any] | None:
    points = np.array([entry["points"] for entry in view.once(leaderboards.report, board)["players"]])
    if not points.size:
        return None
    low, median, high = (round(float(value)) for value in np.percentile(points, [25, 50, 75]))
    bins = points // BAR
    bars = [(int(number * BAR), int((bins == number).sum())) for number in range(bins.min(), bins.max() + 1)]
    return {"low": low, "median": median, "high": high, "width": BAR, "bars": bars}
