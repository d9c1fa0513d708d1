import json
import logging
from collections.abc import Iterator

import pytest

from racebot.telemetry import logs

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


def test_json_has_the_race_and_its_room(capsys: pytest.CaptureFixture[str]) -> None:
    logs.to_stderr("debug", "json")
    with logs.about("orb/keen-otter-1234"):
        log.warning("Zoë said: %s", "a\nb")
    try:
        raise ValueError("broken")
    except ValueError:
        log.exception("stopping")
    first, second = (json.loads(line) for line in capsys.readouterr().err.splitlines())
    assert first.pop("time").startswith("20")
    assert first == {
        "level": "WARNING",
        "logger": "racebot.somewhere",
        "message": "Zoë said: a\nb",
        "category": "orb",
        "race": "orb/keen-otter-1234",
        "room": "keen-otter-1234",
    }
    assert (second["message"], second.get("race")) == ("stopping", None)
    assert "ValueError: broken" in second["error"]
