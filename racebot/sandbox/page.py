"""The sandbox's own pages: a race room and the list of rooms."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader

from racebot.sandbox.room import FakeRoom
from racebot.sandbox.site import FakeSite
from racebot.sandbox.text import ordinal, timer

_PAGES = Environment(loader=PackageLoader("racebot.sandbox"), autoescape=True)
_PAGES.filters |= {"ordinal": ordinal, "timer": timer}


def index(site: FakeSite) -> str:
    """Return the page that lists the rooms, newest first."""
    newest = sorted(site.rooms.values(), key=lambda room: room.opened_at, reverse=True)[:200]
    return _PAGES.get_template("index.html").render(title=site.category.name, rooms=newest)


def room_page(site: FakeSite, room: FakeRoom) -> str:
    """Return the page of one room: entrants and info on one side, chat on the other."""
    lines = sorted([*room.chat, *room.notes], key=lambda line: line.posted_at)[-100:]
    racers = [entrant.user for entrant in room.entrants]
    return _PAGES.get_template("room.html").render(
        title=room.name,
        room=room,
        entrants=sorted(room.entrants, key=lambda entrant: (entrant.place or 999, entrant.number)),
        pinned=[line for line in room.chat if line.pinned],
        log=[line for line in lines if not line.pinned],
        users=[u for u in site.users.values() if not u.deleted and (not room.started or u in racers)],
    )


def discord(site: FakeSite) -> str:
    """Return the page with the messages of all webhooks, newest first."""
    return _PAGES.get_template("discord.html").render(
        title="Discord", messages=[*site.discord.values()][::-1]
    )
