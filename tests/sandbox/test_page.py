"""The sandbox's pages, and the escaping of user text in them."""

from __future__ import annotations

from racebot.sandbox import page
from racebot.sandbox.site import FakeSite

from .conftest import Make

HOSTILE = '<script>alert("1")</script>&\'"'


def test_a_room_shows_results_info_and_chat(site: FakeSite, finished: Make) -> None:
    room = finished()
    room.set_info(site.bot, "Seed https://example.org/a?b=1&c=2")
    room.say("Ann", "well played")
    room.say_as_bot(
        site.bot,
        "Ratings",
        actions={
            "Why?": {"message": "!why", "help_text": "explain"},
            "Board": {"url": "https://example.org/b"},
        },
    )
    room.say_as_bot(site.bot, "psst", direct_to=site.user("Bo"))
    text = page.room_page(site, room)
    assert "<td>1st</td><td>Ann</td><td>1:00:00</td>" in text
    assert '<a href="https://example.org/a?b=1&amp;c=2"' in text
    assert "<b>Ann</b>: well played" in text
    assert 'title="explain" data-say="!why">Why?</button>' in text
    assert '<a href="https://example.org/b" title="">Board</a>' in text
    assert f"{site.bot.name} → Bo alone" in text
    room.record()
    site.delete_user("Bo")
    text = page.room_page(site, room)
    assert "finished, recorded" in text
    assert "Chat is closed." in text
    assert "(deleted account)" in text


def test_everything_is_escaped(site: FakeSite) -> None:
    site.rename_user("Ann", HOSTILE)
    room = site.open_race(HOSTILE)
    room.enter(HOSTILE)
    room.say(HOSTILE, HOSTILE)
    room.set_info(site.bot, HOSTILE)
    room.say_as_bot(site.bot, HOSTILE, actions={HOSTILE: {"message": HOSTILE, "help_text": HOSTILE}})
    room.say_as_bot(site.bot, "x", actions={HOSTILE: {"url": f"javascript:{HOSTILE}"}})
    room.say_as_bot(site.bot, "https://example.org/" + HOSTILE)
    for text in (page.room_page(site, room), page.index(site)):
        assert HOSTILE not in text
        assert "<script>alert" not in text
        assert 'href="javascript' not in text


def test_hidden_entrants_stay_hidden(site: FakeSite, started: Make) -> None:
    room = started(hide_entrants=True)
    room.say("Ann", "guess who")
    shown = page.room_page(site, room).partition("<form")[0]
    assert "Ann" not in shown
    assert room.entrant("Ann").alias in shown


def test_rooms_are_listed_with_buttons(site: FakeSite, started: Make) -> None:
    room = started()
    listed = page.index(site)
    assert "data-open" in listed
    assert f'<a href="/{room.name}">{room.slug}</a></td><td>{room.goal}</td><td>in progress' in listed
    text = page.room_page(site, room)
    for button in ('data-user="enter"', 'data-user="finish"', 'data-race="start"', 'data-race="record"'):
        assert button in text
