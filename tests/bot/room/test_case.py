from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import timedelta

import pytest
from builders import HOUR, NOON, entrant, result, seen
from hypothesis import given, strategies as st

from racebot.bot.room import case as cases
from racebot.bot.room.case import (
    CERTAIN_AFTER,
    LONGEST_DOUBT,
    Act,
    Announce,
    Case,
    Effect,
    Moment,
    Rules,
    Settle,
    Signal,
    step,
)
from racebot.races.result import RaceResult
from racebot.racetime.payload import Race

QUIET = 10.0


FIRST = result("r", "ann bo", dnf="cy", recorded=False)
SECOND = result("r", "bo", dnf="cy", dq="ann", recorded=False)


class Room:
    """A watched room, whose events come at times on the monotonic clock."""

    def __init__(self, quiet: float = QUIET) -> None:
        self.case = Case("orb/r", Rules(quiet, lambda result: result.countable and not result.hidden))

    def on(self, event: cases.Event, now: float) -> list[Effect]:
        before = replace(self.case)
        after, effects = step(self.case, event, Moment(now, NOON))
        assert self.case == before, "a step changes its own copy only"
        self.case = after
        return list(effects)

    def on_frame(self, race: Race, now: float) -> list[Effect]:
        return self.on(cases.Frame(race), now)

    def on_read(self, race: Race, now: float, sent_at: float) -> list[Effect]:
        return self.on(cases.Read(race, sent_at), now)

    def tick(self, now: float) -> list[Effect]:
        return self.on(Signal.TICK, now)

    @property
    def deadline(self) -> float | None:
        return self.case.deadline

    def is_old(self, now: float) -> bool:
        return self.case.is_old(Moment(now, NOON))


@pytest.fixture
def room() -> Room:
    return Room()


def test_a_race_in_progress_gives_no_notices(room: Room) -> None:
    for status in ("open", "invitational", "pending", "in_progress"):
        assert room.on_frame(seen(status=status), 0) == []
    assert room.deadline is None
    assert room.tick(1e9) == []
    assert not room.case.is_recorded


def test_a_result_stands_after_the_quiet_time(room: Room) -> None:
    assert room.on_frame(seen(FIRST), 100) == []
    assert room.deadline == 110
    assert room.tick(109.999) == []
    assert room.tick(110) == [Announce(FIRST)]
    assert room.deadline is None
    assert room.tick(200) == []


def test_without_a_quiet_time_a_result_stands_at_once(room: Room) -> None:
    at_once = Room(quiet=0)
    assert at_once.on_frame(seen(FIRST), 5) == [Announce(FIRST)]


def test_a_change_restarts_the_quiet_time(room: Room) -> None:
    room.on_frame(seen(FIRST, 1), 100)
    room.on_frame(seen(SECOND, 2), 108)
    assert room.tick(110) == []
    assert room.tick(118) == [Announce(SECOND)]


def test_an_irrelevant_change_does_not_restart_the_quiet_time(room: Room) -> None:
    room.on_frame(seen(FIRST, 1), 100)
    ann, *rest = FIRST.entrants
    renamed = replace(FIRST, entrants=(replace(ann, name="Anna"), *rest))
    room.on_frame(seen(renamed, 2), 109)
    assert room.tick(110) == [Announce(renamed)], "with the names as shown last"


def test_a_repeated_result_stands_once(room: Room) -> None:
    room.on_frame(seen(FIRST, 1), 100)
    assert room.tick(110) == [Announce(FIRST)]
    for version in (1, 1, 2, 3):
        assert room.on_frame(seen(FIRST, version), 120) == []
        assert room.tick(1000) == []


def test_a_correction_stands_after_its_own_quiet_time(room: Room) -> None:
    room.on_frame(seen(FIRST, 1), 100)
    room.tick(110)
    assert room.on_frame(seen(SECOND, 2), 500) == []
    assert room.tick(509) == []
    assert room.tick(510) == [Announce(SECOND)]


def test_a_result_taken_back_before_it_stood(room: Room) -> None:
    room.on_frame(seen(FIRST, 1), 100)
    assert room.on_frame(seen(version=2), 105) == [Act.TAKE_BACK]
    assert room.deadline is None
    assert room.tick(200) == []


def test_a_result_taken_back_can_return(room: Room) -> None:
    """An entrant undoes `.done`: after a finished frame with a ready entrant, the race continues."""
    room.on_frame(seen(FIRST, 1), 100)
    room.tick(110)
    unready = replace(FIRST, entrants=(*FIRST.entrants[:2], entrant("cy", "racing")))
    assert room.on_frame(seen(unready, 2), 120) == [Act.TAKE_BACK]
    assert room.on_frame(seen(version=3), 121) == []
    assert room.on_frame(seen(FIRST, 4), 130) == []
    assert room.tick(140) == [Announce(FIRST)], "what follows is no edit"


def test_a_finished_frame_with_an_active_racer_is_no_result(room: Room) -> None:
    unready = replace(FIRST, entrants=(*FIRST.entrants, entrant("di", "racing")))
    assert room.on_frame(seen(unready), 100) == []
    assert room.deadline is None


def test_hidden_entrants_are_no_result(room: Room) -> None:
    assert room.on_frame(seen(replace(FIRST, hidden=True), 1), 100) == []
    assert room.tick(200) == []
    room.on_frame(seen(FIRST, 2), 300)
    assert room.tick(310) == [Announce(FIRST)]


def test_recorded_closes_the_room(room: Room) -> None:
    room.on_frame(seen(FIRST, 1), 100)
    race = seen(replace(FIRST, recorded=True), 2, recorded=True)
    assert race.result is not None
    assert room.on_frame(race, 105) == [Settle(race.result)]
    assert room.case.is_recorded
    assert room.tick(1000) == []
    assert room.on_frame(seen(SECOND, 3), 1001) == []
    assert room.on_frame(race, 1002) == []


def test_a_room_joined_after_the_record_is_settled(room: Room) -> None:
    race = seen(replace(FIRST, recorded=True), 22, recorded=True)
    assert race.result is not None
    assert room.on_frame(race, 0) == [Settle(race.result)]


OVER = {
    "cancelled": seen(status="cancelled", version=2, recordable=False),
    "partitioned": seen(status="partitioned", version=2),
    "do not record": seen(replace(FIRST, recordable=False), 2, recordable=False),
}


@pytest.mark.parametrize("race", OVER.values(), ids=OVER)
def test_a_race_that_is_over_is_reported_once(room: Room, race: Race) -> None:
    room.on_frame(seen(FIRST, 1), 100)
    assert room.on_frame(race, 105) == [Act.WITHDRAW]
    assert room.tick(1000) == []
    assert room.on_frame(race, 1001) == []
    assert not room.case.is_recorded, "an edit can bring it back"


def test_a_race_for_a_custom_goal_is_over_when_it_finishes_not_before(room: Room) -> None:
    assert room.on_frame(seen(version=1, recordable=False), 0) == []
    finished = seen(replace(FIRST, recordable=False), 2, recordable=False)
    assert room.on_frame(finished, 5) == [Act.WITHDRAW]


@pytest.mark.parametrize("race", OVER.values(), ids=OVER)
def test_a_race_that_comes_back_stands_after_the_quiet_time(room: Room, race: Race) -> None:
    room.on_frame(race, 100)
    assert room.on_frame(seen(FIRST, 3), 200) == []
    assert room.tick(210) == [Announce(FIRST)]
    ended_again = replace(race, version=4)
    assert room.on_frame(ended_again, 300) == [Act.WITHDRAW]


def test_a_late_frame_is_ignored_and_checked_over_http(room: Room) -> None:
    room.on_frame(seen(SECOND, 5), 100)
    assert room.on_frame(seen(FIRST, 4), 101) == []
    assert room.on_frame(seen(version=3), 101.2) == []
    assert room.case.shown is not None
    assert room.case.shown.version == 5
    assert room.tick(110) == [Act.READ, Announce(SECOND)]


def test_a_frame_of_the_same_version_proves_nothing_in_a_race_that_ended(room: Room) -> None:
    """A deleted account raises no version: the connection may repeat its own copy of the race."""
    room.on_frame(seen(FIRST, 5), 100)
    room.tick(110)
    room.on_frame(seen(SECOND, 5), 200)
    assert room.case.holds(FIRST)
    assert room.tick(201) == [Act.READ]
    room.on_read(seen(SECOND, 5), 202, sent_at=201)
    assert room.tick(212) == [Announce(SECOND)]
    for now in range(300, 600, 60):
        assert room.on_frame(seen(FIRST, 5), now) == []
        assert room.tick(now + 1) == [Act.READ]
        assert room.on_read(seen(SECOND, 5), now + 2, sent_at=now + 1) == []
    assert room.tick(1000) == []


def test_before_the_end_two_frames_may_have_the_same_version(room: Room) -> None:
    room.on_frame(seen(version=5), 100)
    room.on_frame(seen(SECOND, 5), 101)
    assert room.tick(111) == [Announce(SECOND)]


def test_a_recording_counts_however_late_its_frame_is(room: Room) -> None:
    room.on_frame(seen(FIRST, 9), 100)
    recorded = seen(replace(FIRST, recorded=True), 8, recorded=True)
    assert [type(notice) for notice in room.on_frame(recorded, 101)] == [Settle]


def test_the_list_of_past_races_has_no_versions(room: Room) -> None:
    room.on_frame(seen(FIRST, 9), 100)
    recorded = seen(replace(FIRST, recorded=True), None, recorded=True)
    assert [type(notice) for notice in room.on(cases.Listed(recorded), 101)] == [Settle]


def test_list_that_disagrees_leads_to_a_read(room: Room) -> None:
    """The list can be a minute old, so it only leads to a read."""
    room.on_frame(seen(FIRST, 9), 100)
    room.tick(110)
    assert room.on(cases.Listed(seen(FIRST, None)), 200) == []
    assert room.deadline is None
    assert room.on(cases.Listed(seen(SECOND, None)), 200) == []
    assert room.tick(201) == [Act.READ]
    assert room.case.holds(FIRST)


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
    room = Room()
    told: list[Effect] = []
    now = 0.0
    for race, pause in sequence:
        closed = room.case.is_recorded
        notices = room.on_frame(race, now)
        now += pause
        notices += room.tick(now)
        assert not (closed and notices)
        assert (room.deadline is None) or not room.case.is_recorded
        told += notices
    ends = [n for n in told if isinstance(n, Settle)]
    assert len(ends) <= 1
    assert not ends or ends[0] is told[-1]
    stood: RaceResult | None = None
    for notice in told:
        if isinstance(notice, Announce):
            assert notice.result.final
            assert stood is None or notice.result.fingerprint() != stood.fingerprint()
            stood = notice.result
        elif notice in (Act.TAKE_BACK, Act.WITHDRAW):
            stood = None


def test_a_time_edited_after_the_finish_is_a_change(room: Room) -> None:
    room.on_frame(seen(FIRST, 1), 100)
    room.tick(110)
    ann, bo, cy = FIRST.entrants
    edited = replace(FIRST, entrants=(replace(ann, finish_time=HOUR + 1), bo, cy))
    room.on_frame(seen(edited, 2), 200)
    assert room.tick(210) == [Announce(edited)]


def test_a_result_holds_until_another_follows_or_the_race_is_recorded(room: Room) -> None:
    assert not room.case.holds(FIRST)
    room.on_frame(seen(FIRST, 1), 100)
    assert room.case.holds(FIRST)
    room.on_frame(seen(SECOND, 2), 101)
    assert room.case.holds(SECOND)
    assert not room.case.holds(FIRST)
    room.on_frame(seen(replace(SECOND, recorded=True), 3), 102)
    assert not room.case.holds(SECOND)


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
        asked += [now for notice in room.tick(now) if notice is Act.READ]
    return asked


def answered(room: Room, race: Race, until: float) -> list[Effect]:
    """Let time pass on a site that shows this race over HTTP, and return the other effects."""
    effects: list[Effect] = []
    while room.deadline is not None and room.deadline <= until:
        now = room.deadline
        came = room.tick(now)
        if Act.READ in came:
            came += room.on_read(race, now, sent_at=now)
        effects += [effect for effect in came if effect != Act.READ]
    return effects


@pytest.fixture
def standing(room: Room) -> Room:
    """Return a room whose first result stands at time 110."""
    room.on_frame(seen(FIRST, 19), 100)
    room.tick(110)
    return room


def test_a_system_message_after_the_finish_leads_to_a_read_soon_and_one_past_the_cache(
    standing: Room,
) -> None:
    standing.on(Signal.SYSTEM_LINE, 200)
    soon, certain = reads(standing, 1000)
    assert 200 < soon <= 202
    assert 205 < certain <= 210


def test_many_messages_lead_to_few_reads(standing: Room) -> None:
    asked = []
    for now in range(200, 260):
        standing.on(Signal.SYSTEM_LINE, now)
        asked += reads(standing, now + 0.9)
    asked += reads(standing, 1000)
    assert all(later - earlier > 5 for earlier, later in itertools.pairwise(asked))
    assert asked[-1] > 259 + 5, "the last one is past the cache after the last message"


@pytest.mark.parametrize("status", ["open", "pending", "in_progress"])
def test_messages_before_the_end_lead_to_no_read(room: Room, status: str) -> None:
    room.on_frame(seen(status=status), 100)
    room.on(Signal.SYSTEM_LINE, 101)
    assert room.deadline is None


def test_an_edited_time_stands_although_a_frame_with_the_old_data_follows(standing: Room) -> None:
    """Apply a moderator's edit: a message, a frame with the old data, and new data over HTTP only."""
    standing.on(Signal.SYSTEM_LINE, 200)
    standing.on_frame(seen(FIRST, 19), 200)
    assert answered(standing, seen(EDITED, 21), until=202) == []
    standing.on_frame(seen(FIRST, 19), 202)
    assert answered(standing, seen(EDITED, 21), until=212) == [Announce(EDITED)]


def test_a_cached_answer_is_followed_by_the_right_one(standing: Room) -> None:
    standing.on(Signal.SYSTEM_LINE, 200)
    (soon,) = reads(standing, 203)
    standing.on_read(seen(FIRST, 19), soon, sent_at=soon)
    assert standing.case.is_unsure
    (certain,) = reads(standing, 220)
    standing.on_read(seen(EDITED, 21), certain, sent_at=certain)
    assert not standing.case.is_unsure
    assert standing.tick(certain + QUIET) == [Announce(EDITED)]


def test_a_cancelled_race_is_brought_back_by_an_edit(room: Room) -> None:
    cancelled = seen(status="cancelled", version=13, recordable=False)
    assert room.on_frame(cancelled, 100) == [Act.WITHDRAW]
    room.on(Signal.SYSTEM_LINE, 102)
    room.on_frame(cancelled, 102)
    one_finisher = result("r", "ann", dnf="bo cy", recorded=False)
    assert answered(room, seen(one_finisher, 15), until=104) == []
    room.on_frame(cancelled, 104)
    assert answered(room, seen(one_finisher, 15), until=114) == [Announce(one_finisher)]


def test_do_not_record_is_undone_and_the_race_cancelled_by_edits(standing: Room) -> None:
    not_recorded = seen(replace(FIRST, recordable=False), 21, recordable=False)
    assert standing.on_frame(not_recorded, 200) == [Act.WITHDRAW]
    standing.on(Signal.SYSTEM_LINE, 202)
    assert answered(standing, seen(EDITED, 23), until=213) == [Announce(EDITED)]
    standing.on(Signal.SYSTEM_LINE, 300)
    standing.on_frame(seen(EDITED, 23), 300)
    cancelled = seen(status="cancelled", version=31, recordable=False)
    assert answered(standing, cancelled, until=301) == [Act.WITHDRAW]


def test_an_outdated_answer_is_ignored_and_requested_again(standing: Room) -> None:
    standing.on_frame(seen(SECOND, 25), 200)
    standing.on_read(seen(FIRST, 21), 201, sent_at=200.5)
    assert standing.case.holds(SECOND)
    assert reads(standing, 210)


def test_an_absurdly_high_version_does_not_silence_the_room(standing: Room) -> None:
    standing.on_frame(seen(FIRST, 10**18), 200)
    standing.on_frame(seen(SECOND, 20), 203)
    (asked_at,) = reads(standing, 204)
    standing.on_read(seen(SECOND, 20), asked_at, asked_at)
    assert standing.case.holds(FIRST), "the answer may come from a cache"
    (asked_at,) = [at for at in reads(standing, 212) if at >= 200 + CERTAIN_AFTER]
    standing.on_read(seen(SECOND, 20), asked_at, asked_at)
    assert standing.case.holds(SECOND)
    standing.on_frame(seen(FIRST, 21), 300)
    assert standing.case.holds(FIRST)


def test_a_read_that_failed_is_repeated_later(standing: Room) -> None:
    standing.on(Signal.SYSTEM_LINE, 200)
    reads(standing, 210)
    standing.on(Signal.READ_FAILED, 211)
    (again,) = reads(standing, 1000)
    assert 220 < again <= 271


def test_reads_that_a_lost_connection_interrupted_are_repeated(standing: Room) -> None:
    standing.on(Signal.JOINED, 200)
    assert standing.deadline is None
    standing.on(Signal.SYSTEM_LINE, 201)
    reads(standing, 220)
    standing.on(Signal.JOINED, 300)
    assert reads(standing, 310)


def test_an_answer_needs_data_of_the_last_ten_seconds(standing: Room) -> None:
    assert standing.is_old(200), "a frame may show old data"
    standing.on_read(seen(FIRST, 19), 201, sent_at=200)
    assert not standing.is_old(205)
    assert standing.is_old(205.1), "the site's cache may have added 5 s to those"


def test_a_race_that_goes_on_needs_no_read_before_an_answer(room: Room) -> None:
    assert not room.is_old(0)
    room.on_frame(seen(), 1)
    assert not room.is_old(100)


def test_nothing_is_read_after_the_record(standing: Room) -> None:
    standing.on(Signal.SYSTEM_LINE, 200)
    standing.on_frame(seen(replace(FIRST, recorded=True), 22, recorded=True), 200)
    standing.on(Signal.SYSTEM_LINE, 201)
    standing.on(Signal.READ_FAILED, 202)
    assert reads(standing, 1000) == []
    assert not standing.is_old(1000)


def test_a_result_waits_until_a_read_shows_it_after_the_last_system_message(standing: Room) -> None:
    """Two edits within seconds: the first alone is never announced, however slow the site answers."""
    both = replace(
        EDITED, entrants=(replace(EDITED.entrants[0], finish_time=HOUR // 3), *EDITED.entrants[1:])
    )
    standing.on(Signal.SYSTEM_LINE, 200)
    (asked,) = reads(standing, 201)
    standing.on_read(seen(EDITED, 21), 202, sent_at=asked)
    standing.on(Signal.SYSTEM_LINE, 203)
    reads(standing, 209.5)
    assert Announce(EDITED) not in standing.tick(213), "the second edit has not been read"
    assert standing.on_read(seen(both, 23), 214, sent_at=209.5) == []
    assert answered(standing, seen(both, 23), until=224) == [Announce(both)]


def test_a_result_does_not_wait_for_ever_for_a_site_that_cannot_be_read(standing: Room) -> None:
    standing.on_frame(seen(SECOND, 20), 200)
    standing.on(Signal.SYSTEM_LINE, 201)
    effects: list[Effect] = []
    for now in range(202, 302):
        effects += standing.tick(now)
        if Act.READ in effects[-1:]:
            standing.on(Signal.READ_FAILED, now)
        if Announce(SECOND) in effects:
            assert now == 201 + LONGEST_DOUBT
            return
    raise AssertionError("never announced")


def test_the_time_of_the_site_decides_whether_a_result_is_old(room: Room) -> None:
    """The clock of this machine may be wrong by hours."""
    for hours, is_late in ((0.5, False), (1.5, True)):
        case = Room().case
        moment = Moment(100, NOON + timedelta(hours=hours))
        case, _ = step(case, cases.Frame(seen(FIRST)), moment)
        _, effects = step(case, Signal.TICK, replace(moment, seconds=110))
        assert effects == (Announce(FIRST, is_late=is_late),)


def test_an_answer_to_an_earlier_request_that_comes_late_is_ignored(standing: Room) -> None:
    standing.on_read(seen(SECOND, 19), 202, sent_at=201)
    standing.on_read(seen(FIRST, 19), 203, sent_at=200)
    assert standing.case.holds(SECOND)
