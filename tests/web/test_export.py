from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from shutil import copytree, ignore_patterns
from urllib.parse import unquote, urlsplit

import pytest
from builders import NOON, entrant, result

import racebot
from racebot.chat.commands import Command, CommandNames
from racebot.errors import ExportError
from racebot.ledger.pictures import Pictures, name_of
from racebot.ledger.store import Ledger
from racebot.races.result import Profile
from racebot.standings import orders
from racebot.standings.counting import Plans
from racebot.standings.settle import Settler
from racebot.web import export as export_module, manifest
from racebot.web.export import LOCK, MANIFEST, Exported, export, render_files
from racebot.web.routes import Pages
from racebot.web.site.ledger_view import Publication
from racebot.web.site.request import Content

from .conftest import RACES, SIMPLE

PLAYERS = "api/leaderboards/orb/any-orb/players"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "public"


@pytest.fixture
def filled(ledger: Ledger) -> Ledger:
    Settler(ledger, Plans(SIMPLE)).add_past_races(RACES, "import")
    return ledger


def run(ledger: Ledger, folder: Path) -> Exported:
    return export(ledger, Publication(), folder)


def files(folder: Path) -> dict[str, tuple[int, int]]:
    """Return all files, with inode and time of the last write."""
    found = [path for path in folder.rglob("*") if path.is_file() and path.name != LOCK]
    return {p.relative_to(folder).as_posix(): (p.stat().st_ino, p.stat().st_mtime_ns) for p in found}


@pytest.mark.parametrize("place", [".", "..", "link"])
def test_a_folder_that_holds_the_database_is_refused(filled: Ledger, tmp_path: Path, place: str) -> None:
    """Published with the pages, it would show hidden players and all messages."""
    (tmp_path / "link").symlink_to(filled.path.parent)
    before = sorted(filled.path.parent.iterdir())
    target = tmp_path / "link" if place == "link" else filled.path.parent / place
    with pytest.raises(ExportError, match="private"):
        run(filled, target)
    assert sorted(filled.path.parent.iterdir()) == before


def test_second_export_renders_and_writes_nothing(
    filled: Ledger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(filled, folder)
    before = files(folder)
    assert first.written == len(before) - 1  # the manifest is not a page
    paths = rendered(monkeypatch)
    assert run(filled, folder) == Exported(0, first.written, 0)
    assert (files(folder), paths) == (before, [])


def test_export_removes_only_its_own_files(filled: Ledger, folder: Path) -> None:
    folder.mkdir()
    theirs = [folder / "CNAME", folder / "leaderboards" / "orb" / "notes.txt"]
    theirs[1].parent.mkdir(parents=True)
    for path in theirs:
        path.write_text("mine", encoding="utf-8")
    run(filled, folder)
    (board,) = filled.leaderboards.all()
    filled.leaderboards.remove(board)
    assert run(filled, folder).removed > 0
    assert "leaderboards/orb/any-orb.html" not in files(folder)
    assert all(path.read_text(encoding="utf-8") == "mine" for path in theirs)
    assert not (folder / "players").exists()  # empty folders are removed


def test_manifest_cannot_name_files_elsewhere(filled: Ledger, folder: Path) -> None:
    folder.mkdir()
    outside = folder.parent / "outside.txt"
    outside.write_text("mine", encoding="utf-8")
    (folder / MANIFEST).write_text(f"../outside.txt\n{outside}\n\n", encoding="utf-8")
    run(filled, folder)
    assert outside.exists()


def test_unwritable_folder_is_an_export_error(filled: Ledger, folder: Path) -> None:
    folder.write_text("a file", encoding="utf-8")
    with pytest.raises(ExportError, match="public"):
        run(filled, folder)


def test_web_server_of_another_user_can_read_pages(filled: Ledger, folder: Path) -> None:
    before = os.umask(0o077)  # as under systemd
    try:
        run(filled, folder)
    finally:
        os.umask(before)
    modes = {(path.is_dir(), path.stat().st_mode & 0o777) for path in [folder, *folder.rglob("*")]}
    assert modes == {(True, 0o755), (False, 0o644)}


def contents(folder: Path) -> dict[str, bytes]:
    found = [path for path in folder.rglob("*") if path.is_file() and path.name not in {LOCK, MANIFEST}]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_the_name_and_id_of_a_hidden_player_are_in_no_file(ledger: Ledger, folder: Path) -> None:
    settler = Settler(ledger, Plans(SIMPLE))
    alone = result("e", "zaphira", after=310)  # changes no rating
    settler.add_past_races((*RACES, result("d", "zaphira ann", after=300), alone), "import")
    run(ledger, folder)
    races = [folder / "races/orb/d.html", folder / "races/orb/e.html"]
    assert all(b"Zaphira" in race.read_bytes() for race in races)
    (player,) = ledger.players.called("Zaphira")
    orders.hide(settler, player, "asked", NOON)
    run(ledger, folder)
    for path, content in contents(folder).items():
        assert b"aphira" not in content and "aphira" not in path, path
    orders.unhide(settler, player, "", NOON)
    run(ledger, folder)
    assert all(b"Zaphira" in race.read_bytes() for race in races)


def test_a_new_leaderboard_is_linked_where_players_are_compared(filled: Ledger, folder: Path) -> None:
    run(filled, folder)
    Settler(filled, Plans(SIMPLE)).add_past_races(
        [result("z", "ann bo", after=500, goal="All Orbs")], "import"
    )
    run(filled, folder)
    assert "All Orbs" in (folder / "compare.html").read_text(encoding="utf-8")


def rendered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the paths that are rendered from now on."""
    paths = []
    render = Pages.document

    def noted(self: Pages, path: str, query: Mapping[str, str]) -> Content:
        paths.append(path)
        return render(self, path, query)

    monkeypatch.setattr(Pages, "document", noted)
    return paths


def test_after_a_race_only_pages_that_depend_on_it_are_rendered(
    filled: Ledger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(filled, folder)
    Settler(filled, Plans(SIMPLE)).add_past_races([result("d", "ann hal", after=250)], "import")
    paths = rendered(monkeypatch)
    run(filled, folder)
    board = "leaderboards/orb/any-orb"
    players = {f"players/{player}{rest}" for player in ("id-ann", "id-hal") for rest in ("", "/orb/any-orb")}
    assert {path for path in paths if path.endswith(".html")} == {
        "index.html",
        "races/orb/d.html",
        "embed/orb/any-orb.html",
        *(f"{board}{rest}.html" for rest in ("", "/races", "/explained", "/fame")),
        *(f"{path}.html" for path in players),
    }
    assert {path for path in paths if path.endswith(".json")} == {
        "api/leaderboards.json",
        "api/races/orb/d.json",
        *(f"api/{board}{rest}.json" for rest in ("", "/races", "/players/id-ann", "/players/id-hal")),
        *(f"api/players/{player}.json" for player in ("id-ann", "id-hal")),
    }


def test_badges_feeds_and_cards_of_a_race_are_rendered_with_it(
    filled: Ledger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publication = Publication(export_cards=True)
    export(filled, publication, folder)
    Settler(filled, Plans(SIMPLE)).add_past_races([result("d", "ann hal", after=250)], "import")
    paths = rendered(monkeypatch)
    export(filled, publication, folder)
    assert {path for path in paths if path.endswith((".svg", ".xml", ".png"))} == {
        "cards/index.png",
        "cards/leaderboards/orb/any-orb.png",
        "cards/races/orb/d.png",
        *(f"cards/players/{player}/orb/any-orb.png" for player in ("id-ann", "id-hal")),
        *(f"badges/{player}/orb/any-orb.svg" for player in ("id-ann", "id-hal")),
        *(f"players/{player}/orb/any-orb/feed.xml" for player in ("id-ann", "id-hal")),
        "leaderboards/orb/any-orb/feed.xml",
    }


def test_export_has_cards_of_players_and_races_only_on_request(filled: Ledger, folder: Path) -> None:
    run(filled, folder)
    cards = {path.relative_to(folder).as_posix() for path in folder.glob("cards/**/*.png")}
    assert cards == {"cards/index.png", "cards/leaderboards/orb/any-orb.png"}


def test_updated_export_equals_a_new_one_except_for_dated_places(
    filled: Ledger, folder: Path, tmp_path: Path
) -> None:
    run(filled, folder)
    Settler(filled, Plans(SIMPLE)).add_past_races([result("d", "ann hal", after=250)], "import")
    run(filled, folder)
    updated = contents(folder)
    run(filled, tmp_path / "new")
    new = contents(tmp_path / "new")
    assert updated.keys() == new.keys()
    others = {"id-bo", "id-cy", "id-di", "id-ed"}
    different = {path for path in new if updated[path] != new[path]}
    assert all("players/" in path and any(player in path for player in others) for path in different)
    export(filled, Publication(), folder, everything=True)
    assert contents(folder) == new


def test_a_race_that_is_added_before_others_renumbers_them(filled: Ledger, folder: Path) -> None:
    run(filled, folder)
    Settler(filled, Plans(SIMPLE)).add_past_races([result("past", "fay gus", after=-24)], "import")
    run(filled, folder)
    (numbered,) = json.loads((folder / "api/races/orb/b.json").read_bytes())["leaderboards"]
    (played,) = json.loads((folder / f"{PLAYERS}/id-cy.json").read_bytes())["history"]
    assert (numbered["sequence"], played["sequence"]) == (3, 3)


def test_changed_result_renders_its_race_and_racers_again(
    filled: Ledger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(filled, folder)
    Settler(filled, Plans(SIMPLE)).add_past_races([result("c", "bo ann", after=240)], "import")
    paths = rendered(monkeypatch)
    run(filled, folder)
    assert {"races/orb/c.html", "players/id-ann.html", "players/id-bo/orb/any-orb.html"} <= set(paths)
    assert "players/id-cy.html" not in paths and "races/orb/a.html" not in paths
    assert b"id-bo,Bo,1" in (folder / "api/leaderboards/orb/any-orb/changes.csv").read_bytes()


def test_new_name_renders_every_page_that_shows_it(
    filled: Ledger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(filled, folder)
    race = result("e", "ann zoe", after=300)
    renamed = tuple(replace(e, name="Annabel") if e.name == "Ann" else e for e in race.entrants)
    Settler(filled, Plans(SIMPLE)).add_past_races([replace(race, entrants=renamed)], "import")
    paths = rendered(monkeypatch)
    run(filled, folder)
    assert {"players/id-bo/orb/any-orb.html", "races/orb/a.html"} <= set(paths)
    assert "players/id-cy/orb/any-orb.html" not in paths
    assert b"Annabel" in (folder / "players/id-bo/orb/any-orb.html").read_bytes()


def test_new_settings_render_everything_again(filled: Ledger, folder: Path) -> None:
    run(filled, folder)
    export(filled, Publication(provisional_races=0), folder)
    assert b"provisional" not in (folder / "players/id-ann/orb/any-orb.html").read_bytes()


def test_changed_program_renders_everything_again(
    filled: Ledger, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("installed", "upgraded"):
        copytree(Path(racebot.__file__).parent, tmp_path / name, ignore=ignore_patterns("__pycache__"))
    formatter = tmp_path / "upgraded" / "text" / "format.py"
    formatter.write_text(formatter.read_text() + "# changed\n")
    monkeypatch.setattr(manifest, "PROGRAM", tmp_path / "installed")
    run(filled, folder)
    monkeypatch.setattr(manifest, "PROGRAM", tmp_path / "upgraded")
    paths = rendered(monkeypatch)
    run(filled, folder)
    assert set(paths) == set(contents(folder))


def test_interrupted_export_is_finished_by_the_next(
    filled: Ledger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(filled, folder)
    whole = contents(folder)
    Settler(filled, Plans(SIMPLE)).add_past_races([result("d", "ann hal", after=250)], "import")
    render = Pages.document

    def broken(self: Pages, path: str, query: Mapping[str, str]) -> Content:
        if path == "races/orb/d.html":
            raise KeyboardInterrupt
        return render(self, path, query)

    with monkeypatch.context() as patch:
        patch.setattr(Pages, "document", broken)
        with pytest.raises(KeyboardInterrupt):
            run(filled, folder)
    run(filled, folder)
    assert contents(folder).keys() - whole.keys() >= {"races/orb/d.html", "players/id-hal.html"}


def test_manifest_of_an_older_version_is_understood(filled: Ledger, folder: Path) -> None:
    run(filled, folder)
    whole = contents(folder)
    (folder / "races" / "orb" / "gone.html").write_text("old", encoding="utf-8")
    manifest = "".join(f"{path}\n" for path in [*whole, "races/orb/gone.html"])
    (folder / MANIFEST).write_text(manifest, encoding="utf-8")
    assert run(filled, folder) == Exported(0, len(whole), 1)
    assert contents(folder) == whole


def test_several_processes_write_the_same_files(
    filled: Ledger, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publication = Publication(commands=CommandNames("?", {Command.ODDS: "chances"}))  # as the CLI makes it
    export(filled, publication, folder)
    monkeypatch.setattr(export_module, "FEW", 0)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    done = export(filled, publication, tmp_path / "other")
    assert done.written == len(contents(folder))
    assert contents(tmp_path / "other") == contents(folder)


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in {"href", "src", "action"}]


def test_files_rendered_together_show_the_same_state(filled: Ledger, folder: Path) -> None:
    player = "players/id-ann/orb/any-orb"

    def paths() -> Iterator[str]:
        yield f"{player}.html"
        settler = Settler(filled, Plans(SIMPLE))
        settler.add_past_races([replace(result("new", "ann bo"), goal="New Orb")], "import")
        settler.withdraw("orb/c")
        yield f"{player}/feed.xml"

    folder.mkdir()
    render_files(filled.path, Publication(), folder, frozenset(), paths())
    assert (folder / f"{player}/feed.xml").read_bytes().count(b"<entry>") == 2


def test_pictures_fetched_during_an_export_are_on_none_of_its_pages(
    filled: Ledger, folder: Path, tmp_path: Path
) -> None:
    avatar = "/media/ann.png"
    ann = replace(entrant("ann", time=1), profile=Profile(avatar))
    Settler(filled, Plans(SIMPLE)).add_past_races(
        [result("d", entrants=(ann, entrant("bo", time=2)))], "import"
    )
    pictures = Pictures(tmp_path / "pictures")
    pictures.store(avatar, b"a picture")
    page = "players/id-ann/orb/any-orb.html"
    for known, shown in ((frozenset[str](), False), (pictures.names(), True)):
        render_files(filled.path, Publication(pictures=tmp_path / "pictures"), folder, known, [page])
        assert (f"avatars/{name_of(avatar)}.webp" in (folder / page).read_text(encoding="utf-8")) == shown


@pytest.mark.parametrize("url", ["", "https://ratings.example.org/orb"])
def test_page_for_missing_files_links_from_the_root(filled: Ledger, folder: Path, url: str) -> None:
    export(filled, Publication(url=url), folder)
    links = Links()
    links.feed((folder / "404.html").read_text(encoding="utf-8"))
    found = [text.partition("?")[0] for text in links.found if text.startswith(("/", "http"))]
    assert f"{url}/index.html" in found and f"{url}/assets/style.css" in found
    assert all(text.startswith(f"{url}/") for text in found)


def test_every_link_leads_to_a_file_of_the_export(filled: Ledger, folder: Path) -> None:
    run(filled, folder)
    pages = list(folder.rglob("*.html"))
    assert len(pages) > 1
    pages.remove(folder / "404.html")
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


def test_only_leaderboard_pages_whose_rows_changed_are_rendered(
    ledger: Ledger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"p{number:03d}" for number in range(300)]
    races = [result(f"r{n}", " ".join(names[n : n + 10])) for n in range(0, 300, 10)]
    weeks_later = result("later", "p290 p299", after=1000)
    Settler(ledger, Plans(SIMPLE)).add_past_races([*races, weeks_later], "import")
    run(ledger, folder)
    Settler(ledger, Plans(SIMPLE)).add_past_races([result("last", "p290 p299", after=1001)], "import")
    paths = rendered(monkeypatch)
    run(ledger, folder)
    board = "leaderboards/orb/any-orb"
    assert f"{board}.html" in paths
    assert f"{board}/page-2.html" not in paths, "all of its players are above those who raced, or below"
    whole = folder.parent / "whole"
    run(ledger, whole)
    for number in (2, 3, 4):
        page = f"{board}/page-{number}.html"
        assert (folder / page).read_bytes() == (whole / page).read_bytes()


def test_corrected_results_are_rendered_where_neither_points_nor_places_change(
    ledger: Ledger, folder: Path
) -> None:
    flat = replace(SIMPLE, parameters={**SIMPLE.parameters, "rates": [1e-300]})
    names = [f"p{number:03d}" for number in range(90)]
    Settler(ledger, Plans(flat)).add_past_races([result("a", " ".join(names))], "import")
    run(ledger, folder)
    page = folder / "leaderboards/orb/any-orb/page-2.html"
    assert b"Last results: 90" in page.read_bytes()
    corrected = [*names[:-2], *names[:-3:-1]]
    Settler(ledger, Plans(flat)).add_past_races([result("a", " ".join(corrected))], "import")
    run(ledger, folder)
    run(ledger, folder.parent / "whole")
    whole = folder.parent / "whole/leaderboards/orb/any-orb/page-2.html"
    assert page.read_bytes() == whole.read_bytes()
