"""Render documents in several threads, and cache them until the ledger changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path

from racebot import addresses
from racebot.ledger.store import Ledger
from racebot.web.html.live import LIVE
from racebot.web.routes import MatchedRoute, Pages
from racebot.web.site.ledger_view import Content, Document, LedgerView, Publication, Streamed
from racebot.web.site.live_rooms import LiveReader

CACHE_BYTES = 32 * 2**20
LARGEST_SHARE = 8  # A document larger than the cache size divided by this is not cached
ENTRY_BYTES = 1000  # memory of a cached document besides its content and its query

_ON_LIVE_FILE = frozenset({addresses.FRONT, addresses.LIVE_DATA, *LIVE})

Key = tuple[str, tuple[tuple[str, str], ...]]
Version = tuple[int, date]  # the ledger's version, and the day: a season becomes final at midnight


class Cache:
    """A thread-safe cache of documents. It starts over when they and their keys take too many bytes."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._documents: dict[Key, Document] = {}
        self.size = 0

    def get(self, key: Key) -> Document | None:
        return self._documents.get(key)

    def put(self, key: Key, document: Document) -> None:
        """Cache a document, unless it is too large."""
        size = ENTRY_BYTES + len(repr(key)) + len(document.body)
        if size > self._limit // LARGEST_SHARE:
            return
        with self._lock:
            if self.size + size > self._limit:
                self._documents, self.size = {}, 0
            if self._documents.setdefault(key, document) is document:
                self.size += size


class CachedPages:
    """Renders and caches documents from the ledger. All methods are thread-safe, except `close`."""

    def __init__(
        self,
        database: Path,
        publication: Publication,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._clock = clock
        self._database = database
        self._publication = publication
        self._lock = threading.Lock()
        self._watch: Ledger | None = None
        self._inode = 0
        self._version: Version | None = None
        self._local = threading.local()
        self._readers: list[_Reader] = []
        self._live = LiveReader(database)
        self.cache = Cache()

    def document(self, match: MatchedRoute, query: Mapping[str, str]) -> Content:
        """Return the content at an address, from the cache if the ledger has not changed."""
        cache = self._current_cache()
        key = cache_key(match, query)
        is_race = match.route in {addresses.RACE, addresses.RACE_CARD}
        race = match.fields["race"] if is_race else dict(key[1]).get("race")
        if (race is not None and self._live.knows(race)) or match.route in _ON_LIVE_FILE:
            key = key[0], (*key[1], ("live", self._live.stamp()))
        elif match.route is addresses.BOARD:
            scored = self._live.rooms().scored(match.fields["board"])
            key = key[0], (*key[1], *((room.race, repr(board.scores)) for room, board in scored))
        elif match.route is addresses.PLAYER_ON_BOARD:
            rooms = self._live.rooms().of(match.fields["player"])
            key = key[0], (*key[1], *((room.race, repr((room.status, each))) for room, _, each in rooms))
        known = cache.get(key)
        if known is not None:
            return known
        content = self._reader().document(match, query, self._clock())
        if isinstance(content, Document):
            cache.put(key, content)
        return content

    def stamp(self) -> str:
        """Return a text that changes whenever a document may have changed."""
        self._current_cache()
        version, day = self._version or (0, "")
        return f"{self._inode} {version} {day} {self._live.stamp()}"

    def chunks(self, match: MatchedRoute) -> Iterator[bytes]:
        """Yield the chunks of a streamed document. Each call uses its own connection."""
        with closing(self._new_reader()) as reader:
            content = reader.document(match, {}, self._clock())
            if isinstance(content, Streamed):
                yield from content.chunks()

    def close(self) -> None:
        """Close all connections. Do not call any method during or after this."""
        for each in (*self._readers, self._watch):
            if each is not None:
                each.close()

    def _current_cache(self) -> Cache:
        """Return the cache, a new one whenever the database has been written to or replaced."""
        with self._lock:
            try:
                inode = self._database.stat().st_ino
            except OSError:
                inode = 0
            if self._watch is not None and inode != self._inode:
                self._watch.close()
                self._watch = None
            if self._watch is None:
                self._watch = Ledger.open_to_read(self._database)
                self._inode, self._version = inode, None
            version = self._watch.data_version(), self._clock().date()
            if version != self._version:
                self._version, self.cache = version, Cache()
            return self.cache

    def _reader(self) -> _Reader:
        """Return this thread's reader, a new one if the database has been replaced."""
        reader: _Reader | None = getattr(self._local, "reader", None)
        if reader is None or reader.inode != self._inode:
            if reader is not None:
                self._readers.remove(reader)
                reader.close()
            reader = self._local.reader = self._new_reader()
            self._readers.append(reader)
        return reader

    def _new_reader(self) -> _Reader:
        return _Reader(self._database, self._inode, self._publication, self._live)


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


def cache_key(match: MatchedRoute, query: Mapping[str, str]) -> Key:
    """Return the cache key of a request: its address, and the query parameters that the page accepts."""
    return match.path, tuple(match.route.known(query).items())
