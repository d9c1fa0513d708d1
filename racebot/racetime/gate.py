"""What all room sockets of one site share, so that a thousand of them are no burden to the site or to us."""

from __future__ import annotations

import asyncio
import ssl
from asyncio.sslproto import SSLProtocol
from functools import cached_property

import httpx

HANDSHAKES_AT_ONCE = 20

# asyncio gives every TLS connection a read buffer of its own, 256 KiB of real memory that no option makes
# smaller; a record of TLS never holds more than this.
SSLProtocol.max_size = 16 * 1024


class Gate:
    """The way into a site's rooms.

    Args:
        handshakes: how many sockets may be on their way to being open at the same time.
    """

    def __init__(self, handshakes: int = HANDSHAKES_AT_ONCE) -> None:
        self.handshakes = asyncio.Semaphore(handshakes)
        self.question = asyncio.Lock()
        """Held by the room that asks the site whether it still exists: requests go out one by one, and where
        every room is lost, a question from each would keep all others waiting for long."""

    @cached_property
    def tls(self) -> ssl.SSLContext:
        """Whom to trust. Read once: each reading takes most of a mebibyte and holds everything up."""
        return httpx.create_ssl_context()
