"""Every kind of page is accessible, self-contained and stable, wide and narrow, light and dark."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from axe_playwright_python.sync_playwright import Axe
from builders import existing
from playwright.sync_api import Page, expect

from racebot import addresses
from racebot.addresses import Route
from racebot.ledger.rows import Leaderboard
from racebot.ledger.store import Ledger
from racebot.queries.standings import Listing
from racebot.races.rooms import RoomRule
from racebot.scoring.rules import rules_of
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.events import EventSteps
from racebot.standings.settle import Settler
from racebot.web.html import leaderboard, player
from racebot.web.html.live import STREAMED
from racebot.web.routes import match_of

from .conftest import BOARD, RACE, Visit, hosted, rated, season, serving, write_rooms, written

View = tuple[int, Literal["light", "dark"]]
ROOM = "overlay/room/orb/live-1"
PLAYER_PAGES = "players/id-r00/orb/any-orb"
SERVED: Mapping[Route, tuple[str, ...]] = {
    addresses.FRONT: ("index.html",),
    addresses.BOARD: (f"{BOARD}.html", f"{BOARD}.html?at=2026-03-20&q=1", "leaderboards/orb/season-1.html"),
    addresses.RATINGS: ("leaderboards/orb/season-1/ratings.html",),
    addresses.BOARD_PAGE: (f"{BOARD}/page-2.html",),
    addresses.RACES: (f"{BOARD}/races.html", f"{BOARD}/races-1.html"),
    addresses.FAME: (f"{BOARD}/fame.html",),
    addresses.MOVEMENT: (
        f"{BOARD}/movement.html",
        f"{BOARD}/movement.html?from=2026-03-10&players=racer+12,nobody",
    ),
    addresses.RECAP: ("leaderboards/orb/season-1/recap.html",),
    addresses.SEEDS: (f"{BOARD}/seeds.html", f"{BOARD}/seeds.html?entrants=r00%0Anobody"),
    addresses.EXPLAINED: (f"{BOARD}/explained.html",),
    addresses.PLAYER_ON_BOARD: (
        *("players/id-r04/orb/any-orb.html", "players/id-r00/orb/season-1.html"),
        "players/id-r04/orb/any-orb.html?vs=id-r07",
    ),
    addresses.PLAYER: ("players/id-r05.html",),
    addresses.PLAYER_RACES: (f"{PLAYER_PAGES}/races.html", f"{PLAYER_PAGES}/races-1.html"),
    addresses.OPPONENTS: (f"{PLAYER_PAGES}/opponents.html", f"{PLAYER_PAGES}/opponents-2.html"),
    addresses.SEARCH: ("search.html?q=racer", "search.html?q=nobody"),
    addresses.ACTIVITY: ("activity/orb.html",),
    addresses.EVENTS: ("events.html",),
    addresses.EVENT: ("event/orb/event-week-1", "event/orb/event-week-2"),
    addresses.RACE: (RACE, "races/orb/unknown", "races/orb/not-yet-1", "races/orb/live-1"),
    addresses.API: ("api/",),
    addresses.LIVE: ("live",),
    addresses.OVERLAYS: ("overlays", "overlays?overlay=player&player=id-r04&text=ffcc00"),
    addresses.OVERLAY_ROOM: (f"{ROOM}?rows=5",),
    addresses.OVERLAY_PLAYER: ("overlay/player/id-r04",),
    addresses.OVERLAY_PLAYER_ROOM: ("overlay/player/id-r05/room",),
}
EXPORTED: Mapping[Route, tuple[str, ...]] = {
    addresses.BOARD: (f"{BOARD}.html",),
    addresses.PLAYER_ON_BOARD: ("players/id-r05/orb/any-orb.html?vs=id-r06",),
    addresses.SEARCH: ("search.html?q=x.invalid",),  # a name with markup
    addresses.NOT_FOUND: ("players/nobody/orb/any-orb.html",),
}
"""Pages of an export that differ from a server's."""
SIZES = (
    (addresses, "PAGE_SIZE"),
    (leaderboard, "PAGE_SIZE"),
    (leaderboard, "RACES_ON_A_PAGE"),
    (player, "LAST_RACES"),
    (addresses, "OPPONENTS_SHOWN"),
    (addresses, "OPPONENTS_ON_A_PAGE"),
    (player, "OPPONENTS_SHOWN"),
    (player, "OPPONENTS_ON_A_PAGE"),
)
"""Where the pages read how many rows a list shows."""
ROWS = 12
ENDED = LeaderboardConfig(
    "thurstone-hurdle",
    name="Season 1",
    rule=RoomRule(until=datetime(2020, 1, 1, tzinfo=UTC), rooms=tuple(f"orb/race-{n}" for n in range(40))),
)
"""A season that is final at any time: its races are listed by name."""
VIEWS: tuple[View, ...] = ((1280, "light"), (390, "dark"), (1280, "dark"), (390, "light"))
"""Width and color scheme of a window. To save time, only the first or second is tried every day, by turns."""
WIDTHS = (320, 390, 660, 840, 1280)
"""Widths that no page may need more than."""


@pytest.fixture(
    scope="module",
    params=[pytest.param(True, id="short"), pytest.param(False, id="long", marks=pytest.mark.long)],
)
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a ledger whose lists all have more than one page: long ones, or short ones to save time."""
    path = tmp_path_factory.mktemp("every") / "ledger.db"
    with pytest.MonkeyPatch.context() as patch:
        if request.param:
            for module, name in SIZES:
                patch.setattr(module, name, ROWS)
        races = season() if request.param else season(players=110, races=160)
        rated(path, races, ENDED)
        with Ledger.open(path) as ledger:
            steps = EventSteps(Settler(ledger, RatingRules(ENDED)), races[0].ended_at)
            for number in (1, 2):
                board, until = ledger.leaderboards.all()[0], races[-1].ended_at
                event = steps.create(f"Week {number}", board, until)
                steps.add_room(event, f"orb/week-{number}", races[0])
        yield path


@pytest.fixture(scope="module")
def exported(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of the pages as a host shows their files."""
    folder = tmp_path_factory.mktemp("host")
    with hosted(folder) as address:
        written(database, folder / "ratings", f"{address}ratings")
        yield f"{address}ratings/"


STEADY = """() => new Promise(done => {
  const parsed = performance.getEntriesByType("navigation")[0].domInteractive;
  let sum = 0, painted = false;
  const add = entries => {
    for (const entry of entries) {
      if (entry.entryType === "layout-shift" && entry.startTime >= parsed) sum += entry.value;
      painted ||= entry.name === "first-contentful-paint";
    }
  };
  setTimeout(() => done(sum), 10000);  // a hidden tab paints nothing
  const observer = new PerformanceObserver(list => {
    add(list.getEntries());
    if (painted) requestAnimationFrame(() => requestAnimationFrame(() => {
      add(observer.takeRecords());
      observer.disconnect();
      done(sum);
    }));
  });
  for (const type of ["layout-shift", "paint"]) observer.observe({type, buffered: true});
})"""
"""Wait until the page is painted as its scripts left it, and return its cumulative layout shift since it was
parsed: a busy machine paints tables before their last rows, which may widen columns.
"""
MOST_SHIFT = 0.005
"""Cumulative layout shift; a good page has less than 0.1: https://web.dev/articles/cls."""


MISPLACED = """() => [...document.querySelectorAll("th, td, dd, li, p, caption, .card *")].filter(each => {
  const box = each.getBoundingClientRect(), card = each.closest(".card")?.getBoundingClientRect();
  const head = each.closest("thead"), clipped = head && getComputedStyle(head).clipPath !== "none";
  if (box.width <= 1 || clipped || each.closest("svg, .hidden, .scroll")) return false;
  if (each.matches(".medal, .face") && box.width < box.height - 1) return true;
  return card && box.right > card.right + 1 || each.innerText?.length > 8 && box.width < 30;
}).map(each => each.outerHTML.slice(0, 200))"""
"""Elements that leave their card, are squeezed, or are so narrow that words break after each letter."""


SMALL = """() => [...document.querySelectorAll(
  "button, summary, select, input, .tabs a, .links a, .pager a, a.button"
)].filter(each => {
  if (!each.checkVisibility() || each.closest("thead:not(:focus-within)")) return false;
  const beyond = Math.max(0, -parseFloat(getComputedStyle(each, "::after").top) || 0);
  return each.getBoundingClientRect().height + 2 * beyond < 43;
}).map(each => each.outerHTML.slice(0, 200))"""
"""Controls lower than a fingertip: https://www.w3.org/WAI/WCAG22/Understanding/target-size-enhanced.html."""


UNFOCUSED = """() => [...document.querySelectorAll(
  "a, button:enabled, input, select, summary, [tabindex]"
)].filter(each => {
  if (!each.checkVisibility({contentVisibilityAuto: true}) || each.type === "hidden") return false;
  each.focus();
  const reached = document.activeElement === each && each.tabIndex === 0;
  return !reached || getComputedStyle(each).outlineStyle === "none";
}).map(each => each.outerHTML.slice(0, 200))"""
"""Controls that the keyboard cannot reach, or that do not show their focus. Press a key before."""


UNNAMED = """() => [...document.querySelectorAll(
  "table:not(:has(caption)), :is(span, i, b, p, div)[aria-label]:not([role])"
)].map(each => each.outerHTML.slice(0, 200))"""
"""Tables without a caption, and names of elements that screen readers ignore because these have no role."""


NOT_ON_STREAMS = {rule: {"enabled": False} for rule in ("color-contrast", "page-has-heading-one")}
"""Rules of axe that do not apply to overlays: they have no colors behind them, and no readers."""


def in_views(pages: Iterable[Sequence[str]]) -> pytest.MarkDecorator:
    """Try each page in every view, most of them only in long runs."""
    every = enumerate(path for paths in pages for path in paths)
    tried = [
        pytest.param(
            path, view, marks=() if turn == number % 2 else pytest.mark.long, id=f"{path}-{view[0]}-{view[1]}"
        )
        for number, path in every
        for turn, view in enumerate(VIEWS)
    ]
    return pytest.mark.parametrize(("path", "view"), tried)


class Tab(NamedTuple):
    """One tab for all pages, its console, and what it asked for."""

    page: Page
    console: list[str]
    asked: list[str]


@pytest.fixture(scope="module")
def tab(tabs: Mapping[bool, Page]) -> Tab:
    tab = Tab(tabs[True], [], [])
    tab.page.on("console", lambda message: tab.console.append(message.text))
    tab.page.on("pageerror", lambda error: tab.console.append(str(error)))
    tab.page.on("request", lambda request: tab.asked.append(request.url))
    return tab


def check(tab: Tab, root: str, path: str, view: View) -> None:
    """Check a page for errors, axe's findings, other hosts, layout shift, the keyboard and misplaced text."""
    page, console, asked = tab
    page.bring_to_front()
    page.goto("about:blank")  # which ends the requests of the page before
    console.clear()
    asked.clear()
    width, scheme = view
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme, reduced_motion="no-preference")
    if existing(page.goto(f"{root}{path}")).status == 404:
        assert "404 (Not Found)" in console.pop(0)
    if "?vs=" in path:  # a script fetches the comparison
        expect(page.get_by_role("slider", name="Ratings of")).to_be_visible()
    shift = page.evaluate(STEADY)
    for _ in range(2):  # a busy machine may paint before the page's script has run
        if shift >= MOST_SHIFT:
            page.reload()
            shift = page.evaluate(STEADY)
    assert shift < MOST_SHIFT
    assert len(page.content()) < 100_000
    page.emulate_media(reduced_motion="reduce")
    page.keyboard.press("Shift")
    assert page.evaluate(UNFOCUSED) == []
    assert page.evaluate(UNNAMED) == []
    page.evaluate(Axe().axe_script)
    options = {"resultTypes": ["violations"], "rules": NOT_ON_STREAMS if path.startswith("overlay/") else {}}
    found = page.evaluate("options => axe.run(document, options)", options)
    assert [f"{each['id']}: {each['nodes'][0]['html']}" for each in found["violations"]] == []
    for each in WIDTHS:
        page.set_viewport_size({"width": each, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= each
        assert page.evaluate(MISPLACED) == [], each
        assert (
            page.evaluate("new Set([...document.querySelectorAll('.tabs a')].map(e => e.offsetTop)).size") < 2
        )
        if each == 390:
            assert page.evaluate(SMALL) == []
    assert console == []
    assert all(url.startswith((root, "data:")) for url in asked)


@pytest.fixture(scope="module")
def server(database: Path) -> Iterator[str]:
    def listing(board: Leaderboard) -> Listing:
        return Listing(scoring=rules_of("sgl-2025", cut=8) if board.name == ENDED.name else None)

    with serving(database, listing=listing, title="W" * 60, footer="W" * 300) as address:
        yield address


@pytest.fixture
def served(server: str, database: Path) -> str:
    """Return the address of a server with an open room, one in progress and a finished one."""
    write_rooms(database, "open", "in_progress", "finished")
    return server


@in_views(SERVED.values())
def test_served_pages_are_accessible_and_self_contained(tab: Tab, served: str, path: str, view: View) -> None:
    check(tab, served, path, view)


@in_views(EXPORTED.values())
def test_exported_pages_are_accessible_and_self_contained(
    tab: Tab, exported: str, path: str, view: View
) -> None:
    check(tab, exported, path, view)


def test_missing_page_of_an_export_looks_like_the_others_and_leads_on(visit: Visit, exported: str) -> None:
    page = visit()
    for path in ("nothing", "players/nobody/orb/any-orb.html"):
        answer = page.goto(f"{exported}{path}")
        assert answer is not None and answer.status == 404
        expect(page.get_by_role("heading", level=1)).to_have_text("Page not found.")
        assert page.evaluate("getComputedStyle(document.body).fontFamily").startswith("system-ui")
        page.get_by_label("Search players and leaderboards").fill("ann orbit")
        page.keyboard.press("Enter")
        expect(page.locator("#results a").first).to_have_text("Ann Orbit")
        page.go_back()
        page.get_by_role("link", name="All leaderboards").click()
        expect(page).to_have_url(f"{exported}index.html")
        expect(page.get_by_role("link", name="Any Orb").first).to_be_visible()


def test_every_kind_of_page_is_checked() -> None:
    kinds = {each for each in vars(addresses).values() if isinstance(each, Route)} - STREAMED
    checked = {**SERVED, **EXPORTED}
    assert {kind for kind in kinds if kind.pattern.endswith(".html")} == set(checked)
    for kind in checked.keys() - {addresses.NOT_FOUND}:
        for path in checked[kind]:
            found = match_of(path.partition("?")[0])
            assert (found is not None and found.route is kind) or kind is addresses.API, path
