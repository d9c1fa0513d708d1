"""Which rooms a leaderboard chooses."""

from datetime import timedelta
from typing import Any

import pytest
from builders import CATEGORY, NOON, result, room
from pydantic import TypeAdapter

from racebot.ledger.rows import Leaderboard
from racebot.races.rooms import RoomReason, RoomRule, room_named

GOALS = ("Any Orb",)
LEAGUE = RoomRule(custom_goals=("SGL 2025*",))


@pytest.mark.parametrize(
    ("rule", "facts", "reason"),
    [
        (RoomRule(), {}, RoomReason.MATCHES),
        (RoomRule(), {"goal": "All Orbs"}, RoomReason.GOAL),
        (RoomRule(), {"custom_goal": True}, RoomReason.CUSTOM_GOAL),
        (LEAGUE, {}, RoomReason.MATCHES),
        (LEAGUE, {"goal": "sgl 2025 round 1", "custom_goal": True}, RoomReason.MATCHES),
        (LEAGUE, {"goal": "SGL 25", "custom_goal": True}, RoomReason.CUSTOM_GOAL),
        (LEAGUE, {"goal": "SGL 2025"}, RoomReason.GOAL),
        (RoomRule(info=("*league*",)), {"info": "Seed: x\nLEAGUE race"}, RoomReason.MATCHES),
        (RoomRule(info=("*league*",)), {"info": None}, RoomReason.INFO),
        (RoomRule(opened_by_bot=("SGL bot",)), {"opened_by_bot": "SGL Bot"}, RoomReason.MATCHES),
        (RoomRule(opened_by_bot=("SGL bot",)), {"opened_by_bot": None}, RoomReason.OPENED_BY_BOT),
        (RoomRule(opened_by=("ann",)), {"opened_by": "Ann"}, RoomReason.MATCHES),
        (RoomRule(opened_by=("ann",)), {"opened_by": None}, RoomReason.OPENER_UNKNOWN),
        (RoomRule(opened_by=("ann",)), {"opened_by": ""}, RoomReason.OPENED_BY),
        (RoomRule(info=("*L*",), opened_by=("ann",)), {"info": "l", "opened_by": "Bo"}, RoomReason.OPENED_BY),
        (RoomRule(since=NOON), {"started_at": NOON}, RoomReason.MATCHES),
        (RoomRule(since=NOON), {"started_at": NOON - timedelta(seconds=1)}, RoomReason.TOO_EARLY),
        (RoomRule(until=NOON), {"started_at": NOON}, RoomReason.TOO_LATE),
        (RoomRule(until=NOON), {"ended_at": NOON - timedelta(hours=1)}, RoomReason.MATCHES),
        (RoomRule(since=NOON), {}, RoomReason.MATCHES),
        (RoomRule(rooms=("orb/first",), info=("no",)), {"goal": "x", "custom_goal": True}, RoomReason.LISTED),
        (RoomRule(rooms=("orb/other",), info=("no",)), {"info": "no"}, RoomReason.MATCHES),
    ],
)  # fmt: skip
def test_a_room_must_fulfil_all_conditions_or_be_listed(
    rule: RoomRule, facts: dict[str, Any], reason: RoomReason
) -> None:
    verdict = rule.judge(room(**{"goal": "Any Orb", **facts}), GOALS)
    assert (verdict.reason, verdict.counts) == (reason, reason in {RoomReason.MATCHES, RoomReason.LISTED})


def test_a_list_of_rooms_alone_chooses_no_other_room() -> None:
    for rule in (RoomRule(rooms=("orb/first",)), RoomRule(rooms=("orb/first",), until=NOON)):
        assert rule.judge(room("x", custom_goal=True), ()).reason is RoomReason.LISTED
        assert rule.judge(room("x", slug="other"), ()).reason is RoomReason.NOT_LISTED


def test_a_leaderboard_without_goals_takes_rooms_of_any_goal() -> None:
    rule = RoomRule(opened_by_bot=("Cup*",))
    for custom in (True, False):
        assert rule.judge(room("x", custom_goal=custom, opened_by_bot="Cup 3"), ()).counts


def test_the_nearest_pattern_is_named() -> None:
    verdict = LEAGUE.judge(room("SGL 25", custom_goal=True), ())
    assert (verdict.value, verdict.nearest) == ("SGL 25", "SGL 2025*")


def test_a_rule_is_stored_as_json() -> None:
    dates = (NOON, NOON + timedelta(1))
    rule = RoomRule(("a*",), ("b",), ("c",), ("d",), *dates, ("orb/r",), finished=True, grace=timedelta(2))
    assert TypeAdapter(RoomRule).validate_json(rule.to_json()) == rule
    assert RoomRule().to_json() == ""


@pytest.mark.parametrize(
    "text",
    ["orb/Brisk-dune-1", "https://racetime.gg/orb/brisk-dune-1", " /orb/brisk-dune-1/ ", "https://x.y/orb/brisk-dune-1?a=b"],
)  # fmt: skip
def test_a_room_is_named_by_name_or_address(text: str) -> None:
    assert room_named(text) == "orb/brisk-dune-1"


def test_other_text_names_no_room() -> None:
    with pytest.raises(ValueError, match="category/room"):
        room_named("brisk dune")


@pytest.mark.parametrize("finished", [True, False])
def test_only_a_leaderboard_that_needs_no_record_holds_an_unrecorded_race(finished: bool) -> None:
    board = Leaderboard(CATEGORY, "L", GOALS, "elo-ffa", {}, "ignore", rule=RoomRule(finished=finished))
    assert board.holds(result("r", "ann bo"))
    assert board.holds(result("r", "ann bo", recorded=False)) == finished
    assert not board.holds(result("r", "ann bo", custom_goal=True))
