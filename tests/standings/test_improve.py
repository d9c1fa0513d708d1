import logging
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from builders import CATEGORY, GOAL, dump, existing, result

from racebot.ledger.store import Ledger
from racebot.races.result import RaceResult
from racebot.ratings.parameters import Parameters
from racebot.standings import improve
from racebot.standings.counting import MOVE_NO_RATING, LeaderboardConfig, RatingRules
from racebot.standings.follow_settings import apply_settings
from racebot.standings.improve import effect_of, with_fitted_odds
from racebot.standings.settle import Settler
from racebot.standings.verify import verify

NOON = datetime(2026, 11, 26, 12, tzinfo=UTC)
OLD = LeaderboardConfig("thurstone-hurdle", {"newcomer_spread": 1.25})
NOW = RatingRules(LeaderboardConfig("thurstone-hurdle", model_is_set=False))


@pytest.fixture
def began(ledger: Ledger) -> Settler:
    """A leaderboard that began with another newcomer's spread, under today's settings."""
    races = [
        result("a", "ann bo cy"),
        result("b", "bo ann", dnf="cy", after=1),
        result("c", "cy bo", after=2),
    ]
    Settler(ledger, RatingRules(OLD)).add_past_races(races, "import")
    return Settler(ledger, NOW)


def test_a_preview_shows_what_the_new_parameters_give_and_stores_nothing(began: Settler) -> None:
    (board,) = began.ledger.leaderboards.all()
    proposed = replace(board, parameters={**board.parameters, "newcomer_spread": 1.0})
    before = dump(began.ledger)
    found = effect_of(began.ledger, proposed)
    assert dump(began.ledger) == before
    with began.ledger.transaction():
        began.rebuild(began.ledger.leaderboards.save(proposed))
    points = {s.name: s.points for s in began.ledger.standings.all(board)}
    assert {move.name: move.points_after for move in found} == points
    by_points = sorted(found, key=lambda move: -move.points_after)
    assert [move.place_after for move in by_points] == [1, 2, 3]
    assert verify(began.ledger, proposed) == []


def seasonal(races: int, *, dnf: str = "") -> list[RaceResult]:
    """Return races of four players, in which the same two always beat the others."""
    names = ("ann bo cy di", "bo ann di cy", "ann bo di cy")
    return [result(f"r{n}", names[n % 3], dnf=dnf, after=n) for n in range(races)]


def test_odds_are_fitted_and_no_rating_changes(ledger: Ledger) -> None:
    settler = Settler(ledger, NOW)
    settler.add_past_races(seasonal(30, dnf="ed"), "import")
    (board,) = ledger.leaderboards.all()
    before = ledger.standings.all(board)
    fitted = with_fitted_odds(settler, board, NOON)
    moved = {name for name, value in fitted.parameters.items() if value != board.parameters[name]}
    assert {"odds_scale", "odds_doubt"} <= moved <= set(MOVE_NO_RATING)
    assert ledger.leaderboards.all() == [fitted]
    assert ledger.standings.all(fitted) == before
    assert verify(ledger, fitted) == []
    assert apply_settings(settler) == []


def test_odds_are_fitted_again_once_there_are_a_quarter_more_races(ledger: Ledger) -> None:
    settler = Settler(ledger, NOW)
    races, fitted = seasonal(40, dnf="ed"), []
    for number, race in enumerate(races, start=1):
        settler.add_past_races([race], "import")
        for board in ledger.leaderboards.with_old_odds():
            stored = with_fitted_odds(settler, board, NOON)
            assert (stored.odds_races, stored.odds_fitted_at) == (number, NOON)
            fitted.append((number, stored.parameters["odds_scale"]))
    assert [number for number, _ in fitted] == [20, 25, 32, 40]
    assert 1.0 not in {scale for _, scale in fitted}


def test_a_leaderboard_whose_settings_change_during_a_fit_keeps_them(ledger: Ledger, monkeypatch) -> None:
    settler = Settler(ledger, NOW)
    settler.add_past_races(seasonal(20), "import")
    (board,) = ledger.leaderboards.all()
    changed = replace(board, parameters={**board.parameters, "level": -3.0})

    def fit_slowly(*_: object) -> Parameters:
        ledger.leaderboards.save(changed)
        return {**board.parameters, "odds_scale": 2.0}

    monkeypatch.setattr(improve, "fit_odds", fit_slowly)
    assert with_fitted_odds(settler, board, NOON).parameters == changed.parameters
    assert ledger.leaderboards.with_old_odds() == [changed], "the fit is due again"


def test_odds_that_the_operator_set_are_not_fitted(ledger: Ledger) -> None:
    settler = Settler(ledger, RatingRules(LeaderboardConfig("thurstone-hurdle", {"odds_scale": 2.0})))
    settler.add_past_races(seasonal(30), "import")
    (board,) = ledger.leaderboards.all()
    assert with_fitted_odds(settler, board, NOON).parameters["odds_scale"] == 2.0


@pytest.mark.parametrize(
    ("races", "dnfs", "level"), [(25, 0, -1.0), (24, 0, 0.8), (50, 3, -1.0), (49, 4, 0.8), (25, 25, 0.8)]
)
def test_a_leaderboard_on_which_hardly_anybody_gave_up_starts_with_a_low_hurdle(
    ledger: Ledger, caplog: pytest.LogCaptureFixture, races: int, dnfs: int, level: float
) -> None:
    """With 50 races of four, 3 more entrants are 1.5 %; with 49 races, 4 more are exactly 2 %."""
    caplog.set_level(logging.INFO)
    settler = Settler(ledger, NOW)
    settler.add_past_races(
        [result("late", "ann", dnf="ed" if dnfs else "", after=999, goal="Other")], "import"
    )
    settler.add_past_races(seasonal(dnfs, dnf="ed") + seasonal(races)[dnfs:], "import")
    board = existing(ledger.leaderboards.get(CATEGORY, GOAL))
    assert board.parameters["level"] == level
    assert ("past entrants did not finish" in caplog.text) == (level == -1.0)
    assert verify(ledger, board) == []
