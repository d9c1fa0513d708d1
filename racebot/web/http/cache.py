"""Render documents in several threads, and cache them until the ledger changes."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from racebot.ledger.store import Ledger
from racebot.web.html.live import LIVE
from racebot.web.routes import Match, Pages
from racebot.web.site import addresses
from racebot.web.site.ledger_view import LedgerView, Publication
from racebot.web.site.live_rooms import LiveReader
from racebot.web.site.request import Content, Document, Streamed

CACHE_BYTES = 32 * 2**20
LARGEST_SHARE = 8
"""A document larger than the cache size divided by this is not cached."""
ENTRY_BYTES = 1000
"""Memory of a cached document besides its content and its query."""

_ON_LIVE_FILE = frozenset({addresses.FRONT, addresses.LIVE_DATA, *LIVE})

Key = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class Rendered:
    """A document ready to send, with its entity tag."""

    document: Document
    tag: str


class Cache:
    """A thread-safe LRU cache of documents, bounded by the bytes that they and their keys take."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._documents: OrderedDict[Key, Rendered] = OrderedDict()
        self._generation = 0
        self.size = 0

    def get(self, key: Key) -> Rendered | None:
        with self._lock:
            if key in self._documents:
                self._documents.move_to_end(key)
            return self._documents.get(key)

    def put(self, key: Key, rendered: Rendered, generation: int) -> None:
        """Cache a document, unless it is from an older generation or too large."""
        with self._lock:
            size = _size(key, rendered)
            if generation != self._generation or size > self._limit // LARGEST_SHARE:
                return
            previous = self._documents.pop(key, None)
            self.size += size - (_size(key, previous) if previous else 0)
            self._documents[key] = rendered
            while self.size > self._limit:
                self.size -= _size(*self._documents.popitem(last=False))

    def clear(self, generation: int) -> None:
        """Drop all documents. From now on, only documents of this generation are cached."""
        with self._lock:
            self._documents.clear()
            self._generation, self.size = generation, 0


def _size(key: Key, rendered: Rendered) -> int:
    texts = sum(len(name) + len(value) for name, value in key[1])
    return ENTRY_BYTES + len(key[0]) + texts + len(rendered.document.body)


class CachedPages:
    """Renders and caches documents from the ledger. All methods are thread-safe, except `close`.

    Raises (all methods):
        LedgerError: the ledger cannot be read.
        BadQueryError: the API does not understand the query.
    """

    def __init__(self, database: Path, publication: Publication) -> None:
        self._database = database
        self._publication = publication
        self._lock = threading.Lock()
        self._watch: Ledger | None = None
        self._inode = self._version = self._generation = 0
        self._readers: list[_Reader] = []
        self._live = LiveReader(database)
        self.cache = Cache()

    def document(self, match: Match, query: Mapping[str, str]) -> Rendered | Streamed | None:
        """Return the content at an address, from the cache if the ledger has not changed."""
        generation = self._current_generation()
        key = cache_key(match, query)
        open_race = match.route is addresses.RACE and self._live.room(match.fields["race"]) is not None
        if open_race or match.route in _ON_LIVE_FILE:
            key = key[0], (*key[1], ("live", self._live.stamp()))
        known = self.cache.get(key)
        if known is not None:
            return known
        reader = self._take()
        try:
            content = reader.document(match, query)
        finally:
            self._give_back(reader)
        if content is None or isinstance(content, Streamed):
            return content
        rendered = Rendered(content, f'W/"{hashlib.sha256(content.body).hexdigest()[:20]}"')
        self.cache.put(key, rendered, generation)
        return rendered

    def stamp(self) -> str:
        """Return a text that changes whenever a document may have changed."""
        return f"{self._current_generation()} {self._live.stamp()}"

    def pieces(self, match: Match) -> Iterator[bytes]:
        """Yield the pieces of a streamed document. Each call uses its own connection."""
        with closing(_Reader(self._database, self._publication, self._live)) as reader:
            content = reader.content(match)
            if isinstance(content, Streamed):
                yield from content.pieces()

    def close(self) -> None:
        """Close all connections. Do not call any method during or after this."""
        for each in (*self._readers, self._watch):
            if each is not None:
                each.close()

    def _current_generation(self) -> int:
        """Return a number that increases whenever the database has been written to or replaced."""
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
                self._inode, self._version = inode, -1
                for reader in self._readers:
                    reader.close()
                self._readers.clear()
            version = self._watch.data_version()
            if version != self._version:
                self._version = version
                self._generation += 1
                self.cache.clear(self._generation)
            return self._generation

    def _take(self) -> _Reader:
        with self._lock:
            if self._readers:
                return self._readers.pop()
            inode = self._inode
        return _Reader(self._database, self._publication, self._live, inode)

    def _give_back(self, reader: _Reader) -> None:
        with self._lock:
            if reader.inode == self._inode:
                self._readers.append(reader)
                return
        reader.close()  # the database file has been replaced


class _Reader:
    """A connection to the ledger, with the pages of what it last read."""

    def __init__(self, database: Path, publication: Publication, live: LiveReader, inode: int = 0) -> None:
        self.inode = inode
        self._live = live
        self._publication = publication
        self._ledger = Ledger.open_to_publish(database)
        self._pages: Pages | None = None
        self._version = 0

    def document(self, match: Match, query: Mapping[str, str]) -> Content:
        with self._ledger.snapshot():
            # Compare inside the snapshot, so that what the pages remember is from the same one.
            version = self._ledger.data_version()
            if self._pages is None or version != self._version:
                self._pages, self._version = self._new_pages(), version
            return self._pages.content(match, query)

    def content(self, match: Match) -> Content:
        return self._new_pages().content(match, {})

    def close(self) -> None:
        self._ledger.close()

    def _new_pages(self) -> Pages:
        return Pages(LedgerView(self._ledger, self._publication, self._live), served=True)


def cache_key(match: Match, query: Mapping[str, str]) -> Key:
    """Return the cache key of a request: its address, and the query parameters that the page accepts.

    Raises:
        BadQueryError: one of the parameters is too long.
    """
    return match.path, tuple(match.route.known(query).items())
