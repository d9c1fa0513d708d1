from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from builders import HOUR, entrant, result, seen
from hypothesis import given, strategies as st

from racebot.races.result import RaceResult
from racebot.racetime.payload import Race
from racebot.racetime.room import (
    CERTAIN_AFTER,
    Notice,
    Over,
    ReadRace,
    Recorded,
    ResultStands,
    ResultTakenBack,
    Room,
)

QUIET = 10.0


FIRST = result("r", "ann bo", dnf="cy", recorded=False)
SECOND = result("r", "bo", dnf="cy", dq="ann", recorded=False)


@pytest.fixture
def room() -> Room:
    return Room("orb/r", quiet=QUIET)


def test_a_race_in_progress_gives_no_notices(room: Room) -> None:
    for status in ("open", "invitational", "pending", "in_progress"):
        assert room.on_frame(seen(status=status), 0) == []
    assert room.deadline is None
    assert room.tick(1e9) == []
    assert not room.closed


def test_a_result_stands_after_the_quiet_time(room: Room) -> None:
    assert room.on_frame(seen(FIRST), 100) == []
    assert room.deadline == 110
    assert room.tick(109.999) == []
    assert room.tick(110) == [ResultStands(FIRST)]
    assert room.deadline is None
    assert room.tick(200) == []


def test_without_a_quiet_time_a_result_stands_at_once(room: Room) -> None:
    at_once = Room("orb/r", quiet=0)
    assert at_once.on_frame(seen(FIRST), 5) == []
    assert at_once.tick(5) == [ResultStands(FIRST)]


def test_a_change_restarts_the_quiet_time(room: Room) -> None:
    room.on_frame(seen(FIRST, 1), 100)
    room.on_frame(seen(SECOND, 2), 108)
    assert room.tick(110) == []
    assert room.tick(118) == [ResultStands(SECOND)]


def test_an_irrelevant_change_does_not_restart_the_quiet_time(room: Room) -> None:
    room.on_frame(seen(FIRST, 1), 100)
    ann, *rest = FIRST.entrants
    renamed = replace(FIRST, entrants=(replace(ann, name="Anna"), *rest))
    room.on_frame(seen(renamed, 2), 109)
    assert room.tick(110) == [ResultStands(renamed)], "with the names as shown last"


def test_a_repeated_result_stands_once(room: Room) -> None:
    room.on_frame(seen(FIRST, 1), 100)
    assert room.tick(110) == [ResultStands(FIRST)]
    for version in (1, 1, 2, 3):
        assert room.on_frame(seen(FIRST, version), 120) == []
        assert room.tick(1000) == []


def test_a_correction_stands_after_its_own_quiet_time(room: Room) -> None:
    room.on_frame(seen(FIRST, 1), 100)
    room.tick(110)
    assert room.on_frame(seen(SECOND, 2), 500) == []
    assert room.tick(509) == []
    assert room.tick(510) == [ResultStands(SECOND, previous=FIRST)]


def test_a_result_taken_back_before_it_stood(room: Room) -> None:
    room.on_frame(seen(FIRST, 1), 100)
    assert room.on_frame(seen(version=2), 105) == [ResultTakenBack()]
    assert room.deadline is None
    assert room.tick(200) == []


def test_a_result_taken_back_can_return(room: Room) -> None:
    """An entrant undoes `.done`: after a finished frame with a ready entrant, the race continues."""
    room.on_frame(seen(FIRST, 1), 100)
    room.tick(110)
    unready = replace(FIRST, entrants=(*FIRST.entrants[:2], entrant("cy", "racing")))
    assert room.on_frame(seen(unready, 2), 120) == [ResultTakenBack()]
    assert room.on_frame(seen(version=3), 121) == []
    assert room.on_frame(seen(FIRST, 4), 130) == []
    assert room.tick(140) == [ResultStands(FIRST)], "what follows is no edit"


def test_a_finished_frame_with_an_active_racer_is_no_result(room: Room) -> None:
    unready = replace(FIRST, entrants=(*FIRST.entrants, entrant("di", "racing")))
    assert room.on_frame(seen(unready), 100) == []
    assert room.deadline is None


def test_hidden_entrants_are_no_result(room: Room) -> None:
    assert room.on_frame(seen(replace(FIRST, hidden=True), 1), 100) == []
    assert room.tick(200) == []
    room.on_frame(seen(FIRST, 2), 300)
    assert room.tick(310) == [ResultStands(FIRST)]


def test_recorded_closes_the_room(room: Room) -> None:
    room.on_frame(seen(FIRST, 1), 100)
    race = seen(replace(FIRST, recorded=True), 2, recorded=True)
    assert race.result is not None
    assert room.on_frame(race, 105) == [Recorded(race, race.result)]
    assert room.closed
    assert room.tick(1000) == []
    assert room.on_frame(seen(SECOND, 3), 1001) == []
    assert room.on_frame(race, 1002) == []


def test_a_room_joined_after_the_record_is_settled(room: Room) -> None:
    race = seen(replace(FIRST, recorded=True), 22, recorded=True)
    assert race.result is not None
    assert room.on_frame(race, 0) == [Recorded(race, race.result)]


OVER = {
    "cancelled": seen(status="cancelled", version=2, recordable=False),
    "partitioned": seen(status="partitioned", version=2),
    "do not record": seen(replace(FIRST, recordable=False), 2, recordable=False),
}


@pytest.mark.parametrize("race", OVER.values(), ids=OVER)
def test_a_race_that_is_over_is_reported_once(room: Room, race: Race) -> None:
    room.on_frame(seen(FIRST, 1), 100)
    assert room.on_frame(race, 105) == [Over(race)]
    assert room.tick(1000) == []
    assert room.on_frame(race, 1001) == []
    assert not room.closed, "an edit can bring it back"


def test_a_race_for_a_custom_goal_is_over_when_it_finishes_not_before(room: Room) -> None:
    assert room.on_frame(seen(version=1, recordable=False), 0) == []
    finished = seen(replace(FIRST, recordable=False), 2, recordable=False)
    assert room.on_frame(finished, 5) == [Over(finished)]


@pytest.mark.parametrize("race", OVER.values(), ids=OVER)
def test_a_race_that_comes_back_stands_after_the_quiet_time(room: Room, race: Race) -> None:
    room.on_frame(race, 100)
    assert room.on_frame(seen(FIRST, 3), 200) == []
    assert room.tick(210) == [ResultStands(FIRST)]
    ended_again = replace(race, version=4)
    assert room.on_frame(ended_again, 300) == [Over(ended_again)]


def test_a_late_frame_is_ignored_and_checked_over_http(room: Room) -> None:
    room.on_frame(seen(SECOND, 5), 100)
    assert room.on_frame(seen(FIRST, 4), 101) == []
    assert room.on_frame(seen(version=3), 102) == []
    assert room.race is not None
    assert room.race.version == 5
    assert room.tick(110) == [ReadRace(), ResultStands(SECOND)]


def test_two_frames_may_have_the_same_version(room: Room) -> None:
    room.on_frame(seen(FIRST, 5), 100)
    room.on_frame(seen(SECOND, 5), 101)
    assert room.tick(111) == [ResultStands(SECOND)]


def test_a_recording_counts_however_late_its_frame_is(room: Room) -> None:
    room.on_frame(seen(FIRST, 9), 100)
    recorded = seen(replace(FIRST, recorded=True), 8, recorded=True)
    assert [type(notice) for notice in room.on_frame(recorded, 101)] == [Recorded]


def test_the_list_of_past_races_has_no_versions(room: Room) -> None:
    room.on_frame(seen(FIRST, 9), 100)
    recorded = seen(replace(FIRST, recorded=True), None, recorded=True)
    assert [type(notice) for notice in room.on_listing(recorded, 101)] == [Recorded]


def test_list_that_disagrees_leads_to_a_read(room: Room) -> None:
    """The list can be a minute old, so it only leads to a read."""
    room.on_frame(seen(FIRST, 9), 100)
    room.tick(110)
    assert room.on_listing(seen(FIRST, None), 200) == []
    assert room.deadline is None
    assert room.on_listing(seen(SECOND, None), 200) == []
    assert room.tick(201) == [ReadRace()]
    assert room.holds(FIRST)


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
def test_no_sequence_of_frames_settles_a_race_twice(sequence: list[tuple[Race, float]]) -> None:
    """Nothing follows the record, only final results settle, and no result settles twice in a row."""
    room = Room("orb/r", quiet=QUIET)
    told: list[Notice] = []
    now = 0.0
    for race, pause in sequence:
        closed = room.closed
        notices = room.on_frame(race, now)
        now += pause
        notices += room.tick(now)
        assert not (closed and notices)
        assert (room.deadline is None) or not room.closed
        told += notices
    ends = [n for n in told if isinstance(n, Recorded)]
    assert len(ends) <= 1
    assert not ends or ends[0] is told[-1]
    stood: RaceResult | None = None
    for notice in told:
        if isinstance(notice, ResultStands):
            assert notice.result.final
            assert stood is None or notice.result.fingerprint() != stood.fingerprint()
            stood = notice.result
        elif isinstance(notice, (ResultTakenBack, Over)):
            stood = None


def test_a_time_edited_after_the_finish_is_a_change(room: Room) -> None:
    room.on_frame(seen(FIRST, 1), 100)
    room.tick(110)
    ann, bo, cy = FIRST.entrants
    edited = replace(FIRST, entrants=(replace(ann, finish_time=HOUR + 1), bo, cy))
    room.on_frame(seen(edited, 2), 200)
    assert room.tick(210) == [ResultStands(edited, previous=FIRST)]


def test_a_result_holds_until_another_follows_or_the_race_is_recorded(room: Room) -> None:
    assert not room.holds(FIRST)
    room.on_frame(seen(FIRST, 1), 100)
    assert room.holds(FIRST)
    room.on_frame(seen(SECOND, 2), 101)
    assert room.holds(SECOND)
    assert not room.holds(FIRST)
    room.on_frame(seen(replace(SECOND, recorded=True), 3), 102)
    assert not room.holds(SECOND)


# Edits, which only HTTP shows

EDITED = replace(
    FIRST,
    entrants=tuple(
        replace(each, finish_time=HOUR // 2) if each.name == "Bo" else each for each in FIRST.entrants
    ),
)


def reads(room: Room, until: float) -> list[float]:
    """Let time pass and return when the room asked for a read."""
    asked = []
    while room.deadline is not None and room.deadline <= until:
        now = room.deadline
        asked += [now for notice in room.tick(now) if isinstance(notice, ReadRace)]
    return asked


@pytest.fixture
def standing(room: Room) -> Room:
    """Return a room whose first result stands at time 110."""
    room.on_frame(seen(FIRST, 19), 100)
    room.tick(110)
    return room


def test_a_system_message_after_the_finish_leads_to_a_read_soon_and_one_past_the_cache(
    standing: Room,
) -> None:
    standing.on_system_message(200)
    soon, certain = reads(standing, 1000)
    assert 200 < soon <= 202
    assert 205 < certain <= 210


def test_many_messages_lead_to_few_reads(standing: Room) -> None:
    asked = []
    for now in range(200, 260):
        standing.on_system_message(now)
        asked += reads(standing, now + 0.9)
    asked += reads(standing, 1000)
    assert all(later - earlier > 5 for earlier, later in itertools.pairwise(asked))
    assert asked[-1] > 259 + 5, "the last one is past the cache after the last message"


@pytest.mark.parametrize("status", ["open", "pending", "in_progress"])
def test_messages_before_the_end_lead_to_no_read(room: Room, status: str) -> None:
    room.on_frame(seen(status=status), 100)
    room.on_system_message(101)
    assert room.deadline is None


def test_an_edited_time_stands_although_a_frame_with_the_old_data_follows(standing: Room) -> None:
    """Apply a moderator's edit: a message, a frame with the old data, and new data over HTTP only."""
    standing.on_system_message(200)
    standing.on_frame(seen(FIRST, 19), 200)
    assert standing.on_read(seen(EDITED, 21), 201, asked_at=200.5) == []
    standing.on_frame(seen(FIRST, 19), 202)
    reads(standing, 210)
    assert standing.tick(211) == [ResultStands(EDITED, previous=FIRST)]


def test_a_cached_answer_is_followed_by_the_right_one(standing: Room) -> None:
    standing.on_system_message(200)
    (soon,) = reads(standing, 203)
    standing.on_read(seen(FIRST, 19), soon, asked_at=soon)
    assert standing.unsure
    (certain,) = reads(standing, 220)
    standing.on_read(seen(EDITED, 21), certain, asked_at=certain)
    assert not standing.unsure
    assert standing.tick(certain + QUIET) == [ResultStands(EDITED, previous=FIRST)]


def test_a_cancelled_race_is_brought_back_by_an_edit(room: Room) -> None:
    cancelled = seen(status="cancelled", version=13, recordable=False)
    assert room.on_frame(cancelled, 100) == [Over(cancelled)]
    room.on_system_message(102)
    room.on_frame(cancelled, 102)
    assert reads(room, 103)
    one_finisher = result("r", "ann", dnf="bo cy", recorded=False)
    room.on_read(seen(one_finisher, 15), 103, asked_at=103)
    room.on_frame(cancelled, 104)
    reads(room, 112)
    assert room.tick(113) == [ResultStands(one_finisher)]


def test_do_not_record_is_undone_and_the_race_cancelled_by_edits(standing: Room) -> None:
    not_recorded = seen(replace(FIRST, recordable=False), 21, recordable=False)
    assert standing.on_frame(not_recorded, 200) == [Over(not_recorded)]
    standing.on_system_message(202)
    standing.on_read(seen(EDITED, 23), 203, asked_at=202.5)
    reads(standing, 212)
    assert standing.tick(213) == [ResultStands(EDITED, previous=FIRST)]
    standing.on_system_message(300)
    standing.on_frame(seen(EDITED, 23), 300)
    cancelled = seen(status="cancelled", version=31, recordable=False)
    assert standing.on_read(cancelled, 301, asked_at=300.5) == [Over(cancelled)]


def test_an_outdated_answer_is_ignored_and_requested_again(standing: Room) -> None:
    standing.on_frame(seen(SECOND, 25), 200)
    standing.on_read(seen(FIRST, 21), 201, asked_at=200.5)
    assert standing.holds(SECOND)
    assert reads(standing, 210)


def test_an_absurdly_high_version_does_not_silence_the_room(standing: Room) -> None:
    standing.on_frame(seen(FIRST, 10**18), 200)
    standing.on_frame(seen(SECOND, 20), 203)
    (asked_at,) = reads(standing, 204)
    standing.on_read(seen(SECOND, 20), asked_at, asked_at)
    assert standing.holds(FIRST), "the answer may come from a cache"
    (asked_at,) = [at for at in reads(standing, 212) if at >= 200 + CERTAIN_AFTER]
    standing.on_read(seen(SECOND, 20), asked_at, asked_at)
    assert standing.holds(SECOND)
    standing.on_frame(seen(FIRST, 21), 300)
    assert standing.holds(FIRST)


def test_a_read_that_failed_is_repeated_later(standing: Room) -> None:
    standing.on_system_message(200)
    reads(standing, 210)
    standing.on_read_failed(211)
    (again,) = reads(standing, 1000)
    assert 220 < again <= 271


def test_reads_that_a_lost_connection_interrupted_are_repeated(standing: Room) -> None:
    standing.on_reconnect(200)
    assert standing.deadline is None
    standing.on_system_message(201)
    reads(standing, 220)
    standing.on_reconnect(300)
    assert reads(standing, 310)


def test_an_answer_needs_data_of_the_last_ten_seconds(standing: Room) -> None:
    assert standing.needs_read(200), "a frame may show old data"
    standing.on_read(seen(FIRST, 19), 201, asked_at=200)
    assert not standing.needs_read(205)
    assert standing.needs_read(205.1), "the site's cache may have added 5 s to those"


def test_a_race_that_goes_on_needs_no_read_before_an_answer(room: Room) -> None:
    assert not room.needs_read(0)
    room.on_frame(seen(), 1)
    assert not room.needs_read(100)


def test_nothing_is_read_after_the_record(standing: Room) -> None:
    standing.on_system_message(200)
    standing.on_frame(seen(replace(FIRST, recorded=True), 22, recorded=True), 200)
    standing.on_system_message(201)
    standing.on_read_failed(202)
    assert reads(standing, 1000) == []
    assert not standing.needs_read(1000)
