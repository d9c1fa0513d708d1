"""What pages say."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest
from builders import entrant, result

from racebot.races.outcome import TeamPolicy
from racebot.standings.plan import LeaderboardPlan
from racebot.web import figures
from racebot.web.site import Site
from racebot.web.view import View

from .conftest import Merge

BOARD = "leaderboards/orb/any-orb"


def text(view: View, path: str, *, served: bool = True, **query: str) -> str:
    """A page's visible text, in one line."""
    document = Site(view, served=served).document(path, query)
    assert document is not None, path
    words = re.sub(r"<(script|style|title).*?</\1>", "", document.body.decode(), flags=re.DOTALL)
    shown = " ".join(unescape(re.sub(r"<[^>]+>", " ", words)).split())
    return re.sub(r" ([.,:])", r"\1", shown)


@pytest.mark.parametrize(
    "path",
    [
        "nothing.html",
        "leaderboards/orb.html",
        "leaderboards/orb/other.html",
        f"{BOARD}/other.html",
        f"{BOARD}/page-.html",
        f"{BOARD}/page-x.html",
        f"{BOARD}/races-2.html",
        f"{BOARD}/explained/more.html",
        "players/id-nobody.html",
        "players/id-nobody/orb/any-orb.html",
        "players/id-ann/orb/other.html",
        "players/~x.html",
        "races/orb/zzz.html",
        "races/a.html",
        "assets/other.css",
        "assets/../view.py",
        ".nojekyll",
    ],
)
def test_there_is_nothing_else(site: Site, path: str) -> None:
    assert site.document(path, {}) is None


def test_the_front_page_lists_leaderboards_by_category(merge: Merge) -> None:
    view = merge(
        [
            result("a", "ann bo"),
            result("b", "cy bo", goal="Other Orb", after=5),
            result("c", "cy bo", name="alttpr/c", category="alttpr", goal="Ganon", after=3),
        ]
    )
    shown = text(view, "index.html")
    assert re.search(r"alttpr Ganon .* orb Other Orb .* Any Orb", shown)
    assert "1 race, 2 players, last raced on 1 Mar 2026 Ann 1100 ? Bo 900 ?" in shown


def test_the_front_page_of_an_empty_ledger_says_so(merge: Merge) -> None:
    assert "No race has been rated yet." in text(merge([]), "index.html")


def test_a_leaderboard_tells_movement_and_provisional_ratings(merge: Merge) -> None:
    races = [result("a", "ann bo"), result("b", "bo ann", after=240), result("c", "di ann", after=241)]
    shown = text(merge(races, provisional_races=2), f"{BOARD}.html")
    assert "3 players listed, 3 races rated, the last on 11 Mar 2026. Movement is since 4 Mar 2026." in shown
    assert re.search(r"1 new Di 1\d\d\d \? 1 1 1 11 Mar 2026", shown)
    assert re.search(r"▲ \d up Bo|Bo 1010 \+110 2 2 1", shown)
    assert "▼ 2 down Ann" in shown
    assert "? marks a provisional rating, after fewer than 2 races" in shown


def test_a_leaderboard_says_who_is_not_listed(merge: Merge) -> None:
    from racebot.standings.queries import Listing  # noqa: PLC0415

    shown = text(merge(listing=Listing(minimum_finishes=2, inactive_days=30)), f"{BOARD}.html")
    assert (
        "3 players more are rated, but not listed: a player is listed after 2 finishes and "
        "until 30 days without a race." in shown
    )


def test_files_offer_no_search_that_they_cannot_do(view: View) -> None:
    for served in (True, False):
        document = Site(view, served=served).document(f"{BOARD}.html", {})
        assert document is not None
        assert ("?sort=" in document.body.decode()) is served
        assert ("hidden>\n<label" in document.body.decode()) is not served


def test_a_player_page_tells_places_opponents_and_races(view: View) -> None:
    shown = text(view, "players/id-ann/orb/any-orb.html")
    assert "Points 1190 provisional Place 2 of 5 Races 2 Finished 2 100 % Won 2 100 % Highest 1190" in shown
    assert "Most met opponents How often Ann was ahead" in shown
    assert "Bo 810 2 2 0" in shown
    assert "Gained most a 1 Mar 2026 1 of 2 +100 1100" in shown


def test_a_player_of_one_race_has_no_graph(merge: Merge) -> None:
    view = merge([result("a", "ann bo")])
    document = Site(view, served=True).document("players/id-ann/orb/any-orb.html", {})
    assert document is not None
    assert b'role="img"' not in document.body


def test_a_player_on_several_leaderboards_has_a_page_of_them(merge: Merge) -> None:
    view = merge([result("a", "ann bo"), result("b", "ann bo", goal="Other", after=1)])
    assert re.search(r"Ann 2 leaderboards .* Other 1100 .* Any Orb 1100", text(view, "players/id-ann.html"))
    assert "1 more leaderboard" in text(view, "players/id-ann/orb/any-orb.html")


def test_a_race_page_tells_each_change_and_why(merge: Merge) -> None:
    plan = LeaderboardPlan("thurstone-hurdle")
    race = result("a", "ann bo", dnf="cy", dq="di")
    gone = entrant("gone", time=1, user_id=None)
    view = merge([replace(race, entrants=(*race.entrants, gone))], plan)
    shown = text(view, "races/orb/a.html")
    assert "Any Orb · ended 1 Mar 2026, 12:00 UTC · room on racetime.gg" in shown
    assert re.search(r"2 Ann first race 1:00:00 \+\d+ 1000 → \d+ 1\.5 finishing \+\d+", shown)
    assert "gained: Bo (50% to beat)" in shown
    assert re.search(r"DNF Cy first race −\d+", shown)
    assert re.search(r"DQ Di first race −\d+ .*% to finish", shown)
    assert "Not rated, for their account was deleted: Gone (1)." in shown


def test_a_race_that_changed_nothing_says_why(merge: Merge) -> None:
    teams = result("a", "ann bo")
    teams = replace(teams, entrants=tuple(replace(e, team=e.name) for e in teams.entrants))
    plan = replace(LeaderboardPlan("trueskill"), teams=TeamPolicy.IGNORE)
    view = merge([teams, result("b", dnf="ann bo", after=1)], plan)
    assert "This race changed no rating: team race." in text(view, "races/orb/a.html")
    assert "This race changed no rating: nobody finished." in text(view, "races/orb/b.html")
    assert "b nobody finished 1 Mar 2026 a team race 1 Mar 2026" in text(view, f"{BOARD}/races.html")


def test_races_come_in_pages(merge: Merge) -> None:
    view = merge([result(f"r{n:03d}", "ann bo", after=n) for n in range(101)])
    assert text(view, f"{BOARD}/races.html").count("Ann") == 100
    assert "r000 Ann" in text(view, f"{BOARD}/races-2.html")
    assert f"{BOARD}/races-2.html" in set(Site(view, served=False).paths())


def test_the_explanation_is_of_this_leaderboard(merge: Merge) -> None:
    races = [result(f"r{n}", "ann bo cy", dnf="di" if n % 2 else "", after=n) for n in range(40)]
    shown = text(merge(races, LeaderboardPlan("thurstone-hurdle")), f"{BOARD}/explained.html")
    assert "Everybody starts at 1000 points." in shown
    assert "of this leaderboard's 40 races with 140 entries" in shown
    assert re.search(r"the higher rated was ahead in \d+ % of 180 pairs", shown)
    assert "86 % of all entries finished." in shown
    assert "Of 20 entries that did not finish, none gained points. Of 40 wins, none lost points." in shown


def test_the_explanation_says_what_a_hundred_points_mean(
    merge: Merge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "LEAST", 1)
    # Ann has 1,100 points when she meets Cy, who has 1,000.
    view = merge([result("a", "ann bo"), result("b", "ann cy", after=1)], provisional_races=0)
    shown = text(view, f"{BOARD}/explained.html")
    assert (
        "With about 100 points between two who have raced for a while, the higher was ahead in 100 %."
        in shown
    )


def test_a_leaderboard_with_a_name_in_no_alphabet_of_ours_has_pages(merge: Merge) -> None:
    view = merge([result("a", "ann bo", goal="任意")])
    (board,) = view.boards
    assert "任意" in text(view, board.address.page())


def test_a_leaderboard_without_a_category_names_none(merge: Merge) -> None:
    """As of an archive imported without one."""
    view = merge([replace(result("a", "ann bo"), name="a", category="")])
    page = text(view, "leaderboards/-/any-orb.html")
    assert "Ratings Any Orb" in page, "no crumb between the two"
