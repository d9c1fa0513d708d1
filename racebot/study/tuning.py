"""Tune parameters on the first part of a history, and judge them on the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from racebot.errors import ModelError
from racebot.ratings.model import RatingModel
from racebot.ratings.parameters import Parameters
from racebot.ratings.registry import create
from racebot.study.history import History, newcomers
from racebot.study.paired import ERRORS_REQUIRED, Objective, Tally, standard_error, tallies
from racebot.study.search import Effort, dimensions, effective, search as find


class PairFigures(NamedTuple):
    """A model's misordered pairs and log loss on a part of a history."""

    misordered: float
    log_loss: float


@dataclass(frozen=True, slots=True)
class Judged:
    """The objective on one part of a history, before and after the search.

    Attributes:
        standard_error: standard error of `tuned - start` over races; NaN for one race.
        tally: the objective per race with the tuned parameters.
    """

    races: int
    start: float
    tuned: float
    standard_error: float
    start_pairs: PairFigures
    tuned_pairs: PairFigures
    tally: Tally = field(repr=False, compare=False)

    @property
    def difference(self) -> float:
        """Return the change in the objective. Negative is better."""
        return self.tuned - self.start


@dataclass(frozen=True, slots=True)
class Tuned:
    """The result of a search.

    Attributes:
        parameters: all parameters, with the searched ones rounded to four digits.
        earlier: result on the races that the search saw.
        later: result on the races that it did not see.
        evaluations: number of parameter sets tried.
    """

    model: str
    parameters: Parameters
    searched: tuple[str, ...]
    objective: Objective
    earlier: Judged
    later: Judged
    evaluations: int

    @property
    def found_better(self) -> bool:
        """Return True if the search improved on its start."""
        return self.earlier.difference < 0

    @property
    def recommended(self) -> bool:
        """Return True if the parameters are better on both parts, and by two standard errors on the later."""
        return self.found_better and self.later.difference < -ERRORS_REQUIRED * self.later.standard_error


def tune(
    history: History,
    key: str,
    parameters: Parameters | None = None,
    *,
    search: Sequence[str] | None = None,
    objective: Objective = Objective.JOINT,
    share: float = 0.5,
    effort: Effort | None = None,
    progress: Callable[[int, float], None] = lambda generation, best: None,
) -> Tuned:
    """Search parameters on the earlier races, then judge them on the later ones.

    The search does not see the later races. Ratings continue from the earlier races into the later ones, for
    both the initial and the tuned parameters.

    Args:
        parameters: parameters that differ from the model's defaults. The search starts from them.
        search: the parameters to vary; see `dimensions`. By default all that affect the objective.
        share: share of the races that the search sees.
        progress: called after each generation, with its number and the best objective so far.

    Raises:
        ModelError: see `dimensions`. Also if the history is too short to divide or to search.
    """
    earlier, later = history.split(share)
    if not (len(earlier) and len(later)):
        raise ModelError("too few races to divide into an earlier and a later part: add races")
    fixed = dict(parameters or {})
    space = dimensions(key, fixed, search)
    if not space:
        raise ModelError(f"{key} has no parameters to search")
    if search is None:
        space = effective(earlier, key, fixed, space, objective)
    if not space:
        raise ModelError(
            f"no parameter of {key} changes a prediction for the races to search on: "
            "add races, or choose another model"
        )
    found = find(earlier, key, fixed, space, objective, effort or Effort(), progress)
    first, second = judged(create(key, fixed), create(key, found.parameters), earlier, later, objective)
    searched = tuple(dict.fromkeys(d.parameter for d in space))
    return Tuned(key, found.parameters, searched, objective, first, second, found.evaluations)


def judged(
    start: RatingModel, tuned: RatingModel, earlier: History, later: History, objective: Objective
) -> tuple[Judged, Judged]:
    """Judge two parameter sets on two parts of a history, with ratings continuing into the second."""
    wanted = [objective, Objective.MISORDERED, Objective.LOG_LOSS]
    tables = [newcomers(model, earlier) for model in (start, tuned)]
    parts = []
    for part in (earlier, later):
        before, after = (
            tallies(model, part, wanted, table) for model, table in zip((start, tuned), tables, strict=True)
        )
        parts.append(
            Judged(
                races=len(part),
                start=float(before[0].mean()),
                tuned=float(after[0].mean()),
                standard_error=standard_error(before[0], after[0]),
                start_pairs=PairFigures(float(before[1].mean()), float(before[2].mean())),
                tuned_pairs=PairFigures(float(after[1].mean()), float(after[2].mean())),
                tally=after[0],
            )
        )
    return parts[0], parts[1]
