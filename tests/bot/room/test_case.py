import itertools
from dataclasses import replace
from datetime import timedelta

import pytest
from builders import HOUR, NOON, entrant, existing, result, seen
from hypothesis import given, strategies as st

from racebot.bot.room import events as cases
from racebot.bot.room.case import CERTAIN_AFTER, LONGEST_DOUBT, Case, step
from racebot.bot.room.events import Act, Announce, Effect, Moment, Settle, Signal
from racebot.races.result import RaceResult
from racebot.racetime.payload import Race
from racebot.settings.model import Settings
from racebot.standings.counting import LeaderboardConfig, RatingRules

QUIET = 10.0
FIRST = result("r", "ann bo", dnf="cy", recorded=False)
SECOND = result("r", "bo", dnf="cy", dq="ann", recorded=False)


class Room:
    """A watched room, whose events come at times on the monotonic clock."""

    def __init__(self, quiet: float = QUIET) -> None:
        self.case = Case(
            "orb/r", Settings(quiet_seconds=quiet), lambda: RatingRules(LeaderboardConfig("elo-ffa"))
        )

    def on(self, event: cases.CaseEvent, now: float) -> list[Effect]:
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

    def until(self, end: float) -> dict[float, list[Effect]]:
        """Let time pass, and return the effects by time."""
        found = {}
        while (now := self.deadline) is not None and now <= end:
            found[now] = self.tick(now)
        return found

    @property
    def deadline(self) -> float | None:
        return self.case.deadline


@pytest.fixture
def room() -> Room:
    return Room()


ANN, BO, CY = FIRST.entrants
RENAMED = replace(FIRST, entrants=(replace(ANN, name="Anna"), BO, CY))
EDITED_TIME = replace(FIRST, entrants=(replace(ANN, finish_time=HOUR + 1), BO, CY))
UNREADY = replace(FIRST, entrants=(ANN, BO, entrant("cy", "racing")))
FINAL = replace(FIRST, recorded=True)
OVER = {
    "cancelled": seen(status="cancelled", recordable=False),
    "partitioned": seen(status="partitioned"),
    "do not record": seen(replace(FIRST, recordable=False)),
}
TIMELINES: dict[str, tuple[dict[float, Race], dict[float, Effect]]] = {
    "no result": ({n: seen(status=s) for n, s in enumerate(("open", "invitational", "pending"))}, {}),
    "a result": ({100: seen(FIRST)}, {110: Announce(FIRST)}),
    "a change meanwhile": ({100: seen(FIRST), 108: seen(SECOND)}, {118: Announce(SECOND)}),
    "an irrelevant change": ({100: seen(FIRST), 109: seen(RENAMED)}, {110: Announce(RENAMED)}),
    "a repeated result": ({n: seen(FIRST) for n in (100, 120, 121, 900)}, {110: Announce(FIRST)}),
    "a correction": ({100: seen(FIRST), 500: seen(SECOND)}, {110: Announce(FIRST), 510: Announce(SECOND)}),
    "an edited time": (
        {100: seen(FIRST), 200: seen(EDITED_TIME)},
        {110: Announce(FIRST), 210: Announce(EDITED_TIME)},
    ),
    "taken back before it stands": ({100: seen(FIRST), 105: seen()}, {105: Act.TAKE_BACK}),
    "taken back by an entrant who undoes `.done`": (
        {100: seen(FIRST), 120: seen(UNREADY), 121: seen(), 130: seen(FIRST)},
        {110: Announce(FIRST), 120: Act.TAKE_BACK, 140: Announce(FIRST)},
    ),
    "an active racer": ({100: seen(UNREADY)}, {}),
    "hidden entrants": ({100: seen(replace(FIRST, hidden=True)), 300: seen(FIRST)}, {310: Announce(FIRST)}),
    "recorded": (
        {100: seen(FIRST), 105: seen(FINAL), 1000: seen(SECOND), 1002: seen(FINAL)},
        {105: Settle(FINAL)},
    ),
    "recorded before the bot joined": ({0: seen(FINAL)}, {0: Settle(FINAL)}),
    "custom goal": (
        {0: seen(recordable=False), 5: seen(replace(FIRST, recordable=False))},
        {5: Act.WITHDRAW},
    ),
    **{
        f"{name}, twice": ({100: seen(FIRST), 105: race, 1001: race}, {105: Act.WITHDRAW})
        for name, race in OVER.items()
    },
    **{
        f"{name}, but it comes back": (
            {100: race, 200: seen(FIRST), 300: race},
            {100: Act.WITHDRAW, 210: Announce(FIRST), 300: Act.WITHDRAW},
        )
        for name, race in OVER.items()
    },
}


@pytest.mark.parametrize(("frames", "expected"), TIMELINES.values(), ids=TIMELINES)
def test_effects_of_frames(room: Room, frames: dict[float, Race], expected: dict[float, Effect]) -> None:
    """A result stands after ten quiet seconds."""
    found: dict[float, list[Effect]] = {}
    for version, (now, race) in enumerate(frames.items(), start=1):
        found |= room.until(now)
        found[now] = room.on_frame(replace(race, version=version), now)
    found |= room.until(1e9)
    assert {now: effects for now, effects in found.items() if effects} == {
        now: [effect] for now, effect in expected.items()
    }


def test_a_late_frame_is_ignored_and_checked_over_http(room: Room) -> None:
    room.on_frame(seen(SECOND, 5), 100)
    assert room.on_frame(seen(FIRST, 4), 101) == []
    assert room.on_frame(seen(version=3), 101.2) == []
    assert existing(room.case.shown).version == 5
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


@pytest.mark.parametrize("late", [cases.Frame(seen(FINAL, 8)), cases.Listed(seen(FINAL, None))], ids=type)
def test_a_recording_counts_however_late_or_without_a_version(room: Room, late: cases.CaseEvent) -> None:
    room.on_frame(seen(FIRST, 9), 100)
    assert room.on(late, 101) == [Settle(FINAL)]


def test_before_the_end_two_frames_may_have_the_same_version(room: Room) -> None:
    room.on_frame(seen(version=5), 100)
    room.on_frame(seen(SECOND, 5), 101)
    assert room.tick(111) == [Announce(SECOND)]


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
    effects: list[Effect] = []
    now = 0.0
    for race, pause in sequence:
        closed = room.case.is_recorded
        notices = room.on_frame(race, now)
        now += pause
        notices += room.tick(now)
        assert not (closed and notices)
        assert (room.deadline is None) or not room.case.is_recorded
        effects += notices
    ends = [n for n in effects if isinstance(n, Settle)]
    assert len(ends) <= 1
    assert not ends or ends[0] is effects[-1]
    stood: RaceResult | None = None
    for notice in effects:
        if isinstance(notice, Announce):
            assert notice.result.final
            assert stood is None or notice.result.fingerprint() != stood.fingerprint()
            stood = notice.result
        elif notice in (Act.TAKE_BACK, Act.WITHDRAW):
            stood = None


# Edits, which only HTTP shows

EDITED = replace(FIRST, entrants=(ANN, replace(BO, finish_time=HOUR // 2), CY))


def reads(room: Room, until: float) -> list[float]:
    """Let time pass and return when the room asked for a read."""
    return [now for now, effects in room.until(until).items() if Act.READ in effects]


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


def test_a_system_message_after_the_finish_leads_to_a_read_soon_and_past_the_cache(
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


def test_a_cached_answer_is_followed_by_the_right_one(standing: Room) -> None:
    standing.on(Signal.SYSTEM_LINE, 200)
    (soon,) = reads(standing, 203)
    standing.on_read(seen(FIRST, 19), soon, sent_at=soon)
    assert standing.case.is_unsure
    (certain,) = reads(standing, 220)
    standing.on_read(seen(EDITED, 21), certain, sent_at=certain)
    assert not standing.case.is_unsure
    assert standing.tick(certain + QUIET) == [Announce(EDITED)]


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


def test_nothing_is_read_after_the_record(standing: Room) -> None:
    standing.on(Signal.SYSTEM_LINE, 200)
    standing.on_frame(seen(replace(FIRST, recorded=True), 22, recorded=True), 200)
    standing.on(Signal.SYSTEM_LINE, 201)
    standing.on(Signal.READ_FAILED, 202)
    assert reads(standing, 1000) == []


def test_a_result_waits_until_a_read_shows_it_after_the_last_system_message(standing: Room) -> None:
    """Two edits within seconds: the first alone is never announced, however slow the site answers."""
    both = replace(EDITED, entrants=(replace(ANN, finish_time=HOUR // 3), *EDITED.entrants[1:]))
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
