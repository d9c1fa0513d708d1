import pytest

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
        ("!rating " + "x" * 1000, ParsedCommand(Command.RATING, "x" * LONGEST_ARGUMENT)),
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
