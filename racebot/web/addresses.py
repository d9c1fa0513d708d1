"""Where each page is: paths relative to the pages' root, and links from one to another.

Every link is relative, so that the same pages work at any place of any host, and from a folder.
"""

from __future__ import annotations

import base64
import posixpath
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from racebot.ledger.rows import Leaderboard

FRONT = "index.html"
ALL_DATA = "api/leaderboards.json"
OPENAPI = "api/openapi.json"
NO_JEKYLL = ".nojekyll"
"""Tells GitHub's pages to publish files as they are."""
PAGE_SIZE = 250
"""Players on one page of a leaderboard."""

_PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")


def segment(text: str) -> str:
    """Any text as one part of a path that every file system and host takes, `~` marking what is encoded."""
    if _PLAIN.fullmatch(text):
        return text
    return "~" + base64.urlsafe_b64encode(text.encode(errors="surrogatepass")).decode().rstrip("=")


def text_of(part: str) -> str:
    """What `segment` was given.

    Raises:
        ValueError: nothing that it makes.
    """
    if not part.startswith("~"):
        return part
    padded = part[1:] + "=" * (-len(part[1:]) % 4)
    return base64.b64decode(padded, altchars=b"-_", validate=True).decode()


@dataclass(frozen=True, slots=True)
class BoardAddress:
    """Where the pages of one leaderboard are: `stem` is its category and its name as they stand in paths."""

    stem: str

    def page(self, number: int = 1) -> str:
        stem = f"leaderboards/{self.stem}"
        return f"{stem}.html" if number == 1 else f"{stem}/page-{number}.html"

    @property
    def explained(self) -> str:
        return f"leaderboards/{self.stem}/explained.html"

    def races(self, number: int = 1) -> str:
        return f"leaderboards/{self.stem}/races{'' if number == 1 else f'-{number}'}.html"

    def player(self, player: str) -> str:
        return f"players/{segment(player)}/{self.stem}.html"

    @property
    def data(self) -> str:
        return f"api/leaderboards/{self.stem}.json"

    @property
    def races_data(self) -> str:
        return f"api/leaderboards/{self.stem}/races.json"

    @property
    def changes_data(self) -> str:
        return f"api/leaderboards/{self.stem}/changes.json"

    def player_data(self, player: str) -> str:
        return f"api/leaderboards/{self.stem}/players/{segment(player)}.json"

    @property
    def sheet(self) -> str:
        return f"api/leaderboards/{self.stem}.csv"

    @property
    def changes_sheet(self) -> str:
        return f"api/leaderboards/{self.stem}/changes.csv"


def player(player_id: str) -> str:
    return f"players/{segment(player_id)}.html"


def player_data(player_id: str) -> str:
    return f"api/players/{segment(player_id)}.json"


def race(name: str) -> str:
    return f"races/{_name(name)}.html"


def race_data(name: str) -> str:
    return f"api/races/{_name(name)}.json"


def board_addresses(boards: Iterable[Leaderboard]) -> list[BoardAddress]:
    """An address for each leaderboard, in their order; a number tells apart those that would share one."""
    taken: set[str] = set()
    addresses = []
    for board in boards:
        stem = f"{segment(board.category or '-')}/{_slug(board.name) or f'leaderboard-{board.key}'}"
        if stem in taken:
            stem = f"{stem}-{board.key}"
        taken.add(stem)
        addresses.append(BoardAddress(stem))
    return addresses


def link(source: str, target: str) -> str:
    """A link to `target` on the page at `source`, both paths from the root."""
    return quote(posixpath.relpath(target, posixpath.dirname(source) or "."))


def _name(race_name: str) -> str:
    return "/".join(segment(part) for part in race_name.split("/"))


def _slug(text: str) -> str:
    ascii_only = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", ascii_only.lower()).strip("-")[:80]
