import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from shutil import copy, copytree, ignore_patterns
from urllib.parse import unquote, urlsplit

import pytest
from builders import GOAL, NOON, entrant, result

import racebot
from racebot.errors import RacebotError
from racebot.ledger.outbox import CaseRow
from racebot.ledger.store import Ledger
from racebot.queries.standings import Listing
from racebot.races.result import RaceResult
from racebot.races.rooms import RoomRule
from racebot.standings import orders
from racebot.standings.counting import RatingRules
from racebot.standings.events import EventSteps
from racebot.standings.settle import Settler
from racebot.web.export import LOCK, MANIFEST, Exported, export
from racebot.web.routes import Pages
from racebot.web.site.ledger_view import Content, Publication

from .conftest import RACES, SIMPLE, Seen, rate

BOARD = "leaderboards/orb/any-orb"
PLAYERS = f"api/{BOARD}/players"
RENAMED = result(
    "e", entrants=(replace(entrant("ann", time=1), name="Annabel"), entrant("zoe", "dnf")), after=300
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "public"


@pytest.fixture(scope="module")
def first_export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a ledger and its first export, for copies."""
    made = tmp_path_factory.mktemp("export")
    with Ledger.open(made / "ledger.db") as ledger:
        rate(ledger, *RACES)
        run(ledger, made / "public")
    return made


@pytest.fixture
def ledger(first_export: Path, tmp_path: Path) -> Iterator[Ledger]:
    copy(first_export / "ledger.db", tmp_path)
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        yield ledger


@pytest.fixture
def exported(first_export: Path, ledger: Ledger, folder: Path) -> Ledger:
    """The ledger of an export."""
    copytree(first_export / "public", folder)
    return ledger


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch, exported: Ledger) -> list[str]:
    """The paths that have been rendered since the first export."""
    paths = []
    render = Pages.document

    def noted(self: Pages, path: str, query: Mapping[str, str]) -> Content:
        paths.append(path)
        return render(self, path, query)

    monkeypatch.setattr(Pages, "document", noted)
    return paths


def run(ledger: Ledger, folder: Path) -> Exported:
    return export(ledger, Publication(), folder)


def contents(folder: Path) -> dict[str, bytes]:
    found = [path for path in folder.rglob("*") if path.is_file() and path.name not in {LOCK, MANIFEST}]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


@pytest.mark.parametrize("place", [".", "..", "link"])
def test_a_folder_that_holds_the_database_is_refused(ledger: Ledger, tmp_path: Path, place: str) -> None:
    """Published with the pages, it would show hidden players and all messages."""
    (tmp_path / "link").symlink_to(ledger.path.parent)
    before = sorted(ledger.path.parent.iterdir())
    target = tmp_path / "link" if place == "link" else ledger.path.parent / place
    with pytest.raises(RacebotError, match="private"):
        run(ledger, target)
    assert sorted(ledger.path.parent.iterdir()) == before


def test_second_export_renders_and_writes_nothing(
    exported: Ledger, folder: Path, rendered: list[str]
) -> None:
    def written() -> dict[Path, tuple[int, int]]:
        found = [path for path in folder.rglob("*") if path.is_file() and path.name != LOCK]
        return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}

    before = written()
    assert run(exported, folder) == Exported(0, len(contents(folder)), 0)
    assert (written(), rendered) == (before, [])


def test_export_removes_only_its_own_files(ledger: Ledger, folder: Path) -> None:
    theirs = [folder / "CNAME", folder / "leaderboards" / "orb" / "notes.txt"]
    theirs[1].parent.mkdir(parents=True)
    outside = folder.parent / "outside.txt"
    for path in (*theirs, outside):
        path.write_text("mine", encoding="utf-8")
    (folder / MANIFEST).write_text(f"../outside.txt\n{outside}\n\n", encoding="utf-8")
    run(ledger, folder)
    (board,) = ledger.leaderboards.all()
    ledger.leaderboards.remove(board)
    assert run(ledger, folder).removed > 0
    assert not (folder / f"{BOARD}.html").exists()
    assert all(path.read_text(encoding="utf-8") == "mine" for path in (*theirs, outside))
    assert not (folder / "players").exists()  # empty folders are removed


def test_unwritable_folder_is_an_export_error(ledger: Ledger, folder: Path) -> None:
    folder.write_text("a file", encoding="utf-8")
    with pytest.raises(RacebotError, match="public"):
        run(ledger, folder)


def test_web_server_of_another_user_can_read_pages(ledger: Ledger, folder: Path) -> None:
    before = os.umask(0o077)  # as under systemd
    try:
        run(ledger, folder)
    finally:
        os.umask(before)
    modes = {(path.is_dir(), path.stat().st_mode & 0o777) for path in [folder, *folder.rglob("*")]}
    assert modes == {(True, 0o755), (False, 0o644)}


def test_the_name_and_id_of_a_hidden_player_are_in_no_file(ledger: Ledger, folder: Path) -> None:
    alone = result("e", "zaphira", after=310)  # changes no rating
    rate(ledger, result("d", "zaphira ann", after=300), alone)
    run(ledger, folder)
    races = [folder / "races/orb/d.html", folder / "races/orb/e.html"]
    assert all(b"Zaphira" in race.read_bytes() for race in races)
    (player,) = ledger.players.called("Zaphira")
    settler = rate(ledger)
    orders.hide(settler, player, "asked", NOON)
    run(ledger, folder)
    for path, content in contents(folder).items():
        assert b"aphira" not in content and "aphira" not in path, path
    orders.unhide(settler, player, "", NOON)
    run(ledger, folder)
    assert all(b"Zaphira" in race.read_bytes() for race in races)


def test_the_name_of_an_annulled_player_goes_from_the_page_of_the_event(ledger: Ledger, folder: Path) -> None:
    settler = rate(ledger, result("d", "zaphira ann bo", after=300))
    steps, (board,) = EventSteps(settler, NOON + timedelta(hours=400)), ledger.leaderboards.all()
    cup = steps.create("Cup", board, NOON + timedelta(hours=350))
    steps.add_room(cup, "orb/q", result("q", "zaphira ann bo", after=310))
    (player,) = ledger.players.called("Zaphira")
    steps.annul(cup, player, "no video")
    steps.close(cup)
    run(ledger, folder)
    page = folder / "races/orb/event-cup.html"
    assert b"Zaphira" in page.read_bytes()
    orders.hide(settler, player, "asked", NOON)
    run(ledger, folder)
    assert b"Zaphira" not in page.read_bytes()


def test_a_race_that_waits_to_count_renders_no_page_of_races_or_players(
    tmp_path: Path, rendered: list[str]
) -> None:
    rules = replace(SIMPLE, name="A", goals=(GOAL,), rule=RoomRule(finished=True, grace=timedelta(hours=1)))
    with Ledger.open(tmp_path / "waiting.db") as ledger:
        Settler(ledger, RatingRules(SIMPLE, (rules,))).add_past_races(RACES, "import")
        run(ledger, tmp_path / "waiting")
        rendered.clear()
        ledger.cases.save(CaseRow("orb/x", "orb", NOON, NOON, standing="f", stands_since=NOON))
        run(ledger, tmp_path / "waiting")
    assert "leaderboards/orb/a.html" in rendered
    assert not any(path.startswith(("races/", "players/")) for path in rendered)


def test_after_a_race_only_files_that_depend_on_it_are_rendered(
    ledger: Ledger, folder: Path, rendered: list[str]
) -> None:
    publication = Publication(export_cards=True)
    export(ledger, publication, folder)
    rendered.clear()
    rate(ledger, result("d", "ann hal", after=250))
    export(ledger, publication, folder)
    assert set(rendered) == {
        *("activity/orb.html", "api/activity/orb.json"),
        *("events.html", "api/events.json"),
        *("index.html", "api/leaderboards.json", "assets/players.js", "cards/index.png"),
        *(
            f"{path}"
            for n in "cd"
            for path in (f"races/orb/{n}.html", f"api/races/orb/{n}.json", f"cards/races/orb/{n}.png")
        ),
        *(f"cards/{BOARD}.png", f"{BOARD}/feed.xml"),
        *(f"{BOARD}{rest}.html" for rest in ("", "/races", "/explained", "/fame", "/movement", "/seeds")),
        *(f"api/{BOARD}{rest}" for rest in (".json", ".csv", "/races.json")),
        *(f"api/{BOARD}/seeds{ending}" for ending in (".json", ".csv")),
        *(
            path.format(player)
            for player in ("id-ann", "id-hal")
            for path in (
                *("players/{}.html", "players/{}/orb/any-orb.html", "players/{}/orb/any-orb/feed.xml"),
                *("api/players/{}.json", f"{PLAYERS}/{{}}.json"),
                "cards/players/{}/orb/any-orb.png",
            )
        ),
    }


def test_export_has_cards_of_players_and_races_only_on_request(exported: Ledger, folder: Path) -> None:
    cards = {path.relative_to(folder).as_posix() for path in folder.glob("cards/**/*.png")}
    assert cards == {"cards/index.png", f"cards/{BOARD}.png"}


@pytest.mark.parametrize(
    ("race", "dated"),
    [
        (result("d", "ann hal", after=250), "bo cy di ed"),
        (result("c", "bo ann", after=240), "cy di ed"),
        (RENAMED, "cy di ed"),
        (result("past", "fay gus", after=-24), ""),
        (result("z", "ann bo", after=500, goal="All Orbs"), ""),
    ],
    ids=["new race", "changed result", "new name", "race before others", "new leaderboard"],
)
def test_updated_export_equals_a_new_one_except_for_dated_places(
    exported: Ledger, folder: Path, tmp_path: Path, rendered: list[str], race: RaceResult, dated: str
) -> None:
    """The pages of players in `dated` may show their places of before."""
    rate(exported, race)
    run(exported, folder)
    assert ("players/id-cy.html" in rendered) is (not dated)
    updated = contents(folder)
    run(exported, tmp_path / "new")
    new = contents(tmp_path / "new")
    assert updated.keys() == new.keys()
    different = {path for path in new if updated[path] != new[path]}
    assert all(
        "players/" in path and any(f"id-{name}" in path for name in dated.split()) for path in different
    )


def test_new_settings_render_everything_again(exported: Ledger, folder: Path) -> None:
    export(exported, Publication(listing=lambda _: Listing()), folder)
    assert b"provisional" not in (folder / "players/id-ann/orb/any-orb.html").read_bytes()


def test_changed_program_renders_everything_again(
    exported: Ledger, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rendered: list[str]
) -> None:
    changed = tmp_path / "changed"
    copytree(Path(racebot.__file__).parent, changed, ignore=ignore_patterns("__pycache__"))
    monkeypatch.setattr("racebot.web.export_tokens.PROGRAM", changed)
    run(exported, folder)
    assert rendered == []
    formatter = changed / "text" / "format.py"
    formatter.write_text(formatter.read_text() + "# changed\n")
    run(exported, folder)
    assert set(rendered) == set(contents(folder))


def test_interrupted_export_is_finished_by_the_next(exported: Ledger, folder: Path, monkeypatch) -> None:
    whole = contents(folder)
    rate(exported, result("d", "ann hal", after=250))
    render = Pages.document

    def broken(self: Pages, path: str, query: Mapping[str, str]) -> Content:
        if path == "races/orb/d.html":
            raise KeyboardInterrupt
        return render(self, path, query)

    with monkeypatch.context() as patch:
        patch.setattr(Pages, "document", broken)
        with pytest.raises(KeyboardInterrupt):
            run(exported, folder)
    run(exported, folder)
    assert contents(folder).keys() - whole.keys() >= {"races/orb/d.html", "players/id-hal.html"}


def test_files_without_a_token_in_the_manifest_are_rendered_again(exported: Ledger, folder: Path) -> None:
    whole = contents(folder)
    (folder / "races" / "orb" / "gone.html").write_text("old", encoding="utf-8")
    (folder / BOARD).with_suffix(".html").write_text("damaged", encoding="utf-8")
    lines = "".join(f"{path}\n" for path in [*whole, "races/orb/gone.html"])
    (folder / MANIFEST).write_text(lines, encoding="utf-8")
    assert run(exported, folder) == Exported(1, len(whole) - 1, 1)
    assert contents(folder) == whole


def test_a_race_settled_during_an_export_is_on_none_of_its_pages(
    exported: Ledger, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    render, rendered = Pages.document, list[str]()

    def racing(self: Pages, path: str, query: Mapping[str, str]) -> Content:
        rendered.append(path)
        if len(rendered) == 2:
            rate(exported, replace(result("new", "ann bo"), goal="New Orb"))
            rate(exported).withdraw("orb/c")
        return render(self, path, query)

    monkeypatch.setattr(Pages, "document", racing)
    run(exported, tmp_path / "other")
    assert contents(tmp_path / "other") == contents(folder)


def links_of(page: Path) -> list[str]:
    """Return the addresses that a page links."""
    facts = (facts for _, facts in Seen(page.read_text(encoding="utf-8")).elements)
    return [each[name] or "" for each in facts for name in ("href", "src", "action") if name in each]


@pytest.mark.parametrize("url", ["", "https://ratings.example.org/orb"])
def test_page_for_missing_files_links_from_the_root(exported: Ledger, folder: Path, url: str) -> None:
    export(exported, Publication(url=url), folder)
    links = links_of(folder / "404.html")
    found = [text.partition("?")[0] for text in links if text.startswith(("/", "http"))]
    assert f"{url}/index.html" in found and f"{url}/assets/style.css" in found
    assert all(text.startswith(f"{url}/") for text in found)


def test_every_link_leads_to_a_file_of_the_export(exported: Ledger, folder: Path) -> None:
    pages = [page for page in folder.rglob("*.html") if page.name != "404.html"]
    assert len(pages) > 1
    for page in pages:
        for text in links_of(page):
            parts = urlsplit(text)
            if parts.scheme or not parts.path:
                assert parts.scheme in {"", "data", "https"}, text
                continue
            target = (page.parent / unquote(parts.path)).resolve()
            assert target.is_file(), f"{page.relative_to(folder)} links to {text}"
            assert target.is_relative_to(folder)


@pytest.mark.parametrize(
    ("damage", "spoiled"),
    [
        ("UPDATE races SET result = '{' WHERE name = 'orb/a'", "races/orb/a.html"),
        ("UPDATE races SET ended_at = 'x' WHERE name = 'orb/a'", "races/orb/a.html"),
        ("UPDATE changes SET state_before = 'x' WHERE sequence = leaderboard", "races/orb/a.html"),
        ("UPDATE changes SET points_after = 'x' WHERE sequence = leaderboard", "races/orb/a.html"),
        ("UPDATE standings SET state = 'x' WHERE player = 'id-bo'", f"{BOARD}.html"),
        ("UPDATE players SET name = x'ff' WHERE id = 'id-bo'", f"{BOARD}.html"),
        ("UPDATE event_sources SET result = '{'", "events.html"),
    ],
)
@pytest.mark.usefixtures("with_event")
def test_a_damaged_row_is_named_and_all_that_does_not_need_it_is_written(
    exported: Ledger, folder: Path, damage: str, spoiled: str
) -> None:
    run(exported, folder)  # with the event
    before = contents(folder)
    rate(exported, result("z", "di ed", after=300, goal="Other Orb"))
    exported.connection.write(damage)
    done = run(exported, folder)
    what = "events" if spoiled == "events.html" else spoiled
    assert any(each.startswith((f"{what}: ", "the standings of Any Orb: ")) for each in done.failed)
    after = contents(folder)
    assert before.keys() < after.keys() and after[spoiled] == before[spoiled]
    assert {
        "races/orb/z.html",
        "leaderboards/orb/other-orb.html",
        "players/id-di/orb/other-orb.html",
    } < after.keys()
    again = run(exported, folder)  # which tries what failed once more
    assert set(again.failed) == set(done.failed) and contents(folder) == after
