import json
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from racebot.errors import PayloadError
from racebot.files.documents import read_document
from racebot.races.outcome import outcome_of
from racebot.races.result import Entrant, EntrantStatus


def archived(**facts: Any) -> dict[str, Any]:
    return {
        "slug": "lazy-orb-1",
        "ended_at": "2025-06-01T10:20:30.123456+00:00",
        "recorded": True,
        "entrants": [
            {"user_id": "a1", "place": 1, "score": 1500, "score_change": -3},
            {"user_id": None, "place": 2},
            {"user_id": "b2", "place": 9999},
        ],
        **facts,
    }


def read(document: object, category: str = "orb") -> Any:
    return read_document(json.dumps(document), category, "Season 1", Counter())


def test_an_archive_is_read_race_by_race() -> None:
    first, second = read([archived(), archived(slug="keen-orb-2", recorded=False, entrants=[])])
    assert first.name == "orb/lazy-orb-1"
    assert (first.category, first.goal, first.recorded) == ("orb", "Season 1", True)
    assert first.ended_at == datetime(2025, 6, 1, 10, 20, 30, 123456, tzinfo=UTC)
    assert first.entrants == (
        Entrant("a1", "a1", EntrantStatus.DONE, place=1),
        Entrant(None, "deleted account", EntrantStatus.DONE, place=2),
        Entrant("b2", "b2", EntrantStatus.DNF),
    )
    assert first.final
    assert first.countable
    assert (second.name, second.recorded, second.entrants) == ("orb/keen-orb-2", False, ())


def test_a_deleted_account_of_an_archive_holds_its_place() -> None:
    (race,) = read([archived(entrants=[{"user_id": None, "place": 1}, {"user_id": "a1", "place": 2}])])
    rated = outcome_of(race)
    assert rated.outcome.group.tolist() == [1]
    assert rated.outcome.last_group == 1


def test_without_a_category_the_slug_is_the_name() -> None:
    (race,) = read([archived()], category="")
    assert (race.name, race.category) == ("lazy-orb-1", "")


def refusal(*races: Any) -> str:
    with pytest.raises(PayloadError) as refused:
        read([archived(), *races])
    return str(refused.value)


MALFORMED: dict[str, list[object]] = {
    "slug": [None, "", 7, {"a": 1}],
    "ended_at": [None, "yesterday", 1748773230],
    "recorded": [None, "false", 1],
    "entrants": [None, 5, {"a1": 1}, "a1", [5]],
    "user_id": ["", 17, ["a1"]],
    "place": [None, "1", 0, -1, 1.0, True],
}


@pytest.mark.parametrize(
    ("field", "value"), [(field, v) for field in MALFORMED for v in [..., *MALFORMED[field]]]
)
def test_a_malformed_or_missing_field_is_named_with_its_race(field: str, value: object) -> None:
    fields = {field: value} if value is not ... else {}
    broken = archived(**fields)
    if field in {"user_id", "place"}:
        broken = archived(entrants=[{"user_id": "a1", "place": 1} | fields])
    if value is ...:
        for part in (broken, *broken["entrants"]):
            part.pop(field, None)
    said = refusal(broken)
    assert said.startswith("race 2 of the archive: ")
    assert field in said
    assert "\n" not in said


@pytest.mark.parametrize("part", [None, 5, "lazy-orb-1", ["lazy-orb-1", 1]])
def test_a_part_that_is_not_an_object_is_refused(part: object) -> None:
    assert refusal(part).startswith("race 2 of the archive: ")
