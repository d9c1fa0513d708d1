"""The rows of a file as lists of text, whether it is CSV, Excel or Parquet, and its text if it is neither."""

from __future__ import annotations

import codecs
import csv
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from threading import Timer

from racebot.errors import MissingExtraError, PayloadError
from racebot.files import isolated

Row = tuple[int, list[str]]
"""The number of a line, from 1, and its cells."""
Rows = tuple[list[str], Iterator[Row]]
"""Notes on how rows were read, complete after the last, and the rows."""
TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".xlsx", ".xls", ".ods", ".parquet")
FILE_SUFFIXES = (*TABLE_SUFFIXES, ".json", ".jsonl", ".xml")
LARGEST_FILE = 64 * 2**20
"""Most bytes of a file."""
LARGEST_DOCUMENT = 24 * 2**20
"""Most bytes of JSON or XML, which takes several times as much when read."""
LONGEST_LINE = 100_000
"""Most characters in a line. A file without line breaks would otherwise be read as a whole."""
MOST_LINES = 500_000
MOST_CELLS = 5_000_000
_BOMS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def kind_of(path: Path) -> str:
    """Return `sheet`, `parquet`, `json`, `xml` or `text`, judged by how a file begins.

    Raises:
        PayloadError: there is no such file, or it is larger than `LARGEST_FILE`.
    """
    try:
        with path.open("rb") as file:
            size, start = path.stat().st_size, file.read(64)
    except OSError as error:
        raise PayloadError(f"{path}: {error.strerror}") from None
    if size > LARGEST_FILE:
        raise too_large(path, LARGEST_FILE)
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        return "sheet"
    begins = start.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n")[:1]
    if path.suffix.lower() == ".json" or (
        begins in {b"{", b"["} and path.suffix.lower() not in {".csv", ".tsv"}
    ):
        return "json"
    return "xml" if begins == b"<" else "text"


def too_large(path: Path, most: int) -> PayloadError:
    """Return an error that says how large a file may be."""
    return PayloadError(f"{path}: more than {most // 2**20} MiB: split it into several files")


def tables(path: Path, kind: str, sheet: str | None) -> Iterator[Rows]:
    """Yield the rows of a file of text, or of each sheet of a workbook, or of the one that is wanted."""
    if kind == "text":
        notes: list[str] = []
        yield notes, _text_rows(path, notes)
        return
    library = {"sheet": "python_calamine", "parquet": "duckdb"}[kind]
    if importlib.util.find_spec(library) is None:
        what = {"sheet": "Excel", "parquet": "Parquet"}[kind]
        raise MissingExtraError("files", f"{path}: {what} files cannot be read yet")
    number, sheets = 0, 1
    while number < sheets:
        rows = _isolated_rows(path, kind, sheet or str(number))
        names = next(rows)[1]
        notes = []
        if len(names) > 1:
            notes.append(f"read the sheet {sheet or names[number]!r}, one of {len(names)}")
        yield notes, rows
        number, sheets = number + 1, 1 if sheet else len(names)


def text_of(path: Path) -> str:
    """Return a file of text as a whole, decoded.

    Raises:
        PayloadError: it is larger than `LARGEST_DOCUMENT`, or not text.
    """
    if path.stat().st_size > LARGEST_DOCUMENT:
        raise too_large(path, LARGEST_DOCUMENT)
    encoding = _encoding(path)
    try:
        return path.read_bytes().decode(encoding).lstrip("\ufeff")
    except UnicodeDecodeError:
        raise PayloadError(f"{path}: not {encoding} text: save it as UTF-8") from None


def _encoding(path: Path) -> str:
    """Return the encoding of a file: UTF-16 if its first bytes say so, UTF-8 if all of it is, or cp1252."""
    with path.open("rb") as file:
        start = file.read(4)
    if start[:2] in _BOMS:
        return "utf-16"
    if b"\0" in start:
        return "utf-16-be" if start[:1] == b"\0" else "utf-16-le"
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            with path.open(encoding=encoding, newline="") as text:
                while text.read(2**20):
                    pass
        except UnicodeDecodeError:
            continue
        return encoding
    raise PayloadError(f"{path}: neither UTF-8, UTF-16 nor Windows text: save it as UTF-8")


def _text_rows(path: Path, notes: list[str]) -> Iterator[Row]:
    encoding = _encoding(path)
    if encoding != "utf-8-sig":
        notes.append(f"read as {encoding}")
    text = _lines(path, encoding)
    above = 0
    for above, line in enumerate(text):  # noqa: B007 - the last value counts
        if line.strip():
            text = chain([line], text)
            break
    start = list(islice(text, 20))
    separator = max(",;\t|", key="".join(start).count)
    if separator != ",":
        notes.append(f"separated by {'tabs' if separator == chr(9) else separator}")
    reader = csv.reader(chain(start, text), strict=True, delimiter=separator)
    try:
        for row in reader:
            yield above + reader.line_num, row
    except csv.Error as error:
        number = above + reader.line_num
        raise PayloadError(f"{path}, line {number}: {error}: correct the quotation marks") from None


def _lines(path: Path, encoding: str) -> Iterator[str]:
    try:
        with path.open(encoding=encoding, newline="") as file:
            while line := file.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE:
                    raise PayloadError(
                        f"{path}: a line has more than {LONGEST_LINE} characters: save it as CSV"
                    )
                yield line
    except UnicodeDecodeError:
        raise PayloadError(f"{path}: not {encoding} text: save it as UTF-8") from None


def _isolated_rows(path: Path, kind: str, sheet: str) -> Iterator[Row]:
    """Yield what `isolated` prints, and end it after its time.

    Raises:
        PayloadError: the file is damaged, or needs more time or memory than it may have.
    """
    command = [sys.executable, "-P", "-m", isolated.__name__, kind, str(path), sheet]
    with subprocess.Popen(  # noqa: S603 - our own program
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        clock = Timer(isolated.MOST_SECONDS, process.kill)
        clock.daemon = True
        clock.start()
        try:
            for number, line in enumerate(process.stdout or ()):
                row = json.loads(line)
                if isinstance(row, dict):
                    reason = row["problem"]
                    if reason == "memory":
                        break
                    remedy = "save it as .xlsx without a password" if kind == "sheet" else "write it again"
                    raise PayloadError(f"{path}: {reason}: {remedy}")
                yield number, row
            else:
                if process.wait() == 0:
                    return
        finally:
            clock.cancel()
            process.kill()
    most = isolated.MEMORY["sheet"] // 2**20
    raise PayloadError(
        f"{path}: needs more than {isolated.MOST_SECONDS} seconds or {most} MiB to be read: remove cells far "
        "from the table, or save it as .csv"
    )
