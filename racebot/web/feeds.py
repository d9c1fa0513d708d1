"""Atom feeds of leaderboards and players. Format: https://www.rfc-editor.org/rfc/rfc4287."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import NAMESPACE_URL, uuid5
from xml.etree import ElementTree as ET

from racebot.text.format import integer, signed
from racebot.web import addresses
from racebot.web.addresses import Route, link
from racebot.web.asked import Asked
from racebot.web.document import ATOM, Content, Document
from racebot.web.formats import plain_name, race_title, slug, standing as standing_of
from racebot.web.view import Board

ENTRIES = 30
_NAMESPACE = "http://www.w3.org/2005/Atom"
_NEVER = datetime(2000, 1, 1, tzinfo=UTC)
"""When a leaderboard without races was updated: a feed must say."""


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """An entry of a feed: a race, its number in the leaderboard's sequence, and when it ended."""

    race: str
    title: str
    sequence: int
    ended_at: datetime


def board_feed(asked: Asked, board: Board) -> Content:
    """Return the feed of a leaderboard's last races."""
    races = asked.view.ledger.pages.races(board.key, ENTRIES)
    entries = [FeedEntry(race.race, race_title(race), race.sequence, race.ended_at) for race in races]
    return _feed(asked, board, plain_name(board.name), board.address.page(), entries)


def player_feed(asked: Asked, board: Board, player: str) -> Content:
    """Return the feed of a player's last races on a leaderboard."""
    standing = asked.view.standing(board, player)
    if standing is None:
        return None
    name = plain_name(standing.name)
    entries = [
        FeedEntry(
            race.race,
            f"{name}: {integer(race.before)} → {integer(race.after)} ({signed(race.change)}), "
            f"{standing_of(race)} in {slug(race.race)}",
            race.sequence,
            race.ended_at,
        )
        for race in asked.view.history(board, player)[: -ENTRIES - 1 : -1]
    ]
    title = f"{name} on {plain_name(board.name)}"
    return _feed(asked, board, title, board.address.player(player), entries)


def _feed(asked: Asked, board: Board, title: str, page: str, entries: Sequence[FeedEntry]) -> Document:
    # Some readers skip entries older than the newest they know. A race may be recorded long after it ended.
    updated = asked.view.ledger.pages.updated(board.key, [entry.sequence for entry in entries])
    feed = ET.Element("feed", xmlns=_NAMESPACE)
    _add(feed, "title", title)
    _add(feed, "id", _id(asked, asked.path))
    _add(feed, "updated", _time(max(updated.values(), default=_NEVER)))
    ET.SubElement(feed, "link", rel="self", type=ATOM.partition(";")[0], href=_address(asked, asked.path))
    ET.SubElement(feed, "link", rel="alternate", type="text/html", href=_address(asked, page))
    author = ET.SubElement(feed, "author")
    _add(author, "name", "racebot")
    for entry in entries:
        about = addresses.RACE.path(race=entry.race)
        element = ET.SubElement(feed, "entry")
        _add(element, "title", entry.title)
        _add(element, "id", _id(asked, f"{asked.path} {about}"))
        _add(element, "published", _time(entry.ended_at))
        _add(element, "updated", _time(updated[entry.sequence]))
        ET.SubElement(element, "link", rel="alternate", type="text/html", href=_address(asked, about))
    return Document(ET.tostring(feed, encoding="utf-8", xml_declaration=True), ATOM)


def _add(parent: ET.Element, tag: str, text: str) -> None:
    ET.SubElement(parent, tag).text = text


def _address(asked: Asked, target: str) -> str:
    """Return the address of a page, relative to the feed if that of the pages is unknown."""
    url = asked.view.publication.url
    return f"{url}/{link('', target)}" if url else link(asked.path, target)


def _id(asked: Asked, what: str) -> str:
    """Return an id that stays the same when the pages move to another host."""
    return uuid5(NAMESPACE_URL, f"{asked.view.publication.site} {what}").urn


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")


FEEDS: Mapping[Route, Callable[..., Content]] = {
    addresses.BOARD_FEED: board_feed,
    addresses.PLAYER_FEED: player_feed,
}
"""Every feed with its function."""
