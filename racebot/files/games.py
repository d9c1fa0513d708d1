"""Turns rows with several players into lines: games of two, and races with their players in order."""

from __future__ import annotations

import re
import reprlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from racebot.errors import PayloadError
from racebot.files import cells
from racebot.files.cells import ABSENT, KNOWN, SIGNS, UNPLAYED, BadCellError
from racebot.files.header import Header
from racebot.files.options import plain

_SCORES = [form.replace("score", word) for word in KNOWN["scores"] for form in KNOWN["scores_of"]]
_FIRST, _SECOND, _EQUAL = ("1", "2"), ("2", "1"), ("1", "1")
_DRAWN = dict.fromkeys(SIGNS["drawn"], _EQUAL)
_RESULTS = _DRAWN | dict.fromkeys(SIGNS["first_won"], _FIRST) | dict.fromkeys(SIGNS["second_won"], _SECOND)
_WINNERS = dict.fromkeys(SIGNS["first_player"], _FIRST) | dict.fromkeys(SIGNS["second_player"], _SECOND)
_SCORE_OF_TWO = re.compile(r"(\d[\d.]*½?|½) *[-‐-―−:] *(\d[\d.]*½?|½)(?: ?\(\d+\))?")
_SCORES_OF_TWO = re.compile(rf"(?:{_SCORE_OF_TWO.pattern}[ ,;/]*)+")
"""A result such as 2:1, and those of several sets."""
_HAS_DIGIT = re.compile(r"[\d½]")
_TIME = re.compile(r"\d+:[0-5]\d(?::\d\d)?")
_NUMBER = re.compile(r" ?\d{1,2}$")
_OF_RACE = ("race", "ended_at")
TOGETHER = re.compile(r"\s*/\s*|\s[&+=]\s")  # between the players of a team or of a shared place
Line = Mapping[str, str]
"""The cells of an entrant's line by our names of columns."""


@dataclass(frozen=True, slots=True)
class Lines:
    """How to turn a row, given its number and its cells, into lines.

    `columns` are the file's own names of those used, by ours, and `used` the positions of further ones. The
    `note` says what the layout is, empty where a row is an entrant. `skip` rows belong to the names above.
    `races` are in the order of their columns. Where a row `each_is_race`, those of one name are numbered.
    """

    of: Callable[[int, list[str]], Iterable[Line]]
    columns: Mapping[str, str]
    used: Iterable[int] = ()
    note: str = ""
    skip: int = 0
    races: Sequence[str] = ()
    each_is_race: bool = False


def two_players(header: Header) -> Lines | None:
    """Read rows that are a race of two: `winner, loser`, or `white, black, result` of players or teams."""
    if not (pair := header.pair()):
        return None
    games = _Games(header, pair)
    one, two = games.names
    note = f"each line is a race of two, {one!r} and {two!r}"
    return Lines(games.lines, header.titles(*_OF_RACE), games.used, note, each_is_race=True)


class _Games:
    """Games of two: the columns of the sides, and of the winner, the result, or a score each (`told`)."""

    def __init__(self, header: Header, pair: Sequence[tuple[int, ...]]) -> None:
        self._header, self._pair, below = header, pair, header.below
        self.names = ["+".join(header.names[at] for at in side) for side in pair]
        alike = [name for name in header.plain if name.endswith(" winner")]
        self._winner = header.find(*KNOWN["winner"], *alike[:1])
        self._draw = header.find("draw", "drawn", "tie")
        self._forfeit = header.find("forfeit", "walkover", "wo", "w o", "forfait")
        sides = [
            plain(_NUMBER.sub("", name.partition("+")[0]) if "+" in name else name) for name in self.names
        ]
        self._sides = [side.removesuffix(" name").removesuffix("team").strip() for side in sides]
        self._results = _RESULTS | ({"h": _FIRST, "a": _SECOND} if self._sides == ["home", "away"] else {})
        scores = self._scores()
        result = header.at.get("result", (header.find(*KNOWN["of_two"]),))
        by_score = None not in scores and "result" not in header.at
        known = (*chain(*pair), *result, *scores, self._winner, self._draw, self._forfeit)
        self.used = {at for at in known if at is not None}
        told = [at for at in (scores if by_score else result) if at is not None]
        free = sorted({*range(len(header.names))} - self.used - header.used)
        self._told = told or [at for at in free if are_scores(header.column(at))]
        self._scored = are_scores(row[at] for row in below for at in self._told)
        self._members = _members(_player(row, side) for row in below for side in pair)
        self.used |= {*self._told}

    def _scores(self) -> list[int | None]:
        """Return the columns of the two scores, such as `White score`, `Home goals` or `Score 1`."""
        lasts = (side.split()[-1] for side in self._sides)
        return [
            self._header.find(*(form.format(name) for name in each for form in _SCORES))
            for each in zip(self.names, self._sides, lasts, "12", strict=True)
        ]

    def lines(self, _: int, row: list[str]) -> Iterator[Line]:
        """Yield a line for each player, or one with the word that says that the game was not played."""
        if (found := self._places(row)) is None:
            said = [row[at] for at in chain(self._told, *self._pair) if row[at] and cells.is_nobody(row[at])]
            said += [row[at] for at in self._told if not _HAS_DIGIT.search(row[at])]
            yield from [{"unplayed": word} for word in filter(None, said[:1])]
            return
        line = self._header.texts(row, *_OF_RACE)
        for side, place in zip(self._pair, found, strict=True):
            name = _player(row, side)
            own = [row[at] for at in side if row[at]] if side[1:] else self._members.get(name, [name])
            team = {"team": name} if own[1:] else {}
            yield from (line | {"player": each, "place": place} | team for each in own)

    def _places(self, row: Sequence[str]) -> tuple[str, str] | None:
        """Return the places of the two, or None if they did not play."""
        one, two = (_player(row, side) for side in self._pair)
        forfeit, draw = ("" if at is None else row[at].lower() for at in (self._forfeit, self._draw))
        walkover = any(row[at].lower().replace(" ", "") in SIGNS["walkover"] for at in self._told)
        if walkover or forfeit in SIGNS["true"] | SIGNS["walkover"] or any(map(cells.is_nobody, (one, two))):
            return None
        if self._sides[0] in KNOWN["winner"]:
            return _EQUAL if draw in SIGNS["true"] | SIGNS["drawn"] else _FIRST
        if self._winner is not None and not cells.is_nobody(row[self._winner]):
            return self._won(row[self._winner], one, two)
        if not self._told and self._winner is None:
            raise BadCellError("result", "no column result or winner: add one, or --columns result=ONE+TWO")
        texts = [text for at in self._told if (text := row[at]).lower() not in UNPLAYED]
        if self._scored:  # a word in place of a score says that there was no game
            texts = [text for text in texts if _HAS_DIGIT.search(text) or text.lower() in self._results]
        known = self._results | {plain(two): _SECOND, plain(one): _FIRST}
        return _of_score(texts, known) if texts and (self._scored or len(texts) == len(self._told)) else None

    def _won(self, winner: str, one: str, two: str) -> tuple[str, str]:
        """Return the places by the name of the winner, or of a side."""
        won = _DRAWN | _WINNERS | dict(zip(map(plain, self.names), (_FIRST, _SECOND), strict=True))
        won |= {two.casefold(): _SECOND, one.casefold(): _FIRST}
        if not (found := won.get(winner.casefold()) or won.get(plain(winner))):
            problem = f"{reprlib.repr(winner)} is neither of the players, nor draw"
            raise BadCellError("winner", problem)
        return found


def _player(row: Sequence[str], columns: Iterable[int]) -> str:
    """Return a player, or the names of a team in several columns."""
    return " & ".join(row[at] for at in columns if row[at])


def _members(groups: Iterable[str]) -> dict[str, list[str]]:
    """Return the members of each team if one of them is in another or alone, too, or else its name."""
    members = {group: TOGETHER.split(group) for group in groups}
    times = Counter(name for names in members.values() for name in {*names})
    return {group: names for group, names in members.items() if any(times[name] > 1 for name in names)}


def are_scores(texts: Iterable[str]) -> bool:
    """Return whether most texts are like 2:1, or several such, and no times such as 2:05 or 19:30."""
    played = [text for text in texts if text.lower() not in UNPLAYED]
    if played and all(_TIME.fullmatch(text) or not _HAS_DIGIT.search(text) for text in played):
        return False
    alike = [text for text in played if _SCORES_OF_TWO.fullmatch(text) and not cells.date_in(text)]
    return 2 * len(alike) > len(played)


def _of_score(texts: Sequence[str], known: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    """Return the places for two numbers, for `1-0`, `½-½`, or several such, or for a word such as `win`."""
    text = " ".join(texts)
    for each in (text.lower().replace(" ", ""), plain(text)):
        if each in known:
            return known[each]
    if len(texts) == 2 and _SCORES_OF_TWO.fullmatch(text) is None:
        text = ":".join(texts)
    if _SCORES_OF_TWO.fullmatch(text) is None:
        problem = f"{reprlib.repr(text)} is no result of two players: write 1-0, 0-1 or ½-½"
        raise BadCellError("result", problem)
    found = [[float(each.replace("½", ".5")) for each in pair] for pair in _SCORE_OF_TWO.findall(text)]
    one, two = found[0] if len(found) == 1 else (sum(a > b for a, b in found), sum(a < b for a, b in found))
    return _EQUAL if one == two else _FIRST if one > two else _SECOND


def in_order(header: Header) -> Lines | None:
    """Read rows that are a race, `1st, 2nd, 3rd`: `Ann / Cy`, who share a place, are two or a team."""
    counts = header.titles("player").get("player", "").lower() in {"", "players", "participants"}
    columns = header.in_order() if counts else []
    cells_of = [row[at] for row in header.below for at in columns]
    if not any(text and not text.isdecimal() for text in cells_of):
        return None
    if "lap" in header.plain:
        raise PayloadError("places after each lap: keep the last line, or rename Lap")
    members = _members(cells_of)
    out = [(at, word) for at, word in enumerate(header.plain) if word in cells.OUTCOMES]

    def lines(_: int, row: list[str]) -> Iterator[Line]:
        line, shared = header.texts(row, *_OF_RACE), 0
        for place, at in enumerate(columns, start=1):
            names = members.get(row[at], [row[at]])
            for each in names:
                if not cells.is_nobody(each):
                    player, word = cells.with_word(each)
                    yield line | {"player": player, "place": word or str(place + shared)}
            shared += len(names) - 1
        for each, word in ((each, word) for at, word in out for each in re.split(r"\s*[,;/]\s*", row[at])):
            if each.lower() not in ABSENT and not cells.is_result(each):
                yield line | {"player": each, "place": word}

    first, last = header.names[columns[0]], header.names[columns[-1]]
    note = f"each line is a race, its players in order from {first!r} to {last!r}"
    used = (*columns, *(at for at, _ in out))
    return Lines(lines, header.titles(*_OF_RACE), used, note, each_is_race=True)
