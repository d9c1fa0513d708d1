"""JSON from elsewhere, made safe to work with: what passes here holds no surprise for what reads it.

Python takes more for JSON than a database, a clock or a recursive function can: numbers that are none,
halves of surrogate pairs, a million brackets.
"""

from __future__ import annotations

import json
import re
from typing import Any, Never

from racebot.errors import PayloadError

DEEPEST = 64
"""Objects and lists inside each other; the site's own documents have six."""
LARGEST_NUMBER = 2**63
"""What SQLite can hold."""

_HALF_A_PAIR = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def read_json(text: str | bytes) -> Any:
    """A JSON document, bytes taken as UTF-8. Halves of surrogate pairs become question marks.

    Raises:
        PayloadError: not JSON, nested deeper than `DEEPEST`, or with a number that is infinite, none at
            all, or beyond 64 bits.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        document = json.loads(text, parse_constant=_no_number)
        if _HALF_A_PAIR.search(text):
            document = json.loads(json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise PayloadError("not usable JSON: nested too deeply") from None
    except ValueError as error:
        raise PayloadError(f"not JSON: {error}") from None
    _inspect(document)
    return document


def _no_number(word: str) -> Never:
    raise ValueError(f"{word} is not a number")


def _inspect(document: Any) -> None:
    """Walk the document level by level: its depth is what must not be trusted to recursion."""
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
