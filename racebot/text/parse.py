"""Parses text from outside: JSON, times, durations and misspelt names."""

import json
import math
import re
import reprlib
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any, Never

from anyascii import anyascii

from racebot.errors import PayloadError

DEEPEST = 64
"""Most levels of nesting. The site's documents have six."""
LARGEST_NUMBER = 2**63  # SQLite stores integers of at most 64 bits
LEAST_LIKENESS = 60  # least likeness of a word to suggest, 0 to 100 as rapidfuzz measures it
YEARS = range(1970, 3000)  # years that are safe for calculations with `datetime`

_FULL_NAME = re.compile(r"(.+)#(\d{1,10})", re.DOTALL | re.ASCII)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_DURATION = re.compile(
    r"P(?:(\d{1,6})D)?T(?=\d)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})(?:\.(\d{1,9}))?S)?", re.ASCII
)


def read_json(text: str | bytes, most_commas: float = math.inf) -> Any:
    """Read a JSON document, decoding bytes as UTF-8 and replacing lone surrogates with question marks.

    `json.loads` accepts values that we cannot store: NaN, lone surrogates, unbounded nesting. `most_commas`
    bounds the number of values, and so the time to read them.

    Raises:
        PayloadError: not JSON, nested too deeply, with too many commas, or with a number that is not finite
            or exceeds 64 bits.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        if text.count(",") > most_commas:
            raise PayloadError("not usable JSON: too many values")
        document = json.loads(text, parse_constant=_refuse_constant)
        if _SURROGATE.search(text):
            document = json.loads(json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise PayloadError("not usable JSON: nested too deeply") from None
    except ValueError as error:
        raise PayloadError(f"not JSON: {error}") from None
    _check_limits(document)
    return document


def parse_time(text: object) -> datetime:
    """Read an ISO 8601 time with its UTC offset, and return it in UTC.

    Raise a ValueError for anything else, and for a year outside `YEARS`.
    """
    with suppress(ValueError, OverflowError):
        if isinstance(text, str) and (moment := datetime.fromisoformat(text)).tzinfo is not None:
            moment = moment.astimezone(UTC)
            if moment.year in YEARS:
                return moment
    raise ValueError(f"{reprlib.repr(text)} is not a time with its offset from UTC")


def parse_duration(text: object) -> int:
    """Read an ISO 8601 duration such as `P0DT01H00M03.047053S` in microseconds, or raise a ValueError."""
    match = _DURATION.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"{reprlib.repr(text)} is not a duration")
    days, hours, minutes, seconds, fraction = match.groups(default="0")
    total = ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + int(seconds)
    return total * 1_000_000 + int(fraction.ljust(6, "0")[:6])


def did_you_mean(word: str, known: Iterable[str], *, prefix: str = "") -> str:
    """Return a hint naming the nearest known word, with `prefix` before it, or an empty string."""
    near = nearest(word, known)
    return "" if near is None else f" (did you mean {prefix + near!r}?)"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is most like another one, None if none is near."""
    from rapidfuzz import fuzz, process  # noqa: PLC0415 - slow to import, and only typos need it

    found = process.extract(word, set(known), scorer=fuzz.ratio, score_cutoff=LEAST_LIKENESS, limit=None)
    # Of equals, such as a year too many, the last in the alphabet.
    return max(((likeness, each) for each, likeness, _ in found), default=(0, None))[1]


def changed_number(earlier: str, later: str) -> tuple[str, str] | None:
    """Return the one number in which two texts differ, as in each of them; None if they differ otherwise."""
    parts = zip_longest(*(re.split(r"([0-9]+)", text) for text in (earlier, later)), fillvalue="")
    differing = [(one, other) for one, other in parts if one != other]
    return differing[0] if len(differing) == 1 and all(map(str.isdecimal, differing[0])) else None


def fold_name(text: str) -> str:
    """Fold a name for look-ups to lower-case Latin letters, if it has any, and single spaces: `olof`."""
    lower = text.casefold()
    return " ".join((anyascii(lower).lower() or lower).split())


def slug_of(text: str) -> str:
    """Return what of a text can stand in an address: its Latin letters and digits, joined by hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _refuse_constant(word: str) -> Never:
    raise ValueError(f"{word} is not a number")


def _check_limits(document: Any) -> None:
    """Check depth and numbers level by level. Recursion would fail on the very nesting it looks for."""
    level = [document]
    for _ in range(DEEPEST):
        below: list[Any] = []
        for value in level:
            kind = type(value)
            if kind is dict:
                below.extend(value.values())
            elif kind is list:
                below.extend(value)
            elif kind in {int, float} and not -LARGEST_NUMBER < value < LARGEST_NUMBER:
                raise PayloadError("not usable JSON: a number beyond 64 bits")
        if not below:
            return
        level = below
    raise PayloadError("not usable JSON: nested too deeply")


def split_full_name(text: str) -> tuple[str, str] | None:
    """Return the name and the discriminator of `name#1234`, or None for anything else."""
    match = _FULL_NAME.fullmatch(text)
    return None if match is None else (match[1], match[2])
