"""Title, accent color, avatars and initials on the pages."""

from __future__ import annotations

import colorsys
import json
import re
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from builders import entrant, result
from PIL import Image, ImageColor

from racebot.ledger.pictures import Pictures, name_of
from racebot.ledger.profiles import CategoryProfile
from racebot.races.result import Profile
from racebot.text.safe import initials
from racebot.web.html.templating import ICON, STYLE, asset
from racebot.web.manifest import groups
from racebot.web.routes import Pages
from racebot.web.site.ledger_view import LedgerView
from racebot.web.site.look import BACKGROUNDS, LEAST_CONTRAST, THEME, THEME_ICON, Look, contrast, theme
from racebot.web.site.request import Document

from .conftest import Merge

AVATAR = "/media/ann.png"


def body(view: LedgerView, path: str) -> str:
    document = Pages(view, served=True).document(path, {})
    assert isinstance(document, Document), path
    return document.body.decode()


def test_contrast_is_computed_as_wcag_defines_it() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def colors(accent: str, name: str) -> tuple[str, str]:
    """Return a color of the theme, else of the style sheet, in light and dark."""
    own = re.findall(rf"--{name}: (#\w{{6}})", asset(STYLE).decode())
    light, dark = re.findall(rf"--{name}: (#\w{{6}})", theme(accent).decode()) or own
    return light, dark


EACH_ACCENT = pytest.mark.parametrize(
    "accent", ["#ffff00", "#000000", "#ffffff", "#0b7285", "#ff0000", "#b3590e", "#2c4bb8", "#e8590c"]
)


@EACH_ACCENT
def test_any_accent_color_is_readable_in_light_and_dark(accent: str) -> None:
    light, dark = colors(accent, "accent")
    assert contrast(light, BACKGROUNDS["light"]) >= LEAST_CONTRAST
    assert contrast(dark, BACKGROUNDS["dark"]) >= LEAST_CONTRAST


@EACH_ACCENT
def test_bars_have_the_accent_color_and_stand_out_from_cards(accent: str) -> None:
    cards = re.findall(r"--card: (#\w{6})", asset(STYLE).decode())
    for bar, own, card in zip(colors(accent, "bar"), colors(accent, "accent"), cards, strict=True):
        assert contrast(bar, card) >= 3  # https://www.w3.org/TR/WCAG22/#non-text-contrast
        assert hue(bar) is None or hue(own) is None or apart(bar, own) < 10


@EACH_ACCENT
def test_lines_of_a_comparison_differ_for_any_accent_color(accent: str) -> None:
    for one, other in zip(colors(accent, "accent"), colors(accent, "other"), strict=True):
        assert hue(one) is None or apart(one, other) > 45


def hue(color: str) -> float | None:
    """Return a color's hue in degrees, None for gray."""
    turn, saturation, _ = colorsys.rgb_to_hsv(*(part / 255 for part in ImageColor.getrgb(color)[:3]))
    return 360 * turn if saturation > 0.2 else None


def apart(one: str, other: str) -> float:
    first, second = hue(one), hue(other)
    assert first is not None and second is not None
    return min(abs(first - second), 360 - abs(first - second))


def test_icons_and_badges_have_the_accent_color(merge: Merge) -> None:
    pages = Pages(merge(look=Look(accent="#0b7285")), served=True)
    for path in (THEME_ICON, "badges/id-ann/orb/any-orb.svg"):
        document = pages.document(path, {})
        assert isinstance(document, Document) and b"#0b7285" in document.body
    for path in ("favicon.ico", "apple-touch-icon.png"):
        document = pages.document(path, {})
        assert isinstance(document, Document)
        with Image.open(BytesIO(document.body)) as image:
            assert image.convert("RGB").getpixel((1, 1)) == ImageColor.getrgb("#0b7285")
    assert THEME_ICON in body(pages.view, "index.html")
    assert THEME_ICON in {each for group in groups(pages.view) for each in group.paths()}


def test_title_footer_and_accent_are_on_each_page(merge: Merge) -> None:
    view = merge(look=Look("Orb <Ratings>", "#0b7285", "Ask <us> on Discord"))
    for path in ("index.html", "leaderboards/orb/any-orb.html", "races/orb/a.html"):
        page = body(view, path)
        assert "Orb &lt;Ratings&gt;" in page
        assert "Ask &lt;us&gt; on Discord" in page
        assert THEME in page
    assert "--accent" in body(view, THEME)


def test_addresses_in_the_footer_are_links(merge: Merge) -> None:
    footer = 'Ask: https://discord.example/orb?a=1&b=2, <a href="javascript:x">not</a> javascript:alert(1)'
    page = body(merge(look=Look(footer=footer)), "index.html").partition("<footer>")[2]
    assert re.findall(r'href="([^"]*)"', page) == ["https://discord.example/orb?a=1&amp;b=2"]


def test_avatar_is_shown_once_it_is_fetched_and_initials_before(merge: Merge, tmp_path: Path) -> None:
    pictures = Pictures(tmp_path)
    profile = Profile(AVATAR, "they/them", "ann_runs")
    race = result("a", entrants=(replace(entrant("ann", time=3), profile=profile), entrant("bo", time=4)))
    page = body(merge([race], pictures=tmp_path), "players/id-ann/orb/any-orb.html")
    assert "<img" not in page
    assert "they/them" in page
    assert 'href="https://www.twitch.tv/ann_runs"' in page
    assert 'href="https://racetime.gg/user/id-ann"' in page
    pictures.store(AVATAR, b"a picture")
    view = merge([race], pictures=tmp_path)
    page = body(view, "players/id-ann/orb/any-orb.html")
    assert f"avatars/{name_of(AVATAR)}.webp" in page
    assert "racetime.gg/media" not in page
    index = Pages(view, served=False).document("assets/players.js", {})
    assert isinstance(index, Document)
    assert f'"avatars/{name_of(AVATAR)}.webp"'.encode() in index.body
    player = json.loads(body(view, "api/players/id-ann"))
    assert player["avatar"] == f"avatars/{name_of(AVATAR)}.webp"
    assert (player["pronouns"], player["twitch"]) == ("they/them", "ann_runs")
    picture = Pages(view, served=True).document(f"avatars/{name_of(AVATAR)}.webp", {})
    assert picture == Document(b"a picture", "image/webp")
    assert Pages(view, served=True).document("avatars/../../secret.webp", {}) is None


@pytest.mark.parametrize(("path", "side"), [("favicon.ico", 32), ("apple-touch-icon.png", 180)])
def test_icons_show_the_picture_of_the_svg(view: LedgerView, path: str, side: int) -> None:
    svg = asset(ICON).decode()
    square = 4.5
    background, *_ = re.findall(r'fill="(#\w{6})"', svg)
    white = [(float(x), float(y)) for x, y in re.findall(r"M([\d.]+) ([\d.]+)", svg)]
    assert len(white) == 8
    content = Pages(view, served=False).document(path, {})
    assert isinstance(content, Document)
    assert path in {each for group in groups(view) for each in group.paths()}
    with Image.open(BytesIO(content.body)) as image:
        assert image.size == (side, side)
        shown = image.convert("RGB")
    for x, y in [(7 + square * n, 7 + square * m) for n in range(4) for m in range(4)]:
        middle = (round((x + square / 2) * side / 32), round((y + square / 2) * side / 32))
        wanted = "#ffffff" if (x, y) in white else background
        assert shown.getpixel(middle) == ImageColor.getrgb(wanted)


def test_page_shows_the_name_of_its_category(merge: Merge) -> None:
    view = merge()
    view.ledger.profiles.see_category("orb", CategoryProfile("Orb Racing"))
    assert "Orb Racing" in body(merge([]), "leaderboards/orb/any-orb.html")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Ann Orbit", "AO"),
        ("ann", "A"),
        ("xX.Comet.Xx", "XC"),
        ("Мира Лесная", "МЛ"),
        ("雪の介", "雪"),
        ("👩‍👩‍👧 fox", "F"),
        ("👩‍👩‍👧", "?"),
        ("\u202e", "?"),
        ("<b>x</b>", "BX"),
    ],
)
def test_initials_stand_for_a_missing_avatar(name: str, shown: str) -> None:
    assert initials(name) == shown
