"""Run each fuzz target briefly; `run.py` runs them for as long as you like."""

from collections.abc import Iterator

import pytest
from fuzz import targets
from fuzz.targets import TARGETS
from hypothesis import HealthCheck, given, settings, strategies as st


@pytest.fixture(autouse=True, scope="module")
def folder() -> Iterator[None]:
    yield
    targets.close()


@pytest.mark.parametrize("name", TARGETS)
def test_arbitrary_input_is_accepted_or_refused_in_one_line(name: str) -> None:
    target = TARGETS[name]
    for seed in target.seeds:
        target.check(seed)

    @given(st.binary(min_size=30, max_size=150))
    @settings(max_examples=target.examples, suppress_health_check=list(HealthCheck))
    def check(data: bytes) -> None:
        target.check(data)

    check()
