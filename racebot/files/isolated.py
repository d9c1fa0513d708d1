"""Prints the rows of a sheet or of a Parquet file as JSON lines. A program of its own, with limits.

A small file can ask the libraries for any amount of memory and time, and a cell in a sheet's last row and
column makes them abort the process. Usage: `python -m racebot.files.isolated KIND PATH [SHEET]`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

MOST_SECONDS = 15
MOST_MEMORY = 250 * 2**20
"""Most bytes that a library may allocate. It may reserve more, as DuckDB does."""
DUCKDB_MEMORY = "120MB"


def sheet(path: str, wanted: str) -> Iterator[Any]:
    """Yield the names of the sheets, then the rows of one: that with a name, or with a number."""
    from python_calamine import CalamineWorkbook  # noqa: PLC0415 - of an extra

    with Path(path).open("rb") as file, CalamineWorkbook.from_filelike(file) as book:
        yield book.sheet_names
        names = {name.lower(): name for name in book.sheet_names}
        name = names.get(wanted.lower()) or (book.sheet_names[int(wanted)] if wanted.isdigit() else None)
        if name is None:
            raise ValueError(f"no sheet {wanted!r}: there are {', '.join(book.sheet_names)}")
        for row in book.get_sheet_by_name(name).iter_rows():
            yield list(map(_text, row))


def parquet(path: str, _: str) -> Iterator[Any]:
    """Yield no names, then the names of the columns and the rows."""
    import duckdb  # noqa: PLC0415 - of an extra

    yield []
    with duckdb.connect(config={"threads": 1, "memory_limit": DUCKDB_MEMORY}) as connection:
        found = connection.execute("SELECT CAST(COLUMNS(*) AS VARCHAR) FROM read_parquet($1)", [path])
        yield [column[0] for column in found.description or ()]
        while rows := found.fetchmany(1000):
            yield from ([cell or "" for cell in row] for row in rows)


def _text(cell: object) -> str:
    """Return a cell of a sheet as it would be written in a CSV file."""
    if isinstance(cell, timedelta):
        return str(cell.total_seconds())
    if isinstance(cell, (date, time, datetime)):
        return cell.isoformat()
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _limit() -> None:
    import resource  # noqa: PLC0415 - not on Windows

    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (used + MOST_MEMORY, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 1))


if __name__ == "__main__":
    kind, path, wanted = sys.argv[1:]
    with suppress(ImportError, OSError, ValueError):  # the reader's clock ends this process anyway
        _limit()
    try:
        for row in {"sheet": sheet, "parquet": parquet}[kind](path, wanted):
            print(json.dumps(row))
    except Exception as error:
        if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":  # DuckDB's
            sys.exit(1)
        remedy = "save it as .xlsx without a password" if kind == "sheet" else "write it again"
        print(json.dumps({"problem": f"{str(error).partition(chr(10))[0][:300]}: {remedy}"}))
