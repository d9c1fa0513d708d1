"""The names of a table's columns, and which of ours they are."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Mapping, Sequence

COLUMNS: dict[str, tuple[str, ...]] = {
    ours: tuple(name.strip() for name in names.split(","))
    for ours, names in {
        "race": "race, game, event, match, race id, raceid, race name, grand prix, heat, stage, track, round",
        "ended_at": "ended at, date, day, datetime, race date, start date",
        "player": "player, racer, driver, rider, runner, athlete, competitor, participant, parkrunner, pilot,"
        "name, full name, fullname, driver name, player name, user, username, racer id, driverid, driver id,"
        "player id, cust id",
        "name": "name, display name",
        "time": "time, finish time, total time, race time, chip time, time retired, net time, interval",
        "place": "place, position, rank, pos, finishing position, finish position, fin pos, placement,"
        "ranking, final rank",
        "score": "score, points, pts",
        "status": "status, positiontext, irm, finish status, result status, reason out, out",
        "dnf": "dnf, retired",
        "dq": "dq, dsq, disqualified",
        "dns": "dns",
        "team": "team",
        "factor": "factor",
    }.items()
}
"""Names of each column in plain words, the best first."""
RESULTS = ("place", "time", "score")
FLAGS = ("dnf", "dq", "dns")
SEASON = ("season", "year")
PAIRS = ("winner, loser", "player 1, player 2", "player1, player2", "white, black", "home, away")
_ORDINAL = re.compile(r"(?:place |pos |position |player ?|p)(\d{1,4})|(\d{1,4})(?:st|nd|rd|th)(?: place)?")


def plain(name: str) -> str:
    """Return a column's name in plain words: `Finish_Time` and `Finish time.` are `finish time`."""
    return " ".join(re.findall(r"[^\W_]+", name.casefold()))


def few(names: Sequence[str], most: int = 8) -> str:
    """Name the first few of a list."""
    shown = ", ".join(map(reprlib.repr, names[:most]))
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


class Header:
    """The names of columns in one line.

    Attributes:
        names: the file's own names.
        plain: the names in plain words.
        at: the positions of each of our columns.
        missing: columns that were asked for and are not there, by ours.
    """

    def __init__(
        self, row: Sequence[str], known: Mapping[str, tuple[str, ...]], given: Mapping[str, str]
    ) -> None:
        self.names = [" ".join(cell.split()) for cell in row]
        self.plain = [plain(cell) for cell in row]
        self.at: dict[str, tuple[int, ...]] = {}
        self.missing: dict[str, str] = {}
        for ours, theirs in given.items():
            parts = [theirs] if self.find(theirs) is not None else theirs.split("+")
            found = tuple(at for part in parts if (at := self.find(part)) is not None)
            if theirs and len(found) == len(parts):
                self.at[ours] = found
            elif theirs:
                self.missing[ours] = theirs
        for ours, names in known.items():
            if ours not in given and (found := self._first(names)):
                self.at[ours] = found
        season = self._first(SEASON)
        if "race" in self.at and "race" not in given and season:
            self.at["race"] = season + self.at["race"]
        weaker = {"score"} if {"place", "time"} & self.at.keys() else set()
        if "score" in self.at and "score" in given:
            weaker = {"place", "time"}
        for ours in weaker - given.keys():
            self.at.pop(ours, None)

    def _first(self, names: Iterable[str]) -> tuple[int, ...]:
        """Return the position of the first of these names that stands for nothing else yet."""
        used = self.used()
        return next(
            ((at,) for name in names for at, own in enumerate(self.plain) if own == name and at not in used),
            (),
        )

    def find(self, name: str) -> int | None:
        """Return the position of a column by its own name: exactly, or in plain words."""
        for names, wanted in ((self.names, name.strip()), (self.plain, plain(name))):
            if wanted and wanted in names:
                return names.index(wanted)
        return None

    def results(self) -> list[str]:
        """Return which columns of results there are."""
        return [name for name in RESULTS if name in self.at]

    def title(self, ours: str) -> str:
        """Return the file's own name of one of our columns."""
        return "+".join(self.names[at] for at in self.at[ours])

    def used(self) -> set[int]:
        """Return the positions of our columns."""
        return {at for positions in self.at.values() for at in positions}

    def texts(self, row: Sequence[str], columns: Iterable[str]) -> dict[str, str]:
        """Return the cells of some of our columns, of those that there are."""
        return {
            ours: " ".join(row[at].strip() for at in self.at[ours] if at < len(row)).strip()
            for ours in columns
            if ours in self.at
        }

    def pair(self) -> tuple[int, int] | None:
        """Return the positions of the two players of a line, if it has two."""
        found = (tuple(map(self.find, names.split(", "))) for names in PAIRS)
        return next(((one, two) for one, two in found if one is not None and two is not None), None)

    def in_order(self) -> list[int]:
        """Return the positions of the columns 1st, 2nd, 3rd and so on, or none."""
        found = {
            int(match[1] or match[2]): at
            for at, name in enumerate(self.plain)
            if (match := _ORDINAL.fullmatch(name))
        }
        wanted = list(range(1, len(found) + 1))
        return [found[n] for n in wanted] if len(found) > 1 and sorted(found) == wanted else []
