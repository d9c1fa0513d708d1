"""Scores by par on pages and as data."""

from __future__ import annotations

from dataclasses import replace

import pytest

from racebot.queries.standings import Listing
from racebot.scoring.rules import rules_of
from racebot.web.routes import Pages
from racebot.web.site.ledger_view import LedgerView, Publication

from .conftest import Merge, data_at, document_at, page_at

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
    assert page.index('class="league"') < page.index('class="board two"')
    assert page.count('class="cut"') == 1
    nobody_ranked = LedgerView(view.ledger, Publication(lambda _: replace(SCORED, minimum_finishes=9)))
    assert all("<span>5 players</span>" in page_at(nobody_ranked, each) for each in (BOARD, RACES))


def test_preview_and_card_of_a_league_show_its_leader_by_score(merge: Merge, drawn: list[str]) -> None:
    view = merge(listing=SCORED, url="https://pages.example")
    page = page_at(view, BOARD)
    title, about = (page[page.index(each) :].partition(">")[0] for each in ('"og:title"', '"description"'))
    assert "Ann leads with a score of 67." in title and "1 Ann 67." in about and "2 qualify" in about
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


def test_a_race_and_a_player_show_par_and_scores(view: LedgerView) -> None:
    assert "par 1:00:30" in page_at(view, "races/orb/a.html")
    page = page_at(view, "players/id-ann/orb/any-orb.html")
    graph = page[page.index("Scores of Ann") : page.index("Rating of Ann")]
    assert "Highest: 100.8" in graph  # 100 · (2 − 60/60.5)


def test_a_row_of_the_csv_file_is_one_score(view: LedgerView) -> None:
    lines = page_at(view, "api/leaderboards/orb/any-orb/scores.csv").splitlines()
    assert len(lines) == 1 + 7
    assert lines[1].startswith("1,id-ann,Ann,")


def test_a_leaderboard_without_scoring_has_no_scores(view: LedgerView) -> None:
    pages = Pages(LedgerView(view.ledger, Publication()), served=True)
    assert pages.document("api/leaderboards/orb/any-orb/scores.csv", {}) is None
