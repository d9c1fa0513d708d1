"""Cards: their size, their margins, and names that fonts and layouts do not expect."""

import io
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from builders import result
from PIL import Image

from racebot.races.result import Profile
from racebot.web.pictures import cards, fonts
from racebot.web.pictures.cards import HEIGHT, MARGIN, WIDTH, Canvas
from racebot.web.pictures.fonts import Style
from racebot.web.site.ledger_view import PNG, LedgerView

from .conftest import Merge, document_at
from .test_hostile_names import NAMES

BOARD = "cards/leaderboards/orb/any-orb.png"
PLAYER = "cards/players/id-ann/orb/any-orb.png"
RACE = "cards/races/orb/a.png"
ALL = ("cards/index.png", BOARD, PLAYER, RACE)

HOSTILE = (*NAMES[6:17:2], "雪の介と申します", "김철수", "ﷺ﷽", "x" * 60, "")
ZALGO = "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘!͖̬̰̙̗̿̋ͥͥ̂ͣ̐́́͜͞"


def picture(view: LedgerView, path: str) -> Image.Image:
    content = document_at(view, path)
    assert content.media_type == PNG
    return Image.open(io.BytesIO(content.body)).convert("RGB")


@pytest.mark.parametrize("name", [*HOSTILE, ZALGO])
def test_hostile_names_stay_within_the_margins(merge: Merge, name: str) -> None:
    race = result("a", "ann bo cy")
    view = merge([replace(race, entrants=tuple(replace(e, name=name) for e in race.entrants))])
    for path in ALL:
        shown = picture(view, path)
        assert shown.size == (WIDTH, HEIGHT) == (1200, 630)
        for box in ((0, 30, MARGIN - 16, HEIGHT), (WIDTH - MARGIN + 16, 30, WIDTH, HEIGHT)):
            colors = shown.crop(box).getcolors()
            assert colors is not None and len(colors) == 1, path


def test_title_and_address_of_the_pages_never_overlap() -> None:
    short, long = Canvas(), Canvas()
    short.footer("W" * 99, "")
    long.footer("W" * 99, "w" * 200)
    ink = [np.asarray(Image.open(io.BytesIO(c.png())).convert("L"))[560:] < 200 for c in (short, long)]
    title_end = np.flatnonzero(ink[0].any(axis=0)).max()
    assert (ink[0][:, : title_end + 20] == ink[1][:, : title_end + 20]).all()


def test_characters_that_no_font_can_draw_leave_no_gap() -> None:
    assert cards.name("Ann", "id-ann") == "Ann"
    assert cards.name("\U000f0000 ann \U000f0000 bo \U000f0000") == "ann bo"
    assert cards.name("\U000f0000\u200b", "id-ann") == "id-ann"


def test_marks_are_drawn_only_with_their_letter_and_by_its_font() -> None:
    assert fonts.drawable("a\N{MUSICAL SYMBOL COMBINING DOIT}b") == "ab"
    assert fonts.drawable("\U000f0000\N{COMBINING ACUTE ACCENT}\ufe0f ann") == " ann"
    assert fonts.drawable("e\N{COMBINING ACUTE ACCENT}") == "e\N{COMBINING ACUTE ACCENT}"
    assert fonts.drawable("a" + 9 * "\N{COMBINING ACUTE ACCENT}" + "b") == "a\u0301\u0301b"
    assert cards.name("\U000f0000\ufe0f\u200d\U000f0000", "id-ann") == "id-ann"


@pytest.mark.parametrize(
    ("text", "shown"),
    [("Ann ليلى", ["Ann ", "ليلى"]), ("ليلى Ann", ["Ann", "ليلى "]), ("12 ليلى…", ["…", "ليلى", "12 "])],
)
def test_parts_of_a_name_are_drawn_in_the_direction_of_its_first_letter(text: str, shown: list[str]) -> None:
    assert [run.text for run in fonts.runs(text, Style(34, 600))] == shown


with_cjk = pytest.mark.skipif(find_spec("justmytype_intl_cjk") is None, reason="needs the extra cjk")


@pytest.mark.parametrize(
    "text", ["W" * 200, "ليلى " * 60, pytest.param("日本" * 90, marks=with_cjk), "e\u0301" * 200]
)
def test_long_text_is_cut_to_its_limit(text: str) -> None:
    style = Style(40)
    short = fonts.shortened(text, style, 500)
    assert fonts.width(short, style) <= 500
    assert short.endswith("…") and text.startswith(short[:-1].rstrip())
    assert fonts.shortened("Ann", style, 500) == "Ann"


def test_cards_are_drawn_in_several_threads_at_once(view: LedgerView) -> None:
    expected = picture(view, BOARD).tobytes()

    def draw(_: int) -> bytes:
        canvas = Canvas()
        canvas.title("Ann 雪 ليلى", WIDTH)
        return canvas.png()

    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(draw, range(16)))
    assert len(set(drawn)) == 1
    assert picture(view, BOARD).tobytes() == expected


@pytest.mark.parametrize(
    ("name", "drawn_as"), [("𝓕𝓪𝓷𝓬𝔂 😀", "Fancy"), ("😀🏁", "ann_runs"), ("שלום", "שלום")]
)
def test_names_are_drawn_with_plain_letters_or_the_name_of_the_stream(
    merge: Merge, drawn: list[str], name: str, drawn_as: str
) -> None:
    race = result("a", "ann bo")
    ann = replace(race.entrants[0], name=name, profile=Profile(twitch="ann_runs"))
    view = merge([replace(race, entrants=(ann, race.entrants[1]))])
    view.ledger.profiles.save([ann], current=True)
    for path in ALL:
        drawn.clear()
        document_at(view, path)
        assert drawn_as in drawn and "id-ann" not in drawn and "?" not in drawn
