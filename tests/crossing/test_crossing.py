"""Random sequences of everything that changes a ledger. After them, its answers are those of a new ledger."""

from collections.abc import Sequence

import pytest

from .driver import Step, failure, sequence, shrunk

EVERYDAY = 1


@pytest.mark.parametrize(
    "seed", [seed if seed < EVERYDAY else pytest.param(seed, marks=pytest.mark.long) for seed in range(200)]
)
def test_a_new_ledger_of_what_counts_gives_the_same_answers(seed: int) -> None:
    steps = sequence(seed)
    problem = failure(seed, steps)
    if problem is not None:
        check = problem.split(":")[1]

        def fails(shorter: Sequence[Step]) -> bool:
            return (failure(seed, shorter) or ":").split(":")[1] == check

        few = shrunk(steps, fails)
        pytest.fail(f"{problem}\nseed {seed}, shrunk: {few}\n{failure(seed, few)}")


def test_steps_that_make_no_difference_are_left_out() -> None:
    steps = sequence(0, 40)
    assert shrunk(steps, lambda some: {7, 23} <= {step.number for step in some}) == [steps[7], steps[23]]
