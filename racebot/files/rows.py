"""The rows of a file as lists of text, whether it is CSV or Excel, and its text if it is neither."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, TextIO

from racebot.errors import MissingExtraError, PayloadError
from racebot.files import isolated

Row = tuple[int, list[str]]
"""The number of a line, from 1, and its cells, without spaces around them."""
Rows = tuple[list[str], Iterator[Row]]
"""Notes on how rows are read, and the rows."""
FILE_SUFFIXES = (".csv", ".tsv", ".txt", ".xlsx", ".xls", ".ods", ".json", ".jsonl", ".xml")
STANDARD_INPUT = "-"
LARGEST_FILE = 64 * 2**20
LARGEST_DOCUMENT = 24 * 2**20
"""Most bytes of a file, and of JSON, which takes several times as much when it is read."""
MOST_LINES = 250_000
MOST_RESULTS = 1_000_000
MOST_COLUMNS = 2_500
LONGEST_LINE = 2**20
_SUFFIXES = {".yaml": "YAML", ".yml": "YAML", ".sql": "SQL", ".pgn": "PGN"}
_BEGINNINGS = {
    b"PAR1": "Parquet",
    b"%PDF": "PDF",
    b"\x89PNG": "a picture",
    b"\x1f\x8b": "gzip",
    b"SQLite": "SQLite",
}
_BEGINNINGS |= {b"<": "HTML or XML", b"SQLite": "SQLite", b"{|": "wikitext", b"[Event ": "PGN"}
"""Forms that are not read, by the names of files and how these begin."""
_JSON = re.compile(rb"\{|\[\s*[\[{\"]")
_TOP = 15
"""First rows of a sheet, of which one has the names of columns."""
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200e\u200f\u2060\ufeff"))
_CYRILLIC = re.compile(rb"[\xc0-\xff]"), re.compile(rb"[A-Za-z\x80-\xbf]")  # of Windows, and not
_POLISH = re.compile(rb"[A-Za-z][\xb3\xb9\xbf][a-z]|\xa3[a-z]{2}")  # ³ ¹ ¿ £, in Windows-1250 ł ą ż Ł
_GAP = re.compile(r"(?<=[^,;|\s]) {2,}(?=[^,;|\s])")  # between columns that are aligned by spaces
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")  # of Markdown


def _has_names(row: list[str]) -> bool:
    return len(list(filter(None, row))) > 1 and not any(map(str.isdecimal, row))


def visible(text: str) -> str:
    """Return a text without marks of direction and of breaks, which programs leave in cells."""
    return text if text.isascii() else text.translate(_INVISIBLE)


@dataclass(frozen=True, slots=True)
class File:
    """A file's name and bytes, and the rows of its sheets that are read. Standard input is called `stdin`."""

    path: Path
    content: bytes
    sheets: Mapping[str, list[list[str]]] | None = None

    @classmethod
    def open(cls, path: Path) -> File:
        """Read a file, a pipe or standard input. Raise a PayloadError if it is missing or too large."""
        piped = str(path) == STANDARD_INPUT
        try:
            with nullcontext(sys.stdin.buffer) if piped else path.open("rb") as stream:
                file = cls(Path("stdin") if piped else path, stream.read(LARGEST_FILE + 1))
        except OSError as error:
            raise PayloadError(f"{path}: {error.strerror}") from None
        most = LARGEST_DOCUMENT if file.kind == "json" else LARGEST_FILE
        if len(file.content) > most:
            raise PayloadError(f"{path}: more than {most // 2**20} MiB: split it into several files")
        return file

    @property
    def kind(self) -> str:
        """Return `sheet`, `json` or `text`, judged by how the file begins, or the name of a form not read."""
        start, suffix = self.content[:64], self.path.suffix.lower()
        if start.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
            return "sheet"
        begins = start.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n")
        if other := next(filter(begins.startswith, _BEGINNINGS), None):
            return _BEGINNINGS[other]
        if suffix in _SUFFIXES:
            return _SUFFIXES[suffix]
        is_json = _JSON.match(begins) and suffix not in {".csv", ".tsv"}
        return "json" if suffix in {".json", ".jsonl"} or is_json else "text"

    def text(self) -> TextIO:
        """Return the text, in UTF-16 or UTF-32 if it begins so, in UTF-8 if all of it is, or of Windows."""
        begins = json.detect_encoding(self.content[:4])
        letters, others = (len(re.findall(each, self.content[: 2**16])) for each in _CYRILLIC)
        central = "cp1250" if _POLISH.search(self.content) else "cp1252"
        windows = "cp1251" if letters > others else central
        for encoding in ["utf-8-sig", windows] if begins.startswith("utf-8") else [begins]:
            stream = io.TextIOWrapper(io.BytesIO(self.content), encoding, newline="")
            with suppress(UnicodeDecodeError):
                while stream.read(2**16):  # a text of 64 MiB may take five times as much as a string
                    pass
                stream.seek(0)
                return stream
        raise PayloadError("neither UTF-8, UTF-16 nor Windows text: save it as UTF-8")

    def tables(self, sheet: str | None) -> Iterator[Rows]:
        """Yield the rows of a file of text, or of each sheet of a workbook, or of the one that is wanted."""
        if self.kind == "text":
            text = self.text()
            begin = "".join(islice(filter(str.strip, iter(partial(text.readline, LONGEST_LINE), "")), 20))
            separator = max(",;\t|", key=begin.count)
            if len(_GAP.findall(begin)) > begin.count(separator):
                raise PayloadError(f"{self.path}: columns apart by spaces: save it with commas or tabs")
            fix = "; if names look wrong, save it as UTF-8" if text.encoding.startswith("cp") else ""
            notes = [f"read as {text.encoding}{fix}"] if text.encoding != "utf-8-sig" else []
            notes += [f"separated by {separator}".replace("\t", "tabs")] if separator != "," else []
            yield notes, self._text_rows(separator)
            return
        names, sheets = ([*self.sheets], self.sheets.items()) if self.sheets else self._sheets(sheet or "")
        for name, rows in ((name, rows) for name, rows in sheets if rows):
            chosen = f"read the sheet {name!r}, one of {len(names)}: --sheet NAME reads another"
            yield [chosen] if names[1:] else [], iter(enumerate(rows, start=1))

    def split(self) -> list[File]:
        """Return each sheet of a workbook that shares its names of columns with others, or else this file."""
        if self.kind != "sheet":
            return [self]
        names, by_name = self._sheets("")
        sheets: dict[str, list[list[str]]] = {name: [] for name in names}
        with suppress(PayloadError):  # a sheet that is too large may stand beside the first, which is read
            sheets |= {name: [*islice(rows, MOST_LINES + _TOP)] for name, rows in by_name}
        tops = {name: set(map(tuple, filter(_has_names, rows[:_TOP]))) for name, rows in sheets.items()}
        shared = Counter(chain(*tops.values()))
        head, count = max(shared.items(), key=itemgetter(1), default=((), 0))
        alike = {name: rows for name, rows in sheets.items() if count > 1 and head in tops[name]}
        paths = {name: self.path / f"{name.replace('/', '-')}.sheet" for name in alike}
        whole = File(self.path, self.content, sheets if any(sheets.values()) else None)
        return [File(paths[name], self.content, {name: rows}) for name, rows in alike.items()] or [whole]

    def _sheets(self, wanted: str) -> tuple[list[str], Iterable[tuple[str, Iterable[list[str]]]]]:
        """Return the names of all sheets, and the rows of those wanted, which must be read in turn."""
        if importlib.util.find_spec("python_calamine") is None:
            raise MissingExtraError("files", f"{self.path}: Excel files cannot be read yet")
        rows = self._isolated_rows(wanted)
        names, _ = next(rows)
        by_sheet = groupby(rows, key=itemgetter(0))
        return names, (
            (name, ([visible(cell).strip() for cell in row] for _, row in of)) for name, of in by_sheet
        )

    def lines(self) -> Iterator[str]:
        """Yield the lines of a text, or raise a PayloadError for too many, or for one that is too long."""
        if max(map(self.content.count, (b"\n", b"\r"))) > MOST_LINES:
            raise PayloadError(f"more than {MOST_LINES:,} lines: split it into several files")
        text = self.text()
        while line := text.readline(LONGEST_LINE):
            if len(line) == LONGEST_LINE:
                raise PayloadError(f"a line with more than {LONGEST_LINE:,} characters: remove some")
            yield visible(line)

    def _text_rows(self, separator: str) -> Iterator[Row]:
        reader = csv.reader(self.lines(), strict=True, delimiter=separator)
        try:
            for row in reader:
                if separator != "|":
                    yield reader.line_num, [cell.strip() for cell in row]
                elif set("".join(row)) - set(":- "):  # Markdown has a line of dashes
                    bare = (_LINK.sub(r"\1", cell).replace("**", "") for cell in row)
                    yield reader.line_num, [cell.strip(" *`~") for cell in bare]
        except PayloadError as error:
            raise PayloadError(f"{self.path}: {error}") from None
        except csv.Error as error:
            where = f"{self.path}, line {reader.line_num}"
            raise PayloadError(f"{where}: {error}: correct the quotation marks or separators") from None

    def _isolated_rows(self, sheet: str) -> Iterator[Any]:
        """Yield what `isolated` prints. Raise a PayloadError if the file is damaged, or takes too much."""
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "copy"
            copy.write_bytes(self.content)
            limit = str(isolated.MOST_SECONDS)
            command = [sys.executable, "-P", "-m", isolated.__name__, limit, str(copy), sheet]
            with subprocess.Popen(  # noqa: S603 - our own program
                command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            ) as process:
                try:
                    for line in process.stdout or ():
                        row = json.loads(line)
                        if isinstance(row, dict):
                            raise PayloadError(f"{self.path}: {row['problem']}")
                        yield row
                    if process.wait() == 0:
                        return
                finally:
                    process.kill()
        most = f"{isolated.MOST_SECONDS} seconds or {isolated.MOST_MEMORY // 2**20} MiB to be read"
        fix = "remove cells far from the table, or save it as .csv"
        raise PayloadError(f"{self.path}: needs more than {most}: {fix}")
