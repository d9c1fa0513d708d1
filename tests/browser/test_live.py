"""Live pages and overlays follow their rooms."""

import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from builders import NOON, SECOND, entrant, existing, result
from playwright.sync_api import Page, Response, Route, expect
from worker_support import PATIENCE

from racebot.live_file import live_path, read_live, write_live
from racebot.races.result import EntrantStatus
from racebot.web.http import events

from .conftest import NAMES, Open, Visit, rated, write_rooms

ROOM = "overlay/room/orb/live-1"
SEEN = """seen => {
  Object.defineProperty(document, "hidden", {value: !seen, configurable: true});
  document.dispatchEvent(new Event("visibilitychange"));
}"""
"""Put the page into the background, or back."""
SHIFTS = """() => {
  window.shifts = 0;
  new PerformanceObserver(list => {
    for (const entry of list.getEntries()) shifts += entry.value;
  }).observe({type: "layout-shift"});
}"""
"""Add up the layout shifts from now on."""


@pytest.fixture
def served(served: str, database: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of a server with an open room, whose streams look for changes more often."""
    monkeypatch.setattr(events, "LOOK_EVERY", 0.1)
    write_rooms(database, "open")
    return served


def test_live_page_follows_the_room_and_keeps_the_focus(visit: Visit, served: str, database: Path) -> None:
    page = visit()
    player = page.locator("table").get_by_role("link", name="Ann Orbit")

    def answer_after_focus(stream: Route) -> None:
        player.focus()
        stream.continue_()

    page.route("**/events/**", answer_after_focus)
    page.goto(f"{served}live")
    expect(page.get_by_role("columnheader", name="To finish")).to_be_visible()
    expect(player).to_be_focused()
    write_rooms(database, "in_progress")
    expect(page.get_by_text("in progress").locator("..")).to_have_text(
        re.compile(r"^in progress \d+:\d\d:\d\d$")
    )
    write_rooms(database, "finished")
    expect(page.get_by_text("finished, changes if recorded")).to_be_visible()
    expect(page.get_by_text(re.compile("ended (just now|.* ago)"))).to_be_visible()
    expect(player).to_be_focused()
    write_rooms(database, "finished", backwards=True)
    expect(page.locator("tbody tr").last).to_contain_text("Ann Orbit")
    expect(player).to_be_focused()


def test_page_of_a_race_goes_from_its_room_to_the_record_without_a_reload(
    visit: Visit, served: str, database: Path
) -> None:
    write_rooms(database)
    page = visit(f"{served}races/orb/live-2")
    page.evaluate(SHIFTS)
    status = page.locator(".hero .under")
    for state, words in (("open", "open"), ("in_progress", "in progress"), ("finished", "if recorded")):
        write_rooms(database, "open", state)
        expect(status).to_contain_text(words)
    rated(
        database,
        [result("live-2", entrants=(entrant("r00", time=8 * SECOND), entrant("r01", time=9 * SECOND)))],
    )
    write_rooms(database)
    expect(page.get_by_role("status").get_by_text("recorded", exact=True)).to_be_visible()
    expect(page.get_by_role("heading", name="From expected to actual places")).to_be_visible()
    page.bring_to_front()
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate("shifts") == 0
    for _ in range(2):
        expect(page).to_have_title("live-2: R00 won, 0:00:08")
        page.reload()


def test_a_disqualification_is_spoken_without_the_places_that_it_moves(
    visit: Visit, served: str, database: Path
) -> None:
    write_rooms(database, "finished")
    page = visit(f"{served}races/orb/live-1")
    path = live_path(database)
    report = existing(read_live(path))
    (board,) = report.rooms[0].leaderboards
    first, *others = board.entrants
    moved = (replace(each, place=(each.place or 0) - 1) for each in others)
    entrants = (*moved, replace(first, place=None, status=EntrantStatus.DQ))
    room = replace(report.rooms[0], leaderboards=(replace(board, entrants=entrants),))
    write_live(path, replace(report, rooms=(room,)))
    expect(page.locator("#live-said")).to_have_text("Ann Orbit: DQ")


@pytest.mark.parametrize(("path", "where"), [("races/orb/live-1", ".hero .under"), ("live", "#live h2")])
def test_leaderboard_that_is_open_stays_open_as_the_room_changes(
    visit: Visit, served: str, database: Path, path: str, where: str
) -> None:
    write_rooms(database, "open", boards=2)
    page = visit(f"{served}{path}")
    boards, status = page.locator("details.boards"), page.locator(where).first
    expect(boards.first).to_have_attribute("open", "")
    for state, words, chosen in (("in_progress", "in progress", 0), ("finished", "if recorded", 1)):
        if chosen:
            boards.nth(chosen).locator("summary").first.click()
        write_rooms(database, state, boards=2)
        expect(status).to_contain_text(words)
        expect(boards.nth(chosen)).to_have_attribute("open", "")
        expect(boards.nth(1 - chosen)).not_to_have_attribute("open", "")
    reader = "JSON.stringify({player: 'id-r00', board: 'orb/second'})"
    page.evaluate(f"localStorage.setItem('racebot-me', {reader})")
    page.reload()
    expect(boards.last).to_have_attribute("open", "")


def test_live_page_says_when_it_no_longer_updates(opened: Open, served: str, monkeypatch) -> None:
    def answer_once(route: Route) -> None:
        """Answer the reader, but not the page, which asks again when it has no stream."""
        if route.request.is_navigation_request():
            route.continue_()
        else:
            route.abort()

    limit = events.STREAMS
    monkeypatch.setattr(events, "STREAMS", 0)
    page = opened()
    page.clock.install(time=NOON)
    page.clock.pause_at(NOON + timedelta(seconds=1))
    page.route(f"{served}live", answer_once)
    with page.expect_response("**/events/**") as refused:
        page.goto(f"{served}live")
    assert refused.value.status == 503
    notice = page.get_by_text("Live updates have stopped")
    expect(notice).to_be_hidden()
    run_clock_until(page, notice.is_visible)
    page.unroute_all()
    monkeypatch.setattr(events, "STREAMS", limit)
    run_clock_until(page, notice.is_hidden)


def run_clock_until(page: Page, condition: Callable[[], bool]) -> None:
    """Let the time of a page pass until a condition is true. Its requests take real time."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        page.clock.run_for(1000)


def test_live_page_connects_again_after_a_long_silence(opened: Open, served: str) -> None:
    page = opened()
    page.clock.install()
    streams: list[Response] = []
    page.on("response", lambda response: streams.append(response) if "/events/" in response.url else None)
    page.goto(f"{served}live")
    run_clock_until(page, lambda: len(streams) > 1)
    expect(page.get_by_text("Live updates have stopped")).to_be_hidden()


def test_live_page_in_the_background_gives_up_its_stream(visit: Visit, served: str) -> None:
    page = visit()
    streams = "**/events/**"
    with page.expect_response(streams):
        page.goto(f"{served}live")
    with page.expect_event("requestfailed", lambda request: "/events/" in request.url):
        page.evaluate(SEEN, False)
    with page.expect_response(streams):
        page.evaluate(SEEN, True)


def test_overlay_follows_the_room_on_a_transparent_page(visit: Visit, served: str, database: Path) -> None:
    page = visit(f"{served}{ROOM}", width=400)
    expect(page.get_by_text("Chance to win")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgba(0, 0, 0, 0)"
    write_rooms(database, "finished")
    expect(page.get_by_text("Ratings if recorded")).to_be_visible()
    assert " ".join(page.locator("tbody tr").first.inner_text().split()) == "1 Ann Orbit 1:00:00 1510 +10"


def test_a_delayed_overlay_begins_empty_and_shows_everything_later(opened: Open, served: str) -> None:
    page = opened()
    page.clock.install()
    with page.expect_response("**/events/**"):
        page.goto(f"{served}{ROOM}?delay=60")
    expect(page.locator("tbody")).to_have_count(0)
    run_clock_until(page, lambda: page.get_by_text("Chance to win").is_visible())
    assert page.evaluate("performance.now()") >= 60_000


def test_overlay_grows_with_its_source_and_takes_colors(visit: Visit, served: str) -> None:
    def sizes(query: str, *widths: int) -> list[float]:
        page, found = visit(f"{served}{ROOM}{query}"), []
        for width in widths:
            page.set_viewport_size({"width": width, "height": 800})
            found.append(page.evaluate("parseFloat(getComputedStyle(document.querySelector('th')).fontSize)"))
        return found

    small, middle, wide, widest = sizes("", 400, 600, 1200, 1920)
    assert middle == pytest.approx(1.5 * small)
    assert widest == pytest.approx(wide), "limited by the height"
    assert sizes("?size=200", 400) == pytest.approx([2 * small])
    page = visit(f"{served}{ROOM}?text=ff0000&background=00ff0080")
    assert page.evaluate("getComputedStyle(document.querySelector('th')).color") == "rgb(255, 0, 0)"
    assert page.evaluate("getComputedStyle(document.querySelector('main')).backgroundColor").startswith(
        "rgba(0, 255, 0, 0.5"
    )


def test_overlay_counts_the_rows_without_room(visit: Visit, served: str) -> None:
    page = visit(f"{served}{ROOM}?size=200", width=300)
    rows = page.locator("tbody tr:visible")
    expect(rows).to_have_count(len(NAMES))
    for height in (1080, 240):
        page.set_viewport_size({"width": 300, "height": height})
        page.wait_for_timeout(100)
        assert existing(page.locator("main").bounding_box())["y"] >= 0
    left = len(NAMES) - rows.count()
    assert left > 0
    expect(page.get_by_text(f"and {left} more player")).to_be_visible()


def test_studio_shows_the_last_result_and_the_address_of_the_choice(visit: Visit, served: str) -> None:
    page = visit(f"{served}overlays")
    rows = page.frame_locator("iframe").locator("tbody tr")
    expect(rows).to_have_count(8)
    page.get_by_label("Most rows").fill("2")
    page.get_by_label("Background", exact=True).fill("not a color")  # nothing changes until the form is right
    expect(page.locator("#color-error")).to_contain_text("Background: give 3, 4, 6 or 8")
    page.get_by_label("Background", exact=True).fill("#00000080")
    expect(page.locator("[data-whole]")).to_have_text(f"{served}overlay/room/orb?background=00000080&rows=2")
    expect(rows).to_have_count(2)
    for kind in ("player-room", "room"):
        page.locator("[name=overlay]").select_option(kind)
        preset = page.get_by_role("link", name="On a plate")
        expect(preset).to_have_attribute("href", re.compile(f"overlay={kind}&"))
    picker = page.get_by_label("Choose: background")
    page.get_by_label("Background", exact=True).fill("00000000")
    expect(picker).to_have_attribute("data-clear", "")
    picker.fill("#ff0000")
    expect(page.get_by_label("Background", exact=True)).to_have_value("ff0000")
    page.get_by_label("Background", exact=True).fill("#00000080")
    expect(page).to_have_url(re.compile("00000080"))
    choice = page.url
    page = visit(choice, scripts=False)
    expect(page.get_by_label("Most rows")).to_have_value("2")
    expect(page.frame_locator("iframe").locator("tbody tr")).to_have_count(2)
    page.locator("[name=overlay]").select_option("player")
    page.get_by_label("Player", exact=True).fill("ann orbit")
    page.get_by_role("button", name="Show").click()
    address = page.locator("[data-whole]")
    expect(address).to_have_attribute("href", "overlay/player/id-r00?background=00000080&rows=2")
    expect(page.frame_locator("iframe").get_by_text("Ann Orbit")).to_be_visible()


@pytest.mark.parametrize("width", [1100, 390])
@pytest.mark.parametrize("scrolled_by", [0, 10_000])
def test_nothing_shifts_while_a_room_changes_its_state(
    visit: Visit, served: str, database: Path, width: int, scrolled_by: int
) -> None:
    write_rooms(database)
    page = visit(f"{served}races/orb/live-1", width=width)
    page.evaluate(f"scrollTo(0, {scrolled_by})")
    page.evaluate(SHIFTS)
    status = page.locator(".hero .under")
    for state, words in (("open", "open"), ("in_progress", "in progress"), ("finished", "if recorded")):
        write_rooms(database, state, backwards=state == "open")
        expect(status).to_contain_text(words)
        first = f"racer-id-r{len(NAMES) - 1 if state == 'open' else 0:02d}"
        expect(page.locator("table:has([data-key]) tr[data-key]").first).to_have_attribute("data-key", first)
        page.bring_to_front()
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert page.evaluate("shifts") == 0, state
