"""How to read a file that does not say so itself, and the names that are known."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate
from typing import Any

from racebot.errors import SettingsError
from racebot.files import cells
from racebot.files.cells import KNOWN, OUTCOMES, Meaning

Names = dict[str, tuple[str, ...]]
"""Names of each of our columns in plain words, the best first."""
COLUMNS: Names = {ours: tuple(names) for ours, names in KNOWN["columns"].items()}
ATTEMPTS: Names = {ours: COLUMNS[ours] for ours in ("race", "player", "time", "place", "status")} | {
    "player": (*COLUMNS["player"], "id", "user id", "site id"),
    "proof": ("proof", "vod", "video", "link", "url"),
    "comment": ("comment", "comments", "note", "notes"),
}
"""The columns of an event's sheet."""
RESULTS = ("place", "time", "score")
FLAGS = ("dnf", "dq", "dns")
PAIRS = [tuple(pair) for pair in KNOWN["pairs"]]
OF_TWO = ("player1", "player2", "result")
"""Further columns, which can be named where a line has two players."""
OF_ONE = re.compile(r"\b(?:id|no|nr|num|number|bib|license|licence|startnummer)$")
"""Names of columns that tell people apart."""
TOTAL = re.compile(f"({'|'.join(KNOWN['totals'])})( .*)?|{'|'.join(KNOWN['facts'])}|.*{OF_ONE.pattern}")
"""Columns that are no race and no player in a wide table."""
_NUMBERED = "|".join(KNOWN["numbered"])
_DAY = r"(?:(?:\d+ )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*(?: \d+){0,2}|\d+ \d+(?: \d+)?)"
RACE_NAME = re.compile(
    rf"(?:{_NUMBERED})? ?\d+|(?:\d+|[a-z]) (?:{_NUMBERED})|(?:{_NUMBERED}) (?:[a-z]|\d+ {_DAY})"
)


@lru_cache(maxsize=10_000)
def plain(name: str) -> str:
    """Return a column's name in plain words: `Finish_Time.` and `finishTime` are `finish time`."""
    apart = re.sub("(?<=[a-z])(?=[A-Z])", " ", name)
    return " ".join(re.findall(r"[^\W_]+", apart.casefold()))


def few(names: Sequence[str], most: int = 8) -> str:
    """Name the first few of a list."""
    shown = ", ".join(map(reprlib.repr, names[:most]))
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def by_columns(**columns: str) -> str:
    """Return the option that names columns: `--columns "time=Finish Time"`."""
    return f"--columns {cells.quoted(','.join(f'{ours}={theirs}' for ours, theirs in columns.items()))}"


def padded(row: list[str], width: int) -> list[str]:
    """Return a row with empty cells for columns that it lacks."""
    return row + [""] * (width - len(row))


def two_lines(row: list[str], second: Sequence[str] = ()) -> list[str] | None:
    """Return the names of columns if merged cells leave gaps or copies, told apart by the second line."""
    upper, lower = padded(row, len(second)), padded([*second], len(row))
    gaps = any(low and (not name or upper.count(name) > 1) for name, low in zip(upper, lower, strict=True))
    first, *more = (at for at, name in enumerate(row) if name)  # without more, a title
    if not (gaps and more) or (lower[first] and any(map(cells.is_result, filter(None, lower)))):
        return None
    own = list(filter(None, lower))
    groups: Iterator[str] = accumulate(upper, lambda before, name: name or before)
    pairs = zip(groups, lower, strict=True)
    lower = [f"{group} {name}".strip() if own.count(name) > 1 else name for group, name in pairs]
    return [name or above for above, name in zip(upper, lower, strict=True)]


class Layout(StrEnum):
    """What a line of a table is: one entrant of one race, a whole race, or a player in all races."""

    LONG = "long"
    RACES = "races"
    PLAYERS = "players"


class Twice(StrEnum):
    """Which of a player's results in one race counts."""

    FIRST = "first"
    BEST = "best"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options for reading files. Those of commands have the same names, and their help.

    `columns` are the file's own names of columns, by ours, and `known` those that are recognized. `where` has
    the texts that a line needs to count. With `by_time`, times win over places; with `teams`, a column `team`
    makes teams in any case. The `goal` is that of all races, or of the site's JSON, the one to keep.
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
    columns: str | Sequence[str] | Mapping[str, str] | None = None,
    layout: str | None = None,
    words: str | Sequence[str] | None = None,
    where: str | Sequence[str] | None = None,
    twice: str | None = None,
    **others: Any,
) -> ReadOptions:
    """Return the options that texts say, as the commands take them, or raise a SettingsError."""
    form = f"OURS=YOURS, where OURS is one of {', '.join(dict.fromkeys([*COLUMNS, *ATTEMPTS, *OF_TWO]))}"
    given = columns if isinstance(columns, Mapping) else dict(_pairs("--columns", columns, form))
    names = {plain(name): name for name in ("cells", "unused", *OF_TWO)}
    for ours, aliases in (*ATTEMPTS.items(), *COLUMNS.items()):
        names |= dict.fromkeys((*aliases, ours), ours)
    named = {names.get(plain(name), ""): theirs.strip() for name, theirs in given.items()}
    if "" in named:
        raise SettingsError(f"--columns {columns}: write {form}")
    chosen = _pairs("--where", where, "COLUMN=TEXT, such as session=RACE or class=GT3|GT4")
    try:
        others |= {"layout": (layout and Layout(layout)) or None, "twice": (twice and Twice(twice)) or None}
        texts = {column: tuple(each.lower().split("|")) for column, each in chosen}
        return ReadOptions(columns=named, words=_words(words), where=texts, **others)
    except ValueError as error:
        raise SettingsError(str(error)) from None


def _pairs(option: str, given: str | Sequence[str] | None, form: str) -> list[tuple[str, str]]:
    """Parse `a=b,c=d`, or several such."""
    text = given if isinstance(given, str) else ",".join(given or ())
    parts = [part.partition("=") for part in re.split(r",(?=[^,=]*=)", text) if part.strip()]
    if not all(name.strip() and sign for name, sign, _ in parts):
        raise SettingsError(f"{option} {text}: write {form}")
    return [(name.strip(), value.strip()) for name, _, value in parts]


def _words(text: str | Sequence[str] | None) -> dict[str, Meaning]:
    """Parse `dnf=crash|engine,dns=0`, or `0=dns`."""
    found: dict[str, Meaning] = {}
    form = f"dnf=crash|engine,dns=0, with {', '.join(OUTCOMES)} on the left"
    for left, right in _pairs("--words", text, form):
        outcome, words = (left, right) if left.lower() in OUTCOMES else (right, left)
        if outcome.lower() not in OUTCOMES:
            raise SettingsError(f"--words {text}: write {form}")
        found |= dict.fromkeys((word.strip().lower() for word in words.split("|")), OUTCOMES[outcome.lower()])
    return found
