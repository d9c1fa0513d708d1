"""Writes rows as CSV that no spreadsheet runs, and that reads back as it was."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain, islice
from typing import Any

ROWS_IN_A_CHUNK = 1000
_NUMBERS = {int, float}
_FORMULA = re.compile(r"'*(?:[\t\r\n]|\s*[=+\-@])")


def cell(value: Any) -> Any:
    """Format a value for a CSV file.

    Text that a spreadsheet would run as a formula gets an apostrophe in front. Booleans become `true` and
    `false`, as in JSON.
    """
    if isinstance(value, str):
        return f"'{value}" if _FORMULA.match(value) else value
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, datetime) else value


def without_apostrophe(text: str) -> str:
    """Return the text of which `cell` wrote this."""
    return text[1:] if text[:1] == "'" and _FORMULA.match(text, 1) else text


def csv_chunks(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield the text of a CSV file, some rows at a time."""
    lines = chain([columns], rows)
    while some := list(islice(lines, ROWS_IN_A_CHUNK)):
        chunk = io.StringIO()
        shown = ([each if type(each) in _NUMBERS else cell(each) for each in row] for row in some)
        csv.writer(chunk).writerows(shown)
        yield chunk.getvalue()
