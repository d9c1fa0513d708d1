"""Readers use the pages on a desktop, on a phone, by keyboard, with and without scripts."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from io import BytesIO
from pathlib import Path

import pytest
from builders import NOON, entrant, existing, result
from PIL import Image
from playwright.sync_api import FloatRect, Locator, Page, Request, Route, expect
from worker_support import PATIENCE

from racebot.ledger.pictures import Pictures
from racebot.queries.standings import Listing
from racebot.races.result import Profile
from racebot.scoring.rules import rules_of

from .conftest import BOARD, PLAYER, RACE, Open, Visit, hosted, rated, season, serving, written


def column(page: Page, number: int) -> list[str]:
    """Return the visible cells of a column."""
    inside = " .player" if number == 2 else ""
    cells = page.locator(f"table.board tbody tr:visible > :nth-child({number}){inside}")
    return [text.strip() for text in cells.all_inner_texts()]


def box_of(element: Locator) -> FloatRect:
    return existing(element.bounding_box())


def hold(page: Page, address: str) -> Callable[[], Route]:
    """Hold back requests of a page for an address. Return a function that waits for the first one."""
    held: list[Route] = []
    page.route(address, lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks the function

    def first() -> Route:
        end = time.monotonic() + PATIENCE
        while not held:
            assert time.monotonic() < end
            page.wait_for_timeout(10)
        return held[0]

    return first


def test_typing_a_name_finds_the_player_in_the_list_or_among_suggestions(visit: Visit, served: str) -> None:
    page = visit(f"{served}{BOARD}.html")
    assert len(column(page, 2)) == 30
    page.get_by_label("Find a player").press_sequentially("лес")
    assert column(page, 2) == ["Мира Лесная"]
    page.get_by_label("Find a player").fill("mira")
    assert column(page, 2) == ["Мира Лесная"]
    expect(page.get_by_role("status")).to_have_text("1 player found")
    page.get_by_label("Find a player").fill("")
    assert len(column(page, 2)) == 30
    page.get_by_label("Search players and leaderboards").press_sequentially("orbti")
    expect(page.locator(".find .suggestions a")).to_have_text(["Ann Orbit"])
    page.keyboard.press("ArrowDown")
    option = page.get_by_role("option", name="Ann Orbit", selected=True)
    field = page.get_by_role("combobox", name="Search players and leaderboards", expanded=True)
    assert field.get_attribute("aria-activedescendant") == option.get_attribute("id")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Ann Orbit")


def test_name_fields_suggest_players_and_offer_the_reader_first(visit: Visit, served: str) -> None:
    page = visit(f"{served}{PLAYER}")
    page.get_by_role("button", name="This is me").click()
    page.goto(f"{served}players/id-r04/orb/any-orb.html")
    field = page.get_by_label("Compare with")
    field.focus()
    expect(page.get_by_role("option", name="Ann Orbit")).to_be_visible()
    field.press_sequentially("Racer 12")
    page.get_by_role("option", name="Racer 12").click()
    expect(page.locator(".facing .player").last).to_have_text("Racer 12")


def test_search_of_a_long_leaderboard_asks_the_server_while_typing(visit: Visit, long_database: Path) -> None:
    page = visit()
    with serving(long_database) as address:
        for path in (f"{BOARD}.html", f"{BOARD}/page-2.html"):
            page.goto(f"{address}{path}")
            field = page.get_by_label("Find a player")
            field.press_sequentially("P07")
            expect(page.get_by_role("status")).to_have_text("10 players found")
            expect(field).to_be_focused()
            field.fill("zzz")
            expect(page.get_by_text("No player matches.")).to_be_visible()
            field.fill("hub")
            expect(page.get_by_role("status")).to_have_text("1 player found")
            page.get_by_role("link", name="Hub").click()
            expect(page).to_have_url(f"{address}players/id-hub/orb/any-orb.html")


def test_phones_show_first_place_at_once_and_the_order_on_request(visit: Visit, served: str) -> None:
    page = visit(f"{served}{BOARD}.html", width=390, scripts=False)
    box = box_of(page.locator("table.board tbody tr").first)
    assert box["y"] + box["height"] < 480
    date = page.get_by_label("On a past date")
    expect(date).to_be_hidden()
    page.get_by_text("Sort and date").click()
    page.get_by_role("link", name="Week").click()
    expect(page.locator("th[aria-sort]")).to_have_text("Week")
    page.get_by_text("Sort and date").click()
    date.fill("2026-03-20")
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile("at=2026-03-20"))
    expect(date).to_be_visible()
    expect(page.locator("th[aria-sort]")).to_have_text("Week")


def tab_to(page: Page, control: Locator) -> None:
    """Press the tab key until a control has the focus."""
    for _ in range(50):
        page.keyboard.press("Tab")
        if control.evaluate("control => control === document.activeElement"):
            return
    raise AssertionError(f"{control} is out of reach")


def test_keyboard_skips_the_navigation_and_chooses_a_past_date(visit: Visit, served: str) -> None:
    page = visit(f"{served}{BOARD}.html", width=1280)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    tab_to(page, page.get_by_label("On a past date"))
    page.keyboard.type("03202026")
    tab_to(page, page.get_by_role("button", name="Show"))
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("at=2026-03-20"))
    expect(page.get_by_role("table", name="Players of Any Orb by place on 20 Mar 2026")).to_be_visible()
    assert sum(map(int, column(page, 6))) == 8 * 20, "twenty races of eight"


@pytest.fixture(scope="module")
def long_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with 301 players. `hub` has met all others, ten in each race."""
    names = [f"p{number:03d}" for number in range(300)]
    races = [result(f"r{n}", " ".join(["hub", *names[n : n + 10]]), after=n) for n in range(0, 300, 10)]
    return rated(tmp_path_factory.mktemp("long") / "long.db", races)


@pytest.fixture(scope="module")
def long(long_database: Path) -> Iterator[str]:
    """Return the address of exported pages with 301 players."""
    written(long_database, long_database.parent / "host" / "ratings")
    with hosted(long_database.parent / "host") as address:
        yield f"{address}ratings/"


def test_rows_that_fail_to_load_are_named_and_fetched_again(visit: Visit, long: str) -> None:
    page = visit()
    page.route("**/page-3.html", lambda route: route.fulfill(status=404, body="not found"))
    page.goto(f"{long}{BOARD}.html")
    page.get_by_label("Find a player").fill("p")
    expect(page.get_by_role("status")).to_have_text(re.compile("^79 players found on this page"))
    page.unroute_all()
    held = hold(page, "**/page-3.html")
    page.get_by_role("button", name="Player").click()
    page.locator("tr:visible a.player").first.focus()
    held().continue_()
    expect(page.get_by_role("status")).to_have_text("300 players found")
    names = column(page, 2)
    assert names == sorted(names) and len(names) == 300
    expect(page.locator("a.player:focus")).to_have_count(1)


@pytest.mark.parametrize(
    ("path", "script", "field", "found"),
    [
        (f"{BOARD}.html", "table.js", "Find a player", "1 player found"),
        ("search.html", "players.js", "Player or leaderboard", ""),
    ],
)
def test_names_typed_before_a_script_arrives_are_found(
    visit: Visit, long: str, path: str, script: str, field: str, found: str
) -> None:
    page = visit()
    held = hold(page, f"**/{script}*")
    page.goto(long + path, wait_until="commit")
    page.get_by_label(field).fill("p123")
    held().continue_()
    expect(page.get_by_role("link", name="P123")).to_be_visible()
    expect(page.get_by_role("status")).to_have_text(found)
    assert page.url.endswith("?q=p123")


def test_search_without_its_list_does_not_claim_to_have_searched(visit: Visit, long: str) -> None:
    page = visit()
    page.route("**/players.js*", lambda route: route.fulfill(status=404, body="not found"))
    page.goto(f"{long}search.html?q=p123")
    expect(page.get_by_role("status")).to_have_text("The list of players can't be loaded here.")


def test_an_address_keeps_the_search_and_order_of_an_exported_leaderboard(visit: Visit, long: str) -> None:
    page = visit(f"{long}{BOARD}.html?q=hub&utm_source=mail", width=390)
    expect(page.get_by_label("Find a player")).to_have_value("hub")
    page.get_by_text("Sort", exact=True).click()
    page.get_by_label("Find a player").fill("p29")
    page.get_by_role("button", name="Player").click()
    page.get_by_role("button", name="Player").click()
    names = page.locator("table.board tbody tr:visible .player")
    wanted = [f"P29{last}" for last in range(9, -1, -1)]
    expect(names).to_have_text(wanted)
    page.goto(page.url)
    expect(page.get_by_label("Find a player")).to_have_value("p29")
    expect(page.get_by_role("status")).to_have_text("10 players found")
    expect(names).to_have_text(wanted)
    names.last.click()  # of another page
    expect(page.get_by_role("heading", level=1)).to_have_text("P290")


def test_addresses_choose_the_same_on_a_server_and_in_files(
    visit: Visit, served: str, exported: Path
) -> None:
    page = visit()
    with hosted(exported) as address:
        for path in (f"{BOARD}.html?q=racer&sort=points&order=up", f"{BOARD}.html?q=racer+1&sort=races"):
            page.goto(served + path)
            rows = page.locator("main table tbody tr:visible > :is(.b, :nth-child(3))")
            found, shown = page.get_by_role("status").inner_text(), rows.all_inner_texts()
            assert 0 < len(shown) < 100
            page.goto(address + path)
            expect(page.get_by_role("status")).to_have_text(found)
            expect(rows).to_have_text(shown, use_inner_text=True)


@pytest.mark.parametrize("path", ["players/id-hub/orb/any-orb", "players/id-hub/orb/any-orb/opponents-2"])
def test_headings_sort_all_opponents_of_a_long_list(visit: Visit, long: str, path: str) -> None:
    page = visit(f"{long}{path}.html", width=390)
    page.get_by_role("button", name="Chance").click()
    cells = page.locator("table.opponents tbody td.e")
    expect(cells).to_have_count(300)
    chances = [int(text.partition("%")[0].lstrip("<>")) for text in cells.all_inner_texts()]
    assert chances == sorted(chances, reverse=True)
    name = page.locator("table.opponents tbody a.player").last.inner_text()
    page.locator("table.opponents a.button").last.click()
    expect(page.get_by_role("slider", name=f"Ratings of Hub and {name}")).to_be_visible()


def test_files_work_from_a_folder(visit: Visit, exported: Path) -> None:
    page = visit((exported / "index.html").as_uri())
    page.get_by_role("link", name="Any Orb").click()
    page.get_by_label("Find a player").fill("Ann")
    page.get_by_role("link", name="Ann Orbit").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Ann Orbit")
    page.get_by_role("link", name="race-59").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("race-59")
    page.get_by_role("link", name="Any Orb", exact=True).click()
    page.get_by_role("link", name="How it works").click()
    expect(page.get_by_text("Every player starts at 1000 points")).to_be_visible()


def test_without_scripts_a_player_has_a_graph_and_a_table_of_the_same_data(visit: Visit, served: str) -> None:
    page = visit(f"{served}{PLAYER}", scripts=False)
    graph = page.get_by_role("img", name="Rating of Ann Orbit from 1 Mar 2026 to 29 Apr 2026")
    box = box_of(graph)
    assert box["width"] > 600
    now = page.locator(".rating b").inner_text()
    page.get_by_text("As a table").click()
    months = page.locator("details tbody tr")
    expect(months).to_have_count(2)
    assert months.first.locator("td").last.inner_text() == now


def test_graph_is_read_by_arrow_keys_and_the_mouse(visit: Visit, served: str) -> None:
    page = visit(f"{served}{PLAYER}")
    graph = page.get_by_role("slider", name="Rating of Ann Orbit")
    assert graph.locator("path.line").evaluate("line => line.getTotalLength()") > 500
    back = "new KeyboardEvent('keydown', {key: 'ArrowLeft', altKey: true, cancelable: true})"
    assert graph.evaluate(f"graph => graph.dispatchEvent({back})"), "the browser goes back"
    graph.focus()
    page.keyboard.press("Home")
    expect(graph).to_have_attribute("aria-valuetext", re.compile("^1 Mar 2026, race-0, "))
    page.keyboard.press("ArrowRight")
    expect(graph).to_have_attribute("aria-valuetext", re.compile("^2 Mar 2026, race-1, "))
    expect(page.locator("figure + .tip").get_by_role("link")).to_have_text("race-1")
    box = box_of(graph)
    page.mouse.move(box["x"] + box["width"] - 20, box["y"] + 80)
    expect(graph).to_have_attribute("aria-valuetext", re.compile("^29 Apr 2026, race-59, "))


def test_graph_shows_ranges_by_date_or_by_race_and_zooms(visit: Visit, served: str) -> None:
    page = visit(f"{served}{PLAYER}")
    graph = page.get_by_role("slider", name="Rating of Ann Orbit")
    assert graph.get_attribute("aria-valuemax") == "60"
    page.get_by_role("button", name="Last 20").click()
    assert graph.get_attribute("aria-valuemax") == "20"
    page.get_by_role("button", name="By race").click()
    assert graph.get_attribute("aria-valuemax") == "20"
    expect(page.get_by_role("button", name="By race")).to_have_attribute("aria-pressed", "true")
    assert str(graph.get_attribute("aria-valuetext")).startswith("race 60, 29 Apr 2026, ")
    page.get_by_role("button", name="Zoom in").click()
    assert int(str(graph.get_attribute("aria-valuemax"))) < 20
    everything = page.get_by_role("button", name="All", exact=True)
    for _ in range(8):
        page.get_by_role("button", name="Zoom out").click()
    assert graph.get_attribute("aria-valuemax") == "60"
    assert everything.get_attribute("aria-pressed") == "true"
    box = box_of(graph)
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60)
    page.mouse.up()
    expect(graph).not_to_have_attribute("aria-valuemax", "60")
    assert int(str(graph.get_attribute("aria-valuemax"))) < 20


def test_exported_comparison_shows_what_the_server_shows(visit: Visit, served: str, exported: Path) -> None:
    page = visit(width=390)
    parts = (".over", ".facing", ".facing .face", "section p", ".keys", "table tbody")
    page.goto(f"{served}players/id-r00/orb/any-orb.html?vs=id-r04")
    shown = [page.locator(part).first.inner_text() for part in parts]
    with hosted(exported) as address:
        page.goto(f"{address}players/id-r00/orb/any-orb.html?vs=id-r04")
        expect(page.get_by_role("slider", name="Ratings of Ann Orbit and")).to_be_visible()
        assert [page.locator(part).first.inner_text() for part in parts] == shown


def test_comparisons_show_a_tie_without_times_once_and_no_favorite(visit: Visit, tmp_path: Path) -> None:
    entrants = tuple(entrant(name, place=place) for name, place in (("ann", 1), ("bo", 1), ("cy", 3)))
    database = rated(tmp_path / "ledger.db", [result("untimed", entrants=entrants)])
    page = visit()
    with serving(database) as served, hosted(written(database, tmp_path / "pages")) as exported:
        said = set()
        for root in (served, exported):
            page.goto(f"{root}players/id-ann/orb/any-orb.html?vs=id-bo")
            expect(page.locator("table tbody td").first).to_have_text("1st")
            said.add(page.locator(".both p").inner_text())
        assert len(said) == 1
        assert "%" not in said.pop()


@pytest.mark.parametrize("path", ["players/id-hub/orb/any-orb", "players/id-hub/orb/any-orb/opponents-2"])
def test_without_scripts_an_exported_comparison_marks_the_opponent(
    visit: Visit, long: str, path: str
) -> None:
    page = visit(f"{long}{path}.html", scripts=False)
    row = page.locator("table.opponents tbody tr").nth(7)
    name = row.locator(".player").inner_text()
    row.get_by_title("Compare").click()
    expect(page.locator("tr:target .player")).to_have_text(name)
    expect(page.locator("tr:target .player")).to_be_in_viewport()
    expect(page.get_by_role("heading", level=1)).to_have_text("Hub")
    comparison = page.url
    page = visit(comparison)
    expect(page.get_by_role("slider", name=f"Ratings of Hub and {name}")).to_be_visible()
    assert page.url == comparison, "readers with scripts share an address that works without them"


def test_comparisons_in_a_folder_mark_the_opponent_and_link_the_page(visit: Visit, exported: Path) -> None:
    page = visit(f"{(exported / PLAYER).as_uri()}?vs=id-r04#vs-id-r04")
    expect(page.locator("tr:target .player")).to_be_in_viewport()
    page.get_by_role("link", name="the other player").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("W" * 60)


def test_exported_comparison_of_unknown_players_leads_on(visit: Visit, exported: Path) -> None:
    with hosted(exported) as address:
        page = visit(f"{address}players/id-r00/orb/any-orb.html?vs=nobody")
        expect(page.get_by_text("The comparison can't be loaded here.")).to_be_visible()
        assert page.get_by_role("link", name="the other player").count() == 0
        expect(page.get_by_role("heading", level=1)).to_have_text("Ann Orbit")


def test_touch_reads_the_graph_and_leaves_scrolling_alone(opened: Open, served: str) -> None:
    page = opened(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    page.goto(f"{served}{PLAYER}")
    graph = page.get_by_role("slider", name="Rating of Ann Orbit")
    graph.scroll_into_view_if_needed()
    box = box_of(graph)
    middle = box["y"] + box["height"] / 2
    page.touchscreen.tap(box["x"] + box["width"] - 6, middle)
    expect(graph).to_have_attribute("aria-valuetext", re.compile("^29 Apr 2026, race-59, "))
    touch = page.context.new_cdp_session(page)
    steps = [("touchStart", 0.9), ("touchMove", 0.6), ("touchMove", 0.3)]
    for kind, share in steps:
        at = {"x": box["x"] + share * box["width"], "y": middle}
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [at]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(graph, "a finger that moves sideways reads the graph").to_have_attribute(
        "aria-valuetext", re.compile("Mar 2026")
    )
    expect(page.locator("figure + .tip")).to_contain_text("Mar 2026")
    assert graph.get_attribute("aria-valuemax") == "60", "only a mouse zooms by dragging"
    assert graph.evaluate("graph => getComputedStyle(graph).touchAction") == "pan-y"


def test_seasons_are_switched_by_keyboard_on_the_same_tab(visit: Visit, tmp_path: Path) -> None:
    seasons = [result(goal, "ann bo", goal=goal) for goal in ("Season 1", "Season 2")]
    with hosted(written(rated(tmp_path / "seasons.db", seasons), tmp_path / "public")) as address:
        page = visit(f"{address}leaderboards/orb/season-1/races.html")
        switch = page.get_by_text("2 leaderboards")
        other = page.get_by_role("link", name="Season 2")
        switch.focus()
        page.keyboard.press("Enter")
        expect(other).to_be_visible()
        page.keyboard.press("Tab")
        page.keyboard.press("Escape")
        expect(other).to_be_hidden()
        expect(switch).to_be_focused()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Season 2")
        expect(page.locator(".tabs [aria-current]")).to_have_text("Races")


def test_switch_of_many_leaderboards_opens_with_a_filter(visit: Visit, tmp_path: Path) -> None:
    races = [result(f"r{n}", "ann bo", goal=f"Søren's cup {n}") for n in range(13)]
    with serving(rated(tmp_path / "cups.db", races)) as address:
        page = visit(f"{address}leaderboards/orb/sren-s-cup-1/races.html")
        page.get_by_text("13 leaderboards").click()
        shown = page.locator(".switch li:visible a")
        expect(shown).to_have_count(13)
        page.keyboard.type("soren's cup 1")
        expect(shown).to_have_text([f"Søren's cup {n}" for n in (10, 11, 12, 1)])
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("sren-s-cup-10/races"))


def test_search_forgives_accents_and_typos(visit: Visit, served: str, exported: Path) -> None:
    page = visit()
    with hosted(exported) as address:
        for root in (served, address):
            for wanted, found in (
                ("ann orbt", "Ann Orbit"),
                ("мира", "Мира Лесная"),
                ("mira les", "Мира Лесная"),
                ("any", "Any Orb"),
            ):
                page.goto(f"{root}search.html?q={wanted}")
                expect(page.locator("#results a").first).to_have_text(found)
        for root in (served, address):
            page.goto(f"{root}search.html?q=ann orbit")
            expect(page.locator("#results .face")).to_have_text("AO")
            expect(page.locator("#results li b")).to_have_text(re.compile(r"^\d{3,4} Any Orb$"))
            page.locator("#results a").first.click()
            expect(page.locator(".rating")).to_be_visible()


@pytest.mark.parametrize("path", [RACE, f"{BOARD}/movement.html"])
def test_arrow_keys_step_through_each_drawing_and_say_what_it_shows(
    visit: Visit, served: str, path: str
) -> None:
    page = visit(f"{served}{path}")
    drawing = page.locator("svg.graph:not(.live)")
    titles = drawing.locator("title").all_text_contents()
    drawing.focus()
    for key, expected in (("ArrowRight", titles[0]), ("ArrowDown", titles[1]), ("End", titles[-1])):
        page.keyboard.press(key)
        expect(drawing).to_have_attribute("aria-valuetext", expected)
    expect(page.locator(".tip").filter(has_text=titles[-1])).to_be_visible()


def test_phones_show_racers_of_a_race_on_few_lines_with_more_reasons_on_touch(
    visit: Visit, served: str
) -> None:
    page = visit(f"{served}{RACE}", width=390, scripts=False)
    rows = page.locator("table.race > tbody > tr")
    why = page.locator("table.race td.why").first
    line = why.evaluate("why => parseFloat(getComputedStyle(why).lineHeight)")
    for row in rows.all():
        cells = [box_of(cell) for cell in row.locator("> *:not(:empty):visible").all()]
        assert len(cells) >= 7, "all cells are shown"
        assert max(b["y"] + b["height"] for b in cells) - min(b["y"] for b in cells) < 5 * line
    opponent = rows.first.get_by_text("beat ").first
    expect(opponent).to_be_hidden()
    rows.first.click(position={"x": 120, "y": 55})
    expect(opponent).to_be_visible()
    page.keyboard.press("Enter")
    expect(opponent).to_be_hidden()
    page.keyboard.press("Enter")
    expect(opponent).to_be_visible()
    points, reasons = (box_of(rows.first.locator(part)) for part in (".points", ".why"))
    assert points["y"] + points["height"] <= reasons["y"], "no text is over other text"
    before, after, _ = rows.first.locator(".points").inner_text().replace("→", "").split()
    assert int(before) < int(after)
    expect(page.get_by_role("heading", level=1)).to_have_text("race-59")


def test_times_are_told_from_now_or_in_the_zone_of_the_reader(opened: Open, served: str) -> None:
    page = opened(timezone_id="America/New_York")
    now = NOON + timedelta(days=59, minutes=3, seconds=5)
    page.clock.install(time=now - timedelta(hours=1))
    page.goto(f"{served}{BOARD}.html")
    page.clock.pause_at(now)
    expect(page.locator(".hero time")).to_have_text("3 minutes ago")
    page.clock.fast_forward("02:00")
    expect(page.locator(".hero time")).to_have_text("5 minutes ago")
    for path in (RACE, f"{BOARD}/races.html"):
        page.goto(f"{served}{path}")
        expect(page.locator("time[data-hour]").first).to_have_text("29 Apr 2026, 08:00")
    page = opened(timezone_id="Pacific/Kiritimati")  # 14 hours ahead of UTC
    page.goto(served)
    expect(page.locator(".latest time").first).to_have_text("30 Apr 2026")


def test_phones_load_three_small_avatars_of_a_list(opened: Open, tmp_path: Path) -> None:
    """A photograph takes 1 kB in a list."""
    noise = Image.effect_noise((176, 176), 80).convert("RGB")
    file = BytesIO()
    noise.save(file, "WEBP", quality=80)
    for number in range(30):
        Pictures(tmp_path / "avatars").store(f"/media/{number}.png", file.getvalue())
    races = [
        replace(
            race,
            entrants=tuple(
                replace(e, profile=Profile(f"/media/{int(str(e.user_id)[-2:])}.png")) for e in race.entrants
            ),
        )
        for race in season()
    ]
    database = rated(tmp_path / "ledger.db", races)

    def sizes_at(width: int) -> dict[str, int]:
        page, done = opened(viewport={"width": width, "height": 800}), list[Request]()
        page.on("requestfinished", lambda request: done.extend([request]))
        page.goto(f"{served}{BOARD}.html", wait_until="networkidle")
        for _ in range(100):  # a script asks for those in view
            if sum("/avatars/" in each.url for each in done) < (4 if width > 390 else 3):
                page.wait_for_timeout(100)
        return {each.url: each.sizes()["responseBodySize"] for each in done}

    with serving(database, pictures=tmp_path / "avatars") as served:
        for width, requests, weight in ((390, 9, 35_000), (1280, 40, 40_000)):
            sizes = sizes_at(width)
            avatars = [size for url, size in sizes.items() if "/avatars/" in url]
            assert len(avatars) >= 3 and max(avatars) < 2000
            assert (width > 390) == (len(avatars) > 3)
            assert len(sizes) <= requests and sum(sizes.values()) < weight


def test_meaning_of_colors_survives_the_colors_of_the_system(visit: Visit, served: str) -> None:
    page = visit()
    page.emulate_media(forced_colors="active")

    def colors(each: Locator) -> list[object]:
        """Return the colors of an element, the most common first."""
        picture = Image.open(BytesIO(each.screenshot())).convert("RGB")
        return [color for _, color in sorted(picture.getcolors(2**16) or (), reverse=True)]

    page.goto(f"{served}{BOARD}.html")
    for kind in ("won", "gain", "loss", "out"):
        assert len(colors(page.locator(f".dots .{kind}").first)) > 1, kind
    lines = page.locator(".tabs a").evaluate_all(
        "tabs => tabs.map(tab => getComputedStyle(tab).borderBottomColor)"
    )
    assert lines.count(lines[0]) == 1
    page.goto(f"{served}{PLAYER}")
    ranges = page.locator(".ranges button:enabled")
    assert colors(ranges.first)[0] != colors(ranges.nth(1))[0]


def follow_reader(page: Page, root: str) -> None:
    """Choose a player on their page, look for the marks, and take the choice back on the front page."""
    page.goto(f"{root}{PLAYER}")
    page.get_by_role("button", name="This is me").click()
    expect(page.get_by_role("button", name="This is me", pressed=True)).to_be_visible()
    for path in (f"{BOARD}.html?sort=points&order=up", RACE):
        page.goto(f"{root}{path}")
        expect(page.locator("tr.me")).to_be_in_viewport()
        expect(page.locator("tr.me .player")).to_have_text("Ann Orbit (you)")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{root}index.html")
    own = page.get_by_role("region", name="Your standing")
    expect(own).to_contain_text("points, place 2 of 30 on Any Orb")
    assert page.context.cookies() == []
    assert sum("icon" not in url for url in asked) >= 4  # a browser without windows shows no icon
    assert not any("id-r00" in url for url in asked), "no request names the reader"
    own.get_by_role("button", name="Not you?").click()
    expect(own.get_by_label("Do you race?")).to_be_visible()
    assert page.locator(".me").count() == 0
    own.get_by_label("Do you race?").fill("ann orbit")
    page.keyboard.press("Enter")
    page.locator("#results .player").click()
    expect(page.get_by_role("button", name="This is me", pressed=True)).to_be_visible()
    page.goto(f"{root}search.html?race=orb/race-59#me")  # as from chat
    page.wait_for_url(f"{root}{PLAYER}")
    page.evaluate("localStorage.clear()")
    page.goto(f"{root}search.html?race=orb/race-59#me")
    expect(page.get_by_role("heading", name="Racers of race-59")).to_be_visible()
    expect(page.locator("#results .player")).to_have_count(8)
    page.locator("#results .player").last.click()
    expect(page.get_by_role("button", name="This is me", pressed=True)).to_be_visible()


def test_reader_is_marked_on_a_server_and_in_files(opened: Open, served: str, exported: Path) -> None:
    page = opened()
    with hosted(exported) as address:
        for root in (served, address):
            follow_reader(page, root)


def test_front_page_names_the_leaderboard_of_the_readers_score(visit: Visit, tmp_path: Path) -> None:
    other = replace(result("b", "cy"), name="alttpr/b", category="alttpr", ended_at=NOON)
    database = rated(tmp_path / "ledger.db", [other, result("a", "ann bo", after=9)])
    with serving(database, listing=lambda _: Listing(scoring=rules_of("sgl-2025"))) as address:
        page = visit(f"{address}players/id-ann/orb/any-orb.html")
        page.get_by_role("button", name="This is me").click()
        page.goto(address)
        own = page.get_by_role("region", name="Your standing")
        expect(own).to_contain_text(re.compile(r"score \d+\.\d, place 1 of 2 on Any Orb"))


def test_names_stay_readable_beside_a_score_that_needs_more_races(visit: Visit, tmp_path: Path) -> None:
    database = rated(tmp_path / "ledger.db", [result("a", "alexandria bo cy dee")])
    with serving(database, listing=lambda _: Listing(scoring=rules_of("sgl-2025"))) as address:
        page = visit(f"{address}{BOARD}.html", width=390)
        expect(page.locator("td.points").first).to_contain_text("at least 3 races")
        name = page.get_by_role("link", name="Alexandria")
        assert name.evaluate("each => each.scrollWidth <= each.clientWidth")


def test_parts_of_a_change_add_up_to_the_points_after_it(visit: Visit, served: str) -> None:
    sums = visit(f"{served}{RACE}").locator("td.sum p:has(b)").all_text_contents()
    assert sums
    for text in sums:
        parts, after = text.replace("−", "-").replace(" ", "").split("=")
        assert sum(map(int, re.findall(r"[+-]?\d+", parts))) == int(after)
