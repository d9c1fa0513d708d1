"""Count unfair-looking rating changes, such as a DNF that gains points or a winner who loses them.

Changes are in points, which players see. Source: B. Kerby, "Multiplayer generalizations of Elo rating
system", sections 2, 4 and 6, https://github.com/blkerby/MultiEloRating.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from racebot.races.outcome import BoolArray, IntArray, Outcome
from racebot.ratings.model import FloatArray, RatingModel
from racebot.ratings.models.hurdle import HurdleModel
from racebot.study.history import History, Step

ALL_CHECKED = 10_000
"""Most entrants in all races of a history for which `Complaints.of` rates each race again."""
SAMPLE = 20  # in a larger history, one race of this many is rated again
LARGE = 50  # entrants up to which all finishers are checked for late losses
MOST_CHECKED = 3  # finishers to check for late losses in larger fields


@dataclass(frozen=True, slots=True)
class Complaints:
    """Counts of unfair-looking changes, which should all be 0.

    Attributes:
        unfinished_gains, last_gains, winner_losses: DNFs and last ones who gained; winners who lost points.
        unequal_ties: pairs with equal places and equal states (also race counts), but different changes.
        order_dependent: players whose change would differ if the entrants were listed in reverse order.
        late_losses: finishers who lost points and would have lost less with a forfeit. In a field over
            `LARGE`, unless the model is `HurdleModel`, only the three worst placed of them are checked.
    """

    unfinished_gains: int = 0
    last_gains: int = 0
    winner_losses: int = 0
    unequal_ties: int = 0
    order_dependent: int = 0
    late_losses: int = 0

    @classmethod
    def of(cls, model: RatingModel, steps: Sequence[Step], *, every: int = 1) -> Self:
        """Count the unfair-looking changes in races, as a model with a single parameter set rated them.

        `order_dependent` and `late_losses` rate races again, one of `every`, and only count its changes.
        """
        if not steps:
            return cls()
        outcomes = [step.race.outcome for step in steps]
        sizes = np.array([outcome.size for outcome in outcomes])
        race = np.repeat(np.arange(len(steps)), sizes)
        before = np.concatenate([step.before for step in steps])
        group = np.concatenate([outcome.group for outcome in outcomes])
        unfinished = np.concatenate([outcome.unfinished for outcome in outcomes])
        last = np.repeat([outcome.last_group for outcome in outcomes], sizes)
        change = np.concatenate([model.points(step.after) - model.points(step.before) for step in steps])
        lost = np.split((change < 0) & ~unfinished, np.cumsum(sizes)[:-1])
        alike = race, group, *before.T
        return cls(
            unfinished_gains=int(np.sum(change[unfinished] > 0)),
            last_gains=int(np.sum(change[group == last] > 0)),
            winner_losses=int(np.sum(change[group == 0] < 0)),
            unequal_ties=_equal_pairs(*alike) - _equal_pairs(*alike, change),
            order_dependent=_order_dependent(model, steps[::every]),
            late_losses=_late_losses(model, steps[::every], lost[::every]),
        )


def _equal_pairs(*columns: FloatArray | IntArray) -> int:
    """Count the pairs of entries that are equal in all columns: shapes [entries]."""
    order = np.lexsort(columns)
    begins = np.ones(order.size + 1, dtype=np.bool_)
    begins[1:-1] = np.any([np.diff(column[order]) != 0 for column in columns], axis=0)
    count = np.diff(np.flatnonzero(begins))
    return int(np.sum(count * (count - 1) // 2))


def checked_again(history: History) -> int:
    """Return k if one race of k is to be rated again, which takes a multiple of the time of a replay."""
    return 1 if history.races_of_players().sum() <= ALL_CHECKED else SAMPLE


def _points(model: RatingModel, before: FloatArray, outcome: Outcome) -> IntArray:
    """Return the points after a race, unless it cannot be rated, as where all but one gave up."""
    return model.points(model.rate(before, outcome) if outcome.rateable else before)


def _order_dependent(model: RatingModel, steps: Sequence[Step]) -> int:
    """Count the players whose points would differ if the entrants were listed in reverse order."""
    count = 0
    for race, before, after in steps:
        own = race.outcome
        team = None if own.team is None else own.team[::-1]
        turned = replace(own, group=own.group[::-1], unfinished=own.unfinished[::-1], team=team)
        points, other = model.points(after), _points(model, before[::-1], turned)[::-1]
        if (points != other).any():
            # Compiled results can differ in the last digits, and so round to another point.
            points = _points(model, before, own)
        count += int(np.sum(points != other))
    return count


def _late_losses(model: RatingModel, steps: Sequence[Step], lost: Sequence[BoolArray]) -> int:
    """Count the finishers who lost points, as `lost` says of each race, and more than by giving up."""
    count = 0
    for (race, before, after), losers in zip(steps, map(np.flatnonzero, lost), strict=True):
        points, outcome = model.points(after), race.outcome
        if isinstance(model, HurdleModel) and outcome.team is None:
            forfeits = model.points(model.after_forfeit(before[losers], outcome.day))
            count += int(np.sum(forfeits > points[losers]))
            continue
        worst_first = losers[np.argsort(-outcome.group[losers], kind="stable")]
        for i in worst_first[: MOST_CHECKED if outcome.size > LARGE else None]:
            count += int(_points(model, before, gave_up(outcome, i))[i] > points[i])
    return count


def gave_up(outcome: Outcome, entrant: int) -> Outcome:
    """Return the outcome as if the finisher with this index, and their team, had not finished."""
    sides = np.arange(outcome.size) if outcome.team is None else outcome.team
    quits = sides == sides[entrant]
    last = outcome.last_group + (not outcome.last_unfinished)
    group = np.where(quits, last, outcome.group)
    left = outcome.group[entrant]
    if left not in group:
        group = group - (group > left)
        last -= 1
    changed = replace(outcome, group=group.astype(np.intp), unfinished=outcome.unfinished | quits)
    return replace(changed, last_group=int(last), last_unfinished=True)
