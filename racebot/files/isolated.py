"""Prints the rows of a workbook or of a Parquet file as JSON lines. A program of its own, with limits.

A small file can ask the libraries for any amount of memory and time, and a cell in a sheet's last row and
column makes them abort the process. Usage: `python -m racebot.files.isolated SECONDS KIND PATH SHEET`. Each
line holds the name of a sheet and the cells of one of its rows, after one without cells. The first line has
the names of all sheets instead.
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
"""Most seconds of processor time, so that neither a busy machine nor a slow reader matters."""
MOST_MEMORY = 250 * 2**20
"""Most bytes that a library may allocate. It may reserve more, as DuckDB does."""
DUCKDB_MEMORY = "120MB"


def workbook(path: str, wanted: str) -> Iterator[Any]:
    """Yield the names of the sheets, and the rows of all or of the one with a name or a number, from 0."""
    from python_calamine import CalamineWorkbook  # noqa: PLC0415 - of an extra

    with Path(path).open("rb") as file, CalamineWorkbook.from_filelike(file) as book:
        names = book.sheet_names
        yield names, []
        chosen = [name for name in names if wanted.lower() in {"", name.lower()}]
        if not chosen and wanted.isdigit():
            chosen = names[int(wanted) :][:1]
        if not chosen:
            raise ValueError(f"no sheet {wanted!r}: there are {', '.join(names)}")
        for name in chosen:
            yield name, []
            for row in book.get_sheet_by_name(name).iter_rows():
                yield name, list(map(_text, row))


def parquet(path: str, _: str) -> Iterator[Any]:
    """Yield the same for a Parquet file, which has one sheet without a name."""
    import duckdb  # noqa: PLC0415 - of an extra

    yield [""], []
    yield "", []
    with duckdb.connect(config={"threads": 1, "memory_limit": DUCKDB_MEMORY}) as connection:
        found = connection.execute("SELECT CAST(COLUMNS(*) AS VARCHAR) FROM read_parquet($1)", [path])
        yield "", [column[0] for column in found.description or ()]
        while row := found.fetchone():
            yield "", [cell or "" for cell in row]


def _text(cell: object) -> str:
    """Return a cell of a sheet as it would be written in a CSV file."""
    if isinstance(cell, timedelta):
        return str(cell.total_seconds())
    if isinstance(cell, (date, time, datetime)):
        return cell.isoformat()
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _limit(seconds: int) -> None:
    import resource  # noqa: PLC0415 - not on Windows

    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (used + MOST_MEMORY, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


if __name__ == "__main__":
    seconds, kind, path, wanted = sys.argv[1:]
    with suppress(ImportError, OSError, ValueError):
        _limit(int(seconds))
    try:
        for row in {"sheet": workbook, "parquet": parquet}[kind](path, wanted):
            print(json.dumps(row), flush=not row[1])  # what aborts this process is in the next sheet
    except Exception as error:
        if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":  # DuckDB's
            sys.exit(1)
        remedy = "save it as .xlsx without a password" if kind == "sheet" else "write it again"
        print(json.dumps({"problem": f"{str(error).partition(chr(10))[0][:300]}: {remedy}"}))
