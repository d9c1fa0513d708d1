"""A bot's access token: requested when needed, renewed ahead of time."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from racebot.racetime.client import Credentials, Site

log = logging.getLogger(__name__)

RENEW_BEFORE = 600.0
"""A token is renewed this many seconds before it expires."""


class TokenSource:
    """A bot's current token, made when needed and renewed ahead of time or when refused."""

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
        """A token that is good as far as is known.

        Raises:
            CredentialsError: the site does not accept the client id and secret.
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
        """Seconds since the current token was made, 0 where there is none."""
        return 0.0 if self._token is None else self._clock() - self._made_at

    def refuse(self, token: str) -> None:
        """Tell that the site refused this token, so that the next `get` makes a new one."""
        if token == self._token:
            self._token = None
