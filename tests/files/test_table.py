import sys
import time
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from racebot.errors import MissingExtraError, PayloadError
from racebot.files.options import options_of
from racebot.files.read import RaceFiles, read_races
from racebot.files.rows import File
from racebot.races.result import EntrantStatus, RaceResult

HEAD = "race,ended_at,player,time\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "races.csv"


def read(path: Path, **options: Any) -> RaceFiles:
    found = read_races(path, goal="G", options=options_of(**options))
    return replace(found, notes=tuple(note.partition(": ")[2] for note in found.notes))


def races(path: Path, text: str, **options: Any) -> tuple[RaceResult, ...]:
    path.write_text(text, encoding="utf-8")
    return read(path, **options).results


def refusal(path: Path, text: str) -> str:
    with pytest.raises(PayloadError) as raised:
        races(path, text)
    return str(raised.value)


def test_places_teams_and_factors_are_read_in_any_column_order(path: Path) -> None:
    path.write_text(
        "Player,Place,Team,Factor,Race,Ended_at\nAnn,1,red,Giants,r,2026-03-01\nBo,DQ,blue,,r,2026-03-01\n"
    )
    found = read_races(path, category="cat", goal="G")
    (race,) = found.results
    assert (race.name, race.goal, race.recorded) == ("cat/r", "G", True)
    assert [(e.place, e.team, e.status) for e in race.entrants] == [
        (1, "red", EntrantStatus.DONE),
        (None, "blue", EntrantStatus.DQ),
    ]
    assert found.factors == {("cat/r", "Ann"): "Giants"}


GOOD = "r,2026-03-01,Ann,10\n"


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        (HEAD + GOOD + "r,2026-03-01,Bo,fast\n", 3, "time"),
        (HEAD + "r,0001-01-01,Bo,11\n", 2, "ended_at"),
        (HEAD + GOOD + "r,2026-03-02,Bo,11\n", 3, "ended_at"),
        (HEAD + GOOD + "\nr,2026-03-01,Ann,11\n", 4, "player"),
        (HEAD + f"{'r' * 201},2026-03-01,Ann,11\n", 2, "race"),
        (HEAD + "r,2026-03-01,Ann,11,12\n", 2, "5"),
        ("race,ended_at,player,place\nr,2026-03-01,Ann,0\n", 2, "place"),
        ("race,ended_at,player,time,place\nr,2026-03-01,Ann,9,\nr,2026-03-01,Bo,,2\n", 2, "place"),
        ("race,ended_at,player,time,time\n", 1, "5"),
    ],
)
def test_a_bad_cell_is_named_by_file_line_and_column(path: Path, text: str, line: int, column: str) -> None:
    assert refusal(path, text).startswith(f"{path}, line {line}, column {column}: ")


def test_unreadable_files_are_refused(path: Path) -> None:
    assert "no races" in refusal(path, HEAD)
    assert "line 2" in refusal(path, HEAD + 'r,2026-03-01,"Ann,10\n')
    path.write_bytes(b"\x81\x8d")
    with pytest.raises(PayloadError, match="neither UTF-8"):
        read(path)


HEADERS = "Race,Date,Driver,Pos\n"


@pytest.mark.parametrize(
    ("encoding", "separator", "said"),
    [
        ("utf-16", ",", {"read as utf-16"}),
        ("utf-16-le", "|", {"read as utf-16-le", "separated by |"}),
        ("cp1252", ";", {"read as cp1252; if names look wrong, save it as UTF-8", "separated by ;"}),
        ("utf-8", "\t", {"separated by tabs"}),
    ],
)
def test_encodings_and_separators_are_recognized_and_said(
    path: Path, encoding: str, separator: str, said: set[str]
) -> None:
    text = HEADERS + "r,2026-03-01,Zoë,1\nr,2026-03-01,Bo,2\n"
    path.write_bytes(text.replace(",", separator).encode(encoding))
    found = read(path)
    assert [entrant.name for entrant in found.results[0].entrants] == ["Zoë", "Bo"]
    assert said <= set(found.notes)


@pytest.mark.parametrize("text", [
    "3.", "３", "3.0", "3e", "3º", "=3", "3=", "T3", "T-3", "#3", "(3)", "[3.0]",
    "3-4", "3/20", "third", "3 (tie)",
])  # fmt: skip
def test_forms_of_a_place(path: Path, text: str) -> None:
    (race,) = races(path, HEADERS + f"r,2026-03-01,Bo,1\nr,2026-03-01,Ann,{text}\n")
    assert race.entrants[1].place == 3


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("90", 90), ("90.25", 90.25), ("1:30", 90), ("0:01:30", 90), ("100:00:00", 360_000)),
        *(("1:02:03;4", 3723.4), ("1h02m03s", 3723), ("1h02", 3720), ("2h15m33", 8133), ("45 min", 2700)),
        *(("02h15'33″", 8133), ("58'12", 3492), ("1:02'33''4", 3753.4), ("4m 28s 120ms", 268.12)),
        ("4124.275035969047", 4124.275036),
        ("PT1H2M3S", 3723),
        ("P0DT01H00M03.5S", 3603.5),
    ],
)
def test_forms_of_a_time(path: Path, text: str, seconds: float) -> None:
    (race,) = races(path, HEAD + f'r,2026-03-01,Ann,"{text.replace(";", ",")}"\n')
    assert race.entrants[0].finish_time == seconds * 1_000_000


@pytest.mark.parametrize(
    ("dates", "days"),
    [
        (["2024/01/02"], ["2024-01-02"]),
        (["08.09.2019", "2019-09-09T00:30:00+01:00"], ["2019-09-08", "2019-09-08"]),
        (["9/8/2019", "9/13/2019"], ["2019-09-08", "2019-09-13"]),
        (["9/8/2019", "13/8/2019"], ["2019-08-09", "2019-08-13"]),
        (["1568000000", "1568000000123"], ["2019-09-09", "2019-09-09"]),
        (["2/1/2024 20:15", "31/1/2024"], ["2024-01-02", "2024-01-31"]),
    ],
)
def test_forms_of_a_date(path: Path, dates: list[str], days: list[str]) -> None:
    found = races(path, HEADERS + "".join(f"r{i},{date},Ann,1\n" for i, date in enumerate(dates)))
    assert [f"{race.ended_at:%Y-%m-%d}" for race in found] == days


def test_the_example_of_the_documentation_can_be_read(path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "study.md").read_text(encoding="utf-8")
    example = text.split("```csv\n")[1].split("```")[0]
    first, second = races(path, example)
    assert [(e.name, e.finished) for e in first.entrants] == [("Ann", True), ("Bo", True), ("Cy", False)]
    assert len(second.entrants) == 2


LINES = """Race,Date,Driver,Finish_Time,Pos,Team
r,2019-09-08 20:15:00,Zoë,1:02:03.5,1,
r,2019-09-08 20:15:00,Bo,30:00:00,2,
r,2019-09-08 20:15:00,Cy,,DNF,
s,2019-09-09 00:00:00,17,0:59:00,1,red
"""


def write_sheet(path: Path, text: str, *others: str) -> Path:
    """Write lines of CSV as an Excel file, with cells of Excel's types."""
    with pytest.importorskip("xlsxwriter").Workbook(path) as book:
        day, clock = (book.add_format({"num_format": each}) for each in ("dd.mm.yyyy hh:mm", "[h]:mm:ss.0"))
        sheet = book.add_worksheet("Results")
        for number, line in enumerate(text.splitlines()):
            for column, cell in enumerate(line.split(",")):
                if cell.startswith("2019-"):
                    sheet.write_datetime(number, column, datetime.fromisoformat(cell), day)
                elif cell.count(":") == 2:
                    hours, minutes, seconds = map(float, cell.split(":"))
                    length = timedelta(hours=hours, minutes=minutes, seconds=seconds)
                    sheet.write_datetime(number, column, length, clock)
                else:
                    sheet.write(number, column, int(cell) if cell.isdigit() else cell)
        for name in others:
            book.add_worksheet(name)
    return path


def test_excel_files_hold_what_csv_files_do(path: Path) -> None:
    pytest.importorskip("python_calamine")
    expected = races(path, LINES)
    assert [len(race.entrants) for race in expected] == [3, 1]
    sheet = read(write_sheet(path.with_suffix(".xlsx"), LINES, "Notes"))
    assert sheet.results == expected
    assert any("'Results', one of 2: --sheet" in note for note in sheet.notes)
    bad = write_sheet(path.with_suffix(".xlsx"), "race,player,place\nr,Ann,2\nr,Bo,best\n")
    with pytest.raises(PayloadError, match="line 3, column place: 'best' is not a place"):
        read(bad)


def test_a_damaged_file_and_a_missing_extra_are_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("python_calamine")
    path.write_bytes(b"PK\x03\x04nothing else")
    with pytest.raises(PayloadError, match=r"races\.csv: [^\n]+\Z"):
        read(path)
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(MissingExtraError, match=r"'\.\[files\]'"):
        read(path)
    for form, other in (("Parquet", b"PAR1"), ("wikitext", b"{| class=wikitable\n! Pos !! Driver")):
        path.with_suffix(".txt").write_bytes(other)
        with pytest.raises(PayloadError, match=f"{form} is not read"):
            read(path.with_suffix(".txt"))


@pytest.mark.long
def test_a_slow_reader_costs_a_file_none_of_its_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("racebot.files.isolated.MOST_SECONDS", 2)
    lines = "race,player\n" + f"r,{'Ann' * 20}\n" * 20_000
    tables = File.open(write_sheet(path.with_suffix(".xlsx"), lines)).tables(None)
    _, rows = next(tables)
    next(rows)
    time.sleep(2.5)
    assert len(list(rows)) == 20_000
