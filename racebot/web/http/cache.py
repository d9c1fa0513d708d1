"""Render documents in several threads, and cache them until the ledger changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path

from racebot import addresses
from racebot.ledger.store import Ledger
from racebot.web.html.live import LIVE
from racebot.web.routes import MatchedRoute, Pages
from racebot.web.site.ledger_view import Content, Document, LedgerView, Publication
from racebot.web.site.live_rooms import LiveReader

MOST = 256  # most documents to cache
MOST_BYTES = 2**25  # most bytes of all cached documents, with their addresses

_ON_LIVE_FILE = frozenset({addresses.FRONT, addresses.LIVE_DATA, *LIVE})

Key = tuple[str, tuple[tuple[str, str], ...], str]  # a path, its query, and the state of the live file
Version = tuple[int, date]  # the ledger's version, and the day: a season becomes final at midnight


@dataclass(eq=False)
class CachedPages:
    """Renders and caches documents from the ledger. All methods are thread-safe, except `close`."""

    database: Path
    publication: Publication
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    cache: dict[Key, Document] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _watch: Ledger | None = None
    _inode: int = 0
    _version: Version | None = None
    _local: threading.local = field(default_factory=threading.local)
    _readers: list[_Reader] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._live = LiveReader(self.database)

    def document(self, match: MatchedRoute, query: Mapping[str, str]) -> Content:
        """Return the content at an address, from the cache if the ledger has not changed."""
        cache, live = self._current_cache(), self._live
        asked, fields = match.route.known(query), match.fields
        race = fields.get("race") or asked.get("race")
        is_live = (
            match.route in _ON_LIVE_FILE
            or (race is not None and live.knows(race))
            or (match.route is addresses.BOARD and bool(live.rooms().scored(fields["board"])))
            or (match.route is addresses.PLAYER_ON_BOARD and bool(live.rooms().of(fields["player"])))
        )
        key = match.path, tuple(asked.items()), live.stamp() if is_live else ""
        known = cache.get(key)
        if known is not None:
            return known
        content = self._reader().document(match, query, self.clock())
        if isinstance(content, Document) and (size := _size(key, content)) <= MOST_BYTES / 8:
            cached = list(cache.items())  # other threads add to it
            if len(cached) >= MOST or size + sum(_size(*each) for each in cached) > MOST_BYTES:
                cache.clear()
            cache[key] = content
        return content

    def stamp(self) -> str:
        """Return a text that changes whenever a document may have changed."""
        self._current_cache()
        version, day = self._version or (0, "")
        return f"{self._inode} {version} {day} {self._live.stamp()}"

    def close(self) -> None:
        """Close all connections. Do not call any method during or after this."""
        for each in (*self._readers, self._watch):
            if each is not None:
                each.close()

    def _current_cache(self) -> dict[Key, Document]:
        """Return the cache, a new one whenever the database has been written to or replaced."""
        with self._lock:
            try:
                inode = self.database.stat().st_ino
            except OSError:
                inode = 0
            if self._watch is not None and inode != self._inode:
                self._watch.close()
                self._watch = None
            if self._watch is None:
                self._watch = Ledger.open_to_read(self.database)
                self._inode, self._version = inode, None
            version = self._watch.data_version(), self.clock().date()
            if version != self._version:
                self._version, self.cache = version, {}
            return self.cache

    def _reader(self) -> _Reader:
        """Return this thread's reader, a new one if the database has been replaced."""
        reader: _Reader | None = getattr(self._local, "reader", None)
        if reader is None or reader.inode != self._inode:
            if reader is not None:
                self._readers.remove(reader)
                reader.close()
            reader = _Reader(self.database, self._inode, self.publication, self._live)
            self._local.reader = reader
            self._readers.append(reader)
        return reader


def _size(key: Key, document: Document) -> int:
    return len(document.body) + len(repr(key))


class _Reader:
    """A connection to the ledger, with the pages of what it last read."""

    def __init__(self, database: Path, inode: int, publication: Publication, live: LiveReader) -> None:
        self.inode = inode
        self._live = live
        self._publication = publication
        self._ledger = Ledger.open_to_publish(database)
        self._pages: Pages | None = None
        self._version: Version | None = None
        self.close = self._ledger.close

    def document(self, match: MatchedRoute, query: Mapping[str, str], now: datetime) -> Content:
        with self._ledger.snapshot():
            # Compare inside the snapshot, so that what the pages remember is from the same one.
            version = self._ledger.data_version(), now.date()
            if self._pages is None or version != self._version:
                view = LedgerView(self._ledger, self._publication, self._live, now=now)
                self._pages, self._version = Pages(view, served=True), version
            return self._pages.content(match, query)
