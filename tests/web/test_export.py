from __future__ import annotations

import os
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from builders import result

from racebot.errors import ExportError
from racebot.ledger.store import Ledger
from racebot.standings.plan import Plans
from racebot.standings.settle import Settler
from racebot.web.export import MANIFEST, Exported, export
from racebot.web.view import Publication

from .conftest import RACES, SIMPLE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "public"


@pytest.fixture
def filled(ledger: Ledger) -> Ledger:
    Settler(ledger, Plans(SIMPLE)).merge(RACES, "import")
    return ledger


def run(ledger: Ledger, folder: Path) -> Exported:
    return export(ledger, Publication(), folder)


def files(folder: Path) -> dict[str, tuple[int, int]]:
    """What there is, with what changes when it is written anew."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {p.relative_to(folder).as_posix(): (p.stat().st_ino, p.stat().st_mtime_ns) for p in found}


def test_a_repeat_writes_nothing(filled: Ledger, folder: Path) -> None:
    first = run(filled, folder)
    before = files(folder)
    assert first.written == len(before) - 1  # the manifest is not a page
    assert run(filled, folder) == Exported(0, first.written, 0)
    assert files(folder) == before


def test_only_pages_that_changed_are_written(filled: Ledger, folder: Path) -> None:
    run(filled, folder)
    before = files(folder)
    Settler(filled, Plans(SIMPLE)).merge([result("d", "gus hal", after=250)], "import")
    run(filled, folder)
    after = files(folder)
    same = {name for name in before if after[name] == before[name]}
    assert {"assets/style.css", "assets/table.js"} <= same
    assert "leaderboards/orb/any-orb.html" not in same


def test_files_of_its_own_go_when_they_are_not_wanted_and_no_others_do(filled: Ledger, folder: Path) -> None:
    folder.mkdir()
    theirs = [folder / "CNAME", folder / "leaderboards" / "orb" / "notes.txt"]
    theirs[1].parent.mkdir(parents=True)
    for path in theirs:
        path.write_text("mine", encoding="utf-8")
    run(filled, folder)
    (board,) = filled.leaderboards()
    filled.remove_leaderboard(board)
    assert run(filled, folder).removed > 0
    assert "leaderboards/orb/any-orb.html" not in files(folder)
    assert all(path.read_text(encoding="utf-8") == "mine" for path in theirs)
    assert not (folder / "players").exists()  # folders that were left empty went too


def test_a_manifest_cannot_make_it_delete_what_is_elsewhere(filled: Ledger, folder: Path) -> None:
    folder.mkdir()
    outside = folder.parent / "outside.txt"
    outside.write_text("mine", encoding="utf-8")
    (folder / MANIFEST).write_text(f"../outside.txt\n{outside}\n\n", encoding="utf-8")
    run(filled, folder)
    assert outside.exists()


def test_a_folder_that_cannot_be_written_is_told(filled: Ledger, folder: Path) -> None:
    folder.write_text("a file", encoding="utf-8")
    with pytest.raises(ExportError, match="public"):
        run(filled, folder)


def test_pages_can_be_read_by_a_web_server_of_another_user(filled: Ledger, folder: Path) -> None:
    before = os.umask(0o077)  # as under systemd
    try:
        run(filled, folder)
    finally:
        os.umask(before)
    modes = {(path.is_dir(), path.stat().st_mode & 0o777) for path in [folder, *folder.rglob("*")]}
    assert modes == {(True, 0o755), (False, 0o644)}


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in {"href", "src", "action"}]


def test_every_link_leads_to_a_file_of_the_export(filled: Ledger, folder: Path) -> None:
    run(filled, folder)
    pages = list(folder.rglob("*.html"))
    assert len(pages) > 1
    for page in pages:
        links = Links()
        links.feed(page.read_text(encoding="utf-8"))
        for text in links.found:
            parts = urlsplit(text)
            if parts.scheme or not parts.path:
                assert parts.scheme in {"", "data", "https"}, text
                continue
            target = (page.parent / unquote(parts.path)).resolve()
            assert target.is_file(), f"{page.relative_to(folder)} links to {text}"
            assert target.is_relative_to(folder)
