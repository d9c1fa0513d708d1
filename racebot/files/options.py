"""How to read a file where it does not say so itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from racebot.errors import SettingsError
from racebot.files.cells import OUTCOMES, Meaning
from racebot.files.columns import ATTEMPTS, COLUMNS, Names, plain


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
    """Options for reading files. Those of commands have the same names, and their help.

    Attributes:
        columns: the file's own names of columns, by ours.
        words: what words in place of a result mean, in lower case.
        where: the texts of each column that a line needs to count.
        by_time: whether times win over places, rather than places over times.
        teams: whether a table's column `team` makes teams although teammates have different results.
        category: slug for the races of an archive or table.
        goal: the goal of an archive's or table's races, by default the file's name without its ending; for
            the site's own JSON, the one goal to keep, by default all.
        known: the names of columns that are recognized.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    layout: Layout | None = None
    words: Mapping[str, Meaning] = field(default_factory=dict)
    where: Mapping[str, Iterable[str]] = field(default_factory=dict)
    sheet: str | None = None
    twice: Twice | None = None
    exact_names: bool = False
    day_first: bool = False
    lowest_wins: bool = False
    unrecorded: bool = False
    by_time: bool = False
    teams: bool = False
    category: str = ""
    goal: str | None = None
    known: Names = field(default_factory=lambda: COLUMNS)


DEFAULT = ReadOptions()


def options_of(
    *,
    columns: str | Mapping[str, str] | None = None,
    layout: str | None = None,
    words: str | None = None,
    where: str | None = None,
    twice: str | None = None,
    **others: Any,
) -> ReadOptions:
    """Return the options that texts say, as the commands take them.

    Raises:
        SettingsError: a text has another form, or names a column that is not ours.
    """
    form = f"OURS=YOURS, where OURS is one of {', '.join(dict.fromkeys([*COLUMNS, *ATTEMPTS]))}"
    given = _pairs("--columns", columns, form) if isinstance(columns, str) else columns or {}
    names = {
        name: ours for ours, aliases in (*ATTEMPTS.items(), *COLUMNS.items()) for name in (*aliases, ours)
    }
    ours = {name: "cells" if name == "cells" else names.get(plain(name)) for name in given}
    if None in ours.values():
        raise SettingsError(f"--columns {columns}: write {form}")
    chosen = _pairs("--where", where, "COLUMN=TEXT, such as session=RACE or class=GT3|GT4")
    try:
        return ReadOptions(
            columns={str(ours[name]): theirs.strip() for name, theirs in given.items()},
            layout=(layout and Layout(layout)) or None,
            words=_words(words),
            where={column: tuple(texts.lower().split("|")) for column, texts in chosen.items()},
            twice=(twice and Twice(twice)) or None,
            **others,
        )
    except ValueError as error:
        raise SettingsError(str(error)) from None


def _pairs(option: str, text: str | None, form: str) -> dict[str, str]:
    """Parse `a=b,c=d`."""
    parts = [part.partition("=") for part in (text or "").split(",") if part.strip()]
    if not all(name.strip() and sign for name, sign, _ in parts):
        raise SettingsError(f"{option} {text}: write {form}")
    return {name.strip(): value.strip() for name, _, value in parts}


def _words(text: str | None) -> dict[str, Meaning]:
    """Parse `dnf=crash|engine,dns=0`, or `0=dns`."""
    found: dict[str, Meaning] = {}
    form = f"dnf=crash|engine,dns=0, with {', '.join(OUTCOMES)} on the left"
    for left, right in _pairs("--words", text, form).items():
        outcome, words = (left, right) if left.lower() in OUTCOMES else (right, left)
        if outcome.lower() not in OUTCOMES:
            raise SettingsError(f"--words {text}: write {form}")
        found |= dict.fromkeys((word.strip().lower() for word in words.split("|")), OUTCOMES[outcome.lower()])
    return found
