"""Prints the rows of a workbook as JSON lines. A separate program, with limits.

A small file can ask the library for any amount of memory and time, and a cell in a sheet's last row and
column makes it abort the process. Usage: `python -m racebot.files.isolated SECONDS PATH SHEET`. Each
line holds the name of a sheet and the cells of one of its rows, but the first the names of all sheets.
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
"""Most bytes that the library may allocate."""


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
            raise LookupError(f"no sheet {wanted!r}: there are {', '.join(names)}")
        for name in chosen:
            for row in book.get_sheet_by_name(name).iter_rows():
                yield name, list(map(_text, row))


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
    seconds, path, wanted = sys.argv[1:]
    with suppress(ImportError, OSError, ValueError):
        _limit(int(seconds))
    try:
        for row in workbook(path, wanted):
            print(json.dumps(row), flush=True)  # a later sheet may abort this process
    except MemoryError:
        sys.exit(1)
    except LookupError as error:
        print(json.dumps({"problem": str(error)[:1000]}))
    except Exception as error:
        problem = f"{str(error).partition(chr(10))[0][:300]}: save it as .xlsx without a password"
        print(json.dumps({"problem": problem}))
