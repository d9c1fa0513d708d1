"""Asks about results that may mean another thing, and columns and lines that do not fit the others."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise

from racebot.errors import PayloadError
from racebot.files import cells
from racebot.files.cells import ABSENT, DONE, KNOWN, BadCellError
from racebot.files.header import Header
from racebot.files.options import RESULTS, TOTAL, by_columns, plain

_MOST = 100
"""Most places of a race, and lines of scores, that are compared, each with all others."""
_OUT = {word for word, means in cells.WORDS.items() if means is not DONE and word.isalpha()}
_WHOLE = re.compile("total|tot|final|finish|result|net|gesamt|time|gap|diff|interval|behind|écart|rückstand")
_READERS = {"place": cells.place, "time": cells.microseconds, "score": cells.number}


def ask(header: Header) -> None:
    """Raise a PayloadError if lines of entrants may be read in two ways, unless options say how."""
    for ours, question in _QUESTIONS:
        asked = None if ours in header.options.columns else question(header)
        if asked is not None:
            raise PayloadError(asked)


def _unit_of_times(header: Header) -> str | None:
    """Ask whether times such as 895000 are milliseconds or seconds."""
    if header.results() != ["time"] or max(header.whole_times(), default=0) <= 86_400:
        return None
    own = header.titles()["time"]
    return f"are times in {own!r} in milliseconds or in seconds? rename the column {own} (ms) or {own} (s)"


def _times_of_day(header: Header) -> str | None:
    """Ask whether a finish beside a start is a time of day."""
    clock, own = header.find("start", "start time"), header.titles()
    if header.results() != ["time"] or clock is None or ":" not in "".join(header.column(clock)):
        return None
    if "finish" not in plain(own["time"]):
        return None
    fix = f"add a column time with what lies between; if not, {by_columns(time=own['time'])}"
    return f"are starts and finishes times of day? If so, {fix}"


def _penalties(header: Header) -> str | None:
    """Ask whether times include the penalties beside them."""
    added = header.find(*KNOWN["penalty"])
    if header.results() != ["time"] or added is None or not re.search("[1-9]", "".join(header.column(added))):
        return None
    own = header.titles()["time"]
    fix = f"add {by_columns(time=own)}; if not, add a column of the sums"
    asked = f"does {own!r} include {header.names[added]!r}? If so, {fix}"
    return None if TOTAL.fullmatch(plain(own)) else asked


def _groups(header: Header) -> str | None:
    """Ask whether tables, classes or distances are races of their own, in a race without places."""
    titles = {} if "place" in header.at else header.titles("race", "ended_at")
    keys = [at for ours in titles for at in header.at[ours]]
    named = [set() if re.search(r"\d|\bage\b", name) else {*name.split()} for name in header.plain]
    groups = [at for at, words in enumerate(named) if words & {*KNOWN["groups"]}]
    for at in groups if "place" not in header.at else ():
        seen = Counter((*(row[key] for key in keys), row[at]) for row in header.below if row[at])
        several = len({key[:-1] for key in seen}) < len(seen)
        if at not in header.used and several and max(seen.values()) > 1:
            race = titles.get("race") or titles.get("ended_at", "")
            own = by_columns(race="+".join(filter(None, (race, header.names[at]))))
            fix = f"If so, add {own}; if not, {by_columns(race=race)}"
            return f"is each {header.names[at]!r} a race of its own? {fix}"
    return None


def _words(header: Header) -> str | None:
    """Ask whether a column that is not used says that somebody did not finish, or did not start."""
    rows = [(any(map(cells.is_result, header.texts(row, *RESULTS).values())), row) for row in header.below]
    free = [at for at, name in enumerate(header.names) if name and at not in header.used]
    for at in free if "status" not in header.at else ():
        words = {row[at].lower() for placed, row in rows if placed} & _OUT
        others = {row[at].lower() for placed, row in rows if not placed}
        absent = any(word[3:] and cells.WORDS.get(word, cells.DNF) is not cells.DNF for word in others)
        # A short word may be a country, or an attempt among others.
        measured = any(map(cells.is_result, header.column(at)))
        whole = _WHOLE.match(header.plain[at]) if measured else words & cells.OUTCOMES.keys()
        if (whole and words) or absent or any(word[3:] for word in words):
            fix = f"add {by_columns(status=header.names[at])}, or status= if it says another thing"
            return f"{header.names[at]!r} says who did not finish or start: {fix}"
    return None


def _two_places(header: Header) -> str | None:
    """Ask which of two columns of places counts if they differ, as a seat or a start and a finish do."""
    used = header.at.get("place", ())
    known = {at for at, name in enumerate(header.plain) if name in KNOWN["columns"]["place"]}
    named = [at for at, name in enumerate(header.plain) if name in KNOWN["won"]]
    won = {at for at in named if cells.say_who_won(map(str.lower, header.column(at)))}
    letters = header.titles("status").get("status", "").lower() == "positiontext"  # whose rank is of laps
    for at in (known | won) - {*used} if used and not letters else ():
        own = [value("place", text) for text in header.column(used[0])]
        other = [value("place", text) for text in header.column(at)]
        if at in won:  # 1 for a win, 2 for all others
            own = [place and min(place, 2) for place in own]
            other = [value("place", cells.WON.get(text.lower(), "")) for text in header.column(at)]
        pairs = [*zip(own, other, strict=True)]
        differ = any(one != two for one, two in pairs if one is not None and two is not None)
        differ &= header.names[at] != header.names[used[0]]  # a repeated name is refused as such
        if differ and math.inf not in {two for _, two in pairs}:
            one, two = (cells.quoted(f"place={header.names[each]}") for each in (used[0], at))
            return f"two columns of places that differ: add --columns {one} or {two}"
    return None


_QUESTIONS: Sequence[tuple[str, Callable[[Header], str | None]]] = (
    ("", _unit_of_times),
    ("time", _times_of_day),
    ("time", _penalties),
    ("race", _groups),
    ("place", _two_places),
    ("status", _words),
)
"""What may be read in two ways, and the column that answers if an option names it."""


def strays(
    kind: str, columns: Mapping[int, Sequence[str]], named: Collection[int], *, by_player: bool
) -> tuple[list[int], list[int]]:
    """Return the columns that may be no player, or race if not so `named`, and the numbers of such rows."""
    read = {at: [value(kind, text) for text in texts] for at, texts in columns.items()}
    cells_of = (zip(read, row, strict=True) for row in zip(*read.values(), strict=True))
    lines = rows = [{at: value for at, value in row if value is not None} for row in cells_of]
    turned = [{n: v for n, v in enumerate(column) if v is not None} for column in read.values()]
    # The last of three has the sum of the other places, and the second their mean.
    kinds = {"least", "most"} if kind == "place" else {"least", "most", "sum", "mean"}
    found = _made_of_others(rows, kinds)
    rows = [row for row in rows if row]
    if kind == "time" and any(":" in "".join(texts) for texts in columns.values()):
        whole = {at for at in read if set(":.,").isdisjoint("".join(columns[at]))}
        found |= whole - {*named}
    if kind == "score" and by_player and _grow(rows):
        found |= {*read} - {next(iter(read))}
    values = {at: [*column.values()] for at, column in zip(read, turned, strict=True)}
    if kind == "score":
        found |= {at for at, own in values.items() if len(own) > 2 and {*own} == {own[0]} != {0}}
    if len(named) > 1 and kind != "place":
        found |= {*read} - {*named}
    if kind == "place" and by_player:
        first = next(iter(read))
        found |= {at for at, race in values.items() if not _ranked(race)}
        found |= {first} if read[first] == [*range(1, max(len(rows), 4) + 1)] else set()
        found -= {*named}
    elif kind == "place":
        found |= _outside_ranks(rows)
    totals = {*range(1, len(rows))} if kind == "score" and not by_player and _grow(turned) else set[int]()
    if kind == "score":
        totals |= _subtotals(lines)
        found |= {[*read][n] for n in _subtotals(turned)}
    return [at for at in read if at in found], sorted(_made_of_others(turned, kinds).union(totals))


def _subtotals(lines: Sequence[Mapping[int, float]]) -> set[int]:
    """Return the lines with the sums of two or more lines above them, but those that are such sums."""
    found = set[int]()
    for number, line in enumerate(lines[:_MOST]):
        own, sums = {key: each for key, each in line.items() if each < math.inf}, Counter[int]()
        for count, above in enumerate((n for n in range(number)[::-1] if n not in found), start=1):
            sums.update({key: each for key, each in lines[above].items() if each < math.inf})
            if count > 1 and sum(map(bool, own.values())) > 2 and own == {key: sums[key] for key in own}:
                found.add(number)
                break
    return found


def _grow(lines: Sequence[Mapping[int, float]]) -> bool:
    """Return whether all scores grow from race to race, as sums do."""
    values = [[*line.values()] for line in lines]
    return len(lines) > 1 and all(each[2:] and each[0] < each[-1] and each == sorted(each) for each in values)


def value(kind: str, text: str) -> float | None:
    """Return what a place, time or score is worth: None if there is none, infinity for a word."""
    text = cells.told(text)
    if text.lower() in ABSENT:
        return None
    try:
        return _READERS[kind](text)
    except BadCellError:
        return math.inf


def are_places(texts: Sequence[str]) -> bool:
    """Return whether the numbers of a race are 1, 2, 3 and so on, where equal ones take up the next."""
    places = [value("place", text) or 0 for text in texts]
    return math.inf not in places and _ranked(places)


def _ranked(race: Sequence[float]) -> bool:
    places = sorted(place for place in race if place < math.inf)
    return all(place in {n, before} for n, (before, place) in enumerate(pairwise([0, *places]), start=1))


def _outside_ranks(races: Sequence[Mapping[int, float]]) -> set[int]:
    """Return the columns without which more races are ranked, or that count or repeat the others."""
    gains, counts, ties = Counter[int](), Counter[int](), Counter[int]()
    for race in (race for race in races if len(race) <= _MOST):
        fits, seen = _ranked([*race.values()]), Counter(race.values())
        for at, place in race.items():
            gains[at] += _ranked([v for other, v in race.items() if other != at]) - fits
            counts[at] += place == len(race) - 1
            ties[at] += seen[place] > 1 and place < math.inf
    unsure = {at for at in gains if gains[at] == 0}  # never seen before another
    worse = {at for at in gains if gains[at] > 0} or {at for at in unsure if counts[at] == len(races)}
    return worse or {at for at in unsure if 2 * ties[at] > len(races)}


def _made_of_others(rows: Sequence[Mapping[int, float]], kinds: Collection[str]) -> set[int]:
    """Return the columns that are the sum, the best, the worst or the mean of the others in each row."""
    seen, hits = defaultdict[int, list[float]](list), Counter[tuple[int, str]]()
    for row in rows:
        values = sorted(value for value in row.values() if value < math.inf)
        for at, own in row.items() if len(values) > 2 else ():
            low, high = values[own == values[0]], values[-1 - (own == values[-1])]
            if own < math.inf and low < high:
                rest = sum(values) - own
                seen[at].append(own)
                told = {"least": own == low, "most": own == high, "sum": own == rest}
                told["mean"] = abs(own - rest / (len(values) - 1)) <= 0.05 * (high - low)
                hits.update({(at, what): holds for what, holds in told.items() if what in kinds})
    # Equal values that seldom change, such as no points, are those of players.
    return {at for (at, _), n in hits.items() if n == len(seen[at]) and len({*seen[at]}) > 2}
