from __future__ import annotations

from itertools import islice

from racebot.bot.retry import retry_pauses


def test_pauses_grow_to_five_minutes_and_differ_between_rooms() -> None:
    rooms = [list(islice(retry_pauses(), 20)) for _ in range(50)]
    for tries in zip(*rooms, strict=True):
        assert len(set(tries)) == len(rooms)
    assert all(pauses[0] <= 1.5 and 150 <= pauses[-1] <= 450 for pauses in rooms)
