"""Processes that the worker starts beside itself. Each can be killed: its work is complete or not visible."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from racebot.bot.retry import retry_pauses
from racebot.errors import RacebotError, reason

log = logging.getLogger(__name__)

AGAIN_AFTER = 300.0
"""Seconds to wait after a failed export."""
PAUSE = 4
"""Pause after an export, as a multiple of its duration, so that exports leave time for other programs."""
TIMEOUT = 900.0
"""Seconds."""


@dataclass
class SiteExporter:
    """Runs the command that writes the pages if `revision()` has changed since its last run."""

    command: Sequence[str]
    revision: Callable[[], Awaitable[Hashable]]
    clock: Callable[[], float] = time.monotonic
    _done: Hashable = None
    _not_before: float = float("-inf")

    async def export_if_changed(self) -> bool:
        """Export the pages if the ratings have changed. Return whether they are up to date."""
        revision = await self.revision()
        start = self.clock()
        if revision == self._done:
            return True
        if start < self._not_before:
            return False
        self._not_before = start + AGAIN_AFTER
        try:
            line = await asyncio.wait_for(run_command(self.command), TIMEOUT)
        except TimeoutError:
            raise RacebotError("the pages were not written: the export timed out") from None
        except RacebotError as error:
            raise RacebotError(f"the pages were not written: {error}") from None
        end = self.clock()
        self._done, self._not_before = revision, end + PAUSE * (end - start)
        log.info("pages: %s", line)
        return True


@dataclass
class WorkStarter:
    """Runs a command while work waits for it, such as rebuilds. After a failure it pauses.

    `work` names the work for the log. `waiting` returns a token of it, empty if there is none. New work is
    done at once.
    """

    work: str
    command: Sequence[str]
    waiting: Callable[[], Awaitable[Collection[Hashable]]]
    clock: Callable[[], float] = time.monotonic
    _failed: Collection[Hashable] = ()
    _pauses: Iterator[float] = field(default_factory=retry_pauses)
    _not_before: float = float("-inf")

    async def start_if_waiting(self) -> bool:
        """Run the command if work waits. Return whether none waits any more."""
        waiting = await self.waiting()
        if not waiting:
            return True
        if waiting == self._failed and self.clock() < self._not_before:
            return False
        log.info("%s, in another process", self.work)
        self._failed = waiting
        try:
            line = await run_command(self.command)
        finally:
            self._not_before = self.clock() + next(self._pauses)
        self._failed, self._pauses = (), retry_pauses()
        log.info("%s: done%s", self.work, line and f": {line}")
        return True


async def run_command(command: Sequence[str]) -> str:
    """Run a command, and return the last line that it prints. Raise `RacebotError` if it fails.

    If the caller is cancelled, the command is killed. If this process is killed, the standard input of the
    command ends.
    """
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
    except OSError as error:
        raise RacebotError(reason(error)) from None
    try:
        # Not communicate(), which closes the input.
        out, problems = await asyncio.gather(_read(process.stdout), _read(process.stderr))
        code = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if code < 0:
        raise RacebotError(f"the command was killed by signal {-code}")
    if code:
        raise RacebotError(_last_line(problems).removeprefix("racebot: "))
    return _last_line(out)


async def _read(stream: asyncio.StreamReader | None) -> bytes:
    """Return the end of what a command prints."""
    kept = b""
    while stream is not None and (chunk := await stream.read(65536)):
        kept = (kept + chunk)[-65536:]
    return kept


def _last_line(output: bytes) -> str:
    return (output.decode(errors="replace").strip().splitlines() or [""])[-1]
