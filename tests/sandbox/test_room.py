"""The rules of a race's life and of its chat."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from builders import Clock, existing

from racebot.sandbox import render
from racebot.sandbox.race_state import RacerStatus, RaceStatus, RuleError
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.site import FakeSite

from .conftest import Make, chat_texts, heard, places


def test_a_race_goes_from_open_to_recorded(site: FakeSite, clock: Clock) -> None:
    room = site.open_race()
    seen = [(str(room.status), room.version)]
    for step in (
        lambda: room.enter("Ann"),
        lambda: room.ready("Ann"),
        room.count_down,
        room.start,
        lambda: room.finish("Ann", timedelta(hours=1, microseconds=47_053)),
        room.record,
    ):
        step()
        seen.append((str(room.status), room.version))
    # A finish counts twice, and the end of the race once more.
    running = [("pending", 4), ("in_progress", 5)]
    assert seen == [*(("open", n) for n in (1, 2, 3)), *running, ("finished", 8), ("finished", 9)]
    assert room.entrant("Ann").finish_time == timedelta(hours=1, microseconds=47_053)
    assert room.recorded
    assert room.recorded_by is site.moderator


def test_a_race_is_cancelled_if_all_entrants_forfeit_and_an_edit_brings_it_back(started: Make) -> None:
    room = started()
    for name in ("Ann", "Bo", "Cy"):
        room.forfeit(name)
    assert (room.status, room.recordable) == (RaceStatus.CANCELLED, False)
    assert (ended_at := room.ended_at) == room.cancelled_at
    assert chat_texts(room)[-1] == "This race has been cancelled due to all entrants forfeiting."
    with pytest.raises(RuleError, match="not finished"):
        room.record()
    with pytest.raises(RuleError, match="finish time"):
        room.edit_result("Ann", RacerStatus.DONE)
    room.edit_result("Ann", RacerStatus.DONE, timedelta(minutes=50))
    assert (room.status, room.recordable) == (RaceStatus.FINISHED, True)
    assert (room.ended_at, room.cancelled_at) == (ended_at, None)
    room.record()


def test_a_race_cancelled_before_it_began_has_no_end(site: FakeSite, clock: Clock) -> None:
    room = site.open_race()
    room.cancel()
    assert (room.status, room.ended_at, room.recordable) == ("cancelled", None, False)
    with pytest.raises(RuleError):
        room.cancel()
    assert room.chat_open
    clock.advance(hours=1)
    assert not room.chat_open


def test_an_undone_finish_passes_through_ready(finished: Make, clock: Clock) -> None:
    room = finished()
    frames = heard(room)
    room.undone("Cy")
    # Frames that were sent do not change with the race.
    shown = [frame["race"] for frame in frames if frame["type"] == "race.data"]
    assert [race["status"]["value"] for race in shown] == ["finished", "in_progress"]
    assert [race["entrants"][2]["status"]["value"] for race in shown] == ["ready", "in_progress"]
    assert shown[0]["ended_at"] is not None
    assert shown[1]["ended_at"] is None
    room.finish("Cy")
    assert room.status == "finished"
    assert places(room) == {"Ann": 1, "Bo": 2, "Cy": 3}
    clock.advance(minutes=11)
    with pytest.raises(RuleError, match="ten minutes"):
        room.undone("Cy")


def test_a_disqualified_entrant_keeps_the_time_and_the_others_move_up_silently(finished: Make) -> None:
    room = finished()
    frames = heard(room)
    room.disqualify("Ann")
    (shown,) = [frame["race"] for frame in frames if frame["type"] == "race.data"]
    assert [(e["status"]["value"], e["place"]) for e in shown["entrants"]] == [
        ("done", 2),
        ("done", 3),
        ("dq", None),
    ]
    assert shown["entrants"][2]["finish_time"] == "P0DT01H00M00S"
    assert shown["entrants_count_inactive"] == 1
    assert places(room) == {"Ann": None, "Bo": 1, "Cy": 2}
    assert room.version == shown["version"] + 1
    room.edit_result("Ann", RacerStatus.DONE)
    assert places(room) == {"Ann": 1, "Bo": 2, "Cy": 3}


def test_equal_times_get_places_of_their_own(finished: Make) -> None:
    room = finished()
    room.edit_result("Bo", time=existing(room.entrant("Ann").finish_time))
    assert room.entrant("Bo").finish_time == room.entrant("Ann").finish_time
    assert places(room) == {"Ann": 1, "Bo": 2, "Cy": 3}


def test_openers_and_moderators_appoint_monitors(site: FakeSite) -> None:
    room = site.open_race(opened_by="Ann")
    with pytest.raises(RuleError):
        room.add_monitor("Cy", by="Bo")
    room.add_monitor("Bo", by="Ann")
    room.add_monitor("Cy")
    assert [each["name"] for each in render.race(room)["monitors"]] == ["Bo", "Cy"]
    assert [room.say(name, "!ratings off").monitor for name in ("Ann", "Bo", "Di")] == [True, True, False]


EDITS: dict[str, Callable[[FakeRoom], None]] = {
    "time": lambda room: room.edit_result("Cy", time=timedelta(minutes=50)),
    "disqualified": lambda room: room.edit_result("Ann", RacerStatus.DQ),
    "forfeited": lambda room: room.edit_result("Ann", RacerStatus.DNF),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_is_announced_with_the_old_data_and_saved_in_silence(
    site: FakeSite, finished: Make, edit: Callable[[FakeRoom], None]
) -> None:
    room = finished()
    before, version = render.race(room), room.version
    frames = heard(room)
    edit(room)
    assert [frame["type"] for frame in frames] == ["chat.message", "race.data", "race.renders"]
    assert frames[0]["message"]["is_system"]
    assert frames[1]["race"] == before
    assert frames[1]["version"] == version
    assert room.version == version + 2
    assert render.race(room)["entrants"] != before["entrants"]
    room.set_info(site.bot, "anything")
    assert frames[-2]["race"]["entrants"] == render.race(room)["entrants"], "the next change shows it"


def test_an_edit_of_the_last_finisher_cancels_the_race(finished: Make) -> None:
    room = finished()
    for name in ("Ann", "Bo", "Cy"):
        room.edit_result(name, RacerStatus.DNF)
    assert (room.status, room.recordable) == (RaceStatus.CANCELLED, False)
    assert room.cancelled_at == room.ended_at


def test_a_recorded_race_stays_as_it_is(finished: Make) -> None:
    room = finished()
    room.record()
    for change in (
        lambda: room.disqualify("Ann"),
        lambda: room.undone("Ann"),
        lambda: room.edit_result("Ann", time=timedelta(hours=2)),
        room.record,
        room.do_not_record,
        room.hold,
    ):
        with pytest.raises(RuleError):
            change()
    room.unrecord()
    assert room.chat_open


def test_a_record_needs_a_moderator_all_accounts_and_a_race_that_is_to_be_recorded(
    finished: Make, site: FakeSite
) -> None:
    room = finished()
    with pytest.raises(RuleError, match="no moderator"):
        room.record("Ann")
    room.do_not_record()
    with pytest.raises(RuleError, match="set to not recorded"):
        room.record()
    room.edit_result("Ann", time=timedelta(minutes=50))
    room.record()
    room = finished()
    site.delete_user("Bo")
    with pytest.raises(RuleError, match="deleted"):
        room.record()
    room.do_not_record()


def test_a_custom_goal_is_never_recordable(site: FakeSite, finished: Make) -> None:
    assert site.open_race("Just for fun").custom_goal
    room = finished(custom_goal=True)
    assert not room.recordable
    room.edit_result("Ann", time=timedelta(minutes=50))
    assert not room.recordable


@pytest.mark.parametrize(
    ("end", "now", "within_an_hour", "later"),
    [
        ("none", True, True, True),
        ("record", False, False, False),
        ("do_not_record", True, True, False),
        ("hold", True, True, True),
    ],
)
def test_chat_closes_with_the_record_or_an_hour_after_the_end(
    finished: Make, clock: Clock, end: str, now: bool, within_an_hour: bool, later: bool
) -> None:
    room = finished()
    if end != "none":
        getattr(room, end)()
    assert room.chat_open is now
    clock.advance(minutes=59)
    assert room.chat_open is within_an_hour
    clock.advance(minutes=2)
    assert room.chat_open is later
    if not later:
        with pytest.raises(RuleError, match="chat is closed"):
            room.say("Ann", "too late")


def test_meta_is_merged_silently_up_to_a_limit(site: FakeSite) -> None:
    room = site.open_race()
    frames, version = heard(room), room.version
    assert room.merge_meta({"a": 1, "b": {"c": 2}})
    assert room.merge_meta({"b": 3})
    assert room.bot_meta == {"a": 1, "b": 3}
    assert room.merge_meta({"z": "x" * (2048 - len('{"a": 1, "b": 3, "z": ""}'))})
    assert not room.merge_meta({"y": 1})
    assert "y" not in room.bot_meta
    assert frames == []
    assert room.version == version + 3
