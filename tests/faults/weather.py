"""A schedule of the site's faults for each act, drawn from a seed."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from spoiler import FrameFault

from racebot.sandbox.room import FakeRoom
from racebot.sandbox.site import TOKEN_SECONDS

if TYPE_CHECKING:
    from .harness import Run

SITE_WRONG_BY = 240
"""Largest error of the site's clock in seconds, in either direction."""
WORKER_WRONG_BY = 1800
"""The same for the worker's clock; a result older than an hour is rightly not announced."""
LASTS = 10.0
"""Seconds that a fault may disturb the bot for: retries and reconnecting included."""
CROWD = 105
"""Chat lines of a busy room: more than the history holds."""

Fault = Callable[[], Awaitable[None]]


class Weather:
    """Faults of every kind, some in each act, many of them in bursts."""

    def __init__(self, run: Run) -> None:
        self._run, self._site, self._misbehaviour = run, run.site, run.misbehaviour
        self._rng = random.Random(f"weather {run.plan.seed}")
        self._echoes_to_lose = 0
        self._crowds = 0
        self._talks = False
        """Whether a room is busy, in this act."""
        self.thrown: Counter[str] = Counter()

    async def blow(self, act: int, seconds: float) -> None:
        """Cause the faults of one act."""
        rng = self._rng
        kinds = [self._spoil] * 6 + [self._fail] * 4 + [self._lose_echo] * 2
        kinds += [self._refuse, self._tokens, self._skew, self._crowd]
        down, lose_rooms = (partial(self._down, lose_rooms=lost) for lost in (False, True))
        rare: list[Fault] = [self._drop, self._stall, down, self._long_stall, lose_rooms]
        faults = [rng.choice(kinds) for _ in range(self._run.plan.severity)] + [rare[act % len(rare)]]
        self._echoes_to_lose += 1
        at, moments = 0.0, [(rng.uniform(0, seconds), fault) for fault in faults]
        for moment, fault in sorted(moments, key=lambda each: each[0]):
            await asyncio.sleep(moment - at)
            at = moment
            self._run.disturbed(LASTS)
            await fault()
            self._run.disturbed(LASTS)

    def heard(self, room: FakeRoom) -> None:
        """Break the room's socket before the bot's echo, if one is to be lost; a crowd may talk meanwhile."""
        if self._echoes_to_lose and self._crowds:
            self._crowds -= 1
            asyncio.get_running_loop().call_soon(self._talk, room)
        if self._echoes_to_lose:
            self._run.disturbed(LASTS)
            self._echoes_to_lose -= 1
            self._misbehaviour.drop_sockets(room.slug)
            self.thrown["socket dropped before an echo"] += 1

    def _talk(self, room: FakeRoom) -> None:
        if room.chat_open and room.entrants:
            for number in range(CROWD):
                room.say(room.entrants[0].user, f"line {number}")
            self.thrown["busy chat"] += 1

    def clear_up(self) -> None:
        """End all faults."""
        self._misbehaviour.clear()
        self._echoes_to_lose = self._crowds = 0
        self._talks = False
        self._site.token_seconds = TOKEN_SECONDS

    async def _spoil(self) -> None:
        fault = self._rng.choice(list(FrameFault))
        kind = self._rng.choice(("race.data", "race.data", "chat.message", "chat.history", "race.renders"))
        # If the chat line about a change were lost as well, nothing would show the change for minutes.
        times = 1 if fault is FrameFault.LOST and kind == "race.data" else self._rng.randint(1, 4)
        self._misbehaviour.spoil_frames(fault, times, kind=kind)
        self.thrown[f"frame {fault.value}"] += times

    async def _crowd(self) -> None:
        # The clocks tell how far back the history reaches, so both must be right.
        self._site.skew = timedelta(0)
        self._run.set_clock(0)
        self._talks = True
        self._crowds += 1
        self._echoes_to_lose += 1

    async def _lose_echo(self) -> None:
        self._echoes_to_lose += self._rng.randint(1, 3)

    async def _fail(self) -> None:
        status = self._rng.choice((200, 403, 500, 502, 503, 429))
        retry_after = self._rng.choice((None, "1", "2")) if status in {429, 503} else None
        path = self._rng.choice(("/data", "/races/data", "/o/", "/api/"))
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
        if self._talks:
            return
        if self._rng.random() < 0.5:
            self._site.skew = timedelta(seconds=self._rng.randint(-SITE_WRONG_BY, SITE_WRONG_BY))
            self.thrown["clock jump of the site"] += 1
        else:
            self._run.set_clock(self._rng.randint(-WORKER_WRONG_BY, WORKER_WRONG_BY))
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

    async def _down(self, *, lose_rooms: bool) -> None:
        await self._run.restart(lose_rooms)
        self.thrown[f"restart of the site{' with rooms gone' if lose_rooms else ''}"] += 1
