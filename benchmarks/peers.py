"""Compare racebot's models with each other and with other packages, on the same races: docs/model.md.

    pip install elo-mmr-py
    python benchmarks/peers.py FILE [FILE ...]

Each file is an archive, JSON saved from the site, or CSV. Each race is predicted before it is rated, with all
defaults. Other packages don't know DNFs, so players who did not finish tie for last
place. Leaderboards order their players by the mean, or by the mean less two or three deviations: the best of
these counts. In brackets is the standard error of the difference from the first row, in units of the last
digit. The counts are unfair-looking results: DNFs that gain, last places that gain, winners that lose, and
finishers that would have lost less with a forfeit.

Peers: openskill (the five models of Weng and Lin, https://jmlr.org/papers/v12/weng11a.html), trueskill, and
elo-mmr-py if it is installed (https://arxiv.org/abs/2101.00400).
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import openskill.models
import trueskill
from scipy.special import ndtr

from racebot.files.read import read_races
from racebot.ratings.kernel import PastRace
from racebot.ratings.model import FloatArray
from racebot.ratings.registry import create
from racebot.study.complaints import Complaints
from racebot.study.history import History, replay
from racebot.study.metrics import log_loss, misordered, observed_pairs
from racebot.study.paired import Objective, Tally, standard_error, tallies

DOUBTS = (0, 2, 3)
HURDLES = ("thurstone-hurdle", "thurstone-filter", "plackett-luce-hurdle")
OURS = (*HURDLES, "trueskill", "plackett-luce", "thurstone")
ELO_MMR = {"Elo-MMR": "mmr", "Elo-MMX": "mmx", "Glicko": "glicko", "Codeforces": "cfsys"}


class Before(NamedTuple):
    """What a package believes of a race's entrants before the race: shapes [n]."""

    mean: FloatArray
    deviation: FloatArray


Peer = tuple[str, Callable[[History], Iterator[Before]], float | None]
"""A package's model: its row in the table, a function that yields what it believes before each race of a
history, and the standard deviation of one performance, or None if the package forecasts no results."""


def peers() -> Iterator[Peer]:
    """Yield all models of other packages, with their defaults."""
    if importlib.util.find_spec("elo_mmr_py"):
        for label, system in ELO_MMR.items():
            yield f"elo-mmr-py {label}", partial(by_elo_mmr, system), None
    environment = trueskill.TrueSkill()
    rate: Callable[..., Any] = environment.rate
    yield "trueskill", partial(one_by_one, environment.create_rating(), tuple, rate), environment.beta
    for kind in openskill.models.MODELS:
        model: Any = kind()
        yield f"openskill {kind.__name__}", partial(one_by_one, model.rating(), list, model.rate), model.beta


def one_by_one(
    newcomer: Any, team: Callable[..., Any], rate: Callable[..., Any], history: History
) -> Iterator[Before]:
    """Replay with a package that rates one race of teams at a time, on objects with `mu` and `sigma`."""
    ratings = [newcomer for _ in history.players]
    for race in history.races:
        entrants = [ratings[player] for player in race.players]
        yield Before(np.array([each.mu for each in entrants]), np.array([each.sigma for each in entrants]))
        after = rate([team((each,)) for each in entrants], ranks=race.outcome.group.tolist())
        for player, (rating,) in zip(race.players, after, strict=True):
            ratings[player] = rating


def by_elo_mmr(system: Any, history: History) -> Iterator[Before]:
    """Replay with elo-mmr-py, which rates a whole history at once."""
    import elo_mmr_py  # noqa: PLC0415 - an optional peer

    contests = [
        elo_mmr_py.Contest(standings=standings(race), time_seconds=number)
        for number, race in enumerate(history.races)
    ]
    found: dict[int, dict[int, tuple[float, float]]] = {number: {} for number in range(len(history))}
    for name, player in elo_mmr_py.rate(contests, system=system).items():
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


def judged(
    befores: Iterable[Before], history: History, doubts: Sequence[float], spread: float, scale: float = 1.0
) -> tuple[list[Tally], Tally]:
    """Return the misordered pairs per race, ordered with each doubt, and the log loss per race.

    `doubts` are deviations to take from the mean; `spread` is that of a performance, `scale` of the odds.
    """
    wrong: list[list[float]] = [[] for _ in doubts]
    losses, cases = [], []
    for race, before in zip(history.races, befores, strict=True):
        better, worse = observed_pairs(race.outcome)
        for found, doubt in zip(wrong, doubts, strict=True):
            rating = before.mean - doubt * before.deviation
            found.append(float(misordered(rating[better], rating[worse]).sum()))
        noise = 2 * spread**2 + before.deviation[better] ** 2 + before.deviation[worse] ** 2
        chance = ndtr(scale * (before.mean[better] - before.mean[worse]) / np.sqrt(noise))
        losses.append(float(log_loss(chance).sum()))
        cases.append(better.size)
    counts = np.array(cases, dtype=np.intp)
    return [Tally(np.array(each), counts) for each in wrong], Tally(np.array(losses), counts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", type=Path, nargs="+")
    for path in parser.parse_args().files:
        history = History.of(read_races(path, category="", goal=None).results)
        print(f"\n{path.name}: {len(history)} races, {len(history.players)} players\n")
        print("| Model | Misordered pairs | Log loss | DNF gains, last gains, winner loses, late losses |")
        print("|---|---|---|---|")
        first: list[Tally] = []
        for key in OURS:
            model = create(key)
            found = tallies(model, history, (Objective.MISORDERED, Objective.LOG_LOSS))
            counts = Complaints.of(model, list(replay(model, history)))
            first = first or found
            unfair = (counts.unfinished_gains, counts.last_gains, counts.winner_losses, counts.late_losses)
            row(f"racebot `{key}`", found, first, ", ".join(map(str, unfair)))
        for label, replayed, spread in peers():
            wrong, loss = judged(replayed(history), history, DOUBTS, spread or 1.0)
            best = min(wrong, key=lambda each: float(each.mean()))
            row(label, (best, loss if spread else None), first, "")


def row(label: str, found: Iterable[Tally | None], first: list[Tally], *more: str) -> None:
    """Print one line of the table."""
    cells = []
    for base, each in zip(first, found, strict=True):
        if each is None:
            cells.append("")
            continue
        error = "" if each is base else f" ({standard_error(base, each) * 1e4:.0f})"
        cells.append(f"{each.mean():.4f}".lstrip("0") + error)
    print(f"| {label} | {' | '.join([*cells, *more])} |", flush=True)


if __name__ == "__main__":
    main()
