"""State that all room sockets of one site share."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cached_property

import httpx

HANDSHAKES_AT_ONCE = 20


class SiteClock:
    """The site's clock, as its answers and frames show it, and this machine's until the first of them.

    Args:
        clock: this machine's clock; returns the current time, with its offset.
    """

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._shown: tuple[datetime, float] | None = None

    def set(self, shown: datetime) -> None:
        """Take in the time that the site shows now."""
        self._shown = (shown, time.monotonic())

    def __call__(self) -> datetime:
        """Return the current time, with its offset."""
        if self._shown is None:
            return self._clock()
        shown, at = self._shown
        return shown + timedelta(seconds=time.monotonic() - at)


class Gate:
    """Limits how a site's rooms are joined, and holds what their sockets share.

    Args:
        handshakes: maximum number of sockets that open at the same time.
    """

    def __init__(self, handshakes: int = HANDSHAKES_AT_ONCE) -> None:
        self.handshakes = asyncio.Semaphore(handshakes)
        self.existence_check = asyncio.Lock()
        """Lock for the room that is asking the site whether it still exists.

        Requests are sent one at a time. If all rooms lost their connections, their checks would block other
        requests.
        """

    @cached_property
    def tls(self) -> ssl.SSLContext:
        """Shared TLS context. Loading the CA store takes 20 to 65 ms and 1 MiB."""
        return httpx.create_ssl_context()
