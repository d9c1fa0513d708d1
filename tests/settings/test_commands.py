import pytest
from hypothesis import given, settings, strategies as st

from racebot.settings.commands import LONGEST_ARGUMENT, Command, ParsedCommand, parse_command


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
        ("!elo Ann", ParsedCommand(Command.RATING, "Ann")),
        ("!lb 10", ParsedCommand(Command.LEADERBOARD, "10")),
    ],
)
def test_commands_are_parsed(line: str, asked: ParsedCommand) -> None:
    assert parse_command(line) == asked


@pytest.mark.parametrize(
    "line", ["", "!", "! rating", "rating", "my !rating", "!ratingz", "!?rating", "!?", "!!rating"]
)
def test_other_lines_are_not_commands(line: str) -> None:
    assert parse_command(line) is None


def test_commands_can_have_another_prefix() -> None:
    assert parse_command("?rating ann", "?") == ParsedCommand(Command.RATING, "ann")
    assert parse_command("!rating", "?") is None


@given(st.text(max_size=1000))
@settings(max_examples=20)
def test_arguments_are_short_and_on_one_line(text: str) -> None:
    asked = parse_command("!rating " + text)
    if asked is not None:
        assert len(asked.argument) <= LONGEST_ARGUMENT
        assert "\n" not in asked.argument
