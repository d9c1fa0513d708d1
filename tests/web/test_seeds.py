"""The page of a leaderboard's seeds, and the same as data."""

import pytest

from racebot.web.html import leaderboard
from racebot.web.site.ledger_view import LedgerView

from .conftest import data_at, page_at

PAGE = "leaderboards/orb/any-orb/seeds.html"
DATA = "api/leaderboards/orb/any-orb/seeds"


def test_the_page_seeds_the_entrants_of_its_form(view: LedgerView) -> None:
    page = page_at(view, PAGE, entrants="bo\r\nann\r\n<i>x")
    assert page.index("players/id-ann/") < page.index("players/id-bo/")
    assert "players/id-cy/" not in page
    assert "&lt;i&gt;x" in page
    assert "&lt;i&gt;x" not in page_at(view, PAGE)


def test_the_page_shows_the_first_seeds_only(view: LedgerView, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaderboard, "SEEDS", 2)
    page = page_at(view, PAGE)
    assert [f"players/id-{each}/" in page for each in ("cy", "ann", "di")] == [True, True, False]


def test_the_data_seeds_the_entrants_of_the_query(view: LedgerView) -> None:
    found = data_at(view, DATA, entrants="bo\nann")
    assert [each["id"] for each in found["seeds"]] == ["id-ann", "id-bo"]
    lines = page_at(view, f"{DATA}.csv").splitlines()
    assert lines[1].startswith("1,1,id-cy,Cy,")
