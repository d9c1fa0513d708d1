"""`!score`, `!need`, and the scores in `!why`.

In each of three races, two finish after 60 and 61 minutes: the par is 60:30, and they score 100.83 and 99.17.
Ann wins two and Bo one, so that her mean is 100.28 and his 99.72. Cy never finishes.
"""

from typing import Any

import pytest
from builders import GOAL, entrant, existing, result, seen

from racebot.chat.rating_message import race_scores, why_score
from racebot.ledger.store import Ledger
from racebot.races.outcome import TeamPolicy
from racebot.scoring.rules import Rules, rules_of
from racebot.scoring.table import score_race
from racebot.settings.commands import Command
from racebot.settings.texts import DEFAULT_TEXTS

from .test_answers import ANN, BO, DI, Ask, asking


def table(name: str, **parts: int) -> dict[str, Any]:
    return {"name": name, "goals": [name], "scoring": {"rules": "sgl-2025", **parts}}


def league(ledger: Ledger, **parts: int) -> Ask:
    return asking(ledger, leaderboards=[table(GOAL, **parts)])


def test_score_tells_the_standing_its_races_and_the_cut(ledger: Ledger) -> None:
    ask = league(ledger, cut=2)
    assert ask(Command.SCORE) == "Ann: 1st of 3 with 100.3 · counted 100.8, 100.8, 99.2 · the cut is 99.7"
    assert ask(Command.SCORE, "bo").startswith("Bo: 2nd of 3 with 99.7")
    assert "Di" in ask(Command.SCORE, by=DI)


def test_leaderboard_ranks_by_what_orders_the_page(ledger: Ledger) -> None:
    by_score, by_rating = league(ledger), asking(ledger, leaderboards=[table(GOAL) | {"order_by": "rating"}])
    told = "Any Orb, top 3 of 3: 1 Ann 100.3 · 2 Bo 99.7 · 3 Cy 0.0"
    assert by_score(Command.LEADERBOARD) == by_score(Command.LEADERBOARD, by=DI) == told
    assert "100.3" not in by_rating(Command.LEADERBOARD)


def test_score_counts_the_race_of_the_room_once_it_is_finished(ledger: Ledger) -> None:
    ask = league(ledger)
    coming = result("d", "cy ann", after=3, recorded=False)
    assert ask(Command.SCORE, race=seen(coming)).endswith("· dropped 99.2"), "the fourth of three that count"
    assert "dropped" not in ask(Command.SCORE, race=seen(status="in_progress"))
    others = seen(result("d", "zed ann", after=3, recorded=False))
    assert " of 4 with" in ask(Command.SCORE, "bo", race=others), "Zed is new"


def test_racers_who_still_race_have_no_score() -> None:
    racing = result("a", entrants=(*result("a", "ann bo").entrants, entrant("cy", "racing")))
    assert set(existing(score_race(racing, rules_of("sgl-2025"), TeamPolicy.INDIVIDUAL)).scores) == {
        "id-ann",
        "id-bo",
    }


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"cut": 2, "races": 3}, "2nd with 99.7; the cut is 99.7. Secured."),
        ({"cut": 2}, "Inside the cut unless others improve."),
        # He needs more than 100.275: (99.17 + 99.17 + 100.83 + x − the worst) / 3, so x above 100.83, 60:00.
        (
            {"cut": 1},
            "You are in with 0:59:59 or faster in the next race (par 1:00:30), if nobody else improves.",
        ),
        ({"cut": 1, "races": 3}, "No race is left that can count."),
        ({}, "Any Orb has no cut."),
    ],
)
def test_need_tells_what_a_racer_needs(ledger: Ledger, parts: dict[str, int], told: str) -> None:
    assert league(ledger, **parts)(Command.NEED, by=BO).endswith(told)


def test_a_leaderboard_without_scoring_leaves_score_and_need_to_other_bots(ledger: Ledger) -> None:
    ask = asking(ledger)
    assert (ask(Command.SCORE), ask(Command.NEED)) == ("", "")


def test_score_says_that_this_leaderboard_has_none_if_another_has(ledger: Ledger) -> None:
    ask = asking(ledger, leaderboards=[table("Cup")])
    assert ask(Command.SCORE) == "Any Orb has no scores by par."


def test_why_explains_the_score_of_the_last_race(ledger: Ledger) -> None:
    assert "score 99.2: 1:01:00 at a par of 1:00:30 · " in league(ledger)(Command.WHY, by=ANN)


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        (rules_of("sgl-2025", highest=100), "score 100.0: 1:00:00 at a par of 1:00:30, limited from 100.8"),
        (
            rules_of("standard-s9"),
            "score 1008.3: 1:00:00 at a par of 1:00:30, 0:00:00 allowed for a fast seed",
        ),
    ],
)
def test_a_score_names_its_limits_and_allowances(rules: Rules, told: str) -> None:
    race = score_race(result("a", "ann bo", dnf="cy"), rules, TeamPolicy.INDIVIDUAL)
    assert why_score(race, "id-ann", rules, DEFAULT_TEXTS).startswith(told)
    assert why_score(race, "id-cy", rules, DEFAULT_TEXTS) == DEFAULT_TEXTS.why_score_forfeit
    assert why_score(race, "id-di", rules, DEFAULT_TEXTS) == ""


def test_scores_of_a_race_are_preliminary_until_a_par_has_its_finishers() -> None:
    race = existing(score_race(result("a", "ann bo", dnf="cy"), rules_of("sgl-2025"), TeamPolicy.INDIVIDUAL))
    (text,) = race_scores(race, "SGL", 4, DEFAULT_TEXTS, {"id-bo"})
    assert text.replace("\N{NO-BREAK SPACE}", " ") == (
        "Scores (SGL, race 4): 1 Ann 100.8 · 3 Cy 0.0 · preliminary until 3 have finished"
    )
