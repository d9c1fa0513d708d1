"""Scores by par in the messages after a race."""

from dataclasses import replace

from builders import SECOND, Clock, result, settler_of
from room_support import Follower

from racebot.ledger.store import Ledger

RACE = result("r", "ann bo cy", recorded=False)


def test_scores_follow_the_ratings_and_an_edited_time_corrects_them(ledger: Ledger, clock: Clock) -> None:
    clock.advance(seconds=10)
    board = {"name": "Any Orb", "goals": ["Any Orb"], "scoring": "sgl-2025"}
    settler = settler_of(ledger, "thurstone-hurdle")
    follower = Follower(settler, clock, leaderboards=[board])
    ratings, scores = follower.announce(RACE)
    assert ratings.startswith("Ratings if recorded")
    # 60, 61 and 62 minutes: par is 61.
    assert scores == "Scores (Any Orb, race 1): 1 Ann 101.6 · 2 Bo 100.0 · 3 Cy 98.4"
    ann, bo, cy = RACE.entrants
    slower = replace(cy, finish_time=(cy.finish_time or 0) + 60 * SECOND)
    edited = replace(RACE, entrants=(ann, bo, slower))
    correction, scores = follower.announce(edited)
    assert "Cy's time edited" in correction
    assert scores == "Scores (Any Orb, race 1): 1 Ann 102.2 · 2 Bo 100.5 · 3 Cy 97.3"
    assert follower.announce(edited) == []
