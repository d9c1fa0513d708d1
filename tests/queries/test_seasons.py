from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from builders import CATEGORY

from racebot.ledger.rows import Leaderboard
from racebot.queries.recap import final_from, final_since
from racebot.races.rooms import RoomRule

SECOND = timedelta(seconds=1)


def season(until: datetime | None) -> Leaderboard:
    return Leaderboard(CATEGORY, "S9", ("S9",), "elo", {}, "ignore", rule=RoomRule(until=until))


@pytest.mark.parametrize(
    ("until", "final", "grace"),
    [
        ("2026-11-01T00:00:00+00:00", "2026-11-02", 1),
        ("2026-11-01T00:00:01+00:00", "2026-11-03", 1),
        ("2026-11-01T18:30:00+00:00", "2026-11-03", 24),
        ("2026-11-01T23:30:00-05:00", "2026-11-04", 1),  # 04:30 UTC on the 2nd
        ("2026-11-01T00:00:00+00:00", "2026-11-04", 49),
        ("9999-12-31T00:00:00+00:00", None, 1),
    ],
)
def test_season_is_final_from_the_first_midnight_after_a_day_and_its_grace(
    until: str, final: str | None, grace: int
) -> None:
    moment = datetime.fromisoformat(until)
    rule = RoomRule(until=moment, finished=True, grace=timedelta(hours=grace))
    board = replace(season(None), rule=rule)
    expected = datetime.fromisoformat(final).replace(tzinfo=UTC) if final else None
    assert final_from(rule) == expected
    assert final_since(board, (expected or moment) - SECOND) is None
    assert final_since(board, expected or moment) == expected


def test_leaderboard_without_an_end_is_never_final() -> None:
    board = replace(season(None), rule=RoomRule(since=datetime(2026, 1, 1, tzinfo=UTC)))
    assert final_since(board, datetime.max.replace(tzinfo=UTC)) is None
