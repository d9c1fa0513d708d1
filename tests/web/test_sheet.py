"""A sheet compares up to eight players, and a comparison of two reaches all of their races."""

import re

import pytest
from builders import result

from racebot.web.html import player

from .conftest import Merge, page_at


def test_sheet_adds_players_by_name_and_leaves_them_out_again(merge: Merge) -> None:
    view = merge()
    empty = page_at(view, "compare.html")
    assert "Add two players or more" in empty
    one = page_at(view, "compare.html", add="ANN")
    assert 'value="id-ann"' in one
    two = page_at(view, "compare.html", players="id-ann", add="bo")
    assert 'name="players" value="id-ann,id-bo"' in two
    assert "?players=id-bo&amp;on=orb%2Fany-orb" in two
    assert "Nobody of that name" in page_at(view, "compare.html", add="zzzzz")
    assert page_at(view, "compare.html", players="nobody") == empty


def test_sheet_shows_records_margins_and_chances_that_sum_to_one(merge: Merge) -> None:
    shown = page_at(merge(), "compare.html", players="id-ann,id-bo,id-cy")
    assert ">2 – 0</a>" in shown and ">0 – 2</a>" in shown and shown.count("not met") == 4
    chances = [int(each) for each in re.findall(r"To win.>(\d+)%</td>", shown)]
    assert len(chances) == 3 and 99 <= sum(chances) <= 101


def test_all_races_of_two_players_are_on_pages(merge: Merge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(player, "MEETINGS", 2)
    view = merge([result(f"race-{number}", "ann bo", after=300 + number) for number in range(3)])
    pages = [page_at(view, "compare/id-ann/id-bo.html", page=str(number)) for number in (1, 2)]
    found = [re.findall(r'races/orb/([\w-]+)\.html">', page) for page in pages]
    assert found == [["race-2", "race-1"], ["race-0"]]
    assert "page=2" in pages[0]
