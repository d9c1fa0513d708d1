from __future__ import annotations

from dataclasses import replace

import pytest
from builders import HOUR, entrant, result, seen
from hypothesis import given, strategies as st

from racebot.races.result import RaceResult
from racebot.racetime.payload import Race
from racebot.racetime.room import Notice, Over, Recorded, ResultStands, ResultTakenBack, Room

QUIET = 10.0


FIRST = result("r", "ann bo", dnf="cy", recorded=False)
SECOND = result("r", "bo", dnf="cy", dq="ann", recorded=False)


@pytest.fixture
def room() -> Room:
    return Room("orb/r", quiet=QUIET)


def test_nothing_is_told_of_a_race_that_goes_on(room: Room) -> None:
    for status in ("open", "invitational", "pending", "in_progress"):
        assert room.update(seen(status=status), 0) == []
    assert room.deadline is None
    assert room.tick(1e9) == []
    assert not room.closed


def test_a_result_stands_after_the_quiet_time(room: Room) -> None:
    assert room.update(seen(FIRST), 100) == []
    assert room.deadline == 110
    assert room.tick(109.999) == []
    assert room.tick(110) == [ResultStands(FIRST)]
    assert room.deadline is None
    assert room.tick(200) == []


def test_without_a_quiet_time_the_next_tick_tells(room: Room) -> None:
    at_once = Room("orb/r", quiet=0)
    assert at_once.update(seen(FIRST), 5) == []
    assert at_once.tick(5) == [ResultStands(FIRST)]


def test_a_change_restarts_the_quiet_time(room: Room) -> None:
    room.update(seen(FIRST, 1), 100)
    room.update(seen(SECOND, 2), 108)
    assert room.tick(110) == []
    assert room.tick(118) == [ResultStands(SECOND)]


def test_a_frame_that_changes_nothing_that_counts_does_not_restart_it(room: Room) -> None:
    room.update(seen(FIRST, 1), 100)
    ann, *rest = FIRST.entrants
    renamed = replace(FIRST, entrants=(replace(ann, name="Anna"), *rest))
    room.update(seen(renamed, 2), 109)
    assert room.tick(110) == [ResultStands(renamed)], "and what is told is what was shown last"


def test_a_result_that_stands_is_told_once_however_often_it_is_shown(room: Room) -> None:
    room.update(seen(FIRST, 1), 100)
    assert room.tick(110) == [ResultStands(FIRST)]
    for version in (1, 1, 2, 3):
        assert room.update(seen(FIRST, version), 120) == []
        assert room.tick(1000) == []


def test_a_correction_stands_after_its_own_quiet_time(room: Room) -> None:
    room.update(seen(FIRST, 1), 100)
    room.tick(110)
    assert room.update(seen(SECOND, 2), 500) == []
    assert room.tick(509) == []
    assert room.tick(510) == [ResultStands(SECOND)]


def test_a_result_taken_back_before_it_stood(room: Room) -> None:
    room.update(seen(FIRST, 1), 100)
    assert room.update(seen(version=2), 105) == [ResultTakenBack()]
    assert room.deadline is None
    assert room.tick(200) == []


def test_a_result_taken_back_is_told_once_and_may_come_again(room: Room) -> None:
    """An entrant takes `.done` back: first a finished frame with somebody ready, then the race goes on."""
    room.update(seen(FIRST, 1), 100)
    room.tick(110)
    unready = replace(FIRST, entrants=(*FIRST.entrants[:2], entrant("cy", "racing")))
    assert room.update(seen(unready, 2), 120) == [ResultTakenBack()]
    assert room.update(seen(version=3), 121) == []
    assert room.update(seen(FIRST, 4), 130) == []
    assert room.tick(140) == [ResultStands(FIRST)]


def test_a_finished_frame_with_somebody_still_racing_is_no_result(room: Room) -> None:
    unready = replace(FIRST, entrants=(*FIRST.entrants, entrant("di", "racing")))
    assert room.update(seen(unready), 100) == []
    assert room.deadline is None


def test_hidden_entrants_are_no_result(room: Room) -> None:
    assert room.update(seen(replace(FIRST, hidden=True), 1), 100) == []
    assert room.tick(200) == []
    room.update(seen(FIRST, 2), 300)
    assert room.tick(310) == [ResultStands(FIRST)]


def test_recorded_closes_the_room(room: Room) -> None:
    room.update(seen(FIRST, 1), 100)
    race = seen(replace(FIRST, recorded=True), 2, recorded=True)
    assert race.result is not None
    assert room.update(race, 105) == [Recorded(race, race.result)]
    assert room.closed
    assert room.tick(1000) == []
    assert room.update(seen(SECOND, 3), 1001) == []
    assert room.update(race, 1002) == []


def test_a_room_joined_after_the_record(room: Room) -> None:
    race = seen(replace(FIRST, recorded=True), 22, recorded=True)
    assert race.result is not None
    assert room.update(race, 0) == [Recorded(race, race.result)]


@pytest.mark.parametrize(
    ("race", "reason"),
    [
        (seen(status="cancelled", version=2, recordable=False), "cancelled"),
        (seen(status="partitioned", version=2), "not recorded"),
        (seen(replace(FIRST, recordable=False), 2, recordable=False), "not recorded"),
    ],
    ids=["cancelled", "partitioned", "do not record"],
)
def test_over(room: Room, race: Race, reason: str) -> None:
    room.update(seen(FIRST, 1), 100)
    assert room.update(race, 105) == [Over(reason)]
    assert room.closed
    assert room.tick(1000) == []
    assert room.update(race, 1001) == []


def test_a_race_for_a_custom_goal_is_over_when_it_finishes_not_before(room: Room) -> None:
    assert room.update(seen(version=1, recordable=False), 0) == []
    assert room.update(seen(replace(FIRST, recordable=False), 2, recordable=False), 5) == [
        Over("not recorded")
    ]


def test_everybody_gave_up_is_over(room: Room) -> None:
    """The site cancels such a race and makes it not recordable."""
    assert room.update(seen(status="cancelled", recordable=False), 5) == [Over("cancelled")]


def test_a_frame_that_is_late_is_ignored(room: Room) -> None:
    room.update(seen(SECOND, 5), 100)
    assert room.update(seen(FIRST, 4), 101) == []
    assert room.update(seen(version=3), 102) == []
    assert room.race is not None
    assert room.race.version == 5
    assert room.tick(110) == [ResultStands(SECOND)]


def test_two_frames_may_bear_the_same_version(room: Room) -> None:
    room.update(seen(FIRST, 5), 100)
    room.update(seen(SECOND, 5), 101)
    assert room.tick(111) == [ResultStands(SECOND)]


def test_a_recording_counts_however_late_its_frame_is(room: Room) -> None:
    room.update(seen(FIRST, 9), 100)
    recorded = seen(replace(FIRST, recorded=True), 8, recorded=True)
    assert [type(notice) for notice in room.update(recorded, 101)] == [Recorded]


def test_the_list_of_past_races_has_no_versions(room: Room) -> None:
    room.update(seen(FIRST, 9), 100)
    recorded = seen(replace(FIRST, recorded=True), None, recorded=True)
    assert [type(notice) for notice in room.update(recorded, 101)] == [Recorded]


def test_a_late_frame_is_ignored_also_after_a_look_at_the_list(room: Room) -> None:
    room.update(seen(SECOND, 9), 100)
    room.update(seen(SECOND, None), 101)
    assert room.update(seen(FIRST, 8), 102) == []
    assert room.tick(110) == [ResultStands(SECOND)]


frames = st.one_of(
    st.builds(seen, st.none(), st.integers(1, 9), st.sampled_from(["open", "in_progress", "cancelled"])),
    st.builds(
        seen,
        st.sampled_from([FIRST, SECOND, replace(FIRST, hidden=True)]),
        st.none() | st.integers(1, 9),
        recordable=st.booleans(),
        recorded=st.booleans(),
    ),
)


@given(st.lists(st.tuples(frames, st.floats(0, 30)), max_size=12))
def test_any_sequence_of_frames(sequence: list[tuple[Race, float]]) -> None:
    """Nothing is told after the end, only final results stand, and none of them twice in a row."""
    room = Room("orb/r", quiet=QUIET)
    told: list[Notice] = []
    now = 0.0
    for race, pause in sequence:
        closed = room.closed
        notices = room.update(race, now)
        now += pause
        notices += room.tick(now)
        assert not (closed and notices)
        assert (room.deadline is None) or not room.closed
        told += notices
    ends = [n for n in told if isinstance(n, (Recorded, Over))]
    assert len(ends) <= 1
    assert not ends or ends[0] is told[-1]
    stood: RaceResult | None = None
    for notice in told:
        if isinstance(notice, ResultStands):
            assert notice.result.final
            assert stood is None or notice.result.fingerprint() != stood.fingerprint()
            stood = notice.result
        elif isinstance(notice, ResultTakenBack):
            stood = None


def test_a_time_edited_after_the_finish_is_a_change(room: Room) -> None:
    room.update(seen(FIRST, 1), 100)
    room.tick(110)
    ann, bo, cy = FIRST.entrants
    edited = replace(FIRST, entrants=(replace(ann, finish_time=HOUR + 1), bo, cy))
    room.update(seen(edited, 2), 200)
    assert room.tick(210) == [ResultStands(edited)]


def test_only_the_present_result_is_held(room: Room) -> None:
    assert not room.holds(FIRST)
    room.update(seen(FIRST, 1), 100)
    assert room.holds(FIRST)
    room.update(seen(SECOND, 2), 101)
    assert room.holds(SECOND)
    assert not room.holds(FIRST)
    room.update(seen(replace(SECOND, recorded=True), 3), 102)
    assert not room.holds(SECOND)
