"""Hidden players, of whom the pages show nothing, and merged accounts, whose old addresses lead on."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from builders import NOON, entrant, result

from racebot.chat.links import comparison_page
from racebot.ledger.pictures import Pictures, name_of
from racebot.ledger.store import Ledger
from racebot.queries.standings import Listing
from racebot.races.result import HIDDEN_NAME, Profile
from racebot.scoring.rules import rules_of
from racebot.settings.model import Settings
from racebot.standings import orders
from racebot.standings.settle import Settler
from racebot.web.export import export
from racebot.web.export_tokens import export_tokens
from racebot.web.http.server import application
from racebot.web.routes import Pages
from racebot.web.site.ledger_view import Document, LedgerView, Publication

from .conftest import PLAYER_PATHS, RACES, Merge, page_at, rate
from .test_api import check_answers

BOARD = "api/leaderboards/orb/any-orb"


@pytest.fixture
def view(ledger: Ledger) -> Iterator[LedgerView]:
    """The pages of 26 races, which a hidden player won."""
    names = ["b", *(f"r{number:02d}" for number in range(25))]
    settler = rate(ledger, *(result(name, "zaphira ann bo", after=n) for n, name in enumerate(names)))
    (player,) = ledger.players.called("Zaphira")
    orders.hide(settler, player, "asked", NOON)
    with Ledger.open_to_publish(ledger.path) as shown:
        scored = Listing(scoring=rules_of("sgl-2025", cut=1))
        yield LedgerView(shown, Publication(lambda _: scored))


def body(view: LedgerView, path: str, *, served: bool = True, **query: str) -> bytes | None:
    content = Pages(view, served=served).document(path, query)
    return content.body if isinstance(content, Document) else None


def test_no_document_has_the_name_or_id_of_a_hidden_player(view: LedgerView) -> None:
    paths = [*export_tokens(view, []), f"{BOARD}/changes"]
    assert len(paths) > 80
    for path in paths:
        found = body(view, path)
        if found is not None:
            assert b"aphira" not in found, path
    assert b"aphira" not in (body(view, "players/id-ann/orb/any-orb", vs="id-bo") or b"")
    assert HIDDEN_NAME.encode() in (body(view, "races/orb/r00.html") or b"")


@pytest.mark.parametrize("path", PLAYER_PATHS)
def test_hidden_players_have_no_pages(view: LedgerView, path: str) -> None:
    hidden, shown = path.format("id-zaphira"), path.format("id-ann")
    assert body(view, shown) is not None
    assert body(view, hidden) is None
    assert hidden not in export_tokens(view, [])


def test_programs_cannot_ask_about_hidden_players(view: LedgerView) -> None:
    player = "players/id-ann/orb/any-orb.html"
    assert body(view, player, vs="id-zaphira") == body(view, player, vs="id-nobody")


def test_odds_do_not_tell_a_hidden_player_from_an_unknown_one(view: LedgerView) -> None:
    def entrant(player: str) -> dict[str, Any]:
        found = json.loads(body(view, f"{BOARD}/odds", players=f"id-ann,{player}") or b"")
        return dict(found["entrants"][1])

    assert entrant("id-zaphira") == entrant("id-nobody") | {"id": "id-zaphira"}


@pytest.mark.usefixtures("with_event")
def test_answers_with_hidden_players_match_the_description(view: LedgerView) -> None:
    check_answers(view, served=True)
    changes = json.loads(body(view, f"{BOARD}/changes") or b"")["changes"]
    named = {(each["player"], each["name"]) for each in changes}
    assert named == {("id-ann", "Ann"), ("id-bo", "Bo"), (None, HIDDEN_NAME)}


def test_chat_links_no_comparison_with_a_hidden_player(view: LedgerView) -> None:
    settings = Settings(database=view.ledger.path, pages_url="https://ratings.example.org")
    (board,) = view.ledger.leaderboards.all()
    assert comparison_page(settings, view.ledger, board, "id-ann", "id-bo") is not None
    assert comparison_page(settings, view.ledger, board, "id-ann", "id-zaphira") is None


@pytest.mark.parametrize("order", [orders.hide, orders.forget])
def test_picture_of_a_hidden_or_forgotten_player_is_gone(
    merge: Merge, ledger: Ledger, tmp_path: Path, order: Callable[..., object]
) -> None:
    avatars = {name: f"/media/{name}.png" for name in ("ann", "bo")}
    entrants = [replace(entrant(name, time=1), profile=Profile(at)) for name, at in avatars.items()]
    of_ann, of_bo = (f"avatars/{name_of(at)}.webp" for at in avatars.values())
    for at in avatars.values():
        Pictures(tmp_path).store(at, b"a picture")
    view = merge([result("a", entrants=tuple(entrants))], pictures=tmp_path)
    assert body(view, of_ann) == body(view, of_bo) == b"a picture"
    (player,) = ledger.players.called("Ann")
    order(rate(ledger), player, "asked", NOON)
    with Ledger.open_to_publish(ledger.path) as shown:
        fresh = LedgerView(shown, view.publication)
        for served in (True, False):
            assert body(fresh, of_ann, served=served) is None
            assert body(fresh, of_bo, served=served) == b"a picture"
            assert (of_ann in export_tokens(fresh, []), of_bo in export_tokens(fresh, [])) == (False, True)


# Merged accounts


@pytest.fixture
def settler(ledger: Ledger) -> Settler:
    """A ledger in which the account id-old, which raced Di, was merged into Ann's."""
    settler = rate(ledger, *RACES, result("d", "old di", after=300))
    merge_accounts(settler, "old", "ann")
    return settler


def merge_accounts(settler: Settler, old: str, kept: str) -> None:
    players = (settler.ledger.players.get(f"id-{name}") for name in (old, kept))
    one, other = (player for player in players if player is not None)
    orders.merge_accounts(settler, one, other, "same", NOON)


@pytest.mark.parametrize("path", [*PLAYER_PATHS, "players/{}", "players/{}/orb/any-orb?vs=id-bo"])
async def test_old_addresses_lead_to_the_kept_account(settler: Settler, path: str) -> None:
    transport = httpx.ASGITransport(application(settler.ledger.path, Publication()))
    async with httpx.AsyncClient(transport=transport, base_url="http://pages/") as client:
        moved = await client.get(path.format("id-old"))
        assert moved.status_code == 308
        found = await client.get(moved.url.join(moved.headers["location"]))
        kept = await client.get(path.format("id-ann"))
        assert (found.status_code, found.content) == (200, kept.content)
        (player,) = settler.ledger.players.called("Ann")
        orders.hide(settler, player, "asked", NOON)
        assert (await client.get(path.format("id-old"))).status_code == 404


def test_overlays_and_queries_follow_the_kept_account(settler: Settler) -> None:
    view = LedgerView(settler.ledger, Publication())
    for path in ("overlay/player/{}.html", "overlay/part/player/{}.html", "overlay/part/player/{}/room.html"):
        assert page_at(view, path.format("id-old")) == page_at(view, path.format("id-ann"))
    of_ann = page_at(view, f"{BOARD}/odds.json", players="id-ann,id-bo")
    assert page_at(view, f"{BOARD}/odds.json", players="id-old,id-bo") == of_ann


def test_old_addresses_follow_several_merges(settler: Settler) -> None:
    settler.add_past_races([result("e", "fay di", after=400)], "import")
    merge_accounts(settler, "ann", "fay")
    view = LedgerView(settler.ledger, Publication())
    assert page_at(view, "overlay/part/player/id-old.html") == page_at(
        view, "overlay/part/player/id-fay.html"
    )


def test_export_has_pages_that_lead_to_the_kept_account(settler: Settler, tmp_path: Path) -> None:
    folder = tmp_path / "public"
    export(settler.ledger, Publication(url="https://ratings.example.org"), folder)
    page = (folder / "players/id-old/orb/any-orb.html").read_text(encoding="utf-8")
    target = "id-ann/orb/any-orb.html"
    assert f'<link rel="canonical" href="https://ratings.example.org/players/{target}">' in page
    assert f'<meta http-equiv="refresh" content="0; url=../../{target}">' in page
    assert f'<a href="../../{target}">' in page
    old, kept = (folder / f"api/players/{player}.json" for player in ("id-old", "id-ann"))
    assert old.read_bytes() == kept.read_bytes()
