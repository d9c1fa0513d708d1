"""How good predictions were: metrics of ratings over a history.

Sources: multiplayer-generalizations-of-elo §5 (misordered pairs), evaluation-metrics-free-for-all §IV–V
(metrics of ranks, views), terra-mystica-rating-eval (win probabilities), TrueSkill §4.1 ("challenged").

What the sources leave open is decided so:

- Entrants of one group (the unfinished, equal times) share the mean of the places they occupy, equal
  ratings the mean of the ranks they would have. Pairs of one group were not observed, and are in no
  metric of pairs.
- Metrics of ranks and Kendall's τ are computed for each race and averaged over races, as in
  evaluation-metrics §V. Metrics of pairs are averaged over all pairs of all races, as in elo §5, so that a
  race weighs as much as it has pairs; SSE is a sum.
- A *view* counts some entries of a race only. Ranks and precision are still those of the whole race; a pair
  counts half for each member that is counted.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from racebot.races.outcome import BoolArray, IntArray, Outcome
from racebot.ratings.model import FloatArray
from racebot.study.calibration import of_pairs
from racebot.study.history import History

BINS = 5
"""Bins of places in a race, each a fifth of the field (evaluation-metrics §V)."""

_CERTAIN = 1e-15
"""Least probability that log loss knows: a model that was sure and wrong loses 34.5, not everything."""


def ranks(values: FloatArray | IntArray) -> FloatArray:
    """Ranks from 1, the smallest value first, equal values sharing the mean of theirs: shape [n]."""
    return np.asarray(stats.rankdata(values, method="average"), dtype=np.float64)


def observed_pairs(outcome: Outcome) -> tuple[IntArray, IntArray]:
    """Entrants of each pair with different places, the better and the worse one: shapes [pairs]."""
    better, worse = np.nonzero(outcome.group[:, np.newaxis] < outcome.group)
    return better, worse


def misordered(better: FloatArray, worse: FloatArray) -> FloatArray:
    """1 where the worse placed had the higher rating, ½ where ratings were equal: shapes [..., pairs]."""
    wrong: FloatArray = (better < worse) + 0.5 * (better == worse)
    return wrong


def log_loss(probability: FloatArray) -> FloatArray:
    """Of each pair, from the probability given to what happened, in nats: shape [..., pairs]."""
    loss: FloatArray = -np.log(np.clip(probability, _CERTAIN, 1.0))
    return loss


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """What happened: all entries of a history's races, and all observed pairs of them.

    Attributes:
        races: number of races.
        race: shape [entries], ascending; the position of the entry's race in the history.
        player: shape [entries]; number of the player.
        place: shape [entries]; observed rank, from 1, as `ranks` has it.
        earlier: shape [entries]; races that the player had before this one.
        better: shape [pairs]; the entry of each pair that was placed better.
        worse: shape [pairs]; the other entry.
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
        """The entries in the order of the races and of their outcomes' rows."""
        seen = np.zeros(len(history.players), dtype=np.intp)
        columns: list[list[NDArray[Any]]] = [[] for _ in range(6)]
        start = 0
        for number, race in enumerate(history.races):
            size = race.outcome.size
            better, worse = observed_pairs(race.outcome)
            values = (
                np.full(size, number, dtype=np.intp),
                race.players,
                ranks(race.outcome.group),
                seen[race.players],
                better + start,
                worse + start,
            )
            for column, value in zip(columns, values, strict=True):
                column.append(value)
            seen[race.players] += 1
            start += size
        whole, real = np.empty(0, dtype=np.intp), np.empty(0)
        empty = (whole, whole, real, whole, whole, whole)
        return cls(len(history), *(np.concatenate([e, *c]) for e, c in zip(empty, columns, strict=True)))

    def pair_race(self) -> IntArray:
        """Position of each pair's race: shape [pairs]."""
        return self.race[self.better]

    def without_newcomers(self) -> Part:
        """The field as if players in their first race had not entered; places close up."""
        kept = self.earlier > 0
        pairs = kept[self.better] & kept[self.worse]
        position = np.cumsum(kept) - 1
        field = Field(
            self.races,
            self.race[kept],
            self.player[kept],
            self.place[kept],
            self.earlier[kept],
            position[self.better[pairs]],
            position[self.worse[pairs]],
        )
        for entries in field.by_race():
            field.place[entries] = ranks(field.place[entries])
        return Part(field, kept, pairs)

    def by_race(self) -> Iterator[slice]:
        """The entries of each race that has any, in order."""
        bounds = np.flatnonzero(np.diff(self.race, prepend=-1, append=self.races))
        for start, stop in itertools.pairwise(bounds.tolist()):
            yield slice(start, stop)

    def bins(self) -> IntArray:
        """The fifth of the field that each entry's place lies in, 0 for the best: shape [entries]."""
        size = np.bincount(self.race, minlength=self.races)[self.race]
        return np.minimum((self.place - 0.5) / size * BINS, BINS - 1).astype(np.intp)


class Part(NamedTuple):
    """A part of a field, and which entries and pairs of the whole it holds: shapes [entries], [pairs]."""

    field: Field
    entries: BoolArray
    pairs: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """What a model said of each race before it.

    Attributes:
        rating: shape [entries].
        probability: shape [pairs]; that the better placed would be placed better.
    """

    rating: FloatArray
    probability: FloatArray

    def of(self, part: Part) -> Predictions:
        """The same, for a part of the field."""
        return Predictions(self.rating[part.entries], self.probability[part.pairs])


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """What each prediction of a rank is worth (evaluation-metrics §IV): shapes [entries].

    Attributes:
        error: distance of predicted and observed rank.
        relevance: D = 1/(1 + error).
        precision: P(i), the share of exact predictions among the entrants placed at least as well.
        weight: 1/log₂(i + 1), i being the observed rank: the source does not say which rank, and with the
            observed one all models are weighed alike.
    """

    error: FloatArray
    relevance: FloatArray
    precision: FloatArray
    weight: FloatArray

    @classmethod
    def of(cls, field: Field, rating: FloatArray) -> Scores:
        """Score the ranks that ratings predict, the highest first: `rating` has shape [entries]."""
        error, precision = np.empty(rating.size), np.empty(rating.size)
        for entries in field.by_race():
            place = field.place[entries]
            error[entries] = np.abs(ranks(-rating[entries]) - place)
            ahead = place <= place[:, np.newaxis]
            precision[entries] = (ahead & (error[entries] == 0)).sum(axis=1) / ahead.sum(axis=1)
        return cls(error, 1.0 / (1.0 + error), precision, 1.0 / np.log2(field.place + 1.0))


@dataclass(frozen=True, slots=True)
class Figures:
    """All metrics of one view. A figure of which there is no case is NaN.

    Attributes:
        races: races with a counted entry.
        entries: counted entries.
        pairs: counted pairs.
        misordered: share of pairs in which the lower rated was placed better, equal ratings counting half
            (elo §5, "Kendall tau").
        log_loss: mean over pairs, in nats.
        sse: sum of squared errors of the win probabilities, over pairs.
        calibration_error: expected calibration error of the win probabilities (`calibration`).
        pair_accuracy: share of pairs whose better placed had the better chances, even ones counting half.
        kendall: τ, concordant minus discordant pairs by all pairs; equal ratings are neither.
        accuracy: share of exactly predicted ranks.
        mae: mean absolute error of ranks.
        mrr: mean of 1/(1 + error).
        ap: mean of P(i)/(1 + error).
        ndcg: mean of 1/(1 + error), weighted by 1/log₂(i + 1).
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


def figures(field: Field, predictions: Predictions, scores: Scores, counted: BoolArray) -> Figures:
    """All metrics over the counted entries, which has shape [entries]."""

    def mean_of_races(value: FloatArray, weight: FloatArray, race: IntArray) -> float:
        total = np.bincount(race, weight, minlength=field.races)
        worth = np.bincount(race, weight * value, minlength=field.races)
        present = total > 0
        return float(np.mean(worth[present] / total[present])) if present.any() else float("nan")

    def mean_of_pairs(value: FloatArray) -> float:
        return float(np.sum(halves * value) / pairs) if pairs else float("nan")

    once = counted.astype(np.float64)
    halves = 0.5 * (once[field.better] + once[field.worse])
    pairs = float(np.sum(halves))
    wrong = misordered(predictions.rating[field.better], predictions.rating[field.worse])
    chance = predictions.probability
    return Figures(
        races=int(np.unique(field.race[counted]).size),
        entries=int(counted.sum()),
        pairs=pairs,
        misordered=mean_of_pairs(wrong),
        log_loss=mean_of_pairs(log_loss(chance)),
        sse=float(np.sum(halves * (1.0 - chance) ** 2)),
        calibration_error=of_pairs(chance, halves).error,
        pair_accuracy=mean_of_pairs((chance > 0.5) + 0.5 * (chance == 0.5)),
        kendall=mean_of_races(1.0 - 2.0 * wrong, halves, field.pair_race()),
        accuracy=mean_of_races((scores.error == 0).astype(np.float64), once, field.race),
        mae=mean_of_races(scores.error, once, field.race),
        mrr=mean_of_races(scores.relevance, once, field.race),
        ap=mean_of_races(scores.precision * scores.relevance, once, field.race),
        ndcg=mean_of_races(scores.relevance, once * scores.weight, field.race),
    )


def betting(first: FloatArray, second: FloatArray) -> float:
    """Points that the first model wins from the second, betting on every pair (terra-mystica).

    They bet at the odds in the middle of their two probabilities; the second wins what the first loses.

    Args:
        first: shape [pairs], probabilities given to what happened.
        second: likewise, of the other model.
    """
    middle = 0.5 * (first + second)
    return float(np.sum(np.sign(first - second) * (1.0 - middle)))


def split_predictions(first: FloatArray, second: FloatArray) -> tuple[int, int]:
    """How often each model was right where the two saw different winners (terra-mystica).

    Args:
        first: shape [pairs], probabilities given to what happened.
        second: likewise, of the other model.
    """
    return int(np.sum((first > 0.5) & (second < 0.5))), int(np.sum((first < 0.5) & (second > 0.5)))


def tightest(tightness: FloatArray, share: float = 0.2) -> BoolArray:
    """The races that a model finds tightest, the earlier first among equals: shape [races].

    TrueSkill §4.1 has each of two models name 20 % of the races, and the other predict them.

    Args:
        tightness: shape [races], higher for a closer race; NaN for one that is not to be named.
        share: of the races that may be named.
    """
    eligible = int(np.sum(~np.isnan(tightness)))
    named = np.argsort(-tightness, kind="stable")[: round(share * eligible)]
    found = np.zeros(tightness.size, dtype=np.bool_)
    found[named] = True
    return found
