import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from builders import (
    CATEGORY,
    HOUR,
    NOON,
    Clock,
    chat_body,
    dump,
    entrant,
    existing,
    info_blocks,
    result,
    seen,
    settler_of,
)
from room_support import NAME, Follower
from worker_support import spaced

from racebot.bot.room import events as cases
from racebot.bot.room.events import Signal, poll_pause
from racebot.ledger.orders import Order, OrderKind
from racebot.ledger.outbox import CaseRow, Delivery, Edit, MetaBody, MetaEntry
from racebot.ledger.store import Ledger
from racebot.races.outcome import TeamPolicy
from racebot.races.result import EntrantStatus
from racebot.racetime.payload import Race
from racebot.settings.texts import DEFAULT_TEXTS
from racebot.standings import rebuild
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.settle import Settler

SIMPLE = LeaderboardConfig("pairwise-elo", {"initial_rating": 1.0, "dummy": None, "rates": [0.2]})
FINISHED = result("r", "ann bo", dnf="cy", recorded=False)
RECORDED = replace(FINISHED, recorded=True)
SWAPPED = result("r", "bo ann", dnf="cy", recorded=False)
NEVER = replace(FINISHED, recordable=False)
CANCELLED = seen(status="cancelled", recordable=False, ended_at=NOON, cancelled_at=NOON)
OPENING = "Ratings if recorded (Any Orb): "
# Of three equal players the first beats two (+0.2), the second beats one and loses to one.
ANN, BO, CY = "1 Ann 1200 (+200", "2 Bo 1000 (±0", "DNF Cy 800 (−200"
CHANGES = f"{ANN}, new) · {BO}, new) · {CY}, new)"

Following = Callable[..., Follower]


@pytest.fixture
def following(ledger: Ledger, clock: Clock) -> Following:
    """Return a function that makes a follower with these rules and options."""
    clock.advance(seconds=10)

    def make(rules: RatingRules | None = None, **options: Any) -> Follower:
        return Follower(Settler(ledger, rules or RatingRules(SIMPLE)), clock, **options)

    return make


@pytest.fixture
def follower(following: Following) -> Follower:
    return following()


def waiting(follower: Follower, name: str = NAME) -> list[str]:
    """Return the waiting chat messages, without the edits that a correction names."""
    return [re.sub(r"^Correction \([^)]*\): ", "Correction: ", text) for text in follower.waiting(name)]


def kinds(follower: Follower) -> list[str]:
    return [row.message.kind for row in follower.ledger.messages.open_for(NAME)]


def is_settled(follower: Follower) -> bool:
    return follower.ledger.races.has(NAME)


# Announcements and corrections

TRANSCRIPTS = {
    "a result that stands": ("ann", ["announced: Ann"]),
    "the same result once more": ("ann ann", ["announced: Ann"]),
    "the same result after its announcement": ("ann sent ann", []),
    "a new order": ("ann sent bo", ["corrected: Bo"]),
    "the old order again": ("ann sent bo sent ann", ["corrected: Ann"]),
    "a change before the announcement": ("ann bo", ["announced: Bo"]),
    "a change that is reverted before the announcement": ("ann bo ann", ["announced: Ann"]),
    "a change that is reverted before its correction": ("ann sent bo ann", []),
    "a change that comes back after that": ("ann sent bo ann bo", ["corrected: Bo"]),
    "a result taken back before its announcement": ("ann goes-on", []),
    "another one after that": ("ann goes-on bo", ["announced: Bo"]),
    "the same one after that": ("ann goes-on ann", ["announced: Ann"]),
    "a result that returns, so that its announcement holds": ("ann sent goes-on ann", []),
    "another result after one that was announced and taken back": ("ann sent goes-on bo", ["corrected: Bo"]),
    "a change taken back before its correction": ("ann sent bo goes-on", []),
    "the same change after that": ("ann sent bo goes-on bo", ["corrected: Bo"]),
    "a race that does not count any more": ("ann sent over over", ["withdrawn"]),
    "a race that is cancelled": ("ann sent cancelled", ["withdrawn"]),
    "a race that does not count any more before its announcement": ("ann over", []),
    "a race that counts again": ("ann sent over sent ann", ["announced: Ann"]),
    "a race that counts again with another result": ("ann sent over sent bo", ["announced: Bo"]),
    "a race that stops to count again": ("ann sent over sent ann sent over", ["withdrawn"]),
    "a withdrawn race that comes back a day later": (
        "ann sent over sent day-later ann",
        ["announced: Ann"],
    ),
    "a withdrawn race that seems to count for a moment": ("ann sent over sent ann over", []),
    "a cancelled race that comes back": ("goes-on cancelled ann", ["announced: Ann"]),
    "a restart": ("ann sent restart ann", []),
    "a change after a restart": ("ann sent restart bo", ["corrected: Bo"]),
    "a change thirty hours after its announcement": ("ann sent day-later bo", ["corrected: Bo"]),
    "quiet before the announcement is sent": ("ann quiet", []),
    "quiet that ends": ("ann quiet loud", ["announced: Ann"]),
    "a message that the site has not confirmed": ("ann unconfirmed bo", ["announced: Ann", "corrected: Bo"]),
    "a disqualified winner": ("ann sent ann-dq", ["corrected: Bo"]),
    "a record before the announcement, which closes chat": ("ann record", []),
    "a result after its record": ("polled-record ann", []),
}


def opening(text: str) -> str:
    if text == DEFAULT_TEXTS.withdrawn:
        return "withdrawn"
    first = re.search(r"\): 1 (\w+)", text)
    return f"{'corrected' if text.startswith('Correction') else 'announced'}: {first[1] if first else ''}"


@pytest.mark.parametrize(("events", "expected"), TRANSCRIPTS.values(), ids=TRANSCRIPTS)
def test_chat_hears_changes_once(
    following: Following, clock: Clock, events: str, expected: list[str]
) -> None:
    follower = following()
    for event in events.split():
        match event:
            case "ann" | "bo":
                follower.show_final(FINISHED if event == "ann" else SWAPPED)
            case "ann-dq":
                follower.show_final(result("r", "bo", dnf="cy", dq="ann", recorded=False))
            case "sent":
                follower.deliver()
            case "unconfirmed":
                follower.deliver(state=Delivery.SENT)
            case "day-later":
                clock.advance(hours=30)
            case "quiet" | "loud":
                follower.on(NAME, cases.QuietOrder(event == "quiet", NOON))
            case "goes-on":
                follower.frame(seen())
            case "over":
                follower.frame(seen(NEVER))
            case "cancelled":
                follower.frame(CANCELLED)
            case "record":
                follower.frame(seen(RECORDED))
            case "polled-record":
                follower.read(seen(RECORDED, None))
            case "restart":
                follower = following()
    assert [opening(text) for text in follower.waiting()] == expected


def test_an_announcement_names_all_changes_and_settles_nothing(follower: Follower) -> None:
    follower.show_final(FINISHED)
    assert waiting(follower) == [OPENING + CHANGES]
    assert follower.is_followed()
    assert not is_settled(follower)
    follower.deliver()
    before = dump(follower.ledger)
    follower.show_final(FINISHED)
    assert dump(follower.ledger) == before


def test_an_old_result_is_not_announced(follower: Follower, clock: Clock) -> None:
    """Its racers have left the room."""
    clock.now = NOON + timedelta(hours=1, seconds=1)
    follower.show_final(FINISHED)
    assert follower.ledger.messages.of(NAME) == []
    assert follower.is_followed()
    clock.now = NOON + timedelta(hours=1)
    follower.show_final(replace(FINISHED, name="orb/s"))
    assert len(waiting(follower, "orb/s")) == 1


@pytest.mark.parametrize(
    "facts",
    [{"recordable": False}, {"custom_goal": True}, {"hidden": True}, {"goal": "No Orbs"}],
    ids=lambda facts: next(iter(facts)),
)
def test_a_race_that_never_counts_is_not_announced(following: Following, facts: dict[str, Any]) -> None:
    follower = following(RatingRules(SIMPLE, goals={CATEGORY: frozenset({"Any Orb"})}))
    before = dump(follower.ledger)
    follower.read(seen(replace(FINISHED, **facts)))
    assert dump(follower.ledger) == before
    follower.show_final(replace(FINISHED, **facts))
    assert follower.ledger.messages.of(NAME) == []


def test_a_bot_without_announcements_still_settles_races(following: Following) -> None:
    follower = following(announce=False)
    follower.read(seen(FINISHED))
    follower.show_final(FINISHED)
    assert follower.ledger.messages.of(NAME) == []
    assert follower.is_followed()
    follower.frame(seen(RECORDED))
    assert is_settled(follower)
    assert "chat" not in kinds(follower)


def test_a_race_that_changes_nothing_gets_no_messages(follower: Follower) -> None:
    follower.show_final(result("r", "ann", recorded=False))
    follower.frame(seen(result("r", "ann")))
    assert is_settled(follower)
    assert follower.ledger.messages.of(NAME) == []


def test_message_of_a_team_race_is_sent_once(follower: Follower) -> None:
    teams = replace(FINISHED, entrants=tuple(replace(e, team="red") for e in FINISHED.entrants))
    assert follower.announce(teams) == ["Team races are not rated (Any Orb)."]
    follower.show_final(replace(teams, entrants=teams.entrants[::-1]))
    follower.show_final(replace(teams, entrants=teams.entrants[:2]))
    follower.frame(seen(replace(teams, recordable=False)))
    assert waiting(follower) == [], "nothing is withdrawn"


def test_an_edit_that_changes_no_rating_is_not_corrected(follower: Follower) -> None:
    follower.announce(FINISHED)
    ann, bo, cy = FINISHED.entrants
    for entrants in (
        (ann, bo, entrant("cy", "dq", HOUR)),
        (replace(ann, finish_time=HOUR - 1), bo, cy),
        (replace(ann, name="Anna"), bo, cy),
        (cy, bo, ann),
    ):
        follower.show_final(replace(FINISHED, entrants=entrants))
    follower.show_final(replace(FINISHED, goal="Any Orb, season 2"))
    assert waiting(follower) == []


def test_another_races_changes_need_no_correction_and_a_correction_uses_them(follower, caplog) -> None:
    follower.announce(FINISHED)
    follower.read(seen(result("other", "cy bo ann")))
    follower.show_final(FINISHED)
    assert waiting(follower) == []
    follower.show_final(SWAPPED)
    (text,) = waiting(follower)
    assert "Bo 1200" in text
    assert "Ann 830" in text
    assert "new" not in text
    follower.read(seen(result("other", "ann bo cy"), 1))
    assert "orb/other: the stored result changed" in caplog.text


def test_a_correction_lists_all_edits_since_what_chat_was_told(follower: Follower) -> None:
    """The result changed again before its first edit was announced."""
    follower.announce(FINISHED)
    ann, bo, cy = FINISHED.entrants
    once = replace(FINISHED, entrants=(replace(ann, finish_time=2 * HOUR), bo, cy))
    twice = replace(once, entrants=(once.entrants[0], replace(bo, status=EntrantStatus.DNF), cy))
    follower.show_final(once)
    follower.show_final(twice)
    (row,) = follower.ledger.messages.open_for(NAME)
    assert chat_body(row).edits == (Edit("id-ann", "time"), Edit("id-bo", "dnf"))


def test_a_deleted_account_is_an_edit_that_names_nobody(follower: Follower) -> None:
    follower.announce(FINISHED)
    ann, bo, cy = FINISHED.entrants
    follower.show_final(replace(FINISHED, entrants=(replace(ann, user_id=None, name="(deleted)"), bo, cy)))
    (text,) = follower.deliver()
    assert text.startswith(f"Correction ({DEFAULT_TEXTS.edit_other}): ")
    assert "Ann" not in text


def test_a_half_sent_announcement_is_completed(follower: Follower) -> None:
    many = " ".join(f"player-{n:02}-{'x' * 15}" for n in range(40))
    finished = result("r", many, recorded=False)
    follower.show_final(finished)
    first, _ = follower.ledger.messages.open_for(NAME)
    follower.ledger.messages.mark(first, Delivery.DELIVERED, NOON)
    follower.frame(seen())
    (text,) = follower.deliver()
    assert text.startswith(DEFAULT_TEXTS.continued)
    follower.show_final(finished)
    assert waiting(follower) == []


# Recorded


def test_final_changes_go_to_meta_and_info(follower: Follower) -> None:
    follower.announce(FINISHED)
    follower.frame(seen(RECORDED))
    assert kinds(follower) == ["meta", "info"]
    meta, info = follower.ledger.messages.open_for(NAME)
    changes = {"id-ann": (1000, 1200), "id-bo": (1000, 1000), "id-cy": (1000, 800)}
    assert meta.message.body == MetaBody((MetaEntry("Any Orb", "pairwise-elo", changes),))
    assert [spaced(block) for block in info_blocks(info)] == [f"Ratings by racebot (Any Orb): {CHANGES}"]
    assert not follower.is_followed()
    assert existing(follower.ledger.races.get(NAME)).source == "live"


def test_final_changes_leave_hidden_players_out(follower: Follower, ledger: Ledger) -> None:
    follower.announce(FINISHED)
    ledger.orders.add(Order(NOON, OrderKind.HIDE, "id-bo", None, ""))
    follower.frame(seen(RECORDED))
    meta, info = follower.ledger.messages.open_for(NAME)
    assert isinstance(meta.message.body, MetaBody)
    assert list(meta.message.body.leaderboards[0].changes) == ["id-ann", "id-cy"]
    assert "Bo" not in info_blocks(info)[0]


def test_a_listed_race_that_was_never_watched_gets_no_messages(follower: Follower) -> None:
    follower.read(seen(RECORDED, None))
    assert is_settled(follower)
    assert follower.ledger.messages.of(NAME) == []


@pytest.mark.parametrize(
    "before",
    [
        lambda follower: follower.read(seen(FINISHED)),
        lambda follower: follower.frame(seen()),
        lambda follower: follower.ledger.cases.save(CaseRow(NAME, CATEGORY, NOON, NOON)),
    ],
    ids=["pending", "its end was not seen", "pending in an earlier run"],
)
def test_a_known_race_recorded_unwatched_gets_its_final_changes(
    follower: Follower, clock: Clock, before: Callable[[Follower], None]
) -> None:
    before(follower)
    clock.advance(days=3)
    follower.read(seen(RECORDED, None))
    assert kinds(follower) == ["meta", "info"]
    assert not follower.is_followed()


def test_a_changed_record_corrects_the_final_changes(follower: Follower) -> None:
    follower.frame(seen(RECORDED))
    follower.deliver()
    follower.read(seen(replace(SWAPPED, recorded=True), None))
    assert kinds(follower) == ["meta", "info"]
    (meta, _) = follower.ledger.messages.open_for(NAME)
    assert isinstance(meta.message.body, MetaBody)
    assert meta.message.body.leaderboards[0].changes["id-bo"] == (1000, 1200)
    follower.deliver()
    follower.read(seen(RECORDED, None))
    assert kinds(follower) == ["meta", "info"], "also when it changes back"


def test_a_changed_record_that_a_rebuild_rates_corrects_the_final_changes_then(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower.frame(seen(RECORDED))
    follower.deliver()
    monkeypatch.setattr(rebuild, "fits", lambda board, races: False)
    follower.read(seen(replace(SWAPPED, recorded=True), None))
    assert (kinds(follower), follower.work.rated_later) == ([], {NAME})
    assert not follower.work.follow_order(NAME)
    rebuild.carry_out_rebuilds(follower.ledger)
    assert follower.work.follow_order(NAME)
    assert "1 Bo" in spaced(info_blocks(follower.ledger.messages.open_for(NAME)[1])[0])


# Races that do not count, and records that are undone


def test_an_unknown_race_that_is_over_or_polled_changes_nothing(follower: Follower) -> None:
    before = dump(follower.ledger)
    follower.read(seen(NEVER))
    follower.read(seen(NEVER, None))
    follower.read(seen(status="cancelled", recordable=False))
    follower.polled(Signal.LOOKED, "orb/nosuch")
    follower.polled(Signal.MISSING, "orb/nosuch")
    assert dump(follower.ledger) == before


@pytest.mark.parametrize(
    ("events", "settled", "followed"),
    [
        pytest.param("record 1440 gone 60 gone", True, True, id="a stale answer looks the same for an hour"),
        pytest.param("record 1440 gone 61 gone gone", False, True, id="it may be recorded again"),
        pytest.param("record gone 21 restart gone 21 restart gone 21 gone", False, False, id="restarts"),
        pytest.param("record 40 gone 40 record 40 gone 40 gone", True, True, id="recorded again meanwhile"),
        pytest.param("record never 120 never", False, False, id="do not record"),
        pytest.param("record cancelled 120 cancelled", False, False, id="cancelled"),
    ],
)
def test_a_race_without_its_record_is_withdrawn_from_the_ratings_after_an_hour(
    following: Following, clock: Clock, events: str, settled: bool, followed: bool
) -> None:
    follower = following()
    shown = {"record": RECORDED, "gone": FINISHED, "never": NEVER}
    for event in events.split():
        if event == "restart":
            follower = following()
        elif event.isdecimal():
            clock.advance(minutes=int(event))
        else:
            follower.read(seen(shown[event]) if event in shown else CANCELLED)
    assert is_settled(follower) is settled
    assert follower.is_followed() is followed


def test_a_recorded_race_stays_rated_when_its_goal_counts_no_more(following: Following, clock: Clock) -> None:
    following().read(seen(RECORDED))
    narrowed = following(RatingRules(SIMPLE, goals={CATEGORY: frozenset({"Other"})}))
    for _ in range(3):
        narrowed.read(seen(RECORDED))
        clock.advance(hours=2)
    assert is_settled(narrowed)
    assert not narrowed.is_followed()


# Races that come back


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
    assert not follower.is_followed()


@pytest.mark.parametrize("seen_first", [True, False])
def test_room_is_needed_only_if_the_result_differs_from_the_announcement(
    follower: Follower, *, seen_first: bool
) -> None:
    if seen_first:
        follower.announce(FINISHED)
    else:
        follower.read(seen(FINISHED))
    assert not follower.read(seen(FINISHED))
    assert follower.read(seen(SWAPPED)) is seen_first


# Looking again


def test_older_races_are_polled_less_often_and_those_that_are_over_even_less() -> None:
    hours = (5.9, 6, 47.9, 48, 335, 336, 2000)
    pauses = [poll_pause(timedelta(hours=age), is_over=False) / timedelta(minutes=1) for age in hours]
    assert pauses == [1, 10, 10, 60, 60, 1440, 1440]
    over = [poll_pause(timedelta(hours=age), is_over=True) / timedelta(minutes=1) for age in hours]
    assert over == [5, 50, 50, 300, 300, 1440, 1440]


@pytest.mark.parametrize("race", [seen(FINISHED), CANCELLED], ids=["finished", "over"])
def test_a_race_is_polled_for_ninety_days(follower: Follower, clock: Clock, race: Race) -> None:
    follower.frame(race)
    for days in (89, 91):
        clock.now = NOON + timedelta(days=days)
        follower.polled(Signal.LOOKED)
        assert follower.is_followed() is (days < 90)


def test_a_room_that_is_gone_is_given_up_after_a_day(follower: Follower, clock: Clock) -> None:
    follower.show_final(FINISHED)
    clock.now = NOON + timedelta(hours=23, minutes=59)
    follower.polled(Signal.MISSING)
    assert len(waiting(follower)) == 1, "a 404 may be temporary"
    clock.advance(minutes=1)
    follower.polled(Signal.MISSING)
    assert waiting(follower) == []
    assert not follower.is_followed()


def test_missing_room_is_polled_less_and_less_often(follower: Follower, clock: Clock) -> None:
    follower.read(seen(FINISHED))
    looks = 0
    while clock.now < NOON + timedelta(hours=6):
        clock.now = max(clock.now, existing(follower.row().next_look))
        follower.polled(Signal.MISSING)
        looks += 1
    assert looks <= 15
    follower.polled(Signal.LOOKED)
    assert follower.row().misses == 0


# Whole lives


def test_an_unfinished_race_is_remembered_until_it_is_finished(follower: Follower) -> None:
    def unfinished() -> list[str]:
        return [row.race for row in follower.ledger.cases.unfinished(CATEGORY)]

    follower.frame(seen())
    assert unfinished() == [NAME]
    follower.frame(seen(FINISHED))
    assert unfinished() == []
    follower.frame(replace(seen(), name="orb/s"))
    assert unfinished() == ["orb/s"]
    follower.frame(seen(replace(NEVER, name="orb/s")))
    assert unfinished() == []


@pytest.mark.parametrize(
    ("race", "marks"), [("ann bo", ["▲ 1", "▼ 2"]), ("cy bo ann", ["▼ 2", "▼ 3"]), ("cy ann bo", ["▼ 3"])]
)
def test_a_finish_message_marks_new_places(following: Following, race: str, marks: list[str]) -> None:
    """Cy becomes ranked by the race, without a mark."""
    follower = following(minimum_finishes=2)
    past = [result("a", "ann bo", after=-9), result("b", "bo ann", after=-8), result("c", "cy di", after=-7)]
    follower.settler.add_past_races(past, "import")
    follower.show_final(result("r", race, recorded=False))
    (text,) = waiting(follower)
    assert re.findall("[▲▼] [0-9]", text) == marks


def test_buttons_of_a_message_are_those_of_a_leaderboard_with_changes(following: Following) -> None:
    """A race can count on several leaderboards, and change nothing on the first."""
    plain, teams = (replace(SIMPLE, name=name, goals=("Any Orb",)) for name in ("No teams", "Teams"))
    rules = RatingRules(SIMPLE, named=(plain, replace(teams, teams=TeamPolicy.TEAM)))
    follower = following(rules, pages_url="https://example.org")
    red, blue = (replace(each, team=each.name) for each in result("r", "ann bo").entrants)
    follower.settler.add_past_races([result("a", "ann bo", after=-9)], "import")
    follower.show_final(replace(FINISHED, entrants=(red, blue)))
    (row,) = follower.ledger.messages.open_for(NAME)
    button = chat_body(row).buttons[DEFAULT_TEXTS.button_leaderboard]
    assert button == {"url": "https://example.org/leaderboards/orb/teams.html"}


def test_two_bots_in_one_room_send_no_equal_guids(tmp_path: Path, clock: Clock) -> None:
    guids = []
    for bot in ("one", "two"):
        with Ledger.open(tmp_path / f"{bot}.db") as ledger:
            Follower(Settler(ledger, RatingRules(SIMPLE)), clock, bot=bot).show_final(FINISHED)
            guids += [row.message.guid for row in ledger.messages.of(NAME)]
    assert len(set(guids)) == 2


def test_quiet_outlasts_the_end_of_a_race_that_cannot_come_back(follower: Follower, clock: Clock) -> None:
    gone = seen(status="cancelled", recordable=False, cancelled_at=NOON)
    follower.frame(seen(status="open"))
    follower.on(NAME, cases.QuietOrder(True, NOON))
    follower.frame(gone)
    for minutes in (5, 50):
        clock.advance(minutes=minutes)
        follower.on(NAME, cases.Read(gone, follower.now), Signal.LOOKED, watched=False)
        assert follower.row().quiet, "chat is open for an hour"
        assert follower.ledger.cases.unfinished(CATEGORY) == []
    clock.advance(minutes=6)
    follower.polled(Signal.LOOKED)
    assert follower.is_followed(), "the site did not answer"
    follower.on(NAME, cases.Read(gone, follower.now), Signal.LOOKED, watched=False)
    assert not follower.is_followed()


def test_scores_follow_the_ratings_and_an_edited_time_corrects_them(ledger: Ledger, clock: Clock) -> None:
    race = result("r", "ann bo cy", recorded=False)
    clock.advance(seconds=10)
    board = {"name": "Any Orb", "goals": ["Any Orb"], "scoring": "sgl-2025"}
    settler = settler_of(ledger, "thurstone-hurdle")
    pairs = tuple(entrant(name, team=team, team_name="") for name, team in (("di", "x"), ("ed", "y")))
    settler.settle(result("earlier", entrants=pairs, after=-1), NOON)  # a race of teams has no scores
    follower = Follower(settler, clock, leaderboards=[board])
    ratings, scores = follower.announce(race)
    assert ratings.startswith("Ratings if recorded")
    # 60, 61 and 62 minutes: par is 61.
    assert scores == "Scores (Any Orb, race 1): 1 Ann 101.6 · 2 Bo 100.0 · 3 Cy 98.4"
    ann, bo, cy = race.entrants
    slower = replace(cy, finish_time=(cy.finish_time or 0) + HOUR // 60)
    edited = replace(race, entrants=(ann, bo, slower))
    correction, scores = follower.announce(edited)
    assert "Cy's time edited" in correction
    assert scores == "Scores (Any Orb, race 1): 1 Ann 102.2 · 2 Bo 100.5 · 3 Cy 97.3"
    assert follower.announce(edited) == []
    settler.settle(replace(edited, recorded=True), NOON)
    settler.settle(replace(edited, recorded=True, name="orb/later"), NOON)
    (again,) = follower.work._announcements._race_scores(settler.rated(NAME)[0])
    assert "race 1)" in again
