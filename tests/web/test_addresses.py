import re
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urljoin, urlsplit

import pytest
from builders import result
from hypothesis import example, given, strategies as st

from racebot.addresses import PAGE_SIZE, PLAYER, RACE, board_addresses, link, segment, text_of
from racebot.chat.links import comparison_page
from racebot.ledger.rows import Leaderboard
from racebot.settings.model import Settings
from racebot.web.site.ledger_view import LedgerView

from .conftest import Merge, document_at, page_at

BOARD = "leaderboards/orb/any-orb"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
@example("..")
@example(".hidden")
@example("~")
@example("a/b\\c")
def test_any_text_is_encoded_as_one_safe_path_segment_and_decoded(text: str) -> None:
    part = segment(text)
    assert text_of(part) == text
    assert PurePosixPath(part).parts == (part,)
    assert part not in {".", ".."} and part.isascii() and "\\" not in part


@pytest.mark.parametrize("part", ["~é", "~a", "~!!!!"])
def test_addresses_with_invalid_segments_have_no_page(part: str) -> None:
    assert PLAYER.match(f"players/{part}.html") is None


def test_ids_and_race_names_of_the_site_stay_unchanged() -> None:
    assert PLAYER.path(player="xldAMBlqvY3aOP57") == "players/xldAMBlqvY3aOP57.html"
    assert RACE.path(race="smr/curious-midfast-0534") == "races/smr/curious-midfast-0534.html"


def board(name: str, key: int, category: str = "smr") -> Leaderboard:
    return Leaderboard(category, name, (name,), "plackett-luce", {}, "ignore", id=key)


def test_leaderboard_addresses_contain_their_names_and_are_unique() -> None:
    boards = [
        board("Any% (Glitched)", 1),
        board("Any%: glitched", 2),
        board("任意", 3),
        board("Any%", 4, "alttpr"),
    ]
    stems = ["smr/any-glitched", "smr/any-glitched-2", "smr/leaderboard-3", "alttpr/any"]
    assert [address.stem for address in board_addresses(boards)] == stems


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("index.html", "players/a.html", "players/a.html"),
        ("players/a/smr/any.html", "index.html", "../../../index.html"),
        ("leaderboards/smr/any.html", "leaderboards/smr/any/page-2.html", "any/page-2.html"),
    ],
)
def test_links_are_relative_to_their_page(source: str, target: str, expected: str) -> None:
    assert link(source, target) == expected


def linked(view: LedgerView, player: str, other: str) -> SplitResult:
    """Return the address of the comparison that chat links."""
    settings = Settings(database=view.ledger.path, pages_url="https://ratings.example.org")
    (board,) = view.ledger.leaderboards.all()
    return urlsplit(comparison_page(settings, view.ledger, board, player, other) or "")


def test_comparison_from_chat_works_on_a_server_and_marks_the_opponent_in_an_export(view: LedgerView) -> None:
    address = linked(view, "id-ann", "id-bo")
    query = dict[str, Any](parse_qsl(address.query))
    assert "Races together" in page_at(view, address.path[1:], **query)
    exported = document_at(view, address.path[1:], served=False).body
    assert f'id="{address.fragment}"'.encode() in exported


def test_comparison_of_players_who_never_met_is_on_the_first_players_page(merge: Merge) -> None:
    view = merge([result("one", "ann bo"), result("two", "cy di", after=1)])
    address = linked(view, "id-ann", "id-cy")
    assert address.path == f"/{view.boards[0].address.player('id-ann')}"
    query = dict[str, Any](parse_qsl(address.query))
    assert "They have not met yet" in page_at(view, address.path[1:], **query)
    assert "They have not met yet" in page_at(view, address.path[1:], vs="CY"), "as typed without scripts"


@pytest.mark.parametrize("path", ["index", BOARD, f"{BOARD}/page-2", "races/orb/big"])
@pytest.mark.parametrize("url", ["", "https://ratings.example.org/orb"])
def test_every_page_names_its_canonical_address(merge: Merge, path: str, url: str) -> None:
    view = merge([result("big", " ".join(f"p{number}" for number in range(PAGE_SIZE + 1)))], url=url)
    (found,) = re.findall('<link rel="canonical" href="([^"]*)">', page_at(view, path))
    expected = "" if path == "index" else f"{path}.html"
    here = f"{url or 'http://pages'}/{path}.html"
    assert urljoin(here, found).removesuffix("index.html") == f"{url or 'http://pages'}/{expected}"


def test_search_engines_are_kept_from_endless_pages_below_any_prefix(merge: Merge) -> None:
    robots = page_at(merge(url="https://ratings.example.org/orb"), "robots.txt")
    assert "Disallow: /orb/search\n" in robots and "Disallow: /orb/api\n" in robots
