"""Try every parser with nearly valid input: briefly, or with -m long for some minutes.

`--hypothesis-profile=other-examples` tries new inputs. A failure shows the input that breaks the rule.
"""

from collections.abc import Iterator

import pytest
from fuzz import targets
from fuzz.targets import TARGETS
from hypothesis import HealthCheck, given, settings, strategies as st


@pytest.fixture(autouse=True, scope="module")
def folder() -> Iterator[None]:
    yield
    targets.close()


@pytest.mark.parametrize("times", [1, pytest.param(50, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", TARGETS)
def test_arbitrary_input_is_accepted_or_refused_in_one_line(name: str, times: int) -> None:
    target = TARGETS[name]
    for seed in target.seeds:
        target.check(seed)

    @given(st.binary(min_size=30, max_size=150))
    @settings(max_examples=times * target.examples, suppress_health_check=list(HealthCheck))
    def check(data: bytes) -> None:
        target.check(data)

    check()
