"""Compare racebot's models with other rating packages, on the same races: the second table in docs/model.md.

    pip install elo-mmr-py
    python benchmarks/peers.py FILE [FILE ...]

Each file is an archive, JSON saved from the site, or CSV. Each race is predicted before it is rated, with
every package's defaults. Other packages don't know DNFs, so players who did not finish tie for last place.
Leaderboards order players by the mean, or by the mean less two or three deviations: the best of these counts.
In brackets is the standard error of the difference from the first row, in units of the last digit.

Peers: openskill (the five models of Weng and Lin, https://jmlr.org/papers/v12/weng11a.html), trueskill, and
elo-mmr-py (https://arxiv.org/abs/2101.00400).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import elo_mmr_py
import numpy as np
import openskill.models
import trueskill
from elo_mmr_py import RatingSystemName
from scipy.special import ndtr

from racebot.ratings.model import FloatArray
from racebot.ratings.registry import create
from racebot.standings.backfill import read_races
from racebot.study.history import History, PastRace
from racebot.study.metrics import log_loss, misordered, observed_pairs
from racebot.study.objective import Objective
from racebot.study.paired import Tally, standard_error, tallies

DOUBTS = (0, 2, 3)
OURS = ("thurstone-hurdle", "thurstone-filter")


class Before(NamedTuple):
    """What a package believes of a race's entrants before the race: shapes [n]."""

    mean: FloatArray
    deviation: FloatArray


@dataclass(frozen=True, slots=True)
class Peer:
    """A package's model.

    Attributes:
        label: its row in the table.
        replay: yields what the model believes before each race of a history.
        spread: standard deviation of one performance, or None if the package forecasts no results.
    """

    label: str
    replay: Callable[[History], Iterator[Before]]
    spread: float | None


def by_openskill(model: Any, history: History) -> Iterator[Before]:
    """Replay with a model of openskill."""
    return one_by_one(history, model.rating(), lambda teams, ranks: model.rate(teams, ranks=ranks))


def by_trueskill(history: History) -> Iterator[Before]:
    """Replay with trueskill."""
    environment = trueskill.TrueSkill()
    return one_by_one(
        history,
        environment.create_rating(),
        lambda teams, ranks: environment.rate([tuple(team) for team in teams], ranks=ranks),
    )


def one_by_one(
    history: History, newcomer: Any, rate: Callable[[list[Any], list[int]], Iterable[Any]]
) -> Iterator[Before]:
    """Replay with a package that rates one race at a time, on objects with `mu` and `sigma`."""
    ratings = [newcomer for _ in history.players]
    for race in history.races:
        entrants = [ratings[player] for player in race.players]
        yield Before(np.array([each.mu for each in entrants]), np.array([each.sigma for each in entrants]))
        after = rate([[each] for each in entrants], race.outcome.group.tolist())
        for player, (rating,) in zip(race.players, after, strict=True):
            ratings[player] = rating


def by_elo_mmr(system: RatingSystemName, history: History) -> Iterator[Before]:
    """Replay with elo-mmr-py, which rates a whole history at once."""
    contests = [
        elo_mmr_py.Contest(standings=standings(race), time_seconds=number)
        for number, race in enumerate(history.races)
    ]
    players = elo_mmr_py.rate(contests, system=system)
    found: dict[int, dict[int, tuple[float, float]]] = {number: {} for number in range(len(history))}
    for name, player in players.items():
        known = (1500.0, 350.0)  # a newcomer
        for event in player.events:
            found[event.contest_index][int(name)] = known
            known = (event.rating_mu, event.rating_sig)
    for number, race in enumerate(history.races):
        mean, deviation = zip(*(found[number][player] for player in race.players.tolist()), strict=True)
        yield Before(np.array(mean), np.array(deviation))


def standings(race: PastRace) -> list[tuple[str, int, int]]:
    """Return elo-mmr-py's standings: the first and the last place that an entrant shares, from 0."""
    group = race.outcome.group
    rows = [
        (str(player), int((group < mine).sum()), int((group <= mine).sum()) - 1)
        for player, mine in zip(race.players.tolist(), group.tolist(), strict=True)
    ]
    return sorted(rows, key=lambda row: row[1])


def peers() -> list[Peer]:
    """Return all models of other packages, with their defaults."""
    return [
        *(
            Peer(f"openskill {kind.__name__}", partial(by_openskill, kind()), kind().beta)
            for kind in openskill.models.MODELS
        ),
        Peer("trueskill", by_trueskill, trueskill.TrueSkill().beta),
        Peer("elo-mmr-py Elo-MMR", partial(by_elo_mmr, "mmr"), None),
        Peer("elo-mmr-py Elo-MMX", partial(by_elo_mmr, "mmx"), None),
        Peer("elo-mmr-py BAR", partial(by_elo_mmr, "bar"), None),
        Peer("elo-mmr-py Glicko", partial(by_elo_mmr, "glicko"), None),
        Peer("elo-mmr-py Codeforces", partial(by_elo_mmr, "cfsys"), None),
        Peer("elo-mmr-py TopCoder", partial(by_elo_mmr, "tcsys"), None),
    ]


def judge(peer: Peer, history: History) -> tuple[Tally, Tally | None]:
    """Return a peer's misordered pairs and, if it forecasts results, its log loss, per race."""
    wrong: list[list[float]] = [[] for _ in DOUBTS]
    losses, cases = [], []
    for race, before in zip(history.races, peer.replay(history), strict=True):
        better, worse = observed_pairs(race.outcome)
        for found, doubt in zip(wrong, DOUBTS, strict=True):
            rating = before.mean - doubt * before.deviation
            found.append(float(misordered(rating[better], rating[worse]).sum()))
        if peer.spread is not None:
            noise = 2 * peer.spread**2 + before.deviation[better] ** 2 + before.deviation[worse] ** 2
            chance = ndtr((before.mean[better] - before.mean[worse]) / np.sqrt(noise))
            losses.append(float(log_loss(chance).sum()))
        cases.append(better.size)
    counts = np.array(cases, dtype=np.intp)
    best = min((Tally(np.array(each), counts) for each in wrong), key=lambda each: float(each.mean()))
    return best, Tally(np.array(losses), counts) if losses else None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="+")
    for path in parser.parse_args().files:
        history = History.of(read_races(path, category="", goal=None))
        print(f"\n{path.name}: {len(history)} races, {len(history.players)} players\n")
        print("| Model | Misordered pairs | Log loss |\n|---|---|---|")
        first: list[Tally] = []
        for key in OURS:
            found = tallies(create(key), history, (Objective.MISORDERED, Objective.LOG_LOSS))
            first = first or found
            row(f"racebot `{key}`", found, first)
        for peer in peers():
            row(peer.label, judge(peer, history), first)


def row(label: str, found: Iterable[Tally | None], first: list[Tally]) -> None:
    """Print one line of the table."""
    cells = []
    for base, each in zip(first, found, strict=True):
        if each is None:
            cells.append("")
            continue
        error = "" if each is base else f" ({standard_error(base, each) * 1e4:.0f})"
        cells.append(f"{each.mean():.4f}".lstrip("0") + error)
    print(f"| {label} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
