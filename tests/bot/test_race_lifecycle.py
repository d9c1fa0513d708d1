from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from builders import CATEGORY, HOUR, NOON, Clock, chat_body, entrant, info_blocks, result, seen

from racebot.bot.race_lifecycle import Lifecycle
from racebot.chat.wording import DEFAULT_TEXTS
from racebot.ledger.orders import Order, OrderKind
from racebot.ledger.outbox import Delivery, Edit, MetaBody, MetaEntry
from racebot.ledger.pending_races import PendingRace
from racebot.ledger.store import Ledger
from racebot.queries.listing import Listing
from racebot.races.result import EntrantStatus, RaceResult
from racebot.racetime.payload import Race
from racebot.standings.counting import LeaderboardPlan, Plans
from racebot.standings.settle import Settler

SIMPLE = LeaderboardPlan("pairwise-elo", {"initial_rating": 1.0, "dummy": None, "rates": [0.2]})
FINISHED = result("r", "ann bo", dnf="cy", recorded=False)
RECORDED = replace(FINISHED, recorded=True)
SWAPPED = result("r", "bo ann", dnf="cy", recorded=False)
OPENING = "Ratings if recorded (Any Orb): "
CORRECTION = "Correction (result changed): "
# Of three equal players the first beats two (+0.2), the second beats one and loses to one.
ANN, BO, CY = "1 Ann 1200 (+200", "2 Bo 1000 (±0", "DNF Cy 800 (−200"
CHANGES = f"{ANN}, new) · {BO}, new) · {CY}, new)"


@pytest.fixture
def lifecycle(ledger: Ledger, clock: Clock) -> Lifecycle:
    clock.advance(seconds=10)
    return Lifecycle(Settler(ledger, Plans(SIMPLE)), clock)


def waiting(ledger: Ledger, name: str = "orb/r", kind: str = "chat") -> list[str]:
    """Return the texts of the waiting chat messages."""
    return [spaced(chat_body(row).text) for row in ledger.outbox.open_for(name) if row.message.kind == kind]


def spaced(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def kinds(ledger: Ledger, name: str = "orb/r") -> list[str]:
    return [row.message.kind for row in ledger.outbox.open_for(name)]


def deliver(ledger: Ledger, name: str = "orb/r", state: Delivery = Delivery.DELIVERED) -> list[str]:
    """Mark all open messages as delivered, and return the chat texts."""
    rows = ledger.outbox.open_for(name)
    for row in rows:
        ledger.outbox.mark(row, state, NOON)
    return [spaced(chat_body(row).text) for row in rows if row.message.kind == "chat"]


def dump(ledger: Ledger) -> list[str]:
    return list(ledger.db.conn.iterdump())


# Provisional


def test_a_result_that_stands_is_announced(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.result_stands(FINISHED)
    assert waiting(ledger) == [OPENING + CHANGES]
    assert ledger.pending.get("orb/r") is not None
    assert ledger.race("orb/r") is None, "it does not count yet"


def test_points_of_unranked_players_carry_a_question_mark_in_all_messages(
    ledger: Ledger, clock: Clock
) -> None:
    clock.advance(seconds=10)
    settler = Settler(ledger, Plans(SIMPLE))
    lifecycle = Lifecycle(settler, clock, listing=lambda _: Listing(minimum_finishes=1))
    lifecycle.result_stands(FINISHED)
    assert deliver(ledger) == [f"{OPENING}{ANN}, new) · {BO}, new) · DNF Cy 800? (−200, new)"]
    edited = result("r", "ann cy", dnf="bo", recorded=False)
    lifecycle.result_stands(edited)
    assert waiting(ledger) == [f"{CORRECTION}2 Cy 1000 (±0, new) · DNF Bo 800? (−200, new)"]
    lifecycle.observe(seen(replace(edited, recorded=True)), in_room=True)
    (block,) = [info_blocks(row) for row in ledger.outbox.of("orb/r") if row.message.kind == "info"]
    assert "2 Cy 1000 (" in spaced(block[0])
    assert "DNF Bo 800? (" in spaced(block[0])


def test_a_result_is_announced_once(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.result_stands(FINISHED)
    lifecycle.result_stands(FINISHED)
    assert len(deliver(ledger)) == 1
    before = dump(ledger)
    lifecycle.result_stands(FINISHED)
    assert dump(ledger) == before


def test_a_finished_race_is_pending_before_it_is_announced(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.observe(seen(FINISHED))
    before = dump(ledger)
    lifecycle.observe(seen(FINISHED))
    assert dump(ledger) == before
    pending = ledger.pending.get("orb/r")
    assert pending is not None
    assert (pending.category, pending.ended_at, pending.announced_key) == (CATEGORY, NOON, None)
    assert ledger.outbox.of("orb/r") == []


def test_an_old_result_is_not_announced(lifecycle: Lifecycle, ledger: Ledger, clock: Clock) -> None:
    """Its racers have left the room."""
    clock.now = NOON + timedelta(hours=1, seconds=1)
    lifecycle.result_stands(FINISHED)
    assert ledger.outbox.of("orb/r") == []
    assert ledger.pending.get("orb/r") is not None
    clock.now = NOON + timedelta(hours=1)
    lifecycle.result_stands(FINISHED)
    assert len(waiting(ledger)) == 1


def test_a_late_change_is_still_corrected(lifecycle: Lifecycle, ledger: Ledger, clock: Clock) -> None:
    lifecycle.result_stands(FINISHED)
    deliver(ledger)
    clock.advance(hours=30)
    lifecycle.result_stands(SWAPPED)
    assert [text[:11] for text in waiting(ledger)] == ["Correction "]


@pytest.mark.parametrize(
    "facts",
    [{"recordable": False}, {"custom_goal": True}, {"hidden": True}, {"goal": "No Orbs"}],
    ids=lambda f: next(iter(f)),
)
def test_a_race_that_never_counts_is_not_announced(
    ledger: Ledger, clock: Clock, facts: dict[str, Any]
) -> None:
    plans = Plans(SIMPLE, goals={CATEGORY: frozenset({"Any Orb"})})
    lifecycle = Lifecycle(Settler(ledger, plans), clock)
    before = dump(ledger)
    lifecycle.result_stands(replace(FINISHED, **facts))
    lifecycle.observe(seen(replace(FINISHED, **facts)))
    assert dump(ledger) == before


def test_a_bot_without_announcements_still_settles_races(ledger: Ledger, clock: Clock) -> None:
    lifecycle = Lifecycle(Settler(ledger, Plans(SIMPLE)), clock, announce=False)
    lifecycle.observe(seen(FINISHED))
    lifecycle.result_stands(FINISHED)
    assert ledger.outbox.of("orb/r") == []
    assert ledger.pending.get("orb/r") is not None
    lifecycle.observe(seen(RECORDED), in_room=True)
    assert ledger.race("orb/r") is not None
    assert "chat" not in kinds(ledger)


def test_a_race_that_changes_nothing_is_not_announced(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.result_stands(result("r", "ann", recorded=False))
    assert ledger.outbox.of("orb/r") == []


def test_message_of_a_team_race_is_sent_once(lifecycle: Lifecycle, ledger: Ledger) -> None:
    teams = replace(FINISHED, entrants=tuple(replace(e, team="red") for e in FINISHED.entrants))
    lifecycle.result_stands(teams)
    assert deliver(ledger) == ["Team races are not rated (Any Orb)."]
    lifecycle.result_stands(replace(teams, entrants=teams.entrants[::-1]))
    lifecycle.result_stands(replace(teams, entrants=teams.entrants[:2]))
    assert waiting(ledger) == []


def test_settled_race_is_no_longer_announced(lifecycle: Lifecycle, ledger: Ledger) -> None:
    """The list of past races may show the record before the room does."""
    lifecycle.observe(seen(RECORDED))
    lifecycle.result_stands(FINISHED)
    assert ledger.outbox.of("orb/r") == []
    assert ledger.pending.get("orb/r") is None


# Corrections


def test_a_new_order_is_corrected(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.result_stands(FINISHED)
    deliver(ledger)
    lifecycle.result_stands(SWAPPED)
    (text,) = deliver(ledger)
    assert text.startswith(f"{CORRECTION}1 Bo 1200")
    lifecycle.result_stands(FINISHED)
    (text,) = deliver(ledger)
    assert text.startswith(f"{CORRECTION}1 Ann 1200")


def test_a_finisher_who_is_disqualified_is_corrected(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.result_stands(FINISHED)
    deliver(ledger)
    lifecycle.result_stands(result("r", "bo", dnf="cy", dq="ann", recorded=False))
    (text,) = waiting(ledger)
    assert text.startswith("Correction ")
    assert "DQ Ann 900" in text


def test_an_edit_that_changes_no_rating_is_not_corrected(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.result_stands(FINISHED)
    deliver(ledger)
    ann, bo, cy = FINISHED.entrants
    for entrants in (
        (ann, bo, entrant("cy", "dq", HOUR)),
        (replace(ann, finish_time=HOUR - 1), bo, cy),
        (replace(ann, name="Anna"), bo, cy),
        (cy, bo, ann),
    ):
        lifecycle.result_stands(replace(FINISHED, entrants=entrants))
    assert waiting(ledger) == []


def test_another_races_changes_need_no_correction(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.result_stands(FINISHED)
    deliver(ledger)
    lifecycle.observe(seen(result("other", "cy bo ann")))
    lifecycle.result_stands(FINISHED)
    assert waiting(ledger) == []


def test_a_correction_after_another_race_uses_current_ratings(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.result_stands(FINISHED)
    deliver(ledger)
    lifecycle.observe(seen(result("other", "cy bo ann")))
    lifecycle.result_stands(SWAPPED)
    (text,) = waiting(ledger)
    assert "Bo 1200" in text
    assert "Ann 830" in text
    assert "new" not in text


def test_change_before_the_announcement_needs_no_correction(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.result_stands(FINISHED)
    lifecycle.result_stands(SWAPPED)
    (text,) = waiting(ledger)
    assert text.startswith(f"{OPENING}1 Bo")


def test_a_change_that_is_reverted_before_the_announcement_leaves_one_message(
    lifecycle: Lifecycle, ledger: Ledger
) -> None:
    """As during a lost connection: only the final result must be announced."""
    for shown in (FINISHED, SWAPPED, FINISHED):
        lifecycle.result_stands(shown)
    (text,) = waiting(ledger)
    assert text.startswith(f"{OPENING}1 Ann")


def test_reverted_result_before_its_correction_is_sent_needs_no_correction(
    lifecycle: Lifecycle, ledger: Ledger
) -> None:
    lifecycle.result_stands(FINISHED)
    deliver(ledger)
    lifecycle.result_stands(SWAPPED)
    lifecycle.result_stands(FINISHED)
    assert waiting(ledger) == []
    lifecycle.result_stands(SWAPPED)
    assert [text[:14] for text in waiting(ledger)] == ["Correction (re"]


def test_a_correction_lists_the_edits(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.result_stands(FINISHED)
    deliver(ledger)
    ann, bo, cy = FINISHED.entrants
    edited = replace(
        FINISHED, entrants=(replace(ann, status=EntrantStatus.DQ), replace(bo, finish_time=HOUR // 2), cy)
    )
    lifecycle.result_stands(edited, FINISHED)
    (row,) = ledger.outbox.open_for("orb/r")
    assert chat_body(row).edits == (Edit("id-ann", "dq"), Edit("id-bo", "time"))


def test_a_sent_message_counts_as_delivered(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.result_stands(FINISHED)
    deliver(ledger, state=Delivery.SENT)
    lifecycle.result_stands(SWAPPED)
    assert [text[:7] for text in waiting(ledger)] == [OPENING[:7], "Correct"]


def test_nothing_is_left_to_change_after_a_correction(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.result_stands(FINISHED)
    deliver(ledger)
    lifecycle.result_stands(result("r", dnf="ann cy", dq="bo", recorded=False))
    assert waiting(ledger) == [f"{CORRECTION}no rating changes"]


# Taken back


def test_a_result_taken_back_before_its_announcement_is_dropped(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.result_stands(FINISHED)
    lifecycle.taken_back("orb/r")
    assert waiting(ledger) == []
    lifecycle.result_stands(SWAPPED)
    (text,) = waiting(ledger)
    assert text.startswith(f"{OPENING}1 Bo"), "and the next one is no correction"


def test_a_dropped_result_that_returns_is_announced(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.result_stands(FINISHED)
    lifecycle.taken_back("orb/r")
    lifecycle.result_stands(FINISHED)
    (text,) = waiting(ledger)
    assert text.startswith(f"{OPENING}1 Ann")


def test_a_result_taken_back_after_its_announcement_is_repeated_only_if_changed(
    lifecycle: Lifecycle, ledger: Ledger
) -> None:
    lifecycle.result_stands(FINISHED)
    deliver(ledger)
    lifecycle.taken_back("orb/r")
    lifecycle.result_stands(FINISHED)
    assert waiting(ledger) == [], "the earlier announcement holds again"
    lifecycle.taken_back("orb/r")
    lifecycle.result_stands(SWAPPED)
    assert [text[:11] for text in waiting(ledger)] == ["Correction "]


def test_a_dropped_correction_that_returns_is_announced(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.result_stands(FINISHED)
    deliver(ledger)
    lifecycle.result_stands(SWAPPED)
    lifecycle.taken_back("orb/r")
    assert waiting(ledger) == []
    lifecycle.result_stands(SWAPPED)
    (text,) = waiting(ledger)
    assert text.startswith("Correction ")
    assert ": 1 Bo " in text


def test_a_half_sent_announcement_is_completed(ledger: Ledger, clock: Clock) -> None:
    many = " ".join(f"player-{n:02}-{'x' * 15}" for n in range(40))
    finished = result("r", many, recorded=False)
    lifecycle = Lifecycle(Settler(ledger, Plans(SIMPLE)), clock)
    lifecycle.result_stands(finished)
    first, _ = ledger.outbox.open_for("orb/r")
    ledger.outbox.mark(first, Delivery.DELIVERED, NOON)
    lifecycle.taken_back("orb/r")
    (text,) = deliver(ledger)
    assert text.startswith("… ")
    lifecycle.result_stands(finished)
    assert waiting(ledger) == []


def test_taking_back_an_unknown_race_changes_nothing(lifecycle: Lifecycle, ledger: Ledger) -> None:
    before = dump(ledger)
    lifecycle.taken_back("orb/nosuch")
    assert dump(ledger) == before


# Recorded


def test_final_changes_go_to_meta_and_info(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.result_stands(FINISHED)
    deliver(ledger)
    lifecycle.observe(seen(RECORDED), in_room=True)
    meta, info = ledger.outbox.open_for("orb/r")
    assert (meta.message.kind, info.message.kind) == ("meta", "info")
    changes = {"id-ann": (1000, 1200), "id-bo": (1000, 1000), "id-cy": (1000, 800)}
    assert meta.message.body == MetaBody((MetaEntry("Any Orb", "pairwise-elo", changes),))
    assert [spaced(block) for block in info_blocks(info)] == [f"Ratings by racebot (Any Orb): {CHANGES}"]
    assert ledger.pending.get("orb/r") is None
    stored = ledger.race("orb/r")
    assert stored is not None
    assert stored.source == "live"


def test_final_changes_leave_hidden_players_out(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.result_stands(FINISHED)
    deliver(ledger)
    ledger.orders.add(Order(NOON, OrderKind.HIDE, "id-bo", None, ""))
    lifecycle.observe(seen(RECORDED), in_room=True)
    meta, info = ledger.outbox.open_for("orb/r")
    assert isinstance(meta.message.body, MetaBody)
    assert list(meta.message.body.leaderboards[0].changes) == ["id-ann", "id-cy"]
    assert "Bo" not in info_blocks(info)[0]


def test_a_record_is_settled_once(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.observe(seen(RECORDED), in_room=True)
    before = dump(ledger)
    lifecycle.observe(seen(RECORDED), in_room=True)
    lifecycle.observe(seen(RECORDED))
    lifecycle.observe(seen(FINISHED))
    lifecycle.observe(seen(RECORDED))
    assert dump(ledger) == before


def test_announcements_not_sent_before_the_record_are_dropped(lifecycle: Lifecycle, ledger: Ledger) -> None:
    """Chat closes at the very moment of the record."""
    lifecycle.result_stands(FINISHED)
    lifecycle.observe(seen(RECORDED), in_room=True)
    assert kinds(ledger) == ["meta", "info"]


def test_a_listed_race_that_was_never_watched_gets_no_messages(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.observe(seen(RECORDED, None))
    assert ledger.race("orb/r") is not None
    assert ledger.outbox.of("orb/r") == []


def test_a_pending_race_recorded_unwatched_gets_its_final_changes(
    lifecycle: Lifecycle, ledger: Ledger, clock: Clock
) -> None:
    lifecycle.observe(seen(FINISHED))
    clock.advance(days=3)
    lifecycle.observe(seen(RECORDED, None))
    assert kinds(ledger) == ["meta", "info"]


def test_a_race_without_changes_gets_no_final_messages(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.observe(seen(result("r", "ann")), in_room=True)
    assert ledger.race("orb/r") is not None
    assert ledger.outbox.of("orb/r") == []


def test_a_watched_race_that_ended_unseen_gets_its_final_changes(
    lifecycle: Lifecycle, ledger: Ledger
) -> None:
    """The list of past races shows its end before the bot rejoins the room."""
    lifecycle.joined(replace(seen(FINISHED), status="in_progress", result=None))
    lifecycle.observe(seen(RECORDED))
    assert kinds(ledger) == ["meta", "info"]


def test_a_changed_record_corrects_the_final_changes(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.observe(seen(RECORDED), in_room=True)
    deliver(ledger)
    lifecycle.observe(seen(replace(SWAPPED, recorded=True), None))
    assert kinds(ledger) == ["meta", "info"]
    (meta, _) = ledger.outbox.open_for("orb/r")
    assert isinstance(meta.message.body, MetaBody)
    assert meta.message.body.leaderboards[0].changes["id-bo"] == (1000, 1200)
    deliver(ledger)
    lifecycle.observe(seen(RECORDED, None))
    assert kinds(ledger) == ["meta", "info"], "also when it changes back"


# Never recorded

NEVER = replace(FINISHED, recordable=False)


def test_an_announcement_is_withdrawn_once(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.result_stands(FINISHED)
    deliver(ledger)
    lifecycle.observe(seen(NEVER))
    assert waiting(ledger) == [DEFAULT_TEXTS.withdrawn]
    lifecycle.observe(seen(NEVER))
    lifecycle.over(seen(NEVER), in_room=True)
    assert waiting(ledger) == [DEFAULT_TEXTS.withdrawn], "once"


def test_a_race_without_an_announcement_needs_no_withdrawal(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.result_stands(FINISHED)
    lifecycle.observe(seen(NEVER))
    assert waiting(ledger) == []


def test_an_unknown_race_that_is_over_changes_nothing(lifecycle: Lifecycle, ledger: Ledger) -> None:
    before = dump(ledger)
    lifecycle.observe(seen(NEVER))
    lifecycle.observe(seen(status="cancelled", recordable=False))
    assert dump(ledger) == before


def test_a_cancelled_race_is_withdrawn_too(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.result_stands(FINISHED)
    deliver(ledger)
    lifecycle.observe(seen(status="cancelled", recordable=False))
    assert waiting(ledger) == [DEFAULT_TEXTS.withdrawn]


# Records that are undone


def test_a_stale_answer_does_not_withdraw_twice(lifecycle: Lifecycle, ledger: Ledger) -> None:
    over = replace(seen(FINISHED), recordable=False)
    lifecycle.result_stands(FINISHED)
    deliver(ledger)
    lifecycle.observe(over)
    assert deliver(ledger) == [DEFAULT_TEXTS.withdrawn]
    lifecycle.observe(seen(FINISHED))
    lifecycle.observe(over)
    assert waiting(ledger) == []


def test_a_record_that_is_gone_for_an_hour_is_withdrawn_from_the_ratings(
    lifecycle: Lifecycle, ledger: Ledger, clock: Clock
) -> None:
    lifecycle.observe(seen(RECORDED))
    clock.advance(days=1)
    lifecycle.observe(seen(FINISHED))
    clock.advance(hours=1)
    lifecycle.observe(seen(FINISHED))
    assert ledger.race("orb/r") is not None, "a stale answer looks the same, and it may be recorded again"
    clock.advance(seconds=1)
    lifecycle.observe(seen(FINISHED))
    assert ledger.race("orb/r") is None
    lifecycle.observe(seen(FINISHED))
    assert ledger.pending.get("orb/r") is not None, "it may be recorded again"


def test_a_withdrawal_survives_restarts(lifecycle: Lifecycle, ledger: Ledger, clock: Clock) -> None:
    lifecycle.observe(seen(RECORDED))
    for _ in range(4):
        restarted = Lifecycle(Settler(ledger, Plans(SIMPLE)), clock)
        restarted.observe(seen(FINISHED))
        clock.advance(minutes=21)
    assert ledger.race("orb/r") is None


def test_record_that_reappears_restarts_the_hour(lifecycle: Lifecycle, ledger: Ledger, clock: Clock) -> None:
    for shown in (RECORDED, FINISHED, RECORDED, FINISHED):
        lifecycle.observe(seen(shown))
        clock.advance(minutes=40)
    lifecycle.observe(seen(FINISHED))
    assert ledger.race("orb/r") is not None


@pytest.mark.parametrize(
    "shown", [seen(NEVER), seen(status="cancelled", recordable=False)], ids=["do not record", "cancelled"]
)
def test_a_record_undone_for_good_is_withdrawn_from_the_ratings(
    lifecycle: Lifecycle, ledger: Ledger, clock: Clock, shown: Race
) -> None:
    lifecycle.observe(seen(RECORDED))
    lifecycle.observe(shown)
    clock.advance(hours=2)
    lifecycle.observe(shown)
    assert ledger.race("orb/r") is None
    assert ledger.pending.get("orb/r") is None


# Races that come back

CANCELLED = seen(status="cancelled", recordable=False, ended_at=NOON, cancelled_at=NOON)


def test_undoing_do_not_record_announces_the_race_again(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.result_stands(FINISHED)
    (announced,) = deliver(ledger)
    lifecycle.observe(seen(NEVER), in_room=True)
    assert deliver(ledger) == [DEFAULT_TEXTS.withdrawn]
    lifecycle.observe(seen(FINISHED))
    lifecycle.result_stands(FINISHED)
    assert deliver(ledger) == [announced], "the same result is no correction"
    lifecycle.observe(seen(NEVER), in_room=True)
    assert deliver(ledger) == [DEFAULT_TEXTS.withdrawn], "and is withdrawn again"


def test_a_race_that_comes_back_changed_is_announced_afresh(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.result_stands(FINISHED)
    deliver(ledger)
    lifecycle.observe(seen(NEVER), in_room=True)
    deliver(ledger)
    lifecycle.result_stands(SWAPPED)
    (row,) = ledger.outbox.open_for("orb/r")
    assert chat_body(row).correction == 0, "nothing stands that it could correct"


def test_a_cancelled_race_that_comes_back_is_announced_and_settled(
    lifecycle: Lifecycle, ledger: Ledger
) -> None:
    lifecycle.joined(seen())
    lifecycle.observe(CANCELLED, in_room=True)
    assert waiting(ledger) == []
    lifecycle.observe(seen(FINISHED))
    lifecycle.result_stands(FINISHED)
    assert deliver(ledger) == [OPENING + CHANGES]
    lifecycle.observe(seen(RECORDED), in_room=True)
    assert ledger.race("orb/r") is not None
    assert kinds(ledger) == ["meta", "info"]


def test_a_withdrawn_race_that_comes_back_is_announced_however_late(
    lifecycle: Lifecycle, ledger: Ledger, clock: Clock
) -> None:
    lifecycle.result_stands(FINISHED)
    deliver(ledger)
    lifecycle.observe(seen(NEVER), in_room=True)
    deliver(ledger)
    clock.advance(hours=30)
    lifecycle.observe(seen(FINISHED))
    assert lifecycle.needs_room(FINISHED)
    lifecycle.result_stands(FINISHED)
    assert len(waiting(ledger)) == 1


def test_race_that_is_over_is_polled_less_and_less_often(
    lifecycle: Lifecycle, ledger: Ledger, clock: Clock
) -> None:
    lifecycle.observe(CANCELLED, in_room=True)
    pauses = []
    for hours in (0, 5, 24, 24 * 7, 24 * 30):
        clock.now = NOON + timedelta(hours=hours)
        lifecycle.looked_at("orb/r")
        pending = ledger.pending.get("orb/r")
        assert pending is not None
        assert pending.over
        pauses.append(pending.next_look - clock.now)
    assert pauses == sorted(pauses)
    assert pauses[0] >= timedelta(minutes=2)
    assert pauses[-1] <= timedelta(days=1)
    clock.now = NOON + timedelta(days=91)
    lifecycle.looked_at("orb/r")
    assert ledger.pending.get("orb/r") is None


@pytest.mark.parametrize(
    "race",
    [
        seen(status="cancelled", recordable=False, cancelled_at=NOON),
        seen(status="partitioned"),
        seen(replace(FINISHED, recordable=False, custom_goal=True), custom_goal=True),
    ],
    ids=["cancelled before the start", "partitioned", "custom goal"],
)
def test_a_race_that_cannot_come_back_is_forgotten(lifecycle: Lifecycle, ledger: Ledger, race: Race) -> None:
    lifecycle.joined(race)
    lifecycle.observe(race, in_room=True)
    assert ledger.pending.get(race.name) is None
    assert ledger.pending.joined(CATEGORY) == []


def test_listed_race_that_is_over_is_not_kept_pending(lifecycle: Lifecycle, ledger: Ledger) -> None:
    """The list keeps showing the race while the bot waits for a late record."""
    lifecycle.observe(seen(NEVER, None))
    assert ledger.pending.get("orb/r") is None


@pytest.mark.parametrize("seen_first", [True, False])
def test_room_is_needed_only_if_the_result_differs_from_the_announcement(
    lifecycle: Lifecycle, ledger: Ledger, *, seen_first: bool
) -> None:
    if seen_first:
        lifecycle.result_stands(FINISHED)
        deliver(ledger)
    else:
        lifecycle.observe(seen(FINISHED))
    assert not lifecycle.needs_room(FINISHED)
    assert lifecycle.needs_room(SWAPPED) is seen_first


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
    lifecycle: Lifecycle, ledger: Ledger, clock: Clock, age: timedelta, pause: timedelta
) -> None:
    lifecycle.observe(seen(FINISHED))
    clock.now = NOON + age
    lifecycle.looked_at("orb/r")
    pending = ledger.pending.get("orb/r")
    assert pending is not None
    assert pending.next_look == NOON + age + pause


def test_a_room_that_is_gone_is_given_up_after_a_day(
    lifecycle: Lifecycle, ledger: Ledger, clock: Clock
) -> None:
    lifecycle.result_stands(FINISHED)
    clock.now = NOON + timedelta(hours=23, minutes=59)
    lifecycle.vanished("orb/r")
    assert len(waiting(ledger)) == 1, "a 404 may be temporary"
    clock.advance(minutes=1)
    lifecycle.vanished("orb/r")
    assert waiting(ledger) == []
    assert ledger.pending.get("orb/r") is None


def test_missing_room_is_polled_less_and_less_often(
    lifecycle: Lifecycle, ledger: Ledger, clock: Clock
) -> None:
    lifecycle.observe(seen(FINISHED))
    looks = 0
    while clock.now < NOON + timedelta(hours=6):
        pending = ledger.pending.get("orb/r")
        assert pending is not None
        clock.now = max(clock.now, pending.next_look)
        lifecycle.vanished("orb/r")
        looks += 1
    assert looks <= 15
    lifecycle.looked_at("orb/r")
    pending = ledger.pending.get("orb/r")
    assert pending is not None
    assert pending.misses == 0


def test_polling_an_unknown_race_changes_nothing(lifecycle: Lifecycle, ledger: Ledger) -> None:
    before = dump(ledger)
    lifecycle.looked_at("orb/nosuch")
    lifecycle.vanished("orb/nosuch")
    assert dump(ledger) == before


# Whole lives


def test_every_message_has_a_guid_that_the_site_accepts(lifecycle: Lifecycle, ledger: Ledger) -> None:
    for shown in (FINISHED, SWAPPED, FINISHED):
        lifecycle.result_stands(shown)
        deliver(ledger)
    lifecycle.observe(seen(RECORDED), in_room=True)
    guids = [row.message.guid for row in ledger.outbox.of("orb/r")]
    assert len(set(guids)) == len(guids) == 5
    assert all(set(guid) <= set("0123456789abcdefghijklmnopqrstuvwxyz-") for guid in guids)


def test_two_races_do_not_mix(lifecycle: Lifecycle, ledger: Ledger) -> None:
    other = result("s", "bo ann", recorded=False)
    lifecycle.result_stands(FINISHED)
    lifecycle.result_stands(other)
    lifecycle.taken_back("orb/r")
    assert waiting(ledger) == []
    assert len(waiting(ledger, "orb/s")) == 1
    lifecycle.observe(seen(replace(other, recorded=True)), in_room=True)
    assert ledger.pending.get("orb/r") is not None


def test_a_race_settled_by_a_backfill_is_no_longer_pending(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.observe(seen(FINISHED))
    lifecycle.settler.merge([RECORDED], "backfill")
    lifecycle.observe(seen(RECORDED))
    assert ledger.pending.all(CATEGORY) == []


def test_a_restart_remembers_announcements(lifecycle: Lifecycle, ledger: Ledger, clock: Clock) -> None:
    lifecycle.result_stands(FINISHED)
    deliver(ledger)
    again = Lifecycle(Settler(ledger, Plans(SIMPLE)), clock)
    again.result_stands(FINISHED)
    assert waiting(ledger) == []
    again.result_stands(SWAPPED)
    assert [text[:11] for text in waiting(ledger)] == ["Correction "]


def test_a_pending_race_of_an_earlier_run_is_settled(lifecycle: Lifecycle, ledger: Ledger) -> None:
    ledger.pending.save(PendingRace("orb/r", CATEGORY, NOON, NOON, announced_key="x", corrections=2))
    race: RaceResult = RECORDED
    lifecycle.observe(seen(race))
    assert ledger.pending.get("orb/r") is None
    assert kinds(ledger) == ["meta", "info"]


def test_a_race_that_is_never_recorded_expires(lifecycle: Lifecycle, ledger: Ledger, clock: Clock) -> None:
    lifecycle.observe(seen(FINISHED))
    clock.now = NOON + timedelta(days=91)
    lifecycle.looked_at("orb/r")
    assert ledger.pending.get("orb/r") is None


def test_an_unfinished_race_is_remembered_until_it_is_finished(lifecycle: Lifecycle, ledger: Ledger) -> None:
    lifecycle.joined(seen(FINISHED))
    assert ledger.pending.joined("orb") == ["orb/r"]
    lifecycle.observe(seen(FINISHED))
    assert ledger.pending.joined("orb") == []
    lifecycle.joined(seen(FINISHED))
    lifecycle.over(seen(NEVER))
    assert ledger.pending.joined("orb") == []


def test_a_finish_message_marks_new_places_on_the_leaderboard(ledger: Ledger, clock: Clock) -> None:
    clock.advance(seconds=10)
    settler = Settler(ledger, Plans(SIMPLE))
    settler.merge([result("before", "ann bo", after=-9)], "import")
    lifecycle = Lifecycle(settler, clock, listing=lambda _: Listing())
    lifecycle.result_stands(result("r", "bo ann", recorded=False))
    (text,) = waiting(ledger)
    assert re.findall("[▲▼] [0-9]", text) == ["▲ 1", "▼ 2"]
