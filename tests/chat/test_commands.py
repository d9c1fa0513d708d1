from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from racebot.chat.commands import LONGEST_ARGUMENT, OTHER_BOTS, Asked, Command, Words
from racebot.chat.rate_limit import WINDOW, Limiter

WORDS = Words()


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("!rating", Asked(Command.RATING)),
        ("  !RATING   @Ann   Lee ", Asked(Command.RATING, "Ann Lee")),
        ("!ratings", Asked(Command.HELP)),
        ("!ratings off", Asked(Command.HELP, "off")),
        ("!vs Bo", Asked(Command.VERSUS, "Bo")),
        ("!leaderboard\n12", Asked(Command.LEADERBOARD, "12")),
        ("!rating \u202eAnn\x07", Asked(Command.RATING, "Ann")),
    ],
)
def test_a_command_is_read(line: str, asked: Asked) -> None:
    assert WORDS.parse(line) == asked


@pytest.mark.parametrize(
    "line", ["", "!", "! rating", "rating", "my !rating", "!ratingz", "!rating?", "!!rating"]
)
def test_other_lines_are_not_commands(line: str) -> None:
    assert WORDS.parse(line) is None


def test_own_names_and_prefix() -> None:
    words = Words("?", {Command.RATING: "Elo", Command.ODDS: ""})
    assert words.parse("?elo ann") == Asked(Command.RATING, "ann")
    assert words.parse("?rating") is None
    assert words.parse("!elo") is None
    assert words.parse("?odds") is None
    assert words.parse("?") is None, "a command that is off has no name, not an empty one"
    assert words.line(Command.RATING) == "?Elo"
    assert words.line(Command.ODDS) == ""


def test_names_that_clash_are_problems() -> None:
    assert WORDS.problems() == []
    assert Words(names={Command.WHY: "rating"}).problems() == ["rating and why are both named rating"]
    assert Words(names={Command.WHY: "SEED"}).problems() == [
        "why=seed: other bots use !seed: choose another name"
    ]
    assert Words("~", {Command.WHY: "seed"}).problems() == []
    assert Words(names={Command.WHY: "a b"}).problems() == [
        "why=a b: a name has letters, digits and hyphens only"
    ]


def test_default_names_are_clear_of_other_bots() -> None:
    assert OTHER_BOTS.isdisjoint(Command)


@given(st.text(max_size=1000))
def test_any_text_is_a_command_or_not(text: str) -> None:
    asked = WORDS.parse("!rating " + text)
    if asked is not None:
        assert len(asked.argument) <= LONGEST_ARGUMENT
        assert "\n" not in asked.argument


def test_answers_per_minute_are_limited_per_person_and_per_room() -> None:
    limiter = Limiter(per_person=2, per_room=3)
    assert [limiter.allows("r", "ann", now) for now in (0, 1, 2)] == [True, True, False]
    assert [limiter.allows("r", "bo", now) for now in (3, 4)] == [True, False], "the room has had three"
    assert limiter.allows("other", "bo", 4), "each room counts alone"
    assert not limiter.allows("r", "ann", WINDOW - 0.1)
    assert limiter.allows("r", "ann", WINDOW), "a minute after the first"


def test_refused_answers_do_not_count() -> None:
    limiter = Limiter(per_person=1, per_room=9)
    assert limiter.allows("r", "ann", 0)
    assert not any(limiter.allows("r", "ann", now) for now in range(1, 60))
    assert limiter.allows("r", "ann", WINDOW)


def test_limiter_forgets_inactive_players() -> None:
    limiter = Limiter(per_person=1, per_room=10**6)
    for person in range(5000):
        limiter.allows("r", str(person), 0)
    for person in range(5000):
        limiter.allows("r", str(person), 2 * WINDOW + person)
    assert len(limiter) < 5000, "only entries of the last minute, and those not swept since"


def test_players_may_use_aliases_unless_a_command_has_that_name() -> None:
    assert Words().parse("!elo Ann") == Asked(Command.RATING, "Ann")
    assert Words().parse("!lb 10") == Asked(Command.LEADERBOARD, "10")
    renamed = Words(names={Command.LEADERBOARD: "rank", Command.RATING: ""})
    assert renamed.parse("!rank") == Asked(Command.LEADERBOARD)
    assert renamed.parse("!elo") is None, "the command is switched off"
