"""From a race result to a partial ordering of its rated entrants: the DNF policy.

Finishers are grouped by finish time, equal times sharing a group; all who did not finish (DNF or
disqualified) form the last group. Inside a group the order is unobserved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """A partial ordering of the n rated entrants of one race.

    Attributes:
        group: shape [n]; 0 is the best group, ascending, no gaps counting the unrated entrants too.
            Entrants of one group finished in an order that is not known.
        unfinished: shape [n]; True where the entrant did not finish. All of them share the last group.
        last_group: the group of the race's last entrant, whether rated or not.
        last_unfinished: whether the race's last group is that of the unfinished.
        team: shape [n], the team's number, in team races rated by team; otherwise None. All members of a
            team share a group.
        day: when the race ended, in days since 1970-01-01 UTC; for models in which time matters.
    """

    group: IntArray
    unfinished: BoolArray
    last_group: int
    last_unfinished: bool
    team: IntArray | None = None
    day: float = 0.0

    @classmethod
    def of(
        cls,
        places: Sequence[int],
        *,
        unfinished: int = 0,
        team: Sequence[int] | None = None,
        day: float = 0.0,
    ) -> Outcome:
        """The outcome of finishers with these places followed by `unfinished` entrants who did not finish.

        Places may start anywhere and have gaps; equal places share a group. Convenient for studies and
        tests in which every entrant is rated.
        """
        order = {place: index for index, place in enumerate(sorted(set(places)))}
        group = [order[place] for place in places] + [len(order)] * unfinished
        return cls(
            group=np.array(group, dtype=np.intp),
            unfinished=np.array([False] * len(places) + [True] * unfinished),
            last_group=max(group, default=0),
            last_unfinished=unfinished > 0,
            team=None if team is None else np.array(team, dtype=np.intp),
            day=day,
        )

    @property
    def size(self) -> int:
        """Number of rated entrants, n."""
        return int(self.group.size)

    @property
    def rateable(self) -> bool:
        """Whether anything was observed: at least two rated entrants in different groups, one a finisher."""
        return bool(self.size > 1 and not self.unfinished.all() and (self.group != self.group[0]).any())
