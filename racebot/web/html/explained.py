"""Statistics of a leaderboard's races: how far ratings move, and how often they predicted correctly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from racebot.queries.races import Entries, last_entries
from racebot.queries.standings import listed_now
from racebot.ratings import registry
from racebot.web.html import templating
from racebot.web.site.ledger_view import Board, Content, LedgerView, PageRequest

RACES = 1000  # number of recent races that the statistics cover
PAIRS = 100_000  # of more pairs, about so many are taken from all races alike: large fields have too many
EXPERIENCE = ((1, 1), (2, 5), (6, 10), (11, 30), (31, None))
"""Bounds of the groups by a race's number among the player's races."""
LEAST = 20  # groups with fewer cases are left out as too noisy
BAR = 100  # points that a row of the distribution covers


def explained(request: PageRequest, board: Board) -> Content:
    model = registry.create(board.stored.model, board.stored.parameters)
    listed = listed_now(request.view.ledger, board.stored, board.listing)
    points = np.array([each.points for each in listed], int)
    bars = histogram(points)
    return templating.board_page(
        request,
        "explained.html",
        board,
        listing=board.listing,
        prefix=request.view.publication.command_prefix,
        totals=request.view.totals(board),
        newcomer=int(model.points(model.initial()[np.newaxis, :])[0]),
        races=race_figures(request.view, board),
        recent=RACES,
        quartiles=np.percentile(points, [25, 50, 75]).round().astype(int).tolist() if bars else None,
        bars=bars,
        width=BAR,
        most=max((count for _, count in bars), default=0),
    )


def histogram(points: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return how many players have points from each multiple of `BAR` on, without gaps."""
    if not points.size:
        return []
    bins = points // BAR
    return [(int(number * BAR), int((bins == number).sum())) for number in range(bins.min(), bins.max() + 1)]


def race_figures(view: LedgerView, board: Board) -> dict[str, Any] | None:
    """Return statistics of a leaderboard's last races by name, None without any."""
    entries = last_entries(view.ledger, board.key, RACES)
    if entries is None:
        return None
    change = entries.after - entries.before
    out, won = np.isinf(entries.place), entries.place == 1
    return {
        "races": np.unique(entries.sequence).size,
        "entries": change.size,
        "changes": list(_change_sizes(entries.races_before + 1, np.abs(change))),
        "finished": float(1.0 - out.mean()),
        "unfinished": int(out.sum()),
        "gained_unfinished": int((change[out] > 0).sum()),
        "winners": int(won.sum()),
        "lost_winning": int((change[won] < 0).sum()),
        **_pairs(entries, view.publication.provisional_races),
    }


def _change_sizes(
    number: NDArray[np.int64], size: NDArray[np.int64]
) -> Iterator[tuple[int, int | None, int, int, int]]:
    """Yield how many races `first` to `last` of a player there are, and their median and 90th percentile."""
    for first, last in EXPERIENCE:
        chosen = (number >= first) & (number <= (last or np.inf))
        if chosen.sum() >= LEAST:
            median, large = np.percentile(size[chosen], [50, 90])
            yield first, last, int(chosen.sum()), round(float(median)), round(float(large))


def _pairs(entries: Entries, provisional: int) -> dict[str, Any]:
    """Return how often the higher rated was ahead, of all pairs, and of those with a lead of about 100."""
    sequence, place, before, _, races_before = entries
    sizes = np.unique(sequence, return_counts=True)[1]
    pairs = [np.empty((0, 2), int)]
    every = -(-int((sizes * (sizes - 1)).sum()) // (2 * PAIRS))
    for step in range(1, sizes.max(), max(every, 1)):
        one = np.flatnonzero(sequence[step:] == sequence[:-step])
        pairs += [np.stack((one, one + step), axis=1), np.stack((one + step, one), axis=1)]
    first, second = np.concatenate(pairs).T
    ahead = place[first] < place[second]
    first, second = first[ahead], second[ahead]
    lead = before[first] - before[second]
    right = (lead > 0) + 0.5 * (lead == 0)
    settled = np.minimum(races_before[first], races_before[second]) >= provisional
    hundred = right[settled & (abs(lead) >= 50) & (abs(lead) < 150)]
    return {
        "pairs": right.size,
        "higher_ahead": float(right.mean()) if right.size else None,
        "with_lead": float(hundred.mean()) if hundred.size >= LEAST else None,
    }
