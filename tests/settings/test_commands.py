import pytest
from hypothesis import given, strategies as st

from racebot.settings.commands import LONGEST_ARGUMENT, Command, CommandNames, ParsedCommand

WORDS = CommandNames()


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("!rating", ParsedCommand(Command.RATING)),
        ("  !RATING   @Ann   Lee ", ParsedCommand(Command.RATING, "Ann Lee")),
        ("!ratings", ParsedCommand(Command.HELP)),
        ("!ratings off", ParsedCommand(Command.HELP, "off")),
        ("!vs Bo", ParsedCommand(Command.VERSUS, "Bo")),
        ("!why? Ann", ParsedCommand(Command.WHY, "Ann")),
        ("!rating?", ParsedCommand(Command.RATING)),
        ("!leaderboard\n12", ParsedCommand(Command.LEADERBOARD, "12")),
        ("!rating \u202eAnn\x07", ParsedCommand(Command.RATING, "Ann")),
    ],
)
def test_commands_are_parsed(line: str, asked: ParsedCommand) -> None:
    assert WORDS.parse(line) == asked


@pytest.mark.parametrize(
    "line", ["", "!", "! rating", "rating", "my !rating", "!ratingz", "!?rating", "!?", "!!rating"]
)
def test_other_lines_are_not_commands(line: str) -> None:
    assert WORDS.parse(line) is None


def test_commands_can_have_other_names_and_another_prefix() -> None:
    words = CommandNames("?", {Command.RATING: "Elo", Command.ODDS: ""})
    assert words.parse("?elo ann") == ParsedCommand(Command.RATING, "ann")
    assert words.parse("?rating") is None
    assert words.parse("!elo") is None
    assert words.parse("?odds") is None
    assert words.parse("?") is None, "a command that is off has no name, not an empty one"
    assert words.line(Command.RATING) == "?Elo"
    assert words.line(Command.ODDS) == ""


def test_names_that_clash_are_problems() -> None:
    assert WORDS.problems() == []
    assert CommandNames(names={Command.WHY: "rating"}).problems() == ["rating and why are both named rating"]
    (found,) = CommandNames(names={Command.WHY: "a b"}).problems()
    assert found.startswith("why=a b: a name has letters, digits")


@given(st.text(max_size=1000))
def test_arguments_are_short_and_on_one_line(text: str) -> None:
    asked = WORDS.parse("!rating " + text)
    if asked is not None:
        assert len(asked.argument) <= LONGEST_ARGUMENT
        assert "\n" not in asked.argument


def test_players_may_use_aliases_unless_a_command_has_that_name() -> None:
    assert CommandNames().parse("!elo Ann") == ParsedCommand(Command.RATING, "Ann")
    assert CommandNames().parse("!lb 10") == ParsedCommand(Command.LEADERBOARD, "10")
    renamed = CommandNames(names={Command.LEADERBOARD: "rank", Command.RATING: ""})
    assert renamed.parse("!rank") == ParsedCommand(Command.LEADERBOARD)
    assert renamed.parse("!elo") is None, "the command is switched off"
