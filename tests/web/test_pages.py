"""The content of pages."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from builders import SECOND, entrant, existing, result

from racebot.ledger.rows import START
from racebot.ledger.store import Ledger
from racebot.queries.race import RatedEntrant
from racebot.queries.standings import Listing
from racebot.races.outcome import TeamPolicy
from racebot.races.rooms import Carry
from racebot.standings.counting import LeaderboardConfig, RatingRules
from racebot.standings.settle import Settler
from racebot.web.routes import Pages
from racebot.web.site.ledger_view import Document, LedgerView, Moved, Publication

from .conftest import SIMPLE, Merge, document_at, page_at, text_at as text

BOARD = "leaderboards/orb/any-orb"


@pytest.mark.parametrize(
    "path",
    [
        "nothing.html",
        "leaderboards/orb/other.html",
        f"{BOARD}/page-x.html",
        f"{BOARD}/races-2.html",
        "players/id-nobody/orb/any-orb.html",
        "players/id-ann/orb/other.html",
        "players/~x.html",
        "races/orb/zzz.html",
        "races/a.html",
        "assets/../view.py",
        ".nojekyll",
        *("api/nothing", "api/players.csv", "api/players/id-nobody", "api/races/orb/zzz", "api/events/a"),
        *("api/leaderboards/orb", "api/leaderboards/orb/other", f"api/{BOARD}/nothing"),
        *(f"api/{BOARD}/scores.csv", f"api/{BOARD}/players/id-nobody", f"api/{BOARD}/players/~!"),
        *("cards/players/id-nobody/orb/any-orb.png", "cards/players/id-ann/orb/other.png", "cards/x.png"),
        *("cards/races/orb/zzz.png", "cards/leaderboards/orb/other.png"),
    ],
)
def test_other_paths_have_no_content(pages: Pages, path: str) -> None:
    assert pages.document(path, {}) is None


def test_the_front_page_lists_leaderboards_by_category(merge: Merge) -> None:
    assert "No races have been rated yet." in text(merge([]), "index.html")
    view = merge(
        [
            result("a", "ann bo"),
            result("b", "cy bo", goal="Other Orb", after=5),
            result("c", "cy bo", name="alttpr/c", category="alttpr", goal="Ganon", after=3),
        ]
    )
    shown = text(view, "index.html")
    assert re.search(r"alttpr Activity Ganon .* orb 2 leaderboards · Activity Other Orb .* Any Orb", shown)
    assert re.search(r"Latest races b Other Orb, won by Cy 1 Mar 2026 c Ganon, won by Cy", shown)
    assert re.search(r"1 race, 2 players last race 1 Mar 2026 1 A Ann 1100 \? 2 B Bo 900 \?", shown)


def test_front_page_has_a_line_for_all_but_the_six_leaderboards_raced_last(merge: Merge) -> None:
    races = [result(f"r{n}", "ann bo", goal=f"Goal {n}", after=n) for n in range(8)]
    page = page_at(merge(races, listing=Listing(minimum_finishes=2)), "index.html")
    assert re.findall(r"<h3><a[^>]*>(Goal \d)", page) == [f"Goal {n}" for n in range(7, 1, -1)]
    lines = page.partition("2 more leaderboards")[2]
    assert re.findall(r">(Goal \d)<", lines) == ["Goal 1", "Goal 0"]
    assert page.count("2 players, none ranked yet") == 6


def test_player_page_tells_the_distance_to_both_neighbors_and_the_record(view: LedgerView) -> None:
    # Cy 1200, Ann 1190, Di 1000; Ann and Di have not met, nor Ann and Cy.
    assert "Next: 10 points behind 1st Cy (not met), 190 points ahead of 3rd Di (not met)" in text(
        view, "players/id-ann/orb/any-orb.html"
    )
    assert "ahead of" not in text(view, "players/id-ed/orb/any-orb.html")
    assert "Next: 10 points" not in text(view, "players/id-ann/orb/any-orb.html", served=False)


def test_latest_races_name_the_leaderboard_that_their_page_shows_first(ledger: Ledger) -> None:
    named = tuple(replace(SIMPLE, name=name, goals=("Any Orb",)) for name in ("League", "Cup"))
    Settler(ledger, RatingRules(SIMPLE, named)).add_past_races([result("a", "ann bo")], "import")
    view = LedgerView(ledger, Publication())
    ((board, _),) = view.latest_races(3)
    assert board.name == view.boards_of(existing(view.race("orb/a")))[0].name == "Cup"


def test_race_leads_to_the_races_before_and_after_it(view: LedgerView) -> None:
    page = page_at(view, "races/orb/b.html")
    links = re.findall(r'rel="(prev|next)" href="([^"]+)"', page)
    assert links == [("prev", "a.html"), ("next", "c.html")]
    assert 'rel="next"' not in page_at(view, "races/orb/c.html", served=False)


def test_leaderboard_shows_movement_and_provisional_ratings(merge: Merge) -> None:
    races = [result("a", "ann bo"), result("b", "bo ann", after=240), result("c", "di ann", after=241)]
    shown = text(merge(races, listing=Listing(provisional_races=2)), f"{BOARD}.html")
    assert "3 players 3 races last race 11 Mar 2026 Leaderboard" in shown
    assert "Week and arrows show what changed since 4 Mar 2026." in shown
    assert re.search(r"1 new D Di 1\d\d\d \? 1 1 1 11 Mar 2026", shown)
    assert "▼ 2 down A Ann" in shown
    assert "? marks a provisional rating: it moves a lot during the first 2 races." in shown


def test_players_without_a_place_yet_are_below_the_others_with_their_finishes(merge: Merge) -> None:
    shown = text(merge(listing=Listing(minimum_finishes=2)), f"{BOARD}.html")
    assert "Not ranked yet A place takes 2 finished races. So far: C Cy 1 of 2 1200 D Di 1 of 2 1000" in shown
    assert "rated but not listed" not in shown, "all others are named"
    assert "Not ranked yet" not in text(merge([], listing=Listing()), f"{BOARD}.html")
    many = [result(f"many-{number}", f"one{number} two{number}", after=100 + number) for number in range(30)]
    assert "finished races. The first 50 of 63:" in text(
        merge(many, listing=Listing(minimum_finishes=2)), f"{BOARD}.html"
    )
    front, board = (text(merge([], listing=Listing(minimum_finishes=3)), at) for at in ("", f"{BOARD}.html"))
    assert "Listing takes 3 finished races. A Ann 2 of 3 1190 B Bo 2 of 3 810" in front
    assert "Listing takes 3 finished races" in board


def test_race_page_shows_the_places_of_its_day(merge: Merge) -> None:
    view = merge([result("a", "ann bo"), result("b", "bo ann", after=240), result("c", "cy ann", after=300)])
    assert re.search(r"1 B Bo .* → 1010 up to ▲ 1st|1 B Bo .* → 1010 ▲ 1st", text(view, "races/orb/b.html"))
    assert 'id="racer-id-bo"' in page_at(view, "races/orb/b.html")
    assert "1st" not in text(view, "races/orb/b.html", served=False), "it may change with an earlier race"


def test_leaderboard_explains_unlisted_players(merge: Merge) -> None:
    races = [result("early", "bo cy"), result("late", "ann di", after=24 * 40)]
    shown = text(merge(races, listing=Listing(minimum_finishes=2, inactive_days=30)), f"{BOARD}.html")
    assert (
        "2 more players are rated but not listed. Listed players have finished 2 races or more and "
        "have raced in the 30 days before the last race." in shown
    )


def test_player_page_shows_places_opponents_and_races(view: LedgerView) -> None:
    shown = text(view, "players/id-ann/orb/any-orb.html")
    assert "1190 points provisional" in shown
    assert "Place 2 of 5 Races 2 Won 2 100% Finished 100% 2 of 2 Highest 1190 11 Mar 2026" in shown
    assert re.search(r"B Bo 810 2 met 2 – 0 \d\d% chance", shown)
    assert "1 of 2 a 1:00:00 · 1 Mar 2026, 12:00 ▲ + 100 1100 won 1 Mar 2026, 12:00" in shown


def test_player_page_lists_all_leaderboards(merge: Merge) -> None:
    view = merge([result("a", "ann bo"), result("b", "ann bo", goal="Other", after=1)])
    assert re.search(r"Ann 2 leaderboards .* Other 1100 .* Any Orb 1100", text(view, "players/id-ann.html"))
    assert 'href="../../id-ann.html">Leaderboards</a>' in page_at(view, "players/id-ann/orb/any-orb.html")


def test_race_page_shows_each_change_and_its_reasons(merge: Merge) -> None:
    config = LeaderboardConfig("thurstone-hurdle")
    race = result("a", "ann bo", dnf="cy", dq="di")
    gone = entrant("gone", time=1, user_id=None)
    view = merge([replace(race, entrants=(*race.entrants, gone))], config)
    shown = text(view, "races/orb/a.html")
    assert "a 5 entrants ended 1 Mar 2026, 12:00 UTC recorded Race room on racetime.gg" in shown
    row = r"2 A Ann first race 1:00:00 \+59:59 ▲ \+ \d+ 1000 → \d+ 1st \d+% 1\.5 (place|finish) [+−]\d+"
    assert re.search(row, shown)
    assert "beat Bo (50%)" in shown
    assert re.search(r"DNF C Cy first race ▼ − \d+ .* DQ D Di first race ▼ − \d+ .*% to finish", shown)
    alone = text(merge([result("b", "ann", dnf="bo", after=1)], config), "races/orb/b.html")
    assert len(re.findall(r"finish \+\d+", alone)) == 1


def test_parts_of_a_change_add_up_before_a_phone_shows_all_reasons(merge: Merge) -> None:
    races = [result(f"r{number}", "ann bo cy di ed", dnf="fay", after=number) for number in range(6)]
    view = merge(
        [*races, result("last", "ed di cy bo ann", dnf="fay", after=9)], LeaderboardConfig("thurstone-hurdle")
    )
    document = document_at(view, "races/orb/last.html")
    report = existing(view.race("orb/last"))
    changes = [
        entrant.change for entrant in report.leaderboards[0].placed if isinstance(entrant, RatedEntrant)
    ]
    rows = re.findall(r'<td role="cell" class="why"><ul>(.*?)</ul>(.*?)</td>', document.body.decode())
    assert len(rows) == len(changes) == 6
    for (brief, rest), change in zip(rows, changes, strict=True):
        assert ("beat" in rest or "behind" in rest) == rest.startswith("<details>")
        parts = [int(points.replace("−", "-")) for points in re.findall(r"<b>([+−]\d+)</b>", brief)]
        assert sum(parts) == change
        causes = [abs(points) for points in parts[:2]]
        assert causes == sorted(causes, reverse=True)
    assert any("limit" in brief for brief, _ in rows)
    (unfinished,) = (brief for brief, _ in rows if "DNF" in brief)
    assert re.search(r"DNF <b>−\d+</b>.*% to finish", unfinished)


@pytest.mark.parametrize("time", [None, 3600 * SECOND])
def test_tables_have_a_column_for_times_only_if_a_time_is_known(merge: Merge, time: int | None) -> None:
    field = (entrant("ann", time=time, place=1), entrant("bo", time=time and time + SECOND, place=2))
    pages = Pages(merge([result("a", entrants=field)]), served=True)
    player = "players/id-ann/orb/any-orb"
    for path in ("races/orb/a.html", f"{player}.html", f"{player}/races.html"):
        shown = re.search(r'role="columnheader"( class="time")?>Time<', page_at(pages.view, path))
        assert (shown is not None) is (time is not None)


def test_race_page_explains_why_nothing_changed(merge: Merge) -> None:
    teams = result("a", "ann bo")
    teams = replace(teams, entrants=tuple(replace(e, team=e.name) for e in teams.entrants))
    config = replace(LeaderboardConfig("trueskill"), teams=TeamPolicy.IGNORE)
    view = merge([teams, result("b", dnf="ann bo", after=1)], config)
    assert "This race changed no rating: team race." in text(view, "races/orb/a.html")
    assert "This race changed no rating: nobody finished. DNF A Ann DNF B Bo" in text(
        view, "races/orb/b.html"
    )
    assert "b nobody finished 2 racers 0 1 Mar 2026, 13:00 a team race 2 racers 2 1 Mar 2026" in text(
        view, f"{BOARD}/races.html"
    )


def test_pages_of_older_races_do_not_change(merge: Merge) -> None:
    races = [result(f"r{n:03d}", "ann bo", after=n) for n in range(149)]
    for name, last, first in (("races", 147, 50), ("races-1", 49, 0)):
        shown = re.findall(r"r\d{3}(?= A Ann)", text(merge(races[:-1]), f"{BOARD}/{name}.html"))
        assert shown == [f"r{n:03d}" for n in range(last, first - 1, -1)]
    before = existing(Pages(merge(races[:-1]), served=False).document(f"{BOARD}/races-1.html", {}))
    assert Pages(merge(races[-1:]), served=False).document(f"{BOARD}/races-1.html", {}) == before


def test_explanation_says_when_the_odds_were_fitted(merge: Merge) -> None:
    view = merge([result("a", "ann bo")])
    assert "were fitted" not in text(view, f"{BOARD}/explained.html")
    (board,) = view.ledger.leaderboards.all()
    fitted = replace(board, odds_races=25, odds_fitted_at=datetime(2026, 3, 4, tzinfo=UTC))
    view.ledger.leaderboards.save(fitted)
    shown = text(merge([result("b", "ann bo", after=1)]), f"{BOARD}/explained.html")
    assert "On 4 Mar 2026, the odds and the finish forecast were fitted to the 25 races" in shown


def test_explanation_says_who_is_listed_and_how_to_hide(merge: Merge) -> None:
    listing = Listing(minimum_finishes=3, inactive_days=30)
    shown = text(
        merge([result("a", "ann bo")], listing=listing, command_prefix="?"), f"{BOARD}/explained.html"
    )
    assert "listed after 3 finished races" in shown
    assert "30 days" in shown
    assert "?ratings hide me" in shown
    assert "?why" in shown


def test_explanation_names_the_leaderboard_that_ratings_come_from(merge: Merge) -> None:
    merge([result("a", "ann bo")], LeaderboardConfig("thurstone-hurdle"))
    season = LeaderboardConfig("thurstone-hurdle", carry=Carry("Any Orb"))
    view = merge([result("b", "ann bo", after=9, goal="Season 2")], season)
    (board,) = (each for each in view.boards if each.name == "Season 2")
    shown = text(view, f"leaderboards/{board.address.stem}/explained.html")
    assert "or with a rating carried over from Any Orb." in shown


def test_lists_of_races_name_the_goals_of_a_leaderboard_that_joins_several(ledger: Ledger) -> None:
    joined = replace(SIMPLE, name="Joined", goals=("Any Orb", "All <Orbs>"))
    races = [result("a", "ann bo"), result("b", "ann bo", goal="All <Orbs>", after=1)]
    Settler(ledger, RatingRules(SIMPLE, (joined,))).add_past_races(
        [*races, result("c", "ann bo", goal="Other Orb")], "import"
    )
    view = LedgerView(ledger, Publication())
    for path in (
        "leaderboards/orb/{}/races.html",
        "players/id-ann/orb/{}.html",
        "players/id-ann/orb/{}/races.html",
    ):
        shown, alone = (
            text(view, path.format(name)).partition("Races of")[2] for name in ("joined", "other-orb")
        )
        assert re.search(r"b All <Orbs> .* a Any Orb ", shown) and "c Other Orb" not in alone


def test_search_lists_similar_names_only_if_no_name_contains_the_text(merge: Merge) -> None:
    view = merge([result("a", "annette annetta o'brien")])
    for wanted, found in (
        ("annette", ["Annette"]),
        ("anetta", ["Annetta", "Annette"]),
        ("ann", ["Annetta", "Annette"]),
        ("obrien", ["O&#39;Brien"]),
    ):
        page = document_at(view, "search.html", {"q": wanted})
        assert re.findall(r"<bdi>(.*?)</bdi>", page.body.decode()) == found


def test_search_names_the_category_of_a_leaderboard_only_if_there_are_several(merge: Merge) -> None:
    one = [result("a", "ann bo")]
    two = [*one, result("b", "cy bo", name="alttpr/b", category="alttpr")]
    for races, categories in ((one, [""]), (two, ["alttpr", "orb"])):
        view = merge(races)
        page = Pages(view, served=True).document("search.html", {"q": "any orb"})
        index = Pages(view, served=False).document("assets/players.js", {})
        assert isinstance(page, Document) and isinstance(index, Document)
        shown = page.body.decode().partition("Leaderboards</h2>")[2].partition("</ul>")[0]
        assert re.findall(r">(\w*)</span></li>", shown) == [each for each in categories if each]
        boards = json.loads(index.body.decode().partition("=")[2].rstrip(";\n"))["boards"]
        assert [category for *_, category in boards] == categories


def test_unranked_players_see_how_many_finishes_are_missing(merge: Merge) -> None:
    shown = text(merge(listing=Listing(minimum_finishes=2)), "players/id-ed/orb/any-orb.html")
    assert "Place – 2 more finishes to be ranked Races 1 Won 0 0% Finished 0% 0 of 1" in shown
    assert "in a row" not in shown and "over time" not in shown
    shown = text(merge(listing=Listing(minimum_finishes=3)), "players/id-ann.html")
    assert "1 more finish to be ranked" in shown


def test_leaderboard_without_category_names_none(merge: Merge) -> None:
    """Imported archives may have no category."""
    view = merge([replace(result("a", "ann bo"), name="a", category="")])
    page = text(view, "leaderboards/-/any-orb.html")
    assert "Race ratings Any Orb" in page, "nothing between the two"


def test_a_leaderboard_that_is_rated_again_says_so(ledger: Ledger, merge: Merge) -> None:
    notice = "is being rated again"
    assert notice not in text(merge(), f"{BOARD}.html")
    (board,) = ledger.leaderboards.all()
    ledger.rebuilds.request(board, START, "the settings changed")
    assert notice in text(merge(), f"{BOARD}.html")


def test_the_address_of_an_unknown_race_does_not_look_at_all_races(view: LedgerView) -> None:
    asked: list[str] = []
    view.ledger.connection.db.conn.set_trace_callback(asked.append)
    assert [view.race(name) for name in ("orb/unknown", "a")] == [None, None], "a slug alone is no address"
    view.ledger.connection.db.conn.set_trace_callback(None)
    plans = [view.ledger.connection.rows(f"EXPLAIN QUERY PLAN {each}") for each in asked]
    assert not [row["detail"] for rows in plans for row in rows if row["detail"].startswith("SCAN races")]


def test_search_finds_races_by_a_part_of_their_name(merge: Merge) -> None:
    view = merge([result("clever-kraid-1234", "ann bo"), result("calm-dune-1", "ann bo", after=1)])
    assert re.search(r"Races clever-kraid-1234 (?!.*calm)", text(view, "search.html", q="KRAID"))


def test_a_race_links_the_open_event_of_its_leaderboard_and_a_room_of_the_event_leads_there(
    view: LedgerView, with_event: None
) -> None:
    (event,) = view.ledger.events.all()
    view.ledger.events.save(replace(event, closed_at=None))
    page = page_at(view, "races/orb/c")
    assert page.count('href="../../event/orb/event-one.html"') == 1
    found = Pages(view, served=True).document("races/orb/room", {})
    assert found == Moved("event/orb/event-one.html")
