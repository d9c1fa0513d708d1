"""The rows of a file as lists of text, whether it is CSV, Excel or Parquet."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from itertools import chain
from pathlib import Path
from typing import TextIO

from racebot.errors import MissingExtraError, PayloadError

Row = tuple[int, list[str]]
"""The number of a line, from 1, and its cells."""
TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".xlsx", ".xls", ".ods", ".parquet")
LONGEST_LINE = 10_000
"""Most characters in a line. A file without line breaks would otherwise be read as a whole."""


def readings(path: Path) -> Iterator[tuple[list[str], Iterator[Row]]]:
    """Yield each way to read a file: notes, complete after the last row, and the rows.

    Rows of text raise UnicodeDecodeError if the next way should be tried.
    """
    with path.open("rb") as file:
        start = file.read(4)
    notes: list[str] = []
    if start == b"PAR1":
        yield notes, _parquet_rows(path)
    elif start in {b"PK\x03\x04", b"\xd0\xcf\x11\xe0"}:
        yield notes, _sheet_rows(path, notes)
    elif start[:2] in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}:
        yield notes, _text_rows(path, "utf-16", notes)
    elif b"\0" in start:
        yield notes, _text_rows(path, "utf-16-be" if start[:1] == b"\0" else "utf-16-le", notes)
    else:
        for encoding in ("utf-8-sig", "cp1252"):
            notes = []
            yield notes, _text_rows(path, encoding, notes)


def _text_rows(path: Path, encoding: str, notes: list[str]) -> Iterator[Row]:
    with path.open(encoding=encoding, newline="") as file:
        text = _lines(path, file)
        above, header = next(((n, line) for n, line in enumerate(text) if line.strip()), (0, ""))
        separator = max(",;\t|", key=header.count)
        if encoding != "utf-8-sig":
            notes.append(f"read as {encoding}")
        if separator != ",":
            notes.append(f"separated by {'tabs' if separator == chr(9) else separator}")
        reader = csv.reader(chain([header], text), strict=True, delimiter=separator)
        try:
            for row in reader:
                yield above + reader.line_num, row
        except csv.Error as error:
            line = above + reader.line_num
            raise PayloadError(f"{path}, line {line}: {error}: correct the quotation marks") from None


def _lines(path: Path, file: TextIO) -> Iterator[str]:
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise PayloadError(f"{path}: a line has more than {LONGEST_LINE} characters: save it as CSV")
        yield line


def _sheet_rows(path: Path, notes: list[str]) -> Iterator[Row]:
    """Yield the rows of the first sheet of an Excel or OpenDocument file."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook  # noqa: PLC0415 - of an extra
    except ModuleNotFoundError:
        raise MissingExtraError("files", f"{path}: Excel files cannot be read yet") from None
    try:
        with CalamineWorkbook.from_path(path) as workbook:
            if len(workbook.sheet_names) > 1:
                notes.append(
                    f"read the sheet {workbook.sheet_names[0]!r}, the first of {len(workbook.sheet_names)}"
                )
            sheet = workbook.get_sheet_by_index(0)
            for number, row in enumerate(sheet.iter_rows(), start=1):
                yield number, list(map(_text, row))
    except CalamineError as error:
        raise PayloadError(f"{path}: {error}: save it as .xlsx without a password") from None


def _text(cell: object) -> str:
    """Return a cell of a sheet as it would be written in a CSV file."""
    if isinstance(cell, timedelta):
        return str(cell.total_seconds())
    if isinstance(cell, (date, time, datetime)):
        return cell.isoformat()
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _parquet_rows(path: Path) -> Iterator[Row]:
    try:
        import duckdb  # noqa: PLC0415 - of an extra
    except ModuleNotFoundError:
        raise MissingExtraError("files", f"{path}: Parquet files cannot be read yet") from None
    query = "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM read_parquet($1)"
    try:
        with duckdb.connect(config={"threads": 1}) as connection:
            found = connection.execute(query, [str(path)])
            yield 1, [column[0] for column in found.description or ()]
            number = 1
            while rows := found.fetchmany(1000):
                for number, row in enumerate(rows, start=number + 1):  # noqa: B020
                    yield number, ["" if cell in {None, "nan"} else cell for cell in row]
    except duckdb.Error as error:
        raise PayloadError(f"{path}: {str(error).partition(chr(10))[0]}: write it again") from None
