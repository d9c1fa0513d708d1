"""How the site misbehaves: a schedule of faults for each act, drawn by lot from a seed."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import timedelta

from racebot.sandbox.misbehaviour import FrameFault, Misbehaviour
from racebot.sandbox.room import FakeRoom
from racebot.sandbox.site import TOKEN_SECONDS, FakeSite

SITE_WRONG_BY = 240
"""Seconds, either way, that the site's clock is off."""
WORKER_WRONG_BY = 1800
"""The same of the worker's; after an hour it would be right to think that a race is old news."""


class Weather:
    """Faults of every kind, some in each act.

    Args:
        site: whose tokens and clock go wrong.
        misbehaviour: the faults that are planned with it.
        restart: takes the site down and up again, with the rooms that are not over gone or not.
        set_clock: makes the clock of the worker's computer wrong by so many seconds.
        seed: decides all.
        severity: about how many faults come in each act, many of them in bursts.
    """

    def __init__(
        self,
        site: FakeSite,
        misbehaviour: Misbehaviour,
        restart: Callable[[bool], Awaitable[None]],
        set_clock: Callable[[float], None],
        *,
        seed: int,
        severity: int,
    ) -> None:
        self._site = site
        self._misbehaviour = misbehaviour
        self._restart = restart
        self._set_clock = set_clock
        self._rng = random.Random(f"weather {seed}")
        self._severity = severity
        self._echoes_to_lose = 0
        self.thrown: Counter[str] = Counter()

    async def blow(self, act: int, seconds: float) -> None:
        """Misbehave for an act."""
        rng = self._rng
        kinds = [self._spoil] * 6 + [self._fail] * 4 + [self._lose_echo] * 2
        kinds += [self._refuse, self._tokens, self._skew]
        rare = [self._drop, self._stall, self._down, self._long_stall, self._lose_rooms]
        faults = [rng.choice(kinds) for _ in range(self._severity)] + [rare[act % len(rare)]]
        self._echoes_to_lose += 1
        at = 0.0
        for moment, fault in sorted(
            ((rng.uniform(0, seconds), fault) for fault in faults), key=lambda f: f[0]
        ):
            await asyncio.sleep(moment - at)
            at = moment
            await fault()

    def heard(self, room: FakeRoom) -> None:
        """The bot is heard in a room: where its echo is to be lost, the room's socket breaks before it."""
        if self._echoes_to_lose:
            self._echoes_to_lose -= 1
            self._misbehaviour.drop_sockets(room.slug)
            self.thrown["socket dropped before an echo"] += 1

    def clear_up(self) -> None:
        """Behave again."""
        self._misbehaviour.relent()
        self._echoes_to_lose = 0
        self._site.token_seconds = TOKEN_SECONDS

    async def _spoil(self) -> None:
        fault = self._rng.choice(list(FrameFault))
        kind = self._rng.choice(("race.data", "race.data", "chat.message", "chat.history", "race.renders"))
        # Where the message that tells of a change is lost with it, nothing shows the change for minutes.
        times = 1 if fault is FrameFault.LOST and kind == "race.data" else self._rng.randint(1, 4)
        self._misbehaviour.spoil_frames(fault, times, kind=kind)
        self.thrown[f"frame {fault.value}"] += times

    async def _lose_echo(self) -> None:
        self._echoes_to_lose += self._rng.randint(1, 3)

    async def _fail(self) -> None:
        status = self._rng.choice((200, 403, 500, 502, 503, 429))
        retry_after = self._rng.choice((None, "1", "2")) if status in {429, 503} else None
        path = self._rng.choice(("/data", "/races/data", "/o/"))
        times = self._rng.randint(1, 3)
        self._misbehaviour.fail_http(times, status, retry_after=retry_after, path=path)
        self.thrown[f"http {status}{' with Retry-After' if retry_after else ''}"] += times

    async def _refuse(self) -> None:
        times = self._rng.randint(1, 4)
        self._misbehaviour.refuse_handshakes(times, self._rng.choice((502, 503, 429)))
        self.thrown["handshake refused"] += times

    async def _tokens(self) -> None:
        if self._rng.random() < 0.5:
            self._site.revoke_tokens()
            self.thrown["tokens revoked"] += 1
        else:
            self._site.token_seconds = 2
            self._site.revoke_tokens()
            self.thrown["tokens that expire at once"] += 1

    async def _skew(self) -> None:
        if self._rng.random() < 0.5:
            self._site.skew = timedelta(seconds=self._rng.randint(-SITE_WRONG_BY, SITE_WRONG_BY))
            self.thrown["clock jump of the site"] += 1
        else:
            self._set_clock(self._rng.randint(-WORKER_WRONG_BY, WORKER_WRONG_BY))
            self.thrown["clock jump of the worker"] += 1

    async def _drop(self) -> None:
        self.thrown["socket dropped"] += self._misbehaviour.drop_sockets(code=self._rng.choice((None, 1012)))

    async def _stall(self) -> None:
        self._misbehaviour.stall(self._rng.uniform(1, 4))
        self.thrown["stall"] += 1

    async def _long_stall(self) -> None:
        self._misbehaviour.stall(10)
        self.thrown["stall of ten seconds"] += 1
        await asyncio.sleep(10)

    async def _down(self) -> None:
        await self._restart(False)
        self.thrown["restart of the site"] += 1

    async def _lose_rooms(self) -> None:
        await self._restart(True)
        self.thrown["restart of the site with rooms gone"] += 1
