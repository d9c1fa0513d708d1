"""Asks about results that may mean another thing, and columns and lines that do not fit the others."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain, pairwise

from racebot.errors import PayloadError
from racebot.files import cells
from racebot.files.cells import ABSENT, DONE, KNOWN, BadCellError
from racebot.files.header import Header
from racebot.files.options import RESULTS, TOTAL, by_columns, plain

_MOST = 100
"""Most places of a race, and lines of scores, that are compared, each with all others."""
_OUT = {word for word, means in cells.WORDS.items() if means is not DONE and word.isalpha()}
_WHOLE = re.compile("total|tot|final|finish|result|net|gesamt|time|gap|diff|interval|behind|écart|rückstand")
_NUMBERED = re.compile(r"(?:\*?\d+|-+)[.)]? +\w")
_READERS = {"place": cells.place, "time": cells.microseconds, "score": cells.number}


def ask(header: Header) -> None:
    """Raise a PayloadError if lines of entrants may be read in two ways, unless options say how."""
    for ours, question in _QUESTIONS:
        asked = None if ours in header.options.columns else question(header)
        if asked is not None:
            raise PayloadError(asked)


def _times(header: Header) -> str | None:
    """Ask about times such as 895000, a finish that may be a time of day, and penalties beside times."""
    if header.results() != ["time"]:
        return None
    own, clock = header.titles()["time"], header.find("start", "start time")
    if max(header.whole_times(), default=0) > 86_400:
        return f"are times in {own!r} in milliseconds or in seconds? rename it {own} (ms) or {own} (s)"
    if "time" in header.options.columns or TOTAL.fullmatch(plain(own)):
        return None
    fix = by_columns(time=own)
    if clock is not None and ":" in "".join(header.column(clock)) and "finish" in plain(own):
        asked = "are starts and finishes times of day? If so, add a column time with what lies between"
        return f"{asked}; if not, {fix}"
    added = header.find(*KNOWN["penalty"])
    if added is not None and re.search("[1-9]", "".join(header.column(added))):
        asked = f"does {own!r} include {header.names[added]!r}? If not, add a column of the sums"
        return f"{asked}; if so, {fix}"
    return None


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
        words = {cells.told(row[at]).lower() for placed, row in rows if placed} & _OUT
        others = {cells.told(row[at]).lower() for placed, row in rows if not placed}
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
    letters = header.titles("status").get("status", "").lower() == "positiontext"  # whose rank is of laps
    named = (at for at, name in enumerate(header.plain) if name in KNOWN["won"])
    won = {at for at in named if cells.say_who_won(map(str.lower, header.column(at)))}
    for at in (known | won) - {*used} if used and not letters else ():
        signs, most = (cells.WON, 2) if at in won else ({}, math.inf)  # 1 for a win, 2 for all others
        other = (value("place", signs.get(text.lower(), text)) for text in header.column(at))
        own = (value("place", text) for text in header.column(used[0]))
        pairs = [(one and min(one, most), two) for one, two in zip(own, other, strict=True)]
        differ = any(one != two for one, two in pairs if one is not None and two is not None)
        differ &= header.names[at] != header.names[used[0]]  # a repeated name is refused as such
        if differ and math.inf not in {two for _, two in pairs}:
            one, two = (cells.quoted(f"place={header.names[each]}") for each in (used[0], at))
            return f"two columns of places that differ: add --columns {one} or {two}"
    return None


def _places_in_names(header: Header) -> str | None:
    """Ask whether names such as `1 Ann` begin with a place."""
    names = [*filter(None, header.column(header.at["player"][0]))]
    if "place" in header.at or not names[1:] or not all(map(_NUMBERED.match, names)):
        return None
    fix = f"move it to a column place, or add {by_columns(player=header.titles()['player'])}"
    return f"a number before each name, as in {names[0]!r}: {fix}"


_QUESTIONS: Sequence[tuple[str, Callable[[Header], str | None]]] = (
    ("", _times),
    ("race", _groups),
    ("place", _two_places),
    ("status", _words),
    ("player", _places_in_names),
)
"""What may be read in two ways, and the column that answers if an option names it."""


def strays(
    kind: str, columns: Sequence[Sequence[str]], named: Collection[int], *, by_player: bool
) -> tuple[list[int], list[int]]:
    """Return the columns that may be no player, or race if not so `named`, and the numbers of such rows."""
    read = [[value(kind, text) for text in texts] for texts in columns]
    lines, turned = _filled(zip(*read, strict=True)), _filled(read)
    found, sums = (_made_of_others(each, kind) for each in (lines, turned))
    if kind == "place" and by_player:
        found |= {n for n, race in enumerate(turned) if not _ranked([*race.values()])}
        found |= {0} if read[0] == [*range(1, max(len(read[0]), 4) + 1)] else set()
        found -= {*named}
    elif kind == "place":
        found |= _outside_ranks(lines)
    else:
        found |= _subtotals(turned)
        sums |= _subtotals(lines)
        grown, races = (found, len(turned)) if by_player else (sums, len(lines))
        grown |= {*range(1, races)} if _grow(lines if by_player else turned) else set()
        values = ([*column.values()] for column in turned)
        found |= {n for n, own in enumerate(values) if len(own) > 2 and {*own} == {own[0]}}
        timed = [":" in "".join(texts) for texts in columns]
        found |= {n for n, own in enumerate(timed) if kind == "time" and not own and any(timed)} - {*named}
        found |= _counts([{n: own for n, own in line.items() if n not in found} for line in lines])
    found |= {*range(len(read))} - {*named} if len(named) > 1 else set()
    return sorted(found), sorted(sums)


def _filled(lines: Iterable[Sequence[float | None]]) -> list[dict[int, float]]:
    """Return the values of each line by their number, without words and those that are missing."""
    return [{n: own for n, own in enumerate(line) if own not in {None, math.inf}} for line in lines]


def _counts(lines: Sequence[Mapping[int, float]]) -> set[int]:
    """Return what has the number of the others in each line."""
    rows = [*filter(None, lines)]
    return {n for n in {*chain(*rows)} if all(row.get(n) == len(row) - 1 for row in rows)}


def _subtotals(lines: Sequence[Mapping[int, float]]) -> set[int]:
    """Return the lines with the sums of two or more lines above them, but those that are such sums."""
    found = set[int]()
    for number, own in enumerate(lines[:_MOST]):
        sums = Counter[int]()
        for count, above in enumerate((n for n in range(number)[::-1] if n not in found), start=1):
            sums.update(lines[above])
            if count > 1 and sum(map(bool, own.values())) > 2 and own == {key: sums[key] for key in own}:
                found.add(number)
                break
    return found


def _grow(lines: Sequence[Mapping[int, float]]) -> bool:
    """Return whether results grow from race to race in all lines, as sums do."""
    rows = [own for line in lines if len(own := [*line.values()]) > 2]
    return len(rows) > 1 and all(own[0] < own[-1] and own == sorted(own) for own in rows)


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
    places = pairwise([0, *sorted(race)])
    return all(place in {n, before} for n, (before, place) in enumerate(places, start=1))


def _outside_ranks(races: Sequence[Mapping[int, float]]) -> set[int]:
    """Return the columns without which more races are ranked, or that count the others."""
    gains = Counter[int]()
    for race in (race for race in races if len(race) <= _MOST):
        fits = _ranked([*race.values()])
        gains.update({n: _ranked([v for other, v in race.items() if other != n]) - fits for n in race})
    return {n for n in gains if gains[n] > 0} or {n for n in _counts(races) if gains[n] == 0}


def _made_of_others(rows: Sequence[Mapping[int, float]], kind: str) -> set[int]:
    """Return the columns that are the sum, the best, the worst or the mean of the others in each row."""
    seen, hits = defaultdict[int, list[float]](list), Counter[tuple[int, str]]()
    for row in rows:
        values = sorted(row.values())
        for at, own in row.items() if len(values) > 2 else ():
            low, high = values[own == values[0]], values[-1 - (own == values[-1])]
            if low < high:
                rest = sum(values) - own
                seen[at].append(own)
                told = {"least": own == low, "most": own == high}
                if kind != "place":  # the last of three has the sum of the others, the second their mean
                    mean = abs(own - rest / (len(values) - 1)) <= 0.05 * (high - low)
                    told |= {"sum": own == rest, "mean": mean}
                hits.update({(at, what): holds for what, holds in told.items()})
    # Equal values that seldom change, such as no points, are those of players.
    return {at for (at, _), n in hits.items() if n == len(seen[at]) and len({*seen[at]}) > 2}
