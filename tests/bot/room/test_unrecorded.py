"""Races that count once their result has stood for a time, and need no record."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from builders import NOON, Clock, entrant, result, seen
from room_support import Follower

from racebot.bot.room import events as cases
from racebot.bot.room.case import Case, step
from racebot.bot.room.events import Act, Announce, Effect, Moment, Settle, Signal
from racebot.ledger.store import Ledger
from racebot.races.result import NO_NAME, RaceResult
from racebot.races.rooms import RoomRule
from racebot.racetime.payload import Race
from racebot.settings.model import Settings
from racebot.standings import orders
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.follow_settings import apply_settings
from racebot.standings.settle import Settler
from racebot.standings.verify import verify

GRACE = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
GOAL = "SGL 2026 round 1"
FACTS: dict[str, Any] = {"goal": GOAL, "custom_goal": True, "recordable": False, "recorded": False}
FIRST = result("r", "ann bo", dnf="cy", **FACTS)
EDITED = result("r", "bo ann", dnf="cy", **FACTS)
CANCELLED = replace(seen(FIRST), status="cancelled", result=None, ended_at=NOON)


LEAGUE = LeaderboardConfig("elo-ffa", name="League", rule=RoomRule(custom_goals=("SGL*",), finished=True))
MIXED = LeaderboardConfig("elo-ffa", name="Mixed", rule=RoomRule(info=("*league*",), finished=True))
OWN = LeaderboardConfig("elo-ffa")
RULES = RatingRules(OWN, (LEAGUE, MIXED))


@dataclass
class Polled:
    """A race that is polled, with minutes since its end."""

    case: Case = field(
        default_factory=lambda: Case(FIRST.name, Settings(quiet_seconds=0), lambda: RULES, is_watched=False)
    )

    def on(self, minutes: float, *events: cases.CaseEvent) -> list[Effect]:
        effects: list[Effect] = []
        for event in events:
            self.case, found = step(self.case, event, Moment(60 * minutes, NOON + minutes * MINUTE))
            effects += found
        return effects

    def read(self, minutes: float, result: RaceResult | Race) -> list[Effect]:
        race = result if isinstance(result, Race) else seen(result)
        return self.on(minutes, cases.Read(race, 60 * minutes), Signal.LOOKED)

    @property
    def next_look(self) -> float | None:
        row = self.case.row
        return None if row is None or row.next_look is None else (row.next_look - NOON) / MINUTE


def settled(effects: list[Effect]) -> list[RaceResult]:
    return [effect.result for effect in effects if isinstance(effect, Settle)]


def test_a_result_counts_when_it_has_stood_since_the_end() -> None:
    polled = Polled()
    assert settled(polled.read(59.5, FIRST)) == []
    assert polled.next_look == 60
    assert settled(polled.read(60, FIRST)) == [FIRST]
    assert settled(polled.read(61, FIRST)) == []


def test_a_change_restarts_the_wait() -> None:
    polled = Polled()
    polled.read(10, FIRST)
    assert settled(polled.read(50, EDITED)) == []
    assert settled(polled.read(109, EDITED)) == []
    assert settled(polled.read(110, EDITED)) == [EDITED]


def test_the_wait_outlives_the_process() -> None:
    polled = Polled()
    polled.read(10, FIRST)
    polled.read(50, EDITED)
    again = Polled(replace(Polled().case, row=polled.case.row))
    assert settled(again.read(109, EDITED)) == []
    assert settled(again.read(110, EDITED)) == [EDITED]


def test_an_edit_after_it_counted_counts_once_it_has_stood() -> None:
    polled = Polled()
    polled.read(60, FIRST)
    assert settled(polled.read(1000, EDITED)) == []
    assert settled(polled.read(1061, EDITED)) == [EDITED]


def test_a_frame_alone_does_not_make_a_result_count() -> None:
    polled = Polled(replace(Polled().case, is_watched=True))
    assert any(isinstance(effect, Announce) for effect in polled.on(1, cases.Frame(seen(FIRST))))
    assert settled(polled.on(70, cases.Frame(seen(FIRST)), Signal.TICK)) == []
    polled.on(70.5, Signal.SYSTEM_LINE)
    assert settled(polled.on(70.5, cases.Read(seen(FIRST), 60 * 70.5))) == [], "an edit was announced"
    assert settled(polled.on(71, cases.Read(seen(FIRST), 60 * 71))) == [FIRST]


def test_an_order_makes_it_count_at_once_and_nothing_before_its_end_does() -> None:
    polled = Polled()
    polled.on(0, cases.Frame(replace(CANCELLED, status="in_progress")))
    assert settled(polled.on(0, Signal.COUNT)) == []
    polled.read(1, FIRST)
    assert settled(polled.on(2, Signal.COUNT)) == [FIRST]


def test_a_race_that_is_cancelled_after_it_counted_is_undone() -> None:
    polled = Polled()
    polled.read(60, FIRST)
    assert Act.UNDO_SETTLING not in polled.read(100, CANCELLED)
    assert Act.UNDO_SETTLING in polled.read(161, CANCELLED)


def test_a_cancelled_race_that_an_edit_brings_back_counts_once_it_has_stood() -> None:
    """Chat is closed by then, so only polls show it."""
    joined = Polled(replace(Polled().case, is_watched=True))
    joined.on(0, cases.Frame(replace(CANCELLED, status="in_progress")))
    joined.on(1, cases.Frame(CANCELLED))
    polled = Polled(replace(Polled().case, row=joined.case.row))
    polled.read(70, CANCELLED)
    assert polled.next_look is not None
    assert settled(polled.read(200, FIRST)) == []
    assert polled.next_look is not None
    assert settled(polled.read(259, FIRST)) == []
    assert settled(polled.read(260, FIRST)) == [FIRST]


# In the ledger


@pytest.fixture
def settler(tmp_path: Path) -> Settler:
    return Settler(Ledger.open(tmp_path / "ledger.db"), RULES)


def settle(settler: Settler, *results: RaceResult) -> None:
    for each in results:
        settler.settle(each, NOON + 2 * GRACE)


def races_by_board(settler: Settler) -> dict[str, list[str]]:
    boards = settler.ledger.leaderboards.all()
    assert [problem for board in boards for problem in verify(settler.ledger, board)] == []
    return {b.name: [r.partition("/")[2] for r in settler.ledger.ratings.races(b)] for b in boards}


def test_each_leaderboard_holds_the_races_that_it_chooses(settler: Settler) -> None:
    plain = result("plain", "ann bo")
    league = result("league", "bo ann", after=1, info="a league race", recorded=False)
    settle(settler, FIRST, plain, league)
    assert races_by_board(settler) == {"League": ["r"], "Any Orb": ["plain"], "Mixed": ["league"]}
    settle(settler, replace(league, recorded=True))
    assert races_by_board(settler)["Any Orb"] == ["plain", "league"]
    assert races_by_board(settler)["Mixed"] == ["league"]
    for each in settler.ledger.leaderboards.all():
        settler.rebuild(each)
    assert len(races_by_board(settler)["Any Orb"]) == 2


def test_another_rule_is_applied_to_stored_races(settler: Settler) -> None:
    settle(settler, FIRST, result("other", "ann cy", after=1, **{**FACTS, "goal": "SGL 2025"}))
    narrow = replace(LEAGUE, rule=RoomRule(custom_goals=("SGL 2025*",), finished=True))
    twin = replace(LEAGUE, name="Twin")
    changed = Settler(settler.ledger, RatingRules(OWN, (narrow, twin)))
    apply_settings(changed)
    assert races_by_board(changed) == {"League": ["other"], "Twin": ["r", "other"]}


def test_chat_is_told_when_the_result_is_final(settler: Settler, clock: Callable[[], datetime]) -> None:
    follower = Follower(settler, clock)
    (text,) = follower.announce(FIRST)
    assert text.startswith("Ratings (League), final in 60 minutes: ")
    (text,) = follower.announce(EDITED)
    assert text.startswith("Correction")
    follower.on(FIRST.name, Signal.COUNT)
    assert races_by_board(settler) == {"League": ["r"]}
    kinds = [row.message.kind for row in settler.ledger.messages.open_for(FIRST.name)]
    assert kinds == ["meta", "info"]


@pytest.mark.parametrize(("minutes", "kinds"), [(59, ["meta", "info"]), (61, [])])
def test_info_box_is_written_late_while_chat_is_open(
    ledger: Ledger, clock: Clock, minutes: int, kinds: list[str]
) -> None:
    league = replace(LEAGUE, rule=replace(LEAGUE.rule, grace=10 * MINUTE))
    settler = Settler(ledger, RatingRules(OWN, (league,)))
    clock.advance(minutes=minutes)
    Follower(settler, clock).read(seen(FIRST))
    assert races_by_board(settler) == {"League": ["r"]}
    assert [row.message.kind for row in ledger.messages.open_for(FIRST.name)] == kinds


@pytest.mark.parametrize("change", ["nothing", "a merge", "a penalty", "a deleted account"])
def test_a_race_that_counts_is_followed_for_a_week_whatever_is_stored(
    ledger: Ledger, clock: Clock, change: str
) -> None:
    settler, shown = Settler(ledger, RULES), FIRST
    follower = Follower(settler, clock)
    settler.settle(result("other", "di", **FACTS), NOON)
    clock.advance(hours=2)
    follower.read(seen(FIRST))
    ann, di = ledger.players.find("ann"), ledger.players.find("di")
    match change:
        case "a merge":
            orders.merge_accounts(settler, ann, di, "", clock())
        case "a penalty":
            orders.penalize(settler, FIRST.name, ann, 1_000_000, "left early", clock())
        case "a deleted account":
            gone = replace(FIRST.entrants[0], user_id=None, name=NO_NAME)
            shown = replace(FIRST, entrants=(gone, *FIRST.entrants[1:]))
    for days, is_followed in (6.8, True), (0.3, False):
        clock.advance(days=days)
        follower.read(seen(shown))
        assert (follower.is_followed(), ledger.races.has(FIRST.name)) == (is_followed, True)


def test_a_lost_record_is_undone_where_it_is_needed_only(ledger: Ledger, clock: Clock) -> None:
    settler, both = Settler(ledger, RULES), result("r", "bo ann", info="a league race")
    follower = Follower(settler, clock)
    follower.read(seen(both))
    assert races_by_board(settler) == {"Any Orb": ["r"], "Mixed": ["r"]}
    for _ in range(3):
        clock.advance(hours=2)
        follower.read(seen(replace(both, recorded=False)))
    assert races_by_board(settler) == {"Any Orb": [], "Mixed": ["r"]}


def test_backfilled_result_counts_once_it_stood_for_the_longest_grace(ledger: Ledger) -> None:
    both = tuple(
        replace(LEAGUE, name=f"League {n}", rule=replace(LEAGUE.rule, grace=n * GRACE)) for n in (1, 3)
    )
    settler = Settler(ledger, RatingRules(OWN, both))
    for minutes, counts in (59, False), (61, False), (179, False), (180, True):
        settler.add_past_races([FIRST], "backfill", NOON + minutes * MINUTE)
        assert ledger.races.has(FIRST.name) is counts
    racing = result("x", entrants=(*FIRST.entrants, entrant("di", "racing")), **FACTS)
    settler.add_past_races([racing], "backfill", NOON + 9 * GRACE)
    assert not ledger.races.has(racing.name)
