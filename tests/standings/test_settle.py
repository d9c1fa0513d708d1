from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from builders import CATEGORY, GOAL, HOUR, NOON, SECOND, dump, entrant, existing, result, room, settler_of
from standings.seasons import NOW, board_of, contents, settle

from racebot.errors import ModelError
from racebot.ledger.outbox import CaseRow
from racebot.ledger.rows import TEAM_RACE, Leaderboard
from racebot.ledger.store import Ledger
from racebot.races.outcome import TeamPolicy
from racebot.races.result import RaceResult
from racebot.races.rooms import Carry, RoomReason, RoomRule
from racebot.standings.counting import LeaderboardConfig, RatingRules, unknown_sources
from racebot.standings.follow_settings import apply_settings, follow_renames
from racebot.standings.rater import NOBODY_FINISHED, TOO_FEW, UNCOMPARABLE, UNSUITED
from racebot.standings.settle import PastRacesReport, RatedRace, Settler
from racebot.standings.verify import verify

# Two equal players: the winner gains 0.2 · 1/2, the loser loses it. 1000 points per unit.
SIMPLE = LeaderboardConfig("pairwise-elo", {"initial_rating": 1.0, "dummy": None, "rates": [0.2]})
SIMPLE_AS_TEXT = {"initial_rating": "1", "dummy": "none", "rates": "0.2"}
HURDLE = LeaderboardConfig("thurstone-hurdle")
RULES = RatingRules(SIMPLE)


@pytest.fixture
def settler(ledger: Ledger) -> Settler:
    return Settler(ledger, RULES)


def points(settler: Settler, name: str = GOAL) -> dict[str, int]:
    return {s.name: s.points for s in settler.ledger.standings.all(board_of(settler, name))}


def rate(settler: Settler, race: RaceResult) -> RatedRace:
    """Settle a race that counts on one leaderboard."""
    (rated,) = settle(settler, race) or []
    return rated


def changes(rated: RatedRace) -> dict[str, tuple[int | None, int, int]]:
    return {c.player: (c.place, c.points_before, c.points_after) for c in rated.changes}


def assert_sound(settler: Settler) -> None:
    for board in settler.ledger.leaderboards.all():
        assert verify(settler.ledger, board) == []
    assert settler.ledger.check() == []


# Settling, by hand


def test_a_standing_counts_races_finishes_and_wins(settler: Settler) -> None:
    settle(settler, result("a", "ann=bo cy", after=5))
    settle(settler, result("b", "bo ann", dnf="cy", after=2))
    standings = {s.name: s for s in settler.ledger.standings.all(board_of(settler))}
    assert {n: (s.races, s.finishes, s.wins) for n, s in standings.items()} == {
        "Ann": (2, 2, 1),
        "Bo": (2, 2, 2),
        "Cy": (2, 1, 0),
    }
    assert {s.last_race_at for s in standings.values()} == {NOON + timedelta(hours=5)}


@pytest.mark.parametrize(
    ("race", "note"),
    [
        (result("r", dnf="ann bo", dq="cy"), NOBODY_FINISHED),
        (result("r", "ann"), TOO_FEW),
        (result("r", "ann=bo"), TOO_FEW),
        (result("r", entrants=(entrant("ann", time=1), entrant("gone", time=2, user_id=None))), TOO_FEW),
        (
            result("r", entrants=(entrant("ann", time=1, team="x"), entrant("bo", time=2, team="y"))),
            TEAM_RACE,
        ),
    ],
    ids=["nobody", "one", "tied", "one rated", "teams"],
)
def test_a_race_that_changes_nothing_is_noted(settler: Settler, race: RaceResult, note: str) -> None:
    rated = rate(settler, race)
    assert (rated.changes, rated.note) == ((), note)
    (row,) = settler.ledger.ratings.rows(board_of(settler))
    assert (row.sequence, row.race, row.note) == (1, "orb/r", note)
    assert settler.ledger.standings.all(board_of(settler)) == []
    assert_sound(settler)


def test_results_that_cannot_be_compared_change_nothing_and_stop_nothing(settler: Settler, caplog) -> None:
    """One invalid race must not stop the backfill of a season."""
    strange = result("b", entrants=(entrant("ann", time=1), entrant("bo")), after=1)
    twice = result(
        "c", entrants=(entrant("ann", time=1), entrant("ann", time=2), entrant("bo", time=3)), after=2
    )
    report = settler.add_past_races(
        [result("a", "ann bo"), strange, twice, result("d", "cy di", after=3)], "import"
    )
    assert report.new == 4
    notes = {row.race: row.note for row in settler.ledger.ratings.rows(board_of(settler))}
    assert notes["orb/a"] is notes["orb/d"] is None
    assert notes["orb/b"] == notes["orb/c"] == UNCOMPARABLE
    assert "orb/b" in caplog.text
    assert "orb/c" in caplog.text
    assert points(settler) == {"Ann": 1100, "Cy": 1100, "Bo": 900, "Di": 900}
    assert_sound(settler)


def test_a_race_that_the_model_cannot_rate_is_left_out(ledger: Ledger) -> None:
    settler = settler_of(ledger, "elo-exponential")
    rated = rate(settler, result("a", "ann bo cy"))
    assert (rated.changes, rated.note) == ((), UNSUITED)
    rated = rate(settler, result("b", "ann bo", after=1))
    assert rated.changes
    assert_sound(settler)


# Once and only once


def test_failed_settling_leaves_nothing(settler: Settler, monkeypatch: pytest.MonkeyPatch) -> None:
    settler.ledger.cases.save(CaseRow("orb/r", CATEGORY, NOON, NOON))
    before = dump(settler.ledger)
    with monkeypatch.context() as patch:
        patch.setattr("racebot.standings.settle.update_ratings", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            settler.settle(result("r", "ann bo"), NOW)
    assert dump(settler.ledger) == before
    assert settle(settler, result("r", "ann bo")) is not None
    assert points(settler) == {"Ann": 1100, "Bo": 900}


# Order


def test_a_race_recorded_late_counts_when_it_is_recorded(settler: Settler) -> None:
    settle(settler, result("new", "ann bo", after=10))
    settle(settler, result("old", "bo ann", after=1))
    rows = settler.ledger.ratings.rows(board_of(settler))
    assert [(row.sequence, row.race) for row in rows] == [(1, "orb/new"), (2, "orb/old")]
    late = existing(settler.ledger.races.get("orb/old"))
    assert late.counted_at > NOON + timedelta(hours=10)
    assert late.result.ended_at == NOON + timedelta(hours=1)
    assert_sound(settler)


# Changed results


def test_changed_result_is_announced(settler: Settler) -> None:
    settle(settler, result("r", "ann bo"))
    settle(settler, result("s", "ann bo", after=1))
    rated = rate(settler, result("r", "bo ann"))
    assert changes(rated) == {"id-ann": (2, 1000, 900), "id-bo": (1, 1000, 1100)}
    # Then Ann, 0.2 behind, wins: 0.2 / (1 + e^-0.2) = 0.1099668.
    assert points(settler) == {"Ann": 1010, "Bo": 990}


# Merging


def test_merge_reports_its_effect(settler: Settler) -> None:
    first = settler.add_past_races([result("a", "ann bo"), result("b", "ann bo", after=1)], "import")
    assert (first.new, first.changed, first.known, first.skipped) == (2, 0, 0, 0)
    assert [b.name for b in first.leaderboards] == [GOAL]
    second = settler.add_past_races(
        [
            result("a", "ann bo"),
            result("b", "bo ann", after=1),
            result("c", "ann bo", after=2),
            result("d", "ann bo", recorded=False),
        ],
        "import",
    )
    assert (second.new, second.changed, second.known, second.skipped) == (1, 1, 1, 1)
    assert_sound(settler)


@pytest.mark.parametrize(
    "facts",
    [{"recorded": False}, {"recordable": False}, {"custom_goal": True}, {"hidden": True}],
    ids=lambda f: next(iter(f)),
)
def test_results_that_never_count_are_skipped(settler: Settler, facts: dict[str, Any]) -> None:
    assert settler.add_past_races([result("a", "ann bo", **facts)], "import") == PastRacesReport(skipped=1)
    assert settler.ledger.races.get("orb/a") is None


# Rating rules


def test_each_named_leaderboard_says_why_it_chooses_a_room_or_not() -> None:
    season, sprint = (replace(SIMPLE, name=name, goals=(name,)) for name in ("Season", "Sprint"))
    events_only = replace(SIMPLE, name="Events")
    listed = replace(SIMPLE, name="List", rule=RoomRule(rooms=("orb/room", "orb/part")))
    rules = RatingRules(
        SIMPLE, (season, sprint, events_only, listed), {CATEGORY: frozenset(["New", "Other"])}
    ).with_renamed({CATEGORY: {"Season": "New"}})
    rules = replace(rules, events={"orb/part": "orb/event-cup"})

    def reasons(goal: str, **facts: Any) -> list[RoomReason]:
        verdicts = rules.verdicts(room(goal, **{"slug": "room", **facts}))
        found = {config.name: verdict.reason for config, verdict in verdicts}
        return [found.pop(each.name) for each in rules.named] + [*found.values()]

    matches, goal, unlisted, chosen = (
        RoomReason[each] for each in ("MATCHES", "GOAL", "NOT_LISTED", "LISTED")
    )
    assert reasons("Season") == reasons("New") == [matches, goal, unlisted, chosen]
    assert reasons("Sprint") == [goal, RoomReason.NOT_RATED, unlisted, chosen]
    assert reasons("Other") == [goal, goal, unlisted, chosen, matches]
    custom = RoomReason.CUSTOM_GOAL
    assert reasons("Other", custom_goal=True) == [custom, custom, unlisted, chosen]
    assert reasons("New", slug="part") == [RoomReason.EVENT, goal, unlisted, RoomReason.EVENT]


@pytest.mark.parametrize(
    ("before", "facts", "rated_again"),
    [
        pytest.param(SIMPLE, {"teams": TeamPolicy.INDIVIDUAL}, 1, id="another team policy"),
        pytest.param(replace(HURDLE, teams=TeamPolicy.IGNORE), {"teams": None}, 0, id="none is set"),
        pytest.param(SIMPLE, {"parameters": SIMPLE_AS_TEXT}, 0, id="parameters as text"),
    ],
)
def test_only_other_settings_rate_a_leaderboard_again(
    ledger: Ledger, before: LeaderboardConfig, facts: dict[str, Any], rated_again: int
) -> None:
    settle(Settler(ledger, RatingRules(before)), result("r", "ann bo"))
    assert len(apply_settings(Settler(ledger, RatingRules(replace(before, **facts))))) == rated_again


def test_a_leaderboard_whose_goal_is_not_rated_any_more_is_left_as_it_is(settler: Settler) -> None:
    settle(settler, result("r", "ann bo"))
    before = contents(settler)
    narrowed = RatingRules(LeaderboardConfig("trueskill"), goals={CATEGORY: frozenset({"All Orbs"})})
    assert apply_settings(Settler(settler.ledger, narrowed)) == []
    assert contents(settler) == before


# Teams

TEAMS = result(
    "r",
    entrants=(
        entrant("ann", time=HOUR + 10 * SECOND, team="red"),
        entrant("bo", time=HOUR + 20 * SECOND, team="blue"),
        entrant("cy", time=HOUR + 30 * SECOND, team="blue"),
        entrant("di", time=HOUR + 60 * SECOND, team="red"),
        entrant("ed", time=HOUR + 90 * SECOND, team="green"),
        entrant("fay", "dnf", team="green"),
    ),
)


@pytest.mark.parametrize(
    "model", ["thurstone-hurdle", "thurstone-filter", "plackett-luce-hurdle", "trueskill"]
)
def test_team_races_are_rated_by_team_if_the_model_can(ledger: Ledger, model: str) -> None:
    settler = Settler(ledger, RatingRules(LeaderboardConfig(model)))
    rate(settler, TEAMS)
    # Means: blue 25 s, red 35 s; green has a DNF.
    standings = {s.name: s for s in ledger.standings.all(board_of(settler))}
    rated = points(settler)
    assert rated["Bo"] == rated["Cy"] > rated["Ann"] == rated["Di"] > rated["Ed"] == rated["Fay"]
    assert {n for n, s in standings.items() if s.wins} == {"Bo", "Cy"}
    assert {n for n, s in standings.items() if not s.finishes} == {"Ed", "Fay"}
    assert_sound(settler)


# Preview


def test_preview_equals_settling_and_writes_nothing(settler: Settler) -> None:
    first = result("a", "ann bo", recorded=False)
    empty = dump(settler.ledger)
    assert changes(settler.preview(first)[0]) == {"id-ann": (1, 1000, 1100), "id-bo": (2, 1000, 900)}
    assert dump(settler.ledger) == empty
    settle(settler, replace(first, recorded=True))
    second = result("b", "cy ann", dnf="bo", after=1)
    before = dump(settler.ledger)
    (preview,) = settler.preview(second)
    assert dump(settler.ledger) == before
    (settled,) = settle(settler, second) or []
    assert preview.changes == settled.changes
    assert [c.races_before for c in preview.changes] == [1, 1, 0]


def test_a_race_shows_its_leaderboards_in_one_order_before_and_after_it_counts(ledger: Ledger) -> None:
    named = [replace(SIMPLE, name=name, goals=("Any Orb",)) for name in ("Sprint", "Cup")]
    settler, race = Settler(ledger, RatingRules(SIMPLE, (*named,))), result("a", "ann bo")
    before = [each.leaderboard.name for each in settler.preview(race)]
    settler.settle(race, NOON)
    assert before == [each.leaderboard.name for each in settler.rated("orb/a")] == ["Cup", "Sprint"]


# Verification


def test_a_goal_named_like_another_leaderboard_gets_its_own(settler: Settler) -> None:
    joined = LeaderboardConfig("pairwise-elo", SIMPLE.parameters, name="Another", goals=(GOAL,))
    both = Settler(settler.ledger, RatingRules(SIMPLE, (joined,)))
    both.add_past_races([result("r", "ann bo"), result("s", "cy di", goal="Another")], "import")
    boards = {board.name: settler.ledger.ratings.count(board) for board in settler.ledger.leaderboards.all()}
    assert boards == {"Another": 1, "Another (goal)": 1}
    assert all(verify(both.ledger, board) == [] for board in settler.ledger.leaderboards.all())


def test_carrying_over_from_another_model_is_refused(settler: Settler) -> None:
    old = LeaderboardConfig("trueskill", name="S1", goals=(GOAL,))
    new = LeaderboardConfig("pairwise-elo", name="S2", goals=("Season 2",), carry=Carry("S1", 1.0))
    both = Settler(settler.ledger, RatingRules(SIMPLE, (old, new)))
    both.add_past_races([result("r", "ann bo")], "import")
    with pytest.raises(ModelError, match="'S2' cannot carry over from 'S1'"):
        both.add_past_races([result("s", "ann bo", goal="Season 2", after=1)], "import")


@pytest.fixture
def old_default(ledger: Ledger) -> Leaderboard:
    """A leaderboard that began under other defaults: two races of the default model with its own spread."""
    began = Settler(ledger, RatingRules(LeaderboardConfig("thurstone-hurdle", {"newcomer_spread": 1.25})))
    began.add_past_races([result("a", "ann bo cy"), result("b", "bo ann", after=1)], "import")
    return board_of(began)


@pytest.mark.parametrize(
    ("model", "is_set"), [("thurstone-hurdle", False), ("thurstone-hurdle", True), ("trueskill", False)]
)
def test_new_defaults_change_no_leaderboard(
    ledger: Ledger, old_default: Leaderboard, model: str, *, is_set: bool
) -> None:
    upgraded = Settler(ledger, RatingRules(LeaderboardConfig(model, model_is_set=is_set)))
    before = contents(upgraded)
    assert apply_settings(upgraded) == []
    assert contents(upgraded) == before
    assert board_of(upgraded) == old_default


def test_a_parameter_that_the_operator_sets_takes_effect_and_the_others_stay(
    ledger: Ledger, old_default: Leaderboard
) -> None:
    (board,) = apply_settings(
        Settler(ledger, RatingRules(LeaderboardConfig("thurstone-hurdle", {"settling": 2})))
    )
    assert board.parameters == {**old_default.parameters, "settling": 2.0}


def test_a_new_season_takes_the_parameters_of_the_season_it_carries_over_from(
    ledger: Ledger, old_default: Leaderboard
) -> None:
    old = LeaderboardConfig("thurstone-hurdle", name=GOAL, goals=(GOAL,))
    new = LeaderboardConfig("thurstone-hurdle", name="S2", goals=("Season 2",), carry=Carry(GOAL, 0.5))
    own = replace(new, name="Own", goals=("Season 3",), parameters={"newcomer_spread": 2})
    both = Settler(ledger, RatingRules(old, (old, new, own)))
    for goal in ("Season 2", "Season 3"):
        settle(both, result(goal, "ann bo", goal=goal, after=2))
    assert board_of(both, "S2").parameters == old_default.parameters
    assert board_of(both, "Own").parameters == {**old_default.parameters, "newcomer_spread": 2.0}
    assert apply_settings(both) == []


# Goals that the site renamed

SEASON = [result("a", "ann bo"), result("b", "bo ann cy", after=1)]


def renamed(race: RaceResult, goal: str = "New Orb") -> RaceResult:
    return replace(race, goal=goal)


def test_a_renamed_goal_keeps_its_leaderboard(settler: Settler, caplog: pytest.LogCaptureFixture) -> None:
    settler.add_past_races(SEASON, "import")
    board, before = board_of(settler), points(settler)
    follow_renames(settler, map(renamed, SEASON), ["New Orb"])
    assert [(b.id, b.name, b.goals) for b in settler.ledger.leaderboards.all()] == [
        (board.id, "New Orb", ("New Orb",))
    ]
    assert points(settler, "New Orb") == before
    assert len([r for r in caplog.records if GOAL in r.message]) == 1
    assert not settler.settle(renamed(SEASON[0]), NOW), "a known race under its new name"
    assert settler.add_past_races(map(renamed, SEASON), "backfill").known == 2
    assert apply_settings(settler) == []
    assert_sound(settler)


@pytest.mark.parametrize(
    ("listed", "goals"),
    [
        ([renamed(SEASON[0]), renamed(SEASON[1])], [GOAL, "New Orb"]),
        ([renamed(SEASON[0]), SEASON[1]], ["New Orb"]),
        ([renamed(SEASON[0]), renamed(SEASON[1])], ["Another"]),
        ([renamed(result("unknown", "ann bo"))], ["New Orb"]),
        ([replace(renamed(race), custom_goal=True) for race in SEASON], ["New Orb"]),
    ],
    ids=["the goal is still there", "one race was moved", "not a goal", "unknown races", "custom goals"],
)
def test_goal_that_was_not_renamed_changes_nothing(
    settler: Settler, listed: list[RaceResult], goals: list[str]
) -> None:
    settler.add_past_races(SEASON, "import")
    before = dump(settler.ledger)
    follow_renames(settler, listed, goals)
    assert dump(settler.ledger) == before


def test_races_settled_under_either_name_join_a_leaderboard_of_the_settings(ledger: Ledger) -> None:
    season = Settler(ledger, RatingRules(SIMPLE, (replace(SIMPLE, name="Season", goals=(GOAL,)),)))
    season.add_past_races(SEASON, "import")
    settle(season, renamed(result("c", "cy ann", after=2)))  # before the bot sees the rename
    follow_renames(season, map(renamed, SEASON), ["New Orb"])
    (board,) = ledger.leaderboards.all()
    assert (board.name, ledger.ratings.count(board)) == ("Season", 3)
    assert_sound(season)
    settle(season, result("d", "cy ann", after=3))  # the earlier name, which returns for a while
    follow_renames(season, [renamed(result("d", "cy ann", after=3))], ["New Orb"])
    (board,) = ledger.leaderboards.all()
    assert (board.name, ledger.ratings.count(board)) == ("Season", 4)
    assert_sound(season)


def test_a_goal_renamed_in_one_category_keeps_its_name_in_others(ledger: Ledger) -> None:
    season = Settler(ledger, RatingRules(SIMPLE, (replace(SIMPLE, name="Season", goals=(GOAL,)),)))
    elsewhere = [replace(race, name=race.name.replace("orb/", "alttp/"), category="alttp") for race in SEASON]
    season.add_past_races([*SEASON, *elsewhere], "import")
    follow_renames(season, map(renamed, SEASON), ["New Orb"])
    settle(season, replace(elsewhere[0], name="alttp/c", ended_at=NOON + timedelta(hours=9)))
    assert {(b.category, b.name, b.goals, ledger.ratings.count(b)) for b in ledger.leaderboards.all()} == {
        ("orb", "Season", ("New Orb",), 2),
        ("alttp", "Season", (GOAL,), 3),
    }
    assert_sound(season)


def test_a_goal_renamed_like_a_leaderboard_of_the_settings_replaces_nothing(ledger: Ledger) -> None:
    other = replace(SIMPLE, name="New Orb", goals=("Another",))
    both = Settler(ledger, RatingRules(SIMPLE, (other,)))
    both.add_past_races([*SEASON, result("c", "cy di", after=2, goal="Another")], "import")
    before = points(both, "New Orb")
    follow_renames(both, map(renamed, SEASON), ["New Orb", "Another"])
    assert {board.name for board in ledger.leaderboards.all()} == {"New Orb", "New Orb (goal)"}
    assert points(both, "New Orb") == before
    assert_sound(both)


def test_parameters_set_for_a_goal_beside_a_leaderboard_of_its_name_outlive_a_rename(ledger: Ledger) -> None:
    other = replace(SIMPLE, name=GOAL, goals=("Another",))
    usual = Settler(ledger, RatingRules(SIMPLE, (other,)))
    usual.add_past_races(SEASON, "import")
    own = existing(ledger.leaderboards.get(CATEGORY, f"{GOAL} (goal)"))
    fitted = replace(SIMPLE, name=own.name, goals=(GOAL,))
    both = Settler(ledger, RatingRules(LeaderboardConfig("thurstone-hurdle"), (other, fitted)))
    apply_settings(both)
    follow_renames(both, map(renamed, SEASON), ["New Orb", "Another"])
    (kept,) = ledger.leaderboards.all()
    assert (kept.key, kept.goals, kept.parameters) == (own.key, ("New Orb",), own.parameters)
    assert_sound(both)


def test_a_goal_may_be_renamed_again_and_back(settler: Settler) -> None:
    settler.add_past_races(SEASON, "import")
    before = points(settler)
    follow_renames(settler, map(renamed, SEASON), ["New Orb"])
    follow_renames(settler, [renamed(race, "Newest Orb") for race in SEASON], ["Newest Orb"])
    assert points(settler, "Newest Orb") == before
    follow_renames(settler, SEASON, [GOAL])
    assert points(settler) == before
    assert [board.name for board in settler.ledger.leaderboards.all()] == [GOAL]
    assert_sound(settler)


@pytest.mark.parametrize("names_goal", [False, True])
def test_a_new_goal_with_the_earlier_name_of_another_has_a_leaderboard_of_its_own(
    ledger: Ledger, names_goal: bool
) -> None:
    named = (replace(SIMPLE, name="Season", goals=(GOAL,)),) if names_goal else ()
    settler = Settler(ledger, RatingRules(SIMPLE, named))
    settler.add_past_races(SEASON, "import")
    follow_renames(settler, map(renamed, SEASON), ["New Orb"])
    unnoticed, first = result("c", "cy di", after=200), result("d", "di cy", after=201)
    settler.settle(unnoticed, NOW)
    shown = [*map(renamed, SEASON), unnoticed]
    assert follow_renames(settler, shown, ["New Orb", GOAL]) == [unnoticed]
    settle(settler, first)
    settler.add_past_races([result("file", "ann bo", after=2)], "import")
    assert {b.name: (b.goals, ledger.ratings.count(b)) for b in ledger.leaderboards.all()} == {
        "New Orb": (("New Orb",), 2),
        "Season" if names_goal else GOAL: ((GOAL,), 3),
    }
    assert follow_renames(settler, shown, ["New Orb", GOAL]) == []
    assert apply_settings(settler) == []
    assert_sound(settler)


def test_a_race_from_the_future_counts_now(settler: Settler) -> None:
    late = replace(result("late", "ann bo"), ended_at=NOON.replace(year=2090))
    settle(settler, late)
    assert existing(settler.ledger.races.position(late.name)).counted_at == NOW
    settle(settler, result("next", "bo ann", after=1))
    settler.add_past_races(
        [replace(late, name=f"orb/{name}") for name in "cab"], "import", NOW + timedelta(hours=1)
    )
    sequence = [row.race for row in settler.ledger.ratings.rows(board_of(settler))]
    assert sequence == ["orb/late", "orb/next", "orb/a", "orb/b", "orb/c"]
    assert verify(settler.ledger, board_of(settler)) == []


def test_a_recorded_race_that_counted_elsewhere_counts_whatever_its_date(settler: Settler) -> None:
    late = result("late", "ann bo", after=9999)
    settler.add_past_races([late], "import", NOW, [late.name])
    assert settler.ledger.races.has(late.name)


def test_only_sources_that_are_neither_in_the_settings_nor_stored_are_unknown() -> None:
    old = LeaderboardConfig("pairwise-elo", name="S1")
    new, typo = (
        replace(old, name=name, carry=Carry(source, 0.5)) for name, source in (("S2", "S1"), ("S3", "S4"))
    )
    (problem,) = unknown_sources(RatingRules(SIMPLE, (old, new, typo)), [])
    assert "'S3'" in problem and "'S4'" in problem
    here, elsewhere = replace(new, category=CATEGORY), replace(old, category="other")
    assert len(unknown_sources(RatingRules(SIMPLE, (elsewhere, here)), [])) == 1
