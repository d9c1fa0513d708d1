"""Title, style sheet, avatars and initials on the pages."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from builders import entrant, result

from racebot.ledger.pictures import Pictures, name_of
from racebot.ledger.rows import CategoryProfile
from racebot.races.result import Profile
from racebot.text.safe import initials
from racebot.web.export_tokens import export_tokens
from racebot.web.html.templating import THEME
from racebot.web.routes import Pages
from racebot.web.site.ledger_view import Document, theme_beside

from .conftest import Merge, data_at, document_at, page_at

AVATAR = "/media/ann.png"


def test_title_footer_category_and_style_sheet_are_on_each_page(merge: Merge, tmp_path: Path) -> None:
    assert theme_beside(tmp_path / "racebot.db") == b""
    (tmp_path / "theme.css").write_bytes(b":root { --accent: #0b7285; }")
    theme = theme_beside(tmp_path / "racebot.db")
    view = merge(title="Orb <Ratings>", footer="Ask <us> on Discord", theme=theme)
    view.ledger.profiles.save_category("orb", CategoryProfile("Orb Racing"))
    for path in ("index.html", "leaderboards/orb/any-orb.html", "races/orb/a.html"):
        page = page_at(view, path)
        assert "Orb &lt;Ratings&gt;" in page
        assert "Ask &lt;us&gt; on Discord" in page and "Orb Racing" in page
        assert THEME in page
    assert page_at(view, THEME).encode() == theme
    assert THEME in export_tokens(view, [])


def test_addresses_in_the_footer_are_links(merge: Merge) -> None:
    footer = 'Ask: https://discord.example/orb?a=1&b=2, <a href="javascript:x">not</a> javascript:alert(1)'
    page = page_at(merge(footer=footer), "index.html").partition("<footer>")[2]
    assert re.findall(r'href="([^"]*)"', page) == ["https://discord.example/orb?a=1&amp;b=2"]


def test_avatar_is_shown_once_it_is_fetched_and_initials_before(merge: Merge, tmp_path: Path) -> None:
    pictures = Pictures(tmp_path)
    profile = Profile(AVATAR, "they/them", "ann_runs")
    race = result("a", entrants=(replace(entrant("ann", time=3), profile=profile), entrant("bo", time=4)))
    page = page_at(merge([race], pictures=tmp_path), "players/id-ann/orb/any-orb.html")
    assert "<img" not in page
    assert "they/them" in page
    assert 'href="https://www.twitch.tv/ann_runs"' in page
    assert 'href="https://racetime.gg/user/id-ann"' in page
    pictures.store(AVATAR, b"a picture")
    view = merge([race], pictures=tmp_path)
    page = page_at(view, "players/id-ann/orb/any-orb.html")
    assert f"avatars/{name_of(AVATAR)}.webp" in page
    assert "racetime.gg/media" not in page
    index = document_at(view, "assets/players.js", served=False)
    assert f'"avatars/small/{name_of(AVATAR)}.webp"'.encode() in index.body
    player = data_at(view, "api/players/id-ann")
    assert player["avatar"] == f"avatars/{name_of(AVATAR)}.webp"
    assert (player["pronouns"], player["twitch"]) == ("they/them", "ann_runs")
    picture = Pages(view, served=True).document(f"avatars/{name_of(AVATAR)}.webp", {})
    assert picture == Document(b"a picture", "image/webp")
    assert Pages(view, served=True).document("avatars/../../secret.webp", {}) is None


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Ann Orbit", "AO"),
        ("xX.Comet.Xx", "XC"),
        ("Мира Лесная", "МЛ"),
        ("雪の介", "雪"),
        ("👩‍👩‍👧 fox", "F"),
        ("\u202e", "?"),
        ("<b>x</b>", "BX"),
    ],
)
def test_initials_stand_for_a_missing_avatar(name: str, shown: str) -> None:
    assert initials(name) == shown
