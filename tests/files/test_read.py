"""JSON saved from the site, archives, and files that cannot be read."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from builders import CATEGORY, NOON, entrant_document, listed_document, race_document

from racebot.errors import PayloadError
from racebot.files.options import options_of
from racebot.files.read import read_races
from racebot.races.result import Entrant, EntrantStatus

TWO = [entrant_document("ann", "done", "PT1H", 1), entrant_document("bo", "done", "PT2H", 2)]


def listed(number: int) -> dict[str, Any]:
    ended = (NOON + timedelta(days=number)).isoformat()
    return listed_document(f"r{number}", TWO, ended_at=ended, recorded=True)


def file(tmp_path: Path, document: object, name: str = "season one.json") -> Path:
    path = tmp_path / name
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def names(path: Path, category: str = CATEGORY, goal: str | None = None) -> list[str]:
    return [result.name for result in read_races(path, category=category, goal=goal).results]


@pytest.mark.parametrize(
    "document",
    [
        {"count": 2, "num_pages": 1, "races": [listed(1), listed(2)]},
        [
            {"count": 2, "num_pages": 2, "races": [listed(1)]},
            {"count": 2, "num_pages": 2, "races": [listed(2)]},
        ],
        [listed(1), listed(2)],
        [listed(1), {"races": [listed(2)]}],
        [listed(1), race_document("open-1", status="open"), race_document("r2", TWO)],
    ],
    ids=["a page", "pages", "races", "both", "races with their own pages"],
)
def test_json_saved_from_the_site_is_read(tmp_path: Path, document: object) -> None:
    assert names(file(tmp_path, document)) == ["orb/r1", "orb/r2"]


def test_an_archive_is_read_race_by_race(tmp_path: Path) -> None:
    """A deleted account keeps its place, and place 9999 is no finish."""
    entrants = [{"user_id": user, "place": place} for user, place in (("a1", 1), (None, 2), ("b2", 9999))]
    race = {"slug": "lazy-orb-1", "ended_at": "2025-06-01T10:20:30.123456+00:00", "recorded": True}
    other = {"slug": "keen-orb-2", "ended_at": "2025-06-02T10:20:30Z", "recorded": False}
    path = file(tmp_path, [race | {"entrants": entrants}, other | {"entrants": entrants}])
    first, second = read_races(path, category="orb").results
    assert (first.name, first.category, first.goal) == ("orb/lazy-orb-1", "orb", "season one")
    assert first.ended_at == datetime(2025, 6, 1, 10, 20, 30, 123456, tzinfo=UTC)
    assert first.entrants == (
        Entrant("a1", "a1", EntrantStatus.DONE, place=1),
        Entrant(None, "deleted account", EntrantStatus.DONE, place=2),
        Entrant("b2", "b2", EntrantStatus.DNF),
    )
    assert (first.recorded, second.recorded, first.final, first.countable) == (True, False, True, True)
    with pytest.raises(PayloadError, match=r"season one\.json, line 2, column place: 'best'"):
        read_races(file(tmp_path, [race | {"entrants": [{"user_id": "a1", "place": "best"}]}]))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[NaN]", "NaN is not a number"),
        ("5", "no races: neither of racetime.gg"),
        ("{}", "no races"),
        ("[5]", "no races"),
        ('[{"races": "abc"}]', "race"),
        ('{"races": {"a": 1}}', "race"),
        ('[{"name": "orb/r"}]', "no column place or time or score"),
        ("\udcff\udcfe", "not JSON"),
    ],
)
def test_a_file_that_cannot_be_read_says_what_and_where(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(PayloadError) as refused:
        read_races(path, category=CATEGORY, goal=None)
    assert str(refused.value).startswith(f"{path}: ")
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PayloadError, match=r"nosuch\.json: No such file or directory"):
        read_races(tmp_path / "nosuch.json", category=CATEGORY, goal=None)
    with pytest.raises(PayloadError, match="a folder with 0 files"):
        read_races(tmp_path, category=CATEGORY, goal=None)


def test_an_endless_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("LARGEST_FILE", "LARGEST_DOCUMENT"):
        monkeypatch.setattr(f"racebot.files.rows.{limit}", 2**20)
    path = tmp_path / "endless.json"
    path.symlink_to("/dev/zero")
    with pytest.raises(PayloadError, match=r"endless\.json: more than 1 MiB"):
        read_races(path, category=CATEGORY, goal=None)


def test_small_files_cannot_take_much_memory_or_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("python_calamine")
    monkeypatch.setattr("racebot.files.isolated.MOST_SECONDS", 1)
    with xlsxwriter.Workbook(tmp_path / "corner.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write(0, 0, "race")
        sheet.write(1_048_575, 16_383, "x")
    with xlsxwriter.Workbook(tmp_path / "right.xlsx") as book:
        rows = ("race", "player", "place"), ("r", "Ann", 1), ("r", "Bo", 2)
        sheet = book.add_worksheet("Results")
        for number, row in enumerate(rows):
            sheet.write_row(number, 0, row)
        book.add_worksheet("Corner").write(1_048_575, 16_383, "x")
    (tmp_path / "integers.json").write_text(f"[{'1,' * 2_000_001}1]")
    keys = ",".join(f'{{"race": "r", "k{number}": 1}}' for number in range(2_501))
    (tmp_path / "keys.json").write_text(f"[{keys}]")
    (tmp_path / "columns.csv").write_text("x," * 2_501)
    (tmp_path / "long.csv").write_text('"' * 2**20)
    (tmp_path / "lines.csv").write_text("\n" * 250_001)
    (tmp_path / "large.json").write_bytes(b"[" * (24 * 2**20 + 1))
    (tmp_path / "results.csv").write_text("player,r1,r2\nAnn,1,2\nBo,2,1\n")
    with monkeypatch.context() as patch:
        patch.setattr("racebot.files.table.MOST_RESULTS", 3)
        with pytest.raises(PayloadError, match="more than 3 results"):
            read_races(tmp_path / "results.csv")
    for name, bound in (
        ("corner.xlsx", "or 250 MiB"),
        ("integers.json", "more than 1,000,000 values"),
        ("keys.json", "more than 2,500 columns"),
        ("columns.csv", "more than 2,500 columns"),
        ("long.csv", "more than 1,048,576 characters"),
        ("lines.csv", r"^\S+lines\.csv: more than 250,000 lines"),
        ("large.json", "more than 24 MiB"),
    ):
        with pytest.raises(PayloadError, match=bound):
            read_races(tmp_path / name)
    assert len(read_races(tmp_path / "right.xlsx").results) == 1, "what is right needs no later sheet"


def test_sheets_with_the_same_columns_are_read_as_files_are(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("python_calamine")
    header = ["Pos", "Driver", "Gap"]
    sheets = {
        "Standings": [["Driver", "Points"], ["Ann", 3], ["Bo", 2]],
        "1. Spa": [["Round 1"], header, [1, "Ann", ""], [2, "Bo", "+1.5"]],
        "2. Imola": [["Round 2"], header, [1, "Bo", ""], [2, "Ann", "+0.5"]],
    }
    with xlsxwriter.Workbook(tmp_path / "season.xlsx") as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    found = read_races(tmp_path / "season.xlsx")
    assert [(race.name, min(race.entrants, key=lambda e: e.place or 9).name) for race in found.results] == [
        ("1. Spa", "Ann"),
        ("2. Imola", "Bo"),
    ]
    assert "season.xlsx: read the sheets '1. Spa', '2. Imola': --sheet NAME reads one" in found.notes
    (one,) = read_races(tmp_path / "season.xlsx", options=options_of(sheet="2. imola")).results
    assert one.name == "season"
    with pytest.raises(PayloadError, match=r"no sheet 'Imola': there are Standings, 1\. Spa, 2\. Imola$"):
        read_races(tmp_path / "season.xlsx", options=options_of(sheet="Imola"))
