import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from racebot.errors import PayloadError
from racebot.files.read import read_races
from racebot.races.outcome import outcome_of
from racebot.races.result import Entrant, EntrantStatus, RaceResult


def read(
    path: Path, *races: tuple[str, bool, list[tuple[str | None, int]]], category: str = "orb"
) -> list[RaceResult]:
    document = [
        {
            "slug": slug,
            "ended_at": "2025-06-01T10:20:30.123456+00:00",
            "recorded": recorded,
            "entrants": [{"user_id": user, "place": place, "score_change": -3} for user, place in entrants],
        }
        for slug, recorded, entrants in races
    ]
    path = path / "Season 1.json"
    path.write_text(json.dumps(document))
    return list(read_races(path, category=category).results)


def test_an_archive_is_read_race_by_race(tmp_path: Path) -> None:
    first, second = read(
        tmp_path,
        ("lazy-orb-1", True, [("a1", 1), (None, 2), ("b2", 9999)]),
        ("keen-orb-2", False, [("A1", 1)]),
    )
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
    assert (second.name, second.recorded, second.entrants[0].user_id) == ("orb/keen-orb-2", False, "A1")


def test_a_deleted_account_of_an_archive_holds_its_place(tmp_path: Path) -> None:
    (race,) = read(tmp_path, ("r", True, [(None, 1), ("a1", 2)]), category="")
    assert race.name == "r"
    rated = outcome_of(race)
    assert rated.outcome.group.tolist() == [1]
    assert rated.outcome.last_group == 1


def test_a_place_of_an_archive_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PayloadError, match=r"Season 1\.json, line 3, column place: 'first'"):
        read(tmp_path, ("r", True, [("a1", 1), ("b2", "first")]))  # type: ignore[list-item]
