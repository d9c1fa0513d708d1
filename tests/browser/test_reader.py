"""Readers say which player they are, and their browser remembers it."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import BrowserContext, expect

from .conftest import BOARD, PLAYER, RACE, Open, hosted


def follow_reader(context: BrowserContext, root: str) -> None:
    """Choose a player on their page, look for the marks, and take the choice back on the front page."""
    page = context.new_page()
    page.goto(f"{root}{PLAYER}")
    page.get_by_role("button", name="This is me").click()
    expect(page.get_by_role("button", name="This is me", pressed=True)).to_be_visible()
    for path in (f"{BOARD}.html", RACE):
        page.goto(f"{root}{path}")
        expect(page.locator("tr.me")).to_have_count(1)
        expect(page.locator("tr.me .player")).to_have_text("Ann Orbit (you)")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{root}index.html")
    own = page.get_by_role("region", name="Your standing")
    expect(own).to_contain_text("points, place 2 of 30 on Any Orb")
    assert context.cookies() == []
    assert len(asked) > 4 and not any("id-r00" in url for url in asked), "no request names the reader"
    own.get_by_role("button", name="Not you?").click()
    expect(own.get_by_label("Do you race?")).to_be_visible()
    assert page.locator(".me").count() == 0
    own.get_by_label("Do you race?").fill("ann orbit")
    page.keyboard.press("Enter")
    page.locator("#results .player").click()
    expect(page.get_by_role("button", name="This is me", pressed=True)).to_be_visible()
    page.goto(f"{root}search.html?race=orb/race-59#me")  # as from chat
    page.wait_for_url(f"{root}players/id-r00.html")
    page.evaluate("localStorage.clear()")
    page.goto(f"{root}search.html?race=orb/race-59#me")
    expect(page.get_by_role("heading", name="Racers of race-59")).to_be_visible()
    expect(page.locator("#results .player")).to_have_count(8)
    page.locator("#results .player").last.click()
    expect(page.get_by_role("button", name="This is me", pressed=True)).to_be_visible()


def test_reader_is_marked_on_a_server_and_in_exported_pages(
    opened: Open, served: str, exported: Path
) -> None:
    with hosted(exported) as address:
        for root in (served, address):
            follow_reader(opened(), root)
