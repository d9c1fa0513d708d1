import numpy as np

from racebot.races.outcome import Outcome
from racebot.ratings.models.single import Groups

GROUPS = Groups.of(Outcome.of([3, 1, 3, 2], unfinished=2), dummy=True)


def test_dummy_is_the_last_entrant() -> None:
    assert GROUPS.label.tolist() == [2, 0, 2, 1, 3, 3, 3]


def test_stages_know_where_each_group_starts_and_stops() -> None:
    best = GROUPS.stages(worst_first=False)
    assert best.order.tolist() == [1, 3, 0, 2, 4, 5, 6]
    assert best.start.tolist() == [0, 1, 2, 2, 4, 4, 4]
    assert best.stop.tolist() == [1, 2, 4, 4, 7, 7, 7]
    worst = GROUPS.stages(worst_first=True)
    assert worst.order.tolist() == [4, 5, 6, 0, 2, 3, 1]
    assert worst.start.tolist() == [0, 0, 0, 3, 3, 5, 6]
    assert worst.stop.tolist() == [3, 3, 3, 5, 5, 6, 7]


def test_places_and_pairs_follow_the_groups() -> None:
    groups = Groups(np.array([5, 0, 5]))
    assert groups.before().tolist() == [[0, -1, 0], [1, 0, 1], [0, -1, 0]]
    assert groups.places().tolist() == [2.5, 1.0, 2.5]
