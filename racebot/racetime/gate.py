"""State that all room sockets of one site share."""

from __future__ import annotations

import asyncio
import ssl
from functools import cached_property

import httpx

HANDSHAKES_AT_ONCE = 20


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
