"""Requests and renews a bot's access token."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from racebot.racetime.client import Credentials, Site

log = logging.getLogger(__name__)

RENEW_BEFORE = 600.0
"""Seconds before its expiry when a token is renewed."""


class TokenSource:
    """A bot's access token: requested when first needed, renewed before it expires or when refused.

    Args:
        site: the site that issues tokens.
        credentials: the bot's client id and secret.
        clock: returns seconds on a monotonic scale.
    """

    def __init__(
        self, site: Site, credentials: Credentials, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._site = site
        self._credentials = credentials
        self._clock = clock
        self._token: str | None = None
        self._made_at = 0.0
        self._renew_at = 0.0
        self._lock = asyncio.Lock()

    async def get(self) -> str:
        """Return the current token, or request a new one.

        Raises:
            CredentialsError: the site refuses the client id and secret.
        """
        async with self._lock:
            if self._token is None or self._clock() >= self._renew_at:
                token, lifetime = await self._site.token(self._credentials)
                self._token = token
                self._made_at = self._clock()
                self._renew_at = self._made_at + max(lifetime - RENEW_BEFORE, lifetime / 2)
                log.debug("new access token, good for %.0f s", lifetime)
            return self._token

    @property
    def age(self) -> float:
        """Return the seconds since the current token was issued, 0 if there is none."""
        return 0.0 if self._token is None else self._clock() - self._made_at

    def refuse(self, token: str) -> None:
        """Discard a token that the site refused, so that the next `get` requests a new one."""
        if token == self._token:
            self._token = None
