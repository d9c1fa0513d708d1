"""How to read a file where it does not say so itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from racebot.errors import SettingsError
from racebot.races.result import EntrantStatus

OUTCOMES: dict[str, EntrantStatus | None] = {
    "dnf": EntrantStatus.DNF,
    "dq": EntrantStatus.DQ,
    "dsq": EntrantStatus.DQ,
    "dns": None,
    "done": EntrantStatus.DONE,
}
"""Results that a word can stand for. None for a player who did not start."""


class Layout(StrEnum):
    """What a line of a table is."""

    LONG = "long"
    """One entrant of one race."""
    RACES = "races"
    """A race, with a column for each player."""
    PLAYERS = "players"
    """A player, with a column for each race."""


class Twice(StrEnum):
    """Which of a player's results in one race counts."""

    FIRST = "first"
    BEST = "best"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options for reading files.

    Attributes:
        columns: the file's own names of columns, by ours. An empty name leaves a column out, and
            `Season+Round` joins two.
        layout: what a line is; by default, recognized.
        words: what words in place of a result mean, in lower case.
        where: the texts of each column that a line needs to count.
        sheet: the sheet of a workbook; by default the first with the columns.
        twice: which of a player's results in one race counts; by default, two are refused.
        exact_names: whether names that differ in case, spaces or accents are different people.
        day_first: whether dates such as 9/8/2019 begin with the day, where no date of the file shows it.
        lowest_wins: whether a lower score is better.
        unrecorded: whether rooms of the site that nobody recorded count.
        by_time: whether times win over places, rather than places over times.
        teams: whether a table's column `team` makes teams although teammates have different results.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    layout: Layout | None = None
    words: Mapping[str, EntrantStatus | None] = field(default_factory=dict)
    where: Mapping[str, Iterable[str]] = field(default_factory=dict)
    sheet: str | None = None
    twice: Twice | None = None
    exact_names: bool = False
    day_first: bool = False
    lowest_wins: bool = False
    unrecorded: bool = False
    by_time: bool = False
    teams: bool = False


DEFAULT = ReadOptions()


def pairs(option: str, text: str | None, form: str) -> dict[str, str]:
    """Parse `a=b,c=d`.

    Raises:
        SettingsError: a part has no name or no equals sign.
    """
    parts = [part.partition("=") for part in (text or "").split(",") if part.strip()]
    if not all(name.strip() and sign for name, sign, _ in parts):
        raise SettingsError(f"{option} {text}: write {form}")
    return {name.strip(): value.strip() for name, _, value in parts}


def words_of(text: str | None) -> dict[str, EntrantStatus | None]:
    """Parse `dnf=crash|engine,dns=0`, or `0=dns`.

    Raises:
        SettingsError: neither side of an equals sign is a result.
    """
    found: dict[str, EntrantStatus | None] = {}
    form = f"dnf=crash|engine,dns=0, with {', '.join(OUTCOMES)} on the left"
    for left, right in pairs("--words", text, form).items():
        outcome, words = (left, right) if left.lower() in OUTCOMES else (right, left)
        if outcome.lower() not in OUTCOMES:
            raise SettingsError(f"--words {text}: write {form}")
        found |= dict.fromkeys((word.strip().lower() for word in words.split("|")), OUTCOMES[outcome.lower()])
    return found


def where_of(text: str | None) -> dict[str, tuple[str, ...]]:
    """Parse `session=RACE|SPRINT,class=GT3`."""
    found = pairs("--where", text, "COLUMN=TEXT, such as session=RACE or class=GT3|GT4")
    return {column: tuple(values.lower().split("|")) for column, values in found.items()}
