"""Asks about results that may mean another thing, and columns and lines that do not fit the others."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby, pairwise
from pathlib import Path

from racebot.errors import PayloadError
from racebot.files import cells
from racebot.files.cells import ABSENT, DONE, KNOWN, BadCellError
from racebot.files.options import RESULTS, TOTAL, Header, few

_MOST = 100
"""Most places of a race that are compared, each with all others."""
_OUT = {word for word, means in cells.WORDS.items() if means is not DONE and word.isalpha()}
_WHOLE = re.compile("total|tot|final|finish|result|net|gesamt|time|gap|diff|interval|behind|écart|rückstand")
_READERS = {"place": cells.place, "time": cells.microseconds, "score": cells.number}


def ask_about_times(path: Path, header: Header, below: Sequence[list[str]], told: bool) -> None:
    """Refuse times in an unknown unit and, if not told, those of day and those that may lack penalties."""
    name = header.plain[at := header.at["time"][0]]
    own = header.names[at]
    if max(header.whole_times(below), default=0) > 86_400:
        fix = f"rename the column {own} (ms) or {own} (s)"
        raise PayloadError(f"{path}: are times in {own!r} in milliseconds or in seconds? {fix}")
    clock = header.find("start", "start time") if "finish" in name and not told else None
    if clock is not None and any(":" in row[clock] for row in below):
        fix = f"add a column time with what lies between; if not, --columns {cells.quoted(f'time={own}')}"
        raise PayloadError(f"{path}: are starts and finishes times of day? If so, {fix}")
    added = None if told or TOTAL.fullmatch(name) else header.find(*KNOWN["penalty"])
    if added is not None and any(set("123456789").intersection(row[added]) for row in below):
        fix = f"add --columns {cells.quoted(f'time={own}')}; if not, add a column of the sums"
        raise PayloadError(f"{path}: does {own!r} include {header.names[added]!r}? If so, {fix}")


def ask_about_groups(path: Path, header: Header, below: Sequence[list[str]]) -> None:
    """Refuse races with entrants of several tables, classes or distances."""
    titles = header.titles("race", "ended_at")
    named = [set() if re.search(r"\d|\bage\b", name) else {*name.split()} for name in header.plain]
    for at in (at for at, words in enumerate(named) if words & {*KNOWN["groups"]}):
        keys = [at for ours in titles for at in header.at[ours]]
        seen = Counter((*(row[key] for key in keys), row[at]) for row in below if row[at])
        several = len({key[:-1] for key in seen}) < len(seen)
        if at not in header.used and several and max(seen.values()) > 1:
            race = titles.get("race") or titles.get("ended_at", "")
            own = cells.quoted("race=" + "+".join(filter(None, (race, header.names[at]))))
            fix = f"If so, add --columns {own}; if not, {cells.quoted(f'race={race}')}"
            raise PayloadError(f"{path}: is each {header.names[at]!r} a race of its own? {fix}")


def title_of(row: Sequence[str], below: Sequence[list[str]], player: int) -> str:
    """Return the only cell of a row if it may name the races below: no result, word or known player."""
    if row.count("") != len(row) - 1 or cells.is_result(text := "".join(row)) or cells.outcome_of_title(text):
        return ""
    known = (each[player] for each in below if each.count("") < len(each) - 1)
    return "" if row.index(text) == player and (player or text in known) else text.strip("#* ")


def are_titles(path: Path, header: Header, rows: Sequence[list[str]], repeated: bool) -> bool:
    """Return whether the last cells of rows, which are titles above them, name their races, or ask."""
    if "player" not in header.at or not header.results() or {"race", "ended_at"} & header.at.keys():
        return False
    blocks = defaultdict[str, list[dict[str, str]]](list)
    for row in rows:
        blocks[row[-1]].append(header.texts(row))
    if len(blocks) < 2 or "" in blocks:
        return False
    titles = [title for title, _ in groupby(row[-1] for row in rows)]
    for title in {title for title in titles if titles.count(title) > 1}:
        raise PayloadError(f"{path}: {title!r} stands above two races: rename one")
    firsts = {_value("place", lines[0].get("place", "")) for lines in blocks.values()}
    people = Counter(player for lines in blocks.values() for player in {line["player"] for line in lines})
    if repeated or firsts == {1} or max(people.values()) > 1:
        return True
    fix = "If so, add a column race; if not, remove these lines"
    raise PayloadError(f"{path}: do {few([*blocks])} name the races below them? {fix}")


def ask_about_words(path: Path, header: Header, below: Sequence[list[str]]) -> None:
    """Refuse a table if a column that is not used says that somebody did not finish, or did not start."""
    rows = [(any(map(cells.is_result, header.texts(row, *RESULTS).values())), row) for row in below]
    free = [at for at, name in enumerate(header.names) if name and at not in header.used]
    for at in free if "status" not in header.at else ():
        words = {row[at].lower() for placed, row in rows if placed} & _OUT
        others = {row[at].lower() for placed, row in rows if not placed}
        absent = any(word[3:] and cells.WORDS.get(word, cells.DNF) is not cells.DNF for word in others)
        # A short word may be a country, or an attempt among others.
        measured = any(cells.is_result(row[at]) for row in below)
        whole = _WHOLE.match(header.plain[at]) if measured else words & cells.OUTCOMES.keys()
        if (whole and words) or absent or any(word[3:] for word in words):
            own = cells.quoted(f"status={header.names[at]}")
            problem = f"{header.names[at]!r} says who did not finish or start"
            raise PayloadError(f"{path}: {problem}: add --columns {own}, or status= if it says another thing")


def ask_about_places(path: Path, header: Header, below: Sequence[list[str]]) -> None:
    """Refuse a table with two columns of places that differ, as a seat or a start and a finish do."""
    used = header.at.get("place", ())
    known = [at for at, name in enumerate(header.plain) if name in KNOWN["columns"]["place"]]
    named = [at for at, name in enumerate(header.plain) if name in KNOWN["won"]]
    won = {at for at in named if cells.say_who_won(row[at].lower() for row in below)}
    letters = header.titles("status").get("status", "").lower() == "positiontext"  # whose rank is of laps
    for at in {*known, *won} - {*used} if used and not letters else ():
        pairs = [(_value("place", row[used[0]]), _value("place", row[at])) for row in below]
        if at in won:  # 1 for a win, 2 for all others
            told = [(one, row[at].lower()) for (one, _), row in zip(pairs, below, strict=True) if one]
            pairs = [(min(one, 2), float(cells.WON[sign])) for one, sign in told if sign in cells.WON]
        differ = any(one != two for one, two in pairs if one is not None and two is not None)
        differ &= header.names[at] != header.names[used[0]]  # a repeated name is refused as such
        if differ and math.inf not in {two for _, two in pairs}:
            one, two = (cells.quoted(f"place={header.names[each]}") for each in (used[0], at))
            raise PayloadError(f"{path}: two columns of places that differ: add --columns {one} or {two}")


def strays(
    kind: str, columns: Mapping[int, Sequence[str]], named: Collection[int], *, by_player: bool
) -> tuple[list[int], list[int]]:
    """Return the columns that may be no player, or race if not so `named`, and the numbers of such rows."""
    read = {at: [_value(kind, text) for text in texts] for at, texts in columns.items()}
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
    """Return the lines that have the sums of two or more, since the last of these or from the first."""
    found, first, block, whole = set[int](), 0, Counter[int](), Counter[int]()
    for number, line in enumerate(lines):
        own = {key: value for key, value in line.items() if value < math.inf}
        counts = ((block, number - first), (whole, number - len(found)))
        sums = [{key: part[key] for key in own} for part, count in counts if count > 1]
        if sum(map(bool, own.values())) > 2 and own in sums:
            found.add(number)
            first, block = number + 1, Counter()
        else:
            block.update(own)
            whole.update(own)
    return found


def _grow(lines: Sequence[Mapping[int, float]]) -> bool:
    """Return whether all scores grow from race to race, as sums do."""
    values = [[*line.values()] for line in lines]
    return len(lines) > 1 and all(each[2:] and each[0] < each[-1] and each == sorted(each) for each in values)


def _value(kind: str, text: str) -> float | None:
    text = cells.told(text)
    if text.lower() in ABSENT:
        return None
    try:
        return _READERS[kind](text)
    except BadCellError:
        return math.inf


def are_places(texts: Sequence[str]) -> bool:
    """Return whether the numbers of a race are 1, 2, 3 and so on, where equal ones take up the next."""
    places = [_value("place", text) or 0 for text in texts]
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
