import logging
import re
from collections.abc import Iterator

import pytest

from racebot import logs
from racebot.logs import FIRST_PAUSE, LONGEST_PAUSE, MOST, FailureLog

log = logging.getLogger("racebot.somewhere")


@pytest.fixture(autouse=True)
def restore() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


def test_lines_for_people_name_the_race_once(capsys: pytest.CaptureFixture[str]) -> None:
    logs.to_stderr("info")
    with logs.about("orb/r"):
        with logs.about("orb/inner"):
            log.info("settled")
        log.info("%s: finished", "orb/r")
    log.info("stopping")
    log.debug("not asked for")
    lines = [line.split(" ", 2)[2] for line in capsys.readouterr().err.splitlines()]
    assert lines == ["INFO orb/inner: settled", "INFO orb/r: finished", "INFO stopping"]


# Failures that repeat


class Night:
    """FailureLog whose clock the test sets, and their log lines."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO)
        self.now = 0.0
        self.log = FailureLog(lambda: self.now)
        self._caplog = caplog

    def failing(self, seconds: float, every: float = 5.0, source: str = "rooms") -> None:
        """Let a source fail for some time."""
        end = self.now + seconds
        while self.now < end:
            self.log.failed(source, "the disk is full")
            self.now += every

    def works(self, source: str = "rooms") -> None:
        self.log.recovered(source)

    @property
    def lines(self) -> list[str]:
        return self._caplog.messages


@pytest.fixture
def night(caplog: pytest.LogCaptureFixture) -> Night:
    return Night(caplog)


def test_a_long_failure_is_logged_ever_more_rarely_and_its_end_once(night: Night) -> None:
    night.failing(9 * 3600)
    assert night.lines[0] == "the disk is full; trying again"
    assert all(re.fullmatch(r".*; trying again \(since .* UTC\)", line) for line in night.lines[1:])
    assert 4 < len(night.lines) < 10
    night.works()
    night.works()
    assert night.lines[-1] == "over after 9 hours: the disk is full"
    assert sum("over" in line for line in night.lines) == 1
    night.now += FIRST_PAUSE
    night.failing(5)
    assert night.lines[-1] == "the disk is full; trying again", "a failure that comes back is logged at once"


def test_sources_that_fail_alike_are_logged_once_and_end_together(night: Night) -> None:
    night.failing(50, source="rooms")
    night.failing(5, source="past races")
    night.works("rooms")
    assert len(night.lines) == 1
    night.works("past races")
    assert len(night.lines) == 2


def test_another_problem_of_the_same_source_is_logged_at_once(night: Night) -> None:
    night.failing(5)
    night.log.failed("rooms", "the site is down")
    night.works()
    assert len(night.lines) == 4


def test_a_failure_that_comes_and_goes_stays_short(night: Night) -> None:
    for _ in range(1000):
        night.failing(5)
        night.works()
        night.now += 25
    assert len(night.lines) < 30


def test_a_failure_whose_end_nobody_told_is_forgotten(night: Night) -> None:
    night.failing(5)
    night.now += LONGEST_PAUSE + 1
    night.failing(5)
    assert night.lines == ["the disk is full; trying again"] * 2


def test_a_source_that_is_gone_does_not_keep_a_failure_alive(night: Night) -> None:
    night.failing(5, source="a room that closed")
    for _ in range(9):
        night.now += LONGEST_PAUSE / 8
        night.failing(5)
        night.works()
    assert any(line.startswith("over after ") for line in night.lines)


def test_only_so_many_failures_are_remembered(night: Night) -> None:
    for number in range(MOST + 1):
        night.log.failed("frames", f"bad number {number}")
        night.now += 1
    night.works("frames")
    assert sum(line.startswith("over after ") for line in night.lines) == MOST


def test_a_failure_that_lasts_is_at_least_a_warning(night: Night, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        night.log.failed("a room", "the socket closed", level=logging.INFO)
        night.now += FIRST_PAUSE
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING"]
