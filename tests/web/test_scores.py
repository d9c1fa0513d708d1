"""Scores by par on pages and as data."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from builders import result

from racebot.ledger.store import Ledger
from racebot.queries.scores import coming_scores
from racebot.queries.standings import Listing
from racebot.scoring.rules import rules_of
from racebot.web.export import export
from racebot.web.routes import Pages
from racebot.web.site.ledger_view import LedgerView, Moved, Publication

from .conftest import Merge, Seen, data_at, document_at, page_at, rate

BOARD = "leaderboards/orb/any-orb.html"
RACES = "leaderboards/orb/any-orb/races.html"
SCORED = Listing(scoring=rules_of("sgl-2025", cut=2, races=4))


@pytest.fixture
def view(merge: Merge) -> LedgerView:
    """Race a: Ann 60 minutes, Bo 61; b: Cy, Di, and Ed not; c: Ann, Bo. Each par is the mean of two times."""
    return merge(listing=SCORED)


def test_the_table_of_scores_has_races_cut_and_chances(view: LedgerView) -> None:
    data = data_at(view, "api/leaderboards/orb/any-orb/scores")
    assert [race["par"]["time"] for race in data["races"]] == [3630.0] * 3  # 60:30
    ann, bo, *_ = data["racers"]
    assert (ann["place"], ann["outlook"]["chance"]) == (1, "inside")
    assert ann["score"] == pytest.approx(2 * 100 * (2 - 60 / 60.5) / 3)
    assert [each and each["race"] for each in bo["scores"]] == ["orb/a", None, "orb/c"]
    page = page_at(view, BOARD)
    assert 'class="league"' in page and 'class="board two"' not in page
    assert "bo" in page_at(view, BOARD, q="BO") and "Ann" not in Seen(page_at(view, BOARD, q="bo")).text
    assert page.count('class="cut"') == 1
    nobody_ranked = LedgerView(view.ledger, Publication(lambda _: replace(SCORED, minimum_finishes=9)))
    assert all("<span>5 players</span>" in page_at(nobody_ranked, each) for each in (BOARD, RACES))


def test_a_league_before_its_first_race_has_a_page_with_rules_and_cut(
    view: LedgerView, tmp_path: Path
) -> None:
    (stored,) = view.ledger.leaderboards.all()
    planned = [stored, replace(stored, name="Cup 2027", id=None)]
    publication = Publication(lambda _: SCORED, planned=planned)
    fresh = LedgerView(view.ledger, publication)
    assert page_at(fresh, "index.html").count("cup-2027.html") == 1
    text = Seen(page_at(fresh, "leaderboards/orb/cup-2027")).text
    assert "before its first race" in text and "Racers who qualify2" in text
    assert Pages(fresh, served=True).document("leaderboards/orb/cup-2027/races", {}) is None
    export(view.ledger, publication, tmp_path / "pages")
    assert (tmp_path / "pages/leaderboards/orb/cup-2027.html").exists()


def test_ratings_of_a_league_have_a_tab_of_their_own(view: LedgerView) -> None:
    ratings = page_at(view, "leaderboards/orb/any-orb/ratings.html")
    assert 'class="board two"' in ratings and 'class="league"' not in ratings
    pages = Pages(view, served=True)
    assert pages.document(BOARD, {"at": "2026-01-01"}) == Moved("leaderboards/orb/any-orb/ratings.html")
    plain = Pages(LedgerView(view.ledger, Publication()), served=True)
    assert plain.document("leaderboards/orb/any-orb/ratings.html", {}) == Moved(BOARD)


def test_players_of_one_name_are_told_apart_by_score_as_elsewhere(merge: Merge) -> None:
    entrants = result("a", "ann bo").entrants
    twins = [replace(e, name="Bo", discriminator=f"000{n}") for n, e in enumerate(entrants, start=1)]
    view = merge([replace(result("a", "ann bo"), entrants=tuple(twins))], listing=SCORED)
    assert [each["name"] for each in data_at(view, "api/leaderboards/orb/any-orb/scores")["racers"]] == [
        "Bo#0001",
        "Bo#0002",
    ]


def test_preview_and_card_of_a_league_show_its_leader_by_score(merge: Merge, drawn: list[str]) -> None:
    view = merge(listing=SCORED, url="https://pages.example")
    page = page_at(view, BOARD)
    title, about = (page[page.index(each) :].partition(">")[0] for each in ('"og:title"', '"description"'))
    assert "Ann leads with a score of 67." in title and "1 Ann 67." in about and "2 qualify" in about
    ann = page_at(view, "players/id-ann/orb/any-orb.html").partition("</head>")[0]
    assert 'content="Ann: score 67.2, 1st of 5 on Any Orb"' in ann and "1190" not in ann
    document_at(view, "cards/leaderboards/orb/any-orb.png")
    assert [text for text in drawn if text.startswith("67.")] and "1190" not in drawn


def test_a_leaderboard_ordered_by_rating_shows_scores_below(view: LedgerView) -> None:
    by_rating = LedgerView(view.ledger, Publication(lambda _: replace(SCORED, by_rating=True)))
    page = page_at(by_rating, BOARD)
    assert page.index('class="league"') > page.index('class="board two"')
    assert (
        "leads with 67." in page_at(view, "index.html"),
        "points" in page_at(by_rating, "index.html"),
    ) == (1, 1)


@pytest.mark.parametrize(
    ("by_rating", "moves"),
    [
        (False, ["Bo 3rd → 2nd, Cy 1st → 3rd, Di 3rd → 4th", "Cy new → 1st, Bo 2nd → 3rd"]),
        (True, ["810 (−90)", "Cy new → 1st, Di new → 3rd, Ed new → 5th"]),
    ],
)
def test_feed_of_a_league_tells_who_changed_places(
    view: LedgerView, by_rating: bool, moves: list[str]
) -> None:
    ordered = Publication(lambda _: replace(SCORED, by_rating=by_rating))
    feed = page_at(LedgerView(view.ledger, ordered), "leaderboards/orb/any-orb/feed.xml")
    for summary, expected in zip(re.findall("<summary>(.*)</summary>", feed), moves, strict=False):
        assert expected in summary and ("(" in expected or f" · {expected}" in summary)
    of_cy = page_at(LedgerView(view.ledger, ordered), "players/id-cy/orb/any-orb/feed.xml")
    assert re.findall("<title>(.* passed .*)</title>", of_cy) == ([] if by_rating else ["Ann, Bo passed Cy"])


@pytest.mark.parametrize("by_rating", [False, True])
def test_races_and_players_show_first_what_orders_the_leaderboard(
    merge: Merge, drawn: list[str], by_rating: bool
) -> None:
    view = merge(listing=replace(SCORED, by_rating=by_rating), url="https://pages.example")
    head, _, page = page_at(view, "races/orb/a.html").partition("</head>")
    assert (page.index("Scores: par 1:00:30") < page.index('class="race"')) is not by_rating
    assert "<b>100.8</b>" in page_at(view, "players/id-ann/orb/any-orb.html")  # 100 · (2 − 60/60.5)
    bo = " ".join(Seen(page_at(view, "players/id-bo/orb/any-orb.html")).text.split())
    assert ("66.1" in bo and "score, 2nd of 5" in bo and "inside the cut" in bo) is not by_rating
    document_at(view, "cards/races/orb/a.png")
    document_at(view, "cards/players/id-ann/orb/any-orb.png")
    overlays = page_at(view, "overlay/room/orb/a") + page_at(view, "overlay/player/id-ann")
    index = document_at(view, "assets/players.js", served=False).body.decode()
    for shown, score in ((head, "100.8"), (drawn, "100.8"), (overlays, "100.8"), (overlays + index, "67.")):
        assert (score in shown) is not by_rating


def test_a_row_of_the_csv_file_is_one_score(view: LedgerView) -> None:
    lines = page_at(view, "api/leaderboards/orb/any-orb/scores.csv").splitlines()
    assert len(lines) == 1 + 7
    assert lines[1].startswith("1,id-ann,Ann,")


def test_scores_to_come_have_the_place_and_the_margin_of_the_cut(ledger: Ledger) -> None:
    # Before: Ann 100.8, Bo 99.2. Di wins by a minute against Ann: 100.8 and 99.2, over three.
    rate(ledger, result("a", "ann bo"))
    (board,), rules = ledger.leaderboards.all(), rules_of("sgl-2025", cut=1, races=2)
    par, scores = coming_scores(ledger, board, rules, result("d", "di ann", after=9))
    assert par == 3630
    assert [(each.id, each.before, each.place) for each in scores] == [("id-di", None, 2), ("id-ann", 1, 1)]
    one, other = (100 * (2 - time / 60.5) for time in (60, 61))
    assert [each.total for each in scores] == pytest.approx([one / 3, (one + other) / 3])
    assert [each.margin for each in scores] == pytest.approx([-other / 3, other / 3])
