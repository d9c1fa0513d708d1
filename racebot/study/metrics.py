"""Metrics of a model's predictions over a history, and paired standard errors of their differences.

Sources:

- misordered pairs: "Multiplayer generalizations of Elo" §5, https://github.com/blkerby/MultiEloRating
- metrics of ranks, and views: Dehpanah et al., "The Evaluation of Rating Systems in Online Free-for-All
  Games" §IV–V, https://arxiv.org/abs/2008.06787
- win probabilities: J. Snellman, "Rating system for asymmetric multiplayer games",
  https://www.snellman.net/blog/archive/2015-11-18-rating-system-for-asymmetric-multiplayer-games/
- "challenged": "TrueSkill" §4.1; calibration: M. P. Naeini and others, https://doi.org/10.1609/aaai.v29i1.9602

The sources leave some choices open. Here:
- Members of a group (DNFs, or equal times) share the mean of their places, and equal ratings share the mean
  of their ranks. Pairs within a group were not observed, so pair metrics leave them out.
- Rank metrics and Kendall's τ are averaged over races, pair metrics over all pairs. SSE is a sum.
- A *view* only counts some entries of a race. Ranks and precision are still those of the whole race, and a
  pair counts half for each member in the view.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from racebot.races.outcome import BoolArray, IntArray, Outcome
from racebot.ratings.model import FloatArray, RatingModel
from racebot.study.history import History, replay

BINS = 5  # bins of places in a race, each a fifth of the field (evaluation-metrics §V)
CHANCES = 10  # bins of probabilities, of equal width
ERRORS_REQUIRED = 2.0  # standard errors by which one model must be better than another to be called better
_CERTAIN = 1e-15
"""Smallest probability in the log loss, so that a certain but wrong forecast costs 34.5, not infinity."""


def ranks(values: FloatArray | IntArray, race: IntArray) -> FloatArray:
    """Rank values from 1 within each race, smallest first: shape [n]. Equal values share their mean rank."""
    order, bounds, first = _runs(values, race)
    found = np.empty(order.size)
    found[order] = np.repeat((bounds[:-1] + 1 + bounds[1:]) / 2 - first, np.diff(bounds))
    return found


def _runs(values: FloatArray | IntArray, race: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Sort by race, then value: return the order, bounds of runs of equals, and each run's race's start."""
    order = np.lexsort((values, race))
    races, ascending = race[order], values[order]
    begins = np.ones(order.size + 1, dtype=np.bool_)
    begins[1:-1] = (np.diff(races) != 0) | (np.diff(ascending) != 0)
    bounds = np.flatnonzero(begins)
    return order, bounds, races.searchsorted(races[bounds[:-1]])


def observed_pairs(outcome: Outcome) -> tuple[IntArray, IntArray]:
    """Return the better and worse placed entrant of each observed pair: shapes [pairs]."""
    better, worse = np.nonzero(outcome.group[:, np.newaxis] < outcome.group)
    return better, worse


def misordered(better: FloatArray, worse: FloatArray) -> FloatArray:
    """Return 1 if the worse placed entrant had the higher rating, ½ for equal ratings: [..., pairs]."""
    return np.asarray((better < worse) + 0.5 * (better == worse))


def log_loss(probability: FloatArray) -> FloatArray:
    """Return the log loss in nats, given the probability of the actual result: shape [..., pairs]."""
    return np.asarray(-np.log(np.clip(probability, _CERTAIN, 1.0)))


class Reliability(NamedTuple):
    """Forecasts binned by probability, lowest first; those of 70 % should come true about 70 % of the time.

    Each bin has its mean probability, the share that came true, NaN if empty, and their number: [bins].
    """

    predicted: FloatArray
    observed: FloatArray
    weight: FloatArray

    @property
    def error(self) -> float:
        """Return the expected calibration error, the mean distance of the two; NaN without predictions."""
        total = float(self.weight.sum())
        wrong = np.nansum(self.weight * np.abs(self.predicted - self.observed))
        return float(wrong / total) if total else math.nan


def reliability(chance: FloatArray, weight: FloatArray | None = None) -> Reliability:
    """Return the reliability of the favorites' probabilities, in bins from ½ to 1.

    Takes the probability of the actual result of each pair, and its weight, 1 by default: shapes [pairs].
    """
    weight = np.ones(chance.size) if weight is None else weight
    favorite = np.maximum(chance, 1.0 - chance)
    happened = (chance > 0.5) + 0.5 * (chance == 0.5)
    number = np.minimum((favorite - 0.5) / 0.5 * CHANCES, CHANCES - 1).astype(np.intp)
    total = np.bincount(number, weight, minlength=CHANCES).astype(np.float64)
    filled = np.where(total > 0, total, np.nan)
    predicted = np.bincount(number, weight * favorite, minlength=CHANCES)
    observed = np.bincount(number, weight * happened, minlength=CHANCES)
    return Reliability(predicted / filled, observed / filled, total)


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """All entries in a history's races, shapes [entries], and all observed pairs, shapes [pairs].

    An entry has the index of its race, ascending, the observed rank from 1, as in `ranks`, and the number of
    the player's earlier races. A pair has the indices of the better and of the worse placed entry.
    """

    races: int
    race: IntArray
    player: IntArray
    place: FloatArray
    earlier: IntArray
    better: IntArray
    worse: IntArray

    @classmethod
    def of(cls, history: History) -> Field:
        """Collect the entries in the order of the races and of their outcomes' rows."""
        none = np.empty(0, dtype=np.intp)
        better, worse = [none], [none]
        start = 0
        for past in history.races:
            winners, losers = observed_pairs(past.outcome)
            better.append(start + winners)
            worse.append(start + losers)
            start += past.outcome.size
        race = np.repeat(np.arange(len(history)), [past.outcome.size for past in history.races])
        player = np.concatenate([none, *(past.players for past in history.races)])
        group = np.concatenate([none, *(past.outcome.group for past in history.races)])
        earlier = ranks(race, player).astype(np.intp) - 1
        pairs = np.concatenate(better), np.concatenate(worse)
        return cls(len(history), race, player, ranks(group, race), earlier, *pairs)

    def pair_race(self) -> IntArray:
        """Return the index of each pair's race: shape [pairs]."""
        return self.race[self.better]

    def bins(self) -> IntArray:
        """Return the fifth of the field in which each entry is placed, 0 for the best: shape [entries]."""
        size = np.bincount(self.race)[self.race]
        return np.minimum((self.place - 0.5) / size * BINS, BINS - 1).astype(np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """A model's forecast of each race, and how far its ranks are off: [entries] (Dehpanah et al., §IV).

    `error` is the distance of predicted and observed rank, `precision` P(i), the share of exact ranks among
    entrants placed at least as well. `probability` is that of the actual result: shape [pairs].
    """

    rating: FloatArray
    probability: FloatArray
    error: FloatArray
    precision: FloatArray

    @classmethod
    def of(cls, field: Field, rating: FloatArray, probability: FloatArray) -> Predictions:
        """Compare the ranks that ratings predict with the observed ones."""
        error, precision = np.abs(ranks(-rating, field.race) - field.place), np.empty(rating.size)
        order, bounds, first = _runs(field.place, field.race)
        exact = np.cumsum([0, *(error[order] == 0)])
        share = (exact[bounds[1:]] - exact[first]) / (bounds[1:] - first)
        precision[order] = np.repeat(share, np.diff(bounds))
        return cls(rating, probability, error, precision)


@dataclass(frozen=True, slots=True)
class Figures:
    """All metrics of one view. Figures without any case are NaN.

    Attributes:
        misordered: share of pairs in the wrong order; equal ratings count half ("Kendall tau" in a source).
        log_loss: mean log loss over pairs, in nats.
        sse: sum of squared errors of the win probabilities, over pairs.
        calibration_error: expected calibration error of the win probabilities.
        pair_accuracy: share of pairs in which the favorite was placed better; even odds count half.
        kendall: τ, concordant minus discordant pairs, divided by all pairs; equal ratings are neither.
        accuracy, mae: share of exactly predicted ranks, and mean absolute error of ranks.
        mrr, ap, ndcg: means of 1/(1 + error), of P(i)/(1 + error), and of the first by weights 1/log₂(i + 1).
    """

    races: int
    entries: int
    pairs: float
    misordered: float
    log_loss: float
    sse: float
    calibration_error: float
    pair_accuracy: float
    kendall: float
    accuracy: float
    mae: float
    mrr: float
    ap: float
    ndcg: float


def figures(field: Field, predictions: Predictions, counted: BoolArray) -> Figures:
    """Compute all metrics of a view: `counted` is a mask of its entries, shape [entries]."""

    def mean_of_races(value: FloatArray, weight: FloatArray, race: IntArray) -> float:
        total = np.bincount(race, weight, minlength=field.races)
        worth = np.bincount(race, weight * value, minlength=field.races)
        present = total > 0
        return float(np.mean(worth[present] / total[present])) if present.any() else math.nan

    def mean_of_pairs(value: FloatArray) -> float:
        return float(np.sum(halves * value) / pairs) if pairs else math.nan

    once = counted.astype(np.float64)
    kept = counted[field.better] | counted[field.worse]
    better, worse = field.better[kept], field.worse[kept]
    halves = 0.5 * (once[better] + once[worse])
    pairs = float(np.sum(halves))
    wrong = misordered(predictions.rating[better], predictions.rating[worse])
    chance, error = predictions.probability[kept], predictions.error
    relevance = 1.0 / (1.0 + error)
    # The source does not say which rank i is. With the observed one, all models get the same weights.
    weight = once / np.log2(field.place + 1.0)
    return Figures(
        races=int(np.unique(field.race[counted]).size),
        entries=int(counted.sum()),
        pairs=pairs,
        misordered=mean_of_pairs(wrong),
        log_loss=mean_of_pairs(log_loss(chance)),
        sse=float(np.sum(halves * (1.0 - chance) ** 2)),
        calibration_error=reliability(chance, halves).error,
        pair_accuracy=mean_of_pairs((chance > 0.5) + 0.5 * (chance == 0.5)),
        kendall=mean_of_races(1.0 - 2.0 * wrong, halves, field.race[better]),
        accuracy=mean_of_races((error == 0).astype(np.float64), once, field.race),
        mae=mean_of_races(error, once, field.race),
        mrr=mean_of_races(relevance, once, field.race),
        ap=mean_of_races(predictions.precision * relevance, once, field.race),
        ndcg=mean_of_races(relevance, weight, field.race),
    )


def betting(first: FloatArray, second: FloatArray) -> float:
    """Return the points that the first model wins by bets at the mean chance of the result: [pairs]."""
    middle = 0.5 * (first + second)
    return float(np.sum(np.sign(first - second) * (1.0 - middle)))


def right_alone(first: FloatArray, second: FloatArray) -> int:
    """Count the pairs whose winner only the first model predicted, by the chances of the result: [pairs]."""
    return int(np.sum((first > 0.5) & (second < 0.5)))


def tightest(tightness: FloatArray) -> BoolArray:
    """Return a mask of the fifth of the races with the highest `tightness`, NaN excluded: [races].

    In the TrueSkill paper, section 4.1, each of two models picks 20 % of the races for the other to predict.
    """
    eligible = int(np.sum(~np.isnan(tightness)))
    named = np.argsort(-tightness, kind="stable")[: round(0.2 * eligible)]
    found = np.zeros(tightness.size, dtype=np.bool_)
    found[named] = True
    return found


class Tally(NamedTuple):
    """A cost per race, the sum over its cases, such as pairs: [races] or [races, candidates]."""

    cost: FloatArray
    cases: IntArray

    @classmethod
    def of(cls, cost: FloatArray, race: IntArray, races: int) -> Tally:
        """Add up the costs of cases by race: shapes [cases]."""
        total = np.bincount(race, cost, minlength=races).astype(np.float64)
        return cls(total, np.bincount(race, minlength=races))

    def later(self, first: int) -> Tally:
        """Return the races from this index on."""
        return Tally(self.cost[first:], self.cases[first:])

    def mean(self) -> FloatArray:
        """Return the mean over the cases of all races: shape [], or [candidates]."""
        return np.asarray(self.cost.sum(axis=0) / self.cases.sum())


class Tallies(NamedTuple):
    """Misordered pairs and log loss per race."""

    misordered: Tally
    log_loss: Tally

    @property
    def joint(self) -> Tally:
        """Return log loss plus misordered pairs, to balance calibrated odds and correct order."""
        return Tally(self.misordered.cost + self.log_loss.cost, self.log_loss.cases)


def tallies(model: RatingModel, history: History, table: FloatArray | None = None) -> Tallies:
    """Replay a history, and return the costs of every race. See `replay` for `model` and `table`."""
    wrong, lost, pairs = [], [], []
    for step in replay(model, history, table):
        before, (better, worse) = step.before, observed_pairs(step.race.outcome)
        rating = model.rating(before)
        wrong.append(misordered(rating[..., better], rating[..., worse]).sum(axis=-1))
        chance = model.win_probability(before[..., better, :], before[..., worse, :])
        lost.append(log_loss(chance).sum(axis=-1))
        pairs.append(better.size)
    cases = np.array(pairs, dtype=np.intp)
    return Tallies(Tally(np.array(wrong), cases), Tally(np.array(lost), cases))


def standard_error(before: Tally, after: Tally) -> float:
    """Return the standard error of the difference between two means over the same races.

    It is that of a ratio of sums (W. G. Cochran, "Sampling Techniques", section 6.4); NaN for one race.
    """
    races, cases = before.cases.size, before.cases.sum()
    if races < 2 or not cases:
        return float("nan")
    difference = after.cost - before.cost
    rest = difference - difference.sum() / cases * before.cases
    return float(np.sqrt(races / (races - 1) * np.sum(rest**2)) / cases)
