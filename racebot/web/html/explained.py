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
from racebot.queries.races import EntryRow, last_entries
from racebot.races.outcome import BoolArray
from racebot.ratings import registry
from racebot.ratings.model import FloatArray, PredictsFinish, RatingModel
from racebot.text.format import integer
from racebot.web.html import templating
from racebot.web.pictures import charts
from racebot.web.site.ledger_view import Board, LedgerView
from racebot.web.site.request import Content, PageRequest

_HURDLE = """
The model rates a race in two steps. First: did you finish? Better racers finish more often. Finishing gains
points, many for a newcomer and few for a racer who nearly always finishes. Not finishing costs some,
most in a first race.

Then: where did you place among the finishers? Your place is compared with the place that the ratings
predict. Beating a racer rated above you gains a lot, beating one far below you almost nothing. Finishers are
never compared with racers who did not finish.
"""
_BY_RACES = """
Your first races move your rating a lot. The more races you have run, the less each one moves it.
"""
_BY_RATING = """
How much a race moves your rating depends on the rating: a low one moves a lot, a high one a little.
"""
_UNFINISHED = """
Racers who did not finish rank behind all finishers and are not ranked against each other.
"""
_ORDER = f"""
Your place is compared with the place that everyone's ratings predict. {_UNFINISHED.strip()}
"""
_PAIRS = f"""
A race counts as one game against each other racer. You win against those behind you and lose against those
ahead of you. Beating a racer rated above you gains more than beating one below you. {_UNFINISHED.strip()}
"""

_TEXTS = {
    "thurstone-hurdle": _HURDLE + _BY_RACES,
    "thurstone-filter": f"""{_HURDLE}
Behind each rating is an uncertainty, which shrinks as you race and grows while you are away. The points
shown are cautious: they rise as the uncertainty shrinks.
""",
    "plackett-luce-hurdle": _HURDLE + _BY_RATING,
    "plackett-luce": _ORDER + _BY_RATING,
    "thurstone": f"""{_ORDER}
Everyone has good and bad days, which are rarely far from their strength.
{_BY_RATING}""",
    "trueskill": f"""{_ORDER}
Each player has two numbers: a skill, and the uncertainty of that skill. The points shown are cautious: a
multiple of the uncertainty (the parameter conservative below) is subtracted from the skill, so they rise as
the uncertainty shrinks.
""",
    "pairwise-elo": _PAIRS,
    "multielo": _PAIRS,
    "elo-ffa": _PAIRS,
    "glicko-ffa": f"""{_PAIRS}
Behind each rating is an uncertainty, which shrinks with each race. The smaller it is, the less a race moves
the rating.
""",
    "elo-exponential": _PAIRS,
    "elo-gaussian": _PAIRS,
    "previous-rank": """
A rating is simply the place in the last race. It is shown with a minus sign, so that the higher of two
ratings is the better one.
""",
}

WORDS: dict[str, list[str]] = {
    model: [" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n")]
    for model, text in _TEXTS.items()
}
"""Paragraphs that explain each model, by its key."""

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

    Pairs are grouped by their lead in points, from `low` to below `high`; None for no upper bound. Entries
    are grouped by their chance to finish, and `points` is the median rating.
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
    """Statistics of the last races.

    `finishing` is empty if the model does not predict finishes. `higher_ahead` is the share of pairs in which
    the higher-rated entrant finished ahead, None without pairs; `gaps` are those without provisional ratings.
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
    place = np.array([np.inf if row.place is None else row.place for row in rows])
    change = np.array([row.after - row.before for row in rows])
    out, won = np.isinf(place), place == 1
    right, gaps = _pairs(rows, place, model, view.publication.provisional_races)
    return RaceFigures(
        races=len({row.sequence for row in rows}),
        entries=len(rows),
        changes=list(_change_sizes(np.array([row.races_before for row in rows]), np.abs(change))),
        finished=float(1.0 - out.mean()),
        finishing=list(_finishing(rows, out, model)),
        unfinished=int(out.sum()),
        gained_unfinished=int((change[out] > 0).sum()),
        winners=int(won.sum()),
        lost_winning=int((change[won] < 0).sum()),
        pairs=right.size,
        higher_ahead=float(right.mean()) if right.size else None,
        gaps=gaps,
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


def _finishing(rows: Sequence[EntryRow], out: BoolArray, model: RatingModel) -> Iterator[Calibration]:
    """Yield predicted and actual finishes for each quartile of finish probability, lowest first."""
    if not isinstance(model, PredictsFinish):
        return
    chance = model.finish_probability(np.array([row.state for row in rows]))
    before = np.array([row.before for row in rows])
    quarter = np.searchsorted(np.percentile(chance, [25, 50, 75]), chance, side="right")
    for number in range(4):
        chosen = quarter == number
        if chosen.sum() >= LEAST:
            yield Calibration(
                cases=int(chosen.sum()),
                points=int(np.median(before[chosen])),
                predicted=float(chance[chosen].mean()),
                happened=float(1.0 - out[chosen].mean()),
            )


def _pairs(
    rows: Sequence[EntryRow], place: FloatArray, model: RatingModel, provisional: int
) -> tuple[FloatArray, list[Calibration]]:
    """Return 1 for each pair whose higher-rated entrant finished ahead, else 0, ½ for equal points.

    Also return the shares by lead, of pairs without a provisional rating.
    """
    sequence, before, races_before, state = (
        np.array([getattr(row, name) for row in rows])
        for name in ("sequence", "before", "races_before", "state")
    )
    starts = np.flatnonzero(np.diff(sequence, prepend=-1))
    ahead, behind = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
    for start, end in zip(starts, np.append(starts[1:], sequence.size), strict=True):
        better, worse = np.nonzero(place[start:end, np.newaxis] < place[start:end])
        ahead.append(better + start)
        behind.append(worse + start)
    first, second = np.concatenate(ahead), np.concatenate(behind)
    lead = before[first] - before[second]
    right = (lead > 0) + 0.5 * (lead == 0)
    chance = model.win_probability(state[first], state[second])
    chance = np.where(lead == 0, 0.5, np.where(lead > 0, chance, 1.0 - chance))
    settled = np.minimum(races_before[first], races_before[second]) >= provisional
    gaps = []
    for low, high in GAPS:
        chosen = settled & (abs(lead) >= low) & (abs(lead) < (np.inf if high is None else high))
        if chosen.sum() >= LEAST:
            shares = float(chance[chosen].mean()), float(right[chosen].mean())
            gaps.append(Calibration(int(chosen.sum()), *shares, low, high))
    return right, gaps


def _distribution(view: LedgerView, board: Board) -> Distribution | None:
    points = np.array(listed_points(view.ledger, board.stored, board.listing))
    if not points.size:
        return None
    low, median, high = (round(float(value)) for value in np.percentile(points, [25, 50, 75]))
    bins = points // BAR
    bars = [(int(number * BAR), int((bins == number).sum())) for number in range(bins.min(), bins.max() + 1)]
    return Distribution(low, median, high, BAR, bars)
