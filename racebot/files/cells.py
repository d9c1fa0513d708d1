"""Reads the cells of a table of races: times, gaps, places, scores, dates, words for no result, and names."""

from __future__ import annotations

import math
import re
import reprlib
import sys
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from importlib import resources

from racebot.races.result import EntrantStatus
from racebot.text.parse import YEARS, fold_name, parse_duration

KNOWN = tomllib.loads(resources.files(__package__).joinpath("known.toml").read_text(encoding="utf-8"))
"""What is recognized in files of races."""
_CLOCK = re.compile(r"(?a)(?:(\d{1,4}) days?,? )?(?:(?:(\d{1,6}):)?(\d{1,6}):)?(\d{1,9}(?:\.\d{1,20})?)")
_UNITS = re.compile(
    r"(?:(\d{1,4}(?:\.\d{1,20})?) ?d(?:a[a-z]*)?)? ?(?:(\d{1,4}(?:\.\d{1,9})?) ?h(?:[eor][a-z]*)?)? ?"
    r"(?:(\d{1,6}(?:\.\d{1,9}(?= ?min))?) ?m(?:in[a-z]*)?)? ?"
    r"(?:(\d{1,9}(?:\.\d{1,20})?) ?s(?:e[a-z]*)?)? ?(?:(\d{1,12}) ?m(?:illi)?s(?:ec[a-z]*)?)?",
    re.IGNORECASE | re.ASCII,
)
_SMALL = re.compile(r"(\d+)(?::(\d\d):(?=\d{3}$)|\.(\d\d)(?:,|\.(?=\d{3}$))(?=\d{1,3}$))", re.ASCII)
"""The begin of a time such as 1:58:345 or 1.43,88, which has a third part of a second."""
_LAST_UNIT = re.compile(r"(?<=\d)(?:(h)|m) ?(\d\d)$", re.IGNORECASE | re.ASCII)
_PRIMES = str.maketrans("'′’hH\"″”", ":::::...", " ")
_MARK = re.compile(
    rf"(?<=[\dtdh.])(?:\s*[(\[]?(?:{'|'.join(KNOWN['marks'])})[)\]]?|[*†‡§]+){{1,3}}$", re.IGNORECASE
)
_POINTED = re.compile(r"^[+▲△−-]?[1-9]\d{0,2}[.,]\d{3}$")
_WITH_WORD = re.compile(r"[(\[]?(\d[\d.]*) ?([a-z]{2,})[)\]]?|(.*\S) ?[(\[]([a-z]{2,})[)\]]", re.I)
_BEGINS_WITH_WORD = re.compile(r"([a-z][a-z.' ]*?) ?\*?(?:[(\[,:;–—-].*| \d[\d.]*)?", re.IGNORECASE)
_FOOTNOTE = re.compile(r"\s*(?:[*†‡§¹²³⁴-⁹]+|\[(?:\d{1,3}|[a-z])\]|\([CWcw]\))$|[🇦-🇿]")  # flags
_GAP = re.compile(r"(?:\+\s*|-(?=[\d:]*(?:\.\d{3}$|\.\d*[1-9]$|:\d)))(\d.*?)\s*(?:s(?:ec)?)?", re.IGNORECASE)
_LAPS = re.compile(r"(?i)[+-]? *(\d{1,4}) *(?:l|laps?|lap\(s\)|gir[io]|tours?|runden?|vueltas?)\.?(?: down)?")
_ORDINAL = r"(?:\.?(?:st|nd|rd|th|er|ère|re|e|è|ème|eme|º|°|ª|位|等|着))?"
_PLACE = re.compile(
    rf"(?:[=#tp(\[]|t-)?\s*([0-9]{{1,6}})(?:[.,]0*)?{_ORDINAL}(?: place| ex(?: ?[aæ]e?quo)?\.?| ?dh)?[=t)\]]?"
    rf"(?:(?: of | ?/ ?| ?[–-] ?)([0-9]{{1,6}}){_ORDINAL})?(?: ?\([^()]*\))?",
    re.IGNORECASE,
)
NAMED_PLACES = {name: number for number, names in enumerate(KNOWN["places"], start=1) for name in names}
_OF_GAME = {"first_won": 1, "drawn": 1, "second_won": 2}
_OF_SIGN = {word: n for name, n in _OF_GAME.items() for word in KNOWN["signs"][name]}
_WON = {word: n for word, n in _OF_SIGN.items() if word[2:].isalpha()}
_NUMBER = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,15}|,\d{1,15})?")
_MEASURE = re.compile(r"(?<=\d) ?(?:m|cm|km|kg|lbs?|pts|points?|reps)\.?$", re.IGNORECASE)
_OWED = re.compile(r"(?:\((?=.*\)$)|[-−])[$€£] ?([^)]*)\)?")  # ($40.00) or -$40
_MINUS = str.maketrans("▲△−", "---")  # as in Japan
_THOUSANDS = re.compile(r"\d{1,3}(?:([.,])\d{3}(?:\1\d{3})+|(?:['’\s]\d{3})+)")
_FRACTION = re.compile(r"(\d{1,6}) ?/ ?(\d{0,5}[1-9]0*)")
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er|º|\.)?"
_MONTH = r"(?:de )?(?P<month>[^\W\d_]{3,})\.?(?: de)?"
_YEAR = r"(?P<year>\d{4}|\d\d)"
_DATES = [
    re.compile(form + r"(?!\d)(?P<rest>.*)", re.IGNORECASE)
    for form in (
        rf"(?P<day>\d{{1,2}})(?P<sign>[/.-]) ?(?P<month>\d{{1,2}})(?P=sign) ?{_YEAR}",
        r"(?P<year>\d{4})(?P<sign>[/.-])(?P<month>\d{1,2})(?P=sign)(?P<day>\d{1,2})",
        rf"(?:[a-z]+,? )?{_DAY}[ -]{_MONTH},?[ -]{_YEAR}",
        rf"(?:[a-z]+,? )?{_MONTH} {_DAY},? {_YEAR}",
        r"(?P<year>\d{4})[年년] ?(?P<month>\d{1,2})[月월] ?(?P<day>\d{1,2})[日일]",
    )
]
_MONTHS = {name: number for number, names in enumerate(KNOWN["months"], start=1) for name in names}
_DATE_IN = re.compile(
    r"(?<![\d.])(?:\d{4}([-./])\d\d?\1\d\d?|\d\d?([-./])\d\d?\2\d{4}|20\d\d[01]\d[0-3]\d"
    rf"|(?:\d\d?\.? )?(?<![^\W\d_])(?:{'|'.join(_MONTHS)})\.?(?: \d\d?,?)? (?:19|20)\d\d)(?!\d)",
    re.IGNORECASE | re.ASCII,
)
_TWELVE_HOURS = re.compile(r"(\d{1,2})(:\d\d(?::\d\d)?) ?([ap])\.?m\.?", re.IGNORECASE)
UNIX = re.compile(r"(\d{9,10})(\d{3})?(\.\d+)?")
Meaning = EntrantStatus | None
"""What a word stands for. None for a player who is no entrant."""
DONE, DNF, DQ = EntrantStatus.DONE, EntrantStatus.DNF, EntrantStatus.DQ
OUTCOMES: dict[str, Meaning] = {"dnf": DNF, "dq": DQ, "dsq": DQ, "dns": None, "done": DONE}
"""Results that a word can stand for."""
WORDS = {word: OUTCOMES[name] for name, words in KNOWN["words"].items() for word in words}
"""What a cell says in place of a time or a place, in lower case."""
LETTERS = {letter: OUTCOMES[name] for name, letters in KNOWN["letters"].items() for letter in letters}
"""What the column `positionText` says, in lower case."""
_OUTCOME_TITLE = re.compile(rf"(?:{'|'.join(map(re.escape, sorted(WORDS, key=len, reverse=True)))})\b")
MEANINGS = {DNF: "not finished", DQ: "disqualified", DONE: "finished", None: "not an entrant"}
SIGNS = {name: frozenset(texts) for name, texts in KNOWN["signs"].items()}
"""Other texts by what they stand for, in lower case."""
NOTHING = SIGNS["nothing"]
NOBODY = NOTHING | SIGNS["nobody"]
ABSENT = NOTHING | {"", "-", "–", "—"}
"""Cells of a wide table that say that a player was not in a race."""
NO_RESULT = ABSENT | WORDS.keys()
WON = {sign: str(n) for sign, n in _OF_SIGN.items()} | dict.fromkeys(SIGNS["true"], "1")
WON |= dict.fromkeys(SIGNS["false"] - ABSENT, "2")
"""The places that signs such as W, L, yes and no stand for in a column that says who won."""
UNPLAYED = ABSENT | SIGNS["walkover"] | SIGNS["unplayed"]
"""What stands for the result or a player of a game that is not played."""


def say_who_won(texts: Iterable[str]) -> bool:
    """Return whether texts in lower case are signs for a win and for none, such as W and L, or 1 and 0."""
    places = [WON.get(text, "") for text in {*texts} - {""}]
    return {"1", "2"} == {*places}


def is_nobody(text: str, none: frozenset[str] = UNPLAYED) -> bool:
    """Return whether a cell in place of a player's name stands for none. Na, Nan and Nat are names."""
    return text.lower() in none and text not in {"Na", "Nan", "Nat"}


class BadCellError(Exception):
    """A cell that cannot be read. The arguments are its column, and what is wrong with the fix."""


def quoted(argument: str) -> str:
    """Return an argument of a command, in quotation marks if a shell needs them."""
    return argument if re.fullmatch(r"[\w:.,=+-]+", argument) else f'"{argument}"'


def _bad(column: str, text: str, problem: str, *words: str) -> BadCellError:
    """Return an error that says how to write a cell, and how to say what its text means."""
    means = " or ".join(quoted(f"{word}={text}") for word in words)
    is_word = len({*re.findall(r"\d", text)}) < 2 and '"' not in text  # 99:99 may be one, 1:58:345 is none
    ask = f", or say what it means, as in --words {means}" if means and is_word and len(text) < 50 else ""
    return BadCellError(column, f"{reprlib.repr(text)} is {problem}{ask}")


@lru_cache(maxsize=10_000)
def microseconds(text: str) -> int:
    """Read `h:mm:ss`, `m:ss:mmm`, `m.ss,mm`, `2h 3m 4s`, `2h03`, `2h03'04"5`, seconds, or ISO 8601."""
    if text.isdecimal() and len(text) > 6:
        raise _bad("time", text, "not in seconds: write 1:02:03.4, or ms in the name of its column")
    plain = text if text[-1:].isdecimal() else _MARK.sub("", text)  # which takes long
    plain = _SMALL.sub(lambda match: f"{match[1]}:{match[2] or match[3]}.", plain)
    plain = plain if "day" in text else plain.replace(",", ".")
    if any(sign in text for sign in "'′’"):
        plain = plain.replace("''", '"').translate(_PRIMES).rstrip(".")
    plain = _LAST_UNIT.sub(lambda match: f"{match[0]}{'m' if match[1] else 's'}", plain)
    if text and (match := _CLOCK.fullmatch(plain) or _UNITS.fullmatch(plain)):
        days, hours, minutes, seconds, *small = (float(part or 0) for part in match.groups())
        # Minutes and seconds end at 59 below a larger unit: 99:99:99 is a program's sign for no time.
        if not ((match[2] and minutes >= 60) or (match[3] and seconds >= 60)):
            own = [days * 86_400, hours * 3600, minutes * 60, seconds, sum(small) / 1000]
            return round(math.fsum(own) * 1_000_000)
    try:
        return parse_duration(text if "D" in text.upper() else text.upper().replace("PT", "P0DT"))
    except ValueError:
        raise _bad("time", text, "not a time: write 1:02:03.4, seconds or DNF", "dnf", "dns") from None


@lru_cache(maxsize=10_000)
def gap(text: str) -> tuple[int, int] | None:
    """Read `+0:12`, `+5.478` or `+1 lap` as laps and microseconds behind the first; None for no gap."""
    if laps := _LAPS.fullmatch(text):
        return int(laps[1]), 0
    with suppress(BadCellError):
        return (0, microseconds(match[1])) if (match := _GAP.fullmatch(text)) else None
    return None


@lru_cache(maxsize=10_000)
def place(text: str) -> int:
    """Read `1`, `1.`, `1.0`, `1st`, `1er`, `1º`, `#1`, `=3`, `T3`, `3-4` for a tie, `3 of 20`, or `first`."""
    text = unicodedata.normalize("NFKC", text) if text.isdecimal() else text
    if named := (NAMED_PLACES | _WON).get(text.lower()):
        return named
    match = _PLACE.fullmatch(_MARK.sub("", text))
    if match is None or not 0 < int(match[1]) <= int(match[2] or match[1]):
        if _NUMBER.fullmatch(text) and float(text.replace(",", ".")) > 1:
            raise _bad("place", text, "no whole place: add --columns score=NAME, --lowest-wins if less wins")
        from_0 = ", add --columns score=NAME --lowest-wins if 0 is the first" if text == "0" else ""
        raise _bad("place", text, f"not a place: write 1, 2, 3 and so on, DNF or DNS{from_0}", "dns", "dnf")
    return int(match[1])


@lru_cache(maxsize=10_000)
def number(text: str) -> float:
    """Read a score, with a decimal point or comma, spaces or several signs of thousands, `3/6`, or a time."""
    if _THOUSANDS.fullmatch(text):
        return float(re.sub(r"\D", "", text))
    if part := _FRACTION.fullmatch(text):
        return int(part[1]) / int(part[2])
    if ":" in text:
        return microseconds(text) / 1_000_000
    text = _OWED.sub(r"-\1", text).strip("$€£% ")
    text = _MARK.sub("", _MEASURE.sub("", text).translate(_MINUS))
    if _NUMBER.fullmatch(text) is None:
        raise _bad("score", text, "no number: write 12500, without a sign of thousands, or DNF", "dnf", "dns")
    return float(text.replace(",", "."))


def kind_of_number(text: str) -> str | None:
    """Return `980` for a whole number, `1.250` where a sign may be of thousands, and `:` for other texts."""
    if text.strip("0").isdecimal():
        return "980"
    return "1.250" if _POINTED.search(text) else ":" if text else None


def month_comes_first(dates: Iterable[str]) -> bool | None:
    """Return whether dates such as 9/8/2019 begin with the month; None if they do not show it."""
    found = [match for date in dates if (match := _DATES[0].fullmatch(date)) and match["sign"] != "."]
    first, second = (max((int(match[part]) for match in found), default=0) for part in ("day", "month"))
    return None if (first > 12) == (second > 12) else second > 12


def moment(text: str, month_first: bool | None) -> datetime:
    """Read a date, an ISO 8601 time, or Unix seconds or milliseconds; without an offset it is in UTC."""
    # `8:15:33 PM` is `20:15:33`.
    iso = text = _TWELVE_HOURS.sub(lambda m: f"{int(m[1]) % 12 + 12 * (m[3] in 'pP'):02}{m[2]}", text)
    match = next((match for form in _DATES if (match := form.fullmatch(text))), None)
    with suppress(ValueError, OverflowError, KeyError):
        if match is not None:
            day, month, year = match["day"], match["month"].lower(), match["year"]
            if match.re is _DATES[0] and match["sign"] != ".":
                if month_first is None:
                    fix = "write 2019-08-09, or add --day-first"
                    raise _bad("ended_at", text, f"a date that may begin with the day or the month: {fix}")
                day, month = (month, day) if month_first else (day, month)
            number = int(month) if month.isdigit() else _MONTHS[month]
            century = "" if len(year) == 4 else "19" if int(year) > 68 else "20"  # 1969 to 2068
            iso = f"{century}{year}-{number:02}-{day:0>2}{match['rest']}"
        if unix := UNIX.fullmatch(text):
            found = datetime.fromtimestamp(float(text) / (1000 if unix[2] else 1), UTC)
        else:
            found = datetime.fromisoformat(iso)
        found = found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC)
        if found.year in YEARS:
            return found
    raise _bad("ended_at", text, "not a date: write 2026-03-01 or 2026-03-01T20:15Z, or add --columns date=")


def by_number(names: Sequence[str]) -> list[str]:
    """Sort names that differ by one number only, or by a year and one. Others stay."""
    numbers = {name: [*map(int, re.findall(r"\d+", name))] for name in names}
    forms = {re.sub(r"\d+", "0", name) for name in names}
    differing = [each for each in zip(*numbers.values(), strict=False) if len({*each}) > 1]
    years = len(differing) == 2 and all(1900 < year < 2100 for year in differing[0])
    alike = len(forms) == 1 and len(differing) == 1 + years
    return sorted(names, key=numbers.__getitem__) if alike else [*names]


@lru_cache(maxsize=10_000)
def with_word(text: str) -> tuple[str, str]:
    """Split `5 DNF`, `(5 DNC)` or `Di (DNF)` before its word for no finish; without one, that is empty."""
    match = None if _LAPS.fullmatch(text) else _WITH_WORD.fullmatch(text)
    name, word = filter(None, match.groups()) if match else (text, "")
    return (name, word) if WORDS.get(word.lower(), DONE) != DONE else (text, "")


@lru_cache(maxsize=10_000)
def told(text: str) -> str:
    """Return the word for no result in `5 DNF`, `DNF 5`, `Ret (engine)` or `D.N.F.`, or the text itself."""
    bare = text.strip("()[] ")
    if bare.lower() in WORDS:
        return bare
    if (match := _BEGINS_WITH_WORD.fullmatch(bare)) is not None:
        word = re.sub(r"[.' ]+", " ", match[1]).strip()
        for each in (word, word.replace(" ", "")):
            if WORDS.get(each.lower(), DONE) is not DONE or each.lower() in NOTHING:
                return each
    return with_word(text)[1] or text


@lru_cache(maxsize=10_000)
def is_result(text: str) -> bool:
    """Return whether a text is a place, a number, a time or a gap."""
    for read in (place, number, microseconds, gap):
        with suppress(BadCellError):
            if read(text) is not None:
                return True
    return False


def outcome_of_title(text: str) -> str:
    """Return the word in a title such as `Did not finish 1st run`, or an empty text."""
    found = _OUTCOME_TITLE.match(text.lower())
    return found[0] if found else ""


def date_in(name: str) -> str:
    """Return the date with its year in `Quiz 14.01.2026` or `Quiz Jan 2026`, or an empty text."""
    found = _DATE_IN.search(name)
    return re.sub(r"^(?=[^\W\d_]+ \d+$)", "1 ", found[0]) if found else ""


def is_date(text: str) -> bool:
    """Return whether a text is a date, beginning with the day or the month."""
    for month_first in (True, False) if re.search(r"\d", text) else ():
        with suppress(BadCellError):
            moment(text, month_first)
            return re.search(r"\d[/.\-年 ] ?\w|\w \d", text) is not None
    return False


class PlayerNames:
    """The people of one study. Names that differ in case, spaces or accents only are one person."""

    def __init__(self, *, exact: bool) -> None:
        self._exact = exact
        self._first: dict[str, str] = {}
        self._known: dict[str, str] = {}
        self._merged: list[str] = []

    def person(self, name: str) -> str:
        """Return the name by which a person is known: the first spelling."""
        known = self._known.get(name)
        if known is None:
            # Names of other scripts may share their transcription, and spreadsheets leave invisible marks.
            seen = "".join(c for c in _FOOTNOTE.sub("", name) if unicodedata.category(c) != "Cf")
            latin = all(ord(c) < 0x250 or unicodedata.combining(c) for c in seen)
            folded = fold_name(seen) if latin else unicodedata.normalize("NFKC", seen).casefold()
            known = name if self._exact else self._first.setdefault("".join(folded.split()), name)
            known = self._known[name] = sys.intern(known)
            if known != name:
                self._merged.append(f"{name!r} and {known!r}")
        return known

    def notes(self) -> Iterator[str]:
        """Yield a note on names that are one person, if there are any."""
        if merged := self._merged:
            more = f" and {len(merged) - 5} more" if len(merged) > 5 else ""
            yield f"one person each: {', '.join(merged[:5])}{more}; --exact-names keeps them apart"
