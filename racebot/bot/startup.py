"""Checks the settings against the site when the worker starts, waiting for a site that is down."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from racebot.bot.retry import retry_pauses
from racebot.errors import CredentialsError, NotFoundError, PayloadError, SiteError
from racebot.telemetry.troubles import Troubles

BELIEVED_AFTER = 3
"""How many times the site must refuse a category before we believe it: a proxy before it may have erred."""


async def check_until_clear(
    check: Callable[[], Awaitable[None]], stop: asyncio.Event, troubles: Troubles
) -> bool:
    """Run a check until it succeeds or fails permanently, waiting while the site is down.

    Args:
        check: the check; it raises the site's errors.
        stop: ends the wait.
        troubles: logs failures.

    Returns:
        False if it was stopped.

    Raises:
        CredentialsError, NotFoundError, PayloadError: the check failed this way several times.
    """
    doubts = 0
    for pause in retry_pauses():
        try:
            if not await _unless_stopped(check(), stop):
                return False
        except (CredentialsError, NotFoundError, PayloadError):
            doubts += 1
            if doubts == BELIEVED_AFTER:
                raise
        except SiteError as error:
            troubles.failed("start", str(error))
        else:
            troubles.over("start")
            return True
        if not await _unless_stopped(asyncio.sleep(pause), stop):
            return False
    raise AssertionError("unreachable")


async def _unless_stopped(work: Awaitable[None], stop: asyncio.Event) -> bool:
    """Run `work` until it is done or `stop` is set, and return whether it was done."""
    doing = asyncio.ensure_future(work)
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({doing, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            return False
        await doing
        return True
    finally:
        doing.cancel()
        stopping.cancel()
        await asyncio.gather(doing, stopping, return_exceptions=True)
