"""Accounts that were merged: their old addresses lead to the account that was kept."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from builders import NOON, result

from racebot.ledger.store import Ledger
from racebot.standings import orders
from racebot.standings.settle import Settler
from racebot.web.export import export
from racebot.web.http.server import application
from racebot.web.site.ledger_view import LedgerView, Publication

from .conftest import PLAYER_PATHS, RACES, page_at, rate


@pytest.fixture
def settler(ledger: Ledger) -> Settler:
    """A ledger in which the account id-old, which raced Di, was merged into Ann's."""
    settler = rate(ledger, *RACES, result("d", "old di", after=300))
    merge(settler, "old", "ann")
    return settler


def merge(settler: Settler, old: str, kept: str) -> None:
    players = (settler.ledger.players.get(f"id-{name}") for name in (old, kept))
    one, other = (player for player in players if player is not None)
    orders.merge_accounts(settler, one, other, "same", NOON)


@pytest.mark.parametrize("path", [*PLAYER_PATHS, "players/{}", "players/{}/orb/any-orb/races?result=won"])
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
    board = "api/leaderboards/orb/any-orb"
    of_ann = page_at(view, f"{board}/head-to-head.json", a="id-ann", b="id-bo")
    assert page_at(view, f"{board}/head-to-head.json", a="id-old", b="id-bo") == of_ann
    of_ann = page_at(view, f"{board}/odds.json", players="id-ann,id-bo")
    assert page_at(view, f"{board}/odds.json", players="id-old,id-bo") == of_ann


def test_old_addresses_follow_several_merges(settler: Settler) -> None:
    settler.add_past_races([result("e", "fay di", after=400)], "import")
    merge(settler, "ann", "fay")
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
    for path in ("badges/{}/orb/any-orb.svg", "api/players/{}.json"):
        old, kept = (folder / path.format(player) for player in ("id-old", "id-ann"))
        assert old.read_bytes() == kept.read_bytes()
