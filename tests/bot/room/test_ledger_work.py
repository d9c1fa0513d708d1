from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from builders import CATEGORY, HOUR, NOON, Clock, chat_body, entrant, info_blocks, result, seen
from room_support import Follower

from racebot.bot.room import case as cases
from racebot.bot.room.announcements import Style
from racebot.chat.wording import DEFAULT_TEXTS
from racebot.ledger.cases import CaseRow
from racebot.ledger.orders import Order, OrderKind
from racebot.ledger.outbox import Delivery, Edit, MetaBody, MetaEntry
from racebot.ledger.store import Ledger
from racebot.queries.listing import Listing
from racebot.races.outcome import TeamPolicy
from racebot.races.result import EntrantStatus, RaceResult
from racebot.racetime.payload import Race
from racebot.standings.counting import LeaderboardPlan, Plans
from racebot.standings.settle import Settler

SIMPLE = LeaderboardPlan("pairwise-elo", {"initial_rating": 1.0, "dummy": None, "rates": [0.2]})
FINISHED = result("r", "ann bo", dnf="cy", recorded=False)
RECORDED = replace(FINISHED, recorded=True)
SWAPPED = result("r", "bo ann", dnf="cy", recorded=False)
OPENING = "Ratings if recorded (Any Orb): "
CORRECTION = "Correction: "
# Of three equal players the first beats two (+0.2), the second beats one and loses to one.
ANN, BO, CY = "1 Ann 1200 (+200", "2 Bo 1000 (±0", "DNF Cy 800 (−200"
CHANGES = f"{ANN}, new) · {BO}, new) · {CY}, new)"


@pytest.fixture
def follower(ledger: Ledger, clock: Clock) -> Follower:
    clock.advance(seconds=10)
    return Follower(Settler(ledger, Plans(SIMPLE)), clock)


def waiting(follower: Follower, name: str = "orb/r", kind: str = "chat") -> list[str]:
    """Return the texts of the waiting chat messages."""
    rows = follower.ledger.messages.open_for(name)
    return [spaced(chat_body(row).text) for row in rows if row.message.kind == kind]


def spaced(text: str) -> str:
    """Return a text without no-break spaces, and without the edits that a correction names."""
    return re.sub(r"^Correction \([^)]*\): ", CORRECTION, text.replace("\N{NO-BREAK SPACE}", " "))


def kinds(follower: Follower) -> list[str]:
    return [row.message.kind for row in follower.ledger.messages.open_for("orb/r")]


def deliver(follower: Follower, state: Delivery = Delivery.DELIVERED) -> list[str]:
    """Mark all open messages as delivered, and return the chat texts."""
    rows = follower.ledger.messages.open_for("orb/r")
    for row in rows:
        follower.ledger.messages.mark(row, state, NOON)
    return [spaced(chat_body(row).text) for row in rows if row.message.kind == "chat"]


def dump(follower: Follower) -> list[str]:
    return list(follower.ledger.connection.db.conn.iterdump())


# Provisional


def test_a_result_that_stands_is_announced(follower: Follower) -> None:
    follower.stands(FINISHED)
    assert waiting(follower) == [OPENING + CHANGES]
    assert follower.ledger.cases.get("orb/r") is not None
    assert follower.ledger.races.get("orb/r") is None, "it does not count yet"


def test_points_of_unranked_players_carry_a_question_mark_in_all_messages(
    ledger: Ledger, clock: Clock
) -> None:
    clock.advance(seconds=10)
    settler = Settler(ledger, Plans(SIMPLE))
    follower = Follower(settler, clock, style=Style(listing=lambda _: Listing(minimum_finishes=1)))
    follower.stands(FINISHED)
    assert deliver(follower) == [f"{OPENING}{ANN}, new) · {BO}, new) · DNF Cy 800? (−200, new)"]
    edited = result("r", "ann cy", dnf="bo", recorded=False)
    follower.stands(edited)
    assert waiting(follower) == [f"{CORRECTION}2 Cy 1000 (±0, new) · DNF Bo 800? (−200, new)"]
    follower.frame(seen(replace(edited, recorded=True)))
    (block,) = [
        info_blocks(row) for row in follower.ledger.messages.of("orb/r") if row.message.kind == "info"
    ]
    assert "2 Cy 1000 (" in spaced(block[0])
    assert "DNF Bo 800? (" in spaced(block[0])


def test_a_result_is_announced_once(follower: Follower) -> None:
    follower.stands(FINISHED)
    follower.stands(FINISHED)
    assert len(deliver(follower)) == 1
    before = dump(follower)
    follower.stands(FINISHED)
    assert dump(follower) == before


def test_a_finished_race_is_pending_before_it_is_announced(follower: Follower) -> None:
    follower.read(seen(FINISHED))
    before = dump(follower)
    follower.read(seen(FINISHED))
    assert dump(follower) == before
    pending = follower.ledger.cases.get("orb/r")
    assert pending is not None
    assert (pending.category, pending.ended_at) == (CATEGORY, NOON)
    assert follower.ledger.messages.of("orb/r") == []


def test_an_old_result_is_not_announced(follower: Follower, clock: Clock) -> None:
    """Its racers have left the room."""
    clock.now = NOON + timedelta(hours=1, seconds=1)
    follower.stands(FINISHED)
    assert follower.ledger.messages.of("orb/r") == []
    assert follower.ledger.cases.get("orb/r") is not None
    clock.now = NOON + timedelta(hours=1)
    follower.stands(replace(FINISHED, name="orb/s"))
    assert len(waiting(follower, "orb/s")) == 1


def test_a_late_change_is_still_corrected(follower: Follower, clock: Clock) -> None:
    follower.stands(FINISHED)
    deliver(follower)
    clock.advance(hours=30)
    follower.stands(SWAPPED)
    assert [text[:11] for text in waiting(follower)] == ["Correction:"]


@pytest.mark.parametrize(
    "facts",
    [{"recordable": False}, {"custom_goal": True}, {"hidden": True}, {"goal": "No Orbs"}],
    ids=lambda f: next(iter(f)),
)
def test_a_race_that_never_counts_is_not_announced(
    ledger: Ledger, clock: Clock, facts: dict[str, Any]
) -> None:
    plans = Plans(SIMPLE, goals={CATEGORY: frozenset({"Any Orb"})})
    follower = Follower(Settler(ledger, plans), clock)
    before = dump(follower)
    follower.read(seen(replace(FINISHED, **facts)))
    assert dump(follower) == before
    follower.stands(replace(FINISHED, **facts))
    assert follower.ledger.messages.of("orb/r") == []


def test_a_bot_without_announcements_still_settles_races(ledger: Ledger, clock: Clock) -> None:
    follower = Follower(Settler(ledger, Plans(SIMPLE)), clock, announce=False)
    follower.read(seen(FINISHED))
    follower.stands(FINISHED)
    assert follower.ledger.messages.of("orb/r") == []
    assert follower.ledger.cases.get("orb/r") is not None
    follower.frame(seen(RECORDED))
    assert follower.ledger.races.get("orb/r") is not None
    assert "chat" not in kinds(follower)


def test_a_race_that_changes_nothing_is_not_announced(follower: Follower) -> None:
    follower.stands(result("r", "ann", recorded=False))
    assert follower.ledger.messages.of("orb/r") == []


def test_message_of_a_team_race_is_sent_once(follower: Follower) -> None:
    teams = replace(FINISHED, entrants=tuple(replace(e, team="red") for e in FINISHED.entrants))
    follower.stands(teams)
    assert deliver(follower) == ["Team races are not rated (Any Orb)."]
    follower.stands(replace(teams, entrants=teams.entrants[::-1]))
    follower.stands(replace(teams, entrants=teams.entrants[:2]))
    assert waiting(follower) == []


def test_settled_race_is_no_longer_announced(follower: Follower) -> None:
    """The list of past races may show the record before the room does."""
    follower.read(seen(RECORDED))
    follower.stands(FINISHED)
    assert follower.ledger.messages.of("orb/r") == []
    assert follower.ledger.cases.polled(CATEGORY) == []


# Corrections


def test_a_new_order_is_corrected(follower: Follower) -> None:
    follower.stands(FINISHED)
    deliver(follower)
    follower.stands(SWAPPED)
    (text,) = deliver(follower)
    assert text.startswith(f"{CORRECTION}1 Bo 1200")
    follower.stands(FINISHED)
    (text,) = deliver(follower)
    assert text.startswith(f"{CORRECTION}1 Ann 1200")


def test_a_finisher_who_is_disqualified_is_corrected(follower: Follower) -> None:
    follower.stands(FINISHED)
    deliver(follower)
    follower.stands(result("r", "bo", dnf="cy", dq="ann", recorded=False))
    (text,) = waiting(follower)
    assert text.startswith(CORRECTION)
    assert "DQ Ann 900" in text


def test_an_edit_that_changes_no_rating_is_not_corrected(follower: Follower) -> None:
    follower.stands(FINISHED)
    deliver(follower)
    ann, bo, cy = FINISHED.entrants
    for entrants in (
        (ann, bo, entrant("cy", "dq", HOUR)),
        (replace(ann, finish_time=HOUR - 1), bo, cy),
        (replace(ann, name="Anna"), bo, cy),
        (cy, bo, ann),
    ):
        follower.stands(replace(FINISHED, entrants=entrants))
    assert waiting(follower) == []


def test_another_races_changes_need_no_correction(follower: Follower) -> None:
    follower.stands(FINISHED)
    deliver(follower)
    follower.read(seen(result("other", "cy bo ann")))
    follower.stands(FINISHED)
    assert waiting(follower) == []


def test_a_correction_after_another_race_uses_current_ratings(follower: Follower) -> None:
    follower.stands(FINISHED)
    deliver(follower)
    follower.read(seen(result("other", "cy bo ann")))
    follower.stands(SWAPPED)
    (text,) = waiting(follower)
    assert "Bo 1200" in text
    assert "Ann 830" in text
    assert "new" not in text


def test_change_before_the_announcement_needs_no_correction(follower: Follower) -> None:
    follower.stands(FINISHED)
    follower.stands(SWAPPED)
    (text,) = waiting(follower)
    assert text.startswith(f"{OPENING}1 Bo")


def test_a_change_that_is_reverted_before_the_announcement_leaves_one_message(follower: Follower) -> None:
    """As during a lost connection: only the final result must be announced."""
    for shown in (FINISHED, SWAPPED, FINISHED):
        follower.stands(shown)
    (text,) = waiting(follower)
    assert text.startswith(f"{OPENING}1 Ann")


def test_reverted_result_before_its_correction_is_sent_needs_no_correction(follower: Follower) -> None:
    follower.stands(FINISHED)
    deliver(follower)
    follower.stands(SWAPPED)
    follower.stands(FINISHED)
    assert waiting(follower) == []
    follower.stands(SWAPPED)
    assert [text[:14] for text in waiting(follower)] == ["Correction: 1 "]


def test_a_correction_lists_the_edits(follower: Follower) -> None:
    follower.stands(FINISHED)
    deliver(follower)
    ann, bo, cy = FINISHED.entrants
    edited = replace(
        FINISHED, entrants=(replace(ann, status=EntrantStatus.DQ), replace(bo, finish_time=HOUR // 2), cy)
    )
    follower.stands(edited)
    (row,) = follower.ledger.messages.open_for("orb/r")
    assert chat_body(row).edits == (Edit("id-ann", "dq"), Edit("id-bo", "time"))


def test_a_correction_lists_all_edits_since_what_chat_was_told(follower: Follower) -> None:
    """The result changed again before its first edit was announced."""
    follower.stands(FINISHED)
    deliver(follower)
    ann, bo, cy = FINISHED.entrants
    once = replace(FINISHED, entrants=(replace(ann, finish_time=2 * HOUR), bo, cy))
    twice = replace(once, entrants=(once.entrants[0], replace(bo, status=EntrantStatus.DNF), cy))
    follower.stands(once)
    follower.stands(twice)
    (row,) = follower.ledger.messages.open_for("orb/r")
    assert chat_body(row).edits == (Edit("id-ann", "time"), Edit("id-bo", "dnf"))


def test_a_deleted_account_is_an_edit_that_names_nobody(follower: Follower) -> None:
    follower.stands(FINISHED)
    deliver(follower)
    ann, bo, cy = FINISHED.entrants
    follower.stands(replace(FINISHED, entrants=(replace(ann, user_id=None, name="(deleted)"), bo, cy)))
    (text,) = [chat_body(row).text for row in follower.ledger.messages.open_for("orb/r")]
    assert text.startswith(f"Correction ({DEFAULT_TEXTS.edit_deleted}): ")
    assert "Ann" not in text


def test_quiet_that_ends_leaves_no_announcement_out(follower: Follower) -> None:
    """The first announcement still waited when a moderator asked for quiet."""
    follower.stands(FINISHED)
    follower.on("orb/r", cases.QuietOrder(True, NOON))
    assert waiting(follower) == []
    follower.on("orb/r", cases.QuietOrder(False, NOON))
    assert waiting(follower) == [OPENING + CHANGES]


def test_a_sent_message_counts_as_delivered(follower: Follower) -> None:
    follower.stands(FINISHED)
    deliver(follower, state=Delivery.SENT)
    follower.stands(SWAPPED)
    assert [text[:7] for text in waiting(follower)] == [OPENING[:7], "Correct"]


def test_nothing_is_left_to_change_after_a_correction(follower: Follower) -> None:
    follower.stands(FINISHED)
    deliver(follower)
    follower.stands(result("r", dnf="ann cy", dq="bo", recorded=False))
    assert waiting(follower) == [f"{CORRECTION}no rating changes"]


# Taken back


def test_a_result_taken_back_before_its_announcement_is_dropped(follower: Follower) -> None:
    follower.stands(FINISHED)
    follower.going_on("orb/r")
    assert waiting(follower) == []
    follower.stands(SWAPPED)
    (text,) = waiting(follower)
    assert text.startswith(f"{OPENING}1 Bo"), "and the next one is no correction"


def test_a_dropped_result_that_returns_is_announced(follower: Follower) -> None:
    follower.stands(FINISHED)
    follower.going_on("orb/r")
    follower.stands(FINISHED)
    (text,) = waiting(follower)
    assert text.startswith(f"{OPENING}1 Ann")


def test_a_result_taken_back_after_its_announcement_is_repeated_only_if_changed(follower: Follower) -> None:
    follower.stands(FINISHED)
    deliver(follower)
    follower.going_on("orb/r")
    follower.stands(FINISHED)
    assert waiting(follower) == [], "the earlier announcement holds again"
    follower.going_on("orb/r")
    follower.stands(SWAPPED)
    assert [text[:11] for text in waiting(follower)] == ["Correction:"]


def test_a_dropped_correction_that_returns_is_announced(follower: Follower) -> None:
    follower.stands(FINISHED)
    deliver(follower)
    follower.stands(SWAPPED)
    follower.going_on("orb/r")
    assert waiting(follower) == []
    follower.stands(SWAPPED)
    (text,) = waiting(follower)
    assert text.startswith(CORRECTION)
    assert ": 1 Bo " in text


def test_a_half_sent_announcement_is_completed(ledger: Ledger, clock: Clock) -> None:
    many = " ".join(f"player-{n:02}-{'x' * 15}" for n in range(40))
    finished = result("r", many, recorded=False)
    follower = Follower(Settler(ledger, Plans(SIMPLE)), clock)
    follower.stands(finished)
    first, _ = follower.ledger.messages.open_for("orb/r")
    follower.ledger.messages.mark(first, Delivery.DELIVERED, NOON)
    follower.going_on("orb/r")
    (text,) = deliver(follower)
    assert text.startswith(DEFAULT_TEXTS.continued)
    follower.stands(finished)
    assert waiting(follower) == []


# Recorded


def test_final_changes_go_to_meta_and_info(follower: Follower) -> None:
    follower.stands(FINISHED)
    deliver(follower)
    follower.frame(seen(RECORDED))
    meta, info = follower.ledger.messages.open_for("orb/r")
    assert (meta.message.kind, info.message.kind) == ("meta", "info")
    changes = {"id-ann": (1000, 1200), "id-bo": (1000, 1000), "id-cy": (1000, 800)}
    assert meta.message.body == MetaBody((MetaEntry("Any Orb", "pairwise-elo", changes),))
    assert [spaced(block) for block in info_blocks(info)] == [f"Ratings by racebot (Any Orb): {CHANGES}"]
    assert follower.ledger.cases.get("orb/r") is None
    stored = follower.ledger.races.get("orb/r")
    assert stored is not None
    assert stored.source == "live"


def test_final_changes_leave_hidden_players_out(follower: Follower, ledger: Ledger) -> None:
    follower.stands(FINISHED)
    deliver(follower)
    ledger.orders.add(Order(NOON, OrderKind.HIDE, "id-bo", None, ""))
    follower.frame(seen(RECORDED))
    meta, info = follower.ledger.messages.open_for("orb/r")
    assert isinstance(meta.message.body, MetaBody)
    assert list(meta.message.body.leaderboards[0].changes) == ["id-ann", "id-cy"]
    assert "Bo" not in info_blocks(info)[0]


def test_a_record_is_settled_once(follower: Follower) -> None:
    follower.frame(seen(RECORDED))
    before = dump(follower)
    follower.frame(seen(RECORDED))
    follower.read(seen(RECORDED))
    follower.read(seen(FINISHED))
    follower.read(seen(RECORDED))
    assert dump(follower) == before


def test_announcements_not_sent_before_the_record_are_dropped(follower: Follower) -> None:
    """Chat closes at the very moment of the record."""
    follower.stands(FINISHED)
    follower.frame(seen(RECORDED))
    assert kinds(follower) == ["meta", "info"]


def test_a_listed_race_that_was_never_watched_gets_no_messages(follower: Follower) -> None:
    follower.read(seen(RECORDED, None))
    assert follower.ledger.races.get("orb/r") is not None
    assert follower.ledger.messages.of("orb/r") == []


def test_a_pending_race_recorded_unwatched_gets_its_final_changes(follower: Follower, clock: Clock) -> None:
    follower.read(seen(FINISHED))
    clock.advance(days=3)
    follower.read(seen(RECORDED, None))
    assert kinds(follower) == ["meta", "info"]


def test_a_race_without_changes_gets_no_final_messages(follower: Follower) -> None:
    follower.frame(seen(result("r", "ann")))
    assert follower.ledger.races.get("orb/r") is not None
    assert follower.ledger.messages.of("orb/r") == []


def test_a_watched_race_that_ended_unseen_gets_its_final_changes(follower: Follower) -> None:
    """The list of past races shows its end before the bot rejoins the room."""
    follower.frame(replace(seen(FINISHED), status="in_progress", result=None))
    follower.read(seen(RECORDED))
    assert kinds(follower) == ["meta", "info"]


def test_a_changed_record_corrects_the_final_changes(follower: Follower) -> None:
    follower.frame(seen(RECORDED))
    deliver(follower)
    follower.read(seen(replace(SWAPPED, recorded=True), None))
    assert kinds(follower) == ["meta", "info"]
    (meta, _) = follower.ledger.messages.open_for("orb/r")
    assert isinstance(meta.message.body, MetaBody)
    assert meta.message.body.leaderboards[0].changes["id-bo"] == (1000, 1200)
    deliver(follower)
    follower.read(seen(RECORDED, None))
    assert kinds(follower) == ["meta", "info"], "also when it changes back"


# Never recorded

NEVER = replace(FINISHED, recordable=False)


def test_an_announcement_is_withdrawn_once(follower: Follower) -> None:
    follower.stands(FINISHED)
    deliver(follower)
    follower.read(seen(NEVER))
    assert waiting(follower) == [DEFAULT_TEXTS.withdrawn]
    follower.read(seen(NEVER))
    follower.frame(seen(NEVER))
    assert waiting(follower) == [DEFAULT_TEXTS.withdrawn], "once"


def test_a_race_without_an_announcement_needs_no_withdrawal(follower: Follower) -> None:
    follower.stands(FINISHED)
    follower.read(seen(NEVER))
    assert waiting(follower) == []


def test_an_unknown_race_that_is_over_changes_nothing(follower: Follower) -> None:
    before = dump(follower)
    follower.read(seen(NEVER))
    follower.read(seen(status="cancelled", recordable=False))
    assert dump(follower) == before


def test_a_cancelled_race_is_withdrawn_too(follower: Follower) -> None:
    follower.stands(FINISHED)
    deliver(follower)
    follower.read(seen(status="cancelled", recordable=False))
    assert waiting(follower) == [DEFAULT_TEXTS.withdrawn]


# Records that are undone


def test_a_stale_answer_does_not_withdraw_twice(follower: Follower) -> None:
    over = replace(seen(FINISHED), recordable=False)
    follower.stands(FINISHED)
    deliver(follower)
    follower.read(over)
    assert deliver(follower) == [DEFAULT_TEXTS.withdrawn]
    follower.read(seen(FINISHED))
    follower.read(over)
    assert waiting(follower) == []


def test_a_record_that_is_gone_for_an_hour_is_withdrawn_from_the_ratings(
    follower: Follower, clock: Clock
) -> None:
    follower.read(seen(RECORDED))
    clock.advance(days=1)
    follower.read(seen(FINISHED))
    clock.advance(hours=1)
    follower.read(seen(FINISHED))
    assert follower.ledger.races.get("orb/r") is not None, (
        "a stale answer looks the same, and it may be recorded again"
    )
    clock.advance(seconds=1)
    follower.read(seen(FINISHED))
    assert follower.ledger.races.get("orb/r") is None
    follower.read(seen(FINISHED))
    assert follower.ledger.cases.get("orb/r") is not None, "it may be recorded again"


def test_a_withdrawal_survives_restarts(follower: Follower, clock: Clock) -> None:
    follower.read(seen(RECORDED))
    for _ in range(4):
        restarted = Follower(Settler(follower.ledger, Plans(SIMPLE)), clock)
        restarted.read(seen(FINISHED))
        clock.advance(minutes=21)
    assert follower.ledger.races.get("orb/r") is None


def test_record_that_reappears_restarts_the_hour(follower: Follower, clock: Clock) -> None:
    for shown in (RECORDED, FINISHED, RECORDED, FINISHED):
        follower.read(seen(shown))
        clock.advance(minutes=40)
    follower.read(seen(FINISHED))
    assert follower.ledger.races.get("orb/r") is not None


@pytest.mark.parametrize(
    "shown", [seen(NEVER), seen(status="cancelled", recordable=False)], ids=["do not record", "cancelled"]
)
def test_a_record_undone_for_good_is_withdrawn_from_the_ratings(
    follower: Follower, clock: Clock, shown: Race
) -> None:
    follower.read(seen(RECORDED))
    follower.read(shown)
    clock.advance(hours=2)
    follower.read(shown)
    assert follower.ledger.races.get("orb/r") is None
    assert follower.ledger.cases.get("orb/r") is None


# Races that come back

CANCELLED = seen(status="cancelled", recordable=False, ended_at=NOON, cancelled_at=NOON)


def test_undoing_do_not_record_announces_the_race_again(follower: Follower) -> None:
    follower.stands(FINISHED)
    (announced,) = deliver(follower)
    follower.frame(seen(NEVER))
    assert deliver(follower) == [DEFAULT_TEXTS.withdrawn]
    follower.read(seen(FINISHED))
    follower.stands(FINISHED)
    assert deliver(follower) == [announced], "the same result is no correction"
    follower.frame(seen(NEVER))
    assert deliver(follower) == [DEFAULT_TEXTS.withdrawn], "and is withdrawn again"


def test_a_race_that_comes_back_changed_is_announced_afresh(follower: Follower) -> None:
    follower.stands(FINISHED)
    deliver(follower)
    follower.frame(seen(NEVER))
    deliver(follower)
    follower.stands(SWAPPED)
    (row,) = follower.ledger.messages.open_for("orb/r")
    assert chat_body(row).correction == 0, "nothing stands that it could correct"


def test_a_cancelled_race_that_comes_back_is_announced_and_settled(follower: Follower) -> None:
    follower.frame(seen())
    follower.frame(CANCELLED)
    assert waiting(follower) == []
    follower.read(seen(FINISHED))
    follower.stands(FINISHED)
    assert deliver(follower) == [OPENING + CHANGES]
    follower.frame(seen(RECORDED))
    assert follower.ledger.races.get("orb/r") is not None
    assert kinds(follower) == ["meta", "info"]


def test_a_withdrawn_race_that_comes_back_is_announced_however_late(follower: Follower, clock: Clock) -> None:
    follower.stands(FINISHED)
    deliver(follower)
    follower.frame(seen(NEVER))
    deliver(follower)
    clock.advance(hours=30)
    follower.read(seen(FINISHED))
    assert follower.read(seen(FINISHED))
    follower.stands(FINISHED)
    assert len(waiting(follower)) == 1


def test_race_that_is_over_is_polled_less_and_less_often(follower: Follower, clock: Clock) -> None:
    follower.frame(CANCELLED)
    pauses = []
    for hours in (0, 5, 24, 24 * 7, 24 * 30):
        clock.now = NOON + timedelta(hours=hours)
        follower.looked("orb/r")
        pending = follower.ledger.cases.get("orb/r")
        assert pending is not None
        assert pending.over
        assert pending.next_look is not None
        pauses.append(pending.next_look - clock.now)
    assert pauses == sorted(pauses)
    assert pauses[0] >= timedelta(minutes=2)
    assert pauses[-1] <= timedelta(days=1)
    clock.now = NOON + timedelta(days=91)
    follower.looked("orb/r")
    assert follower.ledger.cases.get("orb/r") is None


@pytest.mark.parametrize(
    "race",
    [
        seen(status="cancelled", recordable=False, cancelled_at=NOON),
        seen(status="partitioned"),
        seen(replace(FINISHED, recordable=False, custom_goal=True), custom_goal=True),
    ],
    ids=["cancelled before the start", "partitioned", "custom goal"],
)
def test_a_race_that_cannot_come_back_is_forgotten(follower: Follower, race: Race) -> None:
    follower.frame(race)
    follower.frame(race)
    assert follower.ledger.cases.get(race.name) is None
    assert follower.ledger.cases.unfinished(CATEGORY) == []


def test_listed_race_that_is_over_is_not_kept_pending(follower: Follower) -> None:
    """The list keeps showing the race while the bot waits for a late record."""
    follower.read(seen(NEVER, None))
    assert follower.ledger.cases.get("orb/r") is None


@pytest.mark.parametrize("seen_first", [True, False])
def test_room_is_needed_only_if_the_result_differs_from_the_announcement(
    follower: Follower, *, seen_first: bool
) -> None:
    if seen_first:
        follower.stands(FINISHED)
        deliver(follower)
    else:
        follower.read(seen(FINISHED))
    assert not follower.read(seen(FINISHED))
    assert follower.read(seen(SWAPPED)) is seen_first


# Looking again


@pytest.mark.parametrize(
    ("age", "pause"),
    [
        (timedelta(minutes=5), timedelta(minutes=1)),
        (timedelta(hours=5, minutes=59), timedelta(minutes=1)),
        (timedelta(hours=6), timedelta(minutes=10)),
        (timedelta(hours=47, minutes=59), timedelta(minutes=10)),
        (timedelta(days=2), timedelta(hours=1)),
        (timedelta(days=13, hours=23), timedelta(hours=1)),
        (timedelta(days=14), timedelta(days=1)),
        (timedelta(days=89), timedelta(days=1)),
    ],
)
def test_older_races_are_polled_less_often(
    follower: Follower, clock: Clock, age: timedelta, pause: timedelta
) -> None:
    follower.read(seen(FINISHED))
    clock.now = NOON + age
    follower.looked("orb/r")
    pending = follower.ledger.cases.get("orb/r")
    assert pending is not None
    assert pending.next_look == NOON + age + pause


def test_a_room_that_is_gone_is_given_up_after_a_day(follower: Follower, clock: Clock) -> None:
    follower.stands(FINISHED)
    clock.now = NOON + timedelta(hours=23, minutes=59)
    follower.missing("orb/r")
    assert len(waiting(follower)) == 1, "a 404 may be temporary"
    clock.advance(minutes=1)
    follower.missing("orb/r")
    assert waiting(follower) == []
    assert follower.ledger.cases.get("orb/r") is None


def test_missing_room_is_polled_less_and_less_often(follower: Follower, clock: Clock) -> None:
    follower.read(seen(FINISHED))
    looks = 0
    while clock.now < NOON + timedelta(hours=6):
        pending = follower.ledger.cases.get("orb/r")
        assert pending is not None
        assert pending.next_look is not None
        clock.now = max(clock.now, pending.next_look)
        follower.missing("orb/r")
        looks += 1
    assert looks <= 15
    follower.looked("orb/r")
    pending = follower.ledger.cases.get("orb/r")
    assert pending is not None
    assert pending.misses == 0


def test_polling_an_unknown_race_changes_nothing(follower: Follower) -> None:
    before = dump(follower)
    follower.looked("orb/nosuch")
    follower.missing("orb/nosuch")
    assert dump(follower) == before


# Whole lives


def test_every_message_has_a_guid_that_the_site_accepts(follower: Follower) -> None:
    for shown in (FINISHED, SWAPPED, FINISHED):
        follower.stands(shown)
        deliver(follower)
    follower.frame(seen(RECORDED))
    guids = [row.message.guid for row in follower.ledger.messages.of("orb/r")]
    assert len(set(guids)) == len(guids) == 5
    assert all(set(guid) <= set("0123456789abcdefghijklmnopqrstuvwxyz-") for guid in guids)


def test_two_races_do_not_mix(follower: Follower) -> None:
    other = result("s", "bo ann", recorded=False)
    follower.stands(FINISHED)
    follower.stands(other)
    follower.going_on("orb/r")
    assert waiting(follower) == []
    assert len(waiting(follower, "orb/s")) == 1
    follower.frame(seen(replace(other, recorded=True)))
    assert follower.ledger.cases.get("orb/r") is not None


def test_a_race_settled_by_a_backfill_is_no_longer_pending(follower: Follower) -> None:
    follower.read(seen(FINISHED))
    follower.settler.add_past_races([RECORDED], "backfill")
    follower.read(seen(RECORDED))
    assert follower.ledger.cases.polled(CATEGORY) == []


def test_a_restart_remembers_announcements(follower: Follower, clock: Clock) -> None:
    follower.stands(FINISHED)
    deliver(follower)
    again = Follower(Settler(follower.ledger, Plans(SIMPLE)), clock)
    again.stands(FINISHED)
    assert waiting(follower) == []
    again.stands(SWAPPED)
    assert [text[:11] for text in waiting(follower)] == ["Correction:"]


def test_a_pending_race_of_an_earlier_run_is_settled(follower: Follower) -> None:
    follower.ledger.cases.save(CaseRow("orb/r", CATEGORY, NOON, NOON))
    race: RaceResult = RECORDED
    follower.read(seen(race))
    assert follower.ledger.cases.get("orb/r") is None
    assert kinds(follower) == ["meta", "info"]


def test_a_race_that_is_never_recorded_expires(follower: Follower, clock: Clock) -> None:
    follower.read(seen(FINISHED))
    clock.now = NOON + timedelta(days=91)
    follower.looked("orb/r")
    assert follower.ledger.cases.get("orb/r") is None


def test_an_unfinished_race_is_remembered_until_it_is_finished(follower: Follower) -> None:
    def unfinished() -> list[str]:
        return [row.race for row in follower.ledger.cases.unfinished(CATEGORY)]

    follower.frame(seen())
    assert unfinished() == ["orb/r"]
    follower.frame(seen(FINISHED))
    assert unfinished() == []
    follower.frame(replace(seen(), name="orb/s"))
    assert unfinished() == ["orb/s"]
    follower.frame(seen(replace(NEVER, name="orb/s")))
    assert unfinished() == []


def test_a_finish_message_marks_new_places_on_the_leaderboard(ledger: Ledger, clock: Clock) -> None:
    clock.advance(seconds=10)
    settler = Settler(ledger, Plans(SIMPLE))
    settler.add_past_races([result("before", "ann bo", after=-9)], "import")
    follower = Follower(settler, clock, style=Style(listing=lambda _: Listing()))
    follower.stands(result("r", "bo ann", recorded=False))
    (text,) = waiting(follower)
    assert re.findall("[▲▼] [0-9]", text) == ["▲ 1", "▼ 2"]


def test_buttons_of_a_message_are_those_of_a_leaderboard_with_changes(ledger: Ledger, clock: Clock) -> None:
    """A race can count on several leaderboards, and change nothing on the first."""
    plain, teams = (replace(SIMPLE, name=name, goals=("Any Orb",)) for name in ("No teams", "Teams"))
    plans = Plans(SIMPLE, named=(plain, replace(teams, teams=TeamPolicy.TEAM)))
    style = Style(buttons=lambda board, race: {board.name: {"url": race}})
    clock.advance(seconds=10)
    red, blue = (replace(each, team=each.name) for each in result("r", "ann bo").entrants)
    Follower(Settler(ledger, plans), clock, style=style).stands(replace(FINISHED, entrants=(red, blue)))
    (row,) = ledger.messages.open_for("orb/r")
    assert chat_body(row).buttons == {"Teams": {"url": "orb/r"}}


def test_two_bots_in_one_room_send_no_equal_guids(tmp_path: Path, clock: Clock) -> None:
    clock.advance(seconds=10)
    guids = []
    for bot in ("one", "two"):
        with Ledger.open(tmp_path / f"{bot}.db") as ledger:
            Follower(Settler(ledger, Plans(SIMPLE)), clock, style=Style(bot=bot)).stands(FINISHED)
            guids += [row.message.guid for row in ledger.messages.of("orb/r")]
    assert len(set(guids)) == 2


def test_a_recorded_race_stays_rated_when_its_goal_no_longer_counts(ledger: Ledger, clock: Clock) -> None:
    Follower(Settler(ledger, Plans(SIMPLE)), clock).read(seen(RECORDED))
    narrowed = Follower(Settler(ledger, Plans(SIMPLE, goals={CATEGORY: frozenset({"Other"})})), clock)
    for _ in range(3):
        narrowed.read(seen(RECORDED))
        clock.advance(hours=2)
    assert ledger.races.has("orb/r")
    assert ledger.cases.get("orb/r") is None


def test_a_renamed_goal_needs_no_correction(follower: Follower) -> None:
    follower.stands(FINISHED)
    deliver(follower)
    follower.stands(replace(FINISHED, goal="Any Orb, season 2"))
    assert waiting(follower) == []


def test_quiet_outlasts_the_end_of_a_race_that_cannot_come_back(follower: Follower) -> None:
    follower.frame(seen(status="open"))
    follower.on("orb/r", cases.QuietOrder(True, NOON))
    follower.frame(seen(status="cancelled", recordable=False, cancelled_at=NOON))
    row = follower.ledger.cases.get("orb/r")
    assert row is not None
    assert row.quiet
    assert follower.ledger.cases.unfinished(CATEGORY) == []
